"""Fitting parameters to published values."""

import subprocess
import sys

import pytest

from narthex import calibration, extras
from narthex.calibration import recipe, solver
from narthex.cli import calibrating, main
from narthex.errors import NarthexError

SMALL = """
machine = "hpca98"
description = "for a test"

[[cells]]
experiment = "hpca98/roundtrip"
workloads = ["8 bytes", "64 bytes"]
interfaces = ["NI2w"]

[[parameter]]
name = "uncached load"
keys = ["bus.extra_cycles.uncached_load"]
grain = "1"
most = "20"
reason = "as the machine's file says"
"""


def lines(point):
    """The errors of four cells: straight lines that are all 0 at (5, 12)."""
    a, b = point[0] - 5, point[1] - 12
    return {"p": 0.02 * a, "q": 0.01 * b, "r": 0.01 * a + 0.01 * b, "s": -0.03 * a}


def test_a_fit_of_straight_lines_finds_where_they_are_0():
    solution = solver.solve(lines, (2, 20), (40, 40))
    assert solution.best == (5, 12)
    assert max(map(abs, solution.after.values())) == 0


def test_a_fit_stays_within_its_bounds():
    solution = solver.solve(lines, (2, 8), (4, 40))
    assert solution.best == (4, 12)


def test_what_the_lines_promise_is_measured_and_single_grains_are_tried():
    def kinked(point):
        """What a parameter adds near the start is no guide to what it does farther off."""
        return {"p": 1 - 0.1 * point[0] if point[0] < 5 else 3.0, "q": 0.0}

    solution = solver.solve(kinked, (2,), (40,))
    assert solution.best == (4,)


def test_a_parameter_that_no_cell_tells_has_no_interval():
    solution = solver.solve(lambda point: {**lines(point[:2])}, (2, 20, 7), (40, 40, 40))
    assert solution.within[2] == float("inf")
    assert solution.within[0] < 1e-6


def test_what_a_group_would_miss_by_is_told_by_the_lines_of_the_others():
    groups = {"p": "A", "q": "A", "r": "B", "s": "B"}
    solution = solver.solve(lines, (2, 20), (40, 40))
    predicted = solver.left_out(solution, (40, 40), groups)
    assert predicted == pytest.approx({"A": 0, "B": 0}, abs=1e-6)


def narthex(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "narthex", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_calibration_makes_the_published_values_nearer_and_a_machine_that_runs(tmp_path):
    file, made = tmp_path / "small.toml", tmp_path / "made.toml"
    file.write_text(SMALL)
    printed = narthex("calibrate", file, "--save", made)
    found = calibration.calibrate(str(file))
    (fitted,) = found.parameters
    before, after = (found.mean_error_percent("NI2w", after=each) for each in (False, True))
    assert after <= before
    assert f"{after:.1f} % fitted" in printed
    assert f"value = {fitted.value}" in made.read_text()
    assert "round-trip" in narthex("run", "roundtrip", "8", "10", "-m", made, "-n", "2")


@pytest.mark.parametrize(
    ("was", "becomes", "message"),
    [
        ("uncached_load", "uncached_lood", "did you mean .uncached_load."),
        ('"hpca98/roundtrip"', '"hpca98/roundtrp"', "did you mean 'hpca98/roundtrip'"),
        ('machine = "hpca98"', 'machine = "isca96"', "and the calibration is of isca96"),
        ('grain = "1"', 'grain = "0ns"', "expected a number above 0"),
        ('most = "20"', 'most = "0"', "less than a grain of 1"),
        ('most = "20"', 'most = "many"', "'many' is no number of '1'"),
        ("keys =", "kees =", "did you mean 'keys'"),
    ],
)
def test_a_calibration_that_cannot_be_made_is_refused_before_a_run(tmp_path, was, becomes, message):
    file = tmp_path / "wrong.toml"
    file.write_text(SMALL.replace(was, becomes))
    with pytest.raises(NarthexError, match=message):
        calibration.calibrate(str(file))


def test_a_calibration_that_does_not_exist_is_an_error_with_the_nearest_name():
    with pytest.raises(NarthexError, match="did you mean 'hpca98-calibrated'"):
        recipe.load("hpca98-calibratd")


def test_a_value_is_written_in_the_grains_unit():
    of = recipe.Parameter("p", ["k"], "4ns", "400ns", "")
    assert of.text(of.grains("60ns")) == "60ns"
    assert of.grains("1us") == 250
    assert recipe.Parameter("p", ["k"], "1", "20", "").text(7) == "7"


def test_a_missing_package_is_told_before_anything_is_compiled(monkeypatch, capsys):
    monkeypatch.setattr(extras, "lacking", lambda extra: ["numpy"] if extra == "calibrate" else [])
    monkeypatch.setattr(calibrating, "compile_program", lambda _: pytest.fail("compiles"))
    with pytest.raises(SystemExit):
        main(["calibrate", "hpca98-calibrated"])
    assert "'narthex[calibrate]'" in capsys.readouterr().err
