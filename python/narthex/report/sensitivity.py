"""What an experiment's rows and claims hang on: tables of parameters, and a tornado chart."""

from collections.abc import Sequence
from typing import Any

from narthex.charts import drawings
from narthex.report.parts import Chart, Table, columns
from narthex.validation import wording
from narthex.validation.outcome import Summary
from narthex.validation.sensitivity import (
    MovedRow,
    SweptRows,
    Varied,
    most_moving,
    shown_rows,
    sweeps,
)
from narthex.validation.variations import Untried, size

LONGEST_TORNADO = 8
"""Parameters in a row's panel: those that move it most."""

LOWER, HIGHER, OTHER = "lower value", "higher value", "other choice"


def parts(summary: Summary, tried: Sequence[Varied], untried: Sequence[Untried]) -> list[Any]:
    """Return what came of other values of parameters; nothing where none was tried."""
    made: list[Any] = [_sweep(each) for each in sweeps(tried) if each.rows]
    if shown_rows(tried):
        made.append(_tornado(summary, tried))
    if tried:
        made.append(_overview(tried))
    if untried:
        names = columns("parameter", "value", "reason")
        cells = [[each.key, each.value, each.reason] for each in untried]
        made.append(Table("Assumed values that were not tried", names, list(cells), is_folded=True))
    return made


def _overview(tried: Sequence[Varied]) -> Table:
    numbers = ["machine", "tried", "change"]
    names = columns(
        "parameter", "machine", "tried", "moves most", "change", "claims that turn", "failed runs",
        numbers=numbers,
    )  # fmt: skip
    return Table(
        "Parameters at other values, and what they move", names, [_cells(e) for e in tried]
    )


def _sweep(swept: SweptRows) -> Table:
    return Table(
        f"With other values of {swept.key}",
        columns("row", *swept.values, numbers=swept.values),
        [[row, *map(wording.three_digits, values)] for row, values in swept.rows.items()],
    )


def _cells(each: Varied) -> list[Any]:
    furthest = each.furthest
    return [
        each.key,
        each.base,
        each.value,
        furthest.row if furthest else "nothing",
        wording.change(furthest),
        "; ".join(each.turned),
        "; ".join(each.failures),
    ]


def _tornado(summary: Summary, tried: Sequence[Varied]) -> Chart:
    """Return a panel for each published row, or for each row where the paper prints none."""
    drawn, cells = [], []
    for row in shown_rows(tried):
        for rank, (each, moved) in enumerate(most_moving(tried, row, LONGEST_TORNADO)):
            entry = {"row": _panel(moved), "parameter": f"{each.key}, {each.base}", "rank": rank}
            kind = direction(each)
            drawn.append({**entry, "change": moved.change, "tried": each.value, "kind": kind})
            values = [wording.three_digits(moved.base), wording.three_digits(moved.value)]
            cells.append([row, each.key, each.base, each.value, *values, wording.change(moved)])
    title = f"What moves {summary.title}: parameters at other values"
    numbers = ["machine", "tried", "before", "with it", "change"]
    table = Table(
        title,
        columns("row", "parameter", *numbers, numbers=numbers),
        cells,
        is_folded=True,
    )
    told = (
        "For each row a bar for each parameter that moves it, the longest first, from the value"
        " with the machine as it is to that with the parameter at another value"
    )
    return Chart(title, told, drawings.tornado(drawn), table)


def _panel(moved: MovedRow) -> str:
    return f"{moved.row} ({moved.change_unit})"


def direction(each: Varied) -> str:
    """Say whether a value is below the machine's, or above, or neither."""
    was, is_ = size(each.base), size(each.value)
    if was is None or is_ is None:
        return OTHER
    return LOWER if is_ < was else HIGHER
