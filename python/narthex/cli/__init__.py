"""The command line: `narthex COMMAND`.

One module a group of commands; each turns arguments into one call of the
package and prints what comes back. `console` has what they share: where JSON
goes, progress, errors. Exit codes: 0 success, 1 the guest failed (or `doctor`
found a problem), 2 wrong usage, configuration or arguments of the program,
3 no progress, 4 a published claim did not hold.
"""

import os
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from narthex.arguments import UTF_8_REMEDY, is_unicode
from narthex.cli import (
    calibrating,
    catalogue,
    checking,
    compiling,
    differing,
    doctor,
    experiments,
    explaining,
    fitting,
    hardware,
    interfering,
    machines,
    networks,
    projects,
    reporting,
    runs,
    schedules,
    streams,
    sweeping,
    wrapping,
)
from narthex.cli.console import examples
from narthex.cli.streams import fail
from narthex.cli.terminal import (
    be_quiet,
    be_verbose,
    complain,
    do_without_colour,
    forget_sizes_that_are_no_numbers,
    show_what_cannot_be_encoded,
)
from narthex.errors import GUEST_FAILED, INTERRUPTED, USAGE, NarthexError, shown
from narthex.silence import end_silent_runs

BEHIND_DASHES = "an argument of the program that begins with - stands behind a --"

OUT_OF_MEMORY = "there is not enough memory; a limit of the shell (ulimit -v) counts as well"


class Commands(TyperGroup):
    """The commands; one that Ctrl-C ends says so. Typer itself would end it without a word."""

    def invoke(self, context: Any) -> Any:  # noqa: ANN401 - Click's, which Typer has within
        """Run the command that is named."""
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            raise NarthexError("interrupted", INTERRUPTED) from None


app = typer.Typer(
    name="narthex",
    cls=Commands,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "narthex list",
        "narthex new program stencil",
        "narthex run roundtrip 64 1000 --interface CNI32Qm",
        "narthex compare bandwidth 256 --interface NI2w,CNI512Q,CNI32Qm",
        "narthex explain CNI32Qm --bytes 64",
        "narthex experiment hpca98/roundtrip",
        "narthex sweep queue-size.toml --jobs 4",
        "narthex fit logp --interface CNI32Qm",
        "narthex network cluster --pattern transpose",
        "narthex goal run allreduce-doubling:ranks=8,bytes=64",
        "narthex hardware area CNI32Qm",
        "narthex report result.json",
        "narthex diff before.json after.json",
    ),
)
for module in (
    catalogue, runs, interfering, differing, explaining, experiments, sweeping, fitting,
    calibrating, networks, schedules, compiling, wrapping, checking, hardware, machines, projects,
    reporting, doctor,
):  # fmt: skip
    module.register(app)


def _version(wanted: bool) -> None:
    if wanted:
        from narthex import _native

        typer.echo(f"narthex {_native.__version__}")
        raise typer.Exit


@app.callback()
def narthex(
    version: bool = typer.Option(
        False,
        "--version",
        "-V",
        callback=_version,
        is_eager=True,
        help="Print the version and exit.",
    ),
    quiet: bool = typer.Option(
        False, "--quiet", "-q", help="Print results, warnings and errors only: no progress."
    ),
    verbose: bool = typer.Option(
        False,
        "--verbose",
        "-v",
        help="Say on stderr what is called: compilers, kept programs and runs, requests.",
    ),
    no_color: bool = typer.Option(
        False, "--no-color", help="Use no colour (as the environment's NO_COLOR)."
    ),
) -> None:
    """Simulate the host-network interface: real programs, the NI of your choice."""
    if quiet:
        be_quiet()
    if verbose:
        be_verbose()
    if no_color:
        do_without_colour()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    show_what_cannot_be_encoded()
    forget_sizes_that_are_no_numbers()
    end_silent_runs(complain)
    sys.exit(streams.guarded(lambda: _run(given)))


