"""The section of fits: what was measured and the lines through it, the parameters, the doubts."""

from collections.abc import Sequence
from typing import Any

from narthex.charts import curves
from narthex.fitting.estimator import SERIES, means_of
from narthex.fitting.output import read
from narthex.fitting.tables import Table as Laid
from narthex.fitting.tables import caution_table, tables
from narthex.report.parts import Chart, Facts, Paragraph, Section, Table, columns, number

LINES = (
    "One way of k bytes takes L + o_s + o_r + (k-1) G_T, where G_T = L_byte + O_s + O_r; a stream"
    " sends one message every g + (k-1) G. Behind ± is half the confidence interval."
)


def sections(document: dict[str, Any]) -> list[Section]:
    """Describe the fits of several interfaces side by side."""
    fits = [read(entry) for entry in document["fits"]]
    first = fits[0]
    facts = Facts(
        [
            ("Model", "LogGP"),
            ("Machine", first.machine["machine"]["name"]),
            ("Interfaces", number(len(fits))),
            ("Sizes of messages", number(len({each.size for each in first.measurements}))),
            ("Runs of each size", number(len({each.seed for each in first.measurements}))),
            ("Confidence", f"{100 * document['level']:.0f} %"),
            ("Narthex", document["version"]),
        ]
    )
    doubts = caution_table(fits)
    told = [_table(doubts)] if doubts else [Paragraph("The model fits within its bounds.")]
    arguments = [
        [entry["interface"], entry["loggopsim"]["arguments"], _error(entry)]
        for entry in document["fits"]
    ]
    names = columns("interface", "arguments", "largest error of one way")
    return [
        Section("Parameters", [facts, Paragraph(LINES), *map(_table, tables(fits))]),
        Section("Measured and fitted", [chart(fits)]),
        Section("Where the model does not fit", told),
        Section("For LogGOPSim", [Table("Arguments of LogGOPSim", names, list(arguments))]),
    ]


def _table(laid: Laid) -> Table:
    names = columns(*laid.columns, numbers=laid.numbers)
    return Table(laid.title, names, [list(row) for row in laid.rows])


def _error(entry: dict[str, Any]) -> str:
    converted = entry["loggopsim"]
    percent, size = converted["largest_error_percent"], converted["largest_error_at_bytes"]
    return f"{percent:+.1f} % at {size} bytes"


def chart(fits: Sequence[Any]) -> Chart:
    """Return what was measured and the lines of the model."""
    rows = [row for fit in fits for row in _rows(fit)]
    names = [fit.interface for fit in fits]
    cells = [
        [row["interface"], row["panel"], str(row["x"]), number(row["value"]), number(row["line"])]
        for row in rows
    ]
    numbers = ["bytes", "measured, ns", "line, ns"]
    behind = columns("interface", "series", *numbers, numbers=numbers)
    return Chart(
        "Times over the size of messages",
        "A panel for each series: points are means over the seeds, their bars the range, lines the"
        " fitted model",
        curves.fitted(rows, "ns", names, x="bytes", panels="panel"),
        Table("Measured and fitted", behind, cells, is_folded=True),
    )


def _rows(fit: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - a fit, or one that was read
    """Return a point for each series and size, with its range over the seeds and its line."""
    model = fit.parameters
    lines = dict(
        zip(
            SERIES,
            (model.one_way, model.send_overhead, model.receive_overhead, model.gap),
            strict=True,
        )
    )
    rows = []
    for name, value in SERIES.items():
        for size, means in means_of(fit.measurements).items():
            of_size = [value(each) for each in fit.measurements if each.size == size]
            rows.append(
                {
                    "interface": fit.interface,
                    "panel": name,
                    "x": size,
                    "value": means[name],
                    "low": min(of_size),
                    "high": max(of_size),
                    "line": lines[name].at(size),
                }
            )
    return rows
