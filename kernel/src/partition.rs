//! A partition: a part of the machine that simulates itself.
//!
//! A node of a parallel machine mostly minds its own business, and what it
//! sends to another node takes the network's latency to arrive. So each node
//! is a [`Partition`] with its own time and its own events; partitions share
//! nothing and meet only through [`Envelope`]s, which they leave in their
//! [`Outbox`] and which the [`Simulation`](crate::Simulation) delivers.
//!
//! An envelope's place in the order of the world is (arrival, source,
//! sequence): a total order that says nothing about which partition happened
//! to be simulated first, so it is the same however partitions are scheduled.

use crate::archive::{Archive, Archived, Damage};
use crate::time::{Duration, Time};

/// A payload on its way from one partition to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope<P> {
    /// When it arrives.
    pub arrival: Time,
    /// The partition that sent it.
    pub source: usize,
    /// How many envelopes the source had sent before this one.
    pub sequence: u64,
    /// The partition it goes to.
    pub destination: usize,
    /// What it carries.
    pub payload: P,
}

/// Where a partition leaves what it sends.
#[derive(Debug, Clone)]
pub struct Outbox<P> {
    source: usize,
    sequence: u64,
    until: Time,
    answer_time: Option<Duration>,
    first_arrival: Time,
    envelopes: Vec<Envelope<P>>,
}

impl<P> Outbox<P> {
    /// The outbox of partition `source`, which goes as far as it can.
    pub fn new(source: usize) -> Self {
        Outbox {
            source,
            sequence: 0,
            until: Time::NEVER,
            answer_time: None,
            first_arrival: Time::ZERO,
            envelopes: Vec::new(),
        }
    }

    /// The same up to this instant.
    pub fn with_end(self, until: Time) -> Self {
        Outbox { until, ..self }
    }

    /// How far its partition goes: up to there nothing comes from others that has not been
    /// delivered.
    #[inline]
    pub fn until(&self) -> Time {
        self.until
    }

    /// If an answer to what is sent may come before [`Outbox::until`]: after its arrival it
    /// takes at least so long, and its partition goes no further.
    #[inline]
    pub fn answer_time(&self) -> Option<Duration> {
        self.answer_time
    }

    /// Sends `payload`, to be delivered to `destination` at `arrival`. What a
    /// partition sends to itself it puts into its own queue instead, so that its
    /// windows need not end for it.
    ///
    /// # Panics
    /// If it would arrive too soon: its destination may have
    /// passed that instant already. Then the lookahead is longer than the
    /// smallest latency, or the partition has not foreseen it
    /// ([`Partition::earliest_departure`]).
    pub fn send(&mut self, arrival: Time, destination: usize, payload: P) {
        assert!(
            arrival >= self.first_arrival,
            "partition {} sends to {destination} for {arrival}, before {}: the lookahead exceeds \
             the smallest latency, or it foresaw that nothing leaves so soon",
            self.source,
            self.first_arrival,
        );
        if let Some(answer_time) = self.answer_time {
            let heard = if destination == self.source { Duration::ZERO } else { answer_time };
            self.until = self.until.min(arrival.saturating_add(heard));
        }
        let (source, sequence) = (self.source, self.sequence);
        self.sequence += 1;
        self.envelopes.push(Envelope { arrival, source, sequence, destination, payload });
    }

    /// What was sent and not yet taken, in the order of sending.
    pub fn envelopes(&self) -> &[Envelope<P>] {
        &self.envelopes
    }

    /// Takes what was sent, in the order of sending.
    pub fn drain(&mut self) -> impl Iterator<Item = Envelope<P>> {
        self.envelopes.drain(..)
    }

    pub(crate) fn begin(&mut self, until: Time, answer_time: Option<Duration>, first_arrival: Time) {
        (self.until, self.answer_time, self.first_arrival) = (until, answer_time, first_arrival);
    }

    pub(crate) fn move_to(&mut self, mail: &mut Vec<Envelope<P>>) {
        if !self.envelopes.is_empty() {
            mail.append(&mut self.envelopes);
        }
    }
}

/// Between windows, when nothing lies in it.
impl<P> Archived for Outbox<P> {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Outbox { source: _, sequence, until: _, answer_time: _, first_arrival: _, envelopes } = self;
        assert!(envelopes.is_empty(), "the outbox is archived between windows");
        archive.value(sequence)
    }
}

/// Where a partition stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It has work to do.
    Running,
    /// It has done its work. It still answers others, and the run goes on until
    /// one lookahead after the last has finished.
    Finished {
        /// When it had done its work.
        at: Time,
    },
    /// It cannot go on (a fault): the run ends soon, where all others have come to the same
    /// instant. Up to then it answers others; if it cannot, it does nothing any more
    /// ([`Partition::next_time`] is none).
    Stopped {
        /// When that happened.
        at: Time,
    },
}

/// A part of the machine with its own time and events; a node.
pub trait Partition: Send {
    /// What partitions send to each other.
    type Payload: Send;

    /// The earliest instant at which it would do something by itself. `None`
    /// means never, unless something is delivered.
    fn next_time(&self) -> Option<Time>;

    /// Unless something is delivered to it, nothing that it sends leaves before this instant:
    /// it arrives at least the simulation's lookahead later. Not before
    /// [`next_time`](Self::next_time). The more of it a partition foresees, the longer it is
    /// left alone and the further the others may go on.
    fn earliest_departure(&self) -> Time {
        self.next_time().unwrap_or(Time::NEVER)
    }

    /// It may be looked at when everything before `at` has happened, and nothing later: what others
    /// cannot notice may be done ahead, up to then. It is told before each
    /// [`advance`](Self::advance); an observer that comes earlier tells it itself.
    fn expect_inspection(&mut self, _at: Time) {}

    /// Does everything that happens strictly before [`Outbox::until`], which may come nearer
    /// when it sends something. Afterwards [`next_time`](Self::next_time) is not before that.
    /// What it sends at an instant must arrive at least the simulation's lookahead later. A
    /// window may be far longer than the time for which a run goes on when all partitions
    /// have finished: in the window in which one finishes it returns at that instant.
    fn advance(&mut self, outbox: &mut Outbox<Self::Payload>);

    /// The earliest instant at which anything may leave it because of an envelope that is to be
    /// delivered. Without more knowledge that is the envelope's arrival.
    fn departure_after(&self, envelope: &Envelope<Self::Payload>) -> Time {
        envelope.arrival
    }

    /// Takes what arrives from another partition, as an event of its own queue
    /// ([`EventQueue::receive`](crate::EventQueue::receive)); it does nothing yet.
    /// Envelopes come in any order, and in any window that ends before they arrive.
    fn deliver(&mut self, envelope: Envelope<Self::Payload>);

    /// Everything before `now` has happened: the earliest instant at which something
    /// happens for which it may wait, which is not a turn of a waiting loop. `None` means
    /// never, unless something is delivered.
    fn awaits(&self, _now: Time) -> Option<Time> {
        self.next_time()
    }

    /// Where it stands.
    fn status(&self) -> Status;

    /// A count that moves whenever something useful happens: work done, not
    /// turns of a waiting loop.
    fn progress(&self) -> u64;
}
