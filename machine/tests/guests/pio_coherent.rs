//! Programmed I/O in cache blocks: held loads to the cycle, what passes through the lines, and what is refused.
//!
//! The chip is the preset: the processor is at place 0 and the interface at place 1, which is the home of its
//! lines (`directory.rs` says what the ways take).

use crate::directory::{LOOKUP, MEMORY, SECOND_LEVEL, block, measured, message};
use crate::support::exchange::{all_to_one, both_ways};
use crate::support::{DATA, failure, reported, request, result, statistic, with};
use narthex_machine::{Failure, RunRequest};

/// Where the interface is.
pub const PIO_COHERENT: [(&str, &str); 1] = [("chip", "PioCoherent")];

const ENGINE: u64 = 40;
const NETWORK: u64 = 40;
/// Time of a cache to supply a block.
const SUPPLY: u64 = 10;
/// A block comes from the interface, at whose place its home is, to the processor.
const ANSWER: u64 = LOOKUP + MEMORY + block(1) + SECOND_LEVEL;
/// `interfaces.pio_coherent.time_out`.
const TIME_OUT: u64 = 1_000;

/// What nodes begin with: s2 is the first receive line and s8 the first send line.
fn prologue() -> String {
    format!("li s10, {DATA}\n li s4, 0x50000000\n ld s2, 96(s4)\n ld s8, 80(s4)\n")
}

fn on_chip() -> RunRequest {
    RunRequest { nodes: Some(1), ..request("chip", "PioCoherent") }
}

/// Runs `turn` twice, so that the second time its code is in the cache; what it leaves in s3 is
/// reported as `cycles`.
fn second_turn(turn: &str) -> serde_json::Value {
    let guest = format!(
        "{}\n li s0, 2\n turn:\n {turn}\n addi s0, s0, -1\n bnez s0, turn\n report cycles, s3\n exit 0",
        prologue()
    );
    result(&on_chip(), &guest)
}

#[test]
fn a_load_without_a_packet_is_answered_after_the_time_out() {
    let document = second_turn(&format!("{}\n xori s2, s2, 256", measured("ld a0")));
    assert_eq!(reported(&document, 0, "cycles") as u64, message(1) + TIME_OUT + ANSWER);
    let counts = ["receive_loads_held", "receive_loads_answered_empty", "messages_deposited"];
    assert_eq!(counts.map(|name| statistic(&document, 0, name)), [2, 2, 0]);
    assert_eq!(statistic(&document, 0, "receive_hold_time"), 2 * TIME_OUT * 1_000);
}

#[test]
fn a_packet_of_one_block_takes_a_load_a_fetch_and_two_engines_to_the_load_that_waits_for_it() {
    let document = second_turn(
        "
        li   a5, 0x2000000000380000     # 56 bytes to this node, in one packet
        sd   a5, 0(s8)
        sd   s0, 56(s8)
        xori s8, s8, 256
        fence
        csrrs t0, 0xc00, zero
        ld   a0, 0(s8)                  # the interface fetches the filled line
        ld   a1, 0(s2)                  # and holds this until the packet has come
        add  a1, a1, a1
        csrrs t1, 0xc00, zero
        sub  s3, t1, t0
        ld   s5, 56(s2)
        xori s2, s2, 256
        report room, a0
        report payload, s5",
    );
    // The request for the other line; that of the fetch, at the interface's own place; the way to the
    // processor's cache, and the block back.
    let fetched = message(1) + message(0) + LOOKUP + message(1) + SUPPLY + block(1);
    let arrived = fetched + ENGINE + NETWORK + ENGINE;
    // A load that hits, with the sum of what it loads, takes 3 cycles.
    assert_eq!(reported(&document, 0, "cycles") as u64, arrived + ANSWER + 3);
    assert_eq!(["room", "payload"].map(|name| reported(&document, 0, name) as u64), [1, 1]);
    let counts = ["messages_injected", "send_lines_fetched", "receive_loads_held", "send_loads_held"];
    assert_eq!(counts.map(|name| statistic(&document, 0, name)), [2; 4]);
}

