"""Who talks to whom: in the result, on the page, and in the terminal."""

from pathlib import Path
from typing import Any

import pytest

import narthex
from narthex.errors import NarthexError
from narthex.report import traffic as page


def pair(source: int, to: int, packets: int) -> dict[str, Any]:
    latency = {"count": packets, "sum": 5000 * packets, "minimum": 5000, "maximum": 5000}
    return {"from": source, "to": to, "packets": packets, "bytes": 8} | {
        "packet_latency_ps": latency
    }


def test_a_run_without_traffic_has_none_of_it() -> None:
    result = narthex.run("roundtrip", 64, 5, nodes=2)
    assert "traffic" not in result.document
    assert result.traffic.is_empty()


def test_a_run_counts_each_pairs_messages_and_its_page_shows_them(tmp_path: Path) -> None:
    result = narthex.run("roundtrip", 64, 5, nodes=2, traffic=True)
    frame = result.traffic
    assert frame.select("from", "to").rows() == [(0, 1), (1, 0)]
    sent = [node["statistics"]["messages_sent"] for node in result.document["nodes"]]
    assert frame["messages"].to_list() == sent
    assert frame["mean_ns"].min() >= 40  # the network's latency
    saved = result.save(tmp_path / "run.json")
    assert narthex.load(saved).traffic.equals(frame)
    file = tmp_path / "run.html"
    result.report(file)
    text = file.read_text()
    for words in ("Who talks to whom", "Mean latency", "Messages by latency", "Activities"):
        assert words in text


def test_a_map_of_many_ranks_has_groups_and_adds_up() -> None:
    traffic = {"ranks": 256, "pairs": [pair(0, 255, 3), pair(1, 254, 4), pair(9, 9, 1)]}
    packets, _, latency = page.maps(traffic)
    rows = packets.specification["data"]["values"]
    assert len(rows) == page.MOST_FIELDS**2
    assert {(row["row"], row["column"]): row["value"] for row in rows if row["value"]} == {
        ("0-15", "240-255"): 7,
        ("0-15", "0-15"): 1,
    }
    assert {row["value"] for row in latency.specification["data"]["values"]} == {0, 5}


def test_traffic_of_a_resumed_run_is_refused() -> None:
    with pytest.raises(NarthexError, match="leave out --traffic or --resume"):
        narthex.run("roundtrip", 64, 5, nodes=2, traffic=True, resume=True)
