"""The values of one parameter: a list, or a range in steps, by number or by ratio.

    [64, 256, 4096]                                      these
    { from = 0, to = 1, step = 0.25 }                    0, 0.25, 0.5, 0.75, 1
    { from = 16, to = 512, step = 2, scale = "log" }     16, 32, 64, 128, 256, 512
    { from = 16, to = 512, count = 6, scale = "log" }    the same
    { values = [100, 120], unit = "ns" }                 numbers here, "100ns" in the run

Where the ends of a range are whole numbers, and the step is, so are its values.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

from narthex import strict
from narthex.errors import NarthexError, shown
from narthex.sweeps.definition import Axis, Value

MOST_VALUES = 100_000
"""Of one parameter; more are a slip."""

LARGEST = 1e300
"""That a range's ends can be, and how much larger than the other one of them can be."""

_ROUNDING = 1e-9
"""Part of a step by which the last value may be beyond the end."""


@dataclass(frozen=True)
class Range:
    """A range as the file has it."""

    from_: float
    to: float
    step: float | None = None
    """What is added, or with `scale = "log"` multiplied by."""
    count: int | None = None
    """How many values, both ends among them."""
    scale: Literal["linear", "log"] = "linear"
    unit: str = ""


@dataclass(frozen=True)
class Listed:
    """A list that may have a unit."""

    unit: str = ""


def is_axis(given: dict[str, Any]) -> bool:
    """Tell a parameter from a table of parameters."""
    return bool(given.keys() & {"from", "to", "values"}) and not any(
        isinstance(value, dict) for value in given.values()
    )


def axis(name: str, given: object, place: str) -> Axis:
    """Make a parameter of what the file says about it."""
    if isinstance(given, list):
        return Axis(name, _listed(given, place, name))
    if not isinstance(given, dict):
        raise NarthexError(
            f"{place}: '{name}' must be a list or a range"
            f" ({{ from = ..., to = ..., step = ... }}), not {shown(given)}"
        )
    place = f"{place}: {name}"
    if "values" in given:
        words = {key: value for key, value in given.items() if key != "values"}
        return Axis(
            name,
            _listed(given["values"], place, "values"),
            unit=strict.table(Listed, words, place).unit,
        )
    return _ranged(name, strict.table(Range, given, place), place)


def _listed(given: object, place: str, key: str) -> tuple[Value, ...]:
    if not isinstance(given, list) or not given:
        raise NarthexError(
            f"{place}: '{key}' must be a list of one value or more, not {shown(given)}"
        )
    for value in given:
        if not isinstance(value, str | int | float) or not _finite(value):
            raise NarthexError(
                f"{place}: '{key}' can hold texts, finite numbers, true and false,"
                f" not {shown(value)}"
            )
    return tuple(given)


def _finite(value: Value) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _ranged(name: str, given: Range, place: str) -> Axis:
    log = given.scale == "log"
    for key in ("from_", "to", "step"):
        value = getattr(given, key)
        if value is not None and not -LARGEST <= value <= LARGEST:
            raise NarthexError(
                f"{place}: '{key.rstrip('_')}' must be finite, and at most {LARGEST:g}, not {value}"
            )
    if given.from_ >= given.to:
        raise NarthexError(
            f"{place}: 'from' must be less than 'to', not {given.from_} and {given.to}"
        )
    if log and given.from_ <= 0:
        raise NarthexError(
            f"{place}: 'from' must be above 0 with scale = \"log\", not {given.from_}"
        )
    if log and given.from_ < given.to / LARGEST:
        raise NarthexError(
            f"{place}: 'to' must be at most {LARGEST:g} times 'from' with scale = \"log\", not"
            f" {given.to} with {given.from_}"
        )
    if given.step is not None and given.count is not None:
        raise NarthexError(f"{place}: give 'step' or 'count', not both")
    values: tuple[Value, ...] = ()
    if given.step is not None:
        values = _stepped(given, given.step, place)
    elif given.count is not None:
        values = _counted(given, given.count, place)
    return Axis(name, values, given.from_, given.to, log, given.unit)


def _stepped(given: Range, step: float, place: str) -> tuple[Value, ...]:
    log = given.scale == "log"
    if step <= (1 if log else 0):
        raise NarthexError(f"{place}: 'step' must be above {1 if log else 0}, not {step}")
    steps = math.log(given.to / given.from_, step) if log else (given.to - given.from_) / step
    _check_count(steps + 1, place)
    whole = isinstance(step, int) and _ends_are_whole(given)
    count = range(int(steps + _ROUNDING) + 1)
    made = (given.from_ * step**i if log else given.from_ + i * step for i in count)
    values = (_rounded(value, whole) for value in made)
    return tuple(value for value in values if not whole or value <= given.to)


def _counted(given: Range, count: int, place: str) -> tuple[Value, ...]:
    if count < 2:
        raise NarthexError(f"{place}: 'count' must be 2 or more, not {count}")
    _check_count(count, place)
    whole = _ends_are_whole(given)
    fractions = (i / (count - 1) for i in range(count))
    ratio, distance = given.to / (given.from_ or 1), given.to - given.from_
    log = given.scale == "log"
    made = (given.from_ * ratio**f if log else given.from_ + distance * f for f in fractions)
    # A large number is rounded, maybe beyond the end.
    values = tuple(min(_rounded(value, whole), given.to) for value in made)
    if len(set(values)) < count:
        raise NarthexError(
            f"{place}: there are not {count} different whole numbers like this from"
            f" {given.from_} to {given.to}; lessen 'count'"
        )
    return values


def _check_count(count: float, place: str) -> None:
    if count > MOST_VALUES:
        raise NarthexError(f"{place}: {count:,.0f} values are too many (at most {MOST_VALUES:,})")


def _ends_are_whole(given: Range) -> bool:
    return isinstance(given.from_, int) and isinstance(given.to, int)


def _rounded(value: float, whole: bool) -> float:
    """Return a value without what computers add to decimal numbers."""
    return round(value) if whole else float(f"{value:.12g}")
