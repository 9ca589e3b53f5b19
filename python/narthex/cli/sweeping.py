"""`narthex sweep`: many runs over parameters, into one table."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from narthex import notation
from narthex.cli.console import (
    JSON_OPTION,
    JsonTarget,
    Waiting,
    check_writable,
    compile_program,
    examples,
    finish,
    within,
)
from narthex.cli.options import NODES, SET, TIMEOUT, UNTIL
from narthex.cli.reporting import OPEN_OPTION, PLOT_OPTION, REPORT_OPTION, ReportTarget
from narthex.cli.tables import print_table
from narthex.cli.terminal import inform, say, tell, warn
from narthex.errors import GUEST_FAILED, INTERRUPTED, NarthexError

if TYPE_CHECKING:
    import polars

    from narthex.sweeps.execution import Progress
    from narthex.sweeps.planning import Plan

MOST_ROWS = 40
"""Rows that are printed; files have them all."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "sweep",
        epilog=examples(
            "narthex sweep queue-size.toml --list",
            "narthex sweep queue-size.toml --jobs 4 --plot queue-size.html",
            "narthex sweep queue-size.toml --report queue-size.html",
            "narthex sweep queue-size.toml --dask tcp://10.0.0.7:8786",
            "narthex sweep queue-size.toml --slurm --output /scratch/queue-size",
            "narthex sweep --schema > sweep.schema.json",
        ),
    )(sweep)


def _print_schema(wanted: bool) -> None:
    if wanted:
        from narthex.configuration import schemas

        JsonTarget("-").write(schemas.sweep())
        raise typer.Exit


def sweep(
    file: Path = typer.Argument(..., help="The sweep: a TOML file (docs/sweeps.md)."),
    jobs: int | None = typer.Option(
        None,
        "--jobs",
        "-j",
        **within("jobs"),
        help="Runs at a time; as many as this machine has cores.",
    ),
    dask: str | None = typer.Option(
        None, metavar="ADDRESS", help="Run on the Dask cluster there: tcp://host:8786."
    ),
    slurm: bool = typer.Option(
        False, "--slurm", help="Run in the Slurm jobs of the file's [slurm]."
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="FOLDER", help="Results; results/NAME if not given."
    ),
    list_: bool = typer.Option(False, "--list", help="Show the runs, and make none."),
    restart: bool = typer.Option(
        False, "--restart", help="Move the folder of results aside, and begin anew."
    ),
    retry_failed: bool = typer.Option(False, "--retry-failed", help="Repeat runs that failed."),
    nodes: int | None = NODES,
    set_: list[str] = SET,
    threads: int | None = typer.Option(
        None, "--threads", **within("threads"), help="Host threads of a run."
    ),
    until: str | None = UNTIL,
    timeout: str | None = TIMEOUT,
    keep_documents: bool = typer.Option(
        False, "--keep-documents", help="Keep all that each run returned, as compressed JSON."
    ),
    json_file: str | None = JSON_OPTION,
    plot: Path | None = PLOT_OPTION,
    report: Path | None = REPORT_OPTION,
    open_: bool = OPEN_OPTION,
    x: str | None = typer.Option(None, "--x", metavar="PARAMETER", help="What is drawn across."),
    color: str | None = typer.Option(
        None, "--color", metavar="PARAMETER", help="What has a line for each value."
    ),
    _schema: bool = typer.Option(
        False,
        "--schema",
        callback=_print_schema,
        is_eager=True,
        help="Print the JSON Schema of sweeps' files, for editors, and exit.",
    ),
) -> None:
    """Run programs over lists, ranges and samples of parameters, into one table.

    Finished runs are kept as Parquet files: the same command goes on where an
    interrupted one ended. A run that fails is a row with its error and stops no
    other; the exit code of the first is then the command's.
    """
    from narthex.configuration import warnings
    from narthex.documents import read_sweep
    from narthex.sweeps import execution, plots

    target, page = JsonTarget(json_file), ReportTarget(report, opens=open_)
    planned = execution.planned_of(
        file,
        compile_program,
        nodes=nodes,
        set=set_,
        threads=threads,
        until=until,
        timeout=timeout,
    )
    plots.check(planned, x, color, is_drawn=plot is not None)
    warn(warnings.of_requests(run.request for run in planned.runs))
    _check_plot(plot)
    if list_:
        _list(planned, target, slurm)
        return
    folder = output or Path("results") / planned.definition.name
    table = _Sweep(planned, folder).run(jobs, dask, slurm, restart, retry_failed, keep_documents)
    finish(
        lambda: target.write(_document(planned, rows=table.to_dicts())),
        lambda: None if target.to_stdout else _show(planned, table, folder),
        lambda: plots.write(table, planned.definition, plot, x, color) if plot else None,
        lambda: page.write([read_sweep(folder)], []) if report else None,
        lambda: _tell_failures(table, folder),
    )
    raise typer.Exit(_exit_code(table))


def _check_plot(plot: Path | None) -> None:
    from narthex.report.pictures import check_file

    if plot:
        check_file(plot)
        check_writable(plot, "--plot")


