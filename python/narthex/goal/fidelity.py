"""How well the fitted model describes detailed nodes: the same schedules on both.

The error of the model is (model - nodes) / nodes, of the makespan. It has two parts:

- **The program.** A node's processor also counts dependencies and looks for receives, which the
  measurement of LogGP does not do. What that takes is measured: two ranks send one message to
  and fro, and what it takes longer than in the model is added to the overheads, half to either.
- **The model.** What is left after that. Two of its causes are measured on nodes (`causes`): what
  the makespan loses to flow control (more buffers), and how far it depends on the instant
  at which messages meet a poll (the range over later runs on the same nodes).

The interval of the parameters does not hold what the model does not have. An honest one holds
what was off before: nodes over model, of all other patterns with messages of the same size. No
pattern is in its own interval (leave one pattern out), so what share of makespans lies within
says how good an interval of this kind is for a pattern that was not measured.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narthex import _native, arguments
from narthex.arguments import Settings
from narthex.goal.execution import fitted, run
from narthex.goal.parameters import Calibration, Fitted
from narthex.notation import mean

if TYPE_CHECKING:
    from narthex.report.parts import Chart

TITLE = "The fitted model against detailed nodes"
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
RANKS = (4, 16, 64)
MANY_BUFFERS = "flow_control.buffers=1024"
LATER_RUNS = (2, 3, 4)
"""The last of so many runs of a schedule on the same nodes: each meets polls at other instants."""
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
    """The ends of the parameters' intervals."""
    with_program_ns: float
    """The fitted makespan, with the program's part in the overheads."""
    many_buffers_ns: float | None = None
    """The detailed makespan with so many flow control buffers that no packet waits for one."""
    phases_ns: tuple[float, float] | None = None
    """The shortest and the longest detailed makespan of later runs."""

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
        """Whether the detailed makespan is in the interval of the model's parameters."""
        return self.low_ns <= self.detailed_ns <= self.high_ns

    @property
    def ratio(self) -> float:
        """Nodes over the model with the program's part."""
        return self.detailed_ns / self.with_program_ns

    @property
    def buffering_percent(self) -> float | None:
        """What the nodes lose to flow control, of their makespan."""
        return self.many_buffers_ns and 100 * (1 - self.many_buffers_ns / self.detailed_ns)

    @property
    def phase_percent(self) -> float | None:
        """How far later runs are from the middle of their range, of the makespan."""
        return self.phases_ns and 50 * (self.phases_ns[1] - self.phases_ns[0]) / self.detailed_ns


