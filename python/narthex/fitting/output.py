"""A fit for other tools: a JSON document, and the arguments of LogGOPSim.

LogGOPSim (Hoefler, Schneider and Lumsdaine, 2010) takes its parameters on the
command line, as whole numbers; times are in nanoseconds if its schedules' are.

    -L  latency             -g  gap per message     -o  overhead per message
    -S  size from which     -G  gap per byte        -O  overhead per byte
        senders wait for receivers

It has one overhead for both sides, and a message's bytes pass sender, wire and
receiver at the same time: T(k) = 2 o + L + (k-1) max(O, G). So o and O are
the mean of both sides, and L is what makes T(k) the nearest to the measured
one way over all sizes, in relative terms. How far it still is, is told beside.
"""

from dataclasses import asdict, dataclass
from typing import Any

from narthex import _native
from narthex.fitting.estimator import LEVEL, estimate, means_of
from narthex.fitting.execution import Fit
from narthex.fitting.measurement import Measurement
from narthex.fitting.model import Line

EAGER = 2**31 - 1
"""-S: the messaging library never waits for a receiver, whatever the size."""


@dataclass(frozen=True)
class LogGOPSim:
    """The parameters of LogGOPSim, in its units."""

    L: int
    o: int
    g: int
    G: int
    O: int  # noqa: E741 - the model's name
    S: int = EAGER

    @property
    def arguments(self) -> str:
        """What goes on its command line."""
        return " ".join(f"-{name} {value}" for name, value in asdict(self).items())

    def one_way_ns(self, size: int) -> int:
        """Return how long it takes a message to be received in it."""
        return 2 * self.o + self.L + (size - 1) * max(self.O, self.G)


def loggopsim(fit: Fit) -> LogGOPSim:
    """Convert a fit, as near as LogGOPSim can come."""
    send, receive = fit.parameters.send_overhead, fit.parameters.receive_overhead
    overhead, gap = send.plus(receive), fit.parameters.gap
    o, big_o = _whole(overhead.first_ns / 2), _whole(overhead.per_byte_ns / 2)
    parts = LogGOPSim(0, o, _whole(gap.first_ns), _whole(gap.per_byte_ns), big_o)
    weights = {size: row["one way"] ** -2 for size, row in means_of(fit.measurements).items()}
    left = {size: fit.parameters.one_way.at(size) - parts.one_way_ns(size) for size in weights}
    latency = sum(weights[size] * left[size] for size in weights) / sum(weights.values())
    return LogGOPSim(_whole(latency), parts.o, parts.g, parts.G, parts.O)


def loggopsim_error(fit: Fit, converted: LogGOPSim) -> tuple[float, int]:
    """Return the largest error of its one-way times in percent, and the size that has it."""
    errors = (
        (100 * (converted.one_way_ns(size) / row["one way"] - 1), size)
        for size, row in means_of(fit.measurements).items()
    )
    return max(errors, key=lambda each: abs(each[0]))


def _whole(value: float) -> int:
    """Round; no time is less than none."""
    return max(0, round(value))


def document(fits: list[Fit]) -> dict[str, Any]:
    """Return what `--json` writes."""
    return {
        "schema": 1,
        "version": _native.__version__,
        "fit": "logp",
        "level": LEVEL,
        "fits": [_entry(fit) for fit in fits],
    }


def _entry(fit: Fit) -> dict[str, Any]:
    converted = loggopsim(fit)
    percent, size = loggopsim_error(fit, converted)
    return {
        "interface": fit.interface,
        "parameters": _parameters(fit),
        "residuals": [asdict(each) for each in fit.estimate.residuals],
        "cautions": fit.cautions,
        "loggopsim": {
            **asdict(converted),
            "arguments": converted.arguments,
            "largest_error_percent": percent,
            "largest_error_at_bytes": size,
        },
        "measurements": [asdict(each) for each in fit.measurements],
        "machine": fit.machine,
        "binary_sha256": fit.binary_sha256,
    }


def read(entry: dict[str, Any]) -> Fit:
    """Return the fit that an entry of a document was written from.

    The lines are found again in the measurements, which decide them.
    """
    measurements = [
        Measurement(**{**each, "bursts_ns": _by_length(each, "bursts_ns"),
                       "issues_ns": _by_length(each, "issues_ns")})
        for each in entry["measurements"]
    ]  # fmt: skip
    machine, digest = entry["machine"], entry["binary_sha256"]
    found = estimate(measurements)
    return Fit(entry["interface"], found, entry["cautions"], measurements, machine, digest)


def _by_length(entry: dict[str, Any], key: str) -> dict[int, float]:
    """Return times by the length of bursts, which JSON has as texts."""
    return {int(length): time_ns for length, time_ns in entry[key].items()}


def _parameters(fit: Fit) -> dict[str, dict[str, float]]:
    """Return every parameter by its name in the literature, with its interval."""
    values, within = fit.parameters, fit.estimate.within
    pairs: dict[str, tuple[Line, Line]] = {
        "L": (values.latency, within.latency),
        "o_s": (values.send_overhead, within.send_overhead),
        "o_r": (values.receive_overhead, within.receive_overhead),
        "g": (values.gap, within.gap),
    }
    bytes_names = {"L": "L_byte", "o_s": "O_s", "o_r": "O_r", "g": "G"}
    entries = {}
    for name, (line, half) in pairs.items():
        entries[f"{name}_ns"] = _interval(line.first_ns, half.first_ns)
        byte = _interval(line.per_byte_ns, half.per_byte_ns)
        entries[f"{bytes_names[name]}_ns_per_byte"] = byte
    return entries


def _interval(value: float, within: float) -> dict[str, float]:
    return {"value": value, "low": value - within, "high": value + within}
