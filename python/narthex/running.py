"""Runs one program on one simulated machine."""

import contextlib
import difflib
import hashlib
import json
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Unpack, get_args

from narthex import _native, arguments, profiles, silence, timelines
from narthex.cosimulation import designs
from narthex.errors import USAGE, Caution, NarthexError, near_file, unknown
from narthex.firmware import request as firmware_request
from narthex.jobs import Jobs
from narthex.jobs import request as jobs_request
from narthex.live import Watched
from narthex.options import Caches, RunOptions, default_interface, takes
from narthex.placement import naming_machines
from narthex.programs import Program, find
from narthex.refusals import telling_refusals
from narthex.results import Result
from narthex.surroundings import Surroundings
from narthex.toolchain import Progress

Observer = Callable[[int], bool]
"""Called several times a second with the simulated time in picoseconds; a
false value interrupts the run."""

Output = Callable[[int, int, str, bytes], object]
"""Called with what the program writes: node, process on it,
"stdout", "stderr" or "firmware", bytes."""

Notice = Callable[[str], object]
"""Called with what happens to a run's checkpoints and timeline, in words; with a `Caution` where
something is not as the user wants it."""

NO_TIMELINES = (".json", ".svg", ".png", ".csv", ".parquet", ".toml", ".c")
"""Endings of files of another kind than a timeline."""

PAGES = (".html", ".htm")
"""Endings of a timeline that a browser opens."""

log = logging.getLogger(__name__)


