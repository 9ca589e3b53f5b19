//! Cores with a reorder window in a machine: their misses overlap, and their values are those in order.

use narthex_machine::RunRequest;
use serde_json::Value;

use crate::support::exchange::ping_pong;
use crate::support::{DATA, alone, failure, reported, request, result, run_guest, statistic, with};
use crate::{checkpoints, wait_loops};

/// A window of 64 instructions.
pub fn windowed(request: RunRequest) -> RunRequest {
    let settings = [
        "window.entries=64",
        "window.load_queue=32",
        "window.store_queue=32",
        "window.mispredict_cycles=10",
        "window.mmio_loads_serialise=true",
        "window.predictor.kind=gshare",
        "window.predictor.entries=1024",
    ];
    settings.iter().fold(request, |request, setting| with(request, &format!("processor.{setting}")))
}

/// A node of the chip, whose directory lets 16 misses be under way.
fn chip() -> RunRequest {
    let settings = ["processor.misses=16", "directory.transactions=16"];
    windowed(settings.iter().fold(alone("chip"), |request, setting| with(request, setting)))
}

/// The cycles of some instructions, all of which are complete, the second time, when they are in the
/// instruction cache. They have other blocks each time at s2, and s5 is 0, then 1.
fn cycles(request: &RunRequest, instructions: &str) -> (i64, Value) {
    let source = format!(
        "
        li   s2, {DATA}
        li   s4, 0x4000
        li   s5, 0
    again:
        fence
        csrrs s0, 0xc00, zero
        csrrs s0, 0xc00, zero
        {instructions}
        csrrs s1, 0xc00, zero
        sub  s1, s1, s0
        add  s2, s2, s4
        bnez s5, over
        li   s5, 1
        j    again
    over:
        report cycles, s1
        exit 0
    "
    );
    let document = result(request, &source);
    (reported(&document, 0, "cycles"), document)
}

/// Loads from blocks of their own, each of which is used at once.
fn loads(count: u64) -> String {
    let uses = "add a1, a1, a0\n";
    (1..=count).map(|block| format!("ld a0, {}(s2)\n {uses}", 64 * block)).collect()
}

#[test]
fn eight_independent_loads_that_miss_take_less_than_1_3_of_one() {
    let (one, _) = cycles(&chip(), &loads(1));
    let (eight, _) = cycles(&chip(), &loads(8));
    assert!(10 * eight < 13 * one, "{eight} cycles, and one takes {one}");
    let in_order = with(with(alone("chip"), "processor.misses=16"), "directory.transactions=16");
    let (waiting, _) = cycles(&in_order, &loads(8));
    assert!(waiting > 7 * one, "in order each use waits: {waiting}");
}

#[test]
fn misses_behind_a_full_window_begin_when_the_oldest_is_over() {
    let behind = format!("ld a0, 64(s2)\n {} ld a2, 128(s2)\n", "add a3, a3, a3\n".repeat(100));
    let (one, _) = cycles(&chip(), &loads(1));
    let (both, _) = cycles(&chip(), &behind);
    assert!(both > 2 * one - 10, "{both} cycles, and one takes {one}");
    let (within, _) = cycles(&with(chip(), "processor.window.entries=128"), &behind);
    assert!(within < one + 60, "{within} cycles, and one takes {one}");
}

#[test]
fn a_chain_of_loads_that_miss_takes_their_sum() {
    let (one, _) = cycles(&chip(), "ld a0, 64(s2)\n add a0, a0, a0");
    let chain =
        "ld a0, 64(s2)\n add a0, a0, s2\n ld a0, 320(a0)\n add a0, a0, s2\n ld a0, 576(a0)\n add a0, a0, a0";
    let (three, _) = cycles(&chip(), chain);
    assert!((3 * one - 20..=3 * one).contains(&three), "{three} cycles, and one takes {one}");
}

