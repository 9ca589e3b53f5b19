"""A message's life played over the picture of its nodes."""

import html
import json
import re

import browser
import pytest

import narthex
from narthex.charts import diagram
from narthex.report import lives, player

CASES = [
    ("CNI32Qm", "hpca98"),
    ("NI2w on register", "hpca98"),
    ("CNI512Q on io-bus", "isca96"),
    ("NI2w on cache-bus", "isca96"),
    ("NI2w", "chip"),
    ("EDT", "edt"),
]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(case))
def life(request):
    interface, machine = request.param
    return narthex.explain(interface, 8, machine=machine).document


def corners(way):
    return [tuple(map(int, corner.split())) for corner in way.removeprefix("M").split("L")]


def box(picture, name):
    """Left, top, right and foot of a part or an interconnect."""
    rectangle = re.search(rf'<g data-part="{name}"><rect ([^>]*)>', picture)[1]
    x, y, width, height = (
        int(re.search(rf' {key}="(\d+)"', rectangle)[1]) for key in ("x", "y", "width", "height")
    )
    return x, y, x + width, y + height


def is_inside(corner, place):
    left, top, right, foot = place
    return left <= corner[0] <= right and top <= corner[1] <= foot


def test_each_step_marks_what_the_picture_has_and_goes_from_part_to_part(life):
    steps = lives.steps(life)
    made = player.player(life, steps)
    assert [step["time"] for step in made.steps] == [step.time for step in steps]
    (_, picture), _ = made.pictures
    for step, played in zip(steps, made.steps, strict=True):
        assert played["marked"]
        assert all(f'data-part="{name}"' in picture for name in played["marked"])
        if step.ends[0] == step.ends[1]:
            assert played["way"] == ""
            continue
        way = corners(played["way"])
        marked = [box(picture, name) for name in played["marked"]]
        assert any(is_inside(way[0], place) for place in marked)
        assert any(is_inside(way[-1], place) for place in marked)
        assert way[0] != way[-1]


def test_a_transaction_goes_over_the_interconnect_that_carried_it(life):
    steps = lives.steps(life)
    placed = diagram.layout(life["machine"], life["interface"])
    for step, played in zip(steps, player.player(life, steps).steps, strict=True):
        if not step.bus or not played["way"]:
            continue
        (bar,) = (name for name in played["marked"] if name.startswith("bar-"))
        top = placed.bars[bar.removeprefix("bar-")]
        assert any(top <= y <= top + diagram.BAR for _, y in corners(played["way"])), step


def test_a_firmware_has_a_place_of_its_own():
    document = narthex.explain("EDT", 8, machine="edt").document
    made = player.player(document, lives.steps(document))
    number = diagram.layout(document["machine"], "EDT").part("firmware")
    of_firmware = [step for step in made.steps if "firmware" in step["who"]]
    assert of_firmware
    assert all(diagram.part_name(number) in step["marked"] for step in of_firmware)


PRESSED = """
<script>
addEventListener("load", () => {
  const figure = document.querySelector(".player");
  const shown = [];
  const take = () => shown.push({
    told: figure.querySelector(".told").textContent,
    marked: [...figure.querySelectorAll(".marked")].map((each) => each.dataset.part),
    busy: figure.querySelector(".busy p").textContent,
    ways: figure.querySelectorAll("path.played").length,
    play: figure.querySelector("[data-does=play]").textContent,
  });
  take();
  figure.querySelector("[data-does=next]").click();
  take();
  const slider = figure.querySelector("input");
  slider.value = slider.max;
  slider.dispatchEvent(new Event("input"));
  take();
  figure.querySelector("[data-does=play]").click();
  take();
  setTimeout(() => {
    take();
    figure.querySelector("[data-does=play]").click();
    take();
    const told = document.createElement("pre");
    told.id = "shown";
    told.textContent = JSON.stringify(shown);
    document.body.append(told);
  }, 4000);
});
</script></body>"""


@pytest.mark.skipif(browser.find() is None, reason="there is no Chromium or Chrome on the PATH")
@pytest.mark.parametrize(("width", "is_dark"), [(1280, False), (400, True)])
def test_the_player_steps_plays_and_pauses(tmp_path, width, is_dark):
    life = narthex.explain("CNI32Qm", 8)
    page = life.report(tmp_path / "life.html")
    before, after = page.read_text().rsplit("</body>", 1)
    page.write_text(before + PRESSED + after)
    dom, console = browser.load(page, width, is_dark)
    assert console == []
    shown = json.loads(html.unescape(re.search(r'<pre id="shown">(.*?)</pre>', dom)[1]))
    first, second, last, again, later, paused = shown
    steps = lives.steps(life.document)
    for seen, step in [(first, steps[0]), (second, steps[1]), (last, steps[-1]), (again, steps[0])]:
        assert f"{step.time} ns: {step.who}: {step.what}" in seen["told"]
        assert step.meaning in seen["told"]
        assert seen["busy"].startswith(f"Node {step.node}")
        assert seen["marked"]
        assert seen["ways"] == (step.ends[0] != step.ends[1])
    assert first["play"] == "Play"
    assert again["play"] == later["play"] == "Pause"
    assert later["told"] != again["told"]
    assert paused["play"] == "Play"
