"""Experiments over several programs: regions, statistics, sizes, failures, plots."""

import dataclasses
import json

import pytest

from narthex import NarthexError, finished, validation
from narthex.charts import palette
from narthex.cli import main
from narthex.remaining import Remaining
from narthex.report import pictures
from narthex.validation import plots, rows, sampling
from narthex.validation.definition import MessageSize
from narthex.validation.execution import Sample
from narthex.validation.loading import parse
from narthex.validation.outcome import assess
from narthex.validation.published import Key, Published

FILE = """
title = "Two programs"
source = "Figure 1"
machine = "hpca98"
report = "execution time"
unit = "ms"
normalise = "NI2w"
interfaces = [
    "NI2w", "CNI512Q",
    { name = "NI2w; buffers = 2", interface = "NI2w", set = ["flow_control.buffers=2"] },
    { name = "NI2w; buffers = 4", interface = "NI2w", workloads = ["one"] },
]
workload = [{ name = "one", program = "first", args = ["8"] }, { name = "two", program = "second" }]

[[comparison]]
interface = "CNI512Q"
baseline = "NI2w"
workload = "both"
relation = "reduction"

[[derived]]
interface = "all"
workload = "both"
values = ["100 * ('NI2w' / 'CNI512Q' - 1)", "100 * ('NI2w; buffers = 2' / 'CNI512Q' - 1)"]
take = ["smallest", "largest", "mean", "largest mean"]

[[threshold]]
interface = "CNI512Q"
baseline = "NI2w"
workload = "one"
unit = "buffers"
along = [2, 4]
holds = "'NI2w; buffers = #' <= 'CNI512Q'"

[[claim]]
text = "queues win"
source = "Section 1"
holds = "'CNI512Q' < 'NI2w'"
"""
INTERFACES = ("NI2w", "CNI512Q", "NI2w; buffers = 2")


def written(folder, text=FILE):
    file = folder / "mine.toml"
    file.write_text(text)
    return parse("own/mine", file)


def samples(**columns):
    """Return samples by keyword: the values of the three interfaces at `one` and `two`."""
    found = {
        (interface, workload): [Sample(value)]
        for workload, column in columns.items()
        for interface, value in zip(INTERFACES, column, strict=True)
        if value is not None
    }
    return {**found, ("NI2w; buffers = 4", "one"): [Sample(1.0)]}


def derived(outcome):
    return {
        (row.interface, row.take): row.value for row in outcome.rows if row.baseline is not None
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('report = "execution time"', "", "one of report, statistic, .* none is there"),
        ('unit = "ms"', 'ledger = ["send"]\nunit = "ms"', "not report and ledger"),
        ('program = "second"', 'args = ["1"]', "workload 'two' has no 'program'"),
        ('args = ["8"]', "sizes = [8]", "'one' has 'sizes'"),
        ('normalise = "NI2w"', 'normalise = "NI3w"', "did you mean 'NI2w'"),
        ('workloads = ["one"]', 'workloads = ["on"]', "did you mean 'one'"),
        ("'CNI512Q' < 'NI2w'", "'NI2w; buffers = 4' < 'NI2w'", "'NI2w; buffers = 4' is measured"),
        ("along = [2, 4]", "along = [4, 2]", "must be numbers that rise"),
        ("along = [2, 4]", "along = [2, 8]", "no measured interface 'NI2w; buffers = 8'"),
        ("'CNI512Q' - 1)\", \"", "'CNI512' - 1)\", \"", "did you mean 'CNI512Q'"),
        ('"largest mean"', '"best mean"', "no 'take' 'best mean'"),
        ('relation = "reduction"', 'relation = "reduce"', "did you mean 'reduction'"),
        ('unit = "ms"', 'share_of = ["packets_sent"]\nunit = "ms"', "'share_of' needs 'statistic'"),
        ('report = "execution time"', "message_sizes = 1", "must be true or false"),
        (
            'interface = "CNI512Q"\nbaseline = "NI2w"\nworkload = "both"',
            'interface = "NI2w; buffers = 4"\nbaseline = "NI2w"\nworkload = "both"',
            "'NI2w; buffers = 4' is not measured at 'two'",
        ),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path, old, new, message):
    assert old in FILE
    with pytest.raises(NarthexError, match=message):
        written(tmp_path, FILE.replace(old, new))


