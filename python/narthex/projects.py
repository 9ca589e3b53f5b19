"""A project's folder: what `narthex new` puts there, and the defaults that it states.

NAME/
  NAME.c            a program that runs and checks itself, or
  NAME.rs           an interface, and
  NAME.toml         a machine that has it, or
  NAME.v            hardware, and
  design.toml       what is at its top, its clock and its parameters
  test_NAME.py      its tests, for pytest
  narthex.toml      machine, interface and nodes of the commands in this folder
  README.md         what to type
"""

import json
import re
import string
from collections.abc import Callable
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
HARDWARE = Path(__file__).parent / "hardware"


RUST_KEYWORDS = (
    "abstract as async await become box break const continue crate do dyn else enum extern false"
    " final fn for gen if impl in let loop macro match mod move mut override priv pub ref return"
    " self static struct super trait true try type typeof unsafe unsized use virtual where while"
    " yield"
)
"""Words that no module can be called, in any edition (The Rust Reference, Keywords)."""


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
    return _made(
        Path(name),
        "program",
        {"test_program": f"test_{name.replace('-', '_')}", "program": name},
        lambda text: string.Template(text).substitute(name=name),
    )


def new_interface(name: str) -> list[Path]:
    """Make the folder of an interface that runs and tests itself; returns its files.

    The simulator has to be built with it, in a clone: `make setup MODELS=FOLDER`. Raises
    `NarthexError` for a name that no interface can have, or that one has, and where something
    is there.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", name):
        raise NarthexError(
            f"'{name}' cannot be an interface's name here: letters and digits, a letter first"
        )
    section = name.lower()
    if section in RUST_KEYWORDS.split():
        raise NarthexError(
            f"'{name}' cannot be an interface's name: '{section}' is a word of Rust, and no file of"
            " a model can be called so"
        )
    if _is_known(name) or section in models():
        raise NarthexError(f"there is an interface '{name}' already; choose another name")
    return _made(
        Path(section),
        "interface",
        {"starter": section},
        lambda text: text.replace("Starter", name).replace("starter", section),
    )


VERILOG_KEYWORDS = (
    "always and assign begin bit buf byte case cell class clock clocking config const do edge else"
    " end enum event final for force fork function generate if import initial inout input instance"
    " int integer interface join library logic module nand new nor not or output package parameter"
    " posedge primitive priority program property pure ref reg release repeat reset return signed"
    " static string struct super table task this time tri type union unique unsigned use var wait"
    " while wire with within xnor xor"
)
"""Words that no module can be called (IEEE 1800, Annex B), and the names of its ports."""


@dataclass(frozen=True)
class _Hardware:
    """Hardware that comes with Narthex, of which a new one is made."""

    model: str
    """In whose place it stands."""
    top: str
    """Its module, and the file that has it."""
    description: str
    others: tuple[str, ...] = ()
    """Files of the modules in it."""


_FIFO = _Hardware("NI2w", "ni2w", "design.toml")
_WITH_BUS = _Hardware("NI64w+Udma", "ni64w_udma", "ni64w+udma.toml", ("ni2w.v",))


def new_hardware(name: str, *, bus: bool = False) -> list[Path]:
    """Make the folder of hardware that runs and tests itself; returns its files.

    It is the NI2w that comes with Narthex, by another name, or with `bus` the NI64w+Udma, which has
    a bus port. Raises `NarthexError` for a name that no module can have, and where something is
    there.
    """
    kind = _WITH_BUS if bus else _FIFO
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in VERILOG_KEYWORDS.split():
        raise NarthexError(
            f"'{name}' cannot be the name of hardware: small letters, digits and _, a letter first,"
            " and no word of Verilog"
        )
    if f"{name}.v" in kind.others:
        raise NarthexError(f"'{name}' is a module in this hardware already; choose another name")
    made = _made(
        Path(name),
        "hardware",
        {"test_hardware": f"test_{name}"},
        lambda text: string.Template(text).substitute(name=name, model=kind.model),
    )
    own = {f"{kind.top}.v": f"{name}.v", kind.description: "design.toml"}
    for file, named in (own | {other: other for other in kind.others}).items():
        text = (HARDWARE / "ni2w" / file).read_text(encoding="utf-8")
        if file in own:
            text = text.replace(kind.top, name)
        files.write_whole(Path(name) / named, text.encode())
        made.append(Path(name) / named)
    return made


def models() -> set[str]:
    """Return the models that the simulator has: their files' names, in [interfaces]."""
    from narthex import _native

    return set(json.loads(_native.schema())["properties"]["interfaces"]["properties"])


def _is_known(interface: str) -> bool:
    from narthex import _native

    try:
        _native.machine_settings("hpca98", [], interface)
    except NarthexError:
        return False
    return True


def _made(
    folder: Path, starter: str, names: dict[str, str], written: Callable[[str], str]
) -> list[Path]:
    """Copy a starter's files to a new folder, by their `names` and as they are `written` there."""
    if folder.exists():
        raise NarthexError(f"'{folder}' is there already; choose another name")
    made = []
    for source in sorted((STARTERS / starter).iterdir()):
        if source.is_dir():  # Python's own, of compiled files
            continue
        named = source.name
        for old, new in names.items():
            named = named.replace(old, new)
        files.write_whole(folder / named, written(source.read_text(encoding="utf-8")).encode())
        made.append(folder / named)
    return made
