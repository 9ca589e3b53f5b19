"""Timelines of runs, read with Perfetto's own definition of its format."""

import gzip
import subprocess
import sys
from collections import Counter, defaultdict

import pytest
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

import narthex
from narthex.errors import NarthexError


def messages(message):
    """All messages within one, itself among them."""
    yield message
    for field, value in message.ListFields():
        if field.message_type:
            for part in value if field.is_repeated else [value]:
                yield from messages(part)


class Reader:
    """What a viewer knows after it has read a timeline."""

    def __init__(self, file):
        self.trace = Trace()
        unpack = gzip.decompress if file.suffix == ".gz" else bytes
        self.trace.ParseFromString(unpack(file.read_bytes()))
        self.rows, self.slices, self.flows = {}, [], Counter()
        self.names, self.keys = {}, {}
        stacks = defaultdict(list)
        for packet in self.trace.packet:
            new = packet.interned_data
            self.names |= {name.iid: name.name for name in new.event_names}
            self.keys |= {name.iid: name.name for name in new.debug_annotation_names}
            if packet.HasField("track_descriptor"):
                self.rows[packet.track_descriptor.uuid] = packet.track_descriptor
            if packet.HasField("track_event"):
                self._event(packet, stacks[packet.track_event.track_uuid])
        assert not any(stacks.values())

    def _event(self, packet, stack):
        event = packet.track_event
        rest = {self.keys[each.name_iid]: each.uint_value for each in event.debug_annotations}
        at_ps = packet.timestamp * 1000 + rest.get("begin_ps", 0) + rest.get("end_ps", 0)
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            stack.append((self.names[event.name_iid], at_ps))
        elif event.type == TrackEvent.TYPE_SLICE_END:
            name, begin_ps = stack.pop()
            around = stack[-1][0] if stack else None
            row = self.rows[event.track_uuid]
            self.slices.append((row, around, name, at_ps - begin_ps))
        self.flows.update(event.flow_ids)
        self.flows.update(event.terminating_flow_ids)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    file = tmp_path_factory.mktemp("timeline") / "roundtrip.pftrace"
    result = narthex.run("roundtrip", 64, 20, trace=file)
    return result, Reader(file)


def test_the_format_is_perfettos_and_has_no_field_that_it_does_not_know(run):
    _, reader = run
    assert not any(len(UnknownFieldSet(message)) for message in messages(reader.trace))


def test_processors_are_in_groups_and_their_slices_are_their_ledgers(run):
    result, reader = run
    ledgers = defaultdict(Counter)
    for row, around, name, length_ps in reader.slices:
        if row.name == "processor 0" and around:
            ledgers[reader.rows[row.parent_uuid].name][f"{around} / {name}"] += length_ps
    for node in result.document["nodes"]:
        assert ledgers[f"node {node['node']}"] == node["processors"][0]["ledger_ps"]


LINK = """
base = "chip"
[node.interface]
on = ["link"]
[interfaces.ring]
reads = 4
[node.interconnects.link]
"""
PCIE = """
kind = "pcie"
behind = "directory"
generation = 3
lanes = 8
max_payload = "256B"
max_read_request = "512B"
read_completion_boundary = "64B"
request_header = "24B"
completion_header = "20B"
ecrc = "0B"
link_layer_share = 0.04
tags = 32
root_complex_latency = "150ns"
link_latency = "5ns"
switch_latency = "0ns"
endpoint_latency = "50ns"
"""
CREDITS = ("posted_headers", "posted_data", "non_posted_headers", "completion_headers",
           "completion_data")  # fmt: skip


