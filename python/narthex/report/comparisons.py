"""The section of a comparison: what each interface reported, and the ledgers side by side.

    interface   execution time, ns   electric energy   simulated time, us   from the best
    CNI16Q            22,279               8.33              390.05             1.00 x
                      =======              ====              ======
    NI2w              35,596               8.33              395.11             1.60 x
                      ==========           ====              ======

An interface leads to its run, which is folded until the reader opens it.
"""

import math
from collections import Counter
from dataclasses import replace
from typing import Any

from narthex import notation
from narthex.charts import drawings
from narthex.comparison import FAILED, RANKED, SIMULATED_TIME
from narthex.ledgers import ledger_rows, region_ledger_rows
from narthex.report import runs
from narthex.report.parts import (
    Below,
    Cell,
    Chart,
    Facts,
    Gauge,
    Mark,
    Section,
    Table,
    columns,
    number,
    percent,
)
from narthex.results import PS_PER_US, reports_of

UNFOLDED = 5
"""Interfaces without a value whose table is open at first."""

FROM_BEST = "from the best"
"""How many times a value is the best one, or the best one it."""

RUNS_FROM = 1
"""The place of the first run among the sections; before it stands where the time went."""

MAIN = "main"
"""The region that is compared, where the program has it."""

NO_MAIN = (
    "; the program has no region 'main' (narthex_region_begin), so the time in which it starts,"
    " prepares and ends counts as well"
)


def section(document: dict[str, Any]) -> Section:
    """Describe a comparison and each of its runs, without their machine."""
    first = document["runs"][0]
    best = _rows(document)[0]
    facts = Facts(
        [
            ("Program", _program(document)),
            ("Machine", first["machine"]["machine"]["name"]),
            ("Nodes", number(len(first["nodes"]))),
            ("Ranked by", f"{best['measure']}, {best['unit']}"),
            ("Best", f"{best['interface']}: {number(best['value'])} {best['unit']}"),
            ("Narthex", document["version"]),
        ]
    )
    sections = [Section("Where the time went", [ledgers(document)])]
    sections += [replace(runs.section(run), is_folded=True) for run in document["runs"]]
    parts: list[Any] = [facts, reports(document)]
    unranked = [row for row in document["rows"] if row["status"] != RANKED]
    if unranked:
        parts.append(_reasons(unranked))
    return Section(title(document), parts, sections)


def title(document: dict[str, Any]) -> str:
    """Say what was run, over how many interfaces."""
    return f"{_program(document)} over {notation.counted(len(document['runs']), 'interface')}"


def _program(document: dict[str, Any]) -> str:
    first = document["runs"][0]
    return " ".join([first["program"], *first["arguments"]])


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
    names = columns("interface", "status", "reason")
    return Table("Interfaces without a value", names, cells, is_folded=len(cells) > UNFOLDED)


def reports(document: dict[str, Any]) -> Table:
    """Return all reports of all interfaces, best first, with bars; each leads to its run.

    A value is the mean of what the processes of a run reported under a name.
    """
    rows = _rows(document)
    means = [_means(run) for run in document["runs"]]
    ranked_by = (
        f"{rows[0]['measure']}, {rows[0]['unit']}" if rows[0]["unit"] else rows[0]["measure"]
    )
    names = list(dict.fromkeys([ranked_by, *(name for of in means for name in of)]))
    largest = {name: max(notation.finite(abs(of[name]) for of in means if name in of), default=0)
               for name in names}  # fmt: skip
    cells: list[list[Cell]] = [
        [
            Below(row["interface"], place),
            *(_gauge(of.get(name), largest[name]) for name in names),
            _ratio(row),
        ]
        for place, (row, of) in enumerate(zip(rows, means, strict=True), RUNS_FROM)
    ]
    titles = columns("interface", *names, FROM_BEST, numbers=[*names, FROM_BEST])
    return Table(f"What each interface reported, best {rows[0]['measure']} first", titles, cells)


def _means(run: dict[str, Any]) -> dict[str, float]:
    """Return the mean of each report of a run, and its simulated time, by name and unit."""
    values: dict[str, list[float]] = {}
    for each in reports_of(run):
        name = f"{each['name']}, {each['unit']}" if each["unit"] else each["name"]
        values.setdefault(name, []).append(each["value"])
    means = {name: notation.mean(of) for name, of in values.items()}
    return {**means, f"{SIMULATED_TIME}, us": run["simulated_ps"] / PS_PER_US}


def _gauge(value: float | None, largest: float) -> Cell:
    """Return a value with its bar; without one where it has no length."""
    if value is None:
        return ""
    is_long = math.isfinite(value) and value > 0
    return Gauge(number(value), value / largest) if is_long else number(value)


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
