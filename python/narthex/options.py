"""The options of a run, each defined once: its type, its default and what it means.

`narthex.run`, `compare` and `interfere` take them as keyword arguments (`Unpack`), so that type
checkers know them; `takes` shows them in `help`, and names the nearest one where a name is wrong.
The command line makes its options of the same definitions (`narthex.cli.options`) and hands on
what it has read. `narthex.running.request` makes of them what the simulator is asked
(machine/src/request.rs).
"""

import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from pathlib import Path
from typing import Annotated, Any, Literal, ParamSpec, TypedDict, TypeVar, get_type_hints

from narthex import _native, arguments
from narthex.arguments import Settings
from narthex.errors import unknown
from narthex.firmware import Firmware
from narthex.surroundings import Named, Variables

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

Caches = Literal["filled", "cold"]
"""What caches hold where a run starts from a warm checkpoint."""

DEFAULT_MACHINE = "hpca98"
DEFAULT_INTERFACE = "[default: the machine's, or CNI32Qm]"
"""How `--help` says which interface is taken where none is named (`default_interface`)."""


@dataclass(frozen=True)
class Option:
    """What there is to say of an option besides its type."""

    meaning: str
    """As `--help` has it."""
    default: Any = None
    """A flag's is `False`; an empty tuple is that of what may be given several times."""
    value: str | None = None
    """What stands for its value on the command line's help."""
    flag: str | None = None
    """What the command line calls it, where that is not its name with two dashes."""
    short: str | None = None

    def flag_of(self, name: str) -> str:
        """Return what the command line calls it."""
        return self.flag or f"--{name.replace('_', '-')}"


def default_interface(machine: str | Path, settings: Settings = ()) -> str:
    """Return the network interface of runs on a machine that name none."""
    return _native.default_interface(
        arguments.text("machine", machine), arguments.settings(settings)
    )


class MachineOptions(TypedDict, total=False):
    """On what programs run, and for how long: of all that makes runs."""

    machine: Annotated[
        str | Path,
        Option("A preset, or a machine's TOML file.", DEFAULT_MACHINE, short="-m"),
    ]
    nodes: Annotated[int | None, Option("Nodes, instead of the machine's number.", short="-n")]
    set: Annotated[
        Settings,
        Option("Change a parameter of the machine; may be repeated.", (), "KEY=VALUE"),
    ]
    threads: Annotated[
        int,
        Option(
            "Host threads that a run may use, as far as there are processors and nodes and as "
            "they pay. They never change a result.",
            1,
        ),
    ]
    seed: Annotated[int | None, Option("Seed, instead of the machine's.")]
    until: Annotated[
        str | None,
        Option(
            "Stop at this simulated time (10ms) if the program has not ended, and say how it "
            "stands.",
            value="TIME",
        ),
    ]


class ProgramOptions(MachineOptions, total=False):
    """What a program finds, too: of all that runs one."""

    timeout: Annotated[
        str | None,
        Option(
            "Stop after this much of this computer's time (60s), and say how the program stands.",
            value="TIME",
        ),
    ]
    firmware: Annotated[
        Firmware,
        Option(
            "Firmware (an ELF or a C file) for the processors that run NAME, instead of what comes "
            "with Narthex; NAME may be left out where the machine has one. May be repeated.",
            (),
            "[NAME=]FILE",
        ),
    ]
    env: Annotated[
        Variables,
        Option(
            "A variable that programs find in their environment. May be repeated.",
            (),
            "NAME=VALUE",
        ),
    ]
    input: Annotated[
        str | Path | None,
        Option("What programs read from standard input, all the same.", value="FILE"),
    ]
    files: Annotated[
        Named,
        Option(
            "A file that programs can open and read as NAME; they find no other. May be repeated.",
            (),
            "NAME=PATH",
            "--file",
        ),
    ]
    directories: Annotated[
        Named,
        Option(
            "The same for a folder and all below it. May be repeated.",
            (),
            "NAME=PATH",
            "--directory",
        ),
    ]
    start_from: Annotated[
        str | Path | None,
        Option(
            "Start from this warm checkpoint, of the same program and number of nodes; interface "
            "and parameters may be others.",
            value="FILE",
            flag="--from",
        ),
    ]
    caches: Annotated[
        Caches | None,
        Option(
            "With --from: whether caches hold what those of the checkpoint's run held (filled, if "
            "not given), or nothing (cold).",
            value="filled|cold",
        ),
    ]