def test_a_link_has_a_row_for_each_direction_whose_packets_are_what_was_busy(tmp_path):
    machine, file = tmp_path / "nic.toml", tmp_path / "link.pftrace"
    buffers = [
        f"[node.interconnects.link.{end}_credits]\n" + "".join(f"{key} = 64\n" for key in CREDITS)
        for end in ("root_complex", "endpoint")
    ]
    machine.write_text(LINK + PCIE + "\n".join(buffers))
    asked = {"nodes": 2, "machine": machine, "interface": "Ring"}
    result = narthex.run("roundtrip", 64, 3, trace=file, traffic=True, **asked)
    plain = narthex.run("roundtrip", 64, 3, **asked)
    assert {**result.document, "traffic": 0} == {**plain.document, "traffic": 0}
    reader, busy, names = Reader(file), Counter(), Counter()
    for row, _, name, length_ps in reader.slices:
        if row.name.startswith("link, "):
            busy[reader.rows[row.parent_uuid].name, row.name] += length_ps
            names[row.name, name] += 1
    series = result.document["traffic"]["series"]
    in_bins = {row["name"]: row for row in series["rows"] if row["node"] == 0}
    counted = [node["statistics"]["link_busy"] for node in result.document["nodes"]]
    for way, row in (("down", "link, to the device"), ("up", "link, to the host")):
        assert [busy[f"node {node}", row] for node in (0, 1)] == [each[way] for each in counted]
        mean_ps = sum(in_bins[row]["means"]) * series["bin_ps"]
        assert mean_ps == pytest.approx(counted[0][way], rel=0.02)
    assert names["link, to the host", "memory read"] > 0
    assert names["link, to the device", "completion"] >= names["link, to the host", "memory read"]


def test_every_arrow_joins_two_events_at_least(run):
    _, reader = run
    assert len(reader.flows) > 40
    assert min(reader.flows.values()) >= 3  # leaves, arrives, is taken


def test_a_result_does_not_know_of_its_timeline(run):
    result, _ = run
    assert narthex.run("roundtrip", 64, 20).document == result.document


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """A run with its functions."""
    file = tmp_path_factory.mktemp("functions") / "roundtrip.pftrace"
    arguments = {"nodes": 2, "trace_functions": True}
    result = narthex.run("roundtrip", 64, 20, trace=file, **arguments)
    return result, Reader(file), file.read_bytes()


def lengths_of(reader, kind, node):
    """The lengths of the slices in a kind of row of a node, by their names."""
    found = defaultdict(list)
    for row, _, name, length_ps in reader.slices:
        if row.name.startswith(kind) and reader.rows[row.parent_uuid].name == f"node {node}":
            found[name].append(length_ps)
    return found


def test_regions_are_those_of_the_result(followed):
    result, reader, _ = followed
    marked = [defaultdict(list) for _ in result.document["nodes"]]
    for region in result.document["regions"]:
        marked[region["node"]][region["name"]].append(region["end_ps"] - region["begin_ps"])
    assert list(marked[0]) == ["round trips"]
    assert [lengths_of(reader, "regions of", node) for node in range(2)] == marked


CROSSING = """
#include <narthex.h>

int main(void) {
    narthex_region_begin("outer");
    narthex_region_begin("same");
    narthex_pause(1000);
    narthex_region_begin("same");
    narthex_pause(2000);
    narthex_region_end("outer");
    narthex_pause(1000);
    narthex_region_begin("later");
    narthex_region_end("same");
    narthex_pause(5000);
    narthex_region_end("later");
    narthex_region_end("same");
    return 0;
}
"""


@pytest.mark.parametrize("begin", [None, "2us"])
def test_regions_that_cross_have_rows_of_their_own_and_open_ones_are_seen_later(tmp_path, begin):
    source, file = tmp_path / "crossing.c", tmp_path / "crossing.pftrace"
    source.write_text(CROSSING)
    result = narthex.run(source, nodes=1, trace=file, trace_from=begin)
    from_ps = 2_000_000 if begin else 0
    marked = defaultdict(list)
    for region in result.document["regions"]:
        begin_ps = max(region["begin_ps"], from_ps)
        if region["end_ps"] > begin_ps:
            marked[region["name"]].append(region["end_ps"] - begin_ps)
    found = lengths_of(Reader(file), "regions of", 0)
    assert {name: sorted(lengths) for name, lengths in found.items()} == {
        name: sorted(lengths) for name, lengths in marked.items()
    }
    assert set(marked) == {"outer", "same", "later"}


def test_each_message_has_a_handler_by_the_name_of_its_function(followed):
    _, reader, _ = followed
    for node, name in [(0, "on_reply"), (1, "on_request")]:
        handlers = lengths_of(reader, "handlers of", node)
        functions = lengths_of(reader, "functions of", node)
        assert len(handlers[name]) >= 20
        assert handlers[name] == functions[name]


