"""A network as a drawing: switches where their topology has them, links by how busy they were.

Places follow from the names of switches: those of a mesh, torus or HyperX stand in a grid (a third
dimension is further grids beside it, a fourth below it), those of a tree in levels, those of a
dragonfly in circles of their groups; all others stand in one circle. A link is two curves, one for
each direction, each to the right of its way.
"""

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from narthex.charts.looks import Rows, Spec

if TYPE_CHECKING:
    from narthex.extras import altair as alt

Place = tuple[float, float]

GRID = re.compile(r"switch \((\d+(?:, \d+)*)\)")
LEVEL = re.compile(r"switch (\d+) of level (\d+)")
GROUP = re.compile(r"switch (\d+) of group (\d+)")
NODE = re.compile(r"(?:node|place) (\d+)")

BEND = 0.15
"""How far the point to which a curve is drawn is from a straight line, in parts of its length."""
NODE_DISTANCE = 0.32
"""From a node to its switch, where switches are 1 apart."""
SPREAD = math.pi * 0.75
"""The angle over which the nodes of a switch are spread."""
GAP = 1.0
"""Between grids that are one dimension further."""
MARGIN = 0.6
POINTS_EACH = 72
"""Of the drawing's height, between neighbours of a grid."""
WIDTH = 640
LARGEST_HEIGHT = 560


STATE = "state"
"""The number of the state that a drawing shows, as its slider has it."""


def places_of(switches: Sequence[str]) -> dict[str, Place]:
    """Return where each switch stands, one unit from its neighbours."""
    for pattern, placed in ((GRID, _grid), (LEVEL, _levels), (GROUP, _groups)):
        found = [pattern.fullmatch(name) for name in switches]
        if found and all(found):
            numbers = [tuple(map(int, re.findall(r"\d+", name))) for name in switches]
            return dict(zip(switches, placed(numbers), strict=True))
    return dict(zip(switches, _circle(len(switches)), strict=True))


def _grid(places: list[tuple[int, ...]]) -> list[Place]:
    lengths = [max(place[axis] for place in places) + 1 for axis in range(len(places[0]))]
    steps: list[float] = []
    for axis, _ in enumerate(lengths):
        before = axis - 2
        steps.append(1.0 if before < 0 else steps[before] * lengths[before] + GAP)
    return [
        (
            sum(at * steps[axis] for axis, at in enumerate(place) if axis % 2 == 0),
            -sum(at * steps[axis] for axis, at in enumerate(place) if axis % 2 == 1),
        )
        for place in places
    ]


def _levels(places: list[tuple[int, ...]]) -> list[Place]:
    counts: dict[int, int] = {}
    for _, level in places:
        counts[level] = counts.get(level, 0) + 1
    width = max(counts.values())
    return [((number + 0.5) * width / counts[level], 1.6 * level) for number, level in places]


def _groups(places: list[tuple[int, ...]]) -> list[Place]:
    groups = max(group for _, group in places) + 1
    each = max(number for number, _ in places) + 1
    inner = _radius(each)
    outer = max(_radius(groups) * (2 * inner + 1), 0.01) if groups > 1 else 0.0
    return [
        (
            outer * math.sin(2 * math.pi * group / groups)
            + inner * math.sin(2 * math.pi * (number / each + group / groups)),
            outer * math.cos(2 * math.pi * group / groups)
            + inner * math.cos(2 * math.pi * (number / each + group / groups)),
        )
        for number, group in places
    ]


def _circle(count: int) -> list[Place]:
    radius = _radius(count)
    turns = (2 * math.pi * place / max(count, 1) for place in range(count))
    return [(radius * math.sin(turn), radius * math.cos(turn)) for turn in turns]


def _radius(count: int) -> float:
    """Return the radius of a circle on which so many places are 1 apart."""
    return 0.0 if count < 2 else 0.5 / math.sin(math.pi / count)


def _nodes(links: Iterable[dict[str, Any]], switches: dict[str, Place]) -> dict[str, Place]:
    """Return where each node stands: around its switch."""
    of_switch: dict[str, list[str]] = {}
    for link in links:
        for node, switch in ((link["from"], link["to"]), (link["to"], link["from"])):
            attached = of_switch.setdefault(switch, []) if switch in switches else []
            if NODE.fullmatch(node) and node not in attached:
                attached.append(node)
    middle_x, middle_y = (
        sum(place[axis] for place in switches.values()) / len(switches) for axis in (0, 1)
    )

    def outward(switch: str) -> float:
        """Return the direction in which nothing else stands."""
        x, y = switches[switch]
        if LEVEL.fullmatch(switch):
            return -math.pi / 2
        if GRID.fullmatch(switch):
            return -math.pi * 3 / 4
        return math.atan2(y - middle_y, x - middle_x)

    places = {}
    for switch, nodes in of_switch.items():
        x, y = switches[switch]
        for place, node in enumerate(nodes):
            turn = outward(switch) + SPREAD * ((place + 1) / (len(nodes) + 1) - 0.5)
            x_away, y_away = NODE_DISTANCE * math.cos(turn), NODE_DISTANCE * math.sin(turn)
            places[node] = (x + x_away, y + y_away)
    return places


