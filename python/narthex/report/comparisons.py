"""The section of a comparison: the ranking, and the ledgers side by side."""

import math
from collections import Counter
from typing import Any

from narthex import notation
from narthex.charts import drawings
from narthex.comparison import FAILED, RANKED
from narthex.report import runs
from narthex.report.parts import (
    Cell,
    Chart,
    Facts,
    Mark,
    Section,
    Table,
    columns,
    number,
    percent,
)
from narthex.results import ledger_rows, region_ledger_rows

MAIN = "main"
"""The region that is compared, where the program has it."""

NO_MAIN = (
    "; the program has no region 'main' (narthex_region_begin), so the time in which it starts,"
    " prepares and ends counts as well"
)


def section(document: dict[str, Any]) -> Section:
    """Describe a comparison and each of its runs, without their machine."""
    first = document["runs"][0]
    program = " ".join([first["program"], *first["arguments"]])
    best = _rows(document)[0]
    facts = Facts(
        [
            ("Program", program),
            ("Machine", first["machine"]["machine"]["name"]),
            ("Nodes", number(len(first["nodes"]))),
            ("Ranked by", f"{best['measure']}, {best['unit']}"),
            ("Best", f"{best['interface']}: {number(best['value'])} {best['unit']}"),
            ("Narthex", document["version"]),
        ]
    )
    sections = [Section("Where the time went", [ledgers(document)])]
    sections += [runs.section(run) for run in document["runs"]]
    parts: list[Any] = [facts, ranking(document)]
    unranked = [row for row in document["rows"] if row["status"] != RANKED]
    if unranked:
        parts.append(_reasons(unranked))
    return Section(f"{program} over {len(document['runs'])} interfaces", parts, sections)


def _reasons(unranked: list[dict[str, Any]]) -> Table:
    """Return the interfaces without a value, and why they have none."""
    cells: list[list[Cell]] = [
        [
            row["interface"],
            Mark(row["status"], "bad" if row["status"] == FAILED else "plain"),
            row["reason"],
        ]
        for row in unranked
    ]
    return Table("Interfaces without a value", columns("interface", "status", "reason"), cells)


def _rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the ranking, with the values as numbers."""
    return [
        {**row, "value": notation.read(row["value"])}
        for row in document["rows"]
        if row["status"] == RANKED
    ]


def ranking(document: dict[str, Any]) -> Chart | Table:
    """Return the interfaces' values as bars, best first; a table if none can be drawn."""
    rows = _rows(document)
    best = rows[0]
    cells = [
        [row["interface"], str(row["rank"]), number(row["value"]), row["unit"], _ratio(row)]
        for row in rows
    ]
    names = columns(
        "interface", "rank", best["measure"], "unit", "from the best",
        numbers=["rank", best["measure"], "from the best"],
    )  # fmt: skip
    unit = f"{best['measure']}, {best['unit']}"
    table = Table(f"Interfaces by {best['measure']}", names, cells)
    drawn = [
        {"interface": row["interface"], "value": row["value"]}
        for row in rows
        if math.isfinite(row["value"])
    ]
    if not drawn:
        return table
    first, last = drawn[0], drawn[-1]
    left_out = notation.left_out(len(rows) - len(drawn))
    return Chart(
        f"Interfaces by {best['measure']}{f' ({left_out})' if left_out else ''}",
        f"Bars, best first: {first['interface']} {number(first['value'])} {best['unit']}, last"
        f" {last['interface']} {number(last['value'])} {best['unit']}",
        drawings.bars(drawn, unit, [row["interface"] for row in drawn]),
        table,
    )


def _ratio(row: dict[str, Any]) -> str:
    return "" if row["times_best"] is None else f"{row['times_best']:.2f} x"


def ledgers(document: dict[str, Any]) -> Chart:
    """Return the time of all processors of each run, firmware's too, by activity."""
    times = {run["interface"]: _activities(run) for run in document["runs"]}
    parts = list(dict.fromkeys(part for of in times.values() for part in of))
    drawn = [
        {
            "interface": interface,
            "activity": part,
            "time": time,
            "share": time / of.total(),
        }
        for interface, of in times.items()
        for part, time in of.items()
    ]
    cells = [
        [interface, *(percent(of[part] / max(of.total(), 1)) for part in parts)]
        for interface, of in times.items()
    ]
    region = MAIN if _has_main(document["runs"][0]) else "the whole run"
    title = f"Time of all processors in {region}, by activity"
    covered = "" if region == MAIN else NO_MAIN
    return Chart(
        title,
        "Bars of time, one for each interface, stacked by activity of the processors; the table"
        f" has the shares{covered}",
        drawings.ledger(drawn, "interface", "activity"),
        Table(f"{title}, percent", columns("interface", *parts, numbers=parts), cells, True),
    )


def _has_main(run: dict[str, Any]) -> bool:
    return any(region["name"] == MAIN and region["end_ps"] for region in run["regions"])


def _activities(run: dict[str, Any]) -> Counter[str]:
    rows = region_ledger_rows(run, MAIN) if _has_main(run) else ledger_rows(run)
    times: Counter[str] = Counter()
    for _, _, activity, _, time_ps in rows:
        times[activity] += time_ps
    return times
