"""Curves over numbers, and maps of two names.

    curves      values over numbers or words, a curve for each series, in panels if asked
    heat_map    values of pairs: a stronger colour is a larger value
    front       runs by two values, and those that none beats in both
    fitted      points of measurements and the lines of a model through them
    steps       amounts in bins of time
    bands       shares of a whole over time, one upon the other

Curves that coincide are told apart: the later one is dashed, and lets the earlier
one be seen. `coinciding` names them, for those who do not see it.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from narthex.charts import looks, palette
from narthex.charts.looks import (
    Rows,
    Spec,
    beside,
    completed,
    finish,
    height,
    legend,
    names_axis,
    tooltip,
    values_axis,
)

if TYPE_CHECKING:
    from narthex.extras import altair as alt

CURVES_HEIGHT, PANEL_HEIGHT = 360, 190
"""Points of a chart of curves, and of each of its panels."""

NAMES_WIDTH = 90
"""Points that the numbers at a panel's axis take, and the gap beside it."""

BY_RATIO_FROM = 10
"""Times that the largest whole number (bytes, nodes) is the smallest, from which on the scale is
by ratio; of shares and the like it is `looks.MANY_TIMES`."""

MOST_TICKS = 16
"""Numbers that are all written at the axis."""

SHADES = (0.1, 1.0)
"""Opacities of the smallest and the largest value of a map."""

LEGEND_STEPS = 4
"""Between the values that the legend of a map names."""

SOLID, DASHED = (1, 0), (5, 4)
"""Points that are drawn and points that are not, by turns."""


def curves(
    rows: Rows,
    unit: str,
    names: Sequence[str],
    *,
    x: str = "bytes",
    series: str | None = "",
    panels: str | None = None,
    is_joined: bool = True,
) -> Spec:
    """Draw a curve for each of the `names` of `interface`; a row has `x` and `value` besides.

    `x` and `series` are the words at the axis and the legend; without a series, one
    curve has no legend. `is_joined` draws lines between the points, from left to right or as
    rows have an `order`. Values that span two decades have an axis by ratio.
    """
    from narthex.extras import altair as alt

    listed = legend(panels) if series is not None else None
    colours = list(map(palette.of_series, range(len(names))))
    title = series or None
    chosen = alt.selection_point(fields=["interface"], bind="legend", name="chosen")
    base = alt.Chart().encode(
        x=across(rows, x, panels),
        color=alt.Color("interface:N", title=title)
        .scale(domain=list(names), range=colours)
        .legend(listed),
        shape=alt.Shape("interface:N", title=title).scale(domain=list(names)).legend(listed),
        opacity=alt.condition(chosen, alt.value(1.0), alt.value(0.15)),
        tooltip=[alt.Tooltip("x:N", title=x), *tooltip(rows, unit)],
    )
    value = alt.Y("value:Q", title=unit, scale=looks.scale(looks.shown_values(rows)))
    hand = {"cursor": "pointer"} if any("run" in row for row in rows) else {}
    points = base.mark_point(filled=True, size=45, **hand).encode(y=value).add_params(chosen)
    layers = beside(base, rows, along="y", fill="var(--surface)")
    if is_joined:
        order = {"order": alt.Order("order:Q")} if any("order" in row for row in rows) else {}
        line = base.mark_line(strokeWidth=2).encode(y=value, strokeDash=_dashes(rows), **order)
        layers.insert(0, line)
    layered = alt.layer(*layers, points, data=alt.Data(values=completed(rows)))
    layered = layered.properties(height=PANEL_HEIGHT if panels else CURVES_HEIGHT)
    order = list(dict.fromkeys(row.get(panels, "") for row in rows))
    return finish(layered, panels, order, ["x", "y"]) | {"usermeta": {"namesWidth": NAMES_WIDTH}}


