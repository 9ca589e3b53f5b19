//! The course of an interface: what its engines are at, how full its queues and
//! the flow control's buffers are. All of that changes in events of the node and
//! in nothing else, so it is looked at after each of them, and what has changed
//! is recorded.

use narthex_fabrics::NetworkPort;
use narthex_fabrics::flow_control::Occupancy;
use narthex_interfaces::Interface;
use narthex_interfaces::side::Engine;
use narthex_kernel::Time;

use super::Event;

/// What was seen last; nothing yet at first, so that the first look records all.
#[derive(Debug, Default)]
pub(super) struct Course {
    engines: Vec<Option<Engine>>,
    buffers: Option<Occupancy>,
    waiting: Vec<usize>,
}

impl Course {
    /// Records what has changed since the last look.
    pub fn look(
        &mut self,
        interface: &Interface,
        network: &NetworkPort,
        mut record: impl FnMut(Event),
        now: Time,
    ) {
        self.engines.resize(interface.sides.len(), None);
        for (side, (half, seen)) in interface.sides.iter().zip(&mut self.engines).enumerate() {
            let engine = half.engine(now);
            if let (Some(engine), true) = (engine, engine != *seen) {
                record(Event::Engine(side, engine));
            }
            *seen = engine;
        }
        let buffers = network.occupancy();
        if self.buffers.replace(buffers) != Some(buffers) {
            record(Event::Buffers(buffers));
        }
        self.waiting.resize(interface.sides.len() / 2, 0);
        for (process, seen) in self.waiting.iter_mut().enumerate() {
            let waiting = network.waiting(process as u8);
            if std::mem::replace(seen, waiting) != waiting {
                record(Event::Waiting(process as u8, waiting));
            }
        }
    }
}
