"""Tables of experiments, for pages of the documentation (`documentation`).

    measured   a row for each workload, a column for each interface
    ranked     a row for each interface at a place, in the order of the first workload
    places     a row for each interface, a column for each place

An interface that the experiment puts at a place (`where`) is called after it, "Ring behind PCIe";
in a table of places it has its name in the taxonomy.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from narthex.fitting.tables import Table
from narthex.validation import Outcome
from narthex.validation.outcome import label
from narthex.validation.rows import Row

ON_THE_CHIP = "on the chip"
"""Where an interface is that names no place."""


def measured(outcome: Outcome, interfaces: Sequence[str], at: str) -> list[Table]:
    """Put measured values of interfaces side by side, the published ones in parentheses.

    Values that set an interface against another one follow in a table of their own.
    """
    title = f"`{outcome.experiment.name}`"
    rows = [row for row in _looked_at(outcome, at) if row.interface in interfaces]
    plain = [row for row in rows if row.baseline is None and row.take is None]
    cells = {(row.workload, row.interface): _beside(row) for row in plain}
    heads = [one for one in interfaces if any(row.interface == one for row in plain)]
    body = [
        [each, *(cells.get((each, one), "") for one in heads)]
        for each in dict.fromkeys(row.workload for row in plain)
    ]
    units = ", ".join(dict.fromkeys(row.unit for row in plain))
    derived = [
        [label(row), f"{_digits(row.value)} {row.unit}", *_published(row)]
        for row in rows
        if row not in plain
    ]
    columns = [title, "measured", "published", "error"]
    made = [
        Table(title, [f"{title}, {units}", *heads], body, heads, []),
        Table(title, columns, derived, columns[1:], []),
    ]
    return [table for table in made if table.rows]


def ranked(outcome: Outcome, where: Sequence[str], at: str) -> list[Table]:
    """Rank the interfaces at some places by the first workload; what they share is the title.

    The best is first: the shortest time, the highest rate.
    """
    names = {
        each.name: each.spelt
        for each in outcome.experiment.interfaces
        if _place(each.where) in where
    }
    rows = [row for row in _looked_at(outcome, at) if row.interface in names]
    workloads = list(dict.fromkeys(row.workload for row in rows))
    cells = {(row.interface, row.workload): _digits(row.value) for row in rows}
    order = sorted(
        (row for row in rows if row.workload == workloads[0]),
        key=lambda row: row.value or 0.0,
        reverse=outcome.experiment.larger_is_better(workloads[0]),
    )
    title, heads = workloads[0].partition(": ")[0], [each.partition(": ")[2] for each in workloads]
    body = [
        [names[one], *(cells.get((one, each), "") for each in workloads)]
        for one in (row.interface for row in order)
    ]
    return [Table(title, [title, *heads], body, heads, [])]


def places(outcome: Outcome, where: Sequence[str], at: str) -> list[Table]:
    """Put the values of one workload at several places side by side; none where it cannot be."""
    cells = {row.interface: _digits(row.value) for row in _looked_at(outcome, at)}
    by_place = {
        (each.spelt, _place(each.where)): cells[each.name]
        for each in outcome.experiment.interfaces
        if each.name in cells
    }
    names = dict.fromkeys(name for name, place in by_place if place != ON_THE_CHIP)
    body = [[name, *(by_place.get((name, place), "refused") for place in where)] for name in names]
    return [Table(at, [at, *where], body, list(where), [])]


def _place(where: Sequence[str]) -> str:
    return " with ".join(where) or ON_THE_CHIP


def _looked_at(outcome: Outcome, at: str) -> list[Row]:
    return [row for row in outcome.rows if fnmatchcase(row.workload, at)]


def _beside(row: Row) -> str:
    """Write a value, and behind it in parentheses the published one and the error."""
    published, error = _published(row)
    return _digits(row.value) + (f" ({published}, {error})" if published else "")


def _digits(value: float | None) -> str:
    """Write three digits, and all before the point."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.3g}"


def _published(row: Row) -> tuple[str, str]:
    """Write a row's published value, or range, and its error; nothing where there is none."""
    if row.published_low is None:
        return "", ""
    error = "" if row.error_percent is None else f"{row.error_percent:+.1f} %"
    return _range(row.published_low, row.published_high), error


def _range(low: float, high: float | None) -> str:
    return f"{low:g}" if high in (None, low) else f"{low:g} to {high:g}"
