"""Schedules: formats, both executors, what is refused, the command line."""

import json
from dataclasses import replace

import pytest

from narthex import goal
from narthex.cli import main
from narthex.errors import NO_PROGRESS, NarthexError
from narthex.goal import drawing, fidelity

LOGGOPSIM = "-L 100 -o 10 -g 50 -G 3 -O 2 -S 1000\n"
TEXT = """num_ranks 2
rank 0 {
first: calc 1000
second: send 16b to 1 tag 7
second requires first
}
rank 1 {
l1: recv 16b from 0 tag 7
}
"""


@pytest.fixture
def parameters(tmp_path):
    file = tmp_path / "loggopsim.txt"
    file.write_text(LOGGOPSIM)
    return file


def test_the_fitted_model_takes_loggopsims_time_for_a_message(tmp_path, parameters):
    schedule = tmp_path / "two.txt"
    schedule.write_text(TEXT)
    found = goal.run(schedule, executor="loggops", parameters=parameters)
    # 1000, and 2 o + L + (k-1) max(O, G) for k = 16.
    assert found.makespan_ns == 1000 + 2 * 10 + 100 + 15 * 3
    assert found.document["finish_ns"] == [1000 + 10 + 15 * 2, found.makespan_ns]
    assert goal.run(
        schedule, executor="loggops", parameters=parameters, calculation_scale=2
    ).makespan_ns == (found.makespan_ns + 1000)


def test_intervals_of_parameters_become_those_of_the_makespan():
    def line(first_ns):
        return {"first_ns": first_ns, "per_byte_ns": 0.0}

    names = ("latency", "send_overhead", "receive_overhead", "gap")
    value, low, high = ({name: line(each) for name in names} for each in (10.0, 8.0, 13.0))
    model = goal.Fitted("mine", value, low, high)
    found = goal.run("broadcast:ranks=2", executor="loggops", parameters=model)
    assert (found.makespan_ns, found.interval_ns) == (30, (24, 39))


def test_detailed_nodes_execute_what_the_schedule_says(tmp_path):
    schedule = tmp_path / "two.txt"
    schedule.write_text(TEXT)
    found = goal.run(schedule, interface="CNI32Qm")
    sent, received = found.document["finish_ns"]
    assert 1000 < sent < received < 3000
    twice = goal.run("incast:ranks=3,bytes=1,steps=3,calc=100", interface="NI2w")
    assert max(twice.document["finish_ns"]) == twice.document["finish_ns"][0] > 300


def test_text_comes_back_from_the_binary_file(tmp_path):
    text = TEXT.replace("first", "l1").replace("second", "l2")
    (tmp_path / "in.txt").write_text(text)
    goal.convert(tmp_path / "in.txt", tmp_path / "schedule.goal")
    goal.convert(tmp_path / "schedule.goal", tmp_path / "out.txt", as_text=True)
    assert (tmp_path / "out.txt").read_text() == text


@pytest.mark.parametrize(
    ("schedule", "told"),
    [
        ("barier:ranks=2", "did you mean barrier?"),
        ("missing.goal", "'missing.goal': No such file"),
        ("barrier:ranks=5000", "at most 4096: --executor loggops takes more"),
    ],
)
def test_what_is_no_schedule_is_refused(schedule, told):
    with pytest.raises(NarthexError, match=told):
        goal.run(schedule)


def test_ranks_that_wait_for_each_other_end_with_no_progress(tmp_path, parameters):
    schedule = tmp_path / "circle.txt"
    ranks = [
        f"rank {own} {{\nl1: recv 1b from {other}\nl2: send 1b to {other}\nl2 requires l1\n}}\n"
        for own, other in ((0, 1), (1, 0))
    ]
    schedule.write_text("num_ranks 2\n" + "".join(ranks))
    with pytest.raises(NarthexError, match="the ranks wait for each other") as raised:
        goal.run(schedule, executor="loggops", parameters=parameters)
    assert raised.value.exit_code == NO_PROGRESS


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("-L 1 -o 2 -g 3", "-G is missing"),
        ("-L 1 -o x -g 3 -G 1", "-o 'x': expected a number"),
        ("-l 1", "L"),
        ("{}", "has no parameters; expected what"),
    ],
)
def test_wrong_parameters_are_refused(tmp_path, text, told):
    file = tmp_path / "parameters"
    file.write_text(text)
    with pytest.raises(NarthexError, match=told):
        goal.run("barrier:ranks=2", executor="loggops", parameters=file)


