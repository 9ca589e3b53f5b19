"""Sweeps: nothing that was computed is lost, nothing is there twice."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import wait

import duckdb
import pandas as pd
import polars as pl
import psutil
import pytest

import narthex
from narthex import NarthexError, seals
from narthex.cli import main
from narthex.sweeps import execution, folder, processes, tables

SHORT = """
program = "roundtrip"
args = "{bytes} 4 1"
nodes = 2

[parameters]
bytes = [8, 64]
interface = ["NI2w", "CNI16Q"]
"""

LATENCY = "round_trip_latency_ns"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return a folder of its own, with a sweep in it, and make it the working folder."""
    (tmp_path / "short.toml").write_text(SHORT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def made(monkeypatch):
    """Return the names of the runs that were made."""
    names, keep = [], folder.Folder.keep

    def kept(self, run, made):
        names.append(run.name)
        keep(self, run, made)

    monkeypatch.setattr(folder.Folder, "keep", kept)
    return names


def files(path, table="runs"):
    return sorted((path / "results" / "short" / table).glob("*.parquet"))


# --- the tables ------------------------------------------------------------------------


def test_the_table_has_what_each_run_says_alone(here):
    table = narthex.sweep("short.toml", jobs=2)
    asked = table.select("bytes", "interface").rows()
    assert asked == [(8, "NI2w"), (8, "CNI16Q"), (64, "NI2w"), (64, "CNI16Q")]
    for row in table.to_dicts():
        alone = narthex.run("roundtrip", row["bytes"], 4, 1, nodes=2, interface=row["interface"])
        assert row[LATENCY] == alone.value("round-trip latency")
        assert row["simulated_us"] == alone.simulated_us
        assert (row["status"], row["exit_code"], row["nodes"]) == ("finished", 0, 2)


def test_polars_duckdb_and_pandas_open_the_results(here):
    table = narthex.sweep("short.toml")
    assert pl.read_parquet("results/short/results.parquet").equals(table)
    runs = "results/short/runs/*.parquet"
    assert pl.read_parquet(runs)["bytes"].sum() == 144
    assert duckdb.sql(f"select sum(bytes) from '{runs}'").fetchall() == [(144,)]
    assert pd.read_parquet("results/short/runs")["bytes"].sum() == 144
    reported = duckdb.sql(
        "select r.bytes, r.interface, avg(m.value) from 'results/short/runs/*.parquet' r"
        " join 'results/short/measurements/*.parquet' m using (key)"
        " where m.kind = 'report' and m.name = 'round-trip latency' group by all"
    ).fetchall()
    assert sorted(reported) == sorted(table.select("bytes", "interface", LATENCY).rows())


def test_the_measurements_are_those_of_the_document(here):
    narthex.sweep("short.toml", keep_documents=True)
    for file in files(here):
        key = file.stem
        packed = (here / "results/short/documents" / f"{key}.json.gz").read_bytes()
        document = json.loads(gzip.decompress(packed))
        rows = pl.read_parquet(here / "results/short/measurements" / f"{key}.parquet")
        whole = rows.filter(pl.col("region").is_null())
        times = [sum(p["ledger_ps"].values()) for n in document["nodes"] for p in n["processors"]]
        assert whole.filter(kind="ledger")["value"].sum() == sum(times)
        in_regions = sum(sum(each["ledger_ps"].values()) for each in document["regions"])
        region_rows = rows.filter(pl.col("region").is_not_null(), kind="ledger")
        assert region_rows["value"].sum() == in_regions > 0
        assert rows.filter(kind="report").height == len(document["reports"])
        assert rows.filter(kind="statistic", name="messages_sent").height >= 2


def test_a_report_that_is_called_like_a_column_has_a_column_of_its_own():
    runs = pl.DataFrame({"key": ["a", "b"], "status": ["finished"] * 2})
    names = ["key", "status", "status (reported)", "", "time, least"]
    measured = pl.DataFrame({"key": "a", "kind": "report", "name": names, "unit": "", "value": 1.0})
    made = tables.results(runs, measured)
    assert made.columns[2:] == [
        "key_reported", "status_reported", "status_reported_reported", "value", "time_least",
    ]  # fmt: skip
    assert made["key"].to_list() == ["a", "b"]


def test_a_run_that_fails_has_its_error_and_stops_no_other(here, made, capsys):
    (here / "short.toml").write_text(SHORT.replace("[8, 64]", '["many", "8"]'))
    for _ in range(2):
        with pytest.raises(SystemExit) as ended:
            main(["sweep", "short.toml"])
        assert ended.value.code == 2
        assert "bytes=many, interface=NI2w: " in capsys.readouterr().err
    assert len(made) == 4  # what failed is kept as well
    table = pl.read_parquet("results/short/results.parquet")
    assert table["status"].to_list() == ["failed", "failed", "finished", "finished"]
    assert table["exit_code"].to_list() == [2, 2, 0, 0]
    assert table["error"].is_null().to_list() == [False, False, True, True]
    assert table[LATENCY].is_null().to_list() == [True, True, False, False]
    narthex.sweep("short.toml", retry_failed=True)
    assert len(made) == 6


def test_a_run_on_a_machine_without_its_interface_names_the_machine(here):
    table = narthex.sweep({
        "program": "roundtrip", "args": "8 4 1", "nodes": 2, "interface": "NI16w+Blkbuf",
        "parameters": {"machine": ["hpca98", "isca96"]},
    })  # fmt: skip
    assert table["error"][1].startswith("isca96: the machine's file has no [interfaces.ni_iw_b")


# --- interrupted, killed, damaged ------------------------------------------------------


def test_a_sweep_goes_on_from_what_is_there(here, made):
    first = narthex.sweep("short.toml")
    files(here)[0].unlink()
    files(here, "measurements")[1].unlink()
    again = narthex.sweep("short.toml")
    assert len(made) == 6
    assert again.drop("host_s").equals(first.drop("host_s"))


@pytest.mark.parametrize("table", ["runs", "measurements"])
def test_damaged_files_are_set_aside_with_a_message_and_their_runs_made_again(here, made, table):
    first = narthex.sweep("short.toml")
    half, empty, other, whole = files(here, table)
    half.write_bytes(half.read_bytes()[: half.stat().st_size // 2])
    empty.write_bytes(b"")
    other.write_bytes(whole.read_bytes())
    (half.parent / f"{half.name}.x.unfinished").write_bytes(whole.read_bytes()[:99])
    spoilt, notes = {f"{table}-{f.name}": f.read_bytes() for f in (half, empty, other)}, []
    again = narthex.sweep("short.toml", note=notes.append)
    assert len(made) == 4 + 3
    assert again.drop("host_s").equals(first.drop("host_s"))
    aside = {file.name: file.read_bytes() for file in (here / "results/short/damaged").iterdir()}
    assert aside == spoilt
    assert [name in note for name, note in zip(sorted(spoilt), notes, strict=True)] == [True] * 3
    assert sorted(half.parent.iterdir()) == [half, empty, other, whole]


def test_a_flipped_bit_of_a_kept_file_is_found_before_it_is_read(here, capfd):
    """Polars panics on some; what it prints then is not for the user."""
    planned = execution.planned_of("short.toml")
    narthex.sweep(planned)
    with opened(here, planned) as there:
        for table in ("runs", "measurements"):
            file = files(here, table)[0]
            own = file.read_bytes()
            for position in range(0, len(own), 53):
                file.write_bytes(flipped(own, 8 * position + position % 8))
                notes = []
                assert len(there.finished(notes.append)) == 3
                assert [f"{table}/{file.name}' is damaged" in note for note in notes] == [True]
                file.write_bytes(own)
    assert capfd.readouterr() == ("", "")


def test_a_panic_of_the_reader_is_damage(here, monkeypatch):
    class PanicException(BaseException):
        pass

    def panics(_source):
        raise PanicException

    planned = execution.planned_of("short.toml")
    narthex.sweep(planned)
    monkeypatch.setattr(pl.exceptions, "PanicException", PanicException)
    monkeypatch.setattr(pl, "read_parquet", panics)
    with opened(here, planned) as there:
        assert not there.finished(lambda _note: None)
    assert len(list((here / "results/short/damaged").iterdir())) == 8


def test_a_flipped_bit_of_a_kept_document_is_found_where_documents_are_kept(here, made):
    narthex.sweep("short.toml", keep_documents=True)
    file = min((here / "results/short/documents").iterdir())
    own = file.read_bytes()
    file.write_bytes(flipped(own, 8 * len(own) // 2))
    narthex.sweep("short.toml")
    assert len(made) == 4
    narthex.sweep("short.toml", keep_documents=True)
    assert len(made) == 5
    assert json.loads(gzip.decompress(file.read_bytes()))["program"] == "roundtrip"


def flipped(data, bit):
    return data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]


@pytest.mark.parametrize("there", [True, False], ids=["with runs", "before the first run"])
@pytest.mark.parametrize("name", ["sweep.json", "sweep.json.x.unfinished"])
def test_a_kill_while_the_identity_is_written_stops_no_sweep(here, made, there, name):
    planned = execution.planned_of("short.toml")
    identity = here / "results/short/sweep.json"
    if there:
        narthex.sweep(planned)
    with opened(here, planned):
        own = identity.read_bytes()
    assert not any(folder.identity_of(own[:length]) for length in range(len(own)))
    for length in (0, 1, len(own) // 2, len(own) - 1):
        identity.unlink()
        identity.with_name(name).write_bytes(own[:length])
        with opened(here, planned) as again:
            assert len(again.finished(print)) == len(made) == (4 if there else 0)
        assert identity.read_bytes() == own


def opened(here, planned):
    return folder.opened(here / "results/short", planned, restart=False, keep_documents=False)


LONG = SHORT.replace('"roundtrip"', '"bandwidth"').replace("{bytes} 4 1", "{bytes} 1200")


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_sweep_loses_nothing_and_leaves_no_process(here, made, sign):
    (here / "short.toml").write_text(LONG)
    command = [sys.executable, "-m", "narthex", "sweep", "short.toml", "--jobs", "1"]
    sweep = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    while not files(here):
        assert sweep.poll() is None
        time.sleep(0.02)
    workers = psutil.Process(sweep.pid).children(recursive=True)
    assert workers
    sweep.send_signal(sign)
    _, told = sweep.communicate(timeout=60)
    there = len(files(here))
    assert 1 <= there < 4
    if sign == signal.SIGINT:
        assert sweep.returncode == 130
        assert f"interrupted; {there} of 4 runs are in 'results/short'" in told.decode()
        assert pl.read_parquet("results/short/results.parquet").height == there
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert not alive
    kept = {file: file.read_bytes() for file in files(here)}
    table = narthex.sweep("short.toml")
    assert len(made) == 4 - there
    assert table["status"].to_list() == ["finished"] * 4
    assert all(file.read_bytes() == data for file, data in kept.items())


def test_what_is_done_when_a_sweep_is_interrupted_is_kept(here, made, monkeypatch, capsys):
    def interrupted(running):
        wait(running)
        raise KeyboardInterrupt

    monkeypatch.setattr(execution, "_next", interrupted)
    with pytest.raises(SystemExit):
        main(["sweep", "short.toml", "--jobs", "2"])
    assert len(made) == len(files(here)) == 2
    assert "interrupted; 2 of 4 runs are in 'results/short'" in capsys.readouterr().err


def test_the_processes_of_a_killed_sweep_end_in_the_middle_of_their_runs(here):
    (here / "short.toml").write_text(LONG.replace("1200", "100000000"))
    sweep = subprocess.Popen([sys.executable, "-m", "narthex", "sweep", "short.toml", "--jobs=1"])
    parent, workers = psutil.Process(sweep.pid), []
    while not any(worker.cpu_times().user > 0.8 for worker in workers):
        assert sweep.poll() is None
        time.sleep(0.05)
        workers = parent.children()
    sweep.kill()
    sweep.wait()
    _, alive = psutil.wait_procs(workers, timeout=20)
    for worker in alive:
        worker.kill()
    assert not alive


def test_a_killed_process_loses_no_run(here, made):
    (here / "short.toml").write_text(LONG)
    killed = []

    def kill_one(progress):
        children = psutil.Process().children()
        if 0 < progress.done < 4 and not killed and children:
            killed.append(children[0].pid)
            os.kill(children[0].pid, signal.SIGKILL)

    table = narthex.sweep("short.toml", jobs=2, progress=kill_one)
    assert killed
    assert sorted(made) == sorted(table["name"])
    assert table["status"].to_list() == ["finished"] * 4


def test_a_run_whose_processes_are_always_killed_has_failed_with_the_reason(here, monkeypatch):
    monkeypatch.setattr(processes, "_PROCESS", "import os; os.kill(os.getpid(), 9)")
    table = narthex.sweep("short.toml")
    assert table["status"].to_list() == ["failed"] * 4
    assert table["error"][0].startswith("its process was killed by SIGKILL, 3 times")
    assert table["exit_code"].is_null().all()


def test_two_sweeps_at_a_time_do_not_write_to_one_folder(here):
    planned = execution.planned_of("short.toml")
    with (
        opened(here, planned),
        pytest.raises(NarthexError, match="another sweep is writing to 'results/short'"),
    ):
        narthex.sweep("short.toml")


def test_a_full_disk_is_told_with_what_is_there(here, monkeypatch, capsys):
    whole, written = folder.write_whole, []

    def full(file, data):
        if file.parent.name == "runs":
            written.append(file)
        if len(written) > 1:
            raise OSError(28, "No space left on device")
        whole(file, data)

    monkeypatch.setattr(folder, "write_whole", full)
    main_ended(["sweep", "short.toml"], 1)
    assert "No space left on device" in capsys.readouterr().err
    assert len(files(here)) == 1
    assert not list(here.rglob("*.unfinished"))


# --- folders of something else ---------------------------------------------------------


def test_a_folder_of_another_sweep_or_version_is_refused_and_nothing_is_lost(here, made):
    narthex.sweep("short.toml")
    before = {file: file.read_bytes() for file in files(here)}
    identity = here / "results/short/sweep.json"
    own = identity.read_text()

    def sealed(text):
        there = json.loads(text) | {"seal": seals.BLANK}
        return seals.seal("sweep.json", json.dumps(there).encode())

    def refused(message):
        with pytest.raises(NarthexError, match=message) as raised:
            narthex.sweep("short.toml")
        assert "--output, or --restart to move" in str(raised.value)

    identity.write_bytes(sealed(own.replace('"version": "', '"version": "9.')))
    refused(r"version 9\..* there, .* here")
    identity.write_bytes(sealed(own.replace('"simulator": "', '"simulator": "0')))
    refused("another build of narthex")
    identity.write_text('{"schema": 1}')
    refused("schema 1 there, 2 here")
    identity.write_text(own)
    (here / "short.toml").write_text(SHORT.replace("[8, 64]", "[8, 65]"))
    refused(r'parameters is \[\{"bytes": \[8, 64\].* there, \[\{"bytes": \[8, 65\].* here')
    identity.write_text(own[:100])
    refused("sweep.json' is damaged or missing, and '.*' is a run of another sweep")
    identity.unlink()
    refused("sweep.json' is damaged or missing, and '.*' is a run of another sweep")
    identity.write_text(own)
    assert {file: file.read_bytes() for file in files(here)} == before
    assert len(made) == 4
    narthex.sweep("short.toml", restart=True)
    assert {f.name: f.read_bytes() for f in (here / "results/short.before/runs").iterdir()} == {
        file.name: data for file, data in before.items()
    }
    assert len(made) == 8


def test_a_folder_with_other_things_in_it_is_refused(here):
    (here / "mine").mkdir()
    (here / "mine" / "thesis.tex").write_text("all of it")
    with pytest.raises(NarthexError, match="'mine' holds something else"):
        narthex.sweep("short.toml", output="mine")
    with pytest.raises(NarthexError, match="cannot write to the folder '/proc/mine'"):
        narthex.sweep("short.toml", output="/proc/mine")
    with pytest.raises(NarthexError, match=r"'short\.toml' is no folder"):
        narthex.sweep("short.toml", output="short.toml")


# --- the command -----------------------------------------------------------------------


def test_the_command_lists_runs_and_makes_none(here, capsys):
    main_ended(["sweep", "short.toml", "--list"])
    printed = capsys.readouterr().out
    assert "roundtrip 8 4 1" in printed
    assert "\n4 runs\n" in printed
    assert not (here / "results").exists()


def test_the_command_prints_and_writes_json(here, capsys):
    main_ended(["sweep", "short.toml", "--json", "all.json"])
    assert "4 runs in 'results/short'" in capsys.readouterr().out
    rows = json.loads((here / "all.json").read_text())["rows"]
    assert [row["bytes"] for row in rows] == [8, 8, 64, 64]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.toml"], "the sweep 'none.toml' does not exist"),
        (["short.toml", "--jobs", "2", "--dask", "tcp://x:1"], "choose one of --jobs, --dask and"),
        (
            ["short.toml", "--jobs", "99999"],
            "--jobs must be a whole number from 1 to 1024, not 99999",
        ),
        (["short.toml", "--slurm"], r"--slurm needs a table \[slurm\] in the file"),
        (["short.toml", "--x", "byte"], "did you mean 'bytes'"),
        (["short.toml", "--plot", "x.gif"], "must end in .html, .svg, .png"),
    ],
)
def test_the_command_refuses_what_is_wrong(here, capsys, arguments, message):
    main_ended(["sweep", *arguments], 2)
    assert re.search(message, capsys.readouterr().err)
    assert not (here / "results").exists()


def test_an_interface_that_does_not_exist_is_refused_before_anything_runs(here):
    (here / "short.toml").write_text(SHORT.replace("CNI16Q", "CNI16X"))
    with pytest.raises(NarthexError, match=r"run 'bytes=8, interface=CNI16X': 'CNI16X' is not"):
        narthex.sweep("short.toml")
    assert not (here / "results").exists()


def main_ended(arguments, code=0):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == code
