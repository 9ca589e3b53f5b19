"""The section of one message's life: a sequence diagram whose rows explain themselves.

    ns      processor 0   memory 0   interface 0   network   interface 1   ...
    0.0         o
    37.5        - - - - - - - - - - - ->                                  asks to write ...
    121.5       ──────────────────────►                                   reads send queue

Time runs down, one row a happening. An arrow points where data go; a broken one
carries an address only. A row is a list item: without the picture it is a
sentence, and the picture hides itself from screen readers.
"""

from dataclasses import dataclass
from typing import Any

from narthex import explanation
from narthex.charts import drawings
from narthex.explanation import condensed, words
from narthex.report import player
from narthex.report.parts import (
    Cell,
    Chart,
    Column,
    Facts,
    Paragraph,
    Section,
    Table,
    bar,
    columns,
)

LANES = (
    "processor 0",
    "memory 0",
    "interface 0",
    "network",
    "interface 1",
    "memory 1",
    "processor 1",
)
NETWORK = LANES.index("network")

LONGEST_ROWS = 100
"""A longer diagram is condensed on the critical path too, as in the terminal."""

AGENTS = {
    "program": "processor",
    "processor": "processor",
    "another processor": "processor",
    "firmware": "firmware",
    "interface": "interface",
    "network side of the interface": "interface",
    "interface of another process": "interface",
    "directory": "memory",
    "bridge": "bridge",
    "DMA engine": "dma",
    "forwarder": "interface",
    "send half": "interface",
    "receive half": "interface",
}
"""Which part of the machine's picture an agent is (`charts.diagram`)."""

ON_LANE = {"firmware": "interface", "dma": "interface", "bridge": "interface"}
"""On whose lane parts are that have none."""

SUPPLIERS = {"main memory": "memory", "cache": "processor", "interface": "interface"}
"""Which part the other end of a block's way is."""

TO_DEVICE = ("uncached_store", "block_store")
FROM_DEVICE = ("uncached_load", "block_load")

MEANINGS = {
    "program": "The program reaches this point.",
    "packet": "A packet of the message crosses the network.",
    "returned packet": "The receiver had no buffer: the packet goes back to its sender, which"
    " sends it again later.",
    "acknowledgement": "The receiver has taken the packet: the sender may forget it and use its"
    " buffer again.",
    "read": "A cache or an interface fetches a block to read it; the agent that has the newest copy"
    " supplies it.",
    "prefetch": "The prefetcher of a cache fetches a block that no access has asked for yet.",
    "read_exclusive": "A cache fetches a block to write it; every other copy becomes invalid.",
    "upgrade": "The cache has the block and wants to write it: only the address goes over the"
    " bus, and every other copy becomes invalid.",
    "write_back": "A changed block goes back to its home, because the cache needs the room or"
    " gives it away.",
    "write_block": "A whole block is written; it need not be read before.",
    "read_once": "A block is read without a copy being kept.",
    "invalidate": "Only the address goes over the bus: every copy of the block becomes invalid,"
    " so that the next to read it finds the new one.",
    "uncached_load": "The processor loads from a device register past its cache, and stands still"
    " until the value has come.",
    "uncached_store": "The processor stores to a device register past its cache.",
    "block_load": "A block moves from the interface into a buffer in the processor.",
    "block_store": "A block moves from a buffer in the processor to the interface.",
    "directory request": "A processor's transaction goes to the home of its block, which knows who"
    " has copies.",
    "directory forward": "The home asks a cache that has the block to answer, or to give it up.",
    "link packet": "A packet of the link leaves; the time is until the other end works on it.",
    "directory response": "The home, or a cache that was asked, answers.",
}
"""What a kind of happening is."""


