//! The front of a cache: what a hit looks at.
//!
//! Each set has a row with the tag of its most recently used line, once where it may be
//! read and once where it may be written without a transaction. A hit is one compare
//! with it, exact for every replacement order, because the line that hits is already the
//! most recent. Whatever the row does not answer (other ways, the silent step from
//! exclusive to modified, misses) goes the slow way and may change the row.

use super::{Cache, Line, VALID};
use crate::access_tags::Tag;
use crate::protocols::State;

/// Words in a front row: readable tag, writable tag, data offset, unused.
pub(super) const FRONT_WORDS: usize = 4;

impl Cache {
    /// The value at `address` if its line is the most recent of its set and
    /// readable, and the access is aligned.
    #[inline(always)]
    pub fn load_hit<const SIZE: usize>(&self, address: u64) -> Option<u64> {
        let bytes = self.front_bytes::<SIZE>(address, 0)?;
        let mut value = [0; 8];
        value[..SIZE].copy_from_slice(&self.data[bytes..bytes + SIZE]);
        Some(u64::from_le_bytes(value))
    }

    /// Stores `value` if the line of `address` is the most recent of its set
    /// and modified already, and the access is aligned.
    #[inline(always)]
    pub fn store_hit<const SIZE: usize>(&mut self, address: u64, value: u64) -> bool {
        let Some(bytes) = self.front_bytes::<SIZE>(address, 1) else {
            return false;
        };
        self.data[bytes..bytes + SIZE].copy_from_slice(&value.to_le_bytes()[..SIZE]);
        true
    }

    /// Whether the line of `address` is the most recent of its set and readable.
    #[inline(always)]
    pub fn fetch_hit(&self, address: u64) -> bool {
        self.front_bytes::<1>(address, 0).is_some()
    }

    /// Where in `data` the bytes of `address` are, if the front row says so.
    /// The tag keeps the address bits that would make the access misaligned, so
    /// that one compare refuses those too.
    #[inline(always)]
    pub(super) fn front_bytes<const SIZE: usize>(&self, address: u64, column: usize) -> Option<usize> {
        let set = (address >> self.block_shift) & self.set_mask;
        let row = set as usize * FRONT_WORDS;
        let row = self.front.get(row..row + FRONT_WORDS)?;
        let tag = address & (!self.offset_mask | (SIZE as u64 - 1)) | VALID;
        (row[column] == tag).then(|| row[2] as usize + (address & self.offset_mask) as usize)
    }

    /// Where the front row begins of the set of a line that holds a block.
    fn front_row(&self, line: Line) -> usize {
        self.set_of(self.tags[line]) * FRONT_WORDS
    }

    /// Writes the front row of the line's set anew if it describes this line,
    /// which holds a block.
    pub(super) fn refresh_front(&mut self, line: Line) {
        if self.front[self.front_row(line) + 2] == (line * self.block_bytes) as u64 {
            self.write_front(line);
        }
    }

    /// Makes the front row of the line's set describe this line, which holds a block.
    pub(super) fn write_front(&mut self, line: Line) {
        let (tag, state, allowed) = (self.tags[line], self.states[line], self.allowed[line]);
        let fast_loads = state != State::Invalid as u8 && allowed >= Tag::Read as u8;
        let fast_stores = state == State::Modified as u8 && allowed >= Tag::Write as u8;
        let answer = |is_fast| if is_fast { tag } else { 0 };
        let row = self.front_row(line);
        self.front[row..row + FRONT_WORDS].copy_from_slice(&[
            answer(fast_loads),
            answer(fast_stores),
            (line * self.block_bytes) as u64,
            0,
        ]);
    }
}
