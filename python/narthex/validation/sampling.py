"""What an experiment takes from a run: the cell's value, and what plots show.

    report = "execution time"          what the program reports under that name
    statistic = ["bus_occupied"]       the nodes' statistics in a region, added up
    ledger = ["buffering"]             the processors' time in a region, by what it went to
    message_sizes = true               the messages of a region, by size
    hardware = true                    the gates of a design, by block: no run, and no region

The region is the program's main part (guest/programs/measure.h), so that making
the input and checking the result count for nothing. Firmware has no regions: with
`whole_run = true` the run takes the region's place, and what two lengths of a run
differ by is the time that a message takes.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from math import isfinite
from typing import Any

from narthex.errors import GUEST_FAILED, NarthexError, unknown
from narthex.notation import mean, text
from narthex.results import Result
from narthex.validation.definition import Experiment, Workload

NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
"""Units of time, which papers and programs choose differently."""

PS_PER_NS = 1_000

SEPARATOR = " / "
"""Between activity and occupation in the ledger's keys."""


@dataclass(frozen=True)
class Sample:
    """What one run of a cell gave."""

    value: float | None
    """None where messages are counted by size: those are the values."""
    spread: float | None = None
    """How the value varied within the run, where the program tells."""
    ledger_ps: dict[str, int] = field(default_factory=dict)
    """The time of all processors in the region, by activity and occupation."""
    message_sizes: dict[int, int] = field(default_factory=dict)
    """The number of messages of each size sent in the region."""
    gates_by_block: dict[str, float] = field(default_factory=dict)
    """What the blocks of a design come to."""
    over: tuple[float, str] | None = None
    """What the value is drawn over, where that is a report, and its unit."""


def sample(experiment: Experiment, workload: Workload, result: Result) -> Sample:
    """Take from a run of a workload what the experiment needs."""
    experiment = experiment.at(workload)
    regions = _regions(experiment, workload, result)
    return Sample(
        _value(experiment, workload, result),
        _spread(experiment, result),
        _added(region["ledger_ps"] for region in regions),
        _message_sizes(regions),
        over=_over(experiment.over, result) if experiment.over else None,
    )


def _value(experiment: Experiment, workload: Workload, result: Result) -> float | None:
    if experiment.report:
        value = _reported(experiment, experiment.report, result)
        return (value - sum(result.value(each) for each in workload.minus)) / workload.per
    regions = _needed_regions(experiment, workload, result)
    if experiment.statistic:
        return _statistic(experiment, regions) / workload.per
    if experiment.ledger:
        return _time(experiment, experiment.ledger, regions) / workload.per
    return None


def _over(report: str, result: Result) -> tuple[float, str]:
    return result.value(report), result.reported(report)[0]["unit"]


def _spread(experiment: Experiment, result: Result) -> float | None:
    """Take from a run how its value varies, if the program tells."""
    values = [_reported(experiment, report, result) for report in experiment.spread]
    if len(values) > 1:
        return max(values) - min(values)
    return values[0] if values else None


def _reported(experiment: Experiment, report: str, result: Result) -> float:
    """Take one reported value from a run, in the experiment's unit."""
    entries = [
        entry
        for entry in result.reported(report)
        if not experiment.has_jobs or entry["process"] == 0
    ]
    value = mean([entry["value"] for entry in entries])
    if not isfinite(value):
        raise NarthexError(
            f"{experiment.name}: program '{result.program}' reported {text(value)} as '{report}'"
            f" on {result.interface}, which is no value to compare",
            GUEST_FAILED,
        )
    (unit, *others) = {entry["unit"] for entry in entries}
    if unit == experiment.unit and not others:
        return value
    if others or unit not in NANOSECONDS or experiment.unit not in NANOSECONDS:
        raise NarthexError(
            f"{experiment.name}: program '{result.program}' reported '{report}'"
            f" in {' and '.join([unit, *others])} on {result.interface}, not in {experiment.unit}"
        )
    return value * NANOSECONDS[unit] / NANOSECONDS[experiment.unit]