def test_each_workload_has_its_program_and_an_interface_may_have_few_workloads(tmp_path):
    experiment = written(tmp_path)
    assert experiment.programs == ["first", "second"]
    assert len(experiment.cells) == 7
    assert ("NI2w; buffers = 4", "two") not in experiment.measured


def test_derived_values_are_taken_over_expressions_and_workloads(tmp_path):
    outcome = assess(written(tmp_path), samples(one=(3, 2, 4), two=(2, 1, 5)), [], {}, {})
    found = derived(outcome)
    assert found["all", "smallest"] == pytest.approx(50)
    assert found["all", "largest"] == pytest.approx(400)
    assert found["all", "mean"] == pytest.approx((50 + 100 + 100 + 400) / 4)
    assert found["all", "largest mean"] == pytest.approx((100 + 400) / 2)
    reduction = 100 * ((1 - 2 / 3) + (1 - 1 / 2)) / 2
    assert found["CNI512Q", "mean"] == pytest.approx(reduction)


@pytest.mark.parametrize(("with_two", "reached"), [(3, 4), (2, 2)])
def test_a_threshold_is_the_smallest_number_from_which_on_the_claim_holds(
    tmp_path, with_two, reached
):
    made = assess(written(tmp_path), samples(one=(3, 2, with_two), two=(2, 1, 1)), [], {}, {})
    assert derived(made)["CNI512Q", None] == reached


def test_a_failed_run_leaves_empty_what_needs_it_and_nothing_else(tmp_path):
    outcome = assess(written(tmp_path), samples(one=(3, 2, None), two=(2, 1, None)), [], {}, {})
    found = derived(outcome)
    assert found["CNI512Q", "mean"] is not None
    assert (found["all", "smallest"], found["CNI512Q", None]) == (None, None)
    (claim,) = outcome.claims
    assert claim.holds
    one_lost = assess(written(tmp_path), samples(one=(3, None, 1), two=(2, 1, 1)), [], {}, {})
    assert one_lost.claims[0].fails_at == ["one"]


def test_errors_of_shares_are_theirs_and_those_of_relations_are_the_ratios(tmp_path):
    key = Key(("all", "memory-bus"), None, "both", "percent")
    printed = {key: Published(50.0, 800.0, "")}

    def error(text):
        made = assess(
            written(tmp_path, text), samples(one=(3, 2, 4), two=(2, 1, 5)), [], printed, {}
        )
        (row,) = (row for row in made.rows if row.take == "largest")
        return row.error_percent

    assert error(FILE) == pytest.approx(100 * (500 / 900 - 1))
    as_share = FILE.replace('take = ["smallest"', 'share = true\ntake = ["smallest"')
    assert error(as_share) == pytest.approx(-50)


def test_sizes_are_shares_beside_the_papers_and_the_nearest(tmp_path):
    text = FILE[: FILE.index("[[comparison]]")].replace('"execution time"', '""')
    text = text.replace('unit = "ms"', 'unit = "percent"\nmessage_sizes = true')
    text = text.replace('args = ["8"]', "sizes = [12, { bytes = 100, low = 50, high = 200 }]")
    text = text.replace('program = "second"', 'program = "second", sizes = [8]')
    experiment = written(tmp_path, text)
    sent = {12: 50, 16: 20, 60: 20, 199: 9, 1000: 1}
    taken = {("NI2w", "one"): [Sample(None, message_sizes=sent)]}
    found = {
        row.workload: row
        for row in assess(experiment, taken, [], {}, {}).rows
        if row.interface == "NI2w"
    }
    assert [found[f"one; {size} bytes"].value for size in (12, 16, 100, 1000)] == [50, 20, 29, 1]
    assert found["one; 12 bytes"].nearest_percent == 70
    assert found["one; 100 bytes"].nearest_percent == 30
    assert found["two; 8 bytes"].value is None
    keys = rows.keys(experiment)
    assert Key(("NI2w", "memory-bus"), None, "one; 100 bytes", "percent") in keys


def test_a_size_alone_or_a_range():
    assert MessageSize(12).holds(12)
    assert not MessageSize(12).holds(13)
    assert MessageSize(351, 12, 1812).holds(1812)


# --- real runs, of a program that has a region -----------------------------------

