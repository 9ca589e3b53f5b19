"""What the engine does before the header of a packet, and behind the packet.

Of a command the engine reads words 0 to 2, asks the table of regions for the place of each
address, and then takes word 3: the source of a copy, whose buffer is free with that. A message's
words stay in the buffer until they have left. Of a counter it reads one address after the other.
Of a copy it asks by a probe whether its bytes may be read: a line that is sensitive to events is
read as a packet would do it, and the copy is over.
"""

from typing import TYPE_CHECKING

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from narthex.hardware.cache.accesses import Action
from narthex.hardware.cache.formats import ADDRESS_BITS, BYTES_BITS, Fault, Operation
from narthex.hardware.cache.jobs import COMMAND, NOTIFICATION

if TYPE_CHECKING:
    from narthex.hardware.cache.engine import Engine

NOTIFIED = 4
"""Addresses that a counter tells (Section 3.3: "four on our prototype")."""


class Fetching:
    """States of the engine."""

    def __init__(self, engine: "Engine") -> None:
        self.engine = engine
        self.wrong = Signal(len(engine.fault))
        self.asked, self.come = Signal(2), Signal(2)
        # A probe has the port: what came of it is awaited.
        self.is_waiting = Signal()

    @staticmethod
    def begin(engine: "Engine", m: Module, job: Value) -> None:
        """Go from the choice of a job to its first state."""
        m.next = "HEADER"
        with m.If(job.operation == COMMAND):
            m.next = "FETCH"
        with m.If(job.operation == Operation.COPY):
            m.next = "PROBE"
        if engine.parameters.counters:
            with m.If(job.operation == NOTIFICATION):
                m.d.sync += engine.notified.eq(0)
                m.next = "NEXT_ADDRESS"

    @staticmethod
    def behind_packet(engine: "Engine", m: Module) -> None:
        """Go from a packet's end to what is left of its job."""
        job = engine.job
        with m.If(engine.is_message):
            m.next = "TAKE"
        with m.If((job.operation == Operation.COPY) & ~engine.is_last_packet):
            m.d.sync += [
                job.source.eq(job.source + engine.room),
                job.destination.eq(job.destination + engine.room),
                job.bytes.eq(job.bytes - engine.room),
            ]
            m.next = "RECYCLE"
        if engine.parameters.counters:
            with m.If(job.operation == NOTIFICATION):
                m.next = "NEXT_ADDRESS"

    def states(self, m: Module) -> None:
        """Add the states."""
        self._table(m)
        with m.State("FETCH"):
            self._fetch(m)
        with m.State("SOURCE_OF_COPY"):
            self._source(m)
        with m.State("CHECK"):
            self._check(m)
        with m.State("TAKE"):
            self.engine.ask(m, Action.TAKE, self._word(0))
            with m.If(self.engine.granted):
                m.next = "CHOOSE"
        self._probes(m)
        if self.engine.parameters.counters:
            self._addresses(m)

    def _word(self, word: Value | int) -> Value:
        """Return the place of a word of the job's line."""
        own = Const(word, 3) if isinstance(word, int) else word
        return Cat(own, self.engine.job.source[6 : 6 + self.engine.parameters.line_bits])

    def _table(self, m: Module) -> None:
        engine = self.engine
        is_word = engine.job.operation == NOTIFICATION
        self.is_granted = Signal()
        m.d.comb += [
            engine.table.address.eq(engine.word),
            engine.table.bytes.eq(Mux(is_word | (self.come == 2), 8, engine.job.bytes)),
            engine.table.store.eq(is_word | (self.come != 3)),
            self.is_granted.eq(engine.table.granted & ~engine.word[ADDRESS_BITS:].any()),
        ]

    def _fetch(self, m: Module) -> None:
        """Fetch words 0 to 2."""
        engine, job = self.engine, self.engine.job
        with m.If(self.asked != 3):
            engine.ask(m, Action.PLAIN, self._word(Cat(self.asked, Const(0, 1))))
            with m.If(engine.granted):
                m.d.sync += self.asked.eq(self.asked + 1)
        with m.If(engine.has_word):
            m.d.sync += self.come.eq(self.come + 1)
            with m.Switch(self.come):
                with m.Case(0):
                    # A read of up to a line is a copy.
                    is_read = engine.word[:3] == Operation.READ
                    m.d.sync += [
                        job.operation.eq(Mux(is_read, Operation.COPY, engine.word[:3])),
                        job.bytes.eq(engine.word[8 : 8 + BYTES_BITS]),
                        self.wrong.eq(Fault.NONE),
                    ]
                with m.Case(1):
                    m.d.sync += job.destination.eq(engine.table.place)
                    self._refuse_unless_granted(m)
                with m.Default():
                    m.d.sync += [job.acknowledgement.eq(0), self.asked.eq(0)]
                    with m.If(engine.word != 0):
                        m.d.sync += job.acknowledgement.eq(engine.table.place)
                        self._refuse_unless_granted(m)
                    with m.If(job.operation == Operation.COPY):
                        m.next = "SOURCE_OF_COPY"
                    with m.Else():
                        m.d.sync += [
                            job.source[3:6].eq(3),
                            engine.is_line.eq(1),
                            engine.is_message.eq(1),
                        ]
                        m.next = "CHECK"

    def _refuse_unless_granted(self, m: Module) -> None:
        with m.If(~self.is_granted):
            m.d.sync += self.wrong.eq(Fault.REGION)

    def _source(self, m: Module) -> None:
        """Fetch word 3 of a copy, with which its buffer is free."""
        engine = self.engine
        with m.If(self.asked == 0):
            engine.ask(m, Action.TAKE, self._word(3))
            with m.If(engine.granted):
                m.d.sync += self.asked.eq(1)
        with m.If(engine.has_word):
            m.d.sync += engine.job.source.eq(engine.table.place)
            self._refuse_unless_granted(m)
            m.next = "CHECK"

    def _check(self, m: Module) -> None:
        engine, job = self.engine, self.engine.job
        m.d.sync += [self.asked.eq(0), self.come.eq(0)]
        m.d.comb += [engine.fault.eq(self.wrong), engine.refuses.eq(self.wrong != Fault.NONE)]
        if not engine.parameters.barrel_shifter:
            low = job.source[:3] | job.destination[:3] | job.bytes[:3]
            with m.If((self.wrong == Fault.NONE) & low.any()):
                m.d.comb += [engine.fault.eq(Fault.ALIGNMENT), engine.refuses.eq(1)]
        with m.If(engine.refuses & engine.is_message):
            m.next = "TAKE"
        with m.Elif(engine.refuses):
            m.next = "CHOOSE"
        with m.Elif(engine.is_message):
            m.next = "HEADER"
        with m.Else():
            m.next = "PROBE"

    def _probes(self, m: Module) -> None:
        """Ask whether the first and the last word of a packet may be read."""
        engine, jobs, job = self.engine, self.engine.jobs, self.engine.job
        last = Signal(engine.parameters.line_bits + 6)
        m.d.comb += last.eq(job.source + engine.chunk - 1)
        with m.State("PROBE"):
            with m.If(~engine.is_own):
                m.next = "HEADER"
            with m.Elif(~jobs.has_room_for_item & ~self.is_waiting):
                m.next = "RECYCLE"
            with m.Else():
                m.d.comb += engine.is_first.eq(1)
                self._probe(m, job.source[3:], "PROBE_LAST")
        with m.State("PROBE_LAST"):
            m.d.sync += engine.is_line.eq(1)
            self._probe(m, last[3:], "HEADER")

    def _probe(self, m: Module, place: Value, then: str) -> None:
        engine = self.engine
        with m.If(~self.is_waiting):
            engine.ask(m, Action.PROBE, place)
            m.d.sync += self.is_waiting.eq(engine.granted)
        with m.Elif(engine.readable | engine.served | engine.refused):
            m.d.sync += self.is_waiting.eq(0)
            m.next = "CHOOSE"
            with m.If(engine.readable):
                m.next = then

    def _addresses(self, m: Module) -> None:
        """Fetch a counter's next address; its word is then read as a packet's data."""
        engine, job = self.engine, self.engine.job
        with m.State("NEXT_ADDRESS"):
            m.d.sync += [
                engine.is_line.eq(1),
                engine.job.source[3:6].eq(2),
                engine.job.bytes.eq(8),
            ]
            with m.If(engine.notified == NOTIFIED):
                m.next = "CHOOSE"
            with m.Else():
                engine.ask(m, Action.PLAIN, self._word(Cat(engine.notified[:2], Const(1, 1))))
                with m.If(engine.granted):
                    m.d.sync += engine.notified.eq(engine.notified + 1)
                    m.next = "ADDRESS"
        with m.State("ADDRESS"), m.If(engine.has_word):
            m.d.sync += job.destination.eq(engine.table.place)
            m.next = "NEXT_ADDRESS"
            with m.If((engine.word != 0) & self.is_granted):
                m.next = "HEADER"
            with m.If((engine.word != 0) & ~self.is_granted):
                m.d.comb += [engine.fault.eq(Fault.REGION), engine.refuses.eq(1)]