#[test]
fn loads_begin_when_their_addresses_have_come_while_an_older_one_is_waited_for() {
    let (one, _) = cycles(&chip(), &loads(1));
    // Each address depends on a loaded word, zero; the sum of the first waits for the second load of its chain.
    let chain = |own: u64| {
        let (first, second) = (64 * own, 1024 + 64 * own);
        format!("ld a0, {first}(s2)\n add a0, a0, s2\n ld a0, {second}(a0)\n add a1, a1, a0\n")
    };
    let (four, _) = cycles(&chip(), &(1..=4).map(chain).collect::<String>());
    assert!((2 * one - 20..2 * one + 60).contains(&four), "{four} cycles, and one takes {one}");
}

#[test]
fn misses_behind_a_branch_begin_on_the_path_that_is_predicted() {
    // The loaded word is zero; that the branch is not taken is predicted, rightly, or wrongly the
    // second time.
    let program = |decides: &str| {
        format!(
            "ld a0, 64(s2)\n add a0, a0, {decides}\n bnez a0, there\n ld a1, 128(s2)\n add a1, a1, a1\n there:\n"
        )
    };
    let (one, _) = cycles(&chip(), &loads(1));
    let (right, document) = cycles(&chip(), &program("zero"));
    assert!(right < one + 30, "{right} cycles, and one takes {one}");
    let (wrong, on_the_wrong_path) = cycles(&chip(), &program("s5"));
    assert!(wrong < one + 30, "{wrong} cycles, and one takes {one}");
    let misses = |document| statistic(document, 0, "load_misses");
    assert_eq!(misses(&on_the_wrong_path), misses(&document), "the path that is not taken has missed, too");
}

#[test]
fn a_poll_loop_reads_its_register_once_a_turn() {
    let poll = "
        li   t0, 0x50000000
        ld   t0, 40(t0)
        li   t1, 20
    poll:
        ld   t2, 0(t0)
        addi t1, t1, -1
        bnez t1, poll";
    let of = |request: RunRequest| {
        let (cycles, document) = cycles(&with(request, "machine.nodes=1"), poll);
        (cycles, statistic(&document, 0, "processor_uncached_loads"))
    };
    let ((own, loads), (in_order, loads_in_order)) =
        (of(windowed(with(alone("hpca98"), "processor.misses=4"))), of(alone("hpca98")));
    assert_eq!(loads, loads_in_order);
    // Both wait for each load, 92 ns and the bus's next edge. With a window it waits for the branch
    // before it, too, so that it misses an edge of the bus, and two branches are mispredicted.
    assert!((60..=110).contains(&(own - in_order)), "{own} cycles, and {in_order} in order");
}

#[test]
fn a_window_changes_no_value_and_threads_no_byte() {
    for (machine, interface) in [("hpca98", "NI2w"), ("hpca98", "CNI32Qm"), ("isca96", "CNI16Qm")] {
        let own = windowed(with(request(machine, interface), "processor.misses=4"));
        let one = run_guest(&own, &ping_pong(10, 200)).expect("it runs");
        let two = run_guest(&RunRequest { threads: 2, ..own.clone() }, &ping_pong(10, 200)).expect("it runs");
        assert!(one == two, "{machine}, {interface}");
        checkpoints::check(&own, &ping_pong(6, 64));
        wait_loops::compared(&own, &ping_pong(6, 56));
    }
}

#[test]
fn a_window_that_cannot_be_is_refused_before_the_run() {
    for (setting, key, reason) in [
        ("processor.window.entries=1", "processor.window.entries", "2 (the issue_width) to 512"),
        ("processor.window.store_queue=0", "processor.window.store_queue", "1 to 256"),
        ("processor.window.predictor.entries=100", "processor.window.predictor.entries", "powers of two"),
        ("processor.window.entrys=64", "processor.window", "entries"),
        ("processor.misses=33", "processor.misses", "1 to 32"),
        ("processor.misses=1", "processor.misses", "2 to 32 with a window"),
    ] {
        let failure = failure(&with(chip(), setting), "exit 0");
        let text = failure.to_string();
        assert!(text.contains(key) && text.contains(reason), "{setting}: {text}");
        assert_eq!(failure.exit_code, 2, "{setting}");
    }
    // In order, there is no table of it.
    let text = failure(&with(alone("hpca98"), "processor.entries=64"), "exit 0").to_string();
    assert!(text.contains("processor.entries"), "{text}");
}
