//! The processor's own bus to its interface: a cache bus or the register file.
//!
//! ```text
//!   processor ──┬── private bus ── registers of the interface
//!               └── caches ── memory bus ── main memory
//! ```
//!
//! Uncached accesses cross it, and nothing else: the memory bus sees none of
//! them, and a miss of the cache and a posted store are under way at once. It
//! is a bus like the other, with the processor's clock.

use narthex_kernel::Time;
use narthex_memory::bus::Bus;
use narthex_memory::processor_memory::Traffic;
use serde::{Deserialize, Serialize};

use super::journal::PRIVATE_BUS;
use super::{Event, Node, Underway};

/// The bus and what is on it.
#[derive(Debug, Serialize, Deserialize)]
pub struct PrivateBus {
    pub bus: Bus,
    underway: Option<Underway>,
}

impl PrivateBus {
    pub fn new(bus: Bus) -> Self {
        PrivateBus { bus, underway: None }
    }

    /// Whether nobody has the bus at `now`, or waits for it.
    pub fn is_idle_at(&self, now: Time) -> bool {
        self.underway.is_none() && self.bus.is_idle_at(now)
    }
}

impl Node {
    /// Asks for the private bus if a processor's uncached accesses need it.
    pub(super) fn request_private_bus(&mut self, index: usize, now: Time) {
        let agent = self.agent_of_unit(index);
        let Some(private) = &mut self.private else { return };
        if !self.units[index].memory.wants(Traffic::Uncached) {
            return;
        }
        if let Some(at) = private.bus.request(now, agent) {
            self.events.schedule(at, Event::PrivateGrant);
        }
    }

    /// The private bus is granted to the processor that has waited longest.
    pub(super) fn grant_private_bus(&mut self, now: Time) {
        let Some(private) = &mut self.private else { return };
        let agent = private.bus.grant();
        let issued = agent.and_then(|agent| self.units[usize::from(agent.0)].memory.issue(Traffic::Uncached));
        let Some(transaction) = issued else {
            agent.into_iter().for_each(|agent| self.note_vain_grant(now, PRIVATE_BUS, agent));
            self.free_private_bus(now);
            return;
        };
        let delay = self.interface.access_time(transaction.kind);
        let end = private.bus.occupy(now, transaction.kind, delay);
        private.underway = Some(Underway::unanswered(transaction.clone()));
        let time = (now, end, private.bus.period());
        self.note_crossing(PRIVATE_BUS, time, &transaction, None);
        self.events.schedule(end, Event::PrivateRelease);
    }

    /// The access on the private bus is over.
    pub(super) fn release_private_bus(&mut self, now: Time) {
        let underway = self.private.as_mut().and_then(|private| private.underway.take());
        self.complete(now, underway.expect("an access is under way"));
        self.free_private_bus(now);
    }

    fn free_private_bus(&mut self, now: Time) {
        let next = self.private.as_mut().and_then(|private| private.bus.release(now));
        if let Some(at) = next {
            self.events.schedule(at, Event::PrivateGrant);
        }
    }
}
