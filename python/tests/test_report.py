"""Pages of results: what is on them, that they are sound HTML, and that they work in a browser."""

import json
import os
import re
import shlex
from dataclasses import asdict, replace
from functools import cache
from itertools import pairwise

import browser
import pytest
from contrasts import blended, contrast
from tinyhtml5.parser import HTMLParser

import narthex
from narthex import NarthexError, _native, comparison, documentation, report
from narthex.charts import flame, palette
from narthex.cli import main
from narthex.documents import identify, parse
from narthex.documents import text as json_text
from narthex.fitting import output
from narthex.report import again, checks, fits, lives
from narthex.report.page import TEMPLATES
from narthex.validation.outcome import Claim, Failure, Summary
from narthex.validation.rows import Row

HOSTILE = "</script><img src=x onerror=alert(1)>&\"'"
"""What a program might write."""


@pytest.fixture(scope="module")
def run():
    return narthex.run("roundtrip", 64, 20, nodes=2).document


@pytest.fixture(scope="module")
def compared():
    return comparison.compare(
        "roundtrip", 8, 20, 5, interfaces=["NI2w", "CNI32Qm"], nodes=2
    ).document


@pytest.fixture(scope="module")
def life():
    return narthex.explain("CNI32Qm", 64).document


@pytest.fixture(scope="module")
def experiments(run):
    """Two experiments of three forms: curves over sizes, panels with a ledger, derived rows."""
    row = Row(
        "paper/curves", "NI2w", None, "memory-bus", "8 bytes", None, 2.3, "us", 0.2, 2.0, 2.0,
        15.0, 10, False,
    )  # fmt: skip
    blank = {"published_low": None, "published_high": None, "error_percent": None}
    blank |= {"limit_percent": None, "within_limit": None}
    curve = [row]
    curve += [replace(row, workload=f"{2**n} bytes", value=n / 1, **blank) for n in range(4, 7)]
    against = replace(
        row, interface="CNI4", baseline="NI2w", workload="8 to 64 bytes", take="largest",
        unit="percent", published_low=30.0, published_high=40.0, within_limit=None,
    )  # fmt: skip
    other = replace(row, experiment="paper/panels", unit="ms", **blank)
    panels = [
        replace(other, interface=name, workload=program)
        for name in ("NI2w", "CNI4")
        for program in ("em3d", "spsolve")
    ]
    values = {"8 bytes": {"CNI4": 3.5, "NI2w": 2.3}}
    claims = [
        Claim(
            "paper/curves",
            "the queue wins",
            "Table 1",
            False,
            ["8 bytes"],
            values,
            ["bus.width = 64B", "bus.clock from 500MHz on"],
        ),
        Claim("paper/curves", "sizes matter", "Table 1", True, []),
        Claim("paper/panels", "programs end", "Figure 2", True, []),
    ]
    summary = Summary(
        "paper/curves", "Curves", "A paper, Table 1", 2, [], 15.0, "NI2w, 8 bytes", 15.0,
        ["NI2w, 8 bytes"], run["machine"],
    )  # fmt: skip
    machine = json.loads(json.dumps(run["machine"]))
    machine["bus"]["clock"] = "125MHz"
    second = Summary("paper/panels", "Panels", "Figure 2", 0, [], None, None, None, [], machine)
    ledger = {"send / execute": 7 * 10**9, "poll / data miss": 10**9}
    return {
        "schema": 2,
        "version": "0.1.0",
        "rows": [asdict(each) for each in [*curve, against, *panels]],
        "claims": [asdict(claim) for claim in claims],
        "summaries": [asdict(summary), asdict(second)],
        "failures": [asdict(Failure("paper/panels", "CNI4", "em3d", 1, "the run failed", 1))],
        "ledgers": [
            {
                "experiment": "paper/panels",
                "interface": each.interface,
                "workload": each.workload,
                "ledger_ps": ledger,
            }
            for each in panels
        ],
        "machine": run["machine"],
    }


@pytest.fixture(scope="module")
def fit():
    return output.document(
        narthex.fit_logp(["NI2w", "CNI32Qm"], sizes=[8, 32, 64, 128], seeds=2, burst=8)
    )


@pytest.fixture(scope="module")
def check():
    broken = json.loads(_native.check_bridge("fairness"))
    holds = json.loads(_native.check_protocol("msi"))
    return {
        "schema": 2,
        "version": "1",
        "checks": [broken, holds],
        "left_out": {"PIO": "there is no such device"},
    }


