"""Python's side: runs, frames, comparisons."""

import json

import polars as pl
import pytest
from guide import execute

import narthex
from narthex.comparison import interface_names, interfaces_of


@pytest.fixture(scope="module")
def result():
    return narthex.run("roundtrip", 8, 20, 5, interface="cni32qm", nodes=2)


def test_a_run_reports_in_a_frame(result):
    latency = result.reports.filter(pl.col("name") == "round-trip latency")
    assert latency["unit"].to_list() == ["ns"]
    assert latency["value"][0] == result.value("round-trip latency") > 0


def test_the_interface_is_spelled_as_the_taxonomy_spells_it(result):
    assert result.interface == "CNI32Qm"


def test_links_and_queues_of_switches_are_frames_with_units_in_their_columns():
    run = narthex.run("roundtrip", 8, 20, 5, interface="cni32qm", machine="cluster", nodes=2)
    carried = run.document["network"]["links"]
    assert run.links["bytes"].sum() == sum(link["bytes"] for link in carried) > 0
    assert run.links["network"].unique().to_list() == ["between nodes"]
    busiest = max(link["busy"] for link in carried)
    assert run.links["busy_share"].max() == pytest.approx(busiest / run.document["simulated_ps"])
    assert run.queues.columns == ["switch", "from", "parcels", "most_bytes", "mean_bytes"]
    for mean, most in run.queues.select("mean_bytes", "most_bytes").rows():
        assert 0 <= mean <= most


def test_links_on_chip_are_busy_for_the_mean_of_all_nodes_and_lanes():
    run = narthex.run("roundtrip", 8, 20, 5, interface="ni2w", machine="chip", nodes=2)
    (network,) = run.links["network"].unique()
    told = run.document["network_on_chip"]
    whole = run.document["simulated_ps"] * told["nodes"] * told["lanes"]
    shares = [link["busy"] / whole for link in told["links"]]
    assert network == "on chip"
    assert run.links["busy_share"].to_list() == pytest.approx(shares)
    with pytest.raises(
        narthex.NarthexError, match="the network between the nodes of machine 'chip'"
    ):
        _ = run.queues


def test_a_run_without_switches_says_which_machines_have_them(result):
    with pytest.raises(narthex.NarthexError, match=r"hpca98' is ideal.*such as cluster"):
        _ = result.links


def test_jobs_are_a_frame_of_where_each_program_ran(result):
    assert result.jobs.rows() == [(0, "roundtrip", "8 20 5", 0, 1, None, [0, 1], None, None)]
    several = narthex.run(jobs=["hello @ 0-1", "hello there @ 2 start 1us"], nodes=3).jobs
    assert several.drop("job").rows() == [
        ("hello", "", 0, 1, 0, [0, 1], None, None),
        ("hello", "there", 2, 2, 0, [2], 1_000_000, None),
    ]


def test_the_ledger_adds_up_to_the_elapsed_time_to_the_picosecond(result):
    sums = result.ledger.group_by("node", "processor").agg(pl.col("time_ps").sum())
    assert sums["time_ps"].to_list() == [result.document["simulated_ps"]] * 2


def test_statistics_are_numbers_with_names(result):
    assert result.statistics.height > 10
    assert result.statistics["value"].dtype == pl.Float64


def test_the_same_run_gives_the_same_bytes(result):
    again = narthex.run("roundtrip", 8, 20, 5, interface="CNI32Qm", nodes=2)
    assert again.to_json() == result.to_json()


def test_the_document_can_be_run_again(result):
    assert result.document["schema"] == 3
    assert len(result.document["binary_sha256"]) == 64
    assert result.document["machine"]["bus"]["clock"]
    assert json.loads(result.to_json()) == result.document


def test_an_unknown_report_is_named(result):
    with pytest.raises(narthex.NarthexError, match="reported no 'latency'"):
        result.value("latency")


def test_an_observer_can_end_a_run():
    with pytest.raises(narthex.NarthexError, match="interrupted"):
        narthex.run("roundtrip", 8, 10**7, nodes=2, observer=lambda _time_ps: False)


