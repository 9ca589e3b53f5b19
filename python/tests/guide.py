"""The guide's pages as scripts: their files are written, their commands run, in order.

| on a page | what happens |
| --- | --- |
| a block ```` ```sh ```` | each line is a command and has to succeed |
| a block ```` ```console ```` | `$ ` begins a command, the rest is its output; `...` is anything |
| a block ```` ```c title="ring.c" ```` | the file ring.c, in any language |
| any other block ```` ```python ```` | is executed; a page's blocks share their names |
| a block ```` ``` ```` that touches one of Python | what that one prints |
| `<!-- exits with 3 -->` above it | so does its last command |
| `<!-- long -->` above it | it is left out, except by `make guide`; also `long, exits with 3` |
| `<!-- not run: REASON -->` above it | it is left out |

Commands of Narthex run in this process, which saves a third of a second each;
lines that need a shell get one. Output is compared without empty lines and
blanks at ends of lines.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from narthex.cli import main
from narthex.documentation import DOCS

_COMPILING = re.compile(r"^narthex: compiling .*\n", flags=re.MULTILINE)
_BLOCK = re.compile(
    r'^(?:<!-- (?P<mark>[^\n]*) -->\n\n?)?```(?P<language>\w*)(?: title="(?P<title>[^"]+)")?\n'
    r"(?P<text>.*?)^```$(?:\n```\n(?P<printed>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
_NEEDS_SHELL = re.compile(r"[|<>&;$`*~]")
ELSE = "printed something else"
COMMAND = re.compile(r"^(\$ )?(narthex|make|cargo|git|python|pip|cd|cp|export) ")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, and what the comment above it says."""

    language: str
    title: str | None
    text: str
    printed: str | None
    mark: str
    line: int

    @property
    def is_left_out(self) -> bool:
        """Whether it is not to be run now."""
        if self.mark.startswith("long"):
            return os.environ.get("NARTHEX_GUIDE") != "long"
        return self.mark.startswith("not run: ")

    @property
    def exit_code(self) -> int:
        """What the last command ends with."""
        found = re.search(r"exits with (\d+)$", self.mark)
        return int(found[1]) if found else 0

    def commands(self) -> Iterator[tuple[str, str | None]]:
        """Return the commands, each with the output that the page shows, if it does."""
        text = self.text.replace("\\\n", " ")
        if self.language == "sh":
            for line in text.splitlines():
                if line and not line.startswith("#"):
                    yield line, None
        elif self.language == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, printed = part.partition("\n")
                yield command, printed.strip() or None


def pages() -> list[Path]:
    """Return every page of the guide."""
    return sorted(DOCS.rglob("*.md"))


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page's text."""
    return [
        Block(
            found["language"],
            found["title"],
            found["text"],
            found["printed"],
            found["mark"] or "",
            page.count("\n", 0, found.start("text")),
        )
        for found in _BLOCK.finditer(page)
    ]


def links(page: str) -> list[tuple[str, str]]:
    """Return the links of a page's text to files of the repository: (path, heading)."""
    text = _BLOCK.sub("", page)
    found = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", text)
    return [(target, heading) for target, heading in found if "://" not in target]


def headings(page: Path) -> set[str]:
    """Return the names by which a page's headings are linked, as mkdocs makes them."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    words = (re.sub(r"[^\w\s-]", "", title).strip().lower() for title in titles)
    return {re.sub(r"[-\s]+", "-", each) for each in words}


def run(page: str, folder: Path) -> None:
    """Do in a folder what a page says; raises `AssertionError` where it is not so."""
    names: dict[str, object] = {}
    for block in blocks(page):
        if block.is_left_out:
            continue
        if block.title:
            file = folder / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            _run_python(block, names)
        else:
            _run_commands(block, folder)


def _run_python(block: Block, names: dict[str, object]) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block.text, f"line {block.line}", "exec"), names)
    where = f"line {block.line}: {block.text}\n{out.getvalue()}"
    assert block.printed is None or matches(block.printed, out.getvalue()), f"{ELSE}: {where}"


def _run_commands(block: Block, folder: Path) -> None:
    commands = list(block.commands())
    for index, (command, expected) in enumerate(commands):
        code, out, errors = execute(command, folder)
        is_last = index == len(commands) - 1
        where = f"line {block.line}: {command}\n{errors}{out}"
        assert code == (block.exit_code if is_last else 0), f"ended with {code}: {where}"
        # On standard error there may be progress, or the message that the page is about; what
        # compiling says comes in the first run only.
        shown = _COMPILING.sub("", errors) + out
        is_shown = expected is None or matches(expected, out) or matches(expected, shown)
        assert is_shown, f"{ELSE}: {where}"


def execute(command: str, folder: Path) -> tuple[int, str, str]:
    """Run a command line; returns its exit code, standard output and standard error."""
    words = shlex.split(command, comments=True)
    if words[0] == "narthex" and not _NEEDS_SHELL.search(command):
        return _call(words[1:])
    return _in_shell(command, folder)


def _in_shell(command: str, folder: Path) -> tuple[int, str, str]:
    wrapper = f'narthex() {{ {shlex.quote(sys.executable)} -m narthex "$@"; }}\n'
    done = subprocess.run(
        ["bash", "-c", wrapper + command], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def _call(arguments: list[str]) -> tuple[int, str, str]:
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            main(arguments)
        except SystemExit as ended:
            return int(ended.code or 0), out.getvalue(), errors.getvalue()
    raise AssertionError("the command line always exits")


def matches(expected: str, printed: str) -> bool:
    """Compare what a page shows with what was printed; `...` stands for anything."""
    pattern = ".*?".join(map(re.escape, _condensed(expected).split("...")))
    return bool(re.fullmatch(pattern, _condensed(printed), flags=re.DOTALL))


def _condensed(text: str) -> str:
    lines = (line.rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if line.strip())
