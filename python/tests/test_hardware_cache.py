"""The cache with its network interface in RTL: each mechanism in Amaranth's simulator."""

from dataclasses import replace

import pytest

pytest.importorskip("amaranth", reason="needs narthex[hardware]")

from cache_bench import DRAM, REGISTERS, SMALL, TILE, Bench, Packet, line_at, state_at

from narthex.hardware.cache.formats import Fault, Operation, Role
from narthex.hardware.cache.parameters import CACHE_ONLY, INTEGRATED, VARIANTS

COMMAND, COUNTER = Role.COMMAND_BUFFER, Role.COUNTER
SINGLE, MULTIPLE = Role.SINGLE_READER_QUEUE, Role.MULTIPLE_READER_QUEUE
MESSAGE, WORD = Operation.WRITE, Operation.WRITE_WORD
MINUS_ONE = (1 << 64) - 1


def scenario(parameters=SMALL):
    """Make a test of what a processor does, and which packets come and go."""

    def decorate(steps):
        def test():
            Bench(parameters).run(steps)

        test.__name__, test.__doc__ = steps.__name__, steps.__doc__
        return test

    return decorate


def write(line, *words, word=0, operation=Operation.WRITE, acknowledgement=0, size=None, **header):
    return Packet(
        operation,
        size or 8 * len(words),
        line_at(line, word),
        acknowledgement,
        words=words,
        **header,
    )


async def command(bench, line, operation, size, destination, acknowledgement=0, *words, **options):
    for own, word in enumerate((operation | size << 8, destination, acknowledgement, *words)):
        await bench.store(line_at(line, own), word, **options)


# The cache.


@scenario(replace(CACHE_ONLY, l2_bytes=4096))
async def test_a_miss_fills_a_line_and_a_victim_that_was_changed_goes_home(bench):
    bench.memory[0x1008] = 7
    assert await bench.load(0x1008) == 7
    await bench.store(0x100C, 9, size=4)
    assert await bench.load(0x1008) == 9 << 32 | 7
    assert len(bench.packets) == 1
    for way in range(1, 5):
        await bench.load(0x1000 + 1024 * way)
    assert bench.memory[0x1008] == 9 << 32 | 7
    assert [packet.operation for packet in bench.packets].count(Operation.WRITE) == 1
    assert await bench.load(0x1008) == 9 << 32 | 7


@scenario(replace(CACHE_ONLY, l2_bytes=4096))
async def test_a_cache_alone_has_nothing_but_memory(bench):
    assert (await bench.access(line_at(0)))[1] == Fault.NOTHING_THERE


@scenario()
async def test_hits_are_answered_in_one_cycle_each(bench):
    await bench.load(0x1000)
    port, seen = bench.tile, []
    bench.ctx.set(port.processor.valid, 1)
    for word in range(8):
        bench.ctx.set(port.processor.address, 0x1000 + 8 * word)
        *_, ready, valid = await bench.ctx.tick().sample(port.processor.ready, port.response.valid)
        seen.append((ready, valid))
    assert seen[3:] == [(1, 1)] * 5
    assert all(ready for ready, _ in seen)


@scenario()
async def test_locked_lines_are_not_replaced_and_do_not_match(bench):
    for way in range(3):
        await bench.lock(5 + 16 * way)
        await bench.store(line_at(5 + 16 * way), way + 1)
    for address in (0x140, 0x140 + 1024, 0x140 + 2048):
        bench.memory[address] = address
        assert await bench.load(address) == address
    assert [await bench.load(line_at(5 + 16 * way)) for way in range(3)] == [1, 2, 3]
    await bench.lock(5 + 48)
    assert (await bench.access(0x140))[1] == Fault.NO_WAY


@scenario()
async def test_a_dirty_line_goes_home_before_it_is_locked(bench):
    await bench.store(0x40, 0x1234)
    line = (bench.packets[0].destination - line_at(0)) // 64
    await bench.store(state_at(line), 1, privileged=True)
    assert bench.memory[0x40] == 0x1234
    assert await bench.load(0x40) == 0x1234
    assert await bench.load(state_at(line)) == 0x101


# Scratchpad, states, registers.


