"""Encodings: addresses, packets, states of lines, faults. As in `interfaces/src/sarc`.

Addresses of the hardware have 37 bits. Below bit 36 is memory that is cached; above it

```text
  36  35  34   33 32   31 .. 27   26 .. 20   19      18 .. 0
 | 1 | 0 | 0 | area  |  chip    |  tile    | state | offset
   area 0: a tile's window, 1: registers (bit 20: lock box), 2: DRAM that is not cached
```

and an offset in a window is way, set, word, byte: `| way | set | word | byte |`.

A packet is a row of 64-bit flits. Its header has operation and bytes where word 0 of a command
buffer has them; destination, acknowledgement and source follow in the order of the command's words:

```text
  flit 0   operation 7:0 | bytes 24:8 | acknowledged 25 | origin: tile 38:32, process 51:44
  flit 1   destination: where bytes are written; of ANSWER the value
  flit 2   acknowledgement's address, if bit 25 is set
  then     READ, LOAD: source. WRITE, STORE, REPLY: data
```

| operation | lane | flits | bytes |
| --- | --- | --- | --- |
| WRITE, STORE, REPLY | 1 | 0, 1, (2), data: words at the byte lanes of the destination | 1 to 64 |
| READ | 0 | 0, 1, (2), source | 1 to 65536 |
| LOAD | 0 | 0, source | 1, 2, 4, 8 |
| ANSWER | 1 | 0, the whole aligned word | 8 |
| ACKNOWLEDGEMENT | 2 | 0, destination | those that were written |

The cache writes a line back by a WRITE of 64 bytes to memory, and fills one by a READ of 64 bytes
from there, whose destination is the line's own place in the window: memory answers with a WRITE,
without an acknowledgement.
"""

import enum

from amaranth.hdl import unsigned
from amaranth.lib import data

from narthex.hardware.cache.parameters import Parameters

ADDRESS_BITS = 37
BYTES_BITS = 17

WINDOW = 0x10_0000_0000
WINDOW_BYTES = 1 << 20
STATE = 0x8_0000
STATE_BYTES = 16
REGISTERS = 0x11_0000_0000
DRAM = 0x12_0000_0000
INTERLEAVE_BYTES = 4096
"""Bytes of DRAM that one request reads at most, up to the next multiple of it."""


class Role(enum.IntEnum):
    """What a line is."""

    CACHE = 0
    SCRATCHPAD = 1
    COMMAND_BUFFER = 2
    COUNTER = 3
    SINGLE_READER_QUEUE = 4
    MULTIPLE_READER_QUEUE = 5


class Operation(enum.IntEnum):
    """What a packet asks for. The first four are also those of commands."""

    COPY = 1
    """Only in a command: packets are WRITE or READ."""
    WRITE = 2
    """Bytes of a command or a copy are written; MESSAGE in a command."""
    WRITE_WORD = 3
    """The same; STORE in a command."""
    READ = 4
    """Bytes are sent to a destination."""
    STORE = 5
    """A store of a processor is written."""
    REPLY = 6
    """A queue's item is written where its reader wants it."""
    LOAD = 7
    """A word is sent to the processor of the origin's tile."""
    ANSWER = 8
    """What that processor gets."""
    ACKNOWLEDGEMENT = 9
    """So many bytes have been written."""


class Lane(enum.IntEnum):
    """Priorities of the network; a packet never waits for one of a lane below (Section 4)."""

    READ = 0
    WRITE = 1
    ACKNOWLEDGEMENT = 2


class Fault(enum.IntEnum):
    """What is wrong with an access."""

    NONE = 0
    NOTHING_THERE = 1
    """Nothing is at the address."""
    CACHED_LINE = 2
    """The cache has the line."""
    OTHER_OWNER = 3
    """The line belongs to another process."""
    ROLE = 4
    """There is no such role, or the hardware was built without it."""
    STORED_TWICE = 5
    """A command's word is stored twice, or while it waits."""
    COMMAND = 6
    """There is no such operation, or not of so many bytes."""
    WORDS = 7
    """A line that is sensitive to events is accessed by whole words."""
    SHAPE = 8
    """A queue has no shape, or an item is longer than its shape says."""
    POINTER = 9
    """A queue's head cannot go there; its tail cannot be stored; its items not be loaded so."""
    FULL = 10
    """A queue has no room."""
    REGION = 11
    """The table of regions refuses an address of a command or a notification."""
    ALIGNMENT = 12
    """A copy is not of whole aligned words, and there is no barrel shifter."""
    READ_ONLY = 13
    """A register is stored to."""
    NO_WAY = 14
    """No way of the set is left to the cache."""


QUEUED = 1 << 8
"""Tag of a command buffer that is complete: its job has not been taken from the list."""

TARGET_MEMORY = 0x80
"""Target of a packet that goes to memory or DRAM; else its tile's number."""


def state_layout(parameters: Parameters) -> data.StructLayout:
    """Return what the state array keeps of a line beside its tag."""
    fields: dict[str, int] = {"role": 3} if parameters.scratchpad else {}
    if parameters.cache:
        fields |= {"valid": 1, "dirty": 1, "filling": 1}
    if parameters.scratchpad:
        fields |= {"shared": 1, "selected": 1, "owner": parameters.process_bits}
    return data.StructLayout({name: unsigned(bits) for name, bits in fields.items()})


def header_layout() -> data.FlexibleLayout:
    """Return flit 0 of a packet."""
    return data.FlexibleLayout(
        64,
        {
            "operation": data.Field(unsigned(8), 0),
            "bytes": data.Field(unsigned(BYTES_BITS), 8),
            "acknowledged": data.Field(unsigned(1), 25),
            "tile": data.Field(unsigned(7), 32),
            "process": data.Field(unsigned(8), 44),
        },
    )


class Space:
    """The parts of an address of the hardware."""

    def __init__(self, parameters: Parameters, address: object) -> None:
        """`address` is a value of `ADDRESS_BITS` bits."""
        self.is_cached = ~address[36]
        area = address[32:36]
        self.is_window = address[36] & (area == 0)
        self.is_register = address[36] & (area == 1)
        self.is_dram = address[36] & (area == 2)
        self.tile = address[20:27]
        self.chip = address[27:32]
        self.is_state = address[19]
        offset = parameters.line_bits + 6
        self.is_in_l2 = (address[offset:19] == 0) if offset < 19 else 1
        self.is_in_states = address[parameters.line_bits + 4 : 19] == 0
        self.set = address[6 : 6 + parameters.set_bits]
        self.way = address[6 + parameters.set_bits : 6 + parameters.line_bits]
        self.word = address[3:6]
        self.state_set = address[4 : 4 + parameters.set_bits]
        self.state_way = address[4 + parameters.set_bits : 4 + parameters.line_bits]
