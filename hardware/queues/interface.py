"""An interface with cachable queues: CNI_i Q and CNI_i Qm (isca96, Section 3; hpca98, Section 4).

    bus ──► regions ──► send blocks ◄── send engine ──► network
             │    │ ──► receive blocks ◄── receive engine ◄── network
             │    └───► send head, receive head (each in a block that both sides cache)
             └────────► MESSAGE_READY: one message more is announced

Its memories (data, states, tags, the buffer of a block) are ports. `send_length` is what the
header at the send array's output says; `pointer` what a read of a pointer's block brings.
"""

from amaranth import Cat, Const, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from narthex.hardware.queues.blocks import CachedBlocks, HomeBlocks
from narthex.hardware.queues.bus import (
    ADDRESS_BITS,
    BLOCK_BYTES,
    MESSAGE_BLOCKS,
    OWN,
    PACKETS_IN,
    PACKETS_OUT,
    SNOOPED,
    WORD_BITS,
    Kind,
)
from narthex.hardware.queues.decode import Region
from narthex.hardware.queues.pointers import CachedPointer
from narthex.hardware.queues.receive import ReceiveEngine
from narthex.hardware.queues.send import SendEngine

SEND_HEAD, RECEIVE_HEAD = 0, 1
"""The pointers' blocks in their region of four (a process's two queues have a head and a tail)."""

MESSAGE_READY_WORD = 3
"""The register's doubleword in its region."""

_OFFSET = (BLOCK_BYTES - 1).bit_length()


