r"""Runs of a sweep by two measures, and those that none beats in both: cost against benefit.

latency (ns) ^  .   .        A measure is a report, or a parameter that is a number. Of a
             |   \     .     rate more is better, of all else less: a parameter is what a
             |    `--.___    design costs. The reader chooses which two are drawn
             +-----------    (templates/front.js).
               queue size
"""

from narthex import notation
from narthex.charts import curves
from narthex.extras import polars as pl
from narthex.report.parts import Cell, Front, Measure, Table, columns, number
from narthex.sweeps import naming, plots
from narthex.validation.variations import QUANTITY, size


def numbers(values: pl.Series) -> tuple[pl.Series, str] | None:
    """Return a column as numbers, and the unit of quantities; none if a value is neither.

    Quantities are in the unit of the first: 100MHz and 1GHz are 100 and 1000.
    """
    if values.dtype.is_numeric():
        return values, ""
    if values.dtype != pl.String or values.null_count() or values.is_empty():
        return None
    unit = _unit(values[0])
    sizes = [size(value) for value in values if unit and _unit(value)]
    known = [each for each in sizes if each is not None]
    one = size(f"1{unit}")
    if len(known) < values.len() or one is None:
        return None
    return pl.Series(values.name, [float(each / one) for each in known]), unit


def _unit(value: str) -> str:
    found = QUANTITY.fullmatch(value)
    return found[2] if found else ""


def _label(name: str, unit: str, labels: plots.Labels) -> str:
    label = labels.get(name) or naming.label(name)
    return f"{label} ({unit})" if unit else label


def front(ranked: pl.DataFrame, first: str, second: str) -> pl.DataFrame:
    """Return the runs, best first, of which no better one is as good in the second report."""
    sign = -1 if naming.is_rate(second) else 1
    ranked = ranked.with_columns((sign * pl.col(second)).alias("\0cost"))
    order = ranked.sort(
        (-1 if naming.is_rate(first) else 1) * pl.col(first), "\0cost", maintain_order=True
    )
    least = order["\0cost"].cum_min().shift(1)
    return order.filter(least.is_null() | (order["\0cost"] < least)).drop("\0cost")


def chart(ranked: pl.DataFrame, names: list[str], labels: plots.Labels) -> Front:
    """Draw all runs by two measures, and the front; the reader may choose other two.

    Reports are better as they are ranked. A parameter is a cost: less of it is better.
    """
    measured = [found for name in names if (found := numbers(ranked[name]))]
    units = {values.name: unit for values, unit in measured}
    ranked = ranked.with_columns([values for values, _ in measured])
    first, second = names[:2]
    unbeaten = front(ranked, first, second)
    measures = [
        Measure(_label(name, units[name], labels), f"measure{place}", naming.is_rate(name))
        for place, name in enumerate(names)
    ]
    best = {*unbeaten["key"]}
    rows = [
        {"name": name, "run": plots.run_ident(key), "x": values[0], "value": values[1],
         "is_front": key in best}
        | dict(zip((each.column for each in measures), values, strict=True))
        for key, name, *values in ranked.select("key", "name", *map(_finite, names)).rows()
    ]  # fmt: skip
    across, upwards = (each.name for each in measures[:2])
    told = (
        f"{upwards} over {across}: a point for each run, which it opens; a line joins the"
        f" {notation.counted(unbeaten.height, 'run')} that none beats in both"
    )
    there = [row for row in rows if row["value"] is not None]
    cells: list[list[Cell]] = [
        [row["name"], "yes" if row["is_front"] else "", *("" if row[each.column] is None else
         number(row[each.column]) for each in measures)]
        for row in rows
    ]  # fmt: skip
    titles = [each.name for each in measures]
    behind = columns("run", "on the front", *titles, numbers=titles)
    return Front(
        f"Runs that none beats in both {across} and {upwards}",
        told,
        curves.front(there, across, upwards),
        Table("All runs, and those on the front", behind, cells, is_folded=True),
        measures=measures,
    )


def _finite(name: str) -> pl.Expr:
    """Return a column with nothing where it is not finite."""
    value = pl.col(name).cast(pl.Float64)
    return pl.when(value.is_finite()).then(value)
