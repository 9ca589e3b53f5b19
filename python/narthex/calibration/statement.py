"""The statement of a fit: which parameters of a machine come from which measured rows.

    experiments/fits/NAME.toml
      machine      whose parameters they are
      fit          a parameter, and the row that fixes it
      predicted    experiments; all of their other rows are predicted

Nothing is fitted here. `check` runs the experiments with the machine's own values, and returns the
residuals of both kinds of rows, so that a reader sees what a fit is worth.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narthex import _native, arguments, assets, strict
from narthex.errors import NarthexError, unknown
from narthex.notation import mean
from narthex.validation import experiment, loading
from narthex.validation.outcome import Outcome
from narthex.validation.variations import parameter_value

Progress = Callable[[str, int, int, float | None], None]
"""Called with the experiment, its finished runs, all of its runs, and the seconds left if known."""


@dataclass(frozen=True)
class Fit:
    """A parameter, and the measured row that fixes it."""

    parameter: str
    """The machine's key."""
    experiment: str
    workload: str
    reason: str
    """Why the row tells."""


@dataclass(frozen=True)
class Statement:
    """A fit, as its file states it."""

    name: str
    machine: str
    predicted: list[str]
    """Experiments whose other rows are predicted."""
    fitted_percent: float
    """How far a row may be that fixes a parameter."""
    mean_percent: float
    """How far the predicted rows may be in the mean."""
    most_percent: float
    """How far any of them may be."""
    fit: list[Fit]


@dataclass(frozen=True)
class Residual:
    """A row, measured on the real machine and simulated."""

    experiment: str
    workload: str
    measured: float
    simulated: float
    unit: str
    error_percent: float
    parameter: str | None
    """What the row fixes; None if it is predicted."""

    @property
    def series(self) -> str:
        """The name of the rows beside which it stands: all but the last part of its workload's."""
        return self.workload.rpartition(", ")[0] or self.workload


@dataclass(frozen=True)
class Checked:
    """What a fit is worth."""

    statement: Statement
    values: dict[str, str]
    """The machine's values of the fitted parameters."""
    residuals: list[Residual]

    @property
    def fitted(self) -> list[Residual]:
        """The rows that fix a parameter, in the order of the statement."""
        order = [fit.parameter for fit in self.statement.fit]
        found = [each for each in self.residuals if each.parameter]
        return sorted(found, key=lambda each: order.index(each.parameter or ""))

    @property
    def predicted(self) -> list[Residual]:
        """The other rows."""
        return [each for each in self.residuals if not each.parameter]

    @property
    def mean_percent(self) -> float:
        """The mean absolute error of the predicted rows."""
        return mean([abs(each.error_percent) for each in self.predicted])

    @property
    def outside(self) -> list[Residual]:
        """The rows that are further from what was measured than they may be."""
        return [each for each in self.residuals if abs(each.error_percent) > self._most(each)]

    def _most(self, row: Residual) -> float:
        return self.statement.fitted_percent if row.parameter else self.statement.most_percent

    @property
    def document(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        return {
            "machine": self.statement.machine,
            "parameters": [
                {**vars(fit), "value": self.values[fit.parameter]} for fit in self.statement.fit
            ],
            "rows": [vars(each) for each in self.residuals],
            "predicted_mean_percent": self.mean_percent,
            "outside": [each.workload for each in self.outside],
        }


def names() -> list[str]:
    """Return the machines whose fit is stated."""
    return sorted(file.stem for file in assets.FITS.glob("*.toml"))


def load(name: str) -> Statement:
    """Read the statement of a machine's fit, and refuse rows and parameters that are none."""
    known = {each.casefold(): each for each in names()}
    if name.casefold() not in known:
        raise unknown("fitted machine", name, known.values())
    own = known[name.casefold()]
    file = assets.FITS / f"{own}.toml"
    statement = strict.table(Statement, {**strict.document(file), "name": own}, str(file))
    _check(statement, file)
    return statement


def check(
    name: str,
    *,
    jobs: int = 2,
    fresh: bool = False,
    progress: Progress = lambda _experiment, _finished, _all, _left_s: None,
) -> Checked:
    """Run all rows of a machine's fit with the machine's own values.

    Raises `NarthexError` where there is no such fit, or a run fails.
    """
    statement = load(name)
    jobs = arguments.whole_number("jobs", jobs)
    residuals: list[Residual] = []
    for each in statement.predicted:
        outcome = experiment(
            each,
            jobs=jobs,
            fresh=fresh,
            progress=lambda done, every, left_s, of=each: progress(of, done, every, left_s),
        )
        residuals += _residuals(statement, outcome)
    machine = json.loads(_native.machine_show(statement.machine, [], False))["machine"]
    values = {fit.parameter: str(parameter_value(machine, fit.parameter)) for fit in statement.fit}
    return Checked(statement, values, residuals)


def _check(statement: Statement, file: Path) -> None:
    """Refuse a row that no experiment measures, and a parameter that the machine lacks."""
    machine = json.loads(_native.machine_show(statement.machine, [], False))["machine"]
    for fit in statement.fit:
        if fit.experiment not in statement.predicted:
            raise unknown(f"{file}: experiment", fit.experiment, statement.predicted)
        workloads = loading.load(fit.experiment).workload_names
        if fit.workload not in workloads:
            raise unknown(f"{file}: workload", fit.workload, workloads)
        try:
            parameter_value(machine, fit.parameter)
        except KeyError as error:
            problem = f"{file}: {statement.machine} has no parameter '{fit.parameter}'"
            raise NarthexError(problem) from error


def _residuals(statement: Statement, outcome: Outcome) -> list[Residual]:
    for failure in outcome.failures:
        place = f"{failure.experiment}: {failure.workload}"
        raise NarthexError(f"{place}: {failure.reason}", failure.exit_code)
    of_row = {(fit.experiment, fit.workload): fit.parameter for fit in statement.fit}
    return [
        Residual(
            row.experiment,
            row.workload,
            row.published_low,
            row.value,
            row.unit,
            100 * (row.value / row.published_low - 1),
            of_row.get((row.experiment, row.workload)),
        )
        for row in outcome.rows
        if row.published_low is not None and row.value is not None
    ]
