"""A picture of a sweep: each report over a parameter, a curve for each value of another.

    bandwidth (MB/s) ^      ..---- CNI512Q
                     |   .-'
                     | .'  ....... CNI16Q
                     +-------------> bytes

If not told otherwise, x is the first parameter of numbers that varies (else the
first that does), and colour the first of the others. Every further one divides the
picture into panels: nothing is averaged that is not told. The one exception is the
seed: a point is the mean over the seeds, its bar reaches from the least to the most.
A sample has no curves: its points differ in everything, and are drawn as points.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from narthex import arguments, notation
from narthex.charts import curves, looks
from narthex.errors import NarthexError, unknown
from narthex.extras import polars as pl
from narthex.report import pictures
from narthex.report.parts import Chart, Table, columns, number
from narthex.sweeps import naming
from narthex.sweeps.definition import RUN_KEYS, Definition
from narthex.sweeps.loading import COLUMNS

if TYPE_CHECKING:
    import altair

    from narthex.sweeps.planning import Plan

MOST_PANELS = 12
"""Of one report; more do not fit on a screen or two."""

Labels = Mapping[str, str]
"""What a picture calls parameters, by their columns."""

SEED = "seed"
"""The parameter over which a mean has a meaning."""


def check(plan: "Plan", x: str | None, color: str | None, *, is_drawn: bool) -> None:
    """Refuse what cannot be drawn before anything runs: an unknown parameter, too many panels."""
    axes = {axis.column: axis.name for axis in plan.definition.axes}
    x, color = column_of(plan.definition, x), column_of(plan.definition, color)
    _check("parameter", list(axes), x, color)
    if not is_drawn:
        return
    points = {column: [run.parameters[name] for run in plan.runs] for column, name in axes.items()}
    table = pl.DataFrame(points, strict=False)
    if _varied(table, list(axes)):
        _layout(table, list(axes), x, color)


def column_of(definition: Definition, parameter: str | None) -> str | None:
    """Return the column of a parameter that is named as in the sweep's file, or as its column."""
    named = {axis.name: axis.column for axis in definition.axes}
    return None if parameter is None else named.get(parameter, parameter)


def write(
    table: pl.DataFrame,
    definition: Definition,
    file: Path,
    x: str | None = None,
    color: str | None = None,
) -> None:
    """Draw a sweep's table into FILE.html, FILE.svg or FILE.png."""
    parameters = [axis.column for axis in definition.axes]
    x, color = column_of(definition, x), column_of(definition, color)
    title = definition.title or definition.name
    labels = {axis.column: axis.label for axis in definition.axes}
    charts = charts_of(table, parameters, reports_of(table), x, color, title, labels)
    pictures.save(charts, title, file)


def plot_sweep(
    table: pl.DataFrame,
    *,
    x: str | None = None,
    y: str | Sequence[str] = (),
    color: str | None = None,
    title: str = "",
) -> "altair.VConcatChart":
    """Draw a sweep's table: a picture for each report, one below the other.

    `table` is what `sweep` returns, or its results.parquet, or some rows of it.
    `x` is the parameter across, `color` the one that has a curve for each value; what
    varies besides has a panel for each value, but for the seed, over which a point is
    the mean. `y` names the reports' columns, all if none is given.

    >>> import narthex
    >>> swept = {"name": "sizes", "program": "bandwidth", "args": "{bytes} 50", "nodes": 2}
    >>> table = narthex.sweep({**swept, "parameters": {"bytes": [64, 256]}}, jobs=1)
    >>> chart = narthex.plot_sweep(table, y="bandwidth_MB_per_s")

    Raises `NarthexError` for a column that is not there, if nothing varies, and if the
    picture would have too many panels.
    """
    from narthex.charts.standalone import together

    if not {*COLUMNS, *RUN_KEYS} <= {*table.columns}:
        raise NarthexError("this is no table of a sweep: it has not the columns of its runs")
    reports = reports_of(table)
    chosen = arguments.names("y", y) or reports
    _check("report", reports, *chosen)
    parameters = parameters_of(table)
    _check("parameter", parameters, x, color)
    return together(charts_of(table, parameters, chosen, x, color, title), title)


