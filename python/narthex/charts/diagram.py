"""A machine as a picture: a node's parts, what carries transactions between them, the network.

    ┌───────────┐
    │ processor │              a column for each part, so that no line crosses a box
    │ caches    │
    └─────┬─────┘
    ══════╪═══════════════╪════════════╪══ bus: 250MHz, 32B
                    ┌─────┴─────┐ ┌────┴──────┐
                    │  memory   │ │ interface │
                    └───────────┘ └────┬──────┘
    ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─┴─ ─ ─  network: ideal, 40ns

It is made of the machine's resolved file alone. Processors stand above their
interconnect, all else below its first; a part on two of them has a line to both.
Colours are those of the palette: in the light scheme wherever an SVG is shown, in
the reader's where a browser shows it.

Parts and interconnects are groups that a page finds by name (`data-part`), and
`Layout.route` says how to get from one to another: what a player of lives needs
(`report.player`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from narthex.charts.svg import document, fill, stroke, text

NARROWEST, GAP, MARGIN = 120, 20, 16
"""Points of a part, at least, between two parts, and around the picture."""
LETTER = 6.4
"""Points of a character, about."""
LINE, PADDING = 16, 10
"""Points of a line of text, and of a box around its lines."""
BAR, SPACE = 26, 22
"""Points of an interconnect, and between it and what is on it."""
LANE = 22
"""Where in an interconnect a way goes along: below its words."""

SHOWN = (
    "kind", "clock", "size", "associativity", "block", "width", "access_time", "latency",
    "latency_cycles", "hop_time",
)  # fmt: skip
"""Parameters that say most of a part; as many as fit are written."""
MOST_SHOWN = 3

WORDS = {"associativity": "{}-way", "block": "{} blocks", "latency_cycles": "{} cycles"}
"""How a value is written that does not say by itself what it is."""


@dataclass
class Part:
    """A box: its heading and lines, and the interconnects that it is on."""

    name: str
    lines: list[str]
    on: list[str]
    role: str
    """What it does in a message's life: `processor`, `firmware`, `memory`, `dma`, ..."""

    @property
    def is_processor(self) -> bool:
        """Whether it stands above its interconnect."""
        return self.role in ("processor", "firmware")

    @property
    def colour(self) -> str:
        """The colour of the line around it."""
        return "accent" if self.role == "interface" else "measured" if self.is_processor else "line"

    @property
    def width(self) -> int:
        """Points from side to side: all of its lines are inside."""
        longest = max(1.15 * len(self.name), *map(len, self.lines), 0)
        return max(NARROWEST, round(LETTER * longest) + 2 * PADDING)

    @property
    def height(self) -> int:
        """Points from its top to its foot."""
        return LINE * (1 + len(self.lines)) + 2 * PADDING


PLACE = re.compile(r"(?: on |@)([\w-]+)")
PLACES = {"io-bus": "io_bus", "cache-bus": "cache_bus", "register": "register_file"}
"""Where an interface's name may say that it is (interfaces/src/attachment.rs)."""

NETWORK = ""
"""The name of the network among the interconnects."""


@dataclass(frozen=True)
class Wire:
    """A line between a part and an interconnect."""

    part: int
    bar: str
    x: int
    edge: int
    """The height of the part's end."""
    end: int
    """That of the interconnect's."""


@dataclass
class Layout:
    """Where everything is."""

    parts: list[tuple[Part, int, int]] = field(default_factory=list)
    """With the left and top of each."""
    bars: dict[str, int] = field(default_factory=dict)
    """The tops of interconnects."""
    wires: list[Wire] = field(default_factory=list)
    height: int = MARGIN
    full: int = 0
    """Points from the first part's left to the last one's right."""

    def part(self, role: str, bar: str | None = None) -> int | None:
        """Return the place of the first part with a role, rather of one on an interconnect."""
        having = [place for place, (part, _, _) in enumerate(self.parts) if part.role == role]
        on_bar = [place for place in having if bar in self.parts[place][0].on]
        return next(iter([*on_bar, *having]), None)

    def route(self, source: int | str, target: int | str) -> list[tuple[int, int]]:
        """Return the corners of the shortest way between parts, or to or from an interconnect.

        Parts are named by their places, interconnects by their names.
        """
        ways: dict[int | str, list[Wire]] = {source: []}
        ahead = [source]
        while ahead and target not in ways:
            here = ahead.pop(0)
            for wire in self.wires:
                there = {wire.part: wire.bar, wire.bar: wire.part}.get(here)
                if there is not None and there not in ways:
                    ways[there] = [*ways[here], wire]
                    ahead.append(there)
        corners: list[tuple[int, int]] = []
        here = source
        for wire in ways.get(target, []):
            at_part, in_bar = (wire.x, wire.edge), (wire.x, self.bars[wire.bar] + LANE)
            corners += [at_part, in_bar] if here == wire.part else [in_bar, at_part]
            here = wire.bar if here == wire.part else wire.part
        return corners