@pytest.fixture(scope="module")
def pages(run, compared, life, experiments, fit, check):
    documents = {
        "run": run, "comparison": compared, "life": life, "experiments": experiments, "fit": fit,
        "check": check,
    }  # fmt: skip
    return {
        name: report.page([identify(document, f"{name}.json")])
        for name, document in documents.items()
    }


KINDS = ["run", "comparison", "life", "experiments", "fit", "check"]


@cache
def parsed(text):
    """Parse as a browser does; any error of syntax fails."""
    parser = HTMLParser(namespace_html_elements=False)
    tree = parser.parse(text)
    assert not parser.errors
    return tree


def texts(tree, tag):
    return ["".join(element.itertext()).strip() for element in tree.iter(tag)]


# --- structure ------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_sound_html_that_loads_nothing(pages, kind):
    tree = parsed(pages[kind])
    idents = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(idents) == len(set(idents))
    for element in tree.iter():
        assert not element.get("src")
        assert element.get("href", "#").startswith("#")
        if (link := element.get("href")) is not None:
            assert link[1:] in idents
        for label in (element.get("aria-labelledby") or "").split():
            assert label in idents
    policy = next(each for each in tree.iter("meta") if each.get("http-equiv"))
    assert policy.get("content").startswith("default-src 'none'")


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_can_be_read_without_seeing_it(pages, kind):
    tree = parsed(pages[kind])
    assert tree.get("lang") == "en"
    assert all(len(list(tree.iter(tag))) == 1 for tag in ("h1", "main", "nav", "header", "footer"))
    levels = [int(element.tag[1]) for element in tree.iter() if re.fullmatch("h[1-6]", element.tag)]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    tables = list(tree.iter("table"))
    assert tables
    for table in tables:
        assert "".join(table.find("caption").itertext()).strip()
        assert all(cell.get("scope") in ("col", "row") for cell in table.iter("th"))
        assert len({len(list(row)) for row in table.iter("tr")}) == 1
    for figure in tree.iter("figure"):
        assert texts(figure, "figcaption")[0]
    for canvas in tree.iter("div"):
        if canvas.get("data-chart"):
            assert canvas.get("role") == "img"
            assert len(canvas.get("aria-label")) > 20


WITHOUT_CHARTS = ("life", "check")


@pytest.mark.parametrize("kind", KINDS)
def test_the_plotting_library_is_there_once_with_its_licences_if_a_chart_needs_it(pages, kind):
    needed = kind not in WITHOUT_CHARTS
    assert pages[kind].count("window.vegaEmbed=") == needed
    for owner in ("University of Washington Interactive Data Lab", "Mike Bostock"):
        assert pages[kind].count(owner) == needed
    assert ('data-chart="' in pages[kind]) == needed
    assert len(pages[kind]) < (1_300_000 if needed else 150_000)


def test_what_programs_write_cannot_become_html(run):
    hostile = json.loads(json.dumps(run))
    hostile["program"] = HOSTILE
    hostile["arguments"] = [HOSTILE]
    hostile["output"] = [{"node": 0, "process": 0, "stream": "stdout", "text": HOSTILE}]
    hostile["reports"][0] |= {"name": HOSTILE, "unit": HOSTILE}
    hostile["regions"] = [
        {**hostile["nodes"][0]["processors"][0], "name": HOSTILE, "begin_ps": 0, "end_ps": 1}
        | {"node": 0, "process": 0}
    ]
    tree = parsed(report.page([identify(hostile, "x.json")]))
    assert not list(tree.iter("img"))
    assert HOSTILE in texts(tree, "pre")[0]


SCHEMES = (palette.LIGHT, palette.DARK)


def test_texts_have_contrast_in_both_schemes():
    for scheme in SCHEMES:
        pairs = [(text, on) for text in ("text", "muted", "accent") for on in ("surface", "raised")]
        pairs += [("good", "good-surface"), ("bad", "bad-surface"), ("text", "plain-surface")]
        for text, on in pairs:
            assert contrast(scheme[text], scheme[on]) >= 4.5, (text, on)


def test_every_colour_of_a_text_is_one_that_is_tested_for_contrast():
    rules = (TEMPLATES / "style.css").read_text()
    colours = {*re.findall(r"(?<![-\w])color: ([^;]+);", rules)} - {"inherit"}
    tested = ("text", "muted", "accent", "good", "bad")
    assert colours == {f"var(--{name})" for name in tested}
    assert not re.search(r"opacity: \.[0-9]", re.sub(r"path\.\w+ {[^}]*}", "", rules))


