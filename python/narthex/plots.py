"""Charts for notebooks and files: one call on a result, one chart.

The charts are those of the report's pages. There, colours are variables of the
page's style sheet and a chart is as wide as its place; here a chart stands by
itself: it gets the colours of the light scheme, a width, a title, and its
description for those who do not see it.

    part of a page ── standalone ──> chart ── .save("x.html", inline=True), .save("x.svg")
    (title, words, specification)          └─ shows itself in a notebook
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narthex.report.charts import LONG_NAME
from narthex.validation.plots import FONT

if TYPE_CHECKING:
    import altair

    from narthex.report.parts import Chart

STYLE = Path(__file__).parent / "report" / "templates" / "style.css"

WIDTH = 640
"""Of a chart by itself, in points."""

PANELS = 2
"""Of a chart with panels, side by side."""

TITLE = {"anchor": "start", "offset": 12}

_SCHEME = re.compile(r":root \{(.*?)\}", re.DOTALL)
_COLOUR = re.compile(r"(--[\w-]+):\s*(#\w+)")
_VARIABLE = re.compile(r"var\((--[\w-]+)\)")


def standalone(part: "Chart", subtitle: str) -> "altair.TopLevelMixin":
    """Return a page's chart as one that needs no page; the subtitle says of what it is."""
    import altair as alt

    text = _VARIABLE.sub(lambda found: _colours()[found[1]], json.dumps(part.specification))
    specification: dict[str, Any] = json.loads(text)
    del specification["autosize"]
    if specification.get("width") == "container":
        specification["width"] = WIDTH
    if "facet" in specification:
        specification["columns"] = PANELS
    specification["config"]["axisY"]["labelLimit"] = LONG_NAME
    specification["config"] |= {"background": _colours()["--surface"], "font": FONT}
    specification["title"] = {"text": part.title, "subtitle": subtitle, **TITLE}
    specification["description"] = f"{part.title}; {subtitle}. {part.description}"
    return alt.Chart.from_dict(specification)


@cache
def _colours() -> dict[str, str]:
    """Return the colours of the light scheme, the first in the style sheet, by name."""
    scheme = _SCHEME.search(STYLE.read_text(encoding="utf-8"))
    assert scheme, "the style sheet begins with its colours"
    return dict(_COLOUR.findall(scheme[1]))
