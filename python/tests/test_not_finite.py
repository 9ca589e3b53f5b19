"""Reports that are NaN or infinite: in documents, frames, tables, rankings, charts, claims."""

import json
import math
import shlex

import polars as pl
import pytest

import narthex
from narthex import NarthexError, comparison, documents, notation, report
from narthex.cli import main
from narthex.results import Result

GUEST = """
#include <stdlib.h>
#include "narthex.h"
int main(int count, char **values) {
    for (int i = 1; i < count; i++)
        if (values[i][0] != '-' || narthex_node() == 0)
            narthex_report(i == 1 ? "first" : "second", atof(values[i]), "ns");
    return 0;
}
"""


@pytest.fixture(scope="module")
def guest(tmp_path_factory):
    """A program that reports its arguments; what begins with - on node 0 alone."""
    source = tmp_path_factory.mktemp("guest") / "values.c"
    source.write_text(GUEST)
    return narthex.compile(source, source.with_suffix(".elf"))


@pytest.fixture(scope="module")
def result(guest):
    return narthex.run(guest, "nan", "-inf", nodes=2)


def with_values(result, interface, *values, unit="ns"):
    """Return a run that reported these values under one name."""
    document = json.loads(json.dumps(result.document))
    first = document["reports"][0]
    given = map(notation.for_json, values)
    document["reports"] = [{**first, "value": each, "unit": unit} for each in given]
    return Result({**document, "interface": interface})


def strict(text):
    """Read JSON as its standard has it."""
    return json.loads(text, parse_constant=pytest.fail)


