//! Misses that a processor begins while it waits for another load and looks ahead (runahead).
//!
//! Such a miss takes a miss register as a load does, but no value. The load itself makes the access
//! when the program gets to it: it takes over the register, or finds the block filling, or in the
//! data cache. Where all registers are taken by loads under way, looking ahead ends.

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

    /// How many blocks other agents have taken from the data cache.
    pub(super) fn taken_blocks(&self) -> u64 {
        self.misses.as_ref().map_or(0, |misses| misses.taken_blocks)
    }

    /// Counts the block of `address` if the data cache has lost it to another agent.
    pub(super) fn count_taken(&mut self, had_it: bool, address: u64) {
        if had_it
            && !self.data.holds(address)
            && let Some(misses) = &mut self.misses
        {
            misses.taken_blocks += 1;
        }
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
            None => Outcome::Fault(AccessFault::Unmapped),
        }
    }
}
