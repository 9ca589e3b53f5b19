"""Makes runs on a cluster, through Dask.

The cluster is one that runs already (`--dask tcp://host:8786`), or jobs that
Slurm starts for this sweep (`--slurm`, the file's `[slurm]`). Its workers only
compute: what they return comes here, and this process alone writes it. So a
worker that is killed takes no result along that was written, and half writes
none; Dask gives its runs to others. A run that comes back twice has the same key
and is the same file.

No more runs are handed out than there are threads of workers: a worker that
dies takes only the runs along that it was making.
"""

import asyncio
import logging
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from narthex.errors import NarthexError
from narthex.sweeps.definition import Slurm
from narthex.sweeps.processes import RETRIES, lost
from narthex.sweeps.work import Made, Task, make

if TYPE_CHECKING:
    from dask_jobqueue import SLURMCluster
    from distributed import Client

PATIENCE_S = 10
"""How long to wait for a cluster's scheduler."""

ASK_AGAIN_S = 2.0
"""How old the number of workers may be."""

_REMEDY = "install Narthex with it: pip install 'narthex[cluster]'"


class Cluster:
    """The workers of a Dask cluster, which make runs."""

    def __init__(self, client: "Client", address: str) -> None:
        self._client = client
        self._address = address
        self._executor = client.get_executor(pure=False)
        self._asked_s = -ASK_AGAIN_S
        self._capacity = 0

    @property
    def capacity(self) -> int:
        """How many runs its workers can make at a time; workers come and go."""
        if self._client.status in ("closed", "closing"):
            raise NarthexError(f"the cluster at '{self._address}' is gone", 1)
        if time.monotonic() - self._asked_s >= ASK_AGAIN_S:
            self._asked_s = time.monotonic()
            with _told(self._address):
                self._capacity = sum(self._client.nthreads().values())
        return self._capacity

    def submit(self, task: Task) -> Future[Made]:
        """Begin a run on one of the workers."""
        return self._executor.submit(make, task)

    def made(self, future: Future[Made]) -> Made:
        """Return what came of a run that has come to its end."""
        from distributed import KilledWorker

        try:
            return future.result()
        except KilledWorker as error:
            attempts = error.allowed_failures + 1
            return lost(f"its worker was lost ({error.last_worker.address} last)", attempts)
        except CancelledError as error:
            raise NarthexError(f"the cluster at '{self._address}' is gone", 1) from error
        except NarthexError:
            raise
        except Exception as error:
            raise NarthexError(
                f"the cluster at '{self._address}' cannot make runs"
                f" ({type(error).__name__}: {error}); every worker needs this version of narthex"
            ) from error

    def close(self) -> None:
        """Leave the cluster; runs that it has not finished are cancelled."""
        self._client.close(timeout=PATIENCE_S)


@contextmanager
def cluster(address: str) -> Iterator[Cluster]:
    """Join a cluster that runs already."""
    distributed = _imported("distributed")
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # errors are told here
    with _told(address):
        with ThreadPoolExecutor(1) as thread:  # a notebook has an event loop in this one
            thread.submit(lambda: asyncio.run(_answer(address))).result()
        client = distributed.Client(address, timeout=PATIENCE_S, set_as_default=False)
    joined = Cluster(client, address)
    try:
        yield joined
    finally:
        joined.close()


async def _answer(address: str) -> None:
    """Ask a scheduler who it is: joining does not wait for one that never answers."""
    from distributed import Security, rpc

    arguments = Security().get_connection_args("client")
    async with (
        asyncio.timeout(PATIENCE_S),
        rpc(address, connection_args=arguments, timeout=PATIENCE_S) as scheduler,
    ):
        kind = (await scheduler.identity())["type"]
    if kind != "Scheduler":
        raise ValueError(f"it is a {kind}'s")


@contextmanager
def slurm_cluster(slurm: Slurm) -> Iterator[Cluster]:
    """Start the jobs of a Slurm cluster, and end them with the sweep."""
    jobs = slurm_jobs(slurm)
    if shutil.which("sbatch") is None:
        jobs.close()
        raise NarthexError("there is no Slurm here (no sbatch); sweep on the cluster's login node")
    try:
        jobs.scale(jobs=slurm.jobs)
        with cluster(jobs.scheduler_address) as joined:
            yield joined
    finally:
        jobs.close()


def slurm_jobs(slurm: Slurm) -> "SLURMCluster":
    """Return the Slurm cluster that a file describes; no job has started yet.

    Each of a job's cores has a process of its own: one that is killed takes no
    other run along.
    """
    dask, jobqueue = _imported("dask"), _imported("dask_jobqueue")
    dask.config.set({"distributed.scheduler.allowed-failures": RETRIES})
    return jobqueue.SLURMCluster(
        cores=slurm.cores,
        processes=slurm.cores,
        memory=slurm.memory,
        walltime=slurm.walltime,
        queue=slurm.queue,
        account=slurm.account,
        job_name="narthex-sweep",
        job_script_prologue=list(slurm.prologue),
        job_extra_directives=list(slurm.directives),
        scheduler_options={"dashboard_address": ":0"},
    )


def _imported(module: str) -> Any:  # noqa: ANN401 - a module
    """Import what only clusters need."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise NarthexError(f"there is no package '{module}' here; {_REMEDY}") from error


@contextmanager
def _told(address: str) -> Iterator[None]:
    """Say what was expected where nothing answers, or something else does."""
    try:
        yield
    except (OSError, ValueError, TypeError) as error:
        raise NarthexError(
            f"there is no Dask cluster at '{address}' ({_reason(error)}); start a scheduler and"
            " workers (dask scheduler, dask worker ADDRESS) and name its address, such as"
            " tcp://host:8786"
        ) from error


def _reason(error: Exception) -> str:
    """Return the last line of an error."""
    if isinstance(error, TimeoutError) and not str(error):
        return f"no answer in {PATIENCE_S} s"
    return [type(error).__name__, *str(error).strip().splitlines()][-1]