@dataclass(frozen=True)
class Step:
    """A row of the diagram."""

    time: str
    """In ns from the call on."""
    who: str
    """In front of what happens; empty where `what` says it."""
    what: str
    meaning: str
    source: int
    """The lane where it begins."""
    target: int
    """The lane where it ends; the same one for a happening in one place."""
    is_broken: bool
    """Whether only an address travels."""
    is_beside: bool
    """Whether it is off the critical path."""
    node: int = 0
    ends: tuple[str, str] = ("", "")
    """For the player: the parts of the node's picture between which something travels; twice the
    same one."""
    bus: str | None = None


@dataclass(frozen=True)
class Diagram:
    """The rows under their lanes."""

    caption: str
    steps: list[Step]
    end: str = "node"
    """What each side is: a node, or a tile of one."""
    lanes: tuple[str, ...] = LANES
    unit: str = "ns"
    """Of the steps' times."""
    kind: str = "diagram"


def section(document: dict[str, Any]) -> Section:
    """Describe a message's life."""
    packets = document["packets"]
    rounds = document["rounds"]
    about = explanation.subject(document)
    facts = Facts(
        [
            ("Latency", f"{_ns(document['latency_ps'])} ns"),
            ("Mean of all rounds", f"{_ns(rounds['total_ps'] / rounds['count'])} ns"),
            ("Range", f"{_ns(rounds['minimum_ps'])} to {_ns(rounds['maximum_ps'])} ns"),
            ("Rounds", str(rounds["count"])),
            ("Packets", str(packets)),
            ("Machine", document["machine"]["machine"]["name"]),
        ]
    )
    told = (
        "The one with the median latency of all rounds. Point at a row, or go to it with the"
        " keyboard (Tab, then the arrow keys), to read what happens in it. An arrow points where"
        " data go, a broken one carries only an address, and a pale one is beside the critical"
        " path: it costs no latency."
    )
    played = (
        [player.player(document, steps(document))] if explanation.ends(document) == "node" else []
    )
    parts = [facts, *played, Paragraph(told), diagram(document), parts_of(document)]
    return Section(f"{about.one}: {_over(document, about)}", parts)


def _over(document: dict[str, Any], about: explanation.Subject) -> str:
    ranks = explanation.between(document)
    if explanation.is_of_program(document):
        told = [f"of {document['program']}"]
    else:
        told = [f"{document['bytes']} bytes"] if about.has_size else []
    return " ".join([*told, f"over {document['interface']}", *([ranks] if ranks else [])])


def diagram(document: dict[str, Any]) -> Diagram:
    """Return a message's life as rows under lanes."""
    about = explanation.subject(document)
    caption = f"{explanation.title(document)}, {about.span}"
    numbers = explanation.places(document)
    lanes = tuple(_numbered(lane, numbers) for lane in LANES)
    return Diagram(caption, steps(document), explanation.ends(document), lanes)


def _numbered(lane: str, numbers: list[int]) -> str:
    """Give a lane the number of its node, or tile."""
    name, _, side = lane.partition(" ")
    return f"{name} {numbers[int(side)]}" if side else name


def steps(document: dict[str, Any]) -> list[Step]:
    """Return the rows of the diagram."""
    rows = condensed(document["transactions"])
    if len(rows) > LONGEST_ROWS:
        rows = condensed(document["transactions"], critical_too=True)
    end, numbers = explanation.ends(document), explanation.places(document)
    return [_step(row, f"{end} {numbers[row['node']]}") for row in rows]


def _step(row: dict[str, Any], end: str) -> Step:
    ends, is_broken = _way(row)
    source, target = (_lane(place, row["node"]) for place in ends)
    return Step(
        time=_ns(row["time_ps"]),
        who=f"{end}, {row['agent']}",
        what=words(row),
        meaning=_meaning(row),
        source=source,
        target=target,
        is_broken=is_broken,
        is_beside=not row["critical"],
        node=row["node"],
        ends=ends,
        bus=row.get("bus"),
    )


