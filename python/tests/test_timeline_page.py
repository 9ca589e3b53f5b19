"""The page of a timeline: its data are a trace of Perfetto, and it works in a browser."""

import base64
import gzip
import html
import json
import re

import browser
import pytest
from contrasts import contrast, luminance
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

import narthex
from narthex import timelines
from narthex.charts import palette
from narthex.errors import NarthexError

needs_browser = pytest.mark.skipif(
    browser.find() is None, reason="there is no Chromium or Chrome on the PATH"
)


def data(page):
    """The trace within a page."""
    text = re.search(r'<script id="data" type="text/plain">\s*(.*?)</script>', page, re.DOTALL)[1]
    return gzip.decompress(base64.b64decode(text, validate=True))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A page, the same timeline for Perfetto, and what was said of the page."""
    folder = tmp_path_factory.mktemp("page")
    page, plain, notices = folder / "a.html", folder / "a.pftrace", []
    narthex.run("roundtrip", 64, 10, nodes=2, trace=page, notice=notices.append)
    narthex.run("roundtrip", 64, 10, nodes=2, trace=plain)
    return page, plain, notices


def test_a_page_holds_what_a_file_for_perfetto_does(run):
    page, plain, notices = run
    assert data(page.read_text()) == plain.read_bytes()
    assert notices == [f"the timeline is in '{page}'; open it in a browser"]


def test_a_page_loads_nothing(run):
    page, _, _ = run
    text = page.read_text()
    assert "default-src 'none'" in text
    assert not re.search(r'(src|href)="(?!#)', text)
    assert not re.search(r"\b(fetch|import)\(|XMLHttpRequest|@import|url\(", text)
    assert text.endswith(timelines.AFTER)


def test_a_page_ends_where_a_browser_has_enough_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(timelines, "MOST_EVENTS", 5_000)
    page, notices = tmp_path / "a.html", []
    narthex.run("roundtrip", 64, 100, nodes=2, trace=page, notice=notices.append)
    (told,) = notices
    assert re.search(r"ends at [\d.]+us, where it has as many events as a page shows", told)
    assert "--trace-from" in told
    assert "--trace FILE.pftrace" in told
    trace = Trace()
    trace.ParseFromString(data(page.read_text()))
    events = [packet for packet in trace.packet if packet.HasField("track_event")]
    assert 5_000 <= len(events) < 20_000
    open_slices = sum(
        {TrackEvent.TYPE_SLICE_BEGIN: 1, TrackEvent.TYPE_SLICE_END: -1}.get(
            packet.track_event.type, 0
        )
        for packet in events
    )
    assert open_slices == 0
    machine = [each.track_descriptor for each in trace.packet if each.track_descriptor.uuid == 1]
    assert machine[-1].description.startswith("The run goes on after")


def test_a_compressed_page_is_refused(tmp_path):
    with pytest.raises(NarthexError, match=r"must end in \.html") as found:
        narthex.run("hello", nodes=2, trace=tmp_path / "a.html.gz")
    assert found.value.exit_code == 2
    assert not list(tmp_path.iterdir())


ASKED = """
<script>
window.requestAnimationFrame = (draw) => setTimeout(draw, 16);  // without a window none may come
addEventListener("DOMContentLoaded", () => setTimeout(() => {
  const press = (key) => dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const shown = {};
  const details = () => document.getElementById("details").innerText;
  const times = () => document.getElementById("notice").textContent.split(" · ")[0];
  const wait = () => new Promise((done) => setTimeout(done, 600));
  (async () => {
    shown.whole = times();
    press("w"); await wait();
    shown.closer = times();
    press("0"); await wait();
    shown.again = times();
    press("ArrowDown"); press("ArrowDown"); press("ArrowRight"); await wait();
    shown.slice = details();
    press("ArrowRight"); await wait();
    shown.next = details();
    const search = document.getElementById("search");
    search.words.value = "packet leaves";
    search.words.dispatchEvent(new Event("input"));
    shown.hits = document.getElementById("hits").textContent;
    search.requestSubmit(); await wait();
    shown.packet = details();
    press("]"); await wait();
    shown.step = document.querySelector("#details h2").textContent;
    shown.address = location.hash;
    press("Escape");
    shown.closed = document.getElementById("details").hidden;
    shown.save = document.getElementById("save").download;
    for (const canvas of document.querySelectorAll("canvas")) {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      shown[canvas.id] = new Set(new Uint32Array(data.buffer)).size;
    }
    shown.wide = document.documentElement.scrollWidth - innerWidth;
    const told = document.createElement("pre");
    told.id = "shown";
    told.textContent = JSON.stringify(shown);
    document.body.append(told);
  })();
}, 2000));
</script>
"""


def asked(page, folder, width, is_dark):
    """What a page shows when its keys are pressed, and the console's lines."""
    file = folder / "asked.html"
    file.write_text(page.read_text().replace("<title>", ASKED + "<title>"))
    dom, console = browser.load(file, width, is_dark)
    assert 'data-state="open"' in dom
    return json.loads(html.unescape(re.search(r'<pre id="shown">(.*?)</pre>', dom)[1])), console