def drawn(links: list[dict[str, Any]], unit: str, states: Sequence[str] = ()) -> Spec:
    """Draw a network of `links`, each with `from`, `to` and `value`, as a specification.

    The colour of a link is stronger for a larger value; `unit` says what it is. With `states` a
    link has `values` instead, one for each of them; where there are several a slider chooses.
    """
    from narthex.charts.curves import shades
    from narthex.charts.looks import finish
    from narthex.extras import altair as alt

    if len(states) == 1:
        links = [{**link, "value": link["values"][0]} for link in links]
    ends = dict.fromkeys(end for link in links for end in (link["from"], link["to"]))
    switches = places_of([end for end in ends if not NODE.fullmatch(end)])
    places = switches | _nodes(links, switches)
    curves = [point for number, link in enumerate(links) for point in _curve(number, link, places)]
    dots = [
        {"name": name, "x": x, "y": y, "is": "node" if NODE.fullmatch(name) else "switch"}
        for name, (x, y) in places.items()
    ]
    x, y, height = _axes(list(places.values()))
    each = [value for link in links for value in link.get("values", [link.get("value")])]
    shade, told = shades(each)
    tooltip = [alt.Tooltip("from:N"), alt.Tooltip("to:N")]
    tooltip.append(alt.Tooltip("value:Q", title=unit, format=",.3~f"))
    lines = (
        alt.Chart(alt.Data(values=curves))
        .mark_line(interpolate="basis", color="var(--measured)", strokeWidth=2.5)
        .encode(
            x=x,
            y=y,
            detail="link:N",
            order="step:O",
            opacity=alt.Opacity("value:Q", title=unit, scale=shade, legend=told),
            tooltip=tooltip,
        )
    )
    dot = alt.Chart(alt.Data(values=dots)).encode(x=x, y=y, tooltip=alt.Tooltip("name:N"))
    nodes = dot.transform_filter("datum.is == 'node'").mark_point(
        size=14, filled=True, color="var(--muted)", opacity=1
    )
    boxes = dot.transform_filter("datum.is == 'switch'").mark_square(
        size=70, color="var(--text)", opacity=1
    )
    if len(states) > 1:
        shown = alt.param(
            name=STATE,
            value=0,
            bind=alt.binding_range(min=0, max=len(states) - 1, step=1, name=" "),
        )
        lines = lines.transform_calculate(value=f"datum.values[{STATE}]").add_params(shown)
        title = alt.Title(alt.ExprRef(f"{list(states)}[{STATE}]"), anchor="start")
        chart = alt.layer(lines, nodes, boxes).properties(height=height, title=title)
    else:
        chart = alt.layer(lines, nodes, boxes).properties(height=height)
    return finish(chart)


def _axes(places: list[Place]) -> tuple["alt.X", "alt.Y", float]:
    """Return axes of the same scale in which all places are seen, and the height of the drawing."""
    from narthex.extras import altair as alt

    lows, highs = ([end(place[axis] for place in places) for axis in (0, 1)] for end in (min, max))
    half_x, half_y = ((high - low) / 2 + MARGIN for low, high in zip(lows, highs, strict=True))
    height = min(2 * half_y * POINTS_EACH, WIDTH * half_y / half_x, LARGEST_HEIGHT)
    # The page decides on the width.
    half = f"max({half_y}, {half_x} * height / width)"
    spans = (f"{half} * width / height", half)
    axes = []
    for kind, name, low, high, span in zip((alt.X, alt.Y), "xy", lows, highs, spans, strict=True):
        middle = (low + high) / 2
        ends = [{"expr": f"{middle} {sign} {span}"} for sign in "-+"]
        scale = alt.Scale(domainMin=ends[0], domainMax=ends[1], zero=False, nice=False)
        axes.append(kind(f"{name}:Q", axis=None, scale=scale))
    return axes[0], axes[1], height


def _curve(number: int, link: dict[str, Any], places: dict[str, Place]) -> Rows:
    """Return the points of a link: its ends, and its middle to the right of the way."""
    (x, y), (to_x, to_y) = places[link["from"]], places[link["to"]]
    middle = (
        (x + to_x) / 2 + BEND * (to_y - y),
        (y + to_y) / 2 - BEND * (to_x - x),
    )
    told = {"link": number, **{key: link[key] for key in link if key != "step"}}
    return [
        {**told, "step": step, "x": at_x, "y": at_y}
        for step, (at_x, at_y) in enumerate(((x, y), middle, (to_x, to_y)))
    ]
