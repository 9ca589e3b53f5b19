"""`narthex run` and `narthex compare`."""

import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import typer

from narthex import notation
from narthex.cli import completion
from narthex.cli.console import (
    JSON_OPTION,
    SET_OPTION,
    JsonTarget,
    Waiting,
    check_writable,
    compile_program,
    examples,
    file_of,
    finish,
    keeping,
    only_one,
    split_names,
    warn_of_idle,
)
from narthex.cli.options import (
    ARGUMENTS,
    AT_A_TIME,
    CHECKPOINT,
    CHECKPOINT_AT,
    CHECKPOINT_EVERY,
    DIRECTORY,
    ENV,
    EXECUTE_WAIT_LOOPS,
    FILE,
    FIRMWARE,
    FROM,
    GOAL,
    INPUT,
    INTERFACE,
    JOB,
    JOB_FILE,
    LIVE,
    LIVE_PAGE,
    MACHINE,
    NODES,
    OTF2,
    OUTPUT_FILES,
    PROFILE,
    PROFILE_BY_NODE,
    PROFILE_REGION,
    PROGRAM,
    PROGRAM_HELP,
    RESUME,
    SEED,
    SEVERAL,
    THREADS,
    TIMEOUT,
    TRACE,
    TRACE_FROM,
    TRACE_FUNCTIONS,
    TRACE_NODES,
    TRACE_TO,
    TRAFFIC,
    TRAFFIC_INTERVAL,
    UNTIL,
    WAVES,
    WAVES_NODE,
    WHERE,
    several_interfaces,
)
from narthex.cli.reporting import (
    OPEN_OPTION,
    PLOT_OPTION,
    REPORT_OPTION,
    PlotTarget,
    ReportTarget,
)
from narthex.cli.streams import OutputError, is_read
from narthex.cli.tables import columns_of, fits_whole, print_table
from narthex.cli.terminal import console, inform, say
from narthex.errors import NOT_WRITTEN, USAGE, NarthexError

if TYPE_CHECKING:
    from narthex.cli.live import LiveView
    from narthex.comparison import Comparison
    from narthex.programs import Program
    from narthex.report.parts import Chart

MOST_REGIONS = 20
"""Regions of which the terminal shows where their time went."""

MOST_PAIRS = 12
"""Pairs of ranks of which the terminal shows what they exchange: those with most packets."""

MOST_FUNCTIONS, MOST_LINES, MOST_CATEGORIES = 20, 10, 2
"""Of a profile: functions, lines, and categories of a function that the terminal shows."""

SURROUNDINGS = """

Programs find no input, no files and no variables of this computer: give them arguments, --env,
--input, --file and --directory.

Exit codes: 0 ended well, 1 the program failed, 2 wrong usage, 3 no progress, 130 interrupted,
141 the program's output was not read any more.
"""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "run",
        epilog=examples(
            "narthex run roundtrip 64 10000 --interface CNI32Qm",
            "narthex run mine.c --nodes 4 --set bus.clock=125MHz --json result.json",
            "narthex run em3d --nodes 4 --report em3d.html",
            "narthex run ./program --interface NI2w -- -v 3",
            "narthex run ./program --env OMP_NUM_THREADS=4 --input questions.txt",
            "narthex run ./program --file mesh.dat=meshes/small.dat --output-files results",
            "narthex run ./program --until 10ms --timeout 60s",
            "narthex run em3d --checkpoint-every 30s --resume",
            "narthex run em3d 160 3 20 --nodes 4 --checkpoint-at region:main",
            "narthex run em3d 160 3 20 --nodes 4 --from em3d.warm --interface NI2w",
            "narthex run em3d 64 2 --nodes 4 --trace em3d.html --trace-functions",
            "narthex run em3d --profile - --profile-region main",
            "narthex run em3d --profile em3d.svg",
            "narthex run ./program --goal program.goal --otf2 program-otf2",
            "narthex run em3d --trace em3d.pftrace --trace-from 3ms --trace-to 3.1ms",
            "narthex run em3d --live",
            "narthex run em3d --live-page em3d-now.html",
            "narthex run roundtrip 64 --trace buses.vcd --trace-nodes 0",
            "narthex run --job 'em3d 256' --job 'gauss 64' --set machine.processors_per_node=2",
            "narthex run --job 'em3d 256 @ 0-7' --job 'gauss 64 @ 8-15'",
            "narthex run roundtrip 64 -i NI2w@rtl --waves ni2w.vcd",
            "narthex run roundtrip 64 -m forwarder.toml -i NI2w --firmware forwarder=mine.c",
        )
        + SURROUNDINGS,
    )(run)
    app.command(
        "compare",
        epilog=examples(
            "narthex compare roundtrip 64 --interface all",
            "narthex compare bandwidth 256 --interface NI2w,CNI32Qm --json -",
            "narthex compare roundtrip 64 --report roundtrip.html",
            "narthex compare roundtrip 64 --interface NI2w,CNI4,CNI32Qm --plot ranking.svg",
            "narthex compare roundtrip 64 -m isca96 -i 'NI2w, NI2w on io-bus'",
            "narthex compare em3d 160 3 20 --nodes 4 --from em3d.warm -i NI2w,CNI32Qm",
            "narthex compare roundtrip 8 --by 'round-trip latency, maximum'",
        ),
    )(compare)


