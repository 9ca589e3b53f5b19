"""What a run returns: its document, and views of it as Polars frames."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from narthex.errors import NarthexError

if TYPE_CHECKING:
    import polars

PS_PER_US = 1_000_000

LARGEST_NODES = 8
"""The ledgers of more nodes than these are shown as their mean."""


class Result:
    """The outcome of one run.

    `document` is exactly what `--json` writes: the schema's number, the
    tool's version, the binary's hash, the resolved machine and all results.
    The frames are views of it, made when they are asked for.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    @property
    def program(self) -> str:
        """The program's name."""
        return self.document["program"]

    @property
    def interface(self) -> str:
        """The network interface, as the taxonomy spells it."""
        return self.document["interface"]

    @property
    def simulated_us(self) -> float:
        """Simulated time from the start to the last node's end, in microseconds."""
        return self.document["simulated_ps"] / PS_PER_US

    @property
    def reports(self) -> "polars.DataFrame":
        """What the program reported: node, process on it, name, value, unit."""
        import polars as pl

        schema = {
            "node": pl.Int64,
            "process": pl.Int64,
            "name": pl.String,
            "value": pl.Float64,
            "unit": pl.String,
        }
        rows = [[report[key] for key in schema] for report in self.document["reports"]]
        return pl.DataFrame(rows, schema=schema, orient="row")

    @property
    def ledger(self) -> "polars.DataFrame":
        """Where the time went: node, processor, activity, category, time_ps.

        Processor k of a node runs its process k. The rows of a processor add
        up to its elapsed time, to the picosecond.
        """
        import polars as pl

        schema = {
            "node": pl.Int64,
            "processor": pl.Int64,
            "activity": pl.String,
            "category": pl.String,
            "time_ps": pl.Int64,
        }
        return pl.DataFrame(list(ledger_rows(self.document)), schema=schema, orient="row")

    @property
    def statistics(self) -> "polars.DataFrame":
        """All counters: node, name (its path, joined with dots), value."""
        import polars as pl

        rows = [
            (node["node"], name, float(value))
            for node in self.document["nodes"]
            for name, value in _leaves(node["statistics"])
        ]
        schema = {"node": pl.Int64, "name": pl.String, "value": pl.Float64}
        return pl.DataFrame(rows, schema=schema, orient="row")

    @property
    def output(self) -> "polars.DataFrame":
        """What the program wrote: node, process on it, stream, text."""
        import polars as pl

        schema = {
            "node": pl.Int64,
            "process": pl.Int64,
            "stream": pl.String,
            "text": pl.String,
        }
        rows = [[piece[key] for key in schema] for piece in self.document["output"]]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def reported(self, name: str) -> list[dict[str, Any]]:
        """Return the reports under `name`, one for each time a process made it."""
        reports = [report for report in self.document["reports"] if report["name"] == name]
        if not reports:
            known = sorted({report["name"] for report in self.document["reports"]})
            raise NarthexError(
                f"program '{self.program}' reported no '{name}'"
                f" (it reported: {', '.join(known) or 'nothing'})"
            )
        return reports

    def value(self, name: str) -> float:
        """Return the mean of what was reported under `name`."""
        values = [report["value"] for report in self.reported(name)]
        return sum(values) / len(values)

    def to_json(self) -> str:
        """Return the document as text, as `--json` writes it."""
        return json.dumps(self.document, indent=2, ensure_ascii=False)

    def __repr__(self) -> str:
        return (
            f"<narthex.Result of {self.program} on {self.interface}:"
            f" {self.simulated_us:.3f} us simulated, {len(self.document['reports'])} reports>"
        )


def place(node: int, process: int) -> str:
    """Return a process's node, and its number there unless it is the first."""
    return f"{node}.{process}" if process else str(node)


def larger_is_better(unit: str) -> bool:
    """Tell whether a value is a rate ("MB/s"); of all else less is better."""
    return unit.endswith("/s")


def ledger_rows(document: dict[str, Any]) -> Iterator[tuple[int, int, str, str, int]]:
    """Yield (node, processor, activity, category, time in ps) of a run's document."""
    for node in document["nodes"]:
        for index, processor in enumerate(node["processors"]):
            yield from _divided(node["node"], index, processor["ledger_ps"])


def region_ledger_rows(
    document: dict[str, Any], name: str
) -> Iterator[tuple[int, int, str, str, int]]:
    """Yield the same of the regions with this name, as far as they have ended."""
    for region in document["regions"]:
        if region["name"] == name and region["end_ps"] is not None:
            yield from _divided(region["node"], region["process"], region["ledger_ps"])


def ledger_shares(
    document: dict[str, Any], ledger: Iterable[tuple[int, int, str, str, int]]
) -> tuple[list[str], list[list[str]]]:
    """Lay ledger rows out in percent: a row an activity and occupation, a column a node.

    Returns the columns' names and the rows, those with the most time first;
    many nodes are one column, their mean.
    """
    nodes = [node["node"] for node in document["nodes"]]
    one_each = len(nodes) <= LARGEST_NODES
    columns = [f"node {node}" for node in nodes] if one_each else ["all nodes"]
    times: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    elapsed: Counter[str] = Counter()
    for node, _, activity, category, time_ps in ledger:
        column = f"node {node}" if one_each else "all nodes"
        times[activity, category][column] += time_ps
        elapsed[column] += time_ps
    rows = []
    for names, shares in sorted(times.items(), key=lambda item: -item[1].total()):
        cells = [f"{100 * shares[column] / max(elapsed[column], 1):.1f}" for column in columns]
        if any(cell != "0.0" for cell in cells):
            rows.append([*names, *cells])
    return columns, rows


def _divided(
    node: int, processor: int, ledger_ps: dict[str, int]
) -> Iterator[tuple[int, int, str, str, int]]:
    for key, time_ps in ledger_ps.items():
        activity, _, category = key.partition(" / ")
        yield node, processor, activity, category, time_ps


def _leaves(tree: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers of nested objects, each with its path.

    A statistic that carries its unit, {"value": ..., "unit": ...}, is one leaf.
    """
    for key, value in tree.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict) and isinstance(value.get("value"), int | float):
            yield path, value["value"]
        elif isinstance(value, dict):
            yield from _leaves(value, f"{path}.")
        elif isinstance(value, int | float):
            yield path, value
