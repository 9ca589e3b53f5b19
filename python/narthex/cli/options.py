"""Options that several commands have."""

from typing import Any

import typer

from narthex.cli import completion
from narthex.cli.console import machine_file, within

PROGRAM_HELP = "A program that comes with Narthex, an ELF file, or a C or C++ file."
PROGRAM = typer.Argument(..., help=PROGRAM_HELP, autocompletion=completion.programs)
ARGUMENTS = typer.Argument(
    None, metavar="ARGS", help="The program's arguments; those that begin with - behind a --."
)
MACHINE = typer.Option(
    "hpca98",
    "--machine",
    "-m",
    help="A preset, or a machine's TOML file.",
    autocompletion=completion.machines,
    callback=machine_file,
)
NODES = typer.Option(
    None, "--nodes", "-n", **within("nodes"), help="Nodes, instead of the machine's number."
)
THREADS = typer.Option(
    1,
    "--threads",
    **within("threads"),
    help="Host threads that a run may use, as far as there are processors and nodes and as "
    "they pay. They never change a result.",
)
INTERFACE = typer.Option(
    ["CNI32Qm"],
    "--interface",
    "-i",
    metavar="NAME",
    help="The network interface. It is on the memory bus; NAME on io-bus, on cache-bus or on "
    "register is elsewhere, where the machine has that. NAME@rtl, or NAME@./FOLDER with a design "
    "of your own, is hardware in its place.",
    autocompletion=completion.interfaces,
)
SEVERAL = "with commas between, or one behind each -i"
WHERE = (
    "NAME is on the memory bus; NAME on io-bus, on cache-bus or on register is elsewhere, "
    "where the machine has that."
)
CHECKPOINT = typer.Option(
    None,
    "--checkpoint",
    metavar="FILE",
    help="Where the run's state is kept; PROGRAM.checkpoint here if one of the next two is given, "
    "PROGRAM.warm with --checkpoint-at.",
)
CHECKPOINT_EVERY = typer.Option(
    None,
    "--checkpoint-every",
    metavar="TIME",
    help="Keep the state so often, in time of this computer (30s; at least 100ms).",
)
RESUME = typer.Option(
    False,
    "--resume",
    help="Go on from the checkpoint, if there is one; start at the beginning if not.",
)
CHECKPOINT_AT = typer.Option(
    None,
    "--checkpoint-at",
    metavar="POINT",
    help="End the run with a warm checkpoint, from which runs over any interface start (--from): "
    "where all processes first begin a region (region:NAME), call narthex_checkpoint (call), or "
    "come to the next of both after a simulated time (10ms). It is in --checkpoint's FILE, "
    "PROGRAM.warm if that is not given.",
)
FROM = typer.Option(
    None,
    "--from",
    metavar="FILE",
    help="Start from this warm checkpoint, of the same program and number of nodes; interface and "
    "parameters may be others. Caches are empty.",
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


SEED = typer.Option(None, "--seed", **within("seed"), help="Seed, instead of the machine's.")
FIRMWARE = typer.Option(
    [],
    "--firmware",
    metavar="[NAME=]FILE",
    help="Firmware (an ELF or a C file) for the processors that run NAME, instead of what comes "
    "with Narthex; NAME may be left out where the machine has one. May be repeated.",
)
ENV = typer.Option(
    [],
    "--env",
    metavar="NAME=VALUE",
    help="A variable that programs find in their environment. May be repeated.",
)
INPUT = typer.Option(
    None, "--input", metavar="FILE", help="What programs read from standard input, all the same."
)
FILE = typer.Option(
    [],
    "--file",
    metavar="NAME=PATH",
    help="A file that programs can open and read as NAME; they find no other. May be repeated.",
)
DIRECTORY = typer.Option(
    [],
    "--directory",
    metavar="NAME=PATH",
    help="The same for a folder and all below it. May be repeated.",
)
OUTPUT_FILES = typer.Option(
    None,
    "--output-files",
    metavar="FOLDER",
    help="Let programs write files; they are in this folder when the run has ended, those of each "
    "process in one of its own (node-0, or node-0-process-1).",
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
EXECUTE_WAIT_LOOPS = typer.Option(
    False,
    "--execute-wait-loops",
    help="Execute the turns of wait loops, which are computed otherwise: slower, the same result.",
)
UNTIL = typer.Option(
    None,
    "--until",
    metavar="TIME",
    help="Stop at this simulated time (10ms) if the program has not ended, and say how it stands.",
)
TIMEOUT = typer.Option(
    None,
    "--timeout",
    metavar="TIME",
    help="Stop after this much of this computer's time (60s), and say how the program stands.",
)
WAVES = typer.Option(
    None,
    "--waves",
    metavar="FILE",
    help="Write the signals of hardware in the interface's place (NAME@rtl) into this VCD file.",
)
WAVES_NODE = typer.Option(
    None,
    "--waves-node",
    **within("waves_node"),
    help="The node whose signals --waves writes; 0 if not given.",
)
TRACE = typer.Option(
    None,
    "--trace",
    metavar="FILE",
    help="Write a timeline of the run: a page for the browser if FILE ends in .html, a dump for a "
    "viewer of waveforms if in .vcd, else for Perfetto (ui.perfetto.dev); compressed if .gz "
    "follows.",
)
LIVE = typer.Option(
    False,
    "--live",
    help="Show while the run goes on how its nodes stand, how fast it is and for what is waited; "
    "where standard error is no terminal, as lines.",
)
LIVE_PAGE = typer.Option(
    None,
    "--live-page",
    metavar="FILE",
    help="Write the same once a second into this page, which a browser reads again by itself.",
)
TRAFFIC = typer.Option(
    False,
    "--traffic",
    help="Count who talks to whom, latencies of messages, and what was busy when: in the result of "
    "--json and on the page of --report.",
)
TRAFFIC_INTERVAL = typer.Option(
    None,
    "--traffic-interval",
    metavar="TIME",
    help="The same, and what links, queues and flow control did in each such simulated time "
    "(10us): on the page over time, and as a drawn network with a slider.",
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
PROFILE_REGION = typer.Option(
    None, "--profile-region", metavar="NAME", help="Profile this region of the program only."
)
PROFILE_BY_NODE = typer.Option(
    False, "--profile-by-node", help="Keep the nodes apart in the profile's FILE and page."
)
TRACE_NODES = typer.Option(
    None, "--trace-nodes", metavar="NODES", help="Only these nodes (0,3-5) in the timeline."
)
TRACE_FUNCTIONS = typer.Option(
    False,
    "--trace-functions",
    help="Show in the timeline which functions programs are in, too.",
)
TRACE_FROM = typer.Option(
    None, "--trace-from", metavar="TIME", help="Begin the timeline at this simulated time (10us)."
)
TRACE_TO = typer.Option(
    None, "--trace-to", metavar="TIME", help="End the timeline at this simulated time (20us)."
)
