"""What a cache with its network interface is built with: sizes, and the bars of Figure 7.

A parameter of type `bool` is a mechanism. What is off is not there: no register, no gate.
"""

from dataclasses import dataclass, replace

LINE_BYTES = 64
LINE_WORDS = 8


@dataclass(frozen=True)
class Parameters:
    """The parameters of a controller. Sizes are powers of two."""

    cache: bool = True
    """It caches memory: tags are compared, lines replaced, filled and written back."""
    scratchpad: bool = True
    """Lines are scratchpad, command buffers; packets read and write them (Sections 3.1, 3.3)."""
    counters: bool = False
    """Lines are counters, which notify (Section 3.3)."""
    single_reader_queues: bool = False
    """Lines are queues with one reader."""
    multiple_reader_queues: bool = False
    """Lines are queues whose readers wait for items."""
    barrel_shifter: bool = False
    """Copies are made at any alignment, not only of whole aligned words (Section 4.1)."""
    combining: bool = False
    """Remote stores wait for those that continue them within a line (Section 4.1)."""

    l2_bytes: int = 65536
    """Bytes of the data array (Section 4)."""
    ways: int = 4
    """Its ways: with fewer sets a line's address needs a longer tag."""
    tiles: int = 4
    """Tiles of the chip (Section 4)."""
    processes: int = 4
    """Processes among which lines are protected, beside what the table of regions grants."""
    memory_bits: int = 32
    """Bits of the addresses of memory that is cached, a MicroBlaze's."""
    job_entries: int = 16
    """Entries of the job list (Section 3.1)."""
    answer_entries: int = 8
    """Acknowledgements and answers that wait to leave."""
    payload_words: int = 64
    """Words that wait with their jobs: of stores, answers to reads, items of queues."""
    counter_bits: int = 64
    """Bits of a counter in its line's tag; a load extends its sign."""
    combining_cycles: int = 4
    """Cycles for which a store waits for the next one, at most."""
    dram_bytes: int = 64 << 20
    """Non-cacheable DRAM of the chip; no logic depends on it but the register's value."""
    locks: int = 16
    """Locks of the lock box, which stands elsewhere: the register's value."""

    @property
    def sets(self) -> int:
        """Sets of the cache."""
        return self.l2_bytes // LINE_BYTES // self.ways

    @property
    def set_bits(self) -> int:
        """Bits of a set's number."""
        return bits_of(self.sets)

    @property
    def way_bits(self) -> int:
        """Bits of a way's number."""
        return bits_of(self.ways)

    @property
    def line_bits(self) -> int:
        """Bits of a line's number: way, then set."""
        return self.set_bits + self.way_bits

    @property
    def tile_bits(self) -> int:
        """Bits of a tile's number."""
        return bits_of(self.tiles)

    @property
    def process_bits(self) -> int:
        """Bits of a process's number."""
        return bits_of(self.processes)

    @property
    def queues(self) -> bool:
        """Whether lines are queues of any kind."""
        return self.single_reader_queues or self.multiple_reader_queues

    @property
    def cache_tag_bits(self) -> int:
        """Bits of the part of a memory address that is compared."""
        return self.memory_bits - self.set_bits - bits_of(LINE_BYTES)

    @property
    def tag_bits(self) -> int:
        """Bits of an entry of the tag array: the most that a role keeps there."""
        return max(
            self.cache_tag_bits if self.cache else 1,
            9 if self.scratchpad else 1,
            33 if self.queues else 1,
            self.counter_bits if self.counters else 1,
        )


def bits_of(number: int) -> int:
    """Return the bits that number so many things; at least one."""
    if number < 1 or number & (number - 1):
        raise ValueError(f"{number} is no power of two")
    return max(1, number.bit_length() - 1)


CACHE_ONLY = Parameters(scratchpad=False)
INTEGRATED = Parameters()
SCRATCHPAD_ONLY = Parameters(cache=False)
ADVANCED = replace(
    INTEGRATED, counters=True, multiple_reader_queues=True, single_reader_queues=True
)
EVERYTHING = replace(ADVANCED, barrel_shifter=True, combining=True)

VARIANTS: dict[str, Parameters] = {
    "cache-only": CACHE_ONLY,
    "integrated": INTEGRATED,
    "scratchpad-only": SCRATCHPAD_ONLY,
    "counters": replace(INTEGRATED, counters=True),
    "multiple-reader-queues": replace(INTEGRATED, multiple_reader_queues=True),
    "single-reader-queues": replace(INTEGRATED, single_reader_queues=True),
    "barrel-shifter": replace(INTEGRATED, barrel_shifter=True),
    "combining": replace(INTEGRATED, combining=True),
    "advanced": ADVANCED,
    "everything": EVERYTHING,
}
"""The designs that are measured. Figure 7's partitioned bar is `partitioned.Partitioned`."""
