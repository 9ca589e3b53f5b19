//! The node's packets that are not acknowledged, and how often each has come back by now.
//!
//! A node that refuses a packet may keep it instead of returning it (`refused.rs`), and its
//! sender hears of nothing but the acknowledgement. All the same it knows when a packet that is
//! not acknowledged has come back and was sent again, for nothing else could have happened:
//!
//! ```text
//!   sent ──► + 2 latencies: it is back ──► + retry_delay: it is sent again ──► ...
//! ```

use narthex_kernel::{Duration, Time};
use serde::{Deserialize, Serialize};

/// How often packets have come back and been sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryCount {
    /// They came back.
    pub returned: u64,
    /// They were sent again.
    pub retried: u64,
}

/// How long the ways of a packet take that is refused.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetryPath {
    /// From one node to another.
    pub latency: Duration,
    /// From its return to the next attempt.
    pub retry_delay: Duration,
}

impl RetryPath {
    /// From one attempt to the next.
    pub fn period(&self) -> Duration {
        self.there_and_back() + self.retry_delay
    }

    pub fn there_and_back(&self) -> Duration {
        self.latency + self.latency
    }

    /// Of a packet that was sent at `sent` and is not acknowledged: up to `now`, inclusive.
    fn rounds(&self, sent: Time, now: Time) -> RetryCount {
        let (elapsed, period) = (now.saturating_since(sent).as_ps(), self.period().as_ps());
        let returned = match elapsed.checked_sub(self.there_and_back().as_ps()) {
            Some(since_first) => since_first / period + 1,
            None => 0,
        };
        RetryCount { returned, retried: elapsed / period }
    }

    /// Of a packet that was sent at `sent` and whose acknowledgement is there at `now`.
    fn rounds_until_accepted(&self, sent: Time, now: Time) -> RetryCount {
        let attempts = (now.saturating_since(sent) - self.there_and_back()).as_ps() / self.period().as_ps();
        RetryCount { returned: attempts, retried: attempts }
    }
}

/// A packet that a frame has carried off.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sent {
    sequence: u64,
    at: Time,
    /// What of its rounds has been counted.
    counted: RetryCount,
}

impl Sent {
    /// What of these rounds has not been counted; it is from now on.
    fn count(&mut self, rounds: RetryCount) -> RetryCount {
        let RetryCount { returned, retried } = std::mem::replace(&mut self.counted, rounds);
        RetryCount { returned: rounds.returned - returned, retried: rounds.retried - retried }
    }
}

/// The packets of a node that are under way.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct UnderWay(Vec<Sent>);

impl UnderWay {
    /// A frame carries a packet off.
    pub fn send(&mut self, sequence: u64, at: Time) {
        self.0.push(Sent { sequence, at, counted: RetryCount::default() });
    }

    /// A packet is back, in a frame: it is not under way any more.
    pub fn came_back(&mut self, sequence: u64) {
        self.0.retain(|packet| packet.sequence != sequence);
    }

    /// A packet is acknowledged: what of its rounds has not been counted.
    pub fn acknowledged(&mut self, sequence: u64, now: Time, ways: &RetryPath) -> RetryCount {
        let Some(place) = self.0.iter().position(|packet| packet.sequence == sequence) else {
            return RetryCount::default();
        };
        let mut packet = self.0.swap_remove(place);
        let rounds = ways.rounds_until_accepted(packet.at, now);
        packet.count(rounds)
    }

    /// What of a packet's rounds up to `now`, inclusive, has not been counted.
    pub fn count(&mut self, sequence: u64, now: Time, ways: &RetryPath) -> RetryCount {
        let own = self.0.iter_mut().find(|packet| packet.sequence == sequence);
        own.map(|packet| packet.count(ways.rounds(packet.at, now))).unwrap_or_default()
    }

    /// The same of all packets.
    pub fn count_all(&mut self, now: Time, ways: &RetryPath) -> RetryCount {
        self.0.iter_mut().fold(RetryCount::default(), |all, packet| {
            let rounds = packet.count(ways.rounds(packet.at, now));
            RetryCount { returned: all.returned + rounds.returned, retried: all.retried + rounds.retried }
        })
    }
}
