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


@pytest.mark.parametrize("observed", ["traffic", "profile"])
def test_what_a_run_was_not_asked_for_is_told_to_be_missing(observed: str) -> None:
    result = narthex.run("roundtrip", 64, 5, nodes=2)
    assert observed not in result.document
    with pytest.raises(NarthexError, match=f"no {observed}; run it with {observed}=True"):
        getattr(result, observed)


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


def test_percentiles_lie_between_the_extremes_and_are_the_same_on_two_threads() -> None:
    runs = [
        narthex.run("em3d", 64, 1, nodes=4, traffic=True, threads=threads).document["traffic"]
        for threads in (1, 2)
    ]
    assert runs[0] == runs[1]
    latencies = [size["message_latency_ps"] for size in runs[0]["sizes"]]
    latencies += [pair["message_latency_ps"] for pair in runs[0]["pairs"]]
    assert any(len({*latency["percentiles"].values()}) > 1 for latency in latencies)
    for latency in latencies:
        found = [latency["percentiles"][percent] for percent in page.PERCENTILES]
        assert found == sorted(found)
        assert latency["minimum"] <= found[0]
        assert found[-1] <= latency["maximum"]


def test_traffic_and_timeline_are_made_together_as_each_alone(tmp_path: Path) -> None:
    both, alone = tmp_path / "both.pftrace", tmp_path / "alone.pftrace"
    run = {"interface": "CNI32Qm", "nodes": 2}
    watched = narthex.run("roundtrip", 64, 5, traffic=True, trace=both, **run)
    narthex.run("roundtrip", 64, 5, trace=alone, **run)
    assert both.read_bytes() == alone.read_bytes()
    assert watched.document == narthex.run("roundtrip", 64, 5, traffic=True, **run).document


def test_percentiles_of_several_sizes_are_curves_and_an_older_result_has_a_table() -> None:
    latency = {
        "count": 9,
        "sum": 90_000,
        "minimum": 5_000,
        "maximum": 20_000,
        "buckets": [[4096, 9]],
    }
    of = dict.fromkeys(page.PERCENTILES, 10_000)
    sizes = [
        {"bytes": size, "message_latency_ps": latency | {"percentiles": of}} for size in (8, 16, 24)
    ]
    drawn = page.by_size({"sizes": sizes})
    assert drawn.kind == "chart"
    assert {row["value"] for row in drawn.specification["data"]["values"]} == {10}
    older = page.by_size({"sizes": [{"bytes": 8, "message_latency_ps": latency}]})
    assert older.kind == "table"
    assert older.rows[0][-4:] == [""] * 4


def test_a_map_of_many_ranks_has_groups_and_adds_up() -> None:
    traffic = {"ranks": 256, "pairs": [pair(0, 255, 3), pair(1, 254, 4), pair(9, 9, 1)]}
    packets, _, latency = page.maps(traffic)
    rows = packets.specification["data"]["values"]
    fields = [packets.specification["encoding"][axis]["scale"]["domain"] for axis in ("x", "y")]
    assert [len(names) for names in fields] == [page.MOST_FIELDS] * 2
    assert {(row["row"], row["column"]): row["value"] for row in rows} == {
        ("0-15", "240-255"): 7,
        ("0-15", "0-15"): 1,
    }
    assert {row["value"] for row in latency.specification["data"]["values"]} == {5}


def test_traffic_of_a_resumed_run_is_refused() -> None:
    with pytest.raises(NarthexError, match="leave out --traffic, or --resume"):
        narthex.run("roundtrip", 64, 5, nodes=2, traffic=True, resume=True)
