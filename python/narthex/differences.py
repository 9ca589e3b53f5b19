"""What distinguishes two results, or two folders: `narthex diff A B`.

    run, comparison, experiments (JSON)     what decided them     what came of them
    folder of a sweep (Parquet)         ──► settings          ──► figures
                                            A | B, where they     A | B | change,
                                            are not the same      the largest first

A setting is a text under a key: the program, the binary's hash, each parameter of
the machine. A figure is a number under a name: a report, a statistic, the time of
an activity, a row of an experiment. Both sides' figures of the same name are set
side by side, counts last; those that only one side has are listed.
"""

import json
import math
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narthex import _native, arguments, notation
from narthex.documents import COMPARISON, EXPERIMENTS, RUN, Saved, needed_whole, read_file
from narthex.errors import NarthexError
from narthex.ledgers import ledger_rows, region_ledger_rows
from narthex.results import PS_PER_US, Result, reports_of

if TYPE_CHECKING:
    import polars

Figure = tuple[str, str, float]
"""What it is of, its name with its unit, and the value."""

FACTS = ("program", "binary_sha256", "interface", "version", "ending")
"""What a run's document says of it in one text each."""

TIMES = "time of all processors"
"""What times by activity are of."""

IN_US = " (us)"
"""Behind the name of a time."""

COUNTED = "counted"
"""What statistics are of: they come behind what a program reports, and are not drawn."""

ROWS = "results.parquet"
"""Of a folder of a sweep."""


@dataclass(frozen=True)
class Side:
    """One of two results."""

    place: str
    settings: dict[str, str] = field(default_factory=dict)
    figures: dict[tuple[str, str], float] = field(default_factory=dict)
    regions_us: dict[str, dict[str, float]] = field(default_factory=dict)
    """A run's time of all processors in each region by activity, in microseconds."""

    def add(self, prefix: str, figures: Iterator[Figure]) -> None:
        """Take figures, what they are of behind a prefix."""
        for of, name, value in figures:
            self.figures[f"{prefix}{of}", name] = value

    @property
    def times_us(self) -> dict[str, float]:
        """A run's time of all processors by activity, in microseconds; none of other results."""
        return {
            name.removesuffix(IN_US): value
            for (of, name), value in self.figures.items()
            if of == TIMES
        }


@dataclass(frozen=True)
class Difference(Saved):
    """What distinguishes two results."""

    one: Side
    other: Side

    @property
    def names(self) -> tuple[str, str]:
        """What the two are called: their files or folders, as shortly as tells them apart.

        One that is compared with itself is called A and B.
        """
        one, other = (Path(side.place) for side in (self.one, self.other))
        shorter = [(one.stem, other.stem), (one.name, other.name), (str(one), str(other))]
        return next((pair for pair in shorter if pair[0] != pair[1]), ("A", "B"))

    @property
    def settings(self) -> list[dict[str, str]]:
        """What decided them and is not the same: key, a, b; empty where one has none."""
        keys = dict.fromkeys([*self.one.settings, *self.other.settings])
        rows = (
            {"key": key, "a": self.one.settings.get(key, ""), "b": self.other.settings.get(key, "")}
            for key in keys
        )
        return [row for row in rows if row["a"] != row["b"]]

    @property
    def figures(self) -> list[dict[str, Any]]:
        """The figures of both: of, name, a, b, change_percent; the largest change first.

        Counts stand behind all others.

        There is no change in percent from 0, nor of what is not finite.
        """
        rows = [
            {"of": of, "name": name, "a": value, "b": self.other.figures[of, name]}
            for (of, name), value in self.one.figures.items()
            if (of, name) in self.other.figures
        ]
        found = [{**row, "change_percent": _change(row["a"], row["b"])} for row in rows]
        return sorted(found, key=_order)

    @property
    def changed(self) -> list[dict[str, Any]]:
        """The figures that are not the same."""
        return [row for row in self.figures if not _is_same(row["a"], row["b"])]

    @property
    def alone(self) -> dict[str, list[str]]:
        """The figures that only one of them has, by `a` and `b`."""
        sides = {"a": (self.one, self.other), "b": (self.other, self.one)}
        return {
            name: [": ".join(filter(None, key)) for key in own.figures if key not in other.figures]
            for name, (own, other) in sides.items()
        }

    @property
    def frame(self) -> "polars.DataFrame":
        """The figures as a Polars frame."""
        from narthex.extras import polars as pl

        numbers = dict.fromkeys(("a", "b", "change_percent"), pl.Float64)
        return pl.DataFrame(self.figures, schema={"of": pl.String, "name": pl.String, **numbers})

    def report(self, path: arguments.Path) -> Path:
        """Write the page of the difference, which needs no network; returns the file."""
        from narthex import files
        from narthex.report.differences import sections
        from narthex.report.page import rendered

        file = Path(arguments.text("path", path))
        files.write(file, rendered(" and ".join(self.names), sections(self)).encode())
        return file

    @property
    def document(self) -> dict[str, Any]:
        """What `--json` writes."""
        return {
            "schema": 1,
            "version": _native.__version__,
            "a": self.one.place,
            "b": self.other.place,
            "settings": self.settings,
            "figures": self.figures,
            "only": self.alone,
        }


