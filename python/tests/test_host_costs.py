"""What interfaces give a host and cost it, for the page that ranks them."""

import json

import pytest

import narthex
from narthex import _native, documentation, host_costs, host_pages
from narthex.validation import load


def test_interfaces_are_ranked_by_what_the_programs_measure():
    rows = host_costs.measure("hpca98", 16, ["NI2w", "CNI4"], ["machine.nodes=2"])
    assert [row.interface for row in rows] == ["CNI4", "NI2w"]
    assert rows[0].latency_ns < rows[1].latency_ns
    words = rows[1]
    stream = narthex.run("bandwidth", 16, 1500, 750, interface="NI2w", nodes=2)
    assert words.bandwidth_mb_s == stream.value("bandwidth")


@pytest.mark.parametrize(
    ("page", "name", "where"),
    [
        ("pcie.md:nic.toml", "cni-against-today", ["PCIe"]),
        ("pcie.md:host.toml", "cni-against-today", ["PCIe", "window"]),
        ("cxl.md:cxl.toml", "cni-against-today", ["CXL"]),
        ("which-interface.md:server-own-socket.toml", "latency-by-size", ["own socket"]),
        ("which-interface.md:server-nic.toml", "latency-by-size", ["PCIe"]),
        ("which-interface.md:server-nic.toml", "bandwidth-by-size", ["PCIe"]),
        ("which-interface.md:server-nic.toml", "cost-of-a-message", ["PCIe"]),
    ],
)
def test_the_machines_of_the_pages_are_those_of_the_experiments(page, name, where):
    definition = load(f"modern/{name}")
    places = {place.name: place.set for place in definition.places}
    settings = [*definition.set, *(each for place in where for each in places[place])]
    shown = host_pages.shown_machine(page, documentation.DOCS)
    machines = [
        json.loads(_native.machine_show(*asked, False))["machine"]
        for asked in ((shown, []), (definition.machine, settings))
    ]
    for machine in machines:
        del machine["machine"]["name"]
    assert machines[0] == machines[1]


def test_a_table_of_sensitivity_has_a_row_a_setting():
    (table,) = host_pages.sensitivity("hpca98", [16], ["NI2w", "CNI4"], ["bus.clock=125MHz"])
    assert table.columns == ["16 bytes", "NI2w", "CNI4"]
    assert [row[0] for row in table.rows] == ["as above", "`bus.clock=125MHz`"]
    assert [row[1][:2] for row in table.rows] == ["2:", "2:"]
    with pytest.raises(narthex.NarthexError, match=r"bus\.clok"):
        host_pages.sensitivity("hpca98", [16], ["NI2w"], ["bus.clok=125MHz"])
