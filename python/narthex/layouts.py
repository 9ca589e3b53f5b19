"""The layouts of results, as types: what a file has to hold to be a result.

What a document has, its reader relies on: lists that are not empty, numbers
that a column of 64 bits holds, texts where texts are. `msgspec` checks a file
against the layout of its kind and names the place of the first mistake. Keys
that no layout knows stay as they are, and so does all of a machine but its
name: the present simulator says what it does not know of one. Layouts of
experiments are their classes.

Nothing is imported from here before a file is read.
"""

from typing import Annotated, Any, Literal, NotRequired, TypedDict, TypeVar

import msgspec

from narthex.validation.outcome import Claim, Failure, Summary
from narthex.validation.rows import Row
from narthex.validation.sensitivity import Varied
from narthex.validation.variations import Untried

Made = TypeVar("Made")

Whole = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Signed = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
Number = float | Literal["NaN", "Infinity", "-Infinity"]
Ledger = dict[str, Positive]
Statistic = float | dict[str, float | str | list[Any] | None]


class Named(TypedDict):
    """What a machine is called."""

    name: str


class OfNamed(TypedDict):
    """A machine that has a name."""

    machine: Named


class OfMachine(TypedDict):
    """What names its machine."""

    machine: OfNamed


class Report(TypedDict):
    """What a program reported."""

    node: Whole
    process: Whole
    name: str
    value: Number
    unit: str


class MessageSize(TypedDict):
    """How many messages have a size."""

    bytes: Whole
    messages: Positive


class FirmwareTime(TypedDict):
    """What a node's firmware did meanwhile."""

    processor: Whole
    ledger_ps: Ledger
    waits_ps: NotRequired[Ledger]


class Region(TypedDict):
    """A part of a program; what was counted in it is there if it has ended."""

    node: Whole
    process: Whole
    name: str
    begin_ps: Whole
    end_ps: Whole | None
    ledger_ps: NotRequired[Ledger]
    waits_ps: NotRequired[Ledger]
    firmware_processors: NotRequired[list[FirmwareTime]]
    statistics: NotRequired[dict[str, Statistic]]
    message_sizes: NotRequired[list[MessageSize]]


class Processor(TypedDict):
    """A processor of a node."""

    exit_code: Signed | None
    retired: Whole
    cycles: Whole
    ledger_ps: Annotated[Ledger, msgspec.Meta(min_length=1)]
    waits_ps: NotRequired[Ledger]


class Node(TypedDict):
    """A node of the machine."""

    node: Whole
    processors: Annotated[list[Processor], msgspec.Meta(min_length=1)]
    statistics: dict[str, Statistic]
    message_sizes: list[MessageSize]


class Description(TypedDict):
    """What a statistic is."""

    unit: str
    meaning: str


class Piece(TypedDict):
    """Something that a program wrote."""

    node: Whole
    process: Whole
    stream: str
    text: str


# A key `from` cannot stand in a class.
Link = TypedDict(
    "Link",
    {"from": str, "to": str, "parcels": Whole, "bytes": Whole, "busy": Whole, "waited": Whole},
)
"""A link of a network of switches."""

Queue = TypedDict(
    "Queue",
    {
        "switch": str,
        "from": str,
        "parcels": Whole,
        "most_bytes": Whole,
        "byte_ns": Whole,
        "dropped": NotRequired[Whole],
        "pauses": NotRequired[Whole],
        "marked": NotRequired[Whole],
    },
)
"""The buffers of a switch behind one link."""


class Latency(TypedDict):
    """How long parcels took."""

    count: Whole
    sum: Whole
    minimum: Whole | None
    maximum: Whole | None
    buckets: list[tuple[Whole, Whole]]


class NetworkStatistics(TypedDict):
    """What the nodes' ends of a network saw together."""

    parcels_handed_over: Whole
    parcels_arrived: Whole
    network_latency: Latency


class Network(TypedDict):
    """What a network of switches saw."""

    switches: Whole
    statistics: NetworkStatistics
    links: Annotated[list[Link], msgspec.Meta(min_length=1)]
    queues: list[Queue]
    bytes_from: list[list[Whole]]


class NetworkOnChip(TypedDict):
    """What the networks on chip of all nodes carried."""

    nodes: Annotated[int, msgspec.Meta(ge=1)]
    lanes: Annotated[int, msgspec.Meta(ge=1)]
    links: Annotated[list[Link], msgspec.Meta(min_length=1)]


