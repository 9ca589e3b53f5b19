"""Packets that leave: of jobs, acknowledgements and answers, and of the cache's lines.

```text
  choose ─┬─ command, notification: fetch its words, translate their addresses ─┐
          ├─ copy: may its line be read so? ─────────────────────────────────────┤
          └─ all else ───────────────────────────────────────────────────────────┴─► header ►
    ► destination ► acknowledgement ► source, or words of a line or of the payload ► choose
```

One packet at a time. Of a copy a packet has the bytes up to the end of a line of the destination;
then the rest goes to the end of the job list. Words of a line come through the pipeline's port like
any other access, and go to the network in the cycle in which the array has them. The steps before
the header are in `fetching`.
"""

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal, Value

from narthex.hardware.cache.accesses import Action
from narthex.hardware.cache.alignment import Shifter
from narthex.hardware.cache.fetching import Fetching
from narthex.hardware.cache.formats import (
    ADDRESS_BITS,
    BYTES_BITS,
    INTERLEAVE_BYTES,
    TARGET_MEMORY,
    WINDOW,
    Lane,
    Operation,
    Space,
    header_layout,
)
from narthex.hardware.cache.jobs import NOTIFICATION, Jobs, job_layout
from narthex.hardware.cache.misses import Misses
from narthex.hardware.cache.parameters import LINE_BYTES, Parameters
from narthex.hardware.cache.ports import FAULT_BITS, FlitsOut, Table


