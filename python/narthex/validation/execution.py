"""Runs an experiment: every interface, workload and seed, several at a time."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from threading import Event
from typing import Any

from narthex import _native
from narthex.errors import NarthexError
from narthex.programs import Program, find
from narthex.results import Result
from narthex.running import request, simulate
from narthex.validation.definition import Experiment, Interface, Workload, load, only
from narthex.validation.finished import FinishedRuns
from narthex.validation.outcome import Outcome, assess
from narthex.validation.published import read
from narthex.validation.rows import Sample

Progress = Callable[[int, int], None]
"""Called with the number of finished runs and of all runs."""

_NANOSECONDS = {"ns": 1, "us": 1_000, "ms": 1_000_000}
"""Units of time, which papers and programs choose differently."""


@dataclass(frozen=True)
class Cell:
    """One run to make."""

    interface: Interface
    workload: Workload
    seed: int


def experiment(
    name: str,
    *,
    interfaces: list[str] | None = None,
    set: list[str] | None = None,  # noqa: A002 - the option's name on the command line
    jobs: int = 2,
    fresh: bool = False,
    progress: Progress = lambda _finished, _all: None,
) -> Outcome:
    """Run an experiment and return its rows and claims.

    `name` is PAPER/NAME, or a file of your own. `interfaces` leaves all others
    out, and the claims and comparisons that need them. `set` changes parameters
    of the machine, as in `run`. `jobs` runs are made at a time; each is its own
    simulated machine, so their number changes nothing but the waiting time.
    Runs that were made before are not made again, unless `fresh`.
    """
    definition = only(load(name), interfaces or [])
    check(definition, set or [])
    cells = list(_cells(definition))
    results = _run_all(definition, cells, set or [], jobs, fresh, progress)
    samples: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for cell, result in zip(cells, results, strict=True):
        sample = Sample(
            _value(definition, definition.report, result),
            _spread(definition, result),
        )
        samples[cell.interface.name, cell.workload.name].append(sample)
    machine = results[0].document["machine"]
    return assess(definition, samples, read(definition.published), machine)


def check(definition: Experiment, settings: Sequence[str] = ()) -> None:
    """Refuse a machine or a setting that does not exist, before anything runs."""
    for interface in definition.interfaces:
        changes = [*definition.set, *interface.set, *settings]
        _native.machine_show(definition.machine, changes, False)


def _cells(definition: Experiment) -> Iterator[Cell]:
    for interface in definition.interfaces:
        for workload in definition.workload:
            for seed in definition.seeds:
                yield Cell(interface, workload, seed)


def _run_all(
    definition: Experiment,
    cells: list[Cell],
    settings: list[str],
    jobs: int,
    fresh: bool,
    progress: Progress,
) -> list[Result]:
    """Run all cells on threads: the simulator does not hold the interpreter's lock."""
    program = find(definition.program)
    program.elf()  # compiled once, before the threads start
    finished_runs = FinishedRuns()
    stop = Event()

    def make(cell: Cell) -> Result:
        request = _request(definition, program, cell, settings)
        result = None if fresh else finished_runs.find(request, program)
        if result is None:
            result = simulate(request, program, lambda _time_ps: not stop.is_set())
            finished_runs.keep(request, program, result)
        return result

    progress(0, len(cells))
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        futures = [pool.submit(make, cell) for cell in cells]
        try:
            for finished, future in enumerate(as_completed(futures), start=1):
                future.result()
                progress(finished, len(cells))
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
        return [future.result() for future in futures]


def _request(
    definition: Experiment, program: Program, cell: Cell, settings: list[str]
) -> dict[str, Any]:
    """Describe one run; the user's settings come last and win."""
    return request(
        program,
        cell.workload.args,
        machine=definition.machine,
        interface=cell.interface.spelt,
        nodes=definition.nodes,
        set=[*definition.set, *cell.interface.set, *settings],
        seed=cell.seed,
    )


def _spread(definition: Experiment, result: Result) -> float | None:
    """Take from a run how its value varies, if the program tells."""
    values = [_value(definition, report, result) for report in definition.spread]
    if len(values) > 1:
        return max(values) - min(values)
    return values[0] if values else None


def _value(definition: Experiment, report: str, result: Result) -> float:
    """Take one reported value from a run, in the experiment's unit."""
    value = result.value(report)
    (unit, *others) = {entry["unit"] for entry in result.reported(report)}
    if unit == definition.unit and not others:
        return value
    if others or unit not in _NANOSECONDS or definition.unit not in _NANOSECONDS:
        raise NarthexError(
            f"{definition.name}: program '{definition.program}' reported '{report}'"
            f" in {' and '.join([unit, *others])} on {result.interface}, not in {definition.unit}"
        )
    return value * _NANOSECONDS[unit] / _NANOSECONDS[definition.unit]
