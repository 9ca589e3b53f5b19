"""Makes the runs of a sweep that are not there yet, here or on a cluster.

    plan ── runs ──> Processes or Cluster ── what came of them ──> Folder

The workers write nothing, and this process alone writes: each run
once, when it is finished. A failed run is a row as well; the others go on.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from narthex import arguments, strict
from narthex.arguments import Settings
from narthex.errors import NarthexError
from narthex.programs import Program
from narthex.remaining import Remaining
from narthex.sweeps.folder import IDENTITY, Folder, Note, opened
from narthex.sweeps.loading import load, parse
from narthex.sweeps.planning import Plan, Run, plan, try_interfaces
from narthex.sweeps.processes import Processes
from narthex.sweeps.work import Made, Task

if TYPE_CHECKING:
    import polars

TICK_S = 0.5
"""How often it is looked whether workers have come, and how far all is."""


@dataclass(frozen=True)
class Progress:
    """How far a sweep is."""

    done: int
    """Finished and failed runs, those of earlier times among them."""
    failed: int
    total: int
    at_a_time: int
    """Runs that can be made at a time; none while a cluster has no worker yet."""
    left_s: float | None
    """What the others will still take, where that is known."""


class Pool(Protocol):
    """What makes runs: processes of this machine, or a cluster."""

    @property
    def capacity(self) -> int:
        """How many runs it can make at a time."""

    def submit(self, task: Task) -> Future[Made]:
        """Begin a run."""

    def made(self, future: Future[Made]) -> Made:
        """Return what came of a run that has come to its end."""


def sweep(
    what: str | Path | dict[str, Any] | Plan,
    *,
    jobs: int | None = None,
    dask: str | None = None,
    slurm: bool = False,
    output: str | Path | None = None,
    restart: bool = False,
    retry_failed: bool = False,
    keep_documents: bool = False,
    nodes: int | None = None,
    set: Settings = (),  # noqa: A002 - the option's name on the command line
    threads: int | None = None,
    until: str | None = None,
    timeout: str | None = None,
    progress: Callable[[Progress], object] = lambda _progress: None,
    note: Note = print,
) -> "polars.DataFrame":
    """Make all runs of a sweep and return their table: parameters, endings, reports.

    `what` is a TOML file (docs/sweeps.md), or a dictionary of the same keys.
    `jobs` runs are made at a time, each in a process of this machine, as many as
    it has cores if not given; or they are made on the Dask cluster at the
    address `dask`, or with `slurm` in the jobs of the file's `[slurm]`. The
    results are in the folder `output`, `results/NAME` if not given. Runs that are there
    are not made again, unless they failed and `retry_failed`; with `restart` the
    folder is moved aside first. `keep_documents` keeps all that each run
    returned. `nodes` and `threads` take the place of the file's, and `set` comes behind it.
    A run that has not ended by the simulated time `until`, or in this computer's
    time `timeout`, has failed. A run that fails has its error in the table, and stops no other.

    >>> import narthex
    >>> table = narthex.sweep(
    ...     {
    ...         "name": "queue-size",
    ...         "program": "bandwidth",
    ...         "args": "64 50",
    ...         "interface": "CNI{blocks}Q",
    ...         "nodes": 2,
    ...         "parameters": {"blocks": [4, 16, 64]},
    ...     },
    ...     jobs=1,
    ... )
    >>> table.select("blocks", "bandwidth_MB_per_s").height
    3

    Raises `NarthexError` when the sweep, the folder or the cluster is not right.
    """
    jobs = arguments.whole_number_or_none("jobs", jobs)
    planned = (
        what
        if isinstance(what, Plan)
        else planned_of(what, nodes=nodes, set=set, threads=threads, until=until, timeout=timeout)
    )
    path = Path("results") / planned.definition.name
    if output is not None:
        path = Path(arguments.file("output", output))
    _check_choice(planned, jobs, dask, slurm)
    if restart or not (path / IDENTITY).exists():
        try_interfaces(planned)
    with opened(path, planned, restart=restart, keep_documents=keep_documents, note=note) as folder:
        status = folder.finished(note)
        redone = {key for key, each in status.items() if each == "failed" and retry_failed}
        there = {key: status[key] for key in status.keys() - redone}
        missing = [run for run in planned.runs if run.key not in there]
        teller = _Teller(planned.runs, there, progress)
        try:
            if missing:
                with _pool(planned, jobs, dask, slurm) as pool:
                    _make_all(pool, folder, missing, teller)
        finally:
            table = folder.results()
        return table


def planned_of(
    what: str | Path | dict[str, Any],
    compile_program: Callable[[Program], object] = Program.elf,
    *,
    nodes: int | None = None,
    set: Settings = (),  # noqa: A002 - the option's name on the command line
    threads: int | None = None,
    until: str | None = None,
    timeout: str | None = None,
) -> Plan:
    """Return the runs of a sweep's file, or of what one would hold.

    What is given takes the place of the file's; `set` comes behind the file's.
    """
    if isinstance(what, dict):
        file = Path("sweep")
        strict.check(what, str(file))
        definition = parse(what, file)
    else:
        file = Path(arguments.text("a sweep", what))
        definition = load(file)
    given: dict[str, Any] = {
        "nodes": arguments.whole_number_or_none("nodes", nodes),
        "threads": arguments.whole_number_or_none("threads", threads),
        "until": until,
        "timeout": timeout,
    }
    settings = arguments.settings(set)
    keys = [key for key, value in given.items() if value is not None]
    keys += [each.partition("=")[0] for each in settings]
    for axis in definition.axes:
        if axis.name in keys:
            raise NarthexError(f"{file}: '{axis.name}' is a parameter that varies; it is not given")
    stated = {key: value for key, value in given.items() if value is not None}
    changed = replace(definition, set=[*definition.set, *settings], **stated)
    return plan(changed, file, compile_program)


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))


def _check_choice(planned: Plan, jobs: int | None, dask: str | None, slurm: bool) -> None:
    """Refuse two places at once, and none."""
    if (jobs is not None) + (dask is not None) + slurm > 1:
        raise NarthexError("choose one of --jobs, --dask and --slurm: where the runs are made")
    if slurm and planned.definition.slurm is None:
        raise NarthexError(
            f"{planned.place}: --slurm needs a table [slurm] in the file, with jobs,"
            " cores and memory (docs/sweeps.md)"
        )


@contextmanager
def _pool(planned: Plan, jobs: int | None, dask: str | None, slurm: bool) -> Iterator[Pool]:
    """Open what makes the runs."""
    from narthex.sweeps import cluster

    definition = planned.definition
    if slurm and definition.slurm is not None:
        with cluster.slurm_cluster(definition.slurm) as jobs_of_slurm:
            yield jobs_of_slurm
    elif dask is not None:
        with cluster.cluster(dask) as workers:
            yield workers
    else:
        with closing(Processes(jobs or max(1, cores() // definition.threads))) as processes:
            yield processes


def _make_all(pool: Pool, folder: Folder, runs: Sequence[Run], teller: "_Teller") -> None:
    """Make runs, as many at a time as the pool can, and keep each when it is finished."""
    waiting = deque(runs)
    running: dict[Future[Made], Run] = {}
    try:
        while waiting or running:
            capacity = pool.capacity
            teller.tell(capacity)
            while waiting and len(running) < capacity:
                run = waiting.popleft()
                running[pool.submit(run.task)] = run
            for future in _next(running):
                made = pool.made(future)
                folder.keep(running[future], made)
                teller.finish(running.pop(future), made)
        teller.tell(pool.capacity)
    except KeyboardInterrupt:
        for future, run in running.items():
            if future.done():
                folder.keep(run, pool.made(future))
        raise


def _next(running: dict[Future[Made], Run]) -> set[Future[Made]]:
    """Wait a moment for the next run to finish."""
    if not running:
        time.sleep(TICK_S)
        return set()
    return wait(running, timeout=TICK_S, return_when=FIRST_COMPLETED).done


class _Teller:
    """Says how far a sweep is."""

    def __init__(
        self, runs: Sequence[Run], there: dict[str, str], progress: Callable[[Progress], object]
    ) -> None:
        self._progress = progress
        self._total = len(runs)
        self._done = len(there)
        self._failed = sum(status == "failed" for status in there.values())
        self._remaining = Remaining.of(1, (run.kind for run in runs if run.key not in there))
        self._left_s: float | None = None

    def finish(self, run: Run, made: Made) -> None:
        """Count a run that was made."""
        self._done += 1
        self._failed += made.status == "failed"
        self._left_s = self._remaining.finish(run.kind, made.host_s)

    def tell(self, capacity: int) -> None:
        """Say how far all is."""
        left_s = None if self._left_s is None else self._left_s / max(1, capacity)
        self._progress(Progress(self._done, self._failed, self._total, capacity, left_s))
