//! The simulation: partitions that advance in windows.
//!
//! ```text
//!          window              window         (idle: skipped)      window
//! node 0  |--#--##-------->|  |---#-------->|                    |-------->|
//! node 1  |-------##--#--->|  |-----#------>|                    |--#----->|
//!                           ^                ^                              ^
//!                       deliveries       deliveries                    deliveries
//! ```
//!
//! What a partition sends arrives at least the *lookahead* later: the smallest
//! latency of the fabric between them. So in a window that ends one lookahead after the
//! earliest instant at which anything may leave any partition, none can affect another,
//! and each may be simulated without regard to the others: one after the other, in any
//! order, or on several threads. At the window's end the envelopes of all outboxes are delivered, and
//! each partition's queue puts them in the order of (arrival, source, sequence).
//! This is the classical conservative synchronisation (Chandy, Misra; "bounded
//! lag"), and it is why neither the number of threads nor where windows begin
//! can change a result. How windows follow from what partitions foresee is told in
//! `window.rs`.
//!
//! Partitions that hear from each other only through others may be told apart as two
//! [`Tiers`], so that the windows of those that work are longer.
//!
//! A partition that is alone hears from no other. Its windows are as long as the
//! observer may wait, and what it sends to itself goes into its own queue.
//!
//! Idle stretches cost nothing; partitions from which nothing leaves before the end of a
//! window are not called in it. Windows are tens of nanoseconds of simulated
//! time, so the loop allocates nothing once its buffers have grown.
//!
//! A thread takes its partitions from the first to the last in one window and from
//! the last to the first in the next. Those of them that are due in both are then in the
//! host's caches still, where always the same order finds none on a large machine.

mod control;
mod group;
mod limits;
mod parallel;
mod tiers;
mod watch;
mod window;

use std::sync::Mutex;

pub use control::Observer;
pub use limits::{Ending, Limits, Stall};
pub use tiers::Tiers;

use crate::archive::{Archive, Archived, Damage};
use crate::partition::Partition;
use crate::time::{Duration, Time};
use control::{Control, first_stop, total_progress};
use group::{Group, Slot};

/// How many host threads a run has. They never change a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// At most this many, as far as the host has processors, there are partitions,
    /// and they are faster than one.
    UpTo(usize),
    /// This many, but no more than partitions, whatever that costs.
    Exactly(usize),
}

/// The partitions, and the mail between them.
pub struct Simulation<P: Partition> {
    slots: Vec<Mutex<Slot<P>>>,
    control: Control,
    threads: Threads,
}

impl<P: Partition> Simulation<P> {
    /// A simulation of these partitions on one thread, which hear from each other
    /// after `lookahead` at the earliest. A partition is addressed by its index.
    ///
    /// Without a lookahead windows are single instants, on one thread.
    pub fn new(partitions: Vec<P>, lookahead: Duration) -> Self {
        let control = Control::new(lookahead, total_progress(partitions.iter()));
        let slot = |(index, partition)| Mutex::new(Slot::new(index, partition));
        let slots = partitions.into_iter().enumerate().map(slot).collect();
        Simulation { slots, control, threads: Threads::UpTo(1) }
    }

    /// The same with partitions in two tiers, whose windows may be longer; as without
    /// if all are of one.
    pub fn with_tiers(mut self, tiers: Tiers) -> Self {
        self.control.tiers = Some(tiers).filter(|tiers| tiers.first < self.slots.len());
        self
    }

    /// How many partitions are of the first tier.
    fn first_tier(&self) -> usize {
        self.control.tiers.map_or(self.slots.len(), |tiers| tiers.first)
    }

    /// The same on several host threads.
    pub fn with_threads(self, threads: Threads) -> Self {
        Simulation { threads, ..self }
    }

    /// Runs until there is a reason to end. After a time limit or an
    /// interruption, a further call goes on. `observer` is called with the
    /// current time and the partitions every few windows: to show progress,
    /// to take out what they have written, to interrupt. Then everything before
    /// the current time has happened, and no mail is under way.
    ///
    /// # Panics
    /// If a partition panics, on whatever thread.
    pub fn run(&mut self, limits: &Limits, observer: &mut Observer<'_, P>) -> Ending {
        let count = self.thread_count();
        if count == 1 {
            return self.run_alone(limits, observer);
        }
        let first_tier = self.first_tier();
        let Simulation { slots, control, threads } = self;
        let mut all = Group::new(0, first_tier);
        all.take_all(slots);
        parallel::with_team((slots, first_tier), (*threads, count), |engine| {
            control.run(&mut all, limits, engine, observer)
        })
    }

    /// The same on this thread alone: for a run too short to pay for starting others.
    pub fn run_alone(&mut self, limits: &Limits, observer: &mut Observer<'_, P>) -> Ending {
        let first_tier = self.first_tier();
        let Simulation { slots, control, threads: _ } = self;
        let mut all = Group::new(0, first_tier);
        all.take_all(slots);
        let ending =
            control.run(&mut all, limits, &mut |all, stretch| all.simulate_stretch(stretch), observer);
        ending.expect("this thread has not panicked")
    }

    /// How many host threads a run uses at most.
    pub fn thread_count(&self) -> usize {
        parallel::thread_count(self.threads, self.slots.len(), self.control.lookahead)
    }

    /// Everything before this instant has happened.
    pub fn now(&self) -> Time {
        self.control.now
    }

    /// How many windows there were, on whatever threads.
    pub fn windows(&self) -> u64 {
        self.control.windows
    }

    /// The first partition that has stopped, as what a run ends that may go no further.
    pub fn stopped(&mut self) -> Option<Ending> {
        let first = first_stop(self.partitions());
        first.map(|(partition, at)| Ending::Stopped { partition, at })
    }

    /// The partitions, to read their statistics.
    pub fn partitions(&mut self) -> impl Iterator<Item = &P> {
        self.slots.iter_mut().map(|slot| &slot.get_mut().expect("no thread has panicked").partition)
    }

    /// The same, to change them where everything before [`Simulation::now`] has
    /// happened and no mail is under way.
    pub fn partitions_mut(&mut self) -> impl Iterator<Item = &mut P> {
        self.slots.iter_mut().map(|slot| &mut slot.get_mut().expect("no thread has panicked").partition)
    }

    /// Lets a run that had [no progress](Ending::NoProgress), and gets somewhere all the same, go on:
    /// the time without progress is counted from here, and up to its next progress it may be twice
    /// as long as before, up to 16 times the patience.
    pub fn be_patient(&mut self) {
        self.control.be_patient();
    }

    /// The partitions, once the run is over.
    pub fn into_partitions(self) -> Vec<P> {
        let slots = self.slots.into_iter();
        slots.map(|slot| slot.into_inner().expect("no thread has panicked").partition).collect()
    }
}

/// Where it rests between two calls of [`Simulation::run`]: no mail is under way.
impl<P: Partition + Archived> Archived for Simulation<P> {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Simulation { slots, control, threads: _ } = self;
        control.archive(archive)?;
        let now = control.now;
        let partition = |slot: &mut Mutex<Slot<P>>| {
            slot.get_mut().expect("no thread has panicked").partition.expect_inspection(now);
        };
        slots.iter_mut().for_each(partition);
        archive.each(slots.iter_mut().map(|slot| slot.get_mut().expect("no thread has panicked")))?;
        let is_up_to_date = |partition: &P| partition.next_time().is_none_or(|next| next >= now);
        archive.ensure(self.partitions().all(is_up_to_date), "a node has still to do what is long over")
    }
}

#[cfg(test)]
mod tests;
