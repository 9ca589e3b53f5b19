"""Files that appear whole or not at all, whatever happens meanwhile."""

import os
import tempfile
from pathlib import Path

UNFINISHED = ".unfinished"
"""How the name of a file ends that is being written."""


def write_whole(file: Path, data: bytes) -> None:
    """Write a file beside its place, wait until the disk has it, and move it there.

    Raises `OSError`; then the file is what it was.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        dir=file.parent, prefix=f"{file.name}.", suffix=UNFINISHED, delete=False
    ) as unfinished:
        try:
            unfinished.write(data)
            unfinished.flush()
            os.fsync(unfinished.fileno())
            os.replace(unfinished.name, file)
        except BaseException:
            Path(unfinished.name).unlink(missing_ok=True)
            raise
    _wait_for_name(file.parent)


def _wait_for_name(folder: Path) -> None:
    """Wait until the disk has a folder's names too."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
