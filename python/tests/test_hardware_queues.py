"""The hardware of the interfaces of 1996 and 1998, in Amaranth's own simulator."""

import pytest

pytest.importorskip("amaranth", reason="skipped: needs narthex[hardware]")

from amaranth import Module
from amaranth.hdl import unsigned
from amaranth.lib.memory import Memory
from amaranth.sim import Simulator

from narthex.hardware.queues.bus import Kind
from narthex.hardware.queues.fifo import Fifos
from narthex.hardware.queues.interface import CachableQueues
from narthex.hardware.queues.pointers import LazyHead, Pointer
from narthex.hardware.queues.registers import CachableRegisters

REGISTERS, POINTERS, SEND_QUEUE, RECEIVE_QUEUE = 0x1000, 0x2000, 0x100000, 0x200000
READY = REGISTERS + 0x18


def simulated(component, scenario, *, around=None):
    """Run a scenario, which drives the component's ports, to its end."""
    simulator = Simulator(around or component)
    simulator.add_clock(1e-6)
    ended = []

    async def told(context):
        await scenario(context)
        ended.append(True)

    simulator.add_testbench(told)
    simulator.run_until(1e-2)
    assert ended, "the scenario waits for what never comes"


async def until(context, signal, cycles=200):
    """Wait until a port is high; returns the cycles that it took."""
    for waited in range(cycles):
        if context.get(signal):
            return waited
        await context.tick()
    raise AssertionError("it never came")


async def transaction(context, dut, kind, address):
    """Let another agent have the bus for a cycle; returns whether the interface supplies."""
    context.set(dut.snooped.kind, kind)
    context.set(dut.snooped.address, address)
    context.set(dut.snooped.valid, 1)
    supplies = context.get(dut.snooped.supplies) if hasattr(dut.snooped, "supplies") else 0
    await context.tick()
    context.set(dut.snooped.valid, 0)
    return supplies


async def served(context, dut):
    """Carry the interface's next transaction out; returns its kind and its address."""
    await until(context, dut.own.request)
    found = context.get(dut.own.kind), context.get(dut.own.address)
    context.set(dut.own.done, 1)
    await context.tick()
    context.set(dut.own.done, 0)
    return found


async def sent(context, dut):
    """Take a packet that the interface sends; returns its words' numbers."""
    words = []
    context.set(dut.packets_out.ready, 1)
    while True:
        await until(context, dut.packets_out.valid)
        words.append(context.get(dut.send_word))
        last = context.get(dut.packets_out.last)
        await context.tick()
        if last:
            context.set(dut.packets_out.ready, 0)
            return words


async def arrives(context, dut, words):
    """Offer a packet of so many words until the interface has it."""
    context.set(dut.packets_in.valid, 1)
    for word in range(words):
        context.set(dut.packets_in.last, word == words - 1)
        await until(context, dut.packets_in.ready)
        await context.tick()
    context.set(dut.packets_in.valid, 0)


async def based(context, dut, *bases):
    for number, base in enumerate(bases):
        context.set(dut.set_base, 1 << number)
        context.set(dut.new_base, base)
        await context.tick()
    context.set(dut.set_base, 0)


def test_a_pointers_sense_turns_each_time_that_it_comes_round():
    dut = Pointer(4)

    async def scenario(context):
        context.set(dut.advance, 1)
        seen = []
        for _ in range(9):
            seen.append((context.get(dut.value) & 3, context.get(dut.value) >> 2))
            await context.tick()
        assert seen == [*((n, 0) for n in range(4)), *((n, 1) for n in range(4)), (0, 0)]

    simulated(dut, scenario)


def test_a_lazy_head_knows_what_is_unread_and_when_a_queue_looks_full():
    dut = LazyHead(4)

    async def scenario(context):
        context.set(dut.head, 3)
        context.set(dut.refresh, 1)
        await context.tick()
        context.set(dut.refresh, 0)
        context.set(dut.tail, 5)  # entry 1 of the second pass
        unread = []
        for entry in range(4):
            context.set(dut.entry, entry)
            unread.append(context.get(dut.unread))
        assert (unread, context.get(dut.full)) == ([1, 0, 0, 1], 0)
        context.set(dut.tail, 7)
        assert context.get(dut.full) == 1

    simulated(dut, scenario)


def test_a_fifo_sends_as_many_words_as_the_header_says_and_has_room_again_then():
    dut = Fifos()

    async def scenario(context):
        await based(context, dut, REGISTERS)
        context.set(dut.send_length, 2)
        for _ in range(3):
            assert context.get(dut.status) == 1
            await transaction(context, dut, Kind.UNCACHED_STORE, REGISTERS + 8)
        assert context.get(dut.status) == 0
        assert await sent(context, dut) == [0, 1, 2]
        assert context.get(dut.status) == 1

    simulated(dut, scenario)


