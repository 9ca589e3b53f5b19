"""What a run returns: its document, and views of it as Polars frames.

reports        what the program reported
ledger         where each processor's time went
waits          for what processors, devices and packets waited
statistics     what was counted
measurements   all of it in one long table, of the regions too
jobs           what ran, and where
links, queues  what the network carried and held
output         what the program wrote
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, get_args, overload

from narthex import arguments, notation
from narthex.documents import RUN, Kind, Loaded, in_notebook, needed_whole, read_file
from narthex.errors import NarthexError, unknown
from narthex.ledgers import is_firmwares, ledger_rows, stall_rows

if TYPE_CHECKING:
    import altair
    import polars

Made = TypeVar("Made", bound=Loaded)

PS_PER_US = 1_000_000

LedgerPart = Literal["activity", "occupation", "stall"]
"""What a ledger's time is divided by: what the program did, what it was spent in, or why nothing
retired in a processor with a reorder window."""


class Result(Loaded):
    """The outcome of one run.

    `document` is exactly what `--json` writes: the schema's number, the
    tool's version, the binary's hash, the resolved machine and all results.
    The frames are views of it, made when they are asked for.
    """

    kind: ClassVar[Kind] = RUN

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """Make a result of its document."""
        return cls(document)

    @property
    def program(self) -> str:
        """The program's name."""
        return self.document["program"]

    @property
    def interface(self) -> str:
        """The network interface, as the taxonomy spells it."""
        return self.document["interface"]

    @property
    def title(self) -> str:
        """What was run: program, arguments and interface."""
        words = " ".join([self.program, *self.document["arguments"]])
        return f"{words} on {self.interface}"

    @property
    def simulated_us(self) -> float:
        """Simulated time from the start to the last node's end, in microseconds."""
        return self.document["simulated_ps"] / PS_PER_US

    @property
    def reports(self) -> "polars.DataFrame":
        """What the program reported: node, process on it, name, value, unit."""
        from narthex.extras import polars as pl

        schema = {
            "node": pl.Int64,
            "process": pl.Int64,
            "name": pl.String,
            "value": pl.Float64,
            "unit": pl.String,
        }
        rows = [[report[key] for key in schema] for report in reports_of(self.document)]
        return pl.DataFrame(rows, schema=schema, orient="row")

    @property
    def ledger(self) -> "polars.DataFrame":
        """Where the time went: node, processor, activity, occupation, time_ps.

        Processor k of a node runs its process k. The rows of a processor add
        up to its elapsed time, to the picosecond.
        """
        from narthex.extras import polars as pl

        schema = {
            "node": pl.Int64,
            "processor": pl.Int64,
            "activity": pl.String,
            "occupation": pl.String,
            "time_ps": pl.Int64,
        }
        return pl.DataFrame(list(ledger_rows(self.document)), schema=schema, orient="row")

    def stalls(self, region: str | None = None) -> "polars.DataFrame":
        """Return why nothing retired: node, processor, cause, time_ps (docs/results.md#stalls).

        Of processors with a reorder window, in the whole run or in the regions with this name. The
        rows of a processor add up to that time, to the picosecond: `busy` is the time in which any
        instruction retired.
        """
        from narthex.extras import polars as pl

        if region is not None and region not in self.regions:
            raise unknown("region in this run", str(region), self.regions)
        schema = {"node": pl.Int64, "processor": pl.Int64, "cause": pl.String, "time_ps": pl.Int64}
        rows = [(*row[:3], row[4]) for row in stall_rows(self.document, region)]
        return pl.DataFrame(rows, schema=schema, orient="row")

    @property
    def waits(self) -> "polars.DataFrame":
        """For what was waited, of the whole run: a row a part of the time that is measured.

        who (processors, devices, requests, packets), node, processor, cause, activity,
        occupation, resource, place, time_ps, times. The rows of a processor add up to the
        parts of its ledger in which it waits (docs/results.md); `activity`, `occupation` and
        `resource` are null of all but processors, and `times` where it is not counted.
        Raises `NarthexError` for a result that an earlier version made.
        """
        return self._waits(None)

    def waits_in(self, region: str) -> "polars.DataFrame":
        """Return the same of the program's regions of this name.

        >>> import narthex
        >>> result = narthex.run("roundtrip", 8, 5, nodes=2)
        >>> result.waits_in("round trips")["time_ps"].sum() < result.waits["time_ps"].sum()
        True
        """
        if region not in self.regions:
            raise unknown("region in this run", str(region), self.regions)
        return self._waits(region)

    def _waits(self, region: str | None) -> "polars.DataFrame":
        from narthex import waits
        from narthex.extras import polars as pl

        schema = {
            "who": pl.String,
            "node": pl.Int64,
            "processor": pl.Int64,
            "cause": pl.String,
            "activity": pl.String,
            "occupation": pl.String,
            "resource": pl.String,
            "place": pl.String,
            "time_ps": pl.Int64,
            "times": pl.Int64,
        }
        found = [
            *waits.processor_rows(self.document, region),
            *waits.other_rows(self.document, region),
        ]
        rows = [[getattr(row, name) for name in schema] for row in found]
        return pl.DataFrame(rows, schema=schema, orient="row")

    @property
    def statistics(self) -> "polars.DataFrame":
        """All counts: node, name (its path, joined with dots), value, unit, meaning."""
        from narthex.extras import polars as pl

        schema = {
            "node": pl.Int64,
            "name": pl.String,
            "value": pl.Float64,
            "unit": pl.String,
            "meaning": pl.String,
        }
        rows = [
            (node["node"], name, float(value), *self._described(name))
            for node in self.document["nodes"]
            for name, value in _leaves(node["statistics"])
        ]
        return pl.DataFrame(rows, schema=schema, orient="row")

    @property
    def traffic(self) -> "polars.DataFrame":
        """Who talks to whom, of a run with `traffic=True`: from, to, messages, packets, bytes, ns.

        `from` and `to` are ranks; `mean_ns` and `maximum_ns` are latencies of messages, or of
        packets where `messages` is null. Raises `NarthexError` if it was not asked for.
        """
        from narthex.extras import polars as pl

        schema = {
            "from": pl.Int64,
            "to": pl.Int64,
            "messages": pl.Int64,
            "packets": pl.Int64,
            "bytes": pl.Int64,
            "mean_ns": pl.Float64,
            "maximum_ns": pl.Float64,
        }
        rows = []
        if "traffic" not in self.document:
            raise NarthexError("this run has no traffic; run it with traffic=True (--traffic)")
        for pair in self.document["traffic"]["pairs"]:
            latency = pair.get("message_latency_ps", pair["packet_latency_ps"])
            mean = latency["sum"] / latency["count"] / 1e3 if latency["count"] else None
            largest = None if latency["maximum"] is None else latency["maximum"] / 1e3
            counts = (pair.get("messages"), pair["packets"], pair["bytes"])
            rows.append((pair["from"], pair["to"], *counts, mean, largest))
        return pl.DataFrame(rows, schema=schema, orient="row")

    @property
    def jobs(self) -> "polars.DataFrame":
        """What ran, a row a job: job, program, arguments, first_node, last_node, process, nodes.

        `start_ps` and `until_ps` are there for jobs that have such times. Jobs count from 0;
        `process` is the number that a job's processes have on their nodes. A run of one program
        is one job, whose process is null: it has all processes of its nodes.
        """
        from narthex import frames

        return frames.jobs(self.document)

    @property
    def links(self) -> "polars.DataFrame":
        """What each link carried, a row a link: network, from, to, parcels, bytes, times, share.

        `network` is "between nodes" or "on chip", of which all nodes are together. `busy_ps` is how
        long the link carried something, `waited_ps` how long parcels waited for it, together;
        `busy_share` is the part of the run for which it was busy, of the links of all nodes and
        lanes the mean. Raises `NarthexError` if no network of the machine has links.
        """
        from narthex import frames

        return frames.links(self.document)

    @property
    def queues(self) -> "polars.DataFrame":
        """What each input of a switch held: switch, from, parcels, most_bytes, mean_bytes.

        `from` is what feeds the input, `mean_bytes` the mean over the run. Raises `NarthexError`
        if the network between the nodes has no switches.
        """
        from narthex import frames

        return frames.queues(self.document)

    @property
    def profile(self) -> "polars.DataFrame":
        """Where the time went, of a run with `profile=True`, a row a stack and category.

        node, processor, function, file, line, stack (a list of functions, outermost first),
        activity, occupation, time_ps. `function` is null where the processor ran none; `file`
        and `line` are null where the debug information has none. The rows of a processor add up to
        its ledger. Raises `NarthexError` if it was not asked for.
        """
        from narthex import profiles
        from narthex.extras import polars as pl

        schema: dict[str, Any] = {
            "node": pl.Int64,
            "processor": pl.Int64,
            "function": pl.String,
            "file": pl.String,
            "line": pl.Int64,
            "stack": pl.List(pl.String),
            "activity": pl.String,
            "occupation": pl.String,
            "time_ps": pl.Int64,
        }
        self._check_profile()
        found = profiles.rows(self.document)
        nowhere = profiles.Frame("", None, None)
        rows = []
        for row in found:
            last = row.stack[-1] if row.stack else nowhere
            stack = [frame.function for frame in row.stack]
            place = (row.node, row.processor, last.function or None, last.file, last.line)
            rows.append((*place, stack, row.activity, row.occupation, row.time_ps))
        return pl.DataFrame(rows, schema=schema, orient="row")

    def save_profile(self, file: str | Path, *, by_node: bool = False) -> Path:
        """Write the profile of a run with `profile=True` into a file, by the end of its name.

        ".txt" or ".folded" holds collapsed stacks, ".pb.gz" is for pprof, ".svg" and ".html" are
        flame graphs; `by_node` keeps the nodes apart in stacks and flame graphs.

        >>> import narthex
        >>> result = narthex.run("hello", nodes=2, profile=True)
        >>> result.save_profile("hello.svg").name
        'hello.svg'
        """
        from narthex import profiles

        self._check_profile()
        return profiles.save(self.document, file, by_node=by_node)

    def _check_profile(self) -> None:
        if "profile" not in self.document:
            raise NarthexError("this run has no profile; run it with profile=True (--profile -)")

    @property
    def regions(self) -> list[str]:
        """The names of the program's regions that ended: parts that are measured by themselves."""
        regions = self.document["regions"]
        measured = (each for each in regions if each["end_ps"] is not None and each["ledger_ps"])
        return list(dict.fromkeys(region["name"] for region in measured))

    @property
    def measurements(self) -> "polars.DataFrame":
        """Everything measured, a row a number: kind, region, node, process, name, value, unit.

        `kind` is report, statistic or ledger (`name` is then "activity /
        occupation"); `region` is null for the whole run. A node's statistics
        in a region stand at the first process. Sweeps keep the same columns.
        """
        from narthex.extras import polars as pl

        parts = [
            self.reports.with_columns(kind=pl.lit("report")),
            self.statistics.with_columns(kind=pl.lit("statistic")),
            self.ledger.select(
                "node",
                process="processor",
                name=pl.format("{} / {}", "activity", "occupation"),
                value=pl.col("time_ps").cast(pl.Float64),
                unit=pl.lit("ps"),
                kind=pl.lit("ledger"),
            ),
            pl.DataFrame(list(self._region_rows()), schema=measurements_schema()),
        ]
        return pl.concat(parts, how="diagonal").select(*measurements_schema())

    @property
    def output(self) -> "polars.DataFrame":
        """What the program wrote: node, process on it, stream, text."""
        from narthex.extras import polars as pl

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
        reports = [report for report in reports_of(self.document) if report["name"] == name]
        if not reports:
            known = sorted({report["name"] for report in self.document["reports"]})
            raise NarthexError(
                f"program '{self.program}' reported no '{name}'"
                f" (it reported: {', '.join(known) or 'nothing'})"
            )
        return reports

    def value(self, name: str) -> float:
        """Return the mean of what was reported under `name`; NaN if one of them is NaN."""
        return notation.mean([report["value"] for report in self.reported(name)])

    def plot_ledger(
        self, by: LedgerPart = "activity", region: str | None = None
    ) -> "altair.TopLevelMixin":
        """Draw where the time went: a bar a processor, of the whole run or of a region of it.

        `by` divides the bars by what the program did (activity), by what that was spent in
        (occupation), or by why nothing retired in a processor with a window (stall). The chart
        shows itself in a notebook.

        >>> import narthex
        >>> chart = narthex.run("roundtrip", 8, 5, nodes=2).plot_ledger(region="round trips")
        >>> chart.save("ledger.html", inline=True)  # or .svg, .png
        """
        from narthex.charts import standalone as plots
        from narthex.report import runs

        if by not in get_args(LedgerPart):
            raise unknown("way to divide a ledger", str(by), get_args(LedgerPart))
        if region is not None and region not in self.regions:
            raise unknown("region in this run", str(region), self.regions)
        if by == "stall" and not stall_rows(self.document):
            raise NarthexError("no processor of this run has a reorder window")
        return plots.standalone(runs.ledger_chart(self.document, by, region), self.title)

    def _described(self, statistic: str) -> tuple[str, str]:
        """Return a statistic's unit and meaning; both empty where the document has none."""
        told = self.document.get("statistics", {}).get(statistic.partition(".")[0], {})
        return told.get("unit", ""), told.get("meaning", "")

    def _region_rows(self) -> Iterator[dict[str, Any]]:
        """Yield what was measured in each region that has ended."""
        for region in self.document["regions"]:
            if region["end_ps"] is None:
                continue
            place = {key: region[key] for key in ("node", "process")} | {"region": region["name"]}
            for name, time_ps in region["ledger_ps"].items():
                yield {**place, "kind": "ledger", "name": name,
                       "value": float(time_ps), "unit": "ps"}  # fmt: skip
            for name, value in _leaves(region["statistics"]) if region["process"] == 0 else ():
                yield {**place, "kind": "statistic", "name": name,
                       "value": float(value), "unit": self._described(name)[0]}  # fmt: skip

    def _repr_html_(self) -> str:
        return in_notebook(f"{self.title}: {self.simulated_us:,.3f} us simulated", self.reports)

    def __repr__(self) -> str:
        return (
            f"<narthex.Result of {self.program} on {self.interface}:"
            f" {self.simulated_us:.3f} us simulated, {len(self.document['reports'])} reports>"
        )


