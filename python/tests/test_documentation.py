"""The documentation's tables are what the simulator says today."""

import os
import re
import subprocess
import sys

import browser
import guide
import pytest

import narthex
from narthex import documentation, documentation_pictures
from narthex.errors import NarthexError


@pytest.mark.skipif("CC" in os.environ, reason="another compiler makes other programs")
@pytest.mark.parametrize("page", documentation.pages(), ids=lambda page: page.stem)
def test_the_lives_on_a_page_are_those_of_the_simulator(page):
    text = page.read_text(encoding="utf-8")
    assert documentation.filled(text, documentation.LIVES) == text, "run `make pages`"


@pytest.mark.skipif("CC" in os.environ, reason="another compiler makes other programs")
def test_the_pictures_of_messages_are_those_of_the_simulator(tmp_path):
    assert documentation_pictures.message_life() == documentation_pictures.LIFE.read_text(), (
        "run `make pages`"
    )
    drawn = documentation_pictures.SIDE_BY_SIDE.read_text()
    assert documentation_pictures.lives_side_by_side() == drawn, "run `make pages`"
    documentation_pictures.ranking(tmp_path / "ranking.svg")
    drawn = (tmp_path / "ranking.svg").read_text()
    assert drawn == documentation_pictures.RANKING.read_text(), "run `make pages`"


def test_the_pictures_of_the_machines_are_those_of_their_files():
    for file, drawn in documentation_pictures.machine_pictures().items():
        assert file.read_text(encoding="utf-8") == drawn, "run `make pages`"


def test_every_page_is_in_the_navigation_once():
    navigation = (documentation.DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r"^ +- .*: (\S+\.md)$", navigation, flags=re.MULTILINE)
    pages = [str(page.relative_to(documentation.DOCS)) for page in guide.pages()]
    assert sorted(named) == sorted(pages)


@pytest.mark.parametrize("page", guide.pages(), ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page):
    """To a file of the repository and, with a #, to a heading on a page."""
    for target, heading in guide.links(page.read_text(encoding="utf-8")):
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), target
        assert not heading or heading in guide.headings(file), f"{target}#{heading}"


def test_the_site_builds_strictly_and_loads_nothing_from_elsewhere(tmp_path):
    pytest.importorskip("mkdocs")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path],
        cwd=documentation.DOCS.parent,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) > len(guide.pages())
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(
            r'<(script|img|iframe)[^>]*src="?https?:|<link[^>]*href="?https?:', text
        )
    if browser.find():
        assert "How the machine works" in found_for("bridge", tmp_path)


def found_for(word, site):
    """What the search of the site finds, opened as a file."""
    types = f"""<script>
        setTimeout(() => {{
            const query = document.querySelector("[data-md-component=search-query]");
            query.focus();
            query.value = "{word}";
            query.dispatchEvent(new KeyboardEvent("keyup", {{ bubbles: true }}));
        }}, 3000);
    </script></body>"""
    page = site / "searched.html"
    page.write_text((site / "index.html").read_text(encoding="utf-8").replace("</body>", types))
    document, _ = browser.load(page)
    return document.rpartition("data-md-component=search-result")[2] or document


@pytest.mark.parametrize("language", ["rust", "toml"])
@pytest.mark.parametrize(
    ("page", "example"),
    [
        ("add-an-interface.md", "interfaces/examples/models/ni_i"),
        ("add-an-interconnect.md", "memory/examples/interconnects/time_slots"),
    ],
)
def test_a_guide_quotes_the_example_that_the_tests_build(page, example, language):
    page = (documentation.DOCS / page).read_text(encoding="utf-8")
    quotes = [block.text for block in guide.blocks(page) if block.language == language]
    file = documentation.DOCS.parent / f"{example}.{'rs' if language == 'rust' else language}"
    text = file.read_text(encoding="utf-8")
    assert quotes
    for quote in quotes:
        assert quote in text


def test_a_generated_part_is_replaced_and_the_rest_is_kept():
    opening = "<!-- generated: breakdown NI2w bytes=8 -->"
    page = f"before\n\n{opening}\nold\n<!-- end -->\n\nafter\n"
    made = documentation.filled(page)
    assert made.startswith(f"before\n\n{opening}\n\n| mean ns in | NI2w, 8 bytes |\n")
    assert made.endswith("|\n\n<!-- end -->\n\nafter\n")
    assert "old" not in made
    assert documentation.filled(made) == made


def test_parts_of_other_kinds_are_left_alone():
    page = "<!-- generated: measured hpca98/roundtrip NI2w -->\nold\n<!-- end -->\n"
    assert documentation.filled(page, documentation.LIVES) == page


@pytest.mark.parametrize(
    ("opening", "message"),
    [
        ("brakdown NI2w", "did you mean 'breakdown'"),
        ("breakdown NI2w byte=8", "did you mean 'bytes'"),
        ("breakdown NI3x", "NI3x"),
    ],
)
def test_a_wrong_opening_line_is_refused(opening, message):
    with pytest.raises(NarthexError, match=message):
        documentation.filled(f"<!-- generated: {opening} -->\n<!-- end -->\n")


def test_the_citation_is_of_this_version():
    told = (documentation.DOCS.parent / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {narthex.__version__}\n" in told


def test_every_link_of_the_contributors_page_leads_somewhere():
    page = documentation.DOCS.parent / "CONTRIBUTING.md"
    for target, _ in guide.links(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
