"""Who talks to whom, and what was busy when: of a run with `--traffic`.

pairs    ──► maps of messages, bytes and mean latency; of many ranks, of groups of them
sizes    ──► latencies of messages by size
series   ──► curves of buses, queues and buffers, bands of activities
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from narthex.charts import curves, drawings, looks
from narthex.charts.over_time import Span, over_time
from narthex.report.parts import Chart, Section, Table, columns, number

Document = dict[str, Any]

PS_PER_NS = 1_000

MOST_FIELDS = 16
"""Ranks, or groups of ranks, that a map has beside each other."""

LISTED_PAIRS = 20
"""Pairs in the table of those that exchange most."""

LEAST_SIZES = 3
"""Sizes of messages from which on their percentiles are curves."""

UNFOLDED = 4
"""Rows of a table that is open."""

MOST_NODES = 2
"""Nodes that have curves of their own; of more there is the mean."""

MOST_REGIONS = 24
"""Regions behind curves; of more, all of a name are one."""

TITLES = {
    "bus": ("Buses", "for which part of the time each bus is taken", "share"),
    "link": ("Links", "for which part of the time packets have the wires, by direction", "share"),
    "memory": ("Memory", "for which part of the time bytes are on channels and links", "share"),
    "accesses": (
        "Accesses of the last level and of banks",
        "accesses under way, those of banks by row",
        "accesses",
    ),
    "messages": ("Queues", "messages in the interface's queues and registers", "messages"),
    "packets": ("Flow control", "packets in the flow control's buffers", "packets"),
}
"""By kind of series: a title, what it shows, and the unit."""


def section(document: Document) -> Section:
    """Describe who talked to whom in a run, and what was busy when."""
    traffic = document["traffic"]
    parts: list[Any] = []
    if traffic["pairs"]:
        parts += [*maps(traffic), busiest(traffic)]
    if traffic["sizes"]:
        parts += [latencies(traffic), by_size(traffic)]
    shown = [*(_curves(document, kind) for kind in TITLES), activities(document)]
    if "over_time" in traffic:
        shown.insert(0, network(document))
    series = Section("Over time", [chart for chart in shown if chart])
    return Section("Who talks to whom", parts, [series])


def maps(traffic: Document) -> list[Chart]:
    """Return messages, bytes and mean latency, from rank to rank or from group to group."""
    size = -(-traffic["ranks"] // MOST_FIELDS)
    sums: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0, 0, 0, 0])
    for pair in traffic["pairs"]:
        latency = _latency(pair)
        added = (
            pair.get("messages", pair["packets"]),
            pair["bytes"],
            latency["sum"] / PS_PER_NS,
            latency["count"],
        )
        field = sums[pair["from"] // size, pair["to"] // size]
        field[:] = (before + more for before, more in zip(field, added, strict=True))
    what = "messages" if "messages" in traffic["pairs"][0] else "packets"
    told = "from rank to rank" if size == 1 else f"between groups of {size} ranks"
    values = {place: (of[0], of[1], of[2] / max(of[3], 1)) for place, of in sums.items()}
    titles = [
        (what.capitalize(), what),
        ("Bytes", "bytes"),
        ("Mean latency", "ns"),
    ]
    return [
        _map(
            traffic["ranks"], size, {place: of[rank] for place, of in values.items()}, *title, told
        )
        for rank, title in enumerate(titles)
    ]


def _map(
    ranks: int,
    size: int,
    values: dict[tuple[int, int], float],
    title: str,
    unit: str,
    told: str,
) -> Chart:
    """Return a field for each two ranks or groups; those that never talk have none."""
    fields = range(-(-ranks // size))
    rows = [
        {"row": _name(source, size, ranks), "column": _name(to, size, ranks), "value": value}
        for source in fields
        for to in fields
        for value in [values.get((source, to)) or None]
    ]
    drawn = curves.heat_map(rows, unit, ("from", "to"))
    cells = [[row["row"], row["column"], number(row["value"], 1)] for row in rows if row["value"]]
    names = columns("from", "to", unit, numbers=[unit])
    behind = Table(f"{title}, from and to", names, list(cells), is_folded=True)
    return Chart(
        title, f"{title} {told}; a stronger colour is a larger value, no colour none", drawn, behind
    )


def _name(group: int, size: int, ranks: int) -> str:
    first = group * size
    last = min(first + size, ranks) - 1
    return str(first) if first == last else f"{first}-{last}"


def _latency(pair: Document) -> Document:
    """Return the latency of a pair's messages, or of its packets if those are all that is known."""
    latency: Document = pair.get("message_latency_ps", pair["packet_latency_ps"])
    return latency