class Comparison:
    """The rows of all schedules and interfaces."""

    def __init__(self, rows: Sequence[Row], program_ns: Mapping[str, float]) -> None:
        self.rows = list(rows)
        self._program_ns = program_ns

    @property
    def document(self) -> dict[str, Any]:
        """All of it, as `--json` writes it."""
        rows = [
            {
                **vars(row),
                "error_percent": row.error_percent,
                "model_error_percent": row.model_error_percent,
                "interval_ns": self.interval_ns(row),
            }
            for row in self.rows
        ]
        calibrations = [vars(each) for each in self.calibrations]
        head = {"schema": 1, "version": _native.__version__, "goal": "fidelity"}
        return {**head, "rows": rows, "calibrations": calibrations}

    @property
    def calibrations(self) -> list[Calibration]:
        """What `run` takes to give the makespan of another schedule its interval."""
        return [
            Calibration(interface, program_ns, min(ratios), max(ratios), len(ratios))
            for interface, program_ns in self._program_ns.items()
            if (ratios := [row.ratio for row in self.rows if row.interface == interface])
        ]

    def interval_ns(self, row: Row) -> tuple[float, float] | None:
        """Return a row's makespan by what the other patterns of its size were off; none alone."""
        others = [
            other.ratio
            for other in self.rows
            if (other.interface, other.bytes) == (row.interface, row.bytes)
            and other.pattern != row.pattern
        ]
        if not others:
            return None
        return row.with_program_ns * min(others), row.with_program_ns * max(others)

    def is_held(self, row: Row) -> bool:
        """Whether the detailed makespan is in that interval."""
        interval = self.interval_ns(row)
        return interval is not None and interval[0] <= row.detailed_ns <= interval[1]

    def coverage(self) -> tuple[list[str], list[list[str]]]:
        """Return for each pattern and interface how many makespans are in that interval."""

        def told(rows: Sequence[Row]) -> str:
            return f"{sum(map(self.is_held, rows))} of {len(rows)}"

        return self._by("pattern", told)

    def causes(self) -> tuple[list[str], list[list[str]]]:
        """Return what of the error is measured: flow control, and the phase of polls, in percent.

        The mean error of the model alone stands before them.
        """

        def told(rows: Sequence[Row]) -> str:
            parts = [
                mean([value for row in rows if (value := read(row)) is not None])
                for read in (
                    lambda row: row.model_error_percent,
                    lambda row: row.buffering_percent,
                    lambda row: row.phase_percent,
                )
            ]
            return "{:+.0f}, {:.0f}, {:.0f}".format(*parts)

        return self._by("pattern", told)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the mean errors of each pattern and interface in percent.

        Each cell has the whole error, and behind a comma that of the model alone.
        """
        return self._by("pattern", _errors)

    def by_size(self) -> tuple[list[str], list[list[str]]]:
        """Return the same for each size of messages."""
        return self._by("bytes", _errors)

    def by_ranks(self) -> tuple[list[str], list[list[str]]]:
        """Return the same for each number of ranks."""
        return self._by("ranks", _errors)

    def chart(self) -> "Chart":
        """Return the error of the model over the size of messages, with the program's part.

        A point is the mean over numbers of ranks; the table has their range, too.
        """
        from narthex.charts.curves import curves
        from narthex.report.parts import Cell, Chart, Table, columns, number

        groups: dict[tuple[str, str, int], list[float]] = {}
        for row in self.rows:
            place = row.pattern, row.interface, row.bytes
            groups.setdefault(place, []).append(row.model_error_percent)
        points: list[dict[str, Any]] = [
            {"panel": pattern, "interface": interface, "x": size, "value": mean(errors)}
            for (pattern, interface, size), errors in groups.items()
        ]
        cells: list[list[Cell]] = [
            [*map(str, place), *(number(of(errors), 1) for of in (mean, min, max))]
            for place, errors in groups.items()
        ]
        unit = "error, percent"
        numbers = ["bytes", unit, "least", "most"]
        named = columns("pattern", "interface", *numbers, numbers=numbers)
        names = list(dict.fromkeys(row.interface for row in self.rows))
        return Chart(
            "Error of the makespan",
            "A panel for each pattern: (model - nodes) / nodes with the program's part in the"
            " model, as the mean over numbers of ranks",
            curves(points, unit, names, panels="panel"),
            Table("Error of the makespan", named, cells, is_folded=True),
        )

    def _by(
        self, key: str, told: Callable[[Sequence[Row]], str]
    ) -> tuple[list[str], list[list[str]]]:
        interfaces = list(dict.fromkeys(row.interface for row in self.rows))
        lines = []
        for value in dict.fromkeys(getattr(row, key) for row in self.rows):
            own = [row for row in self.rows if getattr(row, key) == value]
            by_interface = (
                [row for row in own if row.interface == interface] for interface in interfaces
            )
            lines.append([str(value), *map(told, by_interface)])
        return [key, *interfaces], lines


def _errors(rows: Sequence[Row]) -> str:
    whole = mean([row.error_percent for row in rows])
    model = mean([row.model_error_percent for row in rows])
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


def program_part_ns(
    model: Fitted, interface: str, machine: str | Path, settings: Settings
) -> float:
    """Measure what a message takes longer than in the model, in the program of the schedule."""
    with tempfile.TemporaryDirectory(prefix="narthex-") as folder:
        file = Path(folder) / "ping-pong.txt"
        file.write_text(_ping_pong(), encoding="utf-8")
        nodes = run(file, machine=machine, interface=interface, set=settings)
        found = run(file, executor="loggops", parameters=model)
    return (nodes.makespan_ns - found.makespan_ns) / PING_PONGS


def compare(
    interfaces: Sequence[str],
    *,
    machine: str | Path = "hpca98",
    set: Settings = (),  # noqa: A002 - the option's name on the command line
    patterns: Sequence[str] = PATTERNS,
    ranks: Sequence[int] = RANKS,
    sizes: Sequence[int] = SIZES,
    steps: int = STEPS,
    causes: bool = False,
    progress: Callable[[int, int], object] = lambda _done, _all: None,
) -> Comparison:
    """Execute schedules on detailed nodes and on the model that is fitted to each interface.

    `causes` measures what of the error comes from flow control and from the phase of polls, which
    takes four times as long.
    """
    models = fitted(interfaces, machine, set)
    points = [(pattern, count, size) for pattern in patterns for count in ranks for size in sizes]
    rows: list[Row] = []
    parts: dict[str, float] = {}
    for name, model in zip(interfaces, models, strict=True):
        part_ns = parts[model.interface] = program_part_ns(model, name, machine, set)
        longer = model.with_program(part_ns)
        for pattern, count, size in points:
            progress(len(rows), len(points) * len(interfaces))
            schedule = f"{pattern}:ranks={count},bytes={size},steps={steps}"

            def on_nodes(
                *more: str, schedule: str = schedule, name: str = name, runs: int = 2
            ) -> float:
                settings = [*arguments.settings(set), *more]
                nodes = run(schedule, machine=machine, interface=name, set=settings, runs=runs)
                return nodes.makespan_ns

            found = run(schedule, executor="loggops", parameters=model)
            row = Row(
                pattern,
                count,
                size,
                model.interface,
                on_nodes(),
                found.makespan_ns,
                *found.interval_ns,
                run(schedule, executor="loggops", parameters=longer).makespan_ns,
            )
            if causes:
                later = [on_nodes(runs=runs) for runs in LATER_RUNS]
                phases = min(later), max(later)
                row = replace(row, many_buffers_ns=on_nodes(MANY_BUFFERS), phases_ns=phases)
            rows.append(row)
    return Comparison(rows, parts)
