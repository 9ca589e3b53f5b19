"""`narthex goal`: communication schedules."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from narthex import notation
from narthex.cli.console import (
    JSON_OPTION,
    JsonTarget,
    Waiting,
    compile_program,
    examples,
    finish,
    only_one,
    read_numbers,
    split_names,
    within,
)
from narthex.cli.options import (
    INTERFACE,
    MACHINE,
    SEED,
    SET,
    SEVERAL,
    THREADS,
    WHERE,
    several_interfaces,
)
from narthex.cli.reporting import PLOT_OPTION, PlotTarget
from narthex.cli.tables import print_table
from narthex.cli.terminal import say
from narthex.errors import NarthexError

if TYPE_CHECKING:
    from narthex.goal import Comparison, Execution

MOST_RANKS_SHOWN = 16
STENCIL = "stencil-3d:ranks=1000,bytes=4096,steps=10,calc=20000"
PATTERN_HELP = "A pattern and its keys (ranks, bytes, steps, calc, dims, periodic)"
SCHEDULE = typer.Argument(
    ...,
    metavar="SCHEDULE",
    help="A GOAL file, text or binary; a trace of Chakra or liballprof; or a pattern:"
    " allreduce-ring:ranks=16,bytes=4096.",
)

goal = typer.Typer(
    help="Communication schedules: GOAL files and patterns.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(goal, name="goal")


@goal.command(
    epilog=examples(
        "narthex goal run allreduce-doubling:ranks=8,bytes=64 -m hpca98 -i CNI32Qm",
        "narthex goal run allreduce-doubling:ranks=100000 --executor loggops -i CNI32Qm",
        "narthex goal run program.goal --executor loggops --parameters fit.json",
        "narthex goal run barrier:ranks=100000 -e loggops -i NI2w --fidelity fidelity.json",
        "narthex goal run alltoall-linear:ranks=16,bytes=240 -e loggops -m cluster --network",
        "narthex goal run broadcast:ranks=8 -e loggops -i NI2w --plot broadcast.svg",
        "narthex goal run stencil-2d:ranks=64 -e mixed --detailed 0-3 -i CNI32Qm",
    )
)
def run(
    schedule: str = SCHEDULE,
    machine: str = MACHINE,
    interface: list[str] = INTERFACE,
    executor: str = typer.Option(
        "detailed",
        "--executor",
        "-e",
        help="detailed: each rank is a node. loggops: a model that is fitted to the interface."
        " mixed: the ranks of --detailed are nodes, and the model executes all others.",
    ),
    detailed: str | None = typer.Option(
        None,
        "--detailed",
        metavar="RANKS",
        help="The ranks that are nodes (mixed): 3, 0-3 or 0-3,17.",
    ),
    parameters: Path | None = typer.Option(
        None,
        "--parameters",
        help="Of the model: what fit logp wrote by --json, or LogGOPSim's arguments. If not given,"
        " the interface is fitted.",
    ),
    eager: int | None = typer.Option(
        None, "--eager", help="Senders of more bytes wait for their receivers (S; loggops)."
    ),
    fidelity_file: Path | None = typer.Option(
        None,
        "--fidelity",
        metavar="FILE",
        help="What goal fidelity wrote by --json: the makespan has the program's part, and the"
        " interval of what schedules were off there (loggops).",
    ),
    scale: float = typer.Option(
        1.0, "--calc-scale", help="Calculations take so many times as long (loggops)."
    ),
    network: bool = typer.Option(
        False,
        "--network",
        help="Messages meet in the network of the machine, a rank on each node (loggops).",
    ),
    runs: int = typer.Option(
        2, "--runs", **within("runs"), help="Runs on detailed nodes; the last is measured."
    ),
    set_: list[str] = SET,
    seed: int | None = SEED,
    threads: int = THREADS,
    json_file: str | None = JSON_OPTION,
    plot: Path | None = typer.Option(
        None,
        "--plot",
        metavar="FILE",
        help="Draw what each rank does over time (loggops, a small schedule) into FILE: a page"
        " (.html), or a picture (.svg, .png).",
    ),
) -> None:
    """Execute a schedule, on detailed nodes or on a fitted model."""
    from narthex import goal as schedules
    from narthex.goal import drawing
    from narthex.programs import find

    target, picture = JsonTarget(json_file), PlotTarget(plot)
    names = split_names(interface)
    if program := {"detailed": "goal", "mixed": "goal-mixed"}.get(executor):
        compile_program(find(program))
    name = only_one("goal run", names) if names else None
    if eager is not None and eager < 0:
        raise NarthexError(f"--eager {eager}: expected 0 or more bytes")
    with Waiting("Executing the schedule") as waiting:
        found = schedules.run(
            schedule,
            executor=executor,
            detailed=detailed,
            machine=machine,
            interface=name,
            parameters=parameters,
            set=set_,
            seed=seed,
            threads=threads,
            runs=runs,
            eager_bytes=eager,
            fidelity=fidelity_file,
            calculation_scale=scale,
            network=network,
            timeline=plot is not None,
            progress=_told(waiting),
        )
    finish(
        lambda: target.write(found.document),
        lambda: picture.draw(
            found.document, lambda: (drawing.chart(found.document), drawing.TITLE)
        ),
        lambda: None if target.to_stdout else _show_execution(found),
    )


@goal.command(
    epilog=examples(
        f"narthex goal generate {STENCIL} -o stencil.goal",
        "narthex goal generate barrier:ranks=4 -o barrier.txt --text",
    )
)
def generate(
    pattern: str = typer.Argument(..., metavar="PATTERN", help=f"{PATTERN_HELP}."),
    output: Path = typer.Option(..., "--output", "-o", metavar="FILE", help="The schedule."),
    text: bool = typer.Option(False, "--text", help="As text, not in the binary format."),
) -> None:
    """Write the schedule of a pattern: collectives, stencils, incast, sweep."""
    _convert(pattern, output, as_text=text)


@goal.command(
    name="compile",
    epilog=examples(
        "narthex goal compile program.txt -o program.goal",
        "narthex goal compile program.goal -o program.txt --text",
    ),
)
def compile_(
    schedule: str = SCHEDULE,
    output: Path = typer.Option(..., "--output", "-o", metavar="FILE", help="What is written."),
    text: bool = typer.Option(False, "--text", help="As text, not in the binary format."),
) -> None:
    """Write a schedule in the binary format, which LogGOPSim reads too, or as text."""
    _convert(schedule, output, as_text=text)


@goal.command(epilog=examples("narthex goal show program.goal", f"narthex goal show {STENCIL}"))
def show(schedule: str = SCHEDULE, json_file: str | None = JSON_OPTION) -> None:
    """Show what a schedule consists of: ranks, messages by size, critical paths."""
    from narthex import goal as schedules

    target = JsonTarget(json_file)
    with Waiting("Reading the schedule") as waiting:
        facts = schedules.show(schedule, progress=_told(waiting))
    finish(
        lambda: target.write(facts),
        lambda: None if target.to_stdout else _show_facts(schedule, facts),
    )


@goal.command(
    epilog=examples(
        "narthex goal fidelity -i CNI32Qm",
        "narthex goal fidelity -i NI2w,CNI32Qm --ranks 4,16,64 --json fidelity.json",
        "narthex goal fidelity -i NI2w,CNI32Qm --plot fidelity.svg",
        "narthex goal fidelity -i NI2w,CNI32Qm --schedule stencil.goal,sort.goal",
    )
)
def fidelity(
    interface: list[str] = several_interfaces(["CNI32Qm"], f"Names, {SEVERAL}. {WHERE}"),
    machine: str = MACHINE,
    set_: list[str] = SET,
    pattern: str | None = typer.Option(
        None, "--pattern", "-p", help="Patterns, with commas between, instead of eight usual ones."
    ),
    ranks: str = typer.Option("4,16,64", "--ranks", "-n", help="Numbers of ranks."),
    sizes: str = typer.Option("8,64,240", "--bytes", "-b", help="Sizes of messages."),
    schedule: str | None = typer.Option(
        None,
        "--schedule",
        metavar="FILES",
        help="Schedules in files, with commas between, instead of patterns: those that --goal of"
        " run wrote.",
    ),
    causes: bool = typer.Option(
        False,
        "--causes",
        help="Measure flow control and the phase of polls too: five times as long.",
    ),
    json_file: str | None = JSON_OPTION,
    plot: Path | None = PLOT_OPTION,
) -> None:
    """Compare the fitted model with detailed nodes: its error by pattern, size and interface."""
    from narthex import goal as schedules
    from narthex.goal.fidelity import PATTERNS, TITLE
    from narthex.programs import find

    target, picture = JsonTarget(json_file), PlotTarget(plot)
    compile_program(find("goal"))
    with Waiting("Comparing executors") as waiting:
        found = schedules.compare(
            split_names(interface),
            machine=machine,
            set=set_,
            patterns=PATTERNS if pattern is None else split_names(pattern),
            ranks=read_numbers("--ranks", ranks, int, "4,16"),
            sizes=read_numbers("--bytes", sizes, int, "8,64"),
            schedules=() if schedule is None else split_names(schedule),
            causes=causes,
            progress=lambda done, all_: waiting.update(f"{done} of {all_} schedules", done, all_),
        )
    finish(
        lambda: target.write(found.document),
        lambda: picture.draw(found.document, lambda: (found.chart(), TITLE)),
        lambda: None if target.to_stdout else _show_comparison(found, has_causes=causes),
    )


def _told(waiting: Waiting) -> Any:  # noqa: ANN401 - a function of the progress line
    def update(stage: str, done: int, total: int) -> bool:
        if stage == "simulated":
            return waiting.update(f"{done / 1e9:.3f} ms simulated")
        return waiting.update(f"{done:,} {stage}", done, total or None)

    return update


def _convert(schedule: str, output: Path, *, as_text: bool) -> None:
    from narthex import goal as schedules

    with Waiting("Writing the schedule") as waiting:
        facts = schedules.convert(schedule, output, as_text=as_text, progress=_told(waiting))
    ranks = notation.counted(facts["ranks"], "rank")
    say(f"'{output}': {ranks}, {notation.counted(facts['messages'], 'message')}")


def _show_execution(found: "Execution") -> None:
    """Print the ranks' times, and the last of them."""
    document = found.document
    finish_ns = document["finish_ns"]
    rows = [
        (f"{rank:,}", f"{time_ns:,.0f}")
        for rank, time_ns in enumerate(finish_ns[:MOST_RANKS_SHOWN])
    ]
    name = document["schedule"]["name"]
    print_table(f"{name}: when each rank is through", ["rank", "ns"], rows, ["rank", "ns"])
    if len(finish_ns) > MOST_RANKS_SHOWN:
        more = notation.counted(len(finish_ns) - MOST_RANKS_SHOWN, "more rank")
        say(f"not shown: {more}; --json FILE has them all")
    low, high = found.interval_ns
    interval = "" if low == high else f" (from {low / 1e3:,.3f} to {high / 1e3:,.3f})"
    how = {
        "detailed": "detailed nodes",
        "loggops": "the fitted model",
        "mixed": f"the fitted model, {len(document.get('detailed', ()))} of them detailed nodes",
    }[document["goal"]]
    if "network" in document:
        how += f", over the network of {document['network']['machine']}"
    say(
        f"makespan {found.makespan_ns / 1e3:,.3f} us{interval},"
        f" {notation.counted(len(finish_ns), 'rank')} of {document['interface']} on {how}"
    )
    if document["goal"] == "mixed":
        say(f"the model alone: {document['model_makespan_ns'] / 1e3:,.3f} us")


