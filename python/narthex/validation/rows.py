"""Rows: measured cells and what is derived from them, beside published values.

A measured row is an interface at a workload. A derived row sets an interface
against a baseline: by how many percent it is better, or from which payload on.

    cell                 CNI32Qm, 64 bytes                    1.75 us
    comparison           CNI16Qm against NI2w, largest        88 percent
    break-even           NI64w+Udma against NI2w              81 bytes
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from narthex.validation.claims import Values
from narthex.validation.definition import BreakEven, Comparison, Experiment
from narthex.validation.published import Key, Place, Published

PERCENT = "percent"
BREAK_EVEN = "break-even payload"


@dataclass(frozen=True)
class Sample:
    """What one run of a cell reported."""

    value: float
    spread: float | None
    """How the value varied within the run, where the program tells."""


Samples = Mapping[tuple[str, str], Sequence[Sample]]
"""By (interface, workload): one for each seed."""


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
    """For a comparison over several workloads: smallest, largest or mean."""
    value: float | None
    """Mean over the seeds; nothing where two curves do not cross."""
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


def keys(experiment: Experiment) -> set[Key]:
    """Return the published values for which an experiment has a row."""
    found = {
        _cell_key(experiment, interface, workload)
        for interface in experiment.interface_names
        for workload in experiment.workload_names
    }
    found |= {_comparison_key(experiment, each) for each in experiment.comparison}
    return found | {_break_even_key(experiment, each) for each in experiment.break_even}


def measured(
    experiment: Experiment, samples: Samples, published: Mapping[Key, Published]
) -> list[Row]:
    """Return a row for each interface and workload."""
    rows = []
    for interface in experiment.interface_names:
        for workload in experiment.workload_names:
            values = [sample.value for sample in samples[interface, workload]]
            told = [each.spread for each in samples[interface, workload] if each.spread is not None]
            key = _cell_key(experiment, interface, workload)
            row = _Beside(experiment, key, published.get(key), _limit(experiment, key))
            spread = fmean(told) if told else max(values) - min(values)
            rows.append(row.make(interface, fmean(values), spread=spread))
    return rows


def derived(
    experiment: Experiment, values: Values, published: Mapping[Key, Published]
) -> Iterator[Row]:
    """Yield the rows of all comparisons and break-evens."""
    for comparison in experiment.comparison:
        key = _comparison_key(experiment, comparison)
        percents = [_percent(experiment, comparison, values, each) for each in comparison.workloads]
        for take in comparison.take:
            printed = published[key].end(take) if key in published else None
            row = _Beside(experiment, key, printed, experiment.limit_percent)
            value = {"smallest": min, "largest": max, "mean": fmean}[take](percents)
            shown = take if len(percents) > 1 else None
            yield row.make(comparison.interface, value, comparison.baseline, shown)
    for each in experiment.break_even:
        key = _break_even_key(experiment, each)
        row = _Beside(experiment, key, published.get(key), experiment.limit_percent)
        yield row.make(each.interface, _crossing(experiment, each, values), each.baseline)


@dataclass(frozen=True)
class _Beside:
    """What a row is set beside."""

    experiment: Experiment
    key: Key
    published: Published | None
    limit_percent: float | None

    def make(
        self,
        interface: str,
        value: float | None,
        baseline: str | None = None,
        take: str | None = None,
        spread: float | None = None,
    ) -> Row:
        printed = self.published
        error = (
            printed.error_percent(value, self._offset) if printed and value is not None else None
        )
        limit = self.limit_percent if printed else None
        return Row(
            experiment=self.experiment.name,
            interface=interface,
            baseline=baseline,
            attach=self.key.interface[1],
            workload=self.key.workload,
            take=take,
            value=value,
            unit=self.key.unit,
            spread=spread,
            published_low=printed.low if printed else None,
            published_high=printed.high if printed else None,
            error_percent=error,
            limit_percent=limit,
            within_limit=None if limit is None else error is not None and abs(error) <= limit,
        )

    @property
    def _offset(self) -> float:
        """What turns a row's value into the ratio that it stands for."""
        return 100.0 if self.key.unit == PERCENT else 0.0


def _cell_key(experiment: Experiment, interface: str, workload: str) -> Key:
    return Key(experiment.place(interface), None, workload, experiment.unit)


def _comparison_key(experiment: Experiment, comparison: Comparison) -> Key:
    return Key(*_places(experiment, comparison), comparison.workload, PERCENT)


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
    best = max if experiment.larger_is_better else min
    candidates = comparison.best_of or [comparison.interface]
    value = best(values[candidate, workload] for candidate in candidates)
    ratio = value / values[comparison.baseline, workload]
    inverted = comparison.relation == "speed-up" and not experiment.larger_is_better
    return 100 * ((1 / ratio if inverted else ratio) - 1)


def _crossing(experiment: Experiment, pair: BreakEven, values: Values) -> float | None:
    """Return the payload from which on the interface is better, up to the largest one.

    Between two sizes both curves are taken as straight lines. There is none
    where the interface is not better at the largest size, or is at all.
    """
    sign = 1 if experiment.larger_is_better else -1
    leads = [
        (each.bytes, sign * (values[pair.interface, each.name] - values[pair.baseline, each.name]))
        for each in experiment.workload
    ]
    for (small, before), (large, after) in reversed(list(pairwise(leads))):
        if after <= 0:
            return None
        if before <= 0:
            return small + (large - small) * -before / (after - before)
    return None
