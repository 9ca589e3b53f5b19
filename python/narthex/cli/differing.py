"""`narthex diff`: two results beside each other."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from narthex import notation
from narthex.cli.console import JSON_OPTION, JsonTarget, examples, finish
from narthex.cli.reporting import OPEN_OPTION, REPORT_OPTION, ReportTarget
from narthex.cli.tables import print_table
from narthex.cli.terminal import say

if TYPE_CHECKING:
    from narthex.differences import Difference

MOST_ROWS = 30
"""Figures that are printed; files have them all."""

PLACE = "A result that --json wrote, or a sweep's folder."


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "diff",
        epilog=examples(
            "narthex diff before.json after.json",
            "narthex diff results/queue-size.before results/queue-size --report diff.html",
        ),
    )(diff)


def diff(
    a: Path = typer.Argument(..., metavar="A", help=PLACE),
    b: Path = typer.Argument(..., metavar="B", help=PLACE),
    json_file: str | None = JSON_OPTION,
    report: Path | None = REPORT_OPTION,
    open_: bool = OPEN_OPTION,
) -> None:
    """Say what distinguishes two results: machine, binary, and every figure side by side."""
    from narthex import differences

    target = JsonTarget(json_file)
    page = ReportTarget(report, opens=open_)
    found = differences.diff(a, b)
    finish(
        lambda: target.write(found.document),
        lambda: page.written(found.report),
        lambda: None if target.to_stdout else _show(found),
    )


def _show(found: "Difference") -> None:
    from narthex.report.differences import change

    settings, changed = found.settings, found.changed
    if settings:
        rows = [(row["key"], row["a"], row["b"]) for row in settings]
        print_table(
            "What decided them, where it differs", ["setting", "A", "B"], rows, prose=["A", "B"]
        )
    if changed:
        figures = [
            (row["of"], row["name"], notation.short(row["a"]), notation.short(row["b"]),
             change(row["change_percent"]))
            for row in changed[:MOST_ROWS]
        ]  # fmt: skip
        columns = ["of", "figure", "A", "B", "change"]
        print_table("Figures that differ", columns, figures, columns[2:])
    if len(changed) > MOST_ROWS:
        more = notation.counted(len(changed) - MOST_ROWS, "more figure")
        say(f"not shown: {more}; --json has all")
    for side, names in found.alone.items():
        if names:
            many = notation.counted(len(names), "figure")
            say(f"only {side.upper()} has {many}: {', '.join(names[:3])}")
    every = notation.counted(len(found.figures), "figure")
    say(f"{len(changed)} of {every} differ, {len(found.figures) - len(changed)} are equal")
