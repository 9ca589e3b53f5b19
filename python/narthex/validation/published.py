"""Published values: `experiments/published/PAPER.csv`, one row a printed number.

A value that a paper does not print has no row and is never made up; such a
cell of the table stays empty and is a prediction.

Interfaces are known by name and attachment. A row of the file gives both, as
"NI2w" with the column `attach`, or as "NI2w on cache-bus" where interface and
baseline differ; an experiment says "NI2w on io-bus", or just "NI2w" for the
memory bus.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from narthex import assets

MEMORY_BUS = "memory-bus"
PERCENT = "percent"

Place = tuple[str, str]
"""An interface's name and where it is attached."""


def place(text: str, attach: str = MEMORY_BUS) -> Place:
    """Read "NAME on ATTACHMENT", or "NAME" at the given attachment."""
    name, _, attachment = text.partition(" on ")
    return name, attachment or attach


class Key(NamedTuple):
    """What a published value is of."""

    interface: Place
    baseline: Place | None
    """For a comparison: with what."""
    workload: str
    unit: str


@dataclass(frozen=True)
class Published:
    """A printed value, or a printed range; `low` and `high` are equal for a single value."""

    low: float
    high: float
    source: str

    def end(self, take: str) -> "Published":
        """Return the end of a range that a derived row is set beside."""
        low = self.high if take.startswith("largest") else self.low
        high = self.low if take == "smallest" else self.high
        return Published(low, high, self.source)

    def error_percent(self, measured: float, offset: float = 0.0) -> float | None:
        """Return the signed distance from the nearest end, in percent of it; 0 inside.

        There is none from 0, of which no percent is anything.
        `offset` is added to both first: with 100 a value in percent more is
        compared as the ratio that it stands for.
        """
        distance = self.distance(measured)
        if not distance:
            return 0.0
        base = measured - distance + offset
        return 100 * distance / base if base else None

    def distance(self, measured: float) -> float:
        """Return the signed distance from the nearest end; 0 inside."""
        return measured - min(max(measured, self.low), self.high)


def read(experiment: str, folder: Path | None = None) -> dict[Key, Published]:
    """Read the published values of one experiment, PAPER/NAME."""
    values = {}
    for name, key, published in rows(experiment.partition("/")[0], folder):
        if name == experiment:
            values[key] = published
    return values


def rows(paper: str, folder: Path | None = None) -> Iterator[tuple[str, Key, Published]]:
    """Yield the experiment, the key and the value of each row of a paper's file."""
    file = (folder or assets.EXPERIMENTS / "published") / f"{paper}.csv"
    if not file.is_file():
        return
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            key = Key(
                place(row["interface"], row["attach"] or MEMORY_BUS),
                place(row["baseline"], row["attach"]) if row["baseline"] else None,
                row["workload"],
                row["unit"],
            )
            low, high = float(row["low"]), float(row["high"])
            yield row["experiment"], key, Published(low, high, row["source"])
