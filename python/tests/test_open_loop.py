"""Open-loop load: arrivals, latencies that count from intended times, percentiles, both programs.

The native build is the reference: the same arguments give the same arrivals there.
"""

import itertools
import math
import random
import statistics

import native
import pytest

import narthex
from narthex.assets import GUEST
from narthex.validation import plots

MEASURES = """
#include <stdio.h>
#include <stdlib.h>
#include "messaging/narthex.h"
#include "messaging/open_loop.h"

static struct narthex_latencies latencies;
static uint64_t due_ns[20000];

int main(int count, char **values) {
    if (count > 1) {
        narthex_arrivals_poisson(due_ns, 20000, atof(values[1]), 7);
        for (int index = 0; index < 20000; index++)
            printf("%llu\\n", (unsigned long long)due_ns[index]);
        return 0;
    }
    for (unsigned long long value; scanf("%llu", &value) == 1;)
        narthex_latency_add(&latencies, value);
    narthex_latencies_report(&latencies, "latency");
    return 0;
}
"""


@pytest.fixture(scope="module")
def measures(tmp_path_factory):
    """A native program that reports latencies from its input, or writes Poisson arrivals."""
    source = tmp_path_factory.mktemp("measures") / "measures.c"
    source.write_text(MEASURES)
    return native.build([source], source.with_suffix(""))


def reports(text: str) -> dict[str, float]:
    rows = (line.partition(": ") for line in text.splitlines())
    return {name: float(rest.split()[0]) for name, colon, rest in rows if colon}