class _Sweep:
    """Makes the runs of a sweep, and says which are kept when they do not come to their end."""

    def __init__(self, planned: "Plan", folder: Path) -> None:
        self._planned = planned
        self._folder = folder
        self._begun = False
        """Whether runs can have been made."""

    def run(
        self, jobs: int | None, dask: str | None, slurm: bool, restart: bool, retry_failed: bool,
        keep_documents: bool,
    ) -> "polars.DataFrame":  # fmt: skip
        """Make the runs; an error says which are kept, and how to go on."""
        try:
            return self._run(jobs, dask, slurm, restart, retry_failed, keep_documents)
        except KeyboardInterrupt:
            raise NarthexError(f"interrupted; {self._kept()}", INTERRUPTED) from None
        except NarthexError as error:
            if not self._begun:
                raise
            raise NarthexError(f"{error}; {self._kept()}", error.exit_code) from error

    def _run(
        self, jobs: int | None, dask: str | None, slurm: bool, restart: bool, retry_failed: bool,
        keep_documents: bool,
    ) -> "polars.DataFrame":  # fmt: skip
        from narthex.sweeps import execution

        with Waiting(self._planned.definition.name) as waiting:

            def update(progress: "Progress") -> None:
                self._begun = True
                waiting.update(_words(progress), progress.done, progress.total, progress.left_s)

            return execution.sweep(
                self._planned,
                jobs=jobs,
                dask=dask,
                slurm=slurm,
                output=self._folder,
                restart=restart,
                retry_failed=retry_failed,
                keep_documents=keep_documents,
                progress=update,
                note=inform,
            )

    def _kept(self) -> str:
        """Say what is not lost, and how to go on."""
        from narthex.sweeps.folder import is_finished

        runs = self._planned.runs
        kept = sum(is_finished(self._folder, run.key) for run in runs)
        return (
            f"{kept} of {len(runs)} runs are in '{self._folder}':"
            " the same command goes on from there"
        )


def _words(progress: "Progress") -> str:
    failed = f", {progress.failed} failed" if progress.failed else ""
    where = f"{progress.at_a_time} at a time" if progress.at_a_time else "no worker yet"
    return f"{progress.done} of {progress.total} runs{failed}, {where}"


def _list(planned: "Plan", target: JsonTarget, slurm: bool) -> None:
    """Show what would be run."""
    from narthex.sweeps.planning import try_interfaces

    try_interfaces(planned)
    runs = [{"key": run.key, "name": run.name, "request": run.request} for run in planned.runs]
    target.write(_document(planned, runs=runs))
    if target.to_stdout:
        return
    rows = [
        (number, " ".join([run.guest.name, *run.request["args"]]), run.request["interface"],
         run.nodes, " ".join(run.request["set"]))
        for number, run in enumerate(planned.runs[:MOST_ROWS], start=1)
    ]  # fmt: skip
    columns = ["run", "program", "interface", "nodes", "machine"]
    print_table(
        planned.definition.title or planned.definition.name, columns, rows, ["run", "nodes"]
    )
    _print_rest(len(planned.runs))
    say(notation.counted(len(planned.runs), "run"))
    if slurm and planned.definition.slurm:
        from narthex.sweeps.cluster import slurm_jobs

        with slurm_jobs(planned.definition.slurm) as jobs:
            say(f"\nEach Slurm job:\n\n{jobs.job_script()}")


def _document(planned: "Plan", **content: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Return what `--json` writes."""
    from narthex import _native

    name = planned.definition.name
    return {"schema": 1, "version": _native.__version__, "sweep": name, **content}


def _show(planned: "Plan", table: "polars.DataFrame", folder: Path) -> None:
    """Print the parameters and reports of each run, and where the tables are."""
    from narthex.sweeps.tables import runs_schema

    parameters = [axis.column for axis in planned.definition.axes]
    reports = [name for name in table.columns if name not in runs_schema(planned.definition)]
    columns = [*parameters, "status", *reports, "simulated_us"]
    rows = [[_cell(cell) for cell in row] for row in table.head(MOST_ROWS).select(columns).rows()]
    numbers = [name for name in columns if table[name].dtype.is_numeric()]
    title = planned.definition.title or planned.definition.name
    print_table(title, columns, rows, numbers, keys=len(parameters))
    _print_rest(table.height)
    runs = notation.counted(table.height, "run")
    say(f"{runs} in '{folder}': results.parquet, runs/, measurements/")


def _print_rest(rows: int) -> None:
    if rows > MOST_ROWS:
        say(f"and {rows - MOST_ROWS} more")


def _cell(value: Any) -> str:  # noqa: ANN401 - of any column
    if value is None:
        return ""
    return notation.text(value) if isinstance(value, float) else str(value)


def _exit_code(table: "polars.DataFrame") -> int:
    """Return the exit code of the first run that failed."""
    failed = table.filter(status="failed")
    return (failed["exit_code"][0] or GUEST_FAILED) if failed.height else 0


def _tell_failures(table: "polars.DataFrame", folder: Path) -> None:
    """Tell which runs failed, a line each, and where the whole of a longer error is."""
    from narthex.sweeps.folder import errors_file

    failed = table.filter(status="failed")
    for key, name, error in failed.select("key", "name", "error").head(MOST_ROWS).rows():
        first, _, more = error.partition("\n")
        tell(f"{name}: {first}{f' ({errors_file(folder, key)} has all)' if more else ''}")
    if failed.height > MOST_ROWS:
        tell(f"and {failed.height - MOST_ROWS} more failed")
