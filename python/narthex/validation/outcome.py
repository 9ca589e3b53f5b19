"""What an experiment found: rows beside published values, and claims that hold or not."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from narthex import _native
from narthex.documents import Saved
from narthex.notation import mean
from narthex.validation import claims, rows, sizes
from narthex.validation.claims import At, NoValueError, Values
from narthex.validation.definition import Experiment
from narthex.validation.experiments import Experiments
from narthex.validation.published import Key, Published
from narthex.validation.rows import Row, Samples
from narthex.validation.sensitivity import Varied
from narthex.validation.variations import Untried

if TYPE_CHECKING:
    import altair
    import polars


EVERYWHERE = "all"
"""In the place of a workload, for a claim that is looked at once, over the workloads it names."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, looked at."""

    experiment: str
    text: str
    source: str
    holds: bool
    fails_at: list[str]
    """The workloads at which it does not hold, or where a run failed that it needs; `EVERYWHERE` if
    it names the workload of each value."""
    values: dict[str, dict[str, float | None]] = field(default_factory=dict)
    """By workload, the measured values that it is about; none where a run failed."""
    hangs_on: list[str] = field(default_factory=list)
    """Parameters of the machine with the other values at which it turns, as far as was tried."""

    @property
    def has_values(self) -> bool:
        """Whether every run that it needs gave a value."""
        return all(value is not None for at in self.values.values() for value in at.values())


@dataclass(frozen=True)
class Failure:
    """A run that gave no value."""

    experiment: str
    interface: str
    workload: str
    seed: int
    reason: str
    exit_code: int
    """What the command line exits with for such a run."""


@dataclass(frozen=True)
class Summary:
    """How far an experiment's rows are from the published values."""

    experiment: str
    title: str
    source: str
    published: int
    """Rows with a published value."""
    without_value: list[str]
    """Those of them that have no value: curves that do not cross."""
    mean_absolute_error_percent: float | None
    """Over the others."""
    worst: str | None
    """The row with the largest error."""
    worst_error_percent: float | None
    outside_limits: list[str]
    """The rows whose error is larger than it may be."""
    machine: dict[str, Any]
    """Resolved, as its first run had it."""


@dataclass(frozen=True)
class Outcome(Saved):
    """All that `narthex experiment` prints and writes."""

    experiment: Experiment
    rows: list[Row]
    claims: list[Claim]
    machine: dict[str, Any]
    failures: list[Failure] = field(default_factory=list)
    """The runs that gave no value."""
    samples: Samples = field(default_factory=dict)
    """What the runs gave, for plots."""
    varied: list[Varied] = field(default_factory=list)
    """What came of other values of the machine's parameters, where they were tried."""
    untried: list[Untried] = field(default_factory=list)
    """The assumed values that could not be varied."""

    @property
    def holds(self) -> bool:
        """Whether every claim holds."""
        return all(claim.holds for claim in self.claims)

    @property
    def outside_limits(self) -> list[Row]:
        """The rows whose error is larger than it may be."""
        return [row for row in self.rows if row.within_limit is False]

    @property
    def summary(self) -> Summary:
        """How far the rows are from the published values."""
        errors = {
            label(row): row.error_percent for row in self.rows if row.error_percent is not None
        }
        printed = [row for row in self.rows if row.published_low is not None]
        mean_error = mean([abs(error) for error in errors.values()]) if errors else None
        worst = max(errors, key=lambda name: abs(errors[name]), default=None)
        return Summary(
            experiment=self.experiment.name,
            title=self.experiment.title,
            source=self.experiment.source,
            published=len(printed),
            without_value=[label(row) for row in printed if row.value is None],
            mean_absolute_error_percent=mean_error,
            worst=worst,
            worst_error_percent=errors[worst] if worst else None,
            outside_limits=[label(row) for row in self.outside_limits],
            machine=self.machine,
        )

    @property
    def ledgers(self) -> list[dict[str, Any]]:
        """Where the time of each cell's runs went: the region's ledger, all processors added."""
        return [
            {
                "experiment": self.experiment.name,
                "interface": interface,
                "workload": workload,
                "ledger_ps": dict(sum((Counter(each.ledger_ps) for each in taken), Counter())),
            }
            for (interface, workload), taken in self.samples.items()
            if any(each.ledger_ps for each in taken)
        ]

    @property
    def document(self) -> dict[str, Any]:
        """What `--json` writes."""
        return {
            "schema": 2,
            "rows": [asdict(row) for row in self.rows],
            "claims": [asdict(claim) for claim in self.claims],
            "summaries": [asdict(self.summary)],
            "failures": [asdict(failure) for failure in self.failures],
            "ledgers": self.ledgers,
            "varied": [asdict(each) for each in self.varied],
            "untried": [asdict(each) for each in self.untried],
            "machine": self.machine,
            "version": _native.__version__,
        }

    @property
    def frame(self) -> "polars.DataFrame":
        """The rows, measured beside published: interface, workload, value, unit, error ..."""
        return Experiments(self.document).frame

    @property
    def verdicts(self) -> "polars.DataFrame":
        """The paper's claims: claim, whether it holds, the workloads where it fails, source."""
        return Experiments(self.document).verdicts

    def plot(self) -> "altair.TopLevelMixin":
        """Draw measured values with their spread, and published ones beside them as diamonds."""
        return Experiments(self.document).plot()

    def plot_ledger(self) -> "altair.TopLevelMixin":
        """Draw where the time went as the papers do, and as `--plot`: bars relative to one."""
        from narthex.validation import plots

        return plots.picture(self)

    def __repr__(self) -> str:
        held = sum(claim.holds for claim in self.claims)
        return (
            f"<narthex.Outcome of {self.experiment.name}: {len(self.rows)} rows,"
            f" {held} of {len(self.claims)} claims hold>"
        )


def label(row: Row) -> str:
    """Name a row in a line of text."""
    against = f" against {row.baseline}" if row.baseline else ""
    take = f"{row.take} over " if row.take else ""
    return f"{row.interface}{against}, {take}{row.workload}"


def assess(
    experiment: Experiment,
    samples: Samples,
    failures: Sequence[Failure],
    published: Mapping[Key, Published],
    machine: dict[str, Any],
) -> Outcome:
    """Put measured values beside published ones and look at every claim."""
    made = sizes if experiment.message_sizes else rows
    measured = made.measured(experiment, samples, published)
    values = {(row.interface, row.workload): row.value for row in measured}
    derived = rows.derived(experiment, values, published)
    looked_at = _claims(experiment, values)
    every = [*measured, *derived]
    return Outcome(experiment, every, looked_at, machine, list(failures), samples)


def _holds(expression: str, values: Values, place: At) -> bool:
    try:
        return claims.holds(expression, values, place)
    except (NoValueError, ZeroDivisionError):
        return False


def _claims(experiment: Experiment, values: Values) -> list[Claim]:
    looked_at = []
    for claim in experiment.claim:
        once = claims.is_looked_at_once(claim.holds, claim.workloads)
        places = [At(each, claim.workloads) for each in ([EVERYWHERE] if once else claim.workloads)]
        fails_at = [each.workload for each in places if not _holds(claim.holds, values, each)]
        about = {each.workload: _about(claim.holds, values, each) for each in places}
        looked_at.append(
            Claim(experiment.name, claim.text, claim.source, not fails_at, fails_at, about)
        )
    return looked_at


def _about(expression: str, values: Values, place: At) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name in claims.names(expression, place.workloads):
        try:
            found[name] = claims.measured(name, values, place.workload)
        except NoValueError:
            found[name] = None
    return found
