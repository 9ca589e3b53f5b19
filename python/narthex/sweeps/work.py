"""One run, as a process makes it that knows nothing of the sweep.

A task holds everything: the program's bytes and the machine with everything
resolved, no paths. So it can be made in another process or on another machine,
as long as that has the same simulator.
"""

import gzip
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Literal

from narthex import _native, silence
from narthex.errors import NarthexError
from narthex.identity import simulator
from narthex.packed import packed
from narthex.refusals import telling_refusals
from narthex.running import Observer

Status = Literal["finished", "failed"]


@dataclass(frozen=True)
class Task:
    """One run to make."""

    request: dict[str, Any]
    machine_toml: str
    """The machine; the request's name and changes of it say where it came from."""
    elf: bytes
    """The program, compressed."""
    simulator: str
    """Which simulator has to make it."""


@dataclass(frozen=True)
class Made:
    """What came of a task."""

    status: Status
    host_s: float = 0.0
    """What it took."""
    document: bytes = b""
    """The result as JSON, compressed; none if it failed."""
    error: str = ""
    exit_code: int | None = 0
    """What the command line exits with for such a run; none if its process was lost."""


def make(task: Task, observer: Observer | None = None) -> Made:
    """Make a run. A run that fails is a result too, with its error.

    Raises `NarthexError` where no run of the sweep can be made: this is another
    simulator than that of the sweep.
    """
    if task.simulator != simulator():
        raise NarthexError(
            "a worker has another build of narthex than this one; install the same on all"
        )
    start = time.monotonic()
    try:
        text = _simulated(task, observer)
    except NarthexError as error:
        return Made("failed", time.monotonic() - start, b"", str(error), error.exit_code)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a fault of the simulator; the other runs go on
        told = f"{type(error).__name__}: {error}"
        return Made("failed", time.monotonic() - start, b"", told, 1)
    return Made("finished", time.monotonic() - start, packed(text))


def _simulated(task: Task, observer: Observer | None) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as machine:
        machine.write(task.machine_toml)
        machine.flush()
        asked = {**task.request, "machine": machine.name, "set": [], "nodes": None, "seed": None}
        try:
            with telling_refusals(), silence.guarded():
                return _native.run(json.dumps(asked), gzip.decompress(task.elf), observer)
        except NarthexError as error:  # which names the machine
            told = str(error).replace(machine.name, task.request["machine"])
            raise NarthexError(told, error.exit_code) from error


def serve(pipe: int) -> None:
    """Make the runs that come through a pipe, until none does or the parent is gone."""
    connection, parent = Connection(pipe), os.getppid()
    silence.end_silent_runs(lambda text: print(f"narthex: {text}", file=sys.stderr))
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        made: Made | NarthexError
        try:
            made = make(task, lambda _time_ps: os.getppid() == parent)
        except NarthexError as error:
            made = error
        connection.send(made)
