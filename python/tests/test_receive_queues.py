"""Programs that receive from several queues of Ring, or sleep until Virtio or Verbs interrupts."""

from pathlib import Path

import pytest

import narthex

GATHER = """
#include "narthex.h"
enum { EACH = 100, PAUSE_NS = 20000 };
static int next[64], came;
static void come(int source, const void *payload, size_t bytes) {
    narthex_check(bytes == sizeof(int) && *(const int *)payload == next[source],
                  "packets of node %d have overtaken each other", source);
    next[source] += 1;
    came += 1;
}
int main(void) {
    narthex_register_handler(1, come);
    int queues = narthex_use_receive_queues();
    narthex_barrier();
    if (narthex_node() == 0) {
        while (came < EACH * (narthex_nodes() - 1))
            narthex_wait(UINT64_MAX);
        narthex_report("queues", queues, "");
    } else {
        for (int each = 0; each < EACH; each++) {
            uint64_t due_ns = narthex_time_ns() + (each % 16 == 0 ? PAUSE_NS : 0);
            while (narthex_time_ns() < due_ns)
                ;
            narthex_send(0, 1, &each, sizeof each);
        }
    }
    narthex_barrier();
    return 0;
}
"""

PCIE = Path(__file__).parents[2] / "machine/tests/guests/pcie.toml"
INTERRUPTS = {
    "operating_system.system_call_time": "100ns",
    "operating_system.interrupt_time": "2us",
    "operating_system.page_time": "0ns",
    "operating_system.page_frames": "contiguous",
    "operating_system.pinned_pages": "1024",
}


@pytest.fixture(scope="module")
def gather(tmp_path_factory):
    source = tmp_path_factory.mktemp("gather") / "gather.c"
    source.write_text(GATHER)
    return source


def counted(result, name, node=0):
    return result.document["nodes"][node]["statistics"][name]


@pytest.mark.parametrize("queues", [1, 4])
def test_packets_of_a_source_stay_in_their_order_in_one_of_several_queues(gather, queues):
    steering = {"receive_steering": "rss", "receive_queues": str(queues)} if queues > 1 else {}
    settings = {f"interfaces.ring.{key}": value for key, value in steering.items()}
    settings["flow_control.buffers"] = "infinite"  # returned packets would lose their order
    result = narthex.run(gather, machine="hpca98", interface="Ring", nodes=5, set=settings)
    # Of sources 0 to 4 each queue but the first has one, and sources 1 to 4 send.
    further = counted(result, "packets_to_further_queues")
    assert further >= 300 if queues > 1 else further == 0


@pytest.mark.parametrize(
    ("interface", "interrupts", "settings"),
    [
        ("Virtio", "receive_interrupts", {"interfaces.virtio.event_index": "true"}),
        ("Virtio", "receive_interrupts", {"interfaces.virtio.event_index": "false"}),
        ("Verbs", "verbs_events", {}),
        ("Verbs", "verbs_events", {"interfaces.verbs.interrupt_moderation": "20us"}),
    ],
)
def test_a_server_sleeps_until_it_is_interrupted(gather, interface, interrupts, settings):
    notify = {f"interfaces.{interface.lower()}.notify": "interrupt"}
    settings = INTERRUPTS | notify | settings
    result = narthex.run(gather, machine=PCIE, interface=interface, nodes=2, set=settings)
    assert counted(result, interrupts) > 0
    ledger = result.document["nodes"][0]["processors"][0]["ledger_ps"]
    assert sum(time for part, time in ledger.items() if part.endswith("/ interrupt")) > 0
