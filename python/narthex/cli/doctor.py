"""`narthex doctor`: what a run needs, and whether it is there."""

import typer

from narthex.cli.console import JSON_OPTION, JsonTarget, examples
from narthex.cli.tables import print_table

STYLES = {"ok": "green", "warning": "yellow", "problem": "bold red"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor", epilog=examples("narthex doctor", "narthex doctor --json doctor.json"))(
        doctor
    )


def doctor(json_file: str | None = JSON_OPTION) -> None:
    """Check what a run needs, and say what to do where something is missing.

    Needs no network and changes nothing but the cache. Ends with 1 if there is a problem, with 0
    otherwise: with a warning everything works, but slower or less pleasantly.
    """
    from narthex.health import State, findings

    target = JsonTarget(json_file)
    found = list(findings())
    target.write({"schema": 1, "findings": [each.document() for each in found]})
    if not target.to_stdout:
        rows = [(each.subject, each.state, each.found, each.remedy) for each in found]
        styles = [STYLES[each.state] for each in found]
        columns = ["", "is", "found", "what to do"]
        print_table("What a run needs", columns, rows, styles=styles, prose=columns[2:])
    if any(each.state is State.PROBLEM for each in found):
        raise typer.Exit(1)
