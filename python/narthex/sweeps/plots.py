"""A picture of a sweep: each report over a parameter, a line for each value of another.

    bandwidth (MB/s) ^      ..---- CNI512Q
                     |   .-'
                     | .'  ....... CNI16Q
                     +-------------> bytes

If not told otherwise, x is the first parameter of numbers that varies (else the
first that does), and colour the first of the others. Where more vary, a point
is the mean over them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from narthex import arguments, notation
from narthex.errors import NarthexError, unknown
from narthex.sweeps.definition import RUN_KEYS, Definition
from narthex.sweeps.loading import COLUMNS
from narthex.validation.plots import save

if TYPE_CHECKING:
    import altair

WIDTH, HEIGHT = 480, 280
"""Of one report's picture, in points."""

COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442"]
"""Those of Okabe and Ito, which people with any kind of colour vision tell apart."""

BY_RATIO_FROM = 10
"""Times that the largest number is the smallest, from which on the scale is by ratio."""


def check(definition: Definition, x: str | None, color: str | None) -> None:
    """Refuse a parameter that does not exist, before anything runs."""
    _check("parameter", [axis.column for axis in definition.axes], x, color)


def write(
    table: pl.DataFrame,
    definition: Definition,
    file: Path,
    x: str | None = None,
    color: str | None = None,
) -> None:
    """Draw a sweep's table into FILE.html, FILE.svg or FILE.png."""
    parameters = [axis.column for axis in definition.axes]
    title = definition.title or definition.name
    save(_chart(table, parameters, _reports(table), x, color, title), file)


def plot_sweep(
    table: pl.DataFrame,
    *,
    x: str | None = None,
    y: str | Sequence[str] = (),
    color: str | None = None,
    title: str = "",
) -> "altair.VConcatChart":
    """Draw a sweep's table: a picture for each report, one below the other.

    `table` is what `sweep` returns, or its results.parquet, or some rows of it.
    `x` is the parameter across, `color` the one that has a line for each value;
    `y` names the reports' columns, all if none is given.

    >>> import narthex
    >>> swept = {"name": "sizes", "program": "bandwidth", "args": "{bytes} 50", "nodes": 2}
    >>> table = narthex.sweep({**swept, "parameters": {"bytes": [64, 256]}}, jobs=1)
    >>> chart = narthex.plot_sweep(table, y="bandwidth (MB/s)")

    Raises `NarthexError` for a column that is not there, and if nothing varies.
    """
    if not {*COLUMNS, *RUN_KEYS} <= {*table.columns}:
        raise NarthexError("this is no table of a sweep: it has not the columns of its runs")
    reports = _reports(table)
    chosen = arguments.names("y", y) or reports
    _check("report", reports, *chosen)
    parameters = _parameters(table)
    _check("parameter", parameters, x, color)
    return _chart(table, parameters, chosen, x, color, title)


def _reports(table: pl.DataFrame) -> list[str]:
    """Return the reports' columns: they stand behind all others."""
    return table.columns[table.columns.index(COLUMNS[-1]) + 1 :]


def _parameters(table: pl.DataFrame) -> list[str]:
    """Return the parameters' columns. A run's key that they decide ("{bytes} 50") is none."""
    own = [each for each in table.columns if each not in (*COLUMNS, *RUN_KEYS, *_reports(table))]
    points = table.select(own).n_unique() if own else 1
    keys = [key for key in RUN_KEYS if table.select(*own, key).n_unique() > points]
    return [*own, *keys]


def _chart(
    table: pl.DataFrame,
    parameters: Sequence[str],
    reports: Sequence[str],
    x: str | None,
    color: str | None,
    title: str,
) -> "altair.VConcatChart":
    import altair as alt

    varied = [name for name in parameters if table[name].n_unique() > 1]
    if not reports or not varied:
        raise NarthexError(
            f"{title or 'the sweep'} has nothing to draw: no report, or nothing varied"
        )
    x = x or next((name for name in varied if table[name].dtype.is_numeric()), varied[0])
    color = color or next((name for name in varied if name != x), None)
    pictures = [_picture(table, name, x, color) for name in reports]
    over = f"{', '.join(reports)} over {x}"
    described = f"{title}: {over}" if title else over
    return alt.vconcat(*pictures, title=title).properties(description=described)


def _check(kind: str, known: Sequence[str], *names: str | None) -> None:
    for name in names:
        if name is not None and name not in known:
            raise unknown(f"{kind} to draw", name, known)


def _picture(table: pl.DataFrame, y: str, x: str, color: str | None) -> "altair.Chart":
    import altair as alt

    names = {"x": x, "y": y, **({"color": color} if color else {})}
    groups = [role for role in names if role != "y"]
    every = table.select(**{role: pl.col(name) for role, name in names.items()}).drop_nulls()
    rows = every.filter(pl.col("y").is_finite())
    left_out = notation.left_out(every.height - rows.height)
    means = rows.group_by(groups, maintain_order=True).agg(pl.col("y").mean())
    by_number = rows["x"].dtype.is_numeric()
    across = alt.X(f"x:{'Q' if by_number else 'N'}", title=x, sort=None)
    if by_number and _spans(rows["x"]):
        across = across.scale(type="log", base=2)
    shades = alt.Color("color:N", title=color, sort=None).scale(range=COLORS)
    return (
        alt.Chart(alt.Data(values=means.to_dicts()))
        .mark_line(point=True)
        .encode(
            across,
            alt.Y("y:Q", title=f"{y} ({left_out})" if left_out else y),
            *([shades] if color else []),
            tooltip=[alt.Tooltip(f"{role}:N", title=name) for role, name in names.items()],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )


def _spans(values: pl.Series) -> bool:
    """Tell whether numbers are better set out by ratio."""
    numbers = [float(value) for value in values.to_list()]
    return bool(numbers) and min(numbers) > 0 and max(numbers) / min(numbers) >= BY_RATIO_FROM
