"""The bench of the simulator itself: reading, ratios, the table, the comparison."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import (
    building,
    counting,
    criterion,
    document,
    layers,
    page,
    plan,
    programs,
    simulator,
    table,
)
from benchmarks.__main__ import chosen, measure, show
from benchmarks.measure import Group, LeftOutError, Measure, median_interval, of_rounds
from narthex.drivers import driver_apart
from narthex.errors import NarthexError

GROUP = Group("processor", "instructions/s", "plain integer")


def criterion_result(folder, group, function, value, elements, median_ns):
    """Write what criterion writes for one benchmark."""
    place = folder / group / function / (value or "") / "new"
    place.mkdir(parents=True)
    interval = {"lower_bound": median_ns * 0.9, "upper_bound": median_ns * 1.2}
    what = {"group_id": group, "function_id": function, "value_str": value}
    what["throughput"] = {"Elements": elements} if elements else None
    (place / "benchmark.json").write_text(json.dumps(what))
    estimates = {"median": {"point_estimate": median_ns, "confidence_interval": interval}}
    (place / "estimates.json").write_text(json.dumps(estimates))
    (place / "sample.json").write_text(json.dumps({"times": [1.0] * 10}))
    return place


def test_rates_of_criterion_and_their_ratio_to_the_baseline(tmp_path):
    criterion_result(tmp_path, "processor", "cached", "integer", 1000, 4000.0)
    criterion_result(tmp_path, "processor", "plain", "integer", 1000, 1000.0)
    criterion_result(tmp_path, "another", "plain", None, 1000, 1000.0)
    base, cached = criterion.of_timings(GROUP, criterion.read(tmp_path))
    assert (base.name, base.value, base.ratio) == ("plain integer", 1e9, 1)
    assert (cached.name, cached.value, cached.ratio) == ("cached integer", 2.5e8, 0.25)
    assert cached.low == pytest.approx(2.5e8 / 1.2)
    assert cached.high == pytest.approx(2.5e8 / 0.9)
    assert cached.samples == 10


def test_the_baseline_stands_first_and_numbers_are_in_order(tmp_path):
    for waiting in ("1024", "16", "4", "1"):
        criterion_result(tmp_path, "queue", "waiting", waiting, 10, 100.0)
    measures = criterion.of_timings(
        Group("queue", "events/s", "waiting 4"), criterion.read(tmp_path)
    )
    assert [each.name.split()[1] for each in measures] == ["4", "1", "16", "1024"]


def test_a_turn_without_elements_is_measured_in_seconds(tmp_path):
    criterion_result(tmp_path, "start-up", "NI2w", None, None, 2e6)
    [only] = criterion.of_timings(Group("start-up", "s", "NI2w"), criterion.read(tmp_path))
    assert only.value == pytest.approx(0.002)
    assert only.low < only.value < only.high


@pytest.mark.parametrize(
    ("break_it", "complaint"),
    [
        (lambda place: (place / "estimates.json").unlink(), "cannot read .*estimates.json"),
        (lambda place: (place / "sample.json").write_text("{"), "sample.json' is not JSON"),
        (lambda place: (place / "estimates.json").write_text("{}"), "not as criterion 0.8 writes"),
        (lambda place: (place / "estimates.json").write_text("[]"), "not as criterion 0.8 writes"),
    ],
)
def test_damaged_results_of_criterion_are_refused(tmp_path, break_it, complaint):
    break_it(criterion_result(tmp_path, "processor", "plain", "integer", 1000, 1000.0))
    with pytest.raises(NarthexError, match=complaint):
        criterion.read(tmp_path)


def test_missing_results_are_named(tmp_path):
    with pytest.raises(NarthexError, match="no results of criterion in"):
        criterion.read(tmp_path)
    criterion_result(tmp_path, "processor", "cached", "integer", 1000, 4000.0)
    with pytest.raises(NarthexError, match="no baseline 'plain integer'; it has cached integer"):
        criterion.of_timings(GROUP, criterion.read(tmp_path))


def test_the_plan_names_the_groups_and_baselines_that_the_benches_have():
    sources = [
        path.read_text(encoding="utf-8")
        for crate in ("cores", "kernel", "machine")
        for path in (building.ROOT / crate / "benches").glob("*.rs")
    ]
    in_code = set(re.findall(r'benchmark_group\("([^"]+)"\)', "\n".join(sources)))
    planned = [group for groups in plan.CRITERION.values() for group in groups]
    assert {group.name for group in planned} == in_code
    manifests = "\n".join(path.read_text() for path in building.ROOT.glob("*/Cargo.toml"))
    in_manifests = set(re.findall(r'\[\[bench\]\]\s+name = "([^"]+)"', manifests))
    assert set(plan.CRITERION) == set(building.BENCHES) == in_manifests


def test_the_interval_of_the_median_leaves_out_what_it_may():
    assert median_interval([3.0]) == (3, 3)
    assert median_interval([5, 1, 3, 2, 4]) == (1, 5)  # 94 %: the range, for want of more
    assert median_interval(range(6)) == (0, 5)  # 97 %
    assert median_interval(range(9)) == (1, 7)  # 96 %; without another pair 82 %
    assert median_interval(range(20)) == (5, 14)  # 95.9 %, as in any table of the sign test


def test_ratios_are_taken_round_by_round():
    # The second round ran on a machine with half of its time for another program.
    rounds = {"one": [1.0, 2.0, 1.0], "two": [0.5, 1.0, 0.9]}
    one, two = of_rounds(Group("threads", "s", "one"), rounds)
    assert (one.value, one.ratio) == (1, 1)
    assert (two.value, two.ratio, two.samples) == (0.9, 0.5, 3)
    assert (two.low, two.high) == (0.5, 1.0)


HOST_LINE = {
    "seconds": 2.0,
    "peak_memory_bytes": 30_000_000,
    "touched_pages": 100,
    "effort": {"windows": 10, "instructions": 1000, "events": 50, "skipped_instructions": 400},
}


def test_the_cost_of_a_run():
    cost = simulator.cost_of(f"a warning\nhost: {json.dumps(HOST_LINE)}\n", 1.5)
    assert (cost.seconds, cost.cpu_seconds) == (2, 1.5)
    assert (cost.executed_instructions, cost.touched_bytes) == (600, 409_600)


@pytest.mark.parametrize(
    "output", ["", "host: {", "host: {}", 'host: {"seconds": 1, "effort": {"windows": 1}}']
)
def test_a_cost_that_is_not_told_is_an_error(output):
    with pytest.raises(NarthexError, match="what its run cost"):
        simulator.cost_of(output, 1.5)


def test_memory_of_a_node_is_without_the_simulator_and_the_guest():
    own = simulator.cost_of(f"host: {json.dumps(HOST_LINE)}", 1.5)
    grown = replace(own, peak_memory_bytes=own.peak_memory_bytes + 3_000_000 + 50 * 4096)
    grown = replace(grown, touched_pages=own.touched_pages + 50)
    assert programs.node_memory(own, grown, 4) == 1_000_000
    with pytest.raises(LeftOutError, match="does not say how much memory"):
        programs.node_memory(own, replace(grown, peak_memory_bytes=None), 4)
    with pytest.raises(LeftOutError, match="no more memory than their guests touch"):
        programs.node_memory(own, own, 4)


class Scripted:
    """A simulator whose runs cost what a function says."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.runs = []

    def cost(self, run):
        self.runs.append(run)
        told = HOST_LINE | {"seconds": self.seconds(run)}
        told["peak_memory_bytes"] += 1000 * run.nodes
        return simulator.cost_of(f"host: {json.dumps(told)}", self.seconds(run))