def test_functions_are_within_those_that_call_them_and_fill_the_processors_time(followed):
    result, reader, _ = followed
    for node in result.document["nodes"]:
        own = [
            (around, name, length)
            for row, around, name, length in reader.slices
            if row.name == "functions of processor 0"
            and reader.rows[row.parent_uuid].name == f"node {node['node']}"
        ]
        outermost = sum(length for around, _, length in own if around is None)
        exited = sum(
            length
            for row, _, name, length in reader.slices
            if row.name == "processor 0"
            and name == "exited"
            and reader.rows[row.parent_uuid].name == f"node {node['node']}"
        )
        whole = sum(node["processors"][0]["ledger_ps"].values())
        assert 0.99 * (whole - exited) <= outermost <= whole - exited
        assert "main" in {name for _, name, _ in own}
        handler = ("on_reply", "on_request")[node["node"]]
        assert any(around == handler for around, _, _ in own)


def test_following_functions_changes_neither_the_result_nor_with_threads_the_file(
    followed, tmp_path
):
    result, _, written = followed
    assert narthex.run("roundtrip", 64, 20, nodes=2).document == result.document
    file = tmp_path / "threads.pftrace"
    narthex.run("roundtrip", 64, 20, nodes=2, trace=file, trace_functions=True, threads=2)
    assert file.read_bytes() == written


def test_functions_without_a_timeline_are_refused():
    with pytest.raises(NarthexError, match="name its file with --trace"):
        narthex.run("hello", nodes=2, trace_functions=True)


def invoke(*arguments):
    command = [sys.executable, "-m", "narthex", "run", "roundtrip", "8", "2", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_the_command_line_writes_a_part_of_a_timeline(tmp_path):
    file = tmp_path / "part.pftrace"
    part = ("--trace-nodes", "1", "--trace-from", "2us", "--trace-to", "4us")
    assert invoke("--trace", file, *part).returncode == 0
    reader = Reader(file)
    assert {row.name for row in reader.rows.values() if row.name.startswith("node")} == {"node 1"}
    of_processor = [rest for row, *rest in reader.slices if row.name == "processor 0"]
    assert sum(length for around, _, length in of_processor if not around) == 2_000_000


def test_a_name_that_ends_in_gz_is_compressed(tmp_path):
    plain, packed = tmp_path / "a.pftrace", tmp_path / "a.pftrace.gz"
    for file in (plain, packed):
        narthex.run("roundtrip", 8, 2, trace=file)
    assert Reader(packed).trace == Reader(plain).trace
    assert packed.stat().st_size < plain.stat().st_size / 3


@pytest.mark.parametrize("file", ["{folder}", "{folder}/no/x.pftrace"])
def test_a_place_that_cannot_be_is_refused_before_the_program_is_compiled(tmp_path, file):
    done = invoke("--trace", file.format(folder=tmp_path))
    assert done.returncode == 2
    assert "choose another place for --trace" in done.stderr


def test_a_name_that_ends_in_vcd_is_a_value_change_dump(tmp_path):
    file = tmp_path / "buses.vcd"
    narthex.run("roundtrip", 8, 2, trace=file)
    assert file.read_text().startswith("$version")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"trace": "{folder}"}, "is a directory"),
        ({"trace": "{folder}/no/x"}, "No such file or directory"),
        ({"trace": "{folder}/x", "trace_nodes": "0-7"}, "there is no node 7"),
        ({"trace": "{folder}/x", "trace_from": "10"}, "has no unit"),
        ({"trace": "{folder}/x", "trace_from": "2us", "trace_to": "1us"}, "expected a later end"),
        ({"trace_nodes": "0"}, "name its file with --trace"),
    ],
)
def test_what_cannot_be_shown_is_refused(tmp_path, arguments, problem):
    wanted = {name: text.format(folder=tmp_path) for name, text in arguments.items()}
    with pytest.raises(NarthexError, match=problem) as refusal:
        narthex.run("roundtrip", 8, 2, nodes=2, **wanted)
    assert refusal.value.exit_code == 2
    assert not list(tmp_path.iterdir())


LIMITED = """
import resource, sys, narthex
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
result = narthex.run("roundtrip", 64, 200, trace=sys.argv[1], notice=print)
print(result.document["ending"])
"""


def test_a_file_that_can_grow_no_more_ends_the_timeline_and_not_the_run(tmp_path):
    file = tmp_path / "cut.pftrace"
    narthex.run("roundtrip", 64, 2)  # compiled, before files cannot grow
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(file)], capture_output=True, text=True, check=True
    )
    assert "cut.pftrace' is cut off at" in done.stdout
    assert "File too large" in done.stdout
    assert done.stdout.endswith("finished\n")
    assert 90_000 < file.stat().st_size <= 100_000
