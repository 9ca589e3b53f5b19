"""An experiment's file: what is measured, what it is compared with, what the paper claims.

    experiments/PAPER/NAME.toml
      places                       settings that several interfaces share
      interfaces x workload        measured, one row each
      comparison, break_even,      derived from them: one interface against another,
      derived, threshold           or any expression of what is measured
      limit_percent, limit_points, how far from the paper a row may be
      exception
      miss                         rows that are far from the paper, and why
      not_compared                 published values that no row can answer, and why
      claim                        sentences of the paper as expressions
      sweep                        a parameter of the machine that they hang on

The file is read by `loading`.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

from narthex.results import larger_is_better
from narthex.validation.published import Place, place

Take = Literal["smallest", "largest", "mean", "largest mean"]
"""Which of several values a derived row shows; the largest mean is that of
several expressions, each averaged over the workloads."""


@dataclass(frozen=True)
class Interface:
    """What is measured at every workload: an interface, perhaps with parameters of its own."""

    name: str
    """As rows and claims call it: "NI2w on io-bus", "CNI16Qm with data snarfing"."""
    interface: str = ""
    """What a run is given, where that is not the name."""
    set: list[str] = field(default_factory=list)
    """Differences from the machine for this interface alone."""
    where: list[str] = field(default_factory=list)
    """Names of the experiment's places, whose differences come before these."""
    workloads: list[str] = field(default_factory=list)
    """At which workloads it is measured; at all if empty. `*` stands for any part of a name."""

    @property
    def spelt(self) -> str:
        """The interface in the taxonomy's notation."""
        return self.interface or self.name

    @property
    def place(self) -> Place:
        """Name and attachment, as published values know them."""
        return place(self.name)[0], place(self.spelt)[1]


@dataclass(frozen=True)
class PlaceDefinition:
    """Differences from the machine that several interfaces have: where they are attached."""

    name: str
    set: list[str]


@dataclass(frozen=True)
class MessageSize:
    """A size of messages that the paper prints, header included."""

    bytes: int
    low: int | None = None
    """Where the paper prints the average of a range: the smallest of it."""
    high: int | None = None
    """The largest of it."""

    def holds(self, size: int) -> bool:
        """Whether a message of this size is one of them."""
        least = self.bytes if self.low is None else self.low
        most = self.bytes if self.high is None else self.high
        return least <= size <= most


@dataclass(frozen=True)
class Workload:
    """One column of the table: a program and its arguments."""

    name: str
    args: list[str] = field(default_factory=list)
    bytes: int | None = None
    """The payload, where break-evens are looked for."""
    program: str = ""
    """Which program, where it is not the experiment's."""
    report: str = ""
    """Which report is the value, where it is not the experiment's."""
    statistic: list[str] = field(default_factory=list)
    """Of which statistics the value is the sum, where it is not the experiment's."""
    unit: str = ""
    """The value's unit, where it is not the experiment's."""
    minus: list[str] = field(default_factory=list)
    """Reports that are taken away from the one that is the value: what reading a clock takes."""
    per: float = 1.0
    """By how many the value is divided: messages, where it is that of one."""
    sizes: list[MessageSize] = field(default_factory=list)
    """The sizes that the paper prints, where messages are counted by size."""
    beside: list[str] = field(default_factory=list)
    """Jobs that share the nodes with the program ("em3d 64"), which is a job then, too."""
    ledger: list[str] = field(default_factory=list)
    """Of which activities or occupations the time is, where it is not of the experiment's."""
    firmware_of: int | None = None
    """With whole_run: of this node's processors that run firmware alone."""


@dataclass(frozen=True)
class Comparison:
    """By how many percent one interface is better than another (a derived row)."""

    interface: str
    baseline: str
    workload: str
    """One workload, or a name for several: "8 to 256 bytes"."""
    workloads: list[str] = field(default_factory=list)
    """Over which ones; if empty the one that is named, or else all."""
    best_of: list[str] = field(default_factory=list)
    """If given, `interface` is a name for the best of these at each workload."""
    relation: Literal["speed-up", "increase", "reduction"] = "speed-up"
    """`speed-up`: baseline's time over the interface's, or its rate over the
    baseline's, less one; `increase`: interface's value over the baseline's, less
    one; `reduction`: one less the interface's value over the baseline's."""
    take: list[Take] = field(default_factory=lambda: ["mean"])
    """A row for each: the paper gives a range, an "as much as", or one number."""

    @property
    def compared(self) -> list[str]:
        """The measured interfaces that it needs."""
        return [*(self.best_of or [self.interface]), self.baseline]