def svg(machine: dict[str, Any], interface: str = "network interface") -> str:
    """Return the picture of a resolved machine with an interface, as SVG."""
    placed = layout(machine, interface)
    boxes = [_box(number, *placed.parts[number]) for number in range(len(placed.parts))]
    drawn = [*_bars(placed, _plain(machine)), *map(_wire, placed.wires), *boxes]
    width = placed.full + 2 * MARGIN
    return document(width, placed.height, description(machine, interface), drawn)


def layout(machine: dict[str, Any], interface: str = "network interface") -> Layout:
    """Return where the parts of a node are in its picture."""
    plain = _plain(machine)
    parts = list(_parts(plain, interface))
    bars = [name for name in plain["node"]["interconnects"] if any(name in p.on for p in parts)]
    columns = [part for bar in bars for part in parts if part.on[0] == bar]
    return _placed(columns, bars)


def description(machine: dict[str, Any], interface: str = "network interface") -> str:
    """Say what the picture shows, for those who do not see it."""
    plain = _plain(machine)
    told = [f"{part.name} on {' and '.join(part.on)}" for part in _parts(plain, interface)]
    return f"A node of {plain['machine']['name']}: {'; '.join(told)}"


def _plain(tree: Any) -> Any:  # noqa: ANN401 - any part of a document
    """Return a machine without the sources of its values."""
    if not isinstance(tree, dict):
        return tree
    return _plain(tree["value"]) if "value" in tree else {k: _plain(v) for k, v in tree.items()}


def _parts(machine: dict[str, Any], interface: str) -> Iterator[Part]:
    node = machine["node"]
    place = _place(node, interface)
    is_private = place and node["interconnects"][place]["kind"] == "private-path"
    for part in node["processors"].values():
        yield _processor(machine, part, place if is_private else None)
    for name, part in node["memories"].items():
        yield Part(_words(name), _lines(_table(machine, name)), _list(part["on"]), "memory")
    for kind, role in (("dma_engines", "dma"), ("devices", "device")):
        for name, part in node.get(kind, {}).items():
            shown = f"{part['interface']} ({name})" if "interface" in part else _words(name)
            yield Part(shown, _lines(_table(machine, name)), _list(part["on"]), role)
    for name, part in node["interconnects"].items():
        if behind := part.get("behind"):
            yield Part("bridge", _lines(_table(machine, name), "bridge"), [behind, name], "bridge")
    ports = node["interface"].get("ports", {}).values()
    on = dict.fromkeys([*node["interface"]["on"], *(bus for port in ports for bus in port["on"])])
    if place := _place(node, interface):
        on = {place: None}
    flow = _table(machine, "flow_control").get("kind", "none")
    flows = [] if flow == "none" else [f"{flow} flow control"]
    yield Part(interface, flows, list(on), "interface")


def _place(node: dict[str, Any], interface: str) -> str | None:
    """Return the interconnect that an interface's name says ("NI2w on io-bus")."""
    said = PLACE.search(interface)
    place = PLACES.get(said[1]) if said else None
    return place if place in node["interconnects"] else None


def _processor(machine: dict[str, Any], part: dict[str, Any], private: str | None) -> Part:
    caches = [
        f"{_words(name).removesuffix(' cache')}: {', '.join(_lines(_table(machine, name)))}"
        for name in part["caches"]
    ]
    many = machine["machine"].get("processors_per_node", 1) if part["runs"] == "program" else 1
    name = _words(part["core"]) + (f" x {many}" if many > 1 else "")
    runs = part["runs"].replace("firmware/", "firmware ")
    clock = _table(machine, part["core"]).get("clock", "")
    lines = [f"{clock}, runs {runs}", *caches]
    role = "processor" if part["runs"] == "program" else "firmware"
    on = [part["on"], *([private] if private and role == "processor" else [])]
    return Part(name, lines, on, role)


