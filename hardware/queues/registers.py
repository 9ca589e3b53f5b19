"""CNI_4: cachable device registers, a message's blocks for each direction (isca96, Section 2.1).

    send      MESSAGE_READY ─► the blocks that the processor has written ─► network ─► room again
    receive   network ─► copies of the processor away ─► words in ─► STATUS shows it ─► CLEAR

Reuse is managed by an explicit handshake over uncached registers. A write to a register block says
that the one before it is complete: it is read early (virtual polling, Section 3). The two bits of
each block are flip-flops: there are eight blocks.
"""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from narthex.hardware.queues.blocks import HomeBlocks
from narthex.hardware.queues.bus import (
    ADDRESS_BITS,
    BLOCK_BYTES,
    BLOCK_WORDS,
    MESSAGE_BLOCKS,
    OWN,
    PACKETS_IN,
    PACKETS_OUT,
    SNOOPED,
    WORD_BITS,
    Kind,
    is_write,
)
from narthex.hardware.queues.decode import Region

STATUS, MESSAGE_READY, CLEAR = 0, 3, 4
"""Doublewords of the registers' region."""

_WORD, _BLOCK = BLOCK_WORDS.bit_length() - 1, MESSAGE_BLOCKS.bit_length() - 1
_OFFSET = (BLOCK_BYTES - 1).bit_length()


