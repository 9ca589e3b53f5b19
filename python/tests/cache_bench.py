"""A tile of `narthex.hardware.cache` in Amaranth's simulator, with all that is around it."""

from collections import defaultdict
from dataclasses import dataclass, field, replace

from amaranth.sim import Simulator

from narthex.hardware.cache import formats
from narthex.hardware.cache.formats import (
    DRAM,
    REGISTERS,
    STATE,
    STATE_BYTES,
    TARGET_MEMORY,
    WINDOW,
    WINDOW_BYTES,
    Lane,
    Operation,
    Role,
)  # fmt: skip
from narthex.hardware.cache.parameters import EVERYTHING, LINE_BYTES, Parameters
from narthex.hardware.cache.tile import Tile

SMALL = replace(EVERYTHING, l2_bytes=4096)
MOST_CYCLES = 2000
TILE = 1
LANE_OF = {
    Operation.READ: Lane.READ,
    Operation.LOAD: Lane.READ,
    Operation.ACKNOWLEDGEMENT: Lane.ACKNOWLEDGEMENT,
}


@dataclass(frozen=True)
class Packet:
    """A packet, with the fields of its header."""

    operation: Operation
    bytes: int
    destination: int = 0
    acknowledgement: int = 0
    source: int = 0
    words: tuple[int, ...] = ()
    tile: int = 0
    process: int = 0
    target: int = field(default=TILE, compare=False)

    @property
    def lane(self):
        return LANE_OF.get(self.operation, Lane.WRITE)

    def flits(self):
        acknowledged = 1 if self.acknowledgement else 0
        header = self.operation | self.bytes << 8 | acknowledged << 25
        yield header | self.tile << 32 | self.process << 44
        if self.operation != Operation.LOAD and self.operation != Operation.ANSWER:
            yield self.destination
        if acknowledged:
            yield self.acknowledgement
        if self.operation in (Operation.READ, Operation.LOAD):
            yield self.source
        yield from self.words

    @staticmethod
    def of(flits, target):
        header, *rest = flits
        operation = Operation(header & 0xFF)
        fields = {"operation": operation, "bytes": header >> 8 & 0x1FFFF, "target": target}
        fields |= {"tile": header >> 32 & 0x7F, "process": header >> 44 & 0xFF}
        if operation not in (Operation.LOAD, Operation.ANSWER):
            fields["destination"] = rest.pop(0)
        if header >> 25 & 1:
            fields["acknowledgement"] = rest.pop(0)
        if operation in (Operation.READ, Operation.LOAD):
            fields["source"] = rest.pop(0)
        return Packet(**fields, words=tuple(rest))


def line_at(line, word=0, tile=TILE):
    return WINDOW + tile * WINDOW_BYTES + line * LINE_BYTES + 8 * word


def state_at(line, word=0):
    return WINDOW + TILE * WINDOW_BYTES + STATE + line * STATE_BYTES + 8 * word


