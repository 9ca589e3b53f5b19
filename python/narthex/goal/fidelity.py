"""How well the fitted model describes detailed nodes: the same schedules on both.

The error of the model is (model - nodes) / nodes, of the makespan. It has two parts:

- **The program.** A node's processor also counts dependencies and looks for receives, which the
  measurement of LogGP does not do. What that takes is measured: two ranks send one message to
  and fro, and what it takes longer than in the model is added to the overheads, half to either.
- **The model.** What is left after that: the gap and what interfaces buffer (bursts: linear
  all-to-all, stencils), contention and flow control (incast), the phase of polling.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from narthex import _native
from narthex.arguments import Settings
from narthex.goal.execution import fitted, run
from narthex.goal.parameters import Fitted, Lines

SIZES = (8, 64, 240)
PATTERNS = (
    "barrier",
    "broadcast",
    "allreduce-doubling",
    "allgather-ring",
    "alltoall-pairwise",
    "alltoall-linear",
    "stencil-2d",
    "incast",
)
RANKS = (4, 16)
STEPS = 4
"""Each schedule repeats its pattern so often."""


@dataclass(frozen=True)
class Row:
    """One schedule with both executors; times of the makespan."""

    pattern: str
    ranks: int
    bytes: int
    interface: str
    detailed_ns: float
    fitted_ns: float
    low_ns: float
    high_ns: float
    with_program_ns: float
    """The fitted makespan, with the program's part in the overheads."""

    @property
    def error_percent(self) -> float:
        """How far the model is off."""
        return 100 * (self.fitted_ns / self.detailed_ns - 1)

    @property
    def model_error_percent(self) -> float:
        """How far it is off if the program's part is added."""
        return 100 * (self.with_program_ns / self.detailed_ns - 1)

    @property
    def is_within(self) -> bool:
        """Whether the detailed makespan is in the model's interval."""
        return self.low_ns <= self.detailed_ns <= self.high_ns


class Comparison:
    """The rows of all schedules and interfaces."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = list(rows)

    @property
    def document(self) -> dict[str, Any]:
        """All of it, as `--json` writes it."""
        rows = [
            {
                **vars(row),
                "error_percent": row.error_percent,
                "model_error_percent": row.model_error_percent,
            }
            for row in self.rows
        ]
        return {"schema": 1, "version": _native.__version__, "goal": "fidelity", "rows": rows}

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the mean errors of each pattern and interface in percent.

        Each cell has the whole error, and behind a comma that of the model alone.
        """
        return self._by("pattern")

    def by_size(self) -> tuple[list[str], list[list[str]]]:
        """Return the same for each size of messages."""
        return self._by("bytes")

    def _by(self, key: str) -> tuple[list[str], list[list[str]]]:
        interfaces = list(dict.fromkeys(row.interface for row in self.rows))
        lines = []
        for value in dict.fromkeys(getattr(row, key) for row in self.rows):
            own = [row for row in self.rows if getattr(row, key) == value]
            lines.append([str(value), *(_summary(own, interface) for interface in interfaces)])
        return [key, *interfaces], lines


def _summary(rows: Sequence[Row], interface: str) -> str:
    own = [row for row in rows if row.interface == interface]
    whole = sum(row.error_percent for row in own) / len(own)
    model = sum(row.model_error_percent for row in own) / len(own)
    return f"{whole:+.0f}, {model:+.0f}"


PING_PONGS = 20
PING_BYTES = 8


def _ping_pong() -> str:
    """Return a schedule in which one message goes to and fro."""
    text = "num_ranks 2\n"
    for own, other in ((0, 1), (1, 0)):
        words = [f"send {PING_BYTES}b to {other}", f"recv {PING_BYTES}b from {other}"]
        text += f"rank {own} {{\n"
        for step in range(1, PING_PONGS + 1):
            text += f"l{step}: {words[(step + own + 1) % 2]}\n"
            text += f"l{step} requires l{step - 1}\n" if step > 1 else ""
        text += "}\n"
    return text


def with_program(model: Fitted, interface: str, machine: str | Path, settings: Settings) -> Fitted:
    """Return the model with the program's part of a message in its overheads, half in either."""
    with tempfile.TemporaryDirectory(prefix="narthex-") as folder:
        file = Path(folder) / "ping-pong.txt"
        file.write_text(_ping_pong(), encoding="utf-8")
        nodes = run(file, machine=machine, interface=interface, set=settings)
        found = run(file, executor="loggops", parameters=model)
    half_ns = (nodes.makespan_ns - found.makespan_ns) / PING_PONGS / 2

    def longer(lines: Lines) -> Lines:
        overheads = {
            name: {**lines[name], "first_ns": lines[name]["first_ns"] + half_ns}
            for name in ("send_overhead", "receive_overhead")
        }
        return {**lines, **overheads}

    return replace(model, value=longer(model.value), low=longer(model.low), high=longer(model.high))


def compare(
    interfaces: Sequence[str],
    *,
    machine: str | Path = "hpca98",
    set: Settings = (),  # noqa: A002 - the option's name on the command line
    patterns: Sequence[str] = PATTERNS,
    ranks: Sequence[int] = RANKS,
    sizes: Sequence[int] = SIZES,
    steps: int = STEPS,
    progress: Callable[[int, int], object] = lambda _done, _all: None,
) -> Comparison:
    """Execute schedules on detailed nodes and on the model that is fitted to each interface."""
    models = fitted(interfaces, machine, set)
    points = [(pattern, count, size) for pattern in patterns for count in ranks for size in sizes]
    rows: list[Row] = []
    for name, model in zip(interfaces, models, strict=True):
        longer = with_program(model, name, machine, set)
        for pattern, count, size in points:
            progress(len(rows), len(points) * len(interfaces))
            schedule = f"{pattern}:ranks={count},bytes={size},steps={steps}"
            nodes = run(schedule, machine=machine, interface=name, set=set)
            found = run(schedule, executor="loggops", parameters=model)
            low, high = found.interval_ns
            whole_ns = run(schedule, executor="loggops", parameters=longer).makespan_ns
            times = (nodes.makespan_ns, found.makespan_ns, low, high, whole_ns)
            rows.append(Row(pattern, count, size, model.interface, *times))
    return Comparison(rows)
