"""A run that is watched while it goes on: in the terminal, as a page, and without any effect."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import narthex
from narthex import live
from narthex.report import live as pages

LONG = ("roundtrip", "64", "5000000", "--nodes", "2", "--interface", "NI2w")
"""A run of minutes, which is interrupted."""


def node(number: int, retired: int, activity: str, *, has_ended: bool = False) -> dict[str, object]:
    """Return how a node stands that has polled for 3 us and computed for 1 us."""
    ledger = {f"{activity} / execute": 3_000_000, "application / execute": 1_000_000}
    processor = {
        "retired": retired,
        "activity": activity,
        "spent_in": "uncached access / interface",
        "has_ended": has_ended,
        "ledger_ps": ledger,
        "waits_ps": {},
    }
    counts = ("messages_sent", "packets_sent", "packets_delivered", "packets_returned")
    more = ("packets_unacknowledged", "packets_waiting")
    return {"node": number, "processors": [processor], **dict.fromkeys((*counts, *more), 2)}


def test_a_standing_ranks_what_is_waited_for_so_far() -> None:
    watched = live.Watched("a run")
    watched.at(4_000_000)
    watched.hear(json.dumps([node(0, 5, "poll"), node(1, 7, "synchronisation", has_ended=True)]))
    standing = watched.last
    assert standing is not None
    assert standing.time_ps == 4_000_000
    assert standing.states == [(0, "poll, uncached access, interface"), (1, "ended")]
    causes = [(wait.cause, wait.share) for wait in standing.ranked]
    assert causes == [("arrival of a message", 3 / 8), ("other nodes", 3 / 8)]
    assert standing.total("messages_sent") == 4
    assert standing.instructions_per_s > 0


def test_nodes_without_a_row_are_counted_by_what_they_do() -> None:
    states = [(0, "poll, execute"), (1, "poll, data miss"), (2, "send, execute"), (3, "ended")]
    assert live.left_over(states, 1) == "1 poll, 1 send, 1 ended"
    assert live.left_over(states, 4) == ""


def test_the_page_is_read_again_until_the_run_has_ended(tmp_path: Path) -> None:
    file = tmp_path / "now.html"
    again = f'<meta http-equiv="refresh" content="{live.PAGE_EVERY_S}">'
    with live.Watched("em3d on NI2w", file) as watched:
        assert again in file.read_text()
        watched.at(4_000_000)
        watched.hear(json.dumps([node(0, 5, "poll")]))
        assert "arrival of a message" not in file.read_text(), "at most once a second"
    text = file.read_text()
    assert again not in text
    for words in ("finished", "arrival of a message", "What each node does", "4 us"):
        assert words in text
    with pytest.raises(KeyboardInterrupt), live.Watched("em3d on NI2w", file):
        raise KeyboardInterrupt
    assert "interrupted" in file.read_text()


def test_a_page_of_many_nodes_has_rows_for_the_first_of_them() -> None:
    watched = live.Watched("a run")
    watched.hear(json.dumps([node(number, 1, "poll") for number in range(100)]))
    text = pages.page("a run", live.RUNNING, 1.0, watched.last, 1)
    assert text.count("poll, uncached access, interface") == live.MOST_NODES
    assert "Of the other nodes: 36 poll" in text


def test_a_page_that_cannot_be_written_ends_no_run(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "now.html"
    with live.Watched("a run", file) as watched:
        file.unlink()
        file.parent.rmdir()
        (tmp_path / "folder").write_text("no folder any more")
        watched.hear(json.dumps([node(0, 1, "poll")]))
    assert watched.lost is not None
    assert "cannot be written any more" in watched.lost


@pytest.mark.parametrize("threads", [1, 2])
def test_watching_a_run_changes_nothing_of_its_result(tmp_path: Path, threads: int) -> None:
    asked = {"nodes": 8, "interface": "NI2w"}
    alone = narthex.run("em3d", 128, 2, **asked)
    seen = narthex.run("em3d", 128, 2, **asked, threads=threads, live_page=tmp_path / "now.html")
    assert json.dumps(seen.document) == json.dumps(alone.document)
    assert "finished" in (tmp_path / "now.html").read_text()


def watched_process(*options: str, **streams: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "narthex", "run", *LONG, *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, **streams)  # type: ignore[call-overload,no-any-return]


def test_on_a_terminal_tables_change_and_go(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    page = tmp_path / "now.html"
    process = watched_process("--live", "--live-page", str(page), stderr=theirs)
    os.close(theirs)
    told, interrupted, deadline = b"", False, time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if not select.select([ours], [], [], 0.5)[0]:
            continue
        try:
            told += os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not interrupted and b"waited for" in told and b"in flight" in told:
            assert "refresh" in page.read_text()
            process.send_signal(signal.SIGINT)
            interrupted = True
    if not interrupted:
        process.kill()
    assert process.wait(30) == 130
    assert interrupted
    words = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", told).decode(errors="replace")
    assert "us simulated" in words
    assert b"\x1b[?25h" in told, "the cursor is back"
    assert "interrupted" in page.read_text()


def test_in_a_log_it_is_lines_and_quiet_says_nothing() -> None:
    started = time.monotonic()
    process = watched_process("--live", stderr=subprocess.PIPE)
    assert process.stderr is not None
    line = process.stderr.readline().decode()
    assert time.monotonic() - started > 2
    process.send_signal(signal.SIGINT)
    process.wait(30)
    assert re.search(r"ms simulated, [0-9.]+ million instructions a second, waits for ", line), line
    quiet = subprocess.Popen(
        [sys.executable, "-m", "narthex", "-q", "run", *LONG, "--live"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    time.sleep(4)
    quiet.send_signal(signal.SIGINT)
    _, error = quiet.communicate(timeout=30)
    assert b"simulated" not in error
