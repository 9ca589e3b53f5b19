"""Many bars and many sizes in a chart that fits on a screen.

Nodes that spend their time alike are one bar, their mean; sizes are counted
between powers of two. The tables behind the charts have every number.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Place = tuple[int, int]
"""A node, and a process on it."""

MOST_BARS = 12
"""Bars of nodes in a chart; more nodes than these are grouped."""

TOLERANCES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Shares of the time by which nodes of a group may differ in a part: the first that
makes few groups."""

LONGEST_LIST = 28
"""Characters of the nodes that a group's name lists."""

MOST_SIZES = 24
"""Sizes of messages that have a bar each."""


@dataclass
class Group:
    """Processors that spend their time alike."""

    shares: Counter[str]
    """Of the first, which stands for all."""
    places: list[Place] = field(default_factory=list)
    times: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        """What its bar is called."""
        nodes = sorted({node for node, _ in self.places})
        if len(self.places) == 1:
            ((node, process),) = self.places
            return f"node {node}.{process}" if process else f"node {node}"
        return f"{len(nodes)} node{'s' * (len(nodes) > 1)}: {listed(nodes)}"

    def mean(self, part: str) -> float:
        """Return the time of a part, the mean of all."""
        return self.times[part] / len(self.places)


def alike(times: Mapping[Place, Counter[str]]) -> list[Group]:
    """Group processors that spend their time alike: each by itself, if they are few."""
    if len(times) <= MOST_BARS:
        return _groups(times, -1.0)
    groups: list[Group] = []
    for tolerance in TOLERANCES:
        groups = _groups(times, tolerance)
        if len(groups) <= MOST_BARS:
            break
    return groups


def _groups(times: Mapping[Place, Counter[str]], tolerance: float) -> list[Group]:
    groups: list[Group] = []
    for place, spent in times.items():
        whole = max(spent.total(), 1)
        shares = Counter({part: time / whole for part, time in spent.items()})
        near = (group for group in groups if _distance(group.shares, shares) <= tolerance)
        group = next(near, None)
        if group is None:
            group = Group(shares)
            groups.append(group)
        group.places.append(place)
        group.times.update(spent)
    return groups


def _distance(one: Counter[str], other: Counter[str]) -> float:
    return max((abs(one[part] - other[part]) for part in {*one, *other}), default=0.0)


def listed(numbers: Sequence[int]) -> str:
    """Write whole numbers in their order, neighbours as a range: 0-3, 5; the first of many."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    words = [f"{low}" if low == high else f"{low}-{high}" for low, high in spans]
    text = ", ".join(words)
    while len(text) > LONGEST_LIST:
        words = words[:-1]
        text = ", ".join([*words, "..."])
    return text


def binned(sizes: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages by size; if the sizes are many, between powers of two."""
    entries = list(sizes)
    if len(entries) <= MOST_SIZES:
        return [{**entry, "bytes": f"{entry['bytes']:,}"} for entry in entries]
    counts: Counter[int] = Counter()
    for entry in entries:
        counts[entry["bytes"].bit_length()] += entry["messages"]
    return [
        {"bytes": f"{(1 << bits) >> 1:,} to {(1 << bits) - 1:,}", "messages": counts[bits]}
        for bits in sorted(counts)
    ]
