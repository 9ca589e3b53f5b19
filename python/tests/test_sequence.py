"""A message's life as a picture."""

import xml.etree.ElementTree as ElementTree

import pytest

from narthex import explain
from narthex.charts import sequence
from narthex.cli import main
from narthex.report import lives

SVG = "{http://www.w3.org/2000/svg}"


def command(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def test_a_life_has_a_row_a_step_and_each_mark_is_between_its_lanes():
    diagram = lives.diagram(explain("NI2w", 8).document)
    drawn = ElementTree.fromstring(sequence.svg(diagram))
    rows = drawn.findall(f"{SVG}g")
    assert len(rows) == len(diagram.steps)
    width = float(drawn.get("width"))
    for row, step in zip(rows, diagram.steps, strict=True):
        (mark,) = row
        assert (mark.tag == f"{SVG}circle") == (step.source == step.target)
        assert (mark.get("stroke-dasharray") is not None) == step.is_broken
        assert (row.get("opacity") == "0.45") == step.is_beside
    texts = drawn.findall(f"{SVG}text")
    assert all(float(text.get("x")) < width for text in texts)
    assert {step.time for step in diagram.steps} <= {text.text for text in texts}


def test_commands_draw_a_life_and_a_ranking(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command("explain", "NI2w", "--bytes", "8", "--diagram", "life.svg") == 0
    assert (tmp_path / "life.svg").read_text().startswith("<svg")
    few = ("compare", "roundtrip", "8", "10", "-n", "2", "-i", "NI2w,CNI4")
    assert command(*few, "--plot", "ranking.svg") == 0
    drawn = (tmp_path / "ranking.svg").read_text()
    assert "NI2w" in drawn
    assert "CNI4" in drawn
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("explain", "NI2w", "--diagram", "life.png"), "'life.png' is no picture"),
        (("compare", "roundtrip", "--plot", "ranking.txt"), "'ranking.txt' is no plot"),
    ],
)
def test_a_picture_that_cannot_be_is_refused_before_the_run(arguments, told, capsys):
    assert command(*arguments) == 2
    assert told in capsys.readouterr().err
