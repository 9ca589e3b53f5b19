"""Run with pytest: the program checks its own results, on every interface."""

from pathlib import Path

import pytest

import narthex

PROGRAM = Path(__file__).with_name("$name.c")


@pytest.mark.parametrize("interface", ["NI2w", "CNI16Q", "CNI32Qm"])
def test_the_sums_are_right_over(interface: str) -> None:
    """The program fails where its sums are wrong."""
    result = narthex.run(PROGRAM, interface=interface, nodes=4, until="100ms")
    assert result.value("time") > 0