def test_an_observer_may_raise():
    def refuse(_time_ps):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        narthex.run("roundtrip", 8, 10**7, nodes=2, observer=refuse)


def test_output_arrives_as_it_is_written():
    pieces = []
    narthex.run("hello", nodes=2, output=lambda *piece: pieces.append(piece))
    assert {(node, process) for node, process, _, _ in pieces} == {(0, 0), (1, 0)}
    assert all(stream == "stdout" for _, _, stream, _ in pieces)


def test_reports_output_and_ledger_name_their_process():
    settings = ["machine.processors_per_node=2"]
    result = narthex.run("bus-limit", 1, 0, machine="isca96", nodes=1, set=settings)
    assert result.reports.select("node", "process", "name").rows() == [(0, 1, "bandwidth")]
    assert set(result.ledger["processor"]) == {0, 1}
    pieces = []
    narthex.run("hello", nodes=1, set=settings, output=lambda *piece: pieces.append(piece[:2]))
    assert set(pieces) == {(0, 0), (0, 1)}


def test_latencies_rank_from_the_smallest():
    found = narthex.compare("roundtrip", 8, 20, 5, interfaces=["NI2w", "CNI32Qm"], nodes=2)
    assert found.frame["interface"].to_list() == ["CNI32Qm", "NI2w"]
    assert found.frame["times_best"][0] == 1


def test_all_interfaces_are_those_that_the_machine_can_have():
    names, left_out = interfaces_of("isca96", ["machine.nodes=2"])
    # PcieBench carries no messages: nobody misses it.
    assert {*names, *left_out} == {*interface_names()} - {"PcieBench"}
    sections = ("via", "voyager", "sarc")
    tables = [f"[interfaces.{section}]" for section in sections]
    devices = {name for name in left_out if any(table in left_out[name] for table in tables)}
    assert {"EDT", "PIO", "Voyager-hybrid"} <= devices
    assert {*left_out} - devices == {"NI16w+Blkbuf", "NI64w+Udma", "PioCoherent", "RegisterFile"}
    assert left_out["NI64w+Udma"].startswith("isca96: the machine's file has no [interfaces.ni_iw_")
    found = narthex.compare("roundtrip", 8, 4, 1, machine="isca96", nodes=2)
    status = dict(found.frame.select("interface", "status").iter_rows())
    assert status == dict.fromkeys(names, "ranked") | dict.fromkeys(left_out, "left out")
    with pytest.raises(narthex.NarthexError, match='unknown machine "isca97"'):
        interfaces_of("isca97", [])


def test_a_comparison_keeps_its_ranking_where_the_program_fails_on_an_interface(tmp_path):
    file, page = tmp_path / "found.json", tmp_path / "page.html"
    line = "narthex compare via-latency 64 2 1 --machine edt --interface NI2w,EDT"
    code, printed, _ = execute(f"{line} --json {file} --report {page}", tmp_path)
    assert code == 1  # what `run` exits with over NI2w
    assert "failed: NI2w: node 1, processor 0: node 1: VipOpenNic returns" in printed
    found = narthex.load(file, narthex.Comparison)
    columns = ("rank", "interface", "status", "exit_code")
    ranked, failed = found.frame.select(columns).rows()
    assert ranked == (1, "EDT", "ranked", 0)
    assert failed == (None, "NI2w", "failed", 1)
    assert found.frame["reason"][1].startswith("node 1, processor 0: node 1: VipOpenNic")
    assert found.save(tmp_path / "again.json").read_bytes() == file.read_bytes()
    assert "Interfaces without a value" in page.read_text()


def test_rates_rank_from_the_largest():
    arguments = ("bandwidth", 256, 200, 20)
    found = narthex.compare(*arguments, interfaces=["NI2w", "CNI512Q"], nodes=2)
    assert found.frame["interface"].to_list() == ["CNI512Q", "NI2w"]


def test_a_wrong_name_in_the_package_is_an_attribute_error():
    with pytest.raises(AttributeError):
        _ = narthex.runn
