"""What our own drawings are written with: SVG in the colours of the palette.

    fill("surface"), stroke("line")  ──►  class="svg-surface" fill="#ffffff"
    document(width, height, ...)     ──►  <svg> with the dark scheme of what is in it

A colour is named by its meaning. An element says that of the light scheme itself, for
programs that know no style sheets; a rule gives it the dark one's where a browser shows
it to a reader who has chosen that.
"""

import html
import re
from collections.abc import Iterable
from typing import Literal

from narthex.charts import palette

FONT = "Helvetica, Arial, sans-serif"

Anchor = Literal["start", "middle", "end"]

_CLASSES = re.compile(r'class="([^"]*)"')


def fill(colour: str, stroked: str | None = None) -> str:
    """Return the attributes of what is filled with a colour, and perhaps has a line around."""
    stroke_class = f" svg-{stroked}-stroke" if stroked else ""
    around = f' stroke="{palette.LIGHT[stroked]}"' if stroked else ""
    return f'class="svg-{colour}{stroke_class}" fill="{palette.LIGHT[colour]}"{around}'


def stroke(colour: str) -> str:
    """Return the attributes of a line of a colour."""
    return f'class="svg-{colour}-stroke" stroke="{palette.LIGHT[colour]}" fill="none"'


def text(
    x: int,
    y: int,
    words: str,
    *,
    anchor: Anchor = "start",
    colour: str = "text",
    is_bold: bool = False,
) -> str:
    """Return words at a place, escaped."""
    weight = ' font-weight="bold"' if is_bold else ""
    anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text {fill(colour)} x="{x}" y="{y}"{anchored}{weight}>{html.escape(words)}</text>'


def document(width: int, height: int, label: str, drawn: Iterable[str]) -> str:
    """Return a picture that says `label` to those who do not see it."""
    inside = "".join(drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img"'
        f' aria-label="{html.escape(label, quote=True)}" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" font-family="{FONT}" font-size="12">'
        f"<style>{_dark(inside)}</style>{inside}</svg>"
    )


def _dark(drawn: str) -> str:
    """Return the dark scheme of the colours that are used."""
    rules = []
    for each in sorted({each for found in _CLASSES.findall(drawn) for each in found.split()}):
        colour = each.removeprefix("svg-")
        kind = "stroke" if colour.endswith("-stroke") else "fill"
        rules.append(f".{each}{{{kind}:{palette.DARK[colour.removesuffix('-stroke')]}}}")
    return f"@media (prefers-color-scheme: dark){{{''.join(rules)}}}"
