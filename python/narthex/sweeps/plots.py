"""A picture of a sweep: each report over a parameter, a line for each value of another.

    bandwidth (MB/s) ^      ..---- CNI512Q
                     |   .-'
                     | .'  ....... CNI16Q
                     +-------------> bytes

If not told otherwise, x is the first parameter of numbers that varies (else the
first that does), and colour the first of the others. Where more vary, a point
is the mean over them.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from narthex.errors import NarthexError, unknown
from narthex.sweeps.definition import Definition
from narthex.sweeps.tables import runs_schema
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
    known = [axis.column for axis in definition.axes]
    for name in (x, color):
        if name is not None and name not in known:
            raise unknown("parameter to draw", name, known)


def write(
    table: pl.DataFrame,
    definition: Definition,
    file: Path,
    x: str | None = None,
    color: str | None = None,
) -> None:
    """Draw a sweep's table into FILE.html, FILE.svg or FILE.png."""
    save(chart(table, definition, x, color), file)


def chart(
    table: pl.DataFrame, definition: Definition, x: str | None = None, color: str | None = None
) -> "altair.VConcatChart":
    """Return a picture for each report, one below the other."""
    import altair as alt

    measured = [name for name in table.columns if name not in runs_schema(definition)]
    varied = [axis.column for axis in definition.axes if table[axis.column].n_unique() > 1]
    if not measured or not varied:
        raise NarthexError(f"{definition.name} has nothing to draw: no report, or nothing varied")
    x = x or next((name for name in varied if table[name].dtype.is_numeric()), varied[0])
    color = color or next((name for name in varied if name != x), None)
    pictures = [_picture(table, name, x, color) for name in measured]
    described = f"{definition.title or definition.name}: {', '.join(measured)} over {x}"
    return alt.vconcat(*pictures, title=definition.title or definition.name).properties(
        description=described
    )


def _picture(table: pl.DataFrame, y: str, x: str, color: str | None) -> "altair.Chart":
    import altair as alt

    names = {"x": x, "y": y, **({"color": color} if color else {})}
    groups = [role for role in names if role != "y"]
    rows = table.select(**{role: pl.col(name) for role, name in names.items()}).drop_nulls()
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
            alt.Y("y:Q", title=y),
            *([shades] if color else []),
            tooltip=[alt.Tooltip(f"{role}:N", title=name) for role, name in names.items()],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )


def _spans(values: pl.Series) -> bool:
    """Tell whether numbers are better set out by ratio."""
    smallest = values.min()
    return smallest > 0 and values.max() / smallest >= BY_RATIO_FROM
