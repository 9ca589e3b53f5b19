"""The JSON file of a bench: measures, and what they were measured on."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.building import ROOT
from benchmarks.measure import Measure
from narthex import _native
from narthex.errors import NarthexError

SCHEMA = 1


@dataclass(frozen=True)
class Document:
    """What a bench has measured."""

    measures: list[Measure]
    left_out: dict[str, str] = field(default_factory=dict)
    """Steps that were not measured, and why."""
    quick: bool = False
    version: str = ""
    revision: str = ""
    date: str = ""
    host: dict[str, Any] = field(default_factory=dict)
    schema: int = SCHEMA


def of_this_machine(
    measures: Sequence[Measure], left_out: Mapping[str, str], *, quick: bool
) -> Document:
    """Return the document of what was measured here and now."""
    return Document(
        measures=list(measures),
        left_out=dict(left_out),
        quick=quick,
        version=_native.__version__,
        revision=revision(),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        host=host(),
    )


def host() -> dict[str, Any]:
    """Say what machine this is."""
    return {
        "processor": _field(Path("/proc/cpuinfo"), "model name") or platform.processor(),
        "cores": os.cpu_count() or 1,
        "memory": _field(Path("/proc/meminfo"), "MemTotal"),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _field(file: Path, name: str) -> str:
    """Return what a file of `name: value` lines has under a name, first of all."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    pairs = (line.partition(":") for line in lines)
    return next((value.strip() for key, _, value in pairs if key.strip() == name), "")


def revision() -> str:
    """Return the revision of the sources, with a plus sign if they have been changed since."""
    command = ["git", "describe", "--always", "--dirty=+", "--abbrev=12"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def to_json(document: Document) -> dict[str, Any]:
    """Return the document as JSON has it."""
    return asdict(document)


def read(file: Path) -> Document:
    """Read the document of an earlier bench."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise NarthexError(f"cannot read '{file}': {error.strerror}") from error
    try:
        found = json.loads(text)
    except ValueError as error:
        raise NarthexError(f"'{file}' is not JSON: {error}") from error
    if not isinstance(found, dict) or "measures" not in found:
        raise NarthexError(f"'{file}' is no result of `make bench`: it has no measures")
    if found.get("schema") != SCHEMA:
        raise NarthexError(
            f"'{file}' has schema {found.get('schema')}; this bench compares with schema {SCHEMA}: "
            "measure that revision again with its own `make bench`, or compare by hand"
        )
    try:
        measures = [Measure(**measure) for measure in found.pop("measures")]
        return Document(measures, **_known(found))
    except (TypeError, AttributeError) as error:
        raise NarthexError(f"'{file}' is a damaged result of `make bench`: {error}") from error


def _known(found: dict[str, Any]) -> dict[str, Any]:
    names = {each.name for each in fields(Document)}
    if unknown := found.keys() - names:
        raise TypeError(f"unknown {', '.join(sorted(unknown))}")
    return found
