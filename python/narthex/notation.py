"""How numbers are written: in documents, in tables, and those that are not finite.

A program can report any number, an innocent 0/0 as well. JSON has none that is
not finite, so documents hold the texts "NaN", "Infinity" and "-Infinity" in
their place (machine/src/run/number.rs); frames and Parquet have the numbers.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import fmean

InJson = float | str
"""A number as documents have it."""


def counted(count: int, what: str) -> str:
    """Write how many there are of something: 1 node, 1,024 nodes."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def read(value: InJson) -> float:
    """Return a document's number."""
    return float(value)


def for_json(value: float) -> InJson:
    """Return a number as documents have it."""
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def text(value: float, digits: int = 2) -> str:
    """Print a number with separators: 1,778.11, inf, NaN."""
    return "NaN" if math.isnan(value) else f"{value:,.{digits}f}"


def short(value: float, digits: int = 2) -> str:
    """Print a number with separators, whole ones without decimals: 1,778."""
    return f"{value:,.0f}" if float(value).is_integer() else text(value, digits)


def mean(values: Sequence[float]) -> float:
    """Return the mean: NaN if one is NaN, and no infinity that none of them is."""
    try:
        return fmean(values)
    except OverflowError:
        return math.fsum(value / len(values) for value in values)
    except ValueError:  # both infinities
        return math.nan


def finite(values: Iterable[float]) -> list[float]:
    """Return the values that are finite."""
    return [value for value in values if math.isfinite(value)]


def left_out(count: int) -> str:
    """Say how many values could not be counted or drawn; nothing if all could."""
    if not count:
        return ""
    return f"{count} value{'s' * (count > 1)} left out: not finite"
