"""Many nodes and many sizes in a chart or table that fits on a screen.

Nodes that spend their time alike are one bar or column, their mean; sizes are
counted between powers of two.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

Place = tuple[int, int]
"""A node, and a process on it."""

Part = TypeVar("Part")
"""What time is divided by: an activity, or an activity and an occupation."""

MOST_BARS = 12
"""Bars of nodes in a chart; more nodes than these are grouped."""

TOLERANCES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Shares of the time by which nodes of a group may differ in a part: the first that
makes few groups."""

LONGEST_LIST = 28
"""Characters of the nodes that a group's name lists."""

NARROW = 14
"""Characters of a column's name."""

MOST_SIZES = 24
"""Sizes of messages that have a bar each."""


@dataclass
class Group(Generic[Part]):
    """Processors that spend their time alike."""

    shares: dict[Part, float]
    """Of the first, which stands for all."""
    places: list[Place] = field(default_factory=list)
    times: Counter[Part] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        """What its bar or column is called: node 3, nodes 4-7, node 0.1-15 of several processes."""
        nodes = sorted({node for node, _ in self.places})
        processes = sorted({process for _, process in self.places})
        if len(nodes) == 1:
            return f"node {nodes[0]}.{listed(processes)}" if any(processes) else f"node {nodes[0]}"
        if len(self.places) < len(nodes) * len(processes):
            return self._alike
        of_each = f", processes {listed(processes)} of each" if any(processes) else ""
        return f"nodes {listed(nodes)}{of_each}"

    @property
    def short_name(self) -> str:
        """The same for a column, which is narrow: 16 like node 1."""
        return self.name if len(self.name) <= NARROW else self._alike

    @property
    def _alike(self) -> str:
        node, process = self.places[0]
        return f"{len(self.places)} like node {node}{f'.{process}' if process else ''}"

    def mean(self, part: Part) -> float:
        """Return the time of a part, the mean of all."""
        return self.times[part] / len(self.places)


def alike(times: Mapping[Place, Counter[Part]], most: int = MOST_BARS) -> list[Group[Part]]:
    """Make at most so many groups of processors that spend their time alike.

    Each is by itself, if they are few.
    """
    if len(times) <= most:
        return _groups(times, -1.0)
    groups: list[Group[Part]] = []
    for tolerance in TOLERANCES:
        groups = _groups(times, tolerance)
        if len(groups) <= most:
            break
    return groups


def _groups(times: Mapping[Place, Counter[Part]], tolerance: float) -> list[Group[Part]]:
    groups: list[Group[Part]] = []
    for place, spent in times.items():
        whole = max(spent.total(), 1)
        shares = {part: time / whole for part, time in spent.items()}
        near = (group for group in groups if _distance(group.shares, shares) <= tolerance)
        group = next(near, None)
        if group is None:
            group = Group(shares)
            groups.append(group)
        group.places.append(place)
        group.times.update(spent)
    return groups


def _distance(one: dict[Part, float], other: dict[Part, float]) -> float:
    return max((abs(one.get(part, 0) - other.get(part, 0)) for part in {*one, *other}), default=0.0)


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
