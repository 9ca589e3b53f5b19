//! Interfaces in the lines of second-level caches, in whole machines: accesses to the cycle, what
//! is refused, checkpoints and threads.
//!
//! On the prototype a cycle is 13.3 ns, and a remote store takes 10 cycles out of its tile, 8 over
//! the crossbar and 10 into the other.

use narthex_machine::RunRequest;

use crate::support::{DATA, failure, program, reported, request, result, statistic, with};

/// Opens /dev/sarc as s0, and defines a subroutine that calls it.
const OPEN: &str = "
    li t0, 0x637261732f766564       # dev/sarc, behind a slash
    slli t1, t0, 8
    ori t1, t1, 0x2f
    srli t2, t0, 56
    li s1, {data}
    sd t1, 0(s1)
    sd t2, 8(s1)
    li a0, -100
    mv a1, s1
    li a2, 2
    li a7, 56
    ecall
    mv s0, a0
    li s2, 0x1100000000             # registers
    ld s3, 0(s2)                    # the tile
";

/// Allocates so many lines that all processes share, as register `into`.
fn allocate(lines: u64, into: &str) -> String {
    format!(
        "sd s3, 0(s1)\n li t0, {lines}\n sd t0, 8(s1)\n li t0, 1\n sd t0, 16(s1)\n mv a0, s0\n li a1, 1\n \
         mv a2, s1\n li a7, 29\n ecall\n ld {into}, 24(s1)\n"
    )
}

fn guest(body: &str) -> String {
    format!("{}\n{body}\n exit 0", OPEN.replace("{data}", &DATA.to_string()))
}

fn prototype() -> RunRequest {
    with(&request("sarc-prototype", "SARC"), "machine.nodes=1")
}

/// Cycles of an access, beyond what the measurement itself takes.
fn measured(access: &str, into: &str) -> String {
    format!(
        "csrrs t4, 0xc00, zero\n {access}\n add t6, t5, t5\n csrrs t6, 0xc00, zero\n sub {into}, t6, t4\n"
    )
}

#[test]
fn a_load_of_the_own_scratchpad_takes_the_second_level_and_one_of_another_tile_both_ways() {
    let body = format!(
        "{} li s5, 0x100000\n li t0, 3\n xor t0, t0, s3\n mul s5, s5, t0\n li t0, 0x1000000000\n add s5, s5, t0\n \
         li s8, 2\n warm: {} {} addi s8, s8, -1\n bnez s8, warm\n \
         bnez s3, rest\n report own, s6\n report other, s7\n rest:",
        allocate(1, "s4"),
        measured("ld t5, 0(s4)", "s6"),
        measured("ld t5, 0(s5)", "s7"),
    );
    let document = result(&prototype(), &guest(&body));
    let (own, other) = (reported(&document, 0, "own"), reported(&document, 0, "other"));
    // Read request: 24 bytes, 3 cycles of the crossbar's width; answer: 16 bytes, 2 of them.
    assert_eq!(other - own, f64::from((10 + 6 + 3 + 10) + (10 + 6 + 2 + 10) - 6));
    assert!(statistic(&document, 0, "sarc_remote_loads") >= 2);
}
