"""StarT-Voyager, end to end: queues of three kinds, their firmware, and block transfers."""

import struct

import pytest
from test_programs import PROGRAMS

import narthex
from narthex import compiler
from narthex.comparison import interface_names, interfaces_of

INTERFACES = ["Voyager-resident", "Voyager-nonresident", "Voyager-hybrid", "Voyager-CNI"]
KINDS = ["resident", "nonresident", "hybrid"]
SILENT = """
#include "firmware/firmware.h"
int main(void) { for (;;) wait_for_interrupt(); }
"""


IN_ROM = """
#include "firmware/firmware.h"
__attribute__((noinline)) static void work_on_stack(void) { __asm__ volatile("sd ra, -16(sp)"); }
int main(void) { __asm__ volatile("la sp, main" ::: "memory"); work_on_stack(); for (;;); }
"""
FREES_TWICE = """
#include "firmware/devices.h"
#include "firmware/firmware.h"
__attribute__((noinline)) static void free_slot(uint64_t consumer) {
    uint64_t limits = load_register(VOYAGER_REGISTERS + REGISTER_VOYAGER_LIMITS);
    uint64_t queue = VOYAGER_QUEUES + (limits >> 16 & 0xffff) * VOYAGER_QUEUE_STATE_BYTES;
    store_register(queue + REGISTER_VOYAGER_QUEUE_CONSUMER, consumer);
    load_register(queue + REGISTER_VOYAGER_QUEUE_CONSUMER);
}
int main(void) { free_slot(1); for (;;) wait_for_interrupt(); }
"""
PAST_SERVICED_SPACE = """
#include "narthex.h"
#include "runtime/information.h"
#include "voyager/voyager.h"
int main(void) {
    struct voyager_queue queue;
    voyager_open_transmit(&queue, 1, VOYAGER_KIND_HYBRID | VOYAGER_KIND_STORES, 4);
    *(volatile uint64_t *)((uintptr_t)narthex_information()->voyager_serviced + 4096) = 1;
    return 0;
}
"""
SNOOPED_OF_16_ENTRIES = {"interfaces.voyager.snooped": "4KiB"}


def run(program, *args, interface="Voyager-resident", nodes=2, **asked):
    return narthex.run(program, *args, machine="voyager", interface=interface, nodes=nodes, **asked)


