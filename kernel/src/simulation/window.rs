//! Windows, and stretches of them in which the partitions are not inspected.
//!
//! A window ends one lookahead after the earliest instant at which anything may leave any
//! partition ([`crate::Partition::earliest_departure`]): nobody hears of it sooner. Only those
//! are simulated in it from which something may leave before its end. The others stay behind:
//! nothing is heard from them, and what they hear comes after the end. Each is simulated
//! when its own next departure comes near, for a longer time at once:
//!
//! ```text
//!   window         |------1------|------2------|------3------|
//!   node 0         |------------>|------------>|------------>|   a frame leaves it soon
//!   node 1         |------------>|..........................>|   nothing can leave it before
//!                                                                the end of window 2
//! ```
//!
//! The partition from which something may leave *first* goes further: it hears from no other
//! before anything has left those, and nothing as an answer before what it sends has arrived, and
//! an answer as well. So a partition that works while all others wait, or one of two that talk,
//! has windows that are longer still. Partitions that have finished wait for those that have not,
//! because the run ends soon after the last of them has.
//!
//! A stretch ends even: everything before its end has happened, and nothing later.

use super::tiers::{Members, Tiers};
use crate::time::{Duration, Time};

/// A window: what is simulated before partitions hear from each other again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    /// Whose window it is.
    pub members: Members,
    /// How far partitions go in it.
    pub end: Time,
    /// What others cannot notice they may do ahead, up to then.
    pub ahead_until: Time,
    /// Everything before its end happens. In other windows a partition from which nothing
    /// leaves before the end may stay behind.
    pub is_complete: bool,
    /// Nothing that is sent in it arrives before, at the first tier and at the second.
    pub first_arrivals: [Time; 2],
    /// What a partition sends takes no less time than this.
    pub latency: Duration,
    /// The one partition from which something may leave before it may leave any other.
    pub first: Option<First>,
    /// Partitions that have finished go no further than this: the run goes on for one lookahead
    /// after the last has finished, and none of those that have not finishes sooner than now.
    pub finished_end: Time,
}

/// A partition from which something may leave before it may leave any other. It goes on up to
/// what it may hear from those, or up to an answer to what it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct First {
    /// When something may leave it: no other one has the same.
    pub departure: Time,
    /// How far it goes.
    pub end: Time,
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

/// When something may leave partitions: the first of them, and the first of all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Departures {
    pub first: Time,
    /// Which one that is.
    pub partition: u32,
    pub second: Time,
}

impl Departures {
    /// Of no partition.
    pub const NONE: Departures = Departures { first: Time::NEVER, partition: u32::MAX, second: Time::NEVER };

    /// Of partitions with these numbers, or more of them.
    #[inline(always)]
    pub fn of(times: &[Time], numbers: &[u32]) -> Departures {
        let (mut first, mut place, mut second) = (Time::NEVER, 0, Time::NEVER);
        for (at, &time) in times.iter().enumerate() {
            // Without branches: which one is first changes with each window.
            let later = if time < first { first } else { time };
            second = if later < second { later } else { second };
            (first, place) = if time < first { (time, at) } else { (first, place) };
        }
        let partition = if first < Time::NEVER { numbers[place] } else { u32::MAX };
        Departures { first, partition, second }
    }

    /// With another instant at which something may leave a partition.
    #[inline(always)]
    pub fn and(self, at: Time, partition: u32) -> Departures {
        let Departures { first, partition: known, second } = self;
        match at < first {
            true if partition == known => Departures { first: at, ..self },
            true => Departures { first: at, partition, second: first },
            false if partition == known => self,
            false => Departures { second: second.min(at), ..self },
        }
    }

    /// With those of other partitions, or sooner ones of the same.
    pub fn joined(self, other: Departures) -> Departures {
        // The second one of the other is of a partition that is not known, and so of another.
        self.and(other.first, other.partition).and(other.second, u32::MAX - 1)
    }
}

/// What is known of all partitions between two windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Summary {
    /// The earliest instant at which any of the first tier would do something, and of
    /// the second.
    pub earliest: [Time; 2],
    /// None of those that have not finished would do anything before, of both tiers.
    pub unfinished: Time,
    /// The earliest instants at which anything may leave those of the first tier. Those of the
    /// second foresee nothing.
    pub departures: Departures,
    /// How far the partition has come that was first in the window.
    pub reached: Time,
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
    /// It goes on when all partitions have finished, or one has stopped.
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