def test_functions_of_a_flame_graph_can_be_read_on_their_colours():
    for scheme in SCHEMES:
        for by, parts in (("activity", palette.ACTIVITIES), ("occupation", palette.OCCUPATIONS)):
            for part in parts:
                colour = scheme[palette.of_part(by, part).removeprefix("var(--").rstrip(")")]
                mixed = blended(colour, scheme["surface"], flame.OPACITY)
                assert contrast(scheme["text"], mixed) >= 4.5, part


def test_what_is_wide_scrolls_in_a_box_of_its_own(pages):
    for page in pages.values():
        tree = parsed(page)
        boxes = {id(inner) for box in tree.iter("div") if box.get("class") == "scroll"
                 for inner in box.iter()}  # fmt: skip
        assert all(id(table) in boxes for table in tree.iter("table"))
        pictures = [each for each in tree.iter("svg") if each.get("viewBox")]
        assert all(id(picture) in boxes for picture in pictures)


# --- contents -------------------------------------------------------------------


def test_a_run_shows_its_numbers_with_units_and_meanings(run, pages):
    tree = parsed(pages["run"])
    cells = texts(tree, "td")
    assert f"{run['reports'][0]['value']:,.2f}".rstrip("0").rstrip(".") in " ".join(cells)
    assert run["statistics"]["bus_reads"]["meaning"] in cells
    assert set(run["nodes"][0]["statistics"]) <= set(run["statistics"])
    assert "One message's life: 64 bytes over CNI32Qm" in texts(tree, "h3")
    assert "Table 3 (256 bits)" in cells


def test_a_comparison_is_ranked(compared, pages):
    tree = parsed(pages["comparison"])
    table = next(
        each for each in tree.iter("table") if "What each interface" in texts(each, "caption")[0]
    )
    rows = list(table.iter("tr"))
    reported = {f"{each['name']}, {each['unit']}" for each in compared["runs"][0]["reports"]}
    first, *named, last = texts(rows[0], "th")
    assert named[0] == "round-trip latency, ns"
    assert {*named} == {*reported, "simulated time, us"}
    assert (first, last) == ("interface", "from the best")
    assert [texts(row, "th")[0] for row in rows[1:]] == [
        row["interface"] for row in compared["rows"]
    ]
    assert texts(rows[1], "td")[-1] == "1.00 x"
    widths = [float(re.search(r"[\d.]+", each.get("style"))[0]) for row in rows[1:]
              for each in row.iter("span") if each.get("style")]  # fmt: skip
    assert max(widths) == 100
    assert min(widths) > 0


def test_each_run_of_a_comparison_is_folded_and_its_interface_leads_to_it(compared, pages):
    tree = parsed(pages["comparison"])
    folded = [each for each in tree.iter("details") if each.get("class") == "part"]
    headings = {texts(each.find("summary"), "h3")[0]: each for each in folded}
    assert [name.rpartition(" on ")[2] for name in headings] == [
        row["interface"] for row in compared["rows"]
    ]
    links = {"".join(each.itertext()): each.get("href")[1:] for each in tree.iter("a")}
    for name, fold in headings.items():
        (heading,) = fold.find("summary").iter("h3")
        assert links[name.rpartition(" on ")[2]] == heading.get("id")
        assert fold.get("open") is None


def test_a_check_says_what_fails_and_draws_the_way_to_it(pages, check):
    tree = parsed(pages["check"])
    assert {"FAILS", "holds"} <= {*texts(tree, "span")}
    assert "Violated: a device's transaction that was refused is not refused again." in texts(
        tree, "p"
    )
    assert any("PIO" in row and "no such device" in row for row in texts(tree, "tr"))
    drawn = checks.sequence(check["checks"][0]["counter_example"])
    assert drawn.lanes == ("the processor", "the memory bus", "the I/O bus", "the device")
    ways = [(step.source, step.target) for step in drawn.steps]
    assert ways == [(0, 1), (1, 0), (2, 3), (2, 2), (2, 3), (2, 2)]
    assert drawn.steps[-1].meaning.startswith("Here is violated: ")


def test_a_step_that_names_no_part_is_the_systems():
    drawn = checks.sequence({"violated": "x", "steps": ["Write", "cache A loads: asks Read"]})
    assert drawn.lanes == (checks.REST, "cache A")