def _show_facts(name: str, facts: dict[str, Any]) -> None:
    """Print what a schedule consists of."""
    rows = [(f"{row['bytes']:,}", f"{row['messages']:,}") for row in facts["sizes"]]
    if rows:
        print_table(f"{name}: messages by size", ["bytes", "messages"], rows, ["bytes", "messages"])
    if facts["different_sizes"] > len(rows):
        say(f"not shown: {facts['different_sizes'] - len(rows)} sizes that are less frequent")
    path = facts["critical_path"]
    say(
        f"{notation.counted(facts['ranks'], 'rank')} ({facts['different_ranks']:,} different),"
        f" {notation.counted(facts['messages'], 'message')}, {facts['bytes']:,} bytes,"
        f" {notation.counted(facts['calculations'], 'calculation')}\n"
        f"critical path: {notation.counted(path['messages'], 'message')} after one another;"
        f" {path['calculation_ns']:,.0f} ns of calculations, if messages take no time"
    )


def _show_comparison(found: "Comparison", *, has_causes: bool) -> None:
    """Print the errors by pattern, size and ranks, and how many makespans intervals hold."""
    title = "Mean error of the fitted makespan in percent: whole, without the program's part"
    are_files = any(row.is_file for row in found.rows)
    parts = [found.table()] if are_files else [found.table(), found.by_size(), found.by_ranks()]
    for columns, rows in parts:
        print_table(f"{title}, by {columns[0]}", columns, rows, columns[1:])
    if has_causes:
        columns, rows = found.causes()
        title = "In percent: error of the model, of it flow control, and half of what phases change"
        print_table(title, columns, rows, columns[1:])
    columns, rows = found.coverage()
    others = "schedules" if are_files else "patterns of their size"
    title = f"Makespans in the interval of what other {others} were off"
    print_table(title, columns, rows, columns[1:])
    held, of_parameters = sum(map(found.is_held, found.rows)), sum(r.is_within for r in found.rows)
    say(
        f"{held} of {len(found.rows)} detailed makespans are within it, {of_parameters} within"
        " that of the parameters"
    )
