"""The engine of a cachable receive queue.

    packet ─► room? ─► where? ─► for each block: words into a buffer, copies of others away,
                │        │                       the block into its place ─► tail + 1
                └────────┴── the head is read again, and only then (lazy pointers)

Where the queue is cached (CNI_i Qm), a block may be in the way of a new one:

| `overflow` | the block in the way |
| --- | --- |
| `None` | there is none: the interface is the home of every block |
| `"write-back"` | goes to main memory first, if memory has other bytes (isca96, Section 5.1.1) |
| `"bypass"` | keeps its place if it is unread: the new message goes to memory (hpca98, Section 4) |
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from narthex.hardware.queues.bus import (
    BLOCK_WORDS,
    MESSAGE_BLOCKS,
    OWN,
    PACKETS_IN,
    WORD_BITS,
    Kind,
)
from narthex.hardware.queues.pointers import LazyHead, Pointer

_WORD, _BLOCK = BLOCK_WORDS.bit_length() - 1, MESSAGE_BLOCKS.bit_length() - 1


class ReceiveEngine(wiring.Component):
    """Puts packets into a queue of so many entries, which the processor empties."""

    def __init__(self, entries: int, overflow: str | None = None) -> None:
        self.entries, self.overflow = entries, overflow
        self.index_bits = (entries - 1).bit_length()
        self.block_bits = self.index_bits + _BLOCK
        super().__init__(
            {
                "packets": In(PACKETS_IN),
                "own": Out(OWN),
                "own_is_pointer": Out(1),
                "own_block": Out(self.block_bits),
                "busy": In(1),
                "block": Out(self.block_bits),
                "foreign": In(1),
                "produce": Out(1),
                "drop": Out(1),
                "has_victim": In(1),
                "victim_is_dirty": In(1),
                "victim": In(self.block_bits),
                "word": Out(WORD_BITS),
                "write": Out(1),
                "sense": Out(1),
                "head": In(self.index_bits + 1),
                "head_is_here": In(1),
                "head_taken": Out(1),
                "snooped_entry": In(self.index_bits),
                "snooped_is_unread": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build it. `head` is the pointer that a read of its block brings."""
        m = Module()
        m.submodules.tail = tail = Pointer(self.entries)
        m.submodules.lazy = lazy = LazyHead(self.entries)
        word = Signal(WORD_BITS)
        block = word[_WORD:]
        finished = Signal()
        """The last word of the packet is in."""
        to_memory = Signal()
        in_place = Cat(block, tail.value[: self.index_bits])
        m.d.comb += [
            lazy.tail.eq(tail.value),
            lazy.head.eq(self.head),
            lazy.entry.eq(Mux(self.busy, self.snooped_entry, self.victim[_BLOCK:])),
            self.snooped_is_unread.eq(lazy.unread),
            self.block.eq(in_place),
            self.own_block.eq(in_place),
            self.word.eq(word),
            self.sense.eq(~tail.value[-1]),
            self.own.kind.eq(Kind.INVALIDATE),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [word.eq(0), to_memory.eq(0), finished.eq(0)]
                with m.If(self.packets.valid):
                    with m.If(~lazy.full):
                        m.next = "PLACE" if self.overflow == "bypass" else "WORDS"
                    with m.Elif(~self.head_is_here):
                        m.next = "HEAD"
            with m.State("HEAD"):
                m.d.comb += [
                    self.own_is_pointer.eq(1),
                    self.own.kind.eq(Kind.READ),
                    self.own.request.eq(1),
                    self.head_taken.eq(self.own.done),
                    lazy.refresh.eq(self.own.done),
                ]
                with m.If(self.own.done):
                    m.next = "IDLE"
            if self.overflow == "bypass":
                self._place(m, lazy, word, to_memory)
            with m.State("WORDS"):
                m.d.comb += [self.packets.ready.eq(1), self.write.eq(self.packets.valid)]
                with m.If(self.packets.valid):
                    m.d.sync += finished.eq(self.packets.last)
                    with m.If(self.packets.last | word[:_WORD].all()):
                        m.next = "BLOCK"
                    with m.Else():
                        m.d.sync += word.eq(word + 1)
            with m.State("BLOCK"):
                done = self._deposit(m, to_memory)
                with m.If(done):
                    m.d.comb += tail.advance.eq(finished)
                    m.d.sync += word.eq(word + 1)
                    m.next = "WORDS"
                    with m.If(finished):
                        m.next = "IDLE"
        return m

    def _place(self, m: Module, lazy: LazyHead, word: Signal, to_memory: Signal) -> None:
        """Look at the blocks in the way of the message, one a cycle."""
        block = word[_WORD:]
        with m.State("PLACE"), m.If(~self.busy):
            with m.If(self.has_victim & lazy.unread):
                with m.If(self.head_is_here):
                    m.d.sync += [word.eq(0), to_memory.eq(1)]
                    m.next = "WORDS"
                with m.Else():
                    m.next = "HEAD"
            with m.Elif(block.all()):
                m.d.sync += word.eq(0)
                m.next = "WORDS"
            with m.Else():
                m.d.sync += word.eq(word + BLOCK_WORDS)

    def _deposit(self, m: Module, to_memory: Signal) -> Signal:
        """Put the block into its place: victims go first, then the copies of others.

        Nobody else has the bus when their copies go, so nobody sees the block between.
        """
        done, must_write_back = Signal(), Signal()
        if self.overflow == "write-back":
            m.d.comb += must_write_back.eq(self.has_victim & self.victim_is_dirty)
        with m.If(to_memory):
            m.d.comb += [
                self.own.request.eq(1),
                self.own.kind.eq(Kind.WRITE_BLOCK),
                done.eq(self.own.done),
            ]
        with m.Elif(must_write_back):
            m.d.comb += [
                self.own.request.eq(~self.busy),
                self.own.kind.eq(Kind.WRITE_BACK),
                self.own_block.eq(self.victim),
                self.drop.eq(self.own.done),
            ]
        with m.Else():
            m.d.comb += [
                self.own.request.eq(self.foreign & ~self.busy),
                self.produce.eq(done),
                done.eq(~self.busy & (self.own.done | ~self.foreign)),
            ]
        return done
