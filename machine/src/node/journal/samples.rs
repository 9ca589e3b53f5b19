//! Samples of an interface for a timeline: what its engines are at, how full its queues and
//! the flow control's buffers are. All of that changes in events of the node and
//! in nothing else, so it is looked at after each of them, and what has changed
//! is recorded.

use narthex_fabrics::NetworkPort;
use narthex_fabrics::flow_control::Occupancy;
use narthex_interfaces::Device;
use narthex_interfaces::description::Engine;
use narthex_kernel::Time;

use super::Event;

/// What was seen last; nothing yet at first, so that the first look records all.
#[derive(Debug, Default)]
pub(super) struct Samples {
    engines: Vec<Option<Engine>>,
    buffers: Option<Occupancy>,
    waiting: Vec<usize>,
}

impl Samples {
    /// Records what has changed since the last look.
    pub fn take(
        &mut self,
        interface: &dyn Device,
        network: &NetworkPort,
        mut record: impl FnMut(Event),
        now: Time,
    ) {
        let seats = interface.seats().len();
        self.engines.resize(seats, None);
        for (side, seen) in self.engines.iter_mut().enumerate() {
            let engine = interface.engine(side, now);
            if let (Some(engine), true) = (engine, engine != *seen) {
                record(Event::Engine(side, engine));
            }
            *seen = engine;
        }
        let buffers = network.occupancy();
        if self.buffers.replace(buffers) != Some(buffers) {
            record(Event::Buffers(buffers));
        }
        self.waiting.resize(seats / 2, 0);
        for (process, seen) in self.waiting.iter_mut().enumerate() {
            let waiting = network.waiting(process as u8);
            if std::mem::replace(seen, waiting) != waiting {
                record(Event::Waiting(process as u8, waiting));
            }
        }
    }
}
