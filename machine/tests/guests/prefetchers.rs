//! Blocks that are prefetched: exact times, what becomes of them, and results that do not depend on how they
//! were computed.

use narthex_machine::RunRequest;
use serde_json::Value;

use crate::coherence::prefetching;
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

#[test]
fn print_them() {
    for kind in ["", "next-line", "stream"] {
        for wait in [0, 100, 200, 400] {
            let request = alone(kind, &[]);
            let (time, document) = cycles(&request, &loads(&[0, 1, 2, 3, 4, 5], wait));
            let f = if kind.is_empty() { [0; 4] } else { fates(&document) };
            println!("{kind} {wait}: {time} {f:?}");
        }
    }
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
