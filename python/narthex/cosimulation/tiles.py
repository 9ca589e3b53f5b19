"""Compiles the RTL of a tile, a cache with the network interface in it, for the simulator.

The arrays of states, tags and data are ports, which the simulator serves (interfaces/src/sarc/rtl).
"""

from dataclasses import replace
from pathlib import Path

from narthex.cosimulation.build import Design, build, require
from narthex.toolchain import Progress

LOCKSTEP_BYTES = 1 << 14
"""Bytes of the tile that is compared with its model: small, so that lines meet often."""


def library(l2_bytes: int = LOCKSTEP_BYTES, progress: Progress | None = None) -> Path:
    """Return the shared object of a tile with all mechanisms and so many bytes."""
    require()
    # Amaranth may be missing where nothing is compiled.
    from amaranth.back import rtlil

    from narthex.hardware.cache.controller import Controller
    from narthex.hardware.cache.parameters import EVERYTHING

    controller = Controller(replace(EVERYTHING, l2_bytes=l2_bytes))
    text = rtlil.convert(controller, name="sarc", emit_src=False)
    return build(Design("SARC", "sarc", {"sarc.il": text}), progress).library