def diff(a: arguments.Path, b: arguments.Path) -> Difference:
    """Compare two results that `save` or `--json` wrote, or the folders of two sweeps.

    >>> import narthex
    >>> slow = narthex.run("roundtrip", 64, 10, interface="NI2w", nodes=2).save("slow.json")
    >>> fast = narthex.run("roundtrip", 64, 10, interface="CNI32Qm", nodes=2).save("fast.json")
    >>> found = narthex.diff(slow, fast)
    >>> [row["key"] for row in found.settings]
    ['interface']

    Raises `NarthexError` for what is no result, and for results of two kinds.
    """
    sides = [Path(arguments.text(name, place)) for name, place in (("a", a), ("b", b))]
    kinds = {os.path.isdir(side) for side in sides}
    if kinds == {True}:
        return Difference(*map(_of_sweep, sides))
    if kinds == {True, False}:
        raise NarthexError(f"'{a}' and '{b}' are a folder and a file; give two of one kind")
    found = [read_file(side) for side in sides]
    if found[0].kind != found[1].kind:
        kinds_told = " and ".join(f"'{each.kind.name}'" for each in found)
        raise NarthexError(f"'{a}' and '{b}' are of the kinds {kinds_told}; give two of one kind")
    made = []
    for each in found:
        with needed_whole(each):
            made.append(_of_document(each.place, each.kind.name, each.document))
    return Difference(*made)


def _of_document(place: str, kind: str, document: dict[str, Any]) -> Side:
    side = Side(place)
    if kind == RUN.name:
        _take_run(side, document, "")
        side.regions_us.update(_regions(document))
    elif kind == COMPARISON.name:
        for run in document["runs"]:
            _take_run(side, run, f"{run['interface']}, ")
    elif kind == EXPERIMENTS.name:
        _take_experiments(side, document)
    else:
        raise NarthexError(
            f"'{place}' is a message's life; diff takes what run, compare and experiment write,"
            " and folders of sweeps"
        )
    return side


def _take_run(side: Side, document: dict[str, Any], prefix: str) -> None:
    """Take a run; where there are several, their interface says whose a figure is."""
    side.settings.update(
        {key: str(document[key]) for key in FACTS if not (prefix and key == FACTS[2])}
    )
    side.settings["arguments"] = " ".join(document["arguments"])
    if surroundings := document.get("surroundings"):
        side.settings["surroundings"] = json.dumps(surroundings, sort_keys=True)
    side.settings.update(_machine(document["machine"]))
    side.add(prefix, _figures_of_run(document))


