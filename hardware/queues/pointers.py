"""Pointers of cachable queues (isca96, Section 2.2).

A pointer is the index of an entry and the *sense* of its pass: a bit that turns each time that the
pointer comes round. Index and sense are one counter, of which the sense is the carry: with
`entries` a power of two, sense reverse costs a flip-flop and no logic.

- *Lazy pointers*: who fills a queue keeps a stale copy of the other side's head (`shadow`) and
  reads it again only when the queue looks full. Full is an equal index with another sense.
- *Message valid bits*: what is written into an entry's header is the sense of the pass.

A pointer lies in a block of its own, which the processor and the interface both cache:
`CachedPointer` is the interface's copy with its state.
"""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from narthex.hardware.queues.bus import SNOOPED, Kind, fetches, is_write


class Pointer(wiring.Component):
    """A pointer that its owner advances by one entry."""

    def __init__(self, entries: int) -> None:
        self.index_bits = (entries - 1).bit_length()
        super().__init__({"advance": In(1), "value": Out(self.index_bits + 1)})

    def elaborate(self, _platform: object) -> Module:
        """Build it."""
        m = Module()
        with m.If(self.advance):
            m.d.sync += self.value.eq(self.value + 1)
        return m


class LazyHead(wiring.Component):
    """The copy that a queue's filler keeps of the head, and what it knows by it.

    `unread` says of an entry whether it lies between the copy and the tail: with a head that is
    too old it says so of some entries that were read, never the other way.
    """

    def __init__(self, entries: int) -> None:
        self.index_bits = (entries - 1).bit_length()
        super().__init__(
            {
                "tail": In(self.index_bits + 1),
                "refresh": In(1),
                "head": In(self.index_bits + 1),
                "full": Out(1),
                "entry": In(self.index_bits),
                "unread": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build it."""
        m = Module()
        shadow = Signal.like(self.head)
        with m.If(self.refresh):
            m.d.sync += shadow.eq(self.head)
        n = self.index_bits
        used = Signal(n + 1)
        ahead = Signal(n)
        m.d.comb += [
            used.eq(self.tail - shadow),
            ahead.eq(self.entry - shadow[:n]),
            self.full.eq(used[n]),
            self.unread.eq(ahead < used),
        ]
        return m


class CachedPointer(wiring.Component):
    """The interface's copy of a pointer's block: whether it is there, and whether it is its own.

    `is_here` allows it to be read, `is_own` to be written without the bus. Another agent's read
    takes the second away, its write the first. The interface supplies what it has written.
    """

    selected: In(1)
    snooped: In(SNOOPED)
    taken: In(1)
    """A read of the interface has brought it."""
    owned: In(1)
    """The interface has it alone, to write it."""
    is_here: Out(1)
    is_own: Out(1)

    def elaborate(self, _platform: object) -> Module:
        """Build it."""
        m = Module()
        written = Signal()
        seen = Signal()
        m.d.comb += [
            seen.eq(self.snooped.valid & self.selected),
            self.snooped.shares.eq(seen & self.is_here & (self.snooped.kind == Kind.READ)),
            self.snooped.supplies.eq(seen & written & fetches(self.snooped.kind)),
        ]
        with m.If(seen & is_write(self.snooped.kind)):
            m.d.sync += [self.is_here.eq(0), self.is_own.eq(0), written.eq(0)]
        with m.Elif(seen & (self.snooped.kind == Kind.READ)):
            m.d.sync += self.is_own.eq(0)
        with m.Elif(self.owned):
            m.d.sync += [self.is_here.eq(1), self.is_own.eq(1), written.eq(1)]
        with m.Elif(self.taken):
            m.d.sync += self.is_here.eq(1)
        return m
