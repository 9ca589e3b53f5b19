"""`narthex run`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

import typer

from narthex.cli import completion
from narthex.cli.console import (
    JSON_OPTION,
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
    GOAL,
    INTERFACE,
    JOB,
    JOB_FILE,
    LIVE,
    OTF2,
    PROFILE,
    PROFILE_BY_NODE,
    PROGRAM_HELP,
    taking,
)
from narthex.cli.printer import Printer
from narthex.cli.reporting import OPEN_OPTION, PLOT_OPTION, REPORT_OPTION, PlotTarget, ReportTarget
from narthex.cli.run_tables import show
from narthex.cli.terminal import inform
from narthex.errors import NOT_WRITTEN, USAGE, NarthexError
from narthex.options import RunOptions, default_interface, options_of

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


@taking(RunOptions)
def run(
    program: str | None = typer.Argument(
        None, help=PROGRAM_HELP, autocompletion=completion.programs
    ),
    args: list[str] | None = ARGUMENTS,
    interface: list[str] = INTERFACE,
    job: list[str] = JOB,
    job_file: Path | None = JOB_FILE,
    *,
    goal: Path | None = GOAL,
    otf2: Path | None = OTF2,
    profile: str | None = PROFILE,
    profile_by_node: bool = PROFILE_BY_NODE,
    live: bool = LIVE,
    json_file: str | None = JSON_OPTION,
    report: Path | None = REPORT_OPTION,
    plot: Path | None = PLOT_OPTION,
    open_: bool = OPEN_OPTION,
    **options: Unpack[RunOptions],
) -> None:
    """Run a program and show where its time went."""
    from narthex import jobs, message_traces, running
    from narthex.cli.live import LiveView
    from narthex.live import Watched
    from narthex.programs import find

    over = only_one("run", interface or [default_interface(options["machine"], options["set"])])
    target, page = JsonTarget(json_file), ReportTarget(report, opens=open_)
    picture = PlotTarget(plot)
    for name in ("trace", "waves", "live_page"):
        if options[name]:
            check_writable(Path(options[name]), options_of(RunOptions)[name][1].flag_of(name))
    messages = message_traces.check_places(goal, otf2)
    keeper = ProfileTarget(profile, by_node=profile_by_node)
    listed = [*job, *(jobs.read_file(job_file) if job_file else [])]
    guest, described = jobs.request(find(program) if program else None, listed, inform, over)
    compile_program(guest, over)
    wanted = running.request(
        guest, args or [], jobs=described, interface=over, progress=inform, **options
    )
    observed = running.observations(wanted, profile=keeper.wanted, **options)
    warn_of_idle(options["machine"], options["set"], [over])
    printer = Printer(
        sys.stderr if target.to_stdout else sys.stdout,
        goes_on=bool(report or plot or options["trace"] or target.is_file or keeper.file),
    )
    running.check_messages(wanted, messages)
    place = options["live_page"]
    watched = Watched(f"Running {guest.name} on {wanted['interface']}", place and Path(place))
    view = LiveView(watched, tables=live)
    observed["mpi"] = messages
    if live or place:
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
