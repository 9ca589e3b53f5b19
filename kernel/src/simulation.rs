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
//! latency of the fabric between them. So in a window no longer than the
//! lookahead no partition can affect another, and each may be simulated without
//! regard to the others: one after the other, in any order, or on several
//! threads. At the window's end the envelopes of all outboxes are delivered, and
//! each partition's queue puts them in the order of (arrival, source, sequence).
//! This is the classical conservative synchronisation (Chandy, Misra; "bounded
//! lag"), and it is why neither the number of threads nor where windows begin
//! can change a result.
//!
//! The next window starts at the earliest instant at which any partition would
//! do something, so idle stretches cost nothing; partitions with nothing to do
//! in a window are not called. Windows are tens of nanoseconds of simulated
//! time, so the loop allocates nothing once its buffers have grown.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::archive::{Archive, Archived, Damage};
use crate::partition::{Envelope, Outbox, Partition, Status};
use crate::time::{Duration, Time};

/// When to end a run that does not end by itself, and how often to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Everything before this instant happens, and nothing after it.
    pub until: Time,
    /// How long partitions may go on without any of them making progress. The
    /// end is noticed between one and two such times after the last progress.
    pub patience: Duration,
    /// Windows between two calls of the observer.
    pub windows_per_observation: u32,
}

impl Default for Limits {
    /// No limits; the observer is called every 256 windows, which is a few
    /// times a second when sixteen processors are busy.
    fn default() -> Self {
        Limits { until: Time::NEVER, patience: Duration::MAX, windows_per_observation: 256 }
    }
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Every partition has done its work.
    AllFinished,
    /// A partition stopped: the first by time, then by index.
    Stopped {
        /// The partition.
        partition: usize,
        /// When it stopped.
        at: Time,
    },
    /// Nothing useful will happen any more.
    NoProgress(Stall),
    /// [`Limits::until`] was reached.
    TimeLimit,
    /// The observer asked to end.
    Interrupted,
}

/// How a run without progress got stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stall {
    /// No partition would ever do anything again, and not all have finished.
    Deadlock,
    /// Partitions are busy, but none of them made progress for [`Limits::patience`].
    Livelock {
        /// No progress was made from then on.
        since: Time,
    },
}

/// The partitions, and the mail between them.
///
/// What belongs to one partition is at its index in each list, so that a
/// window can be divided among threads by dividing the lists.
#[derive(Debug)]
pub struct Simulation<P: Partition> {
    partitions: Vec<P>,
    outboxes: Vec<Outbox<P::Payload>>,
    /// Each partition's `next_time`, or never: one cache line tells who is due.
    next_times: Vec<Time>,
    mail: Vec<Envelope<P::Payload>>,
    lookahead: Duration,
    now: Time,
    windows: u64,
    watch: Watch,
}

/// What the loop remembers to notice that there is no progress.
#[derive(Debug, Serialize, Deserialize)]
struct Watch {
    progress: u64,
    since: Time,
}

impl Watch {
    /// Counts progress only when patience may be at its end, not every window.
    fn stalled<P: Partition>(&mut self, now: Time, patience: Duration, partitions: &[P]) -> Option<Stall> {
        if now.saturating_since(self.since) < patience {
            return None;
        }
        let progress = total_progress(partitions);
        if progress == self.progress {
            return Some(Stall::Livelock { since: self.since });
        }
        (self.progress, self.since) = (progress, now);
        None
    }
}

fn total_progress<P: Partition>(partitions: &[P]) -> u64 {
    partitions.iter().fold(0, |total, partition| total.wrapping_add(partition.progress()))
}

impl<P: Partition> Simulation<P> {
    /// A simulation of these partitions, which hear from each other after
    /// `lookahead` at the earliest. A partition is addressed by its index.
    ///
    /// # Panics
    /// If `lookahead` is zero: then no window would be safe.
    pub fn new(partitions: Vec<P>, lookahead: Duration) -> Self {
        assert!(!lookahead.is_zero(), "partitions need a lookahead above zero");
        let next_times = partitions.iter().map(due).collect();
        let outboxes = (0..partitions.len()).map(Outbox::new).collect();
        let mail = Vec::new();
        let watch = Watch { progress: total_progress(&partitions), since: Time::ZERO };
        Simulation { partitions, outboxes, next_times, mail, lookahead, now: Time::ZERO, windows: 0, watch }
    }

