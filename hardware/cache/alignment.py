"""The barrel shifter of copies at any alignment (Section 4.1).

Words of a source are rotated until their bytes are on the lanes of the destination; a word of the
destination takes its upper bytes from one of them and its lower ones from the one before.
"""

from amaranth.hdl import Elaboratable, Module, Mux, Signal


class Shifter(Elaboratable):
    """Aligns a stream of words."""

    def __init__(self) -> None:
        self.distance = Signal(3)
        """Source less destination, modulo 8."""
        self.take = Signal()
        self.input = Signal(64)
        self.output = Signal(64)

    def elaborate(self, platform: object) -> Module:
        """Build it."""
        m = Module()
        rotated, before = Signal(64), Signal(64)
        value = self.input
        for bit in range(3):
            step = Signal(64, name=f"rotated_{bit}")
            m.d.comb += step.eq(Mux(self.distance[bit], value.rotate_right(8 << bit), value))
            value = step
        m.d.comb += rotated.eq(value)
        with m.If(self.take):
            m.d.sync += before.eq(rotated)
        for lane in range(8):
            own = slice(8 * lane, 8 * lane + 8)
            is_before = Signal(name=f"before_{lane}")
            m.d.comb += [
                is_before.eq((self.distance != 0) & (lane + self.distance < 8)),
                self.output[own].eq(Mux(is_before, before[own], rotated[own])),
            ]
        return m
