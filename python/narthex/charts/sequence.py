"""A message's life as a picture: the sequence diagram of a report's page, as SVG.

    ns      processor   memory   interface   network   interface   ...
    0.0         o                                                     the program calls send
    121.5       ────────────────────►                                 reads send queue

Time runs down, one row a happening, and lanes are the parts of both nodes. An arrow
points where data go; a broken one carries an address only, a pale one is beside the
critical path. Colours are those of the palette: in the light scheme wherever an SVG is
shown, in the reader's where a browser shows it.
"""

import html
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from narthex.charts import palette

if TYPE_CHECKING:
    from narthex.report.lives import Diagram, Step

MARGIN, TIMES, LANE, ROW = 16, 64, 84, 22
"""Points around the picture, of the column of times, of a lane, and of a row."""
LETTER = 6.2
"""Points of a character, about."""
HEAD = 46
"""Points above the first row."""
COLOURS = ("text", "muted", "line", "measured", "raised", "surface")


def svg(diagram: "Diagram") -> str:
    """Return the picture of a life's diagram, as SVG."""
    steps = diagram.steps
    lanes = MARGIN + TIMES
    words = lanes + LANE * len(diagram.lanes)
    width = round(words + LETTER * max(len(_told(step)) for step in steps) + MARGIN)
    foot = MARGIN + HEAD + ROW * len(steps)
    drawn = [*_lanes(diagram, lanes, foot), *_rows(steps, lanes, words)]
    label = html.escape(f"{diagram.caption}: {len(steps)} steps", quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}"'
        f' viewBox="0 0 {width} {foot + MARGIN}" width="{width}" height="{foot + MARGIN}"'
        f' font-family="Helvetica, Arial, sans-serif" font-size="12">'
        f"<style>{_dark()}</style>"
        f'<rect class="surface" width="100%" height="100%" fill="{palette.LIGHT["surface"]}"/>'
        f"{_arrow_heads()}{''.join(drawn)}</svg>"
    )


def _lanes(diagram: "Diagram", left: int, foot: int) -> Iterator[str]:
    yield _text(left - 8, MARGIN + 14, "ns", anchor="end", colour="muted")
    for count, name in enumerate(diagram.lanes):
        x = left + LANE * count + LANE // 2
        what, _, node = name.rpartition(" ")
        yield _text(x, MARGIN + 14, what or name, anchor="middle", is_bold=True)
        if what:
            yield _text(x, MARGIN + 30, f"{diagram.end} {node}", anchor="middle", colour="muted")
        top = MARGIN + HEAD - 8
        yield f'<path class="line-stroke" d="M{x} {top}V{foot}" stroke="{palette.LIGHT["line"]}"/>'


def _rows(steps: "Sequence[Step]", left: int, words: int) -> Iterator[str]:
    for count, step in enumerate(steps):
        y = MARGIN + HEAD + ROW * count + ROW // 2
        colour = "muted" if step.is_beside else "text"
        yield _text(left - 8, y + 4, step.time, anchor="end", colour=colour)
        yield _text(words, y + 4, _told(step), colour=colour)
        yield f'<g opacity="{0.45 if step.is_beside else 1}">{_mark(step, left, y)}</g>'


def _mark(step: "Step", left: int, y: int) -> str:
    """Draw what happens: a dot in one lane, an arrow between two."""
    start, end = (left + LANE * lane + LANE // 2 for lane in (step.source, step.target))
    colour = palette.LIGHT["measured"]
    if start == end:
        return f'<circle class="measured" cx="{start}" cy="{y}" r="4.5" fill="{colour}"/>'
    dashes = ' stroke-dasharray="5 4"' if step.is_broken else ""
    return (
        f'<path class="measured-stroke" d="M{start} {y}H{end}" stroke="{colour}"'
        f' stroke-width="2"{dashes} marker-end="url(#head)"/>'
    )


def _arrow_heads() -> str:
    return (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="5"'
        ' markerHeight="5" orient="auto"><path class="measured" d="M0 0L8 4L0 8z"'
        f' fill="{palette.LIGHT["measured"]}"/></marker></defs>'
    )


def _told(step: "Step") -> str:
    return f"{step.who.partition(', ')[2]}: {step.what}"


def _text(
    x: int,
    y: int,
    words: str,
    *,
    anchor: str = "start",
    colour: str = "text",
    is_bold: bool = False,
) -> str:
    weight = ' font-weight="bold"' if is_bold else ""
    place = f'x="{x}" y="{y}" text-anchor="{anchor}" fill="{palette.LIGHT[colour]}"{weight}'
    return f'<text class="{colour}" {place}>{html.escape(words)}</text>'


def _dark() -> str:
    """Return the dark scheme, which a browser puts over what the elements say themselves."""
    rules = [f".{name}{{fill:{palette.DARK[name]}}}" for name in COLOURS]
    rules += [f".{name}-stroke{{stroke:{palette.DARK[name]}}}" for name in ("line", "measured")]
    return f"@media (prefers-color-scheme: dark){{{''.join(rules)}}}"
