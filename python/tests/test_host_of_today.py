"""The instruments that measure a host as public tools do, and the host itself."""

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


def on_host(program, *args, **options):
    """Run an instrument on the host."""
    options = {"machine": "server", "interface": "NI2w", "nodes": 1} | options
    return narthex.run(program, *args, **options)


def reported(program, *args, name, **options):
    """Return what an instrument reports."""
    return of_run(on_host(program, *args, **options), name)


def of_run(run, name):
    return dict(zip(run.reports["name"], run.reports["value"], strict=True))[name]


def main_stall(run):
    """Return what keeps the oldest instruction of the measured part most, and its share of it."""
    stalls = run.stalls("main").sort("time_ps")
    return stalls["cause"][-1], stalls["time_ps"][-1] / stalls["time_ps"].sum()


def chase(size, place="own", **options):
    return reported("chase", size, place, 4000, name="load", **options)


def test_a_load_takes_the_time_of_the_level_that_its_array_fits_into():
    cycle = 1 / 2.894
    assert chase(16 << 10) == pytest.approx(5 * cycle, rel=0.02)
    assert chase(96 << 10) == pytest.approx(19 * cycle, rel=0.02)


def test_memory_of_the_other_socket_is_as_near_as_the_last_level_that_keeps_it():
    small = {"set": {"second_level_cache.size": "64KiB"}}
    runs = [on_host("chase", 192 << 10, place, 4000, **small) for place in PLACES]
    own, far, other = (of_run(run, "load") for run in runs)
    assert far == pytest.approx(own, rel=0.02)
    assert other > own + 60
    causes, shares = zip(*map(main_stall, runs), strict=True)
    assert causes == ("load, last level", "load, last level", "load, other socket")
    assert min(shares) > 0.9


def test_why_nothing_retires_adds_up_to_the_time_of_processors_and_regions():
    run = on_host("roundtrip", 8, 3, nodes=2, interface="Verbs")
    document = run.document
    processors = [own for node in document["nodes"] for own in node["processors"]]
    for counted in [*processors, *document["regions"]]:
        assert sum(counted["stalls_ps"].values()) == sum(counted["ledger_ps"].values())
    stalls = processors[0]["stalls_ps"]
    some = {"busy", "execution", "mispredicted branch", "load, memory", "MMIO write"}
    assert some <= set(stalls)
    assert set(processors[3]["stalls_ps"]) == {"system call or no thread"}


PLACES = ("own", "far-memory", "other-socket")


def test_a_word_takes_longer_to_the_other_socket_on_any_number_of_threads():
    ways = [reported("core-to-core", 0, other, 50, name="one way") for other in (1, 4)]
    assert ways[1] > 1.5 * ways[0]
    assert reported("core-to-core", 0, 4, 50, name="one way", threads=2) == ways[1]
