"""The Virtual Interface Architecture, end to end: VIPL, kernel agent, firmware and schemes."""

import re

import pytest
from test_programs import PROGRAMS

import narthex
from narthex import validation
from narthex.assets import GUEST
from narthex.validation.sampling import sample

SCHEMES = [
    "EDT",
    "EDT+DmaReceive",
    "CCDMA-intervention",
    "CCDMA-retry",
    "DMA-flush",
    "PIO",
    "PIO+WriteCombining",
]
NO_PROGRESS = 3
SILENT = """
#include "firmware/firmware.h"
static void look_for_ever(void) { for (;;) __asm__ volatile(""); }
int main(void) { look_for_ever(); return 0; }
"""
CONNECTED = """
#include <stdlib.h>
#include <string.h>
#include "narthex.h"
#include "via/endpoint.h"

static void ignore(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error) { (void)context, (void)error; }

int main(void) {
    VIP_NIC_HANDLE nic;
    VIP_PROTECTION_HANDLE ptag;
    VIP_MEM_HANDLE memory;
    VIP_CQ_HANDLE cq;
    VIP_VI_HANDLE vi, whose;
    VIP_BOOLEAN is_receive;
    VIP_DESCRIPTOR *done;
    char *page = aligned_alloc(4096, 4096);
    memset(page, 0, 4096);
    via_check(VipOpenNic("via", &nic), "VipOpenNic");
    VipErrorCallback(nic, NULL, ignore);
    via_check(VipCreatePtag(nic, &ptag), "VipCreatePtag");
    VIP_MEM_ATTRIBUTES of_memory = {.Ptag = ptag};
    via_check(VipRegisterMem(nic, page, 4096, &of_memory, &memory), "VipRegisterMem");
    via_check(VipCreateCQ(nic, 2, &cq), "VipCreateCQ");
    VIP_VI_ATTRIBUTES of_vi = {
        .ReliabilityLevel = VIP_SERVICE_UNRELIABLE, .MaxTransferSize = 64, .Ptag = ptag};
    via_check(VipCreateVi(nic, &of_vi, cq, NULL, &vi), "VipCreateVi");
    via_describe((VIP_DESCRIPTOR *)(page + 1024), page + 2048, memory, 64);
    via_check(VipPostRecv(vi, (VIP_DESCRIPTOR *)(page + 1024), memory), "VipPostRecv");
    via_connect(nic, vi, narthex_node() ^ 1, 0);
    (void)cq, (void)whose, (void)is_receive, (void)done;
    %s
    return 0;
}
"""
# The second region asks while the first one has both tags.
REGISTERED_TWICE = """
#include <stdlib.h>
#include "narthex.h"
#include "via/endpoint.h"
#include "via/provider.h"

static bool is_answered(const struct via_nic *nic, uint64_t sequence) {
    return nic->page->answers[sequence % VIA_ANSWERS].sequence == sequence;
}

int main(void) {
    VIP_NIC_HANDLE nic;
    VIP_PROTECTION_HANDLE ptag;
    VIP_MEM_HANDLE memory;
    char *pages = aligned_alloc(4096, 4 * 4096);
    via_check(VipOpenNic("via", &nic), "VipOpenNic");
    via_check(VipCreatePtag(nic, &ptag), "VipCreatePtag");
    VIP_MEM_ATTRIBUTES attributes = {.Ptag = ptag};
    via_check(VipRegisterMem(nic, pages, 8192, &attributes, &memory), "VipRegisterMem");
    uint64_t words[VIA_REQUEST_WORDS] = {(uintptr_t)pages + 8192, 8192, ptag, 0};
    via_check(via_request(nic, VIA_REGISTER, words), "VIA_REGISTER");
    narthex_pause(1000000);
    narthex_report("waits", is_answered(nic, words[5]) ? 0 : 1, "registrations");
    via_check(VipDeregisterMem(nic, pages, memory), "VipDeregisterMem");
    via_check(via_await(nic, words[5], VIP_INFINITE, NULL), "VIA_REGISTER");
    return 0;
}
"""
LATE = """
#include <infiniband/verbs.h>
#include "via/endpoint.h"

int main(void) {
    VIP_NIC_HANDLE nic;
    struct ibv_context *context = ibv_open_device(ibv_get_device_list(NULL)[0]);
    struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
    struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC};
    ibv_create_qp(ibv_alloc_pd(context), &init);
    return VipOpenNic("via", &nic);
}
"""
WAITING = 'via_check(VipRecvWait(vi, VIP_INFINITE, &done), "VipRecvWait");'
FULL_QUEUE = """
    for (int each = 0; each < 3; each++) {
        VIP_DESCRIPTOR *descriptor = (VIP_DESCRIPTOR *)(page + each * 128);
        via_describe(descriptor, page + 2048, memory, 64);
        via_check(VipPostSend(vi, descriptor, memory), "VipPostSend");
        via_check(VipSendWait(vi, VIP_INFINITE, &done), "VipSendWait");
    }
    for (int each = 0; each < 3; each++)
        via_check(VipCQWait(cq, VIP_INFINITE, &whose, &is_receive), "VipCQWait");
"""


