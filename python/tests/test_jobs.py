"""Several programs on one machine: their places, their ranks, what keeps them apart."""

import json
from pathlib import Path

import pytest

import narthex
from narthex import documents, groups, jobs
from narthex.cli import main
from narthex.errors import NarthexError
from narthex.report import runs

TWO = {"machine.processors_per_node": 2}

WILD = """
#include <narthex.h>
#include <stdlib.h>

/* Sends to the rank that it is given, which its job may lack. */
int main(int argc, char **argv) {
    char byte = 1;
    narthex_send(atoi(argv[argc - 1]), 1, &byte, 1);
    return 0;
}
"""


def test_a_job_is_read_with_its_nodes() -> None:
    assert jobs.read("gauss 64") == jobs.Job("gauss", ["64"], None)
    assert jobs.read("gauss 64 @ 0-7") == jobs.Job("gauss", ["64"], "0-7")
    assert jobs.read("gauss 64 @0 - 7") == jobs.Job("gauss", ["64"], "0 - 7")
    assert jobs.Job("gauss", start="1ms", until="2ms").place == "all start 1ms until 2ms"
    assert jobs.read("'my program' -x 'a b'") == jobs.Job("my program", ["-x", "a b"], None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [("", "names no program"), ("@ 0-7", "names no program"), ("a 'b", "No closing quotation")],
)
def test_a_job_that_cannot_be_read_says_why(text: str, problem: str) -> None:
    with pytest.raises(NarthexError, match=problem):
        jobs.read(text)


def test_a_file_of_jobs_is_as_strict_as_others(tmp_path: Path) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text('[[job]]\nprogram = "em3d"\narguments = ["64"]\nnodes = "0-1"\n')
    assert jobs.read_file(file) == [jobs.Job("em3d", ["64"], "0-1")]
    file.write_text('[[job]]\nprogramme = "em3d"\n')
    with pytest.raises(NarthexError, match="did you mean 'program'"):
        jobs.read_file(file)
    file.write_text("job = []\n")
    with pytest.raises(NarthexError, match=r"it has no \[\[job\]\]"):
        jobs.read_file(file)


def _reports(result: narthex.Result, nodes: range) -> list[tuple[int, str, float]]:
    return [
        (each["node"] - nodes.start, each["name"], each["value"])
        for each in result.document["reports"]
        if each["node"] in nodes
    ]


@pytest.mark.parametrize("interface", ["NI2w", "CNI32Qm", "CNI4"])
def test_jobs_on_different_nodes_of_an_ideal_network_run_as_alone(interface: str) -> None:
    together = narthex.run(
        jobs=["em3d 64 @ 0-1", "gauss 16 @ 2-3"], nodes=4, interface=interface, threads=2
    )
    for program, size, nodes in (("em3d", 64, range(2)), ("gauss", 16, range(2, 4))):
        alone = narthex.run(program, size, nodes=2, interface=interface)
        assert _reports(together, nodes) == _reports(alone, range(2))


def test_jobs_that_share_nodes_finish_with_right_results_and_cost_each_other_time() -> None:
    def gauss_ns(*others: str) -> float:
        result = narthex.run(jobs=["gauss 16", *others], nodes=2, interface="NI2w", set=TWO)
        reports = [each for each in result.document["reports"] if each["process"] == 0]
        return float(next(each["value"] for each in reports if each["name"] == "execution time"))

    assert gauss_ns("em3d 64") > gauss_ns() > 0


def test_a_program_with_a_job_beside_it_is_the_first_job() -> None:
    result = narthex.run("gauss", 16, jobs=["em3d 64"], nodes=2, set=TWO)
    known = [(job["program"], job["nodes"], job["process"]) for job in result.document["jobs"]]
    assert known == [("gauss", [0, 2], 0), ("em3d", [0, 2], 1)]
    assert jobs.job_at(result.document, 1, 1) == "em3d"


