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
    if not waits.has_waits(document):
        return []
    region = waits.longest_region(document)
    of_region = waits.ranked(document, region) if region else []
    of_run = waits.ranked(document)
    if not of_run:
        return []
    tables = [_table(of_region, f"region '{region}'")] if of_region else []
    tables.append(_table(of_run, "the whole run", is_folded=bool(of_region)))
    hint = _hint(document, of_region or of_run, region if of_region else None)
    return [Section("Top waits", [*tables, _meanings(of_run), hint])]


def _table(found: list[waits.Wait], of: str, *, is_folded: bool = False) -> Table:
    """Return waits, the processors' longest first."""
    numbers = ["us", "percent", "times"]
    names = ["waited for", "by", *numbers, "while", "where", "see"]
    rows = [_row(wait) for wait in found[: waits.MOST]]
    left_out = [
        name for name in ("percent", "times") if not any(row[names.index(name)] for row in rows)
    ]
    kept = [index for index, name in enumerate(names) if name not in left_out]
    return Table(
        f"For what was waited in {of}; percent of the processors' time",
        columns(*(names[index] for index in kept), numbers=numbers),
        [[row[index] for index in kept] for row in rows],
        is_folded=is_folded,
    )


def _row(wait: waits.Wait) -> list[Cell]:
    return [
        wait.cause,
        wait.who,
        number(wait.time_ps / PS_PER_US, 3),
        "" if wait.share is None else percent(wait.share),
        "" if wait.times is None else number(wait.times),
        _unbroken(waits.in_words(wait.activities)),
        _unbroken(waits.in_words(wait.places)),
        Links(tuple(_links(wait))),
    ]


def _unbroken(text: str) -> str:
    """Keep a number with its unit."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def _meanings(found: list[waits.Wait]) -> Table:
    rows: list[list[Cell]] = [
        [cause, waits.MEANINGS[cause]] for cause in dict.fromkeys(wait.cause for wait in found)
    ]
    return Table("What each of them is", columns("waited for", "meaning"), rows, is_folded=True)


def _links(wait: waits.Wait) -> Iterable[Link]:
    for text, to in (*SHOWN_BY.get(wait.cause, (("life", "One "),)), *OF_ALL):
        yield Link(text, to)


def _hint(document: Document, found: list[waits.Wait], region: str | None) -> Paragraph:
    """Say how the waits add up, and how to see the instants of the longest one."""
    return Paragraph(
        "The waits of processors add up to the parts of their ledger in which they wait; those of"
        " devices, requests and packets overlap them. To see the instants of the longest wait, run"
        f" it again with {waits.timeline_options(document, found[0], region)}."
    )
