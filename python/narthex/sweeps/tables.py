"""The tables of a sweep, as Polars frames.

    runs            a row a run: its parameters, how it ended, what it cost
    measurements    a row a number: reports, statistics, ledgers, of each node

A run's rows have the same columns whatever it reported, and though it failed:
files of many runs are one table for any reader. `results` is both together:
runs with a column for each report.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from narthex.extras import polars as pl
from narthex.packed import unpacked
from narthex.results import Result, measurements_schema
from narthex.sweeps import naming
from narthex.sweeps.definition import RUN_KEYS, Axis, Definition

if TYPE_CHECKING:
    from narthex.sweeps.planning import Run
    from narthex.sweeps.work import Made

MEASUREMENTS = {"key": pl.String, **measurements_schema()}
"""Columns of the table of measurements: those of `Result.measurements` and the run's key."""

Schema = dict[str, type[pl.DataType]]


def runs_schema(definition: Definition) -> Schema:
    """Return the columns of the table of runs."""
    first = {"key": pl.String, "name": pl.String}
    run = {key: pl.Int64 if key in ("nodes", "seed") else pl.String for key in RUN_KEYS}
    parameters = {axis.column: _kind(axis) for axis in definition.axes if axis.name not in RUN_KEYS}
    ending = {"status": pl.String, "exit_code": pl.Int64, "error": pl.String}
    cost = {"simulated_us": pl.Float64, "host_s": pl.Float64}
    return {**first, **run, **parameters, **ending, **cost}


def run_row(definition: Definition, run: "Run", made: "Made") -> pl.DataFrame:
    """Return a run's row."""
    schema = runs_schema(definition)
    asked = run.request
    row: dict[str, Any] = {
        **{axis.column: run.parameters[axis.name] for axis in definition.axes},
        **{key: asked[key] for key in ("program", "interface")},
        "machine": run.machine["name"],
        "args": " ".join(asked["args"]),
        "nodes": run.nodes,
        "seed": run.seed,
        "key": run.key,
        "name": run.name,
        "status": made.status,
        "exit_code": made.exit_code,
        "error": made.error or None,
        "simulated_us": result_of(made).simulated_us if made.document else None,
        "host_s": made.host_s,
    }
    cells = {column: _cell(row[column], kind is pl.String) for column, kind in schema.items()}
    return pl.DataFrame([cells], schema=schema)


def measurement_rows(run: "Run", made: "Made") -> pl.DataFrame:
    """Return all that was measured in a run; nothing if it failed."""
    if not made.document:
        return pl.DataFrame(schema=MEASUREMENTS)
    return result_of(made).measurements.select(pl.lit(run.key).alias("key"), pl.all())


def results(runs: pl.DataFrame, measurements: pl.DataFrame) -> pl.DataFrame:
    """Join runs with what they reported: a column for each report, its mean over the processes.

    A column is called by the report and its unit (`naming`), with "_reported" behind it where
    there is a column of that name. The rows are in the order of `runs`.
    """
    reports = measurements.filter(kind="report").with_columns(
        column=pl.format("{}\0{}", "name", "unit")
    )
    if reports.is_empty():
        return runs
    named = _free_columns(reports["column"].unique(maintain_order=True), runs.columns)
    wide = reports.with_columns(pl.col("column").replace(named)).pivot(
        "column", index="key", values="value", aggregate_function="mean", maintain_order=True
    )
    return runs.join(wide, on="key", how="left", maintain_order="left")


def _free_columns(reports: Iterable[str], there: Iterable[str]) -> dict[str, str]:
    """Return a column for each name and unit of a report, none twice or one that is there."""
    found: dict[str, str] = {}
    taken = set(there)
    for report in reports:
        name, _, unit = report.partition("\0")
        column = naming.column(name, unit)
        while column in taken:
            column += "_reported"
        found[report] = column
        taken.add(column)
    return found


def result_of(made: "Made") -> Result:
    """Return a finished run's result."""
    document = unpacked(made.document)
    assert document is not None, "it has just been made"
    return Result(document)


def _kind(axis: Axis) -> type[pl.DataType]:
    """Return the type of a parameter's column: texts where its values are of several types."""
    kinds = {type(value) for value in axis.values or (axis.low, axis.high)}
    if kinds <= {int}:
        return pl.Int64
    if kinds <= {int, float}:
        return pl.Float64
    return pl.Boolean if kinds == {bool} else pl.String


def _cell(value: object, text: bool) -> object:
    return str(value) if text and value is not None else value
