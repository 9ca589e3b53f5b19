"""Finds the hardware that an interface's name asks for, and has it compiled.

`NI2w@rtl` is hardware that comes with Narthex, in the place of the model NI2w, and `SARC@rtl` that
of a chip's tiles; `NI2w@./mine` is that of a folder, which has a description, `design.toml`, or
that of another description, `NI2w@./mine/other.toml`:

    top = "ni"                # the module, or in Python the class, that has the ports
    sources = ["ni.v"]        # Verilog, RTLIL, or Amaranth (.py); .vh and .svh are only included
    clock = "250MHz"

    [parameters]              # of the top module, if it has any
    DEPTH = 8

`NI2w@./mine.v` is a single file: its only module, or that with its name, with the clock that a line
`// clock: 250MHz` of it states.

What a design is takes part in the name of a run's result: the hash of its sources, parameters and
clock.
"""

import difflib
import json
import re
import runpy
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narthex import _native, arguments, files, strict
from narthex.cosimulation import tiles
from narthex.cosimulation import waves as views
from narthex.cosimulation.build import Built, Design, Port, build, require
from narthex.errors import USAGE, NarthexError, unknown
from narthex.toolchain import Progress

SHIPPED = Path(__file__).parent.parent / "hardware"
"""The hardware that comes with Narthex: a folder for each design, or a description of its name."""

DESCRIPTION = "design.toml"

INCLUDED = (".vh", ".svh", ".mem", ".hex")
"""What sources include or load; it is no module."""
MODULES = (".v", ".sv", ".il", ".py")
"""What has modules."""
SUFFIXES = (*MODULES, *INCLUDED)

LARGEST_SOURCE_BYTES = 16 << 20

_IN_TILES = re.compile(r"SARC(\+\w+)*", re.IGNORECASE)
"""The models whose hardware is that of a chip's tiles."""

_CLOCK = re.compile(r"^\s*(?://|#)\s*clock:\s*(\S+)\s*$", re.MULTILINE)

_CHOICE = re.compile(
    r"(?P<model>[^@]+)@(?P<hardware>.+?)(?P<place>\s+on\s+[\w-]+\s*)?", re.IGNORECASE
)


@dataclass(frozen=True)
class Description:
    """What a design's description says."""

    top: str
    sources: list[str]
    clock: str


def hardware_of(interface: str) -> tuple[str, str] | None:
    """Return the model and the hardware in its place that a choice of an interface names, if any.

    Hardware is `rtl`, or a path with a slash or a dot in front; the simulator reads it alike
    (interfaces/src/attachment.rs).
    """
    found = _CHOICE.fullmatch(interface.strip())
    if found is None:
        return None
    hardware = found["hardware"].strip()
    is_hardware = hardware.casefold() == "rtl" or "/" in hardware or hardware.startswith(".")
    return (found["model"].strip(), hardware) if is_hardware else None


def request(
    interface: str,
    *,
    waves: str | Path | None = None,
    waves_node: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any] | None:
    """Describe the hardware of a run, compiled, as the simulator reads it; none for a model.

    Raises `NarthexError` for hardware that cannot be found, compiled or connected.
    """
    asked = hardware_of(interface)
    if asked is None:
        _refuse_waves(interface, waves, waves_node)
        return None
    model, hardware = asked
    name = f"{model}@{hardware}"
    if _IN_TILES.fullmatch(model):
        compiled, built = _tiles(model, hardware, progress)
    else:
        compiled, built = _compiled(model, hardware, name, progress)
    file = None if waves is None else arguments.file("waves", waves)
    node = 0 if waves_node is None else waves_node
    if file is not None:
        _write_view(file, node, compiled, built)
    return {"name": name, **compiled, "waves": file, "waves_node": node}


def _write_view(file: str, node: int, compiled: dict[str, Any], built: Built) -> None:
    """Write what of the waves is worth seeing first, beside their file."""
    if tile := compiled.get("tile"):
        parts = [f"tile_{number}" for number in range(tile["sizes"]["tiles"])]
        views.write_view(
            file, [f"node_{node}.{part}" for part in parts], views.OF_TILE, built.ports
        )
    else:
        has_bus = any(port.name == "bus_valid" for port in built.ports)
        groups = (*views.OF_FIFO, *views.OF_BUS) if has_bus else views.OF_FIFO
        views.write_view(file, [f"node_{node}.process_0"], groups, built.ports)


