"""A measure: a value with its interval, and its ratio to a baseline of the same run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Measure:
    """One line of the table."""

    group: str
    name: str
    value: float
    """In `unit`, the median of the samples."""
    unit: str
    """`s`, `B`, or what is counted: `events/s`, `host instructions`."""
    low: float
    """The median is between `low` and `high` with 95 % confidence; the range for few samples."""
    high: float
    samples: int
    ratio: float
    """How many times the baseline's value."""
    baseline: str
    """The name of the group's baseline."""


@dataclass(frozen=True)
class Group:
    """Measures that share unit and baseline: the first is the baseline if none is named."""

    name: str
    unit: str
    baseline: str


class LeftOutError(Exception):
    """What cannot be measured on this machine, and why; the bench goes on without."""


def of_rounds(group: Group, rounds: Mapping[str, Sequence[float]]) -> list[Measure]:
    """Return the measures of cases that took turns: their values by name, round by round.

    A ratio is the median of the rounds' ratios: what slows down a whole round,
    such as a neighbour on the machine, is in both values and drops out.
    """
    base = rounds[group.baseline]
    measures = []
    for name, values in rounds.items():
        low, high = median_interval(values)
        ratio = median(value / other for value, other in zip(values, base, strict=True))
        value = median(values)
        measures.append(
            Measure(group.name, name, value, group.unit, low, high, len(values), ratio,
                    group.baseline)
        )  # fmt: skip
    return measures


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return between which samples the median is, with 95 % confidence; all for fewer than 6.

    Each sample is below the true median with probability one half, whatever the
    distribution; so between the k-th smallest and the k-th largest it is unless
    fewer than k of n coins show heads, or fewer than k tails.
    """
    ordered, count = sorted(values), len(values)
    left_out, outside = 0, 0.0
    while True:
        outside += 2 * comb(count, left_out) / 2**count
        if outside > 1 - CONFIDENCE or 2 * (left_out + 1) >= count:
            break
        left_out += 1
    outermost = max(left_out - 1, 0)
    return ordered[outermost], ordered[-1 - outermost]