class RunOptions(ProgramOptions, total=False):
    """What is kept and observed of a run, too: of `narthex run`."""

    output_files: Annotated[
        str | Path | None,
        Option(
            "Let programs write files; they are in this folder when the run has ended, those of "
            "each process in one of its own (node-0, or node-0-process-1).",
            value="FOLDER",
        ),
    ]
    checkpoint: Annotated[
        str | Path | None,
        Option(
            "Where the run's state is kept; PROGRAM.checkpoint here if one of the next two is "
            "given, PROGRAM.warm with --checkpoint-at.",
            value="FILE",
        ),
    ]
    checkpoint_every: Annotated[
        str | None,
        Option(
            "Keep the state so often, in time of this computer (30s; at least 100ms).",
            value="TIME",
        ),
    ]
    resume: Annotated[
        bool,
        Option("Go on from the checkpoint, if there is one; start at the beginning if not.", False),
    ]
    checkpoint_at: Annotated[
        str | None,
        Option(
            "End the run with a warm checkpoint, from which runs over any interface start "
            "(--from): where all processes first begin a region (region:NAME), call "
            "narthex_checkpoint (call), or come to the next of both after a simulated time (10ms). "
            "It is in --checkpoint's FILE, PROGRAM.warm if that is not given.",
            value="POINT",
        ),
    ]
    execute_wait_loops: Annotated[
        bool,
        Option(
            "Execute the turns of wait loops, which are computed otherwise: slower, the same "
            "result.",
            False,
        ),
    ]
    waves: Annotated[
        str | Path | None,
        Option(
            "Write the signals of hardware in the interface's place (NAME@rtl) into this VCD file.",
            value="FILE",
        ),
    ]
    waves_node: Annotated[
        int | None, Option("The node whose signals --waves writes; 0 if not given.")
    ]
    trace: Annotated[
        str | Path | None,
        Option(
            "Write a timeline of the run: a page for the browser if FILE ends in .html, a dump for "
            "a viewer of waveforms if in .vcd, else for Perfetto (ui.perfetto.dev); compressed if "
            ".gz follows.",
            value="FILE",
        ),
    ]
    trace_nodes: Annotated[
        str | None, Option("Only these nodes (0,3-5) in the timeline.", value="NODES")
    ]
    trace_from: Annotated[
        str | None, Option("Begin the timeline at this simulated time (10us).", value="TIME")
    ]
    trace_to: Annotated[
        str | None, Option("End the timeline at this simulated time (20us).", value="TIME")
    ]
    trace_functions: Annotated[
        bool, Option("Show in the timeline which functions programs are in, too.", False)
    ]
    traffic: Annotated[
        bool,
        Option(
            "Count who talks to whom, latencies of messages, and what was busy when: in the result "
            "of --json and on the page of --report.",
            False,
        ),
    ]
    traffic_interval: Annotated[
        str | None,
        Option(
            "The same, and what links, queues and flow control did in each such simulated time "
            "(10us): on the page over time, and as a drawn network with a slider.",
            value="TIME",
        ),
    ]
    profile_region: Annotated[
        str | None, Option("Profile this region of the program only.", value="NAME")
    ]
    live_page: Annotated[
        str | Path | None,
        Option(
            "Write once a second into this page how the run stands; a browser reads it again by "
            "itself.",
            value="FILE",
        ),
    ]


@cache
def options_of(kind: type) -> dict[str, tuple[Any, Option]]:
    """Return the options of a group: each one's type, and what else there is to say of it."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: (hint.__origin__, hint.__metadata__[0]) for name, hint in hints.items()}


def takes(
    kind: type,
) -> Callable[[Callable[Parameters, Returned]], Callable[Parameters, Returned]]:
    """Let a call that takes `**options` of this kind get all of them, and show each by itself.

    A name that is none of its parameters is refused with the nearest one that is.
    """
    options = options_of(kind)
    defaults = {name: option.default for name, (_, option) in options.items()}

    def decorate(call: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
        signature = inspect.signature(call)
        own, shown = list(signature.parameters.values())[:-1], inspect.Parameter.KEYWORD_ONLY
        parameters = own + [
            inspect.Parameter(name, shown, default=option.default, annotation=type_)
            for name, (type_, option) in options.items()
        ]
        names = [each.name for each in parameters if each.kind != inspect.Parameter.VAR_POSITIONAL]

        @wraps(call)
        def checked(*args: Parameters.args, **given: Parameters.kwargs) -> Returned:
            for name in given:
                if name not in names:
                    raise unknown(f"argument of {call.__name__}", name, names)
            return call(*args, **{**defaults, **given})

        checked.__doc__ = f"{inspect.getdoc(call)}\n\n{_told(options)}"
        checked.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return checked

    return decorate


def _told(options: dict[str, tuple[Any, Option]]) -> str:
    """Say what options mean, in a docstring's words: each by its name, not by its flag."""
    flags = {option.flag_of(name): name for name, (_, option) in options.items()}

    def meaning(option: Option) -> str:
        return re.sub(r"--[a-z-]+", lambda flag: flags.get(flag[0], flag[0]), option.meaning)

    lines = [
        textwrap.fill(f"{name}: {meaning(option)}", 96, initial_indent="    ",
                      subsequent_indent="        ")
        for name, (_, option) in options.items()
    ]  # fmt: skip
    return "\n".join(["Options:", *lines])
