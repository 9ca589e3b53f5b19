"""The section of a sweep's folder: its pictures, its best runs, where their time went.

results.parquet ──► each report over the parameters; as a map of two of them;
                    the best runs; runs that none beats in two reports at once
measurements/   ──► a bar of time for each of the best runs; a row for each run,
                    which the points of the pictures open
"""

import json
from collections import Counter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from narthex import arguments
from narthex.charts import curves, drawings, palette
from narthex.errors import NarthexError
from narthex.extras import polars as pl
from narthex.report import fronts
from narthex.report.parts import (
    Cell,
    Chart,
    Facts,
    Mark,
    Paragraph,
    Section,
    Shares,
    Table,
    columns,
    number,
    percent,
)
from narthex.sweeps import naming, plots

if TYPE_CHECKING:
    from narthex.documents import Found

BEST = 12
"""Runs that are listed, and have a bar of time."""

MOST_ROWS = 400
"""Runs that have a row with their time; of more, the best have one."""

NO_LABELS: plots.Labels = MappingProxyType({})
"""Parameters are called as their columns."""

MOST_IN_TITLE = 4
"""Parameters that a title names."""

MOST_FIELDS = 40
"""Values of a parameter that a map has room for."""

TIME = "simulated_us"
"""What ranks runs that report nothing."""


def section(found: "Found") -> Section:
    """Describe the folder of a sweep."""
    folder = Path(found.document["folder"])
    table = pl.read_parquet(folder / "results.parquet")
    reports = plots.reports_of(table)
    parameters = [name for name in plots.parameters_of(table) if table[name].n_unique() > 1]
    failed = table.filter(status="failed")
    finished = table.filter(status="finished")
    called = [found.document["labels"].get(name, name) for name in parameters]
    parts: list[Any] = [_facts(found.document, table, failed.height, called)]
    if failed.height:
        parts.append(_failures(failed))
    sections = []
    if reports and parameters and finished.height:
        labels = found.document["labels"]
        sections = [
            _pictures(finished, parameters, reports, labels),
            _best(finished, parameters, reports, labels),
        ]
        times = _Times(_ranked(finished, reports[0]), folder)
        if times.of_runs:
            parts_of = [times.best(reports[0]), times.rows(reports[0])]
            sections.append(Section("Where the time of the runs went", parts_of))
    return Section(f"Folder {folder.name}", parts, sections)


def title(found: "Found") -> str:
    """Return the sweep's title, or say what was swept: program, machine, what varies."""
    if found.document["title"]:
        return str(found.document["title"])
    swept = found.document["sweep"]
    varied = swept["varied"]
    program = "several programs" if "program" in varied else Path(swept["program"]).name
    machine = "several machines" if "machine" in varied else Path(swept["machine"]).stem
    shown = [each for each in varied if each not in ("program", "machine")]
    if len(shown) > MOST_IN_TITLE:
        shown = [*shown[: MOST_IN_TITLE - 1], f"{len(shown) - MOST_IN_TITLE + 1} others"]
    over = f" over {', '.join(shown)}" if shown else ""
    return f"Sweep of {program or 'jobs'} on {machine}{over}"


def _facts(document: dict[str, Any], table: pl.DataFrame, failed: int, varied: list[str]) -> Facts:
    ended = Mark(f"{failed} failed", "bad") if failed else Mark("all finished", "good")
    entries = [
        ("Program", str(document["sweep"]["program"] or "several")),
        ("Machine", str(document["sweep"]["machine"])),
        ("Runs", number(table.height)),
        ("Endings", ended),
        ("Parameters", ", ".join(varied) or "none varies"),
        ("Narthex", str(document["version"])),
    ]
    return Facts(entries)


def _failures(failed: pl.DataFrame) -> Table:
    rows = [
        [name, Mark(error.partition("\n")[0], "bad")]
        for name, error in failed.select("name", "error").rows()
    ]
    return Table(
        "Failed runs", columns("run", "reason"), list(rows), is_folded=failed.height > BEST
    )


def _pictures(
    table: pl.DataFrame, parameters: list[str], reports: list[str], labels: plots.Labels
) -> Section:
    try:
        parts: list[Any] = list(plots.charts_of(table, parameters, reports, None, None, "", labels))
    except NarthexError as error:
        parts = [Paragraph(f"{error}.")]
    drawn = _map(table, parameters, reports[0], labels)
    return Section("Reports over the parameters", [*parts, *drawn])


def _map(
    table: pl.DataFrame, parameters: list[str], report: str, labels: plots.Labels = NO_LABELS
) -> list[Chart]:
    """Draw a report as a map of two parameters, where there is a field for most pairs.

    Those with the most values are the axes; a field has the best over all others.
    """
    by_values = sorted(parameters, key=lambda name: -table[name].n_unique())
    axes = [name for name in parameters if name in by_values[:2]]
    if len(axes) < 2 or max(table[name].n_unique() for name in axes) > MOST_FIELDS:
        return []
    across, down = axes
    value = pl.col(report)
    best = value.max() if naming.is_rate(report) else value.min()
    finite = table.drop_nulls(report).filter(value.is_finite())
    fields = finite.group_by(down, across, maintain_order=True).agg(best)
    rows = [
        {"row": arguments.value_text(y), "column": arguments.value_text(x), "value": value}
        for y, x, value in fields.rows()
    ]
    if 2 * len(rows) < table[across].n_unique() * table[down].n_unique():
        return []
    cells = [[row["row"], row["column"], number(row["value"])] for row in rows]
    across, down = (labels.get(name, name) for name in axes)
    label = naming.label(report)
    behind = Table(label, columns(down, across, label, numbers=[label]), cells, is_folded=True)
    others = [labels.get(name, name) for name in parameters if name not in axes]
    over = f", the best over {', '.join(others)}" if others else ""
    told = f"{label} over {across} and {down}{over}; a stronger colour is a larger value"
    drawn = curves.heat_map(rows, label, (down, across))
    return [Chart(f"{label}, as a map{over}", told, drawn, behind)]


