"""One message's life: its parts add up, whatever the interface, size and machine."""

import json

import pytest
from test_cli import narthex as command

import narthex
from narthex.comparison import interfaces_of
from narthex.explanation import condensed, words

SIZES = [0, 8, 64, 256, 1000]


@pytest.mark.parametrize("interface", interfaces_of("hpca98")[0])
def test_the_parts_of_a_latency_add_up_for_every_interface_and_size(interface):
    for size in SIZES:
        found = narthex.explain(interface, size)
        document = found.document
        parts = found.breakdown
        assert parts["time_ps"].sum() == found.latency_ps
        rounds = sum(entry["rounds_total_ps"] for entry in document["breakdown"])
        assert rounds == document["rounds"]["total_ps"]
        assert document["rounds"]["minimum_ps"] <= found.latency_ps
        assert found.latency_ps <= document["rounds"]["maximum_ps"]
        assert document["packets"] == max(1, -(-size // 248))


def test_the_machine_of_the_other_study_posts_its_stores():
    found = narthex.explain("CNI512Q", 64, machine="isca96")
    parts = dict(found.breakdown.select("part", "time_ps").iter_rows())
    assert sum(parts.values()) == found.latency_ps
    assert parts["sender: store buffer"] > 0
    assert "sender: uncached accesses" not in parts


ATTACHED = [
    ("NI2w on io-bus", "isca96", {"memory bus", "I/O bus"}),
    ("CNI4 on io-bus", "isca96", {"memory bus", "I/O bus"}),
    ("CNI512Q on io-bus", "isca96", {"memory bus", "I/O bus"}),
    ("NI2w on cache-bus", "isca96", {"private bus"}),
    ("NI2w on register", "hpca98", {"private bus"}),
]


@pytest.mark.parametrize(("interface", "machine", "buses"), ATTACHED)
def test_the_parts_add_up_wherever_an_interface_is_attached(interface, machine, buses):
    for size in [8, 600]:
        found = narthex.explain(interface, size, machine=machine)
        assert found.breakdown["time_ps"].sum() == found.latency_ps
        assert set(found.transactions["bus"].drop_nulls()) >= buses


def test_packets_that_find_no_buffer_have_a_part_of_their_own():
    found = narthex.explain("NI2w", 2000, set=["flow_control.buffers=1"])
    parts = dict(found.breakdown.select("part", "time_ps").iter_rows())
    assert parts["flow control: returned"] > 0
    assert sum(parts.values()) == found.latency_ps


def test_half_a_round_trip_is_the_life_and_what_lies_outside_of_it():
    """A round trip adds, on either side, the way from the handler to the next send."""
    found = narthex.explain("CNI32Qm", 64)
    document = found.document
    mean_ns = document["rounds"]["total_ps"] / document["rounds"]["count"] / 1000
    round_trip_ns = narthex.run("roundtrip", 64, 64, 150, nodes=2).value("round-trip latency")
    assert 0 < round_trip_ns - 2 * mean_ns < 0.1 * round_trip_ns


def test_the_same_request_explains_the_same_life_and_another_seed_another():
    first, again = (narthex.explain("NI2w", 8) for _ in range(2))
    assert first.document == again.document
    other = narthex.explain("NI2w", 8, seed=7)
    assert first.document["transactions"] != other.document["transactions"]


def test_every_row_on_the_path_names_a_part_of_the_breakdown():
    found = narthex.explain("CNI32Qm", 64)
    known = set(found.breakdown["part"])
    crossings = found.transactions.filter(found.transactions["bus"].is_not_null())
    on_path = crossings.filter(crossings["critical"])
    assert set(on_path["part"]) <= known
    assert on_path.height == 8, "two upgrades, a store, a read; two invalidations, two reads"
    assert crossings.filter(~crossings["critical"])["part"].null_count() == 1


CALLS = [
    ("EDT", "via", "edt", ["VipPostSend", "VipCQWait has told of it", "VipRecvDone"]),
    ("CCDMA-retry", "via", "edt", ["VipPostSend", "doorbell", "VipRecvDone has returned it"]),
    ("Voyager-nonresident", "voyager-queue", "voyager", ["voyager_send", "VOYAGER_"]),
]


@pytest.mark.parametrize(("interface", "of", "machine", "told"), CALLS)
def test_a_message_of_the_interfaces_own_library_has_a_life_from_call_to_return(
    interface, of, machine, told
):
    found = narthex.explain(interface, 32, of=of, machine=machine)
    assert found.breakdown["time_ps"].sum() == found.latency_ps
    what = found.transactions["what"].to_list()
    assert all(any(text in each for each in what) for text in told)
    assert any(each.startswith("calls ") for each in what)
    assert what[-1].endswith("has returned it")
    assert found.document["rounds"]["count"] == 64


def test_a_life_of_calls_takes_about_as_long_as_its_program_measures():
    """The program's clock begins behind the call, on either side."""
    asked = {"machine": "edt", "interface": "EDT", "nodes": 2}
    measured = narthex.run("via-latency", 64, 64, 16, **asked)
    both = [
        narthex.explain("EDT", 64, of="via", machine="edt", sender=sender).document["rounds"]
        for sender in (0, 1)
    ]
    mean_ns = sum(rounds["total_ps"] / rounds["count"] for rounds in both) / 2 / 1000
    assert mean_ns == pytest.approx(measured.value("latency"), rel=0.03)


def test_a_run_with_journals_ends_at_the_same_instant_as_without():
    asked = {"machine": "edt", "args": [64, 20, 4]}
    found = narthex.explain("EDT", program="via-latency", **asked)
    alone = narthex.run("via-latency", *asked["args"], machine="edt", interface="EDT")
    assert found.document["simulated_ps"] == alone.document["simulated_ps"]


def test_a_program_has_the_life_of_its_own_calls_or_else_of_the_messaging_librarys():
    own = narthex.explain("EDT", program="via-latency", args=[64, 20, 4], machine="edt")
    assert own.document["of"] == "via"
    assert own.title == "VIA message of via-latency over EDT"
    library = narthex.explain("EDT", program="roundtrip", args=[64, 20, 4], machine="edt")
    assert library.document["of"] == "message"
    assert "starts the handler" in library.transactions["what"].to_list()
    assert own.breakdown["time_ps"].sum() == own.latency_ps


SEVERAL = {"machine": "isca96", "set": {"machine.processors_per_node": 2}}


@pytest.mark.parametrize(
    ("ranks", "shown"),
    [({}, [0, 2]), ({"receiver": 3}, [0, 3]), ({"sender": 3, "receiver": 0}, [3, 0])],
)
def test_with_several_processes_a_node_a_life_goes_between_the_ranks_that_are_asked_for(
    ranks, shown
):
    found = narthex.explain("CNI512Q", 64, **ranks, **SEVERAL)
    assert found.document["ranks"] == shown
    assert found.breakdown["time_ps"].sum() == found.latency_ps
    transactions = found.transactions
    on_path = transactions.filter(transactions["critical"] & transactions["bus"].is_not_null())
    assert {"processor", "send half", "receive half"} == set(on_path["agent"])


@pytest.mark.parametrize(
    ("interface", "asked", "told"),
    [
        ("CNI512Q", {"receiver": 1, **SEVERAL}, "both on node 0"),
        ("NI2w", {"program": "roundtrip", "nodes": 2, "receiver": 9}, "there is no rank 9"),
        ("CNI512Q", {"sender": 1, "receiver": 3, **SEVERAL}, "name a program"),
        ("NI2w", {"of": "via"}, "such as EDT on edt"),
        ("Voyager-CNI", {"of": "voyager-queue", "machine": "voyager"}, "Voyager-resident"),
        ("EDT", {"of": "via", "bytes": 6, "machine": "edt"}, "whole words of 4 bytes"),
        ("NI2w", {"program": "roundtrip", "bytes": 8}, "leave out the bytes"),
        (
            "NI2w",
            {"program": "roundtrip", "args": [8, 4, 1], "nodes": 3, "sender": 1, "receiver": 2},
            "none was received there",
        ),
        ("NI2w", {"program": "roundtrip", "of": "via"}, "can be of message"),
    ],
)
def test_what_has_no_life_is_refused_with_the_reason(interface, asked, told):
    with pytest.raises(narthex.NarthexError, match=told):
        narthex.explain(interface, **asked)


DIRECTORIES = [
    ("NI2w", {"machine": "chip"}),
    ("CNI0Qm", {"machine": "chip", "set": {"interfaces.cni_0qm.fetch": "read-once"}}),
]


@pytest.mark.parametrize(("interface", "asked"), DIRECTORIES)
def test_the_hops_of_a_directory_are_steps_that_add_up(interface, asked):
    found = narthex.explain(interface, 64, **asked)
    parts = dict(found.breakdown.select("part", "time_ps").iter_rows())
    assert sum(parts.values()) == found.latency_ps
    assert parts["sender: messages of the directory"] > 0
    assert parts["sender: directory's home"] > 0
    rows = [row for row in found.document["transactions"] if row["agent"] == "directory"]
    requests = [row for row in rows if row["kind"] == "directory request" and row["critical"]]
    left, come = (
        [row["time_ps"] for row in requests if word in row["deed"]] for word in ("leaves", "is at")
    )
    assert left
    assert len(left) == len(come)


def row(what, node=0, critical=False, cycles=25):
    part = "sender: software" if critical else None
    return {
        "node": node,
        "agent": "processor",
        "what": f"{what} 1",
        "deed": what,
        "part": part,
        "critical": critical,
        "cycles": cycles,
    }


def test_polls_beside_the_path_are_one_row_until_the_node_does_something_on_it():
    rows = [row("polls"), row("waits", 1), row("polls"), row("sends", 0, True), row("polls")]
    joined = [(words(each), each["cycles"]) for each in condensed(rows)]
    assert joined == [("2 x polls", 50), ("waits 1", 25), ("sends 1", 25), ("polls 1", 25)]


def test_rows_on_the_path_are_joined_only_on_request():
    rows = [row("sends", 0, True), row("sends", 0, True), row("waits", 0, True)]
    assert len(condensed(rows)) == 3
    assert [each["count"] for each in condensed(rows, critical_too=True)] == [2, 1]


def test_the_command_prints_the_life_and_where_the_latency_goes():
    done = command("explain", "ni2w", "--bytes", 8)
    assert done.returncode == 0, done.stderr
    for text in ["8 bytes in 1 packet over NI2w on hpca98", "stores to SEND register", "beside"]:
        assert text in done.stdout
    for text in ["starts the handler", "Where the latency goes", "network", "latency"]:
        assert text in done.stdout


def test_the_command_condenses_long_lives_and_writes_all_of_them_as_json(tmp_path):
    file = tmp_path / "life.json"
    done = command("explain", "NI2w", "--bytes", 4000, "--json", file)
    assert "32 x stores to SEND" in done.stdout
    document = json.loads(file.read_text())
    assert document["packets"] == 17
    stores = [row for row in document["transactions"] if row.get("place") == "SEND register"]
    assert len([row for row in stores if row["node"] == 0 and row["critical"]]) == 517


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["CNI32Qn"], "CNI32Qn"),
        (["NI2w", "--bytes", "100000"], "from 0 to 65536, not 100000"),
        (["NI2w", "--machine", "hpca89"], "did you mean"),
        (["NI2w", "--bytes", "-1"], "--bytes"),
        (["NI2w", "--set", "bus.clok=1GHz"], "clok"),
        ([], "'interface'"),
    ],
)
def test_a_wrong_request_is_refused_with_the_remedy(arguments, message):
    done = command("explain", *arguments)
    assert done.returncode == 2, done.stdout
    assert message in done.stderr
