"""The messaging library on simulated machines: programs that check themselves, and wrong calls."""

import pytest

import narthex

HPCA98 = {"machine": "hpca98"}
ISCA96 = {"machine": "isca96"}

MACHINES = [
    # One buffer, so that senders wait and buffer what arrives.
    HPCA98 | {"interface": "NI2w", "nodes": 1},
    HPCA98 | {"interface": "NI2w", "nodes": 5, "set": ["flow_control.buffers=1"]},
    HPCA98 | {"interface": "NI16w+Blkbuf", "nodes": 3, "set": ["flow_control.buffers=2"]},
    HPCA98 | {"interface": "CNI512Q", "nodes": 8, "set": ["flow_control.buffers=1"]},
    HPCA98 | {"interface": "CNI32Qm", "nodes": 16, "set": ["flow_control.buffers=8"]},
    ISCA96 | {"interface": "CNI4", "nodes": 2},
    ISCA96 | {"interface": "CNI16Q", "nodes": 2, "set": ["machine.processors_per_node=3"]},
]


@pytest.mark.parametrize(
    ("program", "arguments", "words"),
    [
        ("messages", (10, 3000), b"node 0: 10 messages of"),
        ("collectives", (15, 300), b"15 collectives over"),
        ("channels", (5, 2000), b"25 transfers on each of"),
    ],
)
@pytest.mark.parametrize(
    "where", MACHINES, ids=lambda where: f"{where['interface']}-{where['nodes']}"
)
def test_every_byte_arrives_over_every_interface(program, arguments, words, where):
    said = []
    narthex.run(
        program,
        *arguments,
        **where,
        output=lambda _node, _process, _stream, text: said.append(text),
    )
    assert words in b"".join(said)


@pytest.mark.parametrize(
    "interface",
    ["NI2w", "CNI512Q", "CNI32Qm", "CNI32Qm+Throttle", "CNI0Qm", "(NI16w+Blkbuf)S(CNI0Qm)R"],
)
def test_senders_that_block_each_other_finish_over_every_kind_of_queue(interface):
    narthex.run("flood", machine="hpca98", interface=interface, nodes=4)


@pytest.mark.parametrize(("interface", "section"), [("CNI32Qm", "cni_iqm"), ("CNI0Qm", "cni_0qm")])
def test_senders_make_room_in_a_queue_of_which_the_interface_waits_for_half(interface, section):
    # Polls leave a queue of eight entries less than full while its interface waits for half of it.
    settings = ["flow_control.buffers=1", f"interfaces.{section}.receive_queue_blocks=32"]
    for program, arguments in [("messages", (10, 3000)), ("flood", (100,))]:
        narthex.run(
            program, *arguments, machine="hpca98", interface=interface, nodes=8, set=settings
        )


def send_cycles(size):
    """Return the cycles of software that the sender of a stream needs for each message."""
    count = 200
    result = narthex.run(
        "bandwidth",
        size,
        count - 100,
        100,
        machine="isca96",
        interface="NI2w on cache-bus",
        nodes=2,
    )
    cycle_ps = 5000
    return (
        result.document["nodes"][0]["processors"][0]["ledger_ps"]["send / execute"]
        / cycle_ps
        / count
    )


def test_a_doubleword_through_a_fifo_costs_two_loads_a_shift_and_a_store():
    # Behind the header's third word a payload is aligned to words; the store itself is counted too.
    words = (244 - 12) // 4
    assert 2 <= (send_cycles(244) - send_cycles(12)) / (words / 2) <= 5.5


def test_parts_of_messages_find_their_place_in_any_order():
    narthex.run("parts", 40, machine="hpca98", interface="NI2w", nodes=1)


def test_a_part_out_of_order_costs_what_one_in_order_does():
    result = narthex.run("parts", "cycles", machine="hpca98", interface="NI2w", nodes=1)
    cycles = dict(result.reports.select("name", "value").iter_rows())
    assert cycles["out of order"] == cycles["in order"] <= 80


def receive_cycles(size, settings):
    """Return the cycles of software that the receiver of a stream needs for each message."""
    count = 600
    result = narthex.run(
        "bandwidth",
        size,
        count - 300,
        300,
        machine="hpca98",
        interface="CNI512Q",
        nodes=2,
        set=settings,
    )
    stream = next(each for each in result.document["regions"] if each["name"] == "stream")
    return stream["ledger_ps"]["receive / execute"] / 1000 / count


