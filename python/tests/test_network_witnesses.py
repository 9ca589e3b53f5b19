"""A mesh of 8 x 8 against two witnesses that share nothing with it.

The established simulators of networks (BookSim, Noxim) are sources to build, no packages.
So here are two other ways to the same mean latency: a formula for light load, and a simulation of
nothing but links and queues, in which a packet is a list of links and a link serves the oldest
packet that waits for it.
"""

import heapq
import itertools
import random
from collections import defaultdict
from collections.abc import Iterator

import pytest

import narthex

SIDE = 8
NODES = SIDE * SIDE
CYCLE_NS = 4
PACKET_CYCLES = 16
"""64 bytes on links of four bytes a cycle."""
LINK_CYCLES, SWITCH_CYCLES = 1, 2

# Switches whose flow control is as good as perfect: what remains is the queues of links.
MESH = [
    'network.links={width="4B", clock="250MHz", latency="4ns", lanes=1}',
    'network.switches={switching="virtual-cut-through", delay="8ns", buffer="2KiB", '
    'queues="by-output", arbitration="age"}',
    "network.priorities={packets=0, acknowledgements=0, returned_packets=0}",
    f'network.topology={{kind="mesh", dimensions=[{SIDE}, {SIDE}]}}',
]

Link = tuple[int, int]
Packet = tuple[int, list[Link], int]


def links(source: int, destination: int) -> list[Link]:
    """Return a packet's links: its node's, those of its way, and its destination's."""
    return list(itertools.pairwise([-1 - source, *switches(source, destination), -1 - destination]))


def switches(source: int, destination: int) -> Iterator[int]:
    """Go along the row, then along the column."""
    at = source
    yield at
    while at % SIDE != destination % SIDE:
        at += 1 if destination % SIDE > at % SIDE else -1
        yield at
    while at != destination:
        at += SIDE if destination > at else -SIDE
        yield at


def measured(load: float) -> float:
    """Return the simulator's mean latency under uniform traffic."""
    found = narthex.network("cluster", loads=[load], nodes=NODES, set=MESH, measured_cycles=30_000)
    return float(found.points["latency_ns"][0])


def expected_under_light_load(load: float) -> float:
    """Return the mean latency without load, and what a packet waits to the first order of the load.

    At its node's own link it waits as at a server with a constant time of service, at which
    customers come with the same probability in each cycle. Packets of one input come one after the
    other, so at any further link it waits for those of the other inputs: as often as one of them is
    there, half of its length.
    """
    busy: dict[Link, dict[Link, float]] = defaultdict(lambda: defaultdict(float))
    ways = [links(source, destination) for source in range(NODES) for destination in range(NODES)]
    for way in ways:
        for before, link in itertools.pairwise(way):
            busy[link][before] += load / NODES
    waits = sum(
        share * (sum(shares.values()) - share)
        for shares in busy.values()
        for share in shares.values()
    )
    waited = (
        load * (PACKET_CYCLES - 1) / 2 / (1 - load) + waits / (load * NODES) * PACKET_CYCLES / 2
    )
    mean_links = sum(map(len, ways)) / len(ways)
    alone = mean_links * LINK_CYCLES + (mean_links - 1) * SWITCH_CYCLES + PACKET_CYCLES
    return (alone + waited) * CYCLE_NS


def simulated(load: float, warm_up: int = 3_000, cycles: int = 20_000) -> float:
    """Return the mean latency in a simulation of links with endless queues."""
    chance = random.Random(1)
    order = itertools.count()
    # A packet comes to its next link (when it was made, its links, those that it has passed), or a
    # link looks for one.
    events: list[tuple[int, int, Link, Packet | None]] = []
    for source in range(NODES):
        for now in range(warm_up + 2 * cycles):
            if chance.random() < load / PACKET_CYCLES:
                way = links(source, chance.randrange(NODES))
                events.append((now, next(order), way[0], (now, way, 0)))
    waiting: dict[Link, list[tuple[int, int, Packet]]] = defaultdict(list)
    free_at: dict[Link, int] = defaultdict(int)
    latencies = []
    heapq.heapify(events)
    while events:
        now, _, link, packet = heapq.heappop(events)
        if packet:
            heapq.heappush(waiting[link], (packet[0], next(order), packet))
            heapq.heappush(events, (max(now, free_at[link]), next(order), link, None))
        elif waiting[link] and free_at[link] <= now:
            made, way, passed = heapq.heappop(waiting[link])[2]
            free_at[link] = now + PACKET_CYCLES
            heapq.heappush(events, (free_at[link], next(order), link, None))
            if passed + 1 < len(way):
                arrival = now + LINK_CYCLES + SWITCH_CYCLES
                heapq.heappush(
                    events, (arrival, next(order), way[passed + 1], (made, way, passed + 1))
                )
            elif warm_up <= made < warm_up + cycles:
                latencies.append(now + LINK_CYCLES + PACKET_CYCLES - made)
    return sum(latencies) / len(latencies) * CYCLE_NS


def test_a_mesh_under_light_load_takes_what_the_formula_of_its_queues_says() -> None:
    """A load of 0.05: the formula leaves out what grows with its square."""
    assert measured(0.05) == pytest.approx(expected_under_light_load(0.05), rel=0.01)


@pytest.mark.parametrize("load", [0.1, 0.3])
def test_a_mesh_takes_as_long_as_a_simulation_of_nothing_but_links_and_queues(load: float) -> None:
    """Both have drawn their own random packets, a few thousand of them."""
    assert measured(load) == pytest.approx(simulated(load), rel=0.03)
