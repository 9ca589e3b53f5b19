"""Experiments: strict files, published values, rows and claims."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from narthex import NarthexError, validation
from narthex.validation import published
from narthex.validation.definition import parse
from narthex.validation.outcome import Sample, assess
from narthex.validation.published import Published

FILE = """
title = "Round trips"
source = "Table 1"
program = "roundtrip"
machine = "hpca98"
attach = "memory-bus"
report = "round-trip latency"
unit = "us"
interfaces = ["NI2w", "CNI512Q"]

[[workload]]
name = "8 bytes"
args = ["8"]

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
def test_every_shipped_experiment_loads(name):
    assert validation.load(name).name == name


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("program =", "programm =", "did you mean 'program'"),
        ('unit = "us"', "unit = 3", "'unit' must be a text"),
        ('args = ["8"]', "args = [8]", "'args' must be a list of texts"),
        ("'CNI512Q' <", "'CNI512' <", "did you mean 'CNI512Q'"),
        ('title = "Round trips"', "", "'title' is missing"),
        ('["NI2w", "CNI512Q"]', "[]", "'interfaces' must not be empty"),
        ("[[claim]]", "[claim]", "must be an array of tables"),
        ("title =", "title", "mine.toml"),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path, old, new, message):
    with pytest.raises(NarthexError, match=message):
        parse("own/mine", write(tmp_path, FILE.replace(old, new)))


def test_rows_join_published_values_and_leave_the_rest_empty(tmp_path):
    experiment = parse("own/mine", write(tmp_path, FILE))
    samples = {
        ("NI2w", "8 bytes"): [Sample(2.0, None), Sample(3.0, None)],
        ("CNI512Q", "8 bytes"): [Sample(1.0, 0.25)],
    }
    printed = {("NI2w", "8 bytes", "us"): Published(2.0, 2.0, "Table 1")}
    outcome = assess(experiment, samples, printed, {})
    first, second = outcome.rows
    assert (first.value, first.spread, first.error_percent) == (2.5, 1.0, 25.0)
    assert (second.spread, second.published_low, second.error_percent) == (0.25, None, None)
    assert outcome.holds


def test_a_claim_that_does_not_hold_is_told(tmp_path):
    experiment = parse("own/mine", write(tmp_path, FILE))
    samples = {(name, "8 bytes"): [Sample(1.0, None)] for name in experiment.interfaces}
    outcome = assess(experiment, samples, {}, {})
    assert [claim.holds for claim in outcome.claims] == [False]
    assert not outcome.holds


def test_published_values_are_those_of_the_named_experiment_only():
    values = published.read("hpca98/roundtrip")
    assert values["CNI32Qm", "64 bytes", "us"].low == 1.78
    assert not any(unit == "MB/s" for _, _, unit in values)
    assert ("CNI32Qm", "256 bytes", "us") not in values


def test_a_paper_without_values_has_none():
    assert published.read("nobody/nothing") == {}


@given(st.floats(1, 1e3), st.floats(1, 1e3), st.floats(1, 1e3))
def test_the_error_is_zero_exactly_inside_the_published_range(first, second, measured):
    low, high = sorted((first, second))
    error = Published(low, high, "").error_percent(measured)
    assert (error == 0) == (low <= measured <= high) or abs(error) < 1e-9
    assert error >= 0 or measured < low
