"""The parallel programs compute the same on every machine as natively, on one node.

What a program reports from node 0 is compared, but for times and counts of
messages. Sums over nodes are added up in another order for another number of
nodes; TOLERANCE leaves room for the roundings of that and for no more. Every
program also checks itself (see its README), and ends the run if it is wrong.
"""

import subprocess

import native
import pytest

import narthex
from narthex import compiler
from narthex.assets import GUEST

PROGRAMS = {
    "spsolve": (60, 3),
    "gauss": (24,),
    "em3d": (160, 3, 20),
    "moldyn": (256, 3, 2),
    "appbt": (5, 1),
    "barnes": (256, 1, 0),
    "dsmc": (4, 4, 4, 3, 2),
    "unstructured": (2, 4, 4, 6),
    "thread-sort": (500,),
}

TOLERANCE = {"rel": 1e-9, "abs": 1e-12}
"""Values that ought to be zero, such as residuals, are sums of roundings of numbers around one."""

INTERFACES = ["NI2w", "CNI512Q", "CNI32Qm"]
MACHINES = [
    *[("hpca98", interface, nodes) for nodes in (1, 4, 5) for interface in INTERFACES],
    ("isca96", "CNI512Q on io-bus", 4),
    ("smp", "CNI512Q", 2),
    ("cluster", "CNI32Qm", 16),
]

NOT_COMPARED = ("ns", "us", "ms", "s", "messages")


def compared(values: dict[tuple[str, str], float]) -> dict[str, float]:
    return {name: value for (name, unit), value in values.items() if unit not in NOT_COMPARED}


@pytest.fixture(scope="module", params=PROGRAMS)
def program(request):
    if request.param not in compiler.program_names():
        pytest.skip(f"there is no program {request.param}")
    return request.param


@pytest.fixture(scope="module")
def reference(program, tmp_path_factory):
    """What the native build reports."""
    folder = GUEST / "programs" / program
    binary = native.build(sorted(folder.glob("*.c")), tmp_path_factory.mktemp("native") / program)
    words = [str(binary), *map(str, PROGRAMS[program])]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    values = {}
    for line in done.stdout.splitlines():
        name, colon, rest = line.partition(": ")
        value, _, unit = rest.partition(" ")
        if colon:
            values[name, unit] = float(value)
    return compared(values)


@pytest.mark.parametrize(("machine", "interface", "nodes"), MACHINES)
def test_results_are_those_of_the_native_program(program, reference, machine, interface, nodes):
    assert reference, "the program reports nothing that can be compared"
    done = narthex.run(
        program, *PROGRAMS[program], machine=machine, interface=interface, nodes=nodes
    )
    rows = done.reports.filter(done.reports["node"] == 0).iter_rows(named=True)
    values = compared({(row["name"], row["unit"]): row["value"] for row in rows})
    assert values == pytest.approx(reference, **TOLERANCE)