/// The load of the line whose overflow blocks are still read is held until the interface has them.
#[test]
fn a_sender_that_fills_lines_faster_than_they_are_fetched_waits_for_a_line_and_not_for_the_time_out() {
    let guest = format!(
        "{}
        li   a5, 0x2000000000f00000     # 240 bytes to this node, in one packet
        sd   a5, 0(s8)
        xori s8, s8, 256
        fence
        ld   a0, 0(s8)
        sd   a5, 0(s8)
        xori s8, s8, 256
        fence
        csrrs t0, 0xc00, zero
        ld   a0, 0(s8)
        add  a1, a0, a0
        csrrs t1, 0xc00, zero
        sub  s3, t1, t0
        report room, a0
        report cycles, s3
        exit 0",
        prologue()
    );
    let document = result(&on_chip(), &guest);
    assert_eq!(reported(&document, 0, "room"), 1);
    let cycles = reported(&document, 0, "cycles") as u64;
    // At least the way and the three overflow blocks of the first line, one after the other.
    assert!((message(1) + 3 * block(1)..TIME_OUT).contains(&cycles), "{cycles}");
    assert_eq!(statistic(&document, 0, "send_loads_without_room"), 0);
}

#[test]
fn messages_pass_through_the_lines_of_each_process() {
    for bytes in [8, 56, 64, 240] {
        let document = result(&request("chip", "PioCoherent"), &both_ways(200, bytes, 3).over("PioCoherent"));
        assert_eq!(statistic(&document, 1, "messages_deposited"), 200, "{bytes}");
        let blocks = (bytes + 8).div_ceil(64) - 1;
        assert_eq!(statistic(&document, 1, "receive_overflow_blocks"), 200 * blocks, "{bytes}");
    }
    let four = with(request("chip", "PioCoherent"), "machine.processors_per_process=4");
    result(&RunRequest { nodes: Some(2), ..four }, &both_ways(50, 100, 2).over("PioCoherent"));
}

#[test]
fn a_sender_whose_packets_wait_is_told_after_the_time_out_that_there_is_no_room() {
    let run = RunRequest { nodes: Some(5), ..request("chip", "PioCoherent") };
    let document = result(&run, &all_to_one().over("PioCoherent"));
    assert_eq!(statistic(&document, 0, "messages_deposited"), 240);
    assert!((1..5).any(|node| statistic(&document, node, "send_loads_without_room") > 0));
}

#[test]
fn a_line_that_is_used_out_of_turn_or_has_no_packet_ends_the_program() {
    for (turn, told) in [
        ("ld a0, 256(s2)", "a load of receive line 1 while the other one is loaded"),
        ("ld a0, 256(s8)", "send line 0: the other one was loaded, and no packet is in it"),
        ("li a5, 0x20000000fe0000\n sd a5, 0(s8)\n fence\n ld a0, 256(s8)", "a packet of 254 payload bytes"),
        ("li a5, 0x2000000000080063\n sd a5, 0(s8)\n fence\n ld a0, 256(s8)", "a packet to"),
    ] {
        let guest =
            format!("{} {turn}\n li t0, 1000\n wait:\n addi t0, t0, -1\n bnez t0, wait\n exit 0", prologue());
        let Failure { exit_code, message, .. } = failure(&on_chip(), &guest);
        assert_eq!(exit_code, Failure::GUEST, "{message}");
        assert!(message.contains(told), "{told} is not in {message}");
    }
}

#[test]
fn a_bus_which_a_held_load_would_keep_and_time_outs_that_make_no_sense_are_refused() {
    let section = [
        r#"interfaces.pio_coherent.memory_access_time="60ns""#,
        r#"interfaces.pio_coherent.engine_time="40ns""#,
        r#"interfaces.pio_coherent.time_out="1us""#,
    ];
    let bus = section.iter().fold(request("hpca98", "PioCoherent"), |run, setting| with(run, setting));
    let told = |run: &RunRequest| {
        let Failure { exit_code, message, .. } = failure(run, &both_ways(2, 8, 1).over("PioCoherent"));
        assert_eq!(exit_code, Failure::USAGE, "{message}");
        message
    };
    let refused = told(&bus);
    assert!(
        refused.contains("expected a place on a directory, as on the machine chip or server"),
        "{refused}"
    );
    for value in ["0ns", "10ms"] {
        let refused = told(&with(
            request("chip", "PioCoherent"),
            &format!(r#"interfaces.pio_coherent.time_out="{value}""#),
        ));
        let all = ["interfaces.pio_coherent.time_out", "machine.time_without_progress = 10ms"];
        assert!(all.iter().all(|part| refused.contains(part)), "{refused}");
    }
}