def run(
    program: str | None = typer.Argument(
        None, help=PROGRAM_HELP, autocompletion=completion.programs
    ),
    args: list[str] | None = ARGUMENTS,
    machine: str = MACHINE,
    interface: list[str] = INTERFACE,
    nodes: int | None = NODES,
    set_: list[str] = SET_OPTION,
    job: list[str] = JOB,
    job_file: Path | None = JOB_FILE,
    firmware: list[str] = FIRMWARE,
    env: list[str] = ENV,
    input_: Path | None = INPUT,
    file: list[str] = FILE,
    directory: list[str] = DIRECTORY,
    output_files: Path | None = OUTPUT_FILES,
    threads: int = THREADS,
    seed: int | None = SEED,
    checkpoint: str | None = CHECKPOINT,
    checkpoint_every: str | None = CHECKPOINT_EVERY,
    resume: bool = RESUME,
    checkpoint_at: str | None = CHECKPOINT_AT,
    from_: Path | None = FROM,
    until: str | None = UNTIL,
    timeout: str | None = TIMEOUT,
    execute_wait_loops: bool = EXECUTE_WAIT_LOOPS,
    waves: Path | None = WAVES,
    waves_node: int | None = WAVES_NODE,
    trace: Path | None = TRACE,
    trace_nodes: str | None = TRACE_NODES,
    trace_from: str | None = TRACE_FROM,
    trace_to: str | None = TRACE_TO,
    trace_functions: bool = TRACE_FUNCTIONS,
    traffic: bool = TRAFFIC,
    traffic_interval: str | None = TRAFFIC_INTERVAL,
    goal: Path | None = GOAL,
    otf2: Path | None = OTF2,
    profile: str | None = PROFILE,
    profile_region: str | None = PROFILE_REGION,
    profile_by_node: bool = PROFILE_BY_NODE,
    live: bool = LIVE,
    live_page: Path | None = LIVE_PAGE,
    json_file: str | None = JSON_OPTION,
    report: Path | None = REPORT_OPTION,
    plot: Path | None = PLOT_OPTION,
    open_: bool = OPEN_OPTION,
) -> None:
    """Run a program and show where its time went."""
    from narthex import jobs, message_traces, running
    from narthex.cli.live import LiveView
    from narthex.live import Watched
    from narthex.programs import find
    from narthex.surroundings import Surroundings

    over = only_one("run", interface)
    target, page = JsonTarget(json_file), ReportTarget(report, opens=open_)
    picture = PlotTarget(plot)
    timeline = running.trace_request(
        trace, trace_nodes, trace_from, trace_to, functions=trace_functions
    )
    if trace:
        check_writable(trace, "--trace")
    if waves:
        check_writable(waves, "--waves")
    if live_page:
        check_writable(live_page, "--live-page")
    messages = message_traces.check_places(goal, otf2)
    keeper = ProfileTarget(profile, by_node=profile_by_node)
    listed = [*job, *(jobs.read_file(job_file) if job_file else [])]
    guest, described = jobs.request(find(program) if program else None, listed, inform, over)
    compile_program(guest, over)
    wanted = running.request(
        guest,
        args or [],
        jobs=described,
        machine=machine,
        interface=over,
        nodes=nodes,
        set=set_,
        firmware=firmware,
        surroundings=Surroundings(env, input_, file, directory, output_files),
        progress=inform,
        threads=threads,
        seed=seed,
        until=until,
        timeout=timeout,
        execute_wait_loops=execute_wait_loops,
        waves=waves,
        waves_node=waves_node,
        checkpoint=running.checkpoint_request(
            guest, checkpoint, checkpoint_every, resume=resume, at=checkpoint_at
        ),
        warm=running.warm_request(guest, checkpoint, checkpoint_at, from_),
    )
    traffic = traffic or traffic_interval is not None
    running.check_traffic(wanted, traffic=traffic)
    divided = running.profile_request(wanted, profile_region, profile=keeper.wanted)
    warn_of_idle(machine, set_, [over])
    printer = Printer(
        sys.stderr if target.to_stdout else sys.stdout,
        goes_on=bool(report or plot or trace or target.is_file or keeper.file),
    )
    running.check_messages(wanted, messages)
    observed: dict[str, Any] = {
        "trace": timeline,
        "traffic": traffic,
        "traffic_interval": traffic_interval,
        "profile": divided,
        "mpi": messages,
    }
    watched = Watched(f"Running {guest.name} on {wanted['interface']}", live_page)
    view = LiveView(watched, tables=live)
    if live or live_page:
        observed["standing"] = watched.hear
    traces = (goal, otf2)
    _simulate(wanted, guest, printer, target, page, picture, keeper, view, observed, traces)
    running.forget_checkpoint(wanted)


