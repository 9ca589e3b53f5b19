//! Packets that a node has refused, and whose way back and forth is computed.
//!
//! Under return to sender a packet that finds no buffer travels back, waits, and comes
//! again, until it finds one. In a network in which no frame meets another, nothing of
//! that can come otherwise than foreseen: each way takes the network's latency, and the
//! wait is the flow control's. So the node that has refused a packet keeps it and knows
//! at which instants it comes again:
//!
//! ```text
//!   sender    ────┐ sent      ┌──retry_delay──┐ sent again          latency = the network's
//!                  \         / returned        \                    period = 2 latencies + retry_delay
//!   receiver        └───────┘ refused           └─── first + period
//! ```
//!
//! While the node has no buffer for it, nothing happens. When one becomes free, the next
//! of these *attempts* is an event of the node ([`NetworkPort::attempt`]), in its place
//! among the arrivals of that instant ([`Frame::order`]). The sender notices nothing: it
//! keeps its buffer until the acknowledgement comes, as it would.
//!
//! **Executed again.** Where the run rests (a checkpoint, its end, an observer that comes)
//! packets are put back where they would be ([`Refused::disperse`]): on their way, or
//! waiting at their sender, which counts by itself how often they have come back
//! (`under_way.rs`). So what is archived,
//! explained and counted does not depend on what was computed. A node that is observed,
//! and one whose frames may be lost, executes every attempt.

use narthex_kernel::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::NetworkPort;
use super::under_way::RetryPath;
use crate::flow_control::Arrival;
use crate::packet::{Frame, NodeId, Packet, Placement, Rank};
use crate::parcel::Phase;

/// A place among the arrivals of one instant: the node that the frame comes from, and the
/// frame's order among those of that node.
pub type ArrivalOrder = (NodeId, u64);

/// The next instant at which a refused packet comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Attempt {
    /// When it comes.
    pub at: Time,
    /// Its place among what comes then; it says which packet it is.
    pub place: ArrivalOrder,
}

/// A refused packet where it would be if each attempt were executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoredPacket {
    /// On its way back to its sender.
    Returning {
        /// When it gets there.
        arrival: Time,
        /// The packet.
        packet: Box<Packet>,
    },
    /// Back at its sender.
    Waiting {
        /// Since when.
        since: Time,
        /// The packet.
        packet: Box<Packet>,
    },
    /// On its way to this node.
    Coming {
        /// When it was sent again.
        sent: Time,
        /// When it gets here.
        arrival: Time,
        /// The packet.
        packet: Box<Packet>,
    },
}

/// A packet that was refused first at this instant.
#[derive(Debug)]
pub(super) struct Entry {
    first: Time,
    packet: Box<Packet>,
}

/// The packets that a node has refused.
#[derive(Debug)]
pub(super) struct Refused {
    ways: RetryPath,
    placement: Placement,
    entries: Vec<Entry>,
    /// The attempt for which the node was asked last, until it comes.
    asked: Option<Attempt>,
}

