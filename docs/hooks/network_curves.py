"""Draws docs/networks.svg, latency over offered load beside the formulas, and prints its table.

    python docs/hooks/network_curves.py validation.json saturation.json

The files are what `narthex experiment networks/validation --json FILE` and the same of
networks/saturation wrote. Dashed lines are formulas (Dally and Towles; docs/networks.md):
latency without load across, throughput at saturation upright. Colours are those of all charts
(narthex.charts). The table is that of docs/networks.md, "Checked against formulas".
"""

import json
import sys
from pathlib import Path
from typing import Any

import altair as alt

from narthex.charts import palette, standalone
from narthex.documentation import markdown_table

PICTURE = Path(__file__).parent.parent / "networks.svg"
MOST_NS = 800
"""Of the picture: beyond it all curves are steep."""
LINK_MB_S = 1_000
PANELS = [
    ("mesh", "uniform"), ("mesh", "transpose"), ("torus", "uniform"), ("torus", "tornado"),
    ("fat tree", "uniform"), ("fat tree", "transpose"),
    ("dragonfly", "uniform"), ("dragonfly", "next-group"),
]  # fmt: skip
DETOURS = ["shortest", "adaptive", "Valiant", "UGAL", "UGAL-G"]
ASCENTS = ["deterministic", "by-flow", "random", "adaptive"]

Row = dict[str, Any]


def main(validation: str, saturation: str) -> None:
    """Draw the picture and print the table from the experiments' documents."""
    latencies, throughputs = rows(validation), rows(saturation)
    chart = (
        alt.concat(*(panel(*each, latencies, throughputs) for each in PANELS), columns=2)
        .resolve_scale(color="independent")
        .configure(background="var(--surface)", font=standalone.FONT)
        .configure_axis(
            labelColor="var(--muted)", titleColor="var(--text)", gridColor="var(--line)"
        )
        .configure_legend(labelColor="var(--text)")
        .configure_title(color="var(--text)")
    )
    alt.Chart.from_dict(palette.in_light(chart.to_dict())).save(PICTURE)
    print("\n".join(table(latencies, throughputs)))


def rows(file: str) -> list[Row]:
    """Read an experiment's rows, each with its network, route, pattern and load."""
    found = json.loads(Path(file).read_text())["rows"]
    for row in found:
        row["network"], _, route = row["interface"].partition(", ")
        row["route"] = route or DETOURS[0]
        row["pattern"], _, row["load"] = row["workload"].partition(", load ")
    return found


def panel(
    network: str, pattern: str, latencies: list[Row], throughputs: list[Row]
) -> alt.LayerChart:
    """Draw the curves of one network's routes under one pattern."""

    def own(every: list[Row]) -> list[Row]:
        return [row for row in every if (row["network"], row["pattern"]) == (network, pattern)]

    points = [
        {"route": row["route"], "load": float(row["load"]), "latency": row["value"]}
        for row in own(latencies)
        if row["value"] is not None and row["value"] <= MOST_NS
    ]
    across = [
        {"route": row["route"], "latency": row["published_low"]}
        for row in own(latencies)
        if row["published_low"] is not None
    ]
    upright = [
        {"route": row["route"], "load": row["published_low"] / LINK_MB_S}
        for row in own(throughputs)
        if row["published_low"] is not None
    ]
    every = ASCENTS if network == "fat tree" else DETOURS
    routes = [route for route in every if any(row["route"] == route for row in own(latencies))]
    scale = alt.Scale(domain=routes, range=[palette.of_series(rank) for rank in range(len(routes))])
    colour = alt.Color("route:N", title=None, scale=scale)
    x = alt.X("load:Q", title="offered load, share of a link").scale(domain=[0, 1])
    y = alt.Y("latency:Q", title="mean latency, ns").scale(domain=[0, MOST_NS])
    layers = alt.layer(
        alt.Chart(alt.Data(values=points)).mark_line(point=True).encode(x=x, y=y, color=colour),
        alt.Chart(alt.Data(values=across)).mark_rule(strokeDash=[4, 4]).encode(y=y, color=colour),
        alt.Chart(alt.Data(values=upright)).mark_rule(strokeDash=[4, 4]).encode(x=x, color=colour),
    )
    return layers.properties(title=f"{network}, {pattern}", width=300, height=180)


def table(latencies: list[Row], throughputs: list[Row]) -> list[str]:
    """Return latency without load and throughput of each route, the formulas' behind them."""
    without_load = {
        (row["interface"], row["pattern"]): row for row in latencies if row["load"] == "0.01"
    }
    lines = []
    for row in throughputs:
        latency = without_load.get((row["interface"], row["pattern"]))
        cells = [beside(latency, 1), beside(row, 0)] if latency else ["", beside(row, 0)]
        lines.append([row["interface"], row["pattern"], *cells])
    heads = ["latency at load 0.01, ns", "throughput, MB/s"]
    return markdown_table(["network", "traffic", *heads], lines, right=heads)


def beside(row: Row, digits: int) -> str:
    """Write a value, and the formula's in parentheses."""
    published = row["published_low"]
    return f"{row['value']:.{digits}f}" + (f" ({published:.{digits}f})" if published else "")


if __name__ == "__main__":
    main(*sys.argv[1:])
