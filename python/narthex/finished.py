"""Finished runs, kept on disk, so that an experiment goes on where it was interrupted.

A run's key (`identity`) is the name of the file that keeps its document. Nothing
else decides what a run returns, so a kept document is the run. Files that
were not asked for in a month are deleted. (The package diskcache would evict by size, in a
database that parallel sweeps on a network's disk cannot share; here a run is a file.)
"""

import contextlib
import json
import logging
import os
import time
from pathlib import Path
from typing import Any

from narthex.documents import RUN, identify
from narthex.errors import NarthexError
from narthex.files import write_whole
from narthex.identity import machine_of, run_key
from narthex.packed import packed, unpacked
from narthex.programs import Program
from narthex.results import Result
from narthex.toolchain import cache_folder

log = logging.getLogger(__name__)

KEPT_S = 30 * 24 * 3600


class FinishedRuns:
    """The runs in the cache folder."""

    def __init__(self) -> None:
        self._folder = cache_folder() / "runs"
        self._forget_old()

    def find(self, request: dict[str, Any], program: Program) -> Result | None:
        """Return a finished run; a file that cannot be read is as good as none."""
        file = self._file(request, program)
        log.debug("%s%s", file, ": kept" if file.exists() else ": to be run")
        try:
            document = unpacked(file.read_bytes())
            os.utime(file)
            found = None if document is None else identify(document, str(file))
        except (OSError, NarthexError):
            return None
        return Result(found.document) if found is not None and found.kind == RUN else None

    def keep(self, request: dict[str, Any], program: Program, result: Result) -> None:
        """Keep a run; a folder that cannot be written keeps none, and no harm is done."""
        file = self._file(request, program)
        with contextlib.suppress(OSError):
            write_whole(file, packed(json.dumps(result.document)))

    def _file(self, request: dict[str, Any], program: Program) -> Path:
        return self._folder / f"{run_key(request, machine_of(request), program)}.json.gz"

    def _forget_old(self) -> None:
        with contextlib.suppress(OSError):
            for file in self._folder.iterdir():
                if file.stat().st_mtime < time.time() - KEPT_S:
                    file.unlink()
