"""Counts the host's instructions, where the machine has something to count them with.

Times swing by half on a shared machine; the number of instructions that a
program executes does not. `perf` counts them by the processor's own counters,
which many virtual machines hide; then valgrind's cachegrind counts them by
executing each in software, some fifty times slower.
"""

import re
import shutil
import subprocess
from collections.abc import Sequence
from tempfile import NamedTemporaryFile

from narthex.errors import NarthexError

_VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
_REFERENCES = re.compile(r"I\s+refs:\s+([\d,]+)")


class Counter:
    """Counts the instructions of a command."""

    def __init__(self, tool: str) -> None:
        self.tool = tool

    def count(self, command: Sequence[str]) -> int:
        """Return how many instructions the command executes in user mode."""
        return _by_perf(command) if self.tool == "perf" else _by_valgrind(command)


def find_counter() -> Counter | None:
    """Return a counter that works here, if there is one."""
    if shutil.which("perf"):
        try:
            _by_perf(["true"])
            return Counter("perf")
        except NarthexError:
            pass
    return Counter("valgrind") if shutil.which("valgrind") else None


def _by_perf(command: Sequence[str]) -> int:
    with NamedTemporaryFile("r") as file:
        _run(["perf", "stat", "-x", ",", "-e", "instructions:u", "-o", file.name, *command])
        return of_perf(file.read())


def _by_valgrind(command: Sequence[str]) -> int:
    return of_valgrind(_run([*_VALGRIND, *command]))


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise NarthexError(f"'{' '.join(command)}' failed: {done.stderr.strip()}")
    return done.stderr


def of_perf(text: str) -> int:
    """Read the count from what `perf stat -x ,` wrote."""
    for line in text.splitlines():
        count, *rest = line.split(",")
        if len(rest) > 1 and rest[1].startswith("instructions") and count.isdigit():
            return int(count)
    raise NarthexError(f"perf counts no instructions here: {text.strip()!r}")


def of_valgrind(text: str) -> int:
    """Read the count from what valgrind wrote."""
    found = _REFERENCES.search(text)
    if found is None:
        raise NarthexError(f"valgrind counted no instructions: {text.strip()!r}")
    return int(found[1].replace(",", ""))
