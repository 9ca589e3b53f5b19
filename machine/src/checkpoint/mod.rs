//! Checkpoints: a run that is killed goes on from the last one.
//!
//! ```text
//!   run ────┬─────────┬─────────┬──── X killed
//!           ▼         ▼         ▼
//!         FILE      FILE      FILE ─────┐ resume
//!                                       └──────────┬─────────┬── the same result
//! ```
//!
//! All nodes rest at the end of a window, and the whole state is their
//! [archive](narthex_kernel::archive), nothing that is computed anew
//! approximately. So it does not matter to a result where checkpoints were made,
//! how often a run was resumed, or on how many threads each part of it ran.
//!
//! [`file`](mod@file) is the file, [`identity`] what a run must have in common with the
//! one that wrote it; here is when one is written and when it is read. What
//! becomes of a state that no run was ever in is told in [`contradiction`].

pub mod contradiction;
pub mod file;
pub mod identity;
pub mod warm;

use std::io;
use std::time::{Duration as HostDuration, Instant};

use narthex_kernel::{Archive, Archived, Duration};

use crate::request::{CheckpointRequest, Failure};
use file::{EXACT, Problem};
use identity::Identity;

/// A shorter interval would spend the host's time on nothing else.
const SHORTEST_INTERVAL: Duration = Duration::from_ns(100_000_000);

/// The host's time between two checkpoints.
fn interval(text: &str) -> Result<HostDuration, Failure> {
    let every: Duration =
        text.parse().map_err(|error| Failure::usage(format!("the time between checkpoints: {error}")))?;
    if every < SHORTEST_INTERVAL {
        return Err(Failure::usage(format!(
            "a checkpoint every {text} is too often; expected at least {SHORTEST_INTERVAL} of host time"
        )));
    }
    Ok(HostDuration::from_nanos(every.as_ps() / 1_000))
}

/// What looks after the checkpoints of one run.
pub struct Keeper {
    request: CheckpointRequest,
    identity: Identity,
    every: Option<HostDuration>,
    last: Instant,
    written: u64,
}

impl Keeper {
    /// For a run with this identity.
    ///
    /// # Errors
    /// If the interval is too short, the file cannot be written, or it would
    /// replace a checkpoint that the run does not resume.
    pub fn new(request: &CheckpointRequest, identity: Identity) -> Result<Self, Failure> {
        let keeper = Keeper {
            every: request.every.as_deref().map(interval).transpose()?,
            request: request.clone(),
            identity,
            last: Instant::now(),
            written: 0,
        };
        let name = keeper.name();
        file::check_place(&request.file)
            .map_err(|error| Failure::usage(format!("{name} cannot be written: {error}")))?;
        if !request.resume && request.file.exists() {
            return Err(Failure::usage(format!(
                "{name} is there already: resume it (--resume), or delete it to start at the beginning"
            )));
        }
        Ok(keeper)
    }

    /// The file, as messages call it.
    fn name(&self) -> String {
        format!("the checkpoint '{}'", self.request.file.display())
    }

    /// Fills in a state that was built anew, if the run resumes a checkpoint;
    /// says what it did.
    ///
    /// # Errors
    /// If the checkpoint is damaged or of another run.
    pub fn resume(&self, state: &mut impl Archived) -> Result<Option<String>, Failure> {
        if !self.request.resume {
            return Ok(None);
        }
        let name = self.name();
        let restored =
            file::read(&self.request.file, &EXACT, |saved: &Identity| saved.difference(&self.identity))
                .and_then(|(_, bytes)| Archive::restore(&bytes, state).map_err(Problem::from));
        match restored {
            Ok(()) => Ok(Some(format!("goes on from {name}"))),
            Err(Problem::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Some(format!("{name} is not there: starts at the beginning")))
            }
            Err(problem) => Err(Failure::usage(format!("{name} cannot be resumed: {problem}"))),
        }
    }

    /// Whether it is time for another checkpoint.
    pub fn is_due(&self) -> bool {
        self.every.is_some_and(|every| self.last.elapsed() >= every)
    }

    /// Replaces the checkpoint by one of this state; says what went wrong, if
    /// anything. The former one is then still there, and the run can go on.
    pub fn save(&mut self, state: &mut impl Archived) -> Option<String> {
        let result = file::write(&self.request.file, &EXACT, &self.identity, state);
        // The interval begins anew, so that a slow disk does not get all the time.
        self.last = Instant::now();
        match result {
            Ok(()) => {
                self.written += 1;
                None
            }
            Err(error) => Some(format!("{} cannot be written: {error}", self.name())),
        }
    }

    /// How to go on from the checkpoint of a run that is interrupted.
    pub fn remedy(&self) -> String {
        format!("{} is of this instant: go on from it with --resume", self.name())
    }

    /// How many checkpoints were written.
    pub fn written(&self) -> u64 {
        self.written
    }
}
