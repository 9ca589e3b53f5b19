"""A circuit over so many cycles, as a formula that a solver decides.

yosys writes a design with its assertions and assumptions as an and-inverter graph in the format
AIGER (ASCII, version 1.9). Here it is laid out cycle by cycle, from its first state on: the formula
is true if some assertion can fail while all assumptions have held. A register without an initial
value begins with any.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

TRUE = 1
"""The variable that is always true; its negation is false."""
QUIET = ("clk", "rst")
"""Inputs that are held: the circuit is never reset again."""


@dataclass
class Circuit:
    """An and-inverter graph: a literal is twice a variable, odd if it is negated."""

    inputs: list[int]
    held: set[int]
    """Inputs that are 0."""
    following: dict[int, int]
    """Of each register, what it is in the next cycle."""
    initial: dict[int, int]
    """Its first value: 0, 1, or itself for any."""
    gates: dict[int, tuple[int, int]]
    bad: list[int]
    assumed: list[int]
    order: list[int] = field(default_factory=list)
    """Gates that matter, each behind what it takes."""
    registers: list[int] = field(default_factory=list)
    """Registers that matter."""

    @staticmethod
    def read(text: str) -> "Circuit":
        """Read the format AIGER in ASCII."""
        lines = iter(text.splitlines())
        counts = [int(count) for count in next(lines).split()[1:]]
        _, inputs, registers, outputs, gates, bad, assumed = (counts + [0] * 7)[:7]

        def take(number: int) -> list[list[int]]:
            return [[int(word) for word in next(lines).split()] for _ in range(number)]

        ins = [line[0] for line in take(inputs)]
        latches = take(registers)
        take(outputs)
        bads, assumptions = take(bad), take(assumed)
        ands = take(gates)
        held = {
            ins[int(line.split()[0][1:])]
            for line in lines
            if line.startswith("i") and line.split()[1] in QUIET
        }
        circuit = Circuit(
            ins,
            held,
            {latch[0]: latch[1] for latch in latches},
            {latch[0]: latch[2] if len(latch) > 2 else 0 for latch in latches},
            {gate[0]: (gate[1], gate[2]) for gate in ands},
            [line[0] for line in bads],
            [line[0] for line in assumptions],
        )
        circuit._sort()
        return circuit

    def _sort(self) -> None:
        """Find what assertions and assumptions depend on, each behind what it takes."""
        done: set[int] = {0}
        waiting = [literal & ~1 for literal in (*self.bad, *self.assumed)]
        while waiting:
            own = waiting[-1]
            taken = [literal & ~1 for literal in self.gates.get(own, ())]
            missing = [each for each in taken if each not in done]
            if own in done or not missing:
                waiting.pop()
                if own not in done:
                    done.add(own)
                    self._sorted(own, waiting)
            else:
                waiting += missing

    def _sorted(self, own: int, waiting: list[int]) -> None:
        if own in self.gates:
            self.order.append(own)
        elif own in self.following:
            self.registers.append(own)
            # Below all that waits already: a register needs it a cycle before.
            waiting.insert(0, self.following[own] & ~1)


class Formula:
    """Clauses over numbered variables."""

    def __init__(self) -> None:
        self.variables = TRUE
        self.clauses = [f"{TRUE} 0"]
        self._known: dict[tuple[int, int], int] = {}

    def variable(self) -> int:
        """Return a new variable."""
        self.variables += 1
        return self.variables

    def both(self, one: int, other: int) -> int:
        """Return what is true if both are."""
        if -TRUE in (one, other) or one == -other:
            return -TRUE
        if one in (TRUE, other):
            return other
        if other == TRUE:
            return one
        key = (one, other) if one < other else (other, one)
        if key not in self._known:
            own = self._known[key] = self.variable()
            self.clauses += [f"{-own} {one} 0", f"{-own} {other} 0", f"{own} {-one} {-other} 0"]
        return self._known[key]

    def require_one(self, literals: Iterable[int]) -> None:
        """Require that one of them is true."""
        self.clauses.append(" ".join(str(literal) for literal in [*literals, 0]))

    def text(self) -> str:
        """Return it in the format DIMACS."""
        head = f"p cnf {self.variables} {len(self.clauses)}"
        return "\n".join([head, *self.clauses, ""])


def unroll(circuit: Circuit, cycles: int) -> tuple[str, list[int]]:
    """Lay a circuit out over so many cycles.

    Returns the formula, and for each cycle the variable that says that an assertion fails there.
    """
    formula = Formula()
    first = {0: -TRUE, 1: TRUE}
    now = {
        own: first[circuit.initial[own]] if circuit.initial[own] in first else formula.variable()
        for own in circuit.registers
    }
    kept, fails = TRUE, []
    for _ in range(cycles):
        values = {0: -TRUE} | now
        for own in circuit.inputs:
            values[own] = -TRUE if own in circuit.held else formula.variable()

        def value(literal: int, values: dict[int, int] = values) -> int:
            return -values[literal & ~1] if literal & 1 else values[literal & ~1]

        for gate in circuit.order:
            one, other = circuit.gates[gate]
            values[gate] = formula.both(value(one), value(other))
        for literal in circuit.assumed:
            kept = formula.both(kept, value(literal))
        holds = TRUE
        for literal in circuit.bad:
            holds = formula.both(holds, -value(literal))
        fails.append(formula.both(kept, -holds))
        now = {own: value(circuit.following[own]) for own in circuit.registers}
    formula.require_one(fails)
    return formula.text(), fails
