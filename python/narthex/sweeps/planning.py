"""The runs of a sweep: what each is asked to do, its name and its key.

The key (`identity`) is a hash of all that decides a run, and the name of its
files: that is why an interrupted sweep knows what it has, and nothing is twice.
"""

import gzip
import json
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from narthex import _native
from narthex.arguments import value_text
from narthex.errors import USAGE, NarthexError
from narthex.guest_library import SOURCE_SUFFIXES
from narthex.identity import digest, machine_of, run_key, simulator
from narthex.jobs import Job
from narthex.jobs import read as read_job
from narthex.jobs import request as jobs_request
from narthex.options import ProgramOptions, default_interface
from narthex.programs import Program, find
from narthex.running import request, simulate
from narthex.surroundings import identity
from narthex.sweeps.definition import Definition
from narthex.sweeps.loading import PLACEHOLDER
from narthex.sweeps.points import Assignment, points
from narthex.sweeps.work import Task

_NOT_OF_MACHINE = ("program", "args", "interface", "firmware", "surroundings", "jobs", "job_nodes")
"""Parts of a request that say nothing of its machine."""


@dataclass(frozen=True)
class Run:
    """One run to make."""

    key: str
    name: str
    """What distinguishes it: "bytes=64, interface=NI2w"."""
    parameters: Assignment
    """By name, as the file has them."""
    request: dict[str, Any]
    machine: dict[str, Any]
    """Resolved."""
    guest: Program

    @property
    def kind(self) -> str:
        """Runs of the same kind take about as long."""
        asked = self.request
        return f"{asked['program']} {' '.join(asked['args'])} {self.nodes}"

    @property
    def nodes(self) -> int:
        """How many nodes it simulates."""
        return _plain(self.machine["machine"]["machine"]["nodes"])

    @property
    def seed(self) -> int:
        """Where its random streams begin."""
        return _plain(self.machine["machine"]["machine"]["seed"])

    @property
    def task(self) -> Task:
        """Return all that another process, maybe on another machine, needs to make it."""
        elf = self.guest.elf(interface=self.request["interface"])
        return Task(self.request, self.machine["toml"], _packed(elf), simulator())


@dataclass(frozen=True)
class Plan:
    """All runs of a sweep."""

    definition: Definition
    runs: list[Run]
    place: str
    """The sweep's file, for messages."""

    @property
    def identity(self) -> dict[str, Any]:
        """What decides the runs, for the folder of results."""
        guests = {run.guest.name: run.guest for run in self.runs}
        files = {run.request["machine"] for run in self.runs}
        machines = [json.loads(_native.machine_show(file, [], False)) for file in sorted(files)]
        return {
            **self.definition.decisive,
            "programs' bytes": {name: digest(guest.elf())[:12] for name, guest in guests.items()},
            "machines' parameters": [digest(each["toml"].encode())[:12] for each in machines],
            **({"files' bytes": sorted(given)} if (given := self._given) else {}),
        }

    @property
    def _given(self) -> set[str]:
        """The hashes of what programs find around them, of the runs that have any."""
        every = [run.request.get("surroundings") for run in self.runs]
        told = [json.dumps(identity(each), sort_keys=True) for each in every if each]
        return {digest(each.encode())[:12] for each in told}


def plan(
    definition: Definition, file: Path, compile_program: Callable[[Program], object] = Program.elf
) -> Plan:
    """Make the runs of a sweep, and refuse what cannot be run.

    `file` is the sweep's; `compile_program` is called once for each program. No
    two runs may have the same name, or be the same under two names.
    """
    try:
        return Plan(definition, _runs(definition, file.parent, compile_program), str(file))
    except NarthexError as error:
        raise NarthexError(f"{file}: {error}", error.exit_code) from error


def _runs(
    definition: Definition, folder: Path, compile_program: Callable[[Program], object]
) -> list[Run]:
    resolve = lru_cache(maxsize=None)(_resolved)
    programs: dict[str, Program] = {}
    runs: dict[str, Run] = {}
    names: set[str] = set()
    for point in points(definition):
        jobs = [_job(folder, definition, each, point) for each in definition.jobs]
        path = _beside(folder, _filled(definition, "program", point))
        if not path:
            path = jobs[0].program
        if path not in programs:
            programs[path] = find(path)
            compile_program(programs[path])
        file = _beside(folder, _filled(definition, "machine", point))
        found = _found(folder, definition, point)
        run = _run(definition, point, (programs[path], jobs), file, found, resolve)
        if run.name in names:
            raise NarthexError(
                f"two runs have the name '{run.name}': a value stands there twice; leave one out"
            )
        if run.key in runs:
            raise NarthexError(
                f"'{runs[run.key].name}' and '{run.name}' are the same run: what distinguishes"
                " them changes nothing; leave one out"
            )
        runs[run.key] = run
        names.add(run.name)
    return list(runs.values())


