"""MPI: programs print what they print with MPICH, over every interface, and errors are in words.

The reference is PyPI's `mpich`, which runs the same programs natively, compiled with its own
header.
"""

import functools
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import native
import pytest

import narthex
from narthex import mpi
from narthex.assets import GUEST
from narthex.documentation import DOCS
from narthex.errors import NarthexError

TESTS = GUEST / "programs" / "tests"
SOON = "machine.time_without_progress=100us"


def mpich() -> Path:
    """The folder that MPICH is installed in."""
    found = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which(
        "mpiexec"
    )
    if not found or not (Path(found).parent.parent / "lib" / "libmpi_abi.so").exists():
        pytest.skip("mpich is not installed (pip install -r requirements-develop.lock)")
    return Path(found).parent.parent


def build_reference(program: str, folder: Path, include: Path, library: str) -> Path:
    """Compile a program for MPICH, with this mpi.h and that library."""
    output = folder / f"{program}-{library}"
    libraries = mpich() / "lib"
    command = [*native.host_compiler(), "-O1", f"-I{include}", TESTS / f"{program}.c", "-o", output]
    command += [f"-L{libraries}", f"-l{library}", f"-Wl,-rpath,{libraries}", "-lm"]
    subprocess.run([str(word) for word in command], check=True)
    return output


def run_reference(binary: Path, ranks: int, *arguments: str) -> list[str]:
    command = [mpich() / "bin" / "mpiexec", "-n", ranks, binary, *arguments]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.splitlines())


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mpich")

    @functools.cache
    def run(program: str, ranks: int, *arguments: str) -> list[str]:
        binary = build_reference(program, folder, mpich() / "include", "mpi")
        return run_reference(binary, ranks, *arguments)

    return run


@pytest.fixture(scope="module")
def on_the_host(tmp_path_factory):
    """Run a program with our library as processes of the host."""
    folder = tmp_path_factory.mktemp("native")

    def run(program: str, ranks: int, *arguments: str) -> list[str]:
        binary = folder / program
        if not binary.exists():
            native.build([TESTS / f"{program}.c"], binary)
        done = native.run(binary, *arguments, ranks=ranks)
        assert done.returncode == 0, done.stderr
        return sorted(done.stdout.splitlines())

    return run


def simulated(
    program: str, ranks: int, interface: str, *arguments: str, **options: object
) -> list[str]:
    pieces: dict[int, bytes] = {}

    def hear(node: int, _process: int, _stream: str, piece: bytes) -> None:
        pieces[node] = pieces.get(node, b"") + piece

    narthex.run(program, *arguments, interface=interface, nodes=ranks, output=hear, **options)
    return sorted(line for text in pieces.values() for line in text.decode().splitlines())


@pytest.mark.parametrize(
    ("program", "ranks", "interface", "arguments"),
    [
        ("mpi-messages", 4, "NI2w", ()),
        ("mpi-messages", 3, "CNI32Qm", ()),
        ("mpi-collectives", 5, "CNI512Q", ()),
        ("mpi-collectives", 9, "CNI32Qm", ("6",)),
        ("mpi-objects", 6, "CNI32Qm", ()),
        ("mpi-windows", 2, "NI2w", ()),
    ],
)
def test_a_program_prints_what_it_does_with_mpich(
    reference, on_the_host, program, ranks, interface, arguments
):
    expected = reference(program, ranks, *arguments)
    assert on_the_host(program, ranks, *arguments) == expected
    assert simulated(program, ranks, interface, *arguments) == expected


@pytest.mark.parametrize(
    ("machine", "interface", "pinned_pages"),
    [("edt", "EDT", 60), ("voyager", "Voyager-resident", 30)],
)
def test_long_messages_are_put_and_go_in_pieces_where_memory_cannot_be_pinned(
    reference, machine, interface, pinned_pages
):
    settings = [f"operating_system.pinned_pages={pinned_pages}"]
    lines = simulated("mpi-messages", 2, interface, machine=machine, set=settings)
    assert lines == reference("mpi-messages", 2)


