"""One message over several interfaces, on one time axis."""

import xml.etree.ElementTree as ElementTree

import pytest

import narthex
from narthex.charts import side_by_side
from narthex.cli import main
from narthex.side_by_side import by_owner

SVG = "{http://www.w3.org/2000/svg}"


def command(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


@pytest.fixture(scope="module")
def found():
    return narthex.explain_all(["NI2w", "Ring", "CNI4"], 8, machine="isca96")


def test_lives_are_ranked_and_their_parts_add_up(found):
    latencies = [life.latency_ps for life in found.lives]
    assert latencies == sorted(latencies)
    for life in found.lives:
        assert sum(by_owner(life).values()) == life.latency_ps
    assert found.frame["latency_ns"].to_list() == [each / 1000 for each in latencies]


def test_every_band_has_one_axis_and_its_bars_stay_on_it(found):
    drawn = ElementTree.fromstring(found.svg())
    left = side_by_side.MARGIN + side_by_side.NAMES
    right = left + side_by_side.AXIS
    bars = [bar for bar in drawn.findall(f"{SVG}rect") if bar.find(f"{SVG}title") is not None]
    for bar in bars:
        x, width = float(bar.get("x")), float(bar.get("width"))
        assert left - 1.1 <= x <= x + width <= right + side_by_side.LEAST
    # The strips: of the longest life from end to end, of the others as far as they last.
    strips = [bar for bar in bars if float(bar.get("height")) == side_by_side.STRIP - 4]
    longest = found.lives[-1]
    for life, top in zip(found.lives, sorted({int(bar.get("y")) for bar in strips}), strict=True):
        width = sum(float(bar.get("width")) for bar in strips if int(bar.get("y")) == top)
        share = life.latency_ps / longest.latency_ps
        assert width == pytest.approx(side_by_side.AXIS * share, abs=4)


def test_the_command_draws_and_ranks_and_leaves_out(tmp_path, capsys):
    file = tmp_path / "side-by-side.svg"
    assert command("explain", "NI2w,SARC", "-b", "8", "--diagram", str(file)) == 2
    assert command("explain", "NI2w,CNI4", "-b", "8", "--diagram", str(file)) == 0
    out = capsys.readouterr().out
    assert out.index("CNI4") < out.index("NI2w")
    assert file.read_text().startswith("<svg")


@pytest.mark.parametrize(("words", "told"), [
    (("NI2w,CNI4", "roundtrip"), "PROGRAM needs one interface"),
    (("all", "--json", "-"), "--json needs one interface"),
    (("NI2w,CNI4", "--diagram", "x.png"), "is no picture"),
])  # fmt: skip
def test_what_is_for_one_interface_is_refused(words, told, capsys):
    assert command("explain", *words) == 2
    assert told in capsys.readouterr().err