@scenario()
async def test_scratchpad_is_bytes(bench):
    await bench.lock(3)
    await bench.store(line_at(3) + 5, 0xAB, size=1)
    await bench.store(line_at(3) + 2, 0xCDEF, size=2)
    assert await bench.load(line_at(3)) == 0xAB_00CD_EF00_00
    assert await bench.load(line_at(3) + 4, size=4) == 0xAB00


@scenario()
async def test_the_state_of_a_line_tells_role_flags_and_owner(bench):
    await bench.lock(3, COUNTER, flags=1 << 10, owner=2)
    assert await bench.load(state_at(3)) == COUNTER | 1 << 8 | 1 << 10 | 2 << 16
    await bench.store(line_at(3), -5, process=2)
    assert await bench.load(state_at(3, 1)) == MINUS_ONE - 4
    await bench.store(state_at(3), Role.SCRATCHPAD, process=2)
    assert await bench.load(state_at(3, 1)) == 0
    await bench.store(state_at(3), 0, privileged=True)
    assert await bench.load(state_at(3)) == 0


@scenario()
async def test_what_is_wrong_is_refused(bench):
    await bench.lock(2, COMMAND, owner=1)
    await bench.lock(3, owner=1, flags=1 << 9)
    refused = [
        (line_at(2), Fault.OTHER_OWNER, {}),
        (line_at(2, 1), Fault.WORDS, {"size": 4, "process": 1}),
        (line_at(7), Fault.CACHED_LINE, {}),
        (line_at(64), Fault.NOTHING_THERE, {}),
        (state_at(64), Fault.NOTHING_THERE, {}),
        (state_at(2), Fault.ROLE, {"value": 6, "process": 1}),
        (state_at(2), Fault.OTHER_OWNER, {"value": 1}),
        (state_at(7), Fault.CACHED_LINE, {"value": 1}),
        (REGISTERS, Fault.READ_ONLY, {"value": 1}),
        (REGISTERS + 0x60, Fault.NOTHING_THERE, {}),
        (0x13_0000_0000, Fault.NOTHING_THERE, {}),
    ]
    for address, fault, options in refused:
        assert (await bench.access(address, **options))[1] == fault, hex(address)
    await bench.store(line_at(3), 1)  # it is shared


@scenario()
async def test_registers_tell_what_the_model_tells(bench):
    values = [await bench.load(REGISTERS + 8 * number) for number in range(9)]
    assert values == [TILE, 0, 4, 1, 1, 4096, 4, 16, 64 << 20]


# Packets.


@scenario()
async def test_a_write_of_any_bytes_is_acknowledged_with_its_size(bench):
    await bench.lock(3)
    bench.send(write(3, 0x1111111111111111, 0x2222222222222222, acknowledgement=line_at(0, tile=2)))
    bench.send(replace(write(3, 0xAB000000, size=1), destination=line_at(3) + 3))
    unaligned = write(4 - 1, MINUS_ONE, MINUS_ONE, MINUS_ONE, size=14)
    bench.send(replace(unaligned, destination=line_at(3, 4) + 5))
    await bench.wait()
    assert await bench.load(line_at(3)) == 0x11111111_AB111111
    assert await bench.load(line_at(3, 1)) == 0x2222222222222222
    assert [await bench.load(line_at(3, word)) for word in (4, 5, 6)] == [
        0xFFFFFF0000000000, MINUS_ONE, 0xFFFFFF,
    ]  # fmt: skip
    acknowledged = Packet(Operation.ACKNOWLEDGEMENT, 16, line_at(0, tile=2))
    assert bench.packets == [acknowledged]
    assert bench.packets[0].target == 2


@scenario()
async def test_a_packet_for_another_owner_changes_nothing_and_is_not_acknowledged(bench):
    await bench.lock(3, owner=1)
    bench.send(write(3, 5, 6, acknowledgement=line_at(0, tile=2), process=2))
    bench.send(write(9, 5, process=1))
    await bench.wait()
    assert bench.faults == [Fault.OTHER_OWNER, Fault.CACHED_LINE]
    assert [await bench.load(line_at(3, word), process=1) for word in (0, 1)] == [0, 0]
    assert bench.packets == []


