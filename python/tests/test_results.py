"""Frames, charts and files of results, and what is refused."""

import json
import re
import shlex
from pathlib import Path

import polars as pl
import pytest

import narthex
from narthex import NarthexError
from narthex.charts.standalone import standalone
from narthex.report.parts import Chart, Table


@pytest.fixture(scope="module")
def result():
    return narthex.run("roundtrip", 8, 20, 5, interface="NI2w", nodes=2)


@pytest.fixture(scope="module")
def comparison():
    return narthex.compare("roundtrip", 8, 5, 1, interfaces=["NI2w", "CNI32Qm"], nodes=2)


@pytest.fixture(scope="module")
def explanation():
    return narthex.explain("NI2w", 8)


@pytest.fixture(scope="module")
def outcome():
    return narthex.experiment("hpca98/roundtrip", interfaces=["NI2w", "CNI32Qm", "CNI512Q"])


def svg(chart, tmp_path):
    chart.save(tmp_path / "chart.svg")
    return (tmp_path / "chart.svg").read_text()


# --- frames ---------------------------------------------------------------------


def test_statistics_tell_their_units_and_meanings(result):
    (sent,) = result.statistics.filter(node=0, name="messages_sent").rows(named=True)
    assert sent["unit"] == "messages"
    assert sent["meaning"] == "messages that left, of any size"
    kinds = result.statistics.filter(pl.col("name").str.starts_with("bus_occupied_by_kind."))
    assert set(kinds["unit"]) == {"ps"}


def test_measurements_are_reports_statistics_and_ledgers_of_run_and_regions(result):
    rows = result.measurements
    whole = rows.filter(pl.col("region").is_null())
    assert whole.filter(kind="report").height == result.reports.height
    assert whole.filter(kind="statistic").height == result.statistics.height
    assert whole.filter(kind="ledger")["value"].sum() == result.ledger["time_ps"].sum()
    (region,) = result.document["regions"]
    of_region = rows.filter(region="round trips")
    spent_ps = of_region.filter(kind="ledger")["value"].sum()
    assert spent_ps == region["end_ps"] - region["begin_ps"]
    (sent,) = of_region.filter(name="messages_sent").rows(named=True)
    assert (sent["value"], sent["unit"]) == (region["statistics"]["messages_sent"], "messages")


def test_an_outcomes_columns_have_the_same_types_whatever_is_in_them(outcome):
    schema = outcome.frame.schema
    assert (schema["baseline"], schema["published_low"]) == (pl.String, pl.Float64)
    assert narthex.experiment("hpca98/roundtrip", interfaces="NI2w").frame.schema == schema
    assert outcome.frame.filter(interface="NI2w", workload="8 bytes")["published_low"][0] == 2.41


def test_verdicts_are_the_claims(outcome):
    assert outcome.verdicts["claim"].to_list() == [claim.text for claim in outcome.claims]
    assert outcome.verdicts["holds"].to_list() == [claim.holds for claim in outcome.claims]


def test_the_catalogue_has_every_kind():
    names = {kind: set(narthex.catalogue(kind)["name"]) for kind in
             ("interfaces", "machines", "programs", "experiments")}  # fmt: skip
    assert "CNI32Qm" in names["interfaces"]
    assert names["machines"] == {
        "chip",
        "cluster",
        "edt",
        "host-bdw",
        "host-hsw",
        "host-hsw-iommu",
        "host-ivb",
        "host-snb",
        "hpca98",
        "hpca98-calibrated",
        "isca96",
        "sarc-chip",
        "sarc-prototype",
        "server",
        "smp",
        "voyager",
    }
    assert "em3d" in names["programs"]
    assert "hpca98/roundtrip" in names["experiments"]


def test_parameters_say_where_they_come_from_and_what_was_changed():
    (clock,) = narthex.parameters("hpca98").filter(parameter="bus.clock").rows(named=True)
    assert (clock["value"], clock["unit"], clock["origin"]) == ("250", "MHz", "stated")
    changed = narthex.parameters("hpca98", set={"bus.clock": "125MHz"})
    assert changed.filter(parameter="bus.clock")["origin"].to_list() == ["chosen"]


def test_settings_are_pairs_or_texts():
    given = ({"bus.clock": "125MHz", "data_cache.snarfing": True},
             ["bus.clock=125MHz", "data_cache.snarfing=true"])  # fmt: skip
    first, second = (narthex.parameters(set=settings) for settings in given)
    assert first.equals(second)
    assert first.filter(origin="chosen", parameter="data_cache.snarfing").height == 1


# --- files ----------------------------------------------------------------------


