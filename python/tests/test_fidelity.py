"""How faithful systems are, and that no miss is explained that does not happen."""

import re

import pytest

from narthex import NarthexError, documentation
from narthex.assets import experiment_names
from narthex.validation import fidelity, load
from narthex.validation.loading import parse
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
interfaces = ["NI2w", "CNI512Q", "CNI32Qm"]

[[workload]]
name = "8 bytes"
args = ["8"]

[[miss]]
rows = ["CNI*, 8 bytes"]
cause = "the queues' engines are not timed"

[[claim]]
text = "queues win"
source = "Section 1"
holds = "'CNI512Q' < 'NI2w'"
fails_because = "as above"
"""


def outcome(folder, *values, text=FILE):
    """Set three measured values beside the printed 1 us."""
    file = folder / "mine.toml"
    file.write_text(text)
    experiment = parse("own/mine", file)
    names = experiment.interface_names
    samples = {(n, "8 bytes"): [Sample(v, None)] for n, v in zip(names, values, strict=True)}
    printed = {
        Key((name, "memory-bus"), None, "8 bytes", "us"): Published(1.0, 1.0, "") for name in names
    }
    return assess(experiment, samples, [], printed, {})


def test_rows_that_miss_for_one_cause_are_told_together_and_others_are_not_known(tmp_path):
    rows, other, claim = fidelity.misses(outcome(tmp_path, 1.2, 1.25, 1.3))
    assert (rows.what, rows.error, rows.cause) == (
        "CNI32Qm, 8 bytes (and 1 more)",
        "+30.0 %",
        "the queues' engines are not timed",
    )
    assert (other.what, other.cause) == ("NI2w, 8 bytes", fidelity.UNKNOWN)
    assert (claim.what, claim.measured, claim.cause) == ("*queues win*", "fails", "as above")


def test_a_cause_of_rows_that_are_near_is_refused(tmp_path):
    with pytest.raises(NarthexError, match=r"no row that \[\[miss\]\] calls 'CNI\*, 8 bytes'"):
        fidelity.misses(outcome(tmp_path, 1.2, 1.05, 0.95))


def test_a_cause_of_a_claim_that_holds_is_refused(tmp_path):
    with pytest.raises(NarthexError, match="'queues win' holds: take its 'fails_because' away"):
        fidelity.misses(outcome(tmp_path, 1.4, 1.3, 1.3))


def test_a_system_is_told_in_one_line_without_its_alternatives(tmp_path):
    own = outcome(tmp_path, 1.05, 0.9, 1.3)
    other = outcome(tmp_path, 5, 5, 5)
    (row,) = fidelity.overview([("system", [own, other])]).rows
    assert row == ["system", "3", "2", "15.0 %", "+30.0 %", "1 of 1"]
    assert fidelity.experiments([other]).rows[0][2:] == ["3", "0", "400.0 %", "+400.0 %", "0 of 1"]


def test_the_page_has_every_experiment_and_counts_its_claims():
    """Made by `make experiments`; what needs no run is compared."""
    page = documentation.FIDELITY.read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `(\S+/\S+)` \| .* \|\s+(?:\d+ of (\d+))? \|$", page, re.MULTILINE))
    claims = {name: len(load(name).claim) for name in experiment_names()}
    assert {name: int(told[name] or 0) for name in claims} == claims, "run `make experiments`"
