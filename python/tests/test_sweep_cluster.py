"""Sweeps on clusters: a real Dask cluster of two processes, and Slurm's job script."""

import os
import signal
import socket
import sys

import dask
import polars as pl
import pytest
from distributed import Client, LocalCluster

import narthex
from narthex import NarthexError
from narthex.sweeps import cluster, folder, work
from narthex.sweeps.definition import Slurm
from narthex.sweeps.execution import planned_of
from narthex.sweeps.tables import result_of

SWEEP = {
    "name": "queue",
    "program": "bandwidth",
    "args": "{bytes} 10000",  # long enough to be interrupted
    "nodes": 2,
    "parameters": {"bytes": [64, 128, 192], "interface": ["NI2w", "CNI16Q"]},
}


@pytest.fixture(scope="module")
def dask_cluster():
    """Return a cluster of two worker processes; a killed one is started again."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 2}),
        LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as made,
    ):
        yield made


@pytest.fixture
def client(dask_cluster):
    with Client(dask_cluster, set_as_default=False) as joined:
        joined.wait_for_workers(1, timeout=60)
        yield joined


def test_a_worker_killed_in_the_middle_loses_nothing_and_makes_nothing_twice(
    client, tmp_path, monkeypatch
):
    client.wait_for_workers(2, timeout=60)
    written, keep = [], folder.Folder.keep
    monkeypatch.setattr(folder.Folder, "keep", lambda *a: (written.append(a[1].key), keep(*a)))
    pids, killed = client.run(os.getpid), []

    def kill_one_at_work(progress):
        busy = [address for address, tasks in client.processing().items() if tasks]
        if 1 <= progress.done < progress.total - 2 and busy and not killed:
            killed.append(busy[0])
            os.kill(pids[busy[0]], signal.SIGKILL)

    path = tmp_path / "out"
    table = narthex.sweep(
        SWEEP, dask=client.scheduler.address, output=path, progress=kill_one_at_work
    )
    assert killed
    assert killed[0] not in client.scheduler_info()["workers"]
    assert table["status"].to_list() == ["finished"] * 6
    assert sorted(written) == sorted(table["key"])
    assert len(set(written)) == 6
    assert pl.read_parquet(path / "runs" / "*.parquet").height == 6
    here = narthex.sweep(SWEEP, output=tmp_path / "here")
    assert here.drop("host_s").equals(table.drop("host_s"))
    # The same folder, somewhere else: nothing is left to do.
    again = narthex.sweep(SWEEP, jobs=1, output=path)
    assert again.equals(table)
    assert len(written) == 12


def test_workers_with_another_simulator_are_refused(client, tmp_path, monkeypatch):
    monkeypatch.setattr("narthex.sweeps.planning.simulator", lambda: "another")
    with pytest.raises(NarthexError, match="another build of narthex than this one"):
        narthex.sweep(SWEEP, dask=client.scheduler.address, output=tmp_path / "out")


def test_a_task_holds_all_that_a_worker_needs(tmp_path, monkeypatch):
    own = tmp_path / "own.toml"
    own.write_text('base = "hpca98"\n[bus]\nclock = "125MHz"\n')
    planned = planned_of({**SWEEP, "args": "64 20", "machine": str(own),
                          "parameters": {"seed": [7]}})  # fmt: skip
    (run,) = planned.runs
    direct = narthex.run("bandwidth", 64, 20, nodes=2, machine=str(own), seed=7)
    task = run.task
    own.unlink()
    monkeypatch.chdir("/")
    assert result_of(work.make(task)).document == direct.document


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:{port}", "tcp://127.0.0.1:9", "nonsense", ""])
def test_an_address_with_no_cluster_is_told_in_time_and_nothing_is_lost(
    address, tmp_path, monkeypatch
):
    monkeypatch.setattr(cluster, "PATIENCE_S", 1)
    one = {**SWEEP, "parameters": {"bytes": [64]}}
    with socket.socket() as silent:  # takes calls, and answers none
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        place = address.format(port=silent.getsockname()[1])
        with pytest.raises(NarthexError, match=f"there is no Dask cluster at '{place}' ") as raised:
            narthex.sweep(one, dask=place, output=tmp_path / "out")
    assert "dask scheduler" in str(raised.value)
    assert raised.value.exit_code == 2


def test_the_address_of_a_worker_is_not_that_of_a_cluster(client, tmp_path):
    worker = next(iter(client.scheduler_info()["workers"]))
    with pytest.raises(NarthexError, match="it is a Worker's"):
        narthex.sweep(SWEEP, dask=worker, output=tmp_path / "out")


# The last of them: Dask may not start workers again that die again and again.
def test_a_run_that_kills_every_worker_has_failed_with_the_reason(client, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "make", _die)
    one = {**SWEEP, "parameters": {"bytes": [64]}}
    table = narthex.sweep(one, dask=client.scheduler.address, output=tmp_path / "out")
    assert table["status"].to_list() == ["failed"]
    assert "its worker was lost" in table["error"][0]
    assert "3 times; does the run need more memory" in table["error"][0]


def test_the_script_of_a_slurm_job_has_what_the_file_says():
    slurm = Slurm(4, 8, "16GB", "02:30:00", "fast", "net", ["module load python"], ["--exclusive"])
    with cluster.slurm_jobs(slurm) as jobs:
        script = jobs.job_script()
    for line in (
        "-p fast",
        "-A net",
        "--mem=15G",
        "-t 02:30:00",
        "--cpus-per-task=8",
        "--exclusive",
    ):
        assert f"#SBATCH {line}\n" in script
    assert "\nmodule load python\n" in script
    assert "--nworkers 8 " in script
    assert "--nthreads 1 " in script


def test_without_slurm_its_absence_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    wanted = {**SWEEP, "slurm": {"jobs": 1, "cores": 1, "memory": "1GB"}}
    with pytest.raises(NarthexError, match="there is no Slurm here"):
        narthex.sweep(wanted, slurm=True, output=tmp_path / "out")


def test_without_the_packages_of_clusters_their_name_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(NarthexError, match=r"no package 'distributed' here; .*narthex\[cluster\]"):
        narthex.sweep(SWEEP, dask="tcp://127.0.0.1:9", output=tmp_path / "out")


def _die(_task):
    os.kill(os.getpid(), signal.SIGKILL)
