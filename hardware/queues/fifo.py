"""NI2w: two FIFOs behind uncached registers (isca96, Section 3; hpca98, Section 6.2).

    STATUS           load: room for a packet, a packet has arrived
    SEND             store: the next doubleword, header first
    RECEIVE          load: the next doubleword at the head, which goes
    RECEIVE_WINDOW   load: the doubleword at the head, which stays

The send FIFO holds one packet and knows its end by its header. The receive FIFO holds what the
flow control's buffers hold, a packet in each. Their words are arrays at ports.
"""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from narthex.hardware.queues.bus import (
    ADDRESS_BITS,
    BLOCK_BYTES,
    PACKETS_IN,
    PACKETS_OUT,
    SNOOPED,
    WORD_BITS,
    Kind,
)
from narthex.hardware.queues.decode import Region

STATUS, SEND, RECEIVE, RECEIVE_WINDOW = 0, 1, 2, 4
"""Doublewords of the registers' region."""


class SendFifo(wiring.Component):
    """A packet that is being written, then the same packet on its way out."""

    write: In(1)
    length: In(WORD_BITS)
    """The number of the last word, from the header that is being written."""
    word: Out(WORD_BITS)
    has_room: Out(1)
    packets: Out(PACKETS_OUT)

    def elaborate(self, _platform: object) -> Module:
        """Build it."""
        m = Module()
        last = Signal(WORD_BITS)
        is_header = self.word == 0
        m.d.comb += self.packets.last.eq(self.word == last)
        with m.FSM():
            with m.State("FILL"):
                m.d.comb += self.has_room.eq(1)
                with m.If(self.write):
                    ends = (is_header & (self.length == 0)) | (~is_header & self.packets.last)
                    m.d.sync += self.word.eq(self.word + 1)
                    with m.If(is_header):
                        m.d.sync += last.eq(self.length)
                    with m.If(ends):
                        m.d.sync += self.word.eq(0)
                        m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += self.packets.valid.eq(1)
                with m.If(self.packets.ready):
                    m.d.sync += self.word.eq(self.word + 1)
                    with m.If(self.packets.last):
                        m.d.sync += self.word.eq(0)
                        m.next = "FILL"
        return m


class ReceiveFifo(wiring.Component):
    """Packets that have arrived, a buffer each; a buffer is free when its last word is popped."""

    def __init__(self, buffers: int) -> None:
        self.buffers = buffers
        buffer_bits = (buffers - 1).bit_length()
        super().__init__(
            {
                "packets": In(PACKETS_IN),
                "write": Out(1),
                "written": Out(buffer_bits + WORD_BITS),
                "pop": In(1),
                "length": In(WORD_BITS),
                "read": Out(buffer_bits + WORD_BITS),
                "has_packet": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build it. `length` is the last word's number in the header of the packet at the head."""
        m = Module()
        into, from_ = Signal(range(self.buffers)), Signal(range(self.buffers))
        into_word, word, last = Signal(WORD_BITS), Signal(WORD_BITS), Signal(WORD_BITS)
        held = Signal(range(self.buffers + 1))
        arrives, leaves = Signal(), Signal()
        is_header = word == 0
        m.d.comb += [
            self.packets.ready.eq(held != self.buffers),
            self.write.eq(self.packets.valid & self.packets.ready),
            self.written.eq(Cat(into_word, into)),
            self.read.eq(Cat(word, from_)),
            self.has_packet.eq(held != 0),
            arrives.eq(self.write & self.packets.last),
            leaves.eq(
                self.pop & ((is_header & (self.length == 0)) | (~is_header & (word == last)))
            ),
        ]
        with m.If(self.write):
            m.d.sync += into_word.eq(into_word + 1)
            with m.If(self.packets.last):
                m.d.sync += [into_word.eq(0), into.eq(into + 1)]
        with m.If(self.pop):
            m.d.sync += word.eq(word + 1)
            with m.If(is_header):
                m.d.sync += last.eq(self.length)
            with m.If(leaves):
                m.d.sync += [word.eq(0), from_.eq(from_ + 1)]
        with m.If(arrives & ~leaves):
            m.d.sync += held.eq(held + 1)
        with m.Elif(leaves & ~arrives):
            m.d.sync += held.eq(held - 1)
        return m


class Fifos(wiring.Component):
    """NI2w with so many incoming buffers (hpca98, Table 5: eight)."""

    def __init__(self, buffers: int = 8) -> None:
        self.buffers = buffers
        place = (buffers - 1).bit_length() + WORD_BITS
        super().__init__(
            {
                "snooped": In(SNOOPED),
                "answers": Out(1),
                "status": Out(2),
                "status_is_read": Out(1),
                "set_base": In(1),
                "new_base": In(ADDRESS_BITS),
                "send_length": In(WORD_BITS),
                "send_word": Out(WORD_BITS),
                "send_write": Out(1),
                "packets_out": Out(PACKETS_OUT),
                "packets_in": In(PACKETS_IN),
                "receive_write": Out(1),
                "receive_written": Out(place),
                "receive_read": Out(place),
                "receive_length": In(WORD_BITS),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build it. `status` has the room to send in its low bit, a packet in the other."""
        m = Module()
        m.submodules.registers = registers = Region(BLOCK_BYTES)
        m.submodules.send_fifo = send = SendFifo()
        m.submodules.receive_fifo = receive = ReceiveFifo(self.buffers)
        offset = self.snooped.address[3:6]
        loads, stores = Signal(), Signal()
        m.d.comb += [
            registers.address.eq(self.snooped.address),
            registers.set_base.eq(self.set_base),
            registers.new_base.eq(self.new_base[registers.low_bits :]),
            self.answers.eq(self.snooped.valid & registers.hit),
            loads.eq(self.answers & (self.snooped.kind == Kind.UNCACHED_LOAD)),
            stores.eq(self.answers & (self.snooped.kind == Kind.UNCACHED_STORE)),
            self.status.eq(Cat(send.has_room, receive.has_packet)),
            self.status_is_read.eq(loads & (offset == STATUS)),
            send.write.eq(stores & (offset == SEND) & send.has_room),
            send.length.eq(self.send_length),
            self.send_word.eq(send.word),
            self.send_write.eq(send.write),
            receive.pop.eq(loads & (offset == RECEIVE) & receive.has_packet),
            receive.length.eq(self.receive_length),
            self.receive_write.eq(receive.write),
            self.receive_written.eq(receive.written),
            self.receive_read.eq(receive.read),
        ]
        wiring.connect(m, send.packets, wiring.flipped(self.packets_out))
        wiring.connect(m, receive.packets, wiring.flipped(self.packets_in))
        return m