def run(program, *args, interface="EDT", nodes=2, **asked):
    return narthex.run(program, *args, machine="edt", interface=interface, nodes=nodes, **asked)


@pytest.mark.parametrize("interface", SCHEMES)
def test_each_mistake_ends_in_the_error_that_the_specification_names(interface):
    run("via", interface=interface)
    run("via-connections", interface=interface)


@pytest.mark.parametrize("interface", ["EDT", "CCDMA-intervention"])
def test_processes_that_share_an_interface_do_not_get_at_each_others_vis(interface):
    run("via", interface=interface, nodes=1, set={"machine.processors_per_node": 2})
    run("via-connections", interface=interface, nodes=1, set={"machine.processors_per_node": 2})


QUEUE_PAIRS = {"machine": "hpca98", "interface": "Verbs"}


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("via", ()),
        ("via-connections", ()),
        ("via-latency", (64, 5, 2)),
        ("via-latency", (4096, 5, 2)),
        ("via-construction", ("random", 1024, 3)),
        ("via-zero-copy", (2048, 4, 2, 65536)),
    ],
)
def test_programs_of_vipl_check_themselves_over_queue_pairs(program, arguments):
    narthex.run(program, *arguments, nodes=2, **QUEUE_PAIRS)


def test_one_binary_of_vipl_connects_all_processes_over_via_and_over_queue_pairs(tmp_path):
    program = narthex.compile(GUEST / "programs" / "tests" / "via-mesh.c", tmp_path / "mesh")
    run(program, nodes=4)
    narthex.run(program, nodes=8, **QUEUE_PAIRS)
    shared = {"machine.processors_per_node": 2}
    narthex.run(program, nodes=2, set=shared, **QUEUE_PAIRS)


def test_queue_pairs_of_a_program_before_vipl_are_told(tmp_path):
    source = tmp_path / "late.c"
    source.write_text(LATE)
    with pytest.raises(narthex.NarthexError, match="VipOpenNic has to come before the program's"):
        narthex.run(source, nodes=1, **QUEUE_PAIRS)


@pytest.mark.parametrize("interface", SCHEMES)
@pytest.mark.parametrize("bytes_", [64, 4096])
def test_messages_of_vipl_arrive_over_each_scheme(interface, bytes_):
    result = run("via-latency", bytes_, 10, 5, interface=interface)
    assert result.value("latency") > 1000


@pytest.mark.parametrize(
    ("interface", "nodes", "told"),
    [
        ("EDT", 66, r"interfaces\.via\.vis: 64 is too few: .* expected from 65 to 256"),
        ("EDT", 300, r"interfaces\.via\.vis: .* the most is 256; expected fewer processes"),
        ("PIO", 19, r"machine\.nodes: 19 processes .* at most 18 processes"),
    ],
)
def test_more_processes_than_can_connect_are_refused_before_the_run(interface, nodes, told):
    with pytest.raises(narthex.NarthexError, match=told):
        run("hello", interface=interface, nodes=nodes)


