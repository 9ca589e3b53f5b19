"""Messages by size: each program's distribution beside the paper's.

A row is a size that the paper prints, with the share of the program's messages
that have exactly this size, and the share of those to which no printed size is
nearer. The first is set beside the paper's percentage; the second says how much
of the distribution has the same shape with other sizes, as where a header or a
shared block has a few bytes more. Sizes that the paper does not print, and that
a share of the messages have that it would have printed, are rows too.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from narthex.validation.definition import Experiment, Interface, MessageSize, Workload
from narthex.validation.published import Key, Published
from narthex.validation.rows import Beside, Row, Samples, cell_key, size_label

PRINTED_PERCENT = 1.0
"""Table 4 of hpca98 leaves out what it calls a trivial fraction; its smallest is 2 %."""


def measured(
    experiment: Experiment, samples: Samples, published: Mapping[Key, Published]
) -> list[Row]:
    """Return the rows of every interface and workload."""
    rows = []
    for interface, workload in experiment.cells:
        sent: Counter[int] = Counter()
        for sample in samples.get((interface.name, workload.name), ()):
            sent.update(sample.message_sizes)
        rows += _of_cell(experiment, published, interface, workload, sent)
    return rows


def _of_cell(
    experiment: Experiment,
    published: Mapping[Key, Published],
    interface: Interface,
    workload: Workload,
    sent: Counter[int],
) -> list[Row]:
    total = sent.total()

    def row(size: int, share: float | None, nearest: float | None) -> Row:
        key = cell_key(experiment, interface.name, size_label(workload.name, size))
        beside = Beside(experiment, key, published.get(key), experiment.limit_percent)
        return replace(beside.make(interface.name, share), nearest_percent=nearest)

    def percent(messages: int) -> float:
        return 100 * messages / total

    if not total:
        return [row(size.bytes, None, None) for size in workload.sizes]
    by_nearest: Counter[int] = Counter()
    for size, messages in sent.items():
        by_nearest[_nearest(size, workload.sizes).bytes] += messages
    shares = {
        size.bytes: percent(sum(count for each, count in sent.items() if size.holds(each)))
        for size in workload.sizes
    }
    others = {
        size: percent(messages)
        for size, messages in sent.items()
        if not any(each.holds(size) for each in workload.sizes)
    }
    told = {size: share for size, share in others.items() if share >= PRINTED_PERCENT}
    return [
        row(size, share, percent(by_nearest[size]) if size in shares else None)
        for size, share in sorted({**told, **shares}.items())
    ]


def _nearest(size: int, printed: list[MessageSize]) -> MessageSize:
    """Return the printed size that is nearest, by ratio: sizes span three powers of ten."""

    def distance(each: MessageSize) -> float:
        return 1.0 if each.holds(size) else max(size / each.bytes, each.bytes / size)

    return min(printed, key=distance)