@overload
def load(path: arguments.Path) -> Result: ...
@overload
def load(path: arguments.Path, kind: type[Made]) -> Made: ...
def load(path: arguments.Path, kind: type[Loaded] = Result) -> Loaded:
    """Read a result that `save` or `--json` wrote: a run's, or of another kind.

    >>> import narthex
    >>> file = narthex.run("hello", nodes=2).save("hello.json")
    >>> narthex.load(file).program
    'hello'
    >>> _ = narthex.explain("NI2w", 8).save("life.json")
    >>> narthex.load("life.json", narthex.Explanation).latency_ps > 0
    True

    Raises `NarthexError` for a file that is cut off, no result, one of another
    version, or one of another kind.
    """
    found = read_file(Path(arguments.text("path", path)))
    if found.kind != kind.kind:
        raise NarthexError(
            f"'{found.place}' is a result of kind '{found.kind.name}', not '{kind.kind.name}';"
            " name its class as the second argument of load, such as narthex.Comparison"
        )
    with needed_whole(found):
        loaded = kind.of(found.document)
        repr(loaded)  # looks at what every document of the kind has
    return loaded


def measurements_schema() -> "dict[str, type[polars.DataType]]":
    """Return the columns of a table of measurements."""
    from narthex.extras import polars as pl

    return {
        "kind": pl.String,
        "region": pl.String,
        "node": pl.Int64,
        "process": pl.Int64,
        "name": pl.String,
        "value": pl.Float64,
        "unit": pl.String,
    }


def reports_of(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the reports of a run's document, with their values as numbers."""
    for report in document["reports"]:
        yield {**report, "value": notation.read(report["value"])}


def place(node: int, process: int) -> str:
    """Return a process's node, and its number there unless it is the first."""
    return f"{node}.{process}" if process else str(node)


def place_of(entry: dict[str, Any]) -> str:
    """Return whose a report, or a piece of output, of a document is."""
    if is_firmwares(entry):
        return f"{entry['node']}, firmware"
    return place(entry["node"], entry["process"])


def larger_is_better(unit: str) -> bool:
    """Tell whether a value is a rate ("MB/s"); of all else less is better."""
    return unit.endswith("/s")


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