@pytest.mark.parametrize(
    ("machine", "interface", "least"), [("edt", "EDT", 150), ("voyager", "Voyager-resident", 70)]
)
def test_the_interface_puts_long_messages_to_their_place(machine, interface, least):
    """In pieces they come with 29 and 26 MB/s."""
    where = {"machine": machine, "interface": interface, "nodes": 2}
    document = narthex.run("mpi-bandwidth", 32768, 4, 2, 1, **where).document
    assert document["reports"][0]["value"] > least


def test_too_few_vis_for_puts_are_named_in_init():
    where = {"machine": "edt", "interface": "EDT", "nodes": 3}
    with pytest.raises(NarthexError, match=r"interfaces\.via\.vis: 3 is too few.*at least 4"):
        narthex.run("mpi-latency", 8, 1, 1, set=["interfaces.via.vis=3"], **where)
    narthex.run("mpi-latency", 8, 1, 1, set=["interfaces.via.vis=4"], **where)


TWO_TILES = [
    "machine.processors_per_node=2",
    "network_on_chip.topology.dimensions=[2, 1]",
    "node.memories.main_memory.at=[0, 1]",
    "node.interface.at=0",
]


def over_sarc(program: str, *arguments: object, settings: Sequence[str] = ()) -> float:
    """Run on tiles of a chip; gives the first value that is reported."""
    where = {"machine": "sarc-chip", "interface": "SARC", "nodes": 1}
    return narthex.run(program, *arguments, set=list(settings), **where).document["reports"][0][
        "value"
    ]


def test_collectives_over_counters_print_what_they_do_with_mpich(reference):
    pieces: dict[int, bytes] = {}

    def hear(_node: int, process: int, _stream: str, piece: bytes) -> None:
        pieces[process] = pieces.get(process, b"") + piece

    tiles = [setting.replace("2, 1", "3, 1").replace("=2", "=3") for setting in TWO_TILES]
    where = {"machine": "sarc-chip", "interface": "SARC", "nodes": 1, "set": tiles}
    narthex.run("mpi-collectives", "6", output=hear, **where)
    lines = sorted(line for text in pieces.values() for line in text.decode().splitlines())
    assert lines == reference("mpi-collectives", 3, "6")


def test_counters_make_a_barrier_of_all_tiles_and_messages_one_of_fewer():
    own, messages = (
        over_sarc("mpi-collective-latency", "barrier", 8, ranks, 2, 3) for ranks in (16, 15)
    )
    assert own < 1000
    assert messages > 4000


def test_a_sender_that_computes_keeps_no_packet_that_its_receiver_had_no_place_for():
    assert over_sarc("mpi-bandwidth", 1024, 32, 2, 2, settings=TWO_TILES) > 150


def test_a_barrier_over_counters_tells_of_a_broadcast_in_its_place():
    with pytest.raises(NarthexError, match="in MPI_Barrier on MPI_COMM_WORLD, and another rank's"):
        over_sarc("mpi-wrong", "barrier_for_broadcast", settings=TWO_TILES)


def test_a_collective_is_measured_where_ranks_learn_late_of_their_common_start():
    where = {"machine": "voyager", "interface": "Voyager-resident", "nodes": 16}
    done = narthex.run("mpi-collective-latency", "bcast", 1024, 16, 1, 1, **where)
    assert 100_000 < done.document["reports"][0]["value"] < 300_000


def test_what_is_compiled_with_this_header_runs_with_another_library_of_the_abi(tmp_path):
    binary = build_reference("mpi-objects", tmp_path, mpi.HEADER.parent, "mpi_abi")
    assert run_reference(binary, 4) == simulated("mpi-objects", 4, "CNI32Qm")


def test_one_rank_on_the_host_sends_to_itself(reference, on_the_host):
    assert on_the_host("mpi-messages", 1) == reference("mpi-messages", 1)


