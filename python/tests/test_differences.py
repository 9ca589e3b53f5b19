"""What distinguishes two results, side by side."""

import json
import math

import pytest

import narthex
from narthex import NarthexError, notation
from narthex.cli import main
from narthex.differences import Difference, Side
from narthex.report.differences import sections
from narthex.results import PS_PER_US


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Files of three runs: over two interfaces, and the second on another machine."""
    folder = tmp_path_factory.mktemp("results")

    def made(name, interface, **more):
        run = narthex.run("roundtrip", 8, 4, 1, interface=interface, nodes=2, **more)
        return run.save(folder / f"{name}.json")

    return (
        made("slow", "NI2w"),
        made("fast", "CNI32Qm"),
        made("faster", "CNI32Qm", set={"bus.clock": "500MHz"}),
    )


def test_a_result_differs_from_itself_in_nothing(results):
    found = narthex.diff(results[0], results[0])
    assert found.settings == []
    assert found.changed == []
    assert found.figures


def test_settings_and_figures_stand_side_by_side(results):
    found = narthex.diff(results[0], results[1])
    assert {"key": "interface", "a": "NI2w", "b": "CNI32Qm"} in found.settings
    latency = next(row for row in found.figures if row["name"] == "round-trip latency (ns)")
    slow, fast = (narthex.load(file).value("round-trip latency") for file in results[:2])
    assert (latency["a"], latency["b"]) == (slow, fast)
    assert latency["change_percent"] == pytest.approx(100 * (fast - slow) / slow)
    sizes = [abs(row["change_percent"]) for row in found.changed if row["of"] != "counted"]
    assert sizes == sorted(sizes, reverse=True)
    assert found.changed[-1]["of"] == "counted"


def test_a_parameter_of_the_machine_is_named(results):
    assert narthex.diff(results[1], results[2]).settings == [
        {"key": "bus.clock", "a": "250MHz", "b": "500MHz"}
    ]


def test_a_figure_that_was_none_has_no_percent():

    key = ("counted", "packets_returned")
    found = Difference(Side("a", figures={key: 0.0}), Side("b", figures={key: 3.0, ("", "x"): 1}))
    (row,) = found.changed
    assert row["change_percent"] is None
    assert found.alone == {"a": [], "b": ["x"]}
    same = {key: math.nan}
    assert Difference(Side("a", figures=same), Side("b", figures=same)).changed == []


def test_a_page_of_two_runs_has_their_times_on_one_scale_and_units(tmp_path):
    files = [
        narthex.run("roundtrip", 8, 4, 1, interface=name, nodes=2).save(tmp_path / f"{name}.json")
        for name in ("NI2w", "CNI32Qm")
    ]
    found = narthex.diff(*files)
    names = {row["name"] for row in found.figures if row["of"] == "counted"}
    assert {"bus_occupied (ps)", "bus_reads"} <= names
    text = found.report(tmp_path / "diff.html").read_text()
    assert "<h1>NI2w and CNI32Qm</h1>" in text
    (whole, regions) = next(
        part.parts for part in sections(found) if part.title == "Where the time went"
    )
    bars = [row for chart in (whole, regions) for row in chart.specification["data"]["values"]]
    assert {row["result"] for row in bars} == {"NI2w", "CNI32Qm"}
    assert {row["region"] for row in bars} == {"", "round trips"}
    send = narthex.load(files[0]).ledger.filter(activity="send")["time_ps"].sum() / PS_PER_US
    (cells,) = [row for row in whole.table.rows if row[0] == "send"]
    assert cells[1] == notation.short(send)
    assert [column.name for column in regions.table.columns] == [
        "region", "activity", "NI2w, us", "CNI32Qm, us", "change",
    ]  # fmt: skip
    assert [notation.short(value) for value in (1272.0, 0.5)] == ["1,272", "0.50"]


@pytest.mark.parametrize(
    ("places", "names"),
    [
        (("x/a.json", "y/b.json"), ("a", "b")),
        (("x/a.json", "x/a.html"), ("a.json", "a.html")),
        (("x/a.json", "y/a.json"), ("x/a.json", "y/a.json")),
        (("a.json", "a.json"), ("A", "B")),
    ],
)
def test_two_results_are_called_as_shortly_as_tells_them_apart(places, names):
    assert Difference(*map(Side, places)).names == names


def test_folders_of_sweeps_are_compared_run_by_run(tmp_path):
    sweep = {"name": "s", "program": "roundtrip", "args": "{bytes} 4 1", "nodes": 2}
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder, interface in zip(folders, ["NI2w", "CNI32Qm"], strict=True):
        what = {**sweep, "interface": interface, "parameters": {"bytes": [8, 64]}}
        narthex.sweep(what, jobs=1, output=folder)
    found = narthex.diff(*folders)
    assert {"key": "interface", "a": '"NI2w"', "b": '"CNI32Qm"'} in found.settings
    assert {row["of"] for row in found.changed} == {"bytes=8", "bytes=64"}


def test_what_cannot_be_compared_is_refused(results, tmp_path):
    with pytest.raises(NarthexError, match="a folder and a file"):
        narthex.diff(results[0], tmp_path)
    with pytest.raises(NarthexError, match="no folder of a sweep"):
        narthex.diff(tmp_path, tmp_path)
    life = narthex.explain("NI2w", 8).save(tmp_path / "life.json")
    with pytest.raises(NarthexError, match="of the kinds 'run' and 'explanation'"):
        narthex.diff(results[0], life)


def test_the_command_prints_a_table_and_writes_a_page(results, tmp_path, capsys):
    page, document = tmp_path / "d.html", tmp_path / "d.json"
    files = [str(file) for file in results[:2]]
    with pytest.raises(SystemExit, match="0"):
        main(["diff", *files, "--report", str(page), "--json", str(document)])
    told = capsys.readouterr().out
    assert "round-trip latency" in told
    assert "figures differ" in told
    assert "The largest changes" in page.read_text()
    assert {row["key"] for row in json.loads(document.read_text())["settings"]} == {"interface"}
