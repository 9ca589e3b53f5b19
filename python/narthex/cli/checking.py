"""`narthex check`: exhaustive model checking."""

import json

import typer

from narthex.cli.console import JSON_OPTION, JsonTarget, Waiting, examples

check = typer.Typer(
    help="Check a protocol exhaustively.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(check, name="check")


@check.command(
    epilog=examples("narthex check protocol moesi", "narthex check protocol mesi --json")
)
def protocol(
    name: str = typer.Argument(..., help="A coherence protocol: moesi, mesi, ..."),
    json_file: str | None = JSON_OPTION,
) -> None:
    """Explore every state of three caches and one block, with the simulator's own table.

    Exits with 1, and a shortest counter-example, if the protocol is wrong.
    """
    from narthex import _native

    target = JsonTarget(json_file)
    with Waiting(f"Checking {name}") as waiting:
        waiting.update("starting")
        report = json.loads(_native.check_protocol(name))
    target.write({"schema": 1, "version": _native.__version__, **report})
    if not target.to_stdout:
        print(report["text"])
    if report["counter_example"] is not None:
        raise typer.Exit(1)