def _regions(experiment: Experiment, workload: Workload, result: Result) -> list[dict[str, Any]]:
    """Return the experiment's region of every process, as far as it has ended."""
    if experiment.whole_run:
        of = workload.firmware_of
        return [
            {**node, "process": index, "ledger_ps": processor["ledger_ps"]}
            for number, node in enumerate(result.document["nodes"])
            for index, processor in enumerate(node["processors"])
            if of is None or (of == number and processor.get("firmware"))
        ]
    return [
        region
        for region in result.document["regions"]
        if region["name"] == experiment.region and region["end_ps"] is not None
    ]


def _needed_regions(
    experiment: Experiment, workload: Workload, result: Result
) -> list[dict[str, Any]]:
    regions = _regions(experiment, workload, result)
    if not regions and experiment.whole_run:
        raise NarthexError(
            f"{experiment.name}: workload '{workload.name}': no processor of node"
            f" {workload.firmware_of} runs firmware ({experiment.nodes} nodes, from 0 on)"
        )
    if not regions:
        known = {region["name"] for region in result.document["regions"]}
        raise unknown(f"region in a run of '{result.program}'", experiment.region, known)
    return regions


def _statistic(experiment: Experiment, regions: list[dict[str, Any]]) -> float:
    """Add statistics up over the nodes, or find their share of others."""
    total = _sum(experiment.statistic, regions)
    if experiment.share_of:
        whole = _sum(experiment.share_of, regions)
        return 100 * total / whole if whole else 0.0
    if experiment.unit in NANOSECONDS:  # times are counted in picoseconds
        return total / PS_PER_NS / NANOSECONDS[experiment.unit]
    return total


def _sum(names: list[str], regions: list[dict[str, Any]]) -> float:
    """Add statistics up over the nodes; each region has its whole node's.

    In a name * stands for any text.
    """
    total = 0.0
    for region in _first_of_each_node(regions):
        counted = dict(_leaves(region["statistics"]))
        for name in names:
            matching = [each for each in counted if fnmatchcase(each, name)]
            if not matching:
                raise unknown("statistic", name, counted)
            total += sum(counted[each] for each in matching)
    return total


def _time(experiment: Experiment, looked_at: list[str], regions: list[dict[str, Any]]) -> float:
    """Add up the processors' time in the named activities and occupations."""
    ledger = _added(region["ledger_ps"] for region in regions)
    time_ps = sum(
        time
        for key, time in ledger.items()
        if not {key, *key.split(SEPARATOR)}.isdisjoint(looked_at)
    )
    if experiment.unit == "percent":
        return 100 * time_ps / sum(ledger.values())
    if experiment.unit in NANOSECONDS:
        return time_ps / PS_PER_NS / NANOSECONDS[experiment.unit]
    units = ", ".join(["percent", *NANOSECONDS])
    raise NarthexError(
        f"{experiment.name}: a ledger's unit is one of {units}, not {experiment.unit}"
    )


def _message_sizes(regions: list[dict[str, Any]]) -> dict[int, int]:
    sent: Counter[int] = Counter()
    for region in _first_of_each_node(regions):
        for entry in region["message_sizes"]:
            sent[entry["bytes"]] += entry["messages"]
    return dict(sorted(sent.items()))


def _first_of_each_node(regions: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what was counted for a node once, however many processes it has."""
    yield from (region for region in regions if region["process"] == 0)


def _added(counts: Iterator[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def _leaves(statistics: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield statistics by name; one that is counted by kind as NAME.KIND, and all as NAME."""
    for name, value in statistics.items():
        if isinstance(value, dict):
            yield name, sum(value.values())
            yield from ((f"{name}.{kind}", count) for kind, count in value.items())
        else:
            yield name, value
