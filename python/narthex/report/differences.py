"""The page of two results beside each other: what decided them, what came of them."""

from typing import Any

from narthex.charts import drawings
from narthex.differences import COUNTED, Difference
from narthex.report.parts import Chart, Facts, Paragraph, Section, Table, columns, number
from narthex.results import PS_PER_US

MOST_BARS = 30
"""Changes that are drawn; the table has them all."""


def sections(found: Difference) -> list[Section]:
    """Return a section of what is set otherwise, and one of the figures."""
    changed = found.changed
    facts = Facts(
        [
            ("A", found.one.place),
            ("B", found.other.place),
            ("Settings that differ", number(len(found.settings))),
            ("Figures that differ", f"{len(changed)} of {len(found.figures)}"),
        ]
    )
    rows = [[each["key"], each["a"], each["b"]] for each in found.settings]
    settings = Table("What decided them, where it differs", columns("setting", "A", "B"), rows)
    table = _table(changed)
    parts: list[Any] = [table] if changed else [Paragraph("All figures are the same.")]
    drawn = [
        row
        for row in changed
        if row["change_percent"] is not None and not row["of"].endswith(COUNTED)
    ][:MOST_BARS]
    if drawn:
        parts = [_chart(drawn, table)]
    alone = [[side.upper(), name] for side, names in found.alone.items() for name in names]
    if alone:
        parts.append(Table("Figures of one alone", columns("of", "figure"), alone, is_folded=True))
    sections = [Section("A and B", [facts, settings])]
    if all(side.times_us for side in (found.one, found.other)):
        sections.append(Section("Where the time went", [_times(found)]))
    return [*sections, Section("Figures", parts)]


def _times(found: Difference) -> Chart:
    """Return a bar of time, by activity, for either run."""
    rows = [
        {"result": name, "activity": activity, "time": time * PS_PER_US, "share": time / whole}
        for name, side in (("A", found.one), ("B", found.other))
        for whole in [sum(side.times_us.values())]
        for activity, time in side.times_us.items()
    ]
    cells = [[row["result"], row["activity"], number(row["time"] / PS_PER_US)] for row in rows]
    return Chart(
        "Time of all processors, by activity",
        "Two bars of time on one scale, by activity",
        drawings.ledger(rows, "result", "activity"),
        Table(
            "Times", columns("of", "activity", "us", numbers=["us"]), list(cells), is_folded=True
        ),
    )


def change(percent: float | None) -> str:
    """Write a change; none where it cannot be told in percent."""
    return "" if percent is None else f"{percent:+.1f} %"


def _chart(drawn: list[dict[str, Any]], table: Table) -> Chart:
    rows = [
        {"interface": f"{row['of']}: {row['name']}", "value": row["change_percent"]}
        for row in drawn
    ]
    first = rows[0]
    return Chart(
        "The largest changes",
        f"Bars: change from A to B in percent; the largest is {first['interface']},"
        f" {change(first['value'])}",
        drawings.bars(rows, "change from A to B, percent", [row["interface"] for row in rows]),
        table,
    )


def _table(rows: list[dict[str, Any]]) -> Table:
    cells = [
        [
            row["of"], row["name"], number(row["a"]), number(row["b"]),
            change(row["change_percent"]),
        ]
        for row in rows
    ]  # fmt: skip
    names = columns("of", "figure", "A", "B", "change", numbers=["A", "B", "change"])
    return Table("Figures that differ, the largest change first", names, cells, is_folded=True)