def busiest(traffic: Document) -> Table:
    """Return the pairs that exchange most."""
    shown = sorted(traffic["pairs"], key=lambda pair: -pair["packets"])[:LISTED_PAIRS]
    rows = [
        [
            str(pair["from"]),
            str(pair["to"]),
            number(pair["messages"]) if "messages" in pair else "",
            number(pair["packets"]),
            number(pair["bytes"]),
            *_times(_latency(pair)),
            *_percentiles(_latency(pair)),
        ]
        for pair in shown
    ]
    numbers = ["messages", "packets", "bytes", *TIMES]
    names = columns("from", "to", *numbers, numbers=numbers)
    return Table("The pairs with most packets", names, list(rows), is_folded=len(rows) > UNFOLDED)


PERCENTILES = ("50", "90", "99", "99.9")
"""Of latencies: the share of the messages, in percent, that do not exceed it."""


TIMES = (
    "mean, ns",
    "smallest, ns",
    "largest, ns",
    *(f"{percent} %, ns" for percent in PERCENTILES),
)
"""What tables state of latencies."""


def _percentiles(latency: Document) -> list[str]:
    """Return the percentiles in nanoseconds, as far as they are known."""
    known = latency.get("percentiles", {})
    return [number(known[each] / PS_PER_NS, 1) if each in known else "" for each in PERCENTILES]


def _times(latency: Document) -> list[str]:
    """Return mean, smallest and largest, in nanoseconds."""
    if not latency["count"]:
        return ["", "", ""]
    mean = latency["sum"] / latency["count"]
    return [number(time / PS_PER_NS, 1) for time in (mean, latency["minimum"], latency["maximum"])]


def latencies(traffic: Document) -> Chart:
    """Return how many messages took how long, of all sizes."""
    counts: dict[int, int] = defaultdict(int)
    for size in traffic["sizes"]:
        for least, count in size["message_latency_ps"].get("buckets", []):
            counts[least] += count
    rows = [
        {"bytes": f"from {number(least / PS_PER_NS, 1)}", "messages": counts[least]}
        for least in sorted(counts)
    ]
    cells = [
        [str(row["bytes"]), number(counts[least])]
        for row, least in zip(rows, sorted(counts), strict=True)
    ]
    names = columns("latency, ns", "messages", numbers=["messages"])
    behind = Table("Messages by latency", names, list(cells), is_folded=True)
    drawn = drawings.sizes(rows, "latency, ns")
    told = "Messages of all sizes by their latency, between powers of two of a picosecond"
    return Chart("Messages by latency", told, drawn, behind)


def by_size(traffic: Document) -> Chart | Table:
    """Return the latencies of messages by payload: curves of percentiles, if there are some."""
    table = _sizes(traffic)
    rows = [
        {
            "x": size["bytes"],
            "interface": f"{percent} %",
            "value": size["message_latency_ps"]["percentiles"][percent] / PS_PER_NS,
        }
        for percent in PERCENTILES
        for size in traffic["sizes"]
        if percent in size["message_latency_ps"].get("percentiles", {})
    ]
    if len({row["x"] for row in rows}) < LEAST_SIZES:
        return table
    names = [f"{percent} %" for percent in PERCENTILES]
    told = (
        "Latency over the size of messages: a curve for each percentile, the latency that so many"
        " percent of the messages do not exceed"
    )
    drawn = curves.curves(rows, "ns", names, x="bytes of payload", series="messages")
    return Chart(table.caption, told, drawn, replace(table, is_folded=True))


