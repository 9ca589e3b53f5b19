"""LogGP: the estimator finds what it is given, and the fit predicts what programs measure."""

import json
import random
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cli import narthex as command

import narthex
from narthex import fitting
from narthex.cli import main
from narthex.fitting import estimator, output
from narthex.fitting.cautions import cautions
from narthex.fitting.measurement import Measurement, taken
from narthex.fitting.model import Line, LogGP
from narthex.ledgers import region_ledger_rows

SIZES = [8, 16, 32, 64, 96, 128, 192, 240]


def synthetic(truth, noise=lambda _size, _seed: 0.0, sizes=SIZES, seeds=3, early=1.0, late=0):
    """What a machine would measure that is exactly LogGP, but for relative noise."""

    def measured(size, seed):
        factor = 1 + noise(size, seed)
        gap_ns = truth.gap.at(size) * factor
        bursts = {16: 0.0, 32: 16 * gap_ns * early, 64: 16 * gap_ns * early + 32 * gap_ns}
        return Measurement(
            size,
            seed,
            truth.send_overhead.at(size) * factor,
            truth.receive_overhead.at(size) * factor,
            truth.one_way.at(size) * factor,
            bursts,
            bursts,
            late,
        )

    return [measured(size, seed) for size in sizes for seed in range(seeds)]


def lines(most_first, most_byte):
    return st.builds(Line, st.floats(10, most_first), st.floats(0.1, most_byte))


parameters = st.builds(LogGP, *[lines(5000, 50)] * 4)

TRUTH = LogGP(Line(120, 0.5), Line(230, 1.1), Line(330, 1.9), Line(260, 2.4))


def values(model):
    parts = [model.latency, model.send_overhead, model.receive_overhead, model.gap]
    return [value for line in parts for value in (line.first_ns, line.per_byte_ns)]


@settings(max_examples=50, deadline=None)
@given(truth=parameters)
def test_without_noise_the_parameters_are_found_exactly(truth):
    found = estimator.estimate(synthetic(truth))
    assert values(found.parameters) == pytest.approx(values(truth), rel=1e-6, abs=1e-6)
    assert values(found.within) == pytest.approx([0] * 8, abs=1e-6)
    assert all(abs(each.percent) < 1e-6 for each in found.residuals)


def test_intervals_contain_the_truth_about_as_often_as_they_say():
    source = random.Random(7)
    inside, trials = [0] * 8, 200
    for _ in range(trials):
        noisy = synthetic(TRUTH, lambda _size, _seed: source.gauss(0, 0.02))
        found = estimator.estimate(noisy)
        rows = zip(values(found.parameters), values(found.within), values(TRUTH), strict=True)
        for place, (value, within, right) in enumerate(rows):
            inside[place] += abs(value - right) <= within
    assert all(0.90 * trials <= each < trials for each in inside), inside


def test_an_interval_is_the_jackknifes_error_times_students_t():
    """Left-out fits of 0, 1, 2, 3 have the error sqrt(3/4 * 5); t has two degrees of freedom."""
    without = [replace(TRUTH, gap=Line(each, 0.0)) for each in (0.0, 1.0, 2.0, 3.0)]
    half_ns = estimator._within(without).gap.first_ns
    assert half_ns == pytest.approx(4.303 * 3.75**0.5, rel=0.01)


@settings(max_examples=50, deadline=None)
@given(st.floats(0.001, 0.05))
def test_an_interval_grows_with_the_residuals(noise):
    def alternating(factor):
        return lambda size, _seed: factor * noise * (-1 if SIZES.index(size) % 2 else 1)

    small, large = (
        values(estimator.estimate(synthetic(TRUTH, alternating(factor))).within)
        for factor in (1, 2)
    )
    assert large == pytest.approx([2 * each for each in small], rel=1e-6)


def test_every_seed_counts_as_much_as_another():
    shifted = synthetic(TRUTH, lambda _size, seed: [-0.02, 0.0, 0.02][seed])
    assert values(estimator.estimate(shifted).parameters) == pytest.approx(values(TRUTH))


@pytest.mark.parametrize(
    ("freedom", "table"), [(2, 4.303), (3, 3.182), (6, 2.447), (8, 2.306), (30, 2.042)]
)
def test_quantiles_of_students_t_are_those_of_the_tables(freedom, table):
    assert estimator.students_t(0.975, freedom) == pytest.approx(table, rel=0.01)


def test_the_gap_is_that_of_the_longest_bursts():
    (measurement,) = synthetic(TRUTH, sizes=[64], seeds=1, early=0.5)
    assert measurement.gap_ns == pytest.approx(TRUTH.gap.at(64))
    assert measurement.early_gap_ns == pytest.approx(TRUTH.gap.at(64) / 2)


def cautioned(measurements, packet_bytes=248):
    return cautions(estimator.estimate(measurements), measurements, packet_bytes)


WIRE = LogGP(Line(500, 2.0), Line(100, 0.0), Line(120, 0.0), Line(150, 2.0))
"""LogGP as the paper has it: only the wire takes time for a byte."""


def test_a_machine_that_is_loggp_needs_no_caution():
    assert cautioned(synthetic(WIRE)) == []


