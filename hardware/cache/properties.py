"""What the controller keeps to, as assertions that a solver checks for all inputs.

Around the controller is everything that could be: requests and packets of any content, a network
that takes packets when it likes, a table of regions that grants what it likes, and data of lines
that are whatever is read. States and tags are real, from any content on. Only what the
environment has to keep is assumed: packets are well formed, requests aligned, and a processor
waits for one answer at a time.

| property | says |
| --- | --- |
| `regions` | a word is written only in a line of the cache, or a locked one, for one who may |
| `lists` | nothing is put into a full list, however full the lists are in the beginning |
| `acknowledgements` | a write is acknowledged once, with its size, if it was not refused |
| | a counter adds exactly what is stored to it |
| `packets` | each remote store leaves once, in order, with its address and word |
| `queues` | a queue never holds more than its items; none is written where another one stands |
"""

from collections.abc import Callable
from dataclasses import dataclass

from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from narthex.hardware.cache.controller import Controller
from narthex.hardware.cache.formats import Fault, Lane, Operation, Role, state_layout
from narthex.hardware.cache.jobs import COMMAND, NOTIFICATION
from narthex.hardware.cache.parameters import Parameters
from narthex.hardware.cache.ports import signature
from narthex.hardware.cache.queues import POINTER_BITS

SMALL = Parameters(
    counters=True,
    multiple_reader_queues=True,
    single_reader_queues=True,
    l2_bytes=256,
    ways=2,
    tiles=2,
    processes=2,
    memory_bits=9,
    job_entries=4,
    answer_entries=4,
    payload_words=32,
    counter_bits=33,
)
"""Four lines in two ways; lists as short as they can be."""

FREE = "free_"
"""Names of registers that begin with any value."""


