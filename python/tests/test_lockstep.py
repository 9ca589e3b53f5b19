"""SARC's RTL beside its model, by the command that compares them."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from narthex.cli import main
from narthex.cosimulation import tiles
from narthex.extras import lacking

pytestmark = pytest.mark.skipif(
    bool(lacking("hardware") or lacking("compiler")), reason="skipped: needs narthex[hardware]"
)

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def library():
    return tiles.library()


def test_rtl_and_model_do_the_same_one_by_one_and_overlapping(library, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["hardware", "lockstep", "--events", "2000", "--json", "-"])
    assert ended.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert found["difference"] is None
    traffic = {part["traffic"]: part for part in found["parts"]}
    assert len(traffic) == 3
    for name in ("random, one by one", "random, overlapping"):
        assert traffic[name]["events"] >= 2000
        assert traffic[name]["packets"] > 500
    assert found["cycles"]["load_cycles"] > 0


@pytest.mark.long
@pytest.mark.skipif(shutil.which("cargo") is None, reason="skipped: cargo is missing")
def test_the_models_own_tests_are_the_rtls(library):
    """Each bench of the model's tests repeats in lock-step what has happened to its tiles."""
    command = ["cargo", "test", "--locked", "-p", "narthex-interfaces", "--lib", "sarc::"]
    ended = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "NARTHEX_SARC_RTL": str(library)}, check=False
    )
    assert ended.returncode == 0
