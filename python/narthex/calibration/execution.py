"""Runs a calibration: the experiments' cells at every point that the solver asks for."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from narthex import _native, arguments
from narthex.calibration import recipe as recipes
from narthex.calibration import solver
from narthex.calibration.recipe import Parameter, Recipe
from narthex.calibration.solver import Point, Solution
from narthex.errors import NarthexError
from narthex.extras import require
from narthex.notation import mean
from narthex.validation import Row, experiment
from narthex.validation.outcome import label
from narthex.validation.variations import parameter_value

Progress = Callable[[int, int, int, float | None], None]
"""Called with the number of the point that is measured, and its finished runs, all of its
runs, and the seconds that they will still take, where that is known."""


@dataclass(frozen=True)
class Fitted:
    """A parameter with its values before and after."""

    parameter: Parameter
    start: str
    value: str
    within: str
    """Half the width of the 95 % interval, in the parameter's unit; empty if no cell tells."""


@dataclass(frozen=True)
class Cell:
    """A published value, and how far the machine is from it before and after."""

    experiment: str
    name: str
    interface: str
    published: float
    unit: str
    before_percent: float
    after_percent: float


@dataclass(frozen=True)
class Calibration:
    """What a fit found."""

    recipe: Recipe
    parameters: list[Fitted]
    cells: list[Cell]
    left_out_percent: dict[str, float]
    """By interface: its cells' mean error if they were not fitted to, as the lines predict it."""

    def mean_error_percent(self, interface: str, *, after: bool) -> float:
        """Return the mean absolute error of an interface's cells, after the fit or before."""
        return mean(
            [
                abs(cell.after_percent if after else cell.before_percent)
                for cell in self.cells
                if cell.interface == interface
            ]
        )


def calibrate(
    name: str,
    *,
    jobs: int = 2,
    fresh: bool = False,
    progress: Progress = lambda _point, _finished, _all, _left_s: None,
) -> Calibration:
    """Fit a machine's parameters to published values.

    `name` is a calibration that comes with Narthex (`calibration.names`), or a file
    of your own (`calibration.recipe` has its keys). Raises `NarthexError` where the file is
    wrong, or a run fails that the fit needs.
    """
    require("calibrate")
    recipe = recipes.load(name)
    jobs = arguments.whole_number("jobs", jobs)
    start, most = _start(recipe), tuple(each.most_grains for each in recipe.parameter)
    rows: dict[str, Row] = {}
    points = 0

    def measure(point: Point) -> dict[str, float]:
        nonlocal points
        points += 1
        found = _rows(recipe, _settings(recipe, point), jobs, fresh, points, progress)
        rows.update(found)
        return {cell: _error(row) for cell, row in found.items()}

    solution = solver.solve(measure, start, most)
    groups = {cell: rows[cell].interface for cell in solution.before}
    return Calibration(
        recipe,
        _fitted(recipe, solution),
        [_cell(rows[cell], cell, solution) for cell in solution.before],
        {group: 100 * error for group, error in solver.left_out(solution, most, groups).items()},
    )


def differs_from_machine(found: Calibration) -> list[str]:
    """Return the fitted values that the machine of the calibration's name has otherwise.

    A calibration of the user's has no machine of its name, and nothing differs.
    """
    name = found.recipe.name
    if name not in recipes.names():
        return []
    machine = json.loads(_native.machine_show(name, [], False))["machine"]
    return [
        f"{key} is {parameter_value(machine, key)}, and the fit gives {each.value}"
        for each in found.parameters
        for key in each.parameter.keys
        if str(parameter_value(machine, key)) != each.value
    ]


def _start(recipe: Recipe) -> Point:
    """Return the machine's own values; refuses a key or a largest value that it does not take."""
    most = [
        f"{key}={each.text(each.most_grains)}" for each in recipe.parameter for key in each.keys
    ]
    try:
        _native.machine_show(recipe.machine, most, False)
    except NarthexError as error:
        raise NarthexError(f"calibration {recipe.name}: {error}", error.exit_code) from error
    machine = json.loads(_native.machine_show(recipe.machine, [], False))["machine"]
    return tuple(
        each.grains(str(parameter_value(machine, each.keys[0]))) for each in recipe.parameter
    )


def _settings(recipe: Recipe, point: Point) -> list[str]:
    return [
        f"{key}={parameter.text(value)}"
        for parameter, value in zip(recipe.parameter, point, strict=True)
        for key in parameter.keys
    ]


def _rows(
    recipe: Recipe,
    settings: Sequence[str],
    jobs: int,
    fresh: bool,
    point: int,
    progress: Progress,
) -> dict[str, Row]:
    """Measure the cells of all experiments at one point; by experiment and row."""
    found = {}
    for cells in recipe.cells:
        outcome = experiment(
            cells.experiment,
            interfaces=cells.interfaces,
            workloads=cells.workloads,
            set=settings,
            jobs=jobs,
            fresh=fresh,
            progress=lambda done, every, left_s: progress(point, done, every, left_s),
        )
        for failure in outcome.failures:
            place = f"{failure.experiment}: {failure.interface}, {failure.workload}"
            raise NarthexError(f"{place}: {failure.reason}", failure.exit_code)
        for row in outcome.rows:
            if row.baseline is None and row.published_low is not None and row.value is not None:
                found[f"{row.experiment}: {label(row)}"] = row
    if not found:
        raise NarthexError(f"{recipe.name}: its experiments have no published value to fit to")
    return found


def _published(row: Row) -> float:
    """Return the printed value: the middle of a range."""
    assert row.published_low is not None  # such rows alone are cells
    high = row.published_low if row.published_high is None else row.published_high
    return (row.published_low + high) / 2


def _error(row: Row) -> float:
    assert row.value is not None
    return row.value / _published(row) - 1


def _fitted(recipe: Recipe, solution: Solution) -> list[Fitted]:
    each = zip(recipe.parameter, solution.start, solution.best, solution.within, strict=True)
    return [
        Fitted(
            parameter,
            parameter.text(start),
            parameter.text(best),
            "" if within == float("inf") else parameter.text(max(1, round(within))),
        )
        for parameter, start, best, within in each
    ]


def _cell(row: Row, cell: str, solution: Solution) -> Cell:
    return Cell(
        row.experiment,
        label(row),
        row.interface,
        _published(row),
        row.unit,
        100 * solution.before[cell],
        100 * solution.after[cell],
    )
