"""`narthex interfere`: what jobs cost each other."""

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import typer

from narthex.cli.console import (
    JSON_OPTION,
    JsonTarget,
    Waiting,
    examples,
    finish,
)
from narthex.cli.options import AT_A_TIME, FRESH, JOB, JOB_FILE, taking
from narthex.cli.reporting import (
    OPEN_OPTION,
    PLOT_OPTION,
    REPORT_OPTION,
    PlotTarget,
    ReportTarget,
)
from narthex.cli.tables import print_table
from narthex.options import DEFAULT_INTERFACE, MachineOptions

if TYPE_CHECKING:
    from narthex.interference import Interference

TWO_JOBS = "--job 'em3d 64 @ 0-7:2' --job 'bandwidth 256 50 @ 1,3'"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "interfere",
        epilog=examples(
            f"narthex interfere {TWO_JOBS} --machine cluster --nodes 8",
            "narthex interfere --job-file jobs.toml --plot slowdown.svg",
            "narthex interfere --job-file jobs.toml --report interference.html",
        ),
    )(interfere)


@taking(MachineOptions)
def interfere(
    job: list[str] = JOB,
    job_file: Path | None = JOB_FILE,
    by: str | None = typer.Option(
        None, "--by", help="Measure jobs by this report; each by its first if not given."
    ),
    interface: str | None = typer.Option(
        None,
        "--interface",
        "-i",
        metavar="NAME",
        help=f"The network interface.  {DEFAULT_INTERFACE}",
    ),
    *,
    jobs: int = AT_A_TIME,
    fresh: bool = FRESH,
    json_file: str | None = JSON_OPTION,
    report: Path | None = REPORT_OPTION,
    plot: Path | None = PLOT_OPTION,
    open_: bool = OPEN_OPTION,
    **options: Unpack[MachineOptions],
) -> None:
    """Run jobs together, alone and in pairs, and show how much each costs the others."""
    from narthex import interference
    from narthex.jobs import Job, read_file

    target, page = JsonTarget(json_file), ReportTarget(report, opens=open_)
    picture = PlotTarget(plot)
    listed: list[str | Job] = [*job, *(read_file(job_file) if job_file else [])]
    with Waiting("Running the jobs") as waiting:
        found = interference.interfere(
            listed,
            by=by,
            interface=interface,
            fresh=fresh,
            at_a_time=jobs,
            progress=waiting.runs,
            **options,
        )
    finish(
        lambda: target.write(found.document),
        lambda: page.write_document(found.document),
        lambda: picture.draw(found.document, lambda: (found.map(), found.title)),
        lambda: None if target.to_stdout else show(found),
    )


def show(found: "Interference") -> None:
    """Print a row for each job and what runs beside it."""
    from narthex.interference import COLUMNS, NUMBERS

    print_table(found.title, COLUMNS, found.rows(), NUMBERS)
