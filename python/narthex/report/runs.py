"""The section of a run: what it reported, where its time went, what it counted."""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, get_args

from narthex import groups, jobs, notation, profiles
from narthex.charts import drawings, looks
from narthex.ledgers import (
    LARGEST_NODES,
    is_firmwares,
    ledger_rows,
    ledger_shares,
    processors_alike,
    region_ledger_rows,
    stall_rows,
)
from narthex.report import networks, traffic, waits
from narthex.report.parts import (
    Cell,
    Chart,
    Facts,
    Mark,
    Picture,
    Section,
    Table,
    Verbatim,
    columns,
    number,
    percent,
    without_empty,
)
from narthex.results import PS_PER_US, LedgerPart, Result, place_of, reports_of

Document = dict[str, Any]
Ledger = list[tuple[int, int, str, str, int]]

ACTIVITY, OCCUPATION = 2, 3
"""Where a ledger's rows have them."""

HASH_DIGITS = 12
"""Of a binary's hash that a page shows; the result has them all."""

MOST_REGIONS = 3
"""Regions that have charts: those with the most time."""

MOST_FUNCTIONS = 50
"""Functions in the table of a profile: those with most time of their own."""

LONGEST_OUTPUT = 20_000
"""Characters of output that a page shows."""


def section(document: Document) -> Section:
    """Describe a run, without its machine."""
    program = jobs.words(document)
    parts: list[Any] = [facts(document)]
    if has_failed(document):
        parts.insert(0, Verbatim("How the run ended", document.get("failure", document["ending"])))
    if document["reports"]:
        parts.append(reports(document))
    regions = _longest_first(document)
    sections = [
        *waits.sections(document),
        Section("Where the time went", time_parts(document)),
        *(Section(f"Region {name}", time_parts(document, name)) for name in regions[:MOST_REGIONS]),
    ]
    if regions[MOST_REGIONS:]:
        sections.append(Section("Further regions", [_further(document, regions[MOST_REGIONS:])]))
    if document["message_sizes"]:
        sections.append(Section("Messages by size", [message_sizes(document)]))
    if "traffic" in document:
        sections.append(traffic.section(document))
    if document.get("profile", {}).get("rows"):
        sections.append(_profile(document))
    if "network" in document:
        sections.append(networks.section(document))
    if "network_on_chip" in document:
        sections.append(networks.on_chip(document))
    sections.append(Section("Statistics", [statistics(document)]))
    if document["output"]:
        sections.append(Section("Output", [_output(document)]))
    return Section(f"{program} on {document['interface']}", parts, sections)


def _profile(document: Document) -> Section:
    """Show where the time went by function: a flame graph, and the numbers of functions."""
    drawn = profiles.flame_graph(document, is_alone=False)
    found = profiles.functions(document)
    all_ps = sum(each.own_ps for each in found)
    numbers = ["self", "total", "self, us", "total, us"]
    rows: list[list[Cell]] = [
        [
            each.name,
            percent(each.own_ps / all_ps),
            percent(each.total_ps / all_ps),
            number(each.own_ps / PS_PER_US, 3),
            number(each.total_ps / PS_PER_US, 3),
        ]
        for each in found[:MOST_FUNCTIONS]
    ]
    table = Table("Functions", columns("function", *numbers, numbers=numbers), rows, is_folded=True)
    caption = f"Time of {profiles.title(document)}: callers below, categories on top"
    return Section("Profile", [Picture(caption, drawn), table])


def _longest_first(document: Document) -> list[str]:
    """Return the regions' names, those first whose processors spent most time in them."""
    times: Counter[str] = Counter()
    for region in document["regions"]:
        times[region["name"]] += sum((region.get("ledger_ps") or {}).values())
    return sorted(Result(document).regions, key=lambda name: -times[name])


def _further(document: Document, names: list[str]) -> Table:
    """Return the regions that have no charts: their time, and what most of it went to."""
    rows = []
    for name in names:
        ledger = list(region_ledger_rows(document, name))
        time_ps = sum(row[4] for row in ledger)
        rows.append([name, number(time_ps / PS_PER_US, 3), _largest(ledger, ACTIVITY)])
    titles = columns("region", "time of all processors, us", "activities", numbers=[])
    return Table("Further regions, by time", titles, rows, is_folded=True)


