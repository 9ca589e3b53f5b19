//! What the data and instruction caches get from the second level, without an interconnect.
//!
//! An access that the first caches do not allow is *obtained*: the second level brings its block up, at
//! once or after its own time, or is missing it, and then the access waits for a transaction. Blocks
//! are also *brought* for no access, where a transaction has just filled the second level; that is not
//! counted. A store that goes through the data cache ends in the second level.

use crate::access_tags::Tag;
use crate::port::LowerLevelLatency;
use crate::protocols::Access;

use super::second_level::Obtained;
use super::{Pending, ProcessorMemory};

impl ProcessorMemory {
    /// Which accesses to the block of `address`, which the processor waits for, may be fast
    /// by their page. Where it waits for another one, the first store looks at the page.
    pub(super) fn allowed_by_page(&self, address: u64) -> Tag {
        match self.pending {
            Some(Pending::Data { address: own, most, .. })
                if self.data.block_of(own) == self.data.block_of(address) =>
            {
                most
            }
            _ => Tag::Read,
        }
    }

    /// What the data cache lacks for an access, whose page lets the next ones be fast up to
    /// `by_page`, comes from the second level, if that has it.
    pub(super) fn bring(&mut self, address: u64, access: Access, by_page: Tag) -> Obtained {
        if self.second.is_none() {
            return Obtained::Missing;
        }
        let most = self.most_allowed(address, by_page);
        let Some(second) = &mut self.second else { return Obtained::Missing };
        let obtained = second.bring(&mut self.data, address, access, most);
        self.keep_reservation();
        self.allow_below(address, by_page);
        obtained
    }

    /// As [`ProcessorMemory::obtain`] for an aligned access, where nothing has to be looked
    /// at but the front of the second level: where the bytes are in the data cache then.
    #[inline(always)]
    pub(super) fn obtain_at_once<const SIZE: usize>(
        &mut self,
        address: u64,
        access: Access,
    ) -> Option<(usize, LowerLevelLatency)> {
        let second = self.second.as_mut()?;
        if self.misses.is_some() || self.store_queue.is_some() {
            return None;
        }
        let obtained = second.bring_at_once::<SIZE>(&mut self.data, address, access)?;
        self.keep_reservation();
        Some(obtained)
    }

    /// The page of `address` lets accesses up to `least` be made: the second level may give
    /// its block to them from now on. Not where there are tags, which forbid parts of pages.
    pub(super) fn allow_below(&mut self, address: u64, least: Tag) {
        if let (Some(second), None) = (&mut self.second, &self.tags) {
            second.cache.allow_at_least(address, least);
        }
    }

    /// The same for an access that the processor makes, which is counted.
    pub(super) fn obtain(&mut self, address: u64, access: Access) -> Obtained {
        let obtained = self.bring(address, access, Tag::Read);
        if let Some(second) = &mut self.second {
            second.count(obtained);
        }
        obtained
    }

    /// Whether the second level has a block that the data cache cannot take yet: first a dirty block,
    /// for which the second level has no room, has to be written back.
    pub(super) fn is_kept_below(&self, address: u64) -> bool {
        self.second.as_ref().is_some_and(|second| second.cache.holds(address)) && !self.data.holds(address)
    }

    /// What the instruction cache lacks comes from the second level, if that has it.
    pub(super) fn bring_instructions(&mut self, address: u64) -> Obtained {
        match (&mut self.second, &mut self.instructions) {
            (Some(second), Some(cache)) => second.bring_instructions(&mut self.data, cache, address),
            _ => Obtained::Missing,
        }
    }

    /// The same for a fetch that the processor makes, which is counted.
    pub(super) fn obtain_instructions(&mut self, address: u64) -> Obtained {
        let obtained = self.bring_instructions(address);
        if let Some(second) = &mut self.second {
            second.count(obtained);
        }
        obtained
    }

    /// Whether stores go through the data cache.
    pub(super) fn is_written_through(&self) -> bool {
        self.second.as_ref().is_some_and(|second| second.is_written_through)
    }

    /// A store that goes through the data cache; none if the second level has not the
    /// right.
    pub(super) fn store_through(&mut self, address: u64, bytes: &[u8]) -> Option<LowerLevelLatency> {
        let second = self.second.as_mut()?;
        if second.look(&mut self.data, address, Access::Store).is_err() {
            second.count(Obtained::Missing);
            self.statistics.store_misses.increment();
            self.train(address);
            return None;
        }
        Some(second.store(&mut self.data, address, bytes))
    }

    /// Bytes that the data cache has got in another way than by
    /// [`ProcessorMemory::store_through`].
    pub(super) fn write_through(&mut self, address: u64, bytes: &[u8]) {
        if let Some(second) = self.second.as_mut().filter(|second| second.is_written_through) {
            second.cache.write(address, bytes);
        }
    }

    /// A reservation ends with its block.
    #[inline(always)]
    pub(super) fn keep_reservation(&mut self) {
        if let Some(reserved) = self.reservation
            && !self.data.holds(reserved)
            && self.second.as_ref().is_none_or(|second| !second.cache.holds(reserved))
        {
            self.reservation = None;
        }
    }
}
