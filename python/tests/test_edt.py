"""The machine of Eager Data Transfer: which interfaces it has, and what is refused."""

import pytest

import narthex
from narthex.comparison import interface_names, interfaces_of

SCHEMES = {
    "EDT",
    "EDT+DmaReceive",
    "CCDMA-intervention",
    "CCDMA-retry",
    "DMA-flush",
    "PIO",
    "PIO+WriteCombining",
}


def test_the_machine_has_the_schemes_and_the_interfaces_of_other_studies():
    assert set(interface_names()) >= SCHEMES
    names, left_out = interfaces_of("edt")
    assert set(names) >= SCHEMES | {"NI2w", "CNI4", "CNI512Q", "CNI32Qm", "CNI0Qm"}
    assert "interfaces.ni_iw_udma" in left_out["NI64w+Udma"]


@pytest.mark.parametrize("machine", ["hpca98", "isca96", "smp"])
def test_a_machine_without_the_section_says_so(machine):
    with pytest.raises(narthex.NarthexError, match=r"no \[interfaces\.via\]"):
        narthex.run("hello", machine=machine, interface="EDT")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("(EDT)S(NI2w)R", "no halves to be combined"),
        ("EDT+Dma", "did you mean EDT"),
        ("EDT on io-bus", "located on host memory bus"),
    ],
)
def test_what_is_no_interface_is_refused_with_the_reason(name, told):
    with pytest.raises(narthex.NarthexError, match=told):
        narthex.run("hello", machine="edt", interface=name)


def test_a_pair_of_halves_runs_without_the_interfaces_processor():
    result = narthex.run("roundtrip", 64, 5, machine="edt", interface="CNI32Qm", nodes=2)
    assert not any("firmware" in column for column in result.ledger.columns)