def test_what_is_saved_is_loaded_again(result, comparison, explanation, tmp_path):
    file = tmp_path / "saved.json"
    for saved in (result, comparison, explanation):
        assert saved.save(file) == file
        again = narthex.load(file, type(saved))
        assert again.document == saved.document == json.loads(file.read_text())
        assert repr(again) == repr(saved)


def test_a_save_is_what_the_command_line_writes(result, tmp_path, monkeypatch):
    from narthex.cli import main

    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(shlex.split("run roundtrip 8 20 5 --interface NI2w --nodes 2 --json cli.json"))
    assert result.save("saved.json").read_bytes() == Path("cli.json").read_bytes()


def test_experiments_are_loaded_as_they_are_written(outcome, tmp_path):
    loaded = narthex.load(outcome.save(tmp_path / "outcome.json"), narthex.Experiments)
    assert loaded.names == ["hpca98/roundtrip"]
    assert loaded.frame.equals(outcome.frame)
    assert loaded.verdicts.equals(outcome.verdicts)
    assert loaded.plot().to_dict() == loaded.plot("hpca98/roundtrip").to_dict()
    with pytest.raises(NarthexError, match="no experiment 'hpca98/bandwidth' here"):
        loaded.plot("hpca98/bandwidth")


def test_a_file_of_another_kind_is_refused(explanation, tmp_path):
    file = explanation.save(tmp_path / "life.json")
    with pytest.raises(NarthexError, match="a result of kind 'explanation', not 'run'"):
        narthex.load(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"nodes": [', "is not whole JSON"),
        ('{"nodes": [], "schema": 1}', "with schema 1, by narthex another version"),
        ("{}", "is no result"),
        ('{"nodes": [], "schema": 3}', "is not a whole result of kind 'run': .* at `.*nodes`"),
    ],
)
def test_a_file_that_is_no_result_is_refused(text, message, tmp_path):
    (tmp_path / "some.json").write_text(text)
    with pytest.raises(NarthexError, match=message):
        narthex.load(tmp_path / "some.json")


def test_a_place_that_cannot_be_written_is_refused(result):
    with pytest.raises(NarthexError, match=r"cannot write '/proc/result\.json'"):
        result.save("/proc/result.json")


# --- charts ---------------------------------------------------------------------


def test_a_ledgers_chart_has_a_bar_a_node_and_a_colour_an_activity(result, tmp_path):
    drawn = svg(result.plot_ledger(), tmp_path)
    for word in ("node 0", "node 1", "poll", "send", "roundtrip 8 20 5 on NI2w"):
        assert f">{word}<" in drawn
    assert "var(" not in drawn
    assert "#0072b2" in drawn  # of sending


def test_a_regions_ledger_is_drawn_by_occupation(result, tmp_path):
    drawn = svg(result.plot_ledger("occupation", region="round trips"), tmp_path)
    assert ">uncached access<" in drawn
    assert ">Time of region 'round trips' by occupation<" in drawn


def test_charts_need_no_page(comparison, explanation, outcome):
    charts = [comparison.plot(), comparison.plot_ledger(), explanation.plot(), outcome.plot()]
    for chart in charts:
        made = chart.to_dict()
        assert not re.search(r"var\(|container\"", json.dumps(made))
        assert made["description"]
        assert made["title"]["subtitle"]


def test_an_outcome_shows_measured_values_and_published_ones(outcome):
    (rows,) = outcome.plot().to_dict()["datasets"].values()
    printed = {(row["interface"], row["x"]): row["published"] for row in rows
               if "published" in row}  # fmt: skip
    assert printed["NI2w", 8] == "2.41"
    assert len(rows) == outcome.frame.height
    assert "relative to NI2w" in json.dumps(outcome.plot_ledger().to_dict())


def test_an_unknown_colour_is_no_colour():
    part = Chart("Title", "words", {"mark": "var(--nothing)"}, Table("", [], []))
    with pytest.raises(KeyError):
        standalone(part, "")


def test_a_notebook_shows_results_as_tables_and_one_call_writes_their_page(tmp_path):
    result = narthex.run("roundtrip", 8, 4, 1, nodes=2)
    ranking = narthex.compare("roundtrip", 8, 4, 1, interfaces=["NI2w"], nodes=2)
    life = narthex.explain("NI2w", 8)
    assert "round-trip latency" in result._repr_html_()
    assert "NI2w" in ranking._repr_html_()
    assert "sender" in life._repr_html_()
    assert "Where the time went" in result.report(tmp_path / "r.html").read_text()


# --- sweeps ---------------------------------------------------------------------

