"""Which way of a set an access means.

An address of memory means the way whose tag is equal; one in the own window names the way itself
(Section 3.1: "direct addressing, which locates scratchpad lines inside a cache using only a way
number and the address index"). Lines that are no longer the cache's do not match, and are not
replaced (there: "ignoring tag matching for scratchpad lines", "non-evictable").
"""

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from narthex.hardware.cache.formats import Role, state_layout
from narthex.hardware.cache.parameters import Parameters


class Lookup(Elaboratable):
    """The comparison in the second cycle of an access; all in one cycle."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        layout = state_layout(parameters)
        # What the arrays have read.
        self.states = Signal(data.ArrayLayout(layout, parameters.ways))
        self.tags = Signal(data.ArrayLayout(parameters.tag_bits, parameters.ways))
        # What is asked for: a way, or the tag of a memory address.
        self.is_direct = Signal()
        self.direct_way = Signal(parameters.way_bits)
        self.wanted = Signal(parameters.cache_tag_bits)
        # An event looks at another line than that of its access.
        self.sees = Signal()
        self.seen_way = Signal(parameters.way_bits)
        # The victim of a miss is taken: the next one will be another way.
        self.replaces = Signal()
        # The way that is meant, or on a miss the one to be replaced; its state and tag.
        self.hit = Signal()
        self.has_free = Signal()
        self.way = Signal(parameters.way_bits)
        self.state = Signal(layout)
        self.tag = Signal(parameters.tag_bits)

    def elaborate(self, platform: object) -> Module:
        """Build it."""
        m = Module()
        way = self.direct_way
        if self.parameters.cache:
            way = Mux(self.is_direct, self.direct_way, self._of_memory(m))
        if self.parameters.queues:
            way = Mux(self.sees, self.seen_way, way)
        m.d.comb += self.way.eq(way)
        # Not by an index: yosys would multiply it by the width of an element.
        with m.Switch(self.way):
            for own in range(self.parameters.ways):
                with m.Case(own):
                    m.d.comb += [self.state.eq(self.states[own]), self.tag.eq(self.tags[own])]
        return m

    def _is_cached(self, way: int) -> Value:
        if self.parameters.scratchpad:
            return self.states[way].role == Role.CACHE
        return Value.cast(1)

    def _of_memory(self, m: Module) -> Value:
        """Return the way that matches, or that is replaced: an empty one, or the next in turn."""
        ways = self.parameters.ways
        matches, empty, free = Signal(ways), Signal(ways), Signal(ways)
        for way in range(ways):
            state = self.states[way]
            tag = self.tags[way][: len(self.wanted)]
            m.d.comb += [
                matches[way].eq(self._is_cached(way) & state.valid & (tag == self.wanted)),
                free[way].eq(self._is_cached(way) & ~state.filling),
                empty[way].eq(free[way] & ~state.valid),
            ]
        turn = Signal(range(ways))
        in_turn = Signal(range(ways))
        for distance in reversed(range(ways)):
            candidate = Signal(range(ways), name=f"candidate_{distance}")
            m.d.comb += candidate.eq(turn + distance)
            with m.If(free.bit_select(candidate, 1)):
                m.d.comb += in_turn.eq(candidate)
        m.d.comb += [self.hit.eq(matches.any()), self.has_free.eq(free.any())]
        with m.If(self.replaces):
            m.d.sync += turn.eq(self.way + 1)
        return Mux(self.hit, _number(matches), Mux(empty.any(), _first(empty), in_turn))


def _number(one_hot: Value) -> Value:
    """Return which bit is set."""
    bits = max(1, (len(one_hot) - 1).bit_length())
    return Cat(
        Cat(one_hot[way] for way in range(len(one_hot)) if way >> bit & 1).any()
        for bit in range(bits)
    )


def _first(bits: Value) -> Value:
    """Return the lowest bit that is set."""
    return _number(bits & (~bits + 1)[: len(bits)])
