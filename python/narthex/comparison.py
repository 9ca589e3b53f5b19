"""Runs the same binary over several network interfaces and ranks them.

An interface on which the program fails costs the others nothing: it is a row without a rank,
with the reason. So is one of "all" that the machine cannot have.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, Unpack

from narthex import _native, arguments, notation
from narthex.arguments import Settings
from narthex.batch import Batch
from narthex.documents import COMPARISON, Kind, Loaded, in_notebook
from narthex.drivers import carries_messages
from narthex.errors import GUEST_FAILED, INTERRUPTED, USAGE, NarthexError
from narthex.options import ProgramOptions, takes
from narthex.placement import naming_machines
from narthex.programs import Program, find
from narthex.results import Result, larger_is_better
from narthex.running import Observer, run

if TYPE_CHECKING:
    import altair
    import polars

    from narthex.report.parts import Chart

SIMULATED_TIME = "simulated time"

_PERCENTILE = re.compile(r"(?P<of>.*), p[\d.]+")
"""The name of a report that is a percentile (guest/messaging/latencies.h)."""

Status = Literal["ranked", "failed", "left out"]
"""Of an interface: it has a value; the program ran and has no result; it was not run."""

RANKED: Status = "ranked"
FAILED: Status = "failed"
LEFT_OUT: Status = "left out"


@dataclass(frozen=True)
class Unranked:
    """An interface without a value."""

    interface: str
    status: Status
    reason: str
    """What `narthex run` says of it."""
    exit_code: int
    """What `narthex run` exits with."""

    @classmethod
    def of(cls, interface: str, error: NarthexError) -> Self:
        """Make it of the error of a run."""
        has_run = error.document is not None  # with USAGE: the program refuses its arguments
        status = LEFT_OUT if error.exit_code == USAGE and not has_run else FAILED
        return cls(interface, status, str(error), error.exit_code)


@dataclass(frozen=True)
class Comparison(Loaded):
    """Several runs of one program, best first."""

    kind: ClassVar[Kind] = COMPARISON

    measure: str
    """What they are ranked by: a report's name, or "simulated time"."""
    unit: str
    results: list[Result]
    unranked: Sequence[Unranked] = ()
    """The interfaces on which the program has no result."""

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """Make a comparison of its document; raises `ValueError` for one that ranks nothing."""
        first = document["rows"][0]
        unranked = [
            Unranked(row["interface"], row["status"], row["reason"], row["exit_code"])
            for row in document["rows"]
            if row["status"] != RANKED
        ]
        results = [Result(run) for run in document["runs"]]
        for result in results:
            names = {SIMULATED_TIME, *(report["name"] for report in result.document["reports"])}
            if first["measure"] not in names:
                told = f"the run on {result.interface} reported no '{first['measure']}'"
                raise ValueError(told)
        return cls(first["measure"], first["unit"], results, unranked)

    @property
    def title(self) -> str:
        """What was run: program, arguments and machine."""
        first = self.results[0].document
        words = " ".join([first["program"], *first["arguments"]])
        nodes = notation.counted(len(first["nodes"]), "node")
        return f"{words} on {first['machine']['machine']['name']}, {nodes}"

    def measured(self, result: Result) -> float:
        """Return the value by which a run is ranked."""
        return result.simulated_us if self.measure == SIMULATED_TIME else result.value(self.measure)

    @property
    def percentiles(self) -> list[str]:
        """The other percentiles of what is ranked: "latency, p99" where that is "latency, p50"."""
        ranked = _PERCENTILE.fullmatch(self.measure)
        names = dict.fromkeys(report["name"] for report in self.results[0].document["reports"])
        return [
            name
            for name in names
            if ranked and name != self.measure
            if (found := _PERCENTILE.fullmatch(name)) and found["of"] == ranked["of"]
        ]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each interface: rank, interface, status, value, unit, times the best.

        There is no ratio where a value is not finite, or not above 0. Interfaces that
        failed or were left out stand last, without a rank and a value, with the reason.
        """
        best = self.measured(self.results[0])
        rows = []
        for rank, result in enumerate(self.results, start=1):
            value = self.measured(result)
            is_ratio = math.isfinite(value) and math.isfinite(best) and min(value, best) > 0
            ratio = max(value, best) / min(value, best) if is_ratio else None
            rows.append(self._row(result.interface, RANKED, rank, value, ratio))
        rows += [
            {
                **self._row(each.interface, each.status, None, None, None),
                "reason": each.reason,
                "exit_code": each.exit_code,
            }
            for each in self.unranked
        ]
        return rows

    def _row(
        self, interface: str, status: Status, rank: int | None, value: float | None,
        ratio: float | None,
    ) -> dict[str, Any]:  # fmt: skip
        return {
            "rank": rank,
            "interface": interface,
            "status": status,
            "measure": self.measure,
            "value": value,
            "unit": self.unit,
            "times_best": ratio,
            "reason": None,
            "exit_code": 0,
        }

    @property
    def frame(self) -> "polars.DataFrame":
        """The rows as a Polars frame."""
        from narthex.extras import polars as pl

        return pl.DataFrame(self.rows(), infer_schema_length=None)

    def plot(self) -> "altair.TopLevelMixin":
        """Draw the ranking: a bar an interface, best first; what is not finite is left out.

        Raises `NarthexError` if nothing is left.
        """
        from narthex.charts import standalone as plots

        return plots.standalone(self.ranking(), self.title)

    def ranking(self) -> "Chart":
        """Return the ranking as a chart of a page; see `plot`."""
        from narthex.report import comparisons, parts

        ranking = comparisons.ranking(self.document)
        if not isinstance(ranking, parts.Chart):
            told = f"no value of '{self.measure}' is finite"
            raise NarthexError(f"{self.title} has nothing to draw: {told}")
        return ranking

    def plot_ledger(self) -> "altair.TopLevelMixin":
        """Draw where the time of all processors went: a bar an interface, by activity."""
        from narthex.charts import standalone as plots
        from narthex.report import comparisons

        return plots.standalone(comparisons.ledgers(self.document), self.title)

    @property
    def document(self) -> dict[str, Any]:
        """What `--json` writes: the ranking and every run's own document."""
        return {
            "schema": COMPARISON.schema,
            "version": _native.__version__,
            "rows": [
                {**row, "value": notation.for_json(row["value"])} if row["rank"] else row
                for row in self.rows()
            ],
            "runs": [result.document for result in self.results],
        }

    def _repr_html_(self) -> str:
        return in_notebook(self.title, self.frame)

    def __repr__(self) -> str:
        best = self.results[0].interface
        interfaces = notation.counted(len(self.results), "interface")
        return f"<narthex.Comparison of {self.title}: {interfaces}, {best} first>"


