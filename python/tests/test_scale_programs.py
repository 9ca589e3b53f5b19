"""The programs for machines of any size, small: all-to-all and neighbours check themselves.

Their grids and blocks grow with the machine. So four nodes with a square of seven
points each are compared with the native program on one square of fourteen.
"""

import subprocess

import native
import pytest

import narthex
from narthex.assets import GUEST

INTERFACES = ["NI2w", "NI64w+Udma", "NI16w+Blkbuf", "CNI4", "CNI512Q", "CNI0Qm", "CNI32Qm"]


def reported(done):
    rows = done.reports.filter(done.reports["node"] == 0).iter_rows(named=True)
    return {row["name"]: row["value"] for row in rows}


@pytest.mark.parametrize("interface", INTERFACES)
def test_all_blocks_arrive_over_every_interface(interface):
    done = narthex.run("all-to-all", 300, 3, machine="hpca98", interface=interface, nodes=5)
    assert reported(done)["blocks received"] == 3 * 4


@pytest.mark.parametrize(("size", "rounds"), [(1, 2), (7, 1)])
def test_blocks_of_any_size_and_number_of_rounds(size, rounds):
    done = narthex.run("all-to-all", size, rounds, machine="isca96", interface="CNI16Qm", nodes=6)
    assert reported(done)["blocks received"] == rounds * 5


@pytest.fixture(scope="module")
def one_square(tmp_path_factory):
    """Mean and variance that the native program reports for 14 x 14 points after 6 steps."""
    folder = tmp_path_factory.mktemp("native")
    sources = sorted((GUEST / "programs/neighbours").glob("*.c"))
    binary = native.build(sources, folder / "neighbours")
    words = [str(binary), "14", "6"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    lines = (line.partition(": ") for line in done.stdout.splitlines())
    return {name: float(rest.split()[0]) for name, colon, rest in lines if colon}


@pytest.mark.parametrize("interface", INTERFACES)
def test_four_nodes_spread_heat_as_one_does(one_square, interface):
    values = reported(
        narthex.run("neighbours", 7, 6, machine="hpca98", interface=interface, nodes=4)
    )
    for name in ("mean temperature", "variance of the temperature"):
        assert values[name] == pytest.approx(one_square[name], rel=1e-9)


@pytest.mark.parametrize(("side", "nodes"), [(1, 6), (2, 2), (33, 3)])
def test_a_torus_of_any_shape_passes_its_own_check(side, nodes):
    done = narthex.run("neighbours", side, 3, machine="isca96", interface="NI2w", nodes=nodes)
    assert 0 < reported(done)["mean temperature"] < 2


def test_more_nodes_than_a_machine_can_have_are_refused():
    with pytest.raises(narthex.NarthexError, match=r"nodes must be .* from 1 to 4096, not 4097"):
        narthex.run("neighbours", machine="hpca98", interface="NI2w", nodes=4097)


def test_a_machine_that_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setenv("NARTHEX_MEMORY", "64MiB")
    with pytest.raises(
        narthex.NarthexError, match=r"1024 nodes need about .* Reduce machine\.nodes"
    ):
        narthex.run("neighbours", machine="hpca98", interface="CNI32Qm", nodes=1024)
