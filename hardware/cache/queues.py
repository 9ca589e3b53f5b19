"""Queues in scratchpad: a descriptor, and the lines of its items behind it (Section 3.3).

```text
  SHAPE_ASK ─► SHAPE ─► DECIDE ─► SLOT ─┬─► PUT ─► (FLIT, PUT) ─► PAD ─► item is in its slot
                          │             ├─► REQUEST ─► PUT ... ─► MATCH ─► reader gets the item
                    count, head         ├─► GET_SLOT ─► reader gets the item
                                        └─► request is in its slot
```

Head and tail stand in the descriptor's tag and count to twice the items: a full queue is told from
an empty one. One with several readers holds items or requests for them: "a pair of queues
overlapped in the same scratchpad space". An item's slot is in one line, whose state is looked up
before anything happens there: it has to be scratchpad of the descriptor's owner.

A request takes one word: bit 63 a processor's, tile 15:0; else bit 62 acknowledged, destination
33:3 at 31, acknowledgement 33:3 at 0.
"""

from typing import TYPE_CHECKING

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed

from narthex.hardware.cache.formats import ADDRESS_BITS, Fault, Operation, Role, state_layout

if TYPE_CHECKING:
    from amaranth.hdl._dsl import FSM

    from narthex.hardware.cache.events import Events

POINTER_BITS = 14
"""A queue has up to 2^13 items; pointers count twice round."""
TAIL, HEAD, SHAPE = 1, 2, 3
REQUESTS = 32
"""Bit of the tag: the queue holds requests."""
PLACE = slice(3, 34)
"""Bits of an address in a request."""