def test_a_fifo_has_a_buffer_free_when_the_last_word_is_popped():
    dut = Fifos(buffers=2)

    async def scenario(context):
        await based(context, dut, REGISTERS)
        context.set(dut.receive_length, 1)
        await arrives(context, dut, 2)
        await arrives(context, dut, 2)
        assert (context.get(dut.status), context.get(dut.packets_in.ready)) == (0b11, 0)
        read = []
        for _ in range(2):
            read.append(context.get(dut.receive_read))
            await transaction(context, dut, Kind.UNCACHED_LOAD, REGISTERS + 0x10)
        assert (read, context.get(dut.packets_in.ready)) == ([0, 1], 1)
        assert context.get(dut.receive_read) == 1 << 5  # the next buffer's first word

    simulated(dut, scenario)


def test_an_access_elsewhere_is_none_of_the_interfaces():
    dut = Fifos()

    async def scenario(context):
        await based(context, dut, REGISTERS)
        context.set(dut.send_length, 0)
        await transaction(context, dut, Kind.UNCACHED_STORE, REGISTERS + 0x1008)
        assert context.get(dut.status) == 1

    simulated(dut, scenario)


def test_cachable_registers_are_read_before_they_are_announced():
    dut = CachableRegisters()

    async def scenario(context):
        await based(context, dut, REGISTERS, SEND_QUEUE)
        await transaction(context, dut, Kind.READ_EXCLUSIVE, SEND_QUEUE)
        await transaction(context, dut, Kind.READ_EXCLUSIVE, SEND_QUEUE + 0x40)
        assert await served(context, dut) == (Kind.READ, SEND_QUEUE)
        context.set(dut.send_length, 8)  # nine words: two blocks
        await transaction(context, dut, Kind.UNCACHED_STORE, READY)
        assert context.get(dut.status) == 0
        words = []
        context.set(dut.packets_out.ready, 1)
        while len(words) < 8:
            await until(context, dut.packets_out.valid)
            words.append(context.get(dut.send_word))
            await context.tick()
        assert await served(context, dut) == (Kind.READ, SEND_QUEUE + 0x40)
        assert words + await sent(context, dut) == list(range(9))
        assert context.get(dut.status) == 1

    simulated(dut, scenario)


def test_cachable_registers_are_reused_when_the_processors_copies_are_gone():
    dut = CachableRegisters()

    async def scenario(context):
        await based(context, dut, REGISTERS, SEND_QUEUE)
        await arrives(context, dut, 32)
        assert context.get(dut.status) == 0b11
        for block in (4, 5):  # the receive half's first two
            assert await transaction(context, dut, Kind.READ, SEND_QUEUE + 0x40 * block)
        await transaction(context, dut, Kind.UNCACHED_STORE, REGISTERS + 0x20)
        for block in (4, 5):
            assert await served(context, dut) == (Kind.INVALIDATE, SEND_QUEUE + 0x40 * block)
        await arrives(context, dut, 1)
        assert context.get(dut.status) == 0b11

    simulated(dut, scenario)


def with_arrays(dut, first):
    """Put arrays of states at the ports of queues, all lines in the state `first`."""
    m = Module()
    m.submodules.dut = dut
    for name in ("send_array", "receive_array"):
        port = getattr(dut, name)
        shape, depth = unsigned(len(port.state)), 1 << len(port.index)
        memory = Memory(shape=shape, depth=depth, init=[first] * depth)
        m.submodules[name] = memory
        read, write = memory.read_port(domain="comb"), memory.write_port()
        m.d.comb += [
            read.addr.eq(port.index), port.state.eq(read.data),
            write.addr.eq(port.index), write.data.eq(port.new), write.en.eq(port.write),
        ]  # fmt: skip
    return m


def queues(scenario, blocks=16, cache=None, overflow=None):
    dut = CachableQueues(blocks, cache, overflow)

    async def begun(context):
        await based(context, dut, REGISTERS, POINTERS, SEND_QUEUE, RECEIVE_QUEUE)
        await scenario(context, dut)

    simulated(dut, begun, around=with_arrays(dut, 0b01 if cache is None else 0))


def test_an_announced_message_is_read_sent_and_taken_out_of_the_queue():
    async def scenario(context, dut):
        for message in range(2):
            address = SEND_QUEUE + 0x100 * message
            await transaction(context, dut, Kind.READ_EXCLUSIVE, address)
            context.set(dut.send_length, 3)
            await transaction(context, dut, Kind.UNCACHED_STORE, READY)
            assert await served(context, dut) == (Kind.READ, address)
            assert await sent(context, dut) == [0, 1, 2, 3]
            assert context.get(dut.send_head) == message + 1
            if message == 0:  # from then on the pointer is the interface's own
                assert await served(context, dut) == (Kind.READ_EXCLUSIVE, POINTERS)
        await context.tick()
        await context.tick()
        assert context.get(dut.own.request) == 0
        assert await transaction(context, dut, Kind.READ, POINTERS) == 1

    queues(scenario)


