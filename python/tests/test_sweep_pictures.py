"""Pictures of sweeps: nothing is averaged that is not told, and no curve hides another."""

import itertools
import json
import re

import browser
import polars as pl
import pytest

import narthex
from narthex import NarthexError, documentation, documents, report
from narthex.charts import curves, drawings, palette
from narthex.cli import main
from narthex.report import fronts, sweeps
from narthex.report.page import rendered
from narthex.sweeps import plots
from narthex.sweeps.definition import RUN_KEYS
from narthex.sweeps.loading import COLUMNS


def table(value, **axes):
    """A sweep's table: every value of the axes with every other, and what is reported there."""
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    fixed = dict.fromkeys((*RUN_KEYS, *COLUMNS), "same") | {"host_s": 0.0}
    order = [*RUN_KEYS, *axes, *COLUMNS]
    rows = [{**fixed, **point} for point in points]
    frame = pl.DataFrame([{name: row[name] for name in dict.fromkeys(order)} for row in rows])
    return frame.with_columns(pl.Series("time_ns", [value(**point) for point in points]))


def charts(swept, x=None, color=None):
    return plots.charts_of(swept, plots.parameters_of(swept), ["time_ns"], x, color, "")


def values(chart):
    return chart.specification["data"]["values"]


def test_a_third_parameter_has_panels_and_is_not_averaged():
    swept = table(lambda a, b, c: 100 * a + 10 * b + c, a=[1, 2], b=[1, 2], c=[1, 2])
    (made,) = charts(swept)
    assert len(values(made)) == 8
    assert {row["panel"] for row in values(made)} == {"c 1", "c 2"}
    assert "a panel for each c" in made.description


def test_a_mean_is_over_seeds_alone_and_told():
    swept = table(lambda a, seed: 10 * a + seed, a=[1, 2], seed=[1, 2, 3])
    (made,) = charts(swept)
    assert [(row["value"], row["low"], row["high"]) for row in values(made)] == [
        (12, 11, 13), (22, 21, 23),
    ]  # fmt: skip
    assert "each point the mean of up to 3 seeds" in made.description


def test_too_many_panels_are_refused_with_their_parameters():
    swept = table(lambda **_: 1, a=[1, 2], b=[1, 2], c=list(range(7)), d=[1, 2])
    with pytest.raises(NarthexError, match=r"14 panels.* 'c' \(7 values\), 'd' \(2 values\)"):
        charts(swept)


def test_too_many_panels_are_refused_before_anything_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(
        'program = "roundtrip"\nargs = "{bytes} 4 1"\n[parameters]\nbytes = [8, 64]\n'
        "nodes = [2, 4]\nflow_control.buffers = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]\n"
    )
    with pytest.raises(SystemExit, match="2"):
        main(["sweep", "s.toml", "--plot", "s.svg"])
    assert "would have 13 panels" in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


def test_a_sample_has_points_and_no_curves():
    swept = table(lambda a, b: a * b, a=[1, 2, 3, 4], b=[1, 2, 3, 4]).filter(
        pl.col("a") == pl.col("b")
    )
    (made,) = charts(swept)
    marks = [layer["mark"]["type"] for layer in made.specification["layer"]]
    assert marks == ["point"]


def test_what_differs_from_point_to_point_is_named():
    swept = table(lambda a, b: a * b, a=[1, 2, 3], b=[4, 5, 6]).filter(
        pl.col("a") + 3 == pl.col("b")
    )
    (made,) = charts(swept, x="a", color="a")
    assert "b varies with them" in made.description


def test_of_curves_that_coincide_the_later_is_dashed():
    swept = table(lambda a, kind: a * (2 if kind == "other" else 1), a=[1, 2],
                  kind=["one", "other", "same"])  # fmt: skip
    (made,) = charts(swept)
    assert "one and same coincide" in made.description
    dash = made.specification["layer"][0]["encoding"]["strokeDash"]
    assert dash["condition"]["test"] == {"field": "interface", "oneOf": ["same"]}
    assert dash["condition"]["value"] == list(curves.DASHED)


def test_curves_that_coincide_in_one_panel_alone_are_told_with_it():
    swept = table(lambda a, b, c: a * (b if c == "x" else 1), a=[1, 2], b=[1, 2], c=["x", "y"])
    (made,) = charts(swept)
    assert "1 and 2 coincide in c y" in made.description
    dash = made.specification["spec"]["layer"][0]["encoding"]["strokeDash"]
    assert dash["condition"]["test"] == {"field": "interface", "oneOf": ["2"]}