@pytest.mark.parametrize("interface", ["EDT", "PIO"])
@pytest.mark.parametrize("program", ["messages", "exchange"])
def test_the_messaging_library_works_over_vipl(interface, program):
    run(program, interface=interface, nodes=3)


@pytest.mark.parametrize("interface", ["EDT", "CCDMA-retry"])
@pytest.mark.parametrize("program", [name for name in PROGRAMS if name != "thread-sort"])
def test_programs_check_what_they_compute_over_vipl(interface, program):
    run(program, *PROGRAMS[program], interface=interface)


@pytest.mark.parametrize("interface", ["EDT", "CCDMA-intervention", "PIO"])
def test_processes_of_a_node_have_vis_of_their_own(interface):
    run("roundtrip", 64, 20, 5, interface=interface, set={"machine.processors_per_node": 2})


@pytest.mark.parametrize(("nodes", "processors"), [(9, 1), (32, 1), (8, 2)])
def test_refused_requests_to_connect_leave_time_for_what_they_wait_for(nodes, processors):
    """Without a turn for the command that waits for them they are made again for ever."""
    set_ = {"machine.processors_per_node": processors}
    run("hello", nodes=nodes, set=set_, until="30ms")


def test_no_completion_is_lost_where_caches_do_not_see_dma():
    run("spsolve", 600, 3, interface="DMA-flush", nodes=4)


def test_results_are_the_same_on_two_threads():
    one, two = (run("via-latency", 256, 20, 5, threads=threads) for threads in (1, 2))
    assert one.document == two.document


def test_sends_in_place_use_registrations_again():
    kept = run("via-zero-copy", 2048, 8, 2, 65536)
    assert (kept.value("hits"), kept.value("misses"), kept.value("releases")) == (6, 2, 0)
    tight = run("via-zero-copy", 2048, 8, 2, 4096)
    assert (tight.value("hits"), tight.value("misses"), tight.value("releases")) == (0, 8, 7)
    assert tight.value("in place") > kept.value("in place") + 1000


@pytest.mark.parametrize(
    ("when_full", "waits", "copies"), [("postpone", 1, 2), ("fall-back", 0, 1)]
)
def test_a_registration_without_room_waits_or_has_no_copy(tmp_path, when_full, waits, copies):
    source = tmp_path / "registered-twice.c"
    source.write_text(REGISTERED_TWICE)
    chosen = {"interfaces.via.tags": 2, "interfaces.via.when_full": when_full}
    result = run(source, nodes=1, set=chosen)
    assert result.value("waits") == waits
    blocks = result.document["nodes"][0]["statistics"]["via_blocks_initialised"]
    assert blocks == copies * 2 * 32


def test_a_message_layer_takes_its_cycles_on_both_sides():
    bare, layered = (
        run("via-latency", 64, 20, 5, set={"interfaces.via.message_layer_cycles": cycles})
        for cycles in (0, 1000)
    )
    layer_ns = layered.value("latency") - bare.value("latency")
    assert 20_000 <= layer_ns < 20_500


def hang(tmp_path, program, source=None, **asked):
    """Run what makes no progress; return the words that explain it."""
    if source is not None:
        program = tmp_path / program
        program.write_text(source)
    with pytest.raises(narthex.NarthexError) as caught:
        run(program, **asked)
    assert caught.value.exit_code == NO_PROGRESS
    return str(caught.value)


def test_firmware_that_never_answers_is_explained_by_its_function(tmp_path):
    source = tmp_path / "silent.c"
    source.write_text(SILENT)
    told = hang(tmp_path, "via-latency", firmware={"via": source})
    assert "in VipOpenNic" in told
    assert re.search(r"firmware on processor 1: executes\n +at +0x\w+ (look_for_ever|main) ", told)
    assert "commands that wait for the firmware: 1" in told