SWEEP = {
    "name": "sizes",
    "program": "bandwidth",
    "args": "{bytes} 20",
    "interface": "CNI{blocks}Q",
    "nodes": 2,
    "parameters": {"bytes": [8, 64], "blocks": [4, 64]},
}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return narthex.sweep(SWEEP, jobs=1, output=tmp_path_factory.mktemp("sweep") / "sizes")


def picture(chart):
    (made,) = chart.to_dict()["vconcat"]
    return made["layer"][-1]["encoding"]


def test_a_sweep_is_drawn_over_its_parameters(table):
    made = picture(narthex.plot_sweep(table, y="bandwidth_MB_per_s"))
    assert made["x"]["title"] == "bytes"
    assert made["color"]["title"] == "blocks"
    made = picture(narthex.plot_sweep(table, x="blocks", y=["bandwidth_MB_per_s"]))
    assert made["color"]["title"] == "bytes"
    reports = [name for name in table.columns if name.startswith("bandwidth")]
    assert len(narthex.plot_sweep(table).to_dict()["vconcat"]) == len(reports) == 3


def test_what_others_decide_is_no_parameter_of_a_picture(table):
    with pytest.raises(
        NarthexError, match=r"no parameter 'args' to draw.*there are: blocks, bytes"
    ):
        narthex.plot_sweep(table, x="args")
    without = table.drop("bytes")  # now only the arguments tell
    made = picture(narthex.plot_sweep(without, x="blocks", y="bandwidth_MB_per_s"))
    assert made["color"]["title"] == "args"


def test_a_frame_that_is_no_sweep_is_not_drawn(table):
    with pytest.raises(NarthexError, match="no table of a sweep"):
        narthex.plot_sweep(pl.DataFrame({"bytes": [1]}))
    with pytest.raises(NarthexError, match="no report 'bandwidth' to draw"):
        narthex.plot_sweep(table, y="bandwidth")
    with pytest.raises(NarthexError, match="nothing to draw"):
        narthex.plot_sweep(table.head(1))


# --- what is refused ------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"interface": 5}, "interface must be a text, not 5"),
        ({"machine": None}, "machine must be a text, not None"),
        ({"nodes": "2"}, "nodes must be a whole number from 1 to 4096, not '2'"),
        ({"nodes": 2.5}, "nodes must be a whole number from 1 to 4096, not 2.5"),
        ({"threads": 0}, "threads must be a whole number from 1 to 1024, not 0"),
        ({"seed": -1}, "seed must be a whole number from 0 to 9223372036854775807, not -1"),
        ({"set": 5}, "set must be a list of texts, not 5"),
        ({"set": [5]}, "set must be a text, not 5"),
        ({"set": {"bus.clok": "1MHz"}}, "did you mean `clock`"),
        ({"checkpoint_every": 5}, "checkpoint_every must be a text, not 5"),
        ({"interface": "NI2w", "interfaces": "NI2w"}, "are the same argument: give one of them"),
        ({"interfaces": ["NI2w", "CNI4"]}, "run takes one interface, not NI2w, CNI4"),
    ],
)
def test_a_wrong_argument_of_a_run_is_named(given, message):
    with pytest.raises(NarthexError, match=re.escape(message)):
        narthex.run("hello", **{"nodes": 2, **given})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: narthex.run(5), "program must be a text, not 5"),
        (
            lambda: narthex.explain("NI2w", "8"),
            "bytes must be a whole number from 0 to 65536, not '8'",
        ),
        (
            lambda: narthex.explain("NI2w", -1),
            "bytes must be a whole number from 0 to 65536, not -1",
        ),
        (lambda: narthex.compare("hello", interfaces="NI3x", nodes=2), "NI3x"),
        (lambda: narthex.experiment(5), "name must be a text, not 5"),
        (lambda: narthex.experiment("hpca98/roundtrip", jobs=0), "jobs must be a whole number"),
        (lambda: narthex.sweep(5), "a sweep must be a text, not 5"),
        (lambda: narthex.catalogue("interface"), "did you mean 'interfaces'"),
        (lambda: narthex.parameters("hpca97"), "hpca98"),
        (lambda: narthex.load("nowhere.json"), "'nowhere.json' does not exist"),
        (lambda: narthex.compile("nowhere.c", "x"), "there is no source file 'nowhere.c'"),
    ],
)
def test_a_wrong_argument_of_a_call_is_named(call, message):
    with pytest.raises(NarthexError, match=re.escape(message)):
        call()


def test_a_ledger_is_divided_in_known_ways_and_regions(result):
    with pytest.raises(NarthexError, match=r"'colour'.*activity, occupation"):
        result.plot_ledger("colour")
    with pytest.raises(NarthexError, match=r"'main'.*there are: round trips"):
        result.plot_ledger(region="main")
