"""The section of a comparison: the ranking, and the ledgers side by side."""

from collections import Counter
from typing import Any

from narthex.report import charts, runs
from narthex.report.parts import Chart, Facts, Section, Table, columns, number, percent
from narthex.results import ledger_rows, region_ledger_rows

MAIN = "main"
"""The region that is compared, where the program has it."""


def section(document: dict[str, Any]) -> Section:
    """Describe a comparison and each of its runs, without their machine."""
    first = document["runs"][0]
    program = " ".join([first["program"], *first["arguments"]])
    best = document["rows"][0]
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
    return Section(
        f"{program} over {len(document['runs'])} interfaces", [facts, ranking(document)], sections
    )


def ranking(document: dict[str, Any]) -> Chart:
    """Return the interfaces' values as bars, best first."""
    rows = document["rows"]
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
    drawn = [{"interface": row["interface"], "value": row["value"]} for row in rows]
    worst = rows[-1]
    return Chart(
        f"Interfaces by {best['measure']}",
        f"Bars, best first: {best['interface']} {number(best['value'])} {best['unit']}, last"
        f" {worst['interface']} {number(worst['value'])} {worst['unit']}",
        charts.bars(drawn, unit, [row["interface"] for row in rows]),
        Table(f"Interfaces by {best['measure']}", names, cells),
    )


def _ratio(row: dict[str, Any]) -> str:
    return "" if row["times_best"] is None else f"{row['times_best']:.2f} x"


def ledgers(document: dict[str, Any]) -> Chart:
    """Return the time of all processors of each run, by activity."""
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
    return Chart(
        title,
        "Bars of time, one for each interface, stacked by activity of the processors; the table"
        " has the shares",
        charts.ledger(drawn, "interface", "activity"),
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
