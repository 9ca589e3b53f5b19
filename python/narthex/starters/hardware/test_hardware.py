"""Run with pytest: programs come to the same over the hardware as over the model."""

from pathlib import Path

import pytest

import narthex

HARDWARE = f"$model@{Path(__file__).parent}/"


@pytest.mark.parametrize("program", [("roundtrip", 128, 10), ("em3d", 64, 2)])
def test_programs_come_to_the_same_over(program: tuple[object, ...]) -> None:
    """A program fails where what it computes is wrong; here its messages are counted too."""
    sent = [
        narthex.run(*program, interface=interface, nodes=2, until="100ms").document["message_sizes"]
        for interface in ("$model", HARDWARE)
    ]
    assert sent[0] == sent[1]
