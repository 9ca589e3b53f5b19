"""`narthex network`: a machine's network alone, under synthetic load."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from narthex.cli import completion
from narthex.cli.console import (
    JSON_OPTION,
    SET_OPTION,
    JsonTarget,
    Waiting,
    examples,
    finish,
    warn,
    within,
)
from narthex.cli.options import NODES, SEED, THREADS
from narthex.cli.reporting import PLOT_OPTION, PlotTarget
from narthex.cli.tables import print_table
from narthex.errors import NarthexError

if TYPE_CHECKING:
    from narthex.loads import NetworkLoad

DEFAULT_LOADS = "0.01,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9"
TORUS = "--set 'network.topology={kind=\"torus\", dimensions=[4, 4]}' --set network.links.lanes=4"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "network",
        epilog=examples(
            "narthex network cluster",
            "narthex network cluster --pattern transpose --load 0.1,0.2,0.3 --json points.json",
            f"narthex network cluster {TORUS}",
            "narthex network cluster --pattern shares.csv --load 0.1,0.5",
        ),
    )(network)


def network(
    machine: str = typer.Argument(
        "cluster", help="A machine with switches.", autocompletion=completion.machines
    ),
    pattern: str = typer.Option(
        "uniform",
        "--pattern",
        "-p",
        help="Who sends to whom: uniform, transpose, hot-spot, neighbour, bit-complement, tornado, "
        "next-group, or a file (.csv, .txt) with a line for each node: its destination, or its "
        "shares of traffic to each node.",
    ),
    load: str = typer.Option(
        DEFAULT_LOADS, "--load", "-l", help="Shares of a link's bandwidth, with commas between."
    ),
    bytes_: int = typer.Option(64, "--bytes", "-b", **within("bytes"), help="Bytes of a packet."),
    nodes: int | None = NODES,
    warm_up: int = typer.Option(
        5_000, "--warm-up", **within("cycles"), help="Cycles of the links before measuring."
    ),
    cycles: int = typer.Option(
        20_000,
        "--cycles",
        **within("cycles"),
        help="Cycles of the links in the first window that is measured; it is doubled, up to 32 "
        "times as many, until the load is steady or saturated.",
    ),
    threads: int = THREADS,
    set_: list[str] = SET_OPTION,
    seed: int | None = SEED,
    json_file: str | None = JSON_OPTION,
    plot: Path | None = PLOT_OPTION,
) -> None:
    """Measure a network without processors: latency and throughput over offered load."""
    from narthex import loads

    target, picture = JsonTarget(json_file), PlotTarget(plot)
    shares = _loads(load)
    with Waiting(f"Measuring the network of {machine}") as waiting:
        found = loads.network(
            machine,
            pattern=pattern,
            loads=shares,
            nodes=nodes,
            packet_bytes=bytes_,
            set=set_,
            warm_up_cycles=warm_up,
            measured_cycles=cycles,
            seed=seed,
            threads=threads,
            observer=lambda done: waiting.update(f"{done} of {len(shares)} loads") or True,
        )
    finish(
        lambda: target.write(found.document),
        lambda: picture.draw(found.document, lambda: (found.curve(), found.title)),
        lambda: None if target.to_stdout else show(found),
    )


def _loads(text: str) -> list[float]:
    try:
        return [float(each) for each in text.split(",")]
    except ValueError:
        raise NarthexError(
            f"--load '{text}': loads are numbers with commas between: 0.1,0.2,0.5"
        ) from None


def show(found: "NetworkLoad") -> None:
    """Print a row for each load."""
    warn(found.document["warnings"])
    nodes = found.document["nodes"]
    rows = []
    for point in found.points.to_dicts():
        mean, least, half, almost, most = (
            "-" if point[key] is None else f"{point[key]:.1f}"
            for key in ("latency_ns", "smallest_ns", "p50_ns", "p99_ns", "largest_ns")
        )
        spread = "-" if point["spread"] is None else f"{100 * point['spread']:.1f} %"
        shares = [f"{point[key]:.3f}" for key in ("load", "accepted", "busiest_link")]
        rows.append([*shares, mean, spread, least, half, almost, most, _told(point, nodes)])
    numbers = ["offered", "accepted", "busiest link", "mean ns", "+-"]
    numbers += ["least ns", "50 % ns", "99 % ns", "most ns"]
    title = f"{found.title}: {found.pattern} traffic, in shares of a link's bandwidth"
    optional = ["least ns", "50 % ns", "busiest link"]
    print_table(title, [*numbers, ""], rows, numbers, prose=[""], optional=optional)


def _told(point: dict[str, Any], nodes: int) -> str:
    """Say why a load has no mean latency, or none that lasts."""
    if point["state"] == "steady":
        return ""
    few = point["saturated_nodes"]
    return point["state"] + (f" (at least {few} of {nodes} nodes)" if 0 < few < nodes else "")