def has_failed(document: Document) -> bool:
    """Tell whether a run ended before its program did."""
    return bool(document["ending"] != "finished")


def facts(document: Document) -> Facts:
    """Return what a run was, in short."""
    processors = [each for node in document["nodes"] for each in node["processors"]]
    retired = sum(processor["retired"] for processor in processors)
    sent = sum(entry["messages"] for entry in document["message_sizes"])
    return Facts(
        [
            ("Jobs" if "jobs" in document else "Program", jobs.words(document)),
            ("Interface", document["interface"]),
            ("Machine", document["machine"]["machine"]["name"]),
            ("Nodes", number(len(document["nodes"]))),
            *([("Ending", Mark(document["ending"], "bad"))] if has_failed(document) else []),
            ("Simulated time", f"{number(document['simulated_ps'] / PS_PER_US, 3)} us"),
            ("Instructions", number(retired)),
            ("Messages", number(sent)),
            ("Binary, SHA-256", document["binary_sha256"][:HASH_DIGITS]),
            ("Narthex", document["version"]),
        ]
    )


def _job_of(document: Document, report: dict[str, Any]) -> str:
    """Name the job of a report; firmware is of none."""
    if is_firmwares(report):
        return ""
    return jobs.job_at(document, report["node"], report["process"])


def reports(document: Document) -> Table:
    """Return what the program reported; of many processes the mean and the range."""
    caption = "Reported by the jobs" if "jobs" in document else "Reported by the program"
    if len(document["nodes"]) <= LARGEST_NODES:
        rows = [
            [
                place_of(each),
                _job_of(document, each),
                each["name"],
                number(each["value"]),
                each["unit"],
            ]
            for each in reports_of(document)
        ]
        names = columns("node", "job", "name", "value", "unit", numbers=["value"])
        return without_empty(Table(caption, names, rows))
    values: dict[tuple[str, str, str], list[float]] = {}
    for each in reports_of(document):
        job = _job_of(document, each)
        values.setdefault((each["name"], job, each["unit"]), []).append(each["value"])
    rows = [[name, job, *_summed_up(of), unit] for (name, job, unit), of in values.items()]
    numbers = ["reports", "mean", "smallest", "largest"]
    names = columns("name", "job", *numbers, "unit", numbers=numbers)
    return without_empty(Table(caption, names, rows))


def _summed_up(values: list[float]) -> list[str]:
    """Return how many values there are, and mean, smallest and largest of those that are finite."""
    finite = notation.finite(values)
    told = notation.left_out(len(values) - len(finite))
    count = f"{len(values)} ({told})" if told else str(len(values))
    found = (notation.mean(finite), min(finite), max(finite)) if finite else (math.nan,) * 3
    return [count, *map(number, found)]


def time_parts(document: Document, region: str | None = None) -> list[Any]:
    """Return the ledger as charts: by activity, by occupation, and the stalls of windows."""
    parts = [by for by in get_args(LedgerPart) if by != "stall" or stall_rows(document, region)]
    return [ledger_chart(document, by, region) for by in parts]


def ledger_chart(document: Document, by: LedgerPart, region: str | None = None) -> Chart:
    """Return the ledger of a run or of a region of it: a bar a processor, and a table of shares."""
    if region is None:
        of, ledger = "the whole run", list(ledger_rows(document))
    else:
        of, ledger = f"region '{region}'", list(region_ledger_rows(document, region))
    if by == "stall":
        ledger = divided = stall_rows(document, region)
        index, meaning = ACTIVITY, "why no instruction retired"
        names = ["the oldest instruction waits for", ""]
    elif by == "activity":
        index, meaning, names = ACTIVITY, "what its processors did", ["activity", "spent in"]
        divided = ledger
    else:
        index, meaning, names = OCCUPATION, "what it was spent in", ["spent in", ""]
        divided = [(node, each, spent_in, "", time) for node, each, _, spent_in, time in ledger]
    return Chart(
        f"Time of {of} by {by}",
        f"Bars of time, by {meaning}, {_bars(ledger)}: {_largest(ledger, index)}",
        _stacked(document, ledger, by, index - ACTIVITY),
        _shares(document, divided, f"Time of {of} by {by}, in percent", names),
    )


