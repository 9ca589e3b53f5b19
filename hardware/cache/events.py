"""Event responses: what accesses to own lines do (Sections 3.2 and 3.3).

```text
  access ──► role ──► bytes and tag change ──► a job, an answer, a response
```

An access whose event needs no other word of its line is done in the cycle of its look-up. For the
others the pipeline stands still until the states below are through. Roles and tags are the model's:

| role | tag |
| --- | --- |
| command buffer | a bit for each word that was stored; `QUEUED`: its job waits in the list |
| counter | its value |
| queues | head 15:0, tail 31:16, each modulo twice the items; bit 32: it holds requests |

All of an access happens at once: no other one comes between its states.
"""

from typing import TYPE_CHECKING

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from narthex.hardware.cache.formats import QUEUED, Fault, Operation, Role
from narthex.hardware.cache.jobs import COMMAND, NOTIFICATION
from narthex.hardware.cache.parameters import LINE_BYTES
from narthex.hardware.cache.queues import Queues

if TYPE_CHECKING:
    from narthex.hardware.cache.controller import Controller

MOST_COPIED = 1 << 16


class Events:
    """The part of a controller that serves accesses to own lines."""

    def __init__(self, controller: "Controller") -> None:
        self.controller = controller
        self.parameters = p = controller.parameters
        # The access, of the processor or of a packet or the engine; held until it is over.
        self.valid = Signal()
        self.is_request = Signal()  # the processor's
        self.is_engine = Signal()
        self.is_store = Signal()
        self.place = Signal(p.line_bits + 3)
        self.data = Signal(64)
        self.bytes = Signal(8)
        self.is_whole = Signal()
        self.is_first = Signal()
        self.is_last = Signal()
        self.is_memory = Signal()  # what is read goes to memory
        self.read_words = Signal(4)  # how many are read then
        self.fault = Signal(len(controller.fault.code))
        self.chosen_word = Signal(3)
        self.shown = Signal(64)
        # What becomes of it in this cycle.
        self.ends = Signal()
        self.is_over = Signal()
        self.goes_on = Signal()
        self.is_busy = Signal()
        self.wants_flit = Signal()
        self.in_queue, self.decides = Signal(), Signal()
        self.got = Signal(4)
        self.queues = Queues(self) if p.queues else None

    @property
    def word(self) -> Value:
        """The word of the line."""
        return self.place[:3]

    @property
    def role(self) -> Value:
        """The role of the line."""
        return self.controller.lookup.state.role

    @property
    def tag(self) -> Value:
        """The tag of the line."""
        return self.controller.lookup.tag

    # What the states do.

    # Data are chosen once, outside of what decides whether they are used: here are only enables.

    def read_word(self, m: Module, word: Value | int | None = None) -> None:
        """Ask for a word of the line, which is there in the next cycle."""
        m.d.comb += self.controller.words.enable.eq(1)
        if word is not None:
            m.d.comb += self.chosen_word.eq(word)

    def write_word(self, m: Module, bytes_: Value | int = 0xFF) -> None:
        """Write the word that the access brings."""
        m.d.comb += [
            self.controller.words.enable.eq(1),
            self.controller.words.write_bytes.eq(bytes_),
        ]

    def set_tag(self, m: Module, tag: Value) -> None:
        """Write the tag of the line that was looked up."""
        lines = self.controller.lines
        m.d.comb += [self.controller.writes_line.eq(1), lines.write_tag.eq(tag)]

    def refuse(self, m: Module, fault: Fault) -> None:
        """End the access with a fault."""
        m.d.comb += [self.fault.eq(fault), self.ends.eq(1)]
        m.next = "ACCESS"

    def finish(self, m: Module) -> None:
        """End the access."""
        m.d.comb += self.ends.eq(1)
        m.next = "ACCESS"

    def show(self, m: Module) -> None:
        """Give the reader the value of the tag, which stands in no word."""
        m.d.comb += self.controller.keeps_shown.eq(1)
        with m.If(self.is_request):
            m.d.comb += self.controller.responds_value.eq(1)
            self.finish(m)
        with m.Else():
            m.next = "VALUE"

    def push_job(self, m: Module, operation: int) -> None:
        """Put a job into the list, for whose access this is."""
        controller, job = self.controller, self.controller.new_job
        m.d.comb += [controller.pushes_job.eq(1), job.operation.eq(operation)]

    def push_answer(self, m: Module, tile: Value) -> None:
        """Answer a load of the processor of another tile with what is given."""
        answers = self.controller.jobs.answers
        m.d.comb += [
            answers.push.eq(1),
            answers.input.tile.eq(tile),
            answers.input.process.eq(self.controller.process),
        ]

    def push_payload(self, m: Module) -> None:
        """Put what is given behind the words of the jobs before."""
        m.d.comb += self.controller.jobs.payload.push.eq(1)

    def give_read(self, m: Module) -> None:
        """Give the word that was read."""
        m.d.comb += self.controller.gives_read.eq(1)

    # The states.

    def states(self, m: Module) -> None:
        """Add the state machine."""
        p = self.parameters
        queues = self.queues
        self.commands(m)
        m.d.comb += self.chosen_word.eq(self.word)
        if queues is not None:
            queues.pointers(m)
        self._shown(m)
        with m.FSM(name="event") as states:
            with m.State("ACCESS"), m.If(self.valid):
                self._access(m, queues)
            with m.State("OPERATION_ASK"):
                self.read_word(m, 0)
                m.next = "OPERATION"
            with m.State("OPERATION"):
                self._launch(m)
            with m.State("GET_ASK"):
                self._ask_next(m)
            with m.State("GET"):
                self._get(m)
            with m.State("VALUE"):
                m.d.comb += self.controller.gives_value.eq(1)
                self._last_word(m)
            if p.counters:
                with m.State("RESET_ASK"):
                    self.read_word(m, 1)
                    m.next = "RESET"
                with m.State("RESET"):
                    self.set_tag(m, self.controller.words.read_data[: p.counter_bits])
                    self.push_job(m, NOTIFICATION)
                    m.d.comb += self.controller.new_job.acknowledgement.eq(0)
                    self.finish(m)
            if queues is not None:
                queues.states(m)
            if queues is not None:
                m.d.comb += [
                    self.decides.eq(states.ongoing("DECIDE")),
                    self.in_queue.eq(queues.is_ongoing(states)),
                ]
            m.d.comb += [
                self.goes_on.eq(~states.ongoing("ACCESS")),
                self.is_busy.eq(self.goes_on | (self.valid & ~self.ends)),
                self.wants_flit.eq(states.ongoing("FLIT") if queues is not None else 0),
            ]

    def _shown(self, m: Module) -> None:
        """Find what a tag shows of its line."""
        p = self.parameters
        with m.Switch(self.role):
            with m.Case(Role.COMMAND_BUFFER):
                m.d.comb += self.shown.eq(self.tag != 0)
            if p.counters:
                with m.Case(Role.COUNTER):
                    m.d.comb += self.shown.eq(self.tag[: p.counter_bits].as_signed())
            if self.queues is not None:
                self.queues.show(m)

    def _access(self, m: Module, queues: "Queues | None") -> None:
        p = self.parameters
        m.d.sync += self.got.eq(0)
        with m.If(self.is_store):
            with m.If((self.role != Role.SCRATCHPAD) & ~self.is_whole):
                self.refuse(m, Fault.WORDS)
            with m.Else(), m.Switch(self.role):
                with m.Case(Role.COMMAND_BUFFER):
                    self._store_command(m)
                if p.counters:
                    with m.Case(Role.COUNTER):
                        self._store_counter(m)
                if queues is not None:
                    queues.store(m)
                with m.Default():
                    self._store(m)
        with m.Elif((self.role != Role.SCRATCHPAD) & ~self.is_whole):
            self.refuse(m, Fault.WORDS)
        with m.Else(), m.Switch(self.role):
            with m.Case(Role.SCRATCHPAD):
                self._load_scratchpad(m)
            with m.Case(Role.COMMAND_BUFFER):
                self._show_or_load(m)
            if p.counters:
                with m.Case(Role.COUNTER):
                    self._show_or_load(m)
            if queues is not None:
                queues.load(m)
            with m.Default():
                self.load(m)

    def _store(self, m: Module) -> None:
        self.write_word(m, self.bytes)
        self.finish(m)

    def _load_scratchpad(self, m: Module) -> None:
        """Load; a read for memory becomes a copy."""
        with m.If(self.is_memory & ~self.is_engine):
            self.push_job(m, Operation.COPY)
            self.finish(m)
        with m.Elif(self.is_engine):
            m.d.comb += self.controller.engine.readable.eq(1)
            self.finish(m)
        with m.Else():
            self.load(m)

    def _show_or_load(self, m: Module) -> None:
        with m.If(self.word == 0):
            self.show(m)
        with m.Else():
            self.load(m)

    def load(self, m: Module) -> None:
        """Load words of the line as they are."""
        self.read_word(m)
        with m.If(self.is_request):
            m.d.comb += self.controller.responds_word.eq(1)
            self.finish(m)
        with m.Else():
            m.next = "GET"

    def _ask_next(self, m: Module) -> None:
        self.read_word(m, (self.place[:3] + self.got)[:3])
        m.next = "GET"

    def _get(self, m: Module) -> None:
        """Take a word that was asked for; read more if memory is to have them."""
        self.give_read(m)
        m.d.sync += self.got.eq(self.got + 1)
        with m.If(~self.is_memory | (self.got + 1 == self.read_words)):
            self._last_word(m)
        with m.Else():
            self.push_payload(m)
            m.next = "GET_ASK"

    def _last_word(self, m: Module) -> None:
        """Give the last word to a reader that is no own processor."""
        with m.If(self.is_memory):
            self.push_payload(m)
            self.push_job(m, Operation.REPLY)
            m.d.comb += [
                self.controller.new_job.bytes.eq(Cat(Const(0, 3), self.got + 1)),
                self.controller.engine.served.eq(self.is_engine),
            ]
        with m.Else():
            self.push_answer(m, self.controller.origin_tile)
        self.finish(m)

    # Command buffers.

    def _store_command(self, m: Module) -> None:
        stored = self.stored
        is_again = self.tag[:8].bit_select(self.word, 1) | (self.tag & QUEUED).any()
        with m.If(is_again):
            self.refuse(m, Fault.STORED_TWICE)
        with m.Elif(self.controller.must_wait & stored[:4].all()):
            m.d.comb += [self.controller.tries_again.eq(1), self.controller.drains.eq(1)]
            self.finish(m)
        with m.Else():
            self.write_word(m)
            with m.If(self.word == 0):
                self._launch(m)
            with m.Elif(stored[:4].all()):
                m.next = "OPERATION_ASK"
            with m.Else():
                self.set_tag(m, stored)
                self.finish(m)

    def commands(self, m: Module) -> None:
        """Find what a command's first word says: the stored one, or the one that was read."""
        self.stored, self.is_right, self.is_complete = Signal(8), Signal(), Signal()
        stored, is_right = self.stored, self.is_right
        first = Mux(self.goes_on, self.controller.words.read_data, self.data)
        m.d.comb += stored.eq(self.tag[:8] | (1 << self.word))
        operation, size = first[:8], first[8:]
        words = size[3:6]
        is_message = Signal()
        m.d.comb += is_message.eq(operation == Operation.WRITE)
        with m.Switch(operation):
            with m.Case(Operation.COPY):
                m.d.comb += is_right.eq(size <= MOST_COPIED)
            with m.Case(Operation.WRITE):
                m.d.comb += is_right.eq((size <= 40) & ~size[:3].any())
            with m.Case(Operation.WRITE_WORD):
                m.d.comb += is_right.eq(size == 8)
            with m.Case(Operation.READ):
                m.d.comb += is_right.eq(size <= LINE_BYTES)
        needed = Mux(is_message, ((((1 << words) - 1) << 3) | 0b111)[:8], 0b1111)
        m.d.comb += self.is_complete.eq((stored & needed) == needed)
        with m.If(size == 0):
            m.d.comb += is_right.eq(0)

    def _launch(self, m: Module) -> None:
        """Launch the command if all its words are there."""
        with m.If(~self.is_right):
            self.refuse(m, Fault.COMMAND)
        with m.Else():
            self.set_tag(m, Mux(self.is_complete, QUEUED, self.stored))
            with m.If(self.is_complete):
                self.push_job(m, COMMAND)
            self.finish(m)

    # Counters.

    def _store_counter(self, m: Module) -> None:
        count = Signal(self.parameters.counter_bits)
        m.d.comb += count.eq(self.tag[: len(count)] + self.data)
        with m.If(self.word != 0):
            self._store(m)
        with m.Elif(self.controller.lacks_room):
            m.d.comb += self.controller.tries_again.eq(1)
            self.finish(m)
        with m.Elif(count == 0):
            m.next = "RESET_ASK"
        with m.Else():
            self.set_tag(m, count)
            self.finish(m)
