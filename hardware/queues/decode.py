"""Which of the interface's regions an address is in.

Each region is as large as a power of two and lies at a multiple of its size, which the operating
system writes into a register ("a simple base-and-bounds virtual-to-physical address translation",
isca96, Section 2.3): the high bits are compared with it, the low bits say where in the region.
"""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from narthex.hardware.queues.bus import ADDRESS_BITS


class Region(wiring.Component):
    """A region's base register and the compare of an address with it."""

    def __init__(self, size_bytes: int) -> None:
        self.low_bits = (size_bytes - 1).bit_length()
        super().__init__(
            {
                "set_base": In(1),
                "new_base": In(ADDRESS_BITS - self.low_bits),
                "base": Out(ADDRESS_BITS - self.low_bits),
                "address": In(ADDRESS_BITS),
                "hit": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Build it."""
        m = Module()
        base = Signal.like(self.base)
        with m.If(self.set_base):
            m.d.sync += base.eq(self.new_base)
        m.d.comb += [
            self.base.eq(base),
            self.hit.eq(self.address[self.low_bits :] == base),
        ]
        return m