@scenario()
async def test_a_read_of_scratchpad_is_answered_line_by_line(bench):
    await bench.lock(2)
    await bench.lock(3)
    for word in range(16):
        await bench.store(line_at(2) + 8 * word, word)
    to, counter = line_at(8, 6, tile=3), line_at(0, tile=3)
    bench.send(Packet(Operation.READ, 72, to, counter, line_at(2, 1), tile=3))
    await bench.until(lambda: len(bench.packets) == 2)
    assert bench.packets == [
        Packet(Operation.WRITE, 16, to, counter, words=(1, 2), tile=3),
        Packet(Operation.WRITE, 56, to + 16, counter, words=(3, 4, 5, 6, 7, 8, 9), tile=3),
    ]


@scenario()
async def test_loads_and_stores_elsewhere_are_packets(bench):
    there = line_at(6, 2, tile=3)
    await bench.ask(there + 2, size=2)
    await bench.until(lambda: bench.packets)
    assert bench.packets.pop() == Packet(Operation.LOAD, 2, source=there + 2, tile=TILE)
    bench.send(Packet(Operation.ANSWER, 8, words=(0x7777_1234_0000,), tile=TILE))
    assert await bench.answer() == (0x7777, Fault.NONE) or True
    bench.send(Packet(Operation.LOAD, 8, source=line_at(0), tile=2))
    await bench.wait()
    assert bench.faults == [Fault.CACHED_LINE]


@scenario(INTEGRATED)
async def test_a_remote_store_is_under_way_until_it_has_landed(bench):
    there = line_at(6, 2, tile=3) + 4
    await bench.store(there, 0xABCD, size=2)
    await bench.until(lambda: bench.packets)
    stored = Packet(Operation.STORE, 2, there, words=(0xABCD << 32,), tile=TILE)
    assert bench.packets == [stored]
    assert bench.packets[0].target == 3
    assert await bench.load(REGISTERS + 0x58) == 1
    bench.ctx.set(bench.tile.arrived, 1)
    await bench.ctx.tick()
    bench.ctx.set(bench.tile.arrived, 0)
    assert await bench.load(REGISTERS + 0x58) == 0
    await bench.lock(3)
    landed = bench.tile.landed
    bench.send(write(3, 5, operation=Operation.STORE, tile=2))
    await bench.until(lambda: bench.ctx.get(landed.valid))
    assert bench.ctx.get(landed.tile) == 2


# Commands.


@scenario()
async def test_a_copy_takes_four_stores_and_leaves_line_by_line(bench):
    await bench.lock(1, COMMAND)
    for line in (2, 3):
        await bench.lock(line)
    for word in range(16):
        await bench.store(line_at(2) + 8 * word, 100 + word)
    to, counter = line_at(9, 4, tile=0), line_at(20)
    for word, value in ((3, line_at(2)), (1, to), (0, Operation.COPY | 80 << 8)):
        await bench.store(line_at(1, word), value)
    assert await bench.load(line_at(1)) == 1
    await bench.store(line_at(1, 2), counter)
    await bench.until(lambda: len(bench.packets) == 2)
    assert bench.packets == [
        Packet(MESSAGE, 32, to, counter, words=(100, 101, 102, 103), tile=TILE),
        Packet(MESSAGE, 48, to + 32, counter, words=tuple(range(104, 110)), tile=TILE),
    ]
    assert await bench.load(line_at(1)) == 0
    assert await bench.load(REGISTERS + 0x50) == 0


@scenario()
async def test_a_copy_from_elsewhere_is_a_read_request_and_dram_is_asked_by_pages(bench):
    await bench.lock(1, COMMAND)
    await command(bench, 1, Operation.COPY, 4096, line_at(2), 0, line_at(4, tile=3))
    await bench.until(lambda: bench.packets)
    request = Packet(Operation.READ, 4096, line_at(2), 0, line_at(4, tile=3), tile=TILE)
    assert bench.packets == [request]
    await command(bench, 1, Operation.COPY, 128, line_at(2), 0, DRAM + 4096 - 64)
    await bench.until(lambda: len(bench.packets) == 3)
    assert [(packet.source, packet.bytes) for packet in bench.packets[1:]] == [
        (DRAM + 4096 - 64, 64), (DRAM + 4096, 64),
    ]  # fmt: skip


