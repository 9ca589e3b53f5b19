"""What jobs cost each other: each alone, beside each other one, and all together.

In every run a job has the nodes that it has when all run together, also where these are drawn at
random, so that the runs differ in nothing else than the jobs beside it. Runs are kept: the
command goes on where it was interrupted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from narthex import _native, arguments, jobs, notation
from narthex.batch import Batch, Progress
from narthex.documents import Saved, in_notebook
from narthex.errors import USAGE, NarthexError, unknown
from narthex.jobs import Job
from narthex.options import MachineOptions, default_interface, takes
from narthex.results import Result, larger_is_better
from narthex.running import request

if TYPE_CHECKING:
    import altair
    import polars

    from narthex.report.parts import Chart

ALL = "all"
"""What stands for all other jobs together."""

NUMBERS = ["alone", "beside it", "slowdown"]
COLUMNS = ["job", "beside", "measured by", "alone", "beside it", "unit", "slowdown"]
"""Of the table of slowdowns."""

DIGITS = 3
"""Of a slowdown in a drawing, behind the point."""


@dataclass(frozen=True)
class Interference(Saved):
    """How much slower each job is beside others; `document` is exactly what `--json` writes."""

    document: dict[str, Any]

    @property
    def title(self) -> str:
        """What was run."""
        nodes = notation.counted(self.document["nodes"], "node")
        count = len(self.document["jobs"])
        return (
            f"{count} jobs on {self.document['interface']}, {nodes} of {self.document['machine']}"
        )

    @property
    def frame(self) -> "polars.DataFrame":
        """A row for each job and what runs beside it.

        `slowdown` is how many times as long a time is as alone, or how many times as high a rate is
        alone; above 1 the others cost the job something.
        """
        from narthex.extras import polars as pl

        return pl.DataFrame(self.document["matrix"])

    def rows(self) -> list[list[str]]:
        """Return the same as texts, under `COLUMNS`: for a table."""
        return [
            [
                row["job"],
                row["beside"],
                row["measure"],
                notation.text(row["alone"]),
                notation.text(row["value"]),
                row["unit"],
                "-" if row["slowdown"] is None else f"{row['slowdown']:.{DIGITS}f} x",
            ]
            for row in self.document["matrix"]
        ]

    def plot(self) -> "altair.TopLevelMixin":
        """Draw the slowdowns as a map: a row a job, a column what runs beside it."""
        from narthex.charts.standalone import standalone

        return standalone(self.map(), self.title)

    def map(self) -> "Chart":
        """Return the slowdowns as a chart of a page; see `plot`."""
        from narthex.charts.curves import heat_map
        from narthex.report.parts import Cell, Chart, Table, columns

        rows: list[dict[str, Any]] = [
            {"row": each["job"], "column": each["beside"], "value": each["slowdown"]}
            for each in self.document["matrix"]
        ]
        names = list(dict.fromkeys(row["row"] for row in rows))
        for row in rows:
            row["value"] = None if row["value"] is None else round(row["value"], DIGITS)
        # A job is not beside itself; the empty fields keep columns in the order of rows.
        empty = [{"row": name, "column": name, "value": None} for name in names]
        drawn_rows = sorted([*rows, *empty], key=lambda row: names.index(row["row"]))
        drawn_rows.sort(key=lambda row: [*names, ALL].index(row["column"]))
        cells: list[list[Cell]] = [list(each) for each in self.rows()]
        named = columns(*COLUMNS, numbers=NUMBERS)
        told = "How many times slower each job is beside others than alone"
        # A job that is not slower is pale, however little the others are.
        drawn = heat_map(drawn_rows, "slowdown", ("job", "beside"), span=(1, 2))
        return Chart("Slowdown", told, drawn, Table(told, named, cells, is_folded=True))

    def _repr_html_(self) -> str:
        return in_notebook(self.title, self.frame)


@takes(MachineOptions)
def interfere(
    listed: Sequence[str | Job],
    *,
    by: str | None = None,
    interface: str | None = None,
    fresh: bool = False,
    at_a_time: int = 1,
    progress: Progress = lambda _done, _all, _left_s: None,
    **options: Unpack[MachineOptions],
) -> Interference:
    """Run jobs together, each alone, and each two of them, and say what they cost each other.

    `listed` are jobs as `--job` takes them. They are measured by what a job reports under the name
    `by`, or else by its first report; where several of its processes report it, by the mean.
    `interface` is the machine's if not given. `at_a_time` runs are made at a time; that changes no
    result. Runs that were made before are not made again, but with `fresh`. Raises `NarthexError`
    when a run fails, or a job reports nothing.

    >>> import narthex
    >>> found = narthex.interfere(["roundtrip 64 20 @ 0,2", "bandwidth 256 20 @ 1,3"], nodes=4)
    >>> found.frame["beside"].to_list()
    ['bandwidth 256 20', 'roundtrip 64 20']
    """
    known = [jobs.read(each) if isinstance(each, str) else each for each in listed]
    if len(known) < 2:
        raise NarthexError(
            f"interference is between jobs: name two or more, not {len(known)}", USAGE
        )
    batch = Batch(fresh=fresh)
    over = interface or default_interface(options["machine"], options["set"])

    def make(chosen: Sequence[Job]) -> tuple[Result, float | None]:
        program, described = jobs.request(None, chosen, interface=over)
        wanted = request(program, (), interface=over, jobs=described, **options)
        # The first job's arguments are among what describes the jobs.
        return batch.run(wanted, program)

    together, _ = make(known)
    placed = [
        replace(job, nodes=",".join(map(str, jobs.nodes_of(at))))
        for job, at in zip(known, together.document["jobs"], strict=True)
    ]
    pairs = list(combinations(range(len(placed)), 2)) if len(placed) > 2 else []
    groups = [*((index,) for index in range(len(placed))), *pairs]
    count = arguments.whole_number("jobs", at_a_time)
    cells = [[placed[index] for index in group] for group in groups]
    made = batch.make_all(make, cells, lambda cell: str(len(cell)), count, progress)
    runs = {**dict(zip(groups, made, strict=True)), tuple(range(len(placed))): together}
    return Interference(_document(runs, by, options["machine"]))


def _document(
    runs: dict[tuple[int, ...], Result], by: str | None, machine: str | Path
) -> dict[str, Any]:
    together = runs[max(runs, key=len)]
    ran = together.document["jobs"]
    names = _names(ran)
    matrix = []
    for job, name in enumerate(names):
        alone, measure, unit = _value(runs[job,], 0, by)
        for beside in (*range(len(ran)), ALL):
            if beside == job or (beside == ALL and len(ran) == 2):
                continue
            group = tuple(range(len(ran))) if beside == ALL else tuple(sorted((job, int(beside))))
            value, _, _ = _value(runs[group], group.index(job), measure)
            slow, fast = (alone, value) if larger_is_better(unit) else (value, alone)
            told = ALL if beside == ALL else names[int(beside)]
            matrix.append(
                {
                    "job": name,
                    "beside": told,
                    "measure": measure,
                    "unit": unit,
                    "alone": alone,
                    "value": value,
                    "slowdown": slow / fast if fast > 0 else None,
                }
            )
    return {
        "schema": 1,
        "version": _native.__version__,
        "machine": str(machine),
        "interface": together.interface,
        "nodes": len(together.document["nodes"]),
        "jobs": ran,
        "matrix": matrix,
    }


def _names(ran: Sequence[dict[str, Any]]) -> list[str]:
    """Name jobs by what they run, and those that run the same by their numbers, too."""
    words = [" ".join([job["program"], *job["arguments"]]) for job in ran]
    return [
        f"{told} ({number})" if words.count(told) > 1 else told for number, told in enumerate(words)
    ]


def _value(result: Result, place: int, by: str | None) -> tuple[float, str, str]:
    """Return what the job at a place of a run reports, under which name, in which unit."""
    job = result.document["jobs"][place]
    on = jobs.nodes_of(job)
    reports = [
        each
        for each in result.document["reports"]
        if each["process"] == job["process"] and each["node"] in on
    ]
    if not reports:
        told = " ".join([job["program"], *job["arguments"]])
        raise NarthexError(f"job '{told}' reports nothing by which it could be measured")
    name = reports[0]["name"] if by is None else by
    values = [float(each["value"]) for each in reports if each["name"] == name]
    if not values:
        raise unknown(f"report of job '{job['program']}'", name, [each["name"] for each in reports])
    unit = next(each["unit"] for each in reports if each["name"] == name)
    return notation.mean(values), name, unit
