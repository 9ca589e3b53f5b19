"""Finds the program to run, and compiles it where it is still source.

PROGRAM on the command line is one of three things: the name of a program that
comes with Narthex (a folder of `guest/programs`), a C or C++ file, or an ELF
file. A bare word is first looked for among the programs that come with
Narthex; `./word` is always a file.
"""

import hashlib
import os
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from narthex import _native, arguments, assets, compiler, drivers, files, toolchain
from narthex.errors import NarthexError, unknown
from narthex.guest_library import SOURCE_SUFFIXES

ELF_MAGIC = b"\x7fELF"

LARGEST_BYTES = 256 << 20
"""Of a program's file; what is larger was not meant."""


@dataclass
class Program:
    """A program that can be run."""

    name: str
    _make: Callable[[toolchain.Progress | None, str], bytes]
    """Makes it for an interface."""
    _elves: dict[str | None, bytes] = field(default_factory=dict)

    def elf(self, progress: toolchain.Progress | None = None, interface: str = "") -> bytes:
        """Return the ELF file's bytes; sources are compiled the first time.

        Few interfaces have drivers that not every program has (`drivers.driver_apart`): for
        them it is another file.
        """
        driver = drivers.driver_apart(interface)
        if driver not in self._elves:
            self._elves[driver] = self._make(progress, interface)
            _made[hashlib.sha256(self._elves[driver]).hexdigest()] = self
        return self._elves[driver]


_made: dict[str, Program] = {}
"""What has been made in this process, by the hashes of the ELF files."""


def with_hash(name: str, sha256: str, interface: str) -> Program | None:
    """Return the program whose ELF file for an interface has this hash.

    It is one that has run in this process, or one of this name that comes with Narthex; none if
    neither is the same.
    """
    if sha256 in _made:
        return _made[sha256]
    if name not in shipped():
        return None
    program = find(name)
    elf = program.elf(interface=interface)
    return program if hashlib.sha256(elf).hexdigest() == sha256 else None


def is_elf(file: Path) -> bool:
    """Tell whether a file is an ELF file, which is for the simulator or another machine."""
    with file.open("rb") as opened:
        return opened.read(len(ELF_MAGIC)) == ELF_MAGIC


def shipped() -> list[str]:
    """Return the names of the programs that come with Narthex, those for its own tests left out."""
    folder = assets.GUEST / "programs"
    return [name for name in compiler.program_names() if (folder / name).is_dir()]


def find(program: "str | arguments.Path | Program") -> Program:
    """Find a program by its name or its path; one that is found already is itself."""
    if isinstance(program, Program):
        return program
    program = arguments.file("program", program)
    known = {name.casefold(): name for name in compiler.program_names()}
    path = Path(program)
    if program.casefold() in known:
        name = known[program.casefold()]
        return Program(name, lambda progress, interface: _shipped(name, interface, progress))
    if os.path.isdir(path):
        raise NarthexError(f"program '{program}' is a folder; name a file in it")
    if not os.path.exists(path):
        raise _missing(program)
    if path.suffix in SOURCE_SUFFIXES:
        return Program(path.stem, lambda progress, interface: _compiled(path, interface, progress))
    return Program(path.name, lambda _progress, _interface: _checked(path))


def _missing(program: str) -> NarthexError:
    """Return what is wrong with a program that there is not: its source may be there."""
    path = Path(program)
    for suffix in SOURCE_SUFFIXES:
        if os.path.isfile(source := f"{program}{suffix}"):
            return NarthexError(
                f"program '{program}' does not exist, but its source does: run '{source}', which"
                f" compiles it, or make the program by 'narthex cc {source} -o {program}'"
            )
    if path.suffix in (*SOURCE_SUFFIXES, ".toml") or os.sep in program:
        return NarthexError(f"program '{program}' does not exist")
    return unknown("program", program, shipped(), "narthex list programs")


def _read(file: Path) -> bytes:
    return files.read(file, "a program", LARGEST_BYTES)


def _checked(file: Path) -> bytes:
    """Read the user's own ELF file; a refusal names its path, as the user gave it."""
    elf = _read(file)
    _native.check_program(str(file), elf)
    if not _calls_a_system(elf):
        raise NarthexError(
            f"'{file}' makes no system call: it is for a machine without a system (bare metal),"
            " could print nothing and never end. Programs are for Linux: link it with a C library,"
            " as 'narthex cc' does; code for an interface's own processor is --firmware"
        )
    return elf


ECALL = b"\x73\x00\x00\x00"
"""The instruction of a system call."""

LOADED, EXECUTABLE = 1, 1
"""Of a segment: its type, and the flag of those that hold code."""


def _calls_a_system(elf: bytes) -> bool:
    """Tell whether the code of an ELF file, which has been checked, holds a system call.

    Instructions stand at even addresses, and segments at even places of the file.
    """
    (table,) = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    for index in range(count):
        header = struct.unpack_from("<IIQQQQQQ", elf, table + index * size)
        kind, flags, begin, bytes_ = header[0], header[1], header[2], header[5]
        if kind == LOADED and flags & EXECUTABLE:
            found = elf.find(ECALL, begin, begin + bytes_)
            while found % 2 and found > 0:
                found = elf.find(ECALL, found + 1, begin + bytes_)
            if found >= 0:
                return True
    return False


def _shipped(name: str, interface: str, progress: toolchain.Progress | None) -> bytes:
    return _read(compiler.program_path(name, interface=interface, progress=progress))


def _compiled(source: Path, interface: str, progress: toolchain.Progress | None) -> bytes:
    """Compile the user's own source; the ELF file lives as long as the run."""
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch) / source.stem
        made = compiler.compile_program([source], output, interface=interface, progress=progress)
        return _read(made)


def summary(name: str) -> str:
    """Return the first sentence of the comment that opens a shipped program."""
    folder = assets.GUEST / "programs" / name
    sources = sorted(each for each in folder.iterdir() if each.suffix in SOURCE_SUFFIXES)
    main = next((each for each in sources if each.stem == name), sources[0])
    comment: list[str] = []
    for line in main.read_text(encoding="utf-8").splitlines():
        text = line.strip().removeprefix("/*").removeprefix("//").removeprefix("*").strip()
        if not text or not line.lstrip().startswith(("/*", "//", "*")):
            break
        comment.append(text.removesuffix("*/").strip())
    return " ".join(comment).partition(". ")[0].rstrip(".")
