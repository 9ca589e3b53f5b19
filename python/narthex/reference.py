"""The command line as a page, from the program itself: docs/command-line.md.

Every command says by `--help` what it does, and what its arguments and options are. The page has
the same words, each once: an option that many commands have in the same words stands in a table
of its own, and a command names it there.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

COMMON = 4
"""Commands that have an option in the same words, from which on it stands in the common table."""

_HELP = "--help"
_WIDTH = 120


@dataclass(frozen=True)
class Command:
    """A command with what its help says."""

    name: str
    """As it is typed, such as "check protocol"; empty for `narthex` itself."""
    usage: str
    paragraphs: list[str]
    arguments: list[tuple[str, str]] = field(default_factory=list)
    options: list[tuple[str, str]] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)


def commands() -> list[Command]:
    """Return all commands, in the order in which `--help` lists them."""
    import typer

    from narthex.cli import app

    return list(_walk(typer.main.get_command(app), "narthex", None))


def _walk(command: Any, name: str, parent: Any) -> Iterator[Command]:  # noqa: ANN401 - Click's
    context = command.context_class(command, info_name=name, parent=parent)
    arguments, options = [], []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None or _HELP in record[0]:
            continue
        kept = options if record[0].startswith("-") else arguments
        kept.append((record[0], re.sub(r" {2,}", " ", record[1])))
    yield Command(
        context.command_path.removeprefix("narthex").strip(),
        command.get_usage(context).removeprefix("Usage: "),
        [" ".join(part.split()) for part in (command.help or "").split("\n\n")],
        arguments,
        options,
        re.findall(r"^  (narthex .*|[A-Z]+=.*)$", command.epilog or "", re.MULTILINE),
    )
    for inner in getattr(command, "commands", {}):
        yield from _walk(command.commands[inner], inner, context)


def page() -> list[str]:
    """Return the lines of the page: the common options, then every command."""
    found = commands()
    counts = Counter(option for command in found for option in command.options)
    common = [option for option, count in counts.items() if count >= COMMON]
    lines = ["## Options of many commands", "", *_table(common)]
    for command in found:
        lines += ["", *_section(command, common)]
    return lines


def _section(command: Command, common: list[tuple[str, str]]) -> list[str]:
    """Return what the page says of a command."""
    lines = [f"## narthex {command.name}".rstrip(), "", f"`{command.usage}`"]
    for paragraph in command.paragraphs:
        lines += ["", *textwrap.wrap(_escaped(paragraph), _WIDTH, break_on_hyphens=False)]
    own = [option for option in command.options if option not in common]
    if rows := [*command.arguments, *own]:
        lines += ["", *_table(rows)]
    if shared := [
        f"`{_longest(names)}`" for names, text in command.options if (names, text) in common
    ]:
        told = f"{'And' if own else 'Options:'} {', '.join(shared)}."
        lines += ["", *textwrap.wrap(told, _WIDTH, break_on_hyphens=False)]
    if command.examples:
        lines += ["", *(f"- `{example}`" for example in command.examples)]
    return lines


def _longest(names: str) -> str:
    """Return an option's long name: `--machine` of `-m, --machine <str>`."""
    return max(re.findall(r"--?[a-z-]+", names), key=len)


def _table(rows: list[tuple[str, str]]) -> list[str]:
    body = [f"| `{name.replace('|', '/')}` | {_escaped(text)} |" for name, text in rows]
    return ["| argument, option | what it is |", "| --- | --- |", *body]


def _escaped(text: str) -> str:
    """Keep what is no Markdown from being read as such."""
    return re.sub(r"([|*_<\[\]])", r"\\\1", text)
