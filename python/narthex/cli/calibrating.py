"""`narthex calibrate`: a machine's parameters fitted to published values."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from narthex import files
from narthex.cli import completion
from narthex.cli.console import (
    Waiting,
    check_writable,
    compile_program,
    examples,
    finish,
    within,
)
from narthex.cli.tables import print_table
from narthex.cli.terminal import say, warn

if TYPE_CHECKING:
    from narthex.calibration import Calibration


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "calibrate",
        epilog=examples(
            "narthex calibrate hpca98-calibrated",
            "narthex calibrate hpca98-calibrated --save mine.toml",
            "narthex run roundtrip 64 100 --machine hpca98-calibrated",
        ),
    )(calibrate)


def calibrate(
    name: str = typer.Argument(
        ...,
        metavar="NAME",
        help="A calibration that comes with Narthex, or a TOML file of your own.",
        autocompletion=completion.calibrations,
    ),
    save: Path | None = typer.Option(
        None, "--save", metavar="FILE", help="Write the machine with the fitted values."
    ),
    jobs: int = typer.Option(2, "--jobs", "-j", **within("jobs"), help="Runs at a time."),
    fresh: bool = typer.Option(False, "--fresh", help="Repeat runs that were made before."),
) -> None:
    """Fit a machine's parameters to published values, and say how well they are known.

    Prints each parameter with its 95 % interval, each published value with its
    error before and after, and the error that each interface would have if its own
    values were not fitted to. It measures the cells once for each parameter and a few
    dozen times more: some minutes on two cores for hpca98-calibrated. Finished runs are
    kept. A fitted machine is a base for studies; its agreement with the cells that
    it was fitted to is no evidence (docs/how-the-numbers-are-made.md).
    """
    from narthex import calibration, extras, validation
    from narthex.calibration import output
    from narthex.programs import find

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
    finish(lambda: files.write(save, output.machine_file(found).encode()) if save else None)


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
