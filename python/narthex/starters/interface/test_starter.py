"""Run with pytest, once the simulator has been built with the interface: every message arrives."""

from pathlib import Path

import pytest

import narthex

MACHINE = Path(__file__).with_name("starter.toml")


@pytest.mark.parametrize(("program", "arguments"), [("roundtrip", (64, 100)), ("em3d", (64,))])
def test_a_program_checks_its_results_over_starter(
    program: str, arguments: tuple[int, ...]
) -> None:
    """Programs fail where a message is lost, doubled or changed."""
    narthex.run(program, *arguments, machine=MACHINE, interface="Starter", nodes=4, until="1s")


def test_starter_can_be_compared() -> None:
    """The same binary runs over it and over an interface of the literature."""
    found = narthex.compare(
        "roundtrip", 64, 100, machine=MACHINE, interfaces=["NI2w", "Starter"], nodes=2
    )
    assert len(found.frame) == 2
