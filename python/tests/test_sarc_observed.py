"""What observers show of packets between tiles: one message's life, and the timeline."""

import narthex


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
