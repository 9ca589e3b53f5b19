"""`narthex experiment`: measured beside published, and the paper's claims."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from narthex.cli import completion
from narthex.cli import sensitivity as sensitivity_tables
from narthex.cli.console import (
    JSON_OPTION,
    JsonTarget,
    Waiting,
    check_writable,
    compile_program,
    examples,
    finish,
    keeping,
    split_names,
    within,
)
from narthex.cli.options import FRESH, SET, SEVERAL, several_interfaces
from narthex.cli.reporting import OPEN_OPTION, PLOT_OPTION, REPORT_OPTION, ReportTarget
from narthex.cli.tables import print_table
from narthex.cli.terminal import say, tell, warn
from narthex.errors import CLAIM_FAILED, USAGE, NarthexError

if TYPE_CHECKING:
    from narthex.validation import Claim, Experiment, Outcome, Row

ALL = "all"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "experiment",
        epilog=examples(
            "narthex experiment hpca98/roundtrip",
            "narthex experiment hpca98/roundtrip hpca98/bandwidth --interface NI2w,CNI32Qm",
            "narthex experiment all --json result.json",
            "narthex experiment hpca98/macro-fifo --plot fifo.html",
            "narthex experiment hpca98/roundtrip --report roundtrip.html",
            "narthex experiment hpca98/roundtrip --set bus.clock=125MHz",
            "narthex experiment modern/load-latency -m mine.toml -i NI2w,Ring --plot load.svg",
            "narthex experiment hpca98/roundtrip --sensitivity --report roundtrip.html",
            "narthex experiment hpca98/roundtrip --sensitivity --parameter flow_control,bus"
            " --interface NI2w,CNI32Qm --workload '64 bytes'",
        ),
    )(experiment)


def experiment(
    names: list[str] = typer.Argument(
        ...,
        metavar="NAME...",
        help="PAPER/NAME (see 'narthex list experiments'), or a TOML file; 'all' for all of them.",
        autocompletion=completion.experiments,
    ),
    interface: list[str] = several_interfaces(
        [ALL], f"Only these, {SEVERAL}, and what needs no others."
    ),
    workload: list[str] = typer.Option(
        [], "--workload", "-w", help="Only this one, and what needs no others; may be repeated."
    ),
    sensitivity: bool = typer.Option(
        False,
        "--sensitivity",
        help="Also measure with each assumed parameter halved and doubled, or at its alternatives.",
    ),
    parameter: str = typer.Option(
        "",
        "--parameter",
        help="With --sensitivity: only these keys, or tables of them, with commas between.",
    ),
    machine: str = typer.Option(
        "",
        "--machine",
        "-m",
        help="A machine in the place of the experiment's: a preset or a TOML file.",
        autocompletion=completion.machines,
    ),
    set_: list[str] = SET,
    jobs: int = typer.Option(2, "--jobs", "-j", **within("jobs"), help="Runs at a time."),
    fresh: bool = FRESH,
    json_file: str | None = JSON_OPTION,
    plot: Path | None = PLOT_OPTION,
    report: Path | None = REPORT_OPTION,
    open_: bool = OPEN_OPTION,
) -> None:
    """Measure a published table again.

    Prints measured values beside published ones, how far they are from them,
    and which of the paper's claims hold. Exits with 4 when a claim does not
    hold; a row outside the experiment's limit is marked, and changes no exit
    code. Finished runs are kept: an interrupted experiment goes on from there.
    A run that fails leaves its cell empty and stops no other; it is told at the
    end, and its exit code is the command's.

    --sensitivity says which rows and claims hang on what the machine's file
    assumes. It makes some 45 times the experiment's own runs: ten minutes on
    two cores for hpca98/roundtrip, many hours for programs; --parameter,
    --interface and --workload say which are enough.
    """
    from narthex import validation
    from narthex.configuration import warnings
    from narthex.validation import plots

    target, page = JsonTarget(json_file), ReportTarget(report, opens=open_)
    names = _all_that_can_be() if names == [ALL] else names
    interfaces = [] if [name.strip().casefold() for name in interface] == [ALL] else interface
    parameters = split_names(parameter) if parameter else []
    if parameters and not sensitivity:
        raise NarthexError("--parameter chooses among those of --sensitivity: give both", USAGE)
    measured = {
        "interfaces": interfaces,
        "workloads": workload,
        "machine": machine,
        "set": set_,
        "sensitivity": sensitivity,
        "parameters": parameters,
        "jobs": jobs,
        "fresh": fresh,
    }
    if plot:
        plots.check(plot, names)
        check_writable(plot, "--plot")
    for name in names:  # every name is checked before the first run
        definition = validation.only(validation.load(name, machine), interfaces, workload)
        validation.check(definition, name, set_)
        warn(warnings.of_requests(validation.choices(definition, set_)))
    outcomes: list[Outcome] = []
    problems: list[tuple[str, NarthexError]] = []
    for name in names:
        try:
            outcome = _made(name, measured)
        except NarthexError as error:  # of this experiment; the others go on
            problems.append((name, error))
            continue
        outcomes.append(outcome)
        if not target.to_stdout:
            show(outcome)
    if len(names) > 1 and not target.to_stdout:
        _show_overview(outcomes)
    code = _told(outcomes, problems)
    if outcomes:
        document = _document(outcomes)

        def draw() -> None:
            if plot:
                with keeping(document, plot):
                    plots.write(outcomes[0], plot)

        finish(
            draw,
            lambda: target.write(document),
            lambda: page.write_document(document),
        )
    raise typer.Exit(code)


def _all_that_can_be() -> list[str]:
    """Return every experiment but those whose extra is missing, which are told of."""
    from narthex import extras, validation

    names = []
    for name in validation.names():
        extra = validation.load(name).needs
        if extra and extras.lacking(extra):
            tell(f"{name}: skipped: needs narthex[{extra}] ({extras.remedy(extra)})")
        else:
            names.append(name)
    return names


def _made(name: str, measured: dict[str, Any]) -> "Outcome":
    """Run one experiment, and say how far it is."""
    from narthex import validation
    from narthex.programs import find

    for program in validation.load(name).programs:
        compile_program(find(program))
    with Waiting(name) as waiting:
        return validation.experiment(
            name,
            **measured,
            progress=waiting.runs,
        )


def _told(outcomes: "list[Outcome]", problems: list[tuple[str, NarthexError]]) -> int:
    """Tell what went wrong; returns its exit code: that of runs that failed before claims'."""
    codes = []
    for outcome in outcomes:
        for failure in outcome.failures:
            place = f"{failure.experiment}: {failure.interface}, {failure.workload}"
            tell(f"{place}, seed {failure.seed}: {failure.reason}")
            codes.append(failure.exit_code)
    for name, error in problems:
        tell(f"{name}: {error}")
        codes.append(error.exit_code)
    if codes:
        return codes[0]
    return 0 if all(outcome.holds for outcome in outcomes) else CLAIM_FAILED


