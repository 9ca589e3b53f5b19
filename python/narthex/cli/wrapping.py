"""`narthex mpicc` and `narthex mpicxx`: compiler wrappers for MPI, as builds expect them."""

import typer

from narthex.cli.console import examples
from narthex.cli.terminal import inform

COMMANDS = ("mpicc", "mpicxx")

_HELP = ("-h", "--help")
_INTERFACE = "--interface"


def behind_dashes(arguments: list[str]) -> list[str]:
    """Put the compiler's arguments behind a `--`: all but the commands' own option, and --help."""
    if arguments and arguments[0] in _HELP:
        return arguments
    own: list[str] = []
    words, passed = iter(arguments), []
    for word in words:
        if word == _INTERFACE:
            own += [word, *([value] if (value := next(words, None)) is not None else [])]
        elif word.startswith(f"{_INTERFACE}="):
            own.append(word)
        else:
            passed.append(word)
    return [*own, "--", *passed]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "mpicc",
        epilog=examples(
            "narthex mpicc -O2 stencil.c -o stencil",
            "make CC='narthex mpicc' CXX='narthex mpicxx'",
            "CC='narthex mpicc' cmake -S . -B build -DCMAKE_SYSTEM_NAME=Linux",
            "narthex mpicc -show",
            "narthex run ./stencil --nodes 4 --interface CNI32Qm",
        ),
    )(mpicc)
    app.command("mpicxx", epilog=examples("narthex mpicxx -O2 main.cpp -o program"))(mpicxx)


_ARGUMENTS = typer.Argument(
    None,
    metavar="FILES... [FLAGS...]",
    help="What a C compiler takes: files, -c, -o, -O2, -I, -D, -L, -l, ...; -show prints the"
    " command.",
)
_OPTION = typer.Option(
    "",
    _INTERFACE,
    help="The interface, if its programs are linked apart: SARC, Voyager-resident, ...",
)


def mpicc(arguments: list[str] | None = _ARGUMENTS, interface: str = _OPTION) -> None:
    """Compile and link C programs that use MPI.

    It takes what the C compiler takes, and stands wherever a build expects
    mpicc. The program runs by narthex run, over any interface; docs/mpi.md has
    the functions that there are.
    """
    _wrap(arguments, interface, cxx=False)


def mpicxx(arguments: list[str] | None = _ARGUMENTS, interface: str = _OPTION) -> None:
    """Compile and link C++ programs that use MPI, as narthex mpicc does those in C."""
    _wrap(arguments, interface, cxx=True)


def _wrap(arguments: list[str] | None, interface: str, *, cxx: bool) -> None:
    from narthex import mpi
    from narthex.drivers import MOST_INTERFACES

    over = interface or MOST_INTERFACES
    if code := mpi.wrap(arguments or [], cxx=cxx, interface=over, progress=inform):
        raise typer.Exit(code)
