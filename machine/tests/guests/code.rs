//! Code where a program may have it, and where it has none: files with code at
//! odd places, and pages of code that go while the program runs.

use narthex_machine::Failure;

use crate::process_threads::{compared, program, several};
use crate::support::elf::{self, EXECUTE, READ, Segment};
use crate::support::{CODE, alone, failure, reported, run_guest};
use narthex_cores::assemble::assemble;

/// What becomes of a program whose only segment has these bytes, at any address.
fn run(address: u64, bytes: &[u8], entry: u64) -> Result<(), Failure> {
    let (memory_bytes, flags) = (bytes.len() as u64, READ | EXECUTE);
    let text = Segment { address, memory_bytes, bytes: bytes.to_vec(), flags };
    run_guest(&alone("hpca98"), &elf::file(entry, &[text])[..]).map(drop)
}

fn fault(address: u64, bytes: &[u8], entry: u64) -> String {
    let failure = run(address, bytes, entry).expect_err("the program has no end");
    assert_eq!(failure.exit_code, Failure::GUEST, "{failure}");
    failure.message
}

#[test]
fn code_in_a_segment_at_an_odd_address_runs() {
    let code = assemble(CODE + 2, "li a0, 0\n li a7, 93\n j on\n ebreak\n on: ecall").expect("sound");
    run(CODE + 1, &[&[0xff][..], &code].concat(), CODE + 2).expect("it exits");
}

#[test]
fn code_that_ends_inside_an_instruction_goes_on_with_what_memory_holds() {
    // The halfword 0x0013 and the zeros behind the segment are a nop.
    let text = fault(CODE, &[0x13, 0x00], CODE);
    assert!(text.contains(&format!("illegal instruction 0x0 at {:#x}", CODE + 4)), "{text}");
    // At the page's end there is nothing behind it.
    let mut page = [0x01, 0x00].repeat(2047);
    page.extend([0x13, 0x00]);
    let text = fault(CODE, &page, CODE);
    assert!(text.contains(&format!("instruction fetch from {:#x}", CODE + 4096)), "{text}");
}

#[test]
fn a_jump_to_the_last_addresses_of_all_is_a_fault() {
    for address in ["-2", "-4", "-4096"] {
        let Failure { message, .. } = failure(&alone("hpca98"), &format!("li t0, {address}\n jr t0"));
        assert!(message.contains("instruction fetch from 0xffffffffffff"), "{message}");
    }
}

/// Maps a page that may be written and executed, at s0.
const MAP_PAGE: &str = "
    li   s0, 0x30000000
    mv   a0, s0
    li   a1, 4096
    li   a2, 7
    li   a3, 0x32
    li   a4, -1
    li   a5, 0
    li   a7, 222
    ecall
";

/// A program that calls a page of code, does something to it by a system call,
/// and calls it again.
fn call_again_after(system_call: &str) -> String {
    format!(
        "{MAP_PAGE}
        li   t0, 0x00008067             # ret
        sw   t0, 0(s0)
        fence.i
        jalr ra, 0(s0)
        mv   a0, s0
        li   a1, 4096
        {system_call}
        ecall
        bnez a3, called                 # a3 is 1 where the code stays
        jalr ra, 0(s0)
        exit 99
    called:
        jalr ra, 0(s0)
        exit 0
    "
    )
}

#[test]
fn a_page_of_code_that_is_gone_or_forbidden_is_not_executed_any_more() {
    let map_again =
        "li a2, 7\n li a3, 0x32\n li a4, -1\n li a5, 0\n li a7, 222\n ecall\n li a3, 0\n li a7, 172";
    for (system_call, problem) in [
        ("li a3, 0\n li a7, 215", "instruction fetch from 0x30000000: no memory is mapped there"),
        ("li a3, 0\n li a2, 3\n li a7, 226", "instruction fetch from 0x30000000: the page does not allow it"),
        ("li a3, 0\n li a2, 0\n li a7, 226", "instruction fetch from 0x30000000: the page does not allow it"),
        (map_again, "illegal instruction 0x0 at 0x30000000"),
    ] {
        let Failure { message, .. } = failure(&alone("hpca98"), &call_again_after(system_call));
        assert!(message.contains(problem), "{problem:?} is not in {message}");
    }
}

#[test]
fn a_page_of_code_that_stays_executable_is_executed_on() {
    let protect = "li a3, 1\n li a2, 5\n li a7, 226";
    crate::support::result(&alone("hpca98"), &call_again_after(protect));
}

/// A function in the page at s0, which returns its number.
const FUNCTION: &str = "
    li   s1, 0x00100513             # li a0, 1
    li   s2, 0x00100000             # one more
    li   t0, 0x00008067             # ret
    sw   s1, 0(s0)
    sw   t0, 4(s0)
    fence.i
";

/// Linux's call that makes what was written what is executed, and the flag for the own thread.
const FLUSH: [&str; 2] = ["li a2, 0\n li a7, 259\n ecall", "li a2, 1\n li a7, 259\n ecall"];

#[test]
fn code_that_is_written_again_is_executed_after_a_fence_or_a_flush_and_stale_before() {
    for (fence, expected) in [("fence.i", 2), (FLUSH[0], 2), (FLUSH[1], 2), ("fence", 1)] {
        for machine in ["hpca98", "edt", "chip"] {
            let guest = format!(
                "{MAP_PAGE} {FUNCTION}
                 jalr ra, 0(s0)
                 add  s1, s1, s2
                 sw   s1, 0(s0)
                 {fence}
                 jalr ra, 0(s0)
                 report number, a0
                 exit 0"
            );
            let document = crate::support::result(&alone(machine), &guest);
            assert_eq!(reported(&document, 0, "number"), expected, "{machine}: {fence}");
        }
    }
}

/// One thread writes a function that another one has executed before.
#[test]
fn code_that_another_thread_has_written_is_executed_after_a_fence_here_or_a_flush_there() {
    for (there, here, expected) in
        [("fence", "fence.i", 2), (FLUSH[0], "fence", 2), (FLUSH[1], "fence", 1), ("fence", "fence", 1)]
    {
        let work = format!(
            "
            bnez s8, executes
            {MAP_PAGE}
            {FUNCTION}
            sd   s0, 0(s10)             # the page is there
            fence
        executed:
            ld   t0, 64(s10)
            beqz t0, executed
            add  s1, s1, s2
            sw   s1, 0(s0)
            {there}
            fence
            sd   s0, 128(s10)
            j    over
        executes:
            ld   s0, 0(s10)
            beqz s0, executes
            fence.i
            jalr ra, 0(s0)
            sd   s0, 64(s10)
        written:
            ld   t0, 128(s10)
            beqz t0, written
            fence
            {here}
            jalr ra, 0(s0)
            sd   a0, 192(s10)
        over:"
        );
        let guest = program(2, &work, "ld t0, 192(s10)\n report number, t0");
        for machine in ["hpca98", "isca96", "chip"] {
            let (document, ..) = compared(&several(machine, 2), &guest);
            assert_eq!(reported(&document, 0, "number"), expected, "{machine}: {there}, {here}");
        }
    }
}
