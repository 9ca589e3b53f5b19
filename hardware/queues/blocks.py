"""The blocks of a queue that the interface has, and whether the processor may have them too.

Both kinds answer the same questions of the engines, so that an engine does not know which it has:

| | `HomeBlocks` (CNI_i Q) | `CachedBlocks` (CNI_i Qm) |
| --- | --- | --- |
| home | the interface's memory | main memory |
| `latest` | no processor has written it since | it is in the cache |
| `foreign` | a processor has fetched it since | the cache does not own it |
| array | two bits for each block | a tag and a state for each line |

The array of states is a port, read in the cycle in which it is addressed: arrays are counted
nowhere. A snooped transaction has it before the engine, which waits (`busy`) for a cycle.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from narthex.hardware.queues.bus import SNOOPED, Kind, fetches, is_write


def _ports(block_bits: int, index_bits: int, state_bits: int) -> dict[str, object]:
    return {
        "snooped": In(SNOOPED),
        "selected": In(1),
        "snooped_block": In(block_bits),
        "busy": Out(1),
        "block": In(block_bits),
        "latest": Out(1),
        "foreign": Out(1),
        "take_in": In(1),
        "produce": In(1),
        "drop": In(1),
        "has_victim": Out(1),
        "victim_is_dirty": Out(1),
        "victim": Out(block_bits),
        "index": Out(index_bits),
        "state": In(state_bits),
        "write": Out(1),
        "new_state": Out(state_bits),
    }


class HomeBlocks(wiring.Component):
    """Blocks whose home the interface is; as a home it sees every fetch of them."""

    def __init__(self, queue_blocks: int) -> None:
        bits = (queue_blocks - 1).bit_length()
        super().__init__(_ports(bits, bits, 2))

    def elaborate(self, _platform: object) -> Module:
        """Build it."""
        m = Module()
        latest, fetched = self.state[0], self.state[1]
        kind = self.snooped.kind
        m.d.comb += [
            self.busy.eq(self.snooped.valid & self.selected),
            self.index.eq(Mux(self.busy, self.snooped_block, self.block)),
            self.latest.eq(latest),
            self.foreign.eq(fetched),
            # Never exclusive: the home has to see the next store.
            self.snooped.shares.eq(self.busy & (kind == Kind.READ)),
            self.snooped.supplies.eq(self.busy & latest & fetches(kind)),
            self.new_state.eq(self.state),
        ]
        with m.If(self.busy):
            m.d.comb += self.write.eq(1)
            with m.If(kind == Kind.READ):
                m.d.comb += self.new_state.eq(Cat(latest, Const(1)))
            with m.Elif((kind == Kind.READ_EXCLUSIVE) | (kind == Kind.UPGRADE)):
                m.d.comb += self.new_state.eq(0b10)
            with m.Elif(kind == Kind.WRITE_BACK):
                m.d.comb += self.new_state.eq(Cat(Const(1), fetched))
        with m.Elif(self.produce):
            m.d.comb += [self.write.eq(1), self.new_state.eq(0b01)]
        with m.Elif(self.take_in):
            m.d.comb += [self.write.eq(1), self.new_state.eq(Cat(Const(1), fetched))]
        return m


class State(enum.Enum, shape=2):
    """States of a line; the high bit says that main memory has other bytes."""

    INVALID = 0
    SHARED = 1
    MODIFIED = 2
    OWNED = 3


class CachedBlocks(wiring.Component):
    """A direct-mapped cache of blocks of main memory (isca96, Section 4.1)."""

    def __init__(self, queue_blocks: int, cache_blocks: int) -> None:
        self.block_bits = (queue_blocks - 1).bit_length()
        self.index_bits = (cache_blocks - 1).bit_length()
        tag_bits = self.block_bits - self.index_bits
        super().__init__(_ports(self.block_bits, self.index_bits, tag_bits + 2))

    def elaborate(self, _platform: object) -> Module:
        """Build it."""
        m = Module()
        n, kind = self.index_bits, self.snooped.kind
        looked_at = Signal(self.block_bits)
        state, tag = self.state[:2], self.state[2:]
        is_valid, hit, is_dirty = Signal(), Signal(), state[1]
        m.d.comb += [
            self.busy.eq(self.snooped.valid & self.selected),
            looked_at.eq(Mux(self.busy, self.snooped_block, self.block)),
            self.index.eq(looked_at[:n]),
            is_valid.eq(state != State.INVALID),
            hit.eq(is_valid & (tag == looked_at[n:])),
            self.latest.eq(hit),
            self.foreign.eq(~(hit & (state == State.MODIFIED))),
            self.has_victim.eq(is_valid & ~hit),
            self.victim_is_dirty.eq(is_dirty),
            self.victim.eq(Cat(looked_at[:n], tag)),
            self.snooped.shares.eq(self.busy & hit & (kind == Kind.READ)),
            self.snooped.supplies.eq(self.busy & hit & is_dirty & fetches(kind)),
        ]
        tagged = looked_at[n:]
        with m.If(self.busy & hit):
            with m.If(is_write(kind)):
                m.d.comb += self.write.eq(1)  # invalid
            with m.Elif((kind == Kind.READ) & is_dirty):
                m.d.comb += [self.write.eq(1), self.new_state.eq(Cat(Const(3, 2), tag))]
        with m.Elif(~self.busy & self.produce):
            m.d.comb += [self.write.eq(1), self.new_state.eq(Cat(Const(2, 2), tagged))]
        with m.Elif(~self.busy & self.take_in):
            m.d.comb += [self.write.eq(1), self.new_state.eq(Cat(Const(1, 2), tagged))]
        with m.Elif(~self.busy & self.drop):
            m.d.comb += self.write.eq(1)
        return m
