"""Experiments: strict files, published values, and which rows answer which of them."""

import re
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from narthex import NarthexError, extras, programs, validation
from narthex.assets import EXPERIMENTS
from narthex.validation import published, rows, variations, wording
from narthex.validation.loading import only, parse
from narthex.validation.outcome import assess
from narthex.validation.published import Key, Published
from narthex.validation.sampling import Sample

FILE = """
title = "Round trips"
source = "Table 1"
program = "roundtrip"
machine = "hpca98"
report = "round-trip latency"
unit = "us"
interfaces = ["NI2w", "CNI512Q", { name = "CNI512Q, fast", interface = "CNI512Q", set = ["a=b"] }]

[[workload]]
name = "8 bytes"
bytes = 8
args = ["8"]

[[comparison]]
interface = "CNI512Q"
baseline = "NI2w"
workload = "8 bytes"

[[break_even]]
interface = "CNI512Q"
baseline = "NI2w"

[[claim]]
text = "queues win"
source = "Section 1"
holds = "'CNI512Q' < 'NI2w'"
"""


def write(folder, text):
    file = folder / "mine.toml"
    file.write_text(text)
    return file


@pytest.mark.parametrize("name", validation.names())
def test_every_shipped_experiment_loads_and_its_programs_machine_and_settings_exist(name):
    experiment = validation.load(name)
    assert experiment.name == name
    assert set(experiment.programs) <= set(programs.shipped())
    if experiment.needs and extras.lacking(experiment.needs):
        pytest.skip(f"skipped: needs narthex[{experiment.needs}]")
    validation.check(experiment, name)
    variations.swept(experiment, [])


@pytest.mark.parametrize("name", validation.names())
def test_a_claim_with_a_printed_range_is_held_to_both_of_its_ends(name):
    for claim in validation.load(name).claim:
        for ends in re.findall(r"(\d+) (?:% )?(?:to|and) (\d+) %", claim.text):
            bounds = [float(each) for each in re.findall(r"\d+\.\d+", claim.holds)]
            for end in ends:
                ratio = 1 + int(end) / 100
                assert any(abs(bound - ratio) <= 0.011 for bound in bounds), (claim.text, end)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("program =", "programm =", "did you mean 'program'"),
        ('unit = "us"', "unit = 3", "'unit' must be a text"),
        ('args = ["8"]', "args = [8]", "'args' must be a list of texts"),
        ("'CNI512Q' <", "'CNI512' <", "did you mean 'CNI512Q'"),
        ('title = "Round trips"', "", "'title' is missing"),
        ('interfaces = ["NI2w", "CNI512Q", {', "interfaces = [] # {", "must not be empty"),
        ("interfaces = [", 'interfaces = ["NI2w", ', "'NI2w' stands there twice"),
        ("interfaces = [", "interfaces = [1, ", "an array of tables"),
        (
            "interfaces = [",
            'interfaces = [{ name = "x", where = ["y"] }, ',
            "there is no place 'y'",
        ),
        ('set = ["a=b"]', 'sets = ["a=b"]', "did you mean 'set'"),
        ("[[claim]]", "[claim]", "'claim' must be an array of tables"),
        ('baseline = "NI2w"', 'baseline = "NI3w"', "did you mean 'NI2w'"),
        ("[[break_even]]", "take = ['best']\n[[break_even]]", "no 'take' 'best'"),
        (
            "bytes = 8",
            "report = 'a'\nledger = ['poll']\nbytes = 8",
            "one of report, statistic, ledger",
        ),
        ("bytes = 8", "per = 0\nbytes = 8", "it divides the value"),
        ("bytes = 8", "firmware_of = 0\nbytes = 8", "needs whole_run = true"),
        ("bytes = 8", "bytes = 8.5", "'bytes' must be a whole number"),
        ("bytes = 8", "", "needs 'bytes' in each workload"),
        ('unit = "us"', 'unit = "us"\nlimit_percent = "ten"', "'limit_percent' must be a number"),
        ("title =", "title", "mine.toml"),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path, old, new, message):
    with pytest.raises(NarthexError, match=message):
        parse("own/mine", write(tmp_path, FILE.replace(old, new)))


def samples_of(experiment, *values):
    """Return one sample for each measured interface at the one workload."""
    names = experiment.interface_names
    return {(n, "8 bytes"): [Sample(v, None)] for n, v in zip(names, values, strict=True)}


def test_a_claim_that_does_not_hold_is_told_with_its_workload(tmp_path):
    experiment = parse("own/mine", write(tmp_path, FILE))
    outcome = assess(experiment, samples_of(experiment, 1.0, 1.0, 1.0), [], {}, {})
    assert [(claim.holds, claim.fails_at) for claim in outcome.claims] == [(False, ["8 bytes"])]
    assert not outcome.holds


def test_an_interface_with_settings_keeps_its_name_in_rows_and_its_model_in_runs(tmp_path):
    experiment = parse("own/mine", write(tmp_path, FILE))
    plain, fast = experiment.interfaces[1:]
    assert (plain.name, plain.spelt, plain.set) == ("CNI512Q", "CNI512Q", [])
    assert (fast.name, fast.spelt, fast.set) == ("CNI512Q, fast", "CNI512Q", ["a=b"])