def test_the_axis_has_the_numbers_that_were_swept():
    (made,) = charts(table(lambda a: a, a=[3, 7, 12]))
    assert made.specification["layer"][0]["encoding"]["x"]["axis"]["values"] == [3, 7, 12]


def test_a_page_of_a_sweep_follows_the_readers_scheme_and_a_file_for_paper_does_not(tmp_path):
    swept = table(lambda a: a, a=[1, 2, 3])
    plots.pictures.save(charts(swept), "Sweep", tmp_path / "s.html")
    page = (tmp_path / "s.html").read_text()
    assert "prefers-color-scheme: dark" in page
    assert "var(--series-1)" in page
    plots.pictures.save(charts(swept), "Sweep", tmp_path / "s.svg")
    drawn = (tmp_path / "s.svg").read_text()
    assert "var(" not in drawn
    assert palette.LIGHT["series-1"] in drawn


def test_every_activity_and_occupation_has_a_colour_in_both_schemes():
    for by, parts in (("activity", palette.ACTIVITIES), ("occupation", palette.OCCUPATIONS)):
        for part in parts:
            name = palette.of_part(by, part).removeprefix("var(--").rstrip(")")
            assert name in palette.LIGHT
            assert name in palette.DARK
    ledger = documentation.DOCS.parent / "machine/src/activity.rs"
    activities = re.findall(r'Activity::\w+(?:,| =>) "(.+)"', ledger.read_text())
    assert {*activities, *palette.FIRMWARE} == {*palette.ACTIVITIES}
    _, declared = (ledger.parent / "activity/spent.rs").read_text().split("pub enum Occupation {")
    occupations = re.findall(r'^        \w+ = "(.+)",$', declared.split("\n    }")[0], re.MULTILINE)
    assert {*occupations} == {*palette.OCCUPATIONS}
    colours = [palette.of_part("activity", part) for part in palette.ACTIVITIES]
    for scheme in (palette.LIGHT, palette.DARK):
        shown = [scheme[colour.removeprefix("var(--").rstrip(")")] for colour in colours]
        assert len({*shown}) == len(shown)
    assert narthex.charts.palette.of_part("activity", "other things") == "var(--other)"


def rows_of(*found, **more):
    return [
        {"interface": f"i{at}", "x": at, "value": value, **more} for at, value in enumerate(found)
    ]


def test_values_over_two_decades_have_an_axis_by_ratio():
    for draw in (
        lambda rows: drawings.bars(rows, "ns", []),
        lambda rows: drawings.pairs([{**row, "name": row["interface"]} for row in rows], "ns"),
    ):
        near, far, least = (
            [layer["encoding"]["x"] for layer in draw(rows_of(*found))["layer"]][-1]
            for found in ((1, 99), (1, 100), (0, 100))
        )
        assert far["scale"] == {"type": "log"}
        assert "type" not in near.get("scale", {})
        assert "type" not in least.get("scale", {})
    for values, kind in (((1, 99), None), ((1, 100), "log"), ((-1, 100), None)):
        drawn = curves.curves(rows_of(*values), "ns", ["i0", "i1"])
        scales = [layer["encoding"]["y"].get("scale", {}).get("type") for layer in drawn["layer"]]
        assert scales == [kind] * len(scales)


def test_a_bar_is_a_point_where_its_length_would_mean_nothing():
    marks = [
        drawings.bars(rows_of(*found), "ns", [])["layer"][0]["mark"]["type"]
        for found in ((1, 99), (1, 100))
    ]
    assert marks == ["bar", "point"]
    assert drawings.bars([], "ns", [])["layer"]
    panels = [*rows_of(1, 9, panel="a"), *rows_of(500, 900, panel="b")]
    drawn = drawings.bars(panels, "ns", [], panels="panel")
    assert drawn["spec"]["layer"][0]["mark"]["type"] == "bar"  # each panel has its own axis


def test_numbers_across_are_by_ratio_with_0_too_but_shares_are_not():
    for across, kind in (
        ([1, 2, 4, 16], "log"), ([0, 2, 4, 64], "symlog"), ([1, 2, 3], None), ([0.01, 0.5], None),
    ):  # fmt: skip
        rows = [{"x": x, "value": 1} for x in across]
        assert curves.across(rows, "x", None).to_dict().get("scale", {}).get("type") == kind


