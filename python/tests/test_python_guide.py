"""The page about Python leaves nothing out (that its blocks run, `test_guide` tests)."""

import re

import narthex
from narthex.documentation import DOCS


def test_the_page_names_everything_public():
    page = (DOCS / "python.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)[`(]", page.partition("## All of it")[2]))
    assert set(narthex.__all__) <= named
