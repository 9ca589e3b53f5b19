"""A calibration as the text of a machine's file."""

from typing import Any

import tomli_w

from narthex.calibration.execution import Calibration
from narthex.notation import mean

CAUTION = "not for claims about the paper: its cells were fitted to"


def machine_file(found: Calibration) -> str:
    """Return a machine's file: the difference from the machine that the fit started from."""
    recipe = found.recipe
    experiments = ", ".join(dict.fromkeys(cell.experiment for cell in found.cells))
    told = f"fitted to the published values of {experiments}; {CAUTION}"
    document: dict[str, Any] = {
        "base": recipe.machine,
        "machine": {"name": recipe.name, "description": f"{recipe.description}; {CAUTION}"},
    }
    for each in found.parameters:
        reason = f"{each.parameter.reason}; {told}. Without a fit it is {each.start}"
        value = int(each.value) if each.value.isdigit() else each.value
        for key in each.parameter.keys:
            *tables, name = key.split(".")
            table = document
            for part in tables:
                table = table.setdefault(part, {})
            table[name] = {"value": value, "assumed": reason}
    made_by = f"# Made by `narthex calibrate {recipe.name} --save FILE`.\n\n"
    return made_by + tomli_w.dumps(document)


def summary(found: Calibration) -> str:
    """Say in a line how far the cells are before and after."""
    before = mean([abs(cell.before_percent) for cell in found.cells])
    after = mean([abs(cell.after_percent) for cell in found.cells])
    worst = max(found.cells, key=lambda cell: abs(cell.after_percent))
    return (
        f"Mean absolute error over {len(found.cells)} published values: {before:.1f} % before,"
        f" {after:.1f} % fitted; worst: {worst.after_percent:+.1f} % ({worst.name})"
    )
