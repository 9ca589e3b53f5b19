"""Jobs that share StarT-Voyager's interfaces, its two priorities, and machines that it refuses."""

import pytest

import narthex

INTERFACES = ["Voyager-resident", "Voyager-nonresident", "Voyager-hybrid"]
KINDS = ["resident", "nonresident", "hybrid"]
TWO = {"machine.processors_per_node": 2}
NOT_DRAINED = 6
"""VOYAGER_STATUS_NOT_DRAINED."""

WILD = """
#include <narthex.h>
#include <stdlib.h>
#include "runtime/information.h"
#include "voyager/slots.h"

/* Tries every place of a job's reach: destinations beyond its own, and its serviced page. */
int main(int count, char **values) {
    const struct narthex_information *machine = narthex_information();
    unsigned kind = (unsigned)atoi(values[count - 1]);
    unsigned own = (unsigned)narthex_nodes() * (unsigned)machine->voyager_queues;
    for (unsigned wrong = own; wrong < 0x10000; wrong += wrong < 2 * own ? own / 4 : 9973) {
        struct voyager_queue queue;
        narthex_check(voyager_open_transmit(&queue, 1, kind, 4) == 0, "open");
        voyager_send(&queue, wrong, 0, "wild", 4);
        while (voyager_status(&queue) == VOYAGER_STATUS_OPEN)
            ;
        narthex_check(voyager_status(&queue) == VOYAGER_STATUS_BAD_DESTINATION, "it is sent");
        narthex_check(voyager_close(&queue) == 0, "it does not close");
    }
    volatile uint64_t *serviced = (volatile uint64_t *)machine->voyager_serviced;
    for (unsigned word = 0; word < 512; word += 5)
        serviced[word] = word % 2 ? ~0ul : word;
    narthex_check(serviced[511] == ~0ul, "something is there");
    return 0;
}
"""

READER = """
#include <narthex.h>
#include <stdlib.h>
#include "voyager/slots.h"

/* Loads from the same place of the next process's part of the interface. */
int main(int count, char **values) {
    struct voyager_queue queue;
    narthex_check(voyager_open_receive(&queue, 1, VOYAGER_KIND_RESIDENT, 4) == 0, "open");
    long stride = strtol(values[count - 1], 0, 0);
    return (int)*(volatile uint64_t *)((char *)queue.pointers + stride);
}
"""

NEVER_DRAINED = """
#include <narthex.h>
#include <stdlib.h>
#include "voyager/voyager.h"

enum { NUMBER = 1, SLOTS = 4, MESSAGES = 100 };

/* Node 0 sends more than node 1's queue and its firmware have room for; node 1 takes nothing. */
int main(int count, char **values) {
    unsigned kind = (unsigned)atoi(values[count - 1]);
    struct voyager_queue queue;
    if (narthex_node() == 0) {
        narthex_check(voyager_open_transmit(&queue, NUMBER, kind, SLOTS) == 0, "open");
        narthex_barrier();
        for (int sent = 0; sent < MESSAGES; sent++)
            voyager_send(&queue, voyager_destination(1, NUMBER), 0, &sent, sizeof sent);
    } else {
        narthex_check(voyager_open_receive(&queue, NUMBER, kind, SLOTS) == 0, "open");
        narthex_barrier();
        while (voyager_status(&queue) == VOYAGER_STATUS_OPEN)
            ;
        narthex_report("status", voyager_status(&queue), "");
    }
    narthex_barrier();
    return 0;
}
"""

REFUSED = """
#include <errno.h>
#include <narthex.h>
#include <stdlib.h>
#include "voyager/voyager.h"

enum { NOTICES = 1, PAGE = 4096, PAGES = 3, CHANNEL = 0 };

static _Alignas(PAGE) char memory[PAGES * PAGE];

/* The user's byte of the next message about a transfer. */
static unsigned notice(struct voyager_queue *queue) {
    struct voyager_message message;
    while (!voyager_arrived(queue, &message))
        ;
    unsigned user = message.user;
    voyager_free(queue);
    return user;
}

/* All others send to rank 0, which has registered all but the second page. */
int main(int count, char **values) {
    unsigned method = (unsigned)atoi(values[count - 1]);
    int own = narthex_node();
    struct voyager_queue queue;
    narthex_check(voyager_open_receive(&queue, NOTICES, VOYAGER_KIND_NONRESIDENT, 8) == 0, "open");
    if (own == 0) {
        narthex_check(voyager_register(memory, PAGE) == 0, "register");
        narthex_check(voyager_register(memory + 2 * PAGE, PAGE) == 0, "register");
    } else {
        narthex_check(voyager_register(memory, sizeof memory) == 0, "register");
        for (int byte = 0; byte < PAGES * PAGE; byte++)
            memory[byte] = (char)own;
    }
    narthex_barrier();
    for (int round = 0; own > 0 && round < 3; round++) {
        /* A page that is registered, the one between, and both in one transfer. */
        char *from = memory + (round == 1 ? PAGE : 0), *to = from;
        size_t bytes = round == 2 ? 2 * PAGE : PAGE;
        int error;
        while ((error = voyager_transfer(method, 0, from, to, bytes, CHANNEL, NOTICES)) == EAGAIN)
            ; /* the node's other process has one under way */
        narthex_check(error == 0, "begin");
        int refusals = 0;
        for (int notices = 0; notices < (round == 0 ? 1 : 2); notices++)
            refusals += notice(&queue) == VOYAGER_USER_REFUSED;
        narthex_check(refusals == (round > 0), "round %d: %d refusals", round, refusals);
        struct voyager_message message;
        narthex_pause(20000);
        narthex_check(!voyager_arrived(&queue, &message), "round %d: told too often", round);
    }
    narthex_barrier();
    for (int byte = 0; own == 0 && byte < PAGES * PAGE; byte++)
        narthex_check((memory[byte] > 0) == (byte < PAGE), "byte %d is %d", byte, memory[byte]);
    return 0;
}
"""