EM3D = {"em3d": simulator.Run("em3d", (64, 1), nodes=16)}
TINY = programs.Scale(2, 100, EM3D, {"em3d on 16": EM3D["em3d"]}, (2, 4))


def test_cases_take_turns():
    scripted = Scripted(lambda run: 1 / run.threads)
    measures = programs.threads(scripted, TINY, lambda _: None)
    counts = sorted({1, 2, os.cpu_count()})
    assert [run.threads for run in scripted.runs] == counts * 2
    assert [each.ratio for each in measures] == [1 / count for count in counts]
    assert measures[0].name == "em3d on 16, 1 thread"
    assert plan.programs_of(TINY) == ["bandwidth", "neighbours", "all-to-all", "em3d"]


def test_the_balance_of_threads_is_that_of_what_a_longer_run_does_more():
    class Counted:
        def windows(self, run):
            long = run.args[0]
            paths = [
                {"threads": threads, "fixed": 100 + fixed * long, "anew": 100 + 30 * long}
                for threads, fixed in ((2, 50), (16, 40))
            ]
            told = {"windows": 9 * long, "work": 1000 + 90 * long, "eventless_work": 9 * long}
            return simulator.windows_of(
                f"windows: {json.dumps(told | {'paths': paths})}\nhost: {{}}"
            )

    runs = tuple(replace(EM3D["em3d"], args=(length,)) for length in (1, 3))
    measures = programs.balance(Counted(), replace(TINY, counted={"em3d": runs}), lambda _: None)
    assert {each.name: each.value for each in measures} == {
        "em3d, 2 threads": pytest.approx(1.8),
        "em3d, 2 threads, divided anew": pytest.approx(3),
        "em3d, 16 threads": pytest.approx(2.25),
        "em3d, 16 threads, divided anew": pytest.approx(3),
        "em3d": pytest.approx(0.1),
    }


