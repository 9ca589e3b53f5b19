"""Every command of the guide runs, and prints what the pages show."""

import re

import guide
import pytest

from narthex.assets import GUEST
from narthex.documentation import DOCS


@pytest.mark.parametrize(
    "page", guide.pages(), ids=lambda page: str(page.relative_to(DOCS).with_suffix(""))
)
def test_a_page_does_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "guest").symlink_to(GUEST.resolve())
    guide.run(page.read_text(encoding="utf-8"), tmp_path)


@pytest.mark.parametrize("page", guide.pages(), ids=lambda page: page.stem)
def test_commands_stand_in_blocks_that_are_run(page):
    for block in guide.blocks(page.read_text(encoding="utf-8")):
        is_run = block.language in ("sh", "console")
        assert is_run or not guide.COMMAND.match(block.text), f"line {block.line}: say ```sh"


def test_what_is_left_out_has_a_reason():
    known = re.compile(r"|(long)?(, )?(exits with \d)?|not run: .+|generated: .*")
    for page in guide.pages():
        for block in guide.blocks(page.read_text(encoding="utf-8")):
            assert known.fullmatch(block.mark), f"{page.name}, line {block.line}: {block.mark}"


FILE = '```c title="greet.c"\nint main(void) {}\n```\n'


def test_files_are_written_and_seen_by_commands(tmp_path):
    guide.run(FILE + "\n```console\n$ cat greet.c\nint ...(void) {}\n```\n", tmp_path)


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```console\n$ echo 12\n13\n```\n", "printed something else"),
        ("```console\n$ echo 12\n$ echo 13\n14\n```\n", "printed something else"),
        ("```python\nprint(12)\n```\n```\n13\n```\n", "printed something else"),
        ("```sh\nfalse\n```\n", "ended with 1"),
        ("```sh\nnarthex run rountrip\n```\n", "did you mean 'roundtrip'"),
        ("<!-- exits with 3 -->\n\n```sh\nfalse\n```\n", "ended with 1"),
        ("<!-- exits with 1 -->\n```sh\nfalse\nfalse\n```\n", "ended with 1"),
    ],
)
def test_a_page_that_is_wrong_is_found(page, message, tmp_path):
    with pytest.raises(AssertionError, match=message):
        guide.run(page, tmp_path)


def test_a_block_of_python_knows_the_ones_before_and_prints_what_touches_it(tmp_path):
    guide.run("```python\na = 1\n```\n\n```python\nprint(a)\n```\n```\n1\n```\n", tmp_path)


def test_marks_are_obeyed(tmp_path, monkeypatch):
    monkeypatch.delenv("NARTHEX_GUIDE", raising=False)
    guide.run("<!-- exits with 3 -->\n\n```sh\n(exit 3)\n```\n", tmp_path)
    guide.run("<!-- not run: it would fail -->\n\n```sh\nfalse\n```\n", tmp_path)
    long = "<!-- long -->\n\n```sh\nfalse\n```\n"
    guide.run(long, tmp_path)
    monkeypatch.setenv("NARTHEX_GUIDE", "long")
    with pytest.raises(AssertionError):
        guide.run(long, tmp_path)


def test_output_is_compared_without_empty_lines():
    assert guide.matches("a 1\nb", "\na 1   \n\nb\n")
    assert guide.matches("a\n...\nd", "a\nb\nc\nd\n")
    assert not guide.matches("a 1", "a 12")
    assert not guide.matches("a 1", "b\na 1")
