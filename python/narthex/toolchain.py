"""Finds the compiler for guests, and runs it.

It is PyPI's `ziglang`, which the extra `compiler` brings: it needs no root and has C and C++
libraries (musl, libc++) with it. The environment's `NARTHEX_CC` names another one, for example
`riscv64-linux-gnu-gcc`. `CC` does as well if what it names compiles for RISC-V; most CCs, which
conda and the modules of a cluster set, are for the host, and are left alone.

The cache folder is `$NARTHEX_CACHE`, or `narthex` in `$XDG_CACHE_HOME`, or `~/.cache/narthex`.
Zig keeps its own cache in it: its first use compiles the C library.
"""

import importlib.metadata
import logging
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from narthex import extras, files
from narthex.errors import NOT_WRITTEN, Caution, NarthexError

log = logging.getLogger(__name__)

Progress = Callable[[str], object]
"""Called with one line of text when something slow begins."""

CXX_SUFFIXES = (".cc", ".cpp", ".cxx")

OWN_VARIABLE = "NARTHEX_CC"
"""Of the environment: names the compiler for guests."""

_TARGET = (
    "--target=riscv64-linux-musl",
    "-mcpu=generic_rv64+m+a+f+d+c",
    "-mabi=lp64d",
    # Other functions keep frame pointers, which lead from an error to its callers.
    "-momit-leaf-frame-pointer",
)
_FIRMWARE_TARGET = ("--target=riscv64-freestanding-none", "-mcpu=generic_rv64+m+a+c+zicsr")
"""Without floating point: an interrupt has fewer registers to save."""
_FIRMWARE_MACHINE = ("-march=rv64imac_zicsr", "-mabi=lp64")
"""The same for a compiler that the user names."""

REMEDY = (
    f"install the one that Narthex uses with `{extras.remedy('compiler')}`, or set "
    f"{OWN_VARIABLE} to a RISC-V compiler, for example {OWN_VARIABLE}=riscv64-linux-gnu-gcc"
)
"""What to do where there is no compiler that works."""


CACHE_REMEDY = "make room there, or set NARTHEX_CACHE to a folder that you may write to"
"""What to do where the cache folder takes nothing."""

_NO_ROOM = re.compile(
    "NoSpaceLeft|No space left|DiskQuota|[Qq]uota exceeded|ReadOnlyFileSystem|Read-only file system"
)
"""How compilers say that they cannot write."""


@dataclass(frozen=True)
class Compiler:
    """A C and C++ cross compiler: how it and its archiver are called."""

    c: tuple[str, ...]
    cxx: tuple[str, ...]
    archiver: tuple[str, ...]
    version: str
    firmware: tuple[str, ...] = ()
    """The C driver for processors without a system."""
    notice: str = field(default="", repr=False, compare=False)
    """What there is to say about the choice, where it is used."""

    @property
    def is_ziglang(self) -> bool:
        """Whether it is PyPI's, with C and C++ libraries alone."""
        return self.version.startswith("ziglang")

    def command(self, sources: Iterable[Path]) -> tuple[str, ...]:
        """Return the driver for the sources: C++ if one of them is."""
        return self.cxx if any(source.suffix in CXX_SUFFIXES for source in sources) else self.c


def cache_folder() -> Path:
    """Return the folder for compiled libraries and programs."""
    named, caches = os.environ.get("NARTHEX_CACHE"), os.environ.get("XDG_CACHE_HOME")
    try:
        if named:
            return Path(named).expanduser()
        # The specification of XDG_CACHE_HOME has relative paths ignored.
        if caches and Path(caches).is_absolute():
            return Path(caches) / "narthex"
        return Path.home() / ".cache" / "narthex"
    except RuntimeError as error:
        place = f"the environment's NARTHEX_CACHE is '{named}'" if named else "there is no HOME"
        raise NarthexError(f"{place}: {error} Set NARTHEX_CACHE to a folder.") from error


@contextmanager
def cached(folder: Path) -> Iterator[None]:
    """Make a folder of the cache to be written to; what cannot be written there is told as that."""
    try:
        if cache_folder().is_dir() and not files.takes_files(cache_folder()):
            raise _not_cached("it is read-only")
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise _not_cached(error.strerror or str(error)) from error
    except NarthexError as error:
        if isinstance(error.__cause__, OSError) and error.exit_code == NOT_WRITTEN:
            raise _not_cached(error.__cause__.strerror or str(error)) from error
        raise


def _not_cached(why: str) -> NarthexError:
    return NarthexError(
        f"cannot write to the cache folder '{cache_folder()}': {why}; {CACHE_REMEDY}"
    )


def find_compiler(command: str | None = None) -> Compiler:
    """Return the compiler `command`, else that of NARTHEX_CC, of a fitting CC, else ziglang."""
    named, notice = _named(command)
    return named or _zig(notice)


def uses_ziglang(command: str | None = None) -> bool:
    """Tell whether no other compiler is named."""
    return _named(command)[0] is None


