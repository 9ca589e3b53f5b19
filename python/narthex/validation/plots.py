"""Pictures of an experiment: where the time goes, and how large the messages are.

A program's bars stand side by side, one for each interface: the execution time
relative to the interface that the experiment is normalised to, as the papers
draw it, divided by what the processors did meanwhile (the time ledger of the
main part, all nodes together). Where messages are counted by size, a bar is the
share of a size, beside the paper's.

An HTML file holds all that it shows: no network is needed to look at it. The
drawing is Vega-Altair's; it is loaded only where something is drawn.
"""

import html
from collections import Counter
from collections.abc import Iterable, Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narthex import engine, files
from narthex.errors import NarthexError
from narthex.validation.outcome import Outcome
from narthex.validation.sampling import SEPARATOR

if TYPE_CHECKING:
    import altair

FORMATS = (".html", ".svg", ".png")

FONT = "Helvetica, Arial, sans-serif"
"""What text is measured with where no browser draws, so that none is cut off."""

PNG_SCALE = 2.0
"""Pixels of a png for each point, so that it is sharp on paper."""

BAR_WIDTH = 15
"""Points of a bar and the gap beside it."""

PLOT_WIDTH = 1200
"""Points of a row of programs, about."""

ACTIVITIES = {
    "application": "#999999",
    "shared memory": "#CC79A7",
    "send": "#0072B2",
    "receive": "#56B4E9",
    "poll": "#F0E442",
    "wait to send": "#E69F00",
    "buffering": "#D55E00",
    "synchronisation": "#009E73",
    "DMA set-up": "#8C564B",
    "DMA interrupt": "#C49C94",
    "exited": "#000000",
}
"""In the order of the stack, from below: the program's own work, what messages
cost, what waiting costs. The colours are those of Okabe and Ito, which people
with any kind of colour vision tell apart."""

OTHER = "#CCCCCC"
"""For an activity that has no colour here."""

UNDIVIDED = "not divided"
"""The part of a bar that is no time, or has no ledger."""

Rows = list[dict[str, Any]]


def check(file: Path, experiments: Sequence[str]) -> None:
    """Refuse a plot that cannot be, before anything runs."""
    check_file(file)
    if len(experiments) > 1:
        raise NarthexError(f"a plot is of one experiment, not of {len(experiments)}")


def check_file(file: Path) -> None:
    """Refuse a file that cannot hold a plot."""
    if file.suffix not in FORMATS:
        raise NarthexError(f"'{file}' is no plot: its name must end in {', '.join(FORMATS)}")
    files.check_writable(file, "choose another place for --plot")
    engine.check()


def write(outcome: Outcome, file: Path) -> None:
    """Draw an experiment into a file: self-contained HTML, SVG or PNG."""
    save(chart(outcome), file)


def save(made: "altair.TopLevelMixin", file: Path) -> None:
    """Draw a chart with a description into a file: self-contained HTML, SVG or PNG."""
    engine.check()
    if file.suffix == ".png":
        image = BytesIO()
        made.save(image, format="png", scale_factor=PNG_SCALE)
        files.write(file, image.getvalue())
    else:
        text = StringIO()
        made.save(text, format=file.suffix.removeprefix("."), **_self_contained(file))
        files.write(file, _named(text.getvalue(), made.description).encode())


def _self_contained(file: Path) -> dict[str, bool]:
    """Return what puts the drawing's own code into a page."""
    return {"inline": True} if file.suffix == ".html" else {}


def _named(text: str, description: str) -> str:
    """Give the page its title, and the picture its words for those who do not see it."""
    words = html.escape(description, quote=True)
    page = text.replace("<head>", f"<head>\n  <title>{words}</title>", 1)
    return page.replace("<svg ", f'<svg role="img" aria-label="{words}" ', 1)


def chart(outcome: Outcome) -> "altair.TopLevelMixin":
    """Return the experiment as a Vega-Altair chart."""
    if outcome.experiment.message_sizes:
        return _sizes_chart(outcome)
    return _time_chart(outcome)


