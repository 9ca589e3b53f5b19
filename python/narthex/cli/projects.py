"""`narthex new`: a folder to begin with."""

import typer

from narthex.cli.console import examples
from narthex.cli.terminal import say

new = typer.Typer(
    help="Begin a program, an interface or hardware of your own.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(new, name="new")


@new.callback()
def _group() -> None:
    """Begin a program, an interface or hardware of your own."""


@new.command(epilog=examples("narthex new program stencil"))
def program(
    name: str = typer.Argument(..., help="What the program and its folder are called."),
) -> None:
    """Make a folder with a program that runs, checks and tests itself."""
    from narthex.projects import new_program

    for file in new_program(name):
        say(str(file))
    say(f"\nTo run it: cd {name} && narthex run {name}.c")


@new.command(epilog=examples("narthex new interface Doorbell"))
def interface(
    name: str = typer.Argument(..., help="What the interface is called."),
) -> None:
    """Make a folder with an interface that every program runs on, its machine and its tests.

    The simulator is built with it in a clone of Narthex: `make setup MODELS=FOLDER`.
    """
    from narthex.projects import new_interface

    made = new_interface(name)
    for file in made:
        say(str(file))
    folder = made[0].parent
    say(f"\nTo build it, in a clone of Narthex: make setup MODELS={folder.absolute()}")
    say(f"To run it: cd {folder} && narthex run roundtrip 64 1000")


@new.command(epilog=examples("narthex new hardware doorbell", "narthex new hardware mover --bus"))
def hardware(
    name: str = typer.Argument(..., help="What the module and its folder are called."),
    bus: bool = typer.Option(
        False, "--bus", help="With a bus port too: it moves payloads itself, as NI64w+Udma."
    ),
) -> None:
    """Make a folder with hardware in Verilog that stands in an interface's place, and its tests.

    It is compiled when it is run, which needs narthex[hardware].
    """
    from narthex.projects import new_hardware

    for file in new_hardware(name, bus=bus):
        say(str(file))
    say(f"\nTo run it: cd {name} && narthex run roundtrip 64 1000")
