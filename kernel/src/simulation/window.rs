//! Windows, and stretches of them in which the partitions are not inspected.

use super::tiers::{Members, Tiers};
use crate::time::{Duration, Time};

/// A window: what is simulated before partitions hear from each other again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    /// Whose window it is.
    pub members: Members,
    /// Everything before this instant happens.
    pub end: Time,
    /// Nothing that is sent in it arrives before, at the first tier and at the second.
    pub first_arrivals: [Time; 2],
}

/// What a group has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flags {
    /// All its partitions have finished.
    pub finished: bool,
    /// One of the first tier has finished.
    pub has_finished: bool,
    /// One of its partitions has stopped.
    pub stopped: bool,
}

impl Flags {
    /// Of several groups together.
    pub fn and(self, other: Flags) -> Flags {
        Flags {
            finished: self.finished && other.finished,
            has_finished: self.has_finished || other.has_finished,
            stopped: self.stopped || other.stopped,
        }
    }
}

/// What is known of all partitions between two windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Summary {
    /// The earliest instant at which any of the first tier would do something, and of
    /// the second.
    pub earliest: [Time; 2],
    /// What they have come to.
    pub flags: Flags,
}

impl Summary {
    /// The earliest instant at which any of them would do something.
    pub fn earliest(&self) -> Time {
        self.earliest[0].min(self.earliest[1])
    }
}

/// What is to be simulated before all partitions are inspected.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    /// Everything before has happened.
    pub now: Time,
    /// Where all partitions stand.
    pub begin: Summary,
    /// Where it ends at the latest.
    pub bound: Time,
    /// Most windows that it has.
    pub windows: u64,
    /// No partition hears from another sooner; one that is alone never does.
    pub lookahead: Duration,
    /// How soon they do if they are in tiers.
    pub tiers: Option<Tiers>,
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
        let mut summary = self.begin;
        while let Some(next) = self.window(&summary).filter(|_| covered.windows < self.windows) {
            summary = window(&next)?;
            covered.windows += 1;
            while let Some(inner) = self.window_of_second(&next, &summary) {
                summary = window(&inner)?;
                covered.windows += 1;
            }
            // What finishes may leave the rest of its window.
            covered.now = if summary.flags.finished { next.end.min(summary.earliest()) } else { next.end };
            if self.is_over(summary.flags) {
                break;
            }
        }
        Some(covered)
    }

    /// The next window, if it starts within the stretch.
    fn window(&self, summary: &Summary) -> Option<Window> {
        let start = summary.earliest();
        if start >= self.bound {
            return None;
        }
        // A run goes on for one lookahead after the last partition has finished, and
        // none may pass that instant.
        if let Some(tiers) = self.tiers.filter(|_| !summary.flags.has_finished) {
            return Some(tiers.first_window(summary.earliest, self.bound.min(start.saturating_add(LONGEST))));
        }
        let length = self.lookahead.clamp(INSTANT, LONGEST);
        let first_arrival = start.saturating_add(self.lookahead);
        let end = start.saturating_add(length).min(self.bound);
        Some(Window { members: Members::All, end, first_arrivals: [first_arrival; 2] })
    }

    /// What the second tier has still to do before the end of a window of the first.
    fn window_of_second(&self, outer: &Window, summary: &Summary) -> Option<Window> {
        let tiers = self.tiers.filter(|_| outer.members == Members::First && !self.is_over(summary.flags))?;
        let start = summary.earliest[1];
        (start < outer.end).then(|| tiers.second_window(start, outer.end))
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
        let flags = Flags { finished: false, has_finished: false, stopped: false };
        let begin = Summary { earliest: [now; 2], flags };
        let stretch =
            Stretch { now, begin, bound, windows: 256, lookahead: second, tiers: None, outlasts_work: false };
        let mut ends = Vec::new();
        let covered = stretch.simulate(|window| {
            ends.push(window.end);
            assert!(window.first_arrivals[0] >= bound, "what is sent still takes the lookahead");
            Some(Summary { earliest: [window.end; 2], flags })
        });
        assert_eq!(covered.map(|covered| covered.windows), Some(256));
        assert!(ends.iter().zip(1..).all(|(&end, count)| end == Time::from_ps(count * LONGEST.as_ps())));
    }
}
