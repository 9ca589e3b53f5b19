//! The journal of a node: what happened there, for the explanation of a run.
//!
//! The node writes it, not its components: everything that crosses from one
//! component to another passes through the node, so models have no tracing
//! lines. A node without a journal pays one look at an `Option` an event and a
//! change of the ledger, nothing an instruction.
//!
//! ```text
//!   bus:        Transaction  granted ──────────► released
//!   processor:  Booking      from here on: activity, occupation
//!   network:    Departure, Arrival              a frame leaves, a frame is here
//!   interface:  Timer, Taken                    a half acts by itself; it takes a packet
//! ```
//!
//! There are two kinds of journal. One for the explanation of a message's life
//! begins after a number of packets, when caches and queues are warm, keeps the
//! latest records and looks for what changed a half's state. One for a timeline
//! is emptied often by its writer, and also has the [`samples`] of engines,
//! queues and buffers.

mod samples;

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hasher};

use narthex_fabrics::flow_control::Occupancy;
use narthex_fabrics::{Frame, FrameKind, FrameSummary, NetworkPort, NodeId};
use narthex_interfaces::Device;
use narthex_interfaces::description::Engine;
use narthex_kernel::Time;
use narthex_memory::Kind;

use super::composition::Agent;
use crate::activity::{Activity, Occupation};
use samples::Samples;

/// The bus between caches, main memory and, mostly, the interface.
pub const MEMORY_BUS: &str = "memory bus";
/// The bus behind a bridge.
pub const IO_BUS: &str = "I/O bus";
/// The processor's own bus to its interface.
pub const PRIVATE_BUS: &str = "private bus";

/// Who delivered a block's bytes, or takes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Supplier {
    /// A cache, or a half of the interface from its own memory.
    Agent(Agent),
    /// Main memory.
    MainMemory,
}

/// A transaction that crossed the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossing {
    /// Which bus.
    pub bus: &'static str,
    /// When the bus was granted.
    pub granted: Time,
    /// When it was free again.
    pub released: Time,
    /// Bus cycles in between.
    pub cycles: u64,
    /// Who issued it.
    pub agent: Agent,
    /// What it did.
    pub kind: Kind,
    /// The address of its block or register.
    pub address: u64,
    /// Who delivered the bytes, where bytes moved.
    pub supplier: Option<Supplier>,
    /// Whether it changed the state of a send half, of a receive half.
    pub touched: [bool; 2],
}

/// A bus that is taken, for how long is not known yet: a [`Crossing`] that began
/// then tells, or an [`Event::Released`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold {
    /// Which bus.
    pub bus: &'static str,
    /// Who has it.
    pub agent: Agent,
    /// What it wants to do, and the address.
    pub kind: Kind,
    /// The address of its block or register.
    pub address: u64,
}

/// Begin and end of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    /// Its bus is granted.
    Granted,
    /// Its bus is free again.
    Released,
}

/// Most transactions that are under way at once, on all buses of a node.
const CROSSINGS_UNDER_WAY: usize = 8;

/// Something that happened at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A transaction crossed the bus; recorded when it was granted.
    Crossing(Crossing),
    /// From here on a processor's time belongs to other categories.
    Booking {
        /// The processor.
        processor: usize,
        /// What its program is doing.
        activity: Activity,
        /// What it is doing meanwhile.
        occupation: Occupation,
    },
    /// A frame leaves for a node.
    Departure(FrameSummary, NodeId),
    /// A frame has arrived; whether it is a packet that found a buffer.
    Arrival(FrameSummary, bool),
    /// An instant that a half of the interface asked for has come.
    Timer(usize),
    /// The interface has taken a packet out of the flow control's buffers: the
    /// oldest there.
    Taken,
    /// A bus is taken, for how long is not known yet.
    Held(Hold),
    /// A bridge keeps that bus for a device.
    Kept(&'static str),
    /// That bus, which was taken or kept, is free again without a transaction.
    Released(&'static str),
    /// From here on an engine of the interface is at something else.
    Engine(usize, Engine),
    /// From here on the flow control's buffers are so full.
    Buffers(Occupancy),
    /// From here on this many packets wait for a process of the node.
    Waiting(u8, usize),
}

/// An event and its instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// When.
    pub at: Time,
    /// What.
    pub event: Event,
}

/// What a node remembers of a run.
#[derive(Debug)]
pub struct Journal {
    /// Packets that leave before the journal begins.
    skip: u64,
    /// Most records that it keeps.
    limit: usize,
    records: VecDeque<Record>,
    /// Digests of the halves' states after the latest event.
    states: Vec<u64>,
    /// Packets that the interface has taken.
    taken: u64,
    /// What a timeline shows of the interface, if the journal is for one.
    samples: Option<Samples>,
}

impl Journal {
    /// A journal that begins when `skip` packets have left the node, and keeps
    /// the latest `limit` records.
    pub fn new(skip: u64, limit: usize) -> Self {
        Journal { skip, limit, records: VecDeque::new(), states: Vec::new(), taken: 0, samples: None }
    }