def interface_names() -> list[str]:
    """Return the interfaces that a run can be given, as the taxonomy spells them."""
    return [entry["name"] for entry in json.loads(_native.list("interfaces"))]


def interfaces_of(
    machine: arguments.Path,
    set: Settings = (),  # noqa: A002 - the option's name
) -> tuple[list[str], dict[str, str]]:
    """Return the interfaces that a machine can have, and why it cannot have the others.

    One that carries no messages is not missed where it cannot be.
    Raises `NarthexError` where there is none, as where the machine is wrong.
    """
    place, settings = arguments.text("machine", machine), arguments.settings(set)
    names, left_out = [], {}
    for name in interface_names():
        try:
            _native.machine_settings(place, settings, name)
            names.append(name)
        except NarthexError as error:
            if carries_messages(name):
                left_out[name] = str(error)
    if not names:
        raise NarthexError(next(iter(left_out.values())))
    return names, left_out


def grouped(reasons: Mapping[str, str]) -> list[tuple[list[str], str]]:
    """Return the interfaces that have the same reason, and the reason as the first has it."""
    groups: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        groups.setdefault(reason.replace(f"'{name}'", "it"), []).append(name)
    return [(names, reasons[names[0]]) for names in groups.values()]


def reasons_of(left_out: Mapping[str, str]) -> list[str]:
    """Return a line for each reason: which interfaces it leaves out, and what it is."""
    lines = []
    for names, told in grouped(left_out):
        verb = "is" if len(names) == 1 else "are"
        lines.append(f"{', '.join(names)} {verb} left out: {told}")
    return lines


