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
use crate::time::Time;

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
    window_end: Time,
    envelopes: Vec<Envelope<P>>,
}

impl<P> Outbox<P> {
    /// The outbox of partition `source`.
    pub fn new(source: usize) -> Self {
        Outbox { source, sequence: 0, window_end: Time::ZERO, envelopes: Vec::new() }
    }

    /// Sends `payload`, to be delivered to `destination` at `arrival`. What a
    /// partition sends to itself it puts into its own queue instead, so that its
    /// windows need not end for it.
    ///
    /// # Panics
    /// If it would arrive inside the current window: its destination may have
    /// passed that instant already. Then the lookahead is longer than the
    /// smallest latency.
    pub fn send(&mut self, arrival: Time, destination: usize, payload: P) {
        assert!(
            arrival >= self.window_end,
            "partition {} sends to {destination} for {arrival}, inside the window until {}: \
             the lookahead exceeds the smallest latency",
            self.source,
            self.window_end,
        );
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

    pub(crate) fn open_window(&mut self, end: Time) {
        self.window_end = end;
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
        let Outbox { source: _, sequence, window_end, envelopes } = self;
        assert!(envelopes.is_empty(), "the outbox is archived between windows");
        archive.value(sequence)?;
        archive.value(window_end)
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
    /// It cannot go on (a fault): the run ends.
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

    /// Does everything that happens strictly before `until`. Afterwards
    /// [`next_time`](Self::next_time) is not before `until`. What it sends at
    /// an instant must arrive at least the simulation's lookahead later. A window
    /// may be far longer than the time for which a run goes on when all partitions
    /// have finished: in the window in which one finishes it returns at that instant.
    fn advance(&mut self, until: Time, outbox: &mut Outbox<Self::Payload>);

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