def test_a_map_has_the_range_of_its_values_and_no_colour_where_there_is_none():
    def drawn(*found):
        rows = [{"row": "a", "column": str(at), "value": value} for at, value in enumerate(found)]
        return curves.heat_map(rows, "ns")

    spec = drawn(50, 60, None)
    assert spec["encoding"]["opacity"]["scale"]["domain"] == [50, 60]
    assert [row["value"] for row in spec["data"]["values"]] == [50, 60]
    assert spec["encoding"]["x"]["scale"]["domain"] == ["0", "1", "2"]
    assert drawn(1, 100)["encoding"]["opacity"]["scale"]["type"] == "log"
    assert drawn(0, 100)["encoding"]["opacity"]["scale"]["type"] == "linear"
    assert drawn(7, 7)["encoding"]["opacity"]["scale"]["domain"] == [0, 7]


# --- pages ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of a sweep of which a run has failed."""
    what = {"name": "sizes", "program": "roundtrip", "args": "{bytes} 4 1", "nodes": 2}
    varied = {"bytes": [8, 64, "many"], "interface": ["NI2w", "CNI32Qm"]}
    path = tmp_path_factory.mktemp("page") / "sizes"
    narthex.sweep({**what, "parameters": varied}, jobs=1, output=path)
    return path


def test_a_page_of_a_sweep_has_pictures_the_best_runs_and_what_failed(folder, tmp_path):
    page = tmp_path / "sizes.html"
    with pytest.raises(SystemExit, match="0"):
        main(["report", str(folder), "--output", str(page)])
    text = page.read_text()
    for words in ("Folder sizes", "2 failed", "Failed runs", "as a map", "Best by round trip"):
        assert words in text, words
    assert "<h1>Sweep of roundtrip on hpca98 over bytes, interface</h1>" in text
    assert "Time of all processors, by activity" in text
    assert "Each run, the best first, and where its time went, percent" in text
    rows = {*re.findall(r'<tr id="(run-[^"]+)"', text)}
    assert len(rows) == 4
    assert {*re.findall(r'"run": "(run-[^"]+)"', text)} == rows
    assert text.count('class="shares"') == 4


CLICK = """
<script>
addEventListener("load", () => setTimeout(() => {
  const point = document.querySelector(".mark-symbol path[aria-roledescription=point]");
  point.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  const row = document.activeElement;
  document.title = JSON.stringify([row.id, row.closest("details").open]);
}, 3000));
</script>
"""


@pytest.mark.skipif(browser.find() is None, reason="there is no Chromium or Chrome on the PATH")
def test_a_point_opens_the_row_of_its_run(folder, tmp_path):
    page = report.page([documents.read_sweep(folder)])
    file = tmp_path / "sweep.html"
    file.write_text(page + CLICK, encoding="utf-8")
    dom, _ = browser.load(file)
    ident, is_open = json.loads(re.search("<title>(.*?)</title>", dom)[1])
    assert f'<tr id="{ident}"' in page
    assert is_open


def test_a_sweep_writes_its_page_itself(tmp_path):
    file, page = tmp_path / "s.toml", tmp_path / "s.html"
    file.write_text(
        'name = "s"\nprogram = "roundtrip"\nargs = "{bytes} 4 1"\nnodes = 2\n'
        "[parameters]\nbytes = [8, 64]\n"
    )
    words = ["sweep", str(file), "--output", str(tmp_path / "s"), "--report", str(page)]
    with pytest.raises(SystemExit, match="0"):
        main([*words, "--jobs", "1"])
    assert page.read_text().count('<tr id="run-') == 2


def test_the_best_run_is_first_and_only_what_none_beats_is_on_the_front():
    costs = pl.DataFrame({"a_ns": [3.0, 1.0, 2.0], "b_MB_per_s": [9.0, 5.0, 4.0]})
    ranked = sweeps._ranked(costs, "a_ns")
    assert ranked["a_ns"].to_list() == [1, 2, 3]
    assert fronts.front(ranked, "a_ns", "b_MB_per_s").rows() == [(1, 5), (3, 9)]


def costs_of_runs():
    keys = pl.Series("key", ["x", "y", "z"])
    costs = {
        "a_ns": [3.0, 1.0, 2.0],
        "b_MB_per_s": [9.0, 5.0, 4.0],
        "clock": ["1GHz", "2GHz", "500MHz"],
    }
    return pl.DataFrame(costs).with_columns(keys, keys.alias("name"))


