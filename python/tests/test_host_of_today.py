"""The instruments that measure a host as public tools do."""

import subprocess

import native
import pytest

import narthex
from narthex.assets import GUEST

INSTRUMENTS = {
    "chase": (24576, "own", 800),
    "core-to-core": (0, 3, 20),
    "stream": (512, 2, 2),
}

TIMES = ("ns", "GB/s")


@pytest.mark.parametrize("program", INSTRUMENTS)
def test_an_instrument_computes_what_it_does_natively(program, tmp_path):
    folder = GUEST / "programs" / program
    binary = native.build(sorted(folder.glob("*.c")), tmp_path / program)
    words = [str(binary), *map(str, INSTRUMENTS[program])]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    lines = [line.rsplit(": ", 1) for line in done.stdout.splitlines() if line.strip()]
    reference = {name: float(rest.split()[0]) for name, rest in lines}
    run = narthex.run(program, *INSTRUMENTS[program], machine="chip", interface="NI2w", nodes=1)
    rows = [row for row in run.reports.iter_rows(named=True) if row["unit"] not in TIMES]
    assert rows
    assert {row["name"]: reference[row["name"]] for row in rows} == {
        row["name"]: row["value"] for row in rows
    }
