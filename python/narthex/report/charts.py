"""The charts, drawn by Vega-Altair.

Colours, lines and text are named by the variables of the page's style sheet,
so that a chart follows the reader's light or dark scheme without being drawn
again. A chart is as wide as its place; one that is divided into panels gets
its number of columns from the page's script, which knows the width.

    ledger      bars of time, stacked by activity or occupation
    bars        values beside each other, with error bars and published points
    curves      values over sizes, with error bars and published points
    pairs       measured and published points of derived rows
    heat_map    values of pairs, the darker the larger
    tornado     how far parameters at other values move a row, a panel each
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from narthex import engine
from narthex.files import write_whole
from narthex.toolchain import cache_folder
from narthex.validation.plots import ACTIVITIES, in_order

if TYPE_CHECKING:
    import altair as alt

Rows = list[dict[str, Any]]

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
BAR_STEP = 22
"""Points of a bar and the gap beside it."""
LONG_NAME, SHORT_NAME = 400, 185
"""Points of the longest name at an axis, and where there is little room."""
PANEL_TICKS = 4
"""Values at the axis of a panel, about."""
SERIES = 12
"""Colours for curves; more curves begin again, with other points."""
OCCUPATIONS = ("execute", "data miss", "instruction miss", "uncached access", "store buffer",
               "system call", "interrupt")  # fmt: skip

Spec = dict[str, Any]


@cache
def library() -> str:
    """Return the JavaScript of Vega, Vega-Lite and Vega-Embed as one script.

    It is kept in the cache folder: a page needs no engine once it is there.
    """
    import altair as alt

    version = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    kept = cache_folder() / "charts" / f"{version}-{metadata.version('vl-convert-python')}.js"
    with suppress(OSError):
        return kept.read_text(encoding="utf-8")
    engine.check()
    import vl_convert

    text = vl_convert.javascript_bundle(vl_version=version)
    with suppress(OSError):
        write_whole(kept, text.encode())
    return text


def ledger(rows: Rows, bar: str, by: str, panels: str | None = None) -> Spec:
    """Draw bars of time: `bar` names the field of a bar, `by` that of its parts.

    A row has its `time` in picoseconds and its `share` of the bar.
    """
    import altair as alt

    unit, ps = _time_unit(rows)
    parts = _parts(by, {row[by] for row in rows})
    ranks = {part: rank for rank, part in enumerate(parts)}
    values = [{**row, "time": row["time"] / ps, "rank": ranks[row[by]]} for row in rows]
    names = list(dict.fromkeys(row[bar] for row in rows))
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_bar(stroke="var(--surface)", strokeWidth=1)
        .encode(
            x=alt.X("time:Q", title=f"time, {unit}", stack="zero", axis=_values_axis(panels)),
            y=_names_axis(bar),
            color=alt.Color(f"{by}:N", title=None)
            .scale(domain=parts, range=[_part_colour(by, part) for part in parts])
            .legend(_legend(panels)),
            order=alt.Order("rank:Q"),
            tooltip=[
                *(alt.Tooltip(f"{field}:N") for field in rows[0] if field not in ("time", "share")),
                alt.Tooltip("time:Q", title=f"time, {unit}", format=",.3f"),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
        .properties(height=_height(names, panels))
    )
    return _finish(chart, panels, list(dict.fromkeys(row.get(panels, "") for row in rows)))


def bars(rows: Rows, unit: str, names: Sequence[str], panels: str | None = None) -> Spec:
    """Draw a value for each interface, its error bar, and the published value or range.

    A row has `interface`, `value`, and where they exist `low`, `high` (of the
    error bar), `published_low` and `published_high`.
    """
    import altair as alt

    y = _names_axis("interface")
    base = alt.Chart().encode(y=y, tooltip=_tooltip(rows, unit))
    measured = base.mark_bar(color="var(--measured)", height={"band": 0.62}).encode(
        x=alt.X("value:Q", title=unit, axis=_values_axis(panels))
    )
    layers = [measured, *_beside(base, rows, along="x")]
    layered = alt.layer(*layers, data=alt.Data(values=_completed(rows))).properties(
        height=_height(names, panels)
    )
    order = list(dict.fromkeys(row.get(panels, "") for row in rows))
    return _finish(layered, panels, order, is_share=unit == "percent")


def curves(rows: Rows, unit: str, names: Sequence[str]) -> Spec:
    """Draw a curve over the sizes for each interface; a row has `bytes` besides."""
    import altair as alt

    colours = [f"var(--series-{1 + rank % SERIES})" for rank in range(len(names))]
    chosen = alt.selection_point(fields=["interface"], bind="legend", name="chosen")
    base = alt.Chart().encode(
        x=alt.X("bytes:Q", title="bytes")
        .scale(type="log", base=2, nice=False, padding=12)
        .axis(values=sorted({row["bytes"] for row in rows}), labelOverlap=True),
        color=alt.Color("interface:N", title=None)
        .scale(domain=list(names), range=colours)
        .legend(_legend()),
        shape=alt.Shape("interface:N", title=None).scale(domain=list(names)).legend(_legend()),
        opacity=alt.condition(chosen, alt.value(1.0), alt.value(0.15)),
        tooltip=_tooltip(rows, unit),
    )
    value = alt.Y("value:Q", title=unit)
    line = base.mark_line(strokeWidth=2).encode(y=value)
    points = base.mark_point(filled=True, size=45).encode(y=value).add_params(chosen)
    layers = [line, *_beside(base, rows, along="y", fill="var(--surface)"), points]
    return _finish(
        alt.layer(*layers, data=alt.Data(values=_completed(rows))).properties(height=360)
    )


def pairs(rows: Rows, unit: str) -> Spec:
    """Draw measured and published points of rows, each under its `name`."""
    import altair as alt

    names = [row["name"] for row in rows]
    base = alt.Chart().encode(y=_names_axis("name"), tooltip=_tooltip(rows, unit))
    measured = base.mark_point(filled=True, size=80, opacity=1, color="var(--measured)").encode(
        x=alt.X("value:Q", title=unit, axis=_values_axis())
    )
    layers = [*_beside(base, rows, along="x"), measured]
    layered = alt.layer(*layers, data=alt.Data(values=_completed(rows))).properties(
        height=_height(names)
    )
    return _finish(layered)


def errors(rows: Rows, names: Sequence[str]) -> Spec:
    """Draw every error in percent as a tick, a line for each experiment."""
    import altair as alt

    base = alt.Chart(alt.Data(values=rows)).encode(y=_names_axis("experiment"))
    ticks = base.mark_tick(thickness=2, color="var(--measured)", opacity=0.75).encode(
        x=alt.X("error:Q", title="error, percent of the published value", axis=_values_axis()),
        tooltip=["experiment:N", "row:N", alt.Tooltip("error:Q", title="error, %", format="+.1f")],
    )
    zero = alt.Chart(alt.Data(values=[{"error": 0}])).mark_rule(color="var(--text)")
    layered = alt.layer(zero.encode(x="error:Q"), ticks).properties(height=_height(names))
    return _finish(layered)


def tornado(rows: Rows) -> Spec:
    """Draw how far parameters move a value: a panel a `row`, in it a bar for each `change`.

    Bars of a parameter begin at 0 and lie on one line, by `kind` of value.
    """
    import altair as alt

    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(opacity=0.85)
        .encode(
            x=alt.X("change:Q", title="change", stack=None, axis=_values_axis("row")),
            y=_names_axis("parameter").sort(alt.EncodingSortField("rank", op="min")),
            color=alt.Color("kind:N", title=None)
            .scale(domain=kinds, range=[f"var(--series-{1 + i})" for i in range(len(kinds))])
            .legend(_legend("row")),
            tooltip=[
                alt.Tooltip("parameter:N"),
                alt.Tooltip("tried:N"),
                alt.Tooltip("change:Q", format="+.2f"),
            ],
        )
        .properties(height=_height([], "row"))
    )
    return _finish(chart, "row", list(dict.fromkeys(row["row"] for row in rows)))


def sizes(rows: Rows) -> Spec:
    """Draw how many messages of each size there were."""
    import altair as alt

    labels = [row["bytes"] for row in rows]
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(color="var(--measured)")
        .encode(
            y=_names_axis("bytes").title("bytes"),
            x=alt.X("messages:Q", title="messages", axis=_values_axis()),
            tooltip=["bytes:N", alt.Tooltip("messages:Q", format=",")],
        )
        .properties(height=_height(labels))
    )
    return _finish(chart)


def heat_map(rows: Rows, unit: str) -> Spec:
    """Draw a field for each `row` and `column`, the darker the larger its `value`."""
    import altair as alt

    names = [row["row"] for row in rows]
    across = alt.X("column:N", title=None, sort=None, axis=alt.Axis(domain=False, ticks=False))
    largest = max((row["value"] for row in rows), default=0) or 1
    shade = alt.Scale(domain=[0, largest], range=[0.04, 1.0])
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_rect(color="var(--measured)")
        .encode(
            x=across,
            y=_names_axis("row"),
            opacity=alt.Opacity("value:Q", title=unit, scale=shade, legend=_legend()),
            tooltip=["row:N", "column:N", alt.Tooltip("value:Q", title=unit, format=",.3~f")],
        )
        .properties(height=_height(names))
    )
    return _finish(chart)


def _beside(
    base: "alt.Chart", rows: Rows, along: str, fill: str | None = None
) -> list["alt.Chart"]:
    """Return error bars, published ranges and published values, as far as rows have them.

    A diamond is filled with `fill` and has the border of its curve's colour; or
    it has the one colour of published values.
    """
    import altair as alt

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


def _completed(rows: Rows) -> Rows:
    """Put what a row lacks at its value, where nothing of it shows.

    With gaps instead every layer would filter the data for itself, and Vega
    could not tell that panels share their scales.
    """
    ends = ("low", "high", "published_low", "published_high")
    return [{**dict.fromkeys(ends, row["value"]), **row} for row in rows]


def _tooltip(rows: Rows, unit: str) -> list["alt.Tooltip"]:
    import altair as alt

    texts = [key for key in ("name", "workload", "interface") if key in rows[0]]
    titles = {"value": f"measured, {unit}", "published": f"published, {unit}", "error": "error"}
    shown = [alt.Tooltip(f"{key}:N") for key in texts]
    shown.append(alt.Tooltip("value:Q", title=titles["value"], format=",.3~f"))
    if any("published_low" in row for row in rows):
        shown += [alt.Tooltip(f"{key}:N", title=titles[key]) for key in ("published", "error")]
    return shown


def _height(names: Sequence[str], panels: str | None = None) -> "alt.Step | int":
    """Return the height of a chart of bars; panels have bars of their own, and each its height."""
    import altair as alt

    return alt.Step(BAR_STEP) if panels else BAR_STEP * len(set(names))


def _names_axis(field: str) -> "alt.Y":
    """Return an axis with names in the order in which the rows have them."""
    import altair as alt

    axis = alt.Axis(domain=False, ticks=False, grid=False)
    return alt.Y(f"{field}:N", title=None, sort=None, axis=axis)


def _time_unit(rows: Rows) -> tuple[str, int]:
    """Return the unit of time that suits the longest part, and its picoseconds."""
    longest = max(row["time"] for row in rows)
    units = {"ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
    fitting = [(unit, ps) for unit, ps in units.items() if longest >= 2 * ps]
    return fitting[-1] if fitting else ("ns", units["ns"])


def _values_axis(panels: str | None = None) -> "alt.Axis":
    import altair as alt

    ticks = PANEL_TICKS if panels else {"expr": "ceil(width / 90)"}
    return alt.Axis(tickCount=ticks, labelOverlap=True)


def _legend(panels: str | None = None) -> "alt.Legend":
    """Return a legend below the chart; that of panels gets its columns with them."""
    import altair as alt

    columns = {"expr": "width > 640 ? 6 : width > 420 ? 4 : 2"}
    if panels:
        return alt.Legend(orient="bottom")
    limit = {"expr": "width > 420 ? 200 : 115"}
    return alt.Legend(orient="bottom", columns=columns, labelLimit=limit)


def _parts(by: str, found: set[str]) -> list[str]:
    if by == "activity":
        return in_order(found)
    return [part for part in OCCUPATIONS if part in found] + sorted(found - set(OCCUPATIONS))


def _part_colour(by: str, part: str) -> str:
    known = ACTIVITIES if by == "activity" else OCCUPATIONS
    return f"var(--{by}-{part.replace(' ', '-')})" if part in known else "var(--other)"


def _finish(
    chart: "alt.TopLevelMixin",
    panels: str | None = None,
    order: Sequence[str] = (),
    is_share: bool = False,
) -> Spec:
    """Give a chart its looks and its width, and divide it into panels if asked.

    Each panel has a scale of its own, but shares, which are compared, have one.
    """
    import altair as alt

    if panels:
        header = alt.Header(title=None, labelLimit=260)
        chart = chart.facet(
            facet=alt.Facet(f"{panels}:N", sort=list(order), header=header), columns=1
        ).resolve_scale(x="shared" if is_share else "independent", y="independent")
        chart = chart.resolve_axis(x="independent")
    else:
        chart = chart.properties(width="container")
    wide = {"expr": f"containerSize()[0] > 640 ? {LONG_NAME} : {SHORT_NAME}"}
    longest_name = SHORT_NAME if panels else wide
    text = {"labelColor": "var(--muted)", "titleColor": "var(--text)"}
    lines = {"gridColor": "var(--line)", "domainColor": "var(--line)", "tickColor": "var(--line)"}
    chart = (
        chart.configure(background="transparent", font=FONT)
        .configure_axis(**text, **lines, labelFontSize=12, titleFontSize=12, titleFontWeight=500)
        .configure_axisY(labelColor="var(--text)", labelLimit=longest_name)
        .configure_legend(labelColor="var(--text)", labelFontSize=12, labelLimit=160)
        .configure_header(labelAnchor="start", labelColor="var(--text)", labelFontSize=13)
        .configure_view(stroke=None)
        .configure_mark(invalid=None)  # nothing is: see _completed
    )
    specification = chart.to_dict(validate=False)
    specification["autosize"] = {"type": "pad" if panels else "fit-x", "contains": "padding"}
    return specification
