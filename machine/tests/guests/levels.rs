//! Machines whose processors have two levels of caches: exact times, data, results
//! that do not depend on how they were computed.

use narthex_machine::RunRequest;
use proptest::prelude::*;
use proptest::sample::select;

use crate::coherence::{checksum, checksumming, step};
use crate::support::exchange::ping_pong;
use crate::support::{
    DATA, failure, fixed_hpca98, reported, reported_word, result, run_guest, statistic, with,
};
use crate::{checkpoints, wait_loops};

const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guests/two-levels.toml");

/// Two nodes of the machine with two levels.
fn two_levels(interface: &str) -> RunRequest {
    RunRequest { machine: MACHINE.into(), ..fixed_hpca98(interface) }
}

fn alone(settings: &[&str]) -> RunRequest {
    let one = RunRequest { nodes: Some(1), ..two_levels("NI2w") };
    settings.iter().fold(one, |request, setting| with(request, setting))
}

/// An instruction cache of 1 KiB above the second level.
const INSTRUCTION_CACHE: [&str; 6] = [
    "instruction_cache.kind=cache",
    "instruction_cache.size=1KiB",
    "instruction_cache.associativity=1",
    "instruction_cache.block=64B",
    "instruction_cache.protocol=MOESI",
    "instruction_cache.snarfing=false",
];

/// Cycles from a load that has just waited for its block, at E, to where the next
/// instruction may issue behind these. The first one that accesses memory does so at
/// E + 1. Before, `prepare` has been executed.
fn cycles(settings: &[&str], prepare: &str, instructions: &str) -> i64 {
    let source = format!(
        "
        li   s2, {DATA}
        li   s3, {waited}
        {prepare}
        ld   a0, 0(s3)
        csrrs s0, 0xc00, zero
        {instructions}
        csrrs s1, 0xc00, zero
        sub  s1, s1, s0
        report cycles, s1
        exit 0
    ",
        waited = DATA + 0x8000
    );
    reported(&result(&alone(settings), &source), 0, "cycles")
}

/// The second level has the block at s2, the data cache its first part.
const BELOW: &str = "ld a0, 0(s2)";
/// One access at a time.
const ONE_AT_A_TIME: &str = "second_level_cache.port=one-at-a-time";

#[test]
fn a_load_that_hits_the_second_level_is_ready_its_latency_after_a_hit() {
    assert_eq!(cycles(&[], BELOW, "ld a1, 8(s2)\n add a1, a1, a1"), 2);
    assert_eq!(cycles(&[], BELOW, "ld a1, 32(s2)\n add a1, a1, a1"), 12);
    assert_eq!(
        cycles(&["second_level_cache.latency_cycles=25"], BELOW, "ld a1, 32(s2)\n add a1, a1, a1"),
        27
    );
}

#[test]
fn instructions_that_need_nothing_of_it_go_on() {
    let nops = "nop\n".repeat(8);
    for load in ["ld a1, 8(s2)", "ld a1, 32(s2)"] {
        assert_eq!(cycles(&[], BELOW, &format!("{load}\n{nops}")), 5, "{load}");
    }
}

#[test]
fn the_data_cache_is_taken_until_its_block_has_come() {
    assert_eq!(cycles(&[], BELOW, "ld a1, 32(s2)\n ld a2, 64(s2)\n add a2, a2, a2"), 22);
    assert_eq!(cycles(&[], BELOW, "sd a0, 32(s2)\n ld a2, 0(s2)\n add a2, a2, a2"), 12, "behind a store");
}

#[test]
fn a_dirty_block_that_leaves_takes_the_port_of_the_second_level_besides() {
    // Two ways, of which the third block of a set replaces the first. It comes at once;
    // the next access to the second level waits for what was written back.
    let two = "ld a1, 1024(s2)\n ld a2, 96(s2)\n add a2, a2, a2";
    let prepared =
        |access: &str| format!("ld a0, 1024(s2)\n ld a0, 64(s2)\n {access} a0, 0(s2)\n {access} a0, 512(s2)");
    assert_eq!(cycles(&[ONE_AT_A_TIME], &prepared("ld"), two), 22);
    assert_eq!(cycles(&[ONE_AT_A_TIME], &prepared("sd"), two), 32);
    assert_eq!(cycles(&[], &prepared("sd"), two), 22, "a pipelined one has taken it by then");
}

#[test]
fn a_miss_of_both_levels_takes_the_look_into_the_second_besides() {
    // 1 arbitration + 1 address + 4 data = 6 bus cycles of 4 ns, 120 ns of memory and
    // 10 cycles of the second level: 154 behind the bus's next edge. E is 10 cycles
    // behind one, so that is at E + 2.
    assert_eq!(cycles(&[], "", "ld a1, 0(s2)"), 156);
}

