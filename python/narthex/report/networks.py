"""Networks of a run: of switches (latencies, traffic, busy links), and on chip (busy links)."""

from typing import TYPE_CHECKING, Any

from narthex.charts import curves, looks, wiring
from narthex.report.parts import Cell, Chart, Facts, Section, Table, columns, number

if TYPE_CHECKING:
    from narthex.loads import NetworkLoad

Document = dict[str, Any]

PS_PER_NS = 1_000
LARGEST_NODES = 64
"""Of a machine whose pairs of nodes a page shows as fields."""

LARGEST_LINKS = 2_000
"""Of a network that a page draws."""

MOST_STATES = 100
"""Intervals among which a slider chooses; of more, neighbours are joined."""

LISTED_LINKS = 20
"""Links in the table of the busiest."""


def section(document: Document) -> Section:
    """Describe what the network of a run saw."""
    carried = document["network"]["links"]
    whole_ps = document["simulated_ps"]
    parts: list[Any] = [facts(document), latency(document), busiest(carried, whole_ps)]
    if len(document["nodes"]) <= LARGEST_NODES:
        parts.append(traffic(document))
    if len(carried) <= LARGEST_LINKS:
        parts.append(links(carried, whole_ps))
        if "over_time" in document.get("traffic", {}):
            parts.append(links_over_time(carried, document["traffic"]["over_time"]))
    return Section("Network", parts)


def on_chip(document: Document) -> Section:
    """Describe what the networks on chip of a run's nodes carried, all nodes and lanes together."""
    network = document["network_on_chip"]
    whole_ps = document["simulated_ps"] * network["nodes"] * network["lanes"]
    parts: list[Any] = [busiest(network["links"], whole_ps)]
    if len(network["links"]) <= LARGEST_LINKS:
        parts.append(links(network["links"], whole_ps))
    return Section("Network on chip", parts)


def facts(document: Document) -> Facts:
    """Return what the network did, in short."""
    network = document["network"]
    seen = network["statistics"]["network_latency"]
    count = seen["count"]
    entries = [("Switches", number(network["switches"])), ("Parcels", number(count))]
    if count:
        entries += [
            (f"{name} latency", f"{number(time / PS_PER_NS, 1)} ns")
            for name, time in (
                ("Mean", seen["sum"] / count),
                ("Smallest", seen["minimum"]),
                ("Largest", seen["maximum"]),
            )
        ]
    fullest = max((queue["most_bytes"] for queue in network["queues"]), default=0)
    return Facts([*entries, ("Fullest buffer", f"{number(fullest)} bytes")])


def latency(document: Document) -> Table:
    """Return how many parcels took how long."""
    buckets = document["network"]["statistics"]["network_latency"]["buckets"]
    rows = [[f"from {number(least / PS_PER_NS, 1)} ns", number(count)] for least, count in buckets]
    names = columns("latency", "parcels", numbers=["parcels"])
    return Table("Parcels by their time in the network", names, list(rows))


def busiest(carried: list[Document], whole_ps: int) -> Table:
    """Return the links that were busy for the largest part of the time."""
    shown = sorted(carried, key=lambda link: -link["busy"])[:LISTED_LINKS]
    rows = [
        [
            link["from"],
            link["to"],
            f"{_use(link, whole_ps):.1f} %",
            number(link["parcels"]),
            number(link["bytes"]),
            number(link["waited"] / PS_PER_NS / max(link["parcels"], 1), 1),
        ]
        for link in shown
    ]
    numbers = ["busy", "parcels", "bytes", "mean wait, ns"]
    names = columns("from", "to", *numbers, numbers=numbers)
    return Table("The busiest links", names, list(rows), is_folded=True)


def _use(link: Document, whole_ps: int) -> float:
    """Return for how many percent of the time a link was busy."""
    return 100 * link["busy"] / max(whole_ps, 1)


def traffic(document: Document) -> Chart:
    """Draw the bytes that each node got from each other."""
    rows = [
        {"row": f"from {source}", "column": f"to {node}", "value": count or None}
        for source in range(len(document["nodes"]))
        for node, counts in enumerate(document["network"]["bytes_from"])
        for count in counts[source : source + 1]
    ]
    return _map(
        "Traffic from node to node", "Bytes that each node sent to each other", rows, "bytes"
    )


