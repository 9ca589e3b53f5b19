"""Where the processors of a run spent their time, as rows of its document's ledgers."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from narthex import groups, jobs

LARGEST_NODES = 8
"""In the ledger of more nodes than these, those that are alike are one column."""


def is_firmwares(entry: dict[str, Any]) -> bool:
    """Tell whether a report, a region or a piece of output is firmware's, not the program's."""
    return bool(entry.get("firmware") or entry.get("stream") == "firmware")


def ledger_rows(document: dict[str, Any]) -> Iterator[tuple[int, int, str, str, int]]:
    """Yield (node, processor, activity, occupation, time in ps) of a run's document."""
    for node in document["nodes"]:
        for index, processor in enumerate(node["processors"]):
            yield from _divided(node["node"], index, processor["ledger_ps"])


def region_ledger_rows(
    document: dict[str, Any], name: str
) -> Iterator[tuple[int, int, str, str, int]]:
    """Yield the same of the regions with this name, as far as they have ended."""
    for node, processor, counts in region_processors(document, name):
        yield from _divided(node, processor, counts["ledger_ps"])


def stall_rows(
    document: dict[str, Any], region: str | None = None
) -> list[tuple[int, int, str, str, int]]:
    """Return (node, processor, why nothing retired, "", time in ps) of processors with a window.

    Of the whole run, or of the regions with this name.
    """
    if region is None:
        counted: Iterable[tuple[int, int, dict[str, Any]]] = (
            (node["node"], index, processor)
            for node in document["nodes"]
            for index, processor in enumerate(node["processors"])
        )
    else:
        counted = region_processors(document, region)
    return [
        (node, processor, cause, "", time_ps)
        for node, processor, of in counted
        for cause, time_ps in of.get("stalls_ps", {}).items()
    ]


def region_processors(
    document: dict[str, Any], name: str
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield (node, processor, what it has counted) of the regions with this name that have ended.

    Of a program's regions the node's firmware, too.
    """
    for region in document["regions"]:
        if region["name"] != name or region["end_ps"] is None:
            continue
        node, is_own = region["node"], is_firmwares(region)
        yield node, region["processor"] if is_own else region["process"], region
        for each in () if is_own else region.get("firmware_processors", ()):
            yield node, each["processor"], each


def ledger_shares(
    document: dict[str, Any],
    ledger: Iterable[tuple[int, int, str, str, int]],
    most: int = LARGEST_NODES,
) -> tuple[list[str], list[list[str]]]:
    """Lay ledger rows out in percent: a row an activity and occupation, a column a processor.

    Returns the columns' names and the rows, those with the most time first; of more
    processors than `most`, those that spend their time alike are one column, their mean.
    The firmware of a node has a column of its own, where it has time in the ledger.
    """
    grouped = processors_alike(document, ledger, most)
    columns = {f"{group.short_name}{runs}": group.times for runs, group in grouped}
    times: Counter[tuple[str, str]] = Counter()
    for of_column in columns.values():
        times.update(of_column)
    rows = []
    for part, _ in times.most_common():
        shares = (of[part] / max(of.total(), 1) for of in columns.values())
        cells = [f"{100 * share:.1f}" for share in shares]
        if any(cell != "0.0" for cell in cells):
            rows.append([*part, *cells])
    return list(columns), rows


def processors_alike(
    document: dict[str, Any],
    ledger: Iterable[tuple[int, int, str, str, int]],
    most: int,
) -> list[tuple[str, groups.Group[tuple[str, str]]]]:
    """Return groups of at most so many processors that spend their time alike, in order.

    Before a group stands what its processors run, if that tells them apart: ", firmware", or the
    job of a run with several; a node's firmware is together.
    """
    firmware = {
        (node["node"], index)
        for node in document["nodes"]
        for index, processor in enumerate(node["processors"])
        if processor.get("firmware")
    }

    def kind_of(node: int, index: int) -> str:
        runs = "firmware" if (node, index) in firmware else jobs.job_at(document, node, index)
        return f", {runs}" if runs else ""

    spent: dict[str, dict[groups.Place, Counter[tuple[str, str]]]] = defaultdict(dict)
    # Firmware may have no time in a region.
    for node in document["nodes"]:
        for index in range(len(node["processors"])):
            if (node["node"], index) not in firmware:
                spent[kind_of(node["node"], index)][node["node"], index] = Counter()
    for node, index, activity, occupation, time_ps in ledger:
        place = 0 if (node, index) in firmware else index
        of_kind = spent[kind_of(node, index)].setdefault((node, place), Counter())
        of_kind[activity, occupation] += time_ps
    of_jobs = [runs for runs in spent if runs != ", firmware"]
    if sum(len(spent[runs]) for runs in of_jobs) > most:
        most = max(1, most // len(of_jobs))
    grouped = [
        (runs, group) for runs, of_kind in spent.items() for group in groups.alike(of_kind, most)
    ]
    return sorted(grouped, key=lambda each: each[1].places[0])


def _divided(
    node: int, processor: int, ledger_ps: dict[str, int]
) -> Iterator[tuple[int, int, str, str, int]]:
    for key, time_ps in ledger_ps.items():
        activity, _, occupation = key.partition(" / ")
        yield node, processor, activity, occupation, time_ps
