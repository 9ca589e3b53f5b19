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


def chart(areas: Mapping[str, Area], base: str | None = None) -> Chart:
    """Return the bars: gates, or percent of the bar `base`."""
    whole = areas[base].gates if base else 1.0
    unit = f"percent of {base}" if base else "gates"
    rows = _rows(areas, whole / 100 if base else 1.0)
    table = Table(
        f"Area by block, {unit}",
        columns("design", "block", unit, numbers=[unit]),
        [[row["design"], row["block"], number(row["value"], 1)] for row in rows],
        is_folded=True,
    )
    return Chart(f"Area, {unit}", f"Stacked bars: {unit}, by block", _drawn(rows, unit), table)


def by_block(area: Area) -> dict[str, float]:
    """Return the gates of the blocks in a design's top, each with all that stands in it."""
    gates: dict[str, float] = defaultdict(float)
    for block in area.blocks:
        gates[block.name.split(".")[0]] += block.gates
    return dict(gates)


def _rows(areas: Mapping[str, Area], unit: float) -> Rows:
    largest = max(area.gates for area in areas.values())
    parts = {name: _scaled(area) for name, area in areas.items()}
    sizes = {block for gates in parts.values() for block in gates}
    shown = {
        block
        for block in sizes
        if max(gates.get(block, 0.0) for gates in parts.values()) >= SMALLEST_SHARE * largest
    }
    order = sorted(shown, key=lambda block: -max(gates.get(block, 0.0) for gates in parts.values()))
    rows: Rows = []
    for name, gates in parts.items():
        others = sum(value for block, value in gates.items() if block not in shown)
        for rank, (block, value) in enumerate(
            [*((b, gates.get(b)) for b in order), (OTHERS, others)]
        ):
            if value:
                rows.append({"design": name, "block": block, "value": value / unit, "rank": rank})
    return rows


def _scaled(area: Area) -> dict[str, float]:
    gates = by_block(area)
    scale = area.gates / sum(gates.values()) if gates else 1.0
    return {block: value * scale for block, value in gates.items()}


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
