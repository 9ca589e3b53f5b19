//! A link: what it takes to send over it, and the sender's end of one.
//!
//! ```text
//!   sender ── parcel: latency, then its bytes one width a cycle ──► buffer, a lane each
//!          ◄─ credit: latency, when a parcel has left the buffer ──
//! ```
//!
//! A sender begins a parcel only when the whole of it fits into the buffer of its
//! lane at the other end: it counts the room there as credits.

use narthex_kernel::{Bytes, Clock, Duration, Frequency, Time, statistics};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::parcel::Parcel;

/// The links of a network, which are all alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Bytes that a link carries in one cycle.
    pub width: Bytes,
    /// The clock of the links: its product with the width is their bandwidth.
    pub clock: Frequency,
    /// Time from a link's one end to the other.
    pub latency: Duration,
    /// Lanes of a link, each with a buffer of its own behind it; the priorities share them evenly.
    #[schemars(range(min = 1, max = 64))]
    pub lanes: u32,
}

/// How long things take on a link and behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    width_bytes: u64,
    clock: Clock,
    latency: Duration,
    /// From the arrival of a parcel's head at a switch to the instant at which it may leave.
    delay: Duration,
    /// A switch takes a parcel in as a whole before it passes it on.
    stores: bool,
}

/// How long it takes at least until mail arrives at the other end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hops {
    /// From a node to its switch.
    pub to_switch: Duration,
    /// From one switch to the next.
    pub between_switches: Duration,
    /// From a switch to a node.
    pub to_node: Duration,
}

impl Timing {
    /// That of these links, with switches of this delay behind them.
    pub fn new(links: &Config, delay: Duration, stores: bool) -> Self {
        let (width_bytes, clock) = (links.width.as_u64().max(1), links.clock.clock());
        Timing { width_bytes, clock, latency: links.latency, delay, stores }
    }

    /// The time that a link is busy with this many bytes.
    #[inline]
    pub fn serialization(&self, bytes: u32) -> Duration {
        self.clock.cycles(u64::from(bytes).div_ceil(self.width_bytes))
    }

    /// When a parcel that starts now may leave the switch behind the link.
    #[inline]
    pub fn at_switch(&self, start: Time, serialization: Duration) -> Time {
        let stored = if self.stores { serialization } else { Duration::ZERO };
        start + self.latency + stored + self.delay
    }

    /// When a parcel that starts now has arrived as a whole at the node behind the link.
    #[inline]
    pub fn at_node(&self, start: Time, serialization: Duration) -> Time {
        start + self.latency + serialization
    }

    /// When a sender knows that a parcel has left the buffer behind its link: credits
    /// take the link's latency and the delay of the switch that counts them.
    #[inline]
    pub fn credited(&self, left: Time) -> Time {
        left + self.latency + self.delay
    }

    /// Nothing crosses a link sooner: the lookahead between its ends, if no parcel is
    /// smaller than `smallest` bytes.
    pub fn lookahead(&self, smallest: u32) -> Duration {
        self.latency + self.delay.min(self.serialization(smallest))
    }

    /// The same for each kind of link.
    pub fn hops(&self, smallest: u32) -> Hops {
        let serialization = self.serialization(smallest);
        let to_switch = self.at_switch(Time::ZERO, serialization) - Time::ZERO;
        // A credit for a parcel is sent when the parcel begins to leave.
        let credit = self.credited(Time::ZERO) - Time::ZERO;
        Hops {
            to_switch: to_switch.min(credit),
            between_switches: to_switch.min(serialization + credit),
            to_node: self.latency + serialization,
        }
    }

    /// What a parcel takes that meets no other: from the hand-over of its last byte to
    /// the arrival of its last byte, through this many switches.
    pub fn zero_load(&self, switches: u32, bytes: u32) -> Duration {
        let serialization = self.serialization(bytes);
        let hops = u64::from(switches);
        let stored = if self.stores { serialization * hops } else { Duration::ZERO };
        self.latency * (hops + 1) + self.delay * hops + stored + serialization
    }
}

