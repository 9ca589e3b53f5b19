"""Compiles the RTL of a tile, a cache with the network interface in it, for the simulator.

The arrays of states, tags and data are ports, which the simulator serves (interfaces/src/sarc/rtl).
`SARC@rtl` is a chip of such tiles in a run, as sarc-prototype has them.
"""

import hashlib
import importlib.metadata
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from narthex.cosimulation.build import Built, Design, build, require
from narthex.hardware import cache
from narthex.hardware.cache.parameters import EVERYTHING, Parameters
from narthex.toolchain import Progress, cache_folder

LOCKSTEP_BYTES = 1 << 14
"""Bytes of the tile that is compared with its model: small, so that lines meet often."""


def _tile(l2_bytes: int) -> tuple[Design, Parameters]:
    """Return a tile with all mechanisms and so many bytes, and its parameters."""
    require()
    parameters = replace(EVERYTHING, l2_bytes=l2_bytes)
    return Design("SARC", "sarc", {"sarc.il": _rtlil(parameters)}), parameters


def _rtlil(parameters: Parameters) -> str:
    """Return the RTLIL of a tile: made a second, then found by its sources, as each run asks."""
    sources = [file.read_bytes() for file in sorted(Path(cache.__file__).parent.glob("*.py"))]
    version = importlib.metadata.version("amaranth")
    key = hashlib.sha256(b"\0".join([*sources, repr(parameters).encode(), version.encode()]))
    file = cache_folder() / "hardware" / f"tile-{key.hexdigest()[:32]}.il"
    if not file.is_file():
        # Amaranth may be missing where nothing is compiled.
        from amaranth.back import rtlil

        from narthex.hardware.cache.controller import Controller

        text = rtlil.convert(Controller(parameters), name="sarc", emit_src=False)
        file.parent.mkdir(parents=True, exist_ok=True)
        # Another process may write the same, and none reads a half.
        unfinished = file.with_suffix(f".{os.getpid()}")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(file)
    return file.read_text(encoding="utf-8")


def library(l2_bytes: int = LOCKSTEP_BYTES, progress: Progress | None = None) -> Path:
    """Return the shared object of a tile with all mechanisms and so many bytes."""
    design, _ = _tile(l2_bytes)
    return build(design, progress).library


def request(progress: Progress | None = None) -> tuple[dict[str, Any], Built]:
    """Describe a compiled tile of the prototype, as the simulator reads it.

    It refuses a machine that has other tiles.
    """
    design, parameters = _tile(EVERYTHING.l2_bytes)
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
