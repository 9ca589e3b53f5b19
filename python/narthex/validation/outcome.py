"""What an experiment found: rows beside published values, and claims that hold or not."""

from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from narthex import _native
from narthex.validation import claims
from narthex.validation.definition import Experiment
from narthex.validation.published import Key, Published

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True)
class Sample:
    """What one run of a cell reported."""

    value: float
    spread: float | None
    """How the value varied within the run, where the program tells."""


Samples = dict[tuple[str, str], list[Sample]]
"""By (interface, workload): one for each seed."""


@dataclass(frozen=True)
class Row:
    """One cell of the published table."""

    experiment: str
    interface: str
    attach: str
    workload: str
    value: float
    """Mean over the seeds."""
    unit: str
    spread: float
    """How the value varies, in its unit: within a run where the program tells
    (the experiment's file says how), or else the range over the seeds."""
    published_low: float | None
    published_high: float | None
    error_percent: float | None


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, looked at."""

    text: str
    source: str
    holds: bool


@dataclass(frozen=True)
class Outcome:
    """All that `narthex experiment` prints and writes."""

    experiment: Experiment
    rows: list[Row]
    claims: list[Claim]
    machine: dict[str, Any]

    @property
    def holds(self) -> bool:
        """Whether every claim holds."""
        return all(claim.holds for claim in self.claims)

    @property
    def document(self) -> dict[str, Any]:
        """What `--json` writes."""
        return {
            "schema": 1,
            "rows": [asdict(row) for row in self.rows],
            "claims": [asdict(claim) for claim in self.claims],
            "machine": self.machine,
            "version": _native.__version__,
        }

    @property
    def frame(self) -> "polars.DataFrame":
        """The rows as a Polars frame."""
        import polars as pl

        return pl.DataFrame([asdict(row) for row in self.rows], infer_schema_length=None)


def assess(
    experiment: Experiment,
    samples: Samples,
    published: dict[Key, Published],
    machine: dict[str, Any],
) -> Outcome:
    """Put measured values beside published ones and look at every claim."""
    rows = [
        _row(experiment, interface, workload.name, samples[interface, workload.name], published)
        for interface in experiment.interfaces
        for workload in experiment.workload
    ]
    values = {(row.interface, row.workload): row.value for row in rows}
    assessed = [
        Claim(
            claim.text,
            claim.source,
            all(claims.holds(claim.holds, values, workload) for workload in claim.workloads),
        )
        for claim in experiment.claim
    ]
    return Outcome(experiment, rows, assessed, machine)


def _row(
    experiment: Experiment,
    interface: str,
    workload: str,
    samples: list[Sample],
    published: dict[Key, Published],
) -> Row:
    values = [sample.value for sample in samples]
    spreads = [sample.spread for sample in samples if sample.spread is not None]
    value = fmean(values)
    printed = published.get((interface, workload, experiment.unit))
    return Row(
        experiment=experiment.name,
        interface=interface,
        attach=experiment.attach,
        workload=workload,
        value=value,
        unit=experiment.unit,
        spread=fmean(spreads) if spreads else max(values) - min(values),
        published_low=printed.low if printed else None,
        published_high=printed.high if printed else None,
        error_percent=printed.error_percent(value) if printed else None,
    )