def _shares(document: Document, ledger: Ledger, caption: str, names: list[str]) -> Table:
    """Return the ledger in percent of each node; an empty name stands for no column."""
    nodes, rows = ledger_shares(document, ledger)
    kept = [name for name in names if name]
    cells: list[list[Any]] = [[*row[: len(kept)], *row[2:]] for row in rows]
    return Table(caption, columns(*kept, *nodes, numbers=nodes), cells, is_folded=True)


def _stacked(document: Document, ledger: Ledger, by: str, index: int) -> looks.Spec:
    """Draw a bar for each processor, or for those that spend their time alike.

    `index` is the place of the parts, in a pair of an activity and an occupation.
    """
    rows = []
    for runs, group in processors_alike(document, ledger, groups.MOST_BARS):
        times: Counter[str] = Counter()
        for pair, time in group.times.items():
            times[pair[index]] += time
        rows += [
            {
                "node": f"{group.name}{runs}",
                by: part,
                "time": time / len(group.places),
                "share": time / max(times.total(), 1),
            }
            for part, time in times.items()
        ]
    return drawings.ledger(rows, "node", by)


def _bars(ledger: Ledger) -> str:
    """Say what has a bar."""
    places = {row[:2] for row in ledger}
    if len(places) <= groups.MOST_BARS:
        return "one for each node"
    return f"one for those of {len(places)} processors that spend their time alike, their mean"


def _largest(ledger: Iterable[tuple[int, int, str, str, int]], index: int) -> str:
    """Say in words what most of the time went to."""
    times: Counter[str] = Counter()
    for row in ledger:
        times[row[index]] += row[4]
    total = max(times.total(), 1)
    return ", ".join(f"{part} {percent(time / total)} %" for part, time in times.most_common(4))


def message_sizes(document: Document) -> Chart:
    """Return how many messages of each size were sent."""
    entries = document["message_sizes"]
    total = sum(entry["messages"] for entry in entries)
    rows = [
        [number(entry["bytes"]), number(entry["messages"]), percent(entry["messages"] / total)]
        for entry in entries
    ]
    numbers = ["bytes, with header", "messages", "percent"]
    table = Table("Messages by size", columns(*numbers, numbers=numbers), rows, is_folded=True)
    most = max(entries, key=lambda entry: entry["messages"])
    return Chart(
        "Messages by size",
        f"Bars: messages of each size, header included; of {number(total)} messages"
        f" {number(most['messages'])} have {number(most['bytes'])} bytes",
        drawings.sizes(groups.binned(entries)),
        table,
    )


def statistics(document: Document) -> Table:
    """Return all counts, added up over the nodes, with what they mean."""
    described = document.get("statistics", {})
    rows: list[list[Any]] = []
    for name in document["nodes"][0]["statistics"]:
        told = described.get(name, {})
        values = [node["statistics"].get(name) for node in document["nodes"]]
        for label, counted in _flat(name, [value for value in values if value is not None]):
            rows.append([label, number(counted), told.get("unit", ""), told.get("meaning", "")])
    names = columns("statistic", "all nodes", "unit", "meaning", numbers=["all nodes"])
    return Table("Counts of all nodes together", names, rows, is_folded=len(rows) > 12)


def _flat(name: str, values: list[Any]) -> list[tuple[str, float]]:
    """Return the nodes' values joined: sums, of largest values the largest; a row a kind."""
    if not isinstance(values[0], dict):
        join: Callable[[list[float]], float] = max if "largest" in name else sum
        return [(name, join(values))]
    keys = dict.fromkeys(key for value in values for key in value)
    flat = []
    for key in keys:
        numbers = [value[key] for value in values if isinstance(value.get(key), int | float)]
        if any(numbers):
            flat.append((f"{name}: {key}", max(numbers) if key == "maximum" else sum(numbers)))
    return flat


def _output(document: Document) -> Verbatim:
    several = len({place_of(piece) for piece in document["output"]}) > 1
    lines = []
    for piece in document["output"]:
        prefix = f"[{place_of(piece)}] " if several else ""
        lines.append(prefix + piece["text"].rstrip("\n"))
    text = "\n".join(lines)
    cut = f"\n... and {len(text) - LONGEST_OUTPUT:,} characters more"
    return Verbatim(
        "What the program wrote",
        text if len(text) <= LONGEST_OUTPUT else text[:LONGEST_OUTPUT] + cut,
    )