def front(rows: Rows, x: str, y: str) -> Spec:
    """Draw runs by two values; a line joins those that none beats in both.

    A row has `name`, `run` (what the page opens), `x`, `value` and `is_front`.
    """
    from narthex.extras import altair as alt

    base = alt.Chart().encode(
        x=alt.X("x:Q", title=x, scale=looks.scale((row["x"] for row in rows), zero=False)),
        y=alt.Y("value:Q", title=y, scale=looks.scale((row["value"] for row in rows), zero=False)),
        tooltip=[
            alt.Tooltip("name:N", title="run"), alt.Tooltip("x:Q", title=x, format=",.3~f"),
            alt.Tooltip("value:Q", title=y, format=",.3~f"),
        ],
    )  # fmt: skip
    best = base.transform_filter("datum.is_front")
    line = best.mark_line(color="var(--measured)", strokeWidth=1.5)
    others = base.transform_filter("!datum.is_front")
    layers = [
        others.mark_point(
            filled=True, size=45, opacity=0.7, color="var(--other)", cursor="pointer"
        ),
        line,
        best.mark_point(filled=True, size=80, opacity=1, color="var(--measured)", cursor="pointer"),
    ]
    layered = alt.layer(*layers, data=alt.Data(values=rows)).properties(height=CURVES_HEIGHT)
    return finish(layered)


def fitted(rows: Rows, unit: str, names: Sequence[str], *, x: str, panels: str) -> Spec:
    """Draw measured points with their ranges, and lines of a model, for each of `interface`.

    A row has `x`, `value`, `low`, `high`, and `line`, what the model says.
    """
    from narthex.extras import altair as alt

    colours = list(map(palette.of_series, range(len(names))))
    base = alt.Chart().encode(
        x=alt.X("x:Q", title=x),
        color=alt.Color("interface:N", title=None)
        .scale(domain=list(names), range=colours)
        .legend(legend(panels)),
        tooltip=[
            alt.Tooltip("x:Q", title=x), *tooltip(rows, unit),
            alt.Tooltip("line:Q", title=f"fitted, {unit}", format=",.3~f"),
        ],
    )  # fmt: skip
    line = base.mark_line(strokeWidth=1.5).encode(y=alt.Y("line:Q", title=unit))
    points = base.mark_point(filled=True, size=45, opacity=1).encode(
        y="value:Q", shape=alt.Shape("interface:N", title=None).scale(domain=list(names))
    )
    layers = [line, *beside(base, rows, along="y"), points]
    layered = alt.layer(*layers, data=alt.Data(values=rows)).properties(height=PANEL_HEIGHT)
    order = list(dict.fromkeys(row[panels] for row in rows))
    return finish(layered, panels, order, ["x"]) | {"usermeta": {"namesWidth": NAMES_WIDTH}}


def across(rows: Rows, title: str, panels: str | None = None) -> "alt.X":
    """Return the axis of `x`: of numbers with a tick at each, or of words in their order."""
    from narthex.extras import altair as alt

    found = list(dict.fromkeys(row["x"] for row in rows))
    numbers = [value for value in found if isinstance(value, int | float)]
    if len(numbers) < len(found) or any(isinstance(value, bool) for value in found):
        return alt.X("x:N", title=title, sort=None)
    ticks: dict[str, Any] = {"values": sorted(numbers)} if len(numbers) <= MOST_TICKS else {}
    if len(numbers) == 1:
        ticks["format"] = "~g"  # by default one of whole numbers, as there is no step
    axis = alt.X("x:Q", title=title).axis(labelOverlap=True, **ticks)
    least = min((number for number in numbers if number > 0), default=0)
    are_whole = all(float(number).is_integer() for number in numbers)
    ratio = BY_RATIO_FROM if are_whole else looks.MANY_TIMES
    if min(numbers, default=-1) >= 0 and least and max(numbers) >= ratio * least:
        if min(numbers) == 0:
            return axis.scale(type="symlog", constant=least, nice=False, padding=12)
        return axis.scale(type="log", base=2, nice=False, padding=12)
    return axis.scale(zero=False, nice=False, padding=12)


def coinciding(rows: Rows) -> dict[tuple[str, str], list[str]]:
    """Return the pairs of series that have the same values in a panel, the later one last.

    With the names of those panels; without panels, there is one of no name.
    """
    panels: dict[str, dict[str, dict[object, float]]] = {}
    for row in rows:
        series = panels.setdefault(row.get("panel", ""), {})
        series.setdefault(row["interface"], {})[row["x"]] = row["value"]
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, values in panels.items():
        for one, other in combinations(values, 2):
            if values[one] == values[other]:
                found[one, other].append(name)
    return dict(found)


def _dashes(rows: Rows) -> "alt.StrokeDashValue | alt.StrokeDash":
    """Return which curves are dashed: those that would hide an earlier one."""
    from narthex.extras import altair as alt

    later = sorted({pair[1] for pair in coinciding(rows)})
    return alt.condition(
        alt.FieldOneOfPredicate(field="interface", oneOf=later), alt.value(DASHED), alt.value(SOLID)
    )