def _named(command: str | None) -> tuple[Compiler | None, str]:
    """Return the compiler that is named, if one is; else what there is to say about CC."""
    if command:
        return _named_compiler(_words("the compiler", command)), ""
    if own := os.environ.get(OWN_VARIABLE):
        words = _words(OWN_VARIABLE, own)
        if not _is_for_guests(machine := _machine_of(words)):
            raise NarthexError(
                f"{OWN_VARIABLE} is '{own}', which compiles for {machine}; guests are RISC-V "
                f"programs (riscv64-...). {REMEDY[0].upper()}{REMEDY[1:]}"
            )
        return _named_compiler(words), ""
    others = os.environ.get("CC", "").strip()
    if others and not _is_own(others):
        return _fitting(others)
    return None, ""


def _is_own(command: str) -> bool:
    """Tell whether a command is Narthex's own, as `narthex mpicc`, which asks for a compiler."""
    return any(os.path.basename(word) == "narthex" for word in command.split())


def _fitting(command: str) -> tuple[Compiler | None, str]:
    """Return the compiler that CC names if it is for RISC-V; else what there is to say."""
    try:
        machine = _machine_of(_words("CC", command))
    except NarthexError as error:
        machine = str(error).split(";")[0]
    else:
        if _is_for_guests(machine):
            return _named_compiler(shlex.split(command)), ""
        machine = f"it compiles for {machine}"
    notice = f"CC={command} is not used for guests ({machine}); {OWN_VARIABLE} names a compiler"
    return None, Caution(f"{notice} for them")


def _words(name: str, command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise NarthexError(f"{name} is '{command}': {error}; {REMEDY}") from error
    if not words:
        raise NarthexError(f"{name} is blank; {REMEDY}")
    return words


def _machine_of(words: Sequence[str]) -> str:
    """Return the processor and system that a compiler compiles for, as it tells them."""
    return run([*words, "-dumpmachine"], None).strip() or "an unknown processor"


def _is_for_guests(machine: str) -> bool:
    return machine.startswith("riscv64")


def _zig(notice: str = "") -> Compiler:
    try:
        version = importlib.metadata.version("ziglang")
    except importlib.metadata.PackageNotFoundError:
        told = f"{notice}; " if notice else ""
        raise NarthexError(
            f"{told}there is no compiler: the package ziglang is missing; {REMEDY}"
        ) from None
    zig = (sys.executable, "-m", "ziglang")
    return Compiler(
        (*zig, "cc", *_TARGET),
        (*zig, "c++", *_TARGET),
        (*zig, "ar"),
        f"ziglang {version}",
        (*zig, "cc", *_FIRMWARE_TARGET),
        notice,
    )


def _named_compiler(words: Sequence[str]) -> Compiler:
    """Return a compiler given by its command, such as `riscv64-linux-gnu-gcc -static`."""
    program, *flags = words
    version = run([program, "--version"], None)
    archiver = run([program, "-print-prog-name=ar"], None).strip() or "ar"
    flags = ["-fno-math-errno", *flags]
    c = (program, *flags)
    bare = (*c, *_FIRMWARE_MACHINE)
    return Compiler(c, (_cxx_beside(program), *flags), (archiver,), version, bare)


def _cxx_beside(program: str) -> str:
    """Return the C++ driver that belongs to a C driver, or `NARTHEX_CXX`."""
    if named := os.environ.get("NARTHEX_CXX"):
        return named
    folder, name = os.path.split(program)
    for c, cxx in (("gcc", "g++"), ("clang", "clang++")):
        if c in name and cxx not in name:
            return os.path.join(folder, name.replace(c, cxx, 1))
    return program


def run(command: Sequence[str], folder: Path | None, warn: Progress | None = None) -> str:
    """Run a compiler's command and return what it printed; its errors are the user's.

    `warn` hears what it says although it succeeds.
    """
    log.debug("%s", shlex.join(command))
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment(), capture_output=True, text=True,
            errors="replace", check=False,
        )  # fmt: skip
    except OSError as error:
        raise NarthexError(
            f"cannot run the compiler '{command[0]}' ({error.strerror}); {REMEDY}"
        ) from error
    if done.returncode != 0:
        raise _failed(command[0], (done.stderr or done.stdout).strip())
    if warn and (told := done.stderr.strip()):
        warn(Caution(f"the compiler says:\n{told}"))
    return done.stdout


def run_all(commands: Iterable[Sequence[str]], folder: Path | None) -> None:
    """Run commands of a compiler that do not need each other, one on each processor of the host."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for _ in pool.map(lambda command: run(command, folder), commands):
            pass


def environment() -> dict[str, str]:
    """Return the environment of a compiler: Zig's caches are in this package's."""
    zig_cache = str(cache_folder().absolute() / "zig")
    return os.environ | {"ZIG_GLOBAL_CACHE_DIR": zig_cache, "ZIG_LOCAL_CACHE_DIR": zig_cache}


def _failed(compiler: str, told: str) -> NarthexError:
    """Return the error of a compiler that has failed and told why."""
    from narthex import mpi

    line = next((line for line in told.splitlines() if _NO_ROOM.search(line)), None)
    if line is None:
        return NarthexError(
            "\n".join(part for part in (told, mpi.hint(told)) if part) or f"'{compiler}' failed"
        )
    return NarthexError(
        f"the compiler cannot write to the cache folder '{cache_folder()}', or to that of temporary"
        f" files, '{tempfile.gettempdir()}' ({line}); {CACHE_REMEDY}, or TMPDIR"
    )
