"""A project's folder: what `narthex new` puts there, and the defaults that it states.

NAME/
  NAME.c            a program that runs and checks itself
  test_NAME.py      its tests, for pytest
  narthex.toml      machine, interface and nodes of the commands in this folder
  README.md         what to type
"""

import re
import string
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narthex import files, strict
from narthex.arguments import RANGES, words
from narthex.errors import NarthexError

DEFAULTS = Path("narthex.toml")
"""In the folder where a command is typed."""

COMMANDS = {
    "run": ("machine", "interface", "nodes"),
    "compare": ("machine", "nodes"),
    "explain": ("machine",),
}
"""Which of its keys each command takes."""

STARTERS = Path(__file__).parent / "starters"


@dataclass(frozen=True)
class Defaults:
    """What a project's file can say."""

    machine: str | None = None
    """A preset, or a file beside it."""
    interface: str | None = None
    nodes: int | None = None


def defaults(file: Path = DEFAULTS) -> dict[str, dict[str, Any]]:
    """Return the options of commands that the folder's file states; none if there is no file."""
    if not file.is_file():
        return {}
    given = strict.table(Defaults, strict.document(file), str(file))
    if given.nodes is not None and given.nodes not in RANGES["nodes"]:
        raise NarthexError(f"{file}: 'nodes' must be {words(RANGES['nodes'])}, not {given.nodes}")
    stated = {key: value for key, value in vars(given).items() if value is not None}
    return {
        command: {key: stated[key] for key in keys if key in stated}
        for command, keys in COMMANDS.items()
    }


def new_program(name: str) -> list[Path]:
    """Make the folder of a program that runs and tests itself; returns its files.

    Raises `NarthexError` for a name that no program can have, and where something is there.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
        raise NarthexError(
            f"'{name}' cannot be a program's name: small letters, digits, - and _, a letter first"
        )
    folder = Path(name)
    if folder.exists():
        raise NarthexError(f"'{name}' is there already; choose another name")
    made = []
    for source in sorted((STARTERS / "program").iterdir()):
        file = folder / source.name.replace(
            "program", name.replace("-", "_") if source.suffix == ".py" else name
        )
        text = string.Template(source.read_text(encoding="utf-8")).substitute(name=name)
        files.write_whole(file, text.encode())
        made.append(file)
    return made
