"""Reads what TOML holds into dataclasses, strictly.

No key too many, none too few, each value of its field's type; every mistake is
an error that names file and key, with the nearest name that exists. The types
are those that files need: texts, numbers, lists, one of several words,
`X | None` for what may be missing, and dataclasses. A dataclass is a table; a
value alone stands for a table that has only its first key. A field that is
called `from_` is the key `from`, which Python keeps for itself. Whole numbers
have 64 bits, as TOML's have; files and nests have an end.

Neither msgspec nor pydantic names the nearest key, nor takes a value for a table.
"""

import tomllib
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from narthex import arguments, files
from narthex.errors import NarthexError, shown, unknown

Made = TypeVar("Made")

LARGEST_BYTES = 1 << 20
"""Of an experiment's or a sweep's file, which is a page or two."""

DEEPEST = 32
"""Tables and lists in each other."""

WHOLE_NUMBERS = range(-(1 << 63), 1 << 63)
"""That a file can hold."""

_WORDS = {
    str: ("a text", "texts"),
    bool: ("true or false", "true or false"),
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
}
_ACCEPTED = {str: (str,), bool: (bool,), int: (int,), float: (int, float)}


def document(file: Path) -> dict[str, Any]:
    """Read a TOML file; what cannot be read is an error that names file and line."""
    data = files.read(file, "a TOML file", LARGEST_BYTES)
    try:
        given = tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise NarthexError(f"{file} is not UTF-8 text, from byte {error.start} on") from error
    except tomllib.TOMLDecodeError as error:
        raise NarthexError(f"{file}: {error}") from error
    except ValueError as error:  # what Python refuses to read
        raise NarthexError(f"{file}: a number has thousands of digits") from error
    except RecursionError as error:
        raise _too_deep(str(file)) from error
    check(given, str(file))
    return given


def check(given: object, place: str) -> None:
    """Refuse what no file of ours holds at any place: huge numbers, deep nests, other keys."""
    left = [(given, "", 0)]
    while left:
        value, key, depth = left.pop()
        if depth > DEEPEST:
            raise _too_deep(place)
        if isinstance(value, int) and value not in WHOLE_NUMBERS:
            raise NarthexError(
                f"{place}: '{key}' must be a whole number of 64 bits, not {shown(value)}"
            )
        if isinstance(value, str):
            arguments.text(f"{place}: '{key}'", value)
        elif isinstance(value, list):
            left += [(each, key, depth + 1) for each in value]
        elif isinstance(value, dict):
            for name, each in value.items():
                if not isinstance(name, str):
                    raise NarthexError(f"{place}: a key must be a text, not {shown(name)}")
                left.append((each, f"{key}.{name}".lstrip("."), depth + 1))


def _too_deep(place: str) -> NarthexError:
    return NarthexError(f"{place}: more than {DEEPEST} lists and tables stand in each other")


def table(kind: type[Made], given: dict[str, Any], place: str) -> Made:
    """Make a dataclass of a table."""
    known = {field.name.rstrip("_"): field for field in fields(kind)}  # type: ignore[arg-type]
    kinds = get_type_hints(kind)
    for key in given:
        if key not in known:
            raise unknown(f"key in {place}", key, known)
    for key, field in known.items():
        required = field.default is MISSING and field.default_factory is MISSING
        if required and key not in given:
            raise NarthexError(f"{place}: '{key}' is missing")
    made = {}
    for key, value in given.items():
        name = known[key].name
        made[name] = _value(kinds[name], value, place, key)
    return kind(**made)


def _value(kind: Any, value: Any, place: str, key: str) -> Any:  # noqa: ANN401 - as TOML has it
    """Make one value of the type that its field says."""
    parts = get_args(kind)
    if get_origin(kind) is UnionType:
        (kind,) = (part for part in parts if part is not NoneType)
        return _value(kind, value, place, key)
    if get_origin(kind) is list:
        if not isinstance(value, list):
            raise _wrong(kind, value, place, key)
        return [_element(parts[0], entry, kind, place, key) for entry in value]
    return _element(kind, value, kind, place, key)


def _element(kind: Any, value: Any, whole: Any, place: str, key: str) -> Any:  # noqa: ANN401
    """Make what is no list; `whole` is the type that an error names."""
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise unknown(f"'{key}' in {place}", shown(value).strip("'"), get_args(kind))
        return value
    if is_dataclass(kind):
        first = fields(kind)[0].name
        if _is_of(get_type_hints(kind)[first], value):
            value = {first: value}
        if not isinstance(value, dict):
            raise _wrong(whole, value, place, key)
        return table(kind, value, f"{place}: {key}")
    if not _is_of(kind, value):
        raise _wrong(whole, value, place, key)
    return value


def _is_of(kind: type, value: object) -> bool:
    """Tell whether a value is of a plain type; Python takes true for a number, TOML does not."""
    is_bool = isinstance(value, bool)
    return isinstance(value, _ACCEPTED.get(kind, ())) and is_bool == (kind is bool)


def _wrong(kind: Any, value: object, place: str, key: str) -> NarthexError:  # noqa: ANN401
    """Make the error for a value of another type."""
    (part, *_) = get_args(kind) or (kind,)
    if is_dataclass(part):
        words = f"an array of tables, [[{key}]]"
    elif get_origin(kind) is list:
        words = f"a list of {_WORDS.get(part, ('', 'texts'))[1]}"
    else:
        words = _WORDS[part][0]
    return NarthexError(f"{place}: '{key}' must be {words}, not {shown(value)}")
