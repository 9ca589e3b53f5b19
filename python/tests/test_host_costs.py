"""What interfaces give a host and cost it, for the page that ranks them."""

import pytest

import narthex
from narthex import documentation, host_costs, host_pages


def test_interfaces_are_ranked_by_what_the_programs_measure():
    rows = host_costs.measure("hpca98", 16, ["NI2w", "CNI4"], ["machine.nodes=2"])
    assert [row.interface for row in rows] == ["CNI4", "NI2w"]
    assert rows[0].latency_ns < rows[1].latency_ns
    words = rows[1]
    stream = narthex.run("bandwidth", 16, 1500, 750, interface="NI2w", nodes=2)
    assert words.bandwidth_mb_s == stream.value("bandwidth")
    assert words.latency_ns > words.send_ns + words.receive_ns
    assert words.link_bytes is None


def test_a_message_over_a_link_takes_the_bytes_of_its_packets():
    machine = host_pages.shown_machine("pcie.md:nic.toml", documentation.DOCS)
    (row,) = host_costs.measure(machine, 16, ["NI2w"])
    assert row.link_bytes is not None
    # Three doublewords down in a packet each, three up, each asked for by another packet: 24 and 20
    # bytes of headers. What asks whether there is a message, or room for one, comes beside.
    least = 3 * (24 + 8) + 3 * (24 + 20 + 8)
    assert least < row.link_bytes < 2 * least


def test_a_table_of_sensitivity_has_a_row_a_setting():
    (table,) = host_pages.sensitivity("hpca98", [16], ["NI2w", "CNI4"], ["bus.clock=125MHz"])
    assert table.columns == ["16 bytes", "NI2w", "CNI4"]
    assert [row[0] for row in table.rows] == ["as above", "`bus.clock=125MHz`"]
    assert [row[1][:2] for row in table.rows] == ["2:", "2:"]
    with pytest.raises(narthex.NarthexError, match=r"bus\.clok"):
        host_pages.sensitivity("hpca98", [16], ["NI2w"], ["bus.clok=125MHz"])