class Bench:
    """A tile under test. Its memory answers by itself; other packets are kept in `packets`."""

    def __init__(self, parameters: Parameters):
        self.tile = Tile(parameters)
        self.packets, self.faults, self.invalidated = [], [], []
        self.memory = defaultdict(int)
        self.lanes_are_ready = 0b111
        self._coming = {lane: [] for lane in Lane}
        self._leaving = []

    def run(self, scenario):
        simulator = Simulator(self.tile)
        simulator.add_clock(1e-6)

        async def processor(ctx):
            self.ctx = ctx
            ctx.set(self.tile.tile, TILE)
            await ctx.tick()
            await scenario(self)

        simulator.add_testbench(processor)
        simulator.add_testbench(self._network_in, background=True)
        simulator.add_testbench(self._network_out, background=True)
        simulator.run()
        return self

    # The network and memory.

    async def _network_in(self, ctx):
        port = self.tile.network_in
        while True:
            for lane, flits in self._coming.items():
                ctx.set(port.valid[lane], bool(flits))
                if flits:
                    ctx.set(port.data[lane], flits[0][0])
                    ctx.set(port.last[lane], flits[0][1])
                    flits[0][2] = True
            *_, taken = await ctx.tick().sample(port.ready)
            for lane, flits in self._coming.items():
                # What was put here since has not been offered.
                if flits and flits[0][2] and taken >> lane & 1:
                    flits.pop(0)

    async def _network_out(self, ctx):
        port, fault = self.tile.network_out, self.tile.fault
        seen = [port.valid, port.ready, port.lane, port.data, port.last, port.target, port.first]
        seen += [fault.valid, fault.code]
        if hasattr(self.tile, "invalidate"):
            seen += [self.tile.invalidate.valid, self.tile.invalidate.line]
        while True:
            ctx.set(port.ready, self.lanes_are_ready)
            (
                _,
                _,
                valid,
                ready,
                lane,
                flit,
                last,
                target,
                first,
                is_fault,
                code,
                *invalidated,
            ) = await ctx.tick().sample(*seen)
            if is_fault:
                self.faults.append(formats.Fault(code))
            if invalidated and invalidated[0]:
                self.invalidated.append(invalidated[1])
            if valid and (ready >> lane & 1 or not first):
                self._leaving.append(flit)
                if last:
                    packet = Packet.of(self._leaving, target)
                    assert packet.lane == lane
                    self._leaving = []
                    self._take(packet)

    def _take(self, packet):
        is_memory = packet.target == TARGET_MEMORY
        if is_memory and packet.operation == Operation.READ and packet.source < WINDOW:
            words = tuple(self.memory[packet.source + 8 * own] for own in range(8))
            self.send(Packet(Operation.WRITE, 64, packet.destination, words=words))
        elif is_memory and packet.destination < WINDOW and packet.operation == Operation.WRITE:
            for own, word in enumerate(packet.words):
                self.memory[packet.destination + 8 * own] = word
        self.packets.append(packet)

    def send(self, packet):
        flits = list(packet.flits())
        last = len(flits) - 1
        self._coming[packet.lane] += [[flit, own == last, False] for own, flit in enumerate(flits)]

    # The processor.

    async def access(self, address, value=None, size=8, process=0, privileged=False):
        """Return value and fault of an access; they stay out if it is not answered in time."""
        await self.ask(address, value, size, process, privileged)
        return await self.answer()

    async def ask(self, address, value=None, size=8, process=0, privileged=False):
        ctx, port = self.ctx, self.tile.processor
        ctx.set(port.valid, 1)
        ctx.set(port.address, address)
        ctx.set(port.store, value is not None)
        ctx.set(port.size, size.bit_length() - 1)
        ctx.set(port.data, ((value or 0) << 8 * (address % 8)) & (1 << 64) - 1)
        ctx.set(port.process, process)
        ctx.set(port.privileged, privileged)
        for _ in range(MOST_CYCLES):
            _, _, ready = await ctx.tick().sample(port.ready)
            if ready:
                break
        else:
            raise AssertionError(f"the request at {address:#x} is not taken")
        ctx.set(port.valid, 0)
        self._place = (address % 8, size)

    async def answer(self):
        port = self.tile.response
        offset, size = self._place
        for _ in range(MOST_CYCLES):
            if self.ctx.get(port.valid):
                value, fault = self.ctx.get(port.data), formats.Fault(self.ctx.get(port.fault))
                await self.ctx.tick()
                return value >> 8 * offset & (1 << 8 * size) - 1, fault
            await self.ctx.tick()
        raise AssertionError("the request is not answered")

    async def load(self, address, **options):
        value, fault = await self.access(address, **options)
        assert fault == formats.Fault.NONE
        return value

    async def store(self, address, value, **options):
        _, fault = await self.access(address, value & (1 << 64) - 1, **options)
        assert fault == formats.Fault.NONE

    async def lock(self, line, role=Role.SCRATCHPAD, flags=0, owner=0):
        """Lock a line as the operating system does, and mark it."""
        await self.store(state_at(line), Role.SCRATCHPAD | flags | owner << 16, privileged=True)
        for word in range(8):
            await self.store(line_at(line, word), 0, process=owner)
        if role != Role.SCRATCHPAD:
            await self.store(state_at(line), role, process=owner)

    async def wait(self, cycles=60):
        for _ in range(cycles):
            await self.ctx.tick()

    async def until(self, happens):
        for _ in range(MOST_CYCLES):
            if happens():
                return
            await self.ctx.tick()
        raise AssertionError("it does not happen")


__all__ = ["DRAM", "REGISTERS", "SMALL", "Bench", "Packet", "line_at", "state_at"]