def test_a_fit_on_a_page_is_the_one_that_was_made(pages, fit):
    read = parse(json_text(fit).encode(), "logp.json").document
    assert fits.sections(read) == fits.sections(fit)
    rows = next(spec for spec in specifications(pages["fit"]) if "facet" in spec)["data"]["values"]
    assert {row["panel"] for row in rows} == {"one way", "send overhead", "receive overhead", "gap"}
    for row in rows:
        assert row["low"] <= row["value"] <= row["high"]
    (nearest,) = [
        fit["parameters"]["o_s_ns"]["value"] + 7 * fit["parameters"]["O_s_ns_per_byte"]["value"]
        for fit in read["fits"]
        if fit["interface"] == "NI2w"
    ]
    (line,) = [
        row["line"]
        for row in rows
        if (row["interface"], row["panel"], row["x"]) == ("NI2w", "send overhead", 8)
    ]
    assert line == pytest.approx(nearest)


def test_commands_that_check_and_fit_write_their_pages(tmp_path):
    page, file, again_ = (tmp_path / name for name in ("unfair.html", "unfair.json", "again.html"))
    words = ("check", "bridge", "--without", "fairness")
    assert command(*words, "--report", page, "--json", file) == 1
    assert "6 steps to a violation" in page.read_text()
    assert command("report", file, "--output", again_) == 0
    assert again_.read_text() == page.read_text()
    sizes = ("--bytes", "8,16,32,64", "--seeds", 1, "--burst", 8)
    assert command("fit", "logp", "-i", "CNI4", *sizes, "--report", page) == 0
    assert "Measured and fitted" in page.read_text()


def test_claims_have_their_verdict_and_their_numbers(pages):
    tree = parsed(pages["experiments"])
    rows = [texts(row, "th") + texts(row, "td") for row in tree.iter("tr")]
    fails = next(row for row in rows if "the queue wins" in row)
    assert fails == [
        "FAILS",
        "the queue wins",
        "8 bytes",
        "holds with bus.width = 64B, or bus.clock from 500MHz on",
        "8 bytes: CNI4 3.50, NI2w 2.30",
        "Table 1",
    ]
    assert "2 of 3" in texts(tree, "dd")
    assert any(row[:3] == ["CNI4", "em3d", "1"] for row in rows)


def test_measured_stands_beside_published(pages):
    rows = [texts(row, "th") + texts(row, "td") for row in parsed(pages["experiments"]).iter("tr")]
    assert ["NI2w", "8 bytes", "2.30", "0.20", "2", "+15.0 % !"] in rows
    spec = specifications(pages["experiments"])[1]
    point = spec["data"]["values"][0] if "data" in spec else None
    assert point["low"], point["high"] == pytest.approx((2.2, 2.4))
    assert point["published_low"] == 2.0


def test_of_a_second_machine_only_the_differences_are_shown(pages):
    tables = list(parsed(pages["experiments"]).iter("table"))
    table = next(each for each in tables if "where it differs" in texts(each, "caption")[0])
    assert [texts(row, "td") for row in table.iter("tr")][1:] == [["125MHz", "chosen", ""]]


def specifications(page):
    found = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    return [json.loads(text) for text in found]


# --- a message's life -----------------------------------------------------------


def test_the_steps_of_a_life_go_between_the_right_lanes(life):
    ways = {
        step.what.partition(",")[0]: (lives.LANES[step.source], lives.LANES[step.target])
        for step in lives.steps(life)
    }
    assert ways["asks to write send queue"] == ("processor 0", "interface 0")
    assert ways["reads send queue"] == ("processor 0", "interface 0")
    assert ways["stores to MESSAGE_READY register"] == ("processor 0", "interface 0")
    assert ways["reads receive queue"] == ("interface 1", "processor 1")
    assert ways["starts the handler"] == ("processor 1", "processor 1")
    network = [way for what, way in ways.items() if what.startswith("packet")]
    assert network == [("interface 0", "network"), ("network", "interface 1")]


@pytest.mark.parametrize(
    ("machine", "interface"),
    [
        *[("hpca98", name) for name in ("NI2w", "NI64w+Udma", "NI16w+Blkbuf", "CNI4", "CNI0Qm")],
        *[("edt", name) for name in ("EDT", "CCDMA-intervention", "PIO")],
    ],
)
def test_every_step_of_any_interface_is_explained(machine, interface):
    for step in lives.steps(narthex.explain(interface, 64, machine=machine).document):
        assert step.meaning
        assert step.meaning.split(". ")[0].rstrip(".") + "." in " ".join(lives.MEANINGS.values())


