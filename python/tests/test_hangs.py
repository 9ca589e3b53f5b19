"""A C program that hangs: what its user sees, and what tools get."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import narthex
from narthex.errors import NO_PROGRESS, NarthexError

SOON = "machine.time_without_progress=100us"


def hang(*arguments: str) -> NarthexError:
    with pytest.raises(NarthexError) as caught:
        narthex.run("hangs", *arguments, interface="NI2w", nodes=2, set=[SOON])
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


def test_a_barrier_that_one_has_left_out_is_waited_in() -> None:
    text = str(hang("barrier"))
    assert "whoever still runs waits for a message, and none is on its way" in text
    assert "and node 1 has ended (deadlock)" in text
    assert "in narthex_barrier, called from " in text
