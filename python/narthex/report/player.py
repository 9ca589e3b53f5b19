"""A message's life played over the picture of its two nodes.

    step of the life ──► parts and interconnects that it takes, by their names in the picture
      (lives.Step)  └──► the way between them, as a line of SVG         (charts.diagram.Layout)

The page's script (templates/player.js) marks the parts of one step after the other and
lets a dot go the way; the words of a step stand below. Without the script the pictures
stand still, and the diagram below them says the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from narthex import explanation
from narthex.charts import diagram

if TYPE_CHECKING:
    from narthex.report.lives import Step

BUSES = {"I/O bus": ["io_bus"], "private bus": ["cache_bus", "register_file"]}
"""Interconnects that observers call otherwise than the machine's file does; of several processors'
paths each has a number behind its name."""


@dataclass(frozen=True)
class Player:
    """The pictures of the nodes, and what happens on them one after the other."""

    caption: str
    pictures: list[tuple[str, str]]
    """A title and the picture of each node."""
    steps: list[dict[str, Any]]
    """For the script: `time`, `who`, `what`, `meaning`, `node`, `marked`, `way`, ..."""
    kind: str = "player"


def player(document: dict[str, Any], steps: "Sequence[Step]") -> Player:
    """Return the player of an explained life."""
    machine, interface = document["machine"], document["interface"]
    picture = diagram.svg(machine, interface)
    placed = diagram.layout(machine, interface)
    sender, receiver = explanation.places(document)
    return Player(
        f"{explanation.title(document)}, step by step",
        [(f"Node {sender} sends", picture), (f"Node {receiver} receives", picture)],
        [_played(step, placed) for step in steps],
    )


def _played(step: "Step", placed: diagram.Layout) -> dict[str, Any]:
    bus = _bar(step.bus, placed)
    source, target = (_place(end, bus, placed) for end in step.ends)
    bars = {name for name in (source, target, bus) if isinstance(name, str)}
    parts = {number for number in (source, target) if isinstance(number, int)}
    return {
        "time": step.time,
        "who": step.who,
        "what": step.what,
        "meaning": step.meaning,
        "node": step.node,
        "marked": [*map(diagram.bar_name, sorted(bars)), *map(diagram.part_name, sorted(parts))],
        "way": _line(placed.route(source, target)) if source != target else "",
        "isBroken": step.is_broken,
        "isBeside": step.is_beside,
    }


def _place(end: str, bus: str | None, placed: diagram.Layout) -> int | str:
    """Return where an end of a way is: the network, or a part."""
    if end == "network":
        return diagram.NETWORK
    # A machine whose picture has no such part has it within its interface.
    found = next(_known(end, bus, placed), None)
    return diagram.NETWORK if found is None else found


def _known(end: str, bus: str | None, placed: diagram.Layout) -> Iterator[int]:
    for role in (end, "interface"):
        if (number := placed.part(role, bus)) is not None:
            yield number


def _bar(bus: str | None, placed: diagram.Layout) -> str | None:
    """Return the interconnect that observers call so."""
    if bus is None:
        return None
    if bus == "memory bus":
        return next(iter(placed.bars))
    names = BUSES.get(bus.rstrip(" 0123456789"), [bus.replace(" ", "_")])
    return next((name for name in names if name in placed.bars), None)


def _line(corners: Sequence[tuple[int, int]]) -> str:
    return "M" + "L".join(f"{x} {y}" for x, y in corners) if corners else ""
