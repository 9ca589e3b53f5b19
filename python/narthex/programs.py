"""Finds the program to run, and compiles it where it is still source.

PROGRAM on the command line is one of three things: the name of a program that
comes with Narthex (a folder of `guest/programs`), a C or C++ file, or an ELF
file. A bare word is first looked for among the programs that come with
Narthex; `./word` is always a file.
"""

from dataclasses import dataclass, field
from pathlib import Path

from narthex import assets
from narthex.errors import NarthexError, unknown

SOURCE_SUFFIXES = {".c", ".cc", ".cpp", ".cxx"}


@dataclass
class Program:
    """A program that can be run: an ELF file, or sources that become one."""

    name: str
    sources: list[Path] = field(default_factory=list)
    """What to compile; nothing for a program that is an ELF file already."""
    file: Path | None = None
    """The ELF file; for sources, once they are compiled."""

    def elf(self) -> bytes:
        """Return the ELF file's bytes; compiles the sources the first time."""
        if self.file is None:
            from narthex.compiler import compile_cached

            self.file = compile_cached(self.sources)
        try:
            return self.file.read_bytes()
        except OSError as error:
            raise NarthexError(f"cannot read program '{self.file}': {error.strerror}") from error


def shipped() -> dict[str, list[Path]]:
    """Return the programs that come with Narthex: the sources of each, by name."""
    found = {}
    for folder in sorted((assets.GUEST / "programs").iterdir()):
        sources = _sources(folder) if folder.is_dir() else []
        if sources:
            found[folder.name] = sources
    return found


def find(program: str) -> Program:
    """Find a program by its name or its path."""
    known = {name.casefold(): name for name in shipped()}
    if program.casefold() in known:
        name = known[program.casefold()]
        return Program(name, sources=shipped()[name])
    path = Path(program)
    if path.is_dir():
        raise NarthexError(f"program '{program}' is a folder; name a file in it")
    if not path.exists():
        if path.suffix in SOURCE_SUFFIXES or len(path.parts) > 1:
            raise NarthexError(f"program '{program}' does not exist")
        raise unknown("program", program, known.values())
    if path.suffix in SOURCE_SUFFIXES:
        return Program(path.stem, sources=[path])
    return Program(path.name, file=path)


def summary(name: str) -> str:
    """Return the first sentence of the comment that opens a shipped program."""
    (main, *_) = shipped()[name]
    opening = main.read_text(encoding="utf-8").partition("*/")[0].lstrip("/* \n")
    paragraph = opening.split("\n *\n")[0].replace("\n * ", " ").strip()
    return paragraph.partition(". ")[0].rstrip(".")


def _sources(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.suffix in SOURCE_SUFFIXES)
