"""Amounts of several kinds over one axis of time, with the parts of a program behind them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from narthex.charts import palette
from narthex.charts.looks import Rows, Spec, finish, legend, values_axis

if TYPE_CHECKING:
    import altair as alt

HEIGHT = 110
"""Of a panel."""

AXIS_WIDTH = 68
"""Of the numbers beside it."""


class Span(NamedTuple):
    """A part of a program: from when to when."""

    name: str
    begin: float
    end: float


def over_time(rows: Rows, spans: Sequence[Span], panels: Sequence[str], x: str) -> Spec:
    """Draw a panel below the other for each of `panels`, all over one axis `x`.

    A row has its `panel`, `x`, where its interval begins, the name `interface` of its curve and its
    `value`. Each of `spans` is a band behind all panels, with its name in the first.
    """
    from narthex.extras import altair as alt

    names = list(dict.fromkeys(row["interface"] for row in rows))
    bands = [
        {"panel": panel, "begin": span.begin, "end": span.end, "region": span.name}
        for panel in panels
        for span in spans
    ]
    labels = [{"panel": panels[0], "at": span.begin, "label": span.name} for span in spans]

    def across(field: str) -> "alt.X":
        return alt.X(f"{field}:Q", title=x, axis=values_axis("panel")).scale(nice=False)

    base = alt.Chart()
    curves = base.mark_line(interpolate="step-after", strokeWidth=1.5).encode(
        x=across("x"),
        y=alt.Y("value:Q", title=None, axis=alt.Axis(tickCount=3)),
        color=alt.Color("interface:N", title=None)
        .scale(domain=names, range=list(map(palette.of_series, range(len(names)))))
        .legend(legend("panel")),
        tooltip=["interface:N", alt.Tooltip("x:Q", title=x), "value:Q"],
    )
    regions = base.mark_rect(fill="var(--muted)", fillOpacity=0.08, stroke="var(--line)").encode(
        x=across("begin"), x2="end:Q", tooltip=["region:N", "begin:Q", "end:Q"]
    )
    told = base.mark_text(align="left", baseline="top", dx=3, color="var(--muted)").encode(
        x=across("at"), y=alt.value(2), text="label:N"
    )
    layered = alt.layer(
        regions.transform_filter("isValid(datum.begin)"),
        curves.transform_filter("isValid(datum.x)"),
        told.transform_filter("isValid(datum.at)"),
        data=alt.Data(values=[*bands, *rows, *labels]),
    ).properties(height=HEIGHT)
    specification = finish(layered, "panel", list(panels), shared=["x"])
    # One below the other, so that an instant has one place.
    return {**specification, "usermeta": {"mostColumns": 1, "namesWidth": AXIS_WIDTH}}
