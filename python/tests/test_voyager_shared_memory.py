"""Shared memory over the snooped space of StarT-Voyager: `firmware/voyager-shared`."""

import pytest

import narthex
from narthex import compiler
from narthex.assets import GUEST

SHARED = {"node.processors.service_processor.runs": "firmware/voyager-shared"}
BEHIND_THE_REGION = """
#include "narthex.h"
#include "voyager/shared_memory.h"
int main(void) {
    void *region;
    narthex_check(voyager_open_shared_memory(&region, 128) == 0, "there is no region");
    ((volatile char *)region)[127] = 1;
    ((volatile char *)region)[128] = 1;
    return 0;
}
"""
SPINS_BEFORE_IT_OPENS = """
#include "narthex.h"
#include "voyager/shared_memory.h"
int main(void) {
    if (narthex_node() > 0)
        narthex_pause(2000000);
    void *region;
    narthex_check(voyager_open_shared_memory(&region, 12 * 4096) == 0, "there is no region");
    volatile unsigned *words = region;
    for (int page = 0; page < 12; page++)
        if (narthex_node() == 0)
            words[page * 1024] = 7u + page;
        else
            while (words[page * 1024] != 7u + page)
                ;
    return 0;
}
"""
TAKES_NOTHING_OUT = """
#include "narthex.h"
#include "voyager/shared_memory.h"
static void on(int source, const void *payload, size_t length) {
    (void)source, (void)payload, (void)length;
}
int main(void) {
    void *region;
    narthex_register_handler(1, on);
    narthex_check(voyager_open_shared_memory(&region, 2 * 4096) == 0, "there is no region");
    char *page = (char *)region + (voyager_home_of(region) == 1 ? 0 : 4096);
    narthex_barrier();
    if (narthex_node() == 0) {
        narthex_pause(200000);
        return *(volatile int *)page;
    }
    for (int each = 0; each < 200; each++)
        narthex_send(0, 1, &each, sizeof each);
    return 0;
}
"""


def run(*asked, interface="Voyager-resident", nodes=3, **more):
    settings = {**SHARED, **more.pop("set", {})}
    return narthex.run(
        *asked, machine="voyager", interface=interface, nodes=nodes, set=settings, **more
    )


@pytest.mark.parametrize("interface", ["Voyager-resident", "Voyager-nonresident", "Voyager-hybrid"])
def test_ranks_that_write_the_same_lines_lose_nothing(interface):
    """Counters of which each line has four, and words of all ranks beside each other."""
    asked = ("voyager-shared-memory", "counters", 6, 12)
    one, two = (run(*asked, interface=interface, nodes=4, threads=threads) for threads in (1, 2))
    assert one.document == two.document
    assert one.value("sum of the counters") == 12 * 6 * sum(2 * rank + 7 for rank in range(4)) / 2


@pytest.mark.parametrize(
    "settings",
    [
        {"machine.processors_per_node": 2},
        {"interfaces.voyager.captures": 1},
        {"interfaces.voyager.command_words": 64},
        {"network.switches.delay": "2us"},
        {"bus.dirty_owner": "intervene"},
    ],
)
def test_they_lose_nothing_whatever_is_slow_or_narrow(settings):
    run("voyager-shared-memory", "counters", 40, 3, nodes=4, set=settings)


def test_a_grid_is_relaxed_as_by_a_single_rank():
    run("voyager-shared-memory", "grid", 3, 6)
    run("voyager-shared-memory", "grid", 4, 2, nodes=1)


def test_values_pass_from_rank_to_rank():
    run("voyager-shared-memory", "pipeline", 60)


def test_an_access_takes_the_longer_the_more_ranks_have_a_part_in_it():
    result = run("voyager-shared-memory", "latency", 16)
    here, at_home, third = (
        result.value(what)
        for what in (
            "read, in own memory",
            "read, in the home's memory",
            "read, written by a third",
        )
    )
    assert 4 * here < at_home < third
    assert result.value("home reads, written by another") < third
    assert result.value("write, read before, at home besides") < result.value(
        "write, read before, at a third besides"
    )


def test_what_a_home_has_can_be_had_before_its_program_asks_for_anything(tmp_path):
    source = tmp_path / "late.c"
    source.write_text(SPINS_BEFORE_IT_OPENS)
    run(source)


def test_a_store_behind_the_region_ends_the_program(tmp_path):
    source = tmp_path / "behind.c"
    source.write_text(BEHIND_THE_REGION)
    with pytest.raises(narthex.NarthexError, match="no memory is mapped there"):
        run(source)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"set": {"interfaces.voyager.snooped": "8KiB"}}, "12288 bytes .* has fewer bytes"),
        ({"set": {"interfaces.voyager.snooped": "0B"}}, "has fewer bytes"),
        ({"set": dict.fromkeys(SHARED, "firmware/voyager")}, "has no shared memory"),
        ({"interface": "Voyager-CNI"}, "has no shared memory"),
        ({"interface": "NI2w", "set": {}}, "no interface of StarT-Voyager"),
        ({"set": {"interfaces.voyager.command_words": 16}}, "command queues are too short"),
    ],
)
def test_what_has_no_region_is_told_why(asked, problem):
    with pytest.raises(narthex.NarthexError, match=problem):
        run("voyager-shared-memory", "latency", 4, **asked)


def test_a_network_that_does_not_keep_the_order_of_packets_ends_the_run(tmp_path):
    """As if it did not: packets have each other's numbers."""
    folders = [GUEST / "firmware" / name for name in ("voyager", "voyager-shared")]
    sources = {source.name: source for folder in folders for source in folder.glob("*.c")}
    changed = tmp_path / "messages.c"
    changed.write_text(sources["messages.c"].read_text().replace("number <<", "(number ^ 1) <<"))
    sources["messages.c"] = changed
    firmware = compiler.compile_firmware(list(sources.values()), tmp_path / "swapped")
    with pytest.raises(narthex.NarthexError, match="network_does_not_keep_the_order_of_packets"):
        run("voyager-shared-memory", "counters", 2, 2, firmware={"voyager-shared": firmware})


def test_a_run_goes_on_from_a_checkpoint_while_lines_are_on_their_way(tmp_path):
    asked, place = ("voyager-shared-memory", "counters", 30, 30), tmp_path / "kept"
    with pytest.raises(narthex.NarthexError, match="interrupted"):
        run(*asked, checkpoint=place, observer=lambda _time_ps: False)
    assert run(*asked, checkpoint=place, resume=True).document == run(*asked).document


def test_a_processor_that_waits_for_a_line_behind_messages_that_it_must_take_is_explained(tmp_path):
    source = tmp_path / "full.c"
    source.write_text(TAKES_NOTHING_OUT)
    settings = {"machine.time_without_progress": "2ms"}
    with pytest.raises(narthex.NarthexError, match="no progress") as caught:
        run(source, nodes=2, set=settings)
    assert "node 0 waits for an answer to its memory access" in str(caught.value)
    assert "packets to it wait in the network" in str(caught.value)
