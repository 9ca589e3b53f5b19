"""`narthex experiment`: measured beside published, and the paper's claims."""

from typing import TYPE_CHECKING

import typer

from narthex.cli.console import (
    JSON_OPTION,
    SET_OPTION,
    JsonTarget,
    Waiting,
    compile_program,
    examples,
    print_table,
)
from narthex.errors import CLAIM_FAILED

if TYPE_CHECKING:
    from narthex.validation import Outcome, Row


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "experiment",
        epilog=examples(
            "narthex experiment hpca98/roundtrip",
            "narthex experiment hpca98/bandwidth --json result.json",
            "narthex experiment hpca98/roundtrip --set bus.clock=125MHz",
        ),
    )(experiment)


def experiment(
    names: list[str] = typer.Argument(
        ..., metavar="NAME...", help="PAPER/NAME (see 'narthex list experiments'), or a TOML file."
    ),
    set_: list[str] = SET_OPTION,
    jobs: int = typer.Option(2, "--jobs", "-j", min=1, help="Runs at a time."),
    json_file: str | None = JSON_OPTION,
) -> None:
    """Measure a published table again.

    Prints measured values beside published ones, and which of the paper's
    claims hold. Exits with 4 when a claim does not hold.
    """
    from narthex import validation
    from narthex.programs import find

    target = JsonTarget(json_file)
    for name in names:  # every name is checked before the first run
        compile_program(find(validation.load(name).program))
    outcomes = []
    for name in names:
        with Waiting(name) as waiting:
            outcome = validation.experiment(
                name,
                set=set_,
                jobs=jobs,
                progress=lambda done, total, waiting=waiting: waiting.update(
                    f"{done} of {total} runs", done, total
                ),
            )
        outcomes.append(outcome)
        if not target.to_stdout:
            show(outcome)
    target.write(_document(outcomes))
    if not all(outcome.holds for outcome in outcomes):
        raise typer.Exit(CLAIM_FAILED)


def _document(outcomes: "list[Outcome]") -> dict[str, object]:
    """Join several experiments into one document of the same form."""
    first, *others = [outcome.document for outcome in outcomes]
    for other in others:
        first["rows"] += other["rows"]
        first["claims"] += other["claims"]
    return first


def show(outcome: "Outcome") -> None:
    """Print the table and the claims."""
    experiment = outcome.experiment
    unit = experiment.unit
    print_table(
        f"{experiment.name}: {experiment.title} in {unit} ({experiment.source})",
        ["interface", "workload", "measured", "spread", "published", "error"],
        [_cells(row) for row in outcome.rows],
        ["measured", "spread", "published", "error"],
    )
    claims = [
        ("holds" if claim.holds else "FAILS", claim.text, claim.source) for claim in outcome.claims
    ]
    if claims:
        print_table("Claims", ["", "claim", "source"], claims)


def _cells(row: "Row") -> list[str]:
    return [
        row.interface,
        row.workload,
        _three_digits(row.value),
        _three_digits(row.spread),
        _published(row),
        "" if row.error_percent is None else f"{row.error_percent:+.1f} %",
    ]


def _three_digits(value: float) -> str:
    """Print a value as tables in papers do: 1.29, 36.0, 209."""
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:.{digits}f}"


def _published(row: "Row") -> str:
    if row.published_low is None or row.published_high is None:
        return ""
    if row.published_low == row.published_high:
        return f"{row.published_low:g}"
    return f"{row.published_low:g} to {row.published_high:g}"
