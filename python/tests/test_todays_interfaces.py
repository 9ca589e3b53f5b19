"""The experiments of today's interfaces, each in a short form: what its page says of it holds."""

from narthex import experiment, experiment_pages


def values(name: str, interfaces: list[str], workloads: list[str]) -> dict[tuple[str, str], float]:
    outcome = experiment(name, interfaces=interfaces, workloads=workloads)
    assert outcome.holds
    return {(row.interface, row.workload): row.value for row in outcome.rows}


def test_a_block_more_of_a_request_is_a_step_by_blueflame_and_a_small_one_by_the_doorbell():
    sizes = ["inline write, 28 bytes", "inline write, 29 bytes"]
    found = values("modern/rdma-latency", ["Verbs by BlueFlame", "Verbs by doorbell"], sizes)
    steps = [
        found[each, sizes[1]] - found[each, sizes[0]]
        for each in ("Verbs by BlueFlame", "Verbs by doorbell")
    ]
    assert steps[0] > 60 > 30 > steps[1] > 0


def test_a_workload_has_its_own_unit_and_what_a_message_takes_is_divided_by_the_messages():
    rows = experiment(
        "modern/message-rate",
        interfaces=["Verbs with 16 blocks ahead and BlueFlame"],
        workloads=[
            "inline, list = 1: million messages/s",
            "inline, list = 1: packets on both links a message",
        ],
    ).rows
    assert [row.unit for row in rows] == ["million/s", "packets"]
    # Two blocks to the BlueFlame register, and the write at the other host.
    assert 3 < rows[1].value < 3.1


def test_a_block_more_costs_a_way_there_and_back_where_one_block_is_read_after_the_other():
    sizes = ["one way, ns: 32 bytes", "one way, ns: 64 bytes"]
    cells = [f"{each}, behind PCIe" for each in ("CNI0Qm", "Ring")]
    found = values("modern/latency-by-size", cells, sizes)
    one_read, several = (found[each, sizes[1]] - found[each, sizes[0]] for each in cells)
    # 205 ns of the link in either direction.
    assert one_read > 2 * 205 > 2 * several


def test_a_ranked_table_of_rates_has_the_highest_first():
    outcome = experiment(
        "modern/bandwidth-by-size",
        interfaces=["NI2w, behind PCIe", "Ring, behind PCIe"],
        workloads=["MB/s: 64 bytes"],
    )
    (table,) = experiment_pages.ranked(outcome, ["PCIe"], "*")
    assert table.columns == ["MB/s", "64 bytes"]
    assert [row[0] for row in table.rows] == ["Ring", "NI2w"]


def test_a_message_crosses_each_link_block_by_block_and_leaves_the_memory_alone():
    kinds = ("blocks of memory", "packets on the links")
    cells = [f"4,096 bytes: {each}" for each in kinds]
    found = values("modern/cost-of-a-message", ["CNI0Qm, behind PCIe"], cells)
    memory, packets = (found["CNI0Qm, behind PCIe", each] for each in cells)
    assert memory < 1
    # 66 blocks, each by a request and a completion, and by a write at the other host.
    assert 3 * 66 < packets < 3.5 * 66