class CachableQueues(wiring.Component):
    """Both queues, of so many blocks each; `cache_blocks` if main memory is their home."""

    def __init__(
        self, queue_blocks: int, cache_blocks: int | None = None, overflow: str | None = None
    ) -> None:
        if (cache_blocks is None) != (overflow is None):
            raise ValueError("a queue that is cached overflows, another does not")
        self.queue_blocks = queue_blocks
        self.entries = queue_blocks // MESSAGE_BLOCKS
        self.cache_blocks, self.overflow = cache_blocks, overflow
        block_bits = (queue_blocks - 1).bit_length()
        index = block_bits if cache_blocks is None else (cache_blocks - 1).bit_length()
        state = 2 + block_bits - index
        array = {"index": Out(index), "write": Out(1), "new": Out(state), "state": In(state)}
        super().__init__(
            {
                "snooped": In(SNOOPED),
                "supplies_empty": Out(1),
                "own": Out(OWN),
                "set_base": In(4),
                "new_base": In(ADDRESS_BITS),
                "send_array": Out(wiring.Signature(array)),
                "receive_array": Out(wiring.Signature(array)),
                "send_word": Out(WORD_BITS),
                "send_length": In(WORD_BITS),
                "receive_word": Out(WORD_BITS),
                "receive_write": Out(1),
                "receive_sense": Out(1),
                "receive_produce": Out(1),
                "packets_out": Out(PACKETS_OUT),
                "packets_in": In(PACKETS_IN),
                "pointer": In((self.entries - 1).bit_length() + 1),
                "send_head": Out((self.entries - 1).bit_length() + 1),
            }
        )

    def _blocks(self) -> HomeBlocks | CachedBlocks:
        if self.cache_blocks is None:
            return HomeBlocks(self.queue_blocks)
        return CachedBlocks(self.queue_blocks, self.cache_blocks)

    def elaborate(self, _platform: object) -> Module:
        """Build it."""
        m = Module()
        m.submodules.send = send = SendEngine(self.entries)
        m.submodules.receive = receive = ReceiveEngine(self.entries, self.overflow)
        m.submodules.send_blocks = send_blocks = self._blocks()
        m.submodules.receive_blocks = receive_blocks = self._blocks()
        m.submodules.send_head = send_head = CachedPointer()
        m.submodules.receive_head = receive_head = CachedPointer()
        sides = (
            (send, send_blocks, self.send_array),
            (receive, receive_blocks, self.receive_array),
        )
        regions = self._regions(m, send_blocks, receive_blocks, send_head, receive_head)
        registers, pointers, send_region, receive_region = regions
        for engine, blocks, array in sides:
            self._connect_blocks(m, engine, blocks, array)
        m.d.comb += [
            send.announced.eq(
                self.snooped.valid & registers.hit & (self.snooped.kind == Kind.UNCACHED_STORE)
                & (self.snooped.address[3:6] == MESSAGE_READY_WORD)
            ),
            send.snooped.valid.eq(self.snooped.valid),
            send.snooped.kind.eq(self.snooped.kind),
            send.selected.eq(send_region.hit),
            send.snooped_block.eq(send_blocks.snooped_block),
            send_blocks.take_in.eq(send.take_in),
            send.latest.eq(send_blocks.latest),
            send.length.eq(self.send_length),
            send.head_is_own.eq(send_head.is_own),
            send_head.owned.eq(send.head_owned),
            self.send_head.eq(send.head),
            self.send_word.eq(send.word),
            receive.foreign.eq(receive_blocks.foreign),
            receive_blocks.produce.eq(receive.produce),
            receive_blocks.drop.eq(receive.drop),
            receive.has_victim.eq(receive_blocks.has_victim),
            receive.victim_is_dirty.eq(receive_blocks.victim_is_dirty),
            receive.victim.eq(receive_blocks.victim),
            receive.head.eq(self.pointer),
            receive.head_is_here.eq(receive_head.is_here),
            receive_head.taken.eq(receive.head_taken),
            receive.snooped_entry.eq(receive_blocks.snooped_block[2:]),
            self.receive_word.eq(receive.word),
            self.receive_write.eq(receive.write),
            self.receive_sense.eq(receive.sense),
            self.receive_produce.eq(receive.produce),
        ]  # fmt: skip
        wiring.connect(m, send.packets, wiring.flipped(self.packets_out))
        wiring.connect(m, receive.packets, wiring.flipped(self.packets_in))
        self._answer(
            m, receive, receive_blocks, (send_blocks, receive_blocks, send_head, receive_head)
        )
        self._arbitrate(m, send, receive, pointers, send_region, receive_region)
        return m

    def _regions(self, m: Module, *watchers: wiring.Component) -> list[Region]:
        """Decode the snooped address, and show it to all that have blocks."""
        queue_bytes = self.queue_blocks * BLOCK_BYTES
        sizes = {
            "registers": BLOCK_BYTES,
            "pointers": 4 * BLOCK_BYTES,
            "send_region": queue_bytes,
            "receive_region": queue_bytes,
        }
        regions = []
        for number, (name, size) in enumerate(sizes.items()):
            region = Region(size)
            m.submodules[name] = region
            m.d.comb += [
                region.address.eq(self.snooped.address),
                region.set_base.eq(self.set_base[number]),
                region.new_base.eq(self.new_base[region.low_bits :]),
            ]
            regions.append(region)
        block = self.snooped.address[_OFFSET : _OFFSET + 2]
        send_blocks, receive_blocks, send_head, receive_head = watchers
        m.d.comb += [
            send_blocks.selected.eq(regions[2].hit),
            receive_blocks.selected.eq(regions[3].hit),
            send_head.selected.eq(regions[1].hit & (block == SEND_HEAD)),
            receive_head.selected.eq(regions[1].hit & (block == RECEIVE_HEAD)),
        ]
        for watcher in watchers:
            m.d.comb += [
                watcher.snooped.valid.eq(self.snooped.valid),
                watcher.snooped.kind.eq(self.snooped.kind),
            ]
        for blocks in (send_blocks, receive_blocks):
            m.d.comb += blocks.snooped_block.eq(self.snooped.address[_OFFSET:])
        return regions

    @staticmethod
    def _connect_blocks(
        m: Module, engine: wiring.Component, blocks: wiring.Component, array: object
    ) -> None:
        m.d.comb += [
            engine.busy.eq(blocks.busy),
            blocks.block.eq(engine.block),
            array.index.eq(blocks.index),
            array.write.eq(blocks.write),
            array.new.eq(blocks.new_state),
            blocks.state.eq(array.state),
        ]

    def _answer(
        self, m: Module, receive: ReceiveEngine, blocks: wiring.Component, answering: tuple
    ) -> None:
        """Answer a snooped transaction.

        Where memory may hold an old message, the fetch of an empty entry's first block is
        answered too, with a header of the other sense.
        """
        m.d.comb += [
            self.snooped.shares.eq(Cat(each.snooped.shares for each in answering).any()),
            self.snooped.supplies.eq(Cat(each.snooped.supplies for each in answering).any()),
        ]
        if self.overflow == "bypass":
            is_first = blocks.snooped_block[:2] == 0
            m.d.comb += self.supplies_empty.eq(
                blocks.busy & is_first & (self.snooped.kind == Kind.READ) & ~blocks.latest
                & ~receive.snooped_is_unread
            )  # fmt: skip

    def _arbitrate(
        self,
        m: Module,
        send: SendEngine,
        receive: ReceiveEngine,
        pointers: Region,
        send_region: Region,
        receive_region: Region,
    ) -> None:
        """Give the bus to one of the engines; receiving goes first, as it frees the network."""
        receives = receive.own.request
        m.d.comb += [
            self.own.request.eq(receives | send.own.request),
            self.own.kind.eq(Mux(receives, receive.own.kind, send.own.kind)),
            receive.own.done.eq(receives & self.own.done),
            send.own.done.eq(~receives & self.own.done),
        ]
        head = Cat(Mux(receives, Const(RECEIVE_HEAD, 2), Const(SEND_HEAD, 2)), pointers.base)
        with m.If(Mux(receives, receive.own_is_pointer, send.own_is_pointer)):
            m.d.comb += self.own.address[_OFFSET:].eq(head)
        with m.Elif(receives):
            m.d.comb += self.own.address[_OFFSET:].eq(Cat(receive.own_block, receive_region.base))
        with m.Else():
            m.d.comb += self.own.address[_OFFSET:].eq(Cat(send.block, send_region.base))