def test_an_observer_ends_the_work(parameters):
    pattern = "stencil-3d:ranks=1000,steps=40"
    with pytest.raises(NarthexError, match="interrupted"):
        goal.run(
            pattern,
            executor="loggops",
            parameters=parameters,
            progress=lambda stage, _done, _all: stage != "operations",
        )


def test_commands_write_show_and_execute(tmp_path, parameters, capsys):
    file, result = tmp_path / "ring.goal", tmp_path / "result.json"

    def narthex(*words):
        with pytest.raises(SystemExit) as ended:
            main(list(map(str, words)))
        assert ended.value.code == 0
        return capsys.readouterr().out

    narthex("goal", "generate", "allreduce-ring:ranks=4,bytes=64", "-o", file)
    assert "6 messages after one another" in narthex("goal", "show", file)
    execute = ("goal", "run", file, "--executor", "loggops", "--parameters", parameters)
    assert "makespan" in narthex(*execute, "--json", result)
    document = json.loads(result.read_text())
    # Each of 6 steps: two overheads, the latency, 15 more bytes of 16.
    assert document["makespan_ns"]["value"] == 6 * (20 + 100 + 15 * 3)
    assert document["schedule"]["messages"] == 24


def test_the_model_is_compared_with_detailed_nodes(tmp_path):
    found = goal.compare(["NI2w"], patterns=["broadcast"], ranks=[4], sizes=[8], steps=1)
    (row,) = found.rows
    assert row.error_percent < row.model_error_percent, "the program takes time of its own"
    assert abs(row.model_error_percent) < 15
    cell = f"{row.error_percent:+.0f}, {row.model_error_percent:+.0f}"
    assert found.table() == (["pattern", "NI2w"], [["broadcast", cell]])
    assert found.by_size() == (["bytes", "NI2w"], [["8", cell]])
    assert found.interval_ns(row) is None, "no other pattern"
    file = tmp_path / "program.goal"
    file.write_text(TEXT)
    (row,) = goal.compare(["NI2w"], schedules=[file]).rows
    assert (row.pattern, row.ranks, row.bytes, row.is_file) == ("program", 2, 16, True)
    assert row.detailed_ns > 1000 < row.with_program_ns, "it computes for 1 us"
    assert abs(row.model_error_percent) < 15


def test_an_interval_is_what_other_patterns_of_the_size_were_off(tmp_path, parameters):
    def row(pattern, size, detailed_ns):
        return fidelity.Row(pattern, 4, size, "LogGOPSim's", detailed_ns, 90, 80, 95, 100)

    rows = [row("a", 8, 110), row("b", 8, 120), row("c", 8, 130), row("a", 64, 200)]
    found = fidelity.Comparison(rows, {"LogGOPSim's": 10.0})
    assert found.interval_ns(rows[1]) == pytest.approx((110, 130))
    assert [found.is_held(each) for each in rows] == [False, True, False, False]
    # Files have messages of several sizes, so all others count.
    files = fidelity.Comparison([replace(each, is_file=True) for each in rows], {})
    assert files.interval_ns(files.rows[1]) == pytest.approx((110, 200))
    # The chart: nodes take longer than the model with the program's part, of 100 ns.
    drawn = [list(map(str, cells)) for cells in found.chart().table.rows]
    assert drawn[1] == ["b", "LogGOPSim's", "8", "-16.7", "-16.7", "-16.7"]
    assert [row[2] for row in drawn] == ["8", "8", "8", "64"]
    # The makespan of another schedule: both overheads are 5 ns longer, the interval is that of all.
    file = tmp_path / "fidelity.json"
    file.write_text(json.dumps(found.document))
    one_way = "barrier:ranks=2,bytes=1"
    before = goal.run(one_way, executor="loggops", parameters=parameters)
    after = goal.run(one_way, executor="loggops", parameters=parameters, fidelity=file)
    assert after.makespan_ns == before.makespan_ns + 10
    assert after.interval_ns == pytest.approx((after.makespan_ns * 1.1, after.makespan_ns * 2))


def _varint(number):
    data = b""
    while number > 127:
        data += bytes([number % 128 + 128])
        number //= 128
    return data + bytes([number])


def _field(number, value):
    """A field of a protobuf message: a whole number, or bytes with their length."""
    if isinstance(value, int):
        return _varint(number * 8) + _varint(value)
    return _varint(number * 8 + 2) + _varint(len(value)) + value


def _trace(version, *nodes):
    messages = [_field(1, version), *nodes]
    return b"".join(_varint(len(each)) + each for each in messages)


