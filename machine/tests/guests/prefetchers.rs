//! Blocks that are prefetched: exact times, what becomes of them, and results that do not depend on how they
//! were computed.

use narthex_machine::RunRequest;
use narthex_machine::node::probe::Event;
use serde_json::Value;

use crate::coherence::prefetching;
use crate::listener::Listener;
use crate::single_nodes::{blueprint, finish, load, node_of};
use crate::support::exchange::ping_pong;
use crate::support::{DATA, fixed_hpca98, reported, result, run_guest, statistic, with};
use crate::{checkpoints, wait_loops};

/// One node with a processor that executes two instructions a cycle, of one nanosecond as all here.
fn alone(kind: &str, more: &[&str]) -> RunRequest {
    let one = RunRequest { nodes: Some(1), ..fixed_hpca98("NI2w") };
    let more = more.iter().map(|&own| own.to_owned());
    prefetching("data_cache", kind).into_iter().chain(more).fold(one, |request, own| with(request, &own))
}

/// What instructions take behind a load that has waited for its block, until E; the bus has an edge at E + 3.
fn cycles(request: &RunRequest, instructions: &str) -> (i64, Value) {
    let source = format!(
        "
        li   s2, {first}
        li   s3, {waited}
        ld   a0, 0(s3)
        add  a0, a0, a0
        csrrs s0, 0xc00, zero
        {instructions}
        csrrs s1, 0xc00, zero
        sub  s1, s1, s0
        report cycles, s1
        exit 0
    ",
        first = DATA + 0x1000,
        waited = DATA + 0x8fc0,
    );
    let document = result(request, &source);
    (reported(&document, 0, "cycles"), document)
}

/// Of prefetches: issued, useful, late, useless.
fn fates(document: &Value) -> [u64; 4] {
    ["issued", "useful", "late", "useless"].map(|own| statistic(document, 0, &format!("prefetches_{own}")))
}

/// Loads from these blocks, and so many cycles behind each.
fn loads(blocks: &[u64], cycles: usize) -> String {
    let wait = "nop\n".repeat(2 * cycles);
    blocks.iter().map(|block| format!("ld a1, {}(s2)\n add a1, a1, a1\n{wait}", 64 * block)).collect()
}

/// Six blocks that follow each other, with so many cycles behind each.
fn in_order(kind: &str, wait: usize) -> (i64, [u64; 4]) {
    let (time, document) = cycles(&alone(kind, &[]), &loads(&[0, 1, 2, 3, 4, 5], wait));
    (time, fates(&document))
}

#[test]
fn blocks_that_were_prefetched_in_time_take_a_cycle_each() {
    // A miss takes 140 cycles: 3 up to the bus's edge, 136 on it, one to use the value. A load that hits takes one.
    let (without, _) = cycles(&alone("", &[]), &loads(&[0, 1, 2, 3, 4, 5], 400));
    assert_eq!(without, 6 * (140 + 400));
    // The first one misses; each asks for the two behind it, the last one for the seventh.
    assert_eq!(in_order("next-line", 400), (140 + 400 + 5 * (1 + 400), [7, 5, 0, 0]));
    // The first two miss. From the second one to the last but one each asks for two, none further ahead than four.
    assert_eq!(in_order("stream", 400), (2 * (140 + 400) + 4 * (1 + 400), [8, 4, 0, 0]));
}

#[test]
fn blocks_that_come_late_come_one_after_the_other_over_the_bus() {
    assert_eq!(in_order("next-line", 0), (140 + 5 * 136, [5, 0, 5, 0]));
    // What is executed between is hidden, but behind the last one.
    assert_eq!(in_order("next-line", 100), (140 + 5 * 136 + 100, [6, 0, 5, 0]));
    assert_eq!(in_order("stream", 0), (2 * 140 + 4 * 136, [4, 0, 4, 0]));
    assert_eq!(in_order("stream", 100), (2 * 140 + 100 + 4 * 136 + 100, [5, 0, 4, 0]));
}

#[test]
fn a_walk_that_never_comes_to_the_next_block_gains_nothing_and_its_prefetches_are_useless() {
    // Eight sets of one line: what each of these prefetches takes the place of what the one before has.
    let walk = loads(&[0, 16, 8, 24], 400);
    let small = &["data_cache.size=512B"];
    let (without, _) = cycles(&alone("", small), &walk);
    let (time, document) = cycles(&alone("next-line", small), &walk);
    assert_eq!((time, without), (4 * (140 + 400), 4 * (140 + 400)));
    assert_eq!(fates(&document), [8, 0, 0, 6], "the last two are there, unused");
    let (_, document) = cycles(&alone("stream", small), &walk);
    assert_eq!(fates(&document), [0; 4], "no stream");
}

#[test]
fn messages_arrive_with_a_prefetcher_whatever_computes_them() {
    for (interface, kind) in [("NI2w", "next-line"), ("CNI32Qm", "stream")] {
        let request = prefetching("data_cache", kind)
            .iter()
            .fold(fixed_hpca98(interface), |request, setting| with(request, setting));
        let document = result(&request, &ping_pong(60, 64));
        let threads = RunRequest { threads: 2, ..request.clone() };
        let same = run_guest(&threads, &ping_pong(60, 64)).expect("it runs");
        assert_eq!(document["nodes"], same["nodes"], "{interface}");
        checkpoints::check(&request, &ping_pong(12, 200));
        wait_loops::compared(&request, &ping_pong(20, 56));
    }
}

#[test]
fn a_probe_of_a_node_sees_prefetches_as_such() {
    let settings = prefetching("data_cache", "next-line");
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let machine = load("prefetching.toml", "base = \"hpca98\"", &settings);
    let source = format!("li s2, {DATA}\n {} exit 0", loads(&[0, 1, 6], 400));
    let mut node = node_of(&blueprint(&machine, &source));
    node.attach(Box::new(Listener::default()));
    let mut node = finish(node);
    let Listener { events, .. } = node.detach().expect("it is attached");
    let seen = |name| {
        let is_it = |event: &&Event| matches!(event, Event::Crossing(crossing) if crossing.name() == name);
        events.iter().map(|(_, event)| event).filter(is_it).count()
    };
    let issued = &node.to_json()["statistics"]["prefetches_issued"];
    assert!(seen("prefetch") > 0 && seen("read") > 0);
    assert_eq!(Some(seen("prefetch") as u64), issued.as_u64());
}
