//! What happens between stretches of windows, when all partitions are at rest:
//! whether the run is over is decided, and the observer looks.
//!
//! Nothing here depends on where windows end. A run whose partitions have all
//! finished goes on for one lookahead after the last of them did, so that what
//! is still under way arrives or does not for a reason that is part of the
//! model; the watch over progress looks at instants that follow from the
//! patience.
//!
//! **When a partition stops**, the others are each as far as windows have let them go, which differs
//! with the number of threads, and nothing undoes what they have done. So the run goes on until all
//! have come to an instant that none can have passed, and rests there; a partition that is
//! alone rests where it has stopped:
//!
//! ```text
//!   partition 0   |--------X ·  ·  ·  ·  ·  ·  ·  ·|   it stops
//!   partition 1   |-------------->·  ·  ·  ·  ·  · |   the end of its window
//!   partition 2   |-->  ·  ·  ·  ·  ·  ·  ·  ·  ·  |   it has stayed behind
//!                          |<----- FURTHEST ------>|
//! ```

use std::ops::ControlFlow;

use super::group::Group;
use super::tiers::Tiers;
use super::watch::Watch;
use super::window::{Covered, FURTHEST, INSTANT, Stretch};
use super::{Ending, Limits, Stall};
use crate::archive::{Archive, Archived, Damage};
use crate::partition::{Partition, Status};
use crate::time::{Duration, Time};

/// Sees all partitions, now and then: to show progress, to take out what they
/// have written, to interrupt.
pub type Observer<'a, P> = dyn FnMut(Time, &mut [&mut P]) -> ControlFlow<()> + 'a;

/// Simulates a stretch; `None` if a thread has panicked.
pub(super) type Engine<'a, 'slots, P> = dyn FnMut(&mut Group<'slots, P>, &Stretch) -> Option<Covered> + 'a;

/// How far a run is.
#[derive(Debug)]
pub(super) struct Control {
    pub lookahead: Duration,
    pub tiers: Option<Tiers>,
    /// Everything before has happened.
    pub now: Time,
    pub windows: u64,
    watch: Watch,
}

impl Archived for Control {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        // Where windows end depends on when it is looked at.
        let Control { lookahead: _, tiers: _, now, windows: _, watch } = self;
        archive.value(now)?;
        archive.value(watch)
    }
}

/// A run is over at this instant, as this.
#[derive(Clone, Copy)]
struct End {
    at: Time,
    ending: Ending,
}

impl End {
    fn is_stop(&self) -> bool {
        matches!(self.ending, Ending::Stopped { .. })
    }
}

impl Control {
    /// A run at time zero.
    pub fn new(lookahead: Duration, progress: u64) -> Self {
        Control { lookahead, tiers: None, now: Time::ZERO, windows: 0, watch: Watch::new(progress) }
    }