def _way(row: dict[str, Any]) -> tuple[tuple[str, str], bool]:
    """Return the parts between which something travels, and whether that is an address only."""
    kind = row["kind"]
    if row["agent"] == "network":
        leaves = row["deed"].endswith("departs")
        return ("interface", "network") if leaves else ("network", "interface"), False
    if row["agent"] == "link":
        is_of_register = row.get("place", "").endswith("register")
        host = "processor" if is_of_register else "memory"
        is_down = row["deed"].endswith("device")
        return (host, "interface") if is_down else ("interface", host), " bytes" not in row["what"]
    own = AGENTS[row["agent"]]
    if kind == "program":
        return (own, own), False
    if row.get("data"):
        direction, _, supplier = row["data"].partition(" ")
        other = SUPPLIERS[supplier]
        return (own, other) if direction == "to" else (other, own), False
    if kind in TO_DEVICE:
        return (own, "interface"), False
    if kind in FROM_DEVICE:
        return ("interface", own), False
    return (own, "interface" if own == "processor" else "processor"), True


def _lane(part: str, node: int) -> int:
    name = ON_LANE.get(part, part)
    return NETWORK if name == "network" else LANES.index(f"{name} {node}")


def _meaning(row: dict[str, Any]) -> str:
    """Explain a row in a few sentences."""
    told = [MEANINGS.get(row["kind"], "")]
    if row.get("data"):
        told.append(f"The data go {row['data']}." if "to " in row["data"] else _from(row))
    if row.get("bus") and row["cycles"] is not None:
        times = f" in {row['count']} transactions" if row["count"] > 1 else ""
        told.append(f"It takes {row['cycles']} cycles of the {row['bus']}{times}.")
    if row.get("part"):
        told.append(f"The message waits for it; the time is booked as '{row['part']}'.")
    elif not row["critical"]:
        told.append("It goes on beside the critical path and costs the message no time.")
    return " ".join(sentence for sentence in told if sentence)


def _from(row: dict[str, Any]) -> str:
    return f"The data come {row['data']}."


def parts_of(document: dict[str, Any]) -> Table:
    """Return the parts of the latency as a table with bars: a life needs no plotting library."""
    largest = max(entry["time_ps"] for entry in document["breakdown"])
    bars: list[Cell] = [
        bar(entry["part"], entry["time_ps"], largest) for entry in document["breakdown"]
    ]
    table = breakdown(document).table
    rows = [[row[0], cell, *row[1:]] for row, cell in zip(table.rows, [*bars, ""], strict=True)]
    first, *others = table.columns
    return Table("Where the latency goes", [first, Column(""), *others], rows)


def breakdown(document: dict[str, Any]) -> Chart:
    """Return the parts of the latency as bars."""
    entries = document["breakdown"]
    latency, rounds = document["latency_ps"], document["rounds"]
    rows = [
        [
            entry["part"],
            _ns(entry["time_ps"]),
            f"{100 * entry['time_ps'] / latency:.1f}",
            _ns(entry["rounds_total_ps"] / rounds["count"]),
        ]
        for entry in entries
    ]
    rows.append(["latency", _ns(latency), "100.0", _ns(rounds["total_ps"] / rounds["count"])])
    numbers = ["ns", "percent", "mean of all rounds, ns"]
    largest = max(entries, key=lambda entry: entry["time_ps"])
    names = [entry["part"] for entry in entries]
    drawn = [{"interface": each["part"], "value": each["time_ps"] / 1000} for each in entries]
    return Chart(
        "Where the latency goes",
        f"Bars: the parts of {_ns(latency)} ns in the order of the path; the largest is"
        f" '{largest['part']}' with {_ns(largest['time_ps'])} ns",
        drawings.bars(drawn, "ns", names),
        Table("Parts of the latency", columns("part", *numbers, numbers=numbers), rows, True),
    )


def _ns(time_ps: float) -> str:
    return f"{time_ps / 1000:,.1f}"