@dataclass(frozen=True)
class BreakEven:
    """The payload from which on an interface is better than another (a derived row)."""

    interface: str
    baseline: str

    @property
    def compared(self) -> list[str]:
        """The measured interfaces that it needs."""
        return [self.interface, self.baseline]


@dataclass(frozen=True)
class Derived:
    """Any expression of measured values (a derived row)."""

    interface: str
    """What the row is about; a name for it, not one that is measured."""
    workload: str
    """One workload, or a name for several."""
    values: list[str]
    """Expressions in the language of claims; the row shows one of their values."""
    baseline: str = ""
    """Against what, where the paper says so."""
    unit: str = "percent"
    share: bool = False
    """Whether a value in percent is a part of a whole; else it stands for a ratio."""
    workloads: list[str] = field(default_factory=list)
    """Over which ones; if empty the one that is named, or else all."""
    take: list[Take] = field(default_factory=lambda: ["mean"])


@dataclass(frozen=True)
class Threshold:
    """The smallest number from which on something holds (a derived row)."""

    interface: str
    workload: str
    """The workload at which it is looked for."""
    along: list[int]
    """The numbers, rising."""
    holds: str
    """A claim in which # stands for the number."""
    unit: str
    baseline: str = ""

    def at(self, number: int) -> str:
        """Return the claim for one of the numbers."""
        return self.holds.replace("#", str(number))


@dataclass(frozen=True)
class Sweep:
    """A parameter that is measured with several values, because conclusions hang on it."""

    key: str
    """As `--set` takes it: "flow_control.retry_delay"."""
    values: list[str]
    """Besides the machine's own."""
    reason: str
    interfaces: list[str] = field(default_factory=list)
    """What is measured with them; all if empty. Claims and derived rows that need more are not."""
    workloads: list[str] = field(default_factory=list)
    """At which workloads; at all if empty."""


@dataclass(frozen=True)
class Miss:
    """Rows that are far from the paper, and why."""

    rows: list[str]
    """As summaries name rows: "CNI4, moldyn"; a * stands for any text."""
    cause: str


@dataclass(frozen=True)
class NotCompared:
    """A published value that no row answers."""

    interface: str
    workload: str
    unit: str
    reason: str
    baseline: str = ""


@dataclass(frozen=True)
class LimitException:
    """A cell with a limit of its own."""

    interface: str
    workload: str
    limit_percent: float
    reason: str


@dataclass(frozen=True)
class ClaimDefinition:
    """A sentence of the paper and the expression that says whether it holds."""

    text: str
    source: str
    """Where the paper says so."""
    holds: str
    """See `claims` for the language."""
    workloads: list[str] = field(default_factory=list)
    """The claim must hold at each of them; at all if empty."""
    fails_because: str = ""
    """Of a claim that fails: the cause, as far as it is known."""