def links(carried: list[Document], whole_ps: int) -> Chart:
    """Draw the network, each link by for how much of the time it was busy."""
    rows = [
        {"from": link["from"], "to": link["to"], "value": _use(link, whole_ps)} for link in carried
    ]
    cells = [[row["from"], row["to"], number(row["value"], 1)] for row in rows]
    unit = "busy, percent"
    table = Table("Links", columns("from", "to", unit, numbers=[unit]), cells, is_folded=True)
    told = (
        "Switches and what is attached to them. A link is a curve for each direction, to the right"
        " of its way, and the stronger the longer it was busy"
    )
    return Chart("Links", told, wiring.drawn(rows, unit), table)


def under_load(found: "NetworkLoad") -> list[Chart]:
    """Draw a network alone by how busy its links are, at each load that a slider chooses."""
    document = found.document
    carried, points = document["links"], document["points"]
    if len(carried) > LARGEST_LINKS:
        return []
    states = [told_load(point) for point in points]
    rows = [
        {**link, "values": [100 * point["links_busy"][place] for point in points]}
        for place, link in enumerate(carried)
    ]
    unit = "busy, percent"
    cells: list[list[Cell]] = [
        [link["from"], link["to"], *(number(value, 1) for value in link["values"])] for link in rows
    ]
    table = Table("Links", columns("from", "to", *states, numbers=states), cells, is_folded=True)
    several = len(states) > 1
    at = "at the load that the slider chooses" if several else f"at {states[0]}"
    told = (
        f"Switches and what is attached to them, {at}. A link is a curve for each direction, to the"
        " right of its way, and the stronger the longer it was busy"
        + ("; the shades are the same at all loads" if several else "")
    )
    drawing = wiring.drawn(rows, unit, states)
    title = f"Links under {found.pattern} traffic"
    return [Chart(title, told, drawing, table), *_points_over_time(title, document)]


def _points_over_time(title: str, document: Document) -> list[Chart]:
    """Draw the network over the time of each load for which that was asked."""
    return [
        _over_time(
            f"{title}, {told_load(point)}, over time",
            [
                {**link, "busy": busy}
                for link, busy in zip(
                    document["links"], point["over_time"]["links_busy"], strict=True
                )
            ],
            point["over_time"]["interval_ps"],
        )
        for point in document["points"]
        if "over_time" in point
    ]


def links_over_time(carried: list[Document], over_time: Document) -> Chart:
    """Draw the network of a run by the use of its links in each interval."""
    busy = {(link["from"], link["to"]): link["busy"] for link in over_time["links"]}
    count = max(map(len, busy.values()), default=1)
    rows = [
        {
            "from": link["from"],
            "to": link["to"],
            "busy": busy.get((link["from"], link["to"]), [0.0] * count),
        }
        for link in carried
    ]
    return _over_time("Links over time", rows, over_time["interval_ps"])


def _over_time(title: str, rows: list[Document], interval_ps: int) -> Chart:
    """Draw a network by how busy its links are in the interval that a slider chooses."""
    count = max((len(row["busy"]) for row in rows), default=1)
    joined = -(-count // MOST_STATES)
    starts = range(0, count, joined)
    unit, ps = looks.time_unit([{"time": count * interval_ps}])
    states = [f"from {number(start * interval_ps / ps, 3)} {unit}" for start in starts]
    drawn = [
        {
            "from": row["from"],
            "to": row["to"],
            "values": [
                round(100 * sum(part) / len(part), 2)
                for start in starts
                for part in [row["busy"][start : start + joined]]
            ],
        }
        for row in rows
    ]
    length = number(joined * interval_ps / PS_PER_NS, 1)
    told = (
        f"The network in the {length} ns that the slider chooses. A link is the stronger the longer"
        " it was busy; the shades are the same at all times"
    )
    cells: list[list[Cell]] = [
        [state, number(max(values), 1), number(sum(values) / len(values), 1)]
        for place, state in enumerate(states)
        for values in [[row["values"][place] for row in drawn]]
    ]
    numbers = ["busiest link, percent", "mean of all links, percent"]
    table = Table(title, columns("time", *numbers, numbers=numbers), cells, is_folded=True)
    return Chart(title, told, wiring.drawn(drawn, "busy, percent", states), table)


def told_load(point: Document) -> str:
    """Say how much a point's nodes send."""
    if point["load"] is not None:
        return f"load {point['load']:g}"
    return f"{point['outstanding']} outstanding"


def _map(title: str, description: str, rows: looks.Rows, unit: str) -> Chart:
    """Return a heat map with its numbers; a pair without traffic has an empty field."""
    cells = [[row["row"], row["column"], number(row["value"], 1)] for row in rows if row["value"]]
    names = columns("from", "to", unit, numbers=[unit])
    table = Table(title, names, list(cells), is_folded=True)
    return Chart(title, description, curves.heat_map(rows, unit), table)
