"""`narthex calibrate`: parameters fitted to published values, or what a stated fit is worth."""

from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from narthex import files
from narthex.cli import completion
from narthex.cli.console import (
    JSON_OPTION,
    JsonTarget,
    Waiting,
    check_writable,
    compile_program,
    examples,
    finish,
    within,
)
from narthex.cli.tables import print_table
from narthex.cli.terminal import say, warn
from narthex.errors import CLAIM_FAILED, NarthexError, unknown

if TYPE_CHECKING:
    from narthex.calibration import Calibration
    from narthex.calibration.statement import Checked, Residual


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "calibrate",
        epilog=examples(
            "narthex calibrate hpca98-calibrated",
            "narthex calibrate hpca98-calibrated --save mine.toml",
            "narthex calibrate host-snb --json fit.json",
            "narthex run roundtrip 64 100 --machine hpca98-calibrated",
        ),
    )(calibrate)


def calibrate(
    name: str = typer.Argument(
        ...,
        metavar="NAME",
        help="A calibration that comes with Narthex, a TOML file of your own, or a machine whose"
        " fit is stated.",
        autocompletion=completion.calibrations,
    ),
    save: Path | None = typer.Option(
        None, "--save", metavar="FILE", help="Write the machine with the fitted values."
    ),
    jobs: int = typer.Option(2, "--jobs", "-j", **within("jobs"), help="Runs at a time."),
    fresh: bool = typer.Option(False, "--fresh", help="Repeat runs that were made before."),
    json_file: str | None = JSON_OPTION,
) -> None:
    """Fit a machine's parameters to published values, and say how well they are known.

    Of a machine that was fitted to measurements of a real one (experiments/fits/NAME.toml) it
    prints which parameter comes from which row, and how far these rows and all others are
    from what was measured; it fits nothing. The exit code is 4 where a row that
    fixes a parameter, or the mean of all others, is further off than the statement allows.

    Prints each parameter with its 95 % interval, each published value with its
    error before and after, and the error that each interface would have if its own
    values were not fitted to. It measures the cells once for each parameter and a few
    dozen times more: some minutes on two cores for hpca98-calibrated. Finished runs are
    kept. A fitted machine is a base for studies; its agreement with the cells that
    it was fitted to is no evidence (docs/how-the-numbers-are-made.md).
    """
    from narthex import calibration, extras, validation
    from narthex.calibration import output, statement
    from narthex.programs import find

    target = JsonTarget(json_file)
    if name.casefold() in statement.names():
        return _check(name, jobs, target, fresh=fresh)
    known = [*calibration.names(), *statement.names()]
    if not name.endswith(".toml") and name.casefold() not in known:
        raise unknown("calibration", name, known)
    extras.require("calibrate")
    if save:
        check_writable(save, "--save")
    recipe = calibration.load(name)
    for cells in recipe.cells:
        for program in validation.load(cells.experiment).programs:
            compile_program(find(program))
    with Waiting(f"Fitting {recipe.name}") as waiting:
        found = calibration.calibrate(
            name,
            jobs=jobs,
            fresh=fresh,
            progress=lambda point, done, total, left_s: waiting.update(
                f"measurement {point}, {done} of {total} runs", done, total, left_s
            ),
        )
    _show(found)
    differs = calibration.differs_from_machine(found)
    if differs:
        warn([f"the machine {recipe.name} has other values: {', '.join(differs)}"])
    finish(
        lambda: files.write(save, output.machine_file(found).encode()) if save else None,
        lambda: target.write(asdict(found)),
    )
    return None


