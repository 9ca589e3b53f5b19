"""`narthex network`: a machine's network alone, under synthetic load."""

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from narthex.cli import completion
from narthex.cli.console import (
    JSON_OPTION,
    JsonTarget,
    Waiting,
    examples,
    finish,
    read_numbers,
    within,
)
from narthex.cli.options import NODES, SEED, SET, THREADS
from narthex.cli.reporting import (
    OPEN_OPTION,
    PLOT_OPTION,
    REPORT_OPTION,
    PlotTarget,
    ReportTarget,
)
from narthex.cli.tables import print_table
from narthex.cli.terminal import warn
from narthex.errors import USAGE, NarthexError

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
            "narthex network cluster --vary network.switches.buffer=512B,2KiB --report page.html",
            "narthex network cluster --outstanding 1,2,4,8",
            "narthex network cluster --load 0.3 --interval 1us --report page.html",
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
    load: str | None = typer.Option(
        None,
        "--load",
        "-l",
        help=f"Shares of a link's bandwidth, with commas between. [default: {DEFAULT_LOADS}]",
    ),
    outstanding: str | None = typer.Option(
        None,
        "--outstanding",
        help="A closed loop instead of loads: so many requests of each node have no reply at any "
        "time; numbers with commas between.",
    ),
    vary: list[str] = typer.Option(
        [],
        "--vary",
        metavar="KEY=VALUE,VALUE",
        help="Measure the network with each of these values of a key of the machine, and draw a "
        "curve for each. May be repeated. --pattern takes several names with commas between, too.",
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
    interval: str | None = typer.Option(
        None,
        "--interval",
        metavar="TIME",
        help="Show for which share of each such simulated time (1us) each link was busy: in the "
        "result of --json, and on the page as a drawn network with a slider over time.",
    ),
    threads: int = THREADS,
    set_: list[str] = SET,
    seed: int | None = SEED,
    json_file: str | None = JSON_OPTION,
    plot: Path | None = PLOT_OPTION,
    report: Path | None = REPORT_OPTION,
    open_: bool = OPEN_OPTION,
) -> None:
    """Measure a network without processors: latency and throughput over offered load."""
    from narthex import loads

    target, picture = JsonTarget(json_file), PlotTarget(plot)
    page = ReportTarget(report, opens=open_)
    shares = None if load is None else read_numbers("--load", load, float, "0.1,0.2,0.5")
    requests = (
        [] if outstanding is None else read_numbers("--outstanding", outstanding, int, "1,2,4")
    )
    found: list[tuple[str, NetworkLoad]] = []
    networks = _curves(pattern.split(","), vary)
    with Waiting(f"Measuring the network of {machine}") as waiting:
        for name, sends, settings in networks:
            told = f" of {name}" if len(networks) > 1 else ""
            measured = loads.network(
                machine,
                pattern=sends,
                loads=shares,
                outstanding=requests,
                nodes=nodes,
                packet_bytes=bytes_,
                set=[*set_, *settings],
                warm_up_cycles=warm_up,
                measured_cycles=cycles,
                seed=seed,
                interval=interval,
                threads=threads,
                observer=lambda done, told=told: (  # type: ignore[misc]
                    waiting.update(f"{done} loads{told}") or True
                ),
            )
            found.append((name, measured))
    title = found[0][1].title
    documents = [{"name": name, **each.document} for name, each in found]
    document = found[0][1].document if len(found) == 1 else {"curves": documents}
    finish(
        lambda: target.write(document),
        lambda: page.written(lambda file: _write_page(file, found)),
        lambda: picture.draw(document, lambda: (loads.curve_of(found, title), title)),
        lambda: None if target.to_stdout else _show_all(found),
    )


def _curves(patterns: list[str], vary: list[str]) -> list[tuple[str, str, list[str]]]:
    """Return each network that is measured: its name, its pattern, and its settings."""
    axes = [[(pattern, "") for pattern in patterns]]
    for text in vary:
        key, _, values = text.partition("=")
        if not key or not values:
            raise NarthexError(f"--vary '{text}': expected KEY=VALUE,VALUE", USAGE)
        axes.append([(f"{key}={value}", f"{key}={value}") for value in _split(values)])
    return [
        (
            ", ".join(name for axis, (name, _) in zip(axes, point, strict=True) if len(axis) > 1),
            point[0][0],
            [setting for _, setting in point[1:]],
        )
        for point in product(*axes)
    ]


def _split(values: str) -> list[str]:
    """Split at the commas that are in no table and no list."""
    found, depth = [""], 0
    for each in values:
        depth += (each in "{[") - (each in "}]")
        if each == "," and depth == 0:
            found.append("")
        else:
            found[-1] += each
    return found


def _show_all(found: "list[tuple[str, NetworkLoad]]") -> None:
    for name, each in found:
        show(each, name)


def _write_page(file: Path, found: "list[tuple[str, NetworkLoad]]") -> None:
    """Write the page: latency over load, and each network by the use of its links."""
    from narthex import files, loads
    from narthex.report import networks
    from narthex.report.page import rendered
    from narthex.report.parts import Section

    title = found[0][1].title
    sections = [Section("Latency over load", [loads.curve_of(found, title)])]
    sections += [Section(name or "Links", networks.under_load(each)) for name, each in found]
    files.write(file, rendered(title, sections).encode())


def show(found: "NetworkLoad", name: str = "") -> None:
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
        is_open = point["load"] is not None
        offered = f"{point['load']:.3f}" if is_open else str(point["outstanding"])
        shares = [offered, *(f"{point[key]:.3f}" for key in ("accepted", "busiest_link"))]
        rows.append([*shares, mean, spread, least, half, almost, most, _told(point, nodes)])
    numbers = ["offered" if is_open else "outstanding", "accepted", "busiest link", "mean ns", "+-"]
    numbers += ["least ns", "50 % ns", "99 % ns", "most ns"]
    title = f"{found.title}: {found.pattern} traffic, in shares of a link's bandwidth"
    title += f"; {name}" if name else ""
    optional = ["least ns", "50 % ns", "busiest link"]
    print_table(title, [*numbers, ""], rows, numbers, prose=[""], optional=optional)


def _told(point: dict[str, Any], nodes: int) -> str:
    """Say why a load has no mean latency, or none that lasts."""
    if point["state"] == "steady":
        return ""
    few = point["saturated_nodes"]
    return point["state"] + (f" (at least {few} of {nodes} nodes)" if 0 < few < nodes else "")
