"""Lines through measurements, and how far they can be trusted.

Each size counts as one observation: the mean over its seeds. A line is that of
least squares. Its uncertainty is found by leaving out one size at a time (the
jackknife, with Student's t for as many degrees of freedom as the line leaves): that
needs no assumption about how residuals are distributed, and holds for
sums of lines as well, so for L, which is measured as a difference.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, fmean, linear_regression

from narthex.fitting.measurement import Measurement
from narthex.fitting.model import Line, LogGP

LEVEL = 0.95
"""Of the confidence intervals."""

SERIES: Mapping[str, Callable[[Measurement], float]] = {
    "one way": lambda each: each.one_way_ns,
    "send overhead": lambda each: each.send_overhead_ns,
    "receive overhead": lambda each: each.receive_overhead_ns,
    "gap": lambda each: each.gap_ns,
}
"""What is measured, each over the size of messages."""

Means = dict[int, dict[str, float]]
"""By size and series: the mean over the seeds, in nanoseconds."""


@dataclass(frozen=True)
class Residual:
    """Where a series is farthest from its line, relative to what was measured."""

    series: str
    size: int
    percent: float
    """Measured less fitted."""


@dataclass(frozen=True)
class Estimate:
    """Parameters with their uncertainty."""

    parameters: LogGP
    within: LogGP
    """Half the width of each parameter's confidence interval, in the same places."""
    residuals: list[Residual]
    """The largest of each series."""


def estimate(measurements: Sequence[Measurement]) -> Estimate:
    """Find the parameters of one interface."""
    means = means_of(measurements)
    parameters = fitted(means)
    without = [
        fitted({size: means[size] for size in means if size != left_out}) for left_out in means
    ]
    return Estimate(parameters, _within(without), _residuals(means, parameters))


def means_of(measurements: Sequence[Measurement]) -> Means:
    """Return the mean of each series over the seeds, by size."""
    by_size: dict[int, list[Measurement]] = defaultdict(list)
    for each in measurements:
        by_size[each.size].append(each)
    return {
        size: {name: fmean(map(value, by_size[size])) for name, value in SERIES.items()}
        for size in sorted(by_size)
    }


def fitted(means: Means) -> LogGP:
    """Return the lines of least squares; the latency is what the overheads leave of one way."""
    one_way, send, receive, gap = (_line(means, name) for name in SERIES)
    return LogGP(one_way.plus(send, -1).plus(receive, -1), send, receive, gap)


def _line(means: Means, name: str) -> Line:
    further_bytes = [size - 1 for size in means]
    slope, intercept = linear_regression(further_bytes, [row[name] for row in means.values()])
    return Line(intercept, slope)


def _within(without: Sequence[LogGP]) -> LogGP:
    """Return the half widths of intervals from the fits that each left one size out."""
    quantile = students_t((1 + LEVEL) / 2, len(without) - 2)

    def half_width(values: Sequence[float]) -> float:
        mean, count = fmean(values), len(values)
        return quantile * sqrt((count - 1) / count * sum((each - mean) ** 2 for each in values))

    def line(part: Callable[[LogGP], Line]) -> Line:
        lines = [part(each) for each in without]
        return Line(
            half_width([each.first_ns for each in lines]),
            half_width([each.per_byte_ns for each in lines]),
        )

    return LogGP(
        line(lambda each: each.latency),
        line(lambda each: each.send_overhead),
        line(lambda each: each.receive_overhead),
        line(lambda each: each.gap),
    )


def students_t(probability: float, freedom: int) -> float:
    """Return a quantile of Student's t (Abramowitz and Stegun 26.7.5; within 1 % from 2 on).

    SciPy has it to the last digit, in 110 MB, which nothing else here needs.
    """
    z = NormalDist().inv_cdf(probability)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))


def _residuals(means: Means, parameters: LogGP) -> list[Residual]:
    lines = {
        "one way": parameters.one_way,
        "send overhead": parameters.send_overhead,
        "receive overhead": parameters.receive_overhead,
        "gap": parameters.gap,
    }
    return [
        max(
            (
                Residual(name, size, 100 * (row[name] - line.at(size)) / row[name])
                for size, row in means.items()
            ),
            key=lambda each: abs(each.percent),
        )
        for name, line in lines.items()
    ]
