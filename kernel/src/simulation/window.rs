//! Windows, and stretches of them in which the partitions are not inspected.

use crate::time::{Duration, Time};

/// A window: what is simulated before partitions hear from each other again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    /// Everything before this instant happens.
    pub end: Time,
    /// Nothing that is sent in it arrives before.
    pub first_arrival: Time,
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

/// What is known of all partitions between two windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Summary {
    /// The earliest instant at which any of them would do something.
    pub earliest: Time,
    /// What they have come to.
    pub flags: Flags,
}

/// What is to be simulated before all partitions are inspected.
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
    /// No partition hears from another sooner; one that is alone never does.
    pub lookahead: Duration,
    /// It goes on when all partitions have finished.
    pub outlasts_work: bool,
}

/// How far a stretch came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Covered {
    /// Everything before has happened.
    pub now: Time,
    /// In this many windows.
    pub windows: u64,
}

/// The shortest window: one instant.
pub(super) const INSTANT: Duration = Duration::from_ps(1);

/// The longest window, however long the lookahead is: the observer sees nothing,
/// and cannot interrupt, inside a window.
const LONGEST: Duration = Duration::from_ns(10_000);

impl Stretch {
    /// Simulates window after window: `window` does one of them, on whatever
    /// threads, and says what there is to do next. `None` as soon as it has none.
    pub fn simulate(&self, mut window: impl FnMut(&Window) -> Option<Summary>) -> Option<Covered> {
        let mut covered = Covered { now: self.now, windows: 0 };
        let mut earliest = self.earliest;
        while let Some(next) = self.window(earliest).filter(|_| covered.windows < self.windows) {
            let summary = window(&next)?;
            // What finishes may leave the rest of its window.
            let now = if summary.flags.finished { next.end.min(summary.earliest) } else { next.end };
            covered = Covered { now, windows: covered.windows + 1 };
            if self.is_over(summary.flags) {
                break;
            }
            earliest = summary.earliest;
        }
        Some(covered)
    }

    /// The window that starts at `start`, if that is within the stretch.
    fn window(&self, start: Time) -> Option<Window> {
        let length = self.lookahead.clamp(INSTANT, LONGEST);
        (start < self.bound).then(|| Window {
            end: start.saturating_add(length).min(self.bound),
            first_arrival: start.saturating_add(self.lookahead),
        })
    }

    /// Whether it ends because of what partitions have come to.
    fn is_over(&self, flags: Flags) -> bool {
        flags.stopped || (flags.finished && !self.outlasts_work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_soon_however_long_the_lookahead_is() {
        let (now, second) = (Time::ZERO, Duration::from_ns(1_000_000_000));
        let bound = now.saturating_add(second);
        let stretch =
            Stretch { now, earliest: now, bound, windows: 256, lookahead: second, outlasts_work: false };
        let mut ends = Vec::new();
        let covered = stretch.simulate(|window| {
            ends.push(window.end);
            assert!(window.first_arrival >= bound, "what is sent still takes the lookahead");
            let flags = Flags { finished: false, stopped: false };
            Some(Summary { earliest: window.end, flags })
        });
        assert_eq!(covered.map(|covered| covered.windows), Some(256));
        assert!(ends.iter().zip(1..).all(|(&end, count)| end == Time::from_ps(count * LONGEST.as_ps())));
    }
}