def step(size, _seed):
    """Costs in blocks: the sizes below a block are cheaper."""
    return -0.4 if size < 64 else 0.0


@pytest.mark.parametrize(
    ("measurements", "said"),
    [
        (
            synthetic(WIRE, step),
            ["no line over the size", "one way -", "gap -27 % at 32", "receive overhead -"],
        ),
        (synthetic(TRUTH), ["two G: a byte takes 3.50 ns in a single message and 2.40 ns"]),
        (
            synthetic(WIRE, early=0.8),
            ["the gap depends on a burst's length", "buffers and caches fill"],
        ),
        (synthetic(WIRE, late=1), ["replies of 8 bytes do not fit into the interface"]),
        (synthetic(replace(WIRE, latency=Line(-20, 2.0))), ["L is negative"]),
    ],
)
def test_where_the_model_does_not_fit_it_says_so(measurements, said):
    told = "\n".join(cautioned(measurements))
    for words in said:
        assert words in told


def test_messages_of_several_packets_are_told():
    assert "messages from 192 bytes on are several packets (of 128 bytes)" in "\n".join(
        cautioned(synthetic(WIRE), packet_bytes=128)
    )


FITTED = ["NI2w", "NI64w+Udma", "CNI512Q", "CNI32Qm"]
SHORT = [8, 32, 64, 128, 192, 240]


@pytest.fixture(scope="module")
def fits():
    found = fitting.fit_logp(FITTED, sizes=SHORT, seeds=1, fresh=True)
    return {fit.interface: fit for fit in found}


@pytest.mark.parametrize(
    ("interface", "limit"),
    [("NI2w", 0.01), ("NI64w+Udma", 0.30), ("CNI512Q", 0.10), ("CNI32Qm", 0.10)],
)
@pytest.mark.parametrize("size", [64, 160])
def test_the_fit_predicts_what_roundtrip_measures(fits, interface, limit, size):
    predicted_ns = fits[interface].parameters.round_trip_ns(size)
    measured_ns = narthex.run("roundtrip", size, 64, interface=interface, nodes=2).value(
        "round-trip latency"
    )
    assert predicted_ns == pytest.approx(measured_ns, rel=limit)


@pytest.mark.parametrize("interface", ["NI2w", "CNI512Q", "CNI32Qm"])
def test_overheads_are_what_the_ledger_books(interface):
    """The ledger leaves the calls themselves out: checks of arguments, and the handler."""
    done = narthex.run("logp", 64, 32, 150, 4, interface=interface, nodes=2)
    booked_ns = dict.fromkeys(["send", "poll", "receive"], 0.0)
    for node, _, activity, _, time_ps in region_ledger_rows(done.document, "overheads"):
        if node == 0 and activity in booked_ns:
            booked_ns[activity] += time_ps / 32e3
    measured = taken(done, 64, 1)
    receive_ns = booked_ns["poll"] + booked_ns["receive"]
    assert 0 < measured.send_overhead_ns - booked_ns["send"] < 50
    assert 0 < measured.receive_overhead_ns - receive_ns < 60


def test_a_sender_is_engaged_for_its_overhead_then_for_its_stores_and_at_last_for_the_gap():
    """The LogP signature (Culler et al. 1996): posted stores, and eight buffers of flow control.

    One message goes into the store buffer; further ones wait until the bus has taken the stores.
    """
    done = narthex.run("logp", 64, 8, 150, 64, machine="isca96", interface="NI2w", nodes=2)
    measured = taken(done, 64, 1)
    issues_ns = measured.issues_ns
    loop_ns = 150  # from one call to the next, at 5 ns an instruction
    assert 0 < issues_ns[1] - measured.send_overhead_ns < 2 * loop_ns
    stores_ns = (issues_ns[4] - issues_ns[2]) / 2
    assert issues_ns[2] - issues_ns[1] == pytest.approx(stores_ns, rel=0.02)
    assert measured.send_overhead_ns + loop_ns < stores_ns < measured.gap_ns
    assert (issues_ns[64] - issues_ns[32]) / 32 == pytest.approx(measured.gap_ns, rel=0.01)
    assert measured.gap_ns > 2 * measured.send_overhead_ns


def test_the_gap_predicts_what_bandwidth_measures(fits):
    """A receiver that the stream keeps busy takes a message every g + (k-1) G."""
    gap_ns = fits["NI2w"].parameters.gap.at(128)
    done = narthex.run("bandwidth", 128, 400, interface="NI2w", nodes=2)
    assert 128e3 / gap_ns == pytest.approx(done.value("bandwidth"), rel=0.05)


def test_interfaces_are_in_the_order_that_the_papers_give(fits):
    """Uncached words cost a processor more than blocks of its cache (hpca98 Section 6.1)."""
    word, block = fits["NI2w"].parameters, fits["CNI32Qm"].parameters
    for part in ("send_overhead", "receive_overhead", "gap"):
        for size in SHORT:
            assert getattr(word, part).at(size) > 1.2 * getattr(block, part).at(size)
    # The interface's memory is farther than its cache (hpca98 Section 6.1.1).
    assert fits["CNI512Q"].parameters.one_way.at(64) > block.one_way.at(64)


