"""A message's life as a picture: the sequence diagram of a report's page, as SVG.

    ns      processor   memory   interface   network   interface   ...
    0.0         o                                                     the program calls send
    121.5       ────────────────────►                                 reads send queue

Time runs down, one row a happening, and lanes are the parts of both nodes. An arrow
points where data go; a broken one carries an address only, a pale one is beside the
critical path. Colours are those of the palette: in the light scheme wherever an SVG is
shown, in the reader's where a browser shows it.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from narthex.charts.svg import document, fill, stroke, text

if TYPE_CHECKING:
    from narthex.report.lives import Diagram, Step

MARGIN, TIMES, LANE, ROW = 16, 64, 84, 22
"""Points around the picture, of the column of times, of a lane, and of a row."""
LETTER = 6.2
"""Points of a character, about."""
HEAD = 46
"""Points above the first row."""


def svg(diagram: "Diagram") -> str:
    """Return the picture of a life's diagram, as SVG."""
    steps = diagram.steps
    lanes = MARGIN + TIMES
    words = lanes + LANE * len(diagram.lanes)
    width = round(words + LETTER * max(len(_told(step)) for step in steps) + MARGIN)
    foot = MARGIN + HEAD + ROW * len(steps)
    paper = f'<rect {fill("surface")} width="100%" height="100%"/>'
    drawn = [paper, _arrow_heads(), *_lanes(diagram, lanes, foot), *_rows(steps, lanes, words)]
    return document(width, foot + MARGIN, f"{diagram.caption}: {len(steps)} steps", drawn)


def _lanes(diagram: "Diagram", left: int, foot: int) -> Iterator[str]:
    yield text(left - 8, MARGIN + 14, "ns", anchor="end", colour="muted")
    for count, name in enumerate(diagram.lanes):
        x = left + LANE * count + LANE // 2
        what, _, node = name.rpartition(" ")
        yield text(x, MARGIN + 14, what or name, anchor="middle", is_bold=True)
        if what:
            yield text(x, MARGIN + 30, f"{diagram.end} {node}", anchor="middle", colour="muted")
        top = MARGIN + HEAD - 8
        yield f'<path {stroke("line")} d="M{x} {top}V{foot}"/>'


def _rows(steps: "Sequence[Step]", left: int, words: int) -> Iterator[str]:
    for count, step in enumerate(steps):
        y = MARGIN + HEAD + ROW * count + ROW // 2
        colour = "muted" if step.is_beside else "text"
        yield text(left - 8, y + 4, step.time, anchor="end", colour=colour)
        yield text(words, y + 4, _told(step), colour=colour)
        yield f'<g opacity="{0.45 if step.is_beside else 1}">{_mark(step, left, y)}</g>'


def _mark(step: "Step", left: int, y: int) -> str:
    """Draw what happens: a dot in one lane, an arrow between two."""
    start, end = (left + LANE * lane + LANE // 2 for lane in (step.source, step.target))
    if start == end:
        return f'<circle {fill("measured")} cx="{start}" cy="{y}" r="4.5"/>'
    dashes = ' stroke-dasharray="5 4"' if step.is_broken else ""
    return (
        f'<path {stroke("measured")} d="M{start} {y}H{end}" stroke-width="2"{dashes}'
        f' marker-end="url(#head)"/>'
    )


def _arrow_heads() -> str:
    return (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="5"'
        f' markerHeight="5" orient="auto"><path {fill("measured")} d="M0 0L8 4L0 8z"/>'
        "</marker></defs>"
    )


def _told(step: "Step") -> str:
    return f"{step.who.partition(', ')[2]}: {step.what}"
