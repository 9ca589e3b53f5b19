"""Rows: measured cells and what is derived from them, beside published values.

A measured row is an interface at a workload. A derived row sets an interface
against a baseline: by how many percent it is better, or from which payload on.
Where messages are counted by size, each size is a row (`sizes`).

    cell                 CNI32Qm, 64 bytes                    1.75 us
    comparison           CNI16Qm against NI2w, largest        88 percent
    break-even           NI64w+Udma against NI2w              81 bytes
    derived              NI2w; buffers = 1: its share of ...  58 percent
    threshold            CNI32Qm against NI2w                 32 buffers
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isfinite

from narthex.notation import mean
from narthex.validation import claims
from narthex.validation.claims import At, NoValueError, Values
from narthex.validation.definition import (
    BreakEven,
    Comparison,
    Derived,
    Experiment,
    NotCompared,
    Take,
    Threshold,
)
from narthex.validation.published import PERCENT, Key, Place, Published, place
from narthex.validation.sampling import Sample

BREAK_EVEN = "break-even payload"

Samples = Mapping[tuple[str, str], Sequence[Sample]]
"""By (interface, workload): one for each seed that gave a value."""


@dataclass(frozen=True)
class Row:
    """One value of the experiment and, if the paper prints it, the paper's."""

    experiment: str
    interface: str
    baseline: str | None
    """For a derived row: what the interface is set against."""
    attach: str
    workload: str
    take: str | None
    """For a row over several workloads: smallest, largest, mean or largest mean."""
    value: float | None
    """Mean over the seeds; nothing where two curves do not cross, nothing
    reaches a threshold, or the runs failed."""
    unit: str
    spread: float | None
    """How the value varies, in its unit: within a run where the program tells
    (the experiment's file says how), or else the range over the seeds."""
    published_low: float | None
    published_high: float | None
    error_percent: float | None
    """Of the value; for a row in percent, of the ratio that it stands for."""
    limit_percent: float | None
    """How large the error may be."""
    within_limit: bool | None
    error_points: float | None = None
    """Of a value in percent: how far it is from the published one, in points."""
    limit_points: float | None = None
    """How many points that may be."""
    nearest_percent: float | None = None
    """For a size of messages: the share of those to which no other printed size is nearer."""


def keys(experiment: Experiment) -> set[Key]:
    """Return the published values for which an experiment has a row."""
    found = {
        cell_key(experiment, interface, workload) for interface, workload in experiment.measured
    }
    if experiment.message_sizes:
        found = {
            cell_key(experiment, interface.name, size_label(workload.name, size.bytes))
            for interface, workload in experiment.cells
            for size in workload.sizes
        }
    found |= {_comparison_key(experiment, each) for each in experiment.comparison}
    found |= {_named_key(each) for each in (*experiment.derived, *experiment.threshold)}
    return found | {_break_even_key(experiment, each) for each in experiment.break_even}


def not_compared(experiment: Experiment) -> set[Key]:
    """Return the published values of which the experiment says why no row answers them."""
    return {_named_key(each) for each in experiment.not_compared}


def size_label(workload: str, size: int) -> str:
    """Name the messages of a size, as published values do."""
    return f"{workload}; {size} bytes"


def measured(
    experiment: Experiment, samples: Samples, published: Mapping[Key, Published]
) -> list[Row]:
    """Return a row for each interface and workload."""
    rows = []
    for interface, workload in experiment.cells:
        taken = samples.get((interface.name, workload.name), ())
        values = [sample.value for sample in taken if sample.value is not None]
        told = [each.spread for each in taken if each.spread is not None]
        key = cell_key(experiment, interface.name, workload.name)
        row = Beside(experiment, key, published.get(key), _limit(experiment, key))
        if not values:
            rows.append(row.make(interface.name, None))
            continue
        spread = mean(told) if told else max(values) - min(values)
        rows.append(row.make(interface.name, mean(values), spread=spread))
    return rows


def derived(
    experiment: Experiment, values: Values, published: Mapping[Key, Published]
) -> Iterator[Row]:
    """Yield the rows of all that is derived from the measured ones."""

    def beside(key: Key) -> Beside:
        return Beside(experiment, key, published.get(key), experiment.limit_percent)

    for comparison in experiment.comparison:
        key = _comparison_key(experiment, comparison)
        percents = _every(
            lambda each, of=comparison: _percent(experiment, of, values, each), comparison.workloads
        )
        is_ratio = comparison.relation != "reduction"
        for take in comparison.take:
            shown = take if len(comparison.workloads) > 1 else None
            row = beside(key).taking(take, is_ratio)
            yield row.make(
                comparison.interface, _taken([percents], take), comparison.baseline, shown
            )
    for each in experiment.derived:
        found = [
            _every(lambda at, of=expression: claims.value(of, values, At(at)), each.workloads)
            for expression in each.values
        ]
        for take in each.take:
            shown = take if len(each.workloads) * len(found) > 1 else None
            row = beside(_named_key(each)).taking(take, not each.share)
            yield row.make(each.interface, _taken(found, take), each.baseline, shown)
    for each in experiment.break_even:
        row = beside(_break_even_key(experiment, each))
        crossing = _every(lambda _, of=each: _crossing(experiment, of, values), [""])
        yield row.make(each.interface, crossing[0] if crossing else None, each.baseline)
    for each in experiment.threshold:
        row = beside(_named_key(each))
        yield row.make(each.interface, _reached(each, values), each.baseline)


def _every(
    evaluate: Callable[[str], float | None], workloads: Sequence[str]
) -> list[float | None] | None:
    """Return a value for each workload; nothing if a run failed that one needs, or one is none."""
    try:
        found = [evaluate(workload) for workload in workloads]
    except (NoValueError, ZeroDivisionError):
        return None
    return None if any(value is not None and not isfinite(value) for value in found) else found


