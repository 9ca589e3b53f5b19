"""Finished runs are kept: an experiment goes on where it was interrupted."""

import dataclasses
import json

import pytest

from narthex import batch, finished, validation
from narthex.packed import packed, unpacked

SHORT = """
title = "Short"
source = "here"
program = "roundtrip"
machine = "hpca98"
report = "round-trip latency"
unit = "us"
interfaces = ["NI2w", "CNI512Q"]

[[workload]]
name = "8 bytes"
args = ["8", "4", "1"]

[[claim]]
text = "queues win"
source = "here"
holds = "'CNI512Q' < 'NI2w'"
"""


@pytest.fixture
def made(monkeypatch, tmp_path):
    """Return the list of runs that were made, each by its interface; the cache is empty."""
    runs, simulate = [], batch.simulate

    def counted(wanted, *others):
        runs.append(wanted["interface"])
        return simulate(wanted, *others)

    monkeypatch.setattr(batch, "simulate", counted)
    monkeypatch.setattr(finished, "cache_folder", lambda: tmp_path / "cache")
    return runs


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "short.toml"
    file.write_text(SHORT)
    return file


def rows(outcome):
    return [dataclasses.asdict(row) for row in outcome.rows]


def test_a_repeated_experiment_makes_no_run_again_and_says_the_same(made, file):
    first = validation.experiment(str(file))
    assert sorted(made) == ["CNI512Q", "NI2w"]
    assert first.holds
    second = validation.experiment(str(file))
    assert len(made) == 2
    assert (rows(second), second.machine) == (rows(first), first.machine)


def test_fresh_makes_every_run_again(made, file):
    validation.experiment(str(file))
    validation.experiment(str(file), fresh=True)
    assert len(made) == 4


def test_what_decides_a_run_decides_whether_it_was_made_before(made, file):
    slow = ["bus.clock=125MHz"]
    first = validation.experiment(str(file), interfaces=["NI2w"])
    other = validation.experiment(str(file), interfaces=["NI2w"], set=slow)
    assert made == ["NI2w", "NI2w"]
    assert other.rows[0].value > first.rows[0].value
    file.write_text(SHORT.replace('"4", "1"', '"4", "2"'))
    validation.experiment(str(file), interfaces=["NI2w"])
    assert len(made) == 3


def test_an_interrupted_experiment_goes_on_where_it_was(made, file):
    def interrupt(done, _total, _left_s):
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        validation.experiment(str(file), jobs=1, progress=interrupt)
    before = made.copy()
    validation.experiment(str(file), jobs=1)
    assert sorted(made) in (["CNI512Q", "NI2w"], ["CNI512Q", "CNI512Q", "NI2w"])
    assert made.count(before[0]) == 1


def test_a_spoilt_file_is_as_good_as_none(made, file, tmp_path):
    validation.experiment(str(file))
    for kept in (tmp_path / "cache" / "runs").iterdir():
        kept.write_bytes(kept.read_bytes()[:100])
    validation.experiment(str(file))
    assert len(made) == 4


def test_a_flipped_bit_of_a_kept_document_is_seen_or_changes_nothing():
    document = {"name": "roundtrip", "values": list(range(40))}
    own = packed(json.dumps(document))
    for bit in range(8 * len(own)):
        spoilt = bytearray(own)
        spoilt[bit // 8] ^= 1 << bit % 8
        assert unpacked(bytes(spoilt)) in (None, document)
    assert not any(unpacked(own[:length]) for length in range(len(own)))


def test_what_was_not_asked_for_in_a_month_is_forgotten(made, file, tmp_path, monkeypatch):
    validation.experiment(str(file))
    monkeypatch.setattr(finished, "KEPT_S", -1)
    finished.FinishedRuns()
    assert list((tmp_path / "cache" / "runs").iterdir()) == []