PRIORITIES = """
#include <narthex.h>
#include <stdlib.h>
#include "voyager/voyager.h"

enum { STREAM = 1, LETTER = 2, MESSAGES = 200, SLOTS = 16 };

static int number_of(struct voyager_queue *queue) {
    struct voyager_message message;
    if (!voyager_arrived(queue, &message))
        return -1;
    int number = *(const int *)message.payload;
    voyager_free(queue);
    return number;
}

/* Node 0 fills the network with a stream that node 1 does not take, and sends a letter then. */
int main(int count, char **values) {
    unsigned urgent = (unsigned)atoi(values[count - 1]);
    struct voyager_queue stream, letter;
    const unsigned kind = VOYAGER_KIND_RESIDENT;
    if (narthex_node() == 0) {
        voyager_open_transmit(&stream, STREAM, kind, SLOTS);
        narthex_check(voyager_open_transmit(&letter, LETTER, kind | urgent, SLOTS) == 0, "open");
        narthex_barrier();
        int sent = 0;
        for (unsigned pause = 0; pause < 200 && sent < MESSAGES; pause++)
            if (voyager_has_room(&stream)) {
                voyager_send(&stream, voyager_destination(1, STREAM), 0, &sent, sizeof sent);
                sent++, pause = 0;
            }
        narthex_check(sent < MESSAGES, "the stream is not stalled");
        int last = -2;
        voyager_send(&letter, voyager_destination(1, LETTER), 0, &last, sizeof last);
        narthex_report("sent", sent, "messages");
        voyager_send(&stream, voyager_destination(1, STREAM), 0, &last, sizeof last);
    } else {
        voyager_open_receive(&stream, STREAM, kind, SLOTS);
        voyager_open_receive(&letter, LETTER, kind, SLOTS);
        narthex_barrier();
        narthex_pause(200000);
        narthex_report("letter", number_of(&letter) == -2, "messages");
        for (int number, wanted = 0; (number = number_of(&stream)) != -2;)
            narthex_check(number == -1 || number == wanted++, "%d instead of %d", number, wanted);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Write the programs, each of which is compiled once."""
    folder = tmp_path_factory.mktemp("sources")
    texts = {
        "wild": WILD,
        "reader": READER,
        "priorities": PRIORITIES,
        "never-drained": NEVER_DRAINED,
        "refused": REFUSED,
    }
    for name, text in texts.items():
        (folder / f"{name}.c").write_text(text)
    return {name: folder / f"{name}.c" for name in texts}


def run(program=None, *args, interface="Voyager-resident", nodes=2, **asked):
    return narthex.run(program, *args, machine="voyager", interface=interface, nodes=nodes, **asked)


def value(result, name, process=0):
    reports = result.document["reports"]
    return next(e["value"] for e in reports if (e["name"], e["process"]) == (name, process))


@pytest.mark.parametrize("interface", INTERFACES)
def test_jobs_that_share_an_interface_are_right_and_cost_each_other_time(interface):
    alone = run(jobs=["gauss 32"], interface=interface, set=TWO)
    together = run(jobs=["gauss 32", "em3d 64 8"], interface=interface, set=TWO)
    assert value(together, "execution time") > value(alone, "execution time")


@pytest.mark.parametrize("kind", KINDS)
def test_a_process_that_is_away_finds_its_messages_while_another_job_uses_the_interface(kind):
    both = run(jobs=[f"voyager {kind} absent", "em3d 64 8"], set=TWO)
    alone = run(jobs=[f"voyager {kind} absent"], set=TWO)
    sent = [
        each.document["nodes"][0]["statistics"]["voyager_packets_sent"] for each in (both, alone)
    ]
    assert sent[0] > sent[1] + 20


