"""The engine of a cachable send queue.

    announced? ─► the message's blocks that are missing ─► network ─► head + 1 ─► head pointer

The processor announces messages by stores to a register, which are counted. Before that, a write
to a block of the next message says that the block before it is complete: it is read early
(*virtual polling*, isca96, Section 3).
"""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from narthex.hardware.queues.bus import (
    BLOCK_WORDS,
    MESSAGE_BLOCKS,
    OWN,
    PACKETS_OUT,
    SNOOPED,
    WORD_BITS,
    Kind,
    is_write,
)
from narthex.hardware.queues.pointers import Pointer

_WORD, _BLOCK = BLOCK_WORDS.bit_length() - 1, MESSAGE_BLOCKS.bit_length() - 1


class SendEngine(wiring.Component):
    """Takes messages out of a queue of so many entries, which the processor fills."""

    def __init__(self, entries: int) -> None:
        self.entries = entries
        index = (entries - 1).bit_length()
        self.block_bits = index + _BLOCK
        super().__init__(
            {
                "announced": In(1),
                "snooped": In(SNOOPED),
                "selected": In(1),
                "snooped_block": In(self.block_bits),
                "own": Out(OWN),
                "own_is_pointer": Out(1),
                "busy": In(1),
                "block": Out(self.block_bits),
                "latest": In(1),
                "take_in": Out(1),
                "length": In(WORD_BITS),
                "word": Out(WORD_BITS),
                "packets": Out(PACKETS_OUT),
                "head": Out(index + 1),
                "head_is_own": In(1),
                "head_owned": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build it. `length` is the number of the message's last word, from its header."""
        m = Module()
        m.submodules.head = head = Pointer(self.entries)
        pending = Signal(range(self.entries + 1))
        sent = Signal()
        with m.If(self.announced & ~sent):
            m.d.sync += pending.eq(pending + 1)
        with m.Elif(sent & ~self.announced):
            m.d.sync += pending.eq(pending - 1)

        early, early_block = self._virtual_polling(m, head.value, pending)
        word, last = Signal(WORD_BITS), Signal(WORD_BITS)
        block = Signal(_BLOCK)
        m.d.comb += [
            self.head.eq(head.value),
            self.block.eq(Cat(block, head.value[:-1])),
            block.eq(word[_WORD:]),
            self.word.eq(word),
            self.packets.last.eq(word == last),
            self.own_is_pointer.eq(0),
            self.own.kind.eq(Kind.READ),
        ]
        with m.FSM():
            with m.State("IDLE"):
                with m.If(pending != 0):
                    m.d.sync += word.eq(0)
                    m.next = "FETCH"
                with m.Elif(early):
                    m.d.sync += word.eq(Cat(word[:_WORD], early_block))
                    m.next = "EARLY"
            with m.State("EARLY"):
                m.d.comb += self.own.request.eq(~self.latest & ~self.busy)
                m.d.comb += self.take_in.eq(self.own.done)
                with m.If(self.own.done | (self.latest & ~self.busy)):
                    m.d.sync += early.eq(0)
                    m.next = "IDLE"
            with m.State("FETCH"):
                m.d.comb += self.own.request.eq(~self.latest & ~self.busy)
                m.d.comb += self.take_in.eq(self.own.done)
                with m.If(self.latest & ~self.busy):
                    with m.If(block == 0):
                        m.d.sync += last.eq(self.length)
                    m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += self.packets.valid.eq(~self.busy)
                with m.If(self.packets.ready & ~self.busy):
                    m.d.sync += word.eq(word + 1)
                    with m.If(self.packets.last):
                        m.d.comb += [sent.eq(1), head.advance.eq(1)]
                        m.next = "HEAD"
                    with m.Elif(word[:_WORD].all()):
                        m.next = "FETCH"
            with m.State("HEAD"):
                m.d.comb += [
                    self.own_is_pointer.eq(1),
                    self.own.kind.eq(Kind.READ_EXCLUSIVE),
                    self.own.request.eq(~self.head_is_own),
                    self.head_owned.eq(self.own.done | self.head_is_own),
                ]
                with m.If(self.head_owned):
                    m.next = "IDLE"
        return m

    def _virtual_polling(self, m: Module, head: Signal, pending: Signal) -> tuple[Signal, Signal]:
        """Remember a block of the next message that a write to the one behind it has finished."""
        early, early_block = Signal(), Signal(_BLOCK)
        written = self.snooped_block[:_BLOCK]
        is_next = (self.snooped_block[_BLOCK:] == head[:-1]) & (pending == 0) & (written != 0)
        seen = self.snooped.valid & self.selected & is_write(self.snooped.kind)
        with m.If(seen & is_next):
            m.d.sync += [early.eq(1), early_block.eq(written - 1)]
        return early, early_block
