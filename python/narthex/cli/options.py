"""Options that several commands have.

Those that `narthex.run` has, too, are made of `narthex.options`: of all of a group by `taking`, or
one by one by `option`.
"""

import inspect
from collections.abc import Callable
from typing import Any

import typer

from narthex import arguments
from narthex.cli import completion
from narthex.cli.console import machine_file, within
from narthex.options import DEFAULT_INTERFACE, Option, RunOptions, options_of

PROGRAM_HELP = "A program that comes with Narthex, an ELF file, or a C or C++ file."
PROGRAM = typer.Argument(..., help=PROGRAM_HELP, autocompletion=completion.programs)
ARGUMENTS = typer.Argument(
    None, metavar="ARGS", help="The program's arguments; those that begin with - behind a --."
)
_MORE: dict[str, dict[str, Any]] = {
    "machine": {"autocompletion": completion.machines, "callback": machine_file},
    "set": {"autocompletion": completion.keys},
}
"""What only the command line has to say of an option."""


def option(name: str) -> Any:  # noqa: ANN401 - Typer's, of any type
    """Return an option of `narthex.run`, as the command line has it."""
    return _made(name, options_of(RunOptions)[name][1])


def _made(name: str, told: Option) -> Any:  # noqa: ANN401 - Typer's, of any type
    default = [] if told.default == () else told.default
    names = [told.flag_of(name), *([told.short] if told.short else [])]
    number = within(name) if name in arguments.RANGES else {"metavar": told.value}
    return typer.Option(default, *names, help=told.meaning, **number, **_MORE.get(name, {}))


def taking(kind: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command that takes `**options` of this kind an option for each.

    They stand in its help behind its own that come before a `*`.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command).parameters.values())[:-1]
        keyword = inspect.Parameter.KEYWORD_ONLY
        shared = [
            inspect.Parameter(name, keyword, default=_made(name, told), annotation=_type(told))
            for name, (_, told) in options_of(kind).items()
        ]
        first = [each.replace(kind=keyword) for each in own if each.kind != keyword]
        parameters = [*first, *shared, *(each for each in own if each.kind == keyword)]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in parameters}
        return command

    return decorate


def _type(told: Option) -> Any:  # noqa: ANN401 - a type for Typer
    """Return what the command line reads; whole numbers have readers of their own."""
    if told.default == ():
        return list[str]
    return str | None if told.default is None else type(told.default)


MACHINE = option("machine")
NODES = option("nodes")
SET = option("set")
THREADS = option("threads")
SEED = option("seed")
UNTIL = option("until")
TIMEOUT = option("timeout")
FIRMWARE = option("firmware")
INTERFACE = typer.Option(
    [],
    "--interface",
    "-i",
    metavar="NAME",
    help="The network interface. It is on the memory bus; NAME on io-bus, on cache-bus or on "
    "register is elsewhere, where the machine has that. NAME@rtl, or NAME@./FOLDER with a design "
    f"of your own, is hardware in its place.  {DEFAULT_INTERFACE}",
    autocompletion=completion.interfaces,
)
SEVERAL = "with commas between, or one behind each -i"
WHERE = (
    "NAME is on the memory bus; NAME on io-bus, on cache-bus or on register is elsewhere, "
    "where the machine has that."
)


def several_interfaces(default: Any, told: str) -> Any:  # noqa: ANN401 - Typer's, of any type
    """Return the option of a command that takes several interfaces; `told` is its help."""
    return typer.Option(
        default,
        "--interface",
        "-i",
        metavar="NAMES",
        help=told,
        autocompletion=completion.several_interfaces,
    )


JOB = typer.Option(
    [],
    "--job",
    metavar="'PROGRAM ARGS [@ NODES]'",
    help="A program that runs beside the others, with one process on each of its nodes (0-7, "
    "0-7:2, 0,4,9-11, or random:4; all if none are named). Behind them: start TIME, until TIME. "
    "May be repeated; PROGRAM, if given, is the first job.",
)
JOB_FILE = typer.Option(
    None, "--job-file", metavar="FILE", help="A TOML file of such jobs: [[job]] tables."
)
AT_A_TIME = typer.Option(
    1, "--jobs", "-j", **within("jobs"), help="Runs at a time; that changes no result."
)
FRESH = typer.Option(False, "--fresh", help="Repeat runs that were made before.")
LIVE = typer.Option(
    False,
    "--live",
    help="Show while the run goes on how its nodes stand, how fast it is and for what is waited; "
    "where standard error is no terminal, as lines.",
)
GOAL = typer.Option(
    None,
    "--goal",
    metavar="FILE",
    help="Write what the ranks of a program of MPI sent, received and computed into FILE, as "
    "schedules in the text form of GOAL. The run takes longer.",
)
OTF2 = typer.Option(
    None,
    "--otf2",
    metavar="FOLDER",
    help="Write the calls of MPI, with messages and collectives, into the new FOLDER, as an "
    "archive of OTF2. The run takes longer.",
)
PROFILE = typer.Option(
    None,
    "--profile",
    metavar="FILE",
    help="Show where the time goes by function and line, and write it into FILE as collapsed "
    "stacks (.txt), for pprof (.pb.gz) or as a flame graph (.svg, .html); with - show it only. "
    "The run takes longer.",
)
PROFILE_BY_NODE = typer.Option(
    False, "--profile-by-node", help="Keep the nodes apart in the profile's FILE and page."
)
