"""Charts without a page: in notebooks, and in SVG and PNG files.

On a page, colours are variables of the style sheet and a chart is as wide as its
place; here a chart stands by itself: it gets the colours of the light scheme, a
width, a title, and its description for those who do not see it.

    part of a page ── standalone ──> chart ── .save("x.html", inline=True), .save("x.svg")
    (title, words, specification)          └─ shows itself in a notebook
"""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from narthex.charts import palette
from narthex.charts.looks import LONG_NAME, TICKS

if TYPE_CHECKING:
    import altair

    from narthex.report.parts import Chart

WIDTH = 640
"""Of a chart by itself, in points."""

FIXED_TICKS = 7
"""Values at its axis, about."""

PANELS, PANEL_WIDTH = 2, 260
"""Of a chart with panels: how many are side by side, and the points of each."""

LEGEND_COLUMNS, LEGEND_WIDTH = 4, 610
"""Of its legend: columns at the most, and points, so that it is about as wide as the panels."""

LETTER, SYMBOL = 6, 24
"""Points of a letter of a legend, and of the symbol before a name."""

LINE = 90
"""Characters of a line below a title."""

FONT = "Helvetica, Arial, sans-serif"
"""What text is measured with where no browser draws, so that none is cut off."""

TITLE = {"anchor": "start", "offset": 12}


def standalone(part: "Chart", subtitle: str) -> "altair.TopLevelMixin":
    """Return a page's chart as one that needs no page; the subtitle says of what it is."""
    from narthex.extras import altair as alt

    specification = _by_itself(part)
    specification["title"] = {"text": part.title, "subtitle": subtitle, **TITLE}
    specification["description"] = f"{part.title}; {subtitle}. {part.description}"
    return alt.Chart.from_dict(specification)


def together(parts: Sequence["Chart"], title: str) -> "altair.VConcatChart":
    """Return charts of a page below each other, as one that needs no page."""
    from narthex.extras import altair as alt

    specifications = [_by_itself(part) for part in parts]
    config = specifications[0]["config"]
    below = []
    for part, specification in zip(parts, map(_still, specifications), strict=True):
        lines = textwrap.wrap(part.description, LINE)
        specification["title"] = {"text": part.title, "subtitle": lines, **TITLE}
        below.append(alt.Chart.from_dict(_without(specification, "$schema", "config")))
    told = "; ".join([title, *(f"{each.title}: {each.description}" for each in parts)])
    made = alt.vconcat(*below, title={"text": title, "anchor": "start"}, config=config)
    return made.properties(description=told).resolve_scale(color="independent", shape="independent")


def _by_itself(part: "Chart") -> dict[str, Any]:
    """Return a drawing in the light scheme's colours, with a width of its own."""
    specification = palette.in_light(_without(part.specification, "autosize", "usermeta"))
    if specification.get("width") == "container":
        specification["width"] = WIDTH
    if "facet" in specification and "width" not in specification["spec"]:
        specification["columns"] = PANELS
        specification["spec"]["width"] = PANEL_WIDTH
        columns = _legend_columns(specification["spec"])
        specification["config"]["legend"] |= {"columns": columns, "labelLimit": 0}
    specification["config"]["axisY"]["labelLimit"] = LONG_NAME
    specification["config"] |= {"background": palette.LIGHT["surface"], "font": FONT}
    return specification


def _legend_columns(panel: dict[str, Any]) -> int:
    """Return how many columns a legend has in which no name is cut."""
    encodings = [each.get("encoding", {}) for each in (panel, *panel.get("layer", ()))]
    scales = [encoding.get("color", {}).get("scale") or {} for encoding in encodings]
    longest = max((len(name) for scale in scales for name in scale.get("domain", ())), default=0)
    return max(1, min(LEGEND_COLUMNS, LEGEND_WIDTH // (longest * LETTER + SYMBOL)))


def _still(drawn: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a drawing in which nothing can be pointed out: Vega has names once in a chart.

    Nor has a chart of several a `width` that an axis could ask for.
    """
    if drawn == TICKS:
        return FIXED_TICKS
    if isinstance(drawn, list):
        return [_still(each) for each in drawn]
    if not isinstance(drawn, dict):
        return drawn
    if drawn.get("condition", {}).get("param"):
        return {"value": drawn["condition"]["value"]}
    return {key: _still(value) for key, value in drawn.items() if key != "params"}


def _without(table: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}
