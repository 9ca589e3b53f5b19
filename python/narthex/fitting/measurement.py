"""The runs of a fit, and what is taken from them.

The program `logp` (guest/programs/logp/README.md) measures messages of one size
from one seed and reports times; a fit needs several sizes, since its parameters
are lines over the size, and several seeds, since each begins another sequence of
pauses, so that polls meet messages at other phases.
"""

import re
from dataclasses import dataclass

from narthex.errors import NarthexError
from narthex.results import Result, reports_of

PROGRAM = "logp"

SIZES = (8, 16, 32, 48, 64, 96, 128, 160, 192, 240)
"""Bytes; each message is one packet on the machines of both studies."""

LEAST_SIZES = 4
"""A line has two parameters; what is left over says how well it fits."""

SEEDS = 3
MOST_SEEDS = 1_000

BURST = 64
"""Messages of the longest burst; many times the buffers of flow control."""


@dataclass(frozen=True)
class Measurement:
    """What one run measured: messages of one size, from one seed."""

    size: int
    """Bytes."""
    seed: int
    send_overhead_ns: float
    receive_overhead_ns: float
    one_way_ns: float
    """Half a round trip."""
    bursts_ns: dict[int, float]
    """By number of messages: from the first call that sends to the answer."""
    issues_ns: dict[int, float]
    """The same until the last call that sends has returned: the LogP signature."""
    late: int
    """Replies that had not all arrived when they were polled for."""

    @property
    def gap_ns(self) -> float:
        """What a message adds to a burst in the second half of the longest one."""
        return self._added(-1)

    @property
    def early_gap_ns(self) -> float:
        """The same in the shorter bursts: between a quarter and a half of the longest."""
        return self._added(-2)

    def _added(self, place: int) -> float:
        """Return the time per message between a burst and the next shorter one."""
        lengths = sorted(self.bursts_ns)
        longer, shorter = lengths[place], lengths[place - 1]
        return (self.bursts_ns[longer] - self.bursts_ns[shorter]) / (longer - shorter)


def taken(result: Result, size: int, seed: int) -> Measurement:
    """Take the measurement from a run.

    Each overhead was timed with a reading of the clock in it, and the handler of a
    received reply reads the clock once more.
    """
    clock_ns = result.value("clock")
    return Measurement(
        size,
        seed,
        result.value("send overhead") - clock_ns,
        result.value("receive overhead") - 2 * clock_ns,
        result.value("round-trip latency") / 2,
        _by_length(result, "burst"),
        _by_length(result, "issue"),
        int(result.value("late replies")),
    )


def _by_length(result: Result, what: str) -> dict[int, float]:
    """Return what was reported as "WHAT of N", by N."""
    return {
        int(found[1]): report["value"]
        for report in reports_of(result.document)
        if (found := re.fullmatch(rf"{what} of (\d+)", report["name"]))
    }


def checked_sizes(sizes: list[int]) -> list[int]:
    """Return the sizes in order; refuse too few, and those that are none."""
    for size in sizes:
        if size < 1:
            raise NarthexError(f"a message of {size} bytes cannot be measured; sizes begin at 1")
    if len(set(sizes)) < LEAST_SIZES:
        told = ", ".join(map(str, sizes)) or "none"
        raise NarthexError(
            f"a fit needs at least {LEAST_SIZES} different sizes, to say how well it fits;"
            f" given: {told}"
        )
    return sorted(set(sizes))