def _sizes(traffic: Document) -> Table:
    """Return the latencies of messages by their payload as a table."""
    rows = [
        [
            number(size["bytes"]),
            number(size["message_latency_ps"]["count"]),
            *_times(size["message_latency_ps"]),
            *_percentiles(size["message_latency_ps"]),
        ]
        for size in traffic["sizes"]
    ]
    numbers = ["bytes of payload", "messages", *TIMES]
    names = columns(*numbers, numbers=numbers)
    return Table("Latency of messages by size", names, list(rows), is_folded=len(rows) > UNFOLDED)


def _means(document: Document, kind: str) -> dict[str, list[float]]:
    """Return the series of a kind: of each node, or, of many, the mean of all, by name."""
    rows = [row for row in document["traffic"]["series"]["rows"] if row["kind"] == kind]
    nodes = {row["node"] for row in rows}
    if len(nodes) <= MOST_NODES and kind != "activity":
        several = len(nodes) > 1
        return {
            f"{row['name']}, node {row['node']}" if several else row["name"]: row["means"]
            for row in rows
        }
    sums: dict[str, list[float]] = {}
    for row in rows:
        sums[row["name"]] = [
            before + mean
            for before, mean in zip(
                sums.get(row["name"], [0.0] * len(row["means"])), row["means"], strict=True
            )
        ]
    return {name: [total / len(nodes) for total in of] for name, of in sums.items()}


def _clock(document: Document) -> tuple[str, float]:
    """Return the unit of time that suits a run, and the bin's width in it."""
    unit, ps = looks.time_unit([{"time": document["simulated_ps"]}])
    return unit, document["traffic"]["series"]["bin_ps"] / ps


def _curves(document: Document, kind: str) -> Chart | None:
    """Return the curves of a kind of series; those that are zero throughout are left out."""
    title, told, unit = TITLES[kind]
    series = {name: means for name, means in _means(document, kind).items() if any(means)}
    if not series:
        return None
    clock, width = _clock(document)
    rows = [
        {"x": round(bin_ * width, 6), "interface": name, "value": mean}
        for name, means in series.items()
        for bin_, mean in enumerate(means)
    ]
    drawn = curves.steps(rows, unit, list(series), x=f"time, {clock}")
    table = _summary(title, unit, series)
    return Chart(title, f"Curves over time: {told}", drawn, table)


def network(document: Document) -> Chart | None:
    """Return what the network did in each interval, on one axis with regions and messages."""
    found = document["traffic"]["over_time"]
    unit, ps = looks.time_unit([{"time": document["simulated_ps"]}])
    panels = _panels(document, found["interval_ps"] / ps)
    if not panels:
        return None
    rows = [
        {"panel": panel, "x": round(place * width, 6), "interface": name, "value": value}
        for panel, (width, series) in panels.items()
        for name, values in series.items()
        for place, value in enumerate(values)
    ]
    names = [f"{panel}: {name}" for panel, (_, series) in panels.items() for name in series]
    drawn = over_time(rows, _regions(document, ps), list(panels), f"time, {unit}")
    every = [values for _, series in panels.values() for values in series.values()]
    table = _summary("The network", "", dict(zip(names, every, strict=True)))
    length = number(found["interval_ps"] / PS_PER_NS, 1)
    told = (
        f"What the network did in each {length} ns, all on one axis of time with the messages in"
        " the interfaces and, behind them, the programs' regions"
    )
    return Chart("The network over time", told, drawn, table)


Panels = dict[str, tuple[float, dict[str, list[float]]]]
"""By title: the width of an interval, and the values in each by the name of a curve."""


