//! A run without progress ends with exit code 3; one whose program works goes on.

use narthex_machine::{Failure, Progress, RunRequest, run};

use crate::support::{DATA, alone, failure, program, request, with};

#[test]
fn a_run_that_makes_no_progress_is_told_so_without_a_monitor() {
    let request = with(alone("hpca98"), "machine.time_without_progress=10us");
    let Failure { exit_code, message, document } = failure(&request, "wait: j wait");
    assert_eq!(exit_code, Failure::NO_PROGRESS);
    assert!(message.contains("no system call has had an effect for 10us; stopped at "), "{message}");
    let document = document.expect("a document");
    assert_eq!(document["ending"], "no progress");
    assert!(document.get("hang").is_none());
}

/// Calls of the system: each does its work, and leaves a1 and a7.
const YIELD: &str = "li a7, 124\n ecall";
const CLOCK: &str = "li a0, 0\n li a1, 0x100100\n li a7, 113\n ecall";
const SLEEP: &str = "li a0, 0x100000\n li a1, 0\n li a7, 101\n ecall";
const WAKE: &str = "li a0, 0x100000\n li a1, 1\n li a2, 1\n li a7, 98\n ecall";
const UNKNOWN: &str = "li a7, 4000\n ecall";

#[test]
fn a_loop_of_calls_that_change_nothing_is_no_progress() {
    for calls in [YIELD.to_owned(), format!("{YIELD}\n {WAKE}\n {UNKNOWN}")] {
        let guest = format!("again:\n {calls}\n ld t0, 0x100(sp)\n j again");
        for execute_wait_loops in [false, true] {
            let request = with(request("hpca98", "NI2w"), "machine.time_without_progress=50us");
            let Failure { exit_code, message, .. } =
                failure(&RunRequest { execute_wait_loops, ..request }, &guest);
            assert_eq!(exit_code, Failure::NO_PROGRESS, "{message}");
            assert!(message.contains("no system call has had an effect for 50us"), "{message}");
        }
    }
}

#[test]
fn a_loop_that_waits_for_the_time_is_progress() {
    // 100 microseconds, asked for again and again, slept in parts, or read from the counter.
    let clock = format!("again:\n {YIELD}\n {CLOCK}\n ld t0, 8(a1)\n li t1, 100000\n blt t0, t1, again");
    let sleep = format!(
        "li t0, 0x100000\n li t1, 20000\n sd t1, 8(t0)\n {SLEEP}\n {YIELD}\n {SLEEP}\n {SLEEP}\n {SLEEP}\n {SLEEP}"
    );
    let counter = format!(
        "csrrs t0, 0xc01, zero\n li t1, 100000\n add t0, t0, t1\n again:\n {YIELD}\n csrrs t1, 0xc01, zero\n bltu t1, t0, again"
    );
    let request = with(request("hpca98", "NI2w"), "machine.time_without_progress=10us");
    for guest in [clock, sleep, counter] {
        let result = crate::support::result(&request, &format!("{guest}\n exit 0"));
        assert!(result["simulated_ps"].as_u64() >= Some(100_000_000), "{guest}: {}", result["simulated_ps"]);
    }
}

#[test]
fn a_program_that_computes_for_longer_than_the_patience_is_left_alone() {
    let request = with(request("hpca98", "NI2w"), "machine.time_without_progress=10us");
    for work in [
        // In registers, and in memory behind registers that come again.
        "li t0, 400000\n busy:\n addi t0, t0, -1\n bnez t0, busy".to_owned(),
        format!(
            "li t0, {DATA}\n busy:\n ld t1, 0(t0)\n addi t1, t1, 1\n sd t1, 0(t0)\n srli t1, t1, 14\n li t2, 50\n \
             inner:\n addi t2, t2, -1\n bnez t2, inner\n beqz t1, busy"
        ),
    ] {
        crate::support::result(&request, &format!("{work}\n exit 0"));
    }
}

#[test]
fn a_run_ends_where_simulated_time_does() {
    let slow = with(alone("hpca98"), "interfaces.ni_iw.register_access_time=1000s");
    let poll = format!("li t0, 0x50001000\n again: ld t1, 0(t0)\n {CLOCK}\n j again");
    let failure = failure(&with(slow, "machine.time_without_progress=1000s"), &poll);
    assert_eq!(failure.message, "the run has come to 9223372.036854775807s, where simulated time ends");
}

#[test]
fn a_program_that_works_on_its_own_is_interrupted_however_short_the_patience() {
    let request = with(alone("isca96"), "machine.time_without_progress=50us");
    let count = "li t0, 200000000\n again: addi t0, t0, -1\n bnez t0, again\n exit 0";
    let interrupted = run(&request, &program(count), &mut |progress| !matches!(progress, Progress::Time(_)));
    assert!(interrupted.expect_err("it was interrupted").message.contains("interrupted"));
}
