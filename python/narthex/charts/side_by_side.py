"""Messages over several interfaces as one picture: a band each, time from left to right.

    CNI32Qm     ████████▓▓░▒▒▒▒▒▒▒▒██████           whose work the latency is: adds up to it
    848.5 ns
      processor ▌ ─── ──── ───                      what each part does on its interconnect
      interface      ──   ──
      network                ──
      interface                ── ──
      processor                      ───── ──── ▐
                0        250       500       750 ns

All bands have the same axis. A bar is a transaction, from its begin to its end; a pale one
is beside the critical path. Where a processor has no bar it executes or waits to poll; an
interface without one works or waits. What a directory or a bridge passes on is within
the bars of those that asked.
"""

import html
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from narthex import explanation
from narthex.charts.svg import document, fill, stroke, text
from narthex.report.lives import AGENTS, ON_LANE
from narthex.side_by_side import OWNERS, by_owner

if TYPE_CHECKING:
    from narthex.explanation import Explanation

MARGIN, NAMES, AXIS = 16, 150, 800
"""Points around the picture, of the names, and of the axis."""
STRIP, LANE, GAP = 18, 15, 22
"""Points of the strip of a band, of a lane, and between two bands."""
HEAD, FOOT = 58, 26
"""Points above the first band, and below the last one."""
BAR = 8
"""Points of a bar's height."""
LEAST = 1.5
"""Points of a bar's width, at least."""
LETTER = 6.6
"""Points of a character of the legend, about."""

LANES = [
    ("processor", 0), ("interface", 0), ("network", 0), ("interface", 1), ("processor", 1),
]  # fmt: skip
"""Parts, and which node's they are, from sender to receiver."""
COLOURS = dict(
    zip(OWNERS, ("series-1", "series-5", "series-11", "series-7", "series-3", "series-4"),
        strict=True)
)  # fmt: skip
OF_LANE = ("sender", "interface sends", "network", "interface receives", "receiver")
"""By whose work what happens in a lane is."""
PASSED_ON = ("directory", "bridge", "link")
"""Agents that pass on what another one asked for."""
ABOUT_TICKS = 8
STEPS = (1, 2, 5)


def svg(lives: "Sequence[Explanation]") -> str:
    """Return the picture of lives, in their order, as SVG."""
    longest = max(life.latency_ps for life in lives)
    band = STRIP + LANE * len(LANES) + GAP
    height = HEAD + band * len(lives) + FOOT + MARGIN
    first = lives[0].document
    size = explanation.what(first)
    caption = (
        f"{size} on {first['machine']['machine']['name']}, one message over each interface:"
        f" {explanation.subject(first).span}"
    )
    drawn = [
        f'<rect {fill("surface")} width="100%" height="100%"/>',
        text(MARGIN, MARGIN + 12, caption, is_bold=True),
        *_legend(lives),
        *_axis(longest, height - MARGIN - FOOT),
    ]
    for count, life in enumerate(lives):
        drawn += _band(life, HEAD + band * count, longest)
    return document(MARGIN + NAMES + AXIS + 2 * MARGIN, height, caption, drawn)


def _legend(lives: "Sequence[Explanation]") -> Iterator[str]:
    """Name the colours that are used."""
    x = float(MARGIN)
    for owner in OWNERS:
        if any(by_owner(life)[owner] for life in lives):
            place = f'x="{x:.0f}" y="{MARGIN + 22}" width="10" height="10"'
            yield f"<rect {fill(COLOURS[owner])} {place}/>"
            yield text(round(x) + 15, MARGIN + 31, owner)
            x += 34 + LETTER * len(owner)


def _axis(longest_ps: int, foot: int) -> Iterator[str]:
    step_ps = _step(longest_ps)
    for time_ps in range(0, longest_ps + 1, step_ps):
        x = _across(time_ps, longest_ps)
        yield f'<path {stroke("line")} d="M{x:.1f} {HEAD - 6}V{foot}"/>'
        unit = " ns" if time_ps + step_ps > longest_ps else ""
        yield text(
            round(x), foot + 16, f"{time_ps / 1000:,g}{unit}", anchor="middle", colour="muted"
        )