def command(line, folder, capsys):
    """Run a command in this process; returns its exit code and what it printed."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        main(shlex.split(line.format(folder=folder)))
    printed = capsys.readouterr()
    return left.value.code, printed.out, printed.err


# --- one run --------------------------------------------------------------------


def test_a_run_prints_and_writes_what_is_not_finite(guest, tmp_path, capsys):
    code, told, _ = command(f"run {guest} --nodes 2 --json {{folder}}/r.json nan -- -inf",
                            tmp_path, capsys)  # fmt: skip
    assert code == 0
    words = [line.split() for line in told.splitlines()]
    assert ["0", "first", "NaN", "ns"] in words
    assert ["0", "second", "-inf", "ns"] in words
    document = strict((tmp_path / "r.json").read_text())
    assert [each["value"] for each in document["reports"]] == ["NaN", "-Infinity", "NaN"]
    code, _, _ = command("report {folder}/r.json", tmp_path, capsys)
    assert code == 0
    assert "<td class=" in (tmp_path / "r.html").read_text()


def test_frames_have_the_numbers(result, tmp_path):
    assert result.reports["value"].is_nan().to_list() == [True, False, True]
    assert result.reports["value"][1] == -math.inf
    assert math.isnan(result.value("first"))
    assert result.value("second") == -math.inf
    kept = result.measurements.filter(kind="report")
    kept.write_parquet(tmp_path / "kept.parquet")
    assert pl.read_parquet(tmp_path / "kept.parquet")["value"].is_nan().sum() == 2
    again = narthex.load(result.save(tmp_path / "r.json"))
    assert again.document == result.document
    assert again.reports.equals(result.reports, null_equal=True)


def test_a_table_of_many_nodes_says_what_it_leaves_out(guest):
    run = narthex.run(guest, "5", "nan", nodes=9)
    for each in run.document["reports"][::4]:
        each["value"] = "Infinity" if each["name"] == "first" else "NaN"
    (table,) = (part for part in report.runs.section(run.document).parts if part.kind == "table")
    first, second = table.rows
    assert first == ["first", "9 (5 values left out: not finite)", "5", "5", "5", "ns"]
    assert second == ["second", "9 (9 values left out: not finite)", "NaN", "NaN", "NaN", "ns"]


def test_any_document_is_json(tmp_path):
    given = {"a": [math.nan, {"b": -math.inf}], "c": math.inf, "d": 1.5}
    assert strict(documents.text(given)) == {
        "a": ["NaN", {"b": "-Infinity"}], "c": "Infinity", "d": 1.5,
    }  # fmt: skip


def test_a_mean_is_not_infinite_because_its_sum_is():
    assert notation.mean([1.5e308, 1.7e308]) == pytest.approx(1.6e308)
    assert math.isnan(notation.mean([math.inf, -math.inf]))
    assert math.isnan(notation.mean([1.0, math.nan]))


# --- comparisons ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "order"), [("ns", ["B", "D", "C", "A"]), ("MB/s", ["C", "D", "B", "A"])]
)
def test_nan_is_ranked_last(result, unit, order):
    values = {"A": math.nan, "B": 5.0, "C": math.inf, "D": 7.0}
    runs = [with_values(result, name, value, unit=unit) for name, value in values.items()]
    ranked = comparison.rank(runs, None)
    assert [each.interface for each in ranked.results] == order
    ratios = {row["interface"]: row["times_best"] for row in ranked.rows()}
    assert (ratios["A"], ratios["C"]) == (None, None)


def test_a_comparison_is_drawn_without_what_is_not_finite(result, tmp_path):
    runs = [with_values(result, "A", 5.0), with_values(result, "B", math.nan, 1.0)]
    found = comparison.rank(runs, None)
    assert strict(found.save(tmp_path / "c.json").read_text())["rows"][1]["value"] == "NaN"
    loaded = narthex.load(tmp_path / "c.json", narthex.Comparison)
    assert loaded.document == found.document
    assert loaded.frame["value"].is_nan().to_list() == [False, True]
    made = loaded.plot().to_dict()
    assert made["title"]["text"] == "Interfaces by first (1 value left out: not finite)"
    (rows,) = made["datasets"].values()
    assert [row["interface"] for row in rows] == ["A"]
    page = report.page([documents.read_file(tmp_path / "c.json")])
    assert '<td class="number">NaN</td>' in page  # in the table, without a bar


def test_a_comparison_of_nothing_finite_has_no_chart(result):
    found = comparison.rank([with_values(result, "A", math.nan)], None)
    with pytest.raises(NarthexError, match="nothing to draw: no value of 'first' is finite"):
        found.plot()
    assert "NaN" in report.page([documents.identify(found.document, "c.json")])


def test_compare_prints_them(guest, tmp_path, capsys):
    line = f"compare {guest} nan --interface NI2w,CNI32Qm --nodes 2 --report {{folder}}/c.html"
    code, told, _ = command(line, tmp_path, capsys)
    assert code == 0
    assert ["1", "NI2w", "NaN", "ns"] in [line.split() for line in told.splitlines()]


# --- sweeps ---------------------------------------------------------------------


def test_a_sweep_keeps_all_its_columns(guest, tmp_path, capsys):
    file = tmp_path / "s.toml"
    file.write_text(
        f'program = "{guest}"\nargs = "{{value}} nan"\nnodes = 2\n'
        '[parameters]\nvalue = ["1", "nan", "inf"]\nseed = [1, 2]\n'
    )
    place = f"--output {tmp_path}/out --jobs 1 --json {tmp_path}/s.json --plot {tmp_path}/s.svg"
    code, told, _ = command(f"sweep {file} {place}", tmp_path, capsys)
    assert code == 0
    assert "NaN" in told
    assert "inf" in told
    table = pl.read_parquet(tmp_path / "out" / "results.parquet")
    assert table["first_ns"].is_nan().sum() == 2
    assert table["first_ns"].is_infinite().sum() == 2
    assert table["second_ns"].is_nan().all()
    rows = strict((tmp_path / "s.json").read_text())["rows"]
    assert [row["first_ns"] for row in rows[::2]] == [1.0, "NaN", "Infinity"]
    pictures = narthex.plot_sweep(table).to_dict()["vconcat"]
    titles = [each["title"]["text"] for each in pictures]
    assert titles == [
        "first (ns) (4 values left out: not finite)",
        "second (ns) (6 values left out: not finite)",
    ]


# --- experiments ----------------------------------------------------------------


def test_an_experiment_says_that_a_value_is_none(guest, tmp_path, capsys):
    file = tmp_path / "mine.toml"
    file.write_text(
        f'title = "Mine"\nsource = "here"\nprogram = "{guest}"\nmachine = "hpca98"\nnodes = 2\n'
        'report = "first"\nunit = "ns"\ninterfaces = ["NI2w"]\n'
        '[[workload]]\nname = "sound"\nargs = ["5"]\n'
        '[[workload]]\nname = "not"\nargs = ["nan"]\n'
        '[[claim]]\ntext = "it is small"\nsource = "here"\nholds = "\'NI2w\' < 9"\n'
    )
    code, told, errors = command(f"experiment {file} --json {tmp_path}/e.json", tmp_path, capsys)
    assert code == 1
    assert "NI2w, not, seed 1" in errors
    assert "reported NaN as 'first' on NI2w, which is no value to compare" in errors
    assert "FAILS" in told
    document = strict((tmp_path / "e.json").read_text())
    assert {row["workload"]: row["value"] for row in document["rows"]} == {
        "sound": 5.0,
        "not": None,
    }
    (claim,) = document["claims"]
    assert (claim["holds"], claim["fails_at"]) == (False, ["not"])
    loaded = narthex.load(tmp_path / "e.json", narthex.Experiments)
    assert loaded.frame["value"].to_list() == [5.0, None]