def _node(number, kind, duration_us=0, after=None, **attributes):
    parts = [_field(1, number), _field(3, kind), _field(7, duration_us)]
    parts += [] if after is None else [_field(5, _varint(after))]
    parts += [
        _field(10, _field(1, name.encode()) + _field(13, value))
        for name, value in attributes.items()
    ]
    return b"".join(parts)


def test_traces_of_chakra_are_executed_and_a_newer_schema_is_refused(tmp_path, parameters):
    compute, reduce = _node(1, 4, 5), _node(2, 7, after=1, comm_type=0, comm_size=16)
    for rank in range(4):
        (tmp_path / f"step.{rank}.et").write_bytes(_trace(b"0.0.4", compute, reduce))
    found = goal.run(tmp_path / "step.2.et", executor="loggops", parameters=parameters)
    # A computation, and two steps of recursive doubling.
    assert found.makespan_ns == 5000 + 2 * (20 + 100 + 15 * 3)
    (tmp_path / "step.1.et").write_bytes(_trace(b"0.1.0"))
    with pytest.raises(NarthexError, match=r"step.1.et': is of schema 0.1.0; the newest"):
        goal.show(tmp_path / "step.0.et")
    with pytest.raises(NarthexError, match=r"a trace is called NAME\.RANK\.et"):
        goal.show(tmp_path / "step.et")


RING = """# liballprof
MPI_Init:-:7:8:1000000
MPI_Comm_rank:1000001:1140850688,{own},3:9:1000002
MPI_Irecv:1000002:64:16:11,8,8:{before}:5:1140850688,{own},3:128:1000003
MPI_Send:1000010:64:16:11,8,8:{behind}:5:1140850688,{own},3:1000020
MPI_Waitall:1000020:1:128:1:1000030
MPI_Finalize:1000040:-
"""


def test_traces_of_mpi_programs_become_schedules(tmp_path, parameters):
    for own in range(3):
        ring = RING.format(own=own, before=(own + 2) % 3, behind=(own + 1) % 3)
        (tmp_path / f"pmpi-trace-rank-{own}.txt").write_text(ring)
    trace = tmp_path / "pmpi-trace-rank-1.txt"
    found = goal.run(trace, executor="loggops", parameters=parameters)
    # 2 + 7 us before the send of 128 bytes; its processor is through with that when the message
    # of its neighbour is there, which it handles; and 10 us behind it.
    overhead = 10 + 127 * 2
    assert found.document["finish_ns"] == [9000 + 2 * overhead + 10_000] * 3
    goal.convert(trace, tmp_path / "ring.goal")
    again = goal.run(tmp_path / "ring.goal", executor="loggops", parameters=parameters)
    assert again.makespan_ns == found.makespan_ns
    trace.write_text(trace.read_text().replace("MPI_Send", "MPI_Sned"))
    with pytest.raises(NarthexError, match=r"rank-1.txt': line 5: 'MPI_Sned' .* mean MPI_Send\?"):
        goal.show(trace)


def test_groups_of_a_chakra_trace_stand_beside_it(tmp_path, parameters):
    for rank in range(4):
        node = _node(1, 7, comm_type=9, comm_size=1) + _field(
            10, _field(1, b"pg_name") + _field(29, str(rank % 2).encode())
        )
        (tmp_path / f"step.{rank}.et").write_bytes(_trace(b"0.0.4", node))
    (tmp_path / "step.json").write_text('{"0": [0, 2], "1": [1, 3]}')
    found = goal.run(tmp_path / "step.0.et", executor="loggops", parameters=parameters)
    assert found.document["schedule"]["messages"] == 4, "a barrier of two in each group"
    (tmp_path / "step.json").write_text('{"0": [0, 2], "1": [1, 1]}')
    with pytest.raises(NarthexError, match="has rank 1 twice"):
        goal.show(tmp_path / "step.0.et")


def test_messages_meet_in_the_network_of_the_machine(tmp_path):
    parameters = tmp_path / "loggopsim.txt"
    parameters.write_text("-L 1000 -o 10 -g 50 -G 1\n")

    def run(schedule, **more):
        return goal.run(schedule, executor="loggops", parameters=parameters, **more).makespan_ns

    on_cluster = {"machine": "cluster", "network": True}
    # The two nodes of the fit: its own time.
    assert run("barrier:ranks=2,bytes=200", **on_cluster) == run("barrier:ranks=2,bytes=200")
    # Fifteen senders share the link to one node, which takes 2.5 ns for each of 256 bytes.
    crowd = "incast:ranks=16,bytes=248"
    assert run(crowd) < 1000 + 15 * 300 + 300 < 15 * 256 * 2.5 < run(crowd, **on_cluster) < 11_000
    with pytest.raises(NarthexError, match=r"hpca98: network\.kind is"):
        run("barrier:ranks=2", network=True)
    with pytest.raises(NarthexError, match="leaves room for 16 nodes, and the machine has 17"):
        run("barrier:ranks=17", **on_cluster)


