"""Published values: `experiments/published/PAPER.csv`, one row a printed number.

A value that a paper does not print has no row and is never made up; such a
cell of the table stays empty and is a prediction.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

from narthex import assets

Key = tuple[str, str, str]
"""(interface, workload, unit)"""


@dataclass(frozen=True)
class Published:
    """A printed value, or a printed range; `low` and `high` are equal for a single value."""

    low: float
    high: float
    source: str

    def error_percent(self, measured: float) -> float:
        """Return the signed distance from the nearest end, in percent of it; 0 inside."""
        nearest = min(max(measured, self.low), self.high)
        if measured == nearest:
            return 0.0
        return 100 * (measured / nearest - 1) if nearest else float("inf")


def read(experiment: str, folder: Path | None = None) -> dict[Key, Published]:
    """Read the published values of one experiment, PAPER/NAME."""
    paper = experiment.partition("/")[0]
    file = (folder or assets.EXPERIMENTS / "published") / f"{paper}.csv"
    if not file.is_file():
        return {}
    with file.open(encoding="utf-8", newline="") as lines:
        return {
            (row["interface"], row["workload"], row["unit"]): Published(
                float(row["low"]), float(row["high"]), row["source"]
            )
            for row in csv.DictReader(lines)
            if row["experiment"] == experiment
        }