def _table(machine: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the table of a part's parameters: its own, or that of its name in a map."""
    if isinstance(machine.get(name), dict):
        return machine[name]
    maps = (each for each in machine.values() if isinstance(each, dict))
    return next((each[name] for each in maps if isinstance(each.get(name), dict)), {})


def _lines(table: dict[str, Any], beside: str = "") -> list[str]:
    """Write the parameters of a part that say most, one a line."""
    chosen = [key for key in SHOWN if not isinstance(table.get(key), dict | list | None)]
    told = [WORDS.get(key, "{}").format(table[key]) for key in chosen if table[key] != "cache"]
    extra = [str(table[f"{beside}_access_time"])] if f"{beside}_access_time" in table else []
    return [*extra, *told][:MOST_SHOWN]


def _list(on: str | list[str]) -> list[str]:
    return [on] if isinstance(on, str) else list(dict.fromkeys(on))


def _words(name: str) -> str:
    return name.replace("_", " ")


def _placed(columns: Sequence[Part], bars: Sequence[str]) -> Layout:
    """Put parts into columns, and the rows of each interconnect below each other."""
    placed = Layout(full=sum(part.width + GAP for part in columns) - GAP)
    left, right = {}, MARGIN
    for part in columns:
        left[id(part)] = right
        right += part.width + GAP
    for bar in bars:
        own = [part for part in columns if part.on[0] == bar]
        above = [part for part in own if part.is_processor]
        below = [part for part in own if not part.is_processor]
        foot = placed.height + max((part.height for part in above), default=0)
        placed.parts += [(part, left[id(part)], foot - part.height) for part in above]
        placed.bars[bar] = foot + (SPACE if above else 0)
        top = placed.bars[bar] + BAR + SPACE
        placed.parts += [(part, left[id(part)], top) for part in below]
        placed.height = top + max((part.height for part in below), default=-SPACE) + SPACE
    placed.bars[NETWORK] = placed.height
    placed.height += BAR + MARGIN
    placed.wires = list(_wires(placed))
    return placed


def _wires(placed: Layout) -> Iterator[Wire]:
    for number, (part, left, top) in enumerate(placed.parts):
        foot = top + part.height
        middle = left + part.width // 2
        bars = [bar for bar in part.on if bar in placed.bars]
        if part.role == "interface":
            bars.append(NETWORK)
        for shift, bar in enumerate(bars):
            end = placed.bars[bar]
            edge, stop = (foot, end) if end > top else (top, end + BAR)
            yield Wire(number, bar, middle + 12 * shift, edge, stop)


def _bars(placed: Layout, machine: dict[str, Any]) -> Iterator[str]:
    for bar, top in placed.bars.items():
        kind = machine["node"]["interconnects"].get(bar, {}).get("kind", "")
        table = _table(machine, bar or "network")
        topology = table.get("topology", {}).get("kind", "")
        kinds = ["" if kind == bar else kind, topology]
        on_chip = _on_chip(machine) if kind == "directory" else []
        told = ", ".join(
            filter(None, [*(each.replace("-", " ") for each in kinds), *_lines(table), *on_chip])
        )
        name = _words(bar) if bar else "network"
        dashes = "" if bar else ' stroke-dasharray="6 4"'
        rectangle = (
            f'<rect {fill("raised", "line")} x="{MARGIN}" y="{top}" width="{placed.full}"'
            f' height="{BAR}" rx="4"{dashes}/>'
        )
        words = text(MARGIN + PADDING, top + 17, f"{name}: {told}")
        yield f'<g data-part="{bar_name(bar)}">{rectangle}{words}</g>'


def part_name(number: int) -> str:
    """Return what the group of a part is called in the picture."""
    return f"part-{number}"


def bar_name(bar: str) -> str:
    """Return what the group of an interconnect is called in the picture."""
    return f"bar-{bar or 'network'}"


def _on_chip(machine: dict[str, Any]) -> list[str]:
    """Write what a directory's messages cross, and how it keeps caches."""
    network = machine["network_on_chip"]
    crossed = f"{network['topology']['kind']} of {network['width']}, {network['hop_time']} a hop"
    return [machine["data_cache"]["protocol"], crossed]


def _wire(wire: Wire) -> str:
    top, foot = sorted((wire.edge, wire.end))
    ends = f'x1="{wire.x}" y1="{top}" x2="{wire.x}" y2="{foot}"'
    return f'<line {stroke("muted")} {ends} stroke-width="2"/>'


def _box(number: int, part: Part, left: int, top: int) -> str:
    lines = [text(left + PADDING, top + PADDING + 12, part.name, is_bold=True)]
    for count, line in enumerate(part.lines, start=1):
        lines.append(text(left + PADDING, top + PADDING + 12 + count * LINE, line))
    rectangle = (
        f'<rect {fill("surface", part.colour)} x="{left}" y="{top}" width="{part.width}"'
        f' height="{part.height}" rx="6" stroke-width="2"/>'
    )
    return f'<g data-part="{part_name(number)}">{rectangle}{"".join(lines)}</g>'