REAL = """
title = "Real"
source = "here"
program = "roundtrip"
machine = "hpca98"
region = "round trips"
unit = "ms"
{value}
interfaces = ["NI2w", "CNI512Q"]
workload = [{{ name = "8 bytes", args = ["8", "4", "1"]{more} }}]
"""


@pytest.fixture(autouse=True)
def _empty_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(finished, "cache_folder", lambda: tmp_path / "cache")


def real(folder, value, unit="ms", more=""):
    file = folder / "real.toml"
    file.write_text(REAL.format(value=value, more=more).replace('"ms"', f'"{unit}"'))
    return validation.experiment(str(file))


def test_a_statistic_of_a_region_is_added_up_over_the_nodes(tmp_path):
    sent = real(tmp_path, 'statistic = ["messages_sent"]', "messages")
    # Four round trips, both ways, from the region's begin to its end on node 0.
    assert all(4 <= row.value <= 10 for row in sent.rows)
    kinds = real(tmp_path, 'statistic = ["bus_occupied_by_kind.uncached_load"]')
    assert kinds.rows[0].value > 0
    shares = 'statistic = ["bus_reads"]\nshare_of = ["bus_reads", "bus_upgrades"]'
    assert 0 < real(tmp_path, shares, "percent").rows[1].value <= 100


def test_a_ledgers_share_and_time_of_a_region(tmp_path):
    every = 'ledger = ["execute", "data miss", "uncached access"]'
    assert real(tmp_path, every, "percent").rows[0].value == pytest.approx(100)
    time = real(tmp_path, every, "us").rows[0].value
    assert time > real(tmp_path, 'ledger = ["execute"]', "us").rows[0].value > 0


def test_messages_of_a_region_are_counted_by_size(tmp_path):
    outcome = real(tmp_path, "message_sizes = true", "percent", ", sizes = [16]")
    assert outcome.rows[0].value > 50
    assert sum(row.value for row in outcome.rows if row.interface == "NI2w") == pytest.approx(100)


@pytest.mark.parametrize(
    ("value", "unit", "reason"),
    [
        ('statistic = ["bus_readz"]', "ms", "did you mean 'bus_reads'"),
        ('ledger = ["send"]', "pieces", "one of percent, ns"),
    ],
)
def test_what_a_run_does_not_have_is_a_failed_run_with_its_reason(tmp_path, value, unit, reason):
    outcome = real(tmp_path, value, unit)
    assert reason in outcome.failures[0].reason
    assert [row.value for row in outcome.rows] == [None, None]
    assert not outcome.samples


def test_a_region_that_the_program_does_not_have_is_named_with_the_nearest(tmp_path):
    file = tmp_path / "real.toml"
    text = REAL.format(value='statistic = ["bus_reads"]', more="")
    file.write_text(text.replace('"round trips"', '"round trip"'))
    outcome = validation.experiment(str(file))
    assert "did you mean 'round trips'" in outcome.failures[0].reason


def test_a_run_that_fails_stops_no_other(tmp_path):
    file = tmp_path / "half.toml"
    text = REAL.format(value='report = "round-trip latency"', more="")
    file.write_text(text.replace('"NI2w", "CNI512Q"]', '"NI2w", "CNI9", "CNI512Q"]'))
    outcome = validation.experiment(str(file))
    (failure,) = outcome.failures
    assert (failure.interface, failure.workload, failure.exit_code) == ("CNI9", "8 bytes", 2)
    assert [row.value is None for row in outcome.rows] == [False, True, False]
    assert json.loads(json.dumps(outcome.document))["failures"][0]["interface"] == "CNI9"


# --- plots ---------------------------------------------------------------------------


def test_the_parts_of_a_bar_add_up_to_the_normalised_time(tmp_path):
    outcome = real(tmp_path, 'report = "round-trip latency"', "us")
    slow, quick = (row.value for row in outcome.rows)
    gain = dataclasses.replace(outcome.rows[1], baseline="NI2w", value=50.0, unit="percent")
    outcome.rows.append(gain)  # of the same interface and workload, and no time
    heights = {"NI2w": 0.0, "CNI512Q": 0.0}
    parts = plots.time_rows(outcome)
    for part in parts:
        heights[part["interface"]] += part["value"]
    assert heights == {"NI2w": pytest.approx(1), "CNI512Q": pytest.approx(quick / slow)}
    assert {part["part"] for part in parts} <= set(palette.ACTIVITIES)