def _tiles(model: str, hardware: str, progress: Progress | None) -> tuple[dict[str, Any], Built]:
    """Compile the tiles of a chip; returns where they are and what they are."""
    if hardware.casefold() != "rtl":
        raise NarthexError(
            f"'{hardware}' cannot stand in the place of {model}, which has a part in each tile:"
            " hardware of your own stands in the place of an NI_i w, as NI2w@./FOLDER; SARC@rtl"
            " comes with Narthex"
        )
    return tiles.request(progress)


def _compiled(
    model: str, hardware: str, name: str, progress: Progress | None
) -> tuple[dict[str, Any], Built]:
    """Compile hardware; returns where it is and what it is."""
    is_shipped = hardware.casefold() == "rtl"
    given = _shipped(model) if is_shipped else _given(hardware)
    require()
    is_source = given.is_file() and given.suffix in MODULES
    clock, design = _file(given, name) if is_source else load(given, name)
    built = build(design, progress, lambda found: check_ports(design, found))
    return {"library": str(built.library), "sha256": design.sha256, "clock": clock}, built


def _refuse_waves(interface: str, waves: str | Path | None, node: int | None) -> None:
    if waves is not None:
        raise NarthexError(
            f"waves are those of hardware in a model's place, such as NI2w@rtl; '{interface}' is a"
            " model: --trace FILE.vcd writes its timeline",
            USAGE,
        )
    if node is not None:
        raise NarthexError("a node of waves is named, and no file for them; add --waves", USAGE)


def _shipped(model: str) -> Path:
    known = {
        each.parent.name if each.name == DESCRIPTION else each.stem: each
        for each in SHIPPED.glob("*/*.toml")
    }
    description = known.get(model.casefold())
    if description is None:
        there = ", ".join(f"{name}@rtl" for name in [*sorted(known), "sarc"])
        raise NarthexError(
            f"no hardware comes with Narthex for '{model}' (there is {there}); your own stands in"
            " the place of an NI_i w or NI_i w+Udma, as NI2w@./FOLDER, and narthex new hardware"
            " begins one"
        )
    return description


def _given(hardware: str) -> Path:
    """Return the folder of a design, its description, or its only file."""
    given = Path(hardware).expanduser()
    if given.is_file() and given.suffix in (*MODULES, ".toml"):
        return given
    folder = given.parent if given.name == DESCRIPTION else given
    if not folder.is_dir():
        suffixes = ", ".join((*MODULES, ".toml"))
        what = f"; a single file ends in {suffixes}" if folder.exists() else ""
        raise NarthexError(
            f"there is no folder '{folder}' with hardware{what}; narthex new hardware NAME makes"
            " one"
        )
    return folder


def _file(file: Path, name: str) -> tuple[str, Design]:
    """Read a design of a single file; returns its clock and the design."""
    data = files.read(file, "a source of hardware", LARGEST_SOURCE_BYTES)
    text = data.decode(errors="replace")
    found = _CLOCK.search(text)
    if found is None:
        raise NarthexError(
            f"{file} states no clock: give it a line '// clock: 250MHz', or make a folder with"
            f" {DESCRIPTION}"
        )
    pattern = r"^class\s+(\w+)" if file.suffix == ".py" else r"^\s*module\s+\\?(\w+)"
    modules = re.findall(pattern, text, re.MULTILINE)
    top = modules[0] if len(modules) == 1 else file.stem
    if top not in modules:
        there = ", ".join(modules) or "none"
        raise NarthexError(
            f"{file} has no module '{top}', and not one alone ({there}): name the top module as the"
            f" file, or make a folder with {DESCRIPTION}"
        )
    return found[1], Design(name, top, _source(file.parent, file.name, top, {}, file))


def load(folder: Path, name: str) -> tuple[str, Design]:
    """Read a design's folder, or a description in it; returns its clock and the design.

    Messages call it `name`.
    """
    file = folder if folder.is_file() else folder / DESCRIPTION
    folder = file.parent
    if not file.is_file():
        raise NarthexError(
            f"the hardware '{folder}' has no {DESCRIPTION}, which names top and sources"
        )
    given = strict.document(file)
    parameters = _parameters(given.pop("parameters", {}), file)
    described = strict.table(Description, given, str(file))
    if not described.sources:
        raise NarthexError(f"{file}: 'sources' must name at least one file")
    sources: dict[str, str] = {}
    for source in described.sources:
        sources |= _source(folder, source, described.top, parameters, file)
    is_python = any(source.endswith(".py") for source in described.sources)
    left = {} if is_python else parameters  # Python's are arguments of the class
    return described.clock, Design(name, described.top, sources, left)