@pytest.mark.parametrize(("what", "call"), [(WAITING, "VipRecvWait"), (FULL_QUEUE, "VipCQWait")])
def test_two_ends_that_wait_are_explained_with_what_the_firmware_waits_for(tmp_path, what, call):
    told = hang(tmp_path, "waiting.c", CONNECTED % what)
    assert call in told
    assert re.search(
        r"firmware on processor 1: waits for an interrupt; .*\n +at +0x\w+ main ", told
    )
    assert "node 1: doorbells: 0 of 64 entries in use" in told


def test_processes_that_share_an_interface_are_explained_too(tmp_path):
    set_ = {"machine.processors_per_node": 2}
    told = hang(tmp_path, "waiting.c", CONNECTED % WAITING, set=set_)
    assert told.count("doorbells: 0 of 64 entries in use") == 4


def test_a_program_of_vipl_is_told_which_interfaces_have_it():
    written = []
    with pytest.raises(narthex.NarthexError, match="VipOpenNic returns VIP_ERROR_RESOURCE"):
        run("via-latency", interface="CNI32Qm", output=lambda *each: written.append(each[-1]))
    told = rb'"/dev/via", which is a device of EDT, EDT\+DmaReceive, .*; the interface is CNI32Qm'
    assert re.search(told, b"".join(written))


def test_firmware_drives_the_dma_engine_where_the_machines_file_has_it():
    moved = {"node.dma_engines.host_dma.registers": "[0, 0x70005000]"}
    result = run("via-latency", 64, 3, 1, interface="CCDMA-intervention", set=moved)
    assert (
        result.document["nodes"]
        == run("via-latency", 64, 3, 1, interface="CCDMA-intervention").document["nodes"]
    )
    unreached = {"node.dma_engines.host_dma.registers": "[0, 0]"}
    with pytest.raises(narthex.NarthexError, match="no DMA engine has registers on the ni_bus"):
        run("hello", set=unreached)


def test_messages_across_pages_and_posted_before_the_connection_go_to_their_places():
    nodes = run("via-latency", 32768, 3, 1).document["nodes"]
    packets = 4 * 22
    assert all(node["statistics"]["via_packets_placed"] >= packets for node in nodes)


def test_messages_are_counted_by_their_size_once():
    nodes = run("via-latency", 4096, 4, 1).document["nodes"]
    counted = [
        size["messages"]
        for node in nodes
        for size in node["message_sizes"]
        if size["bytes"] == 32 + 4096
    ]
    assert counted == [5, 5]


def test_a_timeline_calls_the_interface_and_its_firmware_by_their_names(tmp_path):
    file = tmp_path / "via.pftrace"
    run("via-latency", 64, 2, 1, interface="CCDMA-intervention", trace=file)
    written = file.read_bytes()
    for name in (b"firmware", b"network side of the interface", b"DMA engine"):
        assert name in written
    assert b" half" not in written


def test_an_experiment_of_a_whole_run_has_the_time_of_firmware():
    result = run("via-latency", 64, 4, 1, interface="CCDMA-intervention")
    experiment = validation.load("edt/breakdown-dma-interrupt")
    interrupts = sample(experiment, experiment.workload[0], result).value
    of_firmware = (node["processors"][1]["ledger_ps"] for node in result.document["nodes"])
    booked_ps = sum(ledger["DMA interrupt / execute"] for ledger in of_firmware)
    assert interrupts == booked_ps / 1e6
    assert interrupts > 10


def test_a_run_goes_on_from_a_checkpoint_in_the_midst_of_messages(tmp_path):
    asked, place = ("via-latency", 64, 2000, 5), tmp_path / "kept"
    with pytest.raises(narthex.NarthexError, match="interrupted"):
        run(*asked, checkpoint=place, observer=lambda _time_ps: False)
    resumed = run(*asked, checkpoint=place, resume=True)
    assert resumed.document == run(*asked).document
