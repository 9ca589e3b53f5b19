//! When a run ends, and why it did.

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
    /// No limits; the observer is called every 256 windows, which is many
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
    /// No partition would ever do anything again, and not all have finished. With
    /// a patience, that is said when it has passed.
    Deadlock,
    /// Partitions are busy, but none of them made progress for [`Limits::patience`].
    Livelock {
        /// No progress was made from then on.
        since: Time,
    },
}
