"""`narthex fit`: the parameters of models of communication."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from narthex import files
from narthex.cli.console import (
    JSON_OPTION,
    JsonTarget,
    Waiting,
    check_writable,
    compile_program,
    examples,
    finish,
    read_numbers,
    split_names,
    warn_of_idle,
    within,
)
from narthex.cli.options import FRESH, MACHINE, SET, SEVERAL, WHERE, several_interfaces
from narthex.cli.reporting import (
    OPEN_OPTION,
    PLOT_OPTION,
    REPORT_OPTION,
    PlotTarget,
    ReportTarget,
)
from narthex.cli.tables import print_table
from narthex.cli.terminal import say
from narthex.errors import NarthexError

if TYPE_CHECKING:
    from narthex.fitting import Fit

INTERFACE = "{interface}"
"""In a file's name: the place of an interface's."""

NODES = typer.Option(
    2, "--nodes", "-n", **within("nodes"), help="Nodes; those beyond the second take no part."
)

fit = typer.Typer(
    help="Fit models of communication to interfaces.", no_args_is_help=True, rich_markup_mode=None
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(fit, name="fit")


@fit.command(
    epilog=examples(
        "narthex fit logp --interface CNI32Qm",
        "narthex fit logp --interface NI2w,CNI512Q,CNI32Qm --json logp.json",
        "narthex fit logp -i NI2w,CNI32Qm --report logp.html",
        "narthex fit logp -i CNI32Qm --output cni32qm.txt",
        "narthex fit logp -i NI2w,CNI32Qm --output 'logp-{interface}.txt'",
        "narthex fit logp -i 'NI2w on io-bus' -m isca96 --bytes 8,16,32,64",
    )
)
def logp(
    interface: list[str] = several_interfaces(..., f"Names, {SEVERAL}. {WHERE}"),
    machine: str = MACHINE,
    nodes: int = NODES,
    set_: list[str] = SET,
    sizes: str | None = typer.Option(
        None, "--bytes", "-b", metavar="SIZES", help="Sizes of messages, with commas between."
    ),
    seeds: int = typer.Option(3, "--seeds", help="Runs of each size, each with other pauses."),
    burst: int = typer.Option(
        64, "--burst", help="Messages of the longest burst: a power of two from 4 to 1024."
    ),
    jobs: int = typer.Option(2, "--jobs", "-j", **within("jobs"), help="Runs at a time."),
    fresh: bool = FRESH,
    json_file: str | None = JSON_OPTION,
    report: Path | None = REPORT_OPTION,
    plot: Path | None = PLOT_OPTION,
    open_: bool = OPEN_OPTION,
    output: str | None = typer.Option(
        None,
        "--output",
        "-o",
        metavar="FILE",
        help=f"Write LogGOPSim's arguments; '{INTERFACE}' in the name stands for the interface's.",
    ),
) -> None:
    """Measure latency, overheads and gaps of interfaces: LogGP.

    Prints L, o_s, o_r and g with what each further byte adds to them (G is that of
    g), 95 % confidence intervals, and where the model does not fit (docs/logp.md).
    """
    from narthex import fitting
    from narthex.fitting.measurement import PROGRAM, SIZES
    from narthex.fitting.output import document
    from narthex.programs import find
    from narthex.report import fits as lines

    target, page = JsonTarget(json_file), ReportTarget(report, opens=open_)
    picture = PlotTarget(plot)
    names = split_names(interface)
    _check_output(output, names)
    compile_program(find(PROGRAM))
    warn_of_idle(machine, set_, names)
    with Waiting("Fitting LogGP") as waiting:
        fits = fitting.fit_logp(
            names,
            machine=machine,
            nodes=nodes,
            set=set_,
            sizes=SIZES if sizes is None else read_numbers("--bytes", sizes, int, "8,16,32,64"),
            seeds=seeds,
            burst=burst,
            jobs=jobs,
            fresh=fresh,
            progress=waiting.runs,
        )
    made = document(fits)
    finish(
        lambda: target.write(made),
        lambda: page.write_document(made),
        lambda: picture.draw(made, lambda: (lines.chart(fits), f"LogGP on {machine}")),
        lambda: _write_arguments(fits, names, output) if output else None,
        lambda: None if target.to_stdout else show(fits),
    )


def _write_arguments(fits: "list[Fit]", names: list[str], output: str) -> None:
    """Write LogGOPSim's arguments for each interface."""
    from narthex.fitting.output import loggopsim

    for each, name in zip(fits, names, strict=True):
        text = loggopsim(each).arguments + "\n"
        files.write(Path(output.replace(INTERFACE, name)), text.encode())


def _check_output(output: str | None, names: list[str]) -> None:
    """Refuse files that cannot be written, and one file for several interfaces."""
    if output is None:
        return
    if len(names) > 1 and INTERFACE not in output:
        raise NarthexError(
            f"--output '{output}' is one file for {len(names)} interfaces; write {INTERFACE} where"
            f" their names go: 'logp-{INTERFACE}.txt'"
        )
    for name in names:
        check_writable(Path(output.replace(INTERFACE, name)), "--output")


def show(fits: "list[Fit]") -> None:
    """Print the parameters, what they mean, and where they do not fit."""
    from narthex.fitting.tables import caution_table, tables

    for table in tables(fits):
        print_table(table.title, table.columns, table.rows, table.numbers, prose=table.prose)
    sizes = {each.size for each in fits[0].measurements}
    seeds = {each.seed for each in fits[0].measurements}
    say(
        "One way of k bytes takes L + o_s + o_r + (k-1) G_T, where G_T = L_byte + O_s + O_r;"
        "\na stream sends one message every g + (k-1) G. Behind ± is half the 95 % confidence"
        f"\ninterval, from {len(sizes)} sizes; runs of each: {len(seeds)}.\n"
    )
    doubts = caution_table(fits)
    if doubts:
        print_table(doubts.title, doubts.columns, doubts.rows, prose=doubts.prose)