class Proof(wiring.Component):
    """A controller in any environment, with the assertions of a property."""

    def __init__(
        self, property_: Callable[["Proof", Module], None], parameters: Parameters
    ) -> None:
        self.property, self.parameters = property_, parameters
        self.controller = Controller(parameters)
        free = {
            name: member
            for name, member in signature(parameters).members.items()
            if name not in ("lines", "words", "tile", "arrived")
        }
        super().__init__(free | {"read_data": In(64)})

    def elaborate(self, platform: object) -> Module:
        """Build it."""
        m = Module()
        m.submodules.controller = controller = self.controller
        self.started = Signal()
        m.d.sync += self.started.eq(1)
        for name, member in self.signature.members.items():
            if name == "read_data":
                continue
            outer, inner = getattr(self, name), getattr(controller, name)
            if member.is_port:
                m.d.comb += inner.eq(outer)
            else:
                wiring.connect(m, wiring.flipped(outer), inner)
        m.d.comb += controller.words.read_data.eq(self.read_data)
        self._lines(m)
        self._packets_in(m)
        self._requests(m)
        self.property(self, m)
        return m

    def _lines(self, m: Module) -> None:
        """Keep the states and tags of all lines, from any content on."""
        p, lines = self.parameters, self.controller.lines
        self.states, self.tags = [], []
        held = Signal(p.set_bits)
        with m.If(lines.read_enable):
            m.d.sync += held.eq(lines.read_set)
        for way in range(p.ways):
            for set_ in range(p.sets):
                state = Signal(state_layout(p), name=f"{FREE}state_{way}_{set_}")
                tag = Signal(p.tag_bits, name=f"{FREE}tag_{way}_{set_}")
                is_sound = (state.role <= Role.MULTIPLE_READER_QUEUE) & ~state.filling
                is_sound &= (state.role == Role.CACHE) | (~state.valid & ~state.dirty)
                m.d.comb += Assume(self.started | is_sound)
                with m.If(lines.write_ways[way] & (lines.write_set == set_)):
                    m.d.sync += [state.eq(lines.write_state), tag.eq(lines.write_tag)]
                # An array that holds what it has read would not see a later write: there is none
                # between a look-up and its use, but of the line's own.
                with m.If(held == set_):
                    m.d.comb += [lines.states[way].eq(state), lines.tags[way].eq(tag)]
                self.states.append(state)
                self.tags.append(tag)

    def state_of(self, m: Module, line: Value) -> Signal:
        """Return the state of a line."""
        found = Signal(state_layout(self.parameters))
        with m.Switch(line):
            for number, state in enumerate(self.states):
                with m.Case(number):
                    m.d.comb += found.eq(state)
        return found

    def _packets_in(self, m: Module) -> None:
        """Assume that packets are well formed."""
        p, arrivals, port = self.parameters, self.controller.arrivals, self.network_in
        left, is_header = Signal(5), Signal(init=1)
        self.acknowledged = Signal()
        operation, had = Signal(8), Signal(2)
        for lane in range(3):
            flit = port.data[lane]
            last, taken = port.last[lane], port.valid[lane] & self.controller.network_in.ready[lane]
            code = flit[:8]
            of_lane = {
                Lane.READ: (code == Operation.READ) | (code == Operation.LOAD),
                Lane.WRITE: (code == Operation.WRITE)
                | ((code >= Operation.WRITE_WORD) & (code <= Operation.ANSWER))
                & (code != Operation.READ)
                & (code != Operation.LOAD),
                Lane.ACKNOWLEDGEMENT: code == Operation.ACKNOWLEDGEMENT,
            }[Lane(lane)]
            size = flit[8:25]
            is_right = of_lane & (size != 0) & (size <= 64) & ~last
            is_right &= (flit[32:39] < p.tiles) & ((flit[44:52]) < p.processes)
            is_right &= ~flit[25] | (code != Operation.STORE) & (code < Operation.LOAD)
            with m.If(taken):
                with m.If(is_header):
                    m.d.comb += Assume(is_right)
                    m.d.sync += [operation.eq(code), had.eq(1), is_header.eq(0)]
                    m.d.sync += self.acknowledged.eq(flit[25])
                with m.Else():
                    m.d.sync += had.eq(had + (had != 3))
                    is_read = (operation == Operation.READ) | (operation == Operation.LOAD)
                    words = (had == 2 + self.acknowledged) | (had == 3)
                    ends = Signal(name=f"ends_{lane}")
                    m.d.comb += ends.eq(
                        Mux(
                            (operation == Operation.LOAD)
                            | (operation == Operation.ANSWER)
                            | (operation == Operation.ACKNOWLEDGEMENT),
                            1,
                            Mux(is_read, had == 2 + self.acknowledged, words & (left <= 1)),
                        )
                    )
                    m.d.comb += Assume(last == ends)
                    with m.If(had == 1):
                        m.d.sync += left.eq((flit[:3] + arrivals.bytes + 7)[3:])
                        # A write of this size stays in its lines.
                        m.d.comb += Assume(flit[:3] + arrivals.bytes <= 64)
                    with m.If(words):
                        m.d.sync += left.eq(left - 1)
                    with m.If(last):
                        m.d.sync += is_header.eq(1)
            # The network keeps what it has offered.
            m.d.comb += Assume(~self._was(m, port.valid[lane] & ~taken, lane) | port.valid[lane])

    def _was(self, m: Module, condition: Value, number: int) -> Signal:
        before = Signal(name=f"before_{number}")
        m.d.sync += before.eq(condition)
        return before

    def _requests(self, m: Module) -> None:
        """Assume that requests are aligned, and that no processor waits for two answers."""
        p, port, arrivals = self.parameters, self.processor, self.controller.arrivals
        low = port.address[:3]
        aligned = [1, ~low[0], low[:2] == 0, low == 0]
        for size, is_aligned in enumerate(aligned):
            m.d.comb += Assume(~port.valid | (port.size != size) | is_aligned)
        self.is_asking = is_asking = Signal()  # the own processor waits for a load from elsewhere
        load = self.controller.new_job.operation == Operation.LOAD
        with m.If(self.controller.waits & self.controller.pushes_job & load):
            m.d.sync += is_asking.eq(1)
        with m.Elif(self.controller.delivers):
            m.d.sync += is_asking.eq(0)
        arrives = arrivals.asks & (arrivals.operation == Operation.ANSWER)
        m.d.comb += Assume(~arrives | is_asking)
        out = self.controller.network_out
        asked = Signal(p.tiles)
        answered = out.valid & out.last & (self.controller.engine.job.operation == Operation.ANSWER)
        comes = arrivals.granted & (arrivals.operation == Operation.LOAD)
        refused = self.controller.arrivals.refused & (arrivals.operation == Operation.LOAD)
        for tile in range(p.tiles):
            with m.If(comes & (arrivals.tile == tile)):
                m.d.comb += Assume(~asked[tile])
                m.d.sync += asked[tile].eq(1)
            with m.If(refused & (arrivals.tile == tile)):
                m.d.sync += asked[tile].eq(0)
            with m.If(answered & (self.controller.engine.job.tile == tile)):
                m.d.sync += asked[tile].eq(0)


