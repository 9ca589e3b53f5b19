"""How well the fitted model describes detailed nodes: the same schedules on both.

The error of the model is (model - nodes) / nodes, of the makespan. Where it comes from shows in
what patterns have in common:

- one message at a time (broadcast, dissemination): the overheads' lines, the phase of polling;
- bursts (a stencil, linear all-to-all): the gap, and what interfaces buffer;
- many to one (incast): contention in the receiver and flow control, which the model has not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narthex import _native
from narthex.arguments import Settings
from narthex.goal.execution import fitted, run

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

    @property
    def error_percent(self) -> float:
        """How far the model is off."""
        return 100 * (self.fitted_ns / self.detailed_ns - 1)

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
        rows = [{**vars(row), "error_percent": row.error_percent} for row in self.rows]
        return {"schema": 1, "version": _native.__version__, "goal": "fidelity", "rows": rows}

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the mean error of each pattern and interface, and the largest, in percent."""
        interfaces = list(dict.fromkeys(row.interface for row in self.rows))
        lines = []
        for pattern in dict.fromkeys(row.pattern for row in self.rows):
            own = [row for row in self.rows if row.pattern == pattern]
            lines.append([pattern, *(_summary(own, interface) for interface in interfaces)])
        return ["pattern", *interfaces], lines

    def by_size(self) -> tuple[list[str], list[list[str]]]:
        """Return the same for each size of messages."""
        interfaces = list(dict.fromkeys(row.interface for row in self.rows))
        lines = []
        for size in sorted({row.bytes for row in self.rows}):
            own = [row for row in self.rows if row.bytes == size]
            lines.append([str(size), *(_summary(own, interface) for interface in interfaces)])
        return ["bytes", *interfaces], lines


def _summary(rows: Sequence[Row], interface: str) -> str:
    errors = [row.error_percent for row in rows if row.interface == interface]
    mean = sum(errors) / len(errors)
    return f"{mean:+.0f} ({max(errors, key=abs):+.0f})"


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
        for pattern, count, size in points:
            progress(len(rows), len(points) * len(interfaces))
            schedule = f"{pattern}:ranks={count},bytes={size},steps={steps}"
            nodes = run(schedule, machine=machine, interface=name, set=set)
            found = run(schedule, executor="loggops", parameters=model)
            low, high = found.interval_ns
            times = (nodes.makespan_ns, found.makespan_ns, low, high)
            rows.append(Row(pattern, count, size, model.interface, *times))
    return Comparison(rows)
