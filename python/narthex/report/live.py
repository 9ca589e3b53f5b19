"""The page of a run that goes on: it reads itself again until the run has ended."""

from typing import Any

from narthex import live, waits
from narthex.report.page import rendered
from narthex.report.parts import (
    Cell,
    Facts,
    Mark,
    Paragraph,
    Section,
    Table,
    columns,
    number,
    percent,
)
from narthex.results import PS_PER_US


def page(
    what: str,
    state: str,
    elapsed_s: float,
    standing: live.Standing | None,
    again_s: int | None,
) -> str:
    """Return the page as text; the browser reads it again after `again_s` seconds, if it is to."""
    tone = {live.RUNNING: "plain", live.FINISHED: "good"}.get(state, "bad")
    entries: list[tuple[str, Cell]] = [
        ("State", Mark(state, tone)),
        ("Host time", f"{number(elapsed_s, 1)} s"),
    ]
    parts: list[Any] = []
    if standing is not None:
        entries += _facts(standing)
        parts = [_waits(standing), *_nodes(standing)]
    elif state == live.RUNNING:
        parts = [Paragraph("The simulator has not said yet how the nodes stand.")]
    return rendered(what, [Section("Now", [Facts(entries), *parts])], again_s=again_s)


def _facts(standing: live.Standing) -> list[tuple[str, Cell]]:
    return [
        ("Simulated time", f"{number(standing.time_ps / PS_PER_US, 3)} us"),
        ("Speed", f"{number(standing.simulated_us_per_s, 1)} us a second"),
        ("Instructions", f"{number(standing.instructions_per_s / 1e6)} million a second"),
        ("Nodes", number(len(standing.nodes))),
        *((name, number(standing.total(key))) for name, key in COUNTS.items()),
    ]


COUNTS = {
    "Messages sent": "messages_sent",
    "Packets in flight": "packets_unacknowledged",
    "Packets that came back": "packets_returned",
    "Packets to be taken": "packets_waiting",
}
"""What of the nodes' traffic is shown, by name."""


def _waits(standing: live.Standing) -> Table:
    names = ["for", "us", "percent of the processors' time", "while", "where"]
    rows: list[list[Cell]] = [
        [
            wait.cause,
            number(wait.time_ps / PS_PER_US, 3),
            percent(wait.share or 0),
            waits.in_words(wait.activities),
            waits.in_words(wait.places),
        ]
        for wait in standing.ranked[: waits.MOST]
    ]
    caption = "For what processors have waited since the begin of the run"
    return Table(caption, columns(*names, numbers=names[1:3]), rows)


def _nodes(standing: live.Standing) -> list[Any]:
    names = ["node", "does", *COUNTS]
    states = standing.states
    rows: list[list[Cell]] = [
        [str(node["node"]), state, *(number(node[key]) for key in COUNTS.values())]
        for node, (_, state) in zip(standing.nodes, states[: live.MOST_NODES], strict=False)
    ]
    table = Table("What each node does", columns(*names, numbers=["node", *COUNTS]), rows)
    others = live.left_over(states, live.MOST_NODES)
    return [table, *([Paragraph(f"Of the other nodes: {others}.")] if others else [])]
