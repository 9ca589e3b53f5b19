//! Windows, and stretches of them in which nobody looks at the partitions.

use super::group::Group;
use crate::partition::Partition;
use crate::time::{Duration, Time};

/// A window: what is simulated before partitions hear from each other again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    /// Everything before this instant happens.
    pub end: Time,
    /// Nothing that is sent in it arrives before.
    pub first_arrival: Time,
    /// Whether host time is taken.
    pub sampled: bool,
}

/// What a group has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flags {
    /// All its partitions have finished.
    pub finished: bool,
    /// One of its partitions has stopped.
    pub stopped: bool,
}

impl Flags {
    /// Of several groups together.
    pub fn and(self, other: Flags) -> Flags {
        Flags { finished: self.finished && other.finished, stopped: self.stopped || other.stopped }
    }
}

/// What is to be simulated before somebody looks at all partitions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    /// Everything before has happened.
    pub now: Time,
    /// Nothing happens before.
    pub earliest: Time,
    /// Where it ends at the latest.
    pub bound: Time,
    /// Most windows that it has.
    pub windows: u64,
    /// No partition hears from another sooner.
    pub lookahead: Duration,
    /// It goes on when all partitions have finished.
    pub outlasts_work: bool,
}

/// How far a stretch came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Covered {
    /// Everything before has happened.
    pub now: Time,
    /// In so many windows.
    pub windows: u64,
}

/// The shortest window: one instant.
pub(super) const INSTANT: Duration = Duration::from_ps(1);

impl Stretch {
    /// Whether it ends because of what partitions have come to.
    pub fn is_over(&self, flags: Flags) -> bool {
        flags.stopped || (flags.finished && !self.outlasts_work)
    }

    /// The window that starts at `start`, if that is within the stretch.
    pub fn window(&self, start: Time, length: Duration, sampled: bool) -> Option<Window> {
        (start < self.bound).then(|| Window {
            end: start.saturating_add(length).min(self.bound),
            first_arrival: start.saturating_add(self.lookahead),
            sampled,
        })
    }

    /// Simulates it on this thread, which has all partitions.
    pub fn simulate<P: Partition>(&self, all: &mut Group<'_, P>) -> Covered {
        let mut covered = Covered { now: self.now, windows: 0 };
        let length = self.lookahead.max(INSTANT);
        while covered.windows < self.windows && !self.is_over(all.flags()) {
            let Some(window) = self.window(all.earliest(), length, false) else { break };
            all.simulate(&window, |_, _| unreachable!("all partitions are here"));
            covered = Covered { now: covered.now.max(window.end), windows: covered.windows + 1 };
        }
        covered
    }
}