class Engine(Elaboratable):
    """Makes packets."""

    def __init__(self, parameters: Parameters, jobs: Jobs | None, misses: Misses | None) -> None:
        self.parameters = parameters
        self.jobs, self.misses = jobs, misses
        self.network = FlitsOut().create()
        self.table = Table().create()
        self.tile = Signal(parameters.tile_bits)
        # An access is asked for, gets the port; its word is there two cycles later.
        self.asks = Signal()
        self.action = Signal(3)
        self.place = Signal(parameters.line_bits + 3)
        self.is_first = Signal()
        self.granted = Signal()
        self.has_word = Signal()
        self.word = Signal(64)
        # What came of a probe: its bytes may be read; or all is done, as of a queue; or refused.
        self.readable = Signal()
        self.served = Signal()
        self.refused = Signal()
        # The rest of a copy goes to the end of the list; the list has taken it.
        self.recycles = Signal()
        self.recycled = Signal()
        # A command or a notification is refused.
        self.refuses = Signal()
        self.fault = Signal(FAULT_BITS)
        # The job that is being done.
        self.job = Signal(job_layout(parameters))
        self.is_busy = Signal()
        self.chooses = Signal()
        # Parts of the packet that comes next.
        self.is_own = Signal()
        self.chunk = Signal(BYTES_BITS)
        self.is_last_packet = Signal()
        self.is_line = Signal()
        self.is_message = Signal()
        self.is_cache_line = Signal()
        self.notified = Signal(3)

    def elaborate(self, platform: object) -> Module:
        """Build it."""
        m = Module()
        self.is_request = Signal()
        self.to_ask, self.to_send = Signal(5), Signal(5)
        self.reading = Signal(self.parameters.line_bits + 3)
        self.is_primed = Signal()
        self._sizes(m)
        self._routes(m)
        with m.FSM(name="engine") as states:
            with m.State("CHOOSE"):
                self._choose(m)
            if self.jobs is not None:
                Fetching(self).states(m)
                with m.State("RECYCLE"):
                    m.d.comb += self.recycles.eq(1)
                    with m.If(self.recycled):
                        m.next = "CHOOSE"
            self._packets(m)
            m.d.comb += self.is_busy.eq(~states.ongoing("CHOOSE"))
        return m

    def ask(self, m: Module, action: Action, place: Value) -> None:
        """Ask for an access to a word of the own lines."""
        m.d.comb += [self.asks.eq(1), self.action.eq(action), self.place.eq(place)]

    # What a packet is.

    def _sizes(self, m: Module) -> None:
        """Find the bytes of the next packet."""
        job = self.job
        if self.jobs is None:
            m.d.comb += [
                self.is_request.eq(job.operation == Operation.READ),
                self.chunk.eq(LINE_BYTES),
                self.is_last_packet.eq(1),
            ]
            return
        source = Space(self.parameters, job.source)
        is_copy = job.operation == Operation.COPY
        self.room = Signal(BYTES_BITS)
        m.d.comb += [
            self.is_own.eq(source.is_window & (source.tile == self.tile)),
            self.is_request.eq(
                (is_copy & ~self.is_own)
                | (job.operation == Operation.LOAD)
                | (job.operation == Operation.READ)
            ),
        ]
        with m.If(~is_copy | (~self.is_own & ~source.is_dram)):
            m.d.comb += self.room.eq(1 << (BYTES_BITS - 1))
        with m.Elif(self.is_own):
            m.d.comb += self.room.eq(LINE_BYTES - job.destination[:6])
        with m.Else():
            m.d.comb += self.room.eq(INTERLEAVE_BYTES - job.source[:12])
        m.d.comb += [
            self.is_last_packet.eq(job.bytes <= self.room),
            self.chunk.eq(Mux(self.is_last_packet, job.bytes, self.room)),
        ]

    def _routes(self, m: Module) -> None:
        """Give all flits of a packet their lane and target; make its header."""
        job, out = self.job, self.network
        place = Space(self.parameters, Mux(self.is_request, job.source, job.destination))
        operation = Mux(self.is_request, Operation.READ, Operation.WRITE)
        lane = Mux(self.is_request, Lane.READ, Lane.WRITE)
        target = Mux(place.is_window, place.tile, TARGET_MEMORY)
        if self.jobs is not None:
            is_said = (job.operation >= Operation.WRITE) & (job.operation != NOTIFICATION)
            operation = Mux(is_said, job.operation, operation)
            lane = Mux(job.operation == Operation.ACKNOWLEDGEMENT, Lane.ACKNOWLEDGEMENT, lane)
            target = Mux(job.operation == Operation.ANSWER, job.tile, target)
        self.header = header = Signal(header_layout())
        m.d.comb += [
            header.operation.eq(operation),
            header.bytes.eq(self.chunk),
            header.tile.eq(job.tile),
            out.lane.eq(lane),
            out.target.eq(target),
        ]
        if self.jobs is not None:
            m.d.comb += [
                header.acknowledged.eq(job.acknowledgement != 0),
                header.process.eq(job.process),
            ]

    # Which packet.

    def _choose(self, m: Module) -> None:
        """Begin an acknowledgement, an answer, a transfer of a line, or the oldest job."""
        m.d.sync += [self.is_message.eq(0), self.is_line.eq(0), self.is_cache_line.eq(0)]
        if self.jobs is None:
            with m.If(self.misses.asks):
                self._begin_line(m)
            return
        job, jobs, is_ready = self.job, self.jobs, self.network.ready
        oldest = jobs.acknowledgements.output
        with m.If(~jobs.acknowledgements.is_empty & is_ready[Lane.ACKNOWLEDGEMENT]):
            m.d.comb += [jobs.acknowledgements.pop.eq(1), self.chooses.eq(1)]
            m.d.sync += [
                job.operation.eq(Operation.ACKNOWLEDGEMENT),
                job.destination.eq(oldest.destination),
                job.acknowledgement.eq(0),
                job.bytes.eq(oldest.bytes),
                job.tile.eq(oldest.tile),
                job.process.eq(oldest.process),
            ]
            m.next = "HEADER"
        with m.Elif(~jobs.answers.is_empty & is_ready[Lane.WRITE]):
            m.d.comb += self.chooses.eq(1)
            # Its value stays where it is until it has left.
            m.d.sync += [
                job.operation.eq(Operation.ANSWER),
                job.acknowledgement.eq(0),
                job.bytes.eq(8),
                job.tile.eq(jobs.answers.output.tile),
                job.process.eq(jobs.answers.output.process),
            ]
            m.next = "HEADER"
        if self.misses is not None:
            with m.Elif(self.misses.asks):
                self._begin_line(m)
        with m.Elif(~jobs.list.is_empty):
            m.d.comb += [jobs.list.pop.eq(1), self.chooses.eq(1)]
            m.d.sync += job.eq(jobs.list.output)
            Fetching.begin(self, m, jobs.list.output)

    def _begin_line(self, m: Module) -> None:
        """Begin the transfer of a line: a copy to memory, or a read that memory answers."""
        misses, job = self.misses, self.job
        own = Const(WINDOW, ADDRESS_BITS) | Cat(Const(0, 6), misses.place) | (self.tile << 20)
        m.d.comb += self.chooses.eq(1)
        m.d.sync += [
            job.operation.eq(Mux(misses.is_write_back, Operation.WRITE, Operation.READ)),
            job.source.eq(Mux(misses.is_write_back, own, misses.memory)),
            job.destination.eq(Mux(misses.is_write_back, misses.memory, own)),
            job.bytes.eq(LINE_BYTES),
            job.tile.eq(self.tile),
            self.is_line.eq(1),
            self.is_cache_line.eq(1),
        ]
        if self.jobs is not None:
            m.d.sync += [job.acknowledgement.eq(0), job.process.eq(0)]
        m.next = "HEADER"

    # Its flits.

    def _packets(self, m: Module) -> None:
        job, out = self.job, self.network
        with m.State("HEADER"):
            m.d.comb += [out.valid.eq(1), out.first.eq(1), out.data.eq(self.header)]
            m.d.sync += self.reading.eq(job.source[3:])
            self._count_words(m)
            with m.If(out.ready.bit_select(out.lane, 1)):
                m.next = "DESTINATION"
                if self.jobs is not None:
                    with m.If(job.operation == Operation.LOAD):
                        m.next = "SOURCE"
        with m.State("DESTINATION"):
            m.d.comb += [out.valid.eq(1), out.data.eq(job.destination)]
            self._ask_words(m)
            m.next = "WORDS"
            with m.If(self.is_request):
                m.next = "SOURCE"
            if self.jobs is not None:
                self._short_packets(m)
        if self.jobs is not None:
            with m.State("ACKNOWLEDGEMENT"):
                m.d.comb += [out.valid.eq(1), out.data.eq(job.acknowledgement)]
                self._ask_words(m)
                m.next = "WORDS"
                with m.If(self.is_request):
                    m.next = "SOURCE"
        with m.State("SOURCE"):
            m.d.comb += [out.valid.eq(1), out.last.eq(1), out.data.eq(job.source)]
            self._end(m)
        with m.State("WORDS"):
            self._ask_words(m)
            self._send_words(m)

    def _short_packets(self, m: Module) -> None:
        """End an acknowledgement or answer with its second flit; others may have a third."""
        job, out, answers = self.job, self.network, self.jobs.answers
        with m.If(job.acknowledgement != 0):
            m.next = "ACKNOWLEDGEMENT"
        with m.If(job.operation == Operation.ACKNOWLEDGEMENT):
            m.d.comb += out.last.eq(1)
            m.next = "CHOOSE"
        with m.If(job.operation == Operation.ANSWER):
            m.d.comb += [out.last.eq(1), out.data.eq(answers.output.value), answers.pop.eq(1)]
            m.next = "CHOOSE"

    def _count_words(self, m: Module) -> None:
        """Find how many words the packet has, and of how many of its line they are made."""
        if self.jobs is None:
            m.d.sync += [self.to_send.eq(LINE_BYTES // 8), self.to_ask.eq(LINE_BYTES // 8)]
            return
        words = Signal(5)
        is_any = self.parameters.barrel_shifter or self.parameters.combining
        begin = self.job.destination[:3] if is_any else 0
        m.d.comb += words.eq((self.chunk[:7] + begin + 7)[3:])
        more = 0
        if self.parameters.barrel_shifter:
            # A word of the destination takes bytes of two of the source, from its first one on.
            m.d.sync += self.is_primed.eq(self.job.source[:3] <= self.job.destination[:3])
            more = self.job.source[:3] > self.job.destination[:3]
        m.d.sync += [self.to_send.eq(words), self.to_ask.eq(words + more)]

    def _ask_words(self, m: Module) -> None:
        with m.If(self.is_line & ~self.is_request & (self.to_ask != 0)):
            self.ask(m, Action.PLAIN, self.reading)
            with m.If(self.granted):
                m.d.sync += [self.to_ask.eq(self.to_ask - 1), self.reading.eq(self.reading + 1)]

    def _send_words(self, m: Module) -> None:
        out = self.network
        data, is_there = self.word, self.has_word
        if self.parameters.barrel_shifter:
            data, is_there = self._shifted(m)
        if self.jobs is not None:
            payload = self.jobs.payload
            data = Mux(self.is_line, data, payload.output)
            is_there = Mux(self.is_line, is_there, 1)
            m.d.comb += payload.pop.eq(~self.is_line)
        m.d.comb += [
            out.valid.eq(is_there),
            out.data.eq(data),
            out.last.eq(self.to_send == 1),
        ]
        with m.If(is_there):
            m.d.sync += self.to_send.eq(self.to_send - 1)
            with m.If(out.last):
                self._end(m)

    def _shifted(self, m: Module) -> tuple[Value, Value]:
        m.submodules.shifter = shifter = Shifter()
        distance = Mux(self.is_cache_line, 0, self.job.source[:3] - self.job.destination[:3])
        m.d.comb += [
            shifter.distance.eq(distance),
            shifter.input.eq(self.word),
            shifter.take.eq(self.has_word),
        ]
        with m.If(self.has_word):
            m.d.sync += self.is_primed.eq(1)
        return shifter.output, self.has_word & self.is_primed

    def _end(self, m: Module) -> None:
        """Go on behind a packet."""
        m.next = "CHOOSE"
        if self.misses is not None:
            m.d.comb += self.misses.sent.eq(self.is_cache_line)
        if self.jobs is not None:
            Fetching.behind_packet(self, m)
