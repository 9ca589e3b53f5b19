"""Lines that come and go: the cache's misses.

```text
  miss ──► victim is dirty? ──► write-back: 64 bytes from its line to memory
                    └─────────► read: 64 bytes from memory to the line ──► the packet fills it
```

One miss is under way at a time: the processor, which asks for nothing more meanwhile, waits in its
register, and asks again when the line is there. Packets go on. Both transfers are the engine's, as
RDMA is. A line that the operating system locks is written back in the same way before.
"""

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal

from narthex.hardware.cache.formats import ADDRESS_BITS
from narthex.hardware.cache.parameters import Parameters


class Misses(Elaboratable):
    """The transfers of one line."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        # A miss begins, with the line that is replaced.
        self.begin = Signal()
        self.is_dirty = Signal()
        self.only_leaves = Signal()
        self.line = Signal(parameters.line_bits)
        self.victim_tag = Signal(parameters.cache_tag_bits)
        self.wanted_tag = Signal(parameters.cache_tag_bits)
        # To the engine: a transfer is wanted; it is done.
        self.asks = Signal()
        self.is_write_back = Signal()
        self.memory = Signal(ADDRESS_BITS)
        self.place = Signal(parameters.line_bits)
        self.sent = Signal()
        # The line is full.
        self.filled = Signal()
        # The processor's request can be tried again.
        self.over = Signal()
        self.is_idle = Signal()

    def elaborate(self, platform: object) -> Module:
        """Build it."""
        m = Module()
        p = self.parameters
        tag, victim, leaves = Signal(p.cache_tag_bits), Signal(p.cache_tag_bits), Signal()
        line_in_memory = Mux(self.is_write_back, victim, tag)
        m.d.comb += self.memory.eq(Cat(self.place[: p.set_bits], line_in_memory) << 6)
        with m.FSM(name="miss") as states:
            m.d.comb += self.is_idle.eq(states.ongoing("IDLE"))
            with m.State("IDLE"), m.If(self.begin):
                m.d.sync += [
                    tag.eq(self.wanted_tag),
                    victim.eq(self.victim_tag),
                    leaves.eq(self.only_leaves),
                    self.place.eq(self.line),
                ]
                with m.If(self.is_dirty):
                    m.next = "WRITE_BACK"
                with m.Else():
                    m.next = "READ"
            with m.State("WRITE_BACK"):
                m.d.comb += [self.asks.eq(1), self.is_write_back.eq(1)]
                with m.If(self.sent):
                    m.d.comb += self.over.eq(leaves)
                    with m.If(leaves):
                        m.next = "IDLE"
                    with m.Else():
                        m.next = "READ"
            with m.State("READ"):
                m.d.comb += self.asks.eq(1)
                with m.If(self.sent):
                    m.next = "FILL"
            with m.State("FILL"), m.If(self.filled):
                m.d.comb += self.over.eq(1)
                m.next = "IDLE"
        return m