@pytest.mark.parametrize("suffix", pictures.FORMATS)
def test_a_plot_is_a_file_that_needs_no_network(tmp_path, suffix):
    outcome = real(tmp_path, 'report = "round-trip latency"', "us")
    file = tmp_path / f"plot{suffix}"
    plots.write(outcome, file)
    start = file.read_bytes()[:2000]
    if suffix == ".png":
        assert start.startswith(b"\x89PNG")
        return
    text = file.read_text()
    assert "Real" in text
    assert ('role="img" aria-label="Real' if suffix == ".svg" else "<title>Real") in text
    assert 'src="http' not in text


def test_message_sizes_are_drawn_beside_the_papers(tmp_path):
    outcome = real(tmp_path, "message_sizes = true", "percent", ", sizes = [16]")
    first = dataclasses.replace(outcome.rows[0], published_low=40.0, published_high=40.0)
    shown = plots.size_rows(dataclasses.replace(outcome, rows=[first]))
    assert [(row["kind"], row["bytes"]) for row in shown] == [("measured", 16), ("published", 16)]
    plots.write(outcome, tmp_path / "sizes.svg")


def test_workloads_whose_names_are_read_are_points_of_curves(tmp_path):
    outcome = real(tmp_path, 'report = "round-trip latency"', "us")
    named = dataclasses.replace(outcome.experiment, curves="{curve}, {x} queues, {panel}")
    names = ["hybrid, 4 queues, skew 0", "hybrid, 16 queues, skew 0", "of another kind"]
    rows = [dataclasses.replace(outcome.rows[0], workload=name, value=2.5) for name in names]
    read = dataclasses.replace(outcome, experiment=named, rows=rows)
    points = plots.curve_rows(read)
    assert [(row["x"], row["panel"], row["value"]) for row in points] == [
        (4, "skew 0", 2.5),
        (16, "skew 0", 2.5),
    ]
    assert {row["interface"] for row in points} == {"NI2w: hybrid"}
    plots.write(read, tmp_path / "curves.svg")


@pytest.mark.parametrize(
    ("file", "names", "message"),
    [
        ("plot.pdf", ["a"], "must end in .html, .svg, .png"),
        ("plot.svg", ["a", "b"], "of one experiment, not of 2"),
    ],
)
def test_a_place_that_no_plot_can_have_is_refused(tmp_path, file, names, message):
    with pytest.raises(NarthexError, match=message):
        plots.check(tmp_path / file, names)


def test_the_shares_of_a_ledger_have_the_order_of_the_stack():
    taken = sampling.Sample(1.0, ledger_ps={"poll / execute": 3, "application / execute": 1})
    assert plots._shares([taken.ledger_ps]) == {"application": 0.25, "poll": 0.75}


# --- how long it takes, and how it ends -----------------------------------------------


def test_the_time_left_is_that_of_runs_of_the_same_workload():
    remaining = Remaining.of(2, ["quick", "slow"] * 3)
    assert remaining.finish("quick", None) is None  # kept from before: tells nothing
    assert remaining.finish("quick", 1.0) == pytest.approx((1 * 1 + 3 * 1) / 2)
    assert remaining.finish("slow", 9.0) == pytest.approx((1 * 1 + 2 * 9) / 2)


def test_failed_runs_and_experiments_are_told_at_the_end_and_give_the_exit_code(tmp_path, capsys):
    text = REAL.format(value='report = "round-trip latency"', more="").replace('"ms"', '"us"')
    half, broken = tmp_path / "half.toml", tmp_path / "broken.toml"
    half.write_text(text.replace('"NI2w", "CNI512Q"]', '"CNI9", "NI2w"]'))
    broken.write_text(text.replace('"roundtrip"', '"roundtrap"'))
    document = tmp_path / "result.json"
    with pytest.raises(SystemExit) as ended:
        main(["experiment", str(broken), str(half), "--json", str(document)])
    assert ended.value.code == 2
    told = capsys.readouterr()
    assert "CNI9, 8 bytes, seed 1" in told.err
    assert "did you mean 'roundtrip'" in told.err
    assert [row["value"] is None for row in json.loads(document.read_text())["rows"]] == [
        True,
        False,
    ]
