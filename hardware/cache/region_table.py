"""The table of address regions of a tile (Section 3.1, footnote 3).

It stands beside the controller, as a TLB does: its first port serves the processor before an
access, its second one the interface. A region begins and ends at pages of 4 KiB. The operating
system writes its entries; it begins with the hardware's own addresses, each at itself.
"""

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from narthex.hardware.cache.formats import ADDRESS_BITS, DRAM, REGISTERS, WINDOW
from narthex.hardware.cache.parameters import Parameters
from narthex.hardware.cache.ports import Table

PAGE_BITS = 12
NUMBER_BITS = ADDRESS_BITS - PAGE_BITS
CHIP_BYTES = 1 << 27


@dataclass(frozen=True)
class Region:
    """A region: pages of a program, and where the hardware has them."""

    start: int
    bytes: int
    place: int
    loads: bool = True
    stores: bool = True


def layout() -> data.StructLayout:
    """Return an entry."""
    return data.StructLayout(
        {
            "first": unsigned(NUMBER_BITS),
            "last": unsigned(NUMBER_BITS),  # page of it
            "place": unsigned(NUMBER_BITS),
            "loads": unsigned(1),
            "stores": unsigned(1),
        }
    )


def at_start(parameters: Parameters) -> list[Region]:
    """Return the areas of the hardware, each at its own addresses."""
    areas = [(WINDOW, CHIP_BYTES), (REGISTERS, 1 << PAGE_BITS), (DRAM, parameters.dram_bytes)]
    return [Region(start, size, start) for start, size in areas]


class RegionTable(wiring.Component):
    """A table with two ports, each asked and answered in one cycle."""

    def __init__(self, regions: list[Region], entries: int = 16) -> None:
        self.regions, self.entries = regions, entries
        super().__init__(
            {
                "first": In(Table()),
                "second": In(Table()),
                "write": In(1),
                "index": In(range(entries)),
                "entry": In(layout()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build it."""
        m = Module()
        entries = []
        for number in range(self.entries):
            init = _entry(self.regions[number]) if number < len(self.regions) else {}
            entry = Signal(layout(), init=init, name=f"entry_{number}")
            with m.If(self.write & (self.index == number)):
                m.d.sync += entry.eq(self.entry)
            entries.append(entry)
        for port in (self.first, self.second):
            self._port(m, port, entries)
        return m

    def _port(self, m: Module, port: wiring.PureInterface, entries: list[data.View]) -> None:
        page, last = port.address[PAGE_BITS:], Signal(NUMBER_BITS + 1)
        m.d.comb += last.eq((port.address + port.bytes - 1)[PAGE_BITS:])
        for entry in entries:
            may = (port.store & entry.stores) | (~port.store & entry.loads)
            with m.If((page >= entry.first) & (last <= entry.last)):
                place = page - entry.first + entry.place
                m.d.comb += [
                    port.granted.eq(may),
                    port.place.eq(Cat(port.address[:PAGE_BITS], place[:NUMBER_BITS])),
                ]


def _entry(region: Region) -> dict[str, int]:
    return {
        "first": region.start >> PAGE_BITS,
        "last": (region.start + region.bytes - 1) >> PAGE_BITS,
        "place": region.place >> PAGE_BITS,
        "loads": int(region.loads),
        "stores": int(region.stores),
    }
