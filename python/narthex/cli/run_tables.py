"""A run's document in the terminal: its tables."""

from collections.abc import Sequence
from typing import Any

from narthex import notation
from narthex.cli.tables import columns_of, fits_whole, print_table
from narthex.cli.terminal import console, say

MOST_REGIONS = 20
"""Regions of which the terminal shows where their time went."""

MOST_PAIRS = 12
"""Pairs of ranks of which the terminal shows what they exchange: those with most packets."""

MOST_FUNCTIONS, MOST_LINES, MOST_CATEGORIES = 20, 10, 2
"""Of a profile: functions, lines, and categories of a function that the terminal shows."""


def show(document: dict[str, Any]) -> None:
    """Print what a run waited for, its reports, and where the time went, also of its regions."""
    from narthex import jobs
    from narthex.cli import waits
    from narthex.ledgers import ledger_rows, region_ledger_rows, stall_rows
    from narthex.results import place_of, reports_of

    reports = [
        (
            place_of(report),
            report["name"],
            notation.text(report["value"]),
            report["unit"],
        )
        for report in reports_of(document)
    ]
    columns = ["node", "name", "value", "unit"]
    if "jobs" in document:
        columns = ["job", *columns]
        reports = [
            (jobs.job_at(document, report["node"], report["process"]), *row)
            for report, row in zip(document["reports"], reports, strict=True)
        ]
    waits.show(document)
    if reports:
        print_table("Reported", columns, reports, ["node", "value"])
    _show_ledger("Where the time went, in percent", document, list(ledger_rows(document)))
    _show_stalls("Why no instruction retired, in percent", document, stall_rows(document))
    names = list(dict.fromkeys(region["name"] for region in document["regions"]))
    for name in names[:MOST_REGIONS]:
        title = f"Where the time of region '{name}' went, in percent"
        _show_ledger(title, document, list(region_ledger_rows(document, name)))
        title = f"Why no instruction retired in region '{name}', in percent"
        _show_stalls(title, document, stall_rows(document, name))
    if len(names) > MOST_REGIONS:
        more = notation.counted(len(names) - MOST_REGIONS, "more region")
        say(f"not shown: {more}; --json FILE has them all")
    time_us = document["simulated_ps"] / 1e6
    if "traffic" in document:
        _show_traffic(document["traffic"])
    if "profile" in document:
        _show_profile(document)
    retired = sum(
        processor["retired"] for node in document["nodes"] for processor in node["processors"]
    )
    ran = jobs.words(document) if "jobs" in document else document["program"]
    say(
        f"{ran} on {document['interface']}, {notation.counted(len(document['nodes']), 'node')}:"
        f" {time_us:,.3f} us simulated, {notation.counted(retired, 'instruction')}"
    )


def _show_traffic(traffic: dict[str, Any]) -> None:
    """Print the pairs that exchange most."""
    pairs = sorted(traffic["pairs"], key=lambda pair: -pair["packets"])
    rows = [
        (
            str(pair["from"]),
            str(pair["to"]),
            f"{pair['messages']:,}" if "messages" in pair else "",
            f"{pair['packets']:,}",
            f"{pair['bytes']:,}",
            notation.text(latency["sum"] / latency["count"] / 1e3),
            notation.text(latency["maximum"] / 1e3),
        )
        for pair in pairs[:MOST_PAIRS]
        for latency in [pair.get("message_latency_ps", pair["packet_latency_ps"])]
        if latency["count"]
    ]
    columns = ["from", "to", "messages", "packets", "bytes", "mean, ns", "largest, ns"]
    if rows:
        print_table("Who talks to whom", columns, rows, columns)
    if len(pairs) > MOST_PAIRS:
        more = notation.counted(len(pairs) - MOST_PAIRS, "more pair")
        say(f"not shown: {more}; --json FILE has them all")


def _show_profile(document: dict[str, Any]) -> None:
    """Print the functions and lines with most time of their own."""
    from narthex import profiles

    found = profiles.functions(document)
    all_ps = max(sum(each.own_ps for each in found), 1)
    rows = []
    for each in found[:MOST_FUNCTIONS]:
        most = [
            f"{100 * time / each.own_ps:.0f} {activity} / {occupation}"
            for (activity, occupation), time in each.categories.most_common(MOST_CATEGORIES)
        ]
        times = (notation.text(time / 1e6) for time in (each.own_ps, each.total_ps))
        shares = (f"{100 * time / all_ps:.1f}" for time in (each.own_ps, each.total_ps))
        rows.append((*shares, *times, each.name, ", ".join(most)))
    numbers = ["self, %", "total, %", "self, us", "total, us"]
    columns = [*numbers, "function", "of self, percent"]
    region = document["profile"]["region"]
    of = "" if region is None else f" of region '{region}'"
    title = f"Time{of} by function, all processors"
    optional = ["total, us", "of self, percent", "self, us"]
    print_table(title, columns, rows, numbers, prose=columns[5:], optional=optional)
    shown = [
        (f"{100 * time / all_ps:.1f}", notation.text(time / 1e6), function, place)
        for function, place, time in profiles.lines(document)[:MOST_LINES]
    ]
    if shown:
        columns = ["self, %", "self, us", "function", "line"]
        title = f"Time{of} by line, all processors"
        print_table(title, columns, shown, columns[:2], optional=columns[1:3])
    if len(found) > MOST_FUNCTIONS:
        more = notation.counted(len(found) - MOST_FUNCTIONS, "more function")
        say(f"not shown: {more}; --profile FILE has them all")


Times = list[tuple[int, int, str, str, int]]


def _show_stalls(title: str, document: dict[str, Any], stalls: Times) -> None:
    """Print the stalls of processors with a reorder window, if there are any."""
    if stalls:
        _show_ledger(title, document, stalls, ["the oldest instruction waits for"])


def _show_ledger(
    title: str,
    document: dict[str, Any],
    ledger: Times,
    parts: Sequence[str] = ("activity", "spent in"),
) -> None:
    """Print a ledger, in as few groups of processors as the terminal has room for."""
    from narthex.ledgers import LARGEST_NODES, ledger_shares

    for most in range(LARGEST_NODES, 1, -1):
        processors, rows = ledger_shares(document, ledger, most)
        rows = [[*row[: len(parts)], *row[2:]] for row in rows]
        columns = [*parts, *processors]
        if fits_whole(columns_of(columns, rows, processors), console().width):
            break
    print_table(title, columns, rows, processors)
