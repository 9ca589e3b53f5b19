"""The engine that draws charts: V8, in the package vl-convert.

It reserves far more addresses than it uses memory, and ends the process where it
does not get them. So a limit on the address space (`ulimit -v`) is looked for first.
"""

import resource

from narthex.errors import NarthexError

ADDRESS_SPACE_BYTES = 66 << 30
"""What it reserves, and what the rest of a process has (measured: 64.3 GiB at most)."""


def is_limited() -> bool:
    """Tell whether a limit forbids the engine to start."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return limit != resource.RLIM_INFINITY and limit < ADDRESS_SPACE_BYTES


def check() -> None:
    """Refuse to draw where the engine cannot start."""
    if not is_limited():
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    raise NarthexError(
        f"charts cannot be drawn here: their engine reserves {ADDRESS_SPACE_BYTES >> 30} GiB of"
        f" addresses (far more than it uses memory), and this shell allows"
        f" {limit / (1 << 30):.1f} GiB (ulimit -v); draw without that limit"
    )