def _taken(found: Sequence[list[float] | None], take: Take) -> float | None:
    """Choose among the values of one expression or several."""
    if any(values is None for values in found):
        return None
    every = [value for values in found for value in values]
    match take:
        case "smallest":
            return min(every)
        case "largest":
            return max(every)
        case "mean":
            return mean(every)
        case "largest mean":
            return max(map(mean, found))


def _reached(threshold: Threshold, values: Values) -> float | None:
    """Return the smallest number from which on the claim holds."""
    reached = None
    for number in reversed(threshold.along):
        try:
            if not claims.holds(threshold.at(number), values, At(threshold.workload)):
                return reached
        except (NoValueError, ZeroDivisionError):
            return None
        reached = float(number)
    return reached


@dataclass(frozen=True)
class Beside:
    """What a row is set beside."""

    experiment: Experiment
    key: Key
    published: Published | None
    limit_percent: float | None
    is_ratio: bool = True
    """Whether a derived value in percent stands for a ratio, and its error is that ratio's."""

    def taking(self, take: Take, is_ratio: bool) -> "Beside":
        """Return what the taken one of several values is set beside."""
        printed = self.published.end(take) if self.published else None
        return replace(self, published=printed, is_ratio=is_ratio)

    def make(
        self,
        interface: str,
        value: float | None,
        baseline: str | None = None,
        take: str | None = None,
        spread: float | None = None,
    ) -> Row:
        """Make the row; none for a value that its runs did not give."""
        printed = self.published
        error = (
            printed.error_percent(value, self._offset(baseline))
            if printed and value is not None
            else None
        )
        in_percent = self.key.unit == PERCENT
        points = printed.distance(value) if printed and value is not None and in_percent else None
        limit = self.limit_percent if printed else None
        limit_points = self.experiment.limit_points if printed and in_percent else None
        return Row(
            experiment=self.experiment.name,
            interface=interface,
            baseline=baseline,
            attach=self.key.interface[1],
            workload=self.key.workload,
            take=take,
            value=value,
            unit=self.key.unit,
            spread=_finite(spread),
            published_low=printed.low if printed else None,
            published_high=printed.high if printed else None,
            error_percent=_finite(error),
            limit_percent=limit,
            within_limit=_within([(error, limit), (points, limit_points)]),
            error_points=_finite(points),
            limit_points=limit_points,
        )

    def _offset(self, baseline: str | None) -> float:
        """Return what turns a row's value into the ratio that it stands for."""
        is_derived = baseline is not None
        return 100.0 if self.key.unit == PERCENT and is_derived and self.is_ratio else 0.0


def _within(errors: Sequence[tuple[float | None, float | None]]) -> bool | None:
    """Say whether errors are within their limits; nothing if there are no limits."""
    limited = [(error, limit) for error, limit in errors if limit is not None]
    if not limited:
        return None
    return all(error is not None and abs(error) <= limit for error, limit in limited)


def _finite(value: float | None) -> float | None:
    """Return a value that is a difference, unless that is beyond all numbers."""
    return value if value is not None and isfinite(value) else None


def cell_key(experiment: Experiment, interface: str, workload: str) -> Key:
    """Return the key of a measured row."""
    return Key(experiment.place(interface), None, workload, experiment.unit_at(workload))


def _comparison_key(experiment: Experiment, comparison: Comparison) -> Key:
    return Key(*_places(experiment, comparison), comparison.workload, PERCENT)


def _named_key(each: Derived | Threshold | NotCompared) -> Key:
    """Return the key of what has a name of its own."""
    baseline = place(each.baseline) if each.baseline else None
    return Key(place(each.interface), baseline, each.workload, each.unit)


def _break_even_key(experiment: Experiment, each: BreakEven) -> Key:
    return Key(*_places(experiment, each), BREAK_EVEN, "bytes")


def _places(experiment: Experiment, pair: Comparison | BreakEven) -> tuple[Place, Place]:
    return experiment.place(pair.interface), experiment.place(pair.baseline)


def _limit(experiment: Experiment, key: Key) -> float | None:
    """Return the limit of a cell: its own, or the experiment's."""
    for each in experiment.exception:
        if (experiment.place(each.interface), each.workload) == (key.interface, key.workload):
            return each.limit_percent
    return experiment.limit_percent


def _percent(
    experiment: Experiment, comparison: Comparison, values: Values, workload: str
) -> float:
    """Return by how many percent the interface is ahead at one workload."""
    is_rate = experiment.larger_is_better(workload)
    best = max if is_rate else min
    candidates = comparison.best_of or [comparison.interface]
    value = best(claims.measured(each, values, workload) for each in candidates)
    ratio = value / claims.measured(comparison.baseline, values, workload)
    if comparison.relation == "reduction":
        return 100 * (1 - ratio)
    inverted = comparison.relation == "speed-up" and not is_rate
    return 100 * ((1 / ratio if inverted else ratio) - 1)


def _crossing(experiment: Experiment, pair: BreakEven, values: Values) -> float | None:
    """Return the payload from which on the interface is better, up to the largest one.

    Between two sizes both curves are taken as straight lines. There is none
    where the interface is not better at the largest size, or is at all.
    """
    sign = 1 if experiment.larger_is_better() else -1

    def lead(workload: str) -> float:
        ahead = claims.measured(pair.interface, values, workload)
        return sign * (ahead - claims.measured(pair.baseline, values, workload))

    leads = [(each.bytes, lead(each.name)) for each in experiment.workload]
    for (small, before), (large, after) in reversed(list(pairwise(leads))):
        if after <= 0:
            return None
        if before <= 0:
            return small + (large - small) * -before / (after - before)
    return None