@takes(RunOptions)
def run(
    program: str | Path | Program | None = None,
    *args: object,
    jobs: Jobs = (),
    interface: str | None = None,
    interfaces: str | Sequence[str] | None = None,
    profile: bool = False,
    observer: Observer | None = None,
    output: Output | None = None,
    notice: Notice | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """Run a program and return what it reported and where the time went.

    `program` is the name of a program that comes with Narthex, an ELF file, or
    a C or C++ source file; `args` are its arguments. `interface` (or `interfaces`) is a name of the
    taxonomy in any case, with its place where that is not the memory bus ("NI2w on io-bus"),
    the machine's (node.interface.default), or CNI32Qm, if not given; it may be hardware in its
    model's place: "NI2w@rtl", or "NI2w@./FOLDER" with Verilog or Amaranth of your own
    (docs/bring-your-own-rtl.md).
    `jobs` are programs that run on the machine at the same time, each with one process on
    each of its nodes ("gauss 64 @ 0-7"); `program`, if given, is the first (docs/jobs.md).
    `profile` divides the time by function and line: `Result.profile` (docs/observing.md); the run
    takes longer then.

    Of the options, `set`, `env`, `firmware`, `files` and `directories` are mappings, too:
    {"bus.clock": "125MHz"}, {"forwarder": "mine.elf"}, {"input.txt": "small.txt"}. What they do is
    told in docs/firmware.md, docs/system.md, docs/checkpoints.md and docs/observing.md. The same
    arguments give the same bits, whatever the number of host `threads` (1 to 1024), and whether the
    turns of wait loops are computed or, with `execute_wait_loops`, executed. A checkpoint is
    deleted when the run has a result.

    >>> import narthex
    >>> slow = narthex.run("roundtrip", 64, 10, interface="NI2w", nodes=2)
    >>> fast = narthex.run("roundtrip", 64, 10, interface="CNI32Qm", nodes=2)
    >>> slow.value("round-trip latency") > 2 * fast.value("round-trip latency")
    True

    Raises `NarthexError` when the program fails, makes no progress, or
    something is wrong with the arguments.
    """
    names = arguments.either(interface, interfaces)
    if not names:
        names = [default_interface(options["machine"], options["set"])]
    if len(names) != 1:
        raise NarthexError(
            f"run takes one interface, not {', '.join(names)}; compare takes several"
        )
    first = None if program is None else find(program)
    guest, described = jobs_request(first, jobs, interface=names[0])
    wanted = request(guest, args, jobs=described, interface=names[0], progress=notice, **options)
    observed = observations(wanted, profile=profile, **options)
    watched = None
    if options["live_page"] is not None:
        page = arguments.file("live_page", options["live_page"])
        watched = Watched(f"Running {guest.name} on {names[0]}", page)
    with watched or contextlib.nullcontext():
        result = simulate(
            wanted,
            guest,
            _both(watched, observer) if watched else observer,
            output,
            notice,
            standing=watched.hear if watched else None,
            **observed,
        )
    if watched and watched.lost and notice:
        notice(Caution(watched.lost))
    if profile:
        profiles.check_region(result.document)
    forget_checkpoint(wanted)
    return result


def _both(watched: Watched, observer: Observer | None) -> Observer:
    """Return an observer that tells the page how far a run is, and another observer."""

    def observe(time_ps: int) -> bool:
        watched.at(time_ps)
        return observer is None or observer(time_ps)

    return observe


@takes(RunOptions)
def request(
    program: Program,
    args: Sequence[object],
    *,
    interface: str,
    jobs: dict[str, Any] | None = None,
    progress: Progress | None = None,
    **options: Unpack[RunOptions],
) -> dict[str, Any]:
    """Describe a run, as the simulator reads it (machine/src/request.rs).

    What is only observed of it is apart: `observations`.
    """
    chosen, waves = arguments.text("interface", interface), options["waves"]
    node = arguments.whole_number_or_none("waves_node", options["waves_node"])
    machine, settings = (
        arguments.text("machine", options["machine"]),
        arguments.settings(options["set"]),
    )
    found = {
        "hardware": designs.request(chosen, waves=waves, waves_node=node, progress=progress),
        "firmware": firmware_request(machine, settings, options["firmware"], progress),
        "surroundings": Surroundings(
            options["env"],
            options["input"],
            options["files"],
            options["directories"],
            options["output_files"],
        ).request(),
        "checkpoint": _checkpoint(program, options),
        "warm": _warm(program, options),
        "until": _text_or_none("until", options["until"]),
        "timeout": _text_or_none("timeout", options["timeout"]),
        "execute_wait_loops": options["execute_wait_loops"],
    }
    return {
        "program": program.name,
        "args": [arguments.text("an argument of the program", str(each)) for each in args],
        "machine": machine,
        "interface": chosen,
        "nodes": arguments.whole_number_or_none("nodes", options["nodes"]),
        "set": settings,
        "threads": arguments.whole_number("threads", options["threads"]),
        "seed": arguments.whole_number_or_none("seed", options["seed"]),
        **{name: given for name, given in found.items() if given not in (None, False, {})},
        **(jobs or {}),
    }


def checkpoint_place(program: Program) -> Path:
    """Return where a run's checkpoint is by default: in the current folder."""
    return Path(f"{Path(program.name).stem}.checkpoint")


def _checkpoint(program: Program, options: RunOptions) -> dict[str, Any] | None:
    """Describe a run's checkpoints; any of three options asks for some.

    With `checkpoint_at` the place is that of a warm checkpoint.
    """
    place, every, resume = options["checkpoint"], options["checkpoint_every"], options["resume"]
    if every is None and not resume and (place is None or options["checkpoint_at"] is not None):
        return None
    file = checkpoint_place(program) if place is None else place
    told = _text_or_none("checkpoint_every", every)
    return {"file": arguments.file("checkpoint", file), "every": told, "resume": resume}


def _warm(program: Program, options: RunOptions) -> dict[str, Any] | None:
    """Describe the warm checkpoint that a run ends with, or starts from."""
    place, at, start_from = options["checkpoint"], options["checkpoint_at"], options["start_from"]
    caches = options["caches"]
    if caches is not None and start_from is None:
        raise NarthexError(
            "caches are filled or cold where a run starts from a warm checkpoint: name one"
            " (--from), or leave out --caches",
            USAGE,
        )
    if caches is not None and caches not in get_args(Caches):
        raise unknown("choice for --caches", str(caches), get_args(Caches))
    if at is not None and start_from is not None:
        raise NarthexError(
            "a run that starts from a warm checkpoint (--from) cannot end with another"
            " (--checkpoint-at)",
            USAGE,
        )
    if at is not None:
        file = f"{Path(program.name).stem}.warm" if place is None else place
        at = arguments.text("checkpoint_at", at)
        return {"write": {"file": arguments.file("checkpoint", file), "at": at}}
    if start_from is None:
        return None
    file = arguments.file("start_from", start_from)
    try:
        with Path(file).open("rb") as opened:
            sha256 = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        told = f"the warm checkpoint '{file}' cannot be read: {error.strerror}{near_file(file)}"
        raise NarthexError(told, USAGE) from error
    return {"from": {"file": file, "sha256": sha256, "caches": caches or "filled"}}


@takes(RunOptions)
def observations(
    wanted: dict[str, Any], *, profile: bool, **options: Unpack[RunOptions]
) -> dict[str, Any]:
    """Return what `simulate` is to observe of a run; some of it begins with the run."""
    interval = options["traffic_interval"]
    traffic = options["traffic"] or interval is not None
    if traffic and _goes_on(wanted):
        raise NarthexError(
            "traffic is counted from a run's begin, and a run that is resumed has one that is not"
            " seen; leave out --traffic, or --resume and --from",
            USAGE,
        )
    return {
        "trace": _trace(options),
        "traffic": traffic,
        "traffic_interval": _text_or_none("traffic_interval", interval),
        "profile": _profile(wanted, options["profile_region"], profile=profile),
    }


def _trace(options: RunOptions) -> dict[str, Any] | None:
    """Describe a run's timeline; what says which part of it needs a file."""
    part = {
        "nodes": _text_or_none("trace_nodes", options["trace_nodes"]),
        "from": _text_or_none("trace_from", options["trace_from"]),
        "to": _text_or_none("trace_to", options["trace_to"]),
    }
    functions, file = options["trace_functions"], options["trace"]
    if file is None:
        if not functions and set(part.values()) == {None}:
            return None
        raise NarthexError(
            "a part of a timeline is asked for, and no timeline; name its file with --trace", USAGE
        )
    name = arguments.file("trace", file)
    suffix = Path(name).suffix
    is_misspelt = suffix not in PAGES and bool(difflib.get_close_matches(suffix, PAGES, cutoff=0.7))
    if suffix in NO_TIMELINES or is_misspelt:
        raise NarthexError(
            f"a timeline is no {suffix} file: '{name}' must end in .html, for a"
            " browser, in .pftrace, for Perfetto, or in .vcd, for a viewer of waveforms",
            USAGE,
        )
    if suffix == ".gz" and Path(name).with_suffix("").suffix in PAGES:
        raise NarthexError(
            f"the page of a timeline is compressed already: '{name}' must end in .html", USAGE
        )
    page = timelines.page() if suffix in PAGES else None
    return {"file": name, "functions": functions, "page": page, **part}


def _goes_on(wanted: dict[str, Any]) -> bool:
    """Tell whether a run goes on from a checkpoint of either kind."""
    return wanted.get("checkpoint", {}).get("resume", False) or "from" in wanted.get("warm", {})


def _profile(wanted: dict[str, Any], region: str | None, *, profile: bool) -> dict[str, Any] | None:
    """Describe a run's profile, if one is asked for; not that of a run that is resumed."""
    if not profile:
        if region is not None:
            raise NarthexError(
                "a region is named, and no profile asked for; add --profile - (in Python:"
                " profile=True)",
                USAGE,
            )
        return None
    if _goes_on(wanted):
        raise NarthexError(
            "a profile begins with the run, and a run that is resumed has a begin that is not"
            " seen; leave out --profile, or --resume and --from",
            USAGE,
        )
    return profiles.request(region)


def check_messages(wanted: dict[str, Any], messages: dict[str, Any] | None) -> None:
    """Refuse traces of messages of a run that is resumed, or of several programs."""
    if messages is None:
        return
    if wanted.get("checkpoint", {}).get("resume"):
        raise NarthexError(
            "a trace of messages begins with the run, and a run that is resumed has a begin that is"
            " not seen; leave out --goal and --otf2, or --resume",
            USAGE,
        )
    if wanted.get("jobs"):
        raise NarthexError(
            "a trace of messages is of one program, and this run has"
            f" {1 + len(wanted['jobs'])} jobs; leave out --goal and --otf2",
            USAGE,
        )


def _text_or_none(argument: str, given: str | None) -> str | None:
    return None if given is None else arguments.text(argument, given)


def forget_checkpoint(wanted: dict[str, Any]) -> None:
    """Delete the checkpoint of a run whose result is safe; one that stays does no harm."""
    if "checkpoint" in wanted:
        with contextlib.suppress(OSError):
            Path(os.path.realpath(wanted["checkpoint"]["file"])).unlink()


def _warning(notice: Notice | None) -> Notice | None:
    """Return what hears warnings: the listener of notices, which can tell them from those."""
    return None if notice is None else lambda text: notice(Caution(text))


def simulate(
    wanted: dict[str, Any],
    program: Program,
    observer: Observer | None = None,
    output: Output | None = None,
    notice: Notice | None = None,
    loss: Notice | None = None,
    *,
    trace: dict[str, Any] | None = None,
    traffic: bool = False,
    profile: dict[str, Any] | None = None,
    mpi: dict[str, Any] | None = None,
    standing: Notice | None = None,
    traffic_interval: str | None = None,
) -> Result:
    """Make the run that a request describes, with a timeline if `trace` describes one.

    `traffic` counts who talks to whom (and in intervals of `traffic_interval`), `profile` describes
    a profile that is made, and `mpi` the events of MPI that are recorded
    (`narthex.message_traces`).

    `standing` hears at most twice a second how the nodes stand, as JSON (`narthex.live`).

    `loss` hears what could not be written besides the result.
    """
    log.debug("request %s", json.dumps(wanted))
    timeline = json.dumps(trace) if trace else None
    listeners = (observer, output, notice, _warning(notice), loss)
    place = (wanted["machine"], wanted["set"], wanted["interface"])
    with telling_refusals(), silence.guarded(), naming_machines(*place):
        text = _native.run(
            json.dumps(wanted),
            program.elf(interface=wanted["interface"]),
            *listeners,
            timeline,
            traffic,
            None if profile is None else json.dumps(profile),
            None if mpi is None else json.dumps(mpi),
            standing,
            traffic_interval,
        )
    return Result(json.loads(text))
