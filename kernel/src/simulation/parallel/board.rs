//! Where threads tell each other how far they are.
//!
//! A thread that has finished a window publishes a report: the earliest instant
//! at which it knows of anything to do, and what its partitions have come to.
//! Every thread computes the next windows from the reports of all, so none
//! decides for the others and a window costs one exchange.
//!
//! ```text
//!   thread 0   | report 4 | report 5 |   written by thread 0 only
//!   thread 1   | report 4 | report 3 |   still in window 5
//!                              ▲
//!                   read by all before window 6
//! ```
//!
//! A thread writes window w's report after it has read those of w - 1, which
//! others wrote after they had read those of w - 2: two reports of each thread
//! are enough. Each has a cache line of its own, which moves once from the
//! writer to each reader.

use std::sync::atomic::{AtomicU64, Ordering};

use super::wait::ThreadWait;
use crate::simulation::window::{Departures, Flags, Summary};
use crate::time::Time;

/// Reports that a thread keeps.
pub(super) const RING: usize = 2;

const FINISHED: u64 = 1 << 63;
const STOPPED: u64 = 1 << 62;
const HAS_FINISHED: u64 = 1 << 61;
/// Threads are told apart in a report modulo this number.
const POSTED_BITS: usize = 32;

/// What a thread tells about a window.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Report {
    /// One more than the window's number: the report is there.
    window: AtomicU64,
    earliest: [AtomicU64; 2],
    unfinished: AtomicU64,
    departures: [AtomicU64; 3],
    reached: AtomicU64,
    /// The flags, and for which threads there is mail.
    flags: AtomicU64,
}

/// For which threads there is mail; several threads may share a bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Posted(u64);

impl Posted {
    /// There is mail for this thread.
    pub fn add(&mut self, thread: usize) {
        self.0 |= 1 << (thread % POSTED_BITS);
    }

    /// Whether there may be mail for this thread.
    pub fn includes(self, thread: usize) -> bool {
        self.0 >> (thread % POSTED_BITS) & 1 != 0
    }
}

/// The reports of all threads.
#[derive(Debug)]
pub(super) struct Board {
    reports: Vec<[Report; RING]>,
}

impl Board {
    /// A board for this many threads.
    pub fn new(threads: usize) -> Self {
        Board { reports: (0..threads).map(|_| Default::default()).collect() }
    }

    /// A thread has finished a window.
    pub fn publish(&self, thread: usize, window: u64, summary: Summary, posted: Posted) {
        let Summary { earliest, unfinished, departures, reached, flags } = summary;
        let report = &self.reports[thread][window as usize % RING];
        let Flags { finished, has_finished, stopped } = flags;
        let bit = |is_set: bool, bit: u64| if is_set { bit } else { 0 };
        let flags = bit(finished, FINISHED) | bit(has_finished, HAS_FINISHED) | bit(stopped, STOPPED);
        for (place, time) in report.earliest.iter().zip(earliest) {
            place.store(time.as_ps(), Ordering::Relaxed);
        }
        let Departures { first, partition, second } = departures;
        for (place, value) in report.departures.iter().zip([first.as_ps(), partition.into(), second.as_ps()])
        {
            place.store(value, Ordering::Relaxed);
        }
        report.unfinished.store(unfinished.as_ps(), Ordering::Relaxed);
        report.reached.store(reached.as_ps(), Ordering::Relaxed);
        report.flags.store(posted.0 | flags, Ordering::Relaxed);
        report.window.store(window + 1, Ordering::Release);
    }

    /// Waits until all threads have finished a window; `None` if one has panicked.
    /// `posted` gets, in order, for whom each thread has left mail.
    pub fn summary(&self, window: u64, waiting: &ThreadWait, posted: &mut Vec<Posted>) -> Option<Summary> {
        let none = Flags { finished: true, has_finished: false, stopped: false };
        let (earliest, departures) = ([Time::NEVER; 2], Departures::NONE);
        let unfinished = Time::NEVER;
        let mut summary = Summary { earliest, unfinished, departures, reached: Time::ZERO, flags: none };
        posted.clear();
        for reports in &self.reports {
            let report = &reports[window as usize % RING];
            waiting.until(|| report.window.load(Ordering::Acquire) > window)?;
            let flags = report.flags.load(Ordering::Relaxed);
            for (earliest, place) in summary.earliest.iter_mut().zip(&report.earliest) {
                *earliest = Time::from_ps(place.load(Ordering::Relaxed)).min(*earliest);
            }
            let departures = report.departures.each_ref().map(|place| place.load(Ordering::Relaxed));
            let [first, partition, second] = departures;
            let (first, second) = (Time::from_ps(first), Time::from_ps(second));
            let departures = Departures { first, partition: partition as u32, second };
            summary.departures = summary.departures.joined(departures);
            let unfinished = Time::from_ps(report.unfinished.load(Ordering::Relaxed));
            summary.unfinished = summary.unfinished.min(unfinished);
            summary.reached = summary.reached.max(Time::from_ps(report.reached.load(Ordering::Relaxed)));
            summary.flags = summary.flags.and(Flags {
                finished: flags & FINISHED != 0,
                has_finished: flags & HAS_FINISHED != 0,
                stopped: flags & STOPPED != 0,
            });
            posted.push(Posted(flags & !(FINISHED | HAS_FINISHED | STOPPED)));
        }
        Some(summary)
    }
}