impl Refused {
    /// None yet.
    pub fn new(ways: RetryPath, placement: Placement) -> Self {
        Refused { ways, placement, entries: Vec::new(), asked: None }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// From one attempt to the next.
    fn period(&self) -> Duration {
        self.ways.period()
    }

    /// How many attempts there have been up to `now`, after the first.
    fn attempts(&self, first: Time, now: Time) -> u64 {
        (now - first).as_ps() / self.period().as_ps()
    }

    fn place(&self, entry: &Entry) -> ArrivalOrder {
        (self.placement.node(entry.packet.source), Phase::Retry.order(entry.packet.sequence))
    }

    /// A packet was refused for the first time.
    pub fn keep(&mut self, now: Time, packet: Box<Packet>) {
        self.entries.push(Entry { first: now, packet });
    }

    /// The next attempt of a packet for a process that has a buffer, unless the node was
    /// asked for that already. At the instant `now` what comes up to `handled` has
    /// come; all of it if there is none.
    pub fn ask(
        &mut self,
        now: Time,
        handled: Option<ArrivalOrder>,
        can_enter: impl Fn(Rank) -> bool,
    ) -> Option<Attempt> {
        let enters = self.entries.iter().filter(|entry| can_enter(entry.packet.destination));
        let next = enters.map(|entry| self.next(entry, now, handled)).min()?;
        let is_new = self.asked != Some(next);
        self.asked = Some(next);
        is_new.then_some(next)
    }

    fn next(&self, entry: &Entry, now: Time, handled: Option<ArrivalOrder>) -> Attempt {
        let place = self.place(entry);
        let after = |periods: u64| entry.first + Duration::from_ps(periods * self.period().as_ps());
        let attempts = self.attempts(entry.first, now);
        let is_to_come = attempts > 0 && handled.is_some_and(|handled| handled < place);
        let latest = Attempt { at: after(attempts), place };
        if latest.at == now && is_to_come { latest } else { Attempt { at: after(attempts + 1), place } }
    }

    /// Takes the packet of an attempt; none if it has got a buffer since the node was asked.
    pub fn take(&mut self, attempt: Attempt) -> Option<Entry> {
        if self.asked == Some(attempt) {
            self.asked = None;
        }
        let found = self.entries.iter().position(|entry| self.place(entry) == attempt.place)?;
        Some(self.entries.swap_remove(found))
    }

    /// The earliest instant from `now` on at which one of them would come anywhere, or be
    /// sent.
    pub fn awaits(&self, now: Time) -> Option<Time> {
        let period = self.period().as_ps();
        let RetryPath { latency, retry_delay } = self.ways;
        let stops = [Duration::ZERO, latency, latency + retry_delay];
        let next = |entry: &Entry, stop: Duration| {
            let first = entry.first + stop;
            let periods = now.saturating_since(first).as_ps().div_ceil(period);
            first + Duration::from_ps(periods * period)
        };
        self.entries.iter().flat_map(|entry| stops.map(|stop| next(entry, stop))).min()
    }

    /// Everything before `now` has happened: takes all packets out, each where it would be
    /// then.
    pub fn disperse(&mut self, now: Time) -> Vec<RestoredPacket> {
        self.asked = None;
        let entries = std::mem::take(&mut self.entries);
        entries.into_iter().map(|entry| self.disperse_one(entry, now)).collect()
    }

    fn disperse_one(&self, Entry { first, packet }: Entry, now: Time) -> RestoredPacket {
        // The last attempt before now.
        let attempts = (now - first).as_ps().saturating_sub(1) / self.period().as_ps();
        let refused = first + Duration::from_ps(attempts * self.period().as_ps());
        let returned = refused + self.ways.latency;
        let sent = returned + self.ways.retry_delay;
        if returned >= now {
            RestoredPacket::Returning { arrival: returned, packet }
        } else if sent < now {
            RestoredPacket::Coming { sent, arrival: sent + self.ways.latency, packet }
        } else {
            RestoredPacket::Waiting { since: returned, packet }
        }
    }
}

impl RestoredPacket {
    /// The packet.
    pub fn packet(&self) -> &Packet {
        match self {
            RestoredPacket::Returning { packet, .. }
            | RestoredPacket::Waiting { packet, .. }
            | RestoredPacket::Coming { packet, .. } => packet,
        }
    }

    /// Its place among the frames from the same node that arrive with it.
    pub fn order(&self) -> u64 {
        match self {
            // Behind all others: what comes back changes nothing at this instant.
            RestoredPacket::Returning { packet, .. } => 3 << 38 | packet.sequence,
            RestoredPacket::Waiting { packet, .. } | RestoredPacket::Coming { packet, .. } => {
                Phase::Retry.order(packet.sequence)
            }
        }
    }
}

/// The port's part in it.
impl NetworkPort {
    /// Keeps the packet that was refused just now, if one was.
    pub(super) fn keep_refused(&mut self, now: Time) {
        if let Some(packet) = self.take_returned()
            && let Some(refused) = &mut self.refused
        {
            refused.keep(now, packet);
        }
    }

