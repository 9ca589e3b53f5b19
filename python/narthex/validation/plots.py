"""Pictures of an experiment: measured beside published, and where the time goes.

Where the paper prints values, measured rows stand beside them, and so do derived ones; what
follows is below. A program's bars stand side by side, one for each interface: the execution time
relative to the interface that the experiment is normalised to, as the papers
draw it, divided by what the processors did meanwhile (the time ledger of the
main part, all nodes together). Where messages are counted by size, a bar is the
share of a size, beside the paper's; where designs are measured, their gates by block. Where
`curves` says how the names of workloads are read, the values are curves over the number in them.
The values of a single interface are bars: relative to itself it would always be one.

An HTML file holds all that it shows: no network is needed to look at it. The
drawing is Vega-Altair's; it is loaded only where something is drawn.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from narthex import notation
from narthex.charts import curves, looks, palette
from narthex.charts.looks import Rows
from narthex.errors import NarthexError
from narthex.report import pictures
from narthex.report.parts import Chart, Table, columns, number
from narthex.synthesis import figure
from narthex.validation.outcome import Outcome
from narthex.validation.sampling import SEPARATOR

if TYPE_CHECKING:
    import altair

BAR_WIDTH = 15
"""Points of a bar and the gap beside it."""

PLOT_WIDTH = 1200
"""Points of a row of programs, about."""

AXIS_WIDTH = 60
"""Points of a panel's axis and the gap beside it."""

NUMBERS = ["value", "percent"]

UNDIVIDED = "not divided"
"""The part of a bar that is no time, or has no ledger."""


def check(file: Path, experiments: Sequence[str]) -> None:
    """Refuse a plot that cannot be, before anything runs."""
    pictures.check_file(file)
    if len(experiments) > 1:
        raise NarthexError(f"a plot is of one experiment, not of {len(experiments)}")


def write(outcome: Outcome, file: Path) -> None:
    """Draw an experiment into a file: self-contained HTML, SVG or PNG."""
    made = charts(outcome)
    pictures.save(made, _title(outcome), file, [each.table for each in made])


def picture(outcome: Outcome) -> "altair.TopLevelMixin":
    """Return the experiment as a Vega-Altair chart."""
    from narthex.charts.standalone import standalone

    return standalone(chart(outcome), _title(outcome))


def charts(outcome: Outcome) -> list[Chart]:
    """Return the experiment as charts of a page, those with published values first."""
    from narthex.report.experiments import beside_published

    experiment, rows = outcome.experiment, outcome.rows
    if experiment.hardware:
        derived = [row for row in rows if row.baseline is not None]
        return [chart(outcome), *beside_published(outcome.summary, derived)]
    if experiment.message_sizes:
        return [chart(outcome)]
    if experiment.curves:  # published values of measured rows are at the curves
        rows = [row for row in rows if row.baseline is not None]
    beside = beside_published(outcome.summary, rows)
    is_drawn = any(row.published_low is not None for row in rows if row.baseline is None)
    if is_drawn and _is_of_one(outcome):
        return beside
    return [*beside, chart(outcome)]


def _is_of_one(outcome: Outcome) -> bool:
    return len(outcome.experiment.interfaces) == 1


def chart(outcome: Outcome) -> Chart:
    """Return the experiment as a chart of a page."""
    if outcome.experiment.curves:
        return _curves_chart(outcome)
    if outcome.experiment.hardware:
        return _area_chart(outcome)
    rows = size_rows(outcome) if outcome.experiment.message_sizes else time_rows(outcome)
    if not rows:
        raise NarthexError(f"{outcome.experiment.name} has nothing to draw: no run gave a value")
    if outcome.experiment.message_sizes:
        return _sizes_chart(outcome, rows)
    if _is_of_one(outcome):
        return _values_chart(outcome)
    return _time_chart(outcome, rows)


