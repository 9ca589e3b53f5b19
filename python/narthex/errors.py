"""The one exception that Narthex raises on purpose, and its exit codes."""

import difflib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

GUEST_FAILED = 1
"""The simulated program failed: a fault, a failed check, a status other than 0."""

NOT_WRITTEN = 1
"""What was computed could not be written where it was wanted."""

USAGE = 2
"""Wrong usage, configuration or arguments of the program; nothing was measured."""

NO_PROGRESS = 3
"""The simulated machine made no progress: a deadlock or a livelock."""

CLAIM_FAILED = 4
"""An experiment ran, and a published claim did not hold."""

INTERRUPTED = 130
"""Ctrl-C ended the command: 128 and the signal's number, as a shell shows it."""


class NarthexError(Exception):
    """Something that the user can mend; the message names the thing and the remedy."""

    def __init__(self, message: str, exit_code: int = USAGE, document: str | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        """What the command line exits with."""
        self.document: dict[str, Any] | None = None if document is None else json.loads(document)
        """What a run has counted that did not end well: its `ending`, its `failure` in words,
        and why it made no progress (`hang`) or how it stood at its limit (`state`)."""


class Caution(str):
    """A warning among the messages of what goes on: something is not as the user wants it.

    Those who show these messages show it also where they are to be quiet.
    """

    __slots__ = ()


LONGEST_SHOWN = 200
"""Characters of a value that a message shows."""


def shown(value: object) -> str:
    """Write a value as Python does, for a message; a long one is cut."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, a deep nest
        return f"a very long {type(value).__name__}"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


_PLACE = re.compile(r" (in|to|at|here|of)\b")
"""Where words begin that say of what something is one."""


def _split(kind: str) -> tuple[str, str]:
    """Divide "key in mine.toml" so that a name can stand between: "key", " in mine.toml"."""
    found = _PLACE.search(kind)
    return (kind[: found.start()], kind[found.start() :]) if found else (kind, "")


NEAREST_SHOWN = 3
"""Names that a message proposes where there are too many to list."""


def unknown(kind: str, name: str, known: Iterable[str], listed_by: str = "") -> NarthexError:
    """Make the error for a name that does not exist, with the nearest that does.

    The message lists all names, or, where a command is given that does, the nearest few.
    """
    names = sorted(known)
    by_folded = {known_name.casefold(): known_name for known_name in names}
    most = NEAREST_SHOWN if listed_by else 1
    near = difflib.get_close_matches(name.casefold(), by_folded, n=most, cutoff=0.5)
    what, place = _split(kind)
    message = f"there is no {what} '{name}'{place}"
    if near:
        message += f"; did you mean {' or '.join(repr(by_folded[each]) for each in near)}?"
    if listed_by:
        return NarthexError(f"{message} ('{listed_by}' lists all {len(names)})")
    return NarthexError(f"{message} (there are: {', '.join(names) or 'none'})")


def near_file(file: str | Path) -> str:
    """Return "; did you mean 'FILE'?" for the file in the same folder whose name is nearest.

    Empty if there is none. For the message that a file is not there.
    """
    place = Path(file)
    beside = [each.name for each in place.parent.iterdir()] if place.parent.is_dir() else []
    near = difflib.get_close_matches(place.name, beside, n=1, cutoff=0.7)
    return f"; did you mean '{place.with_name(near[0])}'?" if near else ""
