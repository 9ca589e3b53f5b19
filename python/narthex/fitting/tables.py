"""The parameters of several interfaces as tables, for the terminal and for pages."""

from collections.abc import Sequence
from dataclasses import dataclass

from narthex.fitting.execution import Fit
from narthex.fitting.model import Line, LogGP


@dataclass(frozen=True)
class Table:
    """A table whose first column names interfaces."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    numbers: list[str]
    """Columns that hold numbers."""
    prose: list[str]
    """Columns that hold sentences."""


def tables(fits: Sequence[Fit]) -> list[Table]:
    """Lay out the parameters for a message, and what each further byte adds."""
    sizes = sorted({each.size for each in fits[0].measurements})
    machine = fits[0].machine["machine"]["name"]
    message, byte = ["L", "o_s", "o_r", "g"], ["L_byte", "O_s", "O_r", "G", "G_T"]
    return [
        Table(
            f"LogGP of messages of {sizes[0]} to {sizes[-1]} bytes on {machine}, in ns a message",
            ["interface", *message, "largest residual"],
            [[fit.interface, *_first(fit), _residual(fit)] for fit in fits],
            message,
            ["largest residual"],
        ),
        Table(
            "And in ns for each further byte",
            ["interface", *byte],
            [[fit.interface, *_per_byte(fit)] for fit in fits],
            byte,
            [],
        ),
    ]


def caution_table(fits: Sequence[Fit]) -> Table | None:
    """Lay out where the model does not fit, if there is such a place."""
    rows = [[fit.interface, caution] for fit in fits for caution in fit.cautions]
    columns = ["interface", "caution"]
    return Table("Where LogGP does not fit", columns, rows, [], columns[1:]) if rows else None


def _first(fit: Fit) -> list[str]:
    return [
        f"{line.first_ns:,.0f} ±{half.first_ns:,.0f}"
        for line, half in zip(_lines(fit.parameters), _lines(fit.estimate.within), strict=True)
    ]


def _per_byte(fit: Fit) -> list[str]:
    cells = [
        f"{line.per_byte_ns:,.2f} ±{half.per_byte_ns:,.2f}"
        for line, half in zip(_lines(fit.parameters), _lines(fit.estimate.within), strict=True)
    ]
    return [*cells, f"{fit.parameters.one_way.per_byte_ns:,.2f}"]


def _lines(model: LogGP) -> list[Line]:
    """Return the lines in the order of the columns."""
    return [model.latency, model.send_overhead, model.receive_overhead, model.gap]


def _residual(fit: Fit) -> str:
    worst = fit.largest_residual
    return f"{worst.percent:+.1f} % ({worst.series}, {worst.size} bytes)"