def _step(longest_ps: int) -> int:
    """Return the time between two numbers at the axis: a round one."""
    step = 1000
    while True:
        for times in STEPS:
            if longest_ps <= ABOUT_TICKS * step * times:
                return step * times
        step *= 10


def _across(time_ps: float, longest_ps: int) -> float:
    return MARGIN + NAMES + AXIS * time_ps / longest_ps


def _band(life: "Explanation", top: int, longest_ps: int) -> Iterator[str]:
    yield text(MARGIN, top + 13, life.document["interface"], is_bold=True)
    yield text(MARGIN, top + 13 + LANE, f"{life.latency_ps / 1000:,.1f} ns", colour="muted")
    begin_ps = 0
    for owner, time_ps in by_owner(life).items():
        told = f"{owner}: {time_ps / 1000:,.1f} ns"
        yield _bar(begin_ps, time_ps, longest_ps, top, STRIP - 4, COLOURS[owner], told)
        begin_ps += time_ps
    for count, (part, _) in enumerate(LANES):
        y = top + STRIP + LANE * count
        edge = MARGIN + NAMES
        yield text(edge - 8, y + 11, part, anchor="end", colour="muted")
        yield f'<path {stroke("line")} d="M{edge} {y + LANE // 2}h{AXIS}" stroke-width="0.5"/>'
    for row in life.document["transactions"]:
        yield from _happening(row, top, longest_ps)
    yield from _crossings(life.document["transactions"], top, longest_ps)


def _happening(row: dict[str, Any], top: int, longest_ps: int) -> Iterator[str]:
    """Draw a transaction, or an instant of the program."""
    agent = row["agent"]
    if agent == "network" or agent in PASSED_ON:
        return
    own = AGENTS[agent]
    part = ON_LANE.get(own, own)
    lane = next((n for n, each in enumerate(LANES) if each == (part, row["node"])), None)
    if lane is None:
        return
    y = top + STRIP + LANE * lane + (LANE - BAR) // 2
    told = f"{row['time_ps'] / 1000:,.1f} ns: {agent} {row['what']}"
    if row["kind"] == "program":
        x = _across(row["time_ps"], longest_ps)
        yield (
            f'<rect {fill("text")} x="{x - 1:.1f}" y="{y - 2}" width="2" height="{BAR + 4}">'
            f"<title>{html.escape(told)}</title></rect>"
        )
    elif row.get("time_on_bus_ps"):
        last = f", {row['time_on_bus_ps'] / 1000:,.1f} ns"
        colour, pale = COLOURS[OF_LANE[lane]], not row["critical"]
        yield _bar(
            row["time_ps"], row["time_on_bus_ps"], longest_ps, y, BAR, colour, told + last, pale
        )


def _crossings(rows: Sequence[dict[str, Any]], top: int, longest_ps: int) -> Iterator[str]:
    """Draw what crosses the network, from its departure to its arrival."""
    y = top + STRIP + LANE * LANES.index(("network", 0)) + (LANE - BAR) // 2
    departed: dict[str, int] = {}
    for row in rows:
        name, _, deed = row["what"].rpartition(" ")
        if row["agent"] == "network" and deed == "departs":
            departed[name] = row["time_ps"]
        elif row["agent"] == "network" and name in departed:
            begin_ps = departed.pop(name)
            time_ps = row["time_ps"] - begin_ps
            told = f"{begin_ps / 1000:,.1f} ns: {name}, {time_ps / 1000:,.1f} ns"
            yield _bar(
                begin_ps, time_ps, longest_ps, y, BAR, COLOURS["network"], told, not row["critical"]
            )


def _bar(
    begin_ps: int, time_ps: int, longest_ps: int, y: int, height: int, colour: str, told: str,
    is_pale: bool = False,
) -> str:  # fmt: skip
    """Draw the part of a time that is on the axis, at least so wide that it is seen."""
    ends_ps = (min(max(each, 0), longest_ps) for each in (begin_ps, begin_ps + time_ps))
    x, end = (_across(each, longest_ps) for each in ends_ps)
    width = max(end - x, LEAST) if time_ps else 0
    opacity = ' opacity="0.35"' if is_pale else ""
    return (
        f'<rect {fill(colour)} x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}"{opacity}>'
        f"<title>{html.escape(told)}</title></rect>"
    )
