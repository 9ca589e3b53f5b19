"""A C program that hangs: what its user sees, and what tools get."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import narthex
from narthex.errors import NO_PROGRESS, NarthexError

SOON = "machine.time_without_progress=100us"


def hang(*arguments: str, interface: str = "NI2w", **options: str) -> NarthexError:
    with pytest.raises(NarthexError) as caught:
        narthex.run("hangs", *arguments, interface=interface, nodes=2, set=[SOON], **options)
    return caught.value


def test_a_function_of_a_header_is_named_with_its_file() -> None:
    assert "has_room (guest/messaging/fifo.h:" in str(hang("senders"))


def test_a_hang_names_the_function_and_the_source_line(tmp_path: Path) -> None:
    file = tmp_path / "hang.json"
    command = ["run", "hangs", "deaf", "--interface", "NI2w", "--nodes", "2", "--set"]
    found = subprocess.run(
        [sys.executable, "-m", "narthex", *command, SOON, "--json", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == NO_PROGRESS, found.stderr
    assert "no progress: node 0 waits for node 1, which takes no messages" in found.stderr
    assert "in narthex_send, called from deaf (hangs.c:" in found.stderr
    document = json.loads(file.read_text())
    assert document["ending"] == "no progress"
    assert document["hang"]["chains"] == [[0, 1]]
    own = [call for call in document["hang"]["waits"][0]["calls"] if call["function"] == "deaf"]
    assert own[0]["file"].endswith("hangs.c")
    source = Path(own[0]["file"]).read_text().splitlines()
    assert "narthex_send" in source[own[0]["line"] - 1]


def test_python_gets_the_explanation_with_the_error() -> None:
    error = hang("senders")
    assert error.exit_code == NO_PROGRESS
    assert error.document is not None
    assert error.document["hang"]["circle"] == [0, 1, 0]
    assert error.document["hang"]["summary"] in str(error)


def test_a_load_that_a_home_holds_until_a_line_is_free_is_a_wait_for_room() -> None:
    text = str(hang("senders", interface="PioCoherent", machine="server"))
    assert text.startswith("no progress: node 0 and node 1 wait for each other")
    assert "  node 0 waits for room to send\n    in has_room, called from senders (hangs.c:" in text
    assert " (send lines, entry 0, block 0) holds a request of processor 0" in text


def test_a_barrier_that_one_has_left_out_is_waited_in() -> None:
    text = str(hang("barrier"))
    assert "node 0 waits for node 1, whose program has ended (deadlock)" in text
    assert "in narthex_barrier, called from " in text
    assert "-> node 1: its message of barrier 1 has not come" in text


def test_a_barrier_names_partners_by_rounds_and_within_a_job() -> None:
    with pytest.raises(NarthexError) as caught:
        narthex.run(
            jobs=["hangs barrier @ 4-7", "roundtrip 8 10 @ 0-1"],
            interface="NI2w",
            nodes=8,
            set=[SOON],
        )
    assert caught.value.document is not None
    waits = caught.value.document["hang"]["waits"]
    links = {wait["rank"]: [link["to"] for link in wait["links"]] for wait in waits}
    assert {rank: links[rank] for rank in (4, 5, 6, 7)} == {4: [7], 5: [7], 6: [4], 7: []}


def test_a_channel_names_the_peer_whose_transfer_has_not_come() -> None:
    with pytest.raises(NarthexError) as caught:
        narthex.run("hangs", "channels", interface="NI2w", nodes=3, set=[SOON])
    assert caught.value.document is not None
    hang = caught.value.document["hang"]
    assert hang["circle"] == [0, 1, 2, 0]
    links = [
        (wait["rank"], link["to"], link["why"]) for wait in hang["waits"] for link in wait["links"]
    ]
    why = "its next transfer on channel 1 has not come"
    assert links == [(0, 1, why), (1, 2, why), (2, 0, why)]


@pytest.mark.parametrize("interface", ["NI2w", "CNI32Qm"])
def test_a_channel_names_the_peer_that_has_not_released(interface: str) -> None:
    with pytest.raises(NarthexError) as caught:
        narthex.run("hangs", "unreleased", interface=interface, nodes=2, set=[SOON])
    assert caught.value.document is not None
    waits = caught.value.document["hang"]["waits"]
    links = [[(link["to"], link["why"]) for link in wait["links"]] for wait in waits]
    assert links == [
        [(1, "it has not released a transfer on channel 1")],
        [(0, "its message of barrier 2 has not come")],
    ]


POLLS_NOW_AND_THEN = """
#include "narthex.h"
int main(void) {
    volatile int answers = 0;
    while (narthex_node() == 1)
        ;
    while (answers == 0) {
        for (int i = 0; i < 60; i++)
            __asm__ volatile("" ::: "memory");
        narthex_poll();
    }
}
"""


def test_who_polls_now_and_then_waits_for_a_message_wherever_the_run_is_stopped(
    tmp_path: Path,
) -> None:
    source = tmp_path / "polls.c"
    source.write_text(POLLS_NOW_AND_THEN)
    guest = narthex.compile(source, tmp_path / "polls")
    activities = set()
    for extra_ns in range(0, 600, 70):
        patience = f"machine.time_without_progress={100_000 + extra_ns}ns"
        with pytest.raises(NarthexError) as caught:
            narthex.run(guest, interface="CNI32Qm", nodes=2, set=[patience])
        assert caught.value.document is not None
        waits = caught.value.document["hang"]["waits"]
        told = [wait["waits_for"] for wait in waits]
        assert told == ["a message", "nothing that the machine knows"]
        activities.add(waits[0]["activity"])
    assert activities == {"application", "poll"}
