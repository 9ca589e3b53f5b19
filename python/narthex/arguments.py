"""What callers give, as the simulator takes it.

The calls of the package are written for people: a setting is a pair or a text,
a file a path or its name. Here all of it becomes the texts and whole numbers of
a request, and what is of another kind is refused by the argument's name.
"""

import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import SupportsIndex

from narthex.errors import NarthexError

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
        raise NarthexError(f"{argument} must be a list of texts, not {given!r}")
    return [text(argument, each) for each in given]


def text(argument: str, given: Path) -> str:
    """Return a text, or the name of a file."""
    if not isinstance(given, str | os.PathLike):
        raise NarthexError(f"{argument} must be a text, not {given!r}")
    return os.fspath(given)


def whole_number(argument: str, given: SupportsIndex, least: int = 0) -> int:
    """Return a whole number that is not below `least`."""
    try:
        number = operator.index(given)
    except TypeError:
        number = least - 1
    if number < least:
        raise NarthexError(f"{argument} must be a whole number from {least} on, not {given!r}")
    return number


def whole_number_or_none(argument: str, given: SupportsIndex | None, least: int = 0) -> int | None:
    """Return a whole number, or nothing where nothing is given."""
    return None if given is None else whole_number(argument, given, least)