def _document(outcomes: "list[Outcome]") -> dict[str, object]:
    """Join several experiments into one document of the same form."""
    first, *others = [outcome.document for outcome in outcomes]
    for other in others:
        for key in ("rows", "claims", "summaries", "failures", "ledgers", "varied", "untried"):
            first[key] += other[key]
    return first


def show(outcome: "Outcome") -> None:
    """Print the tables, how far they are from the paper, and the claims."""
    from narthex.validation import wording

    _show_measured(outcome.experiment, [row for row in outcome.rows if row.baseline is None])
    derived = [row for row in outcome.rows if row.baseline is not None]
    if derived:
        print_table(
            "Derived (a relation's error in percent is that of the ratio)",
            ["interface", "against", "over", "", "measured", "published", "unit", "error"],
            [_derived_cells(row) for row in derived],
            ["measured", "published", "error"],
        )
    say(wording.summary_line(outcome.summary))
    for name in outcome.summary.without_value:
        say(f"  has no value where the paper prints one: {name}")
    for name in outcome.summary.outside_limits:
        say(f"  outside its limit: {name}")
    if outcome.claims:
        rows = [
            (wording.verdict(claim), _sentence(claim, outcome), claim.source)
            for claim in outcome.claims
        ]
        print_table("Claims", ["", "claim", "source"], rows, prose=["claim", "source"])
    sensitivity_tables.show(outcome)


def _show_measured(experiment: "Experiment", rows: "list[Row]") -> None:
    third = "nearest" if experiment.message_sizes else "spread"
    numbers = ["measured", third, "published", "error"]
    units = ", ".join(dict.fromkeys(row.unit for row in rows))
    print_table(
        f"{experiment.name}: {experiment.title} in {units} ({experiment.source})",
        ["interface", "workload", *numbers],
        [
            _cells(row, row.nearest_percent if experiment.message_sizes else row.spread)
            for row in rows
        ],
        numbers,
    )


def _show_overview(outcomes: "list[Outcome]") -> None:
    """Print one line for each experiment."""
    rows = []
    for outcome in outcomes:
        summary = outcome.summary
        mean, worst = summary.mean_absolute_error_percent, summary.worst_error_percent
        rows.append(
            [
                summary.experiment,
                summary.published,
                "" if mean is None else f"{mean:.1f} %",
                "" if worst is None else f"{worst:+.1f} %",
                len(summary.outside_limits),
                f"{sum(claim.holds for claim in outcome.claims)} of {len(outcome.claims)}",
                len(outcome.failures),
            ]
        )
    columns = [
        "published values",
        "mean error",
        "worst",
        "outside limits",
        "claims that hold",
        "failed runs",
    ]
    print_table("All together", ["experiment", *columns], rows, columns)


def _sentence(claim: "Claim", outcome: "Outcome") -> str:
    """Return the claim's sentence, where it fails if that is not everywhere, what it hangs on."""
    from narthex.validation import wording

    told = [wording.hangs_on(claim)] if claim.hangs_on else []
    if 0 < len(claim.fails_at) < len(claim.values):
        told.insert(0, f"fails at {', '.join(claim.fails_at)}")
    return f"{claim.text} [{'; '.join(told)}]" if told else claim.text


def _cells(row: "Row", third: float | None) -> list[str]:
    from narthex.validation import wording

    return [
        row.interface,
        row.workload,
        wording.three_digits(row.value),
        "" if third is None else wording.three_digits(third),
        wording.published(row),
        wording.error(row),
    ]


def _derived_cells(row: "Row") -> list[str]:
    from narthex.validation import wording

    return [
        row.interface,
        row.baseline or "",
        row.workload,
        row.take or "",
        wording.three_digits(row.value),
        wording.published(row),
        row.unit,
        wording.error(row),
    ]
