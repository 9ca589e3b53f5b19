"""Compiles the RTL of a tile, a cache with the network interface in it, for the simulator.

The arrays of states, tags and data are ports, which the simulator serves (interfaces/src/sarc/rtl).
`SARC@rtl` is a chip of such tiles in a run, with the sizes of sarc-prototype.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from narthex.cosimulation.build import Built, Design, build, require
from narthex.toolchain import Progress

LOCKSTEP_BYTES = 1 << 14
"""Bytes of the tile that is compared with its model: small, so that lines meet often."""


def _tile(l2_bytes: int | None = None) -> tuple[Design, Any]:
    """Return a tile with all mechanisms, and its parameters; of the prototype's size if not said."""
    require()
    # Amaranth may be missing where nothing is compiled.
    from amaranth.back import rtlil

    from narthex.hardware.cache.controller import Controller
    from narthex.hardware.cache.parameters import EVERYTHING

    parameters = EVERYTHING if l2_bytes is None else replace(EVERYTHING, l2_bytes=l2_bytes)
    text = rtlil.convert(Controller(parameters), name="sarc", emit_src=False)
    return Design("SARC", "sarc", {"sarc.il": text}), parameters


def library(l2_bytes: int = LOCKSTEP_BYTES, progress: Progress | None = None) -> Path:
    """Return the shared object of a tile with all mechanisms and so many bytes."""
    design, _ = _tile(l2_bytes)
    return build(design, progress).library


def request(progress: Progress | None = None) -> tuple[dict[str, Any], Built]:
    """Describe a compiled tile of the prototype's size, as the simulator reads it."""
    design, parameters = _tile()
    built = build(design, progress)
    described = {
        "library": str(built.library),
        "sha256": design.sha256,
        "tile": {
            "sizes": {
                "l2_bytes": parameters.l2_bytes,
                "ways": parameters.ways,
                "tiles": parameters.tiles,
            },
            "job_entries": parameters.job_entries,
            "combining_cycles": parameters.combining_cycles,
            "locks": parameters.locks,
            "dram": f"{parameters.dram_bytes}B",
        },
    }
    return described, built