class Queues:
    """States of the events for queues."""

    def __init__(self, events: "Events") -> None:
        self.events = events
        self.has_several_readers = events.parameters.multiple_reader_queues
        # The descriptor, as it was looked up.
        self.head, self.tail = Signal(POINTER_BITS), Signal(POINTER_BITS)
        self.holds_requests = Signal()
        self.state = Signal(state_layout(events.parameters))
        self.words = Signal(4)
        self.items = Signal(POINTER_BITS)
        # What is done: an item comes, a reader comes, head or count is accessed.
        self.is_item = Signal()
        self.is_delivered = Signal()  # the item goes to a reader that has waited
        self.is_processors = Signal()  # that is a processor
        self.moved = Signal(4)
        self._line = events.place[3:]
        self.used, self.mask = Signal(POINTER_BITS), Signal(POINTER_BITS)
        self.is_full, self.is_at_head = Signal(), Signal()
        self.next_pointer = Signal(POINTER_BITS)
        self.slot = Signal(len(events.place))

    # Accesses, in the cycle of their look-up.

    def store(self, m: Module) -> None:
        """Add the stores to descriptors to the switch of roles."""
        events = self.events
        kinds = self._kinds()
        for role in kinds:
            with m.Case(role):
                with m.If(events.word == 0):
                    with m.If(events.controller.lacks_room):
                        m.d.comb += events.controller.tries_again.eq(1)
                        events.finish(m)
                    with m.Else():
                        self._begin(m)
                with m.Elif(events.word == TAIL):
                    events.refuse(m, Fault.POINTER)
                if role == Role.SINGLE_READER_QUEUE:
                    with m.Elif(events.word == HEAD):
                        self._begin(m)
                with m.Else():
                    events.write_word(m)
                    events.finish(m)

    def load(self, m: Module) -> None:
        """Add the loads of descriptors to the switch of roles."""
        events = self.events
        if Role.SINGLE_READER_QUEUE in self._kinds():
            with m.Case(Role.SINGLE_READER_QUEUE):
                with m.If(events.word == 0):
                    events.refuse(m, Fault.POINTER)
                with m.Elif((events.word == TAIL) | (events.word == HEAD)):
                    events.show(m)
                with m.Else():
                    events.load(m)
        if self.has_several_readers:
            with m.Case(Role.MULTIPLE_READER_QUEUE):
                with m.If(events.word <= TAIL):
                    self._begin(m)
                with m.Else():
                    events.load(m)

    def show(self, m: Module) -> None:
        """Add what descriptors show to the switch of roles."""
        events, tag = self.events, self.events.tag
        if Role.SINGLE_READER_QUEUE in self._kinds():
            head, tail = tag[:POINTER_BITS], tag[16 : 16 + POINTER_BITS]
            with m.Case(Role.SINGLE_READER_QUEUE):
                m.d.comb += events.shown.eq(Mux(events.word == HEAD, head, tail))
        if self.has_several_readers:
            # No wider than it has to be: a bit that is another's copy makes a loop of the whole
            # word, for which a simulation takes each cycle twice.
            count = Signal(signed(POINTER_BITS + 1))
            m.d.comb += count.eq(Mux(self.holds_requests, -self.used, self.used))
            with m.Case(Role.MULTIPLE_READER_QUEUE):
                m.d.comb += events.shown.eq(count)

    def _kinds(self) -> list[Role]:
        p = self.events.parameters
        kinds = {
            Role.SINGLE_READER_QUEUE: p.single_reader_queues,
            Role.MULTIPLE_READER_QUEUE: p.multiple_reader_queues,
        }
        return [role for role, is_there in kinds.items() if is_there]

    def _begin(self, m: Module) -> None:
        tag = self.events.tag
        m.d.sync += [
            self.head.eq(tag[:POINTER_BITS]),
            self.tail.eq(tag[16 : 16 + POINTER_BITS]),
            self.holds_requests.eq(tag[REQUESTS]),
            self.state.eq(self.events.controller.lookup.state),
            self.is_item.eq(self.events.is_store),
            self.is_delivered.eq(0),
            self.is_processors.eq(0),
            self.moved.eq(0),
        ]
        m.next = "SHAPE_ASK"

    # The states.

    def states(self, m: Module) -> None:
        """Add the states."""
        events = self.events
        read = events.controller.words.read_data
        with m.State("SHAPE_ASK"):
            events.read_word(m, SHAPE)
            m.next = "SHAPE"
        with m.State("SHAPE"):
            m.d.sync += [self.words.eq(read[:4]), self.items.eq(read[16 : 16 + POINTER_BITS])]
            is_wrong = read[4:16].any() | read[16 + POINTER_BITS :].any()
            is_wrong |= ~_is_power(read[:4]) | ~_is_power(read[16 : 16 + POINTER_BITS])
            m.next = "DECIDE"
            with m.If(is_wrong):
                events.refuse(m, Fault.SHAPE)
        with m.State("DECIDE"):
            self._decide(m)
        with m.State("SLOT"):
            self._check_slot(m)
        with m.State("PUT"):
            self._put_word(m)
        with m.State("FLIT"), m.If(events.valid):
            self._put_word(m)
        with m.State("PAD"):
            m.d.comb += events.controller.pads.eq(1)
            self._move(m)
            self._count(m)
        if self.has_several_readers:
            self._requests(m, read)

    def is_ongoing(self, states: "FSM") -> Value:
        """Return whether one of the states goes on that know the queue's shape."""
        names = ["DECIDE", "SLOT", "PUT", "FLIT", "PAD"]
        if self.has_several_readers:
            names += ["REQUEST", "MATCH_ASK", "MATCH", "GET_SLOT_ASK", "GET_SLOT"]
        return Cat(states.ongoing(name) for name in names).any()

    def pointers(self, m: Module) -> None:
        """Build what all states know: how far the pointers are apart, which slot is meant."""
        mask, pointer, number = self.mask, Signal(POINTER_BITS), Signal(POINTER_BITS)
        m.d.comb += [
            mask.eq(self.range_of(self.items) - 1),
            self.used.eq((self.tail - self.head) & mask),
            self.is_full.eq(self.used == self.items),
            pointer.eq(Mux(self.is_at_head, self.head, self.tail)),
            self.next_pointer.eq((pointer + 1) & mask),
            number.eq(pointer & (mask >> 1)),
        ]
        # An item reaches the head if requests wait, a reader if items do.
        has_other_kind = (self.used != 0) & (self.holds_requests == self.is_item)
        m.d.comb += self.is_at_head.eq(has_other_kind if self.has_several_readers else 0)
        begin = Signal(POINTER_BITS + 3)
        with m.Switch(self.words):
            for shift in range(4):
                with m.Case(1 << shift):
                    m.d.comb += begin.eq(number << shift)
        m.d.comb += [
            self.slot.eq(Cat(Const(0, 3), self._line) + 8 + begin),
            self.events.controller.slot_line.eq(self.slot[3:]),
        ]

    def _decide(self, m: Module) -> None:
        """Find out what the access does, and look the line of its slot up."""
        events, controller = self.events, self.events.controller
        word = events.word
        is_item_or_reader = Signal()
        m.d.comb += is_item_or_reader.eq(word == 0)
        with m.If(is_item_or_reader):
            m.d.comb += controller.looks_up.eq(1)
            m.d.sync += self.is_delivered.eq(self.is_item & self.is_at_head)
            m.next = "SLOT"
            with m.If(~self.is_at_head & self.is_full):
                events.refuse(m, Fault.FULL)
        with m.Elif(word == HEAD):
            self._set_head(m)
        with m.Else():
            events.show(m)

    def _set_head(self, m: Module) -> None:
        """Take items out: their reader has them."""
        events = self.events
        value = events.data[:POINTER_BITS]
        left = Signal(POINTER_BITS)
        m.d.comb += left.eq((self.tail - value) & self.mask)
        is_beyond = events.data[POINTER_BITS:].any() | (value & ~self.mask).any()
        with m.If(is_beyond | (left > self.used)):
            events.refuse(m, Fault.POINTER)
        with m.Else():
            self._commit(m, value, self.tail, 0)

    def _check_slot(self, m: Module) -> None:
        """Go on if the line of the slot is scratchpad of the same owner."""
        events = self.events
        slot = events.controller.lookup.state
        m.d.comb += events.controller.sees_slot.eq(1)
        with m.If(~self.is_its(slot)):
            events.refuse(m, Fault.SHAPE)
        with m.Elif(self.is_item & ~self.is_delivered):
            m.d.comb += events.controller.changes_slot.eq(slot.selected)
            m.next = "PUT"
        if self.has_several_readers:
            with m.Elif(self.is_item):
                self._use_slot(m)
                events.read_word(m)
                m.next = "REQUEST"
            with m.Elif(self.is_at_head):
                m.next = "GET_SLOT_ASK"
            with m.Else():
                m.d.comb += events.controller.changes_slot.eq(slot.selected)
                self._park(m)

    def is_its(self, slot: Value) -> Value:
        """Return whether the line of a slot is the queue's own."""
        return (slot.role == Role.SCRATCHPAD) & (slot.owner == self.state.owner)

    @staticmethod
    def range_of(items: Value) -> Value:
        """Return how far pointers count: twice round, so that full is not empty."""
        return items << 1

    def _commit(self, m: Module, head: Value, tail: Value, requests: Value | int) -> None:
        """Write the descriptor's tag; the access is over."""
        self._write_tag(m, head, tail, requests)
        self.events.finish(m)

    def _write_tag(self, m: Module, head: Value, tail: Value, requests: Value | int) -> None:
        controller = self.events.controller
        gap = Const(0, 16 - POINTER_BITS)
        m.d.comb += controller.lines.write_state.eq(self.state)
        self.events.set_tag(m, Cat(head, gap, tail, gap, requests))

    # Items that come.

    def _put_word(self, m: Module) -> None:
        """Move the item's next word: the access has it."""
        with m.If(self.moved == self.words):
            self.events.refuse(m, Fault.SHAPE)
        with m.Else():
            self._move(m)
            m.d.comb += self.events.controller.keeps_data.eq(self.moved == 0)
            with m.If(self.events.is_last):
                self._count(m)
            with m.Else():
                m.d.sync += self.moved.eq(self.moved + 1)
                m.next = "FLIT"

    def _move(self, m: Module) -> None:
        """Put a word into the slot, or behind the payload; of a processor it gets the first one."""
        events = self.events
        with m.If(~self.is_delivered):
            self._use_slot(m)
            events.write_word(m)
        with m.Elif(~self.is_processors):
            events.push_payload(m)

    def _use_slot(self, m: Module) -> None:
        """Mean the word of the slot, not one of the descriptor."""
        m.d.comb += [
            self.events.controller.uses_slot.eq(1),
            self.events.chosen_word.eq(self.slot[:3] | self.moved[:3]),
        ]

    def _count(self, m: Module) -> None:
        """Fill the slot up, then let the queue know."""
        m.d.sync += self.moved.eq(self.moved + 1)
        m.next = "PAD"
        with m.If(self.moved + 1 == self.words):
            if self.has_several_readers:
                with m.If(self.is_delivered):
                    m.next = "MATCH_ASK"
                with m.Else():
                    self._commit(m, self.head, self.next_pointer, 0)
            else:
                self._commit(m, self.head, self.next_pointer, 0)

    # Readers.

    def _park(self, m: Module) -> None:
        """Keep a request: the reader waits."""
        events, controller = self.events, self.events.controller
        self._use_slot(m)
        events.write_word(m)
        m.d.comb += [
            controller.parks.eq(1),
            controller.waits.eq(events.is_request),
            controller.engine.served.eq(events.is_engine),
        ]
        self._commit(m, self.head, self.next_pointer, 1)

    def request(self) -> Value:
        """Return the reader's request, as it stands in a queue."""
        controller = self.events.controller
        tile, acknowledgement = controller.origin_tile, controller.reader_acknowledgement
        to_processor = Cat(tile, Const(0, 63 - len(tile)), Const(1, 1))
        to_memory = Cat(
            acknowledgement[PLACE],
            controller.reader_destination[PLACE],
            acknowledgement != 0,
            Const(0, 1),
        )
        return Mux(self.events.is_memory, to_memory, to_processor)

    def _requests(self, m: Module, read: Value) -> None:
        events, controller = self.events, self.events.controller
        with m.State("REQUEST"):
            m.d.sync += self.is_processors.eq(read[63])
            m.next = "PUT"
        with m.State("MATCH_ASK"):
            self._use_slot(m)
            events.read_word(m, self.slot[:3])
            m.next = "MATCH"
        with m.State("MATCH"):
            self._match(m, read)
        with m.State("GET_SLOT_ASK"):
            self._use_slot(m)
            events.read_word(m)
            m.next = "GET_SLOT"
            with m.If(events.is_request):
                m.d.comb += controller.responds_word.eq(1)
                self._commit(m, self.next_pointer, self.tail, 0)
        with m.State("GET_SLOT"):
            self._get(m)

    def _match(self, m: Module, read: Value) -> None:
        """Send the item to the reader that has waited longest."""
        events, controller = self.events, self.events.controller
        tile = read[: events.parameters.tile_bits]
        with m.If(~read[63]):
            events.push_job(m, Operation.REPLY)
            m.d.comb += [
                controller.new_job.destination.eq(_address(read[31:62], Const(1, 1))),
                controller.new_job.acknowledgement.eq(_address(read[:31], read[62])),
                controller.new_job.bytes.eq(self.words << 3),
            ]
        with m.Elif(tile == controller.tile):
            m.d.comb += controller.delivers.eq(1)
        with m.Else():
            m.d.comb += controller.gives_value.eq(1)
            events.push_answer(m, tile)
        self._commit(m, self.next_pointer, self.tail, 1)

    def _get(self, m: Module) -> None:
        """Give a word of the oldest item to a reader that is no own processor."""
        events, controller = self.events, self.events.controller
        m.d.sync += self.moved.eq(self.moved + 1)
        events.give_read(m)
        with m.If(~events.is_memory):
            events.push_answer(m, controller.origin_tile)
            self._commit(m, self.next_pointer, self.tail, 0)
        with m.Else():
            events.push_payload(m)
            m.next = "GET_SLOT_ASK"
            with m.If(self.moved + 1 == self.words):
                events.push_job(m, Operation.REPLY)
                m.d.comb += [
                    controller.new_job.bytes.eq(self.words << 3),
                    controller.engine.served.eq(events.is_engine),
                ]
                self._commit(m, self.next_pointer, self.tail, 0)


def _is_power(value: Value) -> Value:
    return (value != 0) & ((value & (value - 1)[: len(value)]) == 0)


def _address(place: Value, is_there: Value) -> Value:
    """Return the address of a request: above bit 33 there is but one form."""
    return Cat(Const(0, 3), place, Const(0, 2), is_there)[:ADDRESS_BITS]
