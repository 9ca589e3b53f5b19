"""MPI for guests: the compiler wrappers `narthex mpicc` and `mpicxx`, and the functions there are.

A wrapper hands its arguments to the cross compiler as they are, in front of them the flags of
guests and, where it links, behind them the library, so that it stands wherever a build expects
`mpicc`.
What a program calls that is not there is an error of the compiler or the linker, to which `hint`
adds what there is instead.
"""

import difflib
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from narthex import compiler, toolchain
from narthex.assets import GUEST
from narthex.compiler import Flags
from narthex.drivers import MOST_INTERFACES
from narthex.errors import NarthexError
from narthex.toolchain import Progress

HEADER = GUEST / "mpi" / "include" / "mpi.h"

_SECTION = re.compile(r"^/\* (\w[^.*]*?) \*/\n\n", re.MULTILINE)
"""A heading of declarations: a comment that is no sentence, with a blank line behind it."""

_DECLARED = re.compile(r"NARTHEX_MPI\((?:int|double|MPI_Aint), (\w+),")

_NO_LINK = ("-c", "-S", "-E", "-M", "-MM", "-fsyntax-only")
"""Flags that end a compilation before the link."""

_QUESTIONS = ("--version", "-v", "-dumpmachine", "-dumpversion", "--help")
"""Flags that ask the compiler something; the same of those that begin with -print-."""

_SHOWS = ("-show", "--show", "-show_info", "-compile_info", "-link_info")
"""Flags by which wrappers print their command: all of it, or one half."""

_JOINED = ("-o", "-x", "-include", "-isystem", "-idirafter", "-iquote", "-MF", "-MT", "-MQ",
           "-Xlinker", "-Xpreprocessor", "-D", "-U", "-I", "-L", "-l", "-T", "-z")  # fmt: skip
"""Flags whose value is the next word."""

_MISSING = re.compile(
    r"(?:undefined symbol: |undefined reference to [`']|undeclared function '|"
    r"implicit declaration of function ['`\u2018]|unresolved external symbol )P?(MPI_\w+)"
)
_OPEN_MPI = re.compile(r"undefined (?:symbol: |reference to [`'])(ompi_mpi_\w+)")


def functions() -> list[str]:
    """Return the names of the functions that there are, as the header declares them."""
    return [name for names in sections().values() for name in names]


def sections() -> dict[str, list[str]]:
    """Return the names of the functions by the header's headings."""
    _, *parts = _SECTION.split(HEADER.read_text(encoding="utf-8"))
    found = {
        " ".join(heading.split()).replace(" * ", " "): [
            f"MPI_{name}" for name in _DECLARED.findall(text)
        ]
        for heading, text in zip(parts[::2], parts[1::2], strict=True)
    }
    return {heading: names for heading, names in found.items() if names}


def hint(told: str) -> str:
    """Return what there is to say about a compiler's errors that are about MPI; may be empty."""
    lines = [_missing(name) for name in dict.fromkeys(_MISSING.findall(told))]
    if found := _OPEN_MPI.search(told):
        lines.append(
            f"narthex: '{found[1]}' is of Open MPI's own mpi.h: compile all of the program with the"
            " mpi.h that narthex mpicc has"
        )
    return "\n".join(line for line in lines if line)


def _missing(name: str) -> str:
    known = functions()
    if name in known:
        return ""
    near = difflib.get_close_matches(name, known, 1)
    nearest = f"; the nearest that is there is {near[0]}" if near else ""
    return f"narthex: {name} is not in Narthex's MPI{nearest} (docs/mpi.md has the table)"


class _Words:
    """The words of a wrapper's command line."""

    def __init__(self, words: Sequence[str]) -> None:
        self.passed: list[str] = []
        """Those that the compiler gets."""
        self.shows = ""
        """One of `_SHOWS`, if it is given."""
        for word in words:
            if word in _SHOWS:
                self.shows = word
            else:
                self.passed.append(word)

    @property
    def has_inputs(self) -> bool:
        """Whether there is a file to be compiled or linked."""
        before = ["", *self.passed]
        return any(
            not word.startswith("-") and last not in _JOINED
            for last, word in zip(before, self.passed, strict=False)
        )

    @property
    def links(self) -> bool:
        """Whether a program is made."""
        return self.has_inputs and not any(word in _NO_LINK for word in self.passed)

    @property
    def asks(self) -> bool:
        """Whether the compiler is only asked something."""
        is_question = any(word in _QUESTIONS or word.startswith("-print-") for word in self.passed)
        return is_question and not self.has_inputs

    @property
    def output(self) -> Path:
        """Where a program goes."""
        for word, following in zip(self.passed, [*self.passed[1:], ""], strict=True):
            if word == "-o":
                return Path(following)
            if word.startswith("-o"):
                return Path(word[2:])
        return Path("a.out")


def wrap(
    arguments: Sequence[str],
    *,
    cxx: bool,
    interface: str = MOST_INTERFACES,
    progress: Progress | None = None,
) -> int:
    """Compile as `mpicc` does, or as `mpicxx`; return the compiler's exit code.

    With an `interface` that has a driver apart, the program is linked for that alone.
    """
    words = _Words(arguments)
    flags = compiler.guest_flags(interface, progress)
    driver = flags.cxx if cxx else flags.c
    if words.shows:
        print(shlex.join(_shown(words, driver, flags)))
        return 0
    if words.asks:
        return _call([*driver, *words.passed])
    command = [*driver, *flags.compile]
    if not words.links:
        return _call([*command, *words.passed])
    whole = [*command, *flags.link, *words.passed, *flags.libraries]
    code = _call(whole)
    if code == 0 and compiler.starts_threads(words.output):
        code = _call([*whole, *flags.threads])
    return code


def _shown(words: _Words, driver: Sequence[str], flags: Flags) -> list[str]:
    if words.shows == "-compile_info":
        return [*driver, *flags.compile, *words.passed]
    if words.shows == "-link_info":
        return [*driver, *flags.link, *words.passed, *flags.libraries]
    if words.has_inputs and not words.links:
        return [*driver, *flags.compile, *words.passed]
    return [*driver, *flags.compile, *flags.link, *words.passed, *flags.libraries]


def _call(command: Sequence[str]) -> int:
    """Run a compiler's command; its output is the user's, to which errors of MPI get a hint."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as told:
        try:
            done = subprocess.run(command, stderr=told, env=toolchain.environment(), check=False)
        except OSError as error:
            raise NarthexError(
                f"cannot run the compiler '{command[0]}' ({error.strerror}); {toolchain.REMEDY}"
            ) from error
        told.seek(0)
        text = told.read()
    sys.stderr.write(text)
    if done.returncode != 0 and (more := hint(text)):
        sys.stderr.write(f"{more}\n")
    return done.returncode