def _parameters(given: object, file: Path) -> dict[str, int]:
    if not isinstance(given, Mapping):
        raise NarthexError(f"{file}: 'parameters' must be a table, [parameters]")
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise NarthexError(f"{file}: 'parameters.{name}' must be a whole number, not {value!r}")
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise NarthexError(f"{file}: 'parameters.{name}' is no name of a parameter")
    return dict(given)


def _source(
    folder: Path, name: str, top: str, parameters: Mapping[str, int], description: Path
) -> dict[str, str]:
    """Return a source's text by the name that messages give it; Python's is what it makes."""
    if not name.endswith(SUFFIXES):
        raise NarthexError(f"{description}: '{name}' is none of {', '.join(SUFFIXES)}")
    if not re.fullmatch(r"[\w./-]+", name) or ".." in name or name.startswith("/"):
        raise NarthexError(
            f"{description}: '{name}' must be a file in the design's folder, of letters,"
            " digits, '_', '-' and '.'"
        )
    text = files.read(folder / name, "a source of hardware", LARGEST_SOURCE_BYTES)
    if name.endswith(".py"):
        return {f"{Path(name).stem}.il": _rtlil(folder / name, top, parameters)}
    try:
        return {name: text.decode()}
    except UnicodeDecodeError as error:
        raise NarthexError(
            f"{folder / name} is not UTF-8 text, from byte {error.start} on"
        ) from error


def _rtlil(file: Path, top: str, parameters: Mapping[str, int]) -> str:
    """Make the Amaranth component of the class `top`, and write it as RTLIL."""
    from amaranth.back import rtlil

    try:
        names = runpy.run_path(str(file))
        if not callable(names.get(top)):
            raise unknown(
                f"class in '{file}'", top, [each for each in names if callable(names[each])]
            )
        return rtlil.convert(names[top](**parameters), name=top, emit_src=False)
    except NarthexError:
        raise
    except Exception as error:  # the user's code may raise anything
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == str(file)
        ]
        line = error.lineno if isinstance(error, SyntaxError) else (lines or [None])[-1]
        place = f"{file}:{line}" if line else str(file)
        raise NarthexError(f"{place}: {type(error).__name__}: {error}") from error


def ports() -> list[dict[str, Any]]:
    """Return the ports that hardware in a FIFO's place has: name, direction, width, meaning."""
    return json.loads(_native.list("hardware-ports"))


def bus_ports() -> list[dict[str, Any]]:
    """Return those of the bus port, which it has whole or not at all."""
    return json.loads(_native.list("hardware-bus-ports"))


def check_ports(design: Design, found: list[Port]) -> None:
    """Refuse a design that lacks a port, has one of another kind, or an input that nothing sets.

    One that has a port of the bus port has to have all of them.
    """
    wanted = {port["name"]: port for port in ports()}
    bus = {port["name"]: port for port in bus_ports()}
    by_name = {port.name: port for port in found}
    known = wanted | bus
    if not bus.keys().isdisjoint(by_name):
        wanted = known
    problems = [_problem(wanted, known, port) for port in found]
    problems += [
        f"{design.top} lacks the {port['direction']} '{name}' ({_bits(port['width'])}):"
        f" {port['meaning']}{_near(name, [each for each in by_name if each not in wanted])}"
        for name, port in wanted.items()
        if name not in by_name
    ]
    if told := [problem for problem in problems if problem]:
        raise NarthexError(f"hardware {design.name}: " + "; ".join(told))


def _problem(wanted: Mapping[str, Mapping[str, Any]], known: Mapping[str, Any], port: Port) -> str:
    """Say what is wrong with a port of a design, if anything is; `known` are all that there are."""
    expected = wanted.get(port.name)
    if expected is None:
        if port.direction == "output":
            return ""  # to be seen in waves
        near = _near(port.name, known)
        return f"{port.place}: nothing sets the {port.direction} '{port.name}'{near}"
    if port.direction != expected["direction"]:
        kinds = f"an {port.direction}; it has to be an {expected['direction']}"
        return f"{port.place}: '{port.name}' is {kinds}"
    if port.width != expected["width"]:
        return (
            f"{port.place}: '{port.name}' has {_bits(port.width)}; it has to have"
            f" {_bits(expected['width'])}"
        )
    return ""


def _bits(width: int) -> str:
    return "1 bit" if width == 1 else f"{width} bits"


def _near(name: str, known: "Mapping[str, Any] | list[str]") -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    return f" (did you mean '{near[0]}'?)" if near else ""
