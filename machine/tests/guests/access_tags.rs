//! Fine-grain access control on whole machines: tagged memory costs nothing
//! while its tags allow, a refused access costs what the machine's file says,
//! and each process has tags of its own.

use serde_json::Value;

use narthex_machine::{Failure, RunRequest};

use crate::support::{
    IDENTITY, alone, failure, fixed_hpca98, reported, reported_by, result, statistic, with,
};
use crate::timing::assert_costs;

/// Where the guests have tagged memory, of two pages.
const SHARED: u64 = 0x2000_0000;

/// Makes the tagged memory in blocks of so many bytes.
fn share(block_bytes: u64) -> String {
    format!("li a0, {SHARED}\n li a1, 8192\n li a2, {block_bytes}\n li a7, 0x4e03\n ecall\n")
}

/// Installs a handler that gives every block that it is asked for the tag
/// `write`; blocks have 64 bytes.
const HANDLER: &str = "
    jal   t0, installed
    csrrw t1, 0x040, t1
    csrrs t1, 0x043, zero
    andi  t1, t1, -64
    ori   t1, t1, 2
    csrrw zero, 0x800, t1
    csrrw t1, 0x040, t1
    uret
installed:
    csrrw zero, 0x005, t0
";

fn hpca98() -> RunRequest {
    RunRequest { nodes: Some(1), ..fixed_hpca98("NI2w") }
}

/// Instructions that set the tags of the first two blocks to this one.
fn tagged(number: u64) -> String {
    format!(
        "{} li s9, {SHARED}\n addi a0, s9, {number}\n csrrw zero, 0x800, a0
        addi a0, a0, 64\n csrrw zero, 0x800, a0\n",
        share(64)
    )
}

#[test]
fn a_hit_on_tagged_memory_takes_no_cycle_more_than_on_ordinary_memory() {
    for (instruction, number) in [("ld a0, 0(s9)", 1), ("ld a0, 0(s9)", 2), ("sd a0, 0(s9)", 2)] {
        let prepare = format!("{}\n ld a0, 8(s9)", tagged(number));
        let warm = if number == 2 { "sd a0, 8(s9)" } else { "ld a0, 8(s9)" };
        let cost = |place: &str| cycles(&format!("{prepare}\n {place}\n {warm}\n {warm}"), instruction);
        assert_eq!(cost(""), cost("mv s9, s2"), "{instruction} with tag {number}");
    }
}

/// The cycles from a look at the clock before an instruction to one behind it.
fn cycles(prepare: &str, instruction: &str) -> i64 {
    let source = format!(
        "li s2, 0x100000\n {prepare}
        csrrs s0, 0xc00, zero\n {instruction}\n csrrs s1, 0xc00, zero
        sub s1, s1, s0\n report cycles, s1\n exit 0"
    );
    reported(&result(&hpca98(), &source), 0, "cycles")
}

#[test]
fn a_miss_on_tagged_memory_takes_what_one_on_ordinary_memory_does() {
    // As a read of main memory: two bus cycles, then its 120 ns and two bus cycles of data.
    let ordinary = "li s9, 0x102000";
    for prepare in [ordinary.to_owned(), tagged(1)] {
        assert_costs(&hpca98(), 4, &prepare, "ld a0, 0(s9)", 136);
    }
}

#[test]
fn a_refused_access_takes_the_cycles_that_the_machine_states() {
    let prepare = format!("{HANDLER}{}\n ld a0, 0(s9)\n sd a0, 0(s9)", tagged(2));
    let close =
        |number: u64| format!("{prepare}\n addi a0, s9, {number}\n csrrw zero, 0x800, a0\n nop\n nop");
    let measured = |cycles: u64, number: u64| {
        let request = with(hpca98(), &format!("access_control.fault_cycles={cycles}"));
        let source = format!(
            "{}\n csrrs s0, 0xc00, zero\n sd a0, 0(s9)\n csrrs s1, 0xc00, zero
            sub s1, s1, s0\n report cycles, s1\n exit 0",
            close(number)
        );
        let document = result(&request, &source);
        (reported(&document, 0, "cycles"), statistic(&document, 0, "tag_write_faults"))
    };
    for number in [0, 1] {
        let (least, faults) = measured(1, number);
        assert_eq!(faults, 1);
        for cycles in [5, 100] {
            assert_eq!(measured(cycles, number), (least + cycles as i64 - 1, 1));
        }
    }
}