def _simulate(
    wanted: dict[str, Any],
    guest: "Program",
    printer: "Printer",
    target: JsonTarget,
    page: ReportTarget,
    picture: PlotTarget,
    keeper: "ProfileTarget",
    view: "LiveView",
    observed: dict[str, Any],
    traces: tuple[Path | None, Path | None],
) -> None:
    """Make a run, show it, and write what is wanted of it."""
    from narthex import message_traces, running

    lost: list[str] = []
    try:
        with view:
            document = running.simulate(
                wanted,
                guest,
                view.at,
                printer.write,
                inform,
                lost.append,
                **observed,
            ).document
    except NarthexError as error:
        _keep_what_was(error, printer, target, page, keeper)
    finish(
        printer.finish,
        lambda: message_traces.write(document, *traces),
        lambda: target.write(document),
        lambda: page.write_document(document),
        lambda: picture.draw(document, lambda: _ledger(document)),
        lambda: keeper.write(document),
        lambda: None if target.to_stdout else show(document),
        problem=NarthexError("; ".join(lost), NOT_WRITTEN) if lost else None,
    )


def _ledger(document: dict[str, Any]) -> "tuple[Chart, str]":
    """Return where the time went as a chart, and what it is of."""
    from narthex.report.runs import ledger_chart
    from narthex.results import Result

    return ledger_chart(document, "activity"), Result(document).title


def _keep_what_was(
    error: NarthexError,
    printer: "Printer",
    target: JsonTarget,
    page: ReportTarget,
    keeper: "ProfileTarget",
) -> NoReturn:
    """Write what there is of a run that has no result; then raise the error."""
    steps = [printer.finish]
    if (document := error.document) is not None:
        steps += [lambda: target.write(document), lambda: page.write_document(document)]
        if "profile" in document:
            steps.append(lambda: keeper.write(document))
    finish(*steps, problem=error)
    raise error


