"""The Virtual Interface Architecture, end to end: VIPL, kernel agent, firmware and schemes."""

import pytest
from test_programs import PROGRAMS

import narthex
from narthex import validation
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
SILENT = """
#include "firmware/firmware.h"
int main(void) { for (;;) wait_for_interrupt(); }
"""


def run(program, *args, interface="EDT", nodes=2, **asked):
    return narthex.run(program, *args, machine="edt", interface=interface, nodes=nodes, **asked)


@pytest.mark.parametrize("interface", SCHEMES)
def test_each_mistake_ends_in_the_error_that_the_specification_names(interface):
    run("via", interface=interface)


@pytest.mark.parametrize("interface", SCHEMES)
@pytest.mark.parametrize("bytes_", [64, 4096])
def test_messages_of_vipl_arrive_over_each_scheme(interface, bytes_):
    result = run("via-latency", bytes_, 10, 5, interface=interface)
    assert result.value("latency") > 1000


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


def test_firmware_that_never_answers_is_explained(tmp_path):
    source = tmp_path / "silent.c"
    source.write_text(SILENT)
    with pytest.raises(narthex.NarthexError, match="VipOpenNic"):
        run("via-latency", firmware={"via": source})


def test_an_experiment_of_a_whole_run_has_the_time_of_firmware():
    result = run("via-latency", 64, 4, 1, interface="CCDMA-intervention")
    interrupts = sample(validation.load("edt/breakdown-dma-interrupt"), result).value
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
