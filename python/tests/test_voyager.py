"""StarT-Voyager, end to end: queues of three kinds, their firmware, and block transfers."""

import pytest
from test_programs import PROGRAMS

import narthex
from narthex.comparison import interface_names, interfaces_of

INTERFACES = ["Voyager-resident", "Voyager-nonresident", "Voyager-hybrid"]
KINDS = ["resident", "nonresident", "hybrid"]
SILENT = """
#include "firmware/firmware.h"
int main(void) { for (;;) wait_for_interrupt(); }
"""


def run(program, *args, interface="Voyager-resident", nodes=2, **asked):
    return narthex.run(program, *args, machine="voyager", interface=interface, nodes=nodes, **asked)


def test_the_machine_has_its_interfaces_and_those_of_other_studies():
    assert set(interface_names()) >= set(INTERFACES)
    names, _ = interfaces_of("voyager")
    assert set(names) >= {*INTERFACES, "NI2w", "CNI16Qm", "CNI32Qm", "CNI0Qm"}


@pytest.mark.parametrize("kind", KINDS)
def test_wild_values_stop_the_queue_that_they_belong_to_alone(kind):
    run("voyager", kind)


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


@pytest.mark.parametrize("method", ["hardware", "firmware", "firmware-sends"])
def test_blocks_arrive_in_each_way(method):
    assert run("voyager-block-transfer", method, 4096, 4, 1).value("bandwidth") > 1


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


@pytest.mark.parametrize("policy", ["least-recently-used", "clock"])
def test_hybrid_queues_are_switched_under_traffic(policy):
    changed = {"interfaces.voyager.hybrid_policy": policy}
    run("voyager-queues", "hybrid", 40, 50, 150, 50, set=changed)


def test_results_are_the_same_on_two_threads():
    asked = ("voyager-bandwidth", "nonresident", "nonresident", 84, 50, 10)
    one, two = (run(*asked, threads=threads) for threads in (1, 2))
    assert one.document == two.document


def test_firmware_that_never_answers_is_explained(tmp_path):
    source = tmp_path / "silent.c"
    source.write_text(SILENT)
    with pytest.raises(narthex.NarthexError, match="firmware"):
        run("hello", interface="Voyager-nonresident", firmware={"voyager": source})


def test_a_run_goes_on_from_a_checkpoint_in_the_midst_of_messages(tmp_path):
    asked, place = ("voyager-bandwidth", "nonresident", "hybrid", 84, 8000, 10), tmp_path / "kept"
    with pytest.raises(narthex.NarthexError, match="interrupted"):
        run(*asked, checkpoint=place, observer=lambda _time_ps: False)
    resumed = run(*asked, checkpoint=place, resume=True)
    assert resumed.document == run(*asked).document
