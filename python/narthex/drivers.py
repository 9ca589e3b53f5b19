"""Drivers that only programs for some interfaces have.

What all programs link decides where the data of all of them lie, and so their results. So a
driver that came later is linked apart: into programs for its interfaces, and into those for most
interfaces (`MOST`).
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class DriverApart:
    """How programs for some interfaces are linked otherwise than all others."""

    interfaces: Sequence[str]
    """The beginnings of their names; none for programs of the user's own, over most interfaces."""
    sources: Sequence[str] = ("messaging/drivers.c",)
    """What is compiled for them anew, and stands in for the archive's own."""
    members: Sequence[str] = ()
    """What is compiled anew as well, but linked only where the program wants it."""
    flags: Sequence[str] = ()
    """Flags of these."""
    flags_of_programs: Sequence[str] = ()
    """Flags of these and of its programs."""
    goes_with_others: Sequence[str] = ()
    """The drivers that its programs have beside those of all programs; none: its own alone."""
    carries_messages: bool = True
    """Whether programs' messages go by them."""


_ANY_VIPL = ("-DVIPL_PREFIX=any_",)
"""Programs that may run over queue pairs call the VIPL of the interface: guest/via/names.h."""
_OF_VIPL = ("via/endpoint.c", "via/pinned_cache.c", "via/zero_copy.c")
"""What is built of VIPL's calls, for them."""
_WAITS = ("messaging/wait.c",)
"""What waits for messages, and for them knows channels of completions."""
_WAITS_OVER_VERBS = ("-DVERBS_WAITS",)
DRIVERS_APART = {
    "SARC": DriverApart(
        interfaces=("SARC",),
        members=(
            "mpi/start.c",
            "mpi/transport.c",
            "mpi/point_to_point.c",
            "mpi/completion.c",
            "mpi/schedules.c",
            "mpi/barrier.c",
            "mpi/broadcast.c",
            "mpi/reductions.c",
            "mpi/overrides.c",
            "mpi/overrides_sarc.c",
        ),
    ),
    "VOYAGER": DriverApart(
        interfaces=("Voyager-resident", "Voyager-nonresident", "Voyager-hybrid"),
        sources=(
            "messaging/drivers.c",
            "messaging/messages.c",
            "messaging/packets.c",
            "messaging/channels.c",
            "messaging/long_messages.c",
        ),
        members=(
            "shmem/library.c",
            "shmem/requests.c",
            "shmem/handling.c",
            "shmem/long_transfers.c",
        ),
        flags=("-DLONG_MESSAGES",),
    ),
    "VIA": DriverApart(
        interfaces=("EDT", "CCDMA"),
        sources=(),
        members=("shmem/requests.c", "shmem/handling.c", "shmem/rdma.c", "mpi/puts_via.c"),
        flags=("-DRDMA",),
    ),
    "RING": DriverApart(interfaces=("Ring",), goes_with_others=("RING",)),
    "CXL_NIC": DriverApart(interfaces=("CxlNic",), goes_with_others=("CXL_NIC",)),
    "CXL_NIC2": DriverApart(interfaces=("CxlNic2",), goes_with_others=("CXL_NIC2",)),
    "COHERENT_RING": DriverApart(interfaces=("CoherentRing",), goes_with_others=("COHERENT_RING",)),
    "PIO_COHERENT": DriverApart(interfaces=("PioCoherent",), goes_with_others=("PIO_COHERENT",)),
    "VIRTIO": DriverApart(interfaces=("Virtio",), goes_with_others=("VIRTIO",)),
    "VERBS": DriverApart(
        interfaces=("Verbs",),
        members=(*_OF_VIPL, *_WAITS),
        flags=_WAITS_OVER_VERBS,
        flags_of_programs=_ANY_VIPL,
        goes_with_others=("VERBS",),
    ),
    "REGISTER_FILE": DriverApart(interfaces=("RegisterFile",), goes_with_others=("REGISTER_FILE",)),
    "PCIE_BENCH": DriverApart(interfaces=("PcieBench",), carries_messages=False),
    "MOST": DriverApart(
        interfaces=(),
        members=(*_OF_VIPL, *_WAITS),
        flags=_WAITS_OVER_VERBS,
        flags_of_programs=_ANY_VIPL,
        goes_with_others=(
            "RING",
            "CXL_NIC",
            "CXL_NIC2",
            "COHERENT_RING",
            "PIO_COHERENT",
            "VIRTIO",
            "VERBS",
            "REGISTER_FILE",
        ),
    ),
}
"""What only programs for some interfaces have, by the driver's name: what all programs link decides
where the data of all of them lie."""
RESERVED_REGISTERS = {"messaging/driver_register_file.c": ("-ffixed-x30", "-ffixed-x31")}
"""Flags of the files that leave registers to the hardware."""
MOST_INTERFACES = "MOST"
"""For what a program is linked that is to run over any interface but those that are linked apart:
its drivers go with those of all others."""


def driver_apart(interface: str) -> str | None:
    """Return the driver that only programs for this interface have, if it takes one.

    Halves with two such drivers take the programs that have all of them.
    """
    if interface == MOST_INTERFACES:
        return interface
    halves = interface.casefold().removeprefix("(").split(")s(")
    found = {driver for driver in map(_driver_of_half, halves) if driver is not None}
    if len(found) > 1:
        return MOST_INTERFACES
    return found.pop() if found else None


def _driver_of_half(half: str) -> str | None:
    """Return the driver of the interfaces with the longest beginning that a half's name has."""
    starts = {
        start.casefold(): driver
        for driver, apart in DRIVERS_APART.items()
        for start in apart.interfaces
        if half.startswith(start.casefold())
    }
    return starts[max(starts, key=len)] if starts else None


def flags_of_programs(driver: str | None) -> Sequence[str]:
    """Return the flags that programs with a driver apart are compiled with."""
    return DRIVERS_APART[driver].flags_of_programs if driver else ()


def carries_messages(interface: str) -> bool:
    """Tell whether programs' messages go by an interface."""
    driver = driver_apart(interface)
    return driver is None or DRIVERS_APART[driver].carries_messages
