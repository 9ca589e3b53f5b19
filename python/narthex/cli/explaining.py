"""`narthex explain`: one message's life.

What follows the interface is a program and its arguments, as `run` takes them: then a message of
this program is explained, and without one a message of a program that does nothing else. So
the command is the same whatever is explained, and its first word is always the interface.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from narthex import files
from narthex.cli import completion, explaining_all
from narthex.cli.console import (
    JSON_OPTION,
    JsonTarget,
    Waiting,
    check_diagram,
    compile_program,
    examples,
    finish,
    keeping,
    split_names,
    warn_of_idle,
    within,
)
from narthex.cli.options import ARGUMENTS, FIRMWARE, MACHINE, NODES, SEED, SET
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
    from narthex.explanation import Explanation
    from narthex.report.parts import Chart

COLOURS = {
    "sender": "cyan",
    "interface sends": "magenta",
    "flow control": "red",
    "network": "yellow",
    "interface receives": "green",
    "receiver": "blue",
}
"""By whose work a part is: what its name begins with."""

BESIDE = "dim"
LONGEST_ROWS = 100
"""A longer table is condensed on the critical path too."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "explain",
        epilog=examples(
            "narthex explain CNI32Qm --bytes 64",
            "narthex explain NI2w --bytes 8 --machine isca96",
            "narthex explain CNI512Q --set bus.clock=125MHz --json life.json",
            "narthex explain CNI32Qm --bytes 256 --report life.html",
            "narthex explain CNI32Qm --diagram life.svg",
            "narthex explain all --bytes 64 --machine chip --diagram side-by-side.svg",
            "narthex explain SARC --of remote-store --machine sarc-prototype",
            "narthex explain SARC --of mcs-lock --machine sarc-chip"
            " --set machine.processors_per_process=16",
            "narthex explain EDT --of via --machine edt",
            "narthex explain Voyager-nonresident --of voyager-queue --bytes 32 --machine voyager",
            "narthex explain CCDMA-retry via-latency 64 20 --machine edt",
            "narthex explain CNI32Qm mine.c --nodes 4 --from 0 --to 3",
            "narthex explain CNI512Q --machine isca96 --set machine.processors_per_node=2 --to 3",
        ),
    )(explain)


def explain(
    interface: str = typer.Argument(
        ...,
        help="The network interface. Of several, with commas between, or of 'all' that the"
        " machine can have, the lives are set side by side.",
        autocompletion=completion.interfaces,
    ),
    program: str | None = typer.Argument(
        None,
        help="The program a message of which is explained: one that comes with Narthex, an ELF"
        " file, or a C or C++ file. One that does nothing else if not given.",
        autocompletion=completion.programs,
    ),
    args: list[str] | None = ARGUMENTS,
    bytes_: int | None = typer.Option(
        None,
        "--bytes",
        "-b",
        **within("bytes"),
        help="Bytes of payload of what has a size, if no program is given; 64 by default.",
    ),
    of: str | None = typer.Option(
        None,
        "--of",
        help="What: message, of the messaging library; via or voyager-queue, of the interface's own"
        " library; on a chip whose tiles have the interface remote-store, rdma, queue-lock,"
        " lock-box, test-and-set-lock, ticket-lock, mcs-lock ('narthex list lives').",
        autocompletion=completion.subjects,
    ),
    from_: int | None = typer.Option(
        None, "--from", min=0, metavar="RANK", help="Who sends; rank 0 by default."
    ),
    to: int | None = typer.Option(
        None,
        "--to",
        min=0,
        metavar="RANK",
        help="Who receives; the first rank of the next node, or the next tile, by default.",
    ),
    nodes: int | None = NODES,
    machine: str = MACHINE,
    set_: list[str] = SET,
    firmware: list[str] = FIRMWARE,
    seed: int | None = SEED,
    json_file: str | None = JSON_OPTION,
    report: Path | None = REPORT_OPTION,
    plot: Path | None = PLOT_OPTION,
    open_: bool = OPEN_OPTION,
    diagram: Path | None = typer.Option(
        None, "--diagram", metavar="FILE.svg", help="Draw the life as a picture."
    ),
) -> None:
    """Show one message's life, transaction by transaction, and the parts of its latency.

    --of says what else is to be shown: one transfer from tile to tile, how a
    lock goes from one tile to the next, or a message of the interface's own library.

    With PROGRAM it is a message that this program sends: by the interface's own library
    if it does that, and else by the messaging library.

    The page of --report plays it over the picture of the machine.
    """
    from narthex import explanation
    from narthex.programs import find

    if diagram:
        check_diagram(diagram)
    names = split_names(interface)
    if len(names) > 1 or [name.casefold() for name in names] == ["all"]:
        one = {"PROGRAM": program, "--of": of, "--from": from_, "--to": to, "--nodes": nodes}
        explaining_all.refuse({**one, "--json": json_file, "--report": report, "--plot": plot})
        explaining_all.explain_all(
            names, bytes_, diagram, machine=machine, set=set_, firmware=firmware, seed=seed
        )
        return
    target, page = JsonTarget(json_file), ReportTarget(report, opens=open_)
    picture = PlotTarget(plot)
    if program is None and nodes is not None:
        raise NarthexError("--nodes is of a program: name one, or choose ranks by --from and --to")
    guest = find(program or explanation.named(of or explanation.MESSAGE).program)
    compile_program(guest, interface)
    warn_of_idle(machine, set_, [interface])
    with Waiting(f"Explaining {interface}") as waiting:
        found = explanation.explain(
            interface,
            bytes_,
            of=of,
            program=guest if program else None,
            args=args or [],
            nodes=nodes,
            sender=from_,
            receiver=to,
            machine=machine,
            set=set_,
            firmware=firmware,
            seed=seed,
            observer=lambda time_ps: waiting.update(f"{time_ps / 1e9:.3f} ms simulated"),
        )
    document = found.document
    finish(
        lambda: target.write(document),
        lambda: page.write_document(document),
        lambda: picture.draw(document, lambda: _parts(found)),
        lambda: _draw(document, diagram) if diagram else None,
        lambda: None if target.to_stdout else show(document),
    )


