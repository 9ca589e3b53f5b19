"""Random damage to sweeps' and experiments' files, and to folders of results.

Whatever a file holds, it is planned or refused with `NarthexError`, and what is
planned fits into the tables. Whatever happened to a folder's files, the same
sweep goes on and ends with the same table, or is refused; no byte that was there
is gone. `make fuzz` tries many more, other ones each time.
"""

import json
import re
import tempfile
from concurrent.futures import Future
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from narthex import NarthexError, assets, validation
from narthex.packed import unpacked
from narthex.sweeps import execution, folder, planning, points, tables
from narthex.sweeps.work import Made, make

FEW = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
"""For each run of the tests: the same ones each time."""

MANY = settings(FEW, max_examples=12_000, derandomize=False)
"""For `make fuzz`: about ten minutes in all."""

# --- files -----------------------------------------------------------------------------

SWEEPS = [
    """
title = "Bandwidth"
program = "roundtrip"
args = "{bytes} 4 1"
interface = "CNI{blocks}Q"
nodes = 2
set = ["bus.width={width}"]

[parameters]
bytes = [8, 64, 'a "b"']
width = ["8B", "16B"]
blocks = { from = 4, to = 64, step = 4, scale = "log" }
""",
    """
program = "hello"
name = "a b"
threads = 2

[parameters]
machine = ["hpca98", "isca96"]
network.latency = { values = [40, 100.5], unit = "ns" }
nodes = { from = 2, to = 4, count = 3 }

[[zip]]
interface = ["NI2w", "CNI16Q"]
seed = [1, 2]

[sample]
method = "latin-hypercube"
points = 3
seed = 1
over = ["nodes"]

[slurm]
jobs = 4
cores = 8
memory = "16GB"
""",
    """
program = "roundtrip"
args = "8 4 1"
[parameters]
bus.clock = { from = 100, to = 250.5, unit = "MHz", scale = "log" }
flow_control = { buffers = [1, 8] }
[sample]
points = 5
method = "random"
""",
]

TOKENS = [
    "0", "-1", "1.5", "1e300", "-1e-300", "inf", "nan", "9223372036854775807", "true", '""',
    "9223372036854775808", "4294967296", "9" * 5000, "[]", "[[]]", "{}", "[1, 'a', 2.5, true]",
    "1979-05-27", '"\\u0000"', '"\\u001b[31m"', "'{bytes}'", "'{'", "'none.c'", "'./none'", "'é'",
    "'" + "x" * 300 + "'", "[" * 40 + "]" * 40, "{ from = 0, to = 1e18, step = 1 }",
    "{ from = 1, to = 2 }", "{ values = [1, 2], unit = 'ns' }", "from", "to", "step", "count",
    "scale", "unit", "values", "program", "args", "machine", "interface", "nodes", "seed", "set",
    "over", "points", "status", "key", "[parameters]", "[[zip]]", "[sample]", "=", "\n", "#", '"',
]  # fmt: skip
"""What a value or a key is replaced by."""

USUAL = ["1", "2", "3", "64", "2.5", '"8"', "'NI2w'", "'a'", "[1, 2]", "['NI2w', 'CNI4']"]
"""Values that fit into many places."""

VALUES = TOKENS.index("from")
"""This many of them are values."""

VALUE = re.compile(rb"(?<=[\[ ])[^\s\[\]{},=]+(?=[\n\],}])")
"""Where a value stands, or part of one."""

EXPERIMENTS = [
    (assets.EXPERIMENTS / f"{name}.toml").read_text() for name in assets.experiment_names()
]


@st.composite
def damaged_texts(draw, texts):
    """Return a file's text of which some parts are cut, doubled, replaced or flipped."""
    data = draw(st.sampled_from(texts)).encode()
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        until = min(len(data), at + draw(st.integers(0, 12)))
        kind = draw(st.sampled_from(["value"] * 9 + ["cut", "double", "token", "flip", "end"]))
        if kind == "cut":
            data = data[:at] + data[until:]
        elif kind == "double":
            data = data[:until] + data[at:]
        elif kind == "token":
            data = data[:at] + draw(st.sampled_from(TOKENS)).encode() + data[until:]
        elif kind == "value":
            spans = [found.span() for found in VALUE.finditer(data)] or [(at, at)]
            begin, end = draw(st.sampled_from(spans))
            value = draw(st.sampled_from(USUAL) | st.sampled_from(TOKENS[:VALUES]))
            data = data[:begin] + value.encode() + data[end:]
        elif kind == "flip" and at < len(data):
            data = flipped(data, 8 * at + draw(st.integers(0, 7)))
        elif kind == "end":
            data = data[:at]
    return data