def test_a_small_schedule_is_drawn_as_the_model_executes_it(tmp_path, parameters):
    schedule = tmp_path / "two.txt"
    schedule.write_text(TEXT)
    found = goal.run(schedule, executor="loggops", parameters=parameters, timeline=True)
    first, second, received = found.document["operations"]
    assert (first["operation"], first["begin_ps"], first["over_ps"]) == ("first", 0, 1_000_000)
    assert second["engaged_until_ps"] == 1_000_000 + 10_000 + 15 * 2_000
    assert second["handled_ps"][1] == received["over_ps"] == found.makespan_ns * 1_000
    drawn = drawing.chart(found.document)
    spans, lines = (layer["data"]["values"] for layer in drawn.specification["layer"])
    assert [(span["rank"], span["kind"]) for span in spans] == [
        (0, "calculation"),
        (0, "send"),
        (1, "receive"),
    ]
    assert [(line["from_rank"], line["to_rank"]) for line in lines] == [(0, 1)]
    with pytest.raises(NarthexError, match=r"has 65 ranks and .* a picture has at most 64"):
        goal.run("barrier:ranks=65", executor="loggops", parameters=parameters, timeline=True)


def fitted_line(first_ns, per_byte_ns=0.0):
    return {"first_ns": first_ns, "per_byte_ns": per_byte_ns}


@pytest.fixture
def model():
    """NI2w on hpca98, rounded."""
    lines = {
        "latency": fitted_line(200.0),
        "send_overhead": fitted_line(290.0, 12.0),
        "receive_overhead": fitted_line(500.0, 13.5),
        "gap": fitted_line(360.0, 13.5),
    }
    return goal.Fitted("NI2w", lines, lines, lines)


def test_some_ranks_are_nodes_and_the_model_executes_the_others(model):
    schedule = "alltoall-linear:ranks=12,bytes=600"
    found = [
        goal.run(
            schedule, executor="mixed", detailed="1-2,7", parameters=model, threads=threads
        ).document
        for threads in (1, 2)
    ]
    assert found[0] == found[1], "threads change no bit"
    assert found[0]["detailed"] == [1, 2, 7]
    nodes = goal.run(schedule, interface="NI2w")
    # Of several packets a message, which nodes and ends return when they find no buffer.
    assert found[0]["flow_control"]["packets_returned"] > 0
    of_nodes = [
        (found[0]["finish_ns"][rank], nodes.document["finish_ns"][rank]) for rank in (1, 2, 7)
    ]
    assert all(mixed == pytest.approx(node, rel=0.1) for mixed, node in of_nodes), of_nodes


def test_with_all_ranks_as_nodes_the_makespan_is_that_of_nodes(model):
    schedule = "incast:ranks=3,bytes=64"
    mixed = goal.run(schedule, executor="mixed", detailed="0-2", parameters=model)
    nodes = goal.run(schedule, interface="NI2w").document
    assert mixed.document["finish_ns"] == nodes["finish_ns"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "--executor mixed has the ranks that are nodes: --detailed 0-3"),
        ({"detailed": "0-8"}, "the schedule has the ranks 0 to 7"),
        ({"detailed": "2-1"}, "expected ranks such as 3, 0-3 or 0-3,17"),
        ({"detailed": "0", "executor": "loggops"}, "--detailed 0 is of --executor mixed"),
        ({"detailed": "0", "timeline": True}, "--plot are those of the fitted model alone"),
        ({"detailed": "0", "machine": "cluster"}, 'network.kind is "switched"'),
        ({"detailed": "0", "set": ["network.latency=0ns"]}, "network.latency is 0ps"),
        ({"detailed": "0", "machine": "edt", "interface": "EDT"}, "sends other packets"),
    ],
)
def test_what_cannot_be_nodes_and_model_is_refused(model, given, told):
    with pytest.raises(NarthexError, match=told):
        goal.run("barrier:ranks=8", **{"executor": "mixed", "parameters": model} | given)
