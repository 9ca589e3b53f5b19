"""An experiment's file: what is measured, what it is compared with, what the paper claims.

    experiments/PAPER/NAME.toml
      interfaces x workload        measured, one row each
      comparison, break_even       derived from them: one interface against another
      limit_percent, exception     how far from the paper a row may be
      claim                        sentences of the paper as expressions

The file is read strictly (`strict`): an unknown key is an error with a
suggestion, and so is a name in a claim or comparison that is not measured.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from narthex import assets
from narthex.errors import NarthexError, unknown
from narthex.results import larger_is_better
from narthex.validation import claims, strict
from narthex.validation.published import Place, place

Take = Literal["smallest", "largest", "mean"]
"""Which of several values a derived row shows."""


@dataclass(frozen=True)
class Interface:
    """What is measured at every workload: an interface, perhaps with parameters of its own."""

    name: str
    """As rows and claims call it: "NI2w on io-bus", "CNI16Qm with data snarfing"."""
    interface: str = ""
    """What a run is given, where that is not the name."""
    set: list[str] = field(default_factory=list)
    """Differences from the machine for this interface alone."""

    @property
    def spelt(self) -> str:
        """The interface in the taxonomy's notation."""
        return self.interface or self.name

    @property
    def place(self) -> Place:
        """Name and attachment, as published values know them."""
        return place(self.name)[0], place(self.spelt)[1]


@dataclass(frozen=True)
class Workload:
    """One column of the table: the program's arguments for it."""

    name: str
    args: list[str]
    bytes: int | None = None
    """The payload, where break-evens are looked for."""


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
    relation: Literal["speed-up", "increase"] = "speed-up"
    """`speed-up`: baseline's time over the interface's, or its rate over the
    baseline's, less one; `increase`: interface's value over the baseline's, less one."""
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


@dataclass(frozen=True)
class Experiment:
    """One published table or figure."""

    name: str
    """PAPER/NAME, as on the command line and in the published values."""
    title: str
    source: str
    """Paper, and table or figure of it."""
    program: str
    machine: str
    report: str
    """The name under which the program reports the value."""
    unit: str
    interfaces: list[Interface]
    workload: list[Workload]
    published: str = ""
    """Whose published values are shown, where they are not its own."""
    set: list[str] = field(default_factory=list)
    """Differences from the machine, as `--set` takes them."""
    nodes: int = 2
    spread: list[str] = field(default_factory=list)
    """How the value varies within a run: the name of one report that says it, or
    of several between which it lies; empty for programs that do not tell."""
    seeds: list[int] = field(default_factory=lambda: [1])
    """One run for each; the value is their mean."""
    limit_percent: float | None = None
    """How far from a published value a row may be; no limit if missing."""
    exception: list[LimitException] = field(default_factory=list)
    comparison: list[Comparison] = field(default_factory=list)
    break_even: list[BreakEven] = field(default_factory=list)
    claim: list[ClaimDefinition] = field(default_factory=list)

    @property
    def interface_names(self) -> list[str]:
        """The measured interfaces."""
        return [interface.name for interface in self.interfaces]

    @property
    def workload_names(self) -> list[str]:
        """The measured workloads."""
        return [workload.name for workload in self.workload]

    @property
    def larger_is_better(self) -> bool:
        """Whether the value is a rate."""
        return larger_is_better(self.unit)

    def place(self, interface: str) -> Place:
        """Return name and attachment of what a row is about."""
        by_name = {each.name: each.place for each in self.interfaces}
        return by_name.get(interface) or place(interface)


def names() -> list[str]:
    """Return the experiments that come with Narthex, as PAPER/NAME."""
    files = assets.EXPERIMENTS.glob("*/*.toml")
    return sorted(file.relative_to(assets.EXPERIMENTS).with_suffix("").as_posix() for file in files)


def load(name: str) -> Experiment:
    """Read an experiment: one that comes with Narthex, or a file of the user's."""
    own = Path(name)
    if own.suffix == ".toml" and own.is_file():
        return parse(f"{own.resolve().parent.name}/{own.stem}", own)
    by_folded = {known.casefold(): known for known in names()}
    if name.casefold() not in by_folded:
        raise unknown("experiment", name, by_folded.values())
    known = by_folded[name.casefold()]
    return parse(known, assets.EXPERIMENTS / f"{known}.toml")


def only(experiment: Experiment, interfaces: list[str]) -> Experiment:
    """Return the part of an experiment that needs no other interfaces than these.

    An empty list leaves it whole.
    """
    if not interfaces:
        return experiment
    by_folded = {name.casefold(): name for name in experiment.interface_names}
    for name in interfaces:
        if name.casefold() not in by_folded:
            raise unknown(f"interface in {experiment.name}", name, by_folded.values())
    kept = {by_folded[name.casefold()] for name in interfaces}
    return replace(
        experiment,
        interfaces=[each for each in experiment.interfaces if each.name in kept],
        exception=[each for each in experiment.exception if each.interface in kept],
        comparison=[each for each in experiment.comparison if kept.issuperset(each.compared)],
        break_even=[each for each in experiment.break_even if kept.issuperset(each.compared)],
        claim=[each for each in experiment.claim if claims.interfaces(each.holds) <= kept],
    )


def parse(name: str, file: Path) -> Experiment:
    """Read one file and check what can be checked before anything runs."""
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise NarthexError(f"{file}: {error}") from error
    experiment = strict.table(Experiment, {**given, "name": name}, str(file))
    for key in ("workload", "interfaces", "seeds"):
        if not getattr(experiment, key):
            raise NarthexError(f"{file}: '{key}' must not be empty")
    every = experiment.workload_names
    experiment = replace(
        experiment,
        published=experiment.published or name,
        claim=[replace(each, workloads=each.workloads or every) for each in experiment.claim],
        comparison=[replace(each, workloads=_over(each, every)) for each in experiment.comparison],
    )
    _check_names(experiment, file)
    return experiment


def _over(comparison: Comparison, every: list[str]) -> list[str]:
    """Return the workloads that a comparison is about."""
    named = [comparison.workload] if comparison.workload in every else every
    return comparison.workloads or named


def _check_names(experiment: Experiment, file: Path) -> None:
    """Refuse a name that is measured twice or not at all."""
    interfaces, workloads = experiment.interface_names, experiment.workload_names
    for kind, measured in (("interface", interfaces), ("workload", workloads)):
        twice = [name for name in measured if measured.count(name) > 1]
        if twice:
            raise NarthexError(f"{file}: {kind} '{twice[0]}' stands there twice")
    for each in (*experiment.claim, *experiment.comparison):
        _all_known("workload", each.workloads, workloads, file)
    for claim in experiment.claim:
        claims.check(claim.holds, interfaces, workloads, f"{file}: claim '{claim.text}'")
    for each in (*experiment.comparison, *experiment.break_even):
        _all_known("interface", each.compared, interfaces, file)
    for each in experiment.exception:
        _all_known("interface", [each.interface], interfaces, file)
        _all_known("workload", [each.workload], workloads, file)
    if experiment.break_even:
        sizes = [each.bytes for each in experiment.workload if each.bytes is not None]
        if len(sizes) != len(workloads) or sizes != sorted(sizes):
            raise NarthexError(f"{file}: 'break_even' needs 'bytes' in each workload, rising")


def _all_known(kind: str, used: Iterable[str], measured: list[str], file: Path) -> None:
    for name in used:
        if name not in measured:
            raise unknown(f"{kind} in {file}", name, measured)
