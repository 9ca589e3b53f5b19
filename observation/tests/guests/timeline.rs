//! Timelines, read whole: what nests nests, no time is lost, arrows arrive, and
//! neither the result nor the bytes depend on who watches or on how many threads.

mod decoded;

use std::fs;
use std::path::PathBuf;

use narthex_machine::{Progress, RunRequest};
use narthex_observation::{TraceRequest, run};
use serde_json::Value;

use crate::failure;
use crate::support::exchange::{Exchange, SENDERS, all_to_one, both_ways, exchange, ping_pong};
use crate::support::machines::machines_and_interfaces;
use crate::support::{Guest, request, run_guest, with};
use decoded::{Slice, Timeline, assert_dump_is_sound};

/// A file that is gone when the test is over.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(name: &str) -> Self {
        TemporaryFile(std::env::temp_dir().join(format!("narthex-{}-{name}", std::process::id())))
    }

    fn read(&self) -> Vec<u8> {
        let unfinished = PathBuf::from(format!("{}.unfinished", self.0.display()));
        assert!(!unfinished.exists(), "the timeline is at its place");
        fs::read(&self.0).expect("there is a timeline")
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A timeline of the whole run at that place.
fn whole(place: &TemporaryFile) -> TraceRequest {
    TraceRequest::whole(place.0.clone())
}

fn run_traced(request: &RunRequest, trace: &TraceRequest, guest: &Exchange) -> Value {
    run(&guest.in_run(request), Some(trace), &guest.elf(), &mut |_| true).expect("it runs")
}

/// The result of a run and its timeline.
fn watched(request: &RunRequest, guest: &Exchange, place: &TemporaryFile) -> (Value, Vec<u8>) {
    let document = run_traced(request, &whole(place), guest);
    (document, place.read())
}

/// The part of a run's timeline that shows these nodes in this time.
fn part(request: &RunRequest, guest: &Exchange, [nodes, from, to]: [&str; 3]) -> Timeline {
    let place = TemporaryFile::new(&format!("part-{from}-{to}"));
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let trace = TraceRequest { nodes: text(nodes), from: text(from), to: text(to), ..whole(&place) };
    run_traced(request, &trace, guest);
    Timeline::decode(&place.read())
}

#[test]
fn slices_add_up_to_ledgers_and_buses_arrows_arrive_and_the_result_is_the_same() {
    let guest = ping_pong(12, 200);
    let place = TemporaryFile::new("whole.pftrace");
    for (machine, interface) in machines_and_interfaces() {
        let request = request(machine, interface);
        let (document, bytes) = watched(&request, &guest, &place);
        assert_eq!(document, run_guest(&request, &guest).unwrap(), "{machine} {interface}");
        let timeline = Timeline::decode(&bytes);
        timeline.assert_ledgers(&document);
        timeline.assert_buses(&document);
        timeline.assert_flows(2 * 12);
        for number in ["packets not acknowledged", "packets that came back", "packets that wait to be taken"]
        {
            assert_eq!(timeline.last_number(0, number), 0, "{machine} {interface}: {number}");
        }
        assert!(!timeline.slices(0, "send half").is_empty(), "{machine} {interface}");
        assert!(!timeline.slices(1, "receive half").is_empty(), "{machine} {interface}");
    }
}

#[test]
fn packets_that_come_back_are_one_arrow_and_are_counted() {
    let place = TemporaryFile::new("returned.pftrace");
    let request = with(request("hpca98", "NI2w"), "flow_control.buffers=1");
    let request = RunRequest { nodes: Some(SENDERS as u32 + 1), ..request };
    let (document, bytes) = watched(&request, &all_to_one(), &place);
    let timeline = Timeline::decode(&bytes);
    timeline.assert_ledgers(&document);
    let sum = |name: &str| {
        let nodes = document["nodes"].as_array().unwrap();
        nodes.iter().map(|node| node["statistics"][name].as_u64().unwrap()).sum::<u64>()
    };
    let happened = |name: &str| (0..5).map(|node| timeline.instants(node, name)).sum::<u64>();
    timeline.assert_flows(sum("packets_sent") as usize);
    assert!(sum("packets_returned") > 0);
    assert_eq!(happened("packet finds no buffer"), sum("packets_returned"));
    assert_eq!(happened("packet comes back"), sum("packets_returned"));
    assert_eq!(happened("packet leaves again"), sum("packets_retried"));
}

#[test]
fn picoseconds_within_a_nanosecond_are_not_lost() {
    let request = with(request("hpca98", "CNI32Qm"), "processor.clock=1.25GHz");
    let request = with(request, "bus.clock=400MHz");
    let place = TemporaryFile::new("odd.pftrace");
    let (document, bytes) = watched(&request, &ping_pong(6, 64), &place);
    let timeline = Timeline::decode(&bytes);
    timeline.assert_ledgers(&document);
    timeline.assert_buses(&document);
}

#[test]
fn several_processes_of_a_node_have_rows_of_their_own() {
    let request = RunRequest { nodes: Some(1), ..request("hpca98", "CNI32Qm") };
    let request = with(request, "machine.processors_per_node=2");
    let place = TemporaryFile::new("processes.pftrace");
    let (document, bytes) = watched(&request, &ping_pong(6, 64), &place);
    let timeline = Timeline::decode(&bytes);
    timeline.assert_ledgers(&document);
    timeline.assert_flows(12);
    assert!(!timeline.slices(0, "receive half of process 1").is_empty());
}

#[test]
fn a_tile_has_a_row_of_its_transactions_that_shows_where_their_messages_are() {
    let (request, guest) = (request("chip", "NI2w"), ping_pong(3, 64));
    let place = TemporaryFile::new("chip.pftrace");
    let (document, bytes) = watched(&request, &guest, &place);
    assert_eq!(document, run_guest(&request, &guest).unwrap());
    let timeline = Timeline::decode(&bytes);
    timeline.assert_ledgers(&document);
    let slices = timeline.slices(0, "transactions of processor 0");
    let of_loads = |slice: &&Slice| slice.around.as_deref() == Some("uncached_load");
    let lengths = |name: &str| {
        let mut lengths: Vec<u64> =
            slices.iter().filter(of_loads).filter(|slice| slice.name == name).map(Slice::length).collect();
        lengths.dedup();
        lengths
    };
    // The interface is one hop away and takes 60 ns; each way takes two links and a cycle.
    let stages = ["request under way", "at its home", "response under way"];
    assert_eq!(stages.map(lengths), [[7_000], [60_000], [7_000]]);
    let instructions = slices.iter().filter(|slice| slice.around.as_deref() == Some("read"));
    assert!(instructions.count() > 3, "blocks come in the same way");
}

#[test]
fn the_bytes_are_the_same_on_any_number_of_threads() {
    let guest = both_ways(15, 100, 3);
    for (machine, interface) in [("hpca98", "CNI32Qm"), ("isca96", "CNI16Q on io-bus"), ("hpca98", "NI2w")] {
        for name in ["threads.pftrace", "threads.vcd"] {
            let place = TemporaryFile::new(name);
            let request = RunRequest { nodes: Some(4), ..request(machine, interface) };
            let bytes = |threads| watched(&RunRequest { threads, ..request.clone() }, &guest, &place).1;
            let alone = bytes(1);
            assert!(alone.len() > 1_000);
            assert!([2, 3].map(bytes).iter().all(|bytes| *bytes == alone), "{machine} {interface} {name}");
        }
    }
}

#[test]
fn a_part_shows_what_the_whole_does_in_that_time() {
    let guest = ping_pong(30, 64);
    for (machine, interface) in [("hpca98", "CNI32Qm"), ("isca96", "CNI512Q on io-bus"), ("hpca98", "NI2w")] {
        let request = request(machine, interface);
        let whole = part(&request, &guest, ["", "", ""]);
        let (from, to) = (10_000_000, 15_500_000);
        let window = part(&request, &guest, ["1", "10us", "15.5us"]);
        assert_eq!(window.nodes(), ["node 1"]);
        for row in whole.rows(1) {
            let clip = |slice: &Slice| slice.within(from, to);
            let expected: Vec<Slice> = whole.slices(1, &row).iter().filter_map(clip).collect();
            assert_eq!(window.slices(1, &row), expected, "{machine} {interface}: {row}");
        }
        let covered: u64 =
            window.slices(1, "processor 0").iter().filter(|slice| slice.depth == 0).map(Slice::length).sum();
        assert_eq!(covered, to - from);
        assert_eq!(window.flow_count(), 0, "the other node is not shown");
    }
}

#[test]
fn arrows_of_a_part_begin_and_end_in_it() {
    let guest = ping_pong(30, 64);
    let window = part(&request("hpca98", "CNI32Qm"), &guest, ["0-1", "65us", "85us"]);
    assert!(window.flow_count() > 3);
    window.assert_flows(window.flow_count());
}

#[test]
fn waveforms_show_each_bus_busy_as_long_as_it_was() {
    let guest = ping_pong(10, 100);
    let place = TemporaryFile::new("buses.vcd");
    for (machine, interface) in machines_and_interfaces() {
        let request = request(machine, interface);
        let (document, bytes) = watched(&request, &guest, &place);
        assert_eq!(document, run_guest(&request, &guest).unwrap());
        assert_dump_is_sound(&bytes, &document);
    }
}

#[test]
fn a_run_that_fails_or_is_interrupted_leaves_its_timeline() {
    let place = TemporaryFile::new("ended.pftrace");
    let (request, trace) = (request("hpca98", "CNI32Qm"), whole(&place));
    assert_eq!(failure(&request, Some(&trace), "exit 3").exit_code, 1);
    Timeline::decode(&place.read());

    let guest = ping_pong(100_000, 64);
    let mut reports = 0;
    let interrupted = run(&guest.in_run(&request), Some(&trace), &guest.elf(), &mut |progress| {
        reports += u32::from(matches!(progress, Progress::Time(_)));
        reports < 2
    });
    assert!(interrupted.unwrap_err().message.contains("interrupted"));
    let timeline = Timeline::decode(&place.read());
    assert!(!timeline.slices(0, "processor 0").is_empty());
}

#[test]
fn a_run_that_gets_stuck_leaves_its_timeline_up_to_there() {
    let place = TemporaryFile::new("stuck.pftrace");
    let stuck = with(request("hpca98", "CNI32Qm"), "machine.time_without_progress=20us");
    assert_eq!(failure(&stuck, Some(&whole(&place)), &exchange("receive any")).exit_code, 3);
    let timeline = Timeline::decode(&place.read());
    let last = timeline.slices(0, "processor 0").into_iter().rfind(|slice| slice.depth == 0);
    assert_eq!(last.unwrap().name, "poll");
}

#[test]
fn a_timeline_that_begins_after_the_run_is_empty_and_that_is_said() {
    let place = TemporaryFile::new("late.pftrace");
    let late = TraceRequest { from: Some("1s".into()), ..whole(&place) };
    let mut warnings = Vec::new();
    let guest = ping_pong(2, 8);
    run(&guest.in_run(&request("hpca98", "NI2w")), Some(&late), &guest.elf(), &mut |progress| {
        if let Progress::Warning(text) = progress {
            warnings.push(text.to_owned());
        }
        true
    })
    .expect("it runs");
    assert!(warnings[0].contains("is empty: the run was over at"), "{warnings:?}");
    assert_eq!(Timeline::decode(&place.read()).flow_count(), 0);
}

#[test]
fn places_and_parts_that_cannot_be_are_refused_before_the_run() {
    let refusal = |trace: TraceRequest| {
        let failure = failure(&request("hpca98", "NI2w"), Some(&trace), "exit 0");
        assert_eq!(failure.exit_code, 2);
        failure.message
    };
    let of = TraceRequest::whole;
    let folder = std::env::temp_dir();
    assert!(
        refusal(of(folder.clone())).contains("cannot be written: is a directory"),
        "{}",
        refusal(of(folder))
    );
    let message = refusal(of(TemporaryFile::new("no-folder").0.join("x.pftrace")));
    assert!(message.contains("cannot be written: No such file or directory"), "{message}");
    let message =
        refusal(TraceRequest { nodes: Some("0-2".into()), ..of(TemporaryFile::new("x").0.clone()) });
    assert!(message.contains("there is no node 2") && message.contains("from 0 to 1"), "{message}");
}
