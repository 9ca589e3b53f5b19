//! The dialect of CXL: messages by name, in slots of flits.

use narthex_kernel::Duration;

use super::dialect::{Dialect, Limits, LinkStatistics, Taken};
use super::messages::{Message, Opcode, Way};
use super::{Cxl, Interconnect, Keys};
use crate::kind::Kind;

narthex_kernel::statistics! {
    /// What crossed a link.
    pub struct Statistics {
        messages: Tally<Opcode>, "messages", "messages", "messages of CXL.io, CXL.cache and CXL.mem by name";
        slots: Tally<Way>, "slots", "slots", "slots of flits that they took, by direction: down is to the device";
        payload: Tally<Way>, "payload", "bytes", "data in them, by direction";
        overhead: Tally<Way>, "overhead", "bytes", "bytes of their flits besides data: headers, checksums and what slots have left";
        busy: Tally<Way>, "busy", "ps", "time for which they had the wires, by direction";
        wait: Tally<Way>, "wait", "ps", "time for which they waited for the wires, summed over messages";
        snoops_kept: Counter, "snoops_kept", "snoops", "snoops that waited in the port for data that it had pulled";
    }
}

/// What CXL calls messages, and how it packs them.
#[derive(Clone, Copy, Debug)]
pub struct Flits;

impl Dialect for Flits {
    const KIND: &'static str = "cxl";
    const PULLS: bool = true;
    type Name = Opcode;
    type Statistics = Statistics;
    type Keys = Keys;

    fn limits(keys: &Keys) -> Limits {
        let &Keys { requests, stores, .. } = keys;
        Limits { line: keys.physical().line(), requests, stores, credits: None }
    }

    fn name(message: &Message) -> Opcode {
        message.opcode()
    }

    fn name_of_request(opcode: Opcode, _kind: Kind) -> Opcode {
        opcode
    }

    fn text(name: Opcode) -> &'static str {
        name.as_str()
    }

    fn units(message: &Message, block_bytes: u32) -> u32 {
        message.slots(block_bytes)
    }

    fn link(interconnect: &mut Interconnect) -> Option<&mut Cxl> {
        match interconnect {
            Interconnect::Cxl(link) => Some(link),
            _ => None,
        }
    }
}

impl LinkStatistics for Statistics {
    type Name = Opcode;

    fn carry(&mut self, way: Way, name: Opcode, Taken { units, payload, overhead, time }: Taken) {
        self.messages.increment(name);
        self.slots.add(way, units.into());
        self.payload.add(way, payload);
        self.overhead.add(way, overhead);
        self.busy.add(way, time.as_ps());
    }

    fn wait(&mut self, way: Way, time: Duration) {
        self.wait.add(way, time.as_ps());
    }

    fn keep(&mut self) {
        self.snoops_kept.increment();
    }
}
