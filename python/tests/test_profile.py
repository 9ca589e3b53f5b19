"""Where a program's time goes by function and line, and the calls that led to a fault."""

import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import narthex
from narthex import NarthexError, profiles
from narthex.compiler import guest_flags
from narthex.errors import USAGE

WILD = """
__attribute__((noinline)) int innermost(int *at) { return *at + 1; }
__attribute__((noinline)) int third(long at) { return innermost((int *)at) + 1; }
__attribute__((noinline)) int second(long at) { int here = third(at + 8); return here * 3; }
__attribute__((noinline)) int first(long at) {
    int before = at ? second(0) : 0;
    return before + second(at) + 5;
}
int value;
int main(int count, char **words) { return first(count > 1 ? 0x700000000 : (long)&value) + value; }
"""


@pytest.fixture(scope="module")
def result() -> narthex.Result:
    return narthex.run("roundtrip", 64, 20, nodes=2, profile=True)


def assert_adds_up(result: narthex.Result) -> None:
    keys = ["node", "processor", "activity", "occupation"]
    summed = result.profile.group_by(keys).agg(pl.col("time_ps").sum())
    assert summed.sort(keys).rows() == result.ledger.sort(keys).rows()


def test_rows_of_a_processor_add_up_to_its_ledger(result: narthex.Result) -> None:
    assert_adds_up(result)
    assert {"main", "narthex_send"} <= set(result.profile["function"])


@pytest.mark.parametrize(
    ("words", "machine", "interface", "nodes"),
    [
        (["thread-sort", 256, 4], "chip", "NI2w", 1),
        (["em3d", 64], "voyager", "Voyager-nonresident", 2),
        (["sarc-barriers", "counters", 0, 10], "sarc-prototype", "SARC", 1),
    ],
    ids=["threads", "firmware", "tiles"],
)
def test_threads_firmware_and_tiles_have_profiles_too(words, machine, interface, nodes) -> None:
    assert_adds_up(
        narthex.run(*words, machine=machine, interface=interface, nodes=nodes, profile=True)
    )


def test_a_run_with_a_profile_has_the_same_result(result: narthex.Result) -> None:
    plain = narthex.run("roundtrip", 64, 20, nodes=2, threads=2).document
    assert {key: each for key, each in result.document.items() if key != "profile"} == plain


def test_collapsed_stacks_hold_all_the_time(result: narthex.Result) -> None:
    lines = profiles.collapsed(result.document).splitlines()
    times = [int(line.rpartition(" ")[2]) for line in lines]
    assert sum(times) == result.ledger["time_ps"].sum()
    assert any(";main;" in line and line.rpartition(" ")[0].endswith("]") for line in lines)
    assert profiles.collapsed(result.document, by_node=True).startswith("node 0;")


def test_functions_have_total_times_that_hold_those_of_what_they_call(
    result: narthex.Result,
) -> None:
    found = {each.name: each for each in profiles.functions(result.document)}
    assert found["main"].total_ps > found["narthex_send"].total_ps >= found["narthex_send"].own_ps
    own: Counter[str] = Counter()
    for function, _, time in profiles.lines(result.document):
        own[function] += time
    assert own["main"] == found["main"].own_ps


def test_files_are_written_by_the_end_of_their_names(
    result: narthex.Result, tmp_path: Path
) -> None:
    assert gzip.decompress(result.save_profile(tmp_path / "p.pb.gz").read_bytes())
    for name in ("p.svg", "p.html"):
        drawn = result.save_profile(tmp_path / name).read_text()
        assert ">main</text>" in drawn
        assert "src=" not in drawn
    with pytest.raises(NarthexError, match="must end in"):
        result.save_profile(tmp_path / "p.png")


def test_the_command_shows_functions_and_refuses_regions_that_there_are_not(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-m", "narthex", "run", "roundtrip", "8", "5", "--nodes", "2"]

    def run(*further: str) -> subprocess.CompletedProcess[str]:
        whole = [*command, *further]
        environment = {**os.environ, "COLUMNS": "140"}
        return subprocess.run(whole, capture_output=True, text=True, check=False, env=environment)

    file = tmp_path / "profile.json"
    found = run("--profile", "-", "--profile-region", "round trips", "--json", str(file))
    assert found.returncode == 0, found.stderr
    assert "Time of region 'round trips' by function" in found.stdout
    document = json.loads(file.read_text())
    ledgers = [each["ledger_ps"] for each in document["regions"] if each["name"] == "round trips"]
    time = sum(sum(ledger.values()) for ledger in ledgers)
    assert sum(row.time_ps for row in profiles.rows(document)) == time
    missing = run("--profile", "-", "--profile-region", "round trip")
    assert "did you mean 'round trips'" in missing.stderr
    assert run("--profile-region", "round trips").returncode == USAGE


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("-fomit-frame-pointer",),
        (
            "-fno-omit-frame-pointer",
            "-fno-unwind-tables",
            "-fno-asynchronous-unwind-tables",
            "-gline-tables-only",
        ),
    ],
    ids=["as usual", "without frame pointers", "without tables"],
)
def test_a_wild_pointer_four_calls_deep_shows_all_its_callers(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    source, compiled = tmp_path / "wild.c", tmp_path / "wild.o"
    source.write_text(WILD)
    # Only the program is compiled so: the compiler would make its C library anew for such flags.
    usual = guest_flags()
    words = [*usual.c, *usual.compile, *flags, "-c", source, "-o", compiled]
    subprocess.run(words, check=True)
    program = narthex.compile(compiled, tmp_path / "wild")
    with pytest.raises(NarthexError) as caught:
        narthex.run(program, "wild", nodes=1)
    lines = str(caught.value).splitlines()
    calls = [line.split()[-2].partition("+")[0] for line in lines if "wild.c:" in line]
    assert calls == ["innermost", "third", "second", "first", "main"]