def test_the_page_names_the_job_of_each_report_and_bar() -> None:
    told = ["roundtrip 8 5 1 @ 0-1", "roundtrip 64 5 1 @ 2-3"]
    document = narthex.run(jobs=told, nodes=4).document
    table = runs.reports(document)
    assert [column.name for column in table.columns][:3] == ["node", "job", "name"]
    assert {(row[0], row[1]) for row in table.rows} == {
        ("0", "roundtrip 8 5 1"),
        ("2", "roundtrip 64 5 1"),
    }
    bars = runs.ledger_chart(document, "activity").specification["data"]["values"]
    assert {row["node"] for row in bars} == {
        *(f"node {node}, roundtrip 8 5 1" for node in (0, 1)),
        *(f"node {node}, roundtrip 64 5 1" for node in (2, 3)),
    }


def test_a_page_of_many_nodes_of_jobs_has_few_bars_and_none_of_two_jobs() -> None:
    document = narthex.run(jobs=["hello @ 0-7", "hello there @ 8-15"], nodes=16).document
    bars = runs.ledger_chart(document, "activity").specification["data"]["values"]
    names = {row["node"] for row in bars}
    assert 2 <= len(names) <= groups.MOST_BARS
    assert {name.partition(", hello")[2] for name in names} == {"", " there"}


@pytest.mark.parametrize("interface", ["NI2w", "CNI32Qm", "CNI4"])
def test_a_job_cannot_name_a_process_of_another(tmp_path: Path, interface: str) -> None:
    source = tmp_path / "wild.c"
    source.write_text(WILD)
    with pytest.raises(NarthexError) as caught:
        narthex.run(jobs=[f"{source} 2 @ 0-1", "gauss 16 @ 2-3"], nodes=4, interface=interface)
    assert "for node 2: nodes are 0 to 1" in str(caught.value)
    assert caught.value.exit_code == 1


def test_jobs_without_room_are_refused_with_a_remedy() -> None:
    with pytest.raises(NarthexError, match=r"machine\.processors_per_node=2"):
        narthex.run(jobs=["gauss 16", "em3d 64"], nodes=2)
    with pytest.raises(NarthexError, match="the machine has the nodes 0 to 1"):
        narthex.run(jobs=["gauss 16 @ 0-3"], nodes=2)
    with pytest.raises(NarthexError, match="name a program, or jobs"):
        narthex.run()


def test_the_terminal_names_the_job_of_each_report(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "--job", "em3d 64 @ 0-1", "--job", "gauss 16 @ 2-3", "--nodes", "4"]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert "em3d 64 + gauss 16 on CNI32Qm, 4 nodes" in shown
    assert any(line.split()[:2] == ["gauss", "2"] for line in shown.splitlines())


def _round_trip(result: narthex.Result, job: int) -> float:
    on = jobs.nodes_of(result.document["jobs"][job])
    name = "round-trip latency"
    (value,) = [each["value"] for each in result.reported(name) if each["node"] in on]
    return float(value)


def test_a_job_on_listed_nodes_in_any_order_runs_as_on_neighbours() -> None:
    alone = narthex.run("roundtrip", 64, 5, nodes=2)
    placed = narthex.run(jobs=["roundtrip 64 5 @ 5,2", "hello @ 0-6:3"], nodes=8)
    assert _round_trip(placed, 0) == alone.value("round-trip latency")
    first, second = placed.document["jobs"]
    assert (first["nodes"], first["node_list"]) == ([2, 6], [5, 2])
    assert second["node_list"] == [0, 3, 6]
    assert placed.jobs["nodes"].to_list() == [[5, 2], [0, 3, 6]]
    assert jobs.job_at(placed.document, 5, 0) == "roundtrip"
    assert jobs.job_at(placed.document, 4, 0) == ""


def test_random_nodes_follow_the_seed_and_stand_in_the_result() -> None:
    def places(seed: int) -> list[list[int]]:
        result = narthex.run(jobs=["hello @ 0-3", "hello @ random:4"], nodes=16, seed=seed)
        return [[*jobs.nodes_of(job)] for job in result.document["jobs"]]

    assert places(1) == places(1) != places(2)
    assert set(places(1)[1]) <= {*range(4, 16)}


