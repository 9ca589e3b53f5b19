"""Runs an experiment: every interface, workload and seed, several at a time.

A run that fails is a cell without a value, with the reason; all others go on,
and so does the user who started the experiment.
"""

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from narthex import _native, arguments, loads
from narthex.arguments import Settings
from narthex.batch import Batch, Progress
from narthex.errors import NarthexError, unknown
from narthex.jobs import ALL_NODES
from narthex.jobs import request as jobs_request
from narthex.programs import Program, find
from narthex.running import request
from narthex.synthesis import area, designs, figure
from narthex.synthesis.targets import find as find_target
from narthex.validation.definition import Experiment, Interface, Workload
from narthex.validation.loading import load, only
from narthex.validation.outcome import Failure, Outcome, assess
from narthex.validation.published import read
from narthex.validation.rows import Samples
from narthex.validation.sampling import Sample, sample
from narthex.validation.sensitivity import hanging, varied
from narthex.validation.variations import Untried, Variation, assumed, swept

Key = tuple[str, str, int, str]
"""Interface, workload, seed and change of a run."""


@dataclass(frozen=True)
class Cell:
    """One run to make."""

    interface: Interface
    workload: Workload
    seed: int
    change: str = ""
    """A parameter at another value, as `--set` takes it."""

    def key(self, change: str) -> Key:
        """Name this run, or the same one with another change."""
        return self.interface.name, self.workload.name, self.seed, change


def experiment(
    name: str,
    *,
    interfaces: str | Sequence[str] = (),
    workloads: str | Sequence[str] = (),
    machine: arguments.Path = "",
    set: Settings = (),  # noqa: A002 - the option's name on the command line
    sensitivity: bool = False,
    parameters: str | Sequence[str] = (),
    jobs: int = 2,
    fresh: bool = False,
    progress: Progress = lambda _finished, _all, _left_s: None,
) -> Outcome:
    """Run an experiment and return its rows and claims.

    >>> import narthex
    >>> outcome = narthex.experiment("hpca98/roundtrip", interfaces="CNI32Qm")
    >>> outcome.frame.select("interface", "workload", "value", "published_low").height
    6

    `name` is PAPER/NAME, or a file of your own. `interfaces` leaves all others
    out, and the claims and comparisons that need them, and so does `workloads`.
    `machine` takes the place of the experiment's own. `set` changes parameters of
    the machine, as in `run`. `sensitivity` measures
    with every assumed parameter at other values too, or with those that
    `parameters` names by their keys or tables; `varied` has what that moves.
    `jobs` runs are made at a time; each is its own simulated machine, so their
    number changes only the waiting time. Runs that were made before are not made
    again, unless `fresh`. A run that fails is among the outcome's `failures`, and
    its row has no value.
    """
    definition = only(
        load(name, machine),
        arguments.names("interfaces", interfaces),
        arguments.names("workloads", workloads),
    )
    settings = arguments.settings(set)
    jobs = arguments.whole_number("jobs", jobs)
    keys = arguments.names("parameters", parameters)
    check(definition, name, settings)
    tried = swept(definition, settings)
    untried: list[Untried] = []
    if sensitivity:
        others, untried = ([], []) if definition.hardware else assumed(definition, settings, keys)
        tried += others
    runs = _Runs(definition, settings, fresh)
    made = runs.make_all([*_cells(definition), *chain(*map(_changed, tried))], jobs, progress)
    published = read(definition.published)

    def found(part: Experiment, change: str) -> Outcome:
        return assess(part, *_told(made, _cells(part), change), published, runs.machine())

    base = found(definition, "")
    moved = [
        varied(each, found(each.experiment, ""), found(each.experiment, each.setting))
        for each in tried
    ]
    return replace(base, claims=hanging(base.claims, moved), varied=moved, untried=untried)


def check(definition: Experiment, place: str, settings: Sequence[str] = ()) -> None:
    """Refuse a machine or a setting that does not exist, before anything runs.

    `place` is the experiment's name or file, as the user calls it.
    """
    if definition.hardware:
        _check_designs(definition, place)
    for asked in choices(definition, settings):
        try:
            _native.machine_show(asked["machine"], asked["set"], False)
        except NarthexError as error:
            raise NarthexError(f"{place}: {error}", error.exit_code) from error


def _check_designs(definition: Experiment, place: str) -> None:
    """Refuse a design that is not there, or all of them without the extra."""
    known = designs.names()
    for interface in definition.interfaces:
        if interface.spelt not in known:
            raise unknown(f"design of {place}", interface.spelt, known)