def test_growth_is_time_and_memory_of_machines_of_more_and_more_nodes():
    # A microsecond for each message of neighbours, two for each of all-to-all; 1 s to start.
    def seconds(run):
        nodes, (_, steps) = run.nodes, run.args
        messages = 4 * nodes if run.program == "neighbours" else 2 * nodes * (nodes - 1)
        return 1 + 1e-6 * messages * steps

    scripted = Scripted(seconds)
    scale = replace(TINY, nodes=(2, 512))
    measures = programs.growth(scripted, scale, lambda _: None)
    times = {(each.group, each.name): each.value for each in measures if each.unit == "s"}
    assert times == {
        ("neighbours: time a message", "2 nodes"): pytest.approx(1e-6),
        ("neighbours: time a message", "512 nodes"): pytest.approx(1e-6),
        ("all-to-all: time a message", "2 nodes"): pytest.approx(2e-6),
    }
    assert [each.value for each in measures if each.unit == "B"] == [1000, 1000, 1000]


def test_a_stream_is_what_more_messages_cost():
    scripted = Scripted(lambda run: 0.5 + run.args[1] * (1e-3 if run.interface == "NI2w" else 1e-4))
    base, *others = programs.stream(scripted, TINY, lambda _: None)
    assert base.name == "NI2w"
    assert base.value == pytest.approx(1000)
    assert len(others) >= 9
    assert "SARC" not in [each.name for each in others], "hpca98 has no directory"
    assert others[0].ratio == pytest.approx(10)


def test_a_difference_that_noise_has_turned_round_is_no_figure():
    scripted = Scripted(lambda run: 2.0 if run.args[1] == programs.FEW_MESSAGES else 1.9)
    with pytest.raises(LeftOutError, match=r"too busy: a run took 2.000 s"):
        programs.stream(scripted, TINY, lambda _: None)


def test_wait_loops_are_compared_with_every_turn_executed():
    scripted = Scripted(lambda run: 3.0 if run.environment else 1.0)
    executed, computed = programs.wait_loops(scripted, TINY, lambda _: None)
    assert (executed.name, executed.ratio) == ("em3d, executed", 1)
    assert (computed.name, computed.ratio) == ("em3d, computed", pytest.approx(1 / 3))


def test_a_step_that_the_machine_cannot_do_is_left_out_with_the_reason():
    bench = plan.Bench({}, None, TINY, True, None, print)
    [step] = chosen("instructions")
    measures, left_out, failed = measure([step], bench)
    assert measures == failed == []
    assert "neither perf nor valgrind" in left_out["instructions"]


def test_a_step_that_fails_leaves_what_the_others_have_measured():
    def fail(_bench):
        raise NarthexError("the simulator ended with 2")

    measured = Measure("event queue", "waiting 1", 1.0, "events/s", 1.0, 1.0, 1, 1.0, "waiting 1")
    steps = [plan.Step("events", lambda _: [measured]), plan.Step("stream", fail)]
    bench = plan.Bench({}, None, TINY, True, None, print)
    measures, left_out, failed = measure(steps, bench)
    assert (measures, failed) == ([measured], ["stream"])
    assert left_out == {"stream": "the simulator ended with 2"}


def test_an_unknown_step_is_told_with_the_nearest():
    assert [step.name for step in chosen("threads, stream")] == ["stream", "threads"]
    with pytest.raises(NarthexError, match=r"thread.*threads"):
        chosen("thread")


