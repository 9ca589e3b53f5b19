"""`narthex run`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from narthex.cli import completion
from narthex.cli.console import (
    JSON_OPTION,
    SET_OPTION,
    JsonTarget,
    check_writable,
    compile_program,
    examples,
    file_of,
    finish,
    keeping,
    only_one,
    warn_of_idle,
)
from narthex.cli.options import (
    ARGUMENTS,
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
    PROGRAM_HELP,
    RESUME,
    SEED,
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
)
from narthex.cli.printer import Printer
from narthex.cli.reporting import OPEN_OPTION, PLOT_OPTION, REPORT_OPTION, PlotTarget, ReportTarget
from narthex.cli.run_tables import show
from narthex.cli.terminal import inform
from narthex.errors import NOT_WRITTEN, USAGE, NarthexError

if TYPE_CHECKING:
    from narthex.cli.live import LiveView
    from narthex.programs import Program
    from narthex.report.parts import Chart

SURROUNDINGS = """

Programs find no input, no files and no variables of this computer: give them arguments, --env,
--input, --file and --directory.

Exit codes: 0 ended well, 1 the program failed, 2 wrong usage, 3 no progress, 130 interrupted,
141 the program's output was not read any more.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
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
    printer: Printer,
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
    printer: Printer,
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
