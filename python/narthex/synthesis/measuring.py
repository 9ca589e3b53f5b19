"""Designs measured on targets: what `narthex hardware area` prints, writes and draws."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from narthex import _native
from narthex.batch import Batch, Progress
from narthex.documents import Saved
from narthex.synthesis import area as synthesis
from narthex.synthesis import frequency, tools
from narthex.synthesis.area import Area
from narthex.synthesis.sources import Design
from narthex.synthesis.targets import Target

if TYPE_CHECKING:
    import altair

    from narthex.report.parts import Chart


@dataclass
class Measured:
    """What a design came to."""

    name: str
    areas: dict[str, Area] = field(default_factory=dict)
    """By target."""
    frequency_mhz: float | None = None
    """On an ECP5; none if it was not asked for."""

    @property
    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        areas = [area.document for area in self.areas.values()]
        return {"name": self.name, "areas": areas, "frequency_mhz": self.frequency_mhz}


@dataclass(frozen=True)
class Measurement(Saved):
    """Designs, each on the same targets."""

    designs: list[Measured]
    tools: list[str]

    @property
    def document(self) -> dict[str, Any]:
        """What `--json` writes."""
        return {
            "schema": 1,
            "version": _native.__version__,
            "tools": self.tools,
            "designs": [each.document for each in self.designs],
        }

    def chart(self, target: str) -> "Chart":
        """Return the designs as stacked bars of a page: gates on a target, by block."""
        from narthex.synthesis import figure

        return figure.chart(
            {each.name: figure.by_block(each.areas[target]) for each in self.designs}
        )

    def plot(self, target: str = "xc5v") -> "altair.TopLevelMixin":
        """Draw the designs as stacked bars: gates on a target, by block."""
        from narthex.charts.standalone import standalone

        return standalone(self.chart(target), f"Gates on {target}, by block")


def measure(
    designs: Sequence[Design],
    targets: Sequence[Target],
    *,
    frequency_too: bool = False,
    jobs: int = 2,
    progress: Progress = lambda _finished, _all, _left_s: None,
) -> Measurement:
    """Measure designs on targets; what was measured before is not measured again.

    `frequency_too` places and routes each design as well. `jobs` syntheses are made at a time.
    """
    measured = {design.name: Measured(design.name) for design in designs}

    def make(cell: tuple[Design, Target | None]) -> tuple[None, float]:
        design, target = cell
        start = time.monotonic()
        into = measured[design.name]
        if target is None:
            into.frequency_mhz = frequency.frequency_mhz(design)
        else:
            into.areas[target.name] = synthesis.area(design, target)
        return None, time.monotonic() - start

    asked: list[Target | None] = [*targets, *([None] if frequency_too else [])]
    cells = [(design, each) for design in designs for each in asked]
    Batch(fresh=False).make_all(make, cells, lambda cell: cell[0].name, jobs, progress)
    for each in measured.values():  # in the order in which they were asked for
        each.areas = {target.name: each.areas[target.name] for target in targets}
    packages = [synthesis.PACKAGE, *([frequency.PACKAGE] if frequency_too else [])]
    return Measurement(list(measured.values()), [tools.version(name) for name in packages])