    /// From now on the attempts of packets that it refuses are computed, where flow control
    /// and network let it: nobody looks at single frames.
    pub fn compute_attempts(&mut self) {
        self.refused = self.ways.map(|ways| Box::new(Refused::new(ways, self.placement)));
    }

    /// From now on all of them are frames. None is kept, or all are dispersed.
    pub fn execute_attempts(&mut self) {
        assert!(self.refused.as_ref().is_none_or(|refused| refused.is_empty()), "a packet would be lost");
        self.refused = None;
    }

    /// The packet that was refused just now, instead of the frame in which it would return.
    fn take_returned(&mut self) -> Option<Box<Packet>> {
        match self.emitted.frames.pop() {
            Some((_, Frame::Returned(packet))) => Some(packet),
            other => {
                self.emitted.frames.extend(other);
                None
            }
        }
    }

    /// A packet that was refused comes again, as [`super::Calls::attempt`] has asked.
    pub fn attempt(&mut self, attempt: Attempt) -> Arrival {
        let now = attempt.at;
        let Some(entry) = self.refused.as_mut().and_then(|refused| refused.take(attempt)) else {
            return Arrival::default();
        };
        let Entry { first, packet } = entry;
        self.changes += 1;
        (self.phase, self.arriving) = (Phase::Arrival, Some(attempt.place));
        self.may_accept_refused = true;
        let arrival = self.flow.arrive(now, Frame::Data(packet), &mut self.emitted);
        if let (Some(packet), Some(refused)) = (self.take_returned(), &mut self.refused) {
            refused.entries.push(Entry { first, packet });
        }
        arrival
    }

    /// Everything before `now` has happened: takes out the packets that it has refused.
    pub fn disperse(&mut self, now: Time) -> Vec<RestoredPacket> {
        self.refused.as_mut().map(|refused| refused.disperse(now)).unwrap_or_default()
    }

    /// The node that has sent a packet.
    pub fn sender(&self, dispersed: &RestoredPacket) -> NodeId {
        self.placement.node(dispersed.packet().source)
    }

    /// A packet of this node was refused and is dispersed, where everything before `now` has
    /// happened: its rounds are counted.
    pub fn learn_of(&mut self, now: Time, dispersed: &RestoredPacket) {
        let Some(ways) = self.ways else { return };
        let sequence = dispersed.packet().sequence;
        let rounds = self.under_way.count(sequence, Time::from_ps(now.as_ps() - 1), &ways);
        self.flow.count_rounds(rounds);
        self.under_way.came_back(sequence);
        if let RestoredPacket::Coming { sent, .. } = *dispersed {
            self.under_way.send(sequence, sent);
        }
    }

    /// A packet of this node has been back since this instant; its return is counted.
    pub fn wait_to_retry(&mut self, since: Time, packet: Box<Packet>) {
        self.flow.wait_to_retry(since, packet, &mut self.emitted);
    }

    /// Counts how often its packets have come back up to `now`, inclusive, also without a frame.
    pub fn count_rounds(&mut self, now: Time) {
        if let Some(ways) = self.ways {
            let rounds = self.under_way.count_all(now, &ways);
            self.flow.count_rounds(rounds);
        }
    }

    /// The earliest instant from `now` on at which an attempt that is computed would send a
    /// frame or let one arrive, here or at its sender.
    pub fn awaits(&self, now: Time) -> Option<Time> {
        self.refused.as_ref()?.awaits(now)
    }

    /// The next attempt of a packet that was refused, if a buffer has become free.
    pub(super) fn next_attempt(&mut self, now: Time) -> Option<Attempt> {
        let is_due = std::mem::take(&mut self.may_accept_refused);
        let refused = self.refused.as_mut().filter(|refused| is_due && !refused.is_empty())?;
        let flow = &self.flow;
        refused.ask(now, self.arriving, |destination| flow.can_accept(destination))
    }
}

#[cfg(test)]
mod tests;
