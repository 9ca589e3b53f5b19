"""What is to be sent: the job list, and what waits beside it.

The job list is a FIFO that recycles (Section 3.1): a copy makes one packet and goes to its end, so
that short transfers do not wait behind long ones. Words that belong to jobs (a store's, an item's)
stand in a FIFO of their own: jobs that have such words are never recycled, so both keep one order.
Acknowledgements and answers to loads go before jobs; they need few bits.
"""

from amaranth.hdl import Elaboratable, Module, Signal, Value, unsigned
from amaranth.lib import data
from amaranth.lib.memory import Memory

from narthex.hardware.cache.formats import ADDRESS_BITS, BYTES_BITS
from narthex.hardware.cache.parameters import LINE_WORDS, Parameters

COMMAND = 10
"""A job that is described in its line: a command's, in its buffer."""
NOTIFICATION = 11
"""The words that a counter sends."""


def job_layout(parameters: Parameters) -> data.StructLayout:
    """Return what a job says: an operation of `formats.Operation`, or one of those above."""
    return data.StructLayout(
        {
            "operation": unsigned(4),
            "source": unsigned(ADDRESS_BITS),  # also the line of a command or a counter
            "destination": unsigned(ADDRESS_BITS),
            "acknowledgement": unsigned(ADDRESS_BITS),  # 0: none
            "bytes": unsigned(BYTES_BITS),
            "tile": unsigned(parameters.tile_bits),
            "process": unsigned(parameters.process_bits),
        }
    )


def acknowledgement_layout(parameters: Parameters) -> data.StructLayout:
    """Return what an acknowledgement says."""
    return data.StructLayout(
        {
            "destination": unsigned(ADDRESS_BITS),
            "bytes": unsigned(7),
            "tile": unsigned(parameters.tile_bits),
            "process": unsigned(parameters.process_bits),
        }
    )


def answer_layout(parameters: Parameters) -> data.StructLayout:
    """Return what a processor of another tile gets."""
    return data.StructLayout(
        {
            "value": unsigned(64),
            "tile": unsigned(parameters.tile_bits),
            "process": unsigned(parameters.process_bits),
        }
    )


class Fifo(Elaboratable):
    """A FIFO in distributed memory: what is oldest is seen without being asked for."""

    def __init__(self, layout: data.StructLayout | int, entries: int) -> None:
        self.entries = entries
        self.layout = layout
        self.push = Signal()
        self.input = Signal(layout)
        self.pop = Signal()
        self.output = Signal(layout)
        self.count = Signal(range(entries + 1))
        self.is_empty = Signal()

    def elaborate(self, platform: object) -> Module:
        """Build it."""
        m = Module()
        bits = len(self.input.as_value()) if hasattr(self.input, "as_value") else len(self.input)
        m.submodules.memory = memory = Memory(shape=unsigned(bits), depth=self.entries, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        first, last = Signal(range(self.entries)), Signal(range(self.entries))
        m.d.comb += [
            write.addr.eq(last),
            write.data.eq(self.input),
            write.en.eq(self.push),
            read.addr.eq(first),
            self.output.eq(read.data),
            self.is_empty.eq(self.count == 0),
        ]
        with m.If(self.push):
            m.d.sync += last.eq(last + 1)
        with m.If(self.pop):
            m.d.sync += first.eq(first + 1)
        m.d.sync += self.count.eq(self.next_count())
        return m

    def next_count(self) -> Value:
        """Return how many there are in the next cycle."""
        return self.count + self.push - self.pop


class Jobs(Elaboratable):
    """The job list, its payload, acknowledgements and answers.

    Two levels of room keep the list from overrunning: a processor's request needs a few entries
    more than a packet, and the engine's own job always finds the entry that it has left.
    """

    KEPT_ENTRIES = 2
    """Of the job list, which a packet finds: one for it, one for a request in the pipeline."""

    def __init__(self, parameters: Parameters) -> None:
        self.list = Fifo(job_layout(parameters), parameters.job_entries)
        self.payload = Fifo(64, parameters.payload_words)
        self.acknowledgements = Fifo(acknowledgement_layout(parameters), parameters.answer_entries)
        # A processor waits for one answer at a time.
        self.answers = Fifo(answer_layout(parameters), parameters.tiles)
        # The engine has taken a job that may come back.
        self.is_out = Signal()
        self.has_room_for_packets = Signal()
        self.has_room_for_requests = Signal()
        self.has_room_for_item = Signal()
        self.waiting = Signal(range(parameters.job_entries + 2 * parameters.answer_entries + 8))

    def elaborate(self, platform: object) -> Module:
        """Build it."""
        m = Module()
        m.submodules.list, m.submodules.payload = self.list, self.payload
        m.submodules.acknowledgements = self.acknowledgements
        m.submodules.answers = self.answers
        used = self.list.count + self.is_out
        words = self.payload.count
        most, most_words = self.list.entries, self.payload.entries
        m.d.comb += [
            # An item of a queue takes up to a line's words.
            self.has_room_for_item.eq(words <= most_words - LINE_WORDS),
            self.has_room_for_packets.eq(
                (used <= most - self.KEPT_ENTRIES)
                & (words <= most_words - 2 * LINE_WORDS)
                & (self.acknowledgements.count <= self.acknowledgements.entries - 2)
            ),
            self.has_room_for_requests.eq(
                (used < most - self.KEPT_ENTRIES) & (words <= most_words - 3 * LINE_WORDS)
            ),
            self.waiting.eq(used + self.acknowledgements.count + self.answers.count),
        ]
        return m
