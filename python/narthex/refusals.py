"""Tells a program's refusal of its arguments from its other failures.

A program checks its arguments before it sends anything, and refuses one by `narthex_fail`
(guest/programs/arguments.h), as it does anything else: it is the user's mistake all the same, not
a fault of the program. The forms of such messages are few:

| form | example |
| --- | --- |
| ...; allowed are ... | `argument 1 (bytes) is "x"; allowed are whole numbers from ...` |
| NAME: a ... is A, B or C, not "X" | `voyager-latency: a queue is resident or hybrid, not "x"` |
| NAME ARGUMENTS runs on ... | `voyager-stores KIND [COUNT] runs on two nodes` |
| two processes take part, not N | the same of the programs of the Virtual Interface Architecture |

A message that begins with "node" is about what a node has done, and no refusal. The message is
kept; where the program counts, and what the processor was doing, says nothing to the user.
"""

import contextlib
import difflib
import re
from collections.abc import Iterator
from typing import Any

from narthex.errors import NarthexError

_FAILURE = re.compile(r"node \d+(?:, process[^:\n]*)?: (?P<told>[^\n]*)\n  at  ")
"""How the simulator begins what it says about a program that failed."""

_FORMS = (
    re.compile(r"(?!node ).*; allowed are (?P<allowed>.*)"),
    re.compile(r'\S+: an? [a-z ]+ is (?P<allowed>[a-z0-9, -]+), not "[^"]*"'),
    re.compile(r"[a-z][a-z0-9-]* (?:[A-Z0-9 \[\]-]+ )?runs on .*"),
    re.compile(r"two processes take part, not \d+"),
)
_RANGE = re.compile(r"whole numbers from (-?\d+) to (-?\d+)")
_GIVEN = re.compile(r'(?:is|not) "(?P<given>[^"]*)"')
_BETWEEN = re.compile(r", | or | and ")


@contextlib.contextmanager
def telling_refusals() -> Iterator[None]:
    """Raise a program's refusal of its arguments, in place of the failure that it is in a run."""
    try:
        yield
    except NarthexError as error:
        told = refusal(error)
        if told is error:
            raise
        raise told from error


def refusal(error: NarthexError) -> NarthexError:
    """Return what the user has to mend if a program refused its arguments; else the error."""
    document = error.document
    begun = _FAILURE.match(str(error))
    if document is None or begun is None or _has_sent(document):
        return error
    told = begun["told"]
    form = next(filter(None, (form.fullmatch(told) for form in _FORMS)), None)
    if form is None:
        return error
    refused = NarthexError(told + _nearest(told, form.groupdict().get("allowed") or ""))
    refused.document = {**document, "failure": str(refused)}
    return refused


def _has_sent(document: dict[str, Any]) -> bool:
    counts = [node["statistics"] for node in document["nodes"]]
    return any(count["messages_sent"] or count["packets_sent"] for count in counts)


def _nearest(told: str, allowed: str) -> str:
    """Say which of what is allowed is nearest to what was given, if anything is near."""
    given = _GIVEN.search(told)
    if given is None:
        return ""
    if bounds := _RANGE.fullmatch(allowed):
        if not re.fullmatch(r"-?\d+", given["given"]):
            return ""
        least, most = map(int, bounds.groups())
        return f"; the nearest is {min(max(int(given['given']), least), most)}"
    near = difflib.get_close_matches(given["given"], _BETWEEN.split(allowed), n=1, cutoff=0.5)
    return f"; did you mean '{near[0]}'?" if near else ""