def _time_chart(outcome: Outcome, rows: Rows) -> Chart:
    from narthex.extras import altair as alt

    experiment = outcome.experiment
    parts = palette.in_order("activity", {row["part"] for row in rows})
    base = _base(outcome)
    unit = f"relative to {base}" if base else experiment.unit
    bars = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar()
        .encode(
            x=alt.X("interface:N", sort=experiment.interface_names, title=None).axis(
                labelAngle=-90, labelLimit=260
            ),
            y=alt.Y("value:Q", title=f"{_measured_name(outcome)}, {unit}").axis(grid=True),
            color=alt.Color("part:N", title=None)
            .legend(looks.legend("workload") if parts != [UNDIVIDED] else None)
            .scale(domain=parts, range=[palette.of_part("activity", part) for part in parts])
            .sort(parts),
            order=alt.Order("order:Q"),
            tooltip=["workload:N", "interface:N", "part:N", alt.Tooltip("value:Q", format=".3f")],
        )
        .properties(width={"step": BAR_WIDTH}, height=260)
    )
    told = f"Stacked bars: {unit}, by activity of the processors"
    specification = _in_panels(bars, outcome, len(experiment.interfaces))
    return Chart(experiment.title, told, specification, _table(experiment.title, rows))


def _area_chart(outcome: Outcome) -> Chart:
    """Stack the blocks of each design on the first target."""
    workload = outcome.experiment.workload_names[0]
    bars = {
        interface: sample.gates_by_block
        for (interface, of), samples in outcome.samples.items()
        for sample in samples
        if of == workload
    }
    if not bars:
        raise NarthexError(f"{outcome.experiment.name} has nothing to draw: no design has an area")
    base = _base(outcome)
    return figure.chart(bars, base if base in bars else None)


def _values_chart(outcome: Outcome) -> Chart:
    from narthex.report.experiments import measured_charts

    measured = [row for row in outcome.rows if row.baseline is None and row.value is not None]
    (made,) = measured_charts(outcome.summary, measured)  # measured rows have one unit
    return made


def _curves_chart(outcome: Outcome) -> Chart:
    experiment = outcome.experiment
    rows = curve_rows(outcome)
    if not rows:
        raise NarthexError(f"{experiment.name} has nothing to draw: no workload's name is read")
    names = list(dict.fromkeys(row["interface"] for row in rows))
    beside_x = re.search(r"\{x\} (\w+)|(\w+) = \{x\}", experiment.curves)
    x = _over(outcome) or (beside_x[beside_x.lastindex or 0] if beside_x else "x")
    unit = f"{_measured_name(outcome)}, {experiment.unit}"
    panels = "panel" if "{panel}" in experiment.curves else None
    drawn = curves.curves(rows, unit, names, x=x, panels=panels)
    told = f"Curves: {unit}, over {x}"
    return Chart(experiment.title, told, drawn, _table(experiment.title, rows))


def _over(outcome: Outcome) -> str:
    """Name the report that curves are over, if it is one, with its unit."""
    every = (each.over for samples in outcome.samples.values() for each in samples)
    return next((f"{outcome.experiment.over}, {over[1]}" for over in every if over), "")


def _sizes_chart(outcome: Outcome, rows: Rows) -> Chart:
    from narthex.extras import altair as alt

    kinds = {"measured": "var(--measured)", "published": "var(--published)"}
    bars = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar()
        .encode(
            x=alt.X("bytes:O", title="bytes"),
            xOffset=alt.XOffset("kind:N", sort=list(kinds)),
            y=alt.Y("percent:Q", title="percent of messages").scale(domain=[0, 100]),
            color=alt.Color("kind:N", title=None)
            .scale(domain=list(kinds), range=list(kinds.values()))
            .legend(looks.legend("workload")),
            tooltip=["bytes:O", "kind:N", alt.Tooltip("percent:Q", format=".1f")],
        )
        .properties(width={"step": BAR_WIDTH}, height=220)
    )
    title = outcome.experiment.title
    told = "Bars: share of messages by size, measured and published"
    most = len({row["bytes"] for row in rows})
    return Chart(title, told, _in_panels(bars, outcome, 2 * most), _table(title, rows))


