"""Builds guests for the host: machines of one node, the reference of the simulated ones."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from narthex.assets import GUEST


def host_compiler() -> list[str]:
    """Return `$CC_NATIVE`, else the host's `cc`, else the one of ziglang."""
    if named := os.environ.get("CC_NATIVE"):
        return shlex.split(named)
    return ["cc"] if shutil.which("cc") else [sys.executable, "-m", "ziglang", "cc"]


def build(sources: Sequence[Path], output: Path) -> Path:
    """Compile sources with the library to a program of the host; warnings are errors."""
    folders = ("runtime", "messaging", "shared_memory", "via", "voyager", "sarc", "mpi")
    library = [source for folder in folders for source in GUEST.glob(f"{folder}/*.c")]
    # Of the pragmas only clang knows the one that asks for exact operations, as the flag does.
    words = ["-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"]
    flags = [*words, f"-I{GUEST}", f"-I{GUEST / 'messaging'}", f"-I{GUEST / 'mpi/include'}"]
    command = [*host_compiler(), *flags, *sources, *library, "-lm", "-o", output]
    subprocess.run([str(word) for word in command], check=True)
    return output
