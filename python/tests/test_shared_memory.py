"""Shared memory: the library on simulated nodes, and the model checker of its protocol."""

import json

import polars as pl
import pytest

import narthex
from narthex import _native
from narthex.assets import GUEST

TABLE = (GUEST / "shared_memory" / "protocols" / "invalidation.def").read_text(encoding="utf-8")
WINDOW = ["flow_control.window=1"]


def check(nodes, *, without=None, limit=1_000_000):
    return json.loads(_native.check_shared_memory(TABLE, nodes, limit, without))


def statistics(result, name):
    frame = result.statistics.filter(pl.col("name") == name).sort("node")
    return [int(value) for value in frame["value"]]


@pytest.mark.parametrize("block_bytes", [16, 64, 1024])
@pytest.mark.parametrize("buffers", [1, 2, 8])
@pytest.mark.parametrize("interface", ["NI2w", "CNI512Q", "CNI32Qm", "CNI0Qm"])
def test_no_store_is_lost_and_nothing_is_seen_too_late(interface, buffers, block_bytes):
    settings = [f"flow_control.buffers={buffers}"]
    result = narthex.run("shared", 60, block_bytes, interface=interface, nodes=4, set=settings)
    assert result.value("counters") == 40
    assert min(statistics(result, "tag_write_faults")) > 10


@pytest.mark.parametrize("buffers", [1, 2])
def test_messages_may_overtake_each_other(buffers):
    settings = [f"flow_control.buffers={buffers}"]
    result = narthex.run("shared", 80, 64, interface="NI2w", nodes=16, set=settings)
    assert result.value("counters") == 40
    assert sum(statistics(result, "packets_returned")) > 1000


@pytest.mark.parametrize("interface", ["NI2w", "CNI512Q", "NI2w on cache-bus"])
def test_so_it_is_on_the_machine_of_1996(interface):
    settings = {"machine": "isca96", "interface": interface, "set": WINDOW}
    assert narthex.run("shared", 40, nodes=5, **settings).value("counters") == 40


@pytest.mark.parametrize("nodes", [1, 2, 16, 70])
def test_any_number_of_nodes_shares(nodes):
    steps = 200 // nodes + 10
    assert narthex.run("shared", steps, interface="CNI32Qm", nodes=nodes).value("counters") == 40


def test_processes_of_a_node_share_by_messages_too():
    settings = ["machine.processors_per_node=2"]
    result = narthex.run("shared", 50, interface="CNI512Q", nodes=2, set=settings)
    assert result.value("counters") == 40


@pytest.mark.parametrize("nodes", [1, 2, 5])
def test_a_custom_protocol_updates_its_readers(nodes):
    result = narthex.run("update", interface="NI2w", nodes=nodes)
    assert sum(statistics(result, "tag_read_faults")) == nodes * min(nodes - 1, 2)
    assert sum(statistics(result, "tag_write_faults")) == 0


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        ("start", "narthex_shared_start for blocks of 48 bytes: allowed are powers of two"),
        ("begin", "narthex_shared_allocate before narthex_shared_start"),
        ("twice", "narthex_shared_start twice"),
        ("allocate", "narthex_shared_allocate for 2097152 bytes"),
        ("chunk", "chunks of 24 bytes: allowed are multiples of the block, 64 bytes"),
        ("home", "narthex_shared_home for 0x20080180, a shared address that nobody owns"),
        ("lock", "narthex_lock for lock 65536: locks are 0 to 65535"),
        ("unlock", "narthex_unlock for lock 7, which it does not have"),
        ("tag", "whose tag the library's own protocol sets"),
        ("nobody", "stores to 0x20080180, a shared address that nobody owns"),
        ("send", "node 0 passes shared memory at 0x20000180 to narthex_send"),
        ("handler", "node 0 loads from shared memory at 0x20000180 inside a handler"),
    ],
)
def test_a_mistake_is_named(mistake, words):
    with pytest.raises(narthex.NarthexError, match="node") as caught:
        narthex.run("shared", mistake, interface="CNI512Q", nodes=2)
    assert words in str(caught.value)


def test_the_faulting_access_is_found_behind_the_handler():
    with pytest.raises(narthex.NarthexError, match=r"trap.*\n.*tests/shared\.c"):
        narthex.run("shared", "nobody", interface="CNI512Q", nodes=2)


def test_the_table_that_the_library_includes_holds():
    report = check(4)
    assert report["counter_example"] is None, report["text"]
    assert report["states"] == 34453
    assert any(
        "every load reads the last value stored" in sentence for sentence in report["proven"]
    )


def test_without_a_row_the_checker_tells_how_it_fails():
    report = check(3, without="WRITING:RECALL")
    assert report["without"] == "WRITING:RECALL"
    assert not report["proven"]
    assert "WRITING, which has no row for RECALL" in report["counter_example"]["steps"][-1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"nodes": 6}, "6 nodes cannot be checked; allowed are 2 to 5"),
        ({"nodes": 3, "without": "IDLE"}, "no row 'IDLE' to leave out; the rows are INVALID:LOAD"),
    ],
)
def test_what_cannot_be_checked_is_refused(arguments, words):
    with pytest.raises(narthex.NarthexError, match=words):
        check(**arguments)


def test_a_table_with_a_mistake_is_refused_with_its_line():
    broken = TABLE.replace("ROW(IDLE, READ_REQUEST", "ROW(IDLE, READ_REQEST")
    line = TABLE[: TABLE.index("ROW(IDLE, READ_REQUEST")].count("\n") + 1
    with pytest.raises(narthex.NarthexError, match=f"line {line}: 'READ_REQEST' is no event"):
        _native.check_shared_memory(broken, 3, 1000)