@needs_browser
@pytest.mark.parametrize(("width", "is_dark"), [(1280, False), (400, True)])
def test_keys_zoom_choose_search_and_follow_a_packet(run, tmp_path, width, is_dark):
    page, plain, _ = run
    shown, console = asked(page, tmp_path, width, is_dark)
    assert console == []
    assert shown["whole"] == shown["again"] != shown["closer"]
    assert shown["whole"].startswith("0 ns to ")
    assert "node 0, processor 0" in shown["slice"]
    assert "node 0, processor 0" in shown["next"] != shown["slice"]
    trace = Trace()
    trace.ParseFromString(plain.read_bytes())
    names = {n.iid: n.name for each in trace.packet for n in each.interned_data.event_names}
    leaves = sum(names.get(each.track_event.name_iid) == "packet leaves" for each in trace.packet)
    assert shown["hits"] == f"{leaves} hits"
    assert "from rank" in shown["packet"]
    assert "packet arrives" in shown["packet"]
    assert shown["step"] == "packet arrives"
    assert "search=packet+leaves" in shown["address"]
    assert "item=" in shown["address"]
    assert shown["closed"]
    assert shown["save"].endswith(".pftrace.gz")
    assert min(shown[name] for name in ("rows", "ruler", "overview")) > 3
    assert shown["wide"] <= 0


@needs_browser
def test_an_address_opens_a_part_and_what_was_chosen(run, tmp_path):
    page, _, _ = run
    marked = tmp_path / "marked.html"
    hash_of = "from=1000000&to=3000000&item=0"
    marked.write_text(
        page.read_text().replace(
            "<title>", f'<script>history.replaceState(null, "", "#{hash_of}")</script><title>'
        )
    )
    dom, console = browser.load(marked)
    assert console == []
    assert "1 us to 3 us" in dom
    assert re.search(r'<aside[^>]*id="details"(?![^>]*hidden)', dom)


@needs_browser
@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda text: text[: text.index("H4sI")], "the file is not whole"),
        (lambda text: text.replace("H4sI", "AAAA"), "its data are not whole or damaged"),
        (lambda text: text[:-5_000], "its data are not whole or damaged"),
    ],
)
def test_a_page_that_is_cut_off_or_damaged_says_so(run, tmp_path, make, told):
    page, _, _ = run
    broken = tmp_path / "broken.html"
    broken.write_text(make(page.read_text()))
    dom, _ = browser.load(broken)
    assert 'data-state="failed"' in dom
    assert told in re.search(r'id="notice"[^>]*>([^<]*)<', dom)[1]


@needs_browser
def test_a_timeline_that_begins_after_the_run_says_that_it_is_empty(tmp_path):
    page = tmp_path / "late.html"
    narthex.run("hello", nodes=2, trace=page, trace_from="1s")
    dom, console = browser.load(page)
    assert console == []
    assert "There is nothing in this timeline" in dom


DEEP = """
#include <narthex.h>

__attribute__((noinline)) static int deeper(volatile int *left) {
    volatile int below = --*left ? deeper(left) : 0; /* no loop can do this */
    return below + 1;
}

int main(void) {
    volatile int left = 300;
    return deeper(&left) == 300 ? 0 : 1;
}
"""


@needs_browser
def test_a_recursion_that_is_deeper_than_the_page_shows_is_opened(tmp_path):
    source, page = tmp_path / "deep.c", tmp_path / "deep.html"
    source.write_text(DEEP)
    narthex.run(source, nodes=1, trace=page, trace_functions=True)
    text = page.read_text()
    page.write_text(
        text.replace(
            "<title>", '<script>history.replaceState(null, "", "#search=deeper")</script><title>'
        )
    )
    dom, console = browser.load(page)
    assert console == []
    assert 'data-state="open"' in dom
    (hits,) = re.findall(r'id="hits"[^>]*>(\d+) hits', dom)
    assert 50 < int(hits) <= 64


def test_a_misspelt_ending_of_a_page_is_refused(tmp_path):
    with pytest.raises(narthex.NarthexError, match=r"no \.htlm file: .* must end in \.html"):
        narthex.run("roundtrip", 8, 1, nodes=2, trace=tmp_path / "k.htlm")


def test_names_in_a_timeline_can_be_read_on_every_colour():
    even = float(re.search(r"EVEN = ([\d.]+);", (timelines.FILES / "draw.js").read_text())[1])
    for scheme in (palette.LIGHT, palette.DARK):
        for name, colour in scheme.items():
            letters = "#000000" if luminance(colour) > even else "#ffffff"
            assert contrast(letters, colour) >= 4.5, name