def choices(definition: Experiment, settings: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the machine, settings and interface of each kind of run, as in a run's request."""
    return [
        {
            "machine": definition.machine,
            "set": [*definition.set, *interface.set, *settings],
            "interface": interface.spelt,
        }
        for interface in definition.interfaces
    ]


def _cells(definition: Experiment) -> Iterator[Cell]:
    for interface, workload in definition.cells:
        for seed in definition.seeds:
            yield Cell(interface, workload, seed)


def _changed(variation: Variation) -> Iterator[Cell]:
    """Yield the runs that a variation asks for."""
    for cell in _cells(variation.experiment):
        if cell.interface.name in variation.interfaces:
            yield replace(cell, change=variation.setting)


def _told(
    made: Mapping[Key, Sample | Failure], cells: Iterable[Cell], change: str
) -> tuple[Samples, list[Failure]]:
    """Return what runs gave with a change, or as the machine is where it concerns them not."""
    samples: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    failures = []
    for cell in cells:
        given = made.get(cell.key(change), made[cell.key("")])
        if isinstance(given, Sample):
            samples[cell.interface.name, cell.workload.name].append(given)
        else:
            failures.append(given)
    return samples, failures


class _Runs:
    """Makes the runs of an experiment, or finds them."""

    def __init__(self, definition: Experiment, settings: list[str], fresh: bool) -> None:
        self._definition = definition
        self._settings = settings
        self._batch = Batch(fresh=fresh)
        self._programs = {name: find(name) for name in definition.programs}
        for program in self._programs.values():
            program.elf()  # compiled once, before the threads start

    def make_all(
        self, cells: list[Cell], jobs: int, progress: Progress
    ) -> dict[Key, Sample | Failure]:
        """Make all runs; one that fails stops no other."""
        made = self._batch.make_all(
            self._make, cells, lambda cell: cell.workload.name, jobs, progress
        )
        return {cell.key(cell.change): each for cell, each in zip(cells, made, strict=True)}

    def _make(self, cell: Cell) -> tuple[Sample | Failure, float | None]:
        """Make a run; returns the seconds that it took, if it was not made before."""
        if self._definition.load:
            return self._measure(cell)
        if self._definition.hardware:
            return self._synthesise(cell)
        program = self._programs[self._definition.program_of(cell.workload)]
        start = time.monotonic()
        try:
            result, taken_s = self._batch.run(self._request(program, cell), program)
            return sample(self._definition, cell.workload, result), taken_s
        except NarthexError as error:
            names = self._definition.name, cell.interface.name, cell.workload.name, cell.seed
            return Failure(*names, str(error), error.exit_code), time.monotonic() - start

    def _measure(self, cell: Cell) -> tuple[Sample | Failure, float | None]:
        """Measure the machine's network under the workload's load."""
        start = time.monotonic()
        definition, change = self._definition, [cell.change] if cell.change else []
        pattern, *load = cell.workload.args

        def measured(load: float) -> loads.NetworkLoad:
            return loads.network(
                definition.machine,
                pattern=pattern,
                loads=[load],
                nodes=definition.nodes,
                set=[*definition.set, *cell.interface.set, *self._settings, *change],
                measured_cycles=definition.load_cycles,
                seed=cell.seed,
            )

        try:
            value = (
                measured(float(load[0])).latency_ns()
                if definition.load == "latency"
                else loads.saturation_mb_s(measured)
            )
            return Sample(value), time.monotonic() - start
        except NarthexError as error:
            names = definition.name, cell.interface.name, cell.workload.name, cell.seed
            return Failure(*names, str(error), error.exit_code), time.monotonic() - start

    def _synthesise(self, cell: Cell) -> tuple[Sample | Failure, float | None]:
        """Measure the gates of the cell's design on the workload's target."""
        start = time.monotonic()
        try:
            design, target = designs.design(cell.interface.spelt), find_target(*cell.workload.args)
            found = area.area(design, target)
            made = Sample(found.gates, gates_by_block=figure.by_block(found))
            return made, time.monotonic() - start
        except NarthexError as error:
            names = self._definition.name, cell.interface.name, cell.workload.name, cell.seed
            return Failure(*names, str(error), error.exit_code), time.monotonic() - start

    def machine(self) -> dict[str, Any]:
        """Return the machine, resolved, as the first interface has it."""
        definition = self._definition
        interface, _ = definition.cells[0]
        run = [f"machine.nodes={definition.nodes}", f"machine.seed={definition.seeds[0]}"]
        changes = [*definition.set, *interface.set, *self._settings, *run]
        return json.loads(_native.machine_show(definition.machine, changes, False))["machine"]

    def _request(self, program: Program, cell: Cell) -> dict[str, Any]:
        """Describe one run; the user's settings come last and win."""
        definition = self._definition
        change = [cell.change] if cell.change else []
        jobs: dict[str, Any] = {}
        if definition.has_jobs:
            _, jobs = jobs_request(program, cell.workload.beside)
            jobs["job_nodes"] = ALL_NODES
        return request(
            program,
            cell.workload.args,
            jobs=jobs,
            machine=definition.machine,
            interface=cell.interface.spelt,
            nodes=definition.nodes,
            set=[*definition.set, *cell.interface.set, *self._settings, *change],
            seed=cell.seed,
        )