#[test]
fn a_write_through_store_waits_for_the_port_and_for_nothing_else() {
    let through = "second_level_cache.data_cache_stores=write-through";
    let prepare = "sd a0, 0(s2)\n ld a0, 0(s2)";
    let stores =
        "sd a0, 0(s2)\n sd a0, 8(s2)\n sd a0, 16(s2)\n sd a0, 24(s2)\n ld a1, 0(s2)\n add a1, a1, a1";
    assert_eq!(cycles(&[], prepare, stores), 6);
    assert_eq!(cycles(&[through], prepare, stores), 6);
    assert_eq!(cycles(&[through, ONE_AT_A_TIME], prepare, stores), 32, "the last begins at E + 31");
}

#[test]
fn a_fetch_that_hits_the_second_level_delays_the_front_end() {
    // The jump's target is in a line of its own, which loads have brought near.
    let far = format!("j far\n{} far: nop", "nop\n".repeat(64));
    let near = "li t0, 0x10100\n ld a0, 0(t0)\n ld a0, 128(t0)";
    assert_eq!(cycles(&INSTRUCTION_CACHE, near, &far), 10 + cycles(&[], near, &far));
}

#[test]
fn statistics_tell_what_each_level_served() {
    let source =
        format!("li s2, {DATA}\n ld a0, 0(s2)\n ld a0, 32(s2)\n ld a0, 40(s2)\n sd a0, 64(s2)\n exit 0");
    let document = result(&alone(&[]), &source);
    let count = |name| statistic(&document, 0, name);
    assert_eq!([count("load_misses"), count("store_misses")], [2, 1]);
    assert_eq!([count("second_level_hits"), count("second_level_misses")], [2, 1]);
    let one_level = run_guest(&crate::support::alone("hpca98"), &*source).expect("it runs");
    assert!(one_level["nodes"][0]["statistics"].get("second_level_hits").is_none());
}

#[test]
fn levels_that_do_not_fit_are_refused_with_file_and_key() {
    for (setting, key, reason) in [
        ("second_level_cache.block=16B", "second_level_cache.block", "no multiple of the block of 32B"),
        ("second_level_cache.size=512B", "second_level_cache.size", "is smaller than data_cache.size, 1KiB"),
        (
            "second_level_cache.associativity=3",
            "second_level_cache.associativity",
            "expected 1, 2, 4, 8 or 16",
        ),
        (
            "second_level_cache.latency_cycles=0",
            "second_level_cache.latency_cycles",
            "expected a whole number from 1 to 1000",
        ),
        (
            "second_level_cache.inclusion=non-inclusive",
            "second_level_cache.inclusion",
            "needs one block size",
        ),
        ("second_level_cache.port=\"pipeline\"", "second_level_cache.port", "one-at-a-time"),
        (
            "node.processors.host.caches=[\"data_cache\", \"instruction_cache\"]",
            "second_level_cache",
            "describes a cache that no processor has",
        ),
        (
            "node.processors.host.caches=[\"data_cache\", \"second_level_cache\"]",
            "node.processors.host.caches",
            "is not allowed; expected",
        ),
    ] {
        let failure = failure(&alone(&[setting]), "exit 0");
        let text = failure.to_string();
        assert!(text.contains(key) && text.contains(reason), "{setting}: {text}");
        assert_eq!(failure.exit_code, 2, "{setting}");
    }
}

#[test]
fn messages_arrive_over_two_levels_whatever_computes_them() {
    for interface in ["NI16w", "CNI4", "CNI512Q", "CNI32Qm"] {
        let blocks = with(two_levels(interface), "second_level_cache.block=64B");
        let request = INSTRUCTION_CACHE.iter().fold(blocks, |request, setting| with(request, setting));
        let document = result(&request, &ping_pong(60, 120));
        assert_eq!(statistic(&document, 1, "packets_delivered"), 60, "{interface}");
        let threads = RunRequest { threads: 2, ..request.clone() };
        let same = run_guest(&threads, &ping_pong(60, 120)).expect("it runs");
        assert_eq!(document["nodes"], same["nodes"], "{interface}");
        checkpoints::check(&request, &ping_pong(12, 200));
        wait_loops::compared(&request, &ping_pong(20, 56));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_read_returns_the_last_write_through_two_small_levels(
        steps in proptest::collection::vec(step(), 1..80),
        protocol in select(vec!["MOESI", "MESI", "MSI"]),
        blocks in select(vec![(16, 128), (32, 64), (64, 64)]),
        stores in select(vec!["write-back", "write-through"]),
        ways in select(vec![1, 4]),
    ) {
        let settings = [
            "data_cache.size=256B".to_owned(),
            format!("data_cache.block={}B", blocks.0),
            "data_cache.associativity=1".to_owned(),
            format!("data_cache.protocol={protocol}"),
            "second_level_cache.size=1KiB".to_owned(),
            format!("second_level_cache.block={}B", blocks.1),
            format!("second_level_cache.associativity={ways}"),
            format!("second_level_cache.data_cache_stores={stores}"),
            "bus.width=16B".to_owned(),
        ];
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let document = result(&alone(&settings), &checksumming(&steps));
        prop_assert_eq!(reported_word(&document, 0, "checksum"), checksum(&steps));
    }
}
