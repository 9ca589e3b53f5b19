//! Which calls bring a program no further.
//!
//! A program that waits for ever may call the system in each turn of its loop, most
//! often for `sched_yield`. So a call is no progress in itself: it is if it has an
//! effect, changes what the kernel knows, or tells the time, which goes on. What it writes
//! into the program's memory counts as the program's own work, and is found there.
//!
//! A call that is not named here is progress: no program that gets anywhere may be
//! stopped.

use super::CallResult;
use super::answer::{EINTR, ETIMEDOUT};
use crate::linux::numbers::name;

/// Calls whose answer is the same again, whatever was called before.
const FACTS: [&str; 23] = [
    "sched_yield",
    "sched_getaffinity",
    "getcpu",
    "getcwd",
    "membarrier",
    "rt_sigreturn",
    "getpid",
    "gettid",
    "getppid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "clock_getres",
    "uname",
    "fstat",
    "newfstatat",
    "fsync",
    "fdatasync",
    "mlock",
    "munlock",
    "readlinkat",
    "faccessat",
];

/// FUTEX_WAKE and FUTEX_WAKE_BITSET, of `futex`.
const WAKES: [u64; 2] = [1, 10];
const FUTEX_COMMAND: u64 = 0x7f;

/// The largest error number of Linux.
const MOST_ERRORS: i64 = 4095;

/// Whether a call with this result has changed nothing, and would do the same again.
pub fn changes_nothing(number: u64, arguments: [u64; 6], result: &CallResult) -> bool {
    let &CallResult { value, ref effect, .. } = result;
    // It is over because of the time, or of what has happened meanwhile.
    let has_waited = [ETIMEDOUT, EINTR].iter().any(|error| value == -error.0);
    let has_failed = (-MOST_ERRORS..0).contains(&value) && !has_waited;
    let has_woken_none = value == 0 && WAKES.contains(&(arguments[1] & FUTEX_COMMAND));
    let is_idle = || match name(number) {
        Some("futex") => has_woken_none,
        Some(name) => FACTS.contains(&name),
        None => false,
    };
    effect.is_none() && (has_failed || is_idle())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::calls::Effect;

    const FUTEX: u64 = 98;
    const SCHED_YIELD: u64 = 124;
    const CLOCK_GETTIME: u64 = 113;
    const BRK: u64 = 214;
    const READ: u64 = 63;

    fn is_idle(number: u64, operation: u64, value: i64) -> bool {
        changes_nothing(number, [0, operation, 0, 0, 0, 0], &CallResult::from(value))
    }

    #[test]
    fn a_call_brings_a_program_no_further_that_fails_or_states_a_fact() {
        let [again, timed_out, interrupted, unknown] = [-11, -110, -4, -38];
        assert!(is_idle(SCHED_YIELD, 0, 0));
        assert!(is_idle(FUTEX, 0, again) && is_idle(FUTEX, 0x81, 0) && is_idle(9999, 0, unknown));
        assert!(!is_idle(FUTEX, 1, 2) && !is_idle(FUTEX, 3, 0));
        assert!(!is_idle(FUTEX, 0, timed_out) && !is_idle(FUTEX, 0, interrupted));
        assert!(!is_idle(CLOCK_GETTIME, 0, 0) && !is_idle(BRK, 0, 0x1000) && !is_idle(READ, 0, 1));
        let notice = CallResult { value: unknown, effect: Some(Effect::Notice(String::new())), pages: 0 };
        assert!(!changes_nothing(9999, [0; 6], &notice));
    }
}
