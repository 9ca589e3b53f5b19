"""A controller with its arrays and its table of regions: what a tile has below its first level.

Requests of the processor have addresses of its program: the table's first port translates those of
the hardware's space; what it refuses has the fault `NOTHING_THERE`. Addresses of memory that is
cached pass it.
"""

from amaranth.hdl import Module, Mux, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from narthex.hardware.cache.controller import Controller
from narthex.hardware.cache.formats import ADDRESS_BITS, Fault, state_layout
from narthex.hardware.cache.parameters import LINE_WORDS, Parameters
from narthex.hardware.cache.ports import Observed, signature
from narthex.hardware.cache.region_table import RegionTable, at_start, layout

NOWHERE = (1 << ADDRESS_BITS) - 1
ARRAYS = ("lines", "words", "table")


class Tile(wiring.Component):
    """A second level of a tile, whole."""

    def __init__(self, parameters: Parameters, regions: int = 16) -> None:
        self.parameters = p = parameters
        self.controller = Controller(p)
        self.table = RegionTable(at_start(p), regions) if p.scratchpad else None
        members = {
            name: member for name, member in signature(p).members.items() if name not in ARRAYS
        }
        members["observed"] = Out(Observed())
        if self.table is not None:
            # The operating system writes an entry of the table of regions.
            members |= {
                "region_write": In(1),
                "region_index": In(range(regions)),
                "region_entry": In(layout()),
            }
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        """Build it."""
        m = Module()
        m.submodules.controller = controller = self.controller
        self._lines(m)
        self._words(m)
        self._observe(m)
        for name in signature(self.parameters).members:
            if name not in ARRAYS:
                self._connect(m, name)
        if self.table is not None:
            m.submodules.table = table = self.table
            port = self.processor
            wiring.connect(m, controller.table, table.second)
            place = Mux(table.first.granted, table.first.place, NOWHERE)
            m.d.comb += [
                table.first.address.eq(port.address),
                table.first.bytes.eq(1 << port.size),
                table.first.store.eq(port.store),
                controller.processor.address.eq(Mux(port.address[36], place, port.address)),
                table.write.eq(self.region_write),
                table.index.eq(self.region_index),
                table.entry.eq(self.region_entry),
            ]
        return m

    def _observe(self, m: Module) -> None:
        controller, observed = self.controller, self.observed
        is_quiet = ~controller.is_taken & ~controller.has_access & ~controller.response.valid
        is_quiet &= controller.arrivals.is_idle & ~controller.engine.is_busy
        is_refused = controller.access_fault != Fault.NONE
        m.d.comb += [
            observed.request.eq(controller.responds | controller.waits),
            observed.packet.eq(controller.arrivals.over),
            observed.job.eq(controller.engine.chooses),
            observed.refused_request.eq(
                controller.responds & (controller.request_fault != Fault.NONE)
            ),
            observed.refused_packet.eq(is_refused & ~controller.is_engines),
            observed.refused_job.eq(is_refused & controller.is_engines | controller.engine.refuses),
        ]
        if controller.misses is not None:
            is_quiet &= controller.misses.is_idle
        if controller.jobs is not None:
            is_quiet &= (controller.jobs.waiting == 0) & ~controller.events.is_busy
        if controller.combining is not None:
            is_quiet &= controller.combining.is_empty
            m.d.comb += observed.expired.eq(controller.combining.expires)
        m.d.comb += observed.quiet.eq(is_quiet)

    def _connect(self, m: Module, name: str) -> None:
        """Lead a port of the controller out."""
        outer, inner = getattr(self, name), getattr(self.controller, name)
        member = self.signature.members[name]
        if member.is_port:
            is_in = member.flow is wiring.In
            m.d.comb += inner.eq(outer) if is_in else outer.eq(inner)
        else:
            wiring.connect(m, wiring.flipped(outer), inner)

    def _lines(self, m: Module) -> None:
        """Build the arrays of states and tags, a memory for each way."""
        p, lines = self.parameters, self.controller.lines
        kinds = {
            "state": (state_layout(p).size, lines.states, lines.write_state),
            "tag": (p.tag_bits, lines.tags, lines.write_tag),
        }
        for kind, (bits, read_by, written) in kinds.items():
            for way in range(p.ways):
                memory = Memory(shape=unsigned(bits), depth=p.sets, init=[])
                m.submodules[f"{kind}_{way}"] = memory
                write = memory.write_port()
                read = memory.read_port(transparent_for=(write,))
                m.d.comb += [
                    read.en.eq(lines.read_enable),
                    read.addr.eq(lines.read_set),
                    read_by[way].eq(read.data),
                    write.en.eq(lines.write_ways[way]),
                    write.addr.eq(lines.write_set),
                    write.data.eq(written),
                ]

    def _words(self, m: Module) -> None:
        p, words = self.parameters, self.controller.words
        depth = p.sets * p.ways * LINE_WORDS
        m.submodules.words = memory = Memory(shape=unsigned(64), depth=depth, init=[])
        write, read = memory.write_port(granularity=8), memory.read_port()
        m.d.comb += [
            write.addr.eq(words.address),
            write.data.eq(words.write_data),
            write.en.eq(Mux(words.enable, words.write_bytes, 0)),
            read.addr.eq(words.address),
            read.en.eq(words.enable & ~words.write_bytes.any()),
            words.read_data.eq(read.data),
        ]