    /// Runs until there is a reason to end; `None` if a thread has panicked.
    pub fn run<'slots, P: Partition>(
        &mut self,
        all: &mut Group<'slots, P>,
        limits: &Limits,
        engine: &mut Engine<'_, 'slots, P>,
        observer: &mut Observer<'_, P>,
    ) -> Option<Ending> {
        let windows_per_observation = u64::from(limits.windows_per_observation.max(1));
        let mut until_observation = windows_per_observation;
        loop {
            all.refresh();
            let end = self.foreseen_end(all);
            if let Some(ending) = self.ending(all, limits, end) {
                return Some(ending);
            }
            let stretch = self.stretch(all, limits, end, until_observation.max(1));
            let covered = engine(all, &stretch)?;
            if let Some(stall) = self.cover(covered) {
                return Some(Ending::NoProgress(stall));
            }
            until_observation = until_observation.saturating_sub(covered.windows);
            if until_observation == 0 && self.is_between_instants(all) {
                until_observation = windows_per_observation;
                if observe(self.now, all, observer).is_break() {
                    return Some(Ending::Interrupted);
                }
            }
        }
    }

    /// Whether everything before now has happened: without a lookahead, messages
    /// that were sent last may arrive at the instant that was simulated last.
    fn is_between_instants<P: Partition>(&self, all: &mut Group<'_, P>) -> bool {
        all.refresh();
        all.earliest() >= self.now
    }

    /// When the run is over because of what partitions have come to, and as what.
    fn foreseen_end<P: Partition>(&self, all: &Group<'_, P>) -> Option<End> {
        if let Some((partition, at)) = first_stop(all.members()) {
            let end = if all.is_alone() { Time::ZERO } else { at.saturating_add(FURTHEST) };
            return Some(End { at: end, ending: Ending::Stopped { partition, at } });
        }
        let at = last_finish(all.members())?.saturating_add(self.lookahead.max(INSTANT));
        Some(End { at, ending: Ending::AllFinished })
    }

    /// Why the run is over, if it is.
    fn ending<P: Partition>(
        &mut self,
        all: &Group<'_, P>,
        limits: &Limits,
        end: Option<End>,
    ) -> Option<Ending> {
        let earliest = all.earliest();
        if let Some(End { at, ending }) = end.filter(|end| earliest >= end.at && end.at <= limits.until) {
            if at > Time::ZERO {
                // A window may have been meant for longer.
                self.now = at;
            }
            return Some(ending);
        }
        // What waits for a partition that has stopped makes no progress.
        if !end.is_some_and(|end| end.is_stop())
            && let Some(stall) = self.stall(all, limits, earliest)
        {
            return Some(Ending::NoProgress(stall));
        }
        if earliest >= limits.until && limits.until < Time::NEVER {
            self.now = self.now.max(limits.until);
            return Some(Ending::TimeLimit);
        }
        (earliest == Time::NEVER).then_some(Ending::NoProgress(Stall::Deadlock))
    }

    /// Looks for progress as often as it is due. What is not due yet lets time pass.
    fn stall<P: Partition>(&mut self, all: &Group<'_, P>, limits: &Limits, earliest: Time) -> Option<Stall> {
        loop {
            let due = self.watch.due(limits.patience);
            if self.now < due && (earliest.min(limits.until) < due || due == Time::NEVER) {
                return None;
            }
            self.now = self.now.max(due);
            let awaited = all.members().filter_map(|partition| partition.awaits(self.now)).min();
            let progress = || total_progress(all.members());
            if let Some(stall) = self.watch.look(due, (awaited, self.lookahead), progress) {
                return Some(if earliest == Time::NEVER { Stall::Deadlock } else { stall });
            }
        }
    }

    /// The time without progress is counted from here, and may be longer.
    pub fn be_patient(&mut self) {
        self.watch.begin_anew(self.now);
    }

    /// From now on until partitions have to be inspected.
    fn stretch<P: Partition>(
        &self,
        all: &Group<'_, P>,
        limits: &Limits,
        end: Option<End>,
        windows: u64,
    ) -> Stretch {
        let watched_until = match end {
            Some(end) if end.is_stop() => Time::NEVER,
            _ => self.watch.due(limits.patience),
        };
        let bound = watched_until.min(limits.until);
        Stretch {
            now: self.now,
            begin: all.summary(),
            bound: end.map_or(bound, |end| end.at.min(bound)),
            windows,
            lookahead: if all.is_alone() { Duration::MAX } else { self.lookahead },
            tiers: self.tiers,
            outlasts_work: end.is_some(),
        }
    }

    fn cover(&mut self, covered: Covered) -> Option<Stall> {
        let moved = covered.now > self.now;
        self.now = covered.now;
        self.windows += covered.windows;
        self.watch.count(covered.windows, moved, self.now)
    }
}

fn observe<P: Partition>(
    now: Time,
    all: &mut Group<'_, P>,
    observer: &mut Observer<'_, P>,
) -> ControlFlow<()> {
    let mut partitions: Vec<&mut P> = all.slots().map(|slot| &mut slot.partition).collect();
    observer(now, &mut partitions)
}

/// All progress, to be compared with what it was.
pub(super) fn total_progress<'a, P: Partition + 'a>(partitions: impl Iterator<Item = &'a P>) -> u64 {
    partitions.fold(0, |total, partition| total.wrapping_add(partition.progress()))
}

/// The first partition that stopped, and when.
pub(super) fn first_stop<'a, P: Partition + 'a>(
    partitions: impl Iterator<Item = &'a P>,
) -> Option<(usize, Time)> {
    let stops = partitions.enumerate().filter_map(|(partition, own)| match own.status() {
        Status::Stopped { at } => Some((partition, at)),
        Status::Running | Status::Finished { .. } => None,
    });
    stops.min_by_key(|&(partition, at)| (at, partition))
}

/// When the last of the partitions has finished, if all have.
fn last_finish<'a, P: Partition + 'a>(mut partitions: impl Iterator<Item = &'a P>) -> Option<Time> {
    partitions.try_fold(Time::ZERO, |last, own| match own.status() {
        Status::Finished { at } => Some(last.max(at)),
        Status::Running | Status::Stopped { .. } => None,
    })
}
