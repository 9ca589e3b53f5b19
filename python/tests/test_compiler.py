"""Guests compile, and run right without the simulator: natively and under qemu."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import native
import pytest

from narthex import compiler, drivers, files
from narthex.assets import GUEST
from narthex.cli import main
from narthex.cli.compiling import default_output, with_flags_behind
from narthex.errors import NarthexError

QEMU = shutil.which("qemu-riscv64")
HOST_CC = shutil.which("cc")


def run(program: Path, *arguments: object, emulated: bool) -> subprocess.CompletedProcess[str]:
    prefix = [QEMU] if emulated else []
    return subprocess.run(
        [*prefix, str(program), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def build(kind: str, name: str, folder: Path) -> Path:
    if kind == "emulated":
        return compiler.program_path(name)
    output = folder / name
    source = next(path for path in (GUEST / "programs").rglob(f"{name}.c"))
    return output if output.exists() else native.build([source], output)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where each program is built for the host, once."""
    return tmp_path_factory.mktemp("native")


@pytest.fixture(
    params=[
        pytest.param("native", marks=pytest.mark.skipif(not HOST_CC, reason="no host compiler")),
        pytest.param("emulated", marks=pytest.mark.skipif(not QEMU, reason="no qemu-riscv64")),
    ]
)
def guest(request, folder):
    def start(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        program = build(request.param, name, folder)
        return run(program, *arguments, emulated=request.param == "emulated")

    return start


@pytest.mark.parametrize("size", [1, 8, 13, 248, 249, 4096])
def test_every_byte_of_a_stream_arrives_whatever_the_size(guest, size):
    done = guest("bandwidth", size, 700, 50)
    assert done.returncode == 0, done.stderr
    assert "bandwidth, second half:" in done.stdout


@pytest.mark.parametrize("size", [0, 8, 64, 249, 4096])
def test_a_round_trip_reports_its_latency(guest, size):
    done = guest("roundtrip", size, 20, 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("round-trip latency: ")


@pytest.mark.parametrize(
    ("program", "arguments", "words"),
    [
        ("messages", (300, 5000), "node 0: 300 messages of"),
        ("collectives", (60, 700), "60 collectives"),
        ("channels", (40, 6000), "200 transfers"),
    ],
)
def test_a_blocked_sender_takes_in_what_arrives_and_loses_nothing(guest, program, arguments, words):
    done = guest(program, *arguments)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["messages", "destination"], "node 0 calls narthex_send for node 1: nodes are 0 to 0"),
        (["messages", "payload"], "the limit of a message is 8126464"),
        (["messages", "twice"], "node 0 registers handler 1 twice"),
        (["messages", "lots"], 'argument 1 (count) is "lots"; allowed are whole numbers'),
        (["faults", "handler"], "for handler 200, which it has not registered"),
        (["faults", "check"], "one and one is not 3"),
    ],
)
def test_a_wrong_call_ends_the_run_and_says_what_is_wrong(guest, arguments, message):
    done = guest(*arguments)
    assert done.returncode == 1
    assert message in done.stderr


@pytest.mark.skipif(not (QEMU and HOST_CC), reason="needs qemu-riscv64 and a host compiler")
def test_arithmetic_prints_the_same_natively_and_emulated(folder):
    native = run(build("native", "arithmetic", folder), emulated=False)
    emulated = run(build("emulated", "arithmetic", folder), emulated=True)
    assert native.stdout == emulated.stdout != ""


@pytest.mark.skipif(not QEMU, reason="no qemu-riscv64")
def test_a_cpp_program_is_compiled_and_run():
    done = run(compiler.program_path("hello"), emulated=True)
    assert done.stdout == "hello from node 0: the greeting visited 1 nodes\n"


def test_a_shipped_program_is_compiled_once():
    said = []
    path = compiler.program_path("roundtrip")
    stamp = path.stat().st_mtime_ns
    assert compiler.program_path("roundtrip", progress=said.append) == path
    assert (path.stat().st_mtime_ns, said) == (stamp, [])


def test_an_unknown_program_is_named_with_the_nearest_match():
    with pytest.raises(NarthexError, match="did you mean 'roundtrip'") as caught:
        compiler.program_path("roundtip")
    assert caught.value.exit_code == 2


