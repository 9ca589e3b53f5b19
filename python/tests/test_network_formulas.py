"""The formulas beside which `networks/validation` and `networks/saturation` stand.

Dally and Towles, Principles and Practices of Interconnection Networks, 2004, Section 3.3: without
load a packet takes H switches, H + 1 links and its own length; a network accepts b / gamma, where
gamma is what its busiest link carries if each node sends one. Both are averages over all pairs of
nodes and their ways, which are written down here once more, without the simulator.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise, product

import pytest

from narthex import validation
from narthex.validation.published import Key, read

SIDE = 8
NODES = range(SIDE * SIDE)
SWITCH_NS, LINK_NS, PACKET_NS, LINK_MB_S = 8, 4, 64, 1_000

Switch = int | tuple[int, ...]
Ways = Iterator[tuple[float, list[Switch]]]
"""Shares of the packets, and the switches that they pass."""


def steps(at: int, to: int, *, is_ring: bool) -> list[int]:
    """Go along one dimension; from opposite around a ring every other switch goes each way."""
    turn = to - at
    if is_ring:
        ahead = turn % SIDE
        is_up = ahead < SIDE / 2 or (ahead == SIDE / 2 and at % 2 == 0)
        turn = ahead if is_up else ahead - SIDE
    sign = 1 if turn > 0 else -1
    return [(at + sign * step) % SIDE for step in range(abs(turn) + 1)]


def grid(source: int, target: int, *, is_ring: bool) -> Ways:
    """Go through the dimensions in their order."""
    (y, x), (to_y, to_x) = divmod(source, SIDE), divmod(target, SIDE)
    row, column = steps(x, to_x, is_ring=is_ring), steps(y, to_y, is_ring=is_ring)
    yield 1, [(y, at) for at in row] + [(at, to_x) for at in column[1:]]


def mesh(source: int, target: int) -> Ways:
    """Return the way in a mesh."""
    return grid(source, target, is_ring=False)


def torus(source: int, target: int) -> Ways:
    """Return the ways in a torus."""
    return grid(source, target, is_ring=True)


def tree(source: int, target: int, *, spreads: bool) -> Ways:
    """Go up until a switch is above both, over any ports or the target's digits, then down."""
    height = next(
        level for level in range(3) if source // 4 ** (level + 1) == target // 4 ** (level + 1)
    )
    digits = tuple(target // 4**level % 4 for level in range(height))
    every = list(product(range(4), repeat=height)) if spreads else [digits]
    for taken in every:
        up: list[Switch] = [
            (level, source // 4 ** (level + 1), *taken[:level]) for level in range(height + 1)
        ]
        down = [
            (level, target // 4 ** (level + 1), *taken[:level]) for level in reversed(range(height))
        ]
        yield 1 / len(every), [*up, *down]


def dragonfly(source: int, target: int) -> Ways:
    """Two nodes a switch, four switches a group, eight groups with one link between any two."""
    (group, own), (to_group, to_own) = divmod(source // 2, 4), divmod(target // 2, 4)
    way = [(group, own)]
    if group != to_group:
        distance = (to_group - group) % 8
        way += [(group, (distance - 1) // 2), (to_group, (7 - distance) // 2)]
    way.append((to_group, to_own))
    yield 1, [at for place, at in enumerate(way) if place == 0 or way[place - 1] != at]


def by_any_node(ways: Callable[[int, int], Ways]) -> Callable[[int, int], Ways]:
    """Go by the switch of a random node first, unless both nodes have one switch (Section 9.1)."""

    def detours(source: int, target: int) -> Ways:
        if len(direct := list(ways(source, target))) == 1 and len(direct[0][1]) == 1:
            yield from direct
            return
        for middle in NODES:
            for (share, first), (other, second) in product(
                ways(source, middle), list(ways(middle, target))
            ):
                yield share * other / len(NODES), [*first, *second[1:]]

    return detours


PATTERNS: dict[str, Callable[[int], list[int]]] = {
    "uniform": lambda _: list(NODES),
    "transpose": lambda own: [own % SIDE * SIDE + own // SIDE],
    "tornado": lambda own: [(own // SIDE + 3) % SIDE * SIDE + (own % SIDE + 3) % SIDE],
    "next-group": lambda own: [(own // 8 + 1) % 8 * 8 + other for other in range(8)],
}
NETWORKS: dict[str, Callable[[int, int], Ways]] = {
    "mesh": mesh,
    "torus": torus,
    "fat tree, deterministic": lambda own, to: tree(own, to, spreads=False),
    "fat tree, random": lambda own, to: tree(own, to, spreads=True),
    "dragonfly": dragonfly,
}
NETWORKS |= {
    f"{name}, Valiant": by_any_node(NETWORKS[name]) for name in ("mesh", "torus", "dragonfly")
}
SAME_WITHOUT_LOAD = {
    **{
        f"{name}, {routes}": name
        for name in ("mesh", "torus", "dragonfly")
        for routes in ("UGAL", "UGAL-G", "adaptive")
    },
    **{f"fat tree, {ascent}": "fat tree, random" for ascent in ("by-flow", "adaptive")},
}
"""Networks whose packets go the shortest way where nothing waits."""
SAME_THROUGHPUT = {("torus, adaptive", "tornado"): "torus"}
"""Any shortest way of a tornado goes three links in one direction of each dimension."""


@cache
def formulas(network: str, pattern: str) -> tuple[float, float]:
    """Return the latency without load in ns, and the throughput of a node in MB/s."""
    latency_ns, carried = 0.0, defaultdict(float)
    for source in NODES:
        targets = PATTERNS[pattern](source)
        for target in targets:
            for share, way in NETWORKS[network](source, target):
                share /= len(targets)
                latency_ns += share * (len(way) * SWITCH_NS + (len(way) + 1) * LINK_NS + PACKET_NS)
                for link in pairwise([("from", source), *way, ("to", target)]):
                    carried[link] += share
    return latency_ns / len(NODES), LINK_MB_S / max(carried.values())


@pytest.mark.parametrize("experiment", ["networks/validation", "networks/saturation"])
def test_the_values_beside_an_experiment_are_those_of_the_formulas(experiment: str) -> None:
    definition = validation.load(experiment)
    published = read(experiment)
    is_latency = definition.load == "latency"
    for interface, workload in definition.cells:
        name = interface.name
        pattern, *load = workload.args
        key = Key(definition.place(name), None, workload.name, definition.unit)
        known = (
            SAME_WITHOUT_LOAD.get(name, name)
            if is_latency
            else SAME_THROUGHPUT.get((name, pattern), name)
        )
        if known not in NETWORKS or (is_latency and load != ["0.01"]):
            assert key not in published
        else:
            value = formulas(known, pattern)[0 if is_latency else 1]
            assert published.pop(key).low == pytest.approx(value, abs=0.005), key
    assert not published