@dataclass(frozen=True)
class Experiment:
    """One published table or figure."""

    name: str
    """PAPER/NAME, as on the command line and in the published values."""
    title: str
    source: str
    """Paper, and table or figure of it."""
    machine: str
    unit: str
    interfaces: list[Interface]
    workload: list[Workload]
    program: str = ""
    """Which program, where the workloads do not say."""
    report: str = ""
    """The name under which the program reports the value; or else:"""
    statistic: list[str] = field(default_factory=list)
    """The value is the sum of these statistics over the nodes, in the region; or else:"""
    share_of: list[str] = field(default_factory=list)
    """If given, the value is the percentage that `statistic` is of these."""
    ledger: list[str] = field(default_factory=list)
    """The value is the time that all processors spend in these activities or
    occupations, in the region; in percent it is their share of it; or else:"""
    message_sizes: bool = False
    """The values are percentages: of the messages of the region by size."""
    load: Literal["", "latency", "saturation"] = ""
    """The value is what the machine's network does alone, without programs: the mean
    latency of its packets in ns, or the largest load that does not saturate it, in MB/s a node. A
    workload's arguments are the pattern and, for a latency, the offered load. Each of
    `interfaces` is a name for a network; or else:"""
    hardware: bool = False
    """The values are gates: of a design of hardware, without programs. Each of `interfaces` is a
    name for a design (`narthex hardware area`), a workload's argument the target on which it is
    measured; or else:"""
    load_cycles: int = 20_000
    """Cycles of the links for which a load is measured."""
    region: str = "main"
    """The region of the program that statistic, ledger, sizes and plots look at."""
    whole_run: bool = False
    """Whether the whole run takes the region's place; the time of firmware is part of it."""
    normalise: str = ""
    """The interface that plots are normalised to; the first one if missing."""
    curves: str = ""
    """How names of workloads are read where a plot draws curves instead of bars: `{curve}`,
    `{x}` (a number) and, if there are panels, `{panel}` stand for parts of them. Where the
    interface's name has one of these parts: `INTERFACE @ WORKLOAD`."""
    over: str = ""
    """With curves: the report that points are drawn over, in the order of `{x}`, where that is
    not `{x}` itself."""
    published: str = ""
    """Whose published values are shown, where they are not its own."""
    set: list[str] = field(default_factory=list)
    """Differences from the machine, as `--set` takes them."""
    places: list[PlaceDefinition] = field(default_factory=list)
    """Where an interface may be, by name (`where`)."""
    nodes: int = 2
    spread: list[str] = field(default_factory=list)
    """How the value varies within a run: the name of one report that says it, or
    of several between which it lies; empty for programs that do not tell."""
    seeds: list[int] = field(default_factory=lambda: [1])
    """One run for each; the value is their mean."""
    limit_percent: float | None = None
    """How far from a published value a row may be; no limit if missing."""
    limit_points: float | None = None
    """How far a row in percent may be from a published value, in points; no limit if missing."""
    exception: list[LimitException] = field(default_factory=list)
    comparison: list[Comparison] = field(default_factory=list)
    break_even: list[BreakEven] = field(default_factory=list)
    derived: list[Derived] = field(default_factory=list)
    threshold: list[Threshold] = field(default_factory=list)
    miss: list[Miss] = field(default_factory=list)
    not_compared: list[NotCompared] = field(default_factory=list)
    claim: list[ClaimDefinition] = field(default_factory=list)
    sweep: list[Sweep] = field(default_factory=list)

    @property
    def interface_names(self) -> list[str]:
        """The measured interfaces."""
        return [interface.name for interface in self.interfaces]

    @property
    def workload_names(self) -> list[str]:
        """The measured workloads."""
        return [workload.name for workload in self.workload]

    @property
    def cells(self) -> list[tuple[Interface, Workload]]:
        """What is measured: every interface at its workloads."""
        return [
            (interface, workload)
            for interface in self.interfaces
            for workload in self.workload
            if not interface.workloads or workload.name in interface.workloads
        ]

    @property
    def measured(self) -> frozenset[tuple[str, str]]:
        """The cells by name."""
        return frozenset((interface.name, workload.name) for interface, workload in self.cells)

    def program_of(self, workload: Workload) -> str:
        """Return the program of a workload."""
        return workload.program or self.program

    def at(self, workload: Workload) -> "Experiment":
        """Return the experiment with the value and the unit of a workload."""
        own = {key: getattr(workload, key) for key in ("report", "statistic", "ledger")}
        value = own if any(own.values()) else {}
        return replace(self, unit=workload.unit or self.unit, **value)

    def unit_at(self, workload: str) -> str:
        """Return the unit of a workload's value."""
        own = (each.unit for each in self.workload if each.name == workload)
        return next(own, "") or self.unit

    @property
    def has_jobs(self) -> bool:
        """Whether the programs run as jobs, with one process on each node; also where one is alone.

        Then what the program reports is looked at, and not what others beside it do.
        """
        return any(workload.beside for workload in self.workload)

    @property
    def programs(self) -> list[str]:
        """Every program, once."""
        if self.load or self.hardware:
            return []
        return list(dict.fromkeys(map(self.program_of, self.workload)))

    @property
    def needs(self) -> str:
        """The extra of Narthex that its cells need; empty if none."""
        return "hardware" if self.hardware else ""

    def larger_is_better(self, workload: str = "") -> bool:
        """Return whether the value is a rate, that of a workload or the experiment's."""
        return larger_is_better(self.unit_at(workload))

    def place(self, interface: str) -> Place:
        """Return name and attachment of what a row is about."""
        by_name = {each.name: each.place for each in self.interfaces}
        return by_name.get(interface) or place(interface)
