"""What the page about Python shows is so: each block prints what stands below it."""

import contextlib
import io
import os
import re

import pytest

import narthex
from narthex.documentation import DOCS

PAGE = DOCS / "python.md"
BLOCKS = re.compile(r"^```python\n(.*?)^```\n(?:```\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)


def run_blocks(text):
    """Run the page's blocks one after the other; yields each with what it should print and did."""
    names = {}
    for code, printed in BLOCKS.findall(text):
        caught = io.StringIO()
        with contextlib.redirect_stdout(caught):
            exec(code, names)
        yield code, printed, caught.getvalue()


@pytest.mark.skipif("CC" in os.environ, reason="another compiler makes other programs")
def test_the_page_prints_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = list(run_blocks(PAGE.read_text(encoding="utf-8")))
    assert len(blocks) == 9
    for code, shown, printed in blocks:
        assert printed == shown, code
    assert (tmp_path / "ledger.html").stat().st_size > 500_000
    assert ">blocks<" in (tmp_path / "queue-size.svg").read_text()


def test_the_page_names_everything_public():
    table = PAGE.read_text(encoding="utf-8").partition("## All of it")[2]
    named = set(re.findall(r"`(\w+)[`(]", table))
    assert set(narthex.__all__) <= named
