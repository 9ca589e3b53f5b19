"""The page of two results beside each other: what decided them, what came of them."""

from dataclasses import replace
from typing import Any

from narthex.charts import drawings, palette
from narthex.differences import COUNTED, Difference
from narthex.report.parts import Cell, Chart, Facts, Paragraph, Section, Table, columns, number
from narthex.results import PS_PER_US

MOST_REGIONS = 6
"""Regions with panels: those with the most time."""

MOST_BARS = 30
"""Changes that are drawn; the table has them all."""


def sections(found: Difference) -> list[Section]:
    """Return a section of what is set otherwise, and one of the figures."""
    changed = found.changed
    names = found.names
    facts = Facts(
        [
            ("A", found.one.place),
            ("B", found.other.place),
            ("Settings that differ", number(len(found.settings))),
            ("Figures that differ", f"{len(changed)} of {len(found.figures)}"),
        ]
    )
    rows = [[each["key"], each["a"], each["b"]] for each in found.settings]
    settings = Table("What decided them, where it differs", columns("setting", *names), rows)
    table = _table(changed, names)
    parts: list[Any] = [table] if changed else [Paragraph("All figures are the same.")]
    drawn = [
        row
        for row in changed
        if row["change_percent"] is not None and not row["of"].endswith(COUNTED)
    ][:MOST_BARS]
    if drawn:
        parts = [_chart(drawn, table, names)]
    alone = [
        [side, name] for side, of in zip(names, found.alone.values(), strict=True) for name in of
    ]
    if alone:
        parts.append(Table("Figures of one alone", columns("of", "figure"), alone, is_folded=True))
    sections = [Section(" and ".join(names), [facts, settings])]
    sides = (found.one, found.other)
    if all(side.times_us for side in sides):
        times = [
            _times("Time of all processors, by activity", names, {"": [s.times_us for s in sides]})
        ]
        if regions := _regions(found):
            times.append(_times("Time of all processors in regions, by activity", names, regions))
        sections.append(Section("Where the time went", list(times)))
    return [*sections, Section("Figures", parts)]


Times = dict[str, float]


def _regions(found: Difference) -> dict[str, list[Times]]:
    """Return the times of both in the regions that both have, the longest first."""
    one, other = found.one.regions_us, found.other.regions_us
    both = {name: [one[name], other[name]] for name in one if name in other}
    return dict(sorted(both.items(), key=lambda each: -_longest(each[1]))[:MOST_REGIONS])


def _longest(times: list[Times]) -> float:
    return max(sum(of.values()) for of in times)


def _times(title: str, names: tuple[str, str], times: dict[str, list[Times]]) -> Chart:
    """Return a bar of time by activity for either run, and its numbers; a panel for each region."""
    rows = [
        {"result": name, "region": region, "activity": activity, "time": time * PS_PER_US,
         "share": time / max(sum(of.values()), 1e-9)}
        for region, sides in times.items()
        for name, of in zip(names, sides, strict=True)
        for activity, time in of.items()
    ]  # fmt: skip
    cells: list[list[Cell]] = []
    for region, (one, other) in times.items():
        for activity in palette.in_order("activity", {*one, *other}):
            a, b = one.get(activity, 0), other.get(activity, 0)
            percent = 100 * (b - a) / a if a else None
            cells.append([region, activity, number(a), number(b), change(percent)])
    several = "region" if len(times) > 1 or "" not in times else None
    numbers = [*(f"{name}, us" for name in names), "change"]
    table = Table(title, columns("region", "activity", *numbers, numbers=numbers), cells, True)
    told = "Two bars of time on one scale, by activity"
    return Chart(
        title,
        f"{told}, for each region" if several else told,
        drawings.ledger(rows, "result", "activity", panels=several),
        table
        if several
        else replace(table, columns=table.columns[1:], rows=[row[1:] for row in cells]),
    )


def change(percent: float | None) -> str:
    """Write a change; none where it cannot be told in percent."""
    return "" if percent is None else f"{percent:+.1f} %"


def _chart(drawn: list[dict[str, Any]], table: Table, names: tuple[str, str]) -> Chart:
    from_to = f"change from {names[0]} to {names[1]}"
    rows = [
        {"interface": f"{row['of']}: {row['name']}", "value": row["change_percent"]}
        for row in drawn
    ]
    first = rows[0]
    return Chart(
        "The largest changes",
        f"Bars: {from_to} in percent; the largest is {first['interface']},"
        f" {change(first['value'])}",
        drawings.bars(rows, f"{from_to}, percent", [row["interface"] for row in rows]),
        table,
    )


def _table(rows: list[dict[str, Any]], names: tuple[str, str]) -> Table:
    cells = [
        [
            row["of"], row["name"], number(row["a"]), number(row["b"]),
            change(row["change_percent"]),
        ]
        for row in rows
    ]  # fmt: skip
    numbers = [*names, "change"]
    titles = columns("of", "figure", *numbers, numbers=numbers)
    return Table("Figures that differ, the largest change first", titles, cells, is_folded=True)
