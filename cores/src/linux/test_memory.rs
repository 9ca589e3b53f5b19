//! A memory for the tests of this module: pages in a map.

use super::{GuestMemory, PAGE_BYTES, Protection};
use narthex_memory::port::AccessFault;
use narthex_memory::{AccessTags, Tag};
use std::collections::BTreeMap;
use std::ops::Range;

/// Pages by address, with their protection, and tags of some.
#[derive(Default)]
pub(crate) struct TestMemory {
    pages: BTreeMap<u64, (Protection, Vec<u8>)>,
    /// Those that a program asked for.
    pub(crate) tags: Option<AccessTags>,
}

impl TestMemory {
    /// The protection of the page that holds `address`.
    pub(crate) fn protection(&self, address: u64) -> Option<Protection> {
        self.pages.get(&(address / PAGE_BYTES)).map(|page| page.0)
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

    fn byte(&mut self, address: u64) -> Result<&mut u8, AccessFault> {
        let page = self.pages.get_mut(&(address / PAGE_BYTES)).ok_or(AccessFault::Unmapped)?;
        Ok(&mut page.1[(address % PAGE_BYTES) as usize])
    }
}

impl GuestMemory for TestMemory {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), AccessFault> {
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = *self.byte(address.wrapping_add(index as u64))?;
        }
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), AccessFault> {
        for (index, byte) in bytes.iter().enumerate() {
            *self.byte(address.wrapping_add(index as u64))? = *byte;
        }
        Ok(())
    }

    fn map(&mut self, address: u64, length: u64, protection: Protection) {
        for page in address / PAGE_BYTES..(address + length) / PAGE_BYTES {
            let blank = || (protection, vec![0; PAGE_BYTES as usize]);
            self.pages.entry(page).or_insert_with(blank).0 = protection;
        }
    }

    fn unmap(&mut self, address: u64, length: u64) {
        for page in address / PAGE_BYTES..(address + length) / PAGE_BYTES {
            self.pages.remove(&page);
        }
    }

    fn tag(&mut self, range: Range<u64>, block_bytes: u64) -> bool {
        AccessTags::add_to(&mut self.tags, range, block_bytes)
    }

    fn bytes_tagged(&mut self, address: u64, limit: u64, needed: Tag) -> u64 {
        self.tags.as_ref().map_or(limit, |tags| tags.allowed_bytes(address, limit, needed))
    }
}