NUMBERS = st.one_of(st.integers(-2, 70), st.integers(), st.floats())
SMALL = st.integers(0, 9).flatmap(lambda seldom: NUMBERS if not seldom else st.integers(1, 4))
LEAVES = st.one_of(NUMBERS, st.booleans(), st.text(max_size=4), st.sampled_from(["NI2w", "CNI4"]))
LISTS = st.lists(SMALL, min_size=1, max_size=4) | st.lists(LEAVES, min_size=1, max_size=4)
RANGES = st.fixed_dictionaries(
    {"from": SMALL, "to": SMALL, "step": SMALL},
    optional={
        "count": SMALL,
        "scale": st.sampled_from(["log", "linear"]),
        "unit": st.sampled_from(["ns", "MHz", "\0", "/"]),
    },
)
AXES = st.integers(0, 9).flatmap(lambda seldom: LEAVES if not seldom else LISTS | RANGES)
NAMES = st.sampled_from(["nodes", "seed", "bus.clock", "interface", "status", "é", ""])
PARAMETERS = st.dictionaries(NAMES, AXES, max_size=2)
DICTIONARIES = st.fixed_dictionaries(
    {
        "program": st.just("roundtrip"),
        "args": st.sampled_from(["{x} 4 1", "a{x}b", "{x}{x}", "'{x}'", "'{x}", "{x}{"]),
        "parameters": st.builds(lambda axis, others: {"x": axis, **others}, AXES, PARAMETERS),
    },
    optional={
        "set": st.lists(
            st.sampled_from(["bus.clock={x}00MHz", "machine.seed={x}", "="]), max_size=2
        ),
        "interface": st.sampled_from(["NI2w", "CNI{x}Q"]),
        "nodes": SMALL,
        "seed": SMALL,
        "threads": SMALL,
        "zip": st.lists(PARAMETERS, max_size=2),
        "sample": st.fixed_dictionaries(
            {"points": SMALL}, optional={"seed": SMALL, "over": st.lists(NAMES, max_size=2)}
        ),
    },
)
"""What the package is given without a file."""


def is_planned_or_refused(what):
    """Plan a sweep; what is planned has a row in each table."""
    planned, refusal = outcome(lambda: execution.planned_of(what))
    assert len(refusal) < 20_000
    if planned is None:
        return
    assert planned.identity
    for run in planned.runs[:3]:
        row = tables.run_row(planned.definition, run, Made("failed", error="an error"))
        assert row["key"].to_list() == [run.key]
        row.write_parquet(BytesIO())
        assert run.task


def outcome(work):
    """Return what a work makes, or nothing and the message with which it is refused."""
    try:
        return work(), ""
    except NarthexError as error:
        return None, str(error)


@pytest.fixture(autouse=True, scope="module")
def few_runs():
    """Refuse sweeps of many runs, which take as long as they have runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(points, "MOST_RUNS", 40)
        yield


def _file_is_planned_or_refused(data):
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "mine.toml"
        file.write_bytes(data)
        is_planned_or_refused(file)


def _experiment_is_read_or_refused(data):
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "mine.toml"
        file.write_bytes(data)
        experiment, refusal = outcome(lambda: validation.load(str(file)))
        assert experiment or "mine.toml" in refusal


# --- folders ---------------------------------------------------------------------------

SWEPT = {
    "program": "roundtrip",
    "args": "{bytes} 4 1",
    "nodes": 2,
    "interface": "NI2w",
    "parameters": {"bytes": [8, 64, "many"]},
}


class Recorded:
    """Makes runs by returning what was made before."""

    capacity = 1

    def __init__(self, made):
        self._made = made

    def submit(self, task):
        future = Future()
        future.set_result(self._made[task.request["args"][0]])
        return future

    def made(self, future):
        return future.result()

    def close(self):
        pass


class Swept(NamedTuple):
    """A sweep that is finished."""

    planned: planning.Plan
    files: dict[str, bytes]
    table: pl.DataFrame

    def __repr__(self):
        return "swept"  # what failed is the damage


@pytest.fixture(scope="module")
def swept():
    """Return a sweep's plan, the files of its folder and its table; its runs are made once."""
    planned = execution.planned_of(SWEPT)
    made = {run.request["args"][0]: make(run.task) for run in planned.runs}
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as scratch:
        patch.setattr(execution, "Processes", lambda _jobs: Recorded(made))
        path = Path(scratch) / "s"
        table = _sweep(planned, path)
        yield Swept(planned, contents(path), table)


def _sweep(planned, path):
    return execution.sweep(planned, jobs=1, output=path, keep_documents=True, note=lambda _n: None)


def contents(path):
    return {
        str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()
    }


