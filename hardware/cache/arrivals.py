"""Packets that come: flits become accesses to lines, and writes are acknowledged (Section 3.4).

```text
  lanes ──► header ──► destination ──► acknowledgement ──► words: an access each
                                                                └─► last one done: acknowledgement
```

A packet is taken from its lane when there is room for all that its first access may lead to: a
job, words, an acknowledgement. Each further word waits for room again: a packet may complete
commands in two lines, and a store to a tag may let it complete one twice. Only the words of an
item, which holds the pipeline, do not wait. A lane above goes before a lane below. A refused packet
is taken to its end, and leads to nothing more.
"""

from amaranth.hdl import Array, Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import wiring

from narthex.hardware.cache.accesses import Action, access_layout, header_of
from narthex.hardware.cache.formats import ADDRESS_BITS, BYTES_BITS, Lane, Operation
from narthex.hardware.cache.parameters import Parameters
from narthex.hardware.cache.ports import FlitsIn


class Arrivals(Elaboratable):
    """The packet that is being taken in."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.network = wiring.flipped(FlitsIn().create())
        # Whether there is room for what a packet may lead to.
        self.has_room = Signal()
        self.is_awaited = Signal()  # a queue awaits the next word of its item
        # An access is asked for, and gets the port.
        self.asks = Signal()
        self.access = Signal(access_layout(parameters))
        self.granted = Signal()
        # The last access is done, or one was refused.
        self.done = Signal()
        self.refused = Signal()
        self.is_refused = Signal()  # the rest of the packet leads to nothing
        # What the packet says.
        self.operation = Signal(4)
        self.bytes = Signal(BYTES_BITS)
        self.tile = Signal(parameters.tile_bits)
        self.process = Signal(parameters.process_bits)
        self.destination = Signal(ADDRESS_BITS)
        self.acknowledgement = Signal(ADDRESS_BITS)
        self.offset = Signal(3)  # of a source in its word
        # It is over: a write is to be acknowledged, a store has landed.
        self.acknowledges = Signal()
        self.landed = Signal()
        self.over = Signal()
        self.is_idle, self.is_header = Signal(), Signal()

    def elaborate(self, platform: object) -> Module:
        """Build it."""
        m = Module()
        lane, has_acknowledgement = Signal(2), Signal()
        flit = Array(self.network.data[own] for own in range(3))[lane]
        valid = self.network.valid.bit_select(lane, 1)
        last = self.network.last.bit_select(lane, 1)
        take = Signal()
        m.d.comb += self.network.ready.eq(take << lane)
        header = header_of(flit)
        is_scratchpad = self.parameters.scratchpad
        first, end = Signal(), Signal(3)
        with m.If(self.refused):
            m.d.sync += self.is_refused.eq(1)

        with m.FSM(name="arrival") as states:
            m.d.comb += [
                self.is_idle.eq(states.ongoing("LANE")),
                self.is_header.eq(states.ongoing("HEADER")),
            ]
            with m.State("LANE"), m.If(self.network.valid.any() & self.has_room):
                m.d.sync += lane.eq(self._highest())
                m.next = "HEADER"
            with m.State("HEADER"):
                m.d.comb += take.eq(1)
                m.d.sync += [
                    self.operation.eq(header.operation),
                    self.bytes.eq(header.bytes),
                    has_acknowledgement.eq(header.acknowledged),
                    self.tile.eq(header.tile),
                    self.process.eq(header.process),
                    self.acknowledgement.eq(0),
                    self.offset.eq(0),
                    self.is_refused.eq(0),
                    first.eq(1),
                ]
                if is_scratchpad:
                    with m.If(header.operation == Operation.LOAD):
                        m.next = "SOURCE"
                    with m.Elif(header.operation == Operation.ANSWER):
                        m.next = "ANSWER"
                    with m.Else():
                        m.next = "DESTINATION"
                else:
                    m.next = "DESTINATION"
            with m.State("DESTINATION"), m.If(valid):
                m.d.comb += take.eq(1)
                m.d.sync += [
                    self.destination.eq(flit),
                    end.eq(flit[:3] + self.bytes[:3]),
                ]
                self._behind_destination(m, has_acknowledgement)
            if is_scratchpad:
                self._requests(m, flit, valid, take)
            with m.State("WORDS"):
                has_room = self.has_room | first | self.is_awaited
                m.d.comb += self.asks.eq(valid & ~self.is_refused & has_room)
                with m.If(self.granted | (valid & self.is_refused)):
                    m.d.comb += take.eq(1)
                    m.d.sync += [
                        first.eq(0),
                        self.destination[:3].eq(0),
                        self.destination[3:20].eq(self.destination[3:20] + 1),
                    ]
                    with m.If(last):
                        m.next = "DONE"
            with m.State("DONE"):
                is_refused = self.refused | self.is_refused
                with m.If(self.done | is_refused):
                    m.d.comb += [
                        self.over.eq(1),
                        self.acknowledges.eq(self.is_acknowledged(is_refused)),
                        self.landed.eq(self.operation == Operation.STORE),
                    ]
                    m.next = "LANE"
        self._accesses(m, flit, first, last, end)
        return m

    def is_acknowledged(self, is_refused: Value) -> Value:
        """Return whether a write that is over is acknowledged."""
        return ~is_refused & (self.acknowledgement != 0)

    def _highest(self) -> Value:
        valid = self.network.valid
        return Mux(
            valid[Lane.ACKNOWLEDGEMENT],
            Lane.ACKNOWLEDGEMENT,
            Mux(valid[Lane.WRITE], Lane.WRITE, Lane.READ),
        )

    def _behind_destination(self, m: Module, has_acknowledgement: Signal) -> None:
        if not self.parameters.scratchpad:
            m.next = "WORDS"
            return
        with m.If(self.operation == Operation.ACKNOWLEDGEMENT):
            m.next = "COUNT"
        with m.Elif(has_acknowledgement):
            m.next = "ACKNOWLEDGEMENT"
        with m.Elif(self.operation == Operation.READ):
            m.next = "SOURCE"
        with m.Else():
            m.next = "WORDS"

    def _requests(self, m: Module, flit: Signal, valid: Signal, take: Signal) -> None:
        """Build the flits that only a scratchpad gets."""
        with m.State("ACKNOWLEDGEMENT"), m.If(valid):
            m.d.comb += take.eq(1)
            m.d.sync += self.acknowledgement.eq(flit)
            with m.If(self.operation == Operation.READ):
                m.next = "SOURCE"
            with m.Else():
                m.next = "WORDS"
        for state in ("SOURCE", "ANSWER"):
            with m.State(state):
                m.d.comb += self.asks.eq(valid)
                m.d.sync += self.offset.eq(flit[:3])
                with m.If(self.granted):
                    m.d.comb += take.eq(1)
                    # Who is acknowledged is told of a read by its answer.
                    m.next = "ASKED"
        with m.State("COUNT"):
            m.d.comb += self.asks.eq(1)
            with m.If(self.granted):
                m.next = "DONE"
        with m.State("ASKED"), m.If(self.done | self.refused):
            m.d.comb += self.over.eq(1)
            m.next = "LANE"

    def _accesses(self, m: Module, flit: Signal, first: Signal, last: Signal, end: Signal) -> None:
        p, access = self.parameters, self.access
        offset = p.line_bits + 6
        place, action, word = self.destination, Action.WRITE, flit
        is_read, is_count, is_answer = Signal(), Signal(), Signal()
        if p.scratchpad:
            m.d.comb += [
                is_read.eq((self.operation == Operation.READ) | (self.operation == Operation.LOAD)),
                is_answer.eq(self.operation == Operation.ANSWER),
                is_count.eq(self.operation == Operation.ACKNOWLEDGEMENT),
            ]
            place = Mux(is_read, flit[:ADDRESS_BITS], self.destination)
            word = Mux(is_count, self.bytes, flit)
            action = Mux(
                is_answer,
                Action.ANSWER,
                Mux(
                    is_read,
                    Mux(self.operation == Operation.LOAD, Action.LOAD, Action.READ),
                    Action.WRITE,
                ),
            )
        is_last, is_whole = Signal(), Signal()
        m.d.comb += is_last.eq(last | is_count)
        begins = Mux(first, self.destination[:3], 0)
        written = Cat(
            (own >= begins) & ~(is_last & ~is_count & (end != 0) & (own >= end)) for own in range(8)
        )
        whole = written.all()
        if p.scratchpad:
            whole = Mux(is_read, ~flit[:3].any() & ~self.bytes[:3].any(), whole)
        m.d.comb += [
            is_whole.eq(whole),
            access.action.eq(action),
            access.place.eq(place[3:offset]),
            access.data.eq(word),
            access.bytes.eq(written),
            access.first.eq(first),
            access.last.eq(is_last),
            access.whole.eq(is_whole),
            access.beyond.eq(place[offset:20].any() if offset < 20 else 0),
        ]
