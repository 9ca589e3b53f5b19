"""`narthex new`: a folder to begin with."""

import typer

from narthex.cli.console import examples
from narthex.cli.terminal import say

new = typer.Typer(help="Begin a program of your own.", no_args_is_help=True, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(new, name="new")


@new.callback()
def _group() -> None:
    """Begin a program of your own."""


@new.command(epilog=examples("narthex new program stencil"))
def program(
    name: str = typer.Argument(..., help="What the program and its folder are called."),
) -> None:
    """Make a folder with a program that runs, checks and tests itself."""
    from narthex.projects import new_program

    for file in new_program(name):
        say(str(file))
    say(f"\nTo run it: cd {name} && narthex run {name}.c")