def reports_of(table: pl.DataFrame) -> list[str]:
    """Return the reports' columns: they stand behind all others."""
    return table.columns[table.columns.index(COLUMNS[-1]) + 1 :]


def parameters_of(table: pl.DataFrame) -> list[str]:
    """Return the parameters' columns. A run's key that they decide ("{bytes} 50") is none."""
    own = [each for each in table.columns if each not in (*COLUMNS, *RUN_KEYS, *reports_of(table))]
    points = table.select(own).n_unique() if own else 1
    keys = [key for key in RUN_KEYS if table.select(*own, key).n_unique() > points]
    return [*own, *keys]


def charts_of(
    table: pl.DataFrame,
    parameters: Sequence[str],
    reports: Sequence[str],
    x: str | None,
    color: str | None,
    title: str,
    labels: Labels = MappingProxyType({}),
) -> list[Chart]:
    """Return a chart for each report, with its numbers; `labels` call parameters by columns."""
    if not reports or not _varied(table, parameters):
        raise NarthexError(
            f"{title or 'the sweep'} has nothing to draw: no report, or nothing varied"
        )
    layout = _layout(table, parameters, x, color, labels)
    return [_chart(layout, name) for name in reports]


def _varied(table: pl.DataFrame, parameters: Sequence[str]) -> list[str]:
    return [name for name in parameters if table[name].n_unique() > 1]


def _layout(
    table: pl.DataFrame,
    parameters: Sequence[str],
    x: str | None,
    color: str | None,
    labels: Labels = MappingProxyType({}),
) -> "_Layout":
    varied = _varied(table, parameters)
    x = x or next((name for name in varied if table[name].dtype.is_numeric()), varied[0])
    color = color or next((name for name in varied if name not in (x, SEED)), None)
    layout = _Layout(table, varied, x, color, labels)
    layout.check()
    return layout


def _check(kind: str, known: Sequence[str], *names: str | None) -> None:
    for name in names:
        if name is not None and name not in known:
            raise unknown(f"{kind} to draw", name, known)


@dataclass(frozen=True)
class _Layout:
    """What is across, what has curves, and what has panels."""

    table: pl.DataFrame
    varied: list[str]
    x: str
    color: str | None
    labels: Labels

    def called(self, column: str) -> str:
        """Return what the picture calls a parameter: as the sweep's file does, if that is known."""
        return self.labels.get(column, column)

    @property
    def shown(self) -> list[str]:
        return [self.x, *([self.color] if self.color else [])]

    @cached_property
    def panels(self) -> list[str]:
        """The parameters of which each value has a panel: those that the others do not decide."""
        found: list[str] = []
        for name in self.varied:
            if name in (*self.shown, SEED):
                continue
            kept = [*self.shown, *found]
            if self._points(*kept, name) > self._points(*kept):
                found.append(name)
        return found

    @property
    def beside(self) -> list[str]:
        """The parameters that differ from point to point, as in a sample, or vary together."""
        shown = (*self.shown, *self.panels, SEED)
        return [name for name in self.varied if name not in shown]

    @property
    def is_joined(self) -> bool:
        """Whether points lie on curves: of a sample, hardly two have the same colour."""
        if self.color is None or self.color == self.x:
            return True
        values = self.table[self.color].n_unique() * self.table[self.x].n_unique()
        return 2 * self._points(*self.shown) > values or values <= self.table.height

    @property
    def seeds(self) -> int:
        """How many seeds a point is the mean of."""
        return self.table[SEED].n_unique() if SEED in self.varied and self.x != SEED else 1

    def check(self) -> None:
        """Refuse a picture of too many panels, instead of averaging what is not shown."""
        count = self._points(*self.panels) if self.panels else 1
        if count <= MOST_PANELS:
            return
        told = " and ".join(f"'{each}'" for each in self.shown)
        others = ", ".join(f"'{each}' ({self._points(each)} values)" for each in self.panels)
        raise NarthexError(
            f"a picture over {told} would have {count} panels, one for each value of {others};"
            f" at most {MOST_PANELS} can be seen: choose others with --x and --color, or draw some"
            " rows of results.parquet with narthex.plot_sweep"
        )

    def _points(self, *names: str) -> int:
        return self.table.select(*dict.fromkeys(names)).n_unique()

    def told(self) -> str:
        """Say what the picture shows besides its axes."""
        words = []
        if self.panels:
            words.append(f"a panel for each {' and '.join(map(self.called, self.panels))}")
        if self.seeds > 1:
            words.append(f"each point the mean of up to {self.seeds} seeds, its bar the range")
        if self.beside:
            words.append(f"{', '.join(map(self.called, self.beside))} varies with them")
        return "; ".join(words)


