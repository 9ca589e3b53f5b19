"""The file of a calibration: which parameters are fitted to which published cells.

    experiments/calibrations/NAME.toml
      machine      whose parameters they are
      cells        experiments, and of which workloads and interfaces the published values count
      parameter    keys of the machine that have one value, from 0 on, in whole grains

The machine NAME holds what the fit gives: its file is made by
`narthex calibrate NAME --save FILE`.
"""

import os
import re
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

from narthex import arguments, assets, strict
from narthex.errors import NarthexError, unknown
from narthex.validation import loading
from narthex.validation.variations import QUANTITY, size


@dataclass(frozen=True)
class Cells:
    """Published values of one experiment that the fit looks at."""

    experiment: str
    workloads: list[str] = field(default_factory=list)
    """All if empty."""
    interfaces: list[str] = field(default_factory=list)
    """All if empty."""


@dataclass(frozen=True)
class Parameter:
    """One number of the fit."""

    name: str
    keys: list[str]
    """The machine's keys that have this value, all of them."""
    grain: str
    """What the value is a whole number of: "1" for cycles, "4ns" for times."""
    most: str
    """The largest value that makes sense."""
    reason: str
    """Why the papers leave it open, and why these keys have one value."""

    @property
    def most_grains(self) -> int:
        """The largest value, in grains."""
        return self.grains(self.most)

    def grains(self, value: str) -> int:
        """Return a value in grains, the nearest whole number of them."""
        found, grain = size(value), size(self.grain)
        if found is None or not grain:
            raise NarthexError(f"parameter '{self.name}': '{value}' is no number of '{self.grain}'")
        return round(found / grain)

    def text(self, grains: int) -> str:
        """Write a number of grains as a machine's file does."""
        quantity = QUANTITY.fullmatch(self.grain)
        number, unit = (quantity[1], quantity[2]) if quantity else (self.grain, "")
        return f"{(Decimal(number) * grains).normalize():f}{unit}"


@dataclass(frozen=True)
class Recipe:
    """A calibration, as its file states it."""

    name: str
    machine: str
    """The machine that the fit starts from; that of the experiments."""
    description: str
    """A sentence about the machine that it makes."""
    cells: list[Cells]
    parameter: list[Parameter]


def names() -> list[str]:
    """Return the calibrations that come with Narthex."""
    return sorted(file.stem for file in assets.CALIBRATIONS.glob("*.toml"))


def load(name: str) -> Recipe:
    """Read a calibration: one that comes with Narthex, or a file of the user's."""
    own = Path(arguments.text("name", name))
    if own.suffix == ".toml" and os.path.isfile(own):
        return _parse(own.stem, own)
    by_folded = {known.casefold(): known for known in names()}
    if str(own).casefold() not in by_folded:
        raise unknown("calibration", str(own), by_folded.values())
    known = by_folded[str(own).casefold()]
    return _parse(known, assets.CALIBRATIONS / f"{known}.toml")


def _parse(name: str, file: Path) -> Recipe:
    """Read one file, and refuse what cannot be fitted before anything runs."""
    recipe = strict.table(Recipe, {**strict.document(file), "name": name}, str(file))
    for key in ("cells", "parameter"):
        if not getattr(recipe, key):
            raise NarthexError(f"{file}: '{key}' must not be empty")
    given = [key for parameter in recipe.parameter for key in parameter.keys]
    twice = [key for key in given if given.count(key) > 1]
    if twice:
        raise NarthexError(f"{file}: the key '{twice[0]}' stands there twice")
    for parameter in recipe.parameter:
        _check(parameter, file)
    return replace(recipe, cells=[_whole(each, recipe, file) for each in recipe.cells])


def _check(parameter: Parameter, file: Path) -> None:
    if not parameter.keys:
        raise NarthexError(f"{file}: parameter '{parameter.name}': 'keys' must not be empty")
    if not re.fullmatch(r"\d+(\.\d+)?\s*[A-Za-z]*", parameter.grain) or not size(parameter.grain):
        raise NarthexError(
            f"{file}: parameter '{parameter.name}': grain = '{parameter.grain}': expected a"
            " number above 0 such as 1, or a quantity such as 4ns"
        )
    if parameter.most_grains < 1:
        raise NarthexError(
            f"{file}: parameter '{parameter.name}': most = '{parameter.most}' is less than a grain"
            f" of {parameter.grain}"
        )


def _whole(cells: Cells, recipe: Recipe, file: Path) -> Cells:
    """Name the experiment and all of its workloads; it must measure the recipe's machine."""
    definition = loading.load(cells.experiment)
    if definition.machine != recipe.machine:
        raise NarthexError(
            f"{file}: {definition.name} measures the machine {definition.machine}, and the"
            f" calibration is of {recipe.machine}"
        )
    part = loading.only(definition, cells.interfaces, cells.workloads)
    return Cells(definition.name, part.workload_names, part.interface_names)
