"""Least squares over whole grains, within bounds.

The errors of most cells are nearly straight lines in the parameters. The slopes
are measured once, one parameter at a time; a step goes to where the lines have
the least sum of squares, in whole grains, and is measured. A step that makes the
sum smaller is kept, and another one is tried from there.

Some cells are no lines: a bandwidth falls where a cache begins to overflow. So
from where the lines lead, and from the start, each parameter is moved up and down
alone, by a quarter of its value at first and by single grains at last, as long as
the sum becomes smaller. The better of the two is the fit.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from narthex.notation import mean

Point = tuple[int, ...]
"""A value for each parameter, in grains."""

Errors = Mapping[str, float]
"""By cell: measured over published, less one."""

MOST_STEPS = 4


@dataclass(frozen=True)
class Solution:
    """Where the fit ended, and what it knows about it."""

    start: Point
    best: Point
    before: Errors
    after: Errors
    within: list[float]
    """Half the width of each parameter's 95 % interval, in grains."""
    slopes: list[Errors]
    """For each parameter: what a grain more adds to each cell's error."""


def solve(measure: Callable[[Point], Errors], start: Point, most: Point) -> Solution:
    """Find the values between 0 and `most` with which the errors are least."""
    measure = cache(measure)
    before = measure(start)
    slopes = [_slope(measure, start, place, most[place], before) for place in range(len(start))]
    best, after = start, before
    for _ in range(MOST_STEPS):
        tried = _step(slopes, best, after, most)
        if tried == best:
            break
        found = measure(tried)
        if _squares(found) >= _squares(after):
            break
        best, after = tried, found
    ends = [_search(measure, each, most) for each in dict.fromkeys([best, start])]
    best = min(ends, key=lambda each: _squares(measure(each)))
    after = measure(best)
    return Solution(start, best, before, after, _within(slopes, after), slopes)


def _search(measure: Callable[[Point], Errors], at: Point, most: Point) -> Point:
    """Move one parameter at a time, as long as that makes the errors smaller."""
    steps = [max(1, value // 4) for value in at]
    while True:
        here = at
        for place, step in enumerate(steps):
            at = min(
                (at, *_moved(at, place, step, most[place])),
                key=lambda point: _squares(measure(point)),
            )
        if at == here and max(steps) == 1:
            return at
        if at == here:
            steps = [max(1, step // 2) for step in steps]


def _moved(at: Point, place: int, step: int, most: int) -> list[Point]:
    """Return the points with one parameter a step higher and lower, within its bounds."""
    values = {min(at[place] + step, most), max(at[place] - step, 0)}
    return [(*at[:place], value, *at[place + 1 :]) for value in sorted(values)]


def _slope(
    measure: Callable[[Point], Errors], start: Point, place: int, most: int, before: Errors
) -> Errors:
    """Measure with one parameter half as large again, or less if there is no more."""
    by = max(1, start[place] // 2)
    to = start[place] + by if start[place] + by <= most else start[place] - by
    moved = measure((*start[:place], to, *start[place + 1 :]))
    return {cell: (moved[cell] - error) / (to - start[place]) for cell, error in before.items()}


def _step(slopes: Sequence[Errors], at: Point, errors: Errors, most: Point) -> Point:
    moves = _least_squares(slopes, at, errors, most)
    return tuple(value + round(move) for value, move in zip(at, moves, strict=True))


def _least_squares(slopes: Sequence[Errors], at: Point, errors: Errors, most: Point) -> list[float]:
    """Return by how much each parameter is to move, in grains, so that it stays in bounds."""
    from narthex.extras import scipy

    rows = [[slope[cell] for slope in slopes] for cell in errors]
    # A parameter that stands at its bound has to have some room for the method.
    low = [-value - 1e-9 for value in at]
    high = [top - value + 1e-9 for value, top in zip(at, most, strict=True)]
    found = scipy.optimize.lsq_linear(rows, [-error for error in errors.values()], (low, high))
    return [float(move) for move in found.x]


def left_out(solution: Solution, most: Point, groups: Mapping[str, str]) -> dict[str, float]:
    """Predict the mean error of each group's cells where they were not fitted to.

    `groups` has the group of each cell. The fit is repeated without the group, on the lines.
    """
    predicted = {}
    for group in dict.fromkeys(groups.values()):
        kept = {cell: error for cell, error in solution.before.items() if groups[cell] != group}
        if len(kept) < len(solution.slopes):
            continue
        moves = _least_squares(solution.slopes, solution.start, kept, most)
        errors = [
            error
            + sum(move * slope[cell] for move, slope in zip(moves, solution.slopes, strict=True))
            for cell, error in solution.before.items()
            if groups[cell] == group
        ]
        predicted[group] = mean([abs(error) for error in errors])
    return predicted


def _within(slopes: Sequence[Errors], errors: Errors) -> list[float]:
    """Return how well the cells tell each parameter, from the scatter that the fit leaves."""
    from narthex.extras import numpy

    rows = numpy.array([[slope[cell] for slope in slopes] for cell in errors])
    freedom = len(errors) - len(slopes)
    if freedom <= 0:
        return [float("inf")] * len(slopes)
    variance = numpy.linalg.pinv(rows.T @ rows) * (_squares(errors) / freedom)
    tells = numpy.abs(rows).max(axis=0) > 0
    widths = 1.96 * numpy.sqrt(numpy.diag(variance))
    return [
        float(width) if told else float("inf") for width, told in zip(widths, tells, strict=True)
    ]


def _squares(errors: Errors) -> float:
    return sum(error * error for error in errors.values())