    /// Runs until there is a reason to end. After a time limit or an
    /// interruption, a further call goes on. `observer` is called with the
    /// current time and the partitions every so many windows: to show progress,
    /// to take out what they have written, to interrupt.
    pub fn run(
        &mut self,
        limits: &Limits,
        observer: &mut dyn FnMut(Time, &mut [P]) -> ControlFlow<()>,
    ) -> Ending {
        let mut until_observation = limits.windows_per_observation.max(1);
        if let Some(ending) = self.verdict() {
            return ending;
        }
        loop {
            let Some(start) = self.earliest() else {
                return Ending::NoProgress(Stall::Deadlock);
            };
            if start >= limits.until {
                self.now = self.now.max(limits.until);
                return Ending::TimeLimit;
            }
            let end = start.saturating_add(self.lookahead).min(limits.until);
            if self.window(end)
                && let Some(ending) = self.verdict()
            {
                return ending;
            }
            if let Some(stall) = self.watch.stalled(end, limits.patience, &self.partitions) {
                return Ending::NoProgress(stall);
            }
            until_observation -= 1;
            if until_observation == 0 {
                until_observation = limits.windows_per_observation.max(1);
                if self.observe(observer).is_break() {
                    return Ending::Interrupted;
                }
            }
        }
    }

    /// Calls the observer, who may have changed when partitions act.
    fn observe(&mut self, observer: &mut dyn FnMut(Time, &mut [P]) -> ControlFlow<()>) -> ControlFlow<()> {
        let decision = observer(self.now, &mut self.partitions);
        self.next_times.clear();
        self.next_times.extend(self.partitions.iter().map(due));
        decision
    }

    /// Everything before this instant has happened.
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many windows there were.
    pub fn windows(&self) -> u64 {
        self.windows
    }

    /// The partitions, to read their statistics.
    pub fn partitions(&self) -> &[P] {
        &self.partitions
    }

    /// The partitions, once the run is over.
    pub fn into_partitions(self) -> Vec<P> {
        self.partitions
    }

    /// The earliest instant at which any partition would do something.
    fn earliest(&self) -> Option<Time> {
        let earliest = self.next_times.iter().copied().fold(Time::NEVER, Time::min);
        (earliest < Time::NEVER).then_some(earliest)
    }

    /// Advances whoever has something to do before `end`, then delivers what
    /// was sent. Tells whether a partition is no longer running.
    fn window(&mut self, end: Time) -> bool {
        self.now = end;
        self.windows += 1;
        let mut attention = false;
        for index in 0..self.partitions.len() {
            if self.next_times[index] < end {
                attention |= self.advance(index, end);
            }
        }
        if !self.mail.is_empty() {
            self.deliver();
        }
        attention
    }

    /// Advances one partition and collects what it sent. Tells whether it is
    /// no longer running.
    fn advance(&mut self, index: usize, end: Time) -> bool {
        let (partition, outbox) = (&mut self.partitions[index], &mut self.outboxes[index]);
        outbox.open_window(end);
        partition.advance(end, outbox);
        let next = due(partition);
        let status = partition.status();
        assert!(
            next >= end || matches!(status, Status::Stopped { .. }),
            "partition {index} left work for {next} when it advanced to {end}"
        );
        self.next_times[index] = next;
        outbox.move_to(&mut self.mail);
        status != Status::Running
    }

    /// Delivers the mail, in whatever order it lies.
    fn deliver(&mut self) {
        for envelope in self.mail.drain(..) {
            let (destination, count) = (envelope.destination, self.partitions.len());
            assert!(
                destination < count,
                "partition {} sends to {destination}, but there are only {count}",
                envelope.source
            );
            let partition = &mut self.partitions[destination];
            partition.deliver(envelope);
            self.next_times[destination] = due(partition);
        }
    }

    /// Why the run is over, if it is: the first partition that stopped, or all finished.
    fn verdict(&self) -> Option<Ending> {
        let statuses = || self.partitions.iter().map(Partition::status);
        let stopped = statuses().enumerate().filter_map(|(partition, status)| match status {
            Status::Stopped { at } => Some((at, partition)),
            _ => None,
        });
        if let Some((at, partition)) = stopped.min() {
            return Some(Ending::Stopped { partition, at });
        }
        statuses().all(|status| status == Status::Finished).then_some(Ending::AllFinished)
    }
}

/// Where it rests between two calls of [`Simulation::run`]: no mail is under way.
impl<P: Partition + Archived> Archived for Simulation<P> {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Simulation { partitions, outboxes, next_times, mail, lookahead: _, now, windows, watch } = self;
        assert!(mail.is_empty(), "the simulation is archived between windows");
        archive.value(now)?;
        archive.value(windows)?;
        archive.value(watch)?;
        archive.each(outboxes)?;
        archive.each(partitions)?;
        next_times.clear();
        next_times.extend(partitions.iter().map(due));
        Ok(())
    }
}

/// When a partition would do something by itself, as an instant.
fn due<P: Partition>(partition: &P) -> Time {
    partition.next_time().unwrap_or(Time::NEVER)
}

#[cfg(test)]
mod tests;