def test_a_wrong_source_is_refused_in_the_compilers_words_and_leaves_no_file(tmp_path):
    source = tmp_path / "wrong.c"
    source.write_text("int main(void) { return nothing; }\n")
    with pytest.raises(NarthexError, match="undeclared") as caught:
        compiler.compile_program([source], tmp_path / "wrong")
    assert "wrong.c:1:25" in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["wrong.c"]


def test_a_missing_source_is_named(tmp_path):
    with pytest.raises(NarthexError, match=r"there is no source file 'absent\.c'"):
        compiler.compile_program(["absent.c"], tmp_path / "absent")


def test_a_file_that_is_not_a_source_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("no program")
    with pytest.raises(NarthexError, match=r"allowed: \.c, "):
        compiler.compile_program([tmp_path / "notes.txt"], tmp_path / "notes")


def test_a_missing_compiler_comes_with_a_remedy(tmp_path, monkeypatch):
    monkeypatch.setenv("NARTHEX_CC", "riscv64-nobody-gcc -static")
    source = tmp_path / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    with pytest.raises(
        NarthexError, match=r"riscv64-nobody-gcc.*pip install 'narthex\[compiler\]'"
    ):
        compiler.compile_program([source], tmp_path / "empty")


@pytest.mark.skipif(not HOST_CC, reason="no host compiler")
def test_another_compiler_can_be_given(tmp_path):
    source = tmp_path / "self.c"
    source.write_text(
        '#include <narthex.h>\nint main(void) { narthex_report("x", 2, "ns"); return 0; }\n'
    )
    program = compiler.compile_program([source], tmp_path / "self", compiler="cc")
    assert run(program, emulated=False).stdout == "x: 2 ns\n"


def _cc_for(tmp_path, machine):
    """A command that says that it compiles for a machine, and is no compiler."""
    fake = tmp_path / f"cc-for-{machine}"
    fake.write_text(f"#!/bin/sh\necho {machine}\n")
    fake.chmod(0o755)
    return str(fake)


