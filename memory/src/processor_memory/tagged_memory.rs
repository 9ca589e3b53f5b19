//! The tagged memory of a processor's process: its tags, and what they let the
//! cache's front row answer.
//!
//! Invariant: the front row of a line answers nothing that the tag of any of
//! its blocks forbids. So a line's rights are set when it comes in (a miss, a
//! snarfed block) and when a tag of it changes; a hit looks at no tag.

use std::ops::Range;

use crate::access_tags::{AccessTags, Tag, TagError};

use super::ProcessorMemory;

impl ProcessorMemory {
    /// Makes the process's pages in `range`, which no cache holds, tagged memory;
    /// false if it has some already, or the range or the block is none that can
    /// be tagged.
    pub fn tag_memory(&mut self, range: Range<u64>, block_bytes: u64) -> bool {
        AccessTags::add_to(&mut self.tags, range, block_bytes)
    }

    /// The process's tags, if it has tagged memory.
    pub fn tags(&self) -> Option<&AccessTags> {
        self.tags.as_ref()
    }

    /// Lets the fast way to the block of `address` answer at `most` this, and
    /// nothing that its tags forbid.
    pub(super) fn allow(&mut self, address: u64, most: Tag) {
        self.data.allow(address, self.most_allowed(address, most));
    }

    /// What of `most` the tags of the block of `address`, and stores that wait in the store queue, do not forbid.
    pub(super) fn most_allowed(&self, address: u64, most: Tag) -> Tag {
        if self.tags.is_none() && self.store_queue.is_none() {
            return most;
        }
        let (block, bytes) = (self.data.block_of(address), self.data.block_bytes() as u64);
        let by_tags = self.tags.as_ref().map_or(most, |tags| tags.least(block, bytes));
        let by_stores = self.store_queue.as_ref().map_or(most, |queue| queue.most_fast(block, bytes));
        most.min(by_tags).min(by_stores)
    }

    /// Changes a tag. The store of a reservation fails that was made before: the
    /// block may have got new bytes behind its back.
    pub(super) fn set_tag(&mut self, block: u64, number: u64) -> Result<(), TagError> {
        let tags = self.tags.as_mut().ok_or(TagError::NoMemory)?;
        let tag = Tag::from_number(number).ok_or(TagError::UnknownTag(number))?;
        tags.set(block, tag)?;
        let end = block + tags.block_bytes();
        self.reservation = None;
        self.statistics.tag_changes.increment();
        for line in (block..end).step_by(self.data.block_bytes()) {
            self.allow(line, Tag::Write);
        }
        Ok(())
    }
}
