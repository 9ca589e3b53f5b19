"""What the page about sweeps shows beside its commands, which test_guide.py runs."""

import re

import guide
import pytest

from narthex.cli import main
from narthex.documentation import DOCS
from narthex.sweeps.loading import COLUMNS

PAGE = (DOCS / "sweeps.md").read_text(encoding="utf-8")


def test_the_pages_picture_has_a_line_for_each_size_over_blocks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = next(block for block in guide.blocks(PAGE) if block.title == "queue-size.toml")
    (tmp_path / first.title).write_text(first.text.replace("step = 4", "step = 16"))
    code, _, _ = guide.execute(
        "narthex sweep queue-size.toml --plot queue-size.svg --x blocks", tmp_path
    )
    assert code == 0
    picture = (tmp_path / "queue-size.svg").read_text()
    assert 'aria-label="Bandwidth by queue size; bandwidth (MB/s): ' in picture
    assert ">blocks<" in picture


def test_the_page_names_every_column_and_option(capsys):
    with pytest.raises(SystemExit):
        main(["sweep", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help", "--json"}
    missing = [word for word in options | set(COLUMNS) if word not in PAGE]
    assert missing == []
