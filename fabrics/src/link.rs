//! A link: what it takes to send over it, and the sender's end of one.
//!
//! ```text
//!   sender ── parcel: latency, then its bytes one width a cycle ──► buffer, a lane each
//!          ◄─ credit: latency, when a parcel has left the buffer ──
//! ```
//!
//! A sender begins a parcel only when the whole of it fits into the buffer of its
//! lane at the other end: it counts the room there as credits.

use std::collections::BTreeMap;

use narthex_kernel::{Bytes, Clock, Duration, Frequency, Time, statistics};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::parcel::Parcel;

/// The links of a network: all alike, but for kinds that differ.
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
    /// What differs at links of a kind: "node" to the nodes, and what the topology has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<String, Kind>,
}

/// What differs at the links of a kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// Bytes that such a link carries in one cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<Bytes>,
    /// Time from such a link's one end to the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
}

impl Config {
    /// Bytes in a cycle of a kind's links, and their latency.
    pub fn of_kind(&self, kind: &str) -> (Bytes, Duration) {
        let own = self.kinds.get(kind);
        let width = own.and_then(|own| own.width).unwrap_or(self.width);
        (width, own.and_then(|own| own.latency).unwrap_or(self.latency))
    }
}

/// How long things take on the links of each kind; the first is that of nodes.
#[derive(Clone, Debug)]
pub struct Timings(Vec<Timing>);

impl Timings {
    /// Those of these kinds of links, with switches of this delay behind them.
    pub fn new(links: &Config, kinds: &[String], delay: Duration, stores: bool) -> Self {
        Timings(kinds.iter().map(|kind| Timing::of_kind(links, kind, delay, stores)).collect())
    }

    /// That of a kind.
    #[inline]
    pub fn of(&self, kind: u8) -> &Timing {
        &self.0[usize::from(kind)]
    }

    /// That of the links to nodes.
    #[inline]
    pub fn of_nodes(&self) -> &Timing {
        &self.0[0]
    }

    /// The largest of what their links carry in two latencies and delays.
    pub fn round_trip_bytes(&self) -> u64 {
        self.0.iter().map(Timing::round_trip_bytes).max().expect("links to nodes")
    }

    /// Nothing crosses a link sooner, if no parcel is smaller than `smallest` bytes.
    pub fn lookahead(&self, smallest: u32) -> Duration {
        self.0.iter().map(|timing| timing.lookahead(smallest)).min().expect("links to nodes")
    }

    /// The shortest time in which one end of a link hears what the other one tells it at once.
    pub fn told(&self) -> Duration {
        self.0.iter().map(|timing| timing.credited(Time::ZERO) - Time::ZERO).min().expect("links to nodes")
    }

    /// The same for links to switches, between switches and to nodes.
    pub fn hops(&self, smallest: u32) -> Hops {
        let to_nodes = self.of_nodes().hops(smallest);
        let between = self.0[1..].iter().map(|timing| timing.hops(smallest).between_switches).min();
        Hops { between_switches: between.unwrap_or(to_nodes.between_switches), ..to_nodes }
    }
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
    fn of_kind(links: &Config, kind: &str, delay: Duration, stores: bool) -> Self {
        let (width, latency) = links.of_kind(kind);
        Timing { width_bytes: width.as_u64().max(1), clock: links.clock.clock(), latency, delay, stores }
    }

    /// How much later than its head a parcel that came over this link goes on over a faster one, so
    /// that it does not run out of bytes; nothing where it has been stored.
    #[inline]
    pub fn head_start(&self, next: &Timing, bytes: u32) -> Duration {
        if self.stores || self.width_bytes >= next.width_bytes {
            return Duration::ZERO;
        }
        self.serialization(bytes) - next.serialization(bytes)
    }

    /// The time that a link is busy with this many bytes.
    #[inline]
    pub fn serialization(&self, bytes: u32) -> Duration {
        self.clock.cycles(u64::from(bytes).div_ceil(self.width_bytes))
    }

    /// The time in which a crossbar carries them that is this many times as fast.
    #[inline]
    pub fn crossing(&self, bytes: u32, speed_up: u32) -> Duration {
        self.clock.cycles(u64::from(bytes).div_ceil(self.width_bytes * u64::from(speed_up)))
    }

    /// When a parcel whose head is there at `now` has come as a whole.
    #[inline]
    pub fn whole_at(&self, now: Time, bytes: u32) -> Time {
        now + if self.stores { Duration::ZERO } else { self.serialization(bytes) }
    }

