"""What observers show of packets between tiles: one message's life, and the timeline."""

import pytest

import narthex
from narthex.errors import NarthexError
from narthex.explanation import SUBJECTS
from narthex.report import lives

TILES = {"machine": "sarc-prototype"}
THREADS = {
    "machine": "sarc-chip",
    "set": {
        "machine.processors_per_node": 2,
        "machine.processors_per_process": 2,
        "network_on_chip.topology.dimensions": [2, 1],
        "node.memories.main_memory.at": [0, 1],
        "node.interface.at": 0,
    },
}
EXPLAINED = {
    "remote-store": (TILES, "packet arrives"),
    "rdma": (TILES, "acknowledgement arrives"),
    "queue-lock": (TILES, "stores to multiple-reader queue of tile 0"),
    "lock-box": (TILES, "loads lock box"),
    "mcs-lock": (THREADS, "reads "),
    "ticket-lock": (THREADS, "reads the program"),
}


@pytest.mark.parametrize("of", EXPLAINED)
def test_a_transfer_and_the_hand_over_of_a_lock_are_explained_to_the_picosecond(of):
    asked, deed = EXPLAINED[of]
    document = narthex.explain("SARC", of=of, **asked).document
    assert sum(part["time_ps"] for part in document["breakdown"]) == document["latency_ps"]
    assert any(deed in row["deed"] for row in document["transactions"])
    assert document["ends"] == "tile"
    diagram = lives.diagram(document)
    assert SUBJECTS[of].span in diagram.caption
    assert {step.who.partition(",")[0] for step in diagram.steps} == {"tile 0", "tile 1"}


def test_a_remote_store_that_is_explained_takes_about_as_long_as_both_ways_do():
    asked = {"machine": "sarc-prototype", "interface": "SARC", "nodes": 1}
    measured = narthex.run("sarc-remote-store", "store", 1, 80, **asked)
    (cycles,) = (row["value"] for row in measured.document["reports"] if row["name"] == "time")
    rounds = narthex.explain("SARC", of="remote-store", machine="sarc-prototype").document["rounds"]
    assert rounds["total_ps"] / rounds["count"] == pytest.approx(cycles * 1e6 / 75, rel=0.1)


@pytest.mark.parametrize(
    ("interface", "asked", "told"),
    [
        ("SARC", {"of": "rdmaa"}, "did you mean 'rdma'"),
        ("SARC", {"of": "lock-box", "bytes": 8, **TILES}, "no size"),
        ("SARC", {"of": "rdma", "bytes": 0, **TILES}, "at least one byte"),
        ("NI2w", {"of": "remote-store"}, "sarc-prototype or sarc-chip"),
        ("SARC", {"of": "mcs-lock", **TILES}, "sarc-chip with .* --of can be message, .*lock-box$"),
        ("SARC", {"of": "ticket-lock", "machine": "sarc-chip"}, "processors_per_process=16"),
        ("SARC", {"of": "lock-box", "machine": "sarc-chip"}, "take --machine sarc-prototype"),
        (
            "SARC",
            {"of": "queue-lock", "set": ["machine.processors_per_node=1"], **TILES},
            "one tile",
        ),
    ],
)
def test_what_cannot_be_explained_is_refused_before_it_runs(interface, asked, told):
    with pytest.raises(NarthexError, match=told):
        narthex.explain(interface, **asked)


def test_a_message_between_two_tiles_of_a_chip_is_explained_packet_by_packet():
    document = narthex.explain("SARC", 32, machine="sarc-prototype").document
    rows = document["transactions"]
    deeds = [row["deed"] for row in rows]
    assert deeds.count("packet arrives") == 1
    assert any("command buffer of tile 0" in deed for deed in deeds)
    assert any("single-reader queue of tile 1" in deed for deed in deeds)
    assert sum(part["time_ps"] for part in document["breakdown"]) == document["latency_ps"]


def test_a_timeline_has_the_packets_of_each_tile(tmp_path):
    trace = tmp_path / "locks.pftrace"
    asked = {"machine": "sarc-prototype", "interface": "SARC", "nodes": 1}
    narthex.run("sarc-locks", "queue", 4, 20, trace=trace, **asked)
    text = trace.read_bytes()
    assert all(name in text for name in (b"packets of", b"sends packets", b"write", b"answer"))
