"""A run of the simulator in a process of its own, and what it cost the host.

A process of its own, because the most memory that a process has had at once
cannot be had for a part of it. The program is `observation/examples/run.rs`: no
Python, no table, no progress display.
"""

import json
import os
import resource
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from narthex.errors import NarthexError

PAGE_BYTES = 4096
_PREFIX = "host: "


@dataclass(frozen=True)
class Run:
    """What is run: a program by its name, and on what."""

    program: str
    args: Sequence[int | str] = ()
    interface: str = "CNI32Qm"
    nodes: int = 2
    machine: str = "hpca98"
    threads: int = 1
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cost:
    """What a run cost the host."""

    seconds: float
    """By the clock on the wall."""
    cpu_seconds: float
    """That the host's processors have worked for it: what other programs take is not in it."""
    peak_memory_bytes: int | None
    touched_pages: int
    windows: int
    instructions: int
    events: int
    skipped_instructions: int

    @property
    def executed_instructions(self) -> int:
        """Instructions that were executed, not computed in wait loops."""
        return self.instructions - self.skipped_instructions

    @property
    def touched_bytes(self) -> int:
        """Memory of the guest that the host had to keep."""
        return self.touched_pages * PAGE_BYTES


class Simulator:
    """The simulator's executable file, and where the guests are."""

    def __init__(self, executable: Path, guests: dict[str, Path]) -> None:
        self._executable = executable
        self._guests = guests

    def command(self, run: Run) -> list[str]:
        """Return the command of a run, for a tool that is to start it."""
        guest = str(self._guests[run.program])
        words = [str(self._executable), guest, run.machine, run.interface, str(run.nodes)]
        return [*words, *map(str, run.args)]

    def cost(self, run: Run) -> Cost:
        """Run, and return what it cost."""
        environment = os.environ | run.environment | {"THREADS": str(run.threads)}
        command = self.command(run)
        before = _cpu_seconds_of_children()
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, errors="replace", check=False
        )
        if done.returncode != 0:
            raise NarthexError(f"{' '.join(command)}\nended with {done.returncode}: {done.stderr}")
        return cost_of(done.stderr, _cpu_seconds_of_children() - before)


def _cpu_seconds_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def cost_of(output: str, cpu_seconds: float) -> Cost:
    """Read the line with which the simulator says what a run cost."""
    lines = [line for line in output.splitlines() if line.startswith(_PREFIX)]
    if not lines:
        raise NarthexError(f"the simulator does not say what its run cost: {output!r}")
    try:
        told = json.loads(lines[-1].removeprefix(_PREFIX))
        effort = told["effort"]
        return Cost(
            seconds=float(told["seconds"]),
            cpu_seconds=cpu_seconds,
            peak_memory_bytes=told["peak_memory_bytes"],
            touched_pages=int(told["touched_pages"]),
            windows=int(effort["windows"]),
            instructions=int(effort["instructions"]),
            events=int(effort["events"]),
            skipped_instructions=int(effort.get("skipped_instructions", 0)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise NarthexError(
            f"the simulator says what its run cost in another way than expected ({error!r}): "
            f"{lines[-1]}"
        ) from error
