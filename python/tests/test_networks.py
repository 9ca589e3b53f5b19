"""Networks in which packets meet: under load, in results and on pages."""

import json
import math
from pathlib import Path

import msgspec
import pytest

import narthex
from narthex import layouts
from narthex.charts import wiring
from narthex.cli import main
from narthex.loads import check_workload, saturation_mb_s
from narthex.report import networks, traffic

TORUS = [
    'network.topology={kind="torus", dimensions=[4, 4]}',
    "network.links.lanes=4",
]


VIA_CLUSTER = """
base = "edt"
[machine]
nodes = 2
[network]
kind = "switched"
topology = { kind = "crossbar", ports = 2 }
links = { width = "4B", clock = "400MHz", latency = "20ns", lanes = 2 }
priorities = { packets = 0, acknowledgements = 1, returned_packets = 1 }
[network.switches]
switching = "virtual-cut-through"
delay = "50ns"
buffer = "512B"
queues = "single"
arbitration = "round-robin"
"""


def command(*arguments: str) -> int:
    """Run a command of the command line; returns its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


def test_a_network_accepts_what_is_offered_until_it_is_saturated() -> None:
    found = narthex.network("cluster", loads=[0.05, 0.9], pattern="hot-spot", seed=2, threads=2)
    light, heavy = found.points.to_dicts()
    assert (light["state"], heavy["state"]) == ("steady", "saturated")
    assert light["spread"] <= 0.05
    assert heavy["latency_ns"] is heavy["largest_ns"] is heavy["spread"] is None
    assert heavy["measured_cycles"] == 20_000, "the first window shows it"
    assert light["accepted"] == pytest.approx(0.05, rel=0.1)
    assert light["smallest_ns"] == 2 * 4 + 8 + 160, "two links, a switch and 64 bytes"
    again = narthex.network("cluster", loads=[0.05, 0.9], pattern="hot-spot", seed=2)
    assert again.document == found.document, "threads change nothing"
    title = found.plot().to_dict()["title"]
    assert title["text"] == "16 nodes of cluster on a fat-tree"
    assert "saturated at 0.9" in json.dumps(title)


def test_a_load_that_cannot_be_is_refused_by_its_name() -> None:
    for given, says in [
        ({"loads": [1.5]}, "a load must be from 0.001 to 1, not 1.5"),
        ({"loads": []}, "loads must name at least one load"),
        ({"pattern": "transposed"}, "transpose"),
        ({"machine": "hpca98"}, 'network.kind is "ideal"'),
        ({"nodes": 15, "pattern": "transpose"}, "square number of nodes"),
        ({"packet_bytes": 1024}, "packet_bytes: 1024B is not from 1B to the buffer of 512B"),
        (
            {"set": ["network.links.lanes=4", *TORUS[:1], "network.topology.dimensions=[4, 3]"]},
            "dimensions",
        ),
    ]:
        with pytest.raises(narthex.NarthexError, match=r".") as refused:
            narthex.network(**given)  # type: ignore[arg-type]
        assert says in str(refused.value)
        assert refused.value.exit_code == 2


def test_the_command_prints_a_row_for_each_load(capsys: pytest.CaptureFixture[str]) -> None:
    settings = [argument for setting in TORUS for argument in ("--set", setting)]
    assert command("network", "cluster", "--load", "0.1,0.2", "--cycles", "2000", *settings) == 0
    printed = capsys.readouterr().out
    assert "16 nodes of cluster on a torus: uniform traffic" in printed
    assert " %" in printed
    assert command("network", "--pattern", "transpose", "--load", "1", "--cycles", "2000") == 0
    assert "saturated" in capsys.readouterr().out
    for wrong in ("some", "0.1,,0.2", ""):
        assert command("network", "cluster", "--load", wrong) == 2
        assert f"--load '{wrong}': expected numbers with commas" in capsys.readouterr().err
    assert command("goal", "fidelity", "--ranks", "4,16.5") == 2
    assert "--ranks '4,16.5': expected whole numbers with commas" in capsys.readouterr().err


def test_a_file_says_who_sends_to_whom(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    to = tmp_path / "to.csv"
    to.write_text("".join(f"{(node + 4) % 16}\n" for node in range(16)), encoding="utf-8")
    loads = ("--load", "0.2", "--cycles", "2000")
    assert command("network", "cluster", "--pattern", str(to), *loads) == 0
    assert "permutation traffic" in capsys.readouterr().out
    shares = [[1 if node != own else 0 for node in range(16)] for own in range(16)]
    found = narthex.network("cluster", pattern=shares, loads=[0.2], measured_cycles=2_000)
    (point,) = found.points.to_dicts()
    assert point["state"] == "steady"
    assert point["smallest_ns"] <= point["p50_ns"] <= point["p99_ns"] <= point["largest_ns"]
    to.write_text("1\n2,x\n", encoding="utf-8")
    assert command("network", "cluster", "--pattern", str(to), *loads) == 2
    assert "to.csv, line 2: '2,x' are not whole numbers" in capsys.readouterr().err
    to.write_text("1\n2\n", encoding="utf-8")
    assert command("network", "cluster", "--pattern", str(to), *loads) == 2
    assert "pattern: 2 destinations for 16 nodes" in capsys.readouterr().err


def test_detours_carry_what_one_link_between_groups_does_not() -> None:
    minimal, valiant = (
        narthex.network(
            "cluster",
            pattern="next-group",
            loads=[0.2],
            nodes=72,
            set=[*dragonfly(2, 9), "network.links.lanes=8", *routes],
            measured_cycles=3_000,
        ).points.to_dicts()[0]
        for routes in ([], ["network.routes=valiant"])
    )
    assert minimal["accepted"] == pytest.approx(1 / 8, rel=0.05), "eight nodes share a link"
    assert (minimal["state"], valiant["state"]) == ("saturated", "steady")
    with pytest.raises(narthex.NarthexError, match="those of one shortest way, twice"):
        narthex.network(set=[*dragonfly(2, 9), "network.routes=valiant"], nodes=72)


def dragonfly(global_links: int, groups: int) -> list[str]:
    """Return the settings of a dragonfly with 4 switches a group and 2 nodes a switch."""
    sizes = f"global_links_per_switch={global_links}, groups={groups}"
    topology = f'{{kind="dragonfly", nodes_per_switch=2, switches_per_group=4, {sizes}}}'
    return [f"network.topology={topology}", "network.links.lanes=4"]


def test_two_groups_of_a_dragonfly_share_all_their_links() -> None:
    # Half the traffic of 8 nodes crosses, over 4 links: half of each.
    found = narthex.network("cluster", loads=[0.5], set=dragonfly(1, 2), measured_cycles=5_000)
    (point,) = found.points.to_dicts()
    assert point["state"] == "steady"
    assert point["accepted"] == pytest.approx(0.5, rel=0.05)
    assert found.document["warnings"] == []


def test_links_that_are_not_wired_are_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    settings = [argument for each in dragonfly(2, 8) for argument in ("--set", each)]
    says = "1 of the 8 global links of a group are not wired: each of 7 other groups has one"
    for arguments in (
        ("machine", "check", "cluster"),
        ("machine", "check", "cluster", "--interface", "NI2w"),
        ("network", "cluster", "--load", "0.1", "--cycles", "1000"),
        ("run", "hello", "--machine", "cluster", "--interface", "NI2w"),
    ):
        assert command(*arguments, *settings) == 0
        assert capsys.readouterr().err.count(says) == 1, arguments


def test_an_interface_whose_packets_fit_into_no_buffer_is_refused_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "via-cluster.toml"
    file.write_text(VIA_CLUSTER, encoding="utf-8")
    says = "512B is smaller than a packet of 1540B (interfaces.via.mtu), which must fit"
    for arguments in (
        ("machine", "check", str(file), "--interface", "EDT"),
        ("run", "via-latency", "1024", "--machine", str(file), "--interface", "EDT"),
    ):
        assert command(*arguments) == 2
        assert f"network.switches.buffer: {says}" in capsys.readouterr().err
    assert command("machine", "check", str(file), "--interface", "NI2w") == 0


def test_a_workload_of_an_experiment_is_a_pattern_and_a_load() -> None:
    check_workload(["uniform", "0.5"], "here")
    check_workload(["uniform"], "here", has_load=False)
    for wrong in (["uniform"], ["uniform", "much"], ["uniformly", "0.5"], ["uniform", "2"]):
        with pytest.raises(narthex.NarthexError):
            check_workload(wrong, "here")


def test_an_experiment_on_networks_is_within_its_limits() -> None:
    outcome = narthex.experiment(
        "networks/validation",
        interfaces=["mesh", "torus"],
        workloads=["uniform, load 0.01"],
    )
    rows = outcome.frame.to_dicts()
    assert len(rows) == 2
    assert all(row["within_limit"] for row in rows)


def test_saturation_is_the_largest_load_that_is_carried() -> None:
    # A mesh of 4 x 4 carries b / (k - 1) of a transpose; steps are a 64th of 400 MB/s.
    settings = [
        "network.topology={kind='mesh', dimensions=[4, 4]}",
        "network.switches.queues=by-output",
        "network.switches.buffer=2KiB",
    ]
    found = saturation_mb_s(
        lambda load: narthex.network("cluster", pattern="transpose", loads=[load], set=settings)
    )
    assert found == pytest.approx(400 / 3, abs=400 / 64)


def test_a_run_has_its_network_on_its_page(tmp_path: Path) -> None:
    result = narthex.run("hello", interface="CNI32Qm", machine="cluster")
    document = json.loads(result.to_json())
    msgspec.convert(document, layouts.Run, strict=False)
    seen = document["network"]["statistics"]
    assert seen["parcels_handed_over"] == seen["network_latency"]["count"] > 0
    section = networks.section(document)
    titles = [part.title for part in section.parts if part.kind == "chart"]
    assert titles == ["Traffic from node to node", "Links"]
    pairs = networks.traffic(document).table.rows
    assert sum(int(str(row[2]).replace(",", "")) for row in pairs) == sum(
        map(sum, document["network"]["bytes_from"])
    )
    file = tmp_path / "run.json"
    result.save(file)
    assert command("report", str(file), "--output", str(tmp_path / "page.html")) == 0
    assert "Traffic from node to node" in (tmp_path / "page.html").read_text()


def test_a_program_is_right_on_switches_that_drop_and_intervals_have_all_that_happens() -> None:
    settings = [
        'network.switches.backpressure={kind="drop"}',
        "network.switches.buffer=256B",
        'flow_control={kind="go-back-n", window=16, buffers=64, timeout="20us"}',
    ]
    interval = {"traffic_interval": "20us"}
    one, alone, two = (
        narthex.run("em3d", 160, 3, 20, machine="cluster", set=settings, threads=threads, **given)
        for threads, given in ((1, {}), (1, interval), (2, interval))
    )
    assert alone.document["traffic"] == two.document["traffic"], "threads change no series"
    assert one.document["nodes"] == two.document["nodes"]
    assert one.document["network"] == two.document["network"]
    over_time = two.document["traffic"]["over_time"]
    carried = {
        (link["from"], link["to"]): link["busy"]
        for link in one.document["network"]["links"]
        if link["busy"]
    }
    whole_ps = one.document["simulated_ps"]
    assert [(link["from"], link["to"]) for link in over_time["links"]] == [*carried]
    for link in over_time["links"]:
        lengths = [20_000_000] * (len(link["busy"]) - 1)
        shares = zip(link["busy"], [*lengths, whole_ps - sum(lengths)], strict=True)
        busy_ps = sum(share * length for share, length in shares)
        assert busy_ps == pytest.approx(carried[link["from"], link["to"]], abs=50_000)
        assert max(link["busy"]) <= 1
    for node, of in zip(one.document["nodes"], over_time["nodes"], strict=True):
        assert sum(of["sent_again"]) == node["statistics"]["packets_retried"]
    section = networks.section(two.document)
    charts = {part.title: part for part in section.parts if part.kind == "chart"}
    drawn = charts["Links over time"]
    assert drawn.specification["params"][0]["bind"]["max"] == len(over_time["links"][0]["busy"]) - 1
    assert "traffic" not in one.document
    queues = msgspec.convert(one.document, layouts.Run, strict=False)["network"]["queues"]
    again = (node["statistics"]["packets_retried"] for node in one.document["nodes"])
    assert sum(queue["dropped"] for queue in queues) > 0
    assert sum(again) > 0


def test_switches_that_store_and_pause_are_heard_in_time() -> None:
    settings = [
        'network.switches.backpressure={kind="pause", above="64B", below="32B"}',
        "network.switches.buffer=1536B",
        "network.switches.switching=store-and-forward",
    ]
    run = narthex.run("em3d", 160, 3, 20, machine="cluster", set=settings, traffic_interval="20us")
    document = msgspec.convert(run.document, layouts.Run, strict=False)
    assert any(queue["pauses"] for queue in document["network"]["queues"])
    chart = traffic.network(run.document)
    assert chart is not None
    rows = chart.specification["data"]["values"]
    assert {row["region"] for row in rows if "region" in row} == {
        region["name"] for region in document["regions"]
    }
    with pytest.raises(narthex.NarthexError, match="traffic_interval: 0us is no interval") as wrong:
        narthex.run("hello", machine="cluster", traffic_interval="0us")
    assert wrong.value.exit_code == 2


def test_a_network_alone_has_the_use_of_its_links_in_intervals() -> None:
    run = {"loads": [0.2], "nodes": 16, "measured_cycles": 1_000, "warm_up_cycles": 1_000}
    plain = narthex.network("cluster", **run)  # type: ignore[arg-type]
    found, two = (
        narthex.network("cluster", interval="2us", threads=threads, **run)  # type: ignore[arg-type]
        for threads in (1, 2)
    )
    assert found.document == two.document
    (point,) = found.document["points"]
    over_time = point.pop("over_time")
    assert found.document == plain.document
    for link, busy in zip(over_time["links_busy"], point["links_busy"], strict=True):
        lengths = [2_000_000] * (len(link) - 1)
        lengths.append(point["simulated_ps"] - sum(lengths))
        shares = sum(share * length for share, length in zip(link, lengths, strict=True))
        assert shares / point["simulated_ps"] == pytest.approx(busy, abs=0.01)


def test_switches_stand_where_their_topology_has_them() -> None:
    mesh = wiring.places_of(
        [f"switch ({x}, {y}, {z})" for z in (0, 1) for y in (0, 1) for x in (0, 1)]
    )
    assert mesh["switch (1, 1, 0)"] == (1, -1)
    assert mesh["switch (0, 0, 1)"] == (3, 0), "a further grid beside the first"
    tree = wiring.places_of(["switch 0 of level 0", "switch 1 of level 0", "switch 0 of level 1"])
    assert tree["switch 0 of level 1"][0] == 1, "above the middle of the two below"
    groups = wiring.places_of([f"switch {a} of group {g}" for g in range(3) for a in range(2)])
    assert math.dist(groups["switch 0 of group 0"], groups["switch 1 of group 0"]) == pytest.approx(
        1
    )
    assert math.dist(*(groups[f"switch 0 of group {g}"] for g in (0, 1))) > 1
    others = wiring.places_of(["left", "right", "core"])
    assert math.dist(others["left"], others["right"]) == pytest.approx(1)


def test_a_drawing_has_a_curve_for_each_direction_of_a_link() -> None:
    links = [
        {"from": "node 0", "to": "left", "value": 1.0},
        {"from": "left", "to": "node 0", "value": 2.0},
        {"from": "left", "to": "right", "value": 3.0},
    ]
    lines, nodes, switches = wiring.drawn(links, "busy, percent")["layer"]
    points = lines["data"]["values"]
    assert len(points) == 3 * len(links)
    there, back = (points[3 * link + 1] for link in (0, 1))
    assert (there["x"], there["y"]) != (back["x"], back["y"]), "each is to the right of its way"
    assert "node" in json.dumps(nodes)
    assert "switch" in json.dumps(switches)
    for states in (["load 0.1"], ["load 0.1", "load 0.2"]):
        several = [{**link, "values": [link["value"]] * len(states)} for link in links]
        has_slider = "params" in wiring.drawn(several, "busy, percent", states)
        assert has_slider == (len(states) > 1)


def test_a_run_on_an_ideal_network_has_none() -> None:
    document = narthex.run("hello", interface="CNI32Qm", nodes=2).document
    assert "network" not in document


def test_a_closed_loop_sends_no_more_than_the_network_carries() -> None:
    found = narthex.network(
        "cluster", outstanding=[1, 64], warm_up_cycles=2_000, measured_cycles=5_000
    )
    one, many = found.points.to_dicts()
    assert (one["load"], one["outstanding"], one["state"]) == (None, 1, "steady")
    assert one["accepted"] < many["accepted"] < 1
    assert one["latency_ns"] < many["latency_ns"]
    with pytest.raises(
        narthex.NarthexError, match="outstanding must be a whole number from 1 to 1"
    ):
        narthex.network("cluster", outstanding=[2000])
    with pytest.raises(narthex.NarthexError, match="give one of them"):
        narthex.network("cluster", outstanding=[1], loads=[0.1])


def test_several_curves_are_measured_in_one_call_and_drawn_on_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, json_file = tmp_path / "page.html", tmp_path / "curves.json"
    words = ["network", "cluster", "--nodes", "16", "--cycles", "1000", "--load", "0.1,0.2"]
    words += [
        "--vary",
        'network.topology={kind="mesh", dimensions=[4, 4]},{kind="crossbar", ports=16}',
    ]
    words += ["--pattern", "uniform,neighbour", "--report", str(page), "--json", str(json_file)]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0, capsys.readouterr()
    curves = json.loads(json_file.read_text())["curves"]
    mesh = 'network.topology={kind="mesh", dimensions=[4, 4]}'
    assert [curve["name"] for curve in curves[:2]] == [
        f"uniform, {mesh}",
        'uniform, network.topology={kind="crossbar", ports=16}',
    ]
    first = curves[0]
    assert len(first["links"]) == len(first["points"][0]["links_busy"]) == 2 * 16 + 2 * 24
    assert max(first["points"][1]["links_busy"]) == pytest.approx(
        first["points"][1]["busiest_link"], abs=1e-4
    )
    assert "binding" in page.read_text() or '"input": "range"' in page.read_text()
