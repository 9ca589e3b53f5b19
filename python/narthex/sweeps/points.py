"""Which values go together: every one with every other, side by side, or a sample.

Each dimension is a list of assignments (parameter to value): a parameter by
itself, a [[zip]] group, or the points of the sample. The sweep's points are the
product of its dimensions.

    latin-hypercube, 4 points       each row and each column has one:
        . x . .                     a parameter's range is covered evenly
        . . . x                     with few points
        x . . .
        . . x .

A sample is a shuffle a parameter, of values of any type; SciPy's is of numbers between 0 and 1.
"""

import itertools
import math
import random
from collections.abc import Iterable, Iterator

from narthex.errors import NarthexError
from narthex.sweeps.definition import Axis, Definition, Sample, Value

Assignment = dict[str, Value]
"""A value for each of some parameters, by name."""

MOST_RUNS = 1_000_000
"""Of one sweep; more are a slip."""


def points(definition: Definition) -> Iterator[Assignment]:
    """Yield every point of a sweep, in the file's order; the last parameter varies first."""
    sample = definition.sample
    groups = [[axis] for axis in definition.parameters] + definition.zip
    sampled = [group for group in groups if sample and _is_over(sample, group)]
    crossed = [group for group in groups if group not in sampled]
    _check_count(len(group[0].values) for group in crossed)
    dimensions = [_sampled(sample, sampled)] if sample else []
    dimensions += [_together(group) for group in crossed]
    _check_count(map(len, dimensions))
    order = [axis.name for axis in definition.axes]
    for parts in itertools.product(*dimensions):
        together = {name: value for part in parts for name, value in part.items()}
        yield {name: together[name] for name in order}


def _check_count(lengths: Iterable[int]) -> None:
    runs = math.prod(lengths)
    if runs > MOST_RUNS:
        raise NarthexError(
            f"{runs:,} runs are too many (at most {MOST_RUNS:,}); shorten the lists, or choose a"
            " [sample]"
        )


def _is_over(sample: Sample, group: list[Axis]) -> bool:
    return not sample.over or any(each.name in sample.over for each in group)


def _together(group: list[Axis]) -> list[Assignment]:
    """Return the assignments of parameters that vary together."""
    names = [axis.name for axis in group]
    rows = zip(*(axis.values for axis in group), strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


def _sampled(sample: Sample, groups: list[list[Axis]]) -> list[Assignment]:
    """Choose points; those that fall together are one."""
    if sample.points > MOST_RUNS:
        raise NarthexError(
            f"[sample] {sample.points:,} points are too many (at most {MOST_RUNS:,})"
        )
    source = random.Random(sample.seed)
    fractions = [_fractions(sample, source) for _ in groups]
    chosen: dict[tuple[Value, ...], Assignment] = {}
    for row in zip(*fractions, strict=True):
        point = {
            axis.name: axis.at(fraction)
            for group, fraction in zip(groups, row, strict=True)
            for axis in group
        }
        chosen.setdefault(tuple(point.values()), point)
    return list(chosen.values())


def _fractions(sample: Sample, source: random.Random) -> list[float]:
    """Return a place between 0 and 1 for each point, along one dimension."""
    drawn = [source.random() for _ in range(sample.points)]
    if sample.method == "random":
        return drawn
    order = sorted(range(sample.points), key=[source.random() for _ in drawn].__getitem__)
    return [(place + within) / sample.points for place, within in zip(order, drawn, strict=True)]
