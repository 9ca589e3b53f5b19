//! Lines of the tile's scratchpad in the data cache (sarc, Section 3: "selective L1-caching of L2
//! scratchpad regions").
//!
//! A scratchpad is addressed as a device is: a load of it crosses to the second level, and a
//! store is posted there. Where the device lets the data cache have the line of a load, the next
//! loads hit:
//!
//! ```text
//!   load ── miss ──► second level ── take_scratchpad_line ──► load ── hit
//!   own store ── into the line, if it is here, and posted below as ever (write-through)
//!   anything else that changes the line below ── drop_scratchpad_line ──► load ── miss
//! ```
//!
//! The line is taken when the second level reads it, while the processor waits for the value, and
//! becomes readable when that is there. What arrives between the two drops it again, so that
//! no later load finds what was before. It is never dirty, and leaves silently.

use crate::access_tags::Tag;
use crate::port::Outcome;
use crate::protocols::{Access, State};

use super::{ProcessorMemory, ProcessorPort};

impl ProcessorMemory {
    /// The data cache takes a line of scratchpad from which the processor loads, as many blocks as
    /// it is long, unless a dirty block is in the place of one. A cache of longer blocks takes none.
    pub fn take_scratchpad_line(&mut self, address: u64, bytes: &[u8]) {
        for (part, address) in
            bytes.chunks_exact(self.data.block_bytes()).zip(self.blocks_of(address, bytes.len()))
        {
            let block = self.data.block_of(address);
            if let (line, None) = self.data.line_to_refill(block) {
                self.data.refill(line, block, State::Shared, part, Tag::None);
            }
        }
    }

    /// A line of scratchpad of so many bytes has changed below.
    pub fn drop_scratchpad_line(&mut self, address: u64, bytes: usize) {
        for address in self.blocks_of(address, bytes) {
            self.data.remove(address);
        }
    }

    /// The addresses of the data cache's blocks in a line.
    fn blocks_of(&self, address: u64, bytes: usize) -> impl Iterator<Item = u64> + use<> {
        (address..address + bytes as u64).step_by(self.data.block_bytes())
    }

    /// Whether the data cache has a part of a line of scratchpad.
    pub fn has_scratchpad_line(&self, address: u64, bytes: usize) -> bool {
        self.blocks_of(address, bytes).any(|address| self.data.holds(address))
    }

    /// The load is over with which the data cache took the line.
    pub(super) fn open_scratchpad_line(&mut self, address: u64) {
        if self.second.is_some() {
            self.data.allow(address, Tag::Read);
        }
    }

    /// A store goes through the data cache.
    pub(super) fn store_through_to_scratchpad(&mut self, address: u64, bytes: &[u8]) {
        if self.second.is_some() && self.data.holds(address) {
            self.data.write(address, bytes);
        }
    }
}

impl ProcessorPort<'_> {
    /// A load from a line of scratchpad that the data cache has, but not as the most recent of
    /// its set.
    pub(super) fn load_scratchpad(&mut self, address: u64, size: usize) -> Option<Outcome<u64>> {
        // Scratchpad is lines of a second level.
        if self.own.second.is_none()
            || !self.own.data.holds(address)
            || self.own.data.access(address, Access::Load).is_err()
        {
            return None;
        }
        let mut bytes = [0; 8];
        self.own.data.read(address, &mut bytes[..size]);
        Some(Outcome::Done(u64::from_le_bytes(bytes)))
    }
}

#[cfg(test)]
mod tests;