    /// Bytes that the link carries in two latencies and delays: until its sender has heard of what
    /// its receiver saw, and what it sent last has come.
    pub fn round_trip_bytes(&self) -> u64 {
        let round_trip = (self.latency + self.delay) * 2;
        round_trip.as_ps().div_ceil(self.clock.cycles(1).as_ps().max(1)) * self.width_bytes
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
    /// Bytes of room behind the link, by lane: what it may use.
    credits: Vec<u32>,
    /// Room becomes less by what it sends.
    counts_room: bool,
    /// What it carried.
    pub statistics: Statistics,
}

narthex_kernel::checked_when_read!(Sender);

impl Sender {
    /// The room that one may use which is told when to stop, until then.
    pub const ANY: u32 = u32::MAX;

    /// A link with empty buffers of this many bytes behind it.
    pub fn new(lanes: u8, buffer_bytes: u32) -> Self {
        Sender {
            free_at: Time::ZERO,
            credits: vec![buffer_bytes; lanes.into()],
            counts_room: true,
            statistics: Statistics::default(),
        }
    }

    /// A link whose sender is told when to stop, if at all.
    pub fn without_credits(lanes: u8) -> Self {
        Sender { counts_room: false, ..Sender::new(lanes, Self::ANY) }
    }

    fn is_sound(&self) -> bool {
        !self.credits.is_empty()
    }

    /// For how long it was busy before `now`; a parcel that it carries then counts up to it.
    pub fn busy_before(&self, now: Time) -> Duration {
        self.statistics.busy.get() - self.free_at.saturating_since(now)
    }

    /// Whether it counts the room behind it.
    pub fn counts_room(&self) -> bool {
        self.counts_room
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

    /// Whether this many bytes fit into the buffer behind it.
    #[inline]
    pub fn has_room(&self, lane: u8, bytes: u32) -> bool {
        self.credits[usize::from(lane)] >= bytes
    }

    /// Whether a parcel fits into it, or its room is kept.
    #[inline]
    pub fn has_room_for<C>(&self, parcel: &Parcel<C>) -> bool {
        self.credits[usize::from(parcel.lane)] >= parcel.bytes || parcel.has_room
    }

    /// Keeps room for a parcel that will go into this lane.
    pub fn keep_room<C>(&mut self, lane: u8, parcel: &mut Parcel<C>) {
        if self.counts_room {
            self.credits[usize::from(lane)] -= parcel.bytes;
        }
        parcel.has_room = true;
    }

    /// The parcel for which room is kept, if it is, begins next.
    pub fn use_kept_room<C>(&mut self, parcel: &Parcel<C>) {
        if self.counts_room && parcel.has_room {
            self.credits[usize::from(parcel.lane)] += parcel.bytes;
        }
    }

    /// Bytes in the buffers behind it, or under way to them, if each holds this many.
    pub fn used_bytes(&self, buffer_bytes: u32) -> u64 {
        self.credits.iter().map(|&room| u64::from(buffer_bytes.saturating_sub(room))).sum()
    }

    /// There is room again; one that counts none may use so much from now on.
    #[inline]
    pub fn credit(&mut self, lane: u8, bytes: u32) {
        let credits = &mut self.credits[usize::from(lane)];
        *credits = if self.counts_room { *credits + bytes } else { bytes };
    }

    /// Begins a parcel that goes into this lane, and says how long the link is busy.
    #[inline(always)]
    pub fn start<C>(&mut self, now: Time, timing: &Timing, parcel: &Parcel<C>, waited: Duration) -> Duration {
        let serialization = timing.serialization(parcel.bytes);
        if self.counts_room {
            self.credits[usize::from(parcel.lane)] -= parcel.bytes;
        }
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
            kinds: BTreeMap::new(),
        };
        Timing::of_kind(&links, "node", Duration::from_ns(30), stores)
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
    fn the_lookahead_is_a_latency_and_what_is_shorter_of_a_delay_and_a_parcel() {
        assert_eq!(timing(false).lookahead(8), Duration::from_ns(28));
        assert_eq!(timing(false).lookahead(400), Duration::from_ns(50));
    }

    #[test]
    fn a_kind_of_links_has_its_own_width_and_latency_and_the_rest_of_the_others() {
        let mut links = Config {
            width: Bytes::new(4),
            clock: "250MHz".parse().expect("a frequency"),
            latency: Duration::from_ns(20),
            lanes: 1,
            kinds: BTreeMap::new(),
        };
        let kind = Kind { width: Some(Bytes::new(16)), latency: None };
        links.kinds.insert("global".into(), kind);
        let kinds = ["node".to_owned(), "global".to_owned()];
        let timings = Timings::new(&links, &kinds, Duration::from_ns(30), false);
        let [slow, fast] = [0, 1].map(|kind| *timings.of(kind));
        assert_eq!(
            (slow.serialization(64), fast.serialization(64)),
            (Duration::from_ns(64), Duration::from_ns(16))
        );
        assert_eq!(slow.head_start(&fast, 64), Duration::from_ns(48));
        assert_eq!(fast.head_start(&slow, 64), Duration::ZERO);
        assert_eq!(timings.lookahead(8), Duration::from_ns(20 + 4));
    }
}