def test_a_part_of_an_experiment_keeps_what_needs_no_other_interface(tmp_path):
    experiment = parse("own/mine", write(tmp_path, FILE))
    both = only(experiment, ["cni512q", "NI2w"])
    assert both.interface_names == ["NI2w", "CNI512Q"]
    assert (len(both.comparison), len(both.break_even), len(both.claim)) == (1, 1, 1)
    one = only(experiment, ["NI2w"])
    assert (one.comparison, one.break_even, one.claim) == ([], [], [])
    with pytest.raises(NarthexError, match="did you mean 'NI2w'"):
        only(experiment, ["NI2"])


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("cni512q,Fast", ["CNI512Q, fast"]),
        ("NI2w, CNI512Q, fast", ["NI2w", "CNI512Q, fast"]),
        ("CNI512Q, fast, CNI512Q,", ["CNI512Q", "CNI512Q, fast"]),
    ],
)
def test_names_of_interfaces_with_commas_are_taken_whole(tmp_path, asked, kept):
    experiment = parse("own/mine", write(tmp_path, FILE))
    assert only(experiment, [asked]).interface_names == kept
    with pytest.raises(NarthexError, match=r"no interface 'CNI521Q, fast' .*'CNI512Q, fast'"):
        only(experiment, ["NI2w, CNI521Q, fast"])


def test_the_summary_counts_published_rows_and_names_the_worst(tmp_path):
    text = FILE.replace('unit = "us"', 'unit = "us"\nlimit_percent = 10')
    text += """
[[exception]]
interface = "CNI512Q"
workload = "8 bytes"
limit_percent = 25
reason = "known"
"""
    experiment = parse("own/mine", write(tmp_path, text))
    printed = {
        Key(("NI2w", "memory-bus"), None, "8 bytes", "us"): Published(2.0, 2.0, ""),
        Key(("CNI512Q", "memory-bus"), None, "8 bytes", "us"): Published(1.0, 1.0, ""),
        Key(("CNI512Q, fast", "memory-bus"), None, "8 bytes", "us"): Published(1.0, 1.0, ""),
    }
    outcome = assess(experiment, samples_of(experiment, 2.1, 1.2, 0.8), [], printed, {})
    summary = outcome.summary
    assert summary.published == 3
    assert summary.mean_absolute_error_percent == pytest.approx((5 + 20 + 20) / 3)
    assert (summary.worst, summary.worst_error_percent) == (
        "CNI512Q, 8 bytes",
        pytest.approx(20.0),
    )
    assert [row.interface for row in outcome.outside_limits] == ["CNI512Q, fast"]
    assert [row.limit_percent for row in outcome.rows[:3]] == [10, 25, 10]
    assert outcome.rows[3].limit_percent is None  # the comparison has no published value


def test_the_summary_names_a_published_break_even_that_is_not_found(tmp_path):
    experiment = parse("own/mine", write(tmp_path, FILE))
    pair = ("CNI512Q", "memory-bus"), ("NI2w", "memory-bus")
    printed = {Key(*pair, "break-even payload", "bytes"): Published(64.0, 64.0, "")}
    summary = assess(experiment, samples_of(experiment, 2.0, 1.0, 1.0), [], printed, {}).summary
    assert summary.without_value == ["CNI512Q against NI2w, break-even payload"]
    assert (summary.published, summary.mean_absolute_error_percent) == (1, None)


def test_a_value_in_percent_is_limited_in_points(tmp_path):
    text = FILE.replace('unit = "us"', 'unit = "us"\nlimit_percent = 20\nlimit_points = 5')
    experiment = parse("own/mine", write(tmp_path, text))
    key = Key(("CNI512Q", "memory-bus"), ("NI2w", "memory-bus"), "8 bytes", "percent")
    samples = samples_of(experiment, 1.4, 1.0, 1.0)
    outcome = assess(experiment, samples, [], {key: Published(26.0, 26.0, "")}, {})
    (row,) = (row for row in outcome.rows if row.unit == "percent")
    assert row.error_percent == pytest.approx(100 * (1.4 / 1.26 - 1))
    assert row.error_points == pytest.approx(14)
    assert row.within_limit is False
    assert wording.error(row) == "+11.1 %, +14.0 points !"
    cell = next(row for row in outcome.rows if row.baseline is None)
    assert (cell.error_points, cell.limit_points) == (None, None)


def test_every_published_row_is_answered_by_a_row_of_an_experiment():
    answered = defaultdict(set)
    for experiment in map(validation.load, validation.names()):
        answered[experiment.published] |= rows.keys(experiment) | rows.not_compared(experiment)
    for file in (EXPERIMENTS / "published").glob("*.csv"):
        for name, key, _ in published.rows(file.stem):
            assert key in answered[name], f"{name}: no row answers {key}"


def test_published_values_are_those_of_the_named_experiment_only():
    values = published.read("hpca98/roundtrip")
    at_64_bytes = Key(("CNI32Qm", "memory-bus"), None, "64 bytes", "us")
    assert values[at_64_bytes].low == 1.78
    assert not any(key.unit == "MB/s" for key in values)
    assert at_64_bytes._replace(workload="256 bytes") not in values


def test_a_paper_without_values_has_none():
    assert published.read("nobody/nothing") == {}


@pytest.mark.parametrize(
    ("text", "attach", "place"),
    [
        ("NI2w", "memory-bus", ("NI2w", "memory-bus")),
        ("NI2w", "io-bus", ("NI2w", "io-bus")),
        ("NI2w on cache-bus", "memory-bus", ("NI2w", "cache-bus")),
    ],
)
def test_an_interface_is_known_by_name_and_attachment(text, attach, place):
    assert published.place(text, attach) == place


@given(st.floats(1, 1e3), st.floats(1, 1e3), st.floats(1, 1e3))
def test_the_error_is_zero_exactly_inside_the_published_range(first, second, measured):
    low, high = sorted((first, second))
    error = Published(low, high, "").error_percent(measured)
    assert (error == 0) == (low <= measured <= high) or abs(error) < 1e-9
    assert error >= 0 or measured < low
