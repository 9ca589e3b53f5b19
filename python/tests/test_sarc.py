"""SARC's cache-integrated interface, end to end: library, programs, driver of messages."""

import re
import subprocess

import native
import pytest
from test_programs import PROGRAMS

import narthex
from narthex import compiler
from narthex.assets import GUEST
from narthex.errors import NarthexError

MACHINES = ["sarc-prototype", "sarc-chip"]
PARALLEL = [name for name in PROGRAMS if name != "thread-sort"]
RUNS = {
    "sarc-locks": [(kind, 4, 20) for kind in ("queue", "queue-load")],
    "sarc-barriers": [("counters", tiles, 20) for tiles in (1, 3, 4)],
    "sarc-remote-store": [(method, 3, 20) for method in ("store", "message", "copy")]
    + [("transfer", 2, 20, 200)],
    "sarc-stream": [
        ("on-chip", "dma", 3, 1, 3, 256, 1),
        ("on-chip", "stores", 2, 2, 2, 64, 1),
        ("off-chip", "dma", 4, 0, 2, 1024, 1),
        ("off-chip", "stores", 2, 0, 1, 64, 1),
    ],
    "sarc-bitonic": [(64, tiles, method, 2) for tiles in (1, 2, 4) for method in ("stores", "dma")],
    "sarc-fft": [(64, tiles, method, 2) for tiles in (1, 2, 4) for method in ("stores", "dma")],
}
ONLY_NATIVE = {
    "sarc-locks": [(kind, 4, 20) for kind in ("box", "test-and-set", "ticket", "mcs")],
    "sarc-barriers": [(kind, 5, 20) for kind in ("mutex", "central", "tree")],
}
CALLS = [(program, args) for program, several in RUNS.items() for args in several]
MISTAKES = {
    "role": "role",
    "cache-mark": "cache",
    "cache-load": "cache",
    "items": "power of two|3 words",
    "lines": "lines",
    "full": "full",
    "notify": "0x123456000",
    "beyond": "",
    "long": "65",
    "nowhere": "0x123456000",
    "twice": "twice|already|valid",
    "operation": "operation",
    "ways": "scratchpad",
    "freed": "cache",
    "swapped": "cache",
    "head": "",
    "uncovered": "process 0 .*no address region of the tile covers 0x1280000000",
    "forbidden": "process 0 .*allows loads alone, and this is a store at 0x1280000",
    "source": "the source of its command: the address region 0x1280000000 .*allows stores alone",
}


def run(program, *args, machine="sarc-prototype", **asked):
    return narthex.run(program, *args, machine=machine, interface="SARC", nodes=1, **asked)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """Builds a program over the emulation of the lines."""
    folder = tmp_path_factory.mktemp("native")

    def built(program):
        output = folder / program
        own = GUEST / "programs" / program
        sources = sorted(own.glob("*.c")) or [GUEST / "programs" / "tests" / f"{program}.c"]
        return output if output.exists() else native.build(sources, output)

    return built


@pytest.mark.parametrize(
    ("program", "args"),
    [*CALLS, *((program, args) for program, several in ONLY_NATIVE.items() for args in several)],
)
def test_programs_check_what_they_compute_over_the_emulation(reference, program, args):
    words = [str(reference(program)), *map(str, args)]
    subprocess.run(words, timeout=60, check=True, capture_output=True)


def test_lines_work_as_told_over_the_emulation(reference):
    subprocess.run([str(reference("sarc"))], timeout=60, check=True)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("program", "args"), CALLS)
def test_programs_check_what_they_compute(machine, program, args):
    run(program, *args, machine=machine)


@pytest.mark.parametrize("kind", ["box", "mutex"])
def test_the_prototype_has_a_lock_box(kind):
    run("sarc-barriers" if kind == "mutex" else "sarc-locks", kind, 4, 20)


@pytest.mark.parametrize(
    ("program", "kind"),
    [("sarc-locks", kind) for kind in ("queue", "test-and-set", "ticket", "mcs")]
    + [("sarc-barriers", kind) for kind in ("counters", "central", "tree")],
)
def test_threads_of_a_coherent_chip_have_locks_and_barriers_of_all_kinds(program, kind):
    run(program, kind, 16, 10, machine="sarc-chip", set={"machine.processors_per_process": 16})


@pytest.mark.parametrize("machine", MACHINES)
def test_lines_work_as_told_and_regions_are_swapped_while_others_go_on(machine):
    run("sarc", machine=machine)


def test_regions_work_the_same_on_any_number_of_threads():
    one, two = (run("sarc", threads=threads) for threads in (1, 2))
    assert one.document == two.document


def test_two_chips_of_which_one_fails_leave_the_same_counts_on_any_number_of_threads():
    failures = []
    for threads in (1, 2):
        with pytest.raises(NarthexError, match="between the tiles of one chip") as raised:
            narthex.run(
                "sarc",
                machine="sarc-prototype",
                interface="SARC",
                nodes=2,
                threads=threads,
            )
        failures.append((str(raised.value), raised.value.document))
    assert failures[0] == failures[1]
    assert failures[0][1]["ending"] == "failed"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_ends_with_the_hardwares_error_and_its_place(mistake):
    with pytest.raises(NarthexError) as raised:
        run("sarc", mistake)
    text = str(raised.value)
    assert re.search(MISTAKES[mistake], text)
    assert "sarc.c" in text or "sarc.h" in text or "access.h" in text


def test_locks_over_coherent_memory_are_refused_where_tiles_are_processes():
    with pytest.raises(NarthexError, match="run it on sarc-chip"):
        run("sarc-locks", "mcs", 2)


@pytest.mark.parametrize("program", ["messages", "exchange"])
@pytest.mark.parametrize("machine", MACHINES)
def test_the_messaging_library_works_over_queues_and_copies(machine, program):
    run(program, machine=machine)


@pytest.mark.parametrize("program", PARALLEL)
@pytest.mark.parametrize("machine", MACHINES)
def test_parallel_programs_check_what_they_compute(machine, program):
    run(program, *PROGRAMS[program], machine=machine)


def test_a_program_has_the_driver_only_where_its_interface_takes_it():
    name = b"driver_sarc.c"
    assert name not in compiler.program_path("roundtrip").read_bytes()
    assert name in compiler.program_path("roundtrip", interface="sarc").read_bytes()


def test_a_kept_program_says_its_interface_when_it_is_compiled(tmp_path):
    source = tmp_path / "first.c"
    source.write_text("#include <narthex.h>\nint main(void) { narthex_barrier(); return 0; }\n")
    kept = compiler.compile_program(source, tmp_path / "first", interface="SARC")
    run(str(kept))
    with pytest.raises(NarthexError, match="compile it again"):
        run(str(compiler.compile_program(source, tmp_path / "plain")))


def test_messages_to_another_chip_are_refused_instead_of_waiting_for_ever():
    asked = {"machine": "sarc-prototype", "set": {"interfaces.sarc.chips": 2}, "nodes": 2}
    with pytest.raises(NarthexError, match="between the tiles of one chip"):
        narthex.run("roundtrip", 64, 2, interface="SARC", **asked)
