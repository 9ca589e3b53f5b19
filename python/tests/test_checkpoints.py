"""Checkpoints: a run that is killed goes on, and ends with the same bytes."""

import json
import random
import signal
import subprocess
import sys
import time

import pytest

import narthex

TURNS = 12_000
"""Enough for a few checkpoints on a fast computer."""


def arguments(folder, *more):
    run = ["run", "roundtrip", "64", TURNS, "--nodes", "2", "--json", folder / "result.json"]
    return [sys.executable, "-m", "narthex", *map(str, run), *map(str, more)]


def checkpointed(folder):
    place = ["--checkpoint", folder / "kept", "--checkpoint-every", "100ms", "--resume"]
    return arguments(folder, *place)


def done(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def version(file):
    """Tell one checkpoint from the next."""
    return file.stat().st_ino if file.exists() else None


def killed(command, file):
    """Kill a run at some instant after its first checkpoint; false if it ended before."""
    before = version(file)
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while run.poll() is None and version(file) == before:
        time.sleep(0.005)
    time.sleep(random.uniform(0, 0.1))
    run.send_signal(signal.SIGKILL)
    return run.wait() == -signal.SIGKILL


def test_a_run_that_is_killed_again_and_again_ends_with_the_same_bytes(tmp_path):
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    undisturbed.mkdir()
    disturbed.mkdir()
    assert done(arguments(undisturbed)).returncode == 0
    file = disturbed / "kept"
    kills = sum(killed([*checkpointed(disturbed), "--threads", n], file) for n in ("1", "2", "3"))
    assert kills > 0
    last = done(checkpointed(disturbed))
    assert last.returncode == 0, last.stderr
    assert "goes on from the checkpoint" in last.stderr
    results = [folder / "result.json" for folder in (undisturbed, disturbed)]
    assert results[0].read_bytes() == results[1].read_bytes()
    assert not file.exists(), "the result is there, so the checkpoint goes"


def test_a_run_that_is_interrupted_leaves_a_checkpoint_and_says_how_to_go_on(tmp_path):
    place, notices = tmp_path / "kept", []

    def run(turns, **more):
        return narthex.run("roundtrip", 64, turns, nodes=2, checkpoint=place, **more)

    with pytest.raises(narthex.NarthexError, match="interrupted"):
        run(TURNS, observer=lambda _time_ps: False, notice=notices.append)
    assert "go on from it with --resume" in notices[-1]
    with pytest.raises(narthex.NarthexError, match="is there already"):
        run(TURNS)
    with pytest.raises(narthex.NarthexError, match="the run asks for 'roundtrip' with arguments"):
        run(TURNS + 1, resume=True)
    damaged = bytearray(place.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    place.write_bytes(damaged)
    with pytest.raises(narthex.NarthexError, match="cut short or damaged"):
        run(TURNS, resume=True)
    damaged[len(damaged) // 2] ^= 1
    place.write_bytes(damaged)
    resumed = run(TURNS, resume=True, notice=notices.append)
    assert notices[-1].startswith("goes on from the checkpoint")
    whole = narthex.run("roundtrip", 64, TURNS, nodes=2)
    assert json.dumps(resumed.document) == json.dumps(whole.document)
    assert not place.exists()


def test_resuming_without_a_checkpoint_starts_at_the_beginning_and_says_so(tmp_path):
    notices = []
    narthex.run(
        "roundtrip", 8, 4, 1, checkpoint=tmp_path / "none", resume=True, notice=notices.append
    )
    assert "starts at the beginning" in notices[0]


def test_a_time_without_a_unit_is_wrong_usage(tmp_path):
    refused = done(arguments(tmp_path, "--checkpoint-every", "30"))
    assert refused.returncode == 2
    assert "has no unit" in refused.stderr