def test_a_runs_message_is_explained_on_its_own_machine(run):
    slow = narthex.run("roundtrip", 64, 20, nodes=2, set=["bus.clock=125MHz"]).document
    assert again.payload_bytes(slow) == 64
    assert again.life(slow).latency_ps > again.life(run).latency_ps


EDT = {"machine": "edt", "interface": "EDT"}
SHOWN = {
    "VIPL's": (["via-latency", 64, 20, 4], "calls of its own", "calls VipPostSend"),
    "the messaging library's": (["roundtrip", 64, 20, 4], "messaging library", "begins to send"),
}


@pytest.mark.parametrize("library", SHOWN)
def test_a_page_has_the_life_of_a_message_that_the_runs_program_sends(library):
    program, paragraph, step = SHOWN[library]
    tree = parsed(report.page([identify(narthex.run(*program, **EDT).document, "x.json")]))
    assert any(paragraph in text for text in texts(tree, "p"))
    assert any(step in text for text in texts(tree, "li"))


def test_a_page_says_why_it_has_no_life_of_the_programs_messages():
    document = narthex.run("via-latency", 64, 20, 4, **EDT).document
    tree = parsed(report.page([identify({**document, "binary_sha256": "0"}, "x.json")]))
    assert any("is not at hand" in text for text in texts(tree, "p"))


def test_a_machine_that_is_not_known_any_more_costs_only_the_life(run):
    other = json.loads(json.dumps(run))
    other["machine"]["bus"]["colour"] = "blue"
    tree = parsed(report.page([identify(other, "x.json")]))
    assert any("It cannot be shown" in text for text in texts(tree, "p"))


def test_a_message_that_would_take_for_ever_costs_only_the_life(run, monkeypatch):
    monkeypatch.setattr(again, "LONGEST_S", 0.5)
    other = json.loads(json.dumps(run))
    other["machine"]["interfaces"]["cni_iqm"]["engine_time"] = "1000s"
    tree = parsed(report.page([identify(other, "x.json")]))
    assert any("takes over 0.5 s on this machine" in text for text in texts(tree, "p"))


# --- files ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("half.json", '{"schema": 3, "nodes": [', "not whole JSON.*truncated"),
        ("list.json", "[1, 2]", "is no result"),
        ("other.json", '{"name": "hpca98", "toml": ""}', "is no result .it has name, toml"),
        (
            "old.json",
            '{"schema": 1, "version": "0.0.9", "nodes": []}',
            "schema 1.*0.0.9.*reads schema 3",
        ),
        ("bytes.json", b"\xff\xfe\x00", "not whole JSON.*byte 0"),
        ("empty.json", "", "not whole JSON"),
    ],
)
def test_a_file_that_is_no_result_is_refused(tmp_path, name, content, message):
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(NarthexError, match=message) as refused:
        report.read([file])
    assert name in str(refused.value)


def test_a_missing_file_and_an_empty_folder_are_named(tmp_path):
    with pytest.raises(NarthexError, match=r"nothing\.json' does not exist"):
        report.read([tmp_path / "nothing.json"])
    with pytest.raises(NarthexError, match=r"holds no file \*\.json"):
        report.read([tmp_path])


def test_a_result_that_lacks_something_is_named(run):
    broken = {key: value for key, value in run.items() if key != "reports"}
    with pytest.raises(
        NarthexError, match=r"'b\.json' is not a whole result.*'reports' is missing"
    ):
        report.page([identify(broken, "b.json")])


def test_in_a_folder_what_is_no_result_is_left_out_and_named(tmp_path, run):
    (tmp_path / "run.json").write_text(json.dumps(run))
    (tmp_path / "half.json").write_text("{")
    found, left_out = report.read([tmp_path])
    assert [each.kind.name for each in found] == ["run"]
    assert any("half.json" in text for text in texts(parsed(report.page(found, left_out)), "p"))


def test_in_a_folder_what_is_no_file_is_left_out(tmp_path, run):
    (tmp_path / "run.json").write_text(json.dumps(run))
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    found, left_out = report.read([tmp_path])
    assert [each.kind.name for each in found] == ["run"]
    assert [text.endswith("is no file") for text in left_out] == [True, True]


