"""Runs an experiment: every interface, workload and seed, several at a time."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from threading import Event

from narthex.errors import NarthexError
from narthex.programs import Program, find
from narthex.results import Result
from narthex.running import run
from narthex.validation.definition import Experiment, Workload, load
from narthex.validation.outcome import Outcome, Samples, assess
from narthex.validation.published import read

Progress = Callable[[int, int], None]
"""Called with the number of finished runs and of all runs."""


@dataclass(frozen=True)
class Cell:
    """One run to make."""

    interface: str
    workload: Workload
    seed: int


def experiment(
    name: str,
    *,
    set: list[str] | None = None,  # noqa: A002 - the option's name on the command line
    jobs: int = 2,
    progress: Progress = lambda _finished, _all: None,
) -> Outcome:
    """Run an experiment and return its rows and claims.

    `name` is PAPER/NAME, or a file of your own. `set` changes parameters of
    the machine, as in `run`. `jobs` runs are made at a time; each is its own
    simulated machine, so their number changes nothing but the waiting time.
    """
    definition = load(name)
    if set:
        definition = replace(definition, set=[*definition.set, *set])
    samples: Samples = defaultdict(list)
    cells = list(_cells(definition))
    results = _run_all(definition, cells, jobs, progress)
    for cell, result in zip(cells, results, strict=True):
        samples[cell.interface, cell.workload.name].append(_value(definition, cell, result))
    return assess(definition, samples, read(definition.name), _machine(results[0]))


def _cells(definition: Experiment) -> Iterator[Cell]:
    for interface in definition.interfaces:
        for workload in definition.workload:
            for seed in definition.seeds:
                yield Cell(interface, workload, seed)


def _run_all(
    definition: Experiment, cells: list[Cell], jobs: int, progress: Progress
) -> list[Result]:
    """Run all cells on threads: the simulator does not hold the interpreter's lock."""
    program = find(definition.program)
    program.elf()  # compiled once, before the threads start
    stop = Event()
    progress(0, len(cells))
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        futures = [pool.submit(_run, definition, program, cell, stop) for cell in cells]
        try:
            for finished, future in enumerate(as_completed(futures), start=1):
                future.result()
                progress(finished, len(cells))
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
        return [future.result() for future in futures]


def _run(definition: Experiment, program: Program, cell: Cell, stop: Event) -> Result:
    return run(
        program,
        *cell.workload.args,
        machine=definition.machine,
        interface=cell.interface,
        nodes=definition.nodes,
        set=definition.set,
        seed=cell.seed,
        observer=lambda _time_ps, _progress: not stop.is_set(),
    )


def _value(definition: Experiment, cell: Cell, result: Result) -> float:
    """Take the experiment's value from one run, and insist on its unit."""
    value = result.value(definition.report)
    units = {
        report["unit"]
        for report in result.document["reports"]
        if report["name"] == definition.report
    }
    if units != {definition.unit}:
        raise NarthexError(
            f"{definition.name}: program '{definition.program}' reported '{definition.report}'"
            f" in {', '.join(sorted(units))} on {cell.interface}, not in {definition.unit}"
        )
    return value


def _machine(result: Result) -> dict[str, object]:
    """Return the resolved machine; the same for all runs but for the interface."""
    return result.document["machine"]
