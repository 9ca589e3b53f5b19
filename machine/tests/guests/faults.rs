//! A program that does something wrong ends the run with exit code 1 and a
//! report that says what, where, and in which state.

use narthex_machine::Failure;

use crate::support::exchange::{exchange, header};
use crate::support::{CODE, DATA, Guest, NAMES, alone, failure, request};

/// Runs a wrong program; its report, which has everything that a report has.
fn report(interface: &str, guest: &(impl Guest + ?Sized)) -> String {
    let Failure { exit_code, message, .. } = failure(&request("hpca98", interface), guest);
    assert_eq!(exit_code, Failure::GUEST, "{message}");
    for part in ["node 0, processor 0: ", "  at ", "  zero 0000000000000000    ra ", "t6 "] {
        assert!(message.contains(part), "{part:?} is not in {message}");
    }
    message
}

/// A program that faults on node 0 in its second instruction, after a register
/// has got an address, while node 1 ends well.
fn fault_at(address: u64, instruction: &str) -> String {
    let text = report(
        "NI2w",
        &format!(
            "
        li   t5, 0x50000000
        ld   t5, 16(t5)
        bnez t5, well
        li   s1, {address}
        {instruction}
    well:
        exit 0
    "
        ),
    );
    assert!(text.contains(&format!("s1 {address:016x}")), "the registers show the address: {text}");
    text
}

fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

#[test]
fn an_illegal_instruction_is_shown_with_its_bits_and_its_place() {
    let text = report("NI2w", ".word 0xffffffff");
    assert_says(&text, &[&format!("illegal instruction 0xffffffff at {CODE:#x}"), "RV64GC"]);
}

#[test]
fn an_instruction_of_privileged_software_is_illegal() {
    assert_says(&report("NI2w", ".word 0x30200073"), &["illegal instruction 0x30200073"]);
}

#[test]
fn a_breakpoint_is_the_programs_own_end() {
    assert_says(&report("NI2w", "ebreak"), &["breakpoint", "the program stopped itself"]);
}

#[test]
fn a_load_from_where_nothing_is_mapped_names_the_address() {
    assert_says(
        &fault_at(0x4000_0000, "ld a0, 8(s1)"),
        &["load from 0x40000008", "no memory is mapped there"],
    );
}

#[test]
fn a_load_from_a_scratchpad_that_the_machine_lacks_names_sarc() {
    assert_says(
        &fault_at(0x11_0000_0000, "ld a0, 32(s1)"),
        &["no memory is mapped there", "0x1100000020 belongs to SARC's", "--interface SARC"],
    );
}

#[test]
fn a_load_through_a_null_pointer_says_so() {
    assert_says(&fault_at(0, "lw a0, 16(s1)"), &["load from 0x10", "a null pointer?"]);
}

#[test]
fn a_jump_to_where_nothing_is_mapped_names_the_address() {
    assert_says(&fault_at(0x4000_0000, "jr s1"), &["instruction fetch from 0x40000000"]);
}

#[test]
fn a_jump_into_data_is_refused() {
    assert_says(&fault_at(DATA, "jr s1"), &["instruction fetch from 0x100000", "the page does not allow it"]);
}

#[test]
fn atomics_need_an_aligned_address() {
    for instruction in
        ["amoadd.d a0, a1, (s1)", "lr.d a0, (s1)", "sc.d a0, a1, (s1)", "amoswap.d a0, a1, (s1)"]
    {
        assert_says(
            &fault_at(DATA + 4, instruction),
            &["0x100004", "the address is not a multiple of the size"],
        );
    }
}

#[test]
fn a_store_to_a_page_that_may_only_be_read_is_refused() {
    for address in [NAMES, CODE, 0x5000_0000] {
        let text = fault_at(address, "sd a0, 0(s1)");
        assert_says(&text, &[&format!("store to {address:#x}"), "the page does not allow it"]);
    }
}

#[test]
fn a_register_access_of_another_size_than_eight_bytes_is_refused() {
    for (instruction, size) in [("lw a0, 0(s1)", 4), ("lb a0, 0(s1)", 1), ("sh a0, 8(s1)", 2)] {
        let text = fault_at(0x5000_1000, instruction);
        assert_says(&text, &[&format!("an access of {size} bytes"), "registers have 8"]);
    }
}

#[test]
fn a_misaligned_register_access_is_refused() {
    assert_says(
        &fault_at(0x5000_1000, "ld a0, 4(s1)"),
        &["load from 0x50001004", "not a multiple of the size"],
    );
}

#[test]
fn atomics_on_registers_are_refused() {
    assert_says(
        &fault_at(0x5000_1000, "amoadd.d a0, a1, (s1)"),
        &["store to 0x50001000", "the device refuses"],
    );
}

