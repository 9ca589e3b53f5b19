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
_WINDOWS_PREFIX = "windows: "


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


@dataclass(frozen=True)
class WindowCounts:
    """What the nodes did in each window, as sums in host instructions."""

    windows: int
    work: int
    """Of all nodes."""
    eventless_work: int
    """That a node was called in a window in which it had instructions to execute and no event."""
    paths: dict[int, tuple[int, int]]
    """By the number of threads, that of the thread with most of it in each window: where each
    node stays with a thread, and where the nodes of each window are divided anew."""

    def since(self, other: "WindowCounts") -> "WindowCounts":
        """Return what is more than in a shorter run."""
        paths = {
            threads: (fixed - other.paths[threads][0], anew - other.paths[threads][1])
            for threads, (fixed, anew) in self.paths.items()
        }
        return WindowCounts(
            self.windows - other.windows,
            self.work - other.work,
            self.eventless_work - other.eventless_work,
            paths,
        )


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
        before = _cpu_seconds_of_children()
        output = self._output(run, {"THREADS": str(run.threads)})
        return cost_of(output, _cpu_seconds_of_children() - before)

    def windows(self, run: Run) -> WindowCounts:
        """Run, and return what the nodes did in each window."""
        return windows_of(self._output(run, {"WINDOWS": "1"}))

    def _output(self, run: Run, further: dict[str, str]) -> str:
        """Run, and return what stands on the error output."""
        command = self.command(run)
        environment = os.environ | run.environment | further
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, errors="replace", check=False
        )
        if done.returncode != 0:
            raise NarthexError(f"{' '.join(command)}\nended with {done.returncode}: {done.stderr}")
        return done.stderr


def _told(output: str, prefix: str) -> str:
    """Return the JSON behind a prefix, of the last line that begins with it."""
    lines = [line for line in output.splitlines() if line.startswith(prefix)]
    if not lines:
        raise NarthexError(f"the simulator does not say what its run cost: {output!r}")
    return lines[-1].removeprefix(prefix)


def _cpu_seconds_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def windows_of(output: str) -> WindowCounts:
    """Read the line with which the simulator says what the nodes did in each window."""
    told = json.loads(_told(output, _WINDOWS_PREFIX))
    paths = {each["threads"]: (each["fixed"], each["anew"]) for each in told["paths"]}
    return WindowCounts(told["windows"], told["work"], told["eventless_work"], paths)


def cost_of(output: str, cpu_seconds: float) -> Cost:
    """Read the line with which the simulator says what a run cost."""
    try:
        told = json.loads(_told(output, _PREFIX))
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
            f"{output!r}"
        ) from error
