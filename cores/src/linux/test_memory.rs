//! A memory for the tests of this module: flat, and with access tags.

use super::{GuestMemory, Protection};
use crate::FlatMemory;
use narthex_memory::port::AccessFault;
use narthex_memory::{AccessTags, Tag};
use std::ops::Range;

/// Flat memory, and tags of some of it.
#[derive(Default)]
pub(crate) struct TestMemory {
    memory: FlatMemory,
    /// Those that a program asked for.
    pub(crate) tags: Option<AccessTags>,
}

impl TestMemory {
    /// The protection of the page that holds `address`.
    pub(crate) fn protection(&self, address: u64) -> Option<Protection> {
        self.memory.protection(address)
    }

    /// The little-endian number at `address`, which must be mapped.
    pub(crate) fn number(&mut self, address: u64) -> u64 {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes).expect("the test reads mapped memory");
        u64::from_le_bytes(bytes)
    }

    /// The text at `address` up to its zero byte.
    pub(crate) fn text(&mut self, address: u64) -> String {
        let mut bytes = Vec::new();
        for at in address.. {
            let mut byte = [0];
            self.read(at, &mut byte).expect("the test reads mapped memory");
            if byte[0] == 0 {
                break;
            }
            bytes.push(byte[0]);
        }
        String::from_utf8(bytes).expect("the test reads text")
    }
}

impl GuestMemory for TestMemory {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), AccessFault> {
        self.memory.read(address, bytes)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), AccessFault> {
        self.memory.write(address, bytes)
    }

    fn map(&mut self, address: u64, length: u64, protection: Protection) {
        self.memory.map(address, length, protection);
    }

    fn unmap(&mut self, address: u64, length: u64) {
        self.memory.unmap(address, length);
    }

    fn forget_code(&mut self, everywhere: bool) {
        self.memory.forget_code(everywhere);
    }

    fn tag(&mut self, range: Range<u64>, block_bytes: u64) -> bool {
        AccessTags::add_to(&mut self.tags, range, block_bytes)
    }

    fn bytes_tagged(&mut self, address: u64, limit: u64, needed: Tag) -> u64 {
        self.tags.as_ref().map_or(limit, |tags| tags.allowed_bytes(address, limit, needed))
    }
}
