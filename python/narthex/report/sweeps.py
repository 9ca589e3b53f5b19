"""The section of a sweep's folder: its pictures, its best runs, where their time went.

results.parquet ──► each report over the parameters; as a map of two of them;
                    the best runs; runs that none beats in two reports at once
measurements/   ──► a bar of time for each of the best runs
"""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narthex import arguments, notation
from narthex.charts import curves, drawings
from narthex.errors import NarthexError
from narthex.extras import polars as pl
from narthex.report.parts import Chart, Facts, Mark, Paragraph, Section, Table, columns, number
from narthex.results import larger_is_better

if TYPE_CHECKING:
    from narthex.documents import Found

BEST = 12
"""Runs that are listed, and have a bar of time."""

MOST_FIELDS = 40
"""Values of a parameter that a map has room for."""

TIME = "simulated_us"
"""What ranks runs that report nothing."""


def section(found: "Found") -> Section:
    """Describe the folder of a sweep."""
    from narthex.sweeps import plots

    folder = Path(found.document["folder"])
    table = pl.read_parquet(folder / "results.parquet")
    reports = plots.reports_of(table)
    parameters = [name for name in plots.parameters_of(table) if table[name].n_unique() > 1]
    failed = table.filter(status="failed")
    finished = table.filter(status="finished")
    parts: list[Any] = [_facts(found.document, table, failed.height, parameters)]
    if failed.height:
        parts.append(_failures(failed))
    sections = []
    if reports and parameters and finished.height:
        sections = [_pictures(finished, parameters, reports), _best(finished, parameters, reports)]
        times = _times(finished, folder, reports)
        sections += [Section("Where the time of the best runs went", [times])] if times else []
    return Section(found.document["sweep"]["title"] or folder.name, parts, sections)


def _facts(document: dict[str, Any], table: pl.DataFrame, failed: int, varied: list[str]) -> Facts:
    ended = Mark(f"{failed} failed", "bad") if failed else Mark("all finished", "good")
    entries = [
        ("Program", str(document["sweep"]["program"] or "several")),
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


def _pictures(table: pl.DataFrame, parameters: list[str], reports: list[str]) -> Section:
    from narthex.sweeps import plots

    try:
        parts: list[Any] = list(plots.charts_of(table, parameters, reports, None, None, ""))
    except NarthexError as error:
        parts = [Paragraph(f"{error}.")]
    if len(parameters) == 2:
        parts += [chart for name in reports[:1] for chart in _map(table, parameters, name)]
    return Section("Reports over the parameters", parts)


def _map(table: pl.DataFrame, parameters: list[str], report: str) -> list[Chart]:
    """Draw a report as a map of two parameters, where there is a field for most pairs."""
    across, down = parameters
    if max(table[name].n_unique() for name in parameters) > MOST_FIELDS:
        return []
    rows = [
        {"row": arguments.value_text(y), "column": arguments.value_text(x), "value": value}
        for y, x, value in table.select(down, across, report).drop_nulls().rows()
        if notation.finite([value])
    ]
    if 2 * len(rows) < table[across].n_unique() * table[down].n_unique():
        return []
    cells = [[row["row"], row["column"], number(row["value"])] for row in rows]
    behind = Table(report, columns(down, across, report, numbers=[report]), cells, is_folded=True)
    told = f"{report} over {across} and {down}; a stronger colour is a larger value"
    drawn = curves.heat_map(rows, report, (down, across))
    return [Chart(f"{report}, as a map", told, drawn, behind)]


def _best(table: pl.DataFrame, parameters: list[str], reports: list[str]) -> Section:
    first = reports[0]
    ranked = _ranked(table, first)
    parts: list[Any] = [_runs(f"Best by {first}", ranked.head(BEST), parameters, reports)]
    second = next((name for name in reports[1:] if name.partition(",")[0] not in first), None)
    if second:
        front = _front(ranked, first, second)
        caption = f"Runs that none beats in both {first} and {second}"
        parts.append(_runs(caption, front, parameters, reports))
    return Section("The best runs", parts)


def _ranked(table: pl.DataFrame, report: str) -> pl.DataFrame:
    """Order runs by a report, the best first; those without it are left out."""
    there = table.drop_nulls(report).filter(pl.col(report).is_finite())
    return there.sort(report, descending=_is_rate(report), maintain_order=True)


def _is_rate(report: str) -> bool:
    return larger_is_better(report.rpartition("(")[2].rstrip(")"))


def _front(ranked: pl.DataFrame, first: str, second: str) -> pl.DataFrame:
    """Return the runs, best first, of which no better one is as good in the second report."""
    sign = -1 if _is_rate(second) else 1
    ranked = ranked.with_columns((sign * pl.col(second)).alias("\0cost"))
    order = ranked.sort(
        (-1 if _is_rate(first) else 1) * pl.col(first), "\0cost", maintain_order=True
    )
    least = order["\0cost"].cum_min().shift(1)
    return order.filter(least.is_null() | (order["\0cost"] < least)).drop("\0cost")


def _runs(caption: str, table: pl.DataFrame, parameters: list[str], reports: list[str]) -> Table:
    rows = [
        [
            *(arguments.value_text(row[name]) for name in parameters),
            *("" if row[name] is None else number(row[name]) for name in reports),
        ]
        for row in table.to_dicts()
    ]
    return Table(caption, columns(*parameters, *reports, numbers=reports), list(rows))


def _times(table: pl.DataFrame, folder: Path, reports: list[str]) -> Chart | None:
    """Return a bar of time, by activity, for each of the best runs."""
    times = {
        name: _activities(folder / "measurements" / f"{key}.parquet")
        for key, name in _ranked(table, reports[0]).head(BEST).select("key", "name").rows()
    }
    rows = [
        {"run": name, "activity": part, "time": time, "share": time / of.total()}
        for name, of in times.items()
        for part, time in of.items()
    ]
    if not rows:
        return None
    title = "Time of all processors, by activity"
    cells = [[row["run"], row["activity"], number(row["time"] / 10**6, 3)] for row in rows]
    behind = Table(title, columns("run", "activity", "us", numbers=["us"]), cells, is_folded=True)
    told = f"Bars of time, one for each of the best runs by {reports[0]}, by activity"
    return Chart(title, told, drawings.ledger(rows, "run", "activity"), behind)


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
        wanted = {"program": identity["sweep"]["program"], "title": ""}
        return {"folder": str(folder), "version": identity["version"], "sweep": wanted}
    except (OSError, ValueError, LookupError, TypeError, pl.exceptions.PolarsError) as error:
        raise NarthexError(
            f"'{folder}' is no folder of a sweep with whole results: {error}"
        ) from error