def test_a_rank_that_dies_on_the_host_ends_the_others(tmp_path):
    source = tmp_path / "dies.c"
    source.write_text("""
        #include <mpi.h>
        #include <signal.h>
        int main(int count, char **words) {
            int rank;
            MPI_Init(&count, &words);
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
            if (rank == 1)
                raise(SIGKILL);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Finalize();
            return 0;
        }
    """)
    binary = native.build([source], tmp_path / "dies")
    died = native.run(binary, ranks=3)
    told = "rank 1 of 3 has ended with signal 9; the others are ended too\n"
    assert (died.returncode, died.stderr) == (128 + 9, told)
    refused = native.run(binary, ranks=1000)
    told = "failed: NARTHEX_RANKS is '1000'; expected a number from 1 to 64\n"
    assert (refused.returncode, refused.stderr) == (2, told)


def test_each_call_of_public_programs_is_in_the_program_that_the_page_says():
    page = (DOCS / "mpi.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`MPI_.*?) \| .* \| `(mpi-\w+)` \|$", page, flags=re.MULTILINE)
    assert len(rows) > 10
    for calls, program in rows:
        source = (TESTS / f"{program}.c").read_text() + (TESTS / "mpi_test.h").read_text()
        for call in re.findall(r"`(\w+)`", calls):
            assert re.search(rf"\b{call}\(", source), f"{program} does not call {call}"


INTERFACES = {
    "hpca98": ["NI64w+Udma", "NI16w+Blkbuf", "CNI0Qm", "CNI4", "CNI16Qm", "CNI32Qm+Throttle"],
    "isca96": ["NI2w on io-bus", "CNI512Q on io-bus"],
    "edt": ["EDT", "EDT+DmaReceive", "CCDMA-retry", "CCDMA-intervention", "DMA-flush", "PIO"],
    "voyager": ["Voyager-resident", "Voyager-nonresident", "Voyager-hybrid", "Voyager-CNI"],
    "sarc-chip": ["SARC", "SARC+Nack"],
}


@pytest.mark.parametrize(
    ("machine", "interface"),
    [(machine, each) for machine, interfaces in INTERFACES.items() for each in interfaces],
)
def test_messages_of_both_kinds_arrive_over_every_interface(machine, interface):
    for size in (8, 20000):
        # SARC's messages go between the tiles of one chip.
        nodes = 1 if interface.startswith("SARC") else 2
        where = {"machine": machine, "interface": interface, "nodes": nodes}
        document = narthex.run("mpi-latency", size, 2, 0, **where).document
        (latency,) = document["reports"]
        assert latency["value"] > 0


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("mpi-stencil", "32 x 32 places, 20 steps: heat 5689.443953, every value right"),
        ("mpi-sort", "12000 keys in order, sum 98550197"),
    ],
)
def test_a_program_checks_its_own_result(program, told):
    assert simulated(program, 6, "CNI512Q") == [told]


def test_a_message_rate_is_that_of_the_senders_that_are_asked_for():
    one, two = (
        narthex.run("mpi-bandwidth", 16, 8, 2, 1, senders, 3, interface="CNI32Qm", nodes=4)
        for senders in (1, 2)
    )
    for done in (one, two):
        assert done.value("MPI bandwidth") == pytest.approx(16 * done.value("MPI message rate"))
    statistics = [done.document["nodes"][2]["statistics"] for done in (one, two)]
    sent = [each["messages_sent"] for each in statistics]
    assert sent[1] - sent[0] >= 3 * 8, "rank 2 sends three windows only when it is a sender"


@pytest.mark.parametrize("collective", ["barrier", "bcast", "allreduce", "alltoall"])
def test_a_collective_takes_longer_among_more_ranks(collective):
    def taken_ns(ranks: int) -> float:
        asked = ("mpi-collective-latency", collective, 8, ranks, 2, 2)
        return narthex.run(*asked, interface="CNI512Q", nodes=5).value("MPI collective")

    assert 1000 < taken_ns(2) < taken_ns(5)


