//! What a timeline knows of a node: what its ports showed, and samples of its
//! interface: what its engines are at, how full its queues and the flow control's
//! buffers are. All of that changes in events of the node and in nothing else, so it
//! is looked at after each of them, and what has changed is recorded.

use narthex_fabrics::flow_control::Occupancy;
use narthex_fabrics::{FrameKind, NetworkPort};
use narthex_interfaces::Device;
use narthex_interfaces::description::Engine;
use narthex_kernel::Time;
use narthex_machine::node::probe::{Edge, Event, Probe};

/// What there is to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sight {
    /// Something happened at a port of the node.
    Port(Event),
    /// From here on an engine of the interface is at something else.
    Engine(usize, Engine),
    /// From here on the flow control's buffers hold something else.
    Buffers(Occupancy),
    /// From here on this many packets wait for a process of the node.
    Waiting(u8, usize),
}

/// What there is to show, and from when on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// When.
    pub at: Time,
    /// What.
    pub sight: Sight,
}

/// Records what happens at a node, to be emptied by [`Recorder::drain`] before it is large.
#[derive(Debug, Default)]
pub struct Recorder {
    records: Vec<Record>,
    /// What was seen last; nothing yet at first, so that the first look records all.
    engines: Vec<Option<Engine>>,
    buffers: Option<Occupancy>,
    waiting: Vec<usize>,
    /// A packet has come since the last look: an interface may have taken it in the same event.
    has_come: bool,
}

impl Recorder {
    /// Takes out what happened before `now`, in the order of time; what happened at
    /// one instant in the order in which it was recorded.
    pub fn drain(&mut self, now: Time) -> Vec<Record> {
        let (mut before, after) = self.records.drain(..).partition::<Vec<_>, _>(|record| record.at < now);
        self.records = after;
        before.sort_by_key(|record| record.at);
        before
    }
}

impl Probe for Recorder {
    fn record(&mut self, at: Time, event: Event) {
        self.has_come |= matches!(event, Event::Arrival(note, true) if note.kind == FrameKind::Packet);
        self.records.push(Record { at, sight: Sight::Port(event) });
    }

    fn look(&mut self, now: Time, _: Option<Edge>, interface: &dyn Device, network: &NetworkPort) {
        let mut record = |sight| self.records.push(Record { at: now, sight });
        let seats = interface.seats().len();
        self.engines.resize(seats, None);
        for (seat, seen) in self.engines.iter_mut().enumerate() {
            let engine = interface.engine(seat, now);
            if let (Some(engine), true) = (engine, engine != *seen) {
                record(Sight::Engine(seat, engine));
            }
            *seen = engine;
        }
        let buffers = network.occupancy();
        if self.buffers.replace(buffers) != Some(buffers) {
            record(Sight::Buffers(buffers));
        }
        let has_come = std::mem::take(&mut self.has_come);
        self.waiting.resize(seats / 2, 0);
        for (process, seen) in self.waiting.iter_mut().enumerate() {
            let waiting = network.waiting(process as u8);
            if std::mem::replace(seen, waiting) != waiting || has_come {
                record(Sight::Waiting(process as u8, waiting));
            }
        }
    }
}
