"""Draws docs/networks.svg: latency over offered load, beside the formulas.

    python docs/hooks/network_curves.py latency-throughput.json

The file is what `narthex experiment networks/latency-throughput --json FILE` wrote.
Dashed lines are formulas (Dally and Towles; docs/networks.md): latency without load
across, throughput at saturation upright. Colours are those of all charts (narthex.charts).
"""

import json
import sys
from pathlib import Path

import altair as alt

from narthex.charts import palette, standalone

PICTURE = Path(__file__).parent.parent / "networks.svg"
SATURATION = {
    ("uniform", "mesh"): 0.5,
    ("transpose", "mesh"): 1 / 7,
    ("transpose", "torus"): 0.25,
}
"""In shares of a link's bandwidth; others saturate at 1."""
NETWORKS = ["mesh", "torus", "fat tree", "dragonfly"]
MOST_NS = 1_000
"""Of the picture: beyond it all curves are steep."""


def main(file: str) -> None:
    """Draw the picture from an experiment's document."""
    rows = json.loads(Path(file).read_text())["rows"]
    points, formulas = [], []
    for row in rows:
        pattern, load = row["workload"].split(", load ")
        if row["value"] is not None and row["value"] <= MOST_NS:
            points.append(
                {"pattern": pattern, "network": row["interface"], "load": float(load),
                 "latency": row["value"]}
            )  # fmt: skip
        if row["published_low"] is not None:
            formulas.append(
                {"pattern": pattern, "network": row["interface"], "latency": row["published_low"]}
            )
    limits = [
        {"pattern": pattern, "network": network, "load": share}
        for (pattern, network), share in SATURATION.items()
    ]
    colours = [palette.of_series(rank) for rank in range(len(NETWORKS))]
    scale = alt.Scale(domain=NETWORKS, range=colours)
    colour = alt.Color("network:N", title=None, scale=scale)
    x = alt.X("load:Q", title="offered load, share of a link").scale(domain=[0, 1])
    y = alt.Y("latency:Q", title="mean latency, ns").scale(domain=[0, MOST_NS])
    patterns = ["uniform", "transpose", "hot-spot", "neighbour"]

    def panel(pattern: str) -> alt.LayerChart:
        def of(values: list[dict[str, object]]) -> alt.Data:
            return alt.Data(values=[value for value in values if value["pattern"] == pattern])

        curves = alt.Chart(of(points)).mark_line(point=True).encode(x=x, y=y, color=colour)
        across = alt.Chart(of(formulas)).mark_rule(strokeDash=[4, 4]).encode(y=y, color=colour)
        upright = alt.Chart(of(limits)).mark_rule(strokeDash=[4, 4]).encode(x=x, color=colour)
        layers = alt.layer(curves, across, upright)
        return layers.properties(title=pattern, width=300, height=220)

    chart = (
        alt.concat(*map(panel, patterns), columns=2)
        .configure(background="var(--surface)", font=standalone.FONT)
        .configure_axis(
            labelColor="var(--muted)", titleColor="var(--text)", gridColor="var(--line)"
        )
        .configure_legend(labelColor="var(--text)")
        .configure_title(color="var(--text)")
    )
    alt.Chart.from_dict(palette.in_light(chart.to_dict())).save(PICTURE)


if __name__ == "__main__":
    main(sys.argv[1])