def test_an_unknown_collective_is_refused():
    with pytest.raises(NarthexError, match='is "gather"; allowed are barrier, bcast, allreduce'):
        narthex.run("mpi-collective-latency", "gather", interface="CNI512Q", nodes=2)


def overhead_cycles(program: str) -> float:
    """What a round costs rank 0 beside waiting: one message sent, one received."""
    rounds = 200
    document = narthex.run(program, 8, rounds, 150, interface="CNI32Qm", nodes=2).document
    (region,) = document["regions"]
    executed = [f"{activity} / execute" for activity in ("application", "send", "receive")]
    return sum(region["ledger_ps"][each] for each in executed) / 1000 / rounds


def test_the_first_message_that_waits_takes_little_longer_than_those_after_it():
    """Its memory is there and in the cache; it took 2.7 us longer when it was not."""
    reports = narthex.run("mpi-first-message", interface="CNI32Qm", nodes=2).document["reports"]
    first, *others = (report["value"] for report in reports)
    assert max(others) < first < max(others) + 1000


def test_a_short_message_costs_at_most_250_cycles_more_than_with_the_messaging_library():
    assert 0 < overhead_cycles("mpi-latency") - overhead_cycles("roundtrip") <= 250


WRONG = {
    "truncated": "rank 1 calls MPI_Recv on MPI_COMM_WORLD: a message of 16 bytes from rank 0 with"
    " tag 3 does not fit into the 8 bytes of the receive (MPI_ERR_TRUNCATE)",
    "rank_out_of_range": "calls MPI_Send on MPI_COMM_WORLD: the destination is rank 6, and ranks"
    " are 0 to 1 (MPI_ERR_RANK)",
    "freed_communicator": "calls MPI_Barrier: the communicator is none: it has been freed, or its"
    " handle was never set (MPI_ERR_COMM)",
    "not_committed": "the datatype has not been committed (MPI_Type_commit) (MPI_ERR_TYPE)",
    "other_collective": "in its place: all ranks of a communicator make the same collectives",
    "other_root": "MPI_Bcast before it was taken by no collective of this rank",
    "other_header": "with a communicator of MPICH's own header",
    "after_finalize": "calls MPI_Barrier after MPI_Finalize",
    "before_init": "calls MPI_Send before MPI_Init",
    "aborts": "calls MPI_Abort with error code 7",
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_ends_the_run_in_words_and_names_the_line(case):
    with pytest.raises(NarthexError) as caught:
        narthex.run("mpi-wrong", case, interface="CNI32Qm", nodes=2)
    assert WRONG[case] in str(caught.value)
    assert re.search(r"called from .*mpi-wrong\.c:\d+", str(caught.value))


HANGS = {
    "cycle": (
        [0, 1, 2, 0],
        "its message with tag 5 has not come (MPI_Recv on MPI_COMM_WORLD)",
    ),
    "wrong_tag": (
        [0, 1, 0],
        "it has not received the message with tag 1 (MPI_Ssend on MPI_COMM_WORLD)",
    ),
    "any_source": (
        None,
        "a message of any rank with any tag has not come (MPI_Recv on MPI_COMM_WORLD)",
    ),
    "left_out": ([0, 1, 0], "its message has not come (MPI_Allreduce on MPI_COMM_WORLD)"),
}


@pytest.mark.parametrize("case", HANGS)
def test_a_hang_names_call_communicator_peer_and_tag_and_the_circle(case):
    circle, words = HANGS[case]
    with pytest.raises(NarthexError) as caught:
        narthex.run(
            "mpi-wrong", case, interface="CNI32Qm", nodes=3 if case == "cycle" else 2, set=[SOON]
        )
    assert caught.value.document is not None
    assert caught.value.document["hang"]["circle"] == circle
    assert words in str(caught.value)
