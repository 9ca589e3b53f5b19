"""Runs one program on one simulated machine."""

import contextlib
import difflib
import hashlib
import json
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from narthex import _native, arguments, profiles, silence, timelines
from narthex.arguments import Settings
from narthex.cosimulation import designs
from narthex.errors import USAGE, Caution, NarthexError, near_file
from narthex.firmware import Firmware
from narthex.firmware import request as firmware_request
from narthex.jobs import Jobs
from narthex.jobs import request as jobs_request
from narthex.live import Watched
from narthex.placement import naming_machines
from narthex.programs import Program, find
from narthex.refusals import telling_refusals
from narthex.results import Result
from narthex.surroundings import NONE, Named, Surroundings, Variables
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

DEFAULT_MACHINE = "hpca98"
DEFAULT_INTERFACE = "CNI32Qm"


def run(
    program: str | Path | Program | None = None,
    *args: object,
    jobs: Jobs = (),
    machine: str | Path = DEFAULT_MACHINE,
    interface: str | None = None,
    interfaces: str | Sequence[str] | None = None,
    nodes: int | None = None,
    set: Settings = (),  # noqa: A002 - the option's name on the command line
    firmware: Firmware = (),
    env: Variables = (),
    input: str | Path | None = None,  # noqa: A002 - the option's name on the command line
    files: Named = (),
    directories: Named = (),
    output_files: str | Path | None = None,
    threads: int = 1,
    seed: int | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: str | None = None,
    resume: bool = False,
    checkpoint_at: str | None = None,
    start_from: str | Path | None = None,
    until: str | None = None,
    timeout: str | None = None,
    execute_wait_loops: bool = False,
    waves: str | Path | None = None,
    waves_node: int | None = None,
    trace: str | Path | None = None,
    trace_nodes: str | None = None,
    trace_from: str | None = None,
    trace_to: str | None = None,
    trace_functions: bool = False,
    traffic: bool = False,
    traffic_interval: str | None = None,
    profile: bool = False,
    profile_region: str | None = None,
    live_page: str | Path | None = None,
    observer: Observer | None = None,
    output: Output | None = None,
    notice: Notice | None = None,
) -> Result:
    """Run a program and return what it reported and where the time went.

    `program` is the name of a program that comes with Narthex, an ELF file, or
    a C or C++ source file; `args` are its arguments. `machine` is a preset or
    a file, `interface` (or `interfaces`) a name of the taxonomy in any case, with its place where
    that is not the memory bus ("NI2w on io-bus"), CNI32Qm if not given; `nodes` replaces
    the machine's number of nodes, and each of `set` one of its parameters
    ({"bus.clock": "125MHz"}); `firmware` has files for processors that run some
    ({"forwarder": "mine.elf"}), in place of what comes with Narthex (docs/firmware.md);
    `env` has variables that programs find, `input` the file that is their standard input,
    `files` and `directories` what they can open, by the names that they use
    ({"input.txt": "small.txt"}); what they write goes to the folder `output_files`
    (docs/system.md).
    `jobs` are programs that run on the machine at the same time, each with one process on
    each of its nodes ("gauss 64 @ 0-7"); `program`, if given, is the first (docs/jobs.md);
    `seed` starts the random streams. The same arguments
    give the same bits, whatever the number of host `threads` (1 to 1024; as
    many are used as there are processors and nodes, while that is faster), and whether the turns of
    wait loops are computed or, with `execute_wait_loops`, executed.

    `checkpoint_every` ("30s", host time) keeps the run's whole state in the file
    `checkpoint`, so that with `resume` the same call goes on from there if it was
    killed; without a file's name it is that of `checkpoint_place`. The file is
    deleted when the run has a result (docs/checkpoints.md).

    `checkpoint_at` ends the run with a warm checkpoint in the file `checkpoint`: where all
    processes begin a region ("region:main"), call `narthex_checkpoint` ("call"), or come to the
    next of both after a simulated time ("10ms"). A run with `start_from`, that file, goes on
    from there, with any interface and other parameters (docs/checkpoints.md).

    `until` ("10ms") is the simulated time at which the run stops if it has not ended, and
    `timeout` ("60s") this computer's time after which it stops; the error then says how
    every program stands.

    An interface may be hardware in its model's place: "NI2w@rtl", or "NI2w@./FOLDER" with
    Verilog or Amaranth of your own (docs/bring-your-own-rtl.md). `waves` names the VCD file that
    its signals on node `waves_node`, 0 if not given, are written to.

    `trace` writes a timeline of the run into that file, for Perfetto, or for a
    browser if it ends in ".html", for a viewer of waveforms if in ".vcd"; `trace_nodes` ("0,3-5"),
    `trace_from` and `trace_to` ("10us") say what of it, `trace_functions` adds the
    functions that programs are in (docs/observing.md).

    `traffic` counts who talks to whom, and what was busy when: `Result.traffic`
    (docs/observing.md); `traffic_interval` ("10us") also what links, queues and flow control did in
    each such simulated time (docs/networks.md).

    `live_page` names a page that shows the run while it goes on: written once a second, and read
    again by the browser (docs/results.md).

    `profile` divides the time by function and line: `Result.profile`; of the region
    `profile_region` of the program alone, if it is given (docs/observing.md). The run takes
    longer then.

    >>> import narthex
    >>> slow = narthex.run("roundtrip", 64, 10, interface="NI2w", nodes=2)
    >>> fast = narthex.run("roundtrip", 64, 10, interface="CNI32Qm", nodes=2)
    >>> slow.value("round-trip latency") > 2 * fast.value("round-trip latency")
    True

    Raises `NarthexError` when the program fails, makes no progress, or
    something is wrong with the arguments.
    """
    names = arguments.either(interface, interfaces) or [DEFAULT_INTERFACE]
    if len(names) != 1:
        raise NarthexError(
            f"run takes one interface, not {', '.join(names)}; compare takes several"
        )
    first = None if program is None else find(program)
    guest, described = jobs_request(first, jobs, interface=names[0])
    wanted = request(
        guest,
        args,
        jobs=described,
        machine=machine,
        interface=names[0],
        nodes=nodes,
        set=set,
        firmware=firmware,
        surroundings=Surroundings(env, input, files, directories, output_files),
        threads=threads,
        seed=seed,
        checkpoint=checkpoint_request(
            guest, checkpoint, checkpoint_every, resume=resume, at=checkpoint_at
        ),
        warm=warm_request(guest, checkpoint, checkpoint_at, start_from),
        until=until,
        timeout=timeout,
        execute_wait_loops=execute_wait_loops,
        waves=waves,
        waves_node=waves_node,
        progress=notice,
    )
    timeline = trace_request(trace, trace_nodes, trace_from, trace_to, functions=trace_functions)
    traffic = traffic or traffic_interval is not None
    check_traffic(wanted, traffic=traffic)
    divided = profile_request(wanted, profile_region, profile=profile)
    watched = None
    if live_page is not None:
        page = arguments.file("live_page", live_page)
        watched = Watched(f"Running {guest.name} on {names[0]}", page)
    with watched or contextlib.nullcontext():
        result = simulate(
            wanted,
            guest,
            _both(watched, observer) if watched else observer,
            output,
            notice,
            trace=timeline,
            traffic=traffic,
            traffic_interval=traffic_interval,
            profile=divided,
            standing=watched.hear if watched else None,
        )
    if watched and watched.lost and notice:
        notice(Caution(watched.lost))
    if divided is not None:
        profiles.check_region(result.document)
    forget_checkpoint(wanted)
    return result


