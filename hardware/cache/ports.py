"""The ports of a controller. `In` and `Out` are seen from the controller.

A transfer happens in a cycle in which `valid` and `ready` are both high.

| port | what |
| --- | --- |
| `processor` | requests of the first level: its misses, its write-through stores |
| `response` | one for each request, in their order |
| `network_in` | a stream of flits for each lane |
| `network_out` | one stream of flits, a packet without a gap in its lane |
| `table` | the second port of the table of regions (Section 3.1), asked and answered in one cycle |
| `lines`, `words` | the arrays of states and tags, and of data |
| `landed`, `arrived` | a remote store is where it was to go: told to, and by, the crossbar |
| `fault`, `invalidate` | what went wrong in packets and jobs; a line that the first level loses |
"""

from amaranth.hdl import unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from narthex.hardware.cache.formats import ADDRESS_BITS, BYTES_BITS, Fault, state_layout
from narthex.hardware.cache.parameters import Parameters

LANES = 3
FAULT_BITS = max(Fault).bit_length()


class Requests(wiring.Signature):
    """Requests of a processor; its data are on the byte lanes of their aligned word."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "ready": In(1),
                "address": Out(ADDRESS_BITS),  # of the hardware: the table has translated it
                "store": Out(1),
                "size": Out(2),  # 1, 2, 4 or 8 bytes, aligned
                "data": Out(64),
                "process": Out(parameters.process_bits),
                "privileged": Out(1),  # the operating system: it locks lines and gives them back
            }
        )


class Responses(wiring.Signature):
    """What a request led to; always taken."""

    def __init__(self) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "data": Out(64),  # the whole aligned word
                "fault": Out(FAULT_BITS),
                "keep": Out(1),  # the first level may keep the line
            }
        )


class FlitsIn(wiring.Signature):
    """The flits of all lanes, seen from the network."""

    def __init__(self) -> None:
        super().__init__(
            {
                "valid": Out(LANES),
                "ready": In(LANES),
                "last": Out(LANES),
                "data": Out(data.ArrayLayout(64, LANES)),
            }
        )


class FlitsOut(wiring.Signature):
    """Flits that leave.

    `ready` of a lane promises room for a whole packet when its first flit is taken: a packet has no
    gap for which the controller would have to wait for the network.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "ready": In(LANES),
                "first": Out(1),
                "last": Out(1),
                "lane": Out(2),
                "target": Out(8),
                "data": Out(64),
            }
        )


class Table(wiring.Signature):
    """A look-up in the table of regions, in one cycle."""

    def __init__(self) -> None:
        super().__init__(
            {
                "address": Out(ADDRESS_BITS),
                "bytes": Out(BYTES_BITS),
                "store": Out(1),
                "place": In(ADDRESS_BITS),
                "granted": In(1),
            }
        )


class LineArray(wiring.Signature):
    """States and tags of all lines.

    What is read appears a cycle later, with what is written in the cycle of the request: the array
    hides no write from a read of the same set. Until the next read it stays.
    """

    def __init__(self, parameters: Parameters) -> None:
        state = state_layout(parameters)
        super().__init__(
            {
                "read_enable": Out(1),
                "read_set": Out(parameters.set_bits),
                "states": In(data.ArrayLayout(state, parameters.ways)),
                "tags": In(data.ArrayLayout(unsigned(parameters.tag_bits), parameters.ways)),
                "write_ways": Out(parameters.ways),  # one bit at most
                "write_set": Out(parameters.set_bits),
                "write_state": Out(state),
                "write_tag": Out(parameters.tag_bits),
            }
        )


class WordArray(wiring.Signature):
    """The data, one word in a cycle; what is read appears a cycle later."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(
            {
                "enable": Out(1),
                "address": Out(parameters.line_bits + 3),  # way, set, word
                "write_bytes": Out(8),  # none: a read
                "write_data": Out(64),
                "read_data": In(64),
            }
        )


class Faults(wiring.Signature):
    """A packet or job that the hardware has refused and dropped.

    A processor's own access says so in its response.
    """

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "code": Out(FAULT_BITS),
                "tile": Out(parameters.tile_bits),  # whose processor began it
                "address": Out(ADDRESS_BITS),
            }
        )


class Lines(wiring.Signature):
    """A line, named for one cycle."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__({"valid": Out(1), "line": Out(parameters.line_bits)})


class Landed(wiring.Signature):
    """A remote store has been taken in: the tile whose processor made it."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__({"valid": Out(1), "tile": Out(parameters.tile_bits)})


class Observed(wiring.Signature):
    """What happens within, for whoever compares the hardware with a model; for one cycle each."""

    def __init__(self) -> None:
        super().__init__(
            {
                "quiet": Out(1),  # nothing is under way
                "request": Out(1),  # a request of the processor has taken effect
                "packet": Out(1),  # a packet that came has
                "job": Out(1),  # the engine has chosen what it sends next
                "expired": Out(1),  # stores leave the combining buffer because of their time
                "refused_request": Out(1),
                "refused_packet": Out(1),
                "refused_job": Out(1),
            }
        )


def signature(parameters: Parameters) -> wiring.Signature:
    """Return all ports of a controller."""
    members = {
        "tile": In(parameters.tile_bits),  # its own number, a constant
        "processor": In(Requests(parameters)),
        "response": Out(Responses()),
        "network_in": In(FlitsIn()),
        "network_out": Out(FlitsOut()),
        "lines": Out(LineArray(parameters)),
        "words": Out(WordArray(parameters)),
        "fault": Out(Faults(parameters)),
    }
    if parameters.scratchpad:
        members |= {
            "cycles": In(64),  # the global timer
            "table": Out(Table()),
            "landed": Out(Landed(parameters)),
            "arrived": In(1),
            "invalidate": Out(Lines(parameters)),
        }
    return wiring.Signature(members)