def test_the_machine_has_its_interfaces_and_those_of_other_studies():
    assert set(interface_names()) >= set(INTERFACES)
    names, _ = interfaces_of("voyager")
    assert set(names) >= {*INTERFACES, "NI2w", "CNI16Qm", "CNI32Qm", "CNI0Qm"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("interface", ["Voyager-resident", "Voyager-nonresident"])
def test_wild_values_stop_the_queue_that_they_belong_to_alone(kind, interface):
    run("voyager", kind, interface=interface)


@pytest.mark.parametrize("transmit", KINDS)
@pytest.mark.parametrize("receive", KINDS)
def test_messages_arrive_between_queues_of_any_kinds(transmit, receive):
    assert run("voyager-latency", transmit, receive, 20, 10, 2).value("one-way latency") > 500
    assert run("voyager-bandwidth", transmit, receive, 88, 100, 10).value("bandwidth") > 1


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("program", ["messages", "exchange"])
def test_the_messaging_library_works_over_queues_of_each_kind(interface, program):
    run(program, interface=interface, nodes=4)


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("program", [name for name in PROGRAMS if name != "thread-sort"])
def test_programs_check_what_they_compute_over_voyager(interface, program):
    run(program, *PROGRAMS[program], interface=interface)


@pytest.mark.parametrize("interface", INTERFACES)
def test_processes_of_a_node_have_queues_of_their_own(interface):
    run("roundtrip", 64, 20, 5, interface=interface, set={"machine.processors_per_node": 2})


def test_a_cachable_queue_that_is_full_holds_its_sender_and_loses_nothing():
    """Nothing is received while 300 packets are sent to a queue of 16, in both directions."""
    steps = "on 0 repeat 300 send ^1 84 end repeat 40 receive ^1 end"
    steps += " on 1 pause 400000 repeat 300 receive ^1 end repeat 40 send ^1 4 end"
    result = run("exchange", *steps.split(), interface="Voyager-CNI", set=SNOOPED_OF_16_ENTRIES)
    counts = [node["statistics"] for node in result.document["nodes"]]
    assert counts[1]["voyager_packets_missed"] >= 300
    assert counts[1]["voyager_packets_held"] > 0
    assert counts[1]["voyager_accesses_retried"] > 0


def test_cachable_queues_that_pass_by_each_other_keep_all_messages():
    run("messages", interface="Voyager-CNI", nodes=2, set=SNOOPED_OF_16_ENTRIES)


def test_cachable_queues_are_refused_where_they_cannot_be_kept():
    for key, value, problem in [
        ("interfaces.voyager.snooped", "0B", "no room for two cachable queues"),
        ("interfaces.voyager.command_words", 16, "too few for the cachable queues"),
        ("interfaces.voyager.agent_commands", 1, "too few for the cachable queues"),
        ("messages.packet", "128B", "is a slot of 96 bytes"),
    ]:
        with pytest.raises(narthex.NarthexError, match=problem):
            run("hello", interface="Voyager-CNI", set={key: value})


@pytest.mark.parametrize("method", ["hardware", "firmware", "firmware-sends"])
def test_blocks_arrive_in_each_way(method):
    assert run("voyager-block-transfer", method, 4096, 4, 1).value("bandwidth") > 1


@pytest.mark.parametrize("method", ["calls", "commands", "multicast"])
def test_a_block_comes_to_all_nodes_and_a_multicast_reads_it_once(method):
    """Of 4 KiB and 100 bytes from an address that is no multiple of a packet, 3 receivers."""
    asked = ("voyager-multicast", method, 4196, 2, 1)
    one, two = (run(*asked, nodes=4, threads=threads) for threads in (1, 2))
    assert one.document == two.document
    sender = one.document["nodes"][0]["statistics"]
    receivers, blocks, lines = 3, 3, -(-4196 // 32)
    assert sender["voyager_block_packets_sent"] == receivers * blocks * -(-4196 // 64)
    times_read = 1 if method == "multicast" else receivers
    assert sender["bus_single_reads"] == times_read * blocks * lines


@pytest.mark.parametrize("kind", KINDS)
def test_stores_to_serviced_space_are_messages_to_queues_of_each_kind(kind):
    one, two = (run("voyager-stores", kind, 30, 5, threads=threads) for threads in (1, 2))
    assert one.document == two.document
    assert one.value("one-way latency") > 1000


def test_a_store_past_serviced_space_ends_the_program(tmp_path):
    source = tmp_path / "past.c"
    source.write_text(PAST_SERVICED_SPACE)
    with pytest.raises(narthex.NarthexError, match="no memory is mapped there"):
        run(source)


def test_short_blocks_do_not_overwrite_each_other_in_the_interface():
    run("voyager-block-transfer", "hardware", 1024, 24, 2)


def test_a_packet_of_a_block_takes_the_bus_transactions_of_table_4():
    """Three commands, a line written and flushed; of polls, some find nothing."""
    few, many = (
        run("voyager-block-transfer", "firmware-sends", 4096, blocks, 1).document["nodes"][0]
        for blocks in (2, 4)
    )
    kinds = ("uncached_stores", "exclusive_reads", "write_backs")
    keys = [f"service_bus_{kind}" for kind in kinds]
    packets = 2 * 4096 / 64
    each = [(many["statistics"][key] - few["statistics"][key]) / packets for key in keys]
    assert [round(count) for count in each] == [3, 1, 1]


def blocks_sent(result):
    return [node["statistics"]["voyager_block_packets_sent"] for node in result.document["nodes"]]


@pytest.mark.parametrize(
    ("program", "interface"),
    list(zip(["all-to-all", "channels", "collectives"], INTERFACES[:3], strict=True)),
)
def test_long_messages_go_by_block_transfers(program, interface):
    """All nodes send to each other at once; the programs check every byte."""
    args = [8192] if program == "all-to-all" else []
    assert min(blocks_sent(run(program, *args, interface=interface, nodes=4))) > 0


def test_messages_below_the_limit_go_in_packets():
    bytes_of_long = 4096
    sent = {
        size: blocks_sent(run("roundtrip", size, 2, 1))[0]
        for size in (bytes_of_long - 4, bytes_of_long)
    }
    assert sent[bytes_of_long - 4] == 0
    assert sent[bytes_of_long] >= 3 * bytes_of_long // 64


@pytest.mark.parametrize(
    ("key", "value", "has_blocks"),
    [
        ("interfaces.voyager.channels", 2, True),
        ("interfaces.voyager.channels", 1, True),
        ("operating_system.pinned_pages", 0, False),
        ("operating_system.pinned_pages", 4, False),
        ("operating_system.pinned_pages", 40, True),
        ("interfaces.voyager.slots", 2, True),
        ("machine.processors_per_node", 2, True),
    ],
)
def test_long_messages_arrive_however_little_there_is(key, value, has_blocks):
    """A channel for all senders, memory that cannot be registered, short queues, two processes."""
    result = run("all-to-all", 8192, nodes=4, set={key: value})
    assert (max(blocks_sent(result)) > 0) == has_blocks


def test_a_program_that_was_not_linked_for_it_sends_long_messages_in_packets():
    program = compiler.program_path("roundtrip")
    assert blocks_sent(run(program, 8192, 2, 1)) == [0, 0]


@pytest.mark.parametrize("policy", ["least-recently-used", "clock"])
def test_hybrid_queues_are_switched_under_traffic(policy):
    changed = {"interfaces.voyager.hybrid_policy": policy}
    run("voyager-queues", "hybrid", 40, 50, 150, 50, set=changed)


STATED = {"node.processors.service_processor.runs": "firmware/voyager-stated"}


def cycles_a_packet(sender, receiver, **changes):
    asked = ("voyager-bandwidth", sender, receiver, 84, 400, 50)
    return 84 * 140 / run(*asked, **changes).reported("bandwidth")[0]["value"]


@pytest.mark.parametrize(
    ("sender", "receiver", "stated"),
    [("nonresident", "resident", 346 + 281), ("resident", "nonresident", 209 + 112 + 59)],
)
def test_firmware_takes_the_stated_cycles_from_the_start_of_a_poll(sender, receiver, stated):
    """What its code takes longer for stays; a look at the cycle counter takes a few cycles."""
    found = cycles_a_packet(sender, receiver, set=STATED)
    assert stated <= found < stated + 80
    doubled = (
        {"interfaces.voyager.stated_launch_cycles": 1281}
        if stated == 627
        else {"interfaces.voyager.stated_demultiplex_cycles": 1209}
    )
    assert cycles_a_packet(sender, receiver, set=STATED | doubled) == pytest.approx(
        found + 1000, abs=20
    )


def test_firmware_of_its_own_code_takes_no_stated_cycles():
    changed = {"interfaces.voyager.stated_marshal_cycles": 5000}
    both = ("nonresident", "nonresident")
    assert cycles_a_packet(*both, set=changed) == cycles_a_packet(*both)


def test_stated_cycles_are_none_of_a_block():
    asked = ("voyager-block-transfer", "firmware", 4096, 8, 2)
    own, stated = (
        run(*asked, **more).reported("bandwidth")[0]["value"] for more in ({}, {"set": STATED})
    )
    assert stated == pytest.approx(own, rel=0.05)


def test_results_are_the_same_on_two_threads():
    asked = ("voyager-bandwidth", "nonresident", "nonresident", 84, 50, 10)
    one, two = (run(*asked, threads=threads) for threads in (1, 2))
    assert one.document == two.document


def test_firmware_that_never_answers_is_explained(tmp_path):
    source = tmp_path / "silent.c"
    source.write_text(SILENT)
    with pytest.raises(narthex.NarthexError, match="firmware on processor 1: waits") as caught:
        run("hello", interface="Voyager-nonresident", firmware={"voyager": source})
    told = "commands of the kernel agent that the firmware has not taken: "
    assert told in str(caught.value)
    assert caught.value.exit_code == 3


def test_a_run_goes_on_from_a_checkpoint_in_the_midst_of_messages(tmp_path):
    asked, place = ("voyager-bandwidth", "nonresident", "hybrid", 84, 8000, 10), tmp_path / "kept"
    with pytest.raises(narthex.NarthexError, match="interrupted"):
        run(*asked, checkpoint=place, observer=lambda _time_ps: False)
    resumed = run(*asked, checkpoint=place, resume=True)
    assert resumed.document == run(*asked).document


def test_firmware_that_writes_to_a_stack_in_rom_is_told_its_function(tmp_path):
    source = tmp_path / "rom.c"
    source.write_text(IN_ROM)
    with pytest.raises(narthex.NarthexError, match="read and execute only") as caught:
        run("hello", firmware={"voyager": source})
    assert "firmware on processor 1" in str(caught.value)
    assert "work_on_stack" in str(caught.value)
    assert caught.value.exit_code == 1


def test_firmware_whose_stack_was_linked_into_rom_is_refused(tmp_path):
    elf = bytearray(compiler.firmware_path("voyager").read_bytes())
    place, size, count = (*struct.unpack_from("<Q", elf, 32), *struct.unpack_from("<HH", elf, 54))
    for header in range(place, place + count * size, size):
        flags = struct.unpack_from("<I", elf, header + 4)[0]
        struct.pack_into("<I", elf, header + 4, flags & ~2)
    file = tmp_path / "rom.elf"
    file.write_bytes(elf)
    with pytest.raises(narthex.NarthexError, match=r"firmware_stack_top.*read-only") as caught:
        run("hello", firmware={"voyager": file})
    assert caught.value.exit_code == 2


def test_firmware_without_an_entry_is_refused(tmp_path):
    elf = bytearray(compiler.firmware_path("voyager").read_bytes())
    struct.pack_into("<Q", elf, 24, 0)
    file = tmp_path / "nowhere.elf"
    file.write_bytes(elf)
    with pytest.raises(narthex.NarthexError, match="entry point 0x0 lies in no") as caught:
        run("hello", firmware={"voyager": file})
    assert caught.value.exit_code == 2


def test_firmware_that_frees_what_is_not_in_use_is_told_its_place(tmp_path):
    source = tmp_path / "twice.c"
    source.write_text(FREES_TWICE)
    with pytest.raises(narthex.NarthexError, match="freed before") as caught:
        run("hello", firmware={"voyager": source})
    assert "firmware on processor 1" in str(caught.value)
    assert "free_slot" in str(caught.value)
    assert caught.value.exit_code == 1


def test_polling_firmware_is_computed_as_it_executes():
    """Both processors of a node ask for their buses between the same two events."""
    computed, executed = (
        run("roundtrip", 72, 1, 40, interface="Voyager-nonresident", execute_wait_loops=way)
        for way in (False, True)
    )
    assert computed.to_json() == executed.to_json()