statistics! {
    /// What a link carried.
    pub struct Statistics {
        parcels: Counter, "parcels", "parcels", "parcels that the link carried";
        bytes: Counter, "bytes", "bytes", "bytes that the link carried";
        busy: TimeTotal, "busy", "ps", "time during which the link was busy";
        waited: TimeTotal, "waited", "ps", "time that parcels waited for the link, or for room behind it";
    }
}

/// The sender's end of a link.
#[derive(Debug, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Sender {
    free_at: Time,
    /// Bytes of room behind the link, by lane.
    credits: Vec<u32>,
    /// What it carried.
    pub statistics: Statistics,
}

narthex_kernel::checked_when_read!(Sender);

impl Sender {
    /// A link with empty buffers of this many bytes behind it.
    pub fn new(lanes: u8, buffer_bytes: u32) -> Self {
        Sender {
            free_at: Time::ZERO,
            credits: vec![buffer_bytes; lanes.into()],
            statistics: Statistics::default(),
        }
    }

    fn is_sound(&self) -> bool {
        !self.credits.is_empty()
    }

    /// How many lanes it has.
    pub fn lanes(&self) -> usize {
        self.credits.len()
    }

    /// When it is free, or was.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// Whether a parcel fits into the buffer behind it.
    #[inline]
    pub fn has_room(&self, lane: u8, bytes: u32) -> bool {
        self.credits[usize::from(lane)] >= bytes
    }

    /// There is room again.
    #[inline]
    pub fn credit(&mut self, lane: u8, bytes: u32) {
        self.credits[usize::from(lane)] += bytes;
    }

    /// Begins a parcel that goes into this lane, and says how long the link is busy.
    #[inline]
    pub fn start<C>(&mut self, now: Time, timing: &Timing, parcel: &Parcel<C>, waited: Duration) -> Duration {
        let serialization = timing.serialization(parcel.bytes);
        self.credits[usize::from(parcel.lane)] -= parcel.bytes;
        self.free_at = now + serialization;
        self.statistics.parcels.increment();
        self.statistics.bytes.add(u64::from(parcel.bytes));
        self.statistics.busy.add(serialization);
        self.statistics.waited.add(waited);
        serialization
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(stores: bool) -> Timing {
        let links = Config {
            width: Bytes::new(4),
            clock: "250MHz".parse().expect("a frequency"),
            latency: Duration::from_ns(20),
            lanes: 1,
        };
        Timing::new(&links, Duration::from_ns(30), stores)
    }

    #[test]
    fn a_link_carries_whole_widths_and_a_parcel_cuts_through_or_is_stored() {
        let (through, stored) = (timing(false), timing(true));
        let serialization = through.serialization(18);
        assert_eq!(serialization, Duration::from_ns(20), "five cycles of 4 ns");
        let start = Time::from_ps(1_000);
        assert_eq!(through.at_switch(start, serialization), Time::from_ps(51_000));
        assert_eq!(stored.at_switch(start, serialization), Time::from_ps(71_000));
        assert_eq!(through.at_node(start, serialization), Time::from_ps(41_000));
    }

    #[test]
    fn without_load_each_switch_adds_its_delay_and_a_link() {
        assert_eq!(timing(false).zero_load(3, 18), Duration::from_ns(4 * 20 + 3 * 30 + 20));
        assert_eq!(timing(true).zero_load(3, 18), Duration::from_ns(4 * 20 + 3 * 30 + 4 * 20));
    }

    #[test]
    fn the_lookahead_is_a_latency_and_what_is_shorter_of_a_delay_and_a_parcel() {
        assert_eq!(timing(false).lookahead(8), Duration::from_ns(28));
        assert_eq!(timing(false).lookahead(400), Duration::from_ns(50));
    }
}