def _run(given: list[str]) -> int:
    """Run a command; returns its exit code."""
    try:
        _check_encoding(given)
        code = app(
            args=_arranged(given),
            prog_name="narthex",
            standalone_mode=False,
            default_map=_defaults(given),
        )
    except streams.OutputError:
        raise
    except NarthexError as error:
        return fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return fail("interrupted", INTERRUPTED)
    except MemoryError:
        return fail(OUT_OF_MEMORY, GUEST_FAILED)
    except BrokenPipeError:
        raise
    except OSError as error:
        return fail(_file_message(error), USAGE)
    except UnicodeEncodeError as error:
        return fail(f"{shown(error.object)} is beyond {error.encoding}; {UTF_8_REMEDY}", USAGE)
    except Exception as error:
        usage = _usage_message(error)
        if usage is None:
            raise
        return fail(usage, USAGE)
    return code if isinstance(code, int) else 0


def _defaults(given: Sequence[str]) -> dict[str, Any]:
    """Return the options that the folder's narthex.toml states, and tell of it if they count."""
    from narthex.projects import COMMANDS, DEFAULTS, defaults

    if not any(command in given for command in COMMANDS):
        return {}
    stated = defaults(DEFAULTS)
    for options in stated.values():
        if "interface" in options:  # an option that may be repeated
            options["interface"] = [options["interface"]]
    return stated


def _check_encoding(given: Sequence[str]) -> None:
    """Refuse an argument that is no text; the simulator reads UTF-8, whatever the locale."""
    encoding = sys.getfilesystemencoding()
    remedy = "choose another name" if encoding == "utf-8" else UTF_8_REMEDY
    for argument in given:
        if not is_unicode(argument):
            told = shown(os.fsencode(argument))
            raise NarthexError(f"the argument {told} is not {encoding}; {remedy}")


def _file_message(error: OSError) -> str:
    """Return what is wrong with a file that no command has thought of."""
    reason = error.strerror or str(error)
    return reason if error.filename is None else f"'{error.filename}': {reason}"


def _usage_message(error: Exception) -> str | None:
    """Return what is wrong with the command line, if that is what `error` says."""
    message = getattr(error, "format_message", None)
    if message is None:
        return None
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "narthex"
    if type(error).__name__ == "NoArgsIsHelpError":
        return message()
    option = getattr(error, "option_name", None)
    if type(error).__name__ == "BadOptionUsage" and option in ("--json", "--profile"):
        return f"{option} needs a file, or - for standard output (see '{command} --help')"
    if context and option in _own_options(context):
        behind = command.removeprefix("narthex ")
        return f"{option} stands before the command: narthex {option} {behind} ..."
    told = f"{message().rstrip('.')} (see '{command} --help')"
    is_near = bool(getattr(error, "possibilities", None))
    if type(error).__name__ == "NoSuchOption" and not is_near and _takes_any(context):
        return f"{told}; {BEHIND_DASHES}"
    return told


def _takes_any(context: Any) -> bool:  # noqa: ANN401 - Click's, which Typer has within
    """Tell whether a command takes arguments of a program."""
    return context is not None and any(each.name == "args" for each in context.command.params)


def _own_options(context: Any) -> set[str]:  # noqa: ANN401 - Click's, which Typer has within
    """Return the options of `narthex` itself, which a command does not have."""
    if context.parent is None:
        return set()
    own = context.find_root().command.params
    return {option for parameter in own for option in parameter.opts}


def _arranged(given: list[str]) -> list[str]:
    """Arrange arguments as the command takes them."""
    _check_interfaces(given)
    command = next((word for word in given if not word.startswith("-")), "")
    if command not in ("cc", *wrapping.COMMANDS):
        return given
    begin = given.index(command) + 1
    if command in wrapping.COMMANDS:
        return [*given[:begin], *wrapping.behind_dashes(given[begin:])]
    return [*given[:begin], *compiling.with_flags_behind(given[begin:])]


def _check_interfaces(given: list[str]) -> None:
    """Refuse a second interface behind an option: it would be an argument of the program."""
    words = given[: given.index("--")] if "--" in given else given
    for option, name, word in zip(words, words[1:], words[2:], strict=False):
        if option in ("-i", "--interface") and not word.startswith("-") and _is_interface(word):
            raise NarthexError(
                f"'{word}' stands behind {option} {name} as an argument of its own; interfaces have"
                f" commas between: {option} {name},{word} (arguments of a program that are called"
                " so stand behind a --)"
            )


def _is_interface(word: str) -> bool:
    from narthex.comparison import interface_names

    return word.casefold() in map(str.casefold, interface_names())