class ProfileTarget:
    """Where `--profile` writes; made before any work, so that a bad place is found first."""

    def __init__(self, place: str | None, *, by_node: bool) -> None:
        from narthex import profiles

        if place is not None:
            place = file_of("--profile", place)
        self.wanted = place is not None
        """Whether there is a `--profile` at all."""
        self.file = None if place in (None, "-") else Path(str(place))
        self._by_node = by_node
        if by_node and not self.wanted:
            raise NarthexError("--profile-by-node needs --profile", USAGE)
        if self.file is not None:
            profiles.ending(self.file)
            check_writable(self.file, "--profile")

    def write(self, document: dict[str, Any]) -> None:
        """Write a run's profile, if one is wanted."""
        from narthex import profiles

        if not self.wanted:
            return
        profiles.check_region(document)
        if self.file is not None:
            with keeping(document, self.file):
                profiles.save(document, self.file, by_node=self._by_node)
            inform(f"the profile is in '{self.file}'")


class Printer:
    """Prints what the program writes, as it writes it.

    Once a second process writes, lines begin with the number of their node, or
    with "node.process" if they are not from its first process; the lines before
    cannot be told apart any more and need not: they are one's. Lines of firmware
    begin with its node and "firmware" in any case.
    """

    def __init__(self, stdout: TextIO, *, goes_on: bool = False) -> None:
        self._streams = {"stdout": stdout, "stderr": sys.stderr, "firmware": stdout}
        self._goes_on = goes_on
        """Whether the run does when its output is not read: it has something else to write."""
        self._writers: set[str] = set()
        self._parts: dict[tuple[str, str], bytearray] = defaultdict(bytearray)

    def write(self, node: int, process: int, stream: str, data: bytes) -> None:
        """Print the whole lines that are there.

        Raises `BrokenPipeError` where nobody reads them, and nothing else is to be written.
        """
        from narthex.results import place_of

        writer = place_of({"node": node, "process": process, "stream": stream})
        self._writers.add(writer)
        begun = self._parts[writer, stream]
        # Only what is new is searched: a line may come byte by byte.
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._print(writer, stream, bytes(begun) + end)
            begun.clear()
        begun += rest
        if not (self._goes_on or is_read(self._streams["stdout"])):
            raise BrokenPipeError

    def finish(self) -> None:
        """Print the last lines, which have no end."""
        for (writer, stream), rest in self._parts.items():
            if rest:
                self._print(writer, stream, bytes(rest))

    def _print(self, writer: str, stream: str, line: bytes) -> None:
        is_marked = len(self._writers) > 1 or stream == "firmware"
        prefix = f"[{writer}] " if is_marked else ""
        try:
            print(prefix + line.decode(errors="replace"), file=self._streams[stream], flush=True)
        except OutputError:
            if not self._goes_on:
                raise


def show(document: dict[str, Any]) -> None:
    """Print what a run waited for, its reports, and where the time went, also of its regions."""
    from narthex import jobs
    from narthex.cli import waits
    from narthex.results import (
        ledger_rows,
        place_of,
        region_ledger_rows,
        reports_of,
    )

    reports = [
        (
            place_of(report),
            report["name"],
            notation.text(report["value"]),
            report["unit"],
        )
        for report in reports_of(document)
    ]
    columns = ["node", "name", "value", "unit"]
    if "jobs" in document:
        columns = ["job", *columns]
        reports = [
            (jobs.job_at(document, report["node"], report["process"]), *row)
            for report, row in zip(document["reports"], reports, strict=True)
        ]
    waits.show(document)
    if reports:
        print_table("Reported", columns, reports, ["node", "value"])
    _show_ledger("Where the time went, in percent", document, list(ledger_rows(document)))
    names = list(dict.fromkeys(region["name"] for region in document["regions"]))
    for name in names[:MOST_REGIONS]:
        title = f"Where the time of region '{name}' went, in percent"
        _show_ledger(title, document, list(region_ledger_rows(document, name)))
    if len(names) > MOST_REGIONS:
        more = notation.counted(len(names) - MOST_REGIONS, "more region")
        say(f"not shown: {more}; --json FILE has them all")
    time_us = document["simulated_ps"] / 1e6
    if "traffic" in document:
        _show_traffic(document["traffic"])
    if "profile" in document:
        _show_profile(document)
    retired = sum(
        processor["retired"] for node in document["nodes"] for processor in node["processors"]
    )
    ran = jobs.words(document) if "jobs" in document else document["program"]
    say(
        f"{ran} on {document['interface']}, {notation.counted(len(document['nodes']), 'node')}:"
        f" {time_us:,.3f} us simulated, {notation.counted(retired, 'instruction')}"
    )


