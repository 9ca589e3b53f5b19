"""The area of designs as stacked bars: a bar a design, its parts the blocks that stand in its top.

The parts are of the synthesis with blocks kept, scaled to the total without them, as if what the
boundaries cost were spread evenly.
"""

from collections import defaultdict
from collections.abc import Mapping

from narthex.charts import looks, palette
from narthex.charts.looks import Rows
from narthex.report.parts import Chart, Table, columns, number
from narthex.synthesis.area import Area

SMALLEST_SHARE = 0.02
"""Of the largest bar; smaller blocks are one part."""

OTHERS = "others"

Bars = Mapping[str, Mapping[str, float]]
"""Gates by design and block."""


def chart(bars: Bars, base: str | None = None) -> Chart:
    """Return bars of gates by block, or of percent of the bar `base`."""
    unit = f"percent of {base}" if base else "gates"
    rows = _rows(bars, sum(bars[base].values()) / 100 if base else 1.0)
    table = Table(
        f"Area by block, {unit}",
        columns("design", "block", unit, numbers=[unit]),
        [[row["design"], row["block"], number(row["value"], 1)] for row in rows],
        is_folded=True,
    )
    return Chart(f"Area, {unit}", f"Stacked bars: {unit}, by block", _drawn(rows, unit), table)


def by_block(area: Area) -> dict[str, float]:
    """Return the gates of the blocks of a design's top, with all in them, scaled to the total."""
    scale = area.gates / sum(block.gates for block in area.blocks) if area.blocks else 1.0
    gates: dict[str, float] = defaultdict(float)
    for block in area.blocks:
        gates[block.name.split(".")[0]] += scale * block.gates
    return dict(gates)


def _rows(bars: Bars, unit: float) -> Rows:
    largest = max(sum(gates.values()) for gates in bars.values())
    most: dict[str, float] = defaultdict(float)
    for gates in bars.values():
        for block, value in gates.items():
            most[block] = max(most[block], value)
    shown = sorted(block for block in most if most[block] >= SMALLEST_SHARE * largest)
    order = sorted(shown, key=lambda block: -most[block])
    rows: Rows = []
    for name, gates in bars.items():
        others = sum(value for block, value in gates.items() if block not in order)
        parts = [*((block, gates.get(block, 0.0)) for block in order), (OTHERS, others)]
        rows += [
            {"design": name, "block": block, "value": value / unit, "rank": rank}
            for rank, (block, value) in enumerate(parts)
            if value
        ]
    return rows


def _drawn(rows: Rows, unit: str) -> looks.Spec:
    from narthex.extras import altair as alt

    ordered = sorted({(row["rank"], row["block"]) for row in rows})
    blocks = [block for _, block in ordered]
    colours = [
        "var(--other)" if each == OTHERS else palette.of_series(r) for r, each in enumerate(blocks)
    ]
    designs = list(dict.fromkeys(row["design"] for row in rows))
    bars = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(stroke="var(--surface)", strokeWidth=1)
        .encode(
            x=alt.X("value:Q", title=unit, stack="zero", axis=looks.values_axis()),
            y=looks.names_axis("design"),
            color=alt.Color("block:N", title=None)
            .scale(domain=blocks, range=colours)
            .legend(looks.legend()),
            order=alt.Order("rank:Q"),
            tooltip=["design:N", "block:N", alt.Tooltip("value:Q", title=unit, format=",.1f")],
        )
        .properties(height=looks.height(designs))
    )
    return looks.finish(bars)