def _time_chart(outcome: Outcome) -> "altair.TopLevelMixin":
    import altair as alt

    experiment = outcome.experiment
    rows = time_rows(outcome)
    if not rows:
        raise NarthexError(f"{experiment.name} has nothing to draw: no run gave a value")
    parts = in_order({row["part"] for row in rows})
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
            color=alt.Color("part:N")
            .legend(alt.Legend(title="processors' time") if parts != [UNDIVIDED] else None)
            .scale(domain=parts, range=[ACTIVITIES.get(part, OTHER) for part in parts])
            .sort(parts),
            order=alt.Order("order:Q"),
            tooltip=["workload:N", "interface:N", "part:N", alt.Tooltip("value:Q", format=".3f")],
        )
        .properties(width={"step": BAR_WIDTH}, height=260)
    )
    facets = bars.facet(
        facet=alt.Facet("workload:N", sort=experiment.workload_names, title=None),
        columns=max(1, PLOT_WIDTH // (BAR_WIDTH * (len(experiment.interfaces) + 2))),
        spacing=16,
    ).resolve_scale(x="independent")
    return _dressed(facets, outcome, f"stacked bars: {unit}, by activity of the processors")


def _sizes_chart(outcome: Outcome) -> "altair.TopLevelMixin":
    import altair as alt

    rows = size_rows(outcome)
    if not rows:
        raise NarthexError(f"{outcome.experiment.name} has nothing to draw: no run gave a value")
    kinds = {"measured": "#0072B2", "published": "#E69F00"}
    bars = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar()
        .encode(
            x=alt.X("bytes:O", title="bytes"),
            xOffset=alt.XOffset("kind:N", sort=list(kinds)),
            y=alt.Y("percent:Q", title="percent of messages").scale(domain=[0, 100]),
            color=alt.Color("kind:N", title=None).scale(
                domain=list(kinds), range=list(kinds.values())
            ),
            tooltip=["bytes:O", "kind:N", alt.Tooltip("percent:Q", format=".1f")],
        )
        .properties(width={"step": BAR_WIDTH}, height=220)
    )
    names = outcome.experiment.workload_names
    facets = bars.facet(
        facet=alt.Facet("workload:N", sort=names, title=None), columns=4, spacing=16
    ).resolve_scale(x="independent")
    return _dressed(facets, outcome, "bars: share of messages by size, measured and published")


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
    return {part: time_ps[part] / time_ps.total() for part in in_order(time_ps)}


def in_order(parts: Iterable[str]) -> list[str]:
    """Return activities in the order of the stack; others come last."""
    known = list(ACTIVITIES)
    return sorted(parts, key=lambda part: known.index(part) if part in known else len(known))


def _base(outcome: Outcome) -> str | None:
    """Return the interface that the bars are relative to; none for shares, drawn as they are."""
    if outcome.experiment.unit == "percent":
        return None
    return outcome.experiment.normalise or outcome.experiment.interface_names[0]


def _measured_name(outcome: Outcome) -> str:
    experiment = outcome.experiment
    return experiment.report or ", ".join([*experiment.statistic, *experiment.ledger])


def _dressed(
    made: "altair.FacetChart", outcome: Outcome, description: str
) -> "altair.TopLevelMixin":
    """Give a chart its title, its description for those who do not see it, and its looks."""
    import altair as alt

    experiment = outcome.experiment
    title = alt.Title(
        f"{experiment.title} on {experiment.machine}, {experiment.nodes} nodes",
        subtitle=f"{experiment.name}; {experiment.source}",
        anchor="start",
    )
    return (
        made.properties(title=title, description=f"{experiment.title}; {description}")
        .configure(background="white", font=FONT)
        .configure_view(stroke=None)
        .configure_header(labelFontWeight="bold", labelFontSize=12)
        .configure_axis(gridColor="#e6e6e6", domainColor="#888888", tickColor="#888888")
    )