/// No partition is further ahead of what another one does next: it goes, in a window or beyond it, no
/// further than the longest window that begins where the first of them stands.
pub(super) const FURTHEST: Duration = LONGEST;

impl Stretch {
    /// Simulates window after window: `window` does one of them, on whatever
    /// threads, and says what there is to do next. `None` as soon as it has none.
    pub fn simulate(&self, mut window: impl FnMut(&Window) -> Option<Summary>) -> Option<Covered> {
        let mut covered = Covered { now: self.now, windows: 0 };
        let mut summary = self.begin;
        let mut uneven = None;
        while let Some(next) = self.window(&summary).filter(|_| covered.windows < self.windows) {
            summary = window(&next)?;
            covered.windows += 1;
            let is_even = next.is_complete && summary.reached <= next.end && !summary.flags.has_finished;
            uneven = (!is_even).then_some((next.members, next.end));
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
        // Of those that stayed behind, one may have stopped first. Where all have finished, each
        // is where it has.
        if let Some((members, end)) = uneven.filter(|_| !summary.flags.finished) {
            let end = end.max(summary.reached);
            // Those that have finished come after those that have not.
            for _ in 0..=u32::from(summary.flags.has_finished) {
                summary = window(&self.even_window(members, end, &summary))?;
                covered.windows += 1;
            }
            covered.now = if summary.flags.finished { end.min(summary.earliest()) } else { end };
        }
        Some(covered)
    }

    /// The next window, if there is anything to do within the stretch.
    fn window(&self, summary: &Summary) -> Option<Window> {
        let start = summary.earliest();
        if start >= self.bound {
            return None;
        }
        let longest = start.saturating_add(LONGEST).min(self.bound);
        let has_finished = summary.flags.has_finished;
        // Without a lookahead everything is heard at once; and those of the second tier may not
        // pass the end of a run, and know nothing of it.
        let is_plain = self.lookahead.is_zero() || has_finished && self.tiers.is_some();
        if let Some(tiers) = self.tiers.filter(|_| !is_plain) {
            return Some(tiers.first_window([summary.departures.first, summary.earliest[1]], longest));
        }
        let Departures { first, second, .. } = summary.departures;
        let departure = if is_plain { start } else { first };
        let first_arrival = departure.saturating_add(self.lookahead);
        let end = first_arrival.max(start.saturating_add(INSTANT)).min(longest);
        let first_end = second.saturating_add(self.lookahead).min(longest);
        Some(Window {
            members: Members::All,
            end,
            ahead_until: longest,
            is_complete: is_plain || has_finished || end == longest,
            first_arrivals: [first_arrival; 2],
            latency: self.lookahead,
            first: (!is_plain && first_end > end).then_some(First { departure, end: first_end }),
            finished_end: summary.unfinished.saturating_add(self.lookahead),
        })
    }

    /// A window in which all members come to this end, which none of them can pass unheard.
    fn even_window(&self, members: Members, end: Time, summary: &Summary) -> Window {
        Window {
            members,
            end,
            ahead_until: end,
            is_complete: true,
            first_arrivals: [end; 2],
            latency: self.tiers.map_or(self.lookahead, |tiers| tiers.to_second),
            first: None,
            finished_end: summary.unfinished.saturating_add(self.lookahead),
        }
    }

    /// What the second tier has still to do before the end of a window of the first.
    fn window_of_second(&self, outer: &Window, summary: &Summary) -> Option<Window> {
        let tiers = self.tiers.filter(|_| outer.members == Members::First && !self.is_over(summary.flags))?;
        let start = summary.earliest[1];
        (start < outer.end).then(|| tiers.second_window(start, outer.end))
    }

    /// Whether it ends because of what partitions have come to.
    fn is_over(&self, flags: Flags) -> bool {
        !self.outlasts_work && (flags.stopped || flags.finished)
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
        let summary = |now| {
            let departures = Departures::NONE.and(now, 0);
            Summary { earliest: [now; 2], unfinished: now, departures, reached: Time::ZERO, flags }
        };
        let begin = summary(now);
        let stretch =
            Stretch { now, begin, bound, windows: 256, lookahead: second, tiers: None, outlasts_work: false };
        let mut ends = Vec::new();
        let covered = stretch.simulate(|window| {
            ends.push(window.end);
            assert!(window.first_arrivals[0] >= bound, "what is sent still takes the lookahead");
            Some(summary(window.end))
        });
        assert_eq!(covered.map(|covered| covered.windows), Some(256));
        assert!(ends.iter().zip(1..).all(|(&end, count)| end == Time::from_ps(count * LONGEST.as_ps())));
    }
}
