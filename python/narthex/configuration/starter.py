"""A machine's file to begin with: it stands on another machine and explains itself.

    base = "hpca98"

    [bus]
    # The bus's clock. (hpca98: 250 MHz)
    clock = "125MHz"
    # Bytes that cross in one data cycle.
    # width = "32B"

What differs from the base is stated; the parameters that people change first
stand there behind a `#`, with the base's values.
"""

import json
import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomli_w

from narthex import _native
from narthex.configuration.differences import differences, value
from narthex.configuration.schemas import MACHINE_SCHEMA
from narthex.errors import USAGE, NarthexError

COMMON = (
    "machine.nodes", "processor.clock", "data_cache.size", "data_cache.associativity", "bus.clock",
    "bus.width", "main_memory.access_time", "network.latency", "flow_control",
)  # fmt: skip
"""What people change first; a table stands for all its keys."""

WIDTH = 92
"""Of a comment's lines."""


def text(file: Path, base: str, settings: Sequence[str] = (), *, schema: bool = True) -> str:
    """Return the text of a new machine's file that is to be at `file`.

    `base` is a preset or a file; the new file names it as it is seen from its
    own folder. Raises `NarthexError` where the base or a setting is wrong.
    """
    name = json.dumps(file.stem)
    settings = [f"machine.name={name}", *settings]
    shown = json.loads(_native.machine_show(base, settings, True))
    changed = {each["key"]: each["one"] for each in differences(base, base, (), settings)}
    return "\n".join(
        [
            *_head(file, base, schema=schema),
            f"base = {json.dumps(_seen_from(file.parent, base))}",
            *_tables(shown, changed, base),
            "",
        ]
    )


def check_name(file: Path) -> None:
    """Refuse a name by which a machine's file cannot be asked for."""
    if file.suffix != ".toml":
        raise NarthexError(
            f"a machine's file ends in .toml, and '{file}' does not; call it '{file}.toml'", USAGE
        )


def _head(file: Path, base: str, *, schema: bool) -> list[str]:
    directive = [f"#:schema ./{MACHINE_SCHEMA}"] if schema else []
    return [
        *directive,
        f"# A machine like {base}, but for what is stated here.",
        "#",
        f"#   narthex machine check {file.name}         all that is wrong with it",
        f"#   narthex machine diff {base} {file.name}   what is different, and why",
        f"#   narthex run roundtrip --machine ./{file.name}",
        "#",
        f"# Lines behind a # have {base}'s values: take the # away to change one. All other",
        f"# parameters: narthex machine show {base} --sources. A value can say where it is from:",
        '# clock = { value = "125MHz", assumed = "the next generation\'s bus" }',
        "",
    ]


def _tables(shown: dict[str, Any], changed: dict[str, Any], base: str) -> list[str]:
    """Return the tables with a stated or a common parameter, each under its header."""
    lines: list[str] = []
    rewritten = {key.removesuffix(".kind") for key in changed if key.endswith(".kind")}
    header = ""
    for parameter in shown["sources"]:
        table, _, key = parameter["key"].rpartition(".")
        stated = parameter["key"] in changed or table in rewritten
        if not stated and not _is_common(parameter["key"]):
            continue
        if table != header:
            lines += ["", f"[{table}]"]
            header = table
        there = changed.get(parameter["key"])
        was = f" ({base}: {value(there)})" if there and key != "name" else ""
        lines += _comment(f"{parameter['meaning']}{was}")
        line = _line(key, _leaf(shown["machine"], parameter["key"]), plain=not stated)
        lines.append(line if stated else f"# {line}")
    return lines


def _is_common(key: str) -> bool:
    return any(key == each or key.startswith(f"{each}.") for each in COMMON)


def _leaf(machine: Any, key: str) -> Any:  # noqa: ANN401 - JSON
    for part in key.split("."):
        machine = machine[part]
    return machine


def _line(key: str, leaf: Any, *, plain: bool) -> str:  # noqa: ANN401 - JSON
    """Write `key = value`; with its source, unless only the plain value is wanted."""
    if not isinstance(leaf, dict):
        return tomli_w.dumps({key: leaf}).strip()
    if plain:
        return tomli_w.dumps({key: leaf["value"]}).strip()
    parts = ", ".join(tomli_w.dumps({word: part}).strip() for word, part in leaf.items())
    return f"{key} = {{ {parts} }}"


def _comment(words: str) -> list[str]:
    return textwrap.wrap(words, WIDTH, initial_indent="# ", subsequent_indent="# ")


def _seen_from(folder: Path, base: str) -> str:
    """Return how a file in `folder` names its base: a preset as it is, a file by its way there."""
    if "/" not in base and not base.endswith(".toml"):
        return base
    return Path(os.path.relpath(base, folder or ".")).as_posix()