def heat_map(
    rows: Rows,
    unit: str,
    titles: tuple[str | None, str | None] = (None, None),
    span: Sequence[float] = (),
) -> Spec:
    """Draw a field for each `row` and `column`: a stronger colour for a larger `value`.

    The palest colour is the smallest value that there is, the strongest the largest; a row whose
    `value` is None has an empty field. `titles` are the words at the axes, downwards and across;
    the colours reach at least over the values of `span`.
    """
    from narthex.extras import altair as alt

    names = [row["row"] for row in rows]
    plain = alt.Axis(domain=False, ticks=False, labelAngle=0, labelOverlap=True)
    there = [row for row in rows if row["value"] is not None]
    shade, told = shades([*span, *(row["value"] for row in there)])
    across = list(dict.fromkeys(row["column"] for row in rows))
    chart = (
        alt.Chart(alt.Data(values=there))
        .mark_rect(color="var(--measured)")
        .encode(
            x=alt.X("column:N", title=titles[1], axis=plain).scale(domain=across),
            y=names_axis("row").title(titles[0]).scale(domain=list(dict.fromkeys(names))),
            opacity=alt.Opacity("value:Q", title=unit, scale=shade, legend=told),
            tooltip=["row:N", "column:N", alt.Tooltip("value:Q", title=unit, format=",.3~f")],
        )
        .properties(height=height(names))
    )
    return finish(chart)


def shades(found: Sequence[float]) -> tuple["alt.Scale", "alt.Legend"]:
    """Return the opacities of values, from the smallest to the largest, and their legend."""
    from narthex.extras import altair as alt

    least, most = min(found, default=0), max(found, default=0)
    if least == most:
        least = min(0, least)
    by_ratio = looks.spans_decades(found)
    steps = range(LEGEND_STEPS + 1)
    if by_ratio:
        listed = [least * (most / least) ** (step / LEGEND_STEPS) for step in steps]
    else:
        listed = [least + (most - least) * step / LEGEND_STEPS for step in steps]
    scale = alt.Scale(
        type="log" if by_ratio else "linear", domain=[least, most or 1], range=SHADES, nice=False
    )
    values = list(dict.fromkeys(listed))
    return scale, alt.Legend(orient="bottom", columns=len(values), values=values, format=",.3~r")


def bands(rows: Rows, unit: str, by: str) -> Spec:
    """Draw shares over the `time` in `unit`, a band for each part; `by` names the field of parts.

    A row has its `time`, where its bin begins, and its `share` of one.
    """
    from narthex.extras import altair as alt

    parts = palette.in_order(by, {row[by] for row in rows})
    ranks = {part: rank for rank, part in enumerate(parts)}
    values = [{**row, "rank": ranks[row[by]]} for row in rows]
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_area(interpolate="step-after")
        .encode(
            x=alt.X("time:Q", title=f"time, {unit}", axis=values_axis()).scale(nice=False),
            y=alt.Y("share:Q", title="share", stack="zero").axis(format="%").scale(domain=[0, 1]),
            color=alt.Color(f"{by}:N", title=None)
            .scale(domain=parts, range=[palette.of_part(by, part) for part in parts])
            .legend(legend()),
            order=alt.Order("rank:Q"),
            tooltip=[f"{by}:N", "time:Q", alt.Tooltip("share:Q", format=".1%")],
        )
        .properties(height=PANEL_HEIGHT)
    )
    return finish(chart)


def steps(rows: Rows, unit: str, names: Sequence[str], *, x: str) -> Spec:
    """Draw amounts that last for a bin each, a line for each of the `names` of `interface`."""
    from narthex.extras import altair as alt

    colours = list(map(palette.of_series, range(len(names))))
    chosen = alt.selection_point(fields=["interface"], bind="legend", name="chosen")
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=1.5)
        .encode(
            x=alt.X("x:Q", title=x, axis=values_axis()).scale(nice=False),
            y=alt.Y("value:Q", title=unit),
            color=alt.Color("interface:N", title=None)
            .scale(domain=list(names), range=colours)
            .legend(legend()),
            opacity=alt.condition(chosen, alt.value(1.0), alt.value(0.15)),
            tooltip=["interface:N", alt.Tooltip("x:Q", title=x), "value:Q"],
        )
        .properties(height=PANEL_HEIGHT)
        .add_params(chosen)
    )
    return finish(chart)
