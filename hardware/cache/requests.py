"""What a request of the processor means.

| address | load | store |
| --- | --- | --- |
| memory | hit: the word; miss: the line comes first | the same, and the line is dirty |
| own line | by its role ([`events`]) | by its role |
| state of an own line | role and owner; tag | marks the line; writes the tag |
| register | its value | is refused |
| other tile, DRAM | a packet, whose answer is waited for | a packet |

The operating system's requests are privileged: a store to the first word of a state locks a line or
gives it back to the cache. What the cache has changed of it is written back before.
"""

from typing import TYPE_CHECKING

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from narthex.hardware.cache.combining import lanes_of
from narthex.hardware.cache.formats import Fault, Operation, Role

if TYPE_CHECKING:
    from narthex.hardware.cache.controller import Controller

LOCKED, SHARED, SELECTED, OWNER = 8, 9, 10, 16
"""Bits of a line's state, as a load shows it."""


class RequestsOfProcessor:
    """The part of a controller that serves requests."""

    def __init__(self, controller: "Controller") -> None:
        self.controller = controller
        self.parameters = controller.parameters

    def serve(self, m: Module) -> None:
        """Serve the request in cycle 1."""
        controller, space = self.controller, self.controller.space
        p = self.parameters
        again = controller.again
        m.d.sync += again.eq(controller.tries_again)
        with m.If(again & ~self._is_granted_again()):
            m.d.sync += again.eq(1)
        if p.cache:
            with m.If(controller.misses.over):
                m.d.sync += again.eq(1)
        with m.If(controller.has_request):
            if p.cache:
                with m.If(space.is_cached):
                    self._memory(m)
            if p.scratchpad:
                own = space.is_window & (space.tile == controller.tile) & (space.chip == 0)
                is_elsewhere = space.is_window & (space.tile < p.tiles) & (space.chip == 0)
                with (m.Elif if p.cache else m.If)(own & space.is_state):
                    self._state(m)
                with m.Elif(own):
                    self._line(m)
                with m.Elif(space.is_register & ~controller.request.address[7:32].any()):
                    self._register(m)
                with m.Elif(is_elsewhere | space.is_dram):
                    self._elsewhere(m)
            with m.Else():
                self._refuse(m, Fault.NOTHING_THERE)

    def _is_granted_again(self) -> Value:
        controller = self.controller
        return controller.is_free & ~controller.arrivals.asks & ~controller.engine.asks

    def _refuse(self, m: Module, fault: Fault) -> None:
        m.d.comb += [self.controller.responds.eq(1), self.controller.request_fault.eq(fault)]

    # Memory that is cached.

    def _memory(self, m: Module) -> None:
        controller, lookup = self.controller, self.controller.lookup
        request, words = controller.request, controller.words
        lines, state = controller.lines, lookup.state
        with m.If(lookup.hit):
            m.d.comb += [
                controller.responds.eq(1),
                controller.responds_word.eq(1),
                words.enable.eq(1),
            ]
            with m.If(request.store):
                m.d.comb += [
                    words.write_bytes.eq(lanes_of(request.address[:3], request.size)),
                    controller.writes_line.eq(1),
                    lines.write_state.dirty.eq(1),
                ]
        with m.Elif(~lookup.has_free):
            self._refuse(m, Fault.NO_WAY)
        with m.Else():
            self._miss(m, state.valid & state.dirty, leaves=False)
            m.d.comb += [
                lookup.replaces.eq(1),
                lines.write_state.filling.eq(1),
                lines.write_tag.eq(lookup.wanted),
            ]

    def _miss(self, m: Module, is_dirty: Value, *, leaves: bool) -> None:
        """Let a line leave the cache; unless that is all, another one comes in its place."""
        controller, lookup, misses = self.controller, self.controller.lookup, self.controller.misses
        space = controller.space
        set_ = space.state_set if leaves else space.set
        m.d.comb += [
            misses.begin.eq(1),
            misses.is_dirty.eq(is_dirty),
            misses.only_leaves.eq(leaves),
            misses.line.eq(Cat(set_, lookup.way)),
            misses.victim_tag.eq(lookup.tag),
            misses.wanted_tag.eq(lookup.wanted),
            controller.writes_line.eq(1),
            controller.lines.write_state.valid.eq(0),
            controller.lines.write_state.dirty.eq(0),
        ]

    # Own lines and their states.

    def _line(self, m: Module) -> None:
        controller, space = self.controller, self.controller.space
        role = controller.lookup.state.role
        may = controller.is_permitted(controller.request.process) | controller.request.privileged
        with m.If(~space.is_in_l2):
            self._refuse(m, Fault.NOTHING_THERE)
        with m.Elif(role == Role.CACHE):
            self._refuse(m, Fault.CACHED_LINE)
        with m.Elif(~may):
            self._refuse(m, Fault.OTHER_OWNER)
        with m.Else():
            selected = controller.lookup.state.selected & ~controller.request.store
            m.d.comb += [
                controller.events.valid.eq(1),
                controller.keeps.eq(selected & (role == Role.SCRATCHPAD)),
            ]

    def _state(self, m: Module) -> None:
        controller, space = self.controller, self.controller.space
        request, state = controller.request, controller.lookup.state
        is_tag = controller.request.address[3]
        may = controller.is_permitted(request.process)
        is_locked = state.role != Role.CACHE
        with m.If(~space.is_in_states):
            self._refuse(m, Fault.NOTHING_THERE)
        with m.Elif(request.size != 3):
            self._refuse(m, Fault.WORDS)
        with m.Elif(~request.store):
            shown = Cat(
                state.role, Const(0, LOCKED - 3), is_locked, state.shared, state.selected,
                Const(0, OWNER - SELECTED - 1), state.owner,
            )  # fmt: skip
            m.d.comb += [
                controller.shown.eq(Mux(is_tag, self._tag(), shown)),
                controller.keeps_shown.eq(1),
                controller.responds.eq(1),
                controller.responds_value.eq(1),
            ]
        with m.Elif(request.privileged):
            self._lock(m, is_tag)
        with m.Elif(~is_locked):
            self._refuse(m, Fault.CACHED_LINE)
        with m.Elif(~may):
            self._refuse(m, Fault.OTHER_OWNER)
        with m.Elif(is_tag):
            self._set_tag(m)
        with m.Else():
            self._mark(m)

    def _tag(self) -> Value:
        """Return a tag as it is shown: a counter's sign goes on."""
        tag = self.controller.lookup.tag
        if not self.parameters.counters:
            return tag
        count = tag[: self.parameters.counter_bits].as_signed()
        return Mux(self.controller.lookup.state.role == Role.COUNTER, count, tag)[:64]

    def _set_tag(self, m: Module) -> None:
        controller = self.controller
        m.d.comb += [
            controller.responds.eq(1),
            controller.writes_line.eq(1),
            controller.lines.write_tag.eq(controller.request.data),
        ]

    def _mark(self, m: Module) -> None:
        """Give a line a role; its tag is clear then."""
        controller, p = self.controller, self.parameters
        data = controller.request.data
        allowed = {
            Role.SCRATCHPAD: True,
            Role.COMMAND_BUFFER: True,
            Role.COUNTER: p.counters,
            Role.SINGLE_READER_QUEUE: p.single_reader_queues,
            Role.MULTIPLE_READER_QUEUE: p.multiple_reader_queues,
        }
        is_role = Signal()
        for role, is_there in allowed.items():
            if is_there:
                with m.If(data[:8] == role):
                    m.d.comb += is_role.eq(1)
        with m.If(~is_role):
            self._refuse(m, Fault.ROLE)
        with m.Else():
            m.d.comb += [
                controller.responds.eq(1),
                controller.writes_line.eq(1),
                controller.lines.write_state.role.eq(data[:3]),
                controller.lines.write_tag.eq(0),
            ]

    def _lock(self, m: Module, is_tag: Value) -> None:
        """Lock a line, or give it back, as the operating system says."""
        controller = self.controller
        state, written = controller.lookup.state, controller.lines.write_state
        data = controller.request.data
        with m.If(is_tag):
            self._set_tag(m)
        if self.parameters.cache:
            is_cached = (state.role == Role.CACHE) & state.valid
            with m.Elif(is_cached & state.dirty):
                self._miss(m, Const(1), leaves=True)
        with m.Else():
            m.d.comb += [
                controller.responds.eq(1),
                controller.writes_line.eq(1),
                written.role.eq(data[:3]),
                written.shared.eq(data[SHARED]),
                written.selected.eq(data[SELECTED]),
                written.owner.eq(data[OWNER:]),
                controller.lines.write_tag.eq(0),
            ]
            if self.parameters.cache:
                m.d.comb += written.valid.eq(0)

    # Registers.

    def _register(self, m: Module) -> None:
        controller, p = self.controller, self.parameters
        offset = controller.request.address[3:7]
        values: list[Value | int] = [
            controller.tile, 0, p.tiles, 1, 1, p.l2_bytes, p.ways, p.locks, p.dram_bytes,
            controller.cycles, self._jobs(), controller.stores_under_way,
        ]  # fmt: skip
        with m.If(controller.request.store):
            self._refuse(m, Fault.READ_ONLY)
        with m.Elif(controller.request.size != 3):
            self._refuse(m, Fault.WORDS)
        with m.Elif(offset >= len(values)):
            self._refuse(m, Fault.NOTHING_THERE)
        with m.Else():
            with m.Switch(offset):
                for number, value in enumerate(values):
                    with m.Case(number):
                        m.d.comb += controller.shown.eq(value)
            m.d.comb += [
                controller.keeps_shown.eq(1),
                controller.responds.eq(1),
                controller.responds_value.eq(1),
            ]

    def _jobs(self) -> Value:
        combining = self.controller.combining
        waits = Const(0) if combining is None else ~combining.is_empty
        return self.controller.jobs.waiting + waits

    # Places elsewhere.

    def _elsewhere(self, m: Module) -> None:
        controller, request = self.controller, self.controller.request
        combining = controller.combining
        with m.If(request.store):
            if combining is not None:
                with m.If(combining.fits):
                    m.d.comb += [combining.put.eq(1), controller.responds.eq(1)]
                with m.Else():
                    m.d.comb += [controller.drains.eq(1), controller.tries_again.eq(1)]
            else:
                self._send(m, Operation.STORE)
        with m.Else():
            self._send(m, Operation.LOAD)

    def _send(self, m: Module, operation: Operation) -> None:
        controller, payload = self.controller, self.controller.jobs.payload
        with m.If(controller.must_wait):
            m.d.comb += [controller.tries_again.eq(1), controller.drains.eq(1)]
        with m.Else():
            m.d.comb += [controller.pushes_job.eq(1), controller.new_job.operation.eq(operation)]
            if operation == Operation.STORE:
                m.d.comb += [
                    controller.responds.eq(1),
                    payload.push.eq(1),
                ]
            else:
                m.d.comb += controller.waits.eq(1)