def test_counts_of_perf_and_valgrind():
    assert counting.of_perf("# started\n\n123456,,instructions:u,99,100.00,,\n") == 123456
    with pytest.raises(NarthexError, match="counts no instructions here"):
        counting.of_perf("<not supported>,,instructions:u,0,100.00,,\n")
    assert counting.of_valgrind("==7== \n==7== I   refs:      1,234,567\n") == 1234567
    assert counting.of_valgrind("==7== I refs:        12\n") == 12
    with pytest.raises(NarthexError, match="counted no instructions"):
        counting.of_valgrind("==7== Bad option\n")


def test_cargo_names_the_executables():
    names = [*building.BENCHES, building.SIMULATOR, building.KERNELS]
    messages = [
        json.dumps(
            {"reason": "compiler-artifact", "target": {"name": name}, "executable": f"/t/{name}"}
        )
        for name in names
    ]
    assert building.executables(messages)["run"] == Path("/t/run")
    with pytest.raises(NarthexError, match="cargo built no events, run"):
        building.executables(
            [line for line in messages if "events" not in line and "run" not in line]
        )


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (4.126e8, "instructions/s", "413 M instructions/s"),
        (999.6, "messages/s", "1000 messages/s"),
        (2.13, "s", "2.13 s"),
        (4.2e-7, "s", "420 ns"),
        (2_900_000, "B", "2.90 MB"),
        (24.31, "host instructions", "24.3 host instructions"),
        (112_345.0, "host instructions", "112,345 host instructions"),
        (0, "events/s", "0 events/s"),
    ],
)
def test_quantities(value, unit, text):
    assert table.quantity(value, unit) == text


def measured(name="one", value=1.0, ratio=1.0, low=0.9, high=1.1):
    return Measure("threads", name, value, "s", low, high, 6, ratio, "one")


NOW = document.Document(
    [measured(), measured("two", 0.5, 0.5, 0.4, 0.6), measured("four", 0.4, 0.4)],
    version="1",
    revision="b",
    date="2030-01-02",
    host={"cores": 2, "processor": "P"},
)
BEFORE = replace(
    NOW,
    measures=[measured(value=0.95), measured("two", 0.8, 0.84, 0.7, 0.9), measured("ten")],
    revision="a",
)


def test_rows_of_the_table():
    one = ["one", "1.00 s", "-10 .. +10 %", "baseline"]
    two = ["two", "500 ms", "-20 .. +20 %", "0.50"]
    assert table.rows(NOW.measures[:2], None) == [("threads", [one, two])]


def test_rows_beside_those_of_before():
    [(group, [one, two, four])] = table.rows(NOW.measures, BEFORE)
    assert group == "threads"
    assert one == ["one", "1.00 s", "950 ms", "+5.3 %", "baseline", ""]
    assert two == ["two", "500 ms", "800 ms", "-37.5 % *", "0.50", "-40.5 %"]
    assert four == ["four", "400 ms", "new", "", "0.40", ""]
    assert table.gone(NOW.measures, BEFORE) == ["threads: ten"]


def test_the_unit_stands_beside_a_value_of_before_already():
    rate = replace(measured(value=2e6, low=2e6, high=2e6), unit="events/s")
    assert table.compared(rate, rate)[1:4] == ["2.00 M events/s", "2.00 M", "+0.0 %"]


def test_next_to_no_change_is_not_marked():
    counted = [measured(value=value, low=value, high=value) for value in (1000.0, 1000.2, 1010.0)]
    assert table.compared(counted[1], counted[0])[3] == "+0.0 %"
    assert table.compared(counted[2], counted[0])[3] == "+1.0 % *"


def test_what_speaks_against_a_comparison():
    assert table.comparability(NOW, BEFORE) == []
    other = replace(BEFORE, host={"cores": 8, "processor": "P"}, quick=True)
    machine, quick = table.comparability(NOW, other)
    assert machine == "another machine: cores 8 -> 2"
    assert "quick" in quick


