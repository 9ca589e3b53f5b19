"""A design as RTLIL, the form in which yosys reads and writes it.

Amaranth writes RTLIL by itself; Verilog is read by yosys, which refuses what is no hardware that
we measure: a missing module, a latch, a combinational loop. Where a design's text stands in its
files says nothing about its cost: such attributes are taken out, so that the same design has the
same hash wherever it lies.
"""

import inspect
import os
import re
import runpy
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from narthex import files
from narthex.errors import NarthexError, unknown
from narthex.synthesis import tools

if TYPE_CHECKING:
    from narthex.extras import amaranth

VERILOG = (".v", ".sv")
SUFFIXES = (*VERILOG, ".py", ".il")

LARGEST_SOURCE_BYTES = 16 << 20

_PLACE = re.compile(r"^\s*attribute \\src .*\n", re.MULTILINE)
_PORT = re.compile(
    r"^  wire (?:width (\d+) )?(?:\w+ )*?(input|output|inout) \d+ +\\(\S+)", re.MULTILINE
)
_MODULE = re.compile(r"^module \\(\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Port:
    """A port of a design's top module."""

    name: str
    width: int
    is_input: bool


@dataclass(frozen=True)
class Design:
    """A design that can be synthesised."""

    name: str
    rtlil: str
    """Its text."""
    top: str
    """The module that holds all others."""

    @property
    def ports(self) -> list[Port]:
        """The ports of its top module."""
        begin = self.rtlil.index(f"module \\{self.top}\n")
        text = self.rtlil[begin : self.rtlil.index("\nend\n", begin)]
        return [
            Port(name, int(width or 1), direction == "input")
            for width, direction, name in _PORT.findall(text)
        ]


def of_component(name: str, component: "amaranth.hdl.Elaboratable") -> Design:
    """Return an Amaranth component as a design; its submodules' names are those of its blocks."""
    from amaranth.back import rtlil

    top = re.sub(r"\W", "_", name)
    return Design(name, _PLACE.sub("", rtlil.convert(component, name=top)), top)


def of_file(file: Path, top: str | None = None) -> Design:
    """Read a design of the user's: Verilog (.v, .sv), Amaranth (.py) or RTLIL (.il).

    `top` names the module of Verilog that holds all others, or the class or function in Python
    that makes the component; without it Verilog's is found, and Python's is called `top`. Raises
    `NarthexError` with file and line for what is wrong.
    """
    tools.require()
    if file.suffix not in SUFFIXES:
        raise NarthexError(f"'{file}': a design is a file {', '.join(SUFFIXES)}")
    files.read(file, "a design", LARGEST_SOURCE_BYTES)
    if file.suffix == ".py":
        return _of_python(file, top or "top")
    return _of_yosys(file.resolve(), top)


def _of_yosys(file: Path, top: str | None) -> Design:
    read = f"read_verilog -sv {file.name}" if file.suffix in VERILOG else f"read_rtlil {file.name}"
    with tempfile.TemporaryDirectory(prefix="narthex-") as scratch:
        made = Path(scratch) / "design.il"
        # A WebAssembly program has a /tmp of its own: only relative names lead to ours.
        written = os.path.relpath(made, file.parent)
        chosen = f"-top {top}" if top else "-auto-top"
        script = f"{read}; hierarchy -check {chosen}; proc; write_rtlil {written}; check -assert"
        try:
            tools.yosys(script, file.parent, made)
        except NarthexError as error:
            raise NarthexError(f"'{file}': {error}") from None
        text = made.read_text(encoding="utf-8")
    _refuse_latches(text, file)
    found = re.search(r"attribute \\top 1\n(?:\s*attribute .*\n)*module \\(\S+)", text)
    modules = _MODULE.findall(text)
    name = found[1] if found else modules[-1]
    return Design(file.stem, _PLACE.sub("", text), name)


def _refuse_latches(text: str, file: Path) -> None:
    """Refuse a latch: one is most often a case that an `always` block forgot."""
    found = re.search(r'(?:attribute \\src "([^"]*)"\n\s*)?cell \$_?dlatch', text, re.IGNORECASE)
    if found:
        place = found[1] or str(file)
        raise NarthexError(
            f"'{file}': {place} is a latch: give the signal a value in every case of its block"
        )


def _of_python(file: Path, top: str) -> Design:
    from amaranth.lib import wiring

    try:
        names = runpy.run_path(str(file))
    except Exception as error:  # the user's code may raise anything
        raise NarthexError(f"'{file}'{_line(error, file)}: {_told(error)}") from None
    if not callable(names.get(top)):
        its_own = [name for name, each in names.items() if _is_made_in_it(each)]
        raise unknown(f"class or function of a design in '{file}'", top, its_own)
    try:
        component = names[top]()
        if not isinstance(component, wiring.Component):
            raise TypeError(f"{top}() makes no amaranth.lib.wiring.Component, which has ports")
        return of_component(file.stem, component)
    except Exception as error:
        raise NarthexError(f"'{file}'{_line(error, file)}: {_told(error)}") from None


def _is_made_in_it(each: object) -> bool:
    """Tell whether a file's name is of a class or function that it defines."""
    kinds = inspect.isclass(each) or inspect.isfunction(each)
    return kinds and getattr(each, "__module__", "") == "<run_path>"


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _line(error: Exception, file: Path) -> str:
    """Return the last line of the user's file that an error came through."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    frames: list[tuple[FrameType, int]] = list(traceback.walk_tb(error.__traceback__))
    lines = [number for frame, number in frames if frame.f_code.co_filename == str(file)]
    return f", line {lines[-1]}" if lines else ""
