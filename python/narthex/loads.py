"""A machine's network alone, under synthetic load: `narthex network`.

No processors and no interfaces: each node hands over packets at random instants,
however many wait, and takes what arrives (docs/networks.md). What comes of it is a
point for each load: what the network accepted, and the latency of its packets.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from narthex import _native, arguments, files
from narthex.arguments import Settings
from narthex.documents import Saved
from narthex.errors import NarthexError, shown, unknown

if TYPE_CHECKING:
    import altair
    import polars

    from narthex.report.parts import Chart

Pattern = Literal[
    "uniform",
    "transpose",
    "hot-spot",
    "neighbour",
    "bit-complement",
    "tornado",
    "next-group",
]
PATTERNS: tuple[str, ...] = get_args(Pattern)
MACHINE = "cluster"
LOADS = (0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
PACKET_BYTES = 64
WARM_UP_CYCLES, MEASURED_CYCLES = 5_000, 20_000
"""Cycles of the links before measuring, and of the first window that is measured."""
PERCENTILES = ("50", "90", "99", "99.9")
FILE_ENDINGS = (".csv", ".txt")
"""A pattern that ends like this is a file."""
MOST_PATTERN_BYTES = 256 << 20
PERMILLE = 1_000
BYTES_PER_MB = 1_000_000


class NetworkLoad(Saved):
    """What a network does under load; `document` is exactly what `--json` writes."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    @property
    def points(self) -> "polars.DataFrame":
        """A row for each load: shares of a link's bandwidth, and latencies in nanoseconds.

        Points of a closed loop have the number of requests `outstanding` and no load. `state` is
        "steady", "saturated", where there is no latency, or "not steady", where the
        mean still changes at the end of the longest window. `spread` is half of the range of the
        mean latencies of the window's quarters, as a share of the mean.
        """
        from narthex.extras import polars as pl

        rows = [
            {
                "load": point["load"],
                "outstanding": point["outstanding"],
                "accepted": point["accepted"],
                "accepted_least": point["accepted_least"],
                "latency_ns": _ns(point["latency_mean_ps"]),
                "spread": point["latency_spread"],
                "smallest_ns": _ns(point["latency_minimum_ps"]),
                **{
                    f"p{percent}_ns": _ns(point["latency_percentiles_ps"].get(percent))
                    for percent in PERCENTILES
                },
                "largest_ns": _ns(point["latency_maximum_ps"]),
                "busiest_link": point["busiest_link"],
                "state": point["state"],
                "saturated": is_saturated(point),
                "saturated_nodes": len(point["saturated_nodes"]),
                "measured_cycles": point["measured_cycles"],
            }
            for point in self.document["points"]
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def latency_ns(self) -> float | None:
        """Return the mean latency at the only load; none where it is saturated or not steady."""
        (point,) = self.document["points"]
        return _ns(point["latency_mean_ps"]) if point["state"] == "steady" else None

    @property
    def pattern(self) -> str:
        """The name of the pattern; "permutation" or "matrix" where a file or a list states it."""
        pattern = self.document["pattern"]
        return pattern if isinstance(pattern, str) else next(iter(pattern))

    @property
    def title(self) -> str:
        """What is measured."""
        machine = self.document["machine"]
        kind = machine["network"]["topology"]["kind"]
        kind = kind["value"] if isinstance(kind, dict) else kind
        return f"{self.document['nodes']} nodes of {machine['machine']['name']} on a {kind}"

    def plot(self) -> "altair.TopLevelMixin":
        """Draw latency over offered load."""
        from narthex.charts.standalone import standalone

        words = f"{self.pattern} traffic of {self.document['packet_bytes']} bytes"
        return standalone(self.curve(), words + self._without_latency())

    def curve(self) -> "Chart":
        """Return latency over offered load as a chart of a page; see `plot`."""
        return curve_of([("", self)], self.title)

    def _without_latency(self) -> str:
        """Say which loads are not drawn, and why."""
        told = ""
        for state in ("saturated", "not steady"):
            loads = [
                f"{each['load'] or each['outstanding']:g}"
                for each in self.document["points"]
                if each["state"] == state
            ]
            told += f"; {state} at {', '.join(loads)}" if loads else ""
        return told


def curve_of(found: "Sequence[tuple[str, NetworkLoad]]", title: str) -> "Chart":
    """Return mean latencies of several networks, by their names, as a chart of a page.

    Over the offered load; where one is a closed loop, over what the networks accept.
    """
    from narthex.charts.curves import curves
    from narthex.report.parts import Cell, Chart, Table, columns, number

    is_open = all(
        point["load"] is not None for _, each in found for point in each.document["points"]
    )
    key, words = ("load", "offered load") if is_open else ("accepted", "accepted load")
    rows: list[dict[str, Any]] = [
        {"x": round(point[key], 4), "interface": name, "value": point["latency_ns"]}
        for name, each in found
        for point in each.points.filter(each.points["state"] == "steady").to_dicts()
    ]
    across, unit = f"{words}, share of a link's bandwidth", "mean latency, ns"
    names = [name for name, _ in found]
    drawn = curves(rows, unit, names, x=across, series="network" if len(names) > 1 else None)
    first = ["network"] if len(names) > 1 else []
    cells: list[list[Cell]] = [
        [*([row["interface"]] if first else []), f"{row['x']:g}", number(row["value"], 1)]
        for row in rows
    ]
    named = columns(*first, words, unit, numbers=[unit])
    behind = Table("Mean latency over load", named, cells, is_folded=True)
    return Chart(title, f"Mean latency over {across}", drawn, behind)


def _ns(time_ps: float | None) -> float | None:
    return None if time_ps is None else time_ps / 1_000


def is_saturated(point: dict[str, Any]) -> bool:
    """Whether ever more packets wait at this point, so that it has no latency."""
    return bool(point["state"] == "saturated")


def network(
    machine: str | Path = MACHINE,
    *,
    pattern: str | Path | Sequence[int] | Sequence[Sequence[int]] = "uniform",
    loads: Sequence[float] | None = None,
    outstanding: Sequence[int] = (),
    nodes: int | None = None,
    packet_bytes: int = PACKET_BYTES,
    set: Settings = (),  # noqa: A002 - the option's name on the command line
    warm_up_cycles: int = WARM_UP_CYCLES,
    measured_cycles: int = MEASURED_CYCLES,
    seed: int | None = None,
    interval: str | None = None,
    threads: int = 1,
    observer: Callable[[int], bool] | None = None,
) -> NetworkLoad:
    """Measure the latency and the throughput of a machine's network at each load.

    A load is the share of its link's bandwidth that each node wants to use. With `outstanding`,
    each node has so many requests without a reply at any time instead: a closed loop. Measured is
    in windows, the first of `measured_cycles`, each next one twice as long, up to 32 times as long,
    until one shows a steady state or that the network is saturated.

    `pattern` is a name, or the destination of each node, or in row *i* the shares in which node *i*
    sends to each node; a path names a file with these numbers, a line for each node, with commas
    between. With an `interval` ("1us") each point has `over_time`: for which share of each such
    simulated time each link was busy.

    >>> import narthex
    >>> found = narthex.network("cluster", loads=[0.1, 0.5])
    >>> found.points["saturated"].to_list()
    [False, False]

    Raises `NarthexError` when something is wrong with the arguments, or the machine's
    network is ideal.
    """
    request = {
        "machine": arguments.text("machine", machine),
        "nodes": arguments.whole_number_or_none("nodes", nodes),
        "set": arguments.settings(set),
        "pattern": _pattern(pattern),
        "loads_permille": [
            _permille(load) for load in (() if outstanding else LOADS if loads is None else loads)
        ],
        "outstanding": [arguments.whole_number("outstanding", each) for each in outstanding],
        "packet_bytes": arguments.whole_number("bytes", packet_bytes),
        "warm_up_cycles": arguments.whole_number("cycles", warm_up_cycles),
        "measured_cycles": arguments.whole_number("cycles", measured_cycles),
        "seed": arguments.whole_number_or_none("seed", seed),
        "interval": None if interval is None else arguments.text("interval", interval),
        "threads": arguments.whole_number("threads", threads),
    }
    if outstanding and loads is not None:
        raise NarthexError("a closed loop (outstanding) has no loads: give one of them")
    if not request["loads_permille"] and not outstanding:
        raise NarthexError("loads must name at least one load, such as 0.1")
    return NetworkLoad(json.loads(_native.network_load(json.dumps(request), observer)))


SATURATION_STEPS = 64


def saturation_mb_s(measure: Callable[[float], NetworkLoad]) -> float:
    """Return what each node sends at the largest load that does not saturate a network.

    It is looked for by halves among the 64 parts of a link's bandwidth; `measure` measures the
    network at a load. Beyond saturation nodes have unlike shares, and what the network accepts
    there is no measure of it (Dally and Towles, Section 23.1).
    """
    carried, least_saturated, carried_mb_s = 0, SATURATION_STEPS + 1, 0.0
    while least_saturated - carried > 1:
        steps = (carried + least_saturated) // 2
        found = measure(steps / SATURATION_STEPS)
        (point,) = found.document["points"]
        if is_saturated(point):
            least_saturated = steps
        else:
            carried = steps
            bandwidth = found.document["link_bytes_per_second"]
            carried_mb_s = point["load"] * bandwidth / BYTES_PER_MB
    return carried_mb_s


def _pattern(
    pattern: str | Path | Sequence[int] | Sequence[Sequence[int]],
) -> str | dict[str, Any]:
    """Return a pattern as the request has it."""
    if isinstance(pattern, Path) or (isinstance(pattern, str) and pattern.endswith(FILE_ENDINGS)):
        pattern = _read_pattern(Path(pattern))
    if isinstance(pattern, str):
        if pattern not in PATTERNS:
            raise unknown("pattern", pattern, (*PATTERNS, "a file that ends with .csv or .txt"))
        return pattern
    is_matrix = any(isinstance(row, Sequence) for row in pattern)
    return {"matrix" if is_matrix else "permutation": [*pattern]}


def _read_pattern(file: Path) -> list[int] | list[list[int]]:
    """Read a destination a line, or a row of shares a line."""
    rows: list[list[int]] = []
    text = files.read(file, "the pattern", MOST_PATTERN_BYTES).decode(errors="replace")
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            rows.append([int(word) for word in line.split(",")])
        except ValueError:
            raise NarthexError(
                f"{file}, line {number}: '{line}' are not whole numbers with commas between"
            ) from None
        if min(rows[-1]) < 0:
            raise NarthexError(f"{file}, line {number}: {min(rows[-1])} is less than 0")
    if not rows:
        raise NarthexError(f"{file} is empty; expected a line for each node")
    return rows if len(rows[0]) > 1 or len(rows) == 1 else [row[0] for row in rows]


def check_workload(given: Sequence[str], place: str, *, has_load: bool = True) -> None:
    """Refuse the arguments of a workload that are no pattern, and a load if it has one."""
    try:
        pattern, *load = given
        if len(load) != has_load:
            raise ValueError
        for each in load:
            _permille(float(each))
    except ValueError:
        what = 'a pattern and a load, such as ["uniform", "0.5"]'
        raise NarthexError(f"{place}: 'args' must be {what if has_load else 'a pattern'}") from None
    if pattern not in PATTERNS:
        raise unknown(f"pattern in {place}", pattern, PATTERNS)


def _permille(load: float) -> int:
    """Return a load in thousandths."""
    if not isinstance(load, int | float) or not 1 / PERMILLE <= load <= 1:
        raise NarthexError(f"a load must be from 0.001 to 1, not {shown(load)}")
    return round(load * PERMILLE)