class PairLatency(TypedDict):
    """How long packets or messages of a pair of ranks took."""

    count: Whole
    sum: Whole
    minimum: Whole | None
    maximum: Whole | None
    buckets: NotRequired[list[tuple[Whole, Whole]]]
    percentiles: NotRequired[dict[str, Whole]]


Pair = TypedDict(
    "Pair",
    {
        "from": Whole,
        "to": Whole,
        "packets": Whole,
        "bytes": Whole,
        "messages": NotRequired[Whole],
        "packet_latency_ps": PairLatency,
        "message_latency_ps": NotRequired[PairLatency],
    },
)
"""What one rank sent another."""


class MessageLatency(Latency):
    """How long messages took."""

    percentiles: NotRequired[dict[str, Whole]]


class SizeLatency(TypedDict):
    """How long messages of a size took."""

    bytes: Whole
    message_latency_ps: MessageLatency


class SeriesRow(TypedDict):
    """An amount over time, of a node or of all: its mean in each bin."""

    node: Whole | None
    kind: Literal["bus", "activity", "messages", "packets"]
    name: str
    means: list[float]


class Series(TypedDict):
    """Amounts over time, in bins of one width."""

    bin_ps: Positive
    rows: list[SeriesRow]


# A key `from` cannot stand in a class.
LinkOverTime = TypedDict(
    "LinkOverTime", {"from": str, "to": str, "busy": list[float], "taken_bytes": list[Whole]}
)
"""A link in each interval: the share of it, and the room behind it that is taken at its end."""

QueueOverTime = TypedDict("QueueOverTime", {"from": str, "switch": str, "bytes": list[float]})
"""The bytes that wait at an input of a switch: their mean in each interval."""


class NodeOverTime(TypedDict):
    """Of a node in each interval: packets, and bytes that wait for its link at the end."""

    node: Whole
    returned: list[Whole]
    sent_again: list[Whole]
    waiting_bytes: list[Whole]


class OverTime(TypedDict):
    """What the network did in each interval; links and queues that did nothing are left out."""

    interval_ps: Positive
    links: list[LinkOverTime]
    queues: list[QueueOverTime]
    nodes: list[NodeOverTime]


class Traffic(TypedDict):
    """Who talks to whom, and what was busy when."""

    ranks: Positive
    pairs: list[Pair]
    sizes: list[SizeLatency]
    series: Series
    over_time: NotRequired[OverTime]


class Run(TypedDict):
    """The document of a run."""

    version: str
    program: str
    arguments: list[str]
    binary_sha256: str
    interface: str
    machine: OfNamed
    simulated_ps: Whole
    reports: list[Report]
    regions: list[Region]
    message_sizes: list[MessageSize]
    statistics: NotRequired[dict[str, Description]]
    nodes: Annotated[list[Node], msgspec.Meta(min_length=1)]
    output: list[Piece]
    network: NotRequired[Network]
    network_on_chip: NotRequired[NetworkOnChip]
    traffic: NotRequired[Traffic]


class Rank(TypedDict):
    """An interface's place in a comparison; one without a value has a reason."""

    rank: Whole | None
    interface: str
    status: Literal["ranked", "failed", "left out"]
    measure: str
    value: Number | None
    unit: str
    times_best: float | None
    reason: str | None
    exit_code: Whole


class Comparison(TypedDict):
    """The document of a comparison."""

    version: str
    rows: Annotated[list[Rank], msgspec.Meta(min_length=1)]
    runs: Annotated[list[Run], msgspec.Meta(min_length=1)]


class CellLedger(TypedDict):
    """Where the time of a cell's runs went."""

    experiment: str
    interface: str
    workload: str
    ledger_ps: Ledger


class ExperimentMachines(TypedDict):
    """What summaries of experiments say about their machines."""

    summaries: list[OfMachine]


class Experiments(TypedDict):
    """The document of experiments."""

    version: str
    rows: list[Row]
    claims: list[Claim]
    summaries: Annotated[list[Summary], msgspec.Meta(min_length=1)]
    failures: list[Failure]
    ledgers: NotRequired[list[CellLedger]]
    varied: NotRequired[list[Varied]]
    untried: NotRequired[list[Untried]]


class Rounds(TypedDict):
    """All messages that were measured."""

    count: Positive
    total_ps: Whole
    minimum_ps: Whole
    maximum_ps: Whole