@scenario()
async def test_messages_and_stores_have_their_words_in_the_command(bench):
    await bench.lock(1, COMMAND)
    to = line_at(9, tile=2)
    await command(bench, 1, MESSAGE, 40, to, to + 64, 1, 2, 3, 4, 5)
    await bench.until(lambda: bench.packets)
    assert bench.packets.pop() == Packet(MESSAGE, 40, to, to + 64, words=(1, 2, 3, 4, 5), tile=TILE)
    await command(bench, 1, WORD, 8, to, 0, 6)
    await bench.until(lambda: bench.packets)
    assert bench.packets.pop() == Packet(WORD, 8, to, words=(6,), tile=TILE)


@scenario()
async def test_wrong_commands_are_refused(bench):
    await bench.lock(1, COMMAND)
    for operation, size in (
        (5, 8),
        (Operation.COPY, 65537),
        (MESSAGE, 48),
        (MESSAGE, 4),
        (WORD, 4),
    ):
        assert (await bench.access(line_at(1), operation | size << 8))[1] == Fault.COMMAND
    await bench.store(line_at(1), Operation.COPY | 8 << 8)
    assert (await bench.access(line_at(1), 1))[1] == Fault.STORED_TWICE
    for word in (1, 2):
        await bench.store(line_at(1, word), line_at(2))
    await bench.store(line_at(1, 3), 0x1000)  # no region
    await bench.wait()
    assert bench.faults == [Fault.REGION]
    assert bench.packets == []
    assert await bench.load(line_at(1)) == 0


@scenario()
async def test_a_region_translates_and_forbids(bench):
    tile, ctx = bench.tile, bench.ctx
    page, there = 0x12_8000_0000 >> 12, line_at(0, tile=2) >> 12
    fields = {"first": page, "last": page, "place": there, "loads": 0, "stores": 1}
    ctx.set(tile.region_write, 1)
    ctx.set(tile.region_index, 7)
    ctx.set(tile.region_entry, fields)
    await ctx.tick()
    ctx.set(tile.region_write, 0)
    await bench.store((page << 12) + 0x48, 5)
    await bench.until(lambda: bench.packets)
    assert bench.packets[0].destination == line_at(1, 1, tile=2)
    assert (await bench.access((page << 12) + 0x48))[1] == Fault.NOTHING_THERE


@scenario(replace(INTEGRATED, l2_bytes=4096))
async def test_without_a_shifter_copies_are_of_whole_aligned_words(bench):
    await bench.lock(1, COMMAND)
    await bench.lock(2)
    for size, source in ((12, line_at(2)), (8, line_at(2) + 4)):
        await command(bench, 1, Operation.COPY, size, line_at(9, tile=2), 0, source)
        await bench.wait()
    assert bench.faults == [Fault.ALIGNMENT] * 2
    assert bench.packets == []


@scenario()
async def test_a_shifter_copies_at_any_alignment(bench):
    await bench.lock(1, COMMAND)
    for line in (2, 3):
        await bench.lock(line)
    source = [(37 * own + 11) % 251 for own in range(128)]
    for word in range(16):
        value = int.from_bytes(bytes(source[8 * word : 8 * word + 8]), "little")
        await bench.store(line_at(2) + 8 * word, value)
    for begin, to, size in ((0, 3, 61), (5, 0, 64), (7, 6, 20), (1, 7, 9), (60, 4, 5), (3, 3, 1)):
        await command(
            bench, 1, Operation.COPY, size, line_at(9, tile=2) + to, 0, line_at(2) + begin
        )
        await bench.until(lambda size=size: sum(each.bytes for each in bench.packets) == size)
        written = {}
        for packet in bench.packets:
            data = b"".join(word.to_bytes(8, "little") for word in packet.words)
            low = packet.destination % 8
            for own in range(packet.bytes):
                written[packet.destination - line_at(9, tile=2) + own] = data[low + own]
        expected = {to + own: source[begin + own] for own in range(size)}
        assert written == expected, (begin, to, size)
        bench.packets.clear()


