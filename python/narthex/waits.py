"""For what processors, devices and packets waited, ranked.

document ──► processor_rows: the waiting parts of the ledger, each with its cause
         ──► other_rows: what statistics measure of devices and packets
                  └──► ranked: one `Wait` a cause, with where it was longest and what shows it

A processor waits where its ledger says so: while a transaction keeps it, while its thread
sleeps or it waits for an interrupt, and while its program does nothing but wait (`WAITING`).
These times are measured to the picosecond and add up to the ledger's; those of devices and
packets overlap them, and each other, so they have no share of the processors' time.
"""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from narthex.errors import NarthexError
from narthex.ledgers import ledger_rows, region_ledger_rows, region_processors
from narthex.results import PS_PER_US

Document = dict[str, Any]

WAITING = {
    "poll": "arrival of a message",
    "wait to send": "room to send",
    "synchronisation": "other nodes",
}
"""Activities of a program that does nothing but wait, each with what it waits for."""

NO_PROGRAM = ("exited", "idle")
"""Activities of a processor without a program: it waits for nothing."""

TRANSACTIONS = ("data miss", "instruction miss", "uncached access", "store buffer")
"""Occupations in which a transaction keeps a processor."""

SLEEPING = {"asleep": "another thread", "interrupt": "interrupt"}
"""Occupations in which it does nothing, each with what it waits for."""

FOR_FIRMWARE = "work for the firmware"
"""What a processor of firmware waits for that finds nothing to do, or has no interrupt."""

PROCESSORS, DEVICES, REQUESTS, PACKETS = "processors", "devices", "requests", "packets"
"""Who waits."""

STATISTICS = {
    "interface_waited_for_interconnect": (DEVICES, "interconnect", ""),
    "directory_blocked_time": (REQUESTS, "directory's home", "directory_blocked"),
    "packets_waited_to_retry": (PACKETS, "another attempt", "packets_retried"),
    "on_chip_waited": (PACKETS, "links of the network on chip", ""),
}
"""Times that nodes count: who waits, for what, and the count of those that did, if there is one."""

MEANINGS = {
    "arrival of a message": "the program looks for messages and finds none",
    "room to send": "the interface's queue is full, or the flow control has no credit",
    "other nodes": "barriers, locks and collectives",
    "another thread": "the thread sleeps in a system call",
    "interrupt": "nothing has asserted a line",
    FOR_FIRMWARE: "the firmware finds nothing to do",
    "interconnect": "another agent has it, or its clock has no edge yet",
    "right to write": "other caches give up their copies; no bytes move",
    "main memory": "it answers, or takes the dirty block that has to leave first",
    "another cache": "the owner of a block supplies it",
    "interface": "a device answers from a register, a queue or its memory",
    "directory's home": "the home of a block answers, and those that it asks",
    "retry": "an agent has refused the transaction, which is tried again",
    "another attempt": "the receiver had no buffer, and the packet came back",
    "links of the network on chip": "messages of tiles, caches and homes wait for a link",
    "links of the network": "a parcel waits for a link, or for a credit of what is behind it",
}
"""What each cause is."""

MOST = 8
"""Waits that are shown, of as many as there are."""

MOST_DETAILS = 2
"""Activities, nodes or links that are named of a wait."""

WINDOW_US = 20
"""Of simulated time: how much of a run a timeline shows that is to show a wait."""


@dataclass(frozen=True)
class Row:
    """A part of a wait, as exactly as it is measured."""

    who: str
    node: int | None
    processor: int | None
    cause: str
    activity: str | None
    occupation: str | None
    resource: str | None
    """For what a transaction waited, if one kept the processor."""
    time_ps: int
    place: str = ""
    """Where, if that is no node."""
    times: int | None = None
    """How many waited, if they are counted."""