def regions(proof: Proof, m: Module) -> None:
    """No word is written but in a line of the cache, or in a locked line of one who may."""
    controller, p = proof.controller, proof.parameters
    words, events = controller.words, controller.events
    line = words.address[3:]
    state = proof.state_of(m, line)
    is_written = words.enable & words.write_bytes.any()
    is_locked = state.role != Role.CACHE
    is_reply = ~controller.is_of_request & ~controller.is_engines
    is_reply &= controller.arrivals.operation == Operation.REPLY
    is_system = controller.is_of_request & controller.request.privileged
    is_slot = (line != events.place[3:]) & (state.role == Role.SCRATCHPAD)
    is_slot &= state.owner == events.queues.state.owner
    may = state.shared | (state.owner == controller.process) | is_reply | is_system | is_slot
    wanted = controller.request.address[6 + p.set_bits : p.memory_bits]
    tag = Signal(p.tag_bits)
    with m.Switch(line):
        for number, each in enumerate(proof.tags):
            with m.Case(number):
                m.d.comb += tag.eq(each)
    is_cached = state.valid & (tag[: len(wanted)] == wanted) & ~controller.request.address[36]
    m.d.comb += Assert(
        ~is_written | Mux(is_locked, may, (controller.has_request & is_cached) | state.filling)
    )


LISTED = (COMMAND, NOTIFICATION, Operation.COPY, Operation.STORE, Operation.REPLY, Operation.LOAD)
"""Operations of jobs that are put into the job list."""


def _is_listed(operation: Value) -> Value:
    return Cat(operation == each for each in LISTED).any()


def lists(proof: Proof, m: Module) -> None:
    """Nothing is put into a full list, however full the lists are in the beginning.

    Assumed of the beginning: no list has more than its entries, no answer waits, and jobs are of
    operations that are put into the list, which is proven besides.
    """
    jobs = proof.controller.jobs
    for fifo in (jobs.list, jobs.payload, jobs.acknowledgements, jobs.answers):
        m.d.comb += Assume(proof.started | (fifo.count <= fifo.entries))
        m.d.comb += Assert(~(fifo.push & (fifo.count == fifo.entries)))
    # Jobs of any content take as many words as are there, as those that were put in do.
    m.d.comb += Assume(~(jobs.payload.pop & jobs.payload.is_empty))
    m.d.comb += Assume(proof.started | (jobs.answers.count == 0))
    # The list has jobs of no other operation: none is put there, so none is there at first. An
    # `ANSWER` among them would take an answer that was never put in.
    m.d.comb += Assert(~jobs.list.push | _is_listed(jobs.list.input.operation))
    m.d.comb += Assume(~jobs.list.pop | _is_listed(jobs.list.output.operation))
    # A processor waits for one answer at a time, also one that waits in a queue since long.
    answers, engine = jobs.answers, proof.controller.engine
    answering = Signal(proof.parameters.tiles)
    m.d.comb += Assume(~answers.push | ~answering.bit_select(answers.input.tile, 1))
    for tile in range(proof.parameters.tiles):
        with m.If(answers.pop & (engine.job.tile == tile)):
            m.d.sync += answering[tile].eq(0)
        with m.If(answers.push & (answers.input.tile == tile)):
            m.d.sync += answering[tile].eq(1)


def acknowledgements(proof: Proof, m: Module) -> None:
    """Each write is acknowledged once, with its size; a counter adds what is stored to it."""
    controller, arrivals = proof.controller, proof.controller.arrivals
    fifo = controller.jobs.acknowledgements
    refused, bytes_ = Signal(), Signal(17)
    # What the packet's own header says, seen from outside.
    for lane in range(3):
        port = controller.network_in
        taken = port.valid[lane] & port.ready[lane]
        with m.If(taken & arrivals.is_header):
            m.d.sync += [bytes_.eq(port.data[lane][8:25]), refused.eq(0)]
    with m.If((controller.access_fault != Fault.NONE) & ~controller.is_engines):
        m.d.sync += refused.eq(1)
    is_refused = refused | arrivals.refused
    is_write = (arrivals.operation != Operation.READ) & (arrivals.operation != Operation.LOAD)
    with m.If(arrivals.over & is_write):
        m.d.comb += Assert(
            fifo.push == (~is_refused & proof.acknowledged & (arrivals.acknowledgement != 0))
        )
    with m.If(fifo.push):
        m.d.comb += Assert(arrivals.over & (fifo.input.bytes == bytes_[:7]))
    _counters(proof, m)


def _counters(proof: Proof, m: Module) -> None:
    controller, events = proof.controller, proof.controller.events
    width = proof.parameters.counter_bits
    is_counted = events.valid & events.is_store & events.is_whole & (events.word == 0)
    is_counted &= controller.lookup.state.role == Role.COUNTER
    count = Signal(width)
    m.d.comb += count.eq(controller.lookup.tag[:width] + events.data)
    with m.If(is_counted & ~controller.tries_again & (count != 0)):
        m.d.comb += Assert(controller.writes_line & (controller.lines.write_tag == count))
    with m.If(is_counted & (count == 0)):
        m.d.comb += Assert(~controller.writes_line)


