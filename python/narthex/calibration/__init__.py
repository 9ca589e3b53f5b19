"""Fitting a machine's assumed parameters to what a paper prints.

    experiments/calibrations/NAME.toml ── recipe ──► execution ──► Calibration
                                                       │  ▲
                                       parameters, each a little more
                                                       ▼  │
                                  solver: what every cell moves by, and the step

A machine with fitted parameters is a base for studies of that machine; it is
no reproduction: the cells that it was fitted to are no evidence any more.
`recipe` reads the file, `execution` measures, `solver` finds the values,
`output` writes them as tables and as a machine's file.
"""

from narthex.calibration.execution import Calibration, Fitted, calibrate, differs_from_machine
from narthex.calibration.recipe import Recipe, load, names

__all__ = ["Calibration", "Fitted", "Recipe", "calibrate", "differs_from_machine", "load", "names"]
