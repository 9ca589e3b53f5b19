"""Finds the firmware that a machine's processors run.

A machine's file names it: `runs = "firmware/forwarder"`. Firmware of that name comes with
Narthex (a folder of `guest/firmware`), or the user gives a file for it: `--firmware
NAME=FILE`, or FILE alone where the machine has only one. A file is an ELF file, or C that
is compiled as `narthex cc --firmware` does.
"""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from narthex import _native, arguments, compiler, files, toolchain
from narthex.arguments import Settings
from narthex.errors import NarthexError, unknown
from narthex.guest_library import SOURCE_SUFFIXES

PREFIX = "firmware/"
"""What stands before a firmware's name in a machine's file."""

LARGEST_BYTES = 16 << 20
"""Of a file; what is larger was not meant."""

Firmware = Mapping[str, arguments.Path] | Sequence[str]
"""Files by the names of the firmware, or texts as `--firmware` takes them."""


def names_in(machine: str, settings: Settings = ()) -> list[str]:
    """Return the names of the firmware that a machine's processors run."""
    found = json.loads(_native.machine_show(machine, arguments.settings(settings), False))
    parts = found["machine"]["node"]["processors"].values()
    runs = [_value(part["runs"]) for part in parts]
    return sorted({each.removeprefix(PREFIX) for each in runs if each.startswith(PREFIX)})


def _value(entry: Any) -> Any:  # noqa: ANN401 - of a document
    return entry["value"] if isinstance(entry, dict) else entry


def request(
    machine: str,
    settings: Settings,
    given: Firmware,
    progress: toolchain.Progress | None = None,
) -> dict[str, dict[str, str]]:
    """Describe a run's firmware, as the simulator reads it; what is not given is shipped."""
    if not given and _has_none(machine, settings):
        return {}
    wanted = names_in(machine, settings)
    chosen = _named(given, wanted, machine)
    shipped = set(wanted) & set(compiler.firmware_names()) - set(chosen)
    described = {name: _contents(name, file, progress) for name, file in chosen.items()}
    for name in sorted(shipped):
        elf = compiler.firmware_path(name, progress=progress).read_bytes()
        described[name] = {"file": name, "elf": elf.hex()}
    return described


def _has_none(machine: str, settings: Settings) -> bool:
    """Tell whether a built-in machine is known to run no firmware; a file may be read only once."""
    changes = arguments.settings(settings)
    is_file = os.sep in machine or machine.endswith(".toml")
    return not (is_file or any(each.startswith("node.") for each in changes) or _names_of(machine))


@cache
def _names_of(preset: str) -> list[str]:
    return names_in(preset)


def _named(given: Firmware, wanted: list[str], machine: str) -> dict[str, Path]:
    """Return the given files by the names of their firmware."""
    pairs = (
        given.items()
        if isinstance(given, Mapping)
        else map(_pair, arguments.names("firmware", given))
    )
    chosen: dict[str, Path] = {}
    for name, file in pairs:
        if not name:
            if len(wanted) != 1:
                runs = ", ".join(wanted) or "none"
                raise NarthexError(
                    f"--firmware {file} does not say which firmware of {machine} it is"
                    f" (it runs {runs}); give NAME={file}"
                )
            name = wanted[0]
        if name not in wanted and wanted:
            raise unknown("firmware", name, wanted)
        chosen[name] = Path(arguments.file("firmware", file))
    return chosen


def _pair(text: str) -> tuple[str, str]:
    """Read NAME=FILE, or FILE alone."""
    name, equals, file = text.partition("=")
    return (name, file) if equals and os.sep not in name else ("", text)


def _contents(name: str, file: Path, progress: toolchain.Progress | None) -> dict[str, str]:
    if file.suffix in SOURCE_SUFFIXES:
        with tempfile.TemporaryDirectory() as scratch:
            output = Path(scratch) / file.stem
            elf = compiler.compile_firmware([file], output, progress=progress).read_bytes()
    else:
        elf = files.read(file, f"firmware {name}", LARGEST_BYTES)
    return {"file": str(file), "elf": elf.hex()}
