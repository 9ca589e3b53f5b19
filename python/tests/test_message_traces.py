"""Traces of messages: schedules of GOAL and archives of OTF2 have what the program has sent."""

import re
from collections import Counter

import pytest

import narthex
from narthex import message_traces, running
from narthex.errors import NarthexError
from narthex.message_traces import Rank
from narthex.programs import find

RANKS, STEPS = 4, 3
SENT = 8 * STEPS + 3 * 8
"""Two neighbours of each rank in each step; in the end eight rows of all but the first."""


def traced(program, *arguments, nodes):
    guest = find(program)
    words = [str(each) for each in arguments]
    wanted = running.request(guest, words, interface="CNI32Qm", nodes=nodes)
    return running.simulate(wanted, guest, mpi=message_traces.request()).document


@pytest.fixture(scope="module")
def stencil():
    document = traced("mpi-stencil", 16, STEPS, nodes=RANKS)
    return document, message_traces.ranks(dict(document))


def messages(text):
    """The sends and the receives of a schedule, by (from, to, bytes, tag)."""
    sends, receives = Counter(), Counter()
    for number, body in re.findall(r"rank (\d+) \{\n(.*?)\}", text, re.DOTALL):
        for verb, size, peer, tag in re.findall(
            r"l\d+: (send|recv) (\d+)b (?:to|from) (\d+) tag (\d+)", body
        ):
            ends = (number, peer) if verb == "send" else (peer, number)
            (sends if verb == "send" else receives)[*ends, size, tag] += 1
    return sends, receives


def test_recording_changes_nothing_of_the_run(stencil):
    plain = narthex.run("mpi-stencil", 16, STEPS, nodes=RANKS, interface="CNI32Qm").document
    document = dict(stencil[0])
    document.pop("mpi")
    assert document == plain


def test_every_send_of_a_program_has_its_receive_whatever_it_calls():
    document = traced("mpi-messages", nodes=3)
    sends, receives = messages(message_traces.goal(message_traces.ranks(document)))
    assert sends == receives
    assert sends.total() > 3 * 1200  # test_runs alone


def test_a_schedule_waits_only_for_what_is_before_it(stencil):
    for body in re.findall(r"rank \d+ \{\n(.*?)\}", message_traces.goal(stencil[1]), re.DOTALL):
        labels = [int(label) for label in re.findall(r"^l(\d+):", body, re.MULTILINE)]
        assert labels == sorted(set(labels))
        waits = re.findall(r"^l(\d+) requires l(\d+)$", body, re.MULTILINE)
        assert waits
        assert all(int(first) < int(then) for then, first in waits)
        assert {int(first) for _, first in waits} <= set(labels)


def rank_of(*events):
    return Rank(0, [(0, (0, 1))], [list(event) for event in events])


def test_the_order_of_calls_becomes_what_waits_for_what():
    text = message_traces.goal([
        rank_of(
            ("enter", 0, 0, 0, None), ("leave", 5_000),
            ("enter", 15_000, 0, 0, None), ("post", 15_000, 99), ("leave", 16_000),
            ("enter", 20_000, 0, 0, None), ("send", 20_000, 1, 0, 7, 8, 0), ("leave", 22_000),
            ("enter", 22_000, 0, 0, None), ("received", 30_000, 99, 1, 0, 5, 16), ("leave", 31_000),
            ("enter", 40_000, 0, 0, None), ("send", 40_000, 1, 2, 7, 24, 0), ("leave", 41_000),
        )
    ])  # fmt: skip
    assert text == (
        "num_ranks 1\n\nrank 0 {\n"
        "l0: calc 10\n"
        "l1: recv 16b from 1 tag 5\nl1 requires l0\n"
        "l2: calc 4\nl2 requires l0\n"
        "l3: send 8b to 1 tag 7\nl3 requires l2\n"
        "l4: calc 9\nl4 requires l1\nl4 requires l3\n"
        f"l5: send 24b to 1 tag {7 + 2**24}\nl5 requires l4\n"
        "}\n"
    )


def test_a_schedule_without_the_messages_of_collectives_is_refused():
    """Over SARC counters carry out the barrier of MPI_Finalize."""
    names = [each["name"] for each in message_traces.request()["functions"]]
    events = [["enter", 0, names.index("MPI_Finalize"), None], ["leave", 9]]
    with pytest.raises(NarthexError, match="add --env NARTHEX_MPI_OVERRIDES=no"):
        message_traces.goal([Rank(0, events=events), Rank(1)])


def test_a_program_without_mpi_has_no_trace_of_messages():
    with pytest.raises(NarthexError, match="has called no function of MPI"):
        message_traces.ranks(traced("roundtrip", 8, 1, nodes=2))


def test_an_archive_has_the_calls_the_messages_and_the_collectives(stencil, tmp_path):
    otf2 = pytest.importorskip("otf2")
    _, ranks = stencil
    message_traces.write_otf2(tmp_path / "archive", ranks)
    kinds, tags, entered = Counter(), Counter(), Counter()
    with otf2.reader.open(str(tmp_path / "archive" / "traces.otf2")) as archive:
        assert archive.timer_resolution == 10**12
        for _, event in archive.events:
            kinds[type(event).__name__] += 1
            if isinstance(event, otf2.events.Enter):
                entered[event.region.name] += 1
            if isinstance(event, otf2.events.MpiSend):
                assert event.communicator.name == "communicator 2 of 4 ranks"
                tags[event.msg_tag] += 1
    assert kinds["Enter"] == kinds["Leave"] == entered.total()
    assert entered["MPI_Init"] == entered["MPI_Finalize"] == RANKS
    assert kinds["MpiSend"] == kinds["MpiRecv"] == tags.total() == SENT
    collectives = sum(
        count for name, count in entered.items() if name in ("MPI_Allreduce", "MPI_Reduce")
    )
    assert kinds["MpiCollectiveBegin"] == kinds["MpiCollectiveEnd"] == collectives
