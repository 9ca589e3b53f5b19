"""The buffer in which remote stores wait for those that continue them (Section 4.1).

```text
  store ──► continues what waits? ── yes ──► behind it ──► the line is complete? ──► leaves
                    │ no
                    └──► what waits leaves ──► the store waits
```

What waits leaves also a few cycles after the last store that has joined, and before anything else
that the processor asks for, so that packets leave in the order of the program. A byte is never
overwritten: a store may add to a counter. Leaving, the words go to the payload one in a cycle, and
the job behind them.
"""

from amaranth.hdl import Array, Elaboratable, Module, Mux, Signal, Value

from narthex.hardware.cache.formats import ADDRESS_BITS
from narthex.hardware.cache.parameters import LINE_BYTES, LINE_WORDS, Parameters


class Combining(Elaboratable):
    """One line of stores."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        # A store is looked at; it is put in, if it fits.
        self.address = Signal(ADDRESS_BITS)
        self.size = Signal(2)
        self.data = Signal(64)
        self.process = Signal(parameters.process_bits)
        self.fits = Signal()
        self.put = Signal()
        # All has to leave now.
        self.drain = Signal()
        # What waits, and whether it is leaving.
        self.is_empty = Signal(init=1)
        self.leaves = Signal()
        self.expires = Signal()
        # A word goes to the payload: is taken there; the last one takes the job with it.
        self.pushes = Signal()
        self.pushed = Signal()
        self.word = Signal(64)
        self.is_last = Signal()
        self.start = Signal(ADDRESS_BITS)
        self.bytes = Signal(7)
        self.owner = Signal(parameters.process_bits)

    def elaborate(self, platform: object) -> Module:
        """Build it."""
        m = Module()
        words = Array(Signal(64, name=f"word_{own}") for own in range(LINE_WORDS))
        end = Signal(7)  # behind the last byte, in the line
        first, reading = self.start[:6], Signal(3)
        patience = Signal(range(self.parameters.combining_cycles + 1))
        size = Signal(4)
        line, line_of_store = self.start[6:], self.address[6:]
        continues = Signal()
        m.d.comb += [
            self.expires.eq((patience == 1) & ~self.put & ~self.leaves),
            size.eq(1 << self.size),
            continues.eq(
                (line == line_of_store) & (end == self.address[:6]) & (self.owner == self.process)
            ),
            self.fits.eq(~self.leaves & (self.is_empty | continues)),
            self.bytes.eq(end - first),
        ]
        with m.If(self.put):
            self._write(m, words)
            m.d.sync += [
                self.is_empty.eq(0),
                end.eq(self.address[:6] + size),
                patience.eq(self.parameters.combining_cycles),
            ]
            with m.If(self.is_empty):
                m.d.sync += [self.start.eq(self.address), self.owner.eq(self.process)]
            with m.If(self.address[:6] + size == LINE_BYTES):
                m.d.sync += self.leaves.eq(1)
        with m.Elif(patience != 0):
            m.d.sync += patience.eq(patience - 1)
        with m.If(~self.is_empty & (self.expires | self.drain) & ~self.leaves):
            m.d.sync += self.leaves.eq(1)
        m.d.comb += [
            self.pushes.eq(self.leaves),
            self.word.eq(words[first[3:] + reading]),
            self.is_last.eq(first[3:] + reading == (end - 1)[3:6]),
        ]
        with m.If(self.pushed):
            m.d.sync += reading.eq(reading + 1)
            with m.If(self.is_last):
                m.d.sync += [self.leaves.eq(0), self.is_empty.eq(1), reading.eq(0)]
        return m

    def _write(self, m: Module, words: Array) -> None:
        """Write the bytes of a store, on their lanes."""
        for lane in range(8):
            own = slice(8 * lane, 8 * lane + 8)
            with m.If(self.lanes().bit_select(lane, 1)):
                for number, word in enumerate(words):
                    with m.If(self.address[3:6] == number):
                        m.d.sync += word[own].eq(self.data[own])

    def lanes(self) -> Value:
        """Return the lanes of a store's bytes."""
        return lanes_of(self.address[:3], self.size)


def lanes_of(offset: Value, size: Value) -> Value:
    """Return the byte lanes of an aligned access."""
    bytes_ = Mux(size == 3, 0xFF, Mux(size == 2, 0x0F, Mux(size == 1, 0x03, 0x01)))
    return (bytes_ << offset)[:8]
