//! Misses that a processor begins while it waits for another load and looks ahead (runahead).
//!
//! Such a miss takes a miss register as a load does, but no value. The load itself makes the access
//! when the program gets to it: it takes over the register, or finds the block filling, or in the
//! data cache.

use super::{ProcessorMemory, ProcessorPort};
use crate::access_tags::Tag;
use crate::pages::{PageAttributes, PageKind};
use crate::port::{AccessFault, Outcome};

impl ProcessorMemory {
    /// The same for a processor that looks ahead and has several miss registers.
    pub fn with_look_ahead(mut self) -> Self {
        if let Some(misses) = &mut self.misses {
            misses.tell_of_all();
        }
        self
    }
}

impl ProcessorPort<'_> {
    /// As [`Port::bring`](crate::Port::bring), without effect but on the block that is fetched.
    pub(super) fn bring_ahead(&mut self, address: u64, size: usize) -> Outcome<u64> {
        let is_cachable = |page: PageAttributes| page.kind == PageKind::Cachable;
        if !self.check_page(address, Tag::Read).is_ok_and(is_cachable) || self.split(address, size).0 < size {
            return Outcome::Fault(AccessFault::Unmapped);
        }
        if self.own.tags().and_then(|tags| tags.refusing(address, size as u64, Tag::Read)).is_some() {
            return Outcome::Fault(AccessFault::Unmapped);
        }
        if let Some(known) = self.own.queued_value(address, size) {
            return known.map_or(Outcome::UnderWay(0), Outcome::Done);
        }
        if self.own.is_on_its_way(address) {
            return Outcome::UnderWay(0);
        }
        if self.own.data.holds(address) {
            return self.value_at_hand(address, size);
        }
        match self.own.free_register() {
            Some(register) => self.fill_or_begin(address, size, register),
            None => Outcome::UnderWay(0),
        }
    }
}