def _check(name: str, jobs: int, target: JsonTarget, *, fresh: bool) -> None:
    """Print what a stated fit is worth."""
    from narthex.calibration import statement
    from narthex.programs import find
    from narthex.validation import load

    for each in statement.load(name).predicted:
        for program in load(each).programs:
            compile_program(find(program))
    with Waiting(f"Checking the fit of {name}") as waiting:
        found = statement.check(
            name,
            jobs=jobs,
            fresh=fresh,
            progress=lambda of, done, total, left_s: waiting.update(
                f"{of}, {done} of {total} runs", done, total, left_s
            ),
        )
    _show_residuals(found)
    finish(lambda: target.write(found.document))
    wrong = [each.workload for each in found.outside if each.parameter]
    if wrong:
        most = found.statement.fitted_percent
        raise NarthexError(f"further than {most:g} % from {', '.join(wrong)}", CLAIM_FAILED)
    most = found.statement.mean_percent
    if found.mean_percent > most:
        told = f"predicted rows are {found.mean_percent:.1f} % off in the mean"
        raise NarthexError(f"{told}, further than {most:g} %", CLAIM_FAILED)


def _show_residuals(found: "Checked") -> None:
    """Print the parameters with their rows, and the predicted rows by series."""
    reasons = {fit.parameter: fit.reason for fit in found.statement.fit}
    print_table(
        f"Fitted parameters of {found.statement.machine}",
        ["parameter", "value", "row", "measured", "simulated", "unit", "error", "why"],
        [
            [
                each.parameter,
                found.values[each.parameter or ""],
                each.workload,
                f"{each.measured:g}",
                f"{each.simulated:.4g}",
                each.unit,
                f"{each.error_percent:+.1f} %",
                reasons[each.parameter or ""],
            ]
            for each in found.fitted
        ],
        ["value", "measured", "simulated", "error"],
        prose=["why"],
    )
    series = groupby(found.predicted, key=lambda each: (each.experiment, each.series))
    print_table(
        "Predicted rows",
        ["experiment", "rows", "count", "mean error", "largest", "at"],
        [_of_series(experiment, name, list(rows)) for (experiment, name), rows in series],
        ["count", "mean error", "largest"],
    )
    most = found.statement.most_percent
    beyond = sum(not each.parameter for each in found.outside)
    say(
        f"Predicted: mean absolute error {found.mean_percent:.1f} % over {len(found.predicted)}"
        f" rows; {beyond} of them are further off than {most:g} %"
    )


def _of_series(experiment: str, name: str, rows: "list[Residual]") -> list[str]:
    worst = max(rows, key=lambda each: abs(each.error_percent))
    error = sum(abs(each.error_percent) for each in rows) / len(rows)
    return [
        experiment,
        name,
        str(len(rows)),
        f"{error:.1f} %",
        f"{worst.error_percent:+.1f} %",
        worst.workload.rpartition(", ")[2],
    ]


def _show(found: "Calibration") -> None:
    """Print the tables of a fit."""
    from narthex.calibration import output

    print_table(
        f"Parameters of {found.recipe.machine}",
        ["parameter", "keys", "before", "fitted", "95 %"],
        [
            [
                each.parameter.name,
                ", ".join(each.parameter.keys),
                each.start,
                each.value,
                f"+-{each.within}" if each.within else "no cell tells",
            ]
            for each in found.parameters
        ],
        ["before", "fitted", "95 %"],
        prose=["keys"],
    )
    print_table(
        "Published values",
        ["experiment", "row", "published", "unit", "error before", "fitted"],
        [
            [
                cell.experiment,
                cell.name,
                f"{cell.published:g}",
                cell.unit,
                f"{cell.before_percent:+.1f} %",
                f"{cell.after_percent:+.1f} %",
            ]
            for cell in found.cells
        ],
        ["published", "error before", "fitted"],
    )
    print_table(
        "Mean error of an interface's values",
        ["interface", "before", "fitted", "if they were not fitted to"],
        [
            [
                interface,
                f"{found.mean_error_percent(interface, after=False):.1f} %",
                f"{found.mean_error_percent(interface, after=True):.1f} %",
                f"{percent:.1f} %",
            ]
            for interface, percent in found.left_out_percent.items()
        ],
        ["before", "fitted", "if they were not fitted to"],
    )
    say(output.summary(found))
