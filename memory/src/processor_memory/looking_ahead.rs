//! Misses of loads that a processor sees coming: it looks ahead while it waits for another load.
//!
//! They take miss registers as loads do, but no value: the load makes the access when the program comes to
//! it, and takes over the register then, or finds its block filling, or in the data cache.

use super::{ProcessorMemory, ProcessorPort};
use crate::access_tags::Tag;
use crate::pages::{PageAttributes, PageKind};
use crate::port::{AccessFault, Outcome};

impl ProcessorMemory {
    /// The same for a processor that looks ahead, and has more than one miss register.
    pub fn with_look_ahead(mut self) -> Self {
        if let Some(misses) = &mut self.misses {
            misses.tell_of_all();
        }
        self
    }
}

impl ProcessorPort<'_> {
    /// As [`Port::bring`](crate::Port::bring). Nothing of it shows but what is brought.
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
