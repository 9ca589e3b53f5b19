"""The picture of a node: made of its machine's file, and nothing in it overlaps."""

import json
import re
from xml.etree import ElementTree

import pytest

import narthex
from narthex import _native, report
from narthex.charts import diagram
from narthex.cli import main
from narthex.documents import identify

PRESETS = narthex.catalogue("machines")["name"].to_list()
SVG = "{http://www.w3.org/2000/svg}"


def resolved(name, *settings):
    return json.loads(_native.machine_show(name, list(settings), True))["machine"]


def boxes(text, kind):
    """Left, top, right and foot of the rectangles of a kind."""
    found = [
        {
            key: float(value)
            for key, value in each.attrib.items()
            if key in ("x", "y", "width", "height")
        }
        for each in ElementTree.fromstring(text).iter(f"{SVG}rect")
        if kind in each.get("class", "")
    ]
    return [(b["x"], b["y"], b["x"] + b["width"], b["y"] + b["height"]) for b in found]


@pytest.mark.parametrize("name", PRESETS)
def test_no_box_lies_on_another_or_on_an_interconnect(name):
    text = diagram.svg(resolved(name))
    every = boxes(text, "svg-surface") + boxes(text, "svg-raised")
    for number, (left, top, right, foot) in enumerate(every):
        for other in every[:number]:
            assert right <= other[0] or other[2] <= left or foot <= other[1] or other[3] <= top


@pytest.mark.parametrize("name", PRESETS)
def test_no_wire_crosses_a_box(name):
    text = diagram.svg(resolved(name))
    for line in ElementTree.fromstring(text).iter(f"{SVG}line"):
        x, *ends = (float(line.get(key)) for key in ("x1", "y1", "y2"))
        for left, top, right, foot in boxes(text, "svg-surface"):
            assert not (left < x < right and max(top, min(ends)) < min(foot, max(ends)))


def test_a_picture_names_the_parts_and_what_they_take():
    text = diagram.svg(resolved("edt", "bus.clock=200MHz"))
    for words in ("ni processor", "second level: 1MiB", "host dma", "bus: snooping bus, 200MHz"):
        assert words in text
    assert "host dma on bus and ni_bus" in diagram.description(resolved("edt"))
    chip = diagram.svg(resolved("sarc-prototype"))
    assert "directory: 75MHz, Incoherent, crossbar of 8B, 80ns a hop" in chip


def test_texts_are_escaped():
    machine = resolved("hpca98")
    assert "<script>" not in diagram.svg(machine, "<script>")


def test_the_command_writes_the_picture_and_refuses_another_kind(tmp_path, capsys):
    file = tmp_path / "node.svg"
    with pytest.raises(SystemExit, match="0"):
        main(["machine", "show", "voyager", "--diagram", str(file)])
    assert "service bus" in file.read_text()
    with pytest.raises(SystemExit, match="2"):
        main(["machine", "show", "voyager", "--diagram", str(tmp_path / "node.png")])
    assert "must end in .svg" in capsys.readouterr().err


def test_a_page_has_the_picture_of_its_machine():
    page = report.page([identify(narthex.run("hello", nodes=2).document, "x.json")])
    assert re.search("A node of hpca98</figcaption>", page)
    assert "snooping bus, 250MHz" in page
