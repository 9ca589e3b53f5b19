"""What all drawings look like: their font, axes, legends, error bars, and their width."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from narthex.extras import altair as alt

Rows = list[dict[str, Any]]
Spec = dict[str, Any]
"""A drawing, in Vega-Lite."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
BAR_STEP = 22
"""Points of a bar and the gap beside it."""
LONG_NAME, SHORT_NAME = 400, 185
"""Points of the longest name at an axis, and where there is little room."""
PANEL_TICKS = 4
"""Values at the axis of a panel, about."""
MANY_TIMES = 100
"""Times that the largest value is the smallest, from which on their axis is by ratio."""
TICKS = {"expr": "ceil(width / 90)"}
"""Those of a chart that is as wide as its place."""


def spans_decades(values: Iterable[float]) -> bool:
    """Tell whether values are all above 0 and span two decades, so that their axis is by ratio."""
    found = list(values)
    return min(found, default=0) > 0 and max(found) >= MANY_TIMES * min(found)


def scale(values: Iterable[float], *, zero: bool = True) -> "alt.Scale":
    """Return the scale of an axis of values: by ratio, or else linear, with a 0 or without."""
    from narthex.extras import altair as alt

    if spans_decades(values):
        return alt.Scale(type="log")
    return alt.Scale() if zero else alt.Scale(zero=False)


def is_by_ratio(scale: "alt.Scale") -> bool:
    """Tell whether a scale has no 0."""
    return bool(scale.to_dict().get("type") == "log")


def shown_values(rows: Rows) -> list[float]:
    """Return all values that rows have at their axis: measured, of error bars, published."""
    keys = ("value", "low", "high", "published_low", "published_high")
    return [row[key] for row in rows for key in keys if row.get(key) is not None]


def beside(base: "alt.Chart", rows: Rows, along: str, fill: str | None = None) -> list["alt.Chart"]:
    """Return error bars, published ranges and published values, as far as rows have them.

    A diamond is filled with `fill` and has the border of its curve's colour; or
    it has the one colour of published values.
    """
    from narthex.extras import altair as alt

    kind = {"x": alt.X, "y": alt.Y}[along]

    def spans(low: str, high: str, colour: str, width: float) -> "alt.Chart":
        ends = {along: kind(f"{low}:Q"), f"{along}2": f"{high}:Q"}
        look = {"color": alt.value(colour), "strokeWidth": alt.value(width)}
        return base.mark_rule().encode(**ends, **look)

    layers = []
    if any("low" in row for row in rows):
        layers.append(spans("low", "high", "var(--text)", 1.5))
    if any(row.get("published_low") != row.get("published_high") for row in rows):
        layers.append(spans("published_low", "published_high", "var(--published)", 3))
    if any("published_low" in row for row in rows):
        colours = (
            {"fill": alt.value(fill), "strokeWidth": alt.value(2)}
            if fill
            else {"color": alt.value("var(--published)"), "stroke": alt.value("var(--surface)")}
        )
        layers += [
            base.mark_point(size=110, filled=fill is None).encode(
                **{along: kind(f"{end}:Q")},
                shape=alt.value("diamond"),
                opacity=alt.condition("isValid(datum.published)", alt.value(1), alt.value(0)),
                **colours,
            )
            for end in ("published_low", "published_high")
        ]
    return layers


def completed(rows: Rows) -> Rows:
    """Put what a row lacks at its value, where nothing of it shows.

    With gaps instead every layer would filter the data for itself, and Vega
    could not tell that panels share their scales.
    """
    ends = ("low", "high", "published_low", "published_high")
    return [{**dict.fromkeys(ends, row["value"]), **row} for row in rows]


def tooltip(rows: Rows, unit: str) -> list["alt.Tooltip"]:
    """Return what is told of a point: its names, the measured value, the published one."""
    from narthex.extras import altair as alt

    texts = [key for key in ("name", "workload", "interface") if rows and key in rows[0]]
    titles = {"value": f"measured, {unit}", "published": f"published, {unit}", "error": "error"}
    shown = [alt.Tooltip(f"{key}:N") for key in texts]
    shown.append(alt.Tooltip("value:Q", title=titles["value"], format=",.3~f"))
    if any("published_low" in row for row in rows):
        shown += [alt.Tooltip(f"{key}:N", title=titles[key]) for key in ("published", "error")]
    return shown


