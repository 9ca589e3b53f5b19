//! The watch over progress: finds runs that are busy and get nowhere.
//!
//! It looks at instants that follow from the patience alone, and everything
//! before such an instant has happened when it looks, nothing after it. So what
//! it finds depends neither on windows nor on threads.

use serde::{Deserialize, Serialize};

use super::Stall;
use crate::time::{Duration, Time};

/// The patience is doubled this often, at most.
const MOST_DOUBLINGS: u32 = 4;
/// Rounds at one instant that are taken for an endless exchange.
const MOST_ROUNDS: u64 = 1 << 20;

/// What is remembered to notice that there is no progress.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Watch {
    progress: u64,
    since: Time,
    /// An idle stretch was waited for, and the watch looks when it is over.
    extended_to: Option<Time>,
    /// How often it has been found since then that the run gets somewhere all the same.
    doublings: u32,
    /// Rounds since time moved on; only without a lookahead there are many.
    rounds: u64,
}

impl Watch {
    /// A watch over partitions that have come so far.
    pub fn new(progress: u64) -> Self {
        Watch { progress, ..Watch::default() }
    }

    /// When it looks next.
    pub fn due(&self, patience: Duration) -> Time {
        let patience = Duration::from_ps(patience.as_ps().saturating_mul(1 << self.doublings));
        self.extended_to.unwrap_or(self.since.saturating_add(patience))
    }

    /// The run gets somewhere without progress: the time without is counted from here, and twice
    /// as much is allowed. To find that out takes host time, and it will go on for some time.
    pub fn begin_anew(&mut self, now: Time) {
        self.doublings = MOST_DOUBLINGS.min(self.doublings + 1);
        (self.since, self.extended_to, self.rounds) = (now, None, 0);
    }

    /// Looks whether there was progress. Partitions that have long had nothing
    /// to do get the time until what they await has happened: a sleeper is not stuck.
    pub fn look(
        &mut self,
        now: Time,
        (awaited, lookahead): (Option<Time>, Duration),
        progress: impl FnOnce() -> u64,
    ) -> Option<Stall> {
        let progress = progress();
        let soon = now.saturating_add(lookahead);
        if progress != self.progress {
            (self.progress, self.since, self.extended_to, self.doublings) = (progress, now, None, 0);
        } else if let (None, Some(awaited)) = (self.extended_to, awaited.filter(|&at| at > soon)) {
            self.extended_to = Some(awaited.saturating_add(lookahead));
        } else {
            return Some(Stall::Livelock { since: self.since });
        }
        None
    }

    /// Counts rounds at one instant; `moved` tells that time has moved on.
    pub fn count(&mut self, rounds: u64, moved: bool, now: Time) -> Option<Stall> {
        self.rounds = if moved { 0 } else { self.rounds + rounds };
        (self.rounds > MOST_ROUNDS).then_some(Stall::Livelock { since: now })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_at_work_is_looked_at_less_often_until_it_has_progress() {
        let patience = Duration::from_ns(10);
        let mut watch = Watch::new(1);
        let mut times = Vec::new();
        for _ in 0..7 {
            let now = watch.due(patience);
            times.push(now.as_ps() / 1_000);
            assert!(watch.look(now, (None, Duration::ZERO), || 1).is_some());
            watch.begin_anew(now);
        }
        assert_eq!(times, [10, 30, 70, 150, 310, 470, 630]);
        let now = watch.due(patience);
        assert_eq!(watch.look(now, (None, Duration::ZERO), || 2), None);
        assert_eq!(watch.due(patience), now + patience);
        assert_eq!(watch.due(Duration::MAX), Time::NEVER);
    }
}