def test_what_a_file_says_of_itself_is_short_in_a_message(tmp_path):
    file = tmp_path / "other.json"
    for document in ({"x" * 10**6: 1}, {"nodes": [], "schema": "x" * 10**6}):
        file.write_text(json.dumps(document))
        with pytest.raises(NarthexError) as refused:
            report.read([file])
        assert len(str(refused.value)) < 500


def command(*arguments):
    """Run a command in this process; returns its exit code."""
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return left.value.code


def test_the_command_writes_beside_the_results(tmp_path, run, capsys):
    file = tmp_path / "result.json"
    file.write_text(json.dumps(run))
    assert command("report", file, "--json", "-") == 0
    made = json.loads(capsys.readouterr().out)
    assert made["page"] == str(tmp_path / "result.html")
    assert (tmp_path / "result.html").stat().st_size == made["bytes"]


@pytest.mark.parametrize(
    ("place", "message"),
    [("page.pdf", "must end in .html"), ("none/x.html", "does not exist; choose another")],
)
def test_a_bad_place_is_found_before_the_run(tmp_path, capsys, place, message):
    assert command("run", "roundtrip", 8, 10**9, "--report", tmp_path / place) == 2
    assert message in capsys.readouterr().err


COMMANDS = re.findall(
    r"^narthex (.*)$", (documentation.DOCS / "reports.md").read_text(encoding="utf-8"), re.MULTILINE
)


def test_the_commands_of_the_guide_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line in COMMANDS:
        assert command(*shlex.split(line)) == 0, line
    pages = {file.name for file in tmp_path.glob("*.html")}
    assert pages == {"em3d.html", "roundtrip.html", "experiment.html", "both.html", "one.html"}


# --- in a browser ---------------------------------------------------------------


OPENER = """
<script>
document.querySelectorAll("details.part").forEach((fold) => { fold.open = true; });
</script>
"""
"""Opens what is folded, as a reader does."""

ABOUT_PANELS = "WARN Detected faceted independent scales that union domain of the same fields"
"""What Vega says of panels with error bars; their layers do have the same data."""


@pytest.mark.skipif(browser.find() is None, reason="there is no Chromium or Chrome on the PATH")
@pytest.mark.parametrize("width", [1280, 390])
def test_every_chart_is_drawn_without_a_word_on_the_console(pages, tmp_path, width):
    file = tmp_path / "all.html"
    everything = pages["experiments"] if width == 390 else pages["comparison"]
    file.write_text(everything + OPENER, encoding="utf-8")
    dom, console = browser.load(file, width=width)
    assert [line for line in console if ABOUT_PANELS not in line] == []
    drawn = dom.count('data-state="drawn"')
    assert drawn == dom.count("data-chart=") > 2
    assert dom.count('class="marks"') == drawn
    assert 'data-charts="done"' in dom
    cut = re.findall(r"<text[^>]*>([^<]*…)</text>", dom)
    assert cut == []


PROBE = """
<script>
addEventListener("load", () => setTimeout(() => {
  const step = document.querySelector(".step");
  step.focus();
  step.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown" }));
  const second = document.activeElement;
  document.title = JSON.stringify({
    surface: getComputedStyle(document.body).backgroundColor,
    bar: getComputedStyle(document.querySelector(".shares span")).backgroundColor,
    moved: second === document.querySelectorAll(".step")[1],
    stops: document.querySelectorAll('.step[tabindex="0"]').length,
    explained: document.querySelector(".explained").textContent.includes(
      second.querySelector(".meaning").textContent),
    wide: document.documentElement.scrollWidth > innerWidth,
  });
}, 3000));
</script>
"""


@pytest.mark.skipif(browser.find() is None, reason="there is no Chromium or Chrome on the PATH")
@pytest.mark.parametrize(
    ("is_dark", "surface", "bar"),
    [
        (False, "rgb(255, 255, 255)", "rgb(0, 114, 178)"),
        (True, "rgb(20, 24, 29)", "rgb(86, 180, 233)"),
    ],
)
def test_a_page_follows_the_readers_scheme_and_keyboard(pages, tmp_path, is_dark, surface, bar):
    file = tmp_path / "life.html"
    file.write_text(pages["life"] + PROBE, encoding="utf-8")
    dom, _ = browser.load(file, width=390, is_dark=is_dark)
    told = json.loads(re.search("<title>(.*?)</title>", dom)[1])
    assert told == {
        "surface": surface,
        "bar": bar,
        "moved": True,
        "stops": 1,
        "explained": True,
        "wide": False,
    }
