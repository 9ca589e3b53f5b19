"""How a run is carried out changes no byte of its document.

Threads of the host, and wait loops that are computed or executed, must not be seen. Here
every program runs over every interface, in a short form: `make identity`. `make test` has
each program and each interface at least once.
"""

import itertools

import pytest
from test_programs import PROGRAMS

import narthex

SHORT = {
    **PROGRAMS,
    "roundtrip": (72, 20),
    "bandwidth": (248, 60),
    "all-to-all": (64, 2),
    "neighbours": (200, 3),
    "open-loop": (200, 64, 40, 8),
    "key-value": (200, 64, 40, 8),
}
"""The programs, each with arguments for a run of less than a second."""

ON_MEMORY_BUS = ["NI2w", "CNI4", "CNI16Q", "CNI512Q", "CNI16Qm"]
OF_1998 = [
    "NI16w+Blkbuf",
    "NI64w+Udma",
    "CNI0Qm",
    "CNI32Qm",
    "CNI32Qm+Throttle",
    "NI2w on register",
]
MACHINES = [
    *[("hpca98", name) for name in [*ON_MEMORY_BUS, *OF_1998]],
    *[("isca96", name) for name in ON_MEMORY_BUS],
    *[("isca96", f"{name} on io-bus") for name in ("NI2w", "CNI4", "CNI16Q", "CNI512Q")],
    ("isca96", "NI2w on cache-bus"),
]

WAYS = {
    "2 threads": {"threads": 2},
    "wait loops executed": {"execute_wait_loops": True},
    "3 threads, wait loops executed": {"threads": 3, "execute_wait_loops": True},
}


def document(program: str, machine: str, interface: str, **way) -> str:
    nodes = 2 if program in ("roundtrip", "bandwidth") else 5
    done = narthex.run(
        program, *SHORT[program], machine=machine, interface=interface, nodes=nodes, **way
    )
    return done.to_json()


def assert_same(program: str, machine: str, interface: str, ways: list[str]) -> None:
    plain = document(program, machine, interface)
    for way in ways:
        assert document(program, machine, interface, **WAYS[way]) == plain, way


@pytest.mark.long
@pytest.mark.parametrize(("machine", "interface"), MACHINES)
@pytest.mark.parametrize("program", SHORT)
def test_every_program_is_the_same_over_every_interface(program, machine, interface):
    assert_same(program, machine, interface, list(WAYS))


@pytest.mark.parametrize(
    ("program", "place"), list(zip(itertools.cycle(SHORT), MACHINES, strict=False))
)
def test_each_program_and_each_interface_is_the_same(program, place):
    assert_same(program, *place, ["3 threads, wait loops executed"])
