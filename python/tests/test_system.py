"""What programs expect of their system: signals, files, variables, input."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import narthex
from narthex import NarthexError, programs, running
from narthex.assets import GUEST
from narthex.documentation import DOCS
from narthex.identity import machine_of, run_key
from narthex.sweeps import loading, planning

TESTS = GUEST / "programs/tests"
TWO_THREADS = {"machine.processors_per_node": 2, "machine.processors_per_process": 2}

SIGNALS = """\
repaired 5, faults 1
skipped 1 and 1
left 2
raised 1, pending 1
suspended -1, Interrupted system call, 2
unblocked 3
cancelled 1, cleaned 1
cancelled 1
interrupted 1, 4
inherits 0 0 0
code 42 43 44
grown 7 0, processor 0
"""
"""What qemu-riscv64 prints on Linux."""


def written(result, node=0):
    lines = [each["text"] for each in result.document["output"] if each["node"] == node]
    return "".join(lines)


def test_signals_are_as_on_linux_and_the_same_however_they_are_computed():
    def run(**how):
        return narthex.run(TESTS / "signals.c", nodes=2, interface="NI2w", set=TWO_THREADS, **how)

    result = run()
    assert written(result) == written(result, 1) == SIGNALS
    assert run(threads=2, execute_wait_loops=True).document == result.document


def test_a_fault_in_its_own_handler_ends_the_run_and_says_why_no_handler_runs(tmp_path):
    file = tmp_path / "again.c"
    file.write_text(
        "#include <signal.h>\n"
        "static void handle(int signal) { *(volatile int *)24 = signal; }\n"
        "int main(void) { signal(SIGSEGV, handle); return *(volatile int *)16; }\n"
    )
    with pytest.raises(NarthexError, match="store to 0x18") as found:
        narthex.run(file, nodes=1)
    assert "has a handler for SIGSEGV, but the thread blocks it" in str(found.value)
    assert "handle+" in str(found.value)


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    folder = tmp_path_factory.mktemp("given")
    (folder / "tree/deep").mkdir(parents=True)
    (folder / "tree/deep/x").write_text("hi\n")
    (folder / "tree/a").write_text("3\n")
    (folder / "mesh").write_text("20 22\n")
    (folder / "typed").write_text("one\ntwo\n")
    return folder


def files_run(given, **more):
    return narthex.run(
        TESTS / "files.c",
        nodes=2,
        interface="NI2w",
        set=TWO_THREADS,
        env={"WHO": "me"},
        input=given / "typed",
        files={"mesh.dat": given / "mesh"},
        directories={"tree": given / "tree"},
        **more,
    )


READ = """\
environment: me, no home
input: one
input: two
mesh: 2 numbers, sum 42, 6 bytes
mapped: 2
entry: . 4
entry: .. 4
entry: a 8
entry: deep 4
status: 3 bytes, mode 100444
host: No such file or directory
pipe: 5 bytes, hello
"""


def test_programs_read_what_they_are_given_and_write_into_folders_of_their_own(given, tmp_path):
    folder = tmp_path / "results"
    result = files_run(given, output_files=folder)
    told = written(result, 1)
    assert '"etc/passwd", and the run has no such file' in told
    assert "--file etc/passwd=PATH" in told
    assert re.sub("narthex: .*\n", "", told) == f"{READ}output: 101 lines\n"
    for node in ("node-0", "node-1"):
        lines = (folder / node / "out/result").read_text().splitlines()
        assert lines == ["X", *map(str, range(1, 100)), "end"]
        assert (folder / node / "out/messages").read_text() == "to a file\n"
    names = [each["file"] for each in result.document["written_files"]]
    assert names == [
        f"node-{node}/out/{name}" for node in (0, 1) for name in ("messages", "result")
    ]
    assert list(result.document["surroundings"]["files_sha256"]) == [
        "mesh.dat",
        "tree/a",
        "tree/deep/x",
    ]
    with pytest.raises(NarthexError, match="the folder is not empty"):
        files_run(given, output_files=folder)


def test_a_run_that_keeps_no_files_says_how_to_keep_them(given):
    told = written(files_run(given))
    assert "output: No such file or directory" in told
    assert "--output-files FOLDER" in told


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"files": ["input.txt"]}, r"--file 'input.txt' is no NAME=PATH.*input.txt=input.txt"),
        ({"files": {"a": "missing"}}, "cannot read 'missing'"),
        ({"input": "missing"}, "cannot read 'missing'"),
        ({"files": {"a": "."}}, "--directory a=."),
        ({"directories": {"a": __file__}}, "is no folder"),
        ({"files": [f"a={__file__}", f"a={__file__}"]}, "'a' is given twice"),
        ({"files": {"a": __file__, "./a": __file__}}, "is given twice"),
        ({"files": {"/dev/a": __file__}}, "/dev holds the machine's devices"),
        ({"env": ["A"]}, "expected NAME=VALUE"),
        ({"env": {"NARTHEX_PAGE": 1}}, "the machine sets NARTHEX_PAGE"),
        ({"output_files": __file__}, "it is no folder"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(how, words):
    with pytest.raises(NarthexError, match=words) as found:
        narthex.run("hello", nodes=1, **how)
    assert found.value.exit_code == 2


def test_contents_and_variables_decide_a_run_and_places_do_not(given, tmp_path):
    hello = programs.find("hello")

    def key(**how):
        asked = running.request(hello, [], interface="NI2w", nodes=1, **how)
        return run_key(asked, machine_of(asked), hello)

    copy = shutil.copy(given / "mesh", tmp_path / "copy")
    assert key(input=given / "mesh") == key(input=copy)
    assert key(output_files=tmp_path / "a") == key(output_files=tmp_path / "b")
    different = [
        {},
        {"env": ["A=1"]},
        {"env": ["A=2"]},
        {"input": copy},
        {"input": given / "typed"},
        {"files": {"a": copy}},
        {"files": {"b": copy}},
        {"directories": {"a": given / "tree"}},
        {"output_files": tmp_path / "a"},
    ]
    assert len({key(**how) for how in different}) == len(different)


def test_a_sweep_varies_variables_and_files_beside_it(given):
    file = given / "study.toml"
    parsed = loading.parse(
        {
            "program": "hello",
            "env": ["SIZE={size}"],
            "input": "typed",
            "files": ["mesh.dat={mesh}"],
            "parameters": {"size": [1, 2], "mesh": ["mesh", "tree/a"]},
        },
        file,
    )
    made = planning.plan(parsed, file, lambda _program: None)
    told = [run.request["surroundings"] for run in made.runs]
    assert [each["environment"] for each in told] == [
        ["SIZE=1"],
        ["SIZE=1"],
        ["SIZE=2"],
        ["SIZE=2"],
    ]
    contents = [bytes.fromhex(each["files"]["mesh.dat"]["bytes"]) for each in told]
    assert contents == [b"20 22\n", b"3\n"] * 2
    assert made.identity["files' bytes"]


def test_the_page_names_every_call_that_is_answered_and_no_other():
    source = (DOCS.parent / "cores/src/linux/calls.rs").read_text()
    arms = source[source.index("match name(self.number)") : source.index("// C libraries ask for")]
    answered = set(re.findall(r'"([a-z]\w+)"(?=[^"]*(?:"[a-z]\w+"[^"]*)*=>)', arms))
    page = (DOCS / "system.md").read_text()
    table = page[page.index("| about |") : page.index("<!-- the calls end -->")]
    assert set(re.findall(r"`([a-z]\w+)`", table)) == answered


def example(name):
    page = (DOCS / "system.md").read_text()
    return re.search(rf'```\w+ title="{name}"\n(.*?)```', page, re.DOTALL)[1]


THREADS = {"machine.processors_per_node": 8, "machine.processors_per_process": 8}


def compiled(tmp_path: Path, name: str, command: list[str], **environment):
    if not shutil.which(command[0]):
        pytest.skip(f"there is no {command[0]} here")
    (tmp_path / name).write_text(example(name))
    made = subprocess.run(
        [*command, "-o", "made", name],
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return tmp_path / "made"


def test_the_openmp_example_runs(tmp_path):
    program = compiled(tmp_path, "sum.c", ["riscv64-linux-gnu-gcc", "-O2", "-static", "-fopenmp"])
    result = narthex.run(
        program, nodes=1, interface="NI2w", set=THREADS, env={"OMP_NUM_THREADS": 4}
    )
    assert written(result) == "4 threads, sum 499500\n"


def test_the_fortran_example_runs(tmp_path):
    program = compiled(tmp_path, "roots.f90", ["riscv64-linux-gnu-gfortran", "-O2", "-static"])
    (tmp_path / "count").write_text("100\n")
    result = narthex.run(
        program,
        nodes=1,
        interface="NI2w",
        files={"count.txt": tmp_path / "count"},
        output_files=tmp_path / "results",
    )
    assert "671.463" in written(result)
    assert (tmp_path / "results/node-0/roots.txt").read_text().split() == ["671.463"]


def test_the_go_example_runs_and_recovers_from_a_fault(tmp_path):
    program = compiled(
        tmp_path, "sum.go", ["go", "build"], GOOS="linux", GOARCH="riscv64", CGO_ENABLED="0"
    )
    result = narthex.run(program, "a", nodes=1, interface="NI2w", set=THREADS)
    told = written(result)
    assert "recovered: runtime error: invalid memory address or nil pointer dereference" in told
    assert "sum 499500 [a]" in told


def test_a_dynamically_linked_program_is_refused_with_its_interpreter(tmp_path):
    if not shutil.which("riscv64-linux-gnu-gcc"):
        pytest.skip("there is no riscv64-linux-gnu-gcc here")
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    command = ["riscv64-linux-gnu-gcc", "main.c", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    with pytest.raises(NarthexError, match=r"needs /lib/ld-linux-riscv64.*link with -static"):
        narthex.run(tmp_path / "main", nodes=1)
