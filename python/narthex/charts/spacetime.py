"""A space-time drawing: what each rank's processor does, and the messages between ranks.

    rank 0  ███ calc ███▒ send ▒
                               ╲
    rank 1                      ▓ receive ▓ ███ calc ███

Time runs to the right, a rank is a row, and a message is a line from its send to where its
receiver handles it.
"""

from narthex.charts import looks, palette
from narthex.charts.looks import Rows, Spec, finish, legend, values_axis

ROW_HEIGHT, LEAST_HEIGHT = 26, 120
"""Points of a rank's row, and of a drawing of few ranks."""

BAR = 0.3
"""Of a row, to either side of its middle."""

KINDS = {"calculation": "application", "send": "send", "receive": "receive"}
"""What a processor is engaged with, and the activity whose colour it has."""


def space_time(spans: Rows, messages: Rows, ranks: int, unit: str) -> Spec:
    """Draw what processors are engaged with, and messages over it.

    A span has `rank`, `begin`, `end`, `kind` and the words of `operation`; a message the same of
    its two ends: `from_rank`, `sent`, `to_rank`, `handled`, `operation`.
    """
    from narthex.extras import altair as alt

    colours = [palette.of_part("activity", activity) for activity in KINDS.values()]
    rank_axis = alt.Axis(values=list(range(ranks)), format="d", labelOverlap=True, grid=False)
    rows = alt.Scale(domain=[-0.5, ranks - 0.5], reverse=True, nice=False, zero=False)
    title = f"time, {unit}"
    placed = [{**span, "above": span["rank"] - BAR, "below": span["rank"] + BAR} for span in spans]
    bars = (
        alt.Chart(alt.Data(values=placed))
        .mark_rect(stroke="var(--surface)", strokeWidth=0.5)
        .encode(
            x=alt.X("begin:Q", title=title, axis=values_axis()).scale(nice=False),
            x2="end:Q",
            y=alt.Y("above:Q", axis=rank_axis, scale=rows, title="rank"),
            y2="below:Q",
            color=alt.Color("kind:N", title=None)
            .scale(domain=list(KINDS), range=colours)
            .legend(legend()),
            tooltip=["rank:Q", "operation:N", "begin:Q", "end:Q"],
        )
    )
    lines = (
        alt.Chart(alt.Data(values=messages))
        .mark_rule(color="var(--text)", strokeWidth=0.8, opacity=0.6)
        .encode(
            x=alt.X("sent:Q", title=title, axis=values_axis()).scale(nice=False),
            x2="handled:Q",
            y=alt.Y("from_rank:Q", axis=rank_axis, scale=rows, title="rank"),
            y2="to_rank:Q",
            tooltip=["operation:N", "from_rank:Q", "to_rank:Q", "sent:Q", "handled:Q"],
        )
    )
    drawn = alt.layer(bars, lines).properties(height=max(LEAST_HEIGHT, ROW_HEIGHT * ranks))
    return finish(drawn)


def time_unit(longest_ps: float) -> tuple[str, int]:
    """Return the unit of a drawing of this length, and its picoseconds."""
    return looks.time_unit([{"time": longest_ps}])
