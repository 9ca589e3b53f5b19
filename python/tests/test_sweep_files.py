"""Sweeps' files: ranges, zips, samples; what is wrong is told before anything runs."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from narthex import NarthexError
from narthex.sweeps.definition import Axis, Definition, Sample
from narthex.sweeps.execution import planned_of
from narthex.sweeps.loading import load, parse
from narthex.sweeps.points import points

WHOLE = 'program = "roundtrip"\nargs = "{bytes} 4 1"\nnodes = 2\n'


def parsed(text):
    return parse(tomllib.loads(text), Path("mine.toml"))


def values(text):
    (axis,) = parsed(f"{WHOLE}[parameters]\nbytes = {text}").axes
    return list(axis.values)


# --- values ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[64, 8]", [64, 8]),
        ('["a", 1, 2.5, true]', ["a", 1, 2.5, True]),
        ("{ from = 1, to = 8, step = 3 }", [1, 4, 7]),
        ("{ from = 0, to = 0.3, step = 0.1 }", [0.0, 0.1, 0.2, 0.3]),
        ("{ from = 0.0, to = 1, count = 5 }", [0.0, 0.25, 0.5, 0.75, 1.0]),
        ("{ from = 0, to = 100, count = 4 }", [0, 33, 67, 100]),
        ('{ from = 16, to = 512, step = 2, scale = "log" }', [16, 32, 64, 128, 256, 512]),
        ('{ from = 16, to = 500, step = 2, scale = "log" }', [16, 32, 64, 128, 256]),
        ('{ from = 16, to = 512, count = 6, scale = "log" }', [16, 32, 64, 128, 256, 512]),
        ("{ values = [3, 4] }", [3, 4]),
        ("{ from = 0, to = 9223372036854775807, count = 2 }", [0, (1 << 63) - 1]),
        ('{ from = 1, to = 9223372036854775807, step = 1e9, scale = "log" }', [1.0, 1e9, 1e18]),
        (
            '{ from = 1, to = 9223372036854775807, step = 2, scale = "log" }',
            [1 << power for power in range(63)],
        ),
    ],
)
def test_lists_and_ranges(text, expected):
    made = values(text)
    assert made == expected
    assert [type(value) for value in made] == [type(value) for value in expected]


def test_every_value_goes_with_every_other_and_a_zip_side_by_side():
    definition = parsed(
        WHOLE + "[parameters]\nbytes = [8, 16]\nbus.clock = ['125MHz', '250MHz']\n"
        "[[zip]]\nnodes2.x = [1, 2]\nseed = [3, 4]\n"
    )
    made = [tuple(point.values()) for point in points(definition)]
    assert made[:3] == [(8, "125MHz", 1, 3), (8, "125MHz", 2, 4), (8, "250MHz", 1, 3)]
    assert len(made) == len(set(made)) == 8


def test_a_unit_is_the_runs_and_stands_last_in_the_columns_name():
    (run,) = planned_of({
        "program": "roundtrip", "args": "8 4 1",
        "parameters": {"machine": {"time_without_progress": {"values": [5], "unit": "ms"}}},
    }).runs  # fmt: skip
    assert run.request["set"] == ["machine.time_without_progress=5ms"]
    assert run.machine["machine"]["machine"]["time_without_progress"] == "5ms"
    (axis,) = planned_of({
        "program": "roundtrip", "args": "{pause} 4 1",
        "parameters": {"pause": {"from": 8, "to": 9, "step": 1, "unit": "ns"}},
    }).definition.axes  # fmt: skip
    assert axis.column == "pause_ns"


# --- samples ---------------------------------------------------------------------------


def sampled(sample, *axes):
    return list(points(Definition("mine", parameters=list(axes), sample=sample)))


@given(st.integers(1, 40), st.integers(0, 5))
def test_a_latin_hypercube_has_one_point_in_each_row_and_column(count, seed):
    sample = Sample(count, "latin-hypercube", seed)
    made = sampled(sample, Axis("a", low=0.0, high=1.0), Axis("b", tuple(range(count))))
    assert sorted(int(point["a"] * count) for point in made) == list(range(count))
    assert sorted(point["b"] for point in made) == list(range(count))


@given(st.integers(-50, 50), st.integers(1, 100), st.sampled_from(["random", "latin-hypercube"]))
def test_whole_ends_give_whole_values_between_them_and_every_one_of_them(low, width, method):
    axis = Axis("a", low=low, high=low + width)
    made = {point["a"] for point in sampled(Sample(width * 20, method), axis)}
    assert all(type(value) is int and low <= value <= low + width for value in made)
    if method == "latin-hypercube":
        assert len(made) == width + 1


def test_the_same_seed_gives_the_same_points_and_another_others():
    axis = Axis("a", low=1.0, high=1000.0, log=True)
    one, again, other = (sampled(Sample(9, "random", seed), axis) for seed in (1, 1, 2))
    assert one == again != other
    assert sum(point["a"] < 32 for point in sampled(Sample(10), axis)) == 5


def test_what_is_not_sampled_is_crossed_with_the_points():
    made = sampled(Sample(4, over=["a"]), Axis("a", low=0.0, high=1.0), Axis("b", (1, 2, 3)))
    assert len(made) == 12
    assert len({point["a"] for point in made}) == 4


# --- what is wrong ---------------------------------------------------------------------

P = WHOLE + "[parameters]\n"
B = P + "bytes = [8]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('progam = "x"', "there is no key 'progam' in mine.toml; did you mean 'program'"),
        ("args = ''", "'program' is missing"),
        ('program = "roundtrip"\nnodes = "two"', "'nodes' must be a whole number, not 'two'"),
        ('program = "roundtrip"\nnodes = 0', "'nodes' must be from 1 to 4096, not 0"),
        ('program = "roundtrip"\nthreads = 0', "'threads' must be from 1 to 1024, not 0"),
        ('program = "roundtrip"\nname = "../x"', "'name' must be that of a folder"),
        ('program = "roundtrip"\nparameters = 3', r"\[parameters\] must be a table"),
        ('program = "roundtrip"\nzip = 3', r"must be an array of tables, \[\[zip\]\]"),
        (WHOLE, "no parameter 'bytes' in mine.toml"),
        (P + "byts = [8]", "no parameter 'bytes' in mine.toml; did you mean 'byts'"),
        (B + "rounds = [1]", "parameter 'rounds' changes nothing: write {rounds}"),
        (B + "nodes = [2]", "'nodes' is a parameter, and 'nodes = 2' the same in all runs"),
        (B + "[[zip]]\nbytes = [9]", "parameter 'bytes' stands there 2 times"),
        (B + "seed = [1.5]", "'seed' must be whole numbers from 0 to 9223372036854775807, not 1.5"),
        (P + "bytes = 8", "'bytes' must be a list or a range"),
        (P + "bytes = []", "'bytes' must be a list of one value or more"),
        (P + "bytes = [[8]]", "can hold texts, finite numbers, true and false, not"),
        (P + "bytes = [inf]", "finite numbers, true and false, not inf"),
        (P + "bytes = { from = 8, too = 9 }", "no key 'too' in .* bytes; did you mean 'to'"),
        (P + "bytes = { from = 8, to = 9 }", "'bytes' needs 'step' or 'count', or a .sample"),
        (P + "bytes = { from = 9, to = 8, step = 1 }", "'from' must be less than 'to', not 9 and"),
        (P + "bytes = { from = 8, to = 9, step = 0 }", "'step' must be above 0, not 0"),
        (
            P + "bytes = { from = 8, to = nan, step = 1 }",
            "'to' must be finite, and at most 1e.300, not nan",
        ),
        (P + "bytes = { from = 8, to = 1e301, step = 1 }", "at most 1e.300, not 1e.301"),
        (P + "bytes = { from = 0, to = 1e300, step = 1e-300 }", "inf values are too many"),
        (
            P + 'bytes = { from = 1e-300, to = 1e300, count = 3, scale = "log" }',
            "'to' must be at most 1e.300 times 'from'",
        ),
        (
            P + "bytes = { from = 8, to = 9, count = 9999999999 }",
            "9,999,999,999 values are too many",
        ),
        ("name = '" + "é" * 101 + "'\n" + B, "'name' must be at most 200 bytes long, not 202"),
        (WHOLE + "[[zip]]", r"\[\[zip\]\] needs parameters that vary together"),
        (P + "bytes = { from = 8, to = 9, step = 1, count = 2 }", "'step' or 'count', not both"),
        (P + "bytes = { from = 8, to = 9, count = 1 }", "'count' must be 2 or more"),
        (P + "bytes = { from = 8, to = 9, count = 9 }", "not 9 different whole numbers"),
        (P + "bytes = { from = 0, to = 1e9, step = 1e-9 }", "values are too many"),
        (P + 'bytes = { from = 0, to = 9, count = 3, scale = "log" }', "must be above 0 with"),
        (P + 'bytes = { from = 1, to = 9, count = 3, scale = "lg" }', "did you mean 'log'"),
        ("set = ['{status}']\n" + B + "status = ['x']", "would be the column 'status', which"),
        (WHOLE + "[[zip]]\nbytes = [1, 2]\nseed = [1]", "'bytes' has 2, 'seed' has 1"),
        (B + "[sample]\npoints = 0", "'points' must be 1 or more"),
        (
            B + "[sample]\npoints = 2\nover = ['byte']",
            "no parameter 'byte' in .* over; did you mean 'bytes'",
        ),
        (B + "[sample]\npoints = 2\nmethod = 'latin'", "did you mean 'latin-hypercube'"),
        (B + "[slurm]\njobs = 0\ncores = 1\nmemory = '1GB'", r"\[slurm\] 'jobs' must be 1 or more"),
        (B + "[slurm]\njobs = 1\ncores = 1", "slurm: 'memory' is missing"),
    ],
)
def test_a_file_that_is_wrong_is_refused(text, message):
    with pytest.raises(NarthexError, match=message) as raised:
        parsed(text)
    assert "mine.toml" in str(raised.value)


def test_a_file_that_is_none_is_refused(tmp_path):
    with pytest.raises(NarthexError, match="does not exist; name a TOML file"):
        load(tmp_path / "none.toml")
    (tmp_path / "broken.toml").write_text("program = \n")
    with pytest.raises(NarthexError, match=r"broken\.toml: .*line 1"):
        load(tmp_path / "broken.toml")


BASE = {"program": "roundtrip", "args": "{bytes} 4 1", "nodes": 2}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bytes": [8, 8]}, "two runs have the name 'bytes=8'"),
        (
            {"bytes": [8], "interface": ["NI2w", "ni2W"]},
            "'bytes=8, interface=NI2w' and 'bytes=8, interface=ni2W' are the same run",
        ),
        ({"bytes": [8], "bus.clok": ["1MHz"]}, "'bytes=8, bus.clok=1MHz': .*clock"),
        ({"bytes": [8], "machine": ["hpca89"]}, "hpca98"),
        ({"bytes": ["'"]}, "args '' 4 1': No closing quotation"),
        ({"bytes": [8], "seed": {"from": 1, "to": 99999, "step": 1}, "nodes2": 1}, "nodes2"),
    ],
)
def test_runs_that_cannot_be_are_refused_by_name(parameters, message):
    with pytest.raises(NarthexError, match=message):
        planned_of({**BASE, "parameters": parameters})


def test_a_sweep_of_more_runs_than_anybody_wants_is_refused_at_once():
    many = {"from": 1, "to": 90_000, "step": 1}
    with pytest.raises(NarthexError, match="8,100,000,000 runs are too many"):
        planned_of({**BASE, "parameters": {"bytes": many, "seed": many}})


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ({"points": 1_000_001}, "1,000,001 points are too many"),
        ({"points": 1, "over": ["bytes"]}, "8,100,000,000 runs are too many"),
    ],
)
def test_a_sweep_that_is_too_large_is_refused_before_there_is_a_list_of_it(sample, message):
    many = {"from": 1, "to": 90_000, "step": 1}
    parameters = {"bytes": [8], "seed": many, "nodes2": many}
    with pytest.raises(NarthexError, match=message):
        planned_of({**BASE, "set": ["{nodes2}"], "parameters": parameters, "sample": sample})


def test_what_decides_a_run_decides_its_key():
    def key(**changes):
        (run,) = planned_of({**BASE, "parameters": {"bytes": [8]}, **changes}).runs
        return run.key

    keys = [
        key(),
        key(args="{bytes} 4 2"),
        key(nodes=3),
        key(seed=2),
        key(interface="NI2w"),
        key(machine="isca96"),
        key(set=["bus.clock=125MHz"]),
        key(program="bandwidth"),
    ]
    assert len(set(keys)) == len(keys)
    assert key(title="other", threads=2) == keys[0]


def test_programs_and_machines_are_looked_for_beside_the_file(tmp_path):
    (tmp_path / "mine.c").write_text("int main(void) { return 0; }\n")
    (tmp_path / "slow.toml").write_text('base = "hpca98"\n[bus]\nclock = "125MHz"\n')
    (tmp_path / "s.toml").write_text('program = "mine.c"\nmachine = "slow.toml"\n')
    (run,) = planned_of(tmp_path / "s.toml").runs
    assert run.guest.name == "mine"
    assert run.machine["machine"]["bus"]["clock"] == "125MHz"