@pytest.mark.parametrize("number", [1, 2, 3])
def test_wild_values_of_a_job_stop_its_own_queues_alone(sources, number):
    jobs = ["em3d 64 8", f"{sources['wild']} {number}"]
    together = run(jobs=jobs, interface=INTERFACES[number - 1], set=TWO)
    refused = [
        node["statistics"]["voyager_messages_refused"] for node in together.document["nodes"]
    ]
    assert number != 1 or min(refused) > 4


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_queue_that_is_never_drained_is_stopped_and_the_other_job_goes_on(sources, number):
    """Its slots, and the firmware's 32, hold what they can; the rest holds up both jobs once."""
    jobs = ["gauss 32", f"{sources['never-drained']} {number}"]
    asked = {"interface": INTERFACES[number - 1], "set": TWO}
    both, alone = run(jobs=jobs, **asked), run(jobs=jobs[:1], **asked)
    assert value(both, "status", process=1) == NOT_DRAINED
    assert value(both, "execution time") < value(alone, "execution time") + 25e6


def test_a_limit_that_is_shorter_holds_up_the_other_job_for_less(sources):
    jobs = ["gauss 32", f"{sources['never-drained']} 1"]
    times = [
        value(run(jobs=jobs, set=TWO | {"interfaces.voyager.drain_limit": limit}), "execution time")
        for limit in ("2ms", "20ms")
    ]
    assert times[1] - times[0] == pytest.approx(18e6, rel=0.05)


@pytest.mark.parametrize("number", [1, 2])
def test_a_queue_of_the_only_job_may_stay_full_for_ever(sources, number):
    """It holds up nobody else: its job is told that nothing goes on."""
    with pytest.raises(narthex.NarthexError, match="no progress") as caught:
        run(sources["never-drained"], number, interface=INTERFACES[number - 1])
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("method", [0, 1, 2])
@pytest.mark.parametrize("processes", [1, 2])
def test_who_sends_a_block_to_memory_that_is_not_registered_is_told_once(
    sources, method, processes
):
    """By hardware, by firmware, and by firmware to hardware, from one node or several at a time."""
    settings = {"machine.processors_per_node": processes}
    result = run(sources["refused"], method, nodes=3, set=settings)
    counts = result.document["nodes"][0]["statistics"]
    assert method == 1 or counts["voyager_remote_writes_refused"] >= 2 * 128


@pytest.mark.parametrize("process", [0, 1])
def test_a_job_cannot_read_the_queues_of_another(sources, process):
    jobs = ["voyager resident", f"{sources['reader']} {0x2000000 if process == 0 else -0x2000000}"]
    with pytest.raises(
        narthex.NarthexError, match=rf"process {process} .*no memory is mapped there"
    ) as caught:
        run(jobs=jobs if process else jobs[::-1], set=TWO)
    assert caught.value.exit_code == 1


@pytest.mark.parametrize("urgent", [0, 0x100])
def test_an_urgent_message_passes_a_stalled_stream_and_another_one_does_not(sources, urgent):
    result = run(sources["priorities"], urgent)
    assert result.value("letter") == (1 if urgent else 0)


@pytest.mark.parametrize("kind", KINDS)
def test_messages_are_counted_by_their_size(kind):
    document = run("voyager-bandwidth", kind, kind, 84, 40, 8).document
    (sizes,) = [node["message_sizes"] for node in document["nodes"][:1]]
    assert {"bytes": 8 + 84, "messages": 48} in sizes
    blocks = run("voyager-block-transfer", "hardware", 1024, 8, 2).document
    assert {"bytes": 8 + 1024, "messages": 10} in blocks["nodes"][0]["message_sizes"]


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"nodes": 16, "set": {"interfaces.voyager.destinations": 2048}}, "4096 at least"),
        (
            {"nodes": 16, "set": {"interfaces.voyager.destinations": 64}},
            "job of 16 nodes.* 4096 at",
        ),
        ({"set": {"interfaces.voyager.slots": 2048}}, "at most 1024 slots fit"),
        ({"set": {"interfaces.voyager.physical_queues": 9}}, "physical_queues"),
        ({"jobs": ["gauss 16", "em3d 64"]}, r"machine\.processors_per_node=2"),
        ({"jobs": ["gauss 16 @ 0-7"]}, "the machine has the nodes 0 to 1"),
    ],
)
def test_what_does_not_fit_is_refused_before_it_begins(asked, problem):
    with pytest.raises(narthex.NarthexError, match=problem) as caught:
        run(None if "jobs" in asked else "hello", **asked)
    assert caught.value.exit_code == 2
