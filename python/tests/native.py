"""Builds guests for the host: the reference of the simulated ones.

They run as one rank, or as many as NARTHEX_RANKS says (guest/messaging/driver_ranks.c).
"""

import functools
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from narthex.assets import GUEST
from narthex.toolchain import cache_folder, cached, run_all

FOLDERS = ("runtime", "messaging", "shared_memory", "via", "voyager", "sarc", "mpi", "shmem")
# Of the pragmas only clang knows the one that asks for exact operations, as the flag does.
WORDS = ["-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"]
INCLUDES = (GUEST, GUEST / "messaging", GUEST / "mpi" / "include", GUEST / "shmem" / "include")
FLAGS = [*WORDS, *(f"-I{folder}" for folder in INCLUDES)]


def host_compiler() -> list[str]:
    """Return `$CC_NATIVE`, else the host's `cc`, else the one of ziglang."""
    if named := os.environ.get("CC_NATIVE"):
        return shlex.split(named)
    return ["cc"] if shutil.which("cc") else [sys.executable, "-m", "ziglang", "cc"]


def archiver() -> list[str]:
    return ["ar"] if shutil.which("ar") else [sys.executable, "-m", "ziglang", "ar"]


@functools.cache
def library() -> Path:
    """Return the library as an archive, compiled once for its sources and the compiler."""
    sources = sorted(source for folder in FOLDERS for source in GUEST.glob(f"{folder}/*.c"))
    digest = hashlib.sha256(repr((host_compiler(), FLAGS)).encode())
    for path in [*sources, *sorted(GUEST.rglob("*.h")), *sorted(GUEST.rglob("*.def"))]:
        digest.update(path.read_bytes())
    archive = cache_folder() / "native" / digest.hexdigest()[:24] / "libnarthex.a"
    if archive.exists():
        return archive
    with cached(archive.parent), tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
        objects = [str(Path(scratch) / f"{each.parent.name}-{each.stem}.o") for each in sources]
        command = [*host_compiler(), *FLAGS, "-c"]
        run_all(
            ([*command, str(source), "-o", target]
             for source, target in zip(sources, objects, strict=True)),
            None,
        )  # fmt: skip
        _run([*archiver(), "qcs", Path(scratch) / archive.name, *objects])
        (Path(scratch) / archive.name).replace(archive)
    return archive


def build(sources: Sequence[Path], output: Path) -> Path:
    """Compile sources with the library to a program of the host; warnings are errors."""
    _run([*host_compiler(), *FLAGS, *sources, library(), "-lm", "-o", output])
    return output


def run(
    program: Path, *arguments: object, ranks: int = 1, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program that was built so, with these variables alone."""
    return subprocess.run(
        [str(program), *map(str, arguments)],
        env={"NARTHEX_RANKS": str(ranks), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _run(command: Sequence[object]) -> None:
    subprocess.run([str(word) for word in command], check=True)