def test_a_job_begins_at_its_start_and_does_what_it_does_elsewhere() -> None:
    alone = narthex.run("roundtrip", 64, 5, nodes=2)
    late = narthex.run(jobs=["hello @ 2", "roundtrip 64 5 @ 0-1 start 50us"], nodes=3, threads=2)
    assert late.value("round-trip latency") == alone.value("round-trip latency")
    assert late.document["simulated_ps"] == alone.document["simulated_ps"] + 50_000_000
    assert late.document["jobs"][1]["start_ps"] == 50_000_000


def test_a_job_that_is_stopped_leaves_the_network_to_the_others() -> None:
    """Its packets would keep the links of the switches that the other job's must cross."""
    stopped = "bandwidth 256 100000 @ 0,2 until 100us"
    result = narthex.run(
        jobs=[stopped, "roundtrip 64 200 @ 1,3"], machine="cluster", nodes=4, interface="CNI512Q"
    )
    assert [job.get("stopped", False) for job in result.document["jobs"]] == [True, False]
    assert result.document["simulated_ps"] > 100_000_000
    alone = narthex.run(
        jobs=["roundtrip 64 200 @ 1,3"], machine="cluster", nodes=4, interface="CNI512Q"
    )
    assert _round_trip(result, 1) < 2 * _round_trip(alone, 0)


def test_interference_is_the_ratio_to_a_job_alone_on_the_same_nodes() -> None:
    told = ["bandwidth 256 20 @ 0,2", "bandwidth 256 20 @ 1,3", "roundtrip 8 5 @ 4-5"]
    found = narthex.interfere(told, nodes=6, interface="CNI512Q")
    rows = found.frame.rows(named=True)
    assert [(row["job"], row["beside"]) for row in rows[:3]] == [
        ("bandwidth 256 20 (0)", "bandwidth 256 20 (1)"),
        ("bandwidth 256 20 (0)", "roundtrip 8 5"),
        ("bandwidth 256 20 (0)", "all"),
    ]
    assert {row["slowdown"] for row in rows} == {1.0}, "an ideal network has no contention"
    shared = narthex.interfere(
        ["bandwidth 256 50 @ 0,3", "bandwidth 256 50 @ 1,2"],
        machine="cluster",
        nodes=4,
        interface="CNI512Q",
        set={"network.topology": '{kind="mesh", dimensions=[4, 1]}', "network.links.width": "1B"},
    )
    slowdowns = shared.frame["slowdown"].to_list()
    assert slowdowns == [pytest.approx(2, rel=0.01)] * 2, "they share the link from 1 to 2"
    with pytest.raises(NarthexError, match="name two or more, not 1"):
        narthex.interfere(["hello"])


def test_what_jobs_cost_each_other_is_a_page_also_of_its_document(tmp_path: Path) -> None:
    listed = ["--job", "bandwidth 64 2 @ 0,2", "--job", "roundtrip 8 2 @ 1,3", "--nodes", "4"]
    page, file, again = (tmp_path / name for name in ("page.html", "found.json", "again.html"))
    with pytest.raises(SystemExit) as ended:
        main(["interfere", *listed, "--report", str(page), "--json", str(file)])
    assert ended.value.code == 0
    with pytest.raises(SystemExit):
        main(["report", str(file), "--output", str(again)])
    text = page.read_text()
    assert text == again.read_text()
    for told in ("2 jobs on CNI32Qm, 4 nodes of hpca98", "roundtrip 8 2", "0, 2", "1.000 x"):
        assert told in text
    damaged = json.loads(file.read_text())
    damaged["matrix"][0]["slowdown"] = "fast"
    file.write_text(json.dumps(damaged))
    with pytest.raises(NarthexError, match=r"Expected `float \| null`, got `str`.*matrix\[0\]"):
        documents.read([file])


def test_a_sweep_places_jobs(tmp_path: Path) -> None:
    table = narthex.sweep(
        {
            "name": "places",
            "jobs": ["roundtrip 64 5 @ {place}"],
            "nodes": 4,
            "parameters": {"place": ["0,3", "1,2"]},
        },
        jobs=1,
        output=tmp_path / "places",
    )
    report = next(each for each in table.columns if each.startswith("round_trip_latency"))
    assert table[report].n_unique() == 1
    assert table["place"].to_list() == ["0,3", "1,2"]
