//! How a thread waits for another: it spins, then yields, then sleeps.
//!
//! A window's peers are microseconds away, so a thread spins first. If there are
//! more threads than processors, here or because of other programs, the thread
//! that is waited for may need the processor: yielding gives it. A thread that is still
//! not served sleeps for longer and longer times, so that no thread's slice of
//! processor time is spent on waiting.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Looks before a thread yields, with a processor for each thread: some tens of microseconds.
const SPINS: u32 = 4_000;
/// Yields before a thread sleeps.
const YIELDS: u32 = 500;
const LONGEST_SLEEP: Duration = Duration::from_micros(200);

/// How the threads of a run wait for each other.
#[derive(Debug)]
pub(super) struct ThreadWait {
    spins: u32,
    aborted: AtomicBool,
}

impl ThreadWait {
    /// Waiting among threads that have a processor each, or do not.
    pub fn new(have_processors: bool) -> Self {
        ThreadWait { spins: if have_processors { SPINS } else { 1 }, aborted: AtomicBool::new(false) }
    }

    /// A thread has panicked: no other thread may wait for it.
    pub fn abort(&self) {
        self.aborted.store(true, Ordering::Release);
    }

    /// Waits until something is so; `None` if a thread has panicked.
    #[inline]
    pub fn until(&self, mut is_so: impl FnMut() -> bool) -> Option<()> {
        for _ in 0..self.spins {
            if is_so() {
                return Some(());
            }
            spin_loop();
        }
        self.until_at_leisure(is_so)
    }

    #[cold]
    fn until_at_leisure(&self, mut is_so: impl FnMut() -> bool) -> Option<()> {
        let mut sleep = Duration::from_micros(10);
        let mut turns = 0;
        loop {
            if is_so() {
                return Some(());
            }
            if self.aborted.load(Ordering::Acquire) {
                return None;
            }
            if turns < YIELDS {
                turns += 1;
                thread::yield_now();
            } else {
                thread::sleep(sleep);
                sleep = (sleep * 2).min(LONGEST_SLEEP);
            }
        }
    }
}
