"""The page of two results beside each other: what decided them, what came of them."""

from typing import Any

from narthex import notation
from narthex.charts import drawings
from narthex.differences import COUNTED, Difference
from narthex.report.parts import Chart, Facts, Paragraph, Section, Table, columns, number

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
    return [Section("A and B", [facts, settings]), Section("Figures", parts)]


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
            row["of"], row["name"], notation.text(row["a"]), notation.text(row["b"]),
            change(row["change_percent"]),
        ]
        for row in rows
    ]  # fmt: skip
    names = columns("of", "figure", "A", "B", "change", numbers=["A", "B", "change"])
    return Table("Figures that differ, the largest change first", names, cells, is_folded=True)