def _in_panels(bars: "altair.Chart", outcome: Outcome, count: int) -> looks.Spec:
    """Give each program a panel of so many bars, as many side by side as there is room for."""
    width = BAR_WIDTH * count + AXIS_WIDTH
    specification = looks.finish(bars, "workload", outcome.experiment.workload_names, ["y"])
    specification["columns"] = max(1, PLOT_WIDTH // width)
    return specification | {"usermeta": {"panelWidth": width}}


def _table(title: str, rows: Rows) -> Table:
    """Return the numbers of the bars."""
    names = [name for name in rows[0] if name != "order"]
    cells = [
        [number(row[name], 3) if name in NUMBERS else str(row[name]) for name in names]
        for row in rows
    ]
    return Table(title, columns(*names, numbers=NUMBERS), cells, is_folded=True)


def _title(outcome: Outcome) -> str:
    experiment = outcome.experiment
    nodes = notation.counted(experiment.nodes, "node")
    told = f"{experiment.title} on {experiment.machine}, {nodes}"
    return f"{told}; {experiment.name}; {experiment.source}"


def time_rows(outcome: Outcome) -> Rows:
    """Return the parts of every bar: workload, interface, part of the time, and its height."""
    base = _base(outcome)
    measured = set(outcome.experiment.measured)
    values = {
        (row.interface, row.workload): row.value
        for row in outcome.rows
        if row.baseline is None and (row.interface, row.workload) in measured
    }
    rows: Rows = []
    for interface, workload in outcome.experiment.cells:
        value = values.get((interface.name, workload.name))
        whole = values.get((base, workload.name)) if base else 1.0
        if value is None or not whole:
            continue
        samples = outcome.samples[interface.name, workload.name]
        shares = _shares(sample.ledger_ps for sample in samples if base)
        for order, (part, share) in enumerate(shares.items()):
            height = share * value / whole
            names = {"workload": workload.name, "interface": interface.name, "part": part}
            rows.append({**names, "order": order, "value": height})
    return rows


def curve_rows(outcome: Outcome) -> Rows:
    """Return every value with what the names of its cell say: curve, x and panel."""
    from narthex.report.experiments import drawn

    pattern = re.escape(outcome.experiment.curves).replace(r"\{x\}", r"(?P<x>\d+)")
    parts = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+?)", pattern)
    rows: Rows = []
    for row in outcome.rows:
        by_workload = re.fullmatch(parts, row.workload)
        name = by_workload or re.fullmatch(parts, f"{row.interface} @ {row.workload}")
        if row.baseline is not None or row.value is None or name is None:
            continue
        found = name.groupdict()
        curve = f"{row.interface}: {found['curve']}" if by_workload else found["curve"]
        place = {"interface": curve, "x": int(found["x"]), "panel": found.get("panel", "")}
        if outcome.experiment.over:
            samples = outcome.samples[row.interface, row.workload]
            over = notation.mean([each.over[0] for each in samples if each.over is not None])
            place |= {"order": place["x"], "x": over}
        rows.append({**drawn(row), **place})
    return rows


def size_rows(outcome: Outcome) -> Rows:
    """Return every size of every program with its share, measured and published."""
    rows: Rows = []
    for row in outcome.rows:
        workload, _, size = row.workload.partition("; ")
        place = {"workload": workload, "bytes": int(size.split()[0])}
        if row.value is not None:
            rows.append({**place, "kind": "measured", "percent": row.value})
        if row.published_low is not None:
            rows.append({**place, "kind": "published", "percent": row.published_low})
    return rows


def _shares(ledgers: Iterable[dict[str, int]]) -> dict[str, float]:
    """Divide one among the activities; without a ledger it is one part."""
    time_ps: Counter[str] = Counter()
    for ledger in ledgers:
        for key, time in ledger.items():
            time_ps[key.split(SEPARATOR)[0]] += time
    if not time_ps:
        return {UNDIVIDED: 1.0}
    return {
        part: time_ps[part] / time_ps.total() for part in palette.in_order("activity", set(time_ps))
    }


def _base(outcome: Outcome) -> str | None:
    """Return the interface that the bars are relative to; none for shares, drawn as they are."""
    if outcome.experiment.unit == "percent":
        return None
    return outcome.experiment.normalise or outcome.experiment.interface_names[0]


def _measured_name(outcome: Outcome) -> str:
    experiment = outcome.experiment
    if any(workload.report for workload in experiment.workload):
        return experiment.title
    return experiment.report or ", ".join([*experiment.statistic, *experiment.ledger])
