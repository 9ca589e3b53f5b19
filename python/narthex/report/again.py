"""Explains a message of a run that was made before: its machine, its interface, its size.

A run's document holds its resolved machine but no message's life. The life is
made now, on that machine. Over an interface with a library of its own (VIPL, StarT-Voyager's,
SARC's) the run's program runs again, and the life is of a message that it sends itself. Over any
other all messages are the messaging library's, and so is the life, in a run of a program that does
nothing else, for the most frequent size of messages.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tomli_w

from narthex import _native, programs
from narthex.errors import NarthexError
from narthex.explanation import Explanation, explain, payload_bytes

LONGEST_S = 20
"""Of this computer's time: a machine may be so slow that its messages take for ever."""


def life(document: dict[str, Any]) -> Explanation:
    """Explain a message as the run sent most of, or one of its program's own.

    Raises `NarthexError` if the present simulator does not know the run's
    machine or interface any more, the program is not at hand, it sends no message that could be
    shown, or it takes too long.
    """
    end_s = time.monotonic() + LONGEST_S
    interface = document["interface"]
    with _machine_of(document) as machine:
        program: dict[str, Any] = {"bytes": payload_bytes(document)}
        if _native.own_subjects(machine, [], interface):
            program = {"program": _program(document), "args": document["arguments"]}
        try:
            return explain(
                interface,
                machine=machine,
                observer=lambda _time_ps: time.monotonic() < end_s,
                **program,
            )
        except NarthexError as error:
            if time.monotonic() < end_s:
                raise
            told = f"its simulation takes over {LONGEST_S} s on this machine"
            raise NarthexError(told) from error


@contextmanager
def _machine_of(document: dict[str, Any]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        machine = Path(folder) / "machine.toml"
        machine.write_text(tomli_w.dumps(document["machine"]), encoding="utf-8")
        yield str(machine)


def _program(document: dict[str, Any]) -> programs.Program:
    """Return the program of a run, the same to the bit."""
    name = document["program"]
    if len(document.get("jobs", [])) > 1:
        raise NarthexError("the run has several jobs, and a life is of one program alone")
    found = programs.with_hash(name, document["binary_sha256"], document["interface"])
    if found is None:
        raise NarthexError(
            f"over {document['interface']} a program may send by calls of its own, and '{name}' of"
            " this run is not at hand to be run again: make the page with --report of narthex run"
        )
    return found