def try_interfaces(plan: Plan) -> None:
    """Refuse an interface that does not exist, before hours have gone by.

    Each is tried for an instant, on two nodes of the first machine that it is to
    run on, if its jobs name none: the whole may be for a cluster's memory, not for
    that of this host.
    """
    tried = set()
    for run in plan.runs:
        if run.request["interface"] in tried:
            continue
        tried.add(run.request["interface"])
        try:
            has_places = {"jobs", "job_nodes"} & run.request.keys()
            few = run.request if has_places else {**run.request, "nodes": min(run.nodes, 2)}
            few = {key: value for key, value in few.items() if key != "warm"}  # it is of all nodes
            simulate(few, run.guest, lambda _time_ps: False)
        except NarthexError as error:
            has_run = error.document is not None  # the program refuses its arguments, on few nodes
            if error.exit_code == USAGE and not has_run:
                raise NarthexError(f"{plan.place}: run '{run.name}': {error}", USAGE) from error


def _run(
    definition: Definition,
    point: Assignment,
    programs: tuple[Program, list[Job]],
    machine: str,
    found: ProgramOptions,
    resolve: Callable[[str], dict[str, Any]],
) -> Run:
    guest, beside = programs
    is_first = not _filled(definition, "program", point)
    changes = _settings(definition, point)
    name = ", ".join(f"{each}={value_text(value)}" for each, value in point.items())
    interface = _filled(definition, "interface", point)
    if not interface:
        with _named(name):
            interface = default_interface(machine, changes)
    _, described = jobs_request(None if is_first else guest, beside, interface=interface)
    asked = request(
        guest,
        _words(_filled(definition, "args", point)),
        machine=machine,
        jobs=described,
        interface=interface,
        nodes=point.get("nodes", definition.nodes),
        set=changes,
        **found,
        threads=definition.threads,
        until=definition.until,
        timeout=definition.timeout,
        seed=point.get("seed", definition.seed),
    )
    with _named(name):
        resolved = resolve(json.dumps({**asked, **dict.fromkeys(_NOT_OF_MACHINE)}))
    return Run(
        run_key(asked, resolved, guest),
        name or f"{guest.name} on {asked['interface']}",
        point,
        asked,
        resolved,
        guest,
    )


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Say of which run it is that its machine is wrong."""
    try:
        yield
    except NarthexError as error:
        raise NarthexError(f"run '{name}': {error}", error.exit_code) from error


def _resolved(asked: str) -> dict[str, Any]:
    return machine_of(json.loads(asked))


def _job(folder: Path, definition: Definition, text: str, point: Assignment) -> Job:
    job = read_job(_fill(text, definition, point))
    return replace(job, program=_beside(folder, job.program))


def _settings(definition: Definition, point: Assignment) -> list[str]:
    """Return the differences from the machine: the file's, then the point's."""
    keys = {axis.name: axis.unit for axis in definition.axes if "." in axis.name}
    fixed = [_fill(each, definition, point) for each in definition.set]
    return [*fixed, *(f"{key}={value_text(point[key])}{unit}" for key, unit in keys.items())]


def _filled(definition: Definition, key: str, point: Assignment) -> str:
    """Return one of the run's texts: the point's if it has it, else the file's."""
    return _fill(str(point.get(key, getattr(definition, key))), definition, point)


def _fill(text: str, definition: Definition, point: Assignment) -> str:
    """Put the values of parameters in the place of their names in braces."""
    units = {axis.name: axis.unit for axis in definition.axes}
    return PLACEHOLDER.sub(lambda found: value_text(point[found[1]]) + units[found[1]], text)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise NarthexError(f"args '{text}': {error}") from error


def _plain(parameter: int | dict[str, Any]) -> int:
    """Return a parameter's value, with or without its source."""
    return parameter["value"] if isinstance(parameter, dict) else parameter


def _beside(folder: Path, name: str) -> str:
    """Return a program or machine: files are looked for from where the sweep's is."""
    is_file = "/" in name or name.endswith((".toml", *SOURCE_SUFFIXES))
    return str(folder / name) if is_file else name


def _found(folder: Path, definition: Definition, point: Assignment) -> ProgramOptions:
    """Return what a run's program finds; files are named from where the sweep's is."""

    def filled(given: Iterable[str]) -> list[str]:
        return [_fill(each, definition, point) for each in given]

    def beside(given: str | None) -> Path | None:
        return None if given is None else folder / _fill(given, definition, point)

    return {
        "firmware": [_firmware_beside(folder, each) for each in definition.firmware],
        "env": filled(definition.env),
        "input": beside(definition.input),
        "files": [_named_beside(folder, each) for each in filled(definition.files)],
        "directories": [_named_beside(folder, each) for each in filled(definition.directories)],
        "start_from": beside(definition.start_from),
        "caches": None if definition.caches == "filled" else definition.caches,
    }


def _named_beside(folder: Path, given: str) -> str:
    """Return what `--file` takes, its path from where the sweep's is."""
    name, equals, path = given.partition("=")
    return f"{name}={folder / path}" if equals and path else given


def _firmware_beside(folder: Path, given: str) -> str:
    """Return what `--firmware` takes, its file looked for from where the sweep's is."""
    name, equals, file = given.rpartition("=")
    return f"{name}{equals}{folder / file}"


@lru_cache(maxsize=8)
def _packed(elf: bytes) -> bytes:
    return gzip.compress(elf)