def height(names: Sequence[str], panels: str | None = None) -> "alt.Step | int":
    """Return the height of a chart of bars; panels have bars of their own, and each its height."""
    from narthex.extras import altair as alt

    return alt.Step(BAR_STEP) if panels else BAR_STEP * len(set(names))


def names_axis(field: str) -> "alt.Y":
    """Return an axis with names in the order in which the rows have them."""
    from narthex.extras import altair as alt

    axis = alt.Axis(domain=False, ticks=False, grid=False)
    return alt.Y(f"{field}:N", title=None, sort=None, axis=axis)


def time_unit(rows: Rows) -> tuple[str, int]:
    """Return the unit of time that suits the longest part, and its picoseconds."""
    longest = max(row["time"] for row in rows)
    units = {"ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
    fitting = [(unit, ps) for unit, ps in units.items() if longest >= 2 * ps]
    return fitting[-1] if fitting else ("ns", units["ns"])


def values_axis(panels: str | None = None) -> "alt.Axis":
    """Return an axis of numbers, with a value each 90 points; fewer in a panel."""
    from narthex.extras import altair as alt

    ticks = PANEL_TICKS if panels else TICKS
    return alt.Axis(tickCount=ticks, labelOverlap=True)


def legend(panels: str | None = None) -> "alt.Legend":
    """Return a legend below the chart; that of panels gets its columns with them."""
    from narthex.extras import altair as alt

    columns = {"expr": "width > 640 ? 6 : width > 420 ? 4 : 2"}
    if panels:
        return alt.Legend(orient="bottom")
    limit = {"expr": "width > 420 ? 200 : 115"}
    return alt.Legend(orient="bottom", columns=columns, labelLimit=limit)


def finish(
    chart: "alt.Chart | alt.LayerChart",
    panels: str | None = None,
    order: Sequence[str] = (),
    shared: Sequence[str] = (),
) -> Spec:
    """Give a chart its looks and its width, and divide it into panels if asked.

    Each panel has scales of its own, but for those of `shared` ("x", "y"), which are compared.
    """
    from narthex.extras import altair as alt

    if panels:
        header = alt.Header(title=None, labelLimit=260)
        facets = chart.facet(
            facet=alt.Facet(f"{panels}:N", sort=list(order), header=header), columns=1
        )
        facets = facets.resolve_scale(
            x="shared" if "x" in shared else "independent",
            y="shared" if "y" in shared else "independent",
        )
        whole: alt.TopLevelMixin = facets.resolve_axis(x="independent", y="independent")
    else:
        whole = chart.properties(width="container")
    wide = {"expr": f"containerSize()[0] > 640 ? {LONG_NAME} : {SHORT_NAME}"}
    longest_name = SHORT_NAME if panels else wide
    text = {"labelColor": "var(--muted)", "titleColor": "var(--text)"}
    lines = {"gridColor": "var(--line)", "domainColor": "var(--line)", "tickColor": "var(--line)"}
    whole = (
        whole.configure(background="transparent", font=FONT)
        .configure_axis(**text, **lines, labelFontSize=12, titleFontSize=12, titleFontWeight=500)
        .configure_axisY(labelColor="var(--text)", labelLimit=longest_name)
        .configure_legend(
            labelColor="var(--text)", titleColor="var(--text)", labelFontSize=12, labelLimit=160
        )
        .configure_header(labelAnchor="start", labelColor="var(--text)", labelFontSize=13)
        .configure_view(stroke=None)
        .configure_mark(invalid=None)  # nothing is: see completed
    )
    specification = whole.to_dict(validate=False)
    specification["autosize"] = {"type": "pad" if panels else "fit-x", "contains": "padding"}
    return specification