def test_a_cc_for_the_host_is_left_alone_and_said_to_be(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", _cc_for(tmp_path, "x86_64-linux-gnu"))
    found = compiler.find_compiler()
    assert found.version.startswith("ziglang")
    assert "is not used for guests (it compiles for x86_64-linux-gnu)" in found.notice
    assert "NARTHEX_CC" in found.notice
    monkeypatch.setenv("CC", "no-such-cc-at-all")
    assert "no-such-cc-at-all" in compiler.find_compiler().notice
    monkeypatch.setenv("CC", " ")
    assert compiler.find_compiler().notice == ""


def test_a_cc_for_risc_v_is_used(tmp_path, monkeypatch):
    command = _cc_for(tmp_path, "riscv64-unknown-linux-gnu")
    monkeypatch.setenv("CC", f"{command} -static")
    found = compiler.find_compiler()
    assert found.c[0] == command
    assert (found.c[-1], found.notice) == ("-static", "")


def test_the_own_variable_goes_first_and_must_be_for_risc_v(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", _cc_for(tmp_path, "x86_64-linux-gnu"))
    own = _cc_for(tmp_path, "riscv64-linux-musl")
    monkeypatch.setenv("NARTHEX_CC", own)
    assert compiler.find_compiler().c[0] == own
    monkeypatch.setenv("NARTHEX_CC", _cc_for(tmp_path, "aarch64-linux-gnu"))
    with pytest.raises(NarthexError, match="which compiles for aarch64-linux-gnu"):
        compiler.find_compiler()


def test_warnings_of_the_compiler_are_heard(tmp_path):
    source = tmp_path / "warned.c"
    source.write_text("int main(void) { int x = 1; x == 2; return 0; }\n")
    heard = []
    compiler.compile_program([source], tmp_path / "warned", progress=heard.append)
    assert any("warned.c:1:" in each and "warning" in each for each in heard), heard


def test_flags_stand_where_they_do_for_other_compilers():
    def arranged(line):
        return " ".join(with_flags_behind(line.split()))

    assert arranged("x.c -O2 -o x") == "x.c -o x -- -O2"
    assert arranged("-pthread -I dir -D N=1 x.c -fno-inline -ox -l m") == (
        "x.c -ox -- -pthread -Idir -DN=1 -fno-inline -lm"
    )
    assert arranged("x.c --output -x -g -- --std=c11 y.c") == "x.c --output -x -- -g --std=c11 y.c"
    assert arranged("-h") == "-h --"
    assert arranged("x.c --std=c11 --json - -MF x.d -Xlinker --gc-sections") == (
        "x.c --json - -- --std=c11 -MFx.d -Wl,--gc-sections"
    )


@pytest.mark.parametrize(
    ("sources", "flags", "name"),
    [(["a/x.c"], [], "a.out"), (["a/x.c"], ["-c", "-O2"], "x.o"), (["x.c"], ["-S"], "x.s"),
     (["x.c", "y.c"], [], "a.out")],
)  # fmt: skip
def test_an_output_without_a_name_is_called_as_by_other_compilers(sources, flags, name):
    assert str(default_output(sources, flags)) == name


def test_a_library_is_linked_behind_what_wants_it(tmp_path, capsys):
    (tmp_path / "two.c").write_text("int two(void) { return TWO; }\n")
    (tmp_path / "main.c").write_text("int two(void);\nint main(void) { return two(); }\n")
    chosen = compiler.find_compiler()
    flags = ["-DTWO=2", "-c", str(tmp_path / "two.c"), "-o", str(tmp_path / "two.o")]
    compiler.run([*chosen.c, *flags], None)
    compiler.run(
        [*chosen.archiver, "rcs", str(tmp_path / "libtwo.a"), str(tmp_path / "two.o")], None
    )
    with pytest.raises(SystemExit) as ended:
        main(
            ["cc", "-ltwo", f"-L{tmp_path}", str(tmp_path / "main.c"), "-o", str(tmp_path / "main")]
        )
    assert ended.value.code == 0, capsys.readouterr().err


def test_openmp_is_refused_where_it_has_no_library(tmp_path):
    source = tmp_path / "loop.c"
    source.write_text("int main(void) { return 0; }\n")
    with pytest.raises(NarthexError, match=r"no run-time library of OpenMP.*riscv64"):
        compiler.compile_program([source], tmp_path / "loop", extra_flags=["-fopenmp"])


def test_a_cache_folder_that_takes_nothing_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("NARTHEX_CACHE", str(tmp_path))
    folder = rf"cache folder '{re.escape(str(tmp_path))}'"
    tmp_path.chmod(0o555)
    with pytest.raises(NarthexError, match=f"{folder}: .*set NARTHEX_CACHE"):
        compiler.program_path("hello")
    tmp_path.chmod(0o755)
    full = "echo 'warning: unable to write x: NoSpaceLeft' >&2; exit 1"
    with pytest.raises(NarthexError, match=rf"{folder}.*NoSpaceLeft\); .*NARTHEX_CACHE"):
        compiler.run(["sh", "-c", full], None)

    def is_full(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", is_full)
    told = f"{folder}: No space left on device; make room"
    with pytest.raises(NarthexError, match=told), compiler.cached(tmp_path / "programs"):
        files.write(tmp_path / "programs" / "hello", b"")
    with pytest.raises(NarthexError, match=told), compiler.cached(tmp_path / "programs"):
        is_full(None)


def test_the_cache_is_where_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.delenv("NARTHEX_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiler.cache_folder() == tmp_path / "narthex"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/paths/do/not/count")
    assert compiler.cache_folder() == Path.home() / ".cache" / "narthex"
    monkeypatch.setenv("NARTHEX_CACHE", str(tmp_path / "own"))
    assert compiler.cache_folder() == tmp_path / "own"


def test_a_driver_apart_is_linked_where_either_half_takes_it():
    names = ["(NI2w)S(Ring)R", "(ring)s(CNI4)r", "Ring on io-bus", "CNI4", "EDT on bus"]
    assert [drivers.driver_apart(name) for name in names] == ["RING"] * 3 + [None, "VIA"]