def test_the_document_comes_back_as_it_was(tmp_path):
    file = tmp_path / "bench.json"
    here = document.of_this_machine(NOW.measures, {"instructions": "why"}, quick=True)
    file.write_text(json.dumps(document.to_json(here)))
    assert document.read(file) == here
    assert here.host["cores"] == os.cpu_count()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "cannot read"),
        ("{", "is not JSON"),
        ("[]", "no result of `make bench`"),
        ('{"schema": 1}', "no result of `make bench`"),
        ('{"schema": 7, "measures": []}', "schema 7; this bench compares with schema 1"),
        ('{"schema": 1, "measures": [{"group": "a"}]}', "damaged"),
        ('{"schema": 1, "measures": [3]}', "damaged"),
        ('{"schema": 1, "measures": [], "more": 1}', "unknown more"),
    ],
)
def test_a_file_that_cannot_be_compared_with(tmp_path, text, complaint):
    file = tmp_path / "old.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(NarthexError, match=complaint):
        document.read(file)


def test_the_screen(capsys):
    show(replace(NOW, left_out={"instructions": "no tool"}), BEFORE)
    screen = capsys.readouterr().out
    for text in ("b) on 2 x P", "-37.5 % *", "Left out: instructions: no tool", "threads: ten"):
        assert text in screen


def test_the_simulator_tells_what_the_bench_reads():
    """The real one, as the Rust tests have built it."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", building.ROOT / "target"))
    built = [target / profile / "examples" / "run" for profile in ("debug", "release")]
    here = [file for file in built if file.exists()]
    if not here:
        pytest.skip("the Rust tests build the simulator: make test")
    from narthex import compiler

    newest = max(here, key=lambda file: file.stat().st_mtime)
    guests = {"roundtrip": compiler.program_path("roundtrip")}
    cost = simulator.Simulator(newest, guests).cost(simulator.Run("roundtrip", (8, 2)))
    assert cost.seconds > 0
    assert cost.cpu_seconds > 0
    assert cost.instructions > cost.events > 0
    assert cost.windows > 0
    assert cost.touched_pages > 0
    assert cost.peak_memory_bytes is None or cost.peak_memory_bytes > cost.touched_bytes


def test_the_page_shows_the_figures_and_the_machine():
    text = "before\n<!-- measured by make bench -->\nold\n<!-- end -->\nafter\n"
    found = replace(NOW, host=NOW.host | {"system": "Linux"}, left_out={"growth": "no room"})
    made = page.filled(text, found)
    assert "old" not in made
    assert made.startswith("before\n<!-- measured by make bench -->\n\nVersion 1 (b), 2030-01-02")
    assert "| threads | two | 500 ms | -20 .. +20 % | 0.50 |" in made
    assert "Left out: growth: no room." in made
    assert page.filled(made, found) == made
    with pytest.raises(NarthexError, match="no place"):
        page.filled("nothing", found)


CALLGRIND = f"""events: Ir
fl=(1) {building.ROOT}/machine/src/node/execution.rs
fn=(1) narthex_machine::node::Node::work
10 5
fi=(2) {building.ROOT}/memory/src/bus.rs
+2 7
fi=(3) /rustc/0123/library/core/src/option.rs
30 4
fe=(1)
12 1
cfi=(4) ./malloc/malloc.c
cfn=(2) malloc
calls=3 40
* 900

fl=(4)
fn=(2)
40 60
fl=(5) {building.ROOT}/cores/src/processor.rs
fn=(3) narthex_cores::Processor::run
1 2
"""


def test_costs_go_to_the_layer_of_their_line_and_those_of_rusts_library_to_who_uses_it():
    costs = layers.by_layer(CALLGRIND.splitlines())
    found = {layer: cost for layer, cost in costs.items() if cost}
    assert found == {"node": 6, "interconnect": 11, layers.HOST: 60, "processor": 2}


def test_every_crate_of_the_simulator_belongs_to_a_layer():
    sources = [path for path in building.ROOT.glob("*/src/lib.rs") if "fuzz" not in path.parts]
    without = {"checking", "observation", "python", "schedules"}
    crates = {path.parts[-3]: layers.layer_of(str(path)) for path in sources}
    assert {crate for crate, layer in crates.items() if layer is None} <= without


def test_every_stream_has_a_guest_with_its_driver():
    guests = plan.streamers()
    assert guests["bandwidth over Ring"] == "Ring"
    for interface in ("NI2w", "CNI32Qm", "Ring", "Verbs", "RegisterFile", "PioCoherent"):
        linked = guests[programs.stream_run(interface, 0).program]
        assert driver_apart(linked) == driver_apart(interface)
