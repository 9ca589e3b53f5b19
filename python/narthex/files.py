"""Files that users name: read within a limit, written whole or not at all.

    what is there            to write                                   to read
    nothing, a file          beside it, then renamed over it            up to a limit
    a link                   what it leads to; the link stays           the same
    a pipe, a device         into it: a renaming would replace it       pipes alone
    a folder, a socket       refused                                    refused

A name of an open file of this process (`/dev/stdout`, `/dev/fd/3`) is written
into, whatever is behind it. So is a file in a folder in which none can be made.

A file that is being written is locked. The system unlocks that of a writer that was killed, and
who writes the same file next deletes it.
"""

import fcntl
import glob
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from narthex.errors import NOT_WRITTEN, USAGE, NarthexError

UNFINISHED = ".unfinished"
"""How the name of a file ends that is being written."""

_LONGEST_PREFIX = 200
"""Bytes of a file's name in that of its unfinished one; file systems allow 255 in all."""

_CHUNK_BYTES = 1 << 20

_KINDS: dict[str, Callable[[int], bool]] = {
    "a folder": stat.S_ISDIR,
    "a socket": stat.S_ISSOCK,
    "a device": lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode),
    "a pipe": stat.S_ISFIFO,
    "a file": stat.S_ISREG,
}


def read(file: Path, what: str, most_bytes: int) -> bytes:
    """Read a file or a pipe, which is to be `what`.

    Raises `NarthexError` for anything else, and for more than `most_bytes`.
    """
    with _named("read", file):
        found = file.stat()
        kind = _kind(found.st_mode)
        if kind not in ("a file", "a pipe"):
            raise NarthexError(f"'{file}' is {kind}, and cannot be {what}")
        data, size = bytearray(), found.st_size
        with file.open("rb") as opened:
            while size <= most_bytes and (chunk := opened.read(_CHUNK_BYTES)):
                data += chunk
                size = len(data)
    if size > most_bytes:
        raise NarthexError(f"'{file}' is too large for {what}: more than {_size(most_bytes)}")
    return bytes(data)


def write(file: Path, data: bytes, mode: int = 0o666) -> None:
    """Write a file as `write_whole` does; raises `NarthexError` that names it, of the `OSError`."""
    with _named("write", file, NOT_WRITTEN):
        write_whole(file, data, mode)


def write_whole(file: Path, data: bytes, mode: int = 0o666) -> None:
    """Write a file beside its place, wait until the disk has it, and move it there.

    A new file has the `mode` that the process's mask leaves of it, a replaced
    one that of the former. What is no file is written into. Raises `OSError`;
    then a file is what it was.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    if not _is_replaced(file):
        with file.open("wb") as opened:
            opened.write(data)
        return
    place = Path(os.path.realpath(file))
    prefix = os.fsdecode(os.fsencode(place.name)[:_LONGEST_PREFIX])
    for left in place.parent.glob(f"{glob.escape(prefix)}.????????{UNFINISHED}"):
        _delete_if_left(left)
    handle, unfinished = _begun(place.with_name(prefix), mode)
    try:
        with open(handle, "wb") as opened:
            _take_after(place, opened)
            opened.write(data)
            opened.flush()
            os.fsync(handle)
        os.replace(unfinished, place)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    _wait_for_name(place.parent)


def _begun(place: Path, mode: int) -> tuple[int, Path]:
    """Make a new file beside a place, and lock it; returns its handle and its name."""
    while True:
        unfinished = place.with_name(f"{place.name}.{os.urandom(4).hex()}{UNFINISHED}")
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with suppress(OSError):  # not every file system has locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if unfinished.exists():
            return handle, unfinished
        os.close(handle)  # another writer has taken it for one that was left, before the lock


def _delete_if_left(unfinished: Path) -> None:
    """Delete a file that was being written, if its writer is dead: it is not locked."""
    with suppress(OSError), unfinished.open("rb") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        unfinished.unlink()


def check_writable(file: Path, remedy: str) -> None:
    """Refuse a place that cannot be written, without touching it; `remedy` ends the message."""
    with _named("write", file):
        kind = _kind_of(file)
    folder = (Path(os.path.realpath(file)) if file.is_symlink() else file).parent
    if kind in ("a folder", "a socket"):
        raise NarthexError(f"'{file}' is {kind}; {remedy}")
    if not folder.is_dir() and not _is_of_process(file):
        raise NarthexError(f"the folder '{folder}' does not exist; {remedy}")
    if kind is None and not takes_files(folder):
        raise NarthexError(f"cannot write '{file}': '{folder}' is read-only; {remedy}")
    if kind is not None and not os.access(file, os.W_OK):
        raise NarthexError(f"cannot write '{file}': it is read-only; {remedy}")


def is_pipe(file: Path) -> bool:
    """Tell whether a name is that of a pipe."""
    with suppress(OSError, ValueError):
        return _kind_of(file) == "a pipe"
    return False


@contextmanager
def _named(done: str, file: Path, exit_code: int = USAGE) -> Iterator[None]:
    """Name the file in what goes wrong with it."""
    try:
        yield
    except OSError as error:
        raise NarthexError(f"cannot {done} '{file}': {error.strerror}", exit_code) from error
    except ValueError as error:  # a zero byte in its name
        raise NarthexError(f"cannot {done} {str(file)!r}: {error}", exit_code) from error


def _is_replaced(file: Path) -> bool:
    """Tell whether a file is renamed into its place."""
    if _kind_of(file) not in (None, "a file") or _is_of_process(file):
        return False
    return not os.path.exists(file) or takes_files(Path(os.path.realpath(file)).parent)


def takes_files(folder: Path) -> bool:
    """Tell whether a file can be made in a folder; its mode binds the superuser too, by intent."""
    return os.access(folder, os.W_OK) and bool(folder.stat().st_mode & 0o222)


def _is_of_process(file: Path) -> bool:
    """Tell whether a name, or a link that it leads through, is of an open file of a process."""
    for _ in range(40):  # as many links as Linux follows
        if Path(os.path.realpath(file.parent)).match("/proc/*/fd"):
            return True
        if not file.is_symlink():
            return False
        file = file.parent / file.readlink()
    return False


def _kind_of(file: Path) -> str | None:
    """Say what a name leads to, if there is something."""
    try:
        return _kind(file.stat().st_mode)
    except FileNotFoundError:
        return None


def _kind(mode: int) -> str:
    return next((kind for kind, is_one in _KINDS.items() if is_one(mode)), "no file")


def _take_after(former: Path, opened: BinaryIO) -> None:
    """Give a new file the mode and, as far as that is allowed, the owner of the former one."""
    with suppress(OSError):
        found = former.stat()
        os.fchmod(opened.fileno(), stat.S_IMODE(found.st_mode))
        os.fchown(opened.fileno(), found.st_uid, found.st_gid)


def _wait_for_name(folder: Path) -> None:
    """Wait until the disk has a folder's names too."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _size(limit_bytes: int) -> str:
    mebibytes = limit_bytes >> 20
    return f"{mebibytes >> 10} GiB" if mebibytes >= 1 << 10 else f"{mebibytes} MiB"