@takes(ProgramOptions)
def compare(
    program: str | Path | Program,
    *args: object,
    interfaces: Sequence[str] | str | None = None,
    interface: Sequence[str] | str | None = None,
    by: str | None = None,
    jobs: int = 1,
    observer: Callable[[str], Observer | None] = lambda _interface: None,
    **options: Unpack[ProgramOptions],
) -> Comparison:
    """Run a program on several interfaces and rank them.

    `interfaces` (or `interface`) are the names, or "all" that the machine can have, which
    is meant if nothing is given. They are ranked by what the
    program reports under the name `by`, or else by its first report, or by
    simulated time where it reports nothing. Rates (units "per second") rank
    from the largest, all else from the smallest. `jobs` runs are made at a time; that
    changes no result. An interface on which the program fails is a row without a rank,
    as is one of "all" that the machine cannot have. Raises `NarthexError` where the
    program has a result on none, and before any run where a named one does not exist.

    >>> import narthex
    >>> found = narthex.compare("roundtrip", 64, 10, interfaces=["NI2w", "CNI32Qm"], nodes=2)
    >>> found.frame["interface"].to_list()
    ['CNI32Qm', 'NI2w']
    """
    names, unranked = chosen(
        arguments.either(interface, interfaces), options["machine"], options["set"]
    )
    guest = find(program)
    guest.elf()  # compiled once, not by each of several at a time
    batch = Batch(fresh=True)

    def watched(name: str) -> Observer:
        told = observer(name)
        return lambda time_ps: batch.goes_on() and (told is None or told(time_ps))

    def make(name: str) -> tuple[Result | Unranked, None]:
        try:
            made = run(guest, *args, interface=name, observer=watched(name), **options)
        except NarthexError as error:
            if error.exit_code == INTERRUPTED:
                raise
            return Unranked.of(name, error), None
        return made, None

    at_a_time = arguments.whole_number("jobs", jobs)
    made = batch.make_all(make, names, str, at_a_time, lambda _done, _all, _left_s: None)
    results = [each for each in made if isinstance(each, Result)]
    failed = [each for each in made if isinstance(each, Unranked)]
    if not results:
        raise _nothing_to_rank(failed)
    return rank(results, by, [*failed, *unranked])


def chosen(
    given: list[str] | None,
    machine: str | Path,
    set: Settings,  # noqa: A002 - the option's name on the command line
) -> tuple[list[str], list[Unranked]]:
    """Return the interfaces to run over, and those of "all" that the machine cannot have."""
    if given is None or [name.casefold() for name in given] == ["all"]:
        names, left_out = interfaces_of(machine, set)
        return names, [Unranked(name, LEFT_OUT, reason, USAGE) for name, reason in left_out.items()]
    if not given:
        raise NarthexError("compare needs at least one interface")
    place, settings = arguments.text("machine", machine), arguments.settings(set)
    for name in given:
        with naming_machines(place, settings, name):
            _native.machine_settings(place, settings, name)
    return given, []


def _nothing_to_rank(failed: list[Unranked]) -> NarthexError:
    """Return the error of a comparison without a single result, with the first one's exit code."""
    first = failed[0]
    if len(failed) == 1:
        return NarthexError(first.reason, first.exit_code)
    groups = grouped({each.interface: each.reason.partition("\n")[0] for each in failed})
    told = "".join(f"\n  {', '.join(names)}: {reason}" for names, reason in groups)
    return NarthexError(
        f"the program has a result on none of {len(failed)} interfaces:{told}", first.exit_code
    )


def rank(
    results: Sequence[Result], by: str | None, unranked: Sequence[Unranked] = ()
) -> Comparison:
    """Order runs by a report's value, best first and NaN last; ties keep their order.

    A run that has no such report is failed, if another one has it.
    """
    measure, unit = _measure(results, by)
    ranked: list[Result] = []
    failed: list[Unranked] = []
    for result in results:
        if measure == SIMULATED_TIME or measure in _units(result):
            ranked.append(result)
        else:
            told = f"the run reported no '{measure}'"
            failed.append(Unranked(result.interface, FAILED, told, GUEST_FAILED))
    comparison = Comparison(measure, unit, ranked)
    sign = -1 if larger_is_better(unit) else 1

    def merit(result: Result) -> tuple[bool, float]:
        value = comparison.measured(result)
        return math.isnan(value), sign * value

    return Comparison(measure, unit, sorted(ranked, key=merit), [*failed, *unranked])


def _units(result: Result) -> dict[str, str]:
    """Return the units of a run's reports by their names."""
    return {report["name"]: report["unit"] for report in reversed(result.document["reports"])}


def _measure(results: Sequence[Result], by: str | None) -> tuple[str, str]:
    """Choose what to rank by, and find its unit."""
    if by is None:
        reports = results[0].document["reports"]
        by = reports[0]["name"] if reports else SIMULATED_TIME
    if by == SIMULATED_TIME:
        return by, "us"
    for result in results:
        if (unit := _units(result).get(by)) is not None:
            return by, unit
    results[0].value(by)  # raises, naming what there is
    raise AssertionError("a report that no run has was found")