def _show_traffic(traffic: dict[str, Any]) -> None:
    """Print the pairs that exchange most."""
    pairs = sorted(traffic["pairs"], key=lambda pair: -pair["packets"])
    rows = [
        (
            str(pair["from"]),
            str(pair["to"]),
            f"{pair['messages']:,}" if "messages" in pair else "",
            f"{pair['packets']:,}",
            f"{pair['bytes']:,}",
            notation.text(latency["sum"] / latency["count"] / 1e3),
            notation.text(latency["maximum"] / 1e3),
        )
        for pair in pairs[:MOST_PAIRS]
        for latency in [pair.get("message_latency_ps", pair["packet_latency_ps"])]
        if latency["count"]
    ]
    columns = ["from", "to", "messages", "packets", "bytes", "mean, ns", "largest, ns"]
    if rows:
        print_table("Who talks to whom", columns, rows, columns)
    if len(pairs) > MOST_PAIRS:
        more = notation.counted(len(pairs) - MOST_PAIRS, "more pair")
        say(f"not shown: {more}; --json FILE has them all")


def _show_profile(document: dict[str, Any]) -> None:
    """Print the functions and lines with most time of their own."""
    from narthex import profiles

    found = profiles.functions(document)
    all_ps = max(sum(each.own_ps for each in found), 1)
    rows = []
    for each in found[:MOST_FUNCTIONS]:
        most = [
            f"{100 * time / each.own_ps:.0f} {activity} / {occupation}"
            for (activity, occupation), time in each.categories.most_common(MOST_CATEGORIES)
        ]
        times = (notation.text(time / 1e6) for time in (each.own_ps, each.total_ps))
        shares = (f"{100 * time / all_ps:.1f}" for time in (each.own_ps, each.total_ps))
        rows.append((*shares, *times, each.name, ", ".join(most)))
    numbers = ["self, %", "total, %", "self, us", "total, us"]
    columns = [*numbers, "function", "of self, percent"]
    region = document["profile"]["region"]
    of = "" if region is None else f" of region '{region}'"
    title = f"Time{of} by function, all processors"
    optional = ["total, us", "of self, percent", "self, us"]
    print_table(title, columns, rows, numbers, prose=columns[5:], optional=optional)
    shown = [
        (f"{100 * time / all_ps:.1f}", notation.text(time / 1e6), function, place)
        for function, place, time in profiles.lines(document)[:MOST_LINES]
    ]
    if shown:
        columns = ["self, %", "self, us", "function", "line"]
        title = f"Time{of} by line, all processors"
        print_table(title, columns, shown, columns[:2], optional=columns[1:3])
    if len(found) > MOST_FUNCTIONS:
        more = notation.counted(len(found) - MOST_FUNCTIONS, "more function")
        say(f"not shown: {more}; --profile FILE has them all")


def _show_ledger(
    title: str, document: dict[str, Any], ledger: list[tuple[int, int, str, str, int]]
) -> None:
    """Print a ledger, in as few groups of processors as the terminal has room for."""
    from narthex.results import LARGEST_NODES, ledger_shares

    for most in range(LARGEST_NODES, 1, -1):
        processors, rows = ledger_shares(document, ledger, most)
        columns = ["activity", "spent in", *processors]
        if fits_whole(columns_of(columns, rows, processors), console().width):
            break
    print_table(title, columns, rows, processors)