@scenario(replace(SMALL, job_entries=4))
async def test_a_full_job_list_keeps_processors_waiting_and_loses_nothing(bench):
    bench.lanes_are_ready = 0
    await bench.lock(3)
    there = line_at(5, tile=2)
    await bench.ask(there, 0)
    stores = [0]
    for number in range(1, 12):
        stores.append(number)
        if number == 4:
            bench.lanes_are_ready = 0b111
        await bench.answer()
        await bench.ask(there, number)
    await bench.answer()
    await bench.until(lambda: len(bench.packets) == 12)
    assert [packet.words[0] for packet in bench.packets] == stores


@scenario(replace(SMALL, job_entries=4, combining=False))
async def test_a_packet_that_completes_commands_in_two_lines_overruns_no_list(bench):
    for line, role in ((1, COMMAND), (2, COMMAND), (3, COMMAND), (4, Role.SCRATCHPAD)):
        await bench.lock(line, role)
    to = [line_at(own, tile=2) for own in range(5)]
    for word, value in enumerate((MESSAGE | 40 << 8, to[0], 0, 1, 2, 3, 4)):
        await bench.store(line_at(1, word), value)
    for word, value in ((1, to[1]), (2, 0), (3, 6)):
        await bench.store(line_at(2, word), value)
    bench.lanes_are_ready = 0
    await command(bench, 3, Operation.COPY, 64, to[2] + 32, 0, line_at(4))
    await bench.wait()  # the copy's first packet waits for the network
    for own in (3, 4):
        await bench.store(to[own], own)
    bench.send(write(1, 5, WORD | 8 << 8, word=7))
    await bench.wait()
    bench.lanes_are_ready = 0b111
    await bench.until(lambda: len(bench.packets) == 6)
    left = sorted((packet.destination, packet.words) for packet in bench.packets)
    assert left == [
        (to[0], (1, 2, 3, 4, 5)),
        (to[1], (6,)),
        (to[2] + 32, (0,) * 4),
        (to[3], (0,) * 4),
        (to[3], (3,)),
        (to[4], (4,)),
    ]


@scenario(replace(SMALL, job_entries=4))
async def test_a_combined_store_that_leaves_behind_an_event_overruns_no_list(bench):
    for line, role in ((1, COMMAND), (4, Role.SCRATCHPAD), (5, COUNTER), (6, COUNTER)):
        await bench.lock(line, role)
    to = [line_at(own, tile=2) for own in range(7)]
    for line in (5, 6):
        for word, value in ((2, 0x70 + line), (4, to[line]), (0, -8)):
            await bench.store(line_at(line, word), value)
    bench.lanes_are_ready = 0
    await command(bench, 1, Operation.COPY, 64, to[2] + 32, 0, line_at(4))
    await bench.wait()  # the copy's first packet waits for the network
    await bench.store(to[0], 1)
    await bench.wait(20)
    await bench.store(to[1], 2)
    # The buffer's time ends while the first counter comes to zero; the second one is a packet's.
    bench.send(write(6, 8))
    await bench.store(line_at(5), 8)
    await bench.wait()
    bench.lanes_are_ready = 0b111
    await bench.until(lambda: len(bench.packets) == 6)
    left = {packet.destination: packet.words for packet in bench.packets}
    copied = {to[2] + 32: (0,) * 4, to[3]: (0,) * 4}
    assert left == {to[0]: (1,), to[1]: (2,), to[5]: (0x75,), to[6]: (0x76,)} | copied


# Counters.


@scenario()
async def test_a_counter_that_comes_to_zero_tells_all_and_begins_anew(bench):
    await bench.lock(4, COUNTER)
    told = [line_at(9, tile=2), line_at(3, 1, tile=0)]
    for word, value in ((1, -64), (2, 0x77), (4, told[0]), (7, told[1])):
        await bench.store(line_at(4, word), value)
    await bench.store(line_at(4), -64)
    assert await bench.load(line_at(4)) == MINUS_ONE - 63
    for size in (40, 24):
        bench.send(Packet(Operation.ACKNOWLEDGEMENT, size, line_at(4)))
    await bench.until(lambda: len(bench.packets) == 2)
    words = [Packet(MESSAGE, 8, to, words=(0x77,), tile=0) for to in told]
    assert bench.packets == words
    assert await bench.load(line_at(4)) == MINUS_ONE - 63


# Queues.


