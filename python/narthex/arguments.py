"""What callers give, as the simulator takes it.

The calls of the package are written for people: a setting is a pair or a text,
a file a path or its name. Here all of it becomes the texts and whole numbers of
a request, and what is of another kind is refused by the argument's name.
"""

import difflib
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import SupportsIndex

from narthex.errors import NarthexError, shown

RANGES = {
    "nodes": range(1, 4_096 + 1),
    "seed": range(1 << 63),
    "threads": range(1, 1_024 + 1),
    "jobs": range(1, 1_024 + 1),
    "runs": range(1, 1_000 + 1),
    "bytes": range(65_536 + 1),
    "sender": range(1 << 16),
    "receiver": range(1 << 16),
    "cycles": range(1, 100_000_000 + 1),
    "outstanding": range(1, 1_024 + 1),
    "states": range(1, 1 << 63),
    "events": range(1, 1 << 63),
    "evictions": range(1 << 32),
    "waves_node": range(4_096),
}
"""The whole numbers that each of these can be. Those of a machine's file are TOML's, of 63 bits."""

UTF_8_REMEDY = "choose a locale of UTF-8, or set PYTHONUTF8=1"
"""For names beyond ASCII where Python takes the system's for ASCII."""

Settings = Mapping[str, object] | Sequence[str]
"""Parameters of the machine: {"bus.clock": "125MHz"}, or ["bus.clock=125MHz"]."""

Path = str | os.PathLike[str]
"""A file or folder."""


def settings(given: Settings) -> list[str]:
    """Return settings as `--set` takes them, KEY=VALUE each."""
    if isinstance(given, Mapping):
        return [f"{key}={value_text(value)}" for key, value in given.items()]
    return names("set", given)


def value_text(value: object) -> str:
    """Write a value as TOML and the command line do."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def names(argument: str, given: str | Iterable[str]) -> list[str]:
    """Return texts; one alone is a list of one."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Iterable):
        raise NarthexError(f"{argument} must be a list of texts, not {shown(given)}")
    return [text(argument, each) for each in given]


def interfaces(given: str | Iterable[str]) -> list[str]:
    """Return names of interfaces, which may stand in one text with commas between them."""
    return separated(names("interfaces", given))


def separated(texts: Iterable[str], known: Iterable[str] = ()) -> list[str]:
    """Return names that stand in texts with commas between them.

    Where a known name has commas of its own, it is taken whole; so is one that is nearly spelt so.
    """
    spelt = [", ".join(_pieces(name)).casefold() for name in known]
    found = []
    for text in texts:
        pieces = _pieces(text)
        while pieces:
            count = _pieces_of_first(pieces, spelt)
            found.append(", ".join(pieces[:count]))
            del pieces[:count]
    return found


def _pieces(text: str) -> list[str]:
    return [piece.strip() for piece in text.split(",") if piece.strip()]


def _pieces_of_first(pieces: Sequence[str], spelt: Sequence[str]) -> int:
    """Return how many pieces are the first name: the most that are a known one, else one."""
    most = min(len(pieces), 1 + max((name.count(",") for name in spelt), default=0))
    names = {count: ", ".join(pieces[:count]).casefold() for count in range(most, 1, -1)}
    exact = [count for count, name in names.items() if name in spelt]
    near = (
        count for count, name in names.items() if difflib.get_close_matches(name, spelt, 1, 0.8)
    )
    is_one = pieces[0].casefold() in spelt
    return exact[0] if exact else 1 if is_one else next(near, 1)


def either(
    interface: str | Iterable[str] | None, several: str | Iterable[str] | None
) -> list[str] | None:
    """Return the names that a call is given as `interface` or as `interfaces`, if any."""
    if interface is not None and several is not None:
        raise NarthexError("interface and interfaces are the same argument: give one of them")
    given = several if interface is None else interface
    if given is None:
        return None
    if not isinstance(given, Iterable):
        raise NarthexError(f"interface must be a text, not {shown(given)}")
    return interfaces(given)


def text(argument: str, given: Path) -> str:
    """Return a text, or the name of a file."""
    found = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(found, str):
        raise NarthexError(f"{argument} must be a text, not {shown(given)}")
    if "\0" in found or not is_unicode(found):
        raise NarthexError(f"{argument} must be UTF-8 without a zero byte, not {shown(found)}")
    return found


def file(argument: str, given: Path) -> str:
    """Return the name of a file, which is not empty and can be given to the system."""
    if not (name := text(argument, given)):
        raise NarthexError(f"{argument} must be the name of a file, not an empty text")
    try:
        os.fsencode(name)
    except UnicodeEncodeError as error:
        raise NarthexError(f"{shown(name)} is beyond {error.encoding}; {UTF_8_REMEDY}") from error
    return name


def is_unicode(given: str) -> bool:
    """Tell whether a text can be encoded; bytes that are not UTF-8 are half characters in it."""
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return True


def whole_number(argument: str, given: SupportsIndex) -> int:
    """Return a whole number that is in the range of the argument, or the option."""
    allowed = RANGES[argument.removeprefix("--").replace("-", "_")]
    try:
        number = operator.index(given)
    except TypeError:
        number = allowed.start - 1
    if number not in allowed:
        raise NarthexError(
            f"{argument} must be a whole number {words(allowed)}, not {shown(given)}"
        )
    return number


def whole_number_or_none(argument: str, given: SupportsIndex | None) -> int | None:
    """Return a whole number, or nothing where nothing is given."""
    return None if given is None else whole_number(argument, given)


def words(allowed: range) -> str:
    """Say which numbers are allowed."""
    return f"from {allowed.start} to {allowed.stop - 1}"