def compare(
    program: str = PROGRAM,
    args: list[str] | None = ARGUMENTS,
    interface: list[str] = several_interfaces(["all"], f"'all', or names {SEVERAL}. {WHERE}"),
    by: str | None = typer.Option(
        None, "--by", help="Rank by this report; by the program's first if not given."
    ),
    machine: str = MACHINE,
    nodes: int | None = NODES,
    set_: list[str] = SET_OPTION,
    firmware: list[str] = FIRMWARE,
    env: list[str] = ENV,
    input_: Path | None = INPUT,
    file: list[str] = FILE,
    directory: list[str] = DIRECTORY,
    threads: int = THREADS,
    seed: int | None = SEED,
    from_: Path | None = FROM,
    until: str | None = UNTIL,
    timeout: str | None = TIMEOUT,
    jobs: int = AT_A_TIME,
    json_file: str | None = JSON_OPTION,
    report: Path | None = REPORT_OPTION,
    plot: Path | None = PLOT_OPTION,
    open_: bool = OPEN_OPTION,
) -> None:
    """Run the same binary over several interfaces and rank them."""
    from narthex import comparison
    from narthex.programs import find

    target, page = JsonTarget(json_file), ReportTarget(report, opens=open_)
    picture = PlotTarget(plot)
    names = split_names(interface)
    guest = find(program)
    compile_program(guest)
    is_all = [name.casefold() for name in names] == ["all"]
    warn_of_idle(machine, set_, comparison.interface_names() if is_all else names)
    with Waiting(f"Comparing {guest.name}") as waiting:
        found = comparison.compare(
            guest,
            *(args or []),
            interfaces=names,
            by=by,
            machine=machine,
            nodes=nodes,
            set=set_,
            firmware=firmware,
            env=env,
            input=input_,
            files=file,
            directories=directory,
            threads=threads,
            seed=seed,
            start_from=from_,
            until=until,
            timeout=timeout,
            jobs=jobs,
            observer=lambda name: (
                lambda time_ps: waiting.update(f"{name}, {time_ps / 1e9:.3f} ms simulated")
            ),
        )
    document = found.document
    finish(
        lambda: target.write(document),
        lambda: page.write_document(document),
        lambda: picture.draw(document, lambda: (found.ranking(), found.title)),
        lambda: None if target.to_stdout else _show_ranking(found, machine),
    )
    failed = [each.exit_code for each in found.unranked if each.status == comparison.FAILED]
    raise typer.Exit(failed[0] if failed else 0)


def _show_ranking(found: "Comparison", machine: str) -> None:
    """Print the interfaces, best first, and why others have no value."""
    from narthex.comparison import RANKED

    rows = [
        (row["rank"], row["interface"], notation.text(row["value"]), row["unit"], _ratio(row))
        for row in found.rows()
        if row["status"] == RANKED
    ]
    columns = ["rank", "interface", found.measure, "unit", "from the best"]
    first = found.document["runs"][0]
    words = " ".join([first["program"], *first["arguments"]])
    title = f"{words} on {machine}, by {found.measure}"
    print_table(title, columns, rows, ["rank", found.measure, "from the best"])
    _show_unranked(found)


def _show_unranked(found: "Comparison") -> None:
    """Print the interfaces without a value, those of the same reason together."""
    from narthex.comparison import grouped

    for status in dict.fromkeys(each.status for each in found.unranked):
        reasons = {each.interface: each.reason for each in found.unranked if each.status == status}
        for names, reason in grouped(reasons):
            first, _, more = reason.partition("\n")
            all_of_it = f" ('narthex run' with -i '{names[0]}' says more)" if more else ""
            say(f"{status}: {', '.join(names)}: {first}{all_of_it}")


def _ratio(row: dict[str, Any]) -> str:
    return "" if row["times_best"] is None else f"{row['times_best']:.2f} x"