@dataclass(frozen=True)
class Wait:
    """All that was waited for one cause."""

    who: str
    cause: str
    time_ps: int
    share: float | None
    """Of the time in which the processors had a program; None of all but processors."""
    times: int | None
    activities: list[tuple[str, float]]
    """During which the processors waited, and their shares of the wait."""
    places: list[tuple[str, float]]
    """Where it was longest, and their shares of the wait."""
    node: int | None
    """That in which it was longest."""


def has_waits(document: Document) -> bool:
    """Tell whether a result says for what processors waited; one of an earlier version does not."""
    processors = [each for node in document["nodes"] for each in node["processors"]]
    regions = [each for each in document["regions"] if each["end_ps"] is not None]
    return all("waits_ps" in each for each in [*processors, *regions])


def processor_rows(document: Document, region: str | None = None) -> Iterator[Row]:
    """Yield the waiting parts of the ledger of a run, or of its regions of a name.

    Raises `NarthexError` for a result that an earlier version made, which lacks them.
    """
    firmware = _firmware(document)
    parts = _parts(document, region)
    ledger = ledger_rows(document) if region is None else region_ledger_rows(document, region)
    cells = Counter[tuple[int, int, str, str]]()
    for node, processor, activity, occupation, time_ps in ledger:
        cells[node, processor, activity, occupation] += time_ps
    for (node, processor, activity, occupation), time_ps in cells.items():
        runs_firmware = (node, processor) in firmware
        place = (node, processor, activity, occupation)
        if occupation in TRANSACTIONS:
            for resource, part_ps in parts.get(place, {}).items():
                cause = cause_of(activity, occupation, resource, runs_firmware=runs_firmware)
                if cause:
                    yield Row(
                        PROCESSORS, node, processor, cause, activity, occupation, resource, part_ps
                    )
        elif cause := cause_of(activity, occupation, None, runs_firmware=runs_firmware):
            yield Row(PROCESSORS, node, processor, cause, activity, occupation, None, time_ps)


def cause_of(
    activity: str, occupation: str, resource: str | None, *, runs_firmware: bool = False
) -> str | None:
    """Return what a processor waits for in a part of its ledger; None where it does not wait."""
    if activity in NO_PROGRAM:
        return None
    if runs_firmware and (activity == "poll" or occupation == "interrupt"):
        return FOR_FIRMWARE
    if occupation in SLEEPING:
        return SLEEPING[occupation]
    return WAITING.get(activity, resource)


def other_rows(document: Document, region: str | None = None) -> Iterator[Row]:
    """Yield what devices, requests and packets waited, of a run or of its regions of a name."""
    for node, counted in _counted(document, region):
        for name, (who, cause, count) in STATISTICS.items():
            if time_ps := counted.get(name):
                times = counted.get(count)
                yield Row(who, node, None, cause, None, None, None, int(time_ps), "", times)
    if region is None:
        for link in document.get("network", {}).get("links", []):
            if link["waited"]:
                name = f"{link['from']} to {link['to']}"
                yield Row(
                    PACKETS,
                    None,
                    None,
                    "links of the network",
                    None,
                    None,
                    None,
                    link["waited"],
                    name,
                )


def ranked(document: Document, region: str | None = None) -> list[Wait]:
    """Return the waits of a run, or of its regions of a name: the processors' longest first.

    Those of the others follow, the longest first: they overlap the processors'.
    """
    ledger = ledger_rows(document) if region is None else region_ledger_rows(document, region)
    busy_ps = sum(row[4] for row in ledger if row[2] not in NO_PROGRAM)
    of_cause: dict[tuple[str, str], list[Row]] = {}
    for row in [*processor_rows(document, region), *other_rows(document, region)]:
        of_cause.setdefault((row.who, row.cause), []).append(row)
    waits = [_wait(who, cause, rows, busy_ps) for (who, cause), rows in of_cause.items()]
    return sorted(waits, key=lambda wait: (wait.who != PROCESSORS, -wait.time_ps, wait.cause))


