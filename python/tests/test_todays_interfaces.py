"""The experiments of today's interfaces, each in a short form: what its page says of it holds."""

from narthex import experiment


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
