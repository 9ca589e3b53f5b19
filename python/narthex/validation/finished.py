"""Finished runs, kept on disk, so that an experiment goes on where it was interrupted.

A run is a function of its request, the program's bytes, the resolved machine
and the simulator; a hash of all of them is the name of the file that keeps the
run's document. Nothing else decides what a run returns, so a kept document is
the run. Files that nobody has asked for in a month are deleted.
"""

import contextlib
import gzip
import hashlib
import json
import os
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from narthex import _native
from narthex.compiler import cache_folder
from narthex.programs import Program
from narthex.results import Result

KEPT_S = 30 * 24 * 3600


class FinishedRuns:
    """The runs in the cache folder."""

    def __init__(self) -> None:
        self._folder = cache_folder() / "runs"
        self._forget_old()

    def find(self, request: dict[str, Any], program: Program) -> Result | None:
        """Return a finished run; a file that cannot be read is as good as none."""
        file = self._file(request, program)
        try:
            document = json.loads(gzip.decompress(file.read_bytes()))
            os.utime(file)
        except (OSError, EOFError, ValueError):
            return None
        return Result(document)

    def keep(self, request: dict[str, Any], program: Program, result: Result) -> None:
        """Keep a run; a folder that cannot be written keeps none, and no harm is done."""
        file = self._file(request, program)
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as unfinished:
                unfinished.write(gzip.compress(json.dumps(result.document).encode()))
            os.replace(unfinished.name, file)

    def _file(self, request: dict[str, Any], program: Program) -> Path:
        machine = json.loads(_native.machine_show(request["machine"], request["set"], False))
        parts = [request, machine["machine"], _hash(program.elf()), _simulator()]
        return self._folder / f"{_hash(json.dumps(parts, sort_keys=True).encode())}.json.gz"

    def _forget_old(self) -> None:
        with contextlib.suppress(OSError):
            for file in self._folder.iterdir():
                if file.stat().st_mtime < time.time() - KEPT_S:
                    file.unlink()


@cache
def _simulator() -> str:
    """Identify the simulator by its own bytes: a version says too little while one develops it."""
    return _hash(Path(_native.__file__).read_bytes())


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
