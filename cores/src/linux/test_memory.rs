//! A memory for the tests of this module: pages in a map.

use super::{GuestMemory, PAGE_BYTES, Protection};
use narthex_memory::port::AccessFault;
use std::collections::BTreeMap;

/// Pages by address, with their protection.
#[derive(Default)]
pub(crate) struct TestMemory {
    pages: BTreeMap<u64, (Protection, Vec<u8>)>,
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
}