def _best(
    table: pl.DataFrame, parameters: list[str], reports: list[str], labels: plots.Labels = NO_LABELS
) -> Section:
    first = reports[0]
    ranked = _ranked(table, first)
    caption = f"Best by {naming.label(first)}"
    parts: list[Any] = [_runs(caption, ranked.head(BEST), parameters, reports, labels)]
    of_first = naming.stem(first)  # its minimum, say, and its maximum
    others = [name for name in reports[1:] if not name.startswith(of_first)]
    costs = [name for name in parameters if fronts.numbers(ranked[name]) is not None]
    further = [name for name in reports[1:] if name not in others]
    if measures := [*others, *costs, *further]:
        parts.append(fronts.chart(ranked, [first, *measures], labels))
    return Section("The best runs", parts)


def _ranked(table: pl.DataFrame, report: str) -> pl.DataFrame:
    """Order runs by a report, the best first; those without it are left out."""
    there = table.drop_nulls(report).filter(pl.col(report).is_finite())
    return there.sort(report, descending=naming.is_rate(report), maintain_order=True)


def _runs(
    caption: str,
    table: pl.DataFrame,
    parameters: list[str],
    reports: list[str],
    labels: plots.Labels,
) -> Table:
    rows = [
        [
            *(arguments.value_text(row[name]) for name in parameters),
            *("" if row[name] is None else number(row[name]) for name in reports),
        ]
        for row in table.to_dicts()
    ]
    called = [labels.get(name, name) for name in parameters]
    told = [naming.label(name) for name in reports]
    return Table(caption, columns(*called, *told, numbers=told), list(rows))


class _Times:
    """The time of all processors of runs, by activity."""

    def __init__(self, ranked: pl.DataFrame, folder: Path) -> None:
        self.ranked = ranked.head(MOST_ROWS)
        self.left_out = ranked.height - self.ranked.height
        self.of_runs = {
            key: times
            for key in self.ranked["key"]
            if (times := _activities(folder / "measurements" / f"{key}.parquet"))
        }
        parts = {part for times in self.of_runs.values() for part in times}
        self.parts = palette.in_order("activity", parts)

    def best(self, report: str) -> Chart:
        """Return a bar of time for each of the best runs."""
        named = self.ranked.head(BEST).select("key", "name").rows()
        rows = [
            {"run": name, "activity": part, "time": time, "share": time / self.of_runs[key].total()}
            for key, name in named
            if key in self.of_runs
            for part, time in self.of_runs[key].items()
        ]
        title = "Time of all processors, by activity"
        cells = [[row["run"], row["activity"], number(row["time"] / 10**6, 3)] for row in rows]
        names = columns("run", "activity", "us", numbers=["us"])
        told = f"Bars of time, one for each of the best runs by {naming.label(report)}, by activity"
        behind = Table(title, names, cells, is_folded=True)
        return Chart(title, told, drawings.ledger(rows, "run", "activity"), behind)

    def rows(self, report: str) -> Table:
        """Return a row for each run: its name with its parameters, a report, shares of time."""
        rows = [self._row(run, report) for run in self.ranked.to_dicts()]
        names = columns("run", report, "time", *self.parts, numbers=[report, *self.parts])
        left_out = f"; {number(self.left_out)} that are not so good have none" * (self.left_out > 0)
        caption = f"Each run, the best first, and where its time went, percent{left_out}"
        idents = [plots.run_ident(key) for key in self.ranked["key"]]
        return Table(caption, names, rows, is_folded=True, idents=idents)

    def _row(self, run: dict[str, Any], report: str) -> list[Cell]:
        times = self.of_runs.get(run["key"], Counter())
        shares = {part: times[part] / max(times.total(), 1) for part in self.parts}
        drawn = [(part, palette.of_part("activity", part), share) for part, share in shares.items()]
        return [
            run["name"],
            number(run[report]),
            Shares([each for each in drawn if each[2]]),
            *(percent(share) for share in shares.values()),
        ]


def _activities(file: Path) -> Counter[str]:
    whole = pl.read_parquet(file).filter(pl.col("region").is_null(), kind="ledger")
    times: Counter[str] = Counter()
    for name, value in whole.select("name", "value").rows():
        times[name.partition(" / ")[0]] += int(value)
    return times


def document_of(folder: Path) -> dict[str, Any]:
    """Return what a page needs to know of a sweep's folder.

    Raises `NarthexError` where it has no results that are whole.
    """
    from narthex.sweeps.folder import IDENTITY

    try:
        identity = json.loads((folder / IDENTITY).read_bytes())
        pl.read_parquet_schema(folder / "results.parquet")
        swept, labels = identity["sweep"], identity.get("labels", {})
        axes = [axis for group in [*swept["parameters"], *swept["zip"]] for axis in group.items()]
        wanted = {
            "program": str(swept["program"]),
            "machine": str(swept["machine"]),
            "varied": [labels.get(name, name) for name, values in axes if len(values) > 1],
        }
        named = {"title": identity.get("title", ""), "labels": identity.get("labels", {})}
        return {"folder": str(folder), "version": identity["version"], "sweep": wanted, **named}
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        pl.exceptions.PolarsError,
    ) as error:
        raise NarthexError(
            f"'{folder}' is no folder of a sweep with whole results: {error}"
        ) from error