    /// A journal for a timeline, to be emptied by [`Journal::drain`] before it is large.
    pub fn for_timeline() -> Self {
        Journal { samples: Some(Samples::default()), ..Journal::new(0, usize::MAX) }
    }

    /// Takes out what happened before `now`, in the order of time; events of one
    /// instant in the order in which they were recorded.
    pub fn drain(&mut self, now: Time) -> Vec<Record> {
        let (mut before, after) = self.records.drain(..).partition::<Vec<_>, _>(|record| record.at < now);
        self.records = after.into();
        before.sort_by_key(|record| record.at);
        before
    }

    /// What it holds, in the order in which it was recorded.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.iter()
    }

    /// What it holds, in the order of time; events of one instant in the order
    /// in which they were recorded.
    pub fn into_records(self) -> Vec<Record> {
        let mut records = Vec::from(self.records);
        records.sort_by_key(|record| record.at);
        records
    }

    /// Takes note of an event.
    pub fn record(&mut self, at: Time, event: Event) {
        if self.skip > 0 {
            return;
        }
        if self.records.len() == self.limit {
            self.records.pop_front();
        }
        self.records.push_back(Record { at, event });
    }

    /// A frame leaves.
    pub fn departure(&mut self, at: Time, frame: &Frame, destination: NodeId) {
        let note = frame.summary();
        self.record(at, Event::Departure(note, destination));
        self.skip = self.skip.saturating_sub(u64::from(note.kind == FrameKind::Packet));
    }

    /// An event of the node is over: finds what it changed. A change of a
    /// half's state at an `edge` of a transaction is that transaction's doing.
    pub fn look(&mut self, now: Time, edge: Option<Edge>, interface: &dyn Device, network: &NetworkPort) {
        if let Some(samples) = &mut self.samples {
            let records = &mut self.records;
            samples.take(interface, network, |event| records.push_back(Record { at: now, event }), now);
            return;
        }
        if self.skip > 0 {
            return;
        }
        let taken = network.statistics().delivered.get();
        let states = (0..interface.seats().len()).map(|seat| digest(interface, seat)).collect();
        let before = std::mem::replace(&mut self.states, states);
        // The first look has nothing to compare with.
        for (side, state) in before.iter().enumerate() {
            if let (true, Some(edge)) = (*state != self.states[side], edge) {
                self.touch(now, edge, side);
            }
        }
        for _ in std::mem::replace(&mut self.taken, taken)..taken {
            if !before.is_empty() {
                self.record(now, Event::Taken);
            }
        }
    }

    /// Notes that the latest transaction with this edge changed a half's state.
    fn touch(&mut self, now: Time, edge: Edge, side: usize) {
        let crossings = self.records.iter_mut().rev().filter_map(|record| match &mut record.event {
            Event::Crossing(crossing) => Some(crossing),
            _ => None,
        });
        let at_edge = |crossing: &&mut Crossing| match edge {
            Edge::Granted => crossing.granted == now,
            Edge::Released => crossing.released == now,
        };
        if let Some(crossing) = crossings.take(CROSSINGS_UNDER_WAY).find(at_edge) {
            crossing.touched[side % 2] = true;
        }
    }
}

/// A number that is different, almost surely, when a half's state is.
fn digest(interface: &dyn Device, seat: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    interface.hash_state(seat, &mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use narthex_fabrics::{Packet, Rank};

    use super::*;

    fn at(picoseconds: u64) -> Time {
        Time::from_ps(picoseconds)
    }

    fn leave(journal: &mut Journal, now: u64, sequence: u64) {
        let frame = Frame::Acknowledgement { from: Rank(1), to: Rank(0), sequence };
        journal.departure(at(now), &frame, NodeId(0));
    }

    fn times(journal: Journal) -> Vec<u64> {
        journal.into_records().iter().map(|record| record.at.as_ps()).collect()
    }

    #[test]
    fn the_latest_records_are_kept_and_come_in_the_order_of_time() {
        let mut journal = Journal::new(0, 3);
        for now in [1, 2, 9, 4, 5] {
            journal.record(at(now), Event::Timer(0));
        }
        assert_eq!(times(journal), [4, 5, 9]);
    }

    #[test]
    fn a_journal_begins_when_so_many_packets_have_left() {
        let mut journal = Journal::new(2, 10);
        let packet = |sequence| {
            let header = narthex_fabrics::Header(1);
            Frame::Data(Box::new(Packet {
                source: Rank(0),
                destination: Rank(1),
                sequence,
                header,
                payload: vec![0; 8],
            }))
        };
        journal.departure(at(1), &packet(0), NodeId(1));
        leave(&mut journal, 2, 7);
        journal.record(at(3), Event::Timer(1));
        journal.departure(at(4), &packet(1), NodeId(1));
        journal.record(at(5), Event::Timer(1));
        leave(&mut journal, 6, 8);
        assert_eq!(times(journal), [5, 6], "acknowledgements do not count");
    }
}