def test_runs_are_drawn_by_two_reports_with_the_front_joined():
    _, chart = sweeps._best(costs_of_runs(), ["clock"], ["a_ns", "b_MB_per_s"]).parts
    front = {row["run"]: row["is_front"] for row in values(chart)}
    assert front == {"run-x": True, "run-y": True, "run-z": False}
    assert "the 2 runs that none beats in both" in chart.description
    told = [(each.name, each.is_more_better) for each in chart.measures]
    assert told == [("a (ns)", False), ("b (MB/s)", True), ("clock (GHz)", False)]
    named = sweeps._best(
        costs_of_runs(), ["clock"], ["a_ns", "b_MB_per_s"], {"clock": "bus.clock"}
    ).parts[1]
    assert named.measures[2].name == "bus.clock (GHz)"
    assert {row["name"]: row["measure2"] for row in values(named)} == {"x": 1, "y": 2, "z": 0.5}


def test_a_report_is_drawn_against_what_it_costs_where_there_is_one_report():
    (_, chart) = sweeps._best(costs_of_runs(), ["clock"], ["a_ns"]).parts
    assert {row["name"] for row in values(chart) if row["is_front"]} == {"y", "z"}


def test_quantities_are_numbers_in_the_unit_of_the_first():
    found, unit = fronts.numbers(pl.Series(["100MHz", "1GHz", "50kHz"]))
    assert (found.to_list(), unit) == ([100, 1000, 0.05], "MHz")
    for words in (["CNI4", "NI2w"], ["100MHz", "fast"], ["64", "1KiB"]):
        assert fronts.numbers(pl.Series(words)) is None


CHOOSE = """
<script>
addEventListener("load", () => setTimeout(() => {
  const choose = (axis, column) => {
    const select = document.querySelector(`select[data-axis=${axis}]`);
    select.value = column;
    select.dispatchEvent(new Event("change"));
  };
  choose("across", "measure2");
  choose("upwards", "measure0");
  setTimeout(() => {
    const front = document.querySelector(".front");
    const rows = [...front.querySelectorAll("tbody tr")];
    document.title = JSON.stringify({
      best: rows.filter((row) => row.cells[1].textContent).map((row) => row.cells[0].textContent),
      told: front.querySelector("figcaption").textContent,
      drawn: front.querySelectorAll(".mark-symbol path").length,
    });
  }, 2000);
}, 2000));
</script>
"""


@pytest.mark.skipif(browser.find() is None, reason="there is no Chromium or Chrome on the PATH")
def test_the_reader_chooses_the_measures_of_the_front(tmp_path):
    section = sweeps._best(costs_of_runs(), ["clock"], ["a_ns", "b_MB_per_s"])
    file = tmp_path / "front.html"
    file.write_text(rendered("front", [section]) + CHOOSE, encoding="utf-8")
    dom, console = browser.load(file)
    told = json.loads(re.search("<title>(.*?)</title>", dom)[1])
    assert told == {
        "best": ["y", "z"],
        "told": "Runs that none beats in both clock (GHz) and a (ns)",
        "drawn": 3,
    }
    assert console == []


def test_a_page_calls_a_sweep_and_its_parameters_as_its_file_does(tmp_path):
    what = {"name": "s", "program": "roundtrip", "args": "8 4 1", "nodes": 2}
    varied = {"bus.clock": ["125MHz", "250MHz"]}
    narthex.sweep({**what, "parameters": varied}, jobs=1, output=tmp_path / "s")
    narthex.sweep(
        {**what, "title": "Clocks & latency", "parameters": varied}, jobs=1, output=tmp_path / "s"
    )
    page = report.page([documents.read_sweep(tmp_path / "s")])
    assert "<h1>Clocks &amp; latency</h1>" in page
    assert "over bus.clock" in page
    assert "bus_clock" not in page.replace("bus_clock=", "")


def test_a_map_of_three_parameters_has_the_best_over_the_third():
    swept = table(lambda a, b, c: a * b + c, a=[1, 2, 3], b=[1, 2, 3], c=[0.5, 7])
    (chart,) = sweeps._map(swept, ["a", "b", "c"], "time_ns")
    assert chart.title == "time (ns), as a map, the best over c"
    assert {(row["column"], row["row"]): row["value"] for row in values(chart)}["3", "2"] == 6.5


def test_a_folder_that_is_no_sweeps_is_refused(folder, tmp_path):
    (tmp_path / "sweep.json").write_text("{}")
    with pytest.raises(NarthexError, match="no folder of a sweep with whole results"):
        documents.read([tmp_path])