class Transaction(TypedDict):
    """A row of a message's life."""

    time_ps: Signed
    node: Literal[0, 1]
    agent: str
    kind: str
    what: str
    deed: str
    critical: bool
    place: NotRequired[str | None]
    data: NotRequired[str | None]
    bus: NotRequired[str | None]
    cycles: NotRequired[Whole | None]
    time_on_bus_ps: NotRequired[Whole | None]
    part: NotRequired[str | None]


class Part(TypedDict):
    """A part of a latency."""

    part: str
    time_ps: Whole
    rounds_total_ps: Whole


class Explanation(TypedDict):
    """The document of an explanation."""

    version: str
    interface: str
    machine: OfNamed
    of: NotRequired[str]
    ends: NotRequired[Literal["node", "tile"]]
    bytes: NotRequired[Whole]
    packets: Whole
    latency_ps: Positive
    rounds: Rounds
    transactions: list[Transaction]
    breakdown: Annotated[list[Part], msgspec.Meta(min_length=1)]


class Interval(TypedDict):
    """A parameter and its confidence interval."""

    value: float
    low: float
    high: float


class Measured(TypedDict):
    """What one run of a fit measured."""

    size: Positive
    seed: Whole
    send_overhead_ns: float
    receive_overhead_ns: float
    one_way_ns: float
    bursts_ns: Annotated[dict[str, float], msgspec.Meta(min_length=3)]
    issues_ns: dict[str, float]
    late: Whole


class Converted(TypedDict):
    """A fit in the arguments of LogGOPSim."""

    arguments: str
    largest_error_percent: float
    largest_error_at_bytes: Whole


class FitEntry(TypedDict):
    """The fit of an interface."""

    interface: str
    parameters: dict[str, Interval]
    cautions: list[str]
    loggopsim: Converted
    measurements: Annotated[list[Measured], msgspec.Meta(min_length=4)]
    machine: OfNamed
    binary_sha256: str


class Fits(TypedDict):
    """The document of fits."""

    version: str
    level: float
    fits: Annotated[list[FitEntry], msgspec.Meta(min_length=1)]


class CounterExample(TypedDict):
    """The shortest way to a violated property."""

    violated: str
    steps: Annotated[list[str], msgspec.Meta(min_length=1)]


class Exploration(TypedDict):
    """The states of one traffic."""

    traffic: str
    states: Whole
    transitions: Whole
    depth: Whole
    complete: bool


class CheckReport(TypedDict):
    """What a check has found."""

    interface: str
    form: str
    without: str | None
    changed: NotRequired[str | None]
    explorations: Annotated[list[Exploration], msgspec.Meta(min_length=1)]
    states: Whole
    complete: bool
    proven: list[str]
    counter_example: CounterExample | None
    elapsed_us: Whole


class Checks(TypedDict):
    """The document of checks."""

    version: str
    checks: Annotated[list[CheckReport], msgspec.Meta(min_length=1)]
    left_out: dict[str, str]


class RanJob(TypedDict):
    """A job that ran beside others."""

    program: str
    arguments: list[str]
    nodes: tuple[Whole, Whole]
    node_list: NotRequired[list[Whole]]


class Beside(TypedDict):
    """What a job takes beside others, and alone."""

    job: str
    beside: str
    measure: str
    unit: str
    alone: Number
    value: Number
    slowdown: float | None


class Interference(TypedDict):
    """The document of what jobs cost each other."""

    version: str
    machine: str
    interface: str
    nodes: Positive
    jobs: Annotated[list[RanJob], msgspec.Meta(min_length=2)]
    matrix: Annotated[list[Beside], msgspec.Meta(min_length=2)]


LAYOUTS = {
    "run": [Run],
    "comparison": [Comparison],
    "experiments": [Experiments, ExperimentMachines],
    "explanation": [Explanation],
    "fit": [Fits],
    "check": [Checks],
    "interference": [Interference],
}
"""By kind of document: all of them hold."""


def decoded(data: bytes) -> object:
    """Return what JSON holds; raises `ValueError`, and `RecursionError` if it is too deep."""
    return msgspec.json.decode(data)


def check(document: object, kind: str) -> None:
    """Check a document against the layout of its kind; raises `ValueError` that names the place."""
    for layout in LAYOUTS[kind]:
        msgspec.convert(document, layout)


def made(kind: type[Made], entry: object) -> Made:
    """Return an entry of a document as the class that it was made of."""
    return msgspec.convert(entry, kind)
