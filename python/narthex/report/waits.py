"""Top waits: the first section of a run, and from there to what shows each of them."""

from collections.abc import Iterable
from typing import Any

from narthex import waits
from narthex.report.parts import (
    Cell,
    Link,
    Links,
    Paragraph,
    Section,
    Table,
    bar,
    columns,
    number,
    percent,
)
from narthex.results import PS_PER_US

Document = dict[str, Any]

SHOWN_BY = {
    "arrival of a message": (("life", "One "), ("who talks to whom", "Who talks")),
    "room to send": (("over time", "Over time"), ("who talks to whom", "Who talks")),
    "links of the network": (("network", "Network"),),
    "links of the network on chip": (("network on chip", "Network on chip"),),
}
"""Sections that show a cause, by the begin of their titles; the message's life shows any other."""

OF_ALL = (("functions", "Profile"), ("counts", "Statistics"))
"""Sections that show something of each cause."""


def sections(document: Document) -> list[Section]:
    """Return the section of top waits: of the region that took longest, and of the whole run."""
    if not has_waits(document):
        return []
    region = waits.longest_region(document)
    tables = [table(document, region)] if region else []
    tables.append(table(document, None, is_folded=bool(region)))
    shown = [each for each in tables if each.rows]
    region = region if waits.ranked(document, region) else None
    return [Section("Top waits", [*shown, _hint(document, region)])] if shown else []


def has_waits(document: Document) -> bool:
    """Tell whether a result says for what processors waited; one of an earlier version does not."""
    return all("waits_ps" in each for node in document["nodes"] for each in node["processors"])


def table(document: Document, region: str | None, *, is_folded: bool = False) -> Table:
    """Return the waits of a run or of a region of it, the processors' longest first."""
    found = waits.ranked(document, region)[: waits.MOST]
    longest = max((wait.time_ps for wait in found), default=0)
    numbers = ["time, us", "percent", "times"]
    names = ["for", "who waits", *numbers[:2], "", "while", "where", numbers[2], "see"]
    of = f"region '{region}'" if region else "the whole run"
    caption = f"For what was waited in {of}; percent of the processors' time"
    rows = [_row(wait, longest) for wait in found]
    return Table(caption, columns(*names, numbers=numbers), rows, is_folded=is_folded)


def _row(wait: waits.Wait, longest: int) -> list[Cell]:
    return [
        f"{wait.cause}: {waits.MEANINGS[wait.cause]}",
        wait.who,
        number(wait.time_ps / PS_PER_US, 3),
        "" if wait.share is None else percent(wait.share),
        bar(wait.cause, wait.time_ps, longest),
        waits.in_words(wait.activities),
        waits.in_words(wait.places),
        "" if wait.times is None else number(wait.times),
        Links(tuple(_links(wait))),
    ]


def _links(wait: waits.Wait) -> Iterable[Link]:
    for text, to in (*SHOWN_BY.get(wait.cause, (("life", "One "),)), *OF_ALL):
        yield Link(text, to)


def _hint(document: Document, region: str | None) -> Paragraph:
    """Say how the waits add up, and how to see the instants behind the longest one."""
    options = waits.timeline_options(document, waits.ranked(document, region)[0], region)
    return Paragraph(
        "The waits of processors add up to the parts of their ledger in which they wait; those of"
        " devices, requests and packets overlap them. To see the instants of the longest wait, run"
        f" it again with {options}."
    )