def packets(proof: Proof, m: Module) -> None:
    """Each remote store that was answered leaves once, in order, as it was."""
    controller = proof.controller
    chosen = Signal(2, name=f"{FREE}chosen")  # any of the first stores
    stored, left = Signal(4), Signal(4)
    address, word = Signal(37), Signal(64)
    out = controller.network_out
    request = controller.request
    is_elsewhere = controller.has_request & request.store & controller.responds
    is_elsewhere &= request.address[36] & ~request.address[33] & ~request.address[32]
    is_elsewhere &= request.address[20:27] != controller.tile
    with m.If(is_elsewhere & (controller.request_fault == Fault.NONE)):
        m.d.sync += stored.eq(stored + 1)
        with m.If(stored == chosen):
            m.d.sync += [address.eq(request.address), word.eq(request.data)]
    flit = Signal(2)
    with m.If(out.valid & (controller.engine.job.operation == Operation.STORE)):
        is_taken = ~out.first | out.ready.bit_select(Lane.WRITE, 1)
        m.d.comb += Assert(out.lane == Lane.WRITE)
        with m.If(is_taken):
            m.d.sync += flit.eq(Mux(out.last, 0, flit + 1))
        with m.If(is_taken & (left == chosen)):
            m.d.comb += Assert((flit != 1) | (out.data == address))
            m.d.comb += Assert((flit != 2) | (out.data == word))
        with m.If(is_taken & out.last):
            m.d.comb += Assert(flit == 2)
            m.d.sync += left.eq(left + 1)
            m.d.comb += Assert(left < stored)
    # Other stores than to tiles are not counted.
    m.d.comb += Assume(~(controller.has_request & request.store & controller.space.is_dram))
    is_quiet = ~controller.has_request & controller.jobs.list.is_empty & ~controller.engine.is_busy
    is_quiet &= ~is_elsewhere
    m.d.comb += Assert(~is_quiet | (left == stored))


def queues(proof: Proof, m: Module) -> None:
    """Queues hold at most their items, and no item takes another one's slot."""
    events = proof.controller.events
    queue = events.queues
    words, lines = proof.controller.words, proof.controller.lines
    mask = Signal(POINTER_BITS)
    m.d.comb += mask.eq((queue.items << 1) - 1)
    with m.If(events.decides):
        # So it was before, by this very property.
        m.d.comb += Assume(((queue.tail - queue.head) & mask) <= queue.items)
        m.d.comb += Assume(((queue.head & ~mask) == 0) & ((queue.tail & ~mask) == 0))
    head = lines.write_tag[:POINTER_BITS]
    tail = lines.write_tag[16 : 16 + POINTER_BITS]
    before, used = Signal(POINTER_BITS), Signal(POINTER_BITS)
    m.d.comb += [
        before.eq((queue.tail - queue.head) & mask),
        used.eq((tail - head) & mask),
    ]
    with m.If(proof.controller.writes_line & events.in_queue):
        m.d.comb += Assert(used <= queue.items)
        m.d.comb += Assert(((head & ~mask) == 0) & ((tail & ~mask) == 0))
        with m.If(events.word == 0):
            m.d.comb += Assert(used == Mux(queue.is_at_head, before - 1, before + 1))
        with m.Else():
            m.d.comb += Assert((used <= before) & (tail == queue.tail))
    is_put = words.enable & words.write_bytes.any() & events.in_queue
    is_tails = queue.slot[3:] == words.address[3:]
    m.d.comb += Assert(~is_put | (~queue.is_full & ~queue.is_at_head & is_tails))


@dataclass(frozen=True)
class Property:
    """A property with the depth to which it is proven, and what it needs to begin with."""

    name: str
    build: Callable[[Proof, Module], None]
    cycles: int
    parameters: Parameters = SMALL
    frees_lists: bool = False

    @property
    def meaning(self) -> str:
        """What it says."""
        return (self.build.__doc__ or "").split("\n")[0]

    def proof(self) -> Proof:
        """Return the design that is checked."""
        return Proof(self.build, self.parameters)


PROPERTIES = {
    each.name: each
    for each in (
        Property("regions", regions, 9),
        Property("lists", lists, 16, frees_lists=True),
        Property("acknowledgements", acknowledgements, 8),
        Property("packets", packets, 10),
        Property("queues", queues, 9),
    )
}
