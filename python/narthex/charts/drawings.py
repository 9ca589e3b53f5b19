"""Bars, ticks and points of values: what a page draws of results, by Vega-Altair.

    ledger      bars of time, stacked by activity or occupation
    bars        values beside each other, with error bars and published points
    pairs       measured and published points of derived rows
    errors      the error of each row, a line for each experiment
    tornado     how far parameters at other values move a row, a panel each
    sizes       how many messages of each size there were

Curves and maps are in `curves`. A chart is as wide as its place; one that is
divided into panels gets its number of columns from the page's script, which
knows the width.
"""

from collections.abc import Sequence
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
    time_unit,
    tooltip,
    values_axis,
)

if TYPE_CHECKING:
    import altair as alt


def ledger(rows: Rows, bar: str, by: str, panels: str | None = None) -> Spec:
    """Draw bars of time: `bar` names the field of a bar, `by` that of its parts.

    A row has its `time` in picoseconds and its `share` of the bar.
    """
    from narthex.extras import altair as alt

    unit, ps = time_unit(rows)
    parts = palette.in_order(by, {row[by] for row in rows})
    ranks = {part: rank for rank, part in enumerate(parts)}
    values = [{**row, "time": row["time"] / ps, "rank": ranks[row[by]]} for row in rows]
    names = list(dict.fromkeys(row[bar] for row in rows))
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_bar(stroke="var(--surface)", strokeWidth=1)
        .encode(
            x=alt.X("time:Q", title=f"time, {unit}", stack="zero", axis=values_axis(panels)),
            y=names_axis(bar),
            color=alt.Color(f"{by}:N", title=None)
            .scale(domain=parts, range=[palette.of_part(by, part) for part in parts])
            .legend(legend(panels)),
            order=alt.Order("rank:Q"),
            tooltip=[
                *(alt.Tooltip(f"{field}:N") for field in rows[0] if field not in ("time", "share")),
                alt.Tooltip("time:Q", title=f"time, {unit}", format=",.3f"),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
        .properties(height=height(names, panels))
    )
    return finish(chart, panels, list(dict.fromkeys(_panel_of(row, panels) for row in rows)))


def _panel_of(row: dict[str, Any], panels: str | None) -> str:
    """Return the panel of a row: what it has under this name, where there are panels."""
    return str(row.get(panels, "")) if panels else ""


def bars(rows: Rows, unit: str, names: Sequence[str], panels: str | None = None) -> Spec:
    """Draw a value for each interface, its error bar, and the published value or range.

    A row has `interface`, `value`, and where they exist `low`, `high` (of the
    error bar), `published_low` and `published_high`. Values that span two decades are
    points at an axis by ratio, where the length of a bar would have no meaning.
    """
    from narthex.extras import altair as alt

    y = names_axis("interface")
    base = alt.Chart().encode(y=y, tooltip=tooltip(rows, unit))
    order = list(dict.fromkeys(_panel_of(row, panels) for row in rows))
    shared = ["x"] if unit == "percent" else []
    panel_rows = [[row for row in rows if _panel_of(row, panels) == of] for of in order]
    axes = panel_rows if panel_rows and not shared else [rows]
    scale = max((looks.scale(looks.shown_values(of)) for of in axes), key=looks.is_by_ratio)
    measured = _mark(base, scale, height={"band": 0.62}).encode(
        x=alt.X("value:Q", title=unit, axis=values_axis(panels), scale=scale)
    )
    layers = [measured, *beside(base, rows, along="x")]
    layered = alt.LayerChart(layer=layers, data=alt.Data(values=completed(rows))).properties(
        height=height(names, panels)
    )
    return finish(layered, panels, order, shared)


def _mark(base: "alt.Chart", scale: "alt.Scale", **bar: Any) -> "alt.Chart":  # noqa: ANN401
    """Mark values by bars, or by points where their axis has no 0 at which a bar could begin."""
    if looks.is_by_ratio(scale):
        return base.mark_point(filled=True, size=90, opacity=1, color="var(--measured)")
    return base.mark_bar(color="var(--measured)", **bar)


def pairs(rows: Rows, unit: str) -> Spec:
    """Draw measured and published points of rows, each under its `name`."""
    from narthex.extras import altair as alt

    names = [row["name"] for row in rows]
    base = alt.Chart().encode(y=names_axis("name"), tooltip=tooltip(rows, unit))
    measured = base.mark_point(filled=True, size=80, opacity=1, color="var(--measured)").encode(
        x=alt.X(
            "value:Q", title=unit, axis=values_axis(), scale=looks.scale(looks.shown_values(rows))
        )
    )
    layers = [*beside(base, rows, along="x"), measured]
    layered = alt.LayerChart(layer=layers, data=alt.Data(values=completed(rows))).properties(
        height=height(names)
    )
    return finish(layered)


def errors(rows: Rows, names: Sequence[str]) -> Spec:
    """Draw every error in percent as a tick, a line for each experiment."""
    from narthex.extras import altair as alt

    base = alt.Chart(alt.Data(values=rows)).encode(y=names_axis("experiment"))
    ticks = base.mark_tick(thickness=2, color="var(--measured)", opacity=0.75).encode(
        x=alt.X("error:Q", title="error, percent of the published value", axis=values_axis()),
        tooltip=["experiment:N", "row:N", alt.Tooltip("error:Q", title="error, %", format="+.1f")],
    )
    zero = alt.Chart(alt.Data(values=[{"error": 0}])).mark_rule(color="var(--text)")
    layered = alt.LayerChart(layer=[zero.encode(x="error:Q"), ticks]).properties(
        height=height(names)
    )
    return finish(layered)


def tornado(rows: Rows) -> Spec:
    """Draw how far parameters move a value: a panel a `row`, in it a bar for each `change`.

    Bars of a parameter begin at 0 and lie on one line, by `kind` of value.
    """
    from narthex.extras import altair as alt

    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(opacity=0.85)
        .encode(
            x=alt.X("change:Q", title="change", stack=None, axis=values_axis("row")),
            y=names_axis("parameter").sort(field="rank", op="min"),
            color=alt.Color("kind:N", title=None)
            .scale(domain=kinds, range=list(map(palette.of_series, range(len(kinds)))))
            .legend(legend("row")),
            tooltip=[
                alt.Tooltip("parameter:N"),
                alt.Tooltip("tried:N"),
                alt.Tooltip("change:Q", format="+.2f"),
            ],
        )
        .properties(height=height([], "row"))
    )
    return finish(chart, "row", list(dict.fromkeys(row["row"] for row in rows)))


def sizes(rows: Rows, title: str = "bytes") -> Spec:
    """Draw how many messages of each size there were, or of each of what `title` says."""
    from narthex.extras import altair as alt

    labels = [row["bytes"] for row in rows]
    scale = looks.scale(row["messages"] for row in rows)
    chart = (
        _mark(alt.Chart(alt.Data(values=rows)), scale)
        .encode(
            y=names_axis("bytes").title(title),
            x=alt.X("messages:Q", title="messages", axis=values_axis(), scale=scale),
            tooltip=[alt.Tooltip("bytes:N", title=title), alt.Tooltip("messages:Q", format=",")],
        )
        .properties(height=height(labels))
    )
    return finish(chart)
