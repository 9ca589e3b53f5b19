//! What a cache does above or below another one of the same processor.

use super::{Cache, Line};
use crate::access_tags::Tag;
use crate::protocols::State;
use crate::transaction::copy_block;

impl Cache {
    /// Whether it holds the block of `address`.
    pub(crate) fn holds(&self, address: u64) -> bool {
        self.find(address).is_some()
    }

    /// The lines of the set of an address.
    pub(crate) fn lines_for(&self, address: u64) -> std::ops::Range<Line> {
        self.lines_of(self.set_of(address))
    }

    /// The bytes at `address`, which lie in one block, if that is present.
    pub(crate) fn bytes_at(&self, address: u64, length: usize) -> Option<&[u8]> {
        let start = self.place_of(address)?;
        Some(&self.data[start..start + length])
    }

    /// The block of `address` if it is present and newer than what is below.
    pub(crate) fn dirty_bytes(&self, address: u64) -> Option<&[u8]> {
        let line = self.find(address)?;
        self.line_state(line).is_dirty().then(|| self.line_bytes(line))
    }

    /// Gives a block that it holds another state.
    pub(crate) fn change(&mut self, address: u64, state: State) {
        if let Some(line) = self.find(address) {
            self.set_state(line, state);
        }
    }

    /// The line that takes in the block of `address`, which it lacks; and the block
    /// in it with its bytes, if those are newer than what is below.
    pub(crate) fn line_to_refill(&self, address: u64) -> (Line, Option<(u64, &[u8])>) {
        let line = self.replaced_line(address);
        let is_dirty = self.line_state(line).is_dirty();
        (line, is_dirty.then(|| (self.block_in(line), self.line_bytes(line))))
    }

    /// Takes the block of an access, which it lacks, from the cache below: where its bytes
    /// are here then, and whether a dirty block had to go down for it. None if more has to
    /// be looked at than the front of that cache, which allows loads or stores by `column`.
    #[inline(always)]
    pub(crate) fn refill_from<const SIZE: usize>(
        &mut self,
        below: &mut Cache,
        address: u64,
        column: usize,
        (state, most): (State, Tag),
    ) -> Option<(usize, bool)> {
        let source = below.front_bytes::<SIZE>(address, column)?;
        let (set, tag) = (self.set_of(address), self.tag_of(address));
        let line = self.line_that_lacks(set, tag)?;
        let is_dirty = self.states[line] >= State::Owned as u8;
        if is_dirty {
            let start = below.place_of(self.block_in(line))?;
            copy_block(&mut below.data[start..start + self.block_bytes], self.line_bytes(line));
        }
        let source = &below.data[source - self.offset_of(address)..][..self.block_bytes];
        copy_block(self.bytes_to_fill(set, line), source);
        self.describe(set, line, tag, state, most);
        Some(((address & self.place_mask) as usize, is_dirty))
    }

    /// The line of a set that takes in a block with this tag; none if the set has it.
    #[inline(always)]
    pub(super) fn line_that_lacks(&self, set: usize, tag: u64) -> Option<Line> {
        let lines = self.lines_of(set);
        let mut way = self.oldest_way(set);
        for (own_way, &own) in self.tags[lines.clone()].iter().enumerate().rev() {
            if own == tag {
                return None;
            }
            way = if own == 0 { own_way } else { way };
        }
        Some(lines.start + way)
    }

    /// Where the bytes at `address` begin, if their block is present.
    pub(super) fn place_of(&self, address: u64) -> Option<usize> {
        Some(self.start_of(self.find(address)?) + self.offset_of(address))
    }

    /// As [`Cache::allow`], unless more is allowed already.
    pub(crate) fn allow_at_least(&mut self, address: u64, least: Tag) {
        if let Some(line) = self.find(address)
            && self.allowed[line] < least as u8
        {
            self.allowed[line] = least as u8;
            self.refresh_front(line);
        }
    }

    /// Takes the block of `address` into a line, whatever that held.
    pub(crate) fn refill(&mut self, line: Line, address: u64, state: State, data: &[u8], most: Tag) {
        self.put(line, address, state, Some(data), most);
    }
}
