"""Where LogGP does not describe an interface: each caution says what and why.

Culler et al. (1996) caution that the parameters describe an interface under the
conditions of the measurement. What breaks them here has causes one can name: costs in
steps of blocks and packets, processors that copy, buffers that overflow.
"""

from collections.abc import Iterator, Sequence
from statistics import fmean

from narthex.fitting.estimator import Estimate
from narthex.fitting.measurement import Measurement

RESIDUAL_PERCENT = 10.0
"""A line that is farther from a measurement does not describe it."""

BURST_PERCENT = 10.0
"""A gap that changes more with the length of bursts is not one number."""

BYTE_RATIO = 1.25
"""One G for messages and streams, if their costs per byte differ no more."""


def cautions(
    estimate: Estimate, measurements: Sequence[Measurement], packet_bytes: int
) -> list[str]:
    """Say where the model does not fit; nothing if it does."""
    return [
        *_of_residuals(estimate),
        *_of_bytes(estimate),
        *_of_latency(estimate),
        *_of_bursts(measurements),
        *_of_sizes(measurements, packet_bytes),
    ]


def _of_residuals(estimate: Estimate) -> Iterator[str]:
    large = [each for each in estimate.residuals if abs(each.percent) > RESIDUAL_PERCENT]
    if large:
        told = ", ".join(f"{each.series} {each.percent:+.0f} % at {each.size}" for each in large)
        yield (
            f"no line over the size in bytes: {told} (costs come in words, blocks and packets,"
            " or a size is sent in another way)"
        )


def _of_bytes(estimate: Estimate) -> Iterator[str]:
    message, stream = estimate.parameters.one_way, estimate.parameters.gap
    if stream.per_byte_ns <= 0:
        yield "a byte more adds nothing to the gap: there is no bandwidth in these sizes"
    elif not 1 / BYTE_RATIO < message.per_byte_ns / stream.per_byte_ns < BYTE_RATIO:
        yield (
            f"two G: a byte takes {message.per_byte_ns:.2f} ns in a single message and"
            f" {stream.per_byte_ns:.2f} ns in a stream, where one message is sent while another is"
            " received"
        )


def _of_latency(estimate: Estimate) -> Iterator[str]:
    if estimate.parameters.latency.first_ns < 0:
        yield (
            "L is negative: both processors are engaged at the same time, so that their overheads"
            " add up to more than one way takes"
        )


def _of_bursts(measurements: Sequence[Measurement]) -> Iterator[str]:
    """Compare the gaps of long bursts with those of shorter ones; only the worst size is told."""
    changes = []
    for size in sorted({each.size for each in measurements}):
        early = fmean(each.early_gap_ns for each in measurements if each.size == size)
        late = fmean(each.gap_ns for each in measurements if each.size == size)
        changes.append((100 * (late - early) / early, size, early, late))
    percent, size, early, late = max(changes, key=lambda change: abs(change[0]))
    if abs(percent) > BURST_PERCENT:
        yield (
            f"the gap depends on a burst's length: at {size} bytes {early:.0f} ns a message, and"
            f" {late:.0f} in the second half of the longest bursts (buffers and caches fill)"
        )


def _of_sizes(measurements: Sequence[Measurement], packet_bytes: int) -> Iterator[str]:
    long = sorted({each.size for each in measurements if each.size > packet_bytes})
    if long:
        yield (
            f"messages from {long[0]} bytes on are several packets (of {packet_bytes} bytes), which"
            " overlap: L_byte takes back what both overheads count; single packets are on another"
            " line"
        )
    late = sorted({each.size for each in measurements if each.late})
    if late:
        yield (
            f"replies of {late[0]} bytes do not fit into the interface: what is called receive"
            " overhead contains waiting for the rest"
        )