def _chart(layout: _Layout, y: str) -> Chart:
    rows, left_out = _rows(layout, y)
    names = list(dict.fromkeys(row["interface"] for row in rows))
    label = naming.label(y)
    told = [f"{label} over {layout.called(layout.x)}", layout.told()]
    for (one, other), panels in curves.coinciding(rows).items():
        told.append(
            " in ".join(filter(None, [f"{one} and {other} coincide", " and ".join(panels)]))
        )
    title = f"{label} ({left_out})" if left_out else label
    listed = [layout.x, *([layout.color] if layout.color else []), *layout.panels]
    cells = [[*row["cells"], number(row["value"])] for row in rows]
    return Chart(
        title,
        "; ".join(filter(None, told)),
        curves.curves(
            [{key: value for key, value in row.items() if key != "cells"} for row in rows],
            title,
            names,
            x=layout.called(layout.x),
            series=layout.called(layout.color) if layout.color else None,
            panels="panel" if layout.panels else None,
            is_joined=layout.is_joined,
        ),
        Table(label, columns(*map(layout.called, listed), label, numbers=[label]), cells, True),
    )


def _rows(layout: _Layout, y: str) -> tuple[looks.Rows, str]:
    """Return the points of a report, and how many values cannot be drawn."""
    groups = [*dict.fromkeys([*layout.shown, *layout.panels])]
    renamed = [pl.col(y).alias("\0value"), pl.col("key").alias("\0run")]
    every = layout.table.select(*groups, *renamed).drop_nulls("\0value")
    finite = every.filter(pl.col("\0value").is_finite())
    value = pl.col("\0value")
    means = finite.group_by(groups, maintain_order=True).agg(
        value.mean(),
        value.min().alias("\0low"),
        value.max().alias("\0high"),
        pl.col("\0run").first(),
    )
    rows = [_row(layout, point) for point in means.to_dicts()]
    return rows, notation.left_out(every.height - finite.height)


def run_ident(key: str) -> str:
    """Name the row of a run on a page; of several seeds, the first one stands for a point."""
    return f"run-{key}"


def _row(layout: _Layout, point: dict[str, Any]) -> dict[str, Any]:
    names = [layout.x, *([layout.color] if layout.color else []), *layout.panels]
    row: dict[str, Any] = {
        "x": point[layout.x],
        "interface": arguments.value_text(point[layout.color]) if layout.color else "",
        "value": point["\0value"],
        "run": run_ident(point["\0run"]),
        "cells": [arguments.value_text(point[name]) for name in names],
    }
    if layout.panels:
        each = (
            f"{layout.called(name)} {arguments.value_text(point[name])}" for name in layout.panels
        )
        row["panel"] = ", ".join(each)
    if layout.seeds > 1 and not math.isclose(point["\0low"], point["\0high"]):
        row |= {"low": point["\0low"], "high": point["\0high"]}
    return row