def test_one_interface_fits_and_another_is_told_not_to(fits):
    assert max(abs(each.percent) for each in fits["NI2w"].estimate.residuals) < 5
    told = "\n".join(fits["CNI32Qm"].cautions)
    assert "the gap depends on a burst's length" in told
    assert any("two G" in each for each in fits["NI2w"].cautions)


def test_loggopsims_parameters_give_the_gap_and_nearly_the_latency(fits):
    for fit in fits.values():
        converted = output.loggopsim(fit)
        assert re.fullmatch(
            r"-L \d+ -o \d+ -g \d+ -G \d+ -O \d+ -S 2147483647", converted.arguments
        )
        gap_ns = converted.g + 191 * converted.G
        assert gap_ns == pytest.approx(fit.parameters.gap.at(192), rel=0.15)
        percent, size = output.loggopsim_error(fit, converted)
        one_way_ns = fit.parameters.one_way.at(size)
        assert abs(converted.one_way_ns(size) / one_way_ns - 1) <= abs(percent) / 100 + 0.2


COPIES = LogGP(Line(500, -3.0), Line(100, 3.0), Line(120, 3.0), Line(150, 2.0))
"""The processors take longer for a byte than the wire, and at the same time."""


@pytest.mark.parametrize(
    ("truth", "arguments"),
    [(WIRE, "-L 500 -o 110 -g 150 -G 2 -O 0"), (COPIES, "-L 500 -o 110 -g 150 -G 2 -O 3")],
)
def test_loggopsim_is_exact_where_the_model_is(truth, arguments):
    found = estimator.estimate(synthetic(truth))
    fit = fitting.Fit("ideal", found, [], synthetic(truth), {}, "")
    converted = output.loggopsim(fit)
    assert converted.arguments == f"{arguments} -S 2147483647"
    assert output.loggopsim_error(fit, converted)[0] == pytest.approx(0, abs=1e-9)


def test_the_command_prints_and_writes_all_of_it(tmp_path):
    file, pattern = tmp_path / "logp.json", str(tmp_path / "logp-{interface}.txt")
    words = ["-i", "ni2w, CNI4", "--bytes", "8,64,128,256", "--seeds", 1, "--burst", 8]
    done = command("fit", "logp", *words, "--json", file, "--output", pattern)
    assert done.returncode == 0, done.stderr
    assert "LogGP of messages of 8 to 256 bytes on hpca98" in done.stdout
    assert "messages from 256 bytes on are several packets (of 248 bytes)" in done.stdout
    assert "replies of 256 bytes do not fit into the interface" in done.stdout
    document = json.loads(file.read_text())
    assert [fit["interface"] for fit in document["fits"]] == ["NI2w", "CNI4"]
    for name, fit in zip(["ni2w", "CNI4"], document["fits"], strict=True):
        arguments = (tmp_path / f"logp-{name}.txt").read_text()
        assert arguments == fit["loggopsim"]["arguments"] + "\n"
        for interval in fit["parameters"].values():
            assert interval["low"] <= interval["value"] <= interval["high"]
        assert len(fit["measurements"]) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-i", "CNI32Qn"], "'CNI32Qn' is not the name of a network interface"),
        (["-i", ","], "at least one interface"),
        (["-i", "NI2w,ni2w"], "named twice"),
        (["-i", "NI2w", "-m", "hpca89"], "did you mean"),
        (["-i", "NI2w", "--nodes", "1"], "at least 2 nodes"),
        (["-i", "NI2w", "--bytes", "8,16,x"], "whole numbers"),
        (["-i", "NI2w", "--bytes", "8,16,32"], "at least 4 different sizes"),
        (["-i", "NI2w", "--bytes", "0,8,16,32"], "sizes begin at 1"),
        (["-i", "NI2w", "--seeds", "0"], "from 1 to 1,000, not 0"),
        (["-i", "NI2w", "--burst", "12"], "a power of two from 4 to 1,024, not 12"),
        (["-i", "NI2w,CNI4", "--output", "one.txt"], "write {interface} where"),
        (["-i", "NI2w", "--output", "absent/one.txt"], "'absent' does not exist"),
        (["-i", "NI2w", "--set", "bus.clok=1GHz"], "clok"),
        ([], "'--interface'"),
    ],
)
def test_a_wrong_request_is_refused_with_the_remedy(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["fit", "logp", *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_one_node_cannot_run_the_program():
    with pytest.raises(narthex.NarthexError, match="logp needs two nodes"):
        narthex.run("logp", nodes=1)


def test_processes_of_one_node_are_not_measured_against_each_other():
    settings = ["machine.processors_per_node=2"]
    done = narthex.run("logp", 8, 4, 4, 4, nodes=2, set=settings)
    assert {(report["node"], report["process"]) for report in done.document["reports"]} == {(0, 0)}
    alone = narthex.run("logp", 8, 4, 4, 4, nodes=2)
    assert done.value("round-trip latency") == pytest.approx(
        alone.value("round-trip latency"), rel=0.2
    )
