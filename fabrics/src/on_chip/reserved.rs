//! When a link is taken, and when the next message may take it.

use narthex_kernel::{Duration, Time};
use serde::{Deserialize, Serialize};

/// A link in a lane: when it is taken.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Reserved {
    /// It is free from here on.
    free_at: Time,
    /// It is free between these, before the message that was sent last.
    gap: (Time, Time),
}

impl Reserved {
    /// From when on it can be taken.
    #[inline]
    pub fn start(&self, at: Time, serialization: Duration) -> Time {
        let within = at.max(self.gap.0);
        if within + serialization <= self.gap.1 { within } else { at.max(self.free_at) }
    }

    /// Takes it for this long, from `at` on at the earliest; from when on.
    #[inline]
    pub fn take(&mut self, at: Time, serialization: Duration) -> Time {
        let start = self.start(at, serialization);
        if start < self.free_at {
            self.gap.0 = start + serialization;
            return start;
        }
        self.gap = (self.free_at, start);
        self.free_at = start + serialization;
        start
    }
}