DAMAGE = st.lists(
    st.tuples(
        st.integers(0, 1 << 20),
        st.sampled_from(["flip", "cut", "empty", "gone", "longer", "other", "half renamed"]),
        st.integers(0, 1 << 40),
    ),
    min_size=1,
    max_size=3,
)
"""Which file, what happens to it, and where."""


def _goes_on_or_is_refused(swept, damage):
    planned, whole, table = swept.planned, swept.files, swept.table
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "s"
        for name, data in damaged(whole, damage).items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(data)
        before = contents(path)
        again, refusal = outcome(lambda: _sweep(planned, path))
        if again is None:
            assert str(path) in refusal
            assert contents(path) == before, "what is refused is not touched"
            return
        assert again.equals(table)
        after = contents(path)
        there = {*map(meaning, after.values())}
        assert not [name for name in before if is_kept(name) and meaning(before[name]) not in there]
        assert _sweep(planned, path).equals(table)
        assert contents(path) == after, "what goes on twice does nothing twice"


def meaning(data):
    """Return a document's content; a bit of its wrapping may mean nothing."""
    document = unpacked(data)
    return data if document is None else json.dumps(document)


def is_kept(name):
    """Tell whether a file's bytes are never given up: what runs made, not what is made of it."""
    made_of_runs = name in ("results.parquet", "lock") or name.startswith("errors/")
    return not made_of_runs and not name.endswith(".unfinished")


def damaged(whole, damage):
    files = dict(whole)
    for chosen, kind, where in damage:
        name = sorted(files)[chosen % len(files)]
        data = files[name]
        if kind == "gone":
            del files[name]
        elif kind == "half renamed":
            files[f"{name}.x.unfinished"] = files.pop(name)
        elif kind == "other" and not name.startswith("documents"):  # whose checksum has no name
            files[name] = files[sorted(files)[where % len(files)]]
        elif kind == "longer":
            files[name] = data + data[: where % (len(data) + 1)]
        elif kind == "empty" or not data:
            files[name] = b""
        elif kind == "cut":
            files[name] = data[: where % len(data)]
        else:
            files[name] = flipped(data, where % (8 * len(data)))
    return files


def flipped(data, bit):
    return data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]


class Killed(BaseException):
    """The process is no more."""


def test_a_kill_at_any_write_loses_nothing(swept, monkeypatch):
    """Whatever was written before is there, and what was being written is made again."""
    whole = folder.write_whole
    for last in range(len(swept.files) - 1):  # the lock is not written
        written = []

        def write(file, data, last=last, written=written):
            if len(written) == last:
                file.parent.mkdir(exist_ok=True)
                (file.parent / f"{file.name}.x.unfinished").write_bytes(data[: len(data) // 2])
                raise Killed
            written.append(file)
            whole(file, data)

        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "s"
            monkeypatch.setattr(folder, "write_whole", write)
            with pytest.raises(Killed):
                _sweep(swept.planned, path)
            monkeypatch.setattr(folder, "write_whole", whole)
            kept = {file: file.read_bytes() for file in written if file.name != "results.parquet"}
            assert _sweep(swept.planned, path).equals(swept.table)
            assert {file: file.read_bytes() for file in kept} == kept
            assert contents(path).keys() == swept.files.keys()


# --- a few each time, many for `make fuzz` ---------------------------------------------


@FEW
@given(damaged_texts(SWEEPS))
def test_a_damaged_sweeps_file_is_planned_or_refused(data):
    _file_is_planned_or_refused(data)


@pytest.mark.long
@MANY
@given(damaged_texts(SWEEPS))
def test_many_damaged_sweeps_files_are_planned_or_refused(data):
    _file_is_planned_or_refused(data)


@FEW
@given(DICTIONARIES)
def test_a_dictionary_of_anything_is_planned_or_refused(given_):
    is_planned_or_refused(given_)


@pytest.mark.long
@MANY
@given(DICTIONARIES)
def test_many_dictionaries_of_anything_are_planned_or_refused(given_):
    is_planned_or_refused(given_)


@FEW
@given(damaged_texts(EXPERIMENTS))
def test_a_damaged_experiments_file_is_read_or_refused(data):
    _experiment_is_read_or_refused(data)


@pytest.mark.long
@MANY
@given(damaged_texts(EXPERIMENTS))
def test_many_damaged_experiments_files_are_read_or_refused(data):
    _experiment_is_read_or_refused(data)


@FEW
@given(damage=DAMAGE)
def test_a_damaged_folder_goes_on_or_is_refused(swept, damage):
    _goes_on_or_is_refused(swept, damage)


@pytest.mark.long
@settings(MANY, max_examples=4_000)
@given(damage=DAMAGE)
def test_many_damaged_folders_go_on_or_are_refused(swept, damage):
    _goes_on_or_is_refused(swept, damage)
