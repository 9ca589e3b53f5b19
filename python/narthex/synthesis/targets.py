"""Technologies that a design is mapped to, and what their cells count as.

`xc5v` is the paper's own FPGA, a Virtex-5, whose logic cells are those of the later `xc7`: look-up
tables of six inputs, carry chains of four bits, flip-flops with enable and reset. yosys calls its
support experimental. A cell counts as the look-up tables and flip-flops that it takes up in the
device:

| cell | counts as |
| --- | --- |
| LUT1 to LUT6, INV | one look-up table |
| SRL16E, SRLC32E; RAM32X1D, RAM32M, RAM64M ... | one for each look-up table that holds the bits |
| FDRE, FDSE, FDCE, FDPE | one flip-flop |
| CARRY4, MUXF7, MUXF8 | nothing: they lie beside the look-up tables, as in the vendor's counts |
| CCU2C (ECP5) | two look-up tables: it is made of them |

Look-up tables are made for area, each at the same cost whatever its inputs (`abc -lut 6`): yosys's
own last step makes them for speed, which takes up to two thirds more of them.

Block memories and multipliers are switched off: what would take one shows as logic. A cell that
is not in the tables is an error, never left out.
"""

import re
from dataclasses import dataclass

from narthex.errors import unknown

GATES_OF_CELL = 8
"""Gates of a look-up table or a flip-flop ("we assume that 1 FPGA lookup table (LUT) or 1 flip-flop
is equivalent to 8 gates": cache-integrated-ni, Section 4.1)."""

GATES_OF_FLIP_FLOP = 6.0
"""NANDs of an edge-triggered D flip-flop: assumed, the textbook's circuit."""


@dataclass(frozen=True)
class Target:
    """A technology."""

    name: str
    what: str
    script: str
    """Of yosys, from a design in words to cells; it keeps the hierarchy."""
    cells: tuple[tuple[str, float, int], ...]
    """A pattern of cells' names, the look-up tables (or gates) of each, and its flip-flops."""
    gates_of_cell: float | None = GATES_OF_CELL
    """What a look-up table or a flip-flop is in gates; none where logic is counted in gates."""

    def counts(self, cell: str) -> tuple[float, int] | None:
        """Return look-up tables (or gates) and flip-flops of a cell; none for one unknown."""
        for pattern, logic, flip_flops in self.cells:
            if re.fullmatch(pattern, cell):
                return logic, flip_flops
        return None

    def gates(self, logic: float, flip_flops: int) -> float:
        """Return the gates of so many look-up tables (or gates) and flip-flops."""
        if self.gates_of_cell is None:
            return logic + GATES_OF_FLIP_FLOP * flip_flops
        return self.gates_of_cell * (logic + flip_flops)


_XILINX_CELLS = (
    (r"LUT[1-6]|INV|SRL16E?|SRLC16E|SRLC32E|RAM(32|64)X1S", 1, 0),
    (r"LUT6_2", 1, 0),
    (r"RAM(32|64)X1D|RAM128X1S", 2, 0),
    (r"RAM32M|RAM64M|RAM128X1D|RAM256X1S", 4, 0),
    (r"FD[RSCP]E(_1)?", 0, 1),
    (r"CARRY4|MUXF[78]|GND|VCC", 0, 0),
)

_ECP5_CELLS = (
    (r"LUT4", 1, 0),
    (r"CCU2C", 2, 0),
    (r"TRELLIS_DPR16X4", 6, 0),  # a slice of memory and the slice that writes it
    (r"TRELLIS_FF", 0, 1),
    (r"PFUMX|L6MUX21|VLO|VHI|GSR", 0, 0),
)

_SIMPLE_CELLS = (
    (r"\$_(NAND|NOR)_", 1, 0),
    (r"\$_NOT_", 0.5, 0),
    (r"\$_DFF_[PN]_", 0, 1),
)

_XILINX = (
    "synth_xilinx -family {} -noiopad -noclkbuf -nobram -nodsp -run begin:map_luts;"
    " opt_expr -mux_undef -noclkinv; abc -lut 6; clean; xilinx_srl -fixed -minlen 3;"
    " techmap -map +/xilinx/lut_map.v -map +/xilinx/cells_map.v -D LUT_WIDTH=6;"
    " xilinx_dffopt; opt_lut_ins -tech xilinx; clean"
)

TARGETS = {
    each.name: each
    for each in (
        Target("xc5v", "Virtex-5 (the paper's FPGA)", _XILINX.format("xc5v"), _XILINX_CELLS),
        Target("xc7", "Series 7", _XILINX.format("xc7"), _XILINX_CELLS),
        Target("ecp5", "ECP5", "synth_ecp5 -noflatten -nobram -nodsp -noabc9", _ECP5_CELLS),
        Target(
            "gates",
            "NANDs of two inputs",
            "synth; dfflegalize -cell $_DFF_P_ 01; abc -g cmos2; opt_clean",
            _SIMPLE_CELLS,
            None,
        ),
    )
}
DEFAULT = "xc5v"


def find(name: str) -> Target:
    """Return a target by its name."""
    if name not in TARGETS:
        raise unknown("target", name, TARGETS)
    return TARGETS[name]