#[test]
fn refusals_and_changes_of_tags_are_counted() {
    let source = format!(
        "{HANDLER}{}
        ld    a0, 0(s9)
        ld    a0, 0(s9)
        sd    a0, 64(s9)
        addi  a0, s9, 1
        csrrw zero, 0x800, a0
        sd    a1, 8(s9)
        exit 0",
        tagged(0)
    );
    let document = result(&alone("hpca98"), &source);
    let counted =
        ["tag_read_faults", "tag_write_faults", "tag_changes"].map(|name| statistic(&document, 0, name));
    assert_eq!(counted, [1, 2, 2 + 3 + 1]);
}

#[test]
fn what_was_stored_before_a_block_was_closed_is_there_when_it_is_open_again() {
    for block_bytes in [16, 64, 1024] {
        let source = format!(
            "{}
            li    s9, {SHARED}
            addi  a0, s9, 2
            csrrw zero, 0x800, a0
            li    a1, 1234
            sd    a1, 8(s9)
            csrrw zero, 0x800, s9
            addi  a0, s9, 1
            csrrw zero, 0x800, a0
            ld    a2, 8(s9)
            csrrs a3, 0x800, zero
            mv    s2, a3
            report value, a2
            report block, s2
            exit 0",
            share(block_bytes)
        );
        let document = result(&alone("isca96"), &source);
        let values = ["value", "block"].map(|name| reported(&document, 0, name));
        assert_eq!(values, [1234, block_bytes as i64]);
    }
}

#[test]
fn each_process_of_a_node_has_tags_of_its_own() {
    let request = with(alone("hpca98"), "machine.processors_per_node=2");
    // The process whose rank (s8) is 1 closes its block, and is refused there.
    let source = format!(
        "
        {IDENTITY}
        {HANDLER}{}
        beqz  s8, open
        csrrw zero, 0x800, s9
    open:
        li    t2, 1000               # until both have
    wait:
        addi  t2, t2, -1
        bnez  t2, wait
        ld    a0, 8(s9)
        csrrs s4, 0x043, zero
        report refused, s4
        exit 0",
        tagged(2)
    );
    let document = result(&request, &source);
    let refused = [0, 1].map(|process| reported_by(&document, (0, process), "refused"));
    assert_eq!(refused, [0, SHARED as i64 + 8]);
}

/// The message of a run that ends in a fault.
fn message(source: &str) -> String {
    let Failure { exit_code, message, .. } = failure(&alone("hpca98"), source);
    assert_eq!(exit_code, Failure::GUEST, "{message}");
    message
}

#[test]
fn an_access_that_nobody_handles_is_reported_with_its_block() {
    let text = message(&format!("{}\n li s9, {SHARED}\n ld a0, 72(s9)", share(64)));
    assert!(text.contains("block 0x20000040 is tagged none; no handler is installed (utvec is 0)"), "{text}");
    assert!(text.contains("address     0x20000048 in the shared memory"), "{text}");
}

#[test]
fn a_machine_whose_traps_take_no_time_is_refused() {
    for (key, value) in [("fault_cycles", "0"), ("tag_change_cycles", "1001")] {
        let request = with(alone("hpca98"), &format!("access_control.{key}={value}"));
        let Failure { exit_code, message, .. } = failure(&request, "exit 0");
        assert_eq!(exit_code, Failure::USAGE, "{message}");
        assert!(
            message.contains(&format!("access_control.{key}: {value} is not from 1 to 1000")),
            "{message}"
        );
    }
}

#[test]
fn the_same_run_has_the_same_result() {
    let source = format!("{HANDLER}{}\n ld a0, 0(s9)\n sd a0, 64(s9)\n exit 0", tagged(0));
    let run = || -> Value { result(&alone("hpca98"), &source) };
    assert_eq!(run()["nodes"], run()["nodes"]);
}
