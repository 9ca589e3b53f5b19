//! What a cache does above or below another one of the same processor.

use super::{Cache, Line};
use crate::access_tags::Tag;
use crate::protocols::State;

impl Cache {
    /// Whether it holds the block of `address`.
    pub(crate) fn holds(&self, address: u64) -> bool {
        self.find(address).is_some()
    }

    /// The bytes at `address`, which lie in one block, if that is present.
    pub(crate) fn bytes_at(&self, address: u64, length: usize) -> Option<&[u8]> {
        let start = self.find(address)? * self.block_bytes + (address & self.offset_mask) as usize;
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

    /// Takes the block of `address` into a line, whatever that held.
    pub(crate) fn refill(&mut self, line: Line, address: u64, state: State, data: &[u8], most: Tag) {
        self.put(line, address, state, Some(data), most);
    }
}
