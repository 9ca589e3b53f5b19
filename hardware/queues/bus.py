"""The memory bus and the network, as the interface's logic sees them.

Data do not pass through the logic: they go from the bus to the arrays and from there to the
network, and back. What the logic sees of them is a word's header, and what it says is which word
of an array is read or written.
"""

from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

ADDRESS_BITS = 36
"""Bits of a physical address: those of the MBus, after whose protocol isca96's is modelled."""

BLOCK_BYTES = 64
BLOCK_WORDS = 8
MESSAGE_BLOCKS = 4
"""Blocks of a network message of 256 bytes (isca96, Section 4.1)."""
MESSAGE_WORDS = BLOCK_WORDS * MESSAGE_BLOCKS
WORD_BITS = 5
"""Bits that number the words of a message."""


class Kind(enum.Enum, shape=3):
    """Kinds of transactions on the bus."""

    READ = 0
    READ_EXCLUSIVE = 1
    UPGRADE = 2
    INVALIDATE = 3
    WRITE_BACK = 4
    WRITE_BLOCK = 5
    UNCACHED_LOAD = 6
    UNCACHED_STORE = 7


SNOOPED = wiring.Signature(
    {
        "valid": Out(1),
        "kind": Out(Kind),
        "address": Out(ADDRESS_BITS),
        "shares": In(1),
        "supplies": In(1),
    }
)
"""A transaction of another agent, for one cycle; the answer is there in the same cycle."""

OWN = wiring.Signature(
    {
        "request": Out(1),
        "kind": Out(Kind),
        "address": Out(ADDRESS_BITS),
        "done": In(1),
    }
)
"""A transaction of the interface: asked for until it is done. What a read brings is written into
the array, or is the pointer at the port that the receiver of it has."""

PACKETS_OUT = wiring.Signature({"valid": Out(1), "last": Out(1), "ready": In(1)})
"""Words to the network, from the array's place that the sender names."""

PACKETS_IN = wiring.Signature({"valid": Out(1), "last": Out(1), "ready": In(1)})
"""Words from the network, into the array's place that the receiver names."""


def is_write(kind: Kind):  # noqa: ANN201 - an Amaranth value
    """Whether a transaction takes away the copies of others."""
    return (
        (kind == Kind.READ_EXCLUSIVE) | (kind == Kind.UPGRADE) | (kind == Kind.INVALIDATE)
        | (kind == Kind.WRITE_BLOCK)
    )  # fmt: skip


def fetches(kind: Kind):  # noqa: ANN201 - an Amaranth value
    """Whether a transaction brings a block."""
    return (kind == Kind.READ) | (kind == Kind.READ_EXCLUSIVE)