def _both(watched: Watched, observer: Observer | None) -> Observer:
    """Return an observer that tells the page how far a run is, and another observer."""

    def observe(time_ps: int) -> bool:
        watched.at(time_ps)
        return observer is None or observer(time_ps)

    return observe


def request(
    program: Program,
    args: Sequence[object],
    *,
    machine: str | Path,
    interface: str,
    nodes: int | None,
    set: Settings,  # noqa: A002 - the option's name on the command line
    jobs: dict[str, Any] | None = None,
    firmware: Firmware = (),
    surroundings: Surroundings = NONE,
    threads: int = 1,
    seed: int | None,
    checkpoint: dict[str, Any] | None = None,
    warm: dict[str, Any] | None = None,
    until: str | None = None,
    timeout: str | None = None,
    execute_wait_loops: bool = False,
    waves: str | Path | None = None,
    waves_node: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Describe a run, as the simulator reads it (machine/src/request.rs)."""
    chosen = arguments.text("interface", interface)
    node = arguments.whole_number_or_none("waves_node", waves_node)
    hardware = designs.request(chosen, waves=waves, waves_node=node, progress=progress)
    settings = arguments.settings(set)
    given = firmware_request(arguments.text("machine", machine), settings, firmware, progress)
    limits = {"until": _text_or_none("until", until), "timeout": _text_or_none("timeout", timeout)}
    return {
        "program": program.name,
        "args": [arguments.text("an argument of the program", str(each)) for each in args],
        "machine": arguments.text("machine", machine),
        "interface": chosen,
        "nodes": arguments.whole_number_or_none("nodes", nodes),
        "set": settings,
        "threads": arguments.whole_number("threads", threads),
        "seed": arguments.whole_number_or_none("seed", seed),
        **({"hardware": hardware} if hardware else {}),
        **({"firmware": given} if given else {}),
        **surroundings.request(),
        **({"checkpoint": checkpoint} if checkpoint else {}),
        **({"warm": warm} if warm else {}),
        **{name: time for name, time in limits.items() if time is not None},
        **({"execute_wait_loops": True} if execute_wait_loops else {}),
        **(jobs or {}),
    }


def checkpoint_place(program: Program) -> Path:
    """Return where a run's checkpoint is by default: in the current folder."""
    return Path(f"{Path(program.name).stem}.checkpoint")


def checkpoint_request(
    program: Program,
    place: str | Path | None,
    every: str | None,
    *,
    resume: bool,
    at: str | None = None,
) -> dict[str, Any] | None:
    """Describe a run's checkpoints; any of the three asks for some.

    With `at` the place is that of a warm checkpoint (`warm_request`).
    """
    if every is None and not resume and (place is None or at is not None):
        return None
    file = checkpoint_place(program) if place is None else place
    told = _text_or_none("checkpoint_every", every)
    return {"file": arguments.file("checkpoint", file), "every": told, "resume": resume}


def warm_request(
    program: Program, place: str | Path | None, at: str | None, start_from: str | Path | None
) -> dict[str, Any] | None:
    """Describe the warm checkpoint that a run ends with, or starts from."""
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
    return {"from": {"file": file, "sha256": sha256}}


def trace_request(
    file: str | Path | None,
    nodes: str | None,
    begin: str | None,
    end: str | None,
    *,
    functions: bool = False,
) -> dict[str, Any] | None:
    """Describe a run's timeline; what says which part of it needs a file."""
    if file is None:
        if nodes is None and begin is None and end is None and not functions:
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
    return {
        "file": name,
        "functions": functions,
        "page": timelines.page() if suffix in PAGES else None,
        "nodes": _text_or_none("trace_nodes", nodes),
        "from": _text_or_none("trace_from", begin),
        "to": _text_or_none("trace_to", end),
    }


def check_traffic(wanted: dict[str, Any], *, traffic: bool) -> None:
    """Refuse to count the traffic of a run that goes on from a checkpoint."""
    if traffic and _goes_on(wanted):
        raise NarthexError(
            "traffic is counted from a run's begin, and a run that is resumed has one that is not"
            " seen; leave out --traffic, or --resume and --from",
            USAGE,
        )


def _goes_on(wanted: dict[str, Any]) -> bool:
    """Tell whether a run goes on from a checkpoint of either kind."""
    return wanted.get("checkpoint", {}).get("resume", False) or "from" in wanted.get("warm", {})


def profile_request(
    wanted: dict[str, Any], region: str | None, *, profile: bool
) -> dict[str, Any] | None:
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
            _text_or_none("traffic_interval", traffic_interval),
        )
    return Result(json.loads(text))