def _wait(who: str, cause: str, rows: list[Row], busy_ps: int) -> Wait:
    time_ps = sum(row.time_ps for row in rows)
    activities = Counter[str]()
    nodes = Counter[int]()
    places = Counter[str]()
    for row in rows:
        if row.activity is not None:
            activities[f"{row.activity}, {row.occupation}"] += row.time_ps
        if row.node is not None:
            nodes[row.node] += row.time_ps
        places[row.place or f"node {row.node}"] += row.time_ps
    times = [row.times for row in rows if row.times is not None]
    return Wait(
        who,
        cause,
        time_ps,
        time_ps / busy_ps if who == PROCESSORS and busy_ps else None,
        sum(times) if times else None,
        _most(activities, time_ps),
        _most(places, time_ps),
        nodes.most_common(1)[0][0] if nodes else None,
    )


def _most(times: Counter[str], all_ps: int) -> list[tuple[str, float]]:
    return [(name, time_ps / all_ps) for name, time_ps in times.most_common(MOST_DETAILS)]


def in_words(details: Iterable[tuple[str, float]]) -> str:
    """Say which parts a wait has, in percent."""
    return "; ".join(f"{name} {100 * share:.0f} %" for name, share in details)


def longest_region(document: Document) -> str | None:
    """Return the region in which processors spent most time; None if none ended."""
    times = Counter[str]()
    for region in document["regions"]:
        times[region["name"]] += sum((region.get("ledger_ps") or {}).values())
    found = times.most_common(1)
    return found[0][0] if found and found[0][1] else None


def life_command(document: Document) -> str:
    """Return what a user types to see a message's life, on the run's interface."""
    from narthex.explanation import payload_bytes

    size = payload_bytes(document)
    return shlex.join(["narthex", "explain", document["interface"], "--bytes", str(size)])


def timeline_options(document: Document, wait: Wait, region: str | None = None) -> str:
    """Return what a user adds to the run to see a wait: a timeline of its node.

    Of the first instants of the region that is measured, or of the run.
    """
    begins = [each["begin_ps"] for each in document["regions"] if each["name"] == region]
    begin_us = min(begins, default=0) // PS_PER_US
    nodes = [] if wait.node is None else ["--trace-nodes", str(wait.node)]
    window = ["--trace-from", f"{begin_us}us", "--trace-to", f"{begin_us + WINDOW_US}us"]
    return shlex.join(["--trace", "waits.html", *nodes, *window])


def _firmware(document: Document) -> set[tuple[int, int]]:
    return {
        (node["node"], index)
        for node in document["nodes"]
        for index, processor in enumerate(node["processors"])
        if processor.get("firmware")
    }


def _parts(document: Document, region: str | None) -> dict[tuple[int, int, str, str], Counter[str]]:
    """Return for what transactions waited, by node, processor, activity and occupation."""
    parts: dict[tuple[int, int, str, str], Counter[str]] = {}
    for node, processor, waits_ps in _measured(document, region):
        if waits_ps is None:
            raise NarthexError(
                "this result does not say for what processors waited: an earlier version made it;"
                " make it again with 'narthex run ... --json FILE'"
            )
        for key, time_ps in waits_ps.items():
            activity, occupation, resource = key.split(" / ")
            place = (node, processor, activity, occupation)
            parts.setdefault(place, Counter())[resource] += time_ps
    return parts


def _measured(
    document: Document, region: str | None
) -> Iterator[tuple[int, int, dict[str, int] | None]]:
    if region is None:
        for node in document["nodes"]:
            for index, processor in enumerate(node["processors"]):
                yield node["node"], index, processor.get("waits_ps")
        return
    for place, processor, counts in region_processors(document, region):
        yield place, processor, counts.get("waits_ps")


def _counted(document: Document, region: str | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield what nodes have counted; of a region at the first process, as its statistics stand."""
    if region is None:
        for node in document["nodes"]:
            yield node["node"], node["statistics"]
        return
    for each in document["regions"]:
        if each["name"] == region and each["end_ps"] is not None and each["process"] == 0:
            yield each["node"], each.get("statistics") or {}
