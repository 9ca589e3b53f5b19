//! User-level DMA: what a transfer costs, what it moves, and what it refuses.
//!
//! A node sends a packet to itself and waits for each transfer as the messaging
//! library does, by loads of the engine's register. With T the end of the load
//! that starts it, a look at the register takes the bus from T + 4 to T + 96, and
//! the next one asks 3 ns after the last; the engine's blocks come in between, in
//! the order in which they were asked for.

use serde_json::Value;

use crate::support::{DATA, failure, fixed_hpca98, reported, reported_word, result, statistic};
use crate::timing::measure;
use narthex_machine::{Failure, RunRequest};

const SOURCE: u64 = DATA + 0x400;
const TARGET: u64 = DATA + 0x800;
/// From E, when the block that aligns the program has come, to T: the store of
/// the address (8 bus cycles and 60 ns, from the edge behind E), then the load.
const TO_START: u64 = 2 * (4 + 92);

fn udma() -> RunRequest {
    RunRequest { nodes: Some(1), ..fixed_hpca98("NI64w+Udma") }
}

/// Fills the source and pushes the header of a packet of `bytes` to this node.
fn header(bytes: u64) -> String {
    format!(
        "
        li   a2, {SOURCE}
        li   a3, {TARGET}
        li   t0, 0x0807060504030201
        sd   t0, 0(a2)
        sd   t0, 56(a2)
        li   a1, {header}
        sd   a1, 8(s4)",
        header = bytes << 16
    )
}

/// The same, sent and on its way into memory up to its header.
fn arrived(bytes: u64) -> String {
    format!(
        "{header}
        sd   a2, 64(s4)
    sending:
        ld   a0, 64(s4)
        bnez a0, sending
    coming:
        ld   a0, 0(s4)
        andi a0, a0, 2
        beqz a0, coming
        ld   a0, 16(s4)",
        header = header(bytes)
    )
}

const SEND: &str = "sd a2, 64(s4)\n moving: ld a0, 64(s4)\n bnez a0, moving";
const RECEIVE: &str = "sd a3, 72(s4)\n moving: ld a0, 72(s4)\n bnez a0, moving";

/// The cycles from T to the end of the look that finds the transfer over; the
/// branch behind it takes one more.
fn transfer(prepare: &str, start: &str) -> (u64, Value) {
    let (cycles, document) = measure(&udma(), prepare, start, 0);
    (cycles - 1 - TO_START, document)
}

#[test]
fn a_block_to_send_takes_44_ns_to_the_bus_28_on_it_and_60_into_the_fifo() {
    let (cycles, document) = transfer(&header(64), SEND);
    // At T + 44 the engine asks for the bus, which the first look has until
    // T + 96; the block comes from the processor's cache in 28 ns. The second
    // look follows at T + 124 and ends 92 ns later; at T + 184 it was over.
    assert_eq!(cycles, 96 + 28 + 92);
    assert_eq!(statistic(&document, 0, "bus_single_reads"), 1);
}

#[test]
fn a_payload_across_two_blocks_is_read_from_both() {
    let unaligned = header(64).replace(&format!("li   a3, {TARGET}"), "addi a2, a2, 8");
    let (cycles, document) = transfer(&unaligned, SEND);
    // The second block can cross at T + 124 + 60, which is behind the second look
    // (T + 216). It is not in the cache: 16 + 120. The third look starts there.
    assert_eq!(cycles, 96 + 28 + 92 + 28 + 92);
    assert_eq!(statistic(&document, 0, "bus_single_reads"), 2);
}

#[test]
fn a_whole_block_that_arrives_is_written_to_memory_in_136_ns() {
    let (cycles, document) = transfer(&arrived(64), RECEIVE);
    // The block is at the FIFO's head. It has the bus behind the first look, for
    // 16 + 120 ns; the second look follows.
    assert_eq!(cycles, 96 + 136 + 92);
    assert_eq!(statistic(&document, 0, "bus_block_writes"), 1);
    assert_eq!(statistic(&document, 0, "bus_exclusive_reads"), 1, "the program's own, of the source");
}

#[test]
fn a_part_of_a_block_that_arrives_is_merged_in_two_transactions() {
    let (cycles, document) = transfer(&arrived(8), RECEIVE);
    // As above, but the block is read first, and its return asks for the bus
    // when the second look has done so.
    assert_eq!(cycles, 96 + 136 + 92 + 136 + 92);
    assert_eq!(statistic(&document, 0, "bus_block_writes"), 0);
    assert_eq!(statistic(&document, 0, "bus_exclusive_reads"), 2);
}

#[test]
fn what_arrives_replaces_what_it_covers_and_nothing_else() {
    let document = result(
        &udma(),
        &format!(
            "
            li   s4, 0x50001000
            {arrived}
            li   t1, -1             # the target's block, dirty in the cache
            sd   t1, 8(a3)
            sd   t1, 24(a3)
            addi a3, a3, 16
            {RECEIVE}
            ld   s0, -8(a3)
            ld   s1, 0(a3)
            ld   s2, 8(a3)
            report_word before, s0
            report_word arrived, s1
            report_word behind, s2
            exit 0",
            arrived = arrived(8)
        ),
    );
    assert_eq!(reported_word(&document, 0, "arrived"), 0x0807_0605_0403_0201);
    assert_eq!(
        [reported(&document, 0, "before.upper"), reported(&document, 0, "behind.lower")],
        [0xffff_ffff; 2]
    );
}

/// The message of a program that uses the engine wrongly.
fn refusal(program: &str) -> String {
    let Failure { exit_code, message, .. } =
        failure(&udma(), &format!("li s4, 0x50001000\n {program}\n exit 0"));
    assert_eq!(exit_code, Failure::GUEST, "{message}");
    message
}

#[test]
fn memory_that_the_program_may_not_use_is_refused_with_its_address_and_the_rule() {
    for (address, verb, prepare, start) in [
        ("0x7000000", "read", header(64), SEND),
        ("0x50001000", "read", header(64), SEND),
        ("0x20000000000", "read", header(64), SEND),
        ("0x7000000", "write", arrived(64), RECEIVE),
        ("0x50000000", "write", arrived(64), RECEIVE),
        ("0x200000", "write", arrived(8), RECEIVE),
    ] {
        let register = if verb == "read" { "a2" } else { "a3" };
        let message = refusal(&format!("{prepare}\n li {register}, {address}\n {start}"));
        for part in [verb, address, "authentic addresses", "node 0, processor 0"] {
            assert!(message.contains(part), "{part} is not in {message}");
        }
    }
}

#[test]
fn an_engine_that_is_used_wrongly_ends_the_program() {
    let start = "sd a2, 64(s4)\n ld a0, 64(s4)\n";
    for (program, problem) in [
        ("li a2, 0x100000\n sd a2, 64(s4)\n ld a0, 64(s4)".to_owned(), "no payload for it"),
        ("sd a2, 72(s4)\n ld a0, 72(s4)".to_owned(), "no payload for it"),
        (format!("{}\n {start} sd a2, 64(s4)", header(248)), "while a transfer is under way"),
        (format!("{}\n {start} sd a2, 8(s4)", header(248)), "while a DMA transfer is under way"),
        (format!("{}\n li a2, -8\n {start}", header(64)), "0xfffffffffffffff8"),
    ] {
        let message = refusal(&program);
        assert!(message.contains(problem), "{problem} is not in {message}");
    }
}