#[test]
fn a_register_that_does_not_exist_is_named_by_its_offset() {
    assert_says(&fault_at(0x5000_1000, "ld a0, 128(s1)"), &["no register to load from at offset 0x80"]);
    assert_says(&fault_at(0x5000_1000, "sd a0, 0(s1)"), &["no register to store to at offset 0x0"]);
}

#[test]
fn a_processor_faults_at_the_access_and_not_behind_it() {
    let text = report(
        "NI2w",
        "
        li   s1, 0x50001000
        lw   a0, 0(s1)
        exit 0
    ",
    );
    // Two instructions make the address.
    assert_says(&text, &[&format!("  at          {:#x}", CODE + 8)]);
}

/// The report of a program whose node 0 sends `good` packets and then one with
/// the header `wrong`.
fn report_of_packet(interface: &str, good: usize, wrong: u64) -> String {
    let good = "send 1 8 ".repeat(good);
    report(interface, &exchange(format!("on 0 {good} send-header {wrong} receive any")))
}

#[test]
fn a_wrong_packet_is_refused_and_named_wherever_it_stands() {
    for interface in crate::INTERFACES.into_iter().chain(["CNI16Q", "CNI16Qm"]) {
        for good in [0, 1, 3] {
            let text = report_of_packet(interface, good, header(2, 8));
            assert_says(&text, &["to node 2, which does not exist"]);
            let text = report_of_packet(interface, good, header(1, 249));
            assert_says(&text, &["249 payload bytes", "248"]);
        }
    }
}

#[test]
fn more_messages_announced_than_the_queue_holds_are_a_failure() {
    for count in [3, u64::MAX] {
        let announce = format!("li s0, {}\n li s1, 0x50001000\n sd s0, 24(s1)\n exit 0", count as i64);
        let Failure { exit_code, message, .. } = failure(&request("isca96", "CNI8Q"), &announce);
        assert_eq!(exit_code, Failure::GUEST);
        assert_says(&message, &[&format!("{count} more messages are announced than the send queue holds")]);
    }
}

#[test]
fn a_program_that_exits_with_another_code_than_zero_has_failed() {
    let Failure { exit_code, message, .. } = failure(&alone("hpca98"), "exit 17");
    assert_eq!(exit_code, Failure::GUEST);
    assert_says(&message, &["node 0", "exit code 17"]);
}

#[test]
fn the_first_failure_in_simulated_time_is_the_one_that_is_told() {
    let Failure { message, .. } = failure(
        &request("hpca98", "NI2w"),
        "
        li   t5, 0x50000000
        ld   t5, 16(t5)
        bnez t5, now
        li   t0, 1000
    later:
        addi t0, t0, -1
        bnez t0, later
        exit 1
    now:
        exit 2
    ",
    );
    assert_says(&message, &["node 1", "exit code 2"]);
}

#[test]
fn more_activities_left_than_entered_are_a_failure() {
    let Failure { exit_code, message, .. } = failure(&alone("hpca98"), "marker 0x4f0\n exit 0");
    assert_eq!(exit_code, Failure::GUEST);
    assert_says(&message, &["node 0, processor 0", "none is open"]);
}

#[test]
fn reading_a_packet_that_has_not_come_is_a_failure() {
    let text = fault_at(0x5000_1000, "ld a0, 16(s1)");
    assert_says(&text, &["a read of the receive FIFO while STATUS shows no packet"]);
}

#[test]
fn a_look_beyond_the_window_is_a_failure() {
    // NI2w shows the two words of one doubleword.
    let text = fault_at(0x5000_1000, "ld a0, 264(s1)");
    assert_says(&text, &["no register to load from at offset 0x108"]);
    // NI4w shows two, once something has come.
    let text = report("NI4w", "li s1, 0x50001000\n ld a0, 264(s1)");
    assert_says(&text, &["a read of the receive FIFO while STATUS shows no packet"]);
}

#[test]
fn a_block_is_moved_only_to_and_from_a_place_of_the_device_for_blocks() {
    for (program, problem) in [
        ("sd s1, 520(a2)", "a read of the receive FIFO while STATUS shows no packet"),
        ("addi s1, s1, -1024\n sd s1, 512(a2)", "no block to store to at offset 0x400"),
        ("addi s1, s1, -1024\n sd s1, 520(a2)", "no block to load from at offset 0x400"),
        ("li s1, 0x100000\n sd s1, 512(a2)", "device"),
        ("sd s1, 64(a2)", "device"),
    ] {
        let text = report("NI16w+Blkbuf", &format!("li a2, 0x50008000\n li s1, 0x50001800\n {program}"));
        assert_says(&text, &[problem]);
    }
}