@pytest.mark.parametrize("spread", [0.1, 3.0])
def test_percentiles_are_at_most_a_128th_above_the_exact_ones(measures, tmp_path, spread):
    numbers = random.Random(5)
    values = sorted(int(numbers.lognormvariate(8, spread)) for _ in range(10_000))
    given = tmp_path / "values"
    given.write_text(" ".join(map(str, values)))
    found = reports(native.run("/bin/sh", "-c", f"{measures} < {given}").stdout)
    for share, name in [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9"), (1, "p99.99")]:
        exact = values[round(10_000 * share) - 1 - (share == 1)]
        assert exact <= found[f"latency, {name}"] <= exact * (1 + 1 / 128)
    assert found["latency, mean"] == pytest.approx(statistics.mean(values))
    assert (found["latency, minimum"], found["latency, maximum"]) == (values[0], values[-1])


def test_a_percentile_beyond_which_no_latency_lies_is_not_reported(measures, tmp_path):
    (tmp_path / "values").write_text(" ".join(map(str, range(999))))
    found = reports(native.run("/bin/sh", "-c", f"{measures} < {tmp_path}/values").stdout)
    assert "latency, p99" in found
    assert "latency, p99.9" not in found


def test_times_between_poisson_arrivals_are_exponential(measures):
    due = [int(line) for line in native.run(measures, 1000).stdout.split()]
    gaps = [later - earlier for earlier, later in itertools.pairwise(due)]
    # 20,000 draws: a standard deviation of 7 ns of the mean, and of 0.0034 of the share.
    assert statistics.mean(gaps) == pytest.approx(1000, abs=28)
    assert statistics.stdev(gaps) == pytest.approx(1000, abs=40)
    assert sum(gap > 1000 for gap in gaps) / len(gaps) == pytest.approx(0.3679, abs=0.014)


RANKS = """
#include "programs/zipf.h"

int main(int count, char **values) {
    (void)count;
    struct zipf zipf;
    uint64_t state = random_start(7, 0), counts[4] = {0}, hash = 0;
    zipf_make(&zipf, 1000, atol(values[1]));
    for (size_t rank = 0; rank < 1000; rank++)
        hash = (hash ^ zipf.up_to[rank]) * UINT64_C(0x100000001b3);
    for (int draw = 0; draw < 20000; draw++) {
        size_t rank = zipf_rank(&zipf, random_next(&state));
        counts[rank == 0 ? 0 : rank < 10 ? 1 : rank < 100 ? 2 : 3] += 1;
    }
    const char *names[] = {"first", "to 10", "to 100", "beyond"};
    for (int each = 0; each < 4; each++)
        narthex_report(names[each], (double)counts[each], "draws");
    narthex_report("upper half of the hash", (double)(hash >> 32), "");
    narthex_report("lower half of the hash", (double)(hash & UINT32_MAX), "");
    return 0;
}
"""


def test_ranks_come_as_often_as_zipf_says_and_their_table_has_the_same_bits_natively(tmp_path):
    source = tmp_path / "ranks.c"
    source.write_text(RANKS)
    simulated = narthex.compile([source], tmp_path / "ranks")
    on_host = native.build([source], tmp_path / "native")
    for hundredths in (50, 99, 150):
        done = narthex.run(simulated, hundredths, nodes=1)
        found = {each["name"]: each["value"] for each in done.document["reports"]}
        assert found == reports(native.run(on_host, hundredths).stdout)
        chances = [rank ** (-hundredths / 100) for rank in range(1, 1001)]
        for name, (first, last) in {
            "first": (0, 1), "to 10": (1, 10), "to 100": (10, 100), "beyond": (100, 1000),
        }.items():  # fmt: skip
            share = sum(chances[first:last]) / sum(chances)
            spread = math.sqrt(share * (1 - share) / 20_000)
            assert found[name] / 20_000 == pytest.approx(share, abs=4 * spread)


def test_popular_keys_and_values_of_several_sizes_are_checked_as_all_are():
    words = ["key-value", 200, 256, 200, 20, "poisson", 8, 500, 50, 99, 8]
    even = narthex.run(*words[:-2], 0, 256, nodes=3)
    found = narthex.run(*words, nodes=3)
    sent = [sum(node["statistics"]["packets_sent"] for node in done.document["nodes"])
            for done in (even, found)]  # fmt: skip
    assert sent[1] < 0.9 * sent[0]


@pytest.fixture(scope="module", params=["open-loop", "key-value"])
def program(request, tmp_path_factory):
    sources = sorted((GUEST / "programs" / request.param).glob("*.c"))
    return request.param, native.build(sources, tmp_path_factory.mktemp("native") / "program")


@pytest.mark.parametrize(("interface", "arrivals"), [
    ("NI2w", "poisson"), ("CNI16Qm", "bursts"), ("CNI4", "fixed"),
])  # fmt: skip
def test_both_programs_check_themselves_and_offer_the_native_load(program, interface, arrivals):
    name, binary = program
    words = [60, 96, 300, 60, arrivals, 5]
    done = narthex.run(name, *words, machine="isca96", interface=interface, nodes=3)
    on_host = native.run(binary, *words, ranks=3)
    assert on_host.returncode == 0, on_host.stderr
    assert done.value("offered rate") == pytest.approx(reports(on_host.stdout)["offered rate"])
    assert done.value("latency, minimum") > 5000


def test_requests_that_are_due_at_once_wait_for_each_other_and_that_counts(tmp_path):
    times = tmp_path / "times"
    times.write_text("0\n" * 100)
    words = ["open-loop", 0, 64, 100, 0, "times"]
    done = narthex.run(*words, interface="NI2w", nodes=2, files={"times": times})
    # The last of 100 begins to be sent when nearly all others are done.
    assert done.value("sent late by at most") > 50 * done.value("latency, minimum") / 2
    assert done.value("latency, maximum") > done.value("sent late by at most")
    assert done.value("latency, p50") == pytest.approx(done.value("latency, maximum") / 2, rel=0.2)


@pytest.mark.parametrize(("rate", "is_saturated"), [(60, False), (2000, True)])
def test_saturation_is_said_and_ends(rate, is_saturated):
    done = narthex.run("open-loop", rate, 64, 400, 100, interface="NI2w", nodes=2)
    keeps_up = done.value("achieved rate") > 0.95 * done.value("offered rate")
    assert keeps_up is not is_saturated
    assert any("saturated: " in each["text"] for each in done.document["output"]) is is_saturated


@pytest.mark.parametrize(("words", "told"), [
    ([0], 'argument 1 (rate) is "0" with arrivals "poisson"'),
    ([50, 64, 100, 0, "bursst"], "a file of times"),
    ([0, 64, 100, 0, "nowhere"], "there is no file of times 'nowhere'"),
    ([0, 64, 100, 0, "times"], "times has 3 times, too few"),
    ([0, 64, 3, 0, "bad"], 'bad, line 2: "12x" is no time'),
    ([50, 60], 'argument 2 (bytes) is "60"; allowed are multiples of 8'),
    ([50, 64, 1], 'argument 3 (requests) is "1"'),
])  # fmt: skip
def test_a_load_that_cannot_be_is_refused(tmp_path, words, told):
    (tmp_path / "times").write_text("0\n5\n9\n")
    (tmp_path / "bad").write_text("0\n12x\n")
    files = {"times": tmp_path / "times", "bad": tmp_path / "bad"}
    with pytest.raises(narthex.NarthexError) as error:
        narthex.run("open-loop", *words, nodes=2, files=files)
    assert told in str(error.value)
    assert error.value.exit_code == 2


def test_a_comparison_has_the_percentiles_beside_each_other():
    words = ["open-loop", 100, 64, 200, 50]
    found = narthex.compare(*words, interfaces=["NI2w", "CNI4"], by="latency, p90", nodes=2)
    assert found.percentiles == ["latency, p50", "latency, p99"]
    assert narthex.compare("roundtrip", 8, 2, interface="NI2w", nodes=2).percentiles == []


LOADED = """
title = "Latency under load"
source = "no paper"
program = "open-loop"
machine = "chip"
report = "latency, p90"
unit = "us"
curves = "{curve} @ {panel} at {x} thousand requests/s"
over = "achieved rate"
interfaces = ["NI2w"]

[[workload]]
name = "p50 at 100 thousand requests/s"
args = ["100", "64", "50", "5"]
report = "latency, p50"

[[workload]]
name = "p90 at 100 thousand requests/s"
args = ["100", "64", "50", "5"]
"""


def test_latencies_are_drawn_over_the_achieved_rate(tmp_path):
    file = tmp_path / "loaded.toml"
    file.write_text(LOADED)
    outcome = narthex.experiment(str(file), machine="hpca98")
    done = narthex.run("open-loop", 100, 64, 50, 5, interface="NI2w", nodes=2)
    drawn = plots.curve_rows(outcome)
    names = ["latency, p50", "latency, p90"]
    assert [row["value"] for row in drawn] == [done.value(name) / 1000 for name in names]
    assert [row["panel"] for row in drawn] == ["p50", "p90"]
    assert {row["x"] for row in drawn} == {done.value("achieved rate")}
    assert plots.chart(outcome).description.endswith("over achieved rate, requests/s")


@pytest.mark.parametrize(("kept", "told"), [
    ('report = "latency, p90"\nover = "achieved rate"', "'over' needs 'curves' and 'report'"),
    ('ledger = ["send"]\nover = "achieved rate"', "'over' needs 'curves' and 'report'"),
    ("message_sizes = true", "has 'report': one of report, statistic, ledger stands in the place"),
])  # fmt: skip
def test_a_report_of_an_experiment_that_has_none_is_refused(tmp_path, kept, told):
    head = LOADED.index('report = "latency, p90"')
    tail = LOADED.index("interfaces")
    middle = f'{kept}\nunit = "us"\n'
    (tmp_path / "wrong.toml").write_text(LOADED[:head] + middle + LOADED[tail:])
    with pytest.raises(narthex.NarthexError, match=told):
        narthex.experiment(str(tmp_path / "wrong.toml"))
