"""Every hot region has its colour: what a microbenchmark uses by turns does not share cache lines.

A cache of as many bytes and 16 ways has no conflicts to speak of, and takes no longer for an
access. So a loop without conflict misses is no slower with one way. What is left is the phase in
which two nodes meet, which the cold misses before the loop decide.
"""

import pytest

import narthex

INTERFACES = {
    "hpca98": [
        "NI2w", "NI64w+Udma", "NI16w+Blkbuf", "CNI0Qm", "(NI16w+Blkbuf)S(CNI0Qm)R",
        "CNI512Q", "CNI32Qm", "CNI32Qm+Throttle",
    ],
    "isca96": ["NI2w", "CNI4", "CNI16Q", "CNI512Q", "CNI16Qm"],
}  # fmt: skip
MACHINES = [(machine, name) for machine, names in INTERFACES.items() for name in names]
KEPT_KIB = {"hpca98": 256, "isca96": 64}
BYTES = [8, 64, 256]
PHASE = 0.01


def measured(program, *args, ways, **where):
    """What the program reports first, on two nodes whose data cache has so many ways."""
    ways = {"data_cache.associativity": ways}
    return narthex.run(program, *args, nodes=2, set=ways, **where).document["reports"][0]["value"]


@pytest.mark.parametrize(("machine", "interface"), MACHINES)
@pytest.mark.parametrize("size", BYTES)
def test_a_round_trip_has_no_conflict_misses(machine, interface, size):
    one, many = (
        measured("roundtrip", size, 30, 150, ways=ways, machine=machine, interface=interface)
        for ways in (1, 16)
    )
    assert one == pytest.approx(many, rel=PHASE)


@pytest.mark.parametrize(("machine", "interface"), MACHINES)
@pytest.mark.parametrize("size", BYTES)
def test_a_stream_of_messages_has_no_conflict_misses(machine, interface, size):
    args = (size, 1200, 300, KEPT_KIB[machine])
    one, many = (
        measured("bandwidth", *args, ways=ways, machine=machine, interface=interface)
        for ways in (1, 16)
    )
    assert one == pytest.approx(many, rel=PHASE)


@pytest.mark.parametrize("size", ["512KiB", "4MiB"])
def test_colours_fit_caches_of_any_size(size):
    latencies = [
        narthex.run(
            "roundtrip", 64, 30, 150, nodes=2, machine="isca96", interface="CNI16Q",
            set={"data_cache.size": size, "data_cache.associativity": ways},
        ).document["reports"][0]["value"]
        for ways in (1, 16)
    ]  # fmt: skip
    assert latencies[0] == pytest.approx(latencies[1], rel=PHASE)