def _panels(document: Document, width: float) -> Panels:
    """Return the curves of the network over time; those that are zero throughout are left out."""
    found = document["traffic"]["over_time"]
    _, bin_width = _clock(document)
    busy = [link["busy"] for link in found["links"]]
    every = len(document.get("network", {}).get("links", busy)) or 1
    panels: Panels = {
        "Links, share of time busy": (
            width,
            {"busiest": _each(busy, max), "mean": [of / every for of in _each(busy, sum)]},
        ),
        "Switches' queues, bytes": (width, _sums([queue["bytes"] for queue in found["queues"]])),
        "Room taken behind links, bytes": (
            width,
            _sums([link["taken_bytes"] for link in found["links"]]),
        ),
        "Waiting for nodes' links, bytes": (
            width,
            _sums([node["waiting_bytes"] for node in found["nodes"]]),
        ),
        "Packets in an interval": (
            width,
            {
                told: _each([node[name] for node in found["nodes"]], sum)
                for name, told in (("returned", "came back"), ("sent_again", "sent again"))
            },
        ),
        "Messages in interfaces": (bin_width, _means(document, "messages")),
    }
    kept: Panels = {}
    for panel, (length, series) in panels.items():
        curves_ = {name: values for name, values in series.items() if any(values)}
        if curves_:
            kept[panel] = length, curves_
    return kept


def _each(rows: list[list[float]], of: Callable[[Iterable[float]], float]) -> list[float]:
    """Return the sum, or the largest, of all rows in each interval."""
    return [of(values) for values in zip(*rows, strict=True)]


def _sums(rows: list[list[float]]) -> dict[str, list[float]]:
    return {"all together": _each(rows, sum), "largest": _each(rows, max)}


def _regions(document: Document, ps: int) -> list[Span]:
    """Return from when to when all nodes are in each region; of many in a row, their name's."""
    begun: dict[tuple[str, int], list[int]] = {}
    counts: dict[tuple[int, int, str], int] = defaultdict(int)
    for region in document["regions"]:
        name = region["name"]
        place = region["node"], region["process"], name
        end = region["end_ps"] if region["end_ps"] is not None else document["simulated_ps"]
        span = begun.setdefault((name, counts[place]), [region["begin_ps"], end])
        span[:] = min(span[0], region["begin_ps"]), max(span[1], end)
        counts[place] += 1
    if len(begun) > MOST_REGIONS:
        joined: dict[str, list[int]] = {}
        for (name, _), (begin, end) in begun.items():
            span = joined.setdefault(name, [begin, end])
            span[:] = min(span[0], begin), max(span[1], end)
        begun = {(name, 0): span for name, span in joined.items()}
    return [
        Span(name, round(begin / ps, 6), round(end / ps, 6))
        for (name, _), (begin, end) in begun.items()
    ]


def activities(document: Document) -> Chart | None:
    """Return what the processors of all nodes did, over time."""
    series = _means(document, "activity")
    if not series:
        return None
    clock, width = _clock(document)
    rows = [
        {"time": round(bin_ * width, 6), "activity": name, "share": mean}
        for name, means in series.items()
        for bin_, mean in enumerate(means)
    ]
    told = "Bands over time: what the processors of all nodes did, their mean"
    table = _summary("Activities", "share", series)
    return Chart("Activities", told, curves.bands(rows, clock, "activity"), table)


def _summary(title: str, unit: str, series: dict[str, list[float]]) -> Table:
    """Return mean and largest of each series; the document has all bins."""
    rows = [
        [name, f"{sum(means) / len(means):.3f}", f"{max(means):.3f}"]
        for name, means in series.items()
    ]
    numbers = [f"mean, {unit}", f"largest bin, {unit}"]
    caption = f"{title}: means over the run and the largest bins"
    return Table(caption, columns("of", *numbers, numbers=numbers), list(rows), is_folded=True)