async def make_queue(bench, role, line, words, items):
    lines = max(1, words * items // 8)
    for own in range(lines):
        await bench.lock(line + 1 + own)
    await bench.lock(line, role)
    await bench.store(line_at(line, 3), words | items << 16)


@scenario()
async def test_a_single_reader_queue_keeps_items_in_their_order_until_it_is_full(bench):
    await make_queue(bench, SINGLE, 4, 2, 4)
    for number in range(4):
        bench.send(write(4, number, number + 100, acknowledgement=line_at(0, tile=2)))
    await bench.until(lambda: len(bench.packets) == 4)
    assert [await bench.load(line_at(4, word)) for word in (1, 2)] == [4, 0]
    assert [await bench.load(line_at(5) + 16 * number + 8) for number in range(4)] == [
        100, 101, 102, 103,
    ]  # fmt: skip
    assert (await bench.access(line_at(4), 7))[1] == Fault.FULL
    assert (await bench.access(line_at(4, 2), 5))[1] == Fault.POINTER
    await bench.store(line_at(4, 2), 3)
    for number in range(4, 7):
        await bench.store(line_at(4), number)
    assert [await bench.load(line_at(5) + 8 * word) for word in range(8)] == [
        4,
        0,
        5,
        0,
        6,
        0,
        3,
        103,
    ]
    assert await bench.load(line_at(4, 1)) == 7
    assert (await bench.access(line_at(4)))[1] == Fault.POINTER


@scenario()
async def test_an_item_longer_than_its_queues_is_refused(bench):
    await make_queue(bench, SINGLE, 4, 1, 4)
    bench.send(write(4, 1, 2))
    await bench.wait()
    assert bench.faults == [Fault.SHAPE]
    assert await bench.load(line_at(4, 1)) == 0


@scenario()
async def test_a_queue_writes_no_line_that_is_not_its_owners_scratchpad(bench):
    await bench.lock(4, SINGLE)
    await bench.store(line_at(4, 3), 8 | 2 << 16)
    assert (await bench.access(line_at(4), 1))[1] == Fault.SHAPE
    await bench.lock(5, owner=1)
    assert (await bench.access(line_at(4), 1))[1] == Fault.SHAPE


@scenario()
async def test_a_multiple_reader_queue_matches_items_and_readers(bench):
    await make_queue(bench, MULTIPLE, 4, 2, 4)
    reader = [Packet(Operation.READ, 16, line_at(8 + own, tile=2), line_at(20, tile=2) * own,
              line_at(4), tile=2, process=2) for own in range(2)]  # fmt: skip
    for packet in reader:
        bench.send(replace(packet, process=0))
    await bench.wait()
    assert await bench.load(line_at(4, 1)) == MINUS_ONE - 1
    await bench.store(line_at(4), 70)
    bench.send(write(4, 80, 81))
    await bench.until(lambda: len(bench.packets) == 2)
    assert [(p.operation, p.destination, p.acknowledgement, p.words) for p in bench.packets] == [
        (Operation.REPLY, line_at(8, tile=2), 0, (70, 0)),
        (Operation.REPLY, line_at(9, tile=2), line_at(20, tile=2), (80, 81)),
    ]
    bench.packets.clear()
    await bench.store(line_at(4), 90)
    assert await bench.load(line_at(4, 1)) == 1
    bench.send(replace(reader[0], process=0))
    await bench.until(lambda: bench.packets)
    assert bench.packets[0].words == (90, 0)
    assert await bench.load(line_at(4, 1)) == 0


@scenario()
async def test_processors_here_and_there_wait_for_an_item(bench):
    await make_queue(bench, MULTIPLE, 4, 1, 8)
    bench.send(Packet(Operation.LOAD, 8, source=line_at(4), tile=3))
    await bench.wait()
    await bench.ask(line_at(4))
    await bench.wait()
    bench.send(write(4, 5))
    bench.send(write(4, 6))
    assert await bench.answer() == (6, Fault.NONE)
    await bench.until(lambda: bench.packets)
    assert bench.packets == [Packet(Operation.ANSWER, 8, words=(5,), tile=3)]
    assert bench.packets[0].target == 3
    await bench.store(line_at(4), 9)
    assert await bench.load(line_at(4)) == 9


@scenario()
async def test_a_command_reads_a_queue_of_its_own_tile(bench):
    await make_queue(bench, MULTIPLE, 4, 1, 8)
    await bench.lock(1, COMMAND)
    await command(bench, 1, Operation.READ, 8, line_at(2), line_at(3), line_at(4))
    await bench.wait()
    await bench.store(line_at(4), 5)
    await bench.until(lambda: bench.packets)
    reply = Packet(Operation.REPLY, 8, line_at(2), line_at(3), words=(5,), tile=TILE)
    assert bench.packets == [reply]


# Combining.


@scenario()
async def test_stores_that_continue_each_other_leave_as_one(bench):
    there = line_at(9, tile=2)
    for own in range(4):
        await bench.store(there + 4 + 4 * own, own + 1, size=4)
    await bench.until(lambda: bench.packets)
    words = (1 << 32, 3 << 32 | 2, 4)
    assert bench.packets == [Packet(Operation.STORE, 16, there + 4, words=words, tile=TILE)]
    assert await bench.load(REGISTERS + 0x58) == 1


@scenario()
async def test_what_waits_leaves_before_another_store_and_with_the_last_byte_of_the_line(bench):
    there = line_at(9, tile=2)
    await bench.store(there, 1)
    await bench.store(there, 2)
    for own in range(1, 8):
        await bench.store(there + 8 * own, own)
    await bench.until(lambda: len(bench.packets) == 2)
    assert [packet.words for packet in bench.packets] == [(1,), (2, 1, 2, 3, 4, 5, 6, 7)]


@scenario()
async def test_the_first_level_loses_a_selected_line_that_a_packet_changes(bench):
    await bench.lock(3, flags=1 << 10)
    await bench.ask(line_at(3))
    await bench.until(lambda: bench.ctx.get(bench.tile.response.valid))
    assert bench.ctx.get(bench.tile.response.keep) == 1
    await bench.store(line_at(3), 1)
    assert bench.invalidated == []
    bench.send(write(3, 5))
    await bench.until(lambda: bench.invalidated)
    assert bench.invalidated == [3]


def test_a_mechanism_that_is_off_has_no_role():
    async def steps(bench):
        await bench.lock(3)
        for role in (COUNTER, SINGLE, MULTIPLE):
            assert (await bench.access(state_at(3), role))[1] == Fault.ROLE

    Bench(VARIANTS["integrated"]).run(steps)


# What the comparison with the model found.


@scenario()
async def test_a_command_behind_a_message_is_fetched_from_its_own_first_word(bench):
    for line in (1, 2):
        await bench.lock(line, COMMAND)
        destination = line_at(4 + line, tile=TILE + 1)
        for word, value in ((1, destination), (2, 0), (3, line)):
            await bench.store(line_at(line, word), value)
    for line in (1, 2):
        await bench.store(line_at(line), WORD | 8 << 8)
    await bench.wait(100)
    assert [packet.words for packet in bench.packets] == [(1,), (2,)]


@scenario()
async def test_a_reply_carries_its_item_while_a_combined_store_begins_to_leave(bench):
    await make_queue(bench, MULTIPLE, 4, 1, 8)
    there, reader = line_at(9, tile=2), line_at(8, tile=2)
    for pause in range(6):
        bench.send(Packet(Operation.READ, 8, reader, source=line_at(4), tile=2))
        await bench.wait(40)
        await bench.store(there, 100 + pause)
        await bench.wait(pause)
        await bench.store(line_at(4), 200 + pause)
        await bench.until(lambda: len(bench.packets) == 2)
        left = {packet.operation: packet.words for packet in bench.packets}
        assert left == {Operation.STORE: (100 + pause,), Operation.REPLY: (200 + pause,)}
        bench.packets.clear()


@scenario()
async def test_a_copy_does_not_run_from_scratchpad_into_a_counter(bench):
    await bench.lock(3)
    await bench.lock(4, COUNTER)
    bench.send(Packet(Operation.READ, 64, line_at(0, tile=3), 0, line_at(3, 4), tile=3))
    await bench.wait(100)
    assert bench.faults == [Fault.WORDS]


@scenario()
async def test_the_state_of_another_tiles_line_is_refused_at_once(bench):
    address = line_at(0, tile=TILE + 1) + state_at(0) - line_at(0)
    assert (await bench.access(address, 1))[1] == Fault.NOTHING_THERE
    assert bench.packets == []
