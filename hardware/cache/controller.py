"""The controller: the pipeline that all accesses take, and what stands around it.

```text
  cycle 0   arrivals, engine, processor: one gets the port; its set is asked for
  cycle 1   states and tags are there: hit? which way? what does its role do? ──► words
  cycle 2   the word is there: response, or a packet's data
```

The processor's request stays in its register until it is answered. What keeps it waiting is a miss,
a full job list, a load from elsewhere, an empty queue: it tries again, or is answered later.
Packets and the engine have a register beside it, and so pass a request that waits.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring

from narthex.hardware.cache.accesses import Action, access_layout
from narthex.hardware.cache.arrivals import Arrivals
from narthex.hardware.cache.combining import Combining, lanes_of
from narthex.hardware.cache.engine import Engine
from narthex.hardware.cache.events import Events
from narthex.hardware.cache.formats import (
    ADDRESS_BITS,
    WINDOW,
    Fault,
    Operation,
    Role,
    Space,
)
from narthex.hardware.cache.jobs import Jobs, job_layout
from narthex.hardware.cache.lookup import Lookup
from narthex.hardware.cache.misses import Misses
from narthex.hardware.cache.parameters import Parameters
from narthex.hardware.cache.ports import Requests, signature
from narthex.hardware.cache.requests import RequestsOfProcessor


class Controller(wiring.Component):
    """A second-level cache, a scratchpad with a network interface, or both in one."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = p = parameters
        super().__init__(signature(p))
        self.lookup = Lookup(p)
        self.misses = Misses(p) if p.cache else None
        self.jobs = Jobs(p) if p.scratchpad else None
        self.combining = Combining(p) if p.combining else None
        self.arrivals = Arrivals(p)
        self.engine = Engine(p, self.jobs, self.misses)
        # The processor's request, and the access of a packet or the engine.
        self.request = Requests(p).create()
        self.access = Signal(access_layout(p))
        self.is_taken = Signal()  # a request is in its register
        self.again = Signal()  # it has to be tried again
        self.has_request, self.has_access = Signal(), Signal()  # in cycle 1
        self.is_engines = Signal()
        # What becomes of the request: at most one in a cycle.
        self.responds = Signal()
        self.responds_value = Signal()
        self.responds_word = Signal()
        self.delivers = Signal()  # to one that has waited
        self.tries_again = Signal()
        self.waits = Signal()
        self.request_leaves = Signal()
        self.request_fault = Signal(len(self.fault.code))
        self.keeps = Signal()
        # A word that stands in no line, for the processor or an answer.
        self.value = Signal(64)
        # What becomes of an access.
        self.access_fault = Signal(len(self.fault.code))
        self.access_done = Signal()
        self.engine_reads = Signal()
        # No event and no flush has the pipeline.
        self.is_free = Signal()
        self.is_of_request = Signal()  # whose event goes on is the request's
        self.space = Space(p, self.request.address)
        # The word that an access brings.
        self.data = Signal(64)
        # The line that is written.
        self.writes_line = Signal()
        if p.scratchpad:
            self._scratchpad_signals()

    def _scratchpad_signals(self) -> None:
        p = self.parameters
        self.pushes_job = Signal()
        self.new_job = Signal(job_layout(p))
        # Who asks: a processor or a packet, and where what it reads is to go.
        self.context = context = Signal(job_layout(p))
        self.process, self.origin_tile = context.process, context.tile
        self.reader_destination = context.destination
        self.reader_acknowledgement = context.acknowledgement
        # The word that an answer or a job gets: what the access brings, or one of these.
        self.given = Signal(64)
        self.gives_read, self.gives_value = Signal(), Signal()
        # The value that is kept: what is shown of a line or a register, or what the access brings.
        self.shown = Signal(64)
        self.keeps_shown, self.keeps_data = Signal(), Signal()
        # What is written instead of what the access brings: nothing, or a queue's request.
        self.pads, self.parks = Signal(), Signal()
        self.uses_slot = Signal()
        # A request that could lead to a job has to wait for room, or for what goes before it.
        self.lacks_room = Signal()
        self.must_wait = Signal()
        self.drains = Signal()
        # A queue looks at the line of a slot.
        self.looks_up, self.sees_slot, self.changes_slot = Signal(), Signal(), Signal()
        self.slot_line = Signal(p.line_bits)
        self.stores_under_way = Signal(8)
        self.events = Events(self)

    def elaborate(self, platform: object) -> Module:
        """Build it."""
        m = Module()
        m.submodules.lookup = self.lookup
        m.submodules.arrivals = self.arrivals
        m.submodules.engine = self.engine
        if self.misses is not None:
            m.submodules.misses = self.misses
        if self.jobs is not None:
            m.submodules.jobs = self.jobs
        if self.combining is not None:
            m.submodules.combining = self.combining
        # What comes later decides over what has been said before.
        self._network(m)
        self._grant(m)
        self._look_up(m)
        if self.parameters.scratchpad:
            self._lists(m)
        RequestsOfProcessor(self).serve(m)
        self._serve_access(m)
        if self.parameters.scratchpad:
            self._events(m)
        self._respond(m)
        return m

    # Around the pipeline.

    def _network(self, m: Module) -> None:
        arrivals, engine = self.arrivals, self.engine
        wiring.connect(m, wiring.flipped(self.network_in), arrivals.network)
        wiring.connect(m, wiring.flipped(self.network_out), engine.network)
        m.d.comb += engine.tile.eq(self.tile)
        if self.parameters.scratchpad:
            wiring.connect(m, wiring.flipped(self.table), engine.table)
            m.d.comb += [
                arrivals.has_room.eq(self.jobs.has_room_for_packets),
                arrivals.is_awaited.eq(self.events.wants_flit),
                self.landed.valid.eq(arrivals.landed),
                self.landed.tile.eq(arrivals.tile),
            ]
        else:
            m.d.comb += arrivals.has_room.eq(1)

    # Cycle 0.

    def _grant(self, m: Module) -> None:
        """Give the port away: to packets that come, then those that leave, then the processor."""
        arrivals, engine, lines = self.arrivals, self.engine, self.lines
        is_free, again, is_taken = self.is_free, self.again, self.is_taken
        wants_flit = Const(0)
        if self.parameters.scratchpad:
            events = self.events
            wants_flit = events.wants_flit & ~self.has_access
            m.d.comb += is_free.eq(~events.is_busy & ~self._is_flushing(m))
        else:
            m.d.comb += is_free.eq(1)
        of_arrivals, of_engine, of_request, is_again = Signal(), Signal(), Signal(), Signal()
        port = self.processor
        m.d.comb += [
            of_arrivals.eq(arrivals.asks & (is_free | wants_flit)),
            of_engine.eq(engine.asks & is_free & ~arrivals.asks),
            is_again.eq(is_free & ~arrivals.asks & ~engine.asks),
            port.ready.eq(is_again & ~again & (~is_taken | self.request_leaves)),
            of_request.eq(is_again & again | port.ready & port.valid),
            arrivals.granted.eq(of_arrivals),
            engine.granted.eq(of_engine),
        ]
        is_asked = Signal()
        m.d.sync += [self.has_request.eq(of_request), is_asked.eq(of_arrivals | of_engine)]
        # Of a packet that was refused the next word may be under way already.
        is_dropped = arrivals.is_refused & ~self.is_engines
        m.d.comb += self.has_access.eq(is_asked & ~is_dropped)
        with m.If(port.ready & port.valid):
            m.d.sync += [
                getattr(self.request, field).eq(getattr(port, field))
                for field in ("address", "store", "size", "data", "process", "privileged")
            ]
        m.d.sync += is_taken.eq(is_taken & ~self.request_leaves | port.ready & port.valid)
        with m.If(of_arrivals):
            m.d.sync += [self.access.eq(arrivals.access), self.is_engines.eq(0)]
        with m.If(of_engine):
            m.d.sync += [
                self.access.action.eq(engine.action),
                self.access.place.eq(engine.place),
                self.access.first.eq(engine.is_first),
                self.access.beyond.eq(0),
                self.is_engines.eq(1),
            ]
            if self.parameters.scratchpad:
                low = engine.job.source[:3] | engine.job.bytes[:3]
                m.d.sync += self.access.whole.eq(~low.any())
        address = Space(self.parameters, Mux(again, self.request.address, port.address))
        asked = address.set
        if self.parameters.scratchpad:
            asked = Mux(address.is_state & address.is_window, address.state_set, asked)
        set_bits = self.parameters.set_bits
        place = Mux(of_engine, engine.place, arrivals.access.place)
        is_looked_up = (of_arrivals & ~wants_flit) | of_engine | of_request
        m.d.comb += [
            lines.read_enable.eq(is_looked_up),
            lines.read_set.eq(Mux(arrivals.asks | engine.asks, place[3 : 3 + set_bits], asked)),
        ]
        if self.parameters.queues:
            with m.If(self.looks_up):
                m.d.comb += [
                    lines.read_enable.eq(1),
                    lines.read_set.eq(self.slot_line[:set_bits]),
                ]

    # Cycle 1.

    def _look_up(self, m: Module) -> None:
        p, lookup = self.parameters, self.lookup
        space = self.space
        ways = slice(3 + p.set_bits, 3 + p.line_bits)
        is_of_request = self.has_request
        if p.scratchpad:
            held = Signal()
            m.d.comb += self.is_of_request.eq(self.has_request | ~self.has_access & held)
            m.d.sync += held.eq(self.is_of_request)
            is_of_request = self.is_of_request
        set_, way, is_direct = space.set, Const(0), ~is_of_request
        if p.scratchpad:
            set_ = Mux(space.is_state & space.is_window, space.state_set, set_)
            way = Mux(space.is_state, space.state_way, space.way)
            is_direct = is_direct | space.is_window
        m.d.comb += [
            lookup.states.eq(self.lines.states),
            lookup.tags.eq(self.lines.tags),
            lookup.wanted.eq(self.request.address[6 + p.set_bits : p.memory_bits]),
            lookup.is_direct.eq(is_direct),
            lookup.direct_way.eq(Mux(is_of_request, way, self.access.place[ways])),
        ]
        found = lookup.way
        if p.queues:
            # An event writes its descriptor, whichever line it has looked at since.
            found = Mux(is_direct, lookup.direct_way, lookup.way)
            with m.If(self.sees_slot):
                m.d.comb += lookup.sees.eq(1)
            m.d.comb += lookup.seen_way.eq(self.slot_line[p.set_bits :])
        self._words(m, is_of_request)
        # What is written to the line that was looked up is what it has, but for what follows.
        m.d.comb += [
            self.lines.write_ways.eq(self.writes_line << found),
            self.lines.write_set.eq(
                Mux(is_of_request, set_, self.access.place[3 : 3 + p.set_bits])
            ),
            self.lines.write_state.eq(lookup.state),
            self.lines.write_tag.eq(lookup.tag),
        ]

    def _words(self, m: Module, is_of_request: Value) -> None:
        """Choose the word that is accessed, and what is written."""
        p, space, words = self.parameters, self.space, self.words
        own = Cat(space.word, space.set, self.lookup.way)
        place = Mux(is_of_request, own, self.access.place)
        m.d.comb += [
            self.data.eq(Mux(is_of_request, self.request.data, self.access.data)),
            words.address.eq(place),
            words.write_data.eq(self.data),
        ]
        if not p.scratchpad:
            return
        m.d.comb += words.address.eq(Cat(self.events.chosen_word, place[3:]))
        data = self.data
        if p.queues:
            direct = Mux(is_of_request, Cat(space.set, space.way), self.access.place[3:])
            line = Mux(self.uses_slot, self.slot_line, Mux(self.events.goes_on, direct, place[3:]))
            data = Mux(self.pads, 0, self.data)
            m.d.comb += words.address.eq(Cat(self.events.chosen_word, line))
            m.d.comb += words.write_data.eq(data)
        if p.multiple_reader_queues:
            m.d.comb += words.write_data.eq(Mux(self.parks, self.events.queues.request(), data))
        if self.combining is not None:
            # An access that is under way when the buffer begins to leave gives its own word.
            data = Mux(self.combining.pushed, self.combining.word, data)
        given = Mux(self.gives_value, self.value, data)
        m.d.comb += self.given.eq(Mux(self.gives_read, words.read_data, given))
        with m.If(self.keeps_shown | self.keeps_data):
            m.d.sync += self.value.eq(Mux(self.keeps_data, self.data, self.shown))
        m.d.comb += self.shown.eq(self.events.shown)

    def is_permitted(self, process: Value) -> Value:
        """Return whether a process may use the line (Section 3.1)."""
        state = self.lookup.state
        return state.shared | (state.owner == process)

    def _serve_access(self, m: Module) -> None:
        """Serve the access of a packet or the engine."""
        access, arrivals = self.access, self.arrivals
        words = self.words
        m.d.comb += [arrivals.done.eq(self.access_done)]
        m.d.sync += self.engine.has_word.eq(self.engine_reads)
        m.d.comb += self.engine.word.eq(words.read_data)
        with m.If(self.has_access), m.Switch(access.action):
            with m.Case(Action.PLAIN):
                m.d.comb += [words.enable.eq(1), self.engine_reads.eq(1)]
            if self.parameters.scratchpad:
                with m.Case(Action.TAKE):
                    m.d.comb += [
                        words.enable.eq(1),
                        # Of a message the words have left: none is awaited.
                        self.engine_reads.eq(~self.engine.is_message),
                        self.writes_line.eq(1),
                        self.lines.write_tag.eq(0),
                    ]
                with m.Case(Action.ANSWER):
                    m.d.comb += [
                        self.keeps_data.eq(1),
                        self.delivers.eq(1),
                        self.access_done.eq(1),
                    ]
            with m.Default():
                self._serve_line(m)

    def _serve_line(self, m: Module) -> None:
        """Serve an access to a line of any role."""
        access, state = self.access, self.lookup.state
        if not self.parameters.scratchpad:
            self._fill(m)
            return
        is_reply = ~self.is_engines & (self.arrivals.operation == Operation.REPLY)
        is_cached = Signal()
        m.d.comb += is_cached.eq(state.role == Role.CACHE)
        with m.If(self.events.wants_flit):
            m.d.comb += self.events.valid.eq(1)
        with m.Elif(access.beyond):
            m.d.comb += self.access_fault.eq(Fault.NOTHING_THERE)
        with m.Elif(is_cached):
            if self.parameters.cache:
                with m.If((access.action == Action.WRITE) & state.filling):
                    self._fill(m)
                with m.Else():
                    m.d.comb += self.access_fault.eq(Fault.CACHED_LINE)
            else:
                m.d.comb += self.access_fault.eq(Fault.CACHED_LINE)
        with m.Elif(~is_reply & ~self.is_permitted(self.process)):
            m.d.comb += self.access_fault.eq(Fault.OTHER_OWNER)
        with m.Elif((access.action == Action.PROBE) & ~access.first):
            # A copy begins in scratchpad: it does not run into a line of another role.
            with m.If(state.role == Role.SCRATCHPAD):
                m.d.comb += self.engine.readable.eq(1)
            with m.Else():
                m.d.comb += self.access_fault.eq(Fault.WORDS)
        with m.Else():
            m.d.comb += self.events.valid.eq(1)

    def _fill(self, m: Module) -> None:
        """Take a word of a line from memory; with the last one the line is valid."""
        access, words, lines = self.access, self.words, self.lines
        m.d.comb += [
            words.enable.eq(1),
            words.write_bytes.eq(0xFF),
            self.access_done.eq(1),
        ]
        with m.If(access.last):
            m.d.comb += [
                self.writes_line.eq(1),
                lines.write_state.valid.eq(1),
                lines.write_state.filling.eq(0),
                self.misses.filled.eq(1),
            ]

    # Events, and what they put into lists.

    def _events(self, m: Module) -> None:
        events, request, access = self.events, self.request, self.access
        p = self.parameters
        is_request, is_engine = self.is_of_request, ~self.is_of_request & self.is_engines
        own = Cat(self.space.word, self.space.set, self.space.way)
        size = self.context.bytes
        words = Mux(size[6:].any(), 8, size[3:6])
        m.d.comb += [
            events.is_request.eq(is_request),
            events.is_engine.eq(is_engine),
            events.place.eq(Mux(is_request, own, access.place)),
            events.data.eq(self.data),
            events.bytes.eq(
                Mux(is_request, lanes_of(request.address[:3], request.size), access.bytes)
            ),
            events.is_whole.eq(Mux(is_request, request.size == 3, access.whole)),
            events.is_last.eq(is_request | access.last),
            events.is_store.eq(Mux(is_request, request.store, access.action == Action.WRITE)),
            events.is_memory.eq(
                ~is_request & ((access.action == Action.READ) | (access.action == Action.PROBE))
            ),
            events.read_words.eq(words),
        ]
        m.d.comb += [
            self.lacks_room.eq(is_request & ~self.jobs.has_room_for_requests),
            self.must_wait.eq(self.lacks_room),
        ]
        if self.combining is not None:
            with m.If(is_request & ~self.combining.is_empty):
                m.d.comb += self.must_wait.eq(1)
        events.states(m)
        is_changed = events.valid & events.is_store & ~is_request & (events.role == Role.SCRATCHPAD)
        m.d.comb += [
            self.invalidate.valid.eq(is_changed & self.lookup.state.selected),
            self.invalidate.line.eq(access.place[3:]),
        ]
        if p.queues:
            with m.If(self.changes_slot):
                m.d.comb += [self.invalidate.valid.eq(1), self.invalidate.line.eq(self.slot_line)]
        with m.If(events.ends):
            with m.If(~is_request):
                m.d.comb += [self.access_fault.eq(events.fault), self.access_done.eq(1)]
            with m.Elif(~self.tries_again & ~self.waits):
                m.d.comb += [self.responds.eq(1), self.request_fault.eq(events.fault)]

    def _is_flushing(self, m: Module) -> Value:
        """Whether the combining buffer empties itself into the lists, which takes the pipeline."""
        if self.combining is None:
            return Const(0)
        begun = Signal()
        self.flushes = Signal()
        m.d.comb += self.flushes.eq(
            self.combining.pushes & (self.jobs.has_room_for_requests | begun)
        )
        # An event under way may still take the last room: it counts when the first word leaves.
        m.d.sync += begun.eq(self.combining.pushed & ~self.combining.is_last)
        return self.flushes

    def _lists(self, m: Module) -> None:
        """Fill the job list: an event's job, then a combined store's, then the rest of a copy."""
        jobs, arrivals, engine = self.jobs, self.arrivals, self.engine
        job, list_ = self.new_job, self.jobs.list
        is_idle = self._contexts(m)
        m.d.comb += [
            job.eq(self.context),
            engine.recycled.eq(engine.recycles & is_idle),
            list_.push.eq(self.pushes_job | engine.recycled),
            list_.input.eq(job),
            jobs.payload.input.eq(self.given),
            jobs.answers.input.value.eq(self.given),
        ]
        if self.combining is not None:
            with m.If(self._combined(m)):
                m.d.comb += engine.recycled.eq(0)
        is_new = self.pushes_job & (job.operation == Operation.STORE)
        if self.combining is not None:
            is_new = self.combining.put & self.combining.is_empty
        m.d.sync += self.stores_under_way.eq(self.stores_under_way + is_new - self.arrived)
        acknowledgements = jobs.acknowledgements
        m.d.comb += [
            acknowledgements.push.eq(arrivals.acknowledges),
            acknowledgements.input.destination.eq(arrivals.acknowledgement),
            acknowledgements.input.bytes.eq(arrivals.bytes),
            acknowledgements.input.tile.eq(arrivals.tile),
            acknowledgements.input.process.eq(arrivals.process),
        ]

    def _contexts(self, m: Module) -> Value:
        """Find for whom a job is: a packet, the processor, or the engine, also for its own rest.

        Returns whether no access needs its own job now: then the engine may give a copy back.
        """
        request, arrivals, context = self.request, self.arrivals, self.context
        needs_none = ~self.has_request | self.space.is_cached
        is_idle = Signal()
        m.d.comb += is_idle.eq(needs_none & ~self.has_access & ~self.events.goes_on)
        own = Const(WINDOW, ADDRESS_BITS) | (self.tile << 20) | (self.access.place << 3)
        with m.If(is_idle | ~self.is_of_request & self.is_engines):
            m.d.comb += context.eq(self.engine.job)
        with m.Elif(self.is_of_request):
            m.d.comb += [
                context.source.eq(request.address),
                context.destination.eq(request.address),
                context.bytes.eq(1 << request.size),
                context.tile.eq(self.tile),
                context.process.eq(request.process),
            ]
        with m.Else():
            m.d.comb += [
                context.source.eq(own | arrivals.offset),
                context.destination.eq(arrivals.destination),
                context.acknowledgement.eq(arrivals.acknowledgement),
                context.bytes.eq(arrivals.bytes),
                context.tile.eq(arrivals.tile),
                context.process.eq(arrivals.process),
            ]
        return is_idle

    def _combined(self, m: Module) -> Value:
        """Take a word out of the combining buffer; the last one takes the job with it."""
        combining, jobs, list_ = self.combining, self.jobs, self.jobs.list
        request = self.request
        m.d.comb += [
            combining.address.eq(request.address),
            combining.size.eq(request.size),
            combining.data.eq(request.data),
            combining.process.eq(request.process),
            combining.drain.eq(self.drains),
        ]
        is_taken = Signal()
        is_idle = ~self.has_request & ~self.has_access & ~self.events.goes_on
        m.d.comb += [is_taken.eq(self.flushes & is_idle), combining.pushed.eq(is_taken)]
        with m.If(is_taken):
            m.d.comb += [
                jobs.payload.push.eq(1),
                list_.push.eq(combining.is_last),
                list_.input.operation.eq(Operation.STORE),
                list_.input.destination.eq(combining.start),
                list_.input.acknowledgement.eq(0),
                list_.input.bytes.eq(combining.bytes),
                list_.input.tile.eq(self.tile),
                list_.input.process.eq(combining.owner),
            ]
        return is_taken

    # Cycle 2.

    def _respond(self, m: Module) -> None:
        response, fault = self.response, self.fault
        is_value = Signal()
        answers = Signal()
        m.d.comb += answers.eq(self.responds | self.delivers)
        m.d.sync += [
            response.valid.eq(answers),
            response.fault.eq(Mux(self.responds, self.request_fault, Fault.NONE)),
            response.keep.eq(self.keeps & self.responds),
        ]
        m.d.comb += [
            self.request_leaves.eq(answers),
            response.data.eq(self.words.read_data),
        ]
        if self.parameters.scratchpad:
            m.d.sync += is_value.eq(self.responds_value | self.delivers)
            m.d.comb += response.data.eq(Mux(is_value, self.value, self.words.read_data))
        is_refused = self.access_fault != Fault.NONE
        m.d.comb += [
            self.arrivals.refused.eq(is_refused & ~self.is_engines),
            self.engine.refused.eq(is_refused & self.is_engines),
            fault.valid.eq(is_refused | self.engine.refuses),
            fault.code.eq(Mux(is_refused, self.access_fault, self.engine.fault)),
        ]
        if self.parameters.scratchpad:
            of_access = Const(WINDOW, ADDRESS_BITS) | (self.tile << 20) | (self.access.place << 3)
            m.d.comb += [
                fault.tile.eq(Mux(is_refused, self.origin_tile, self.engine.job.tile)),
                fault.address.eq(Mux(is_refused, of_access, self.engine.job.source)),
            ]