def test_a_block_is_read_early_when_the_next_one_is_written():
    async def scenario(context, dut):
        await transaction(context, dut, Kind.READ_EXCLUSIVE, SEND_QUEUE)
        await context.tick()
        assert context.get(dut.own.request) == 0
        await transaction(context, dut, Kind.READ_EXCLUSIVE, SEND_QUEUE + 0x40)
        assert await served(context, dut) == (Kind.READ, SEND_QUEUE)

    queues(scenario)


def test_the_valid_bit_turns_with_each_pass_and_a_full_queue_reads_the_head_once():
    async def scenario(context, dut):
        senses = []
        for _ in range(4):
            senses.append(context.get(dut.receive_sense))
            await arrives(context, dut, 2)
            await until(context, dut.receive_produce)
            await context.tick()
        context.set(dut.packets_in.valid, 1)
        context.set(dut.pointer, 0)  # nothing has been read
        assert await served(context, dut) == (Kind.READ, POINTERS + 0x40)
        for _ in range(5):
            await context.tick()
            assert context.get(dut.own.request) == 0
        await transaction(context, dut, Kind.UPGRADE, POINTERS + 0x40)
        context.set(dut.pointer, 1)
        assert await served(context, dut) == (Kind.READ, POINTERS + 0x40)
        senses.append(context.get(dut.receive_sense))
        await arrives(context, dut, 2)
        assert senses == [1, 1, 1, 1, 0]

    queues(scenario)


def test_a_fetched_block_is_taken_away_before_it_gets_new_words():
    async def scenario(context, dut):
        assert await transaction(context, dut, Kind.READ, RECEIVE_QUEUE) == 1
        await arrives(context, dut, 2)
        await until(context, dut.own.request)
        assert context.get(dut.receive_produce) == 0
        context.set(dut.own.done, 1)
        assert context.get(dut.own.kind) == Kind.INVALIDATE
        assert context.get(dut.receive_produce) == 1
        await context.tick()
        context.set(dut.own.done, 0)
        assert await transaction(context, dut, Kind.READ, RECEIVE_QUEUE) == 1
        assert await transaction(context, dut, Kind.READ, RECEIVE_QUEUE + 0x10000) == 0

    queues(scenario)


async def filled(context, dut, messages):
    """Let so many messages of four blocks arrive, whose blocks nobody else has."""
    for _ in range(messages):
        context.set(dut.own.done, 1)  # copies of others go at once
        await arrives(context, dut, 32)
        await until(context, dut.receive_produce)
        await context.tick()
        context.set(dut.own.done, 0)


def test_a_full_cache_writes_a_dirty_block_back_before_it_takes_a_new_one():
    async def scenario(context, dut):
        await filled(context, dut, 4)  # the cache's 16 blocks
        context.set(dut.packets_in.valid, 1)
        context.set(dut.packets_in.last, 1)
        assert await served(context, dut) == (Kind.WRITE_BACK, RECEIVE_QUEUE)
        context.set(dut.packets_in.valid, 0)
        assert await served(context, dut) == (Kind.INVALIDATE, RECEIVE_QUEUE + 0x400)

    queues(scenario, 512, 16, "write-back")


def test_a_message_passes_a_cache_full_of_unread_ones_into_main_memory():
    async def scenario(context, dut):
        await filled(context, dut, 4)
        context.set(dut.packets_in.valid, 1)
        context.set(dut.packets_in.last, 1)
        context.set(dut.pointer, 0)
        assert await served(context, dut) == (Kind.READ, POINTERS + 0x40)
        assert await served(context, dut) == (Kind.WRITE_BLOCK, RECEIVE_QUEUE + 0x400)

    queues(scenario, 512, 16, "bypass")


def test_read_messages_are_dropped_for_a_new_one():
    async def scenario(context, dut):
        await filled(context, dut, 4)
        context.set(dut.packets_in.valid, 1)
        context.set(dut.packets_in.last, 1)
        context.set(dut.pointer, 4)
        assert await served(context, dut) == (Kind.READ, POINTERS + 0x40)
        assert await served(context, dut) == (Kind.INVALIDATE, RECEIVE_QUEUE + 0x400)

    queues(scenario, 512, 16, "bypass")


def test_a_poll_of_an_empty_entry_is_answered_for_a_memory_that_holds_old_messages():
    async def scenario(context, dut):
        async def answered(address):
            context.set(dut.snooped.kind, Kind.READ)
            context.set(dut.snooped.address, address)
            context.set(dut.snooped.valid, 1)
            found = context.get(dut.supplies_empty), context.get(dut.snooped.supplies)
            await context.tick()
            context.set(dut.snooped.valid, 0)
            return found

        assert await answered(RECEIVE_QUEUE) == (1, 0)
        assert await answered(RECEIVE_QUEUE + 0x40) == (0, 0)  # no first block
        await filled(context, dut, 1)
        assert await answered(RECEIVE_QUEUE) == (0, 1)
        assert await answered(RECEIVE_QUEUE + 0x100) == (1, 0)

    queues(scenario, 512, 32, "bypass")
