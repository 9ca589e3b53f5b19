"""What the documentation's sentences say of the program: commands, options, counts, lists.

Commands in blocks are run (test_guide.py); here are those in the running text, which nothing
runs, and the numbers and names that would otherwise grow old there.
"""

import json
import re
import shlex
from pathlib import Path

import pytest
import typer

from narthex import _native
from narthex.arguments import RANGES
from narthex.cli import app

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md"])
OTHERS = {"--release", "--locked", "--hypothesis-seed", "--hypothesis-profile"}
"""Options of other programs that the text speaks of by themselves."""

COMMAND = typer.main.get_command(app)


def inline(page):
    """Return the code in the running text, blocks left out, each as one line."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", text)]


def options_of(command):
    return {option for each in command.params for option in (*each.opts, *each.secondary_opts)}


def every_option(command):
    found = options_of(command)
    for each in getattr(command, "commands", {}).values():
        found |= every_option(each)
    return found


def problem(code):
    """Return what is wrong with a command of Narthex; nothing if it can be typed so."""
    words = shlex.split(code.replace("...", " "))[1:]
    command, own = COMMAND, {*options_of(COMMAND), "--install-completion", "--show-completion"}
    for word in words:
        if word == "--":
            break
        if (commands := getattr(command, "commands", {})) and not word.startswith("-"):
            if word not in commands:
                return None if word.isupper() else f"there is no command '{word}'"
            command = commands[word]
        elif word.startswith("--") and command.name != "cc":
            option = word.partition("=")[0]
            if option not in options_of(command) | own | {"--help"}:
                return f"'{command.name}' has no option {option}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_and_options_in_the_text_exist(page):
    known = every_option(COMMAND) | OTHERS | {"--help"}
    codes = inline(page)
    wrong = [
        f"{code}: {told}"
        for code in codes
        if code.startswith("narthex ") and (told := problem(code))
    ]
    wrong += [
        code
        for code in codes
        if re.match(r"--[a-z][a-z-]+\b", code) and re.split("[ =]", code)[0] not in known
    ]
    assert wrong == []


def limits():
    """Return what the text may count, and what the program says."""
    with pytest.raises(Exception, match="expected from 1 to") as refused:
        _native.machine_settings("hpca98", ["machine.processors_per_node=99"], "NI2w")
    processes = re.search(r"expected from 1 to (\d+)", str(refused.value))[1]
    nodes = f"{RANGES['nodes'].stop - 1:,}"
    return {
        r"up to (\S+) processes each|up to (\d+) processes(?! a message)": processes,
        r"machine can have up to (\d,\d+) nodes": nodes,
        r"(both|all \w+) built-in machines": None,
        r"all (?!other|of|these|the )(\w+) experiments": None,
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_counts_in_the_text_are_the_programs(page):
    text = " ".join(page.read_text(encoding="utf-8").split())
    for pattern, right in limits().items():
        for found in re.finditer(pattern, text):
            told = next(filter(None, found.groups()))
            assert told == right, f"{found[0]!r}; {right or 'say it without a number'}"


def test_the_table_of_interfaces_has_every_name_of_the_program():
    text = (ROOT / "docs" / "interfaces.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"[\w+-]+", " ".join(re.findall(r"\]\([^)]*\) \(([^)]*)\) \|", text))))
    assert listed == {entry["name"] for entry in json.loads(_native.list("interfaces"))}