@pytest.mark.parametrize("buffers", [1, 8])
def test_a_second_packet_costs_at_most_60_cycles_more_than_a_message_of_one(buffers):
    settings = [f"flow_control.buffers={buffers}"]
    full, small, both = (receive_cycles(size, settings) for size in (248, 8, 256))
    assert both - full - small <= 60


def test_a_short_payload_costs_over_user_level_dma_what_it_does_over_a_fifo_and_a_comparison():
    fastest = {}
    for interface in ("NI2w", "NI64w+Udma"):
        result = narthex.run("roundtrip", 12, 20, 10, interface=interface, nodes=2)
        fastest[interface] = result.value("round-trip latency, minimum")
    assert 0 <= fastest["NI64w+Udma"] - fastest["NI2w"] <= 20


WRONG_CALLS = [
    ("messages", "destination", "calls narthex_send for node 3: nodes are 0 to 2"),
    ("messages", "payload", "the limit of a message is 8126464"),
    ("messages", "nowhere", "calls narthex_send for 1 bytes from nowhere"),
    ("messages", "number", "calls narthex_register_handler for number 232: numbers are 0 to 231"),
    ("messages", "twice", r"registers handler 1 twice, as on_data and as on_send"),
    (
        "messages",
        "absent",
        r"from node (\d) for handler 200, .* the nearest it has is 2, on_answer",
    ),
    ("messages", "tables", "handler 3 is on_barrier on node 1 and on_poll on node 2"),
    ("messages", "late", r"for number 3 \(on_poll\) after its first barrier"),
    ("messages", "poll", r"calls narthex_poll inside a handler.*\(in handler 3, poll, of a mess"),
    ("messages", "barrier", r"calls narthex_barrier inside a handler.*\(in handler 3, barrier"),
    ("messages", "keep", r"calls narthex_keep for .*\(in handler 3, keep, of a message from node"),
    ("messages", "send", r"calls narthex_send for node \d.*\(in handler 3, send, of a message"),
    ("collectives", "root", "narthex_broadcast of 8 bytes, root 1, .* root 0: every node must"),
    ("collectives", "outside", "calls narthex_broadcast with root 3: nodes are 0 to 2"),
    ("collectives", "bytes", "narthex_all_reduce of 32 bytes.*narthex_all_reduce of 16 bytes"),
    (
        "collectives",
        "kind",
        "narthex_(broadcast|reduce) of 8 bytes.* narthex_(broadcast|reduce) of 8",
    ),
    ("collectives", "limit", "calls narthex_broadcast for 8126464 bytes: the limit is 8126456"),
    ("collectives", "handler", "calls narthex_all_reduce inside a handler"),
    ("channels", "number", "calls narthex_channel_to for channel 256: numbers are 0 to 255"),
    ("channels", "peer", "calls narthex_channel_from for node 3: nodes are 0 to 2"),
    (
        "channels",
        "limit",
        "narthex_channel_to for transfers of 8126465 bytes: the limit is 8126464",
    ),
    ("channels", "twice", r"calls narthex_channel_to for channel 7 and node \d twice"),
    ("channels", "longer", r"for 1001 bytes on channel 7 to node \d, which is open for 1000"),
    ("channels", "unopened", r"a packet of channel 7 from node \d, which it has not opened"),
    ("channels", "shorter", r"for 500 bytes, and received a longer transfer"),
    ("channels", "release", "of which it has received nothing since the last release"),
    ("channels", "end", "calls narthex_channel_send for the other end of channel 7"),
    ("channels", "receive", "calls narthex_channel_receive twice on channel 7"),
    ("channels", "handler", "calls narthex_channel_release inside a handler"),
]


@pytest.mark.parametrize(("program", "what", "message"), WRONG_CALLS)
def test_a_wrong_call_names_node_function_and_rule(program, what, message):
    with pytest.raises(narthex.NarthexError, match=r"(?s)node \d.*" + message) as caught:
        narthex.run(program, what, interface="CNI32Qm", nodes=3)
    assert caught.value.exit_code == 1


def test_a_missing_barrier_is_a_deadlock_that_names_the_call():
    with pytest.raises(narthex.NarthexError, match=r"(?s)no progress.*narthex_barrier") as caught:
        narthex.run("messages", "missing", nodes=3)
    assert caught.value.exit_code == 3