def _parts(found: "Explanation") -> "tuple[Chart, str]":
    """Return the parts of the latency as a chart, and what they are of."""
    from narthex.report import lives

    return lives.breakdown(found.document), found.title


def _draw(document: dict[str, Any], file: Path) -> None:
    from narthex.charts import sequence
    from narthex.report import lives

    with keeping(document, file):
        files.write(file, sequence.svg(lives.diagram(document)).encode())


def show(document: dict[str, Any]) -> None:
    """Print the transactions and the breakdown."""
    from narthex.explanation import subject

    _show_transactions(document)
    _show_breakdown(document)
    about, rounds = subject(document), document["rounds"]
    say(
        f"The {about.name} with the median latency of {rounds['count']} rounds"
        f" ({_ns(rounds['minimum_ps'])} to {_ns(rounds['maximum_ps'])} ns),\n{about.span};"
        " the phase of polls makes rounds differ.\nRows marked 'beside' are not on the critical"
        " path."
    )


def _show_transactions(document: dict[str, Any]) -> None:
    from narthex.explanation import condensed, ends, places, words

    rows = condensed(document["transactions"])
    if len(rows) > LONGEST_ROWS:
        rows = condensed(document["transactions"], critical_too=True)
    several_buses = len({row["bus"] for row in rows if row.get("bus")}) > 1
    columns = ["ns", f"{ends(document)}, agent", "what", "data", *["bus"] * several_buses]
    columns += ["cycles", "part"]
    cells, numbers_of = [], places(document)
    for row in rows:
        cell = [_ns(row["time_ps"]), f"{numbers_of[row['node']]} {row['agent']}", words(row)]
        cell += [row.get("data") or "", *[row.get("bus") or ""] * several_buses]
        cell += ["" if row["cycles"] is None else row["cycles"]]
        cell += [row.get("part") or ("" if row["critical"] else "beside")]
        cells.append(cell)
    colours = [_colour(row) for row in rows]
    numbers, prose = ["ns", "cycles"], ["what", "data", "part"]
    title = _title(document)
    print_table(title, columns, cells, numbers, colours, prose=prose, optional=["data"])


def _title(document: dict[str, Any]) -> str:
    from narthex.explanation import between, what

    packets = document["packets"]
    told = f" in {packets} packet{'s' if packets > 1 else ''}" if packets else ""
    machine = document["machine"]["machine"]["name"]
    ranks = between(document)
    over = f"over {document['interface']} on {machine}{f', {ranks}' if ranks else ''}"
    return f"{what(document)}{told} {over}"


def _show_breakdown(document: dict[str, Any]) -> None:
    latency = document["latency_ps"]
    rounds = document["rounds"]
    rows = []
    for each in document["breakdown"]:
        time, mean = each["time_ps"], each["rounds_total_ps"] / rounds["count"]
        rows.append((each["part"], _ns(time), f"{100 * time / latency:.1f}", _ns(mean)))
    styles = [_colour_of(row[0]) for row in rows]
    rows.append(("latency", _ns(latency), "100.0", _ns(rounds["total_ps"] / rounds["count"])))
    columns = ["part", "ns", "%", "mean ns"]
    print_table("Where the latency goes", columns, rows, columns[1:], [*styles, "bold"])


def _colour(row: dict[str, Any]) -> str:
    if not row["critical"]:
        return BESIDE
    return _colour_of(row["part"]) if row.get("part") else "bold"


def _colour_of(part: str) -> str:
    return COLOURS[part.partition(":")[0]]


def _ns(time_ps: float) -> str:
    return f"{time_ps / 1000:,.1f}"
