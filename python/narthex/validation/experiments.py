"""What a file of experiments holds: one of them or more, as `--json` and `save` write them."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from narthex.documents import EXPERIMENTS, Kind, Loaded
from narthex.errors import NarthexError, unknown
from narthex.validation.rows import Row

if TYPE_CHECKING:
    import altair
    import polars

TEXTS = ("experiment", "interface", "baseline", "attach", "workload", "take", "unit")
"""Of a row; what else it has are numbers, and whether it is within its limit."""


class Experiments(Loaded):
    """Experiments, measured beside published, with the papers' claims.

    >>> import narthex
    >>> outcome = narthex.experiment("hpca98/roundtrip", interfaces="CNI32Qm")
    >>> file = outcome.save("experiments.json")
    >>> narthex.load(file, narthex.Experiments).frame.equals(outcome.frame)
    True
    """

    kind: ClassVar[Kind] = EXPERIMENTS

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """Make it of its document."""
        return cls(document)

    @property
    def names(self) -> list[str]:
        """The experiments, as PAPER/NAME."""
        return [summary["experiment"] for summary in self.document["summaries"]]

    @property
    def frame(self) -> "polars.DataFrame":
        """The rows, measured beside published: experiment, interface, workload, value, unit ..."""
        from narthex.extras import polars as pl

        schema: dict[str, type[pl.DataType]] = {each.name: pl.Float64 for each in fields(Row)}
        schema.update(dict.fromkeys(TEXTS, pl.String))
        schema["within_limit"] = pl.Boolean
        return pl.DataFrame(self.document["rows"], schema=schema)

    @property
    def verdicts(self) -> "polars.DataFrame":
        """The papers' claims: experiment, claim, whether it holds, where it fails, source."""
        from narthex.extras import polars as pl

        schema: dict[str, type[pl.DataType] | pl.DataType] = {
            "experiment": pl.String,
            "claim": pl.String,
            "holds": pl.Boolean,
            "fails_at": pl.List(pl.String),
            "source": pl.String,
        }
        keys = ("experiment", "text", "holds", "fails_at", "source")
        rows = [[claim[key] for key in keys] for claim in self.document["claims"]]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def plot(self, name: str | None = None) -> "altair.TopLevelMixin":
        """Draw measured values with their spread, and published ones beside them as diamonds.

        Derived rows with a published value have a drawing below. `name` chooses the
        experiment; the first if it is not given.
        """
        from narthex import layouts
        from narthex.charts.standalone import standalone, together
        from narthex.report.experiments import derived_charts, measured_charts
        from narthex.validation.outcome import Summary

        summaries = {
            each["experiment"]: layouts.made(Summary, each) for each in self.document["summaries"]
        }
        chosen = self.names[0] if name is None else name
        if chosen not in summaries:
            raise unknown("experiment here", str(chosen), summaries)
        summary = summaries[chosen]
        of_chosen = (row for row in self.document["rows"] if row["experiment"] == chosen)
        rows = [layouts.made(Row, row) for row in of_chosen]
        measured = [row for row in rows if row.baseline is None and row.value is not None]
        if not measured:
            raise NarthexError(f"{chosen} has nothing to draw: no run gave a value")
        (chart,) = measured_charts(summary, measured)  # measured rows have one unit
        title = f"{chosen}; {summary.source}"
        derived = derived_charts(summary, [row for row in rows if row.baseline is not None])
        return together([chart, *derived], title) if derived else standalone(chart, title)

    def __repr__(self) -> str:
        claims = self.document["claims"]
        held = sum(claim["holds"] for claim in claims)
        return (
            f"<narthex.Experiments {', '.join(self.names)}: {len(self.document['rows'])} rows,"
            f" {held} of {len(claims)} claims hold>"
        )
