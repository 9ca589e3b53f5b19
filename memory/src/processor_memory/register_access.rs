//! An access to a device's register in one go.
//!
//! Where nothing happens before an uncached access is over, nobody but the device has to do
//! with it: it need not be issued first and completed later. Whether that is so, and how
//! long it takes, is the interconnect's to say ([`crate::interconnects::SnoopingBus`]); the
//! outcome is that of the transaction.
//!
//! A processor that is alone with its bus ([`DirectBus`](super::DirectBus)) does not stop for such an access:
//! its port asks the device ([`Registers`](super::Registers)) where it executes the instruction.
//! It stops behind it only if the device wants anything of its node because of it.

use narthex_kernel::Time;

use super::direct_bus::MmioEffect;
use super::in_flight::UNCACHED;
use super::{Pending, ProcessorMemory, ProcessorPort, Uncached};
use crate::kind::Kind;
use crate::port::PortResult;
use crate::protocols::Access;
use crate::transaction::{Response, Transaction};

impl ProcessorMemory {
    /// The uncached access for which the processor waits, as its transaction, if the
    /// processor needs the interconnect for nothing else.
    #[inline(always)]
    pub fn register_access(&self) -> Option<Transaction> {
        let (kind, access) = match self.pending {
            Some(Pending::UncachedLoad(load)) => (Kind::UncachedLoad, load),
            Some(Pending::UncachedStore(store)) => (Kind::UncachedStore, store),
            _ => return None,
        };
        (!self.has_other_traffic()).then(|| self.register_transaction(kind, access))
    }

    #[inline(always)]
    fn register_transaction(&self, kind: Kind, access: Uncached) -> Transaction {
        let transaction = self.uncached(kind, access);
        Transaction { address: self.translation.to_node(access.address), tag: UNCACHED, ..transaction }
    }

    /// The access that it has asked for is over: the processor repeats it now.
    #[inline(always)]
    pub fn end_register_access(&mut self, response: &Response) {
        let value = match self.pending {
            Some(Pending::UncachedStore(store)) => store.value,
            _ => response.value,
        };
        self.overtaking = 0;
        self.finish_access(value);
    }

    /// Whether an access to a register that the processor makes now would wait for nothing but its
    /// own end, and change nothing here but counts.
    #[inline(always)]
    fn is_plain_register_access(&self, kind: Kind) -> bool {
        let is_posted = kind == Kind::UncachedStore && self.posted_limit > 0;
        !self.has_other_traffic()
            && !is_posted
            && self.finished.is_none()
            && self.second.is_none()
            && self.combining.is_none()
    }

    /// Whether anything is under way, posted, or to be locked.
    #[inline(always)]
    fn has_other_traffic(&self) -> bool {
        !self.in_flight.is_empty()
            || !self.store_buffer.is_empty()
            || self.misses.is_some()
            || self.store_queue.is_some()
            || self.is_locking()
    }
}

impl ProcessorPort<'_> {
    /// Makes an access to a register of a device, if the processor is alone with its bus and nothing
    /// else happens before its end.
    #[inline(never)]
    pub(super) fn access_register_alone(
        &mut self,
        (address, size, access): (u64, usize, Access),
        value: u64,
        now: impl FnOnce() -> Time,
    ) -> Option<PortResult> {
        let kind = if access == Access::Load { Kind::UncachedLoad } else { Kind::UncachedStore };
        let is_plain = address.is_multiple_of(size as u64) && self.own.is_plain_register_access(kind);
        if !is_plain || !self.is_allowed_by_tags(address, size, access) {
            return None;
        }
        let alone = self.alone.as_mut()?;
        let own_part = alone.exchanges.register_part?;
        let now = now();
        if now + alone.exchanges.shortest_access >= alone.free_until {
            return None;
        }
        let transaction = self.own.register_transaction(kind, Uncached { address, size: size as u8, value });
        let (device, granted) = alone.bus.grant_access(now, &transaction)?;
        let end = alone.bus.end_of_access(granted, kind, alone.registers.access_time(device, kind));
        if end >= alone.free_until {
            return None;
        }
        let is_ahead = end >= alone.unchanged_until;
        let mut response = Response::default();
        let consequence =
            alone.registers.access((granted, end), is_ahead, device, &transaction, &mut response)?;
        alone.bus.cross_to_register(kind, (now, granted, end), consequence == MmioEffect::Nothing);
        alone.steps += 2;
        self.own.overtaking = 0;
        match access {
            Access::Load => self.own.statistics.uncached_loads.increment(),
            _ => self.own.statistics.uncached_stores.increment(),
        }
        if consequence == MmioEffect::Refusal {
            return Some(PortResult::Refused);
        }
        let over = end + own_part;
        alone.accessed.add(now, granted, over);
        Some(PortResult::Register { over, value: response.value, stops: consequence == MmioEffect::ForNode })
    }
}