class SendRegisters(wiring.Component):
    """The send half's engine."""

    announced: In(1)
    snooped: In(SNOOPED)
    selected: In(1)
    snooped_block: In(_BLOCK)
    busy: In(1)
    block: Out(_BLOCK)
    latest: In(1)
    take_in: Out(1)
    request: Out(1)
    done: In(1)
    length: In(WORD_BITS)
    word: Out(WORD_BITS)
    has_room: Out(1)
    packets: Out(PACKETS_OUT)

    def elaborate(self, _platform: object) -> Module:
        """Build it."""
        m = Module()
        word, last = Signal(WORD_BITS), Signal(WORD_BITS)
        block = word[_WORD:]
        early, early_block = Signal(), Signal(_BLOCK)
        written = self.snooped.valid & self.selected & is_write(self.snooped.kind)
        with m.If(written & (self.snooped_block != 0) & self.has_room):
            m.d.sync += [early.eq(1), early_block.eq(self.snooped_block - 1)]
        missing = ~self.latest & ~self.busy
        m.d.comb += [
            self.block.eq(block),
            self.word.eq(word),
            self.packets.last.eq(word == last),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.has_room.eq(1)
                with m.If(self.announced):
                    m.d.sync += [word.eq(0), early.eq(0)]
                    m.next = "FETCH"
                with m.Elif(early):
                    m.d.comb += self.block.eq(early_block)
                    m.d.comb += [self.request.eq(missing), self.take_in.eq(self.done)]
                    with m.If(self.done | (self.latest & ~self.busy)):
                        m.d.sync += early.eq(0)
            with m.State("FETCH"):
                m.d.comb += [self.request.eq(missing), self.take_in.eq(self.done)]
                with m.If(self.latest & ~self.busy):
                    with m.If(block == 0):
                        m.d.sync += last.eq(self.length)
                    m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += self.packets.valid.eq(1)
                with m.If(self.packets.ready):
                    m.d.sync += word.eq(word + 1)
                    with m.If(self.packets.last):
                        m.next = "IDLE"
                    with m.Elif(word[:_WORD].all()):
                        m.next = "FETCH"
        return m


class ReceiveRegisters(wiring.Component):
    """The receive half's engine."""

    cleared: In(1)
    busy: In(1)
    block: Out(_BLOCK)
    foreign: In(1)
    produce: Out(1)
    request: Out(1)
    done: In(1)
    word: Out(WORD_BITS)
    write: Out(1)
    has_packet: Out(1)
    packets: In(PACKETS_IN)

    def elaborate(self, _platform: object) -> Module:
        """Build it."""
        m = Module()
        word, stale = Signal(WORD_BITS), Signal(_BLOCK)
        m.d.comb += [self.word.eq(word), self.block.eq(Mux(self.write, word[_WORD:], stale))]
        with m.FSM():
            with m.State("INVALIDATE"):
                m.d.comb += [
                    self.request.eq(self.foreign & ~self.busy),
                    self.produce.eq(self.done),
                ]
                with m.If(~self.busy & (self.done | ~self.foreign)):
                    m.d.sync += stale.eq(stale + 1)
                    with m.If(stale.all()):
                        m.next = "WORDS"
            with m.State("WORDS"):
                m.d.comb += [self.packets.ready.eq(1), self.write.eq(self.packets.valid)]
                with m.If(self.write):
                    m.d.sync += word.eq(word + 1)
                    with m.If(self.packets.last):
                        m.d.sync += word.eq(0)
                        m.next = "SHOWN"
            with m.State("SHOWN"):
                m.d.comb += self.has_packet.eq(1)
                with m.If(self.cleared):
                    m.next = "INVALIDATE"
        return m


class CachableRegisters(wiring.Component):
    """Both halves of CNI_4."""

    snooped: In(SNOOPED)
    own: Out(OWN)
    status: Out(2)
    status_is_read: Out(1)
    set_base: In(2)
    new_base: In(ADDRESS_BITS)
    send_length: In(WORD_BITS)
    send_word: Out(WORD_BITS)
    receive_word: Out(WORD_BITS)
    receive_write: Out(1)
    packets_out: Out(PACKETS_OUT)
    packets_in: In(PACKETS_IN)

    def elaborate(self, _platform: object) -> Module:
        """Build it. Both halves' blocks are one region, the send half's first."""
        m = Module()
        m.submodules.send = send = SendRegisters()
        m.submodules.receive = receive = ReceiveRegisters()
        m.submodules.registers = registers = Region(BLOCK_BYTES)
        m.submodules.region = region = Region(2 * MESSAGE_BLOCKS * BLOCK_BYTES)
        half = self.snooped.address[_OFFSET + _BLOCK]
        for number, each in enumerate((registers, region)):
            m.d.comb += [
                each.address.eq(self.snooped.address),
                each.set_base.eq(self.set_base[number]),
                each.new_base.eq(self.new_base[each.low_bits :]),
            ]
        send_blocks = self._blocks(m, "send_blocks", send, region.hit & ~half)
        receive_blocks = self._blocks(m, "receive_blocks", receive, region.hit & half)
        offset = self.snooped.address[3:6]
        accessed = self.snooped.valid & registers.hit
        stores = accessed & (self.snooped.kind == Kind.UNCACHED_STORE)
        loads = accessed & (self.snooped.kind == Kind.UNCACHED_LOAD)
        receives = receive.request
        m.d.comb += [
            send.announced.eq(stores & (offset == MESSAGE_READY)),
            receive.cleared.eq(stores & (offset == CLEAR)),
            self.status.eq(Cat(send.has_room, receive.has_packet)),
            self.status_is_read.eq(loads & (offset == STATUS)),
            send.snooped.valid.eq(self.snooped.valid),
            send.snooped.kind.eq(self.snooped.kind),
            send.selected.eq(send_blocks.selected),
            send.snooped_block.eq(send_blocks.snooped_block),
            send.latest.eq(send_blocks.latest),
            send_blocks.take_in.eq(send.take_in),
            send.length.eq(self.send_length),
            self.send_word.eq(send.word),
            receive.foreign.eq(receive_blocks.foreign),
            receive_blocks.produce.eq(receive.produce),
            self.receive_word.eq(receive.word),
            self.receive_write.eq(receive.write),
            self.snooped.shares.eq(send_blocks.snooped.shares | receive_blocks.snooped.shares),
            self.snooped.supplies.eq(
                send_blocks.snooped.supplies | receive_blocks.snooped.supplies
            ),
            self.own.request.eq(receives | send.request),
            self.own.kind.eq(Mux(receives, Kind.INVALIDATE, Kind.READ)),
            self.own.address[_OFFSET:].eq(
                Cat(Mux(receives, receive.block, send.block), receives, region.base)
            ),
            receive.done.eq(receives & self.own.done),
            send.done.eq(~receives & self.own.done),
        ]
        wiring.connect(m, send.packets, wiring.flipped(self.packets_out))
        wiring.connect(m, receive.packets, wiring.flipped(self.packets_in))
        return m

    def _blocks(
        self, m: Module, name: str, engine: wiring.Component, selected: object
    ) -> HomeBlocks:
        """Add the blocks of a half, with their bits in flip-flops: ours at first, unfetched."""
        m.submodules[name] = blocks = HomeBlocks(MESSAGE_BLOCKS)
        states = Array(Signal(2, init=0b01) for _ in range(MESSAGE_BLOCKS))
        m.d.comb += [
            blocks.snooped.valid.eq(self.snooped.valid),
            blocks.snooped.kind.eq(self.snooped.kind),
            blocks.selected.eq(selected),
            blocks.snooped_block.eq(self.snooped.address[_OFFSET:]),
            blocks.block.eq(engine.block),
            engine.busy.eq(blocks.busy),
            blocks.state.eq(states[blocks.index]),
        ]
        with m.If(blocks.write):
            m.d.sync += states[blocks.index].eq(blocks.new_state)
        return blocks
