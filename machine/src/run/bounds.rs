//! How far a run may go: in simulated time, and in this computer's.

use std::time::{Duration as HostDuration, Instant};

use narthex_kernel::{Duration, Time};

use crate::request::{Failure, RunRequest};

/// The end of simulated time, some hundred days: no sum of instants and times
/// overflows before it.
pub(super) const LAST: Time = Time::from_ps(u64::MAX / 2);

/// How far a run may go.
pub(super) struct Bounds {
    /// The instant at which it stops.
    pub until: Time,
    /// This computer's time that it may take, and since when.
    timeout: Option<(Duration, Instant)>,
}

impl Bounds {
    /// Those of a request.
    ///
    /// # Errors
    /// If one of them is no time, or none at all.
    pub fn of(request: &RunRequest) -> Result<Self, Failure> {
        let until = positive("until", request.until.as_deref())?;
        let timeout = positive("timeout", request.timeout.as_deref())?;
        Ok(Bounds {
            until: until.map_or(LAST, |until| Time::ZERO.saturating_add(until).min(LAST)),
            timeout: timeout.map(|timeout| (timeout, Instant::now())),
        })
    }

    /// Whether the run has taken all of this computer's time that it may.
    pub fn is_over(&self) -> bool {
        let left = |(timeout, start): (Duration, Instant)| {
            start.elapsed() >= HostDuration::from_nanos(timeout.as_ps() / 1_000)
        };
        self.timeout.is_some_and(left)
    }

    /// Why a run was stopped at the instant `at`, in words.
    pub fn in_words(&self, at: Time, is_late: bool) -> String {
        match self.timeout {
            Some((timeout, _)) if is_late => {
                format!("the run has not ended within {timeout} of this computer's time; stopped at {at}")
            }
            _ if at >= LAST => format!("the run has come to {at}, where simulated time ends"),
            _ => format!("the run has not ended by the simulated time {at}"),
        }
    }
}

fn positive(what: &str, text: Option<&str>) -> Result<Option<Duration>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let time: Duration = text.parse().map_err(|error| Failure::usage(format!("{what}: {error}")))?;
    match time {
        Duration::ZERO => Err(Failure::usage(format!("{what} is {text}; expected a time above 0"))),
        time => Ok(Some(time)),
    }
}