def _machine(machine: dict[str, Any]) -> dict[str, str]:
    from narthex.report.machines import parameters

    return {key: value for key, (value, _, _) in parameters(machine)}


def _figures_of_run(document: dict[str, Any]) -> Iterator[Figure]:
    """Yield means of what was reported, times by activity, and counts of all nodes together."""
    yield "run", "simulated time (us)", document["simulated_ps"] / PS_PER_US
    reported: dict[tuple[str, str], list[float]] = {}
    for report in reports_of(document):
        reported.setdefault((report["name"], report["unit"]), []).append(report["value"])
    for (name, unit), values in reported.items():
        yield "reported", f"{name} ({unit})" if unit else name, notation.mean(values)
    times: Counter[str] = Counter()
    for _, _, activity, _, time_ps in ledger_rows(document):
        times[activity] += time_ps
    for activity, time_ps in times.items():
        yield TIMES, f"{activity}{IN_US}", time_ps / PS_PER_US
    counted: Counter[str] = Counter()
    for name, value, unit in Result(document).statistics.select("name", "value", "unit").rows():
        counted[f"{name} (ps)" if unit == "ps" else name] += value
    for name, value in counted.items():
        yield COUNTED, name, value


def _regions(document: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return the time of each region that has ended by activity, in microseconds."""
    found = {}
    for name in Result(document).regions:
        times: Counter[str] = Counter()
        for _, _, activity, _, time_ps in region_ledger_rows(document, name):
            times[activity] += time_ps
        found[name] = {activity: time_ps / PS_PER_US for activity, time_ps in times.items()}
    return found


def _take_experiments(side: Side, document: dict[str, Any]) -> None:
    side.settings["version"] = document["version"]
    for summary in document["summaries"]:
        machine = _machine(summary["machine"]).items()
        side.settings.update({f"{summary['experiment']}: {key}": value for key, value in machine})
    for claim in document["claims"]:
        key = f"{claim['experiment']}: claim '{claim['text']}'"
        side.settings[key] = "holds" if claim["holds"] else "fails"
    for row in document["rows"]:
        value = notation.read(row["value"]) if row["value"] is not None else math.nan
        against = f" against {row['baseline']}" if row["baseline"] else ""
        where = f"{row['interface']}{against}, {row['workload']}"
        taken = f"{row['take']} " if row["take"] else ""
        side.figures[row["experiment"], f"{where} ({taken}{row['unit']})"] = value


def _of_sweep(folder: Path) -> Side:
    """Read the table of a sweep's folder: a figure for each run and report."""
    from narthex.extras import polars as pl
    from narthex.sweeps.folder import IDENTITY
    from narthex.sweeps.plots import reports_of as reports_of_table

    try:
        table = pl.read_parquet(folder / ROWS)
        told = json.loads((folder / IDENTITY).read_bytes())["sweep"]
        reports = [*reports_of_table(table), "simulated_us"]
        rows = table.select("name", *reports).to_dicts()
        settings = {key: json.dumps(value, ensure_ascii=False) for key, value in told.items()}
    except (OSError, ValueError, LookupError, TypeError, pl.exceptions.PolarsError) as error:
        raise NarthexError(
            f"'{folder}' is no folder of a sweep with whole results: {error}"
        ) from error
    side = Side(str(folder), settings)
    for row in rows:
        for name in reports:
            if row[name] is not None:
                side.figures[row["name"], name] = float(row[name])
    return side


def _is_same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def _change(a: float, b: float) -> float | None:
    if _is_same(a, b):
        return 0.0
    if a == 0 or not (math.isfinite(a) and math.isfinite(b)):
        return None
    return 100 * (b - a) / abs(a)


def _order(row: dict[str, Any]) -> tuple[int, float]:
    """Return what counts last behind the rest; then the largest change first, none before it."""
    change = row["change_percent"]
    is_count = row["of"].endswith(COUNTED)
    return is_count, -math.inf if change is None else -abs(change)
