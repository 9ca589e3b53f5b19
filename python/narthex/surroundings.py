"""What programs find around them besides their arguments: variables, input, and files.

Nothing of this computer is there by itself. What the user names comes with the run's request as a
whole and decides the run, so its hash is a part of the run's key. What programs write
goes to a folder when the run has ended:

    FOLDER/node-0/results.txt               a process of a node that has one
    FOLDER/node-0-process-1/results.txt     the second process of a node that has several
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narthex import arguments, files
from narthex.errors import USAGE, NarthexError, shown

LARGEST_BYTES = 256 << 20
"""Of all files of a run: they are in memory as a whole."""

Named = Mapping[str, arguments.Path] | Sequence[str]
"""Files or folders by the names that programs open, or NAME=PATH each."""

Variables = Mapping[str, object] | Sequence[str]
"""Variables of the environment: {"OMP_NUM_THREADS": 4}, or ["OMP_NUM_THREADS=4"]."""


@dataclass(frozen=True)
class Surroundings:
    """What a caller gives, as the command line and `narthex.run` have it."""

    env: Variables = ()
    input: arguments.Path | None = None
    files: Named = ()
    directories: Named = ()
    output_files: arguments.Path | None = None

    def request(self) -> dict[str, Any]:
        """Describe them as the simulator reads them (machine/src/surroundings.rs)."""
        named = dict(_read("--file", _pairs("--file", self.files)))
        folders: list[str] = []
        for name, path in _pairs("--directory", self.directories):
            folders.append(name)
            for inside, file in _tree(name, path, folders):
                if inside in named:
                    raise NarthexError(
                        f"--directory {name}={path}: '{inside}' is given twice", USAGE
                    )
                named[inside] = file
        found = {name: _given(f"the program's file '{name}'", file) for name, file in named.items()}
        described: dict[str, Any] = {}
        if self.env:
            described["environment"] = _variables(self.env)
        if self.input is not None:
            described["input"] = _given("--input", Path(arguments.file("input", self.input)))
        if found:
            described["files"] = found
        if folders:
            described["folders"] = folders
        if self.output_files is not None:
            folder = arguments.file("output_files", self.output_files)
            described["output_files"] = os.path.abspath(folder)
        given = [*found.values(), *filter(None, [described.get("input")])]
        size = sum(len(each["bytes"]) // 2 for each in given)
        if size > LARGEST_BYTES:
            raise NarthexError(
                f"the files that the run is given have {size >> 20} MiB; at most"
                f" {LARGEST_BYTES >> 20} MiB are possible",
                USAGE,
            )
        return described


def identity(given: dict[str, Any]) -> dict[str, Any]:
    """Return what of a request's surroundings decides a run: contents, not where they were."""
    described: dict[str, Any] = {
        "environment": given.get("environment", []),
        "files": {name: _hash(each) for name, each in given.get("files", {}).items()},
        "folders": given.get("folders", []),
        "keeps_written": "output_files" in given,
    }
    if "input" in given:
        described["input"] = _hash(given["input"])
    return described


def _hash(given: dict[str, str]) -> str:
    return hashlib.sha256(given["bytes"].encode()).hexdigest()


def _variables(given: Variables) -> list[str]:
    if isinstance(given, Mapping):
        pairs = [f"{name}={arguments.value_text(value)}" for name, value in given.items()]
        return arguments.names("env", pairs)
    return arguments.names("env", given)


def _pairs(option: str, given: Named) -> Iterator[tuple[str, Path]]:
    """Return names and paths of what `--file` or `--directory` is given."""
    if isinstance(given, Mapping):
        for name, path in given.items():
            yield arguments.text(option, name), Path(arguments.file(option, path))
        return
    for text in arguments.names(option, given):
        name, equals, path = text.partition("=")
        if not (equals and name and path):
            like = f"{Path(text).name}={text}" if text and not equals else "input.txt=./small.txt"
            raise NarthexError(
                f"{option} {shown(text)} is no NAME=PATH: the name that programs open, and what it"
                f" is on this computer, such as {like}",
                USAGE,
            )
        yield name, Path(arguments.file(option, path))


def _read(option: str, pairs: Iterator[tuple[str, Path]]) -> Iterator[tuple[str, Path]]:
    """Refuse a name that is given twice, and folders."""
    seen: set[str] = set()
    for name, path in pairs:
        if name in seen:
            raise NarthexError(f"{option} {name}={path}: '{name}' is given twice", USAGE)
        if path.is_dir():
            raise NarthexError(
                f"{option} {name}={path}: that is a folder; give it with --directory {name}={path}",
                USAGE,
            )
        seen.add(name)
        yield name, path


def _tree(name: str, path: Path, folders: list[str]) -> Iterator[tuple[str, Path]]:
    """Return the files below a folder with their names for programs, in a fixed order."""
    if not path.is_dir():
        what = "is no folder" if path.exists() else "does not exist"
        raise NarthexError(f"--directory {name}={path}: '{path}' {what}", USAGE)
    for folder, inner, contained in os.walk(path, followlinks=False):
        inner.sort()
        place = Path(folder).relative_to(path)
        folders.extend(_joined(name, place / each) for each in inner)
        for each in sorted(contained):
            yield _joined(name, place / each), Path(folder) / each


def _joined(name: str, inside: Path) -> str:
    return f"{name.rstrip('/')}/{inside.as_posix()}"


def _given(what: str, file: Path) -> dict[str, str]:
    return {"file": str(file), "bytes": files.read(file, what, LARGEST_BYTES).hex()}
