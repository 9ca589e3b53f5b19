//! The page table of a process: which addresses exist and how they may be used.
//!
//! A page has attributes only: where it lies in the node's memory follows from
//! its process ([`crate::translation`]). Attributes are looked up on cache misses and on
//! uncached accesses, never on a hit.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::main_memory::PAGE_BYTES;
use crate::port::AccessFault;

/// How the memory system treats accesses to a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PageKind {
    /// Ordinary memory, or a device's memory that processors may cache.
    Cachable,
    /// Memory that is never cached: each access goes to its home.
    Uncached,
    /// Device registers: uncached, and accesses have side effects.
    Device,
    /// The processor's own block buffers.
    BlockBuffers,
    /// Device registers whose stores may be combined before they cross the interconnect.
    Combining,
    /// The local memory of a processor without caches: accesses are made at once.
    Local,
}

impl PageKind {
    /// Whether it has bytes that the processor may access at any alignment.
    pub fn is_memory(self) -> bool {
        matches!(self, PageKind::Cachable | PageKind::Local)
    }
}

/// The attributes of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PageAttributes {
    /// How accesses are carried out.
    pub kind: PageKind,
    /// Loads are allowed.
    pub readable: bool,
    /// Stores are allowed.
    pub writable: bool,
    /// Instructions may be fetched.
    pub executable: bool,
    /// A processor waits until its store has been done there, whatever its store buffer posts.
    pub stores_wait: bool,
}

impl PageAttributes {
    /// Cachable memory for data.
    pub const DATA: PageAttributes = PageAttributes {
        kind: PageKind::Cachable,
        readable: true,
        writable: true,
        executable: false,
        stores_wait: false,
    };
    /// Cachable memory that may only be read.
    pub const READ_ONLY: PageAttributes = PageAttributes { writable: false, ..Self::DATA };
    /// Device registers.
    pub const DEVICE: PageAttributes = PageAttributes { kind: PageKind::Device, ..Self::DATA };
    /// Device registers whose stores may be combined.
    pub const COMBINING: PageAttributes = PageAttributes { kind: PageKind::Combining, ..Self::DATA };
    /// The processor's block buffers.
    pub const BLOCK_BUFFERS: PageAttributes = PageAttributes { kind: PageKind::BlockBuffers, ..Self::DATA };
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Region {
    end: u64,
    attributes: PageAttributes,
}

/// The pages of a process, as regions of equal attributes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PageTable {
    /// By first address.
    regions: BTreeMap<u64, Region>,
    /// Pages that were looked up lately, each in the place of its number's last bits.
    #[serde(skip)]
    recent: [Cell<Option<(u64, PageAttributes)>>; RECENT],
}

/// Places for pages that were looked up lately: the registers and pointers of an
/// interface, and a little data.
const RECENT: usize = 8;

impl PageTable {
    /// Gives the pages that `address .. address + length` touches these
    /// attributes, whatever they had before.
    pub fn map(&mut self, address: u64, length: u64, attributes: PageAttributes) {
        let (start, end) = page_bounds(address, length);
        if start == end {
            return;
        }
        self.cut(start, end);
        self.regions.insert(start, Region { end, attributes });
    }

    /// Makes the pages that the range touches disappear.
    pub fn unmap(&mut self, address: u64, length: u64) {
        let (start, end) = page_bounds(address, length);
        self.cut(start, end);
    }

    /// The attributes of the page at `address`.
    #[inline]
    pub fn lookup(&self, address: u64) -> Option<PageAttributes> {
        let page = address / PAGE_BYTES;
        match self.recent[page as usize % RECENT].get() {
            Some((recent, attributes)) if recent == page => Some(attributes),
            _ => self.look_up(page),
        }
    }

    #[inline(never)]
    fn look_up(&self, page: u64) -> Option<PageAttributes> {
        let address = page * PAGE_BYTES;
        let (_, region) = self.regions.range(..=address).next_back()?;
        let attributes = (address < region.end).then_some(region.attributes)?;
        self.recent[page as usize % RECENT].set(Some((page, attributes)));
        Some(attributes)
    }

    /// The attributes of the pages that the range touches, the last ones
    /// first, and once for neighbours that were mapped together.
    pub fn within(&self, address: u64, length: u64) -> impl Iterator<Item = PageAttributes> {
        let (start, end) = page_bounds(address, length);
        let regions = self.regions.range(..end).rev().take_while(move |(_, region)| region.end > start);
        regions.map(|(_, region)| region.attributes)
    }

    /// The attributes of the page at `address` if it may be loaded from.
    pub fn check_load(&self, address: u64) -> Result<PageAttributes, AccessFault> {
        self.check(address, |page| page.readable)
    }

    /// The attributes of the page at `address` if it may be stored to.
    pub fn check_store(&self, address: u64) -> Result<PageAttributes, AccessFault> {
        self.check(address, |page| page.writable)
    }

    /// The attributes of the page at `address` if it may be executed.
    pub fn check_fetch(&self, address: u64) -> Result<PageAttributes, AccessFault> {
        self.check(address, |page| page.executable)
    }

    fn check(
        &self,
        address: u64,
        allowed: impl Fn(&PageAttributes) -> bool,
    ) -> Result<PageAttributes, AccessFault> {
        let page = self.lookup(address).ok_or(AccessFault::Unmapped)?;
        if allowed(&page) { Ok(page) } else { Err(AccessFault::Protected) }
    }

    /// Removes `start..end` from every region, splitting those it falls into.
    fn cut(&mut self, start: u64, end: u64) {
        self.recent = Default::default();
        while let Some((&first, &region)) = self.regions.range(..end).next_back()
            && region.end > start
        {
            self.regions.remove(&first);
            if region.end > end {
                self.regions.insert(end, region);
            }
            if first < start {
                self.regions.insert(first, Region { end: start, ..region });
            }
        }
    }
}

/// The bounds of the pages that a range touches.
fn page_bounds(address: u64, length: u64) -> (u64, u64) {
    let start = address & !(PAGE_BYTES - 1);
    let end = address.saturating_add(length).div_ceil(PAGE_BYTES).saturating_mul(PAGE_BYTES);
    (start, end.max(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_device_page_inside_memory_splits_it() {
        let mut pages = PageTable::default();
        pages.map(0x1000, 0x3000, PageAttributes::DATA);
        pages.map(0x2000, 8, PageAttributes::DEVICE);
        assert_eq!(pages.lookup(0x1fff), Some(PageAttributes::DATA));
        assert_eq!(pages.lookup(0x2fff), Some(PageAttributes::DEVICE));
        assert_eq!(pages.lookup(0x3000), Some(PageAttributes::DATA));
        assert_eq!(pages.lookup(0x4000), None);
    }

    #[test]
    fn a_store_to_a_read_only_page_is_a_protection_fault() {
        let mut pages = PageTable::default();
        pages.map(0x1000, 1, PageAttributes::READ_ONLY);
        assert!(pages.check_load(0x1008).is_ok());
        assert_eq!(pages.check_store(0x1008), Err(AccessFault::Protected));
        assert_eq!(pages.check_store(0x2008), Err(AccessFault::Unmapped));
    }

    #[test]
    fn a_page_says_what_may_be_done_with_it() {
        let mut pages = PageTable::default();
        pages.map(
            0x1000,
            1,
            PageAttributes { readable: false, executable: true, ..PageAttributes::READ_ONLY },
        );
        pages.map(0x2000, 1, PageAttributes::BLOCK_BUFFERS);
        let checks =
            |address| [pages.check_load(address), pages.check_store(address), pages.check_fetch(address)];
        assert_eq!(
            checks(0x1ffe).map(|check| check.err()),
            [Some(AccessFault::Protected), Some(AccessFault::Protected), None]
        );
        assert_eq!(
            checks(0x2000),
            [
                Ok(PageAttributes::BLOCK_BUFFERS),
                Ok(PageAttributes::BLOCK_BUFFERS),
                Err(AccessFault::Protected)
            ]
        );
        assert_eq!(checks(0x3000), [Err(AccessFault::Unmapped); 3]);
    }

    #[test]
    fn the_kinds_of_pages_differ_in_what_serves_them_and_in_nothing_else() {
        let kinds = [PageAttributes::DATA, PageAttributes::DEVICE, PageAttributes::BLOCK_BUFFERS];
        assert_eq!(
            kinds.map(|page| page.kind),
            [PageKind::Cachable, PageKind::Device, PageKind::BlockBuffers]
        );
        assert!(kinds.iter().all(|page| page.readable && page.writable && !page.executable));
        assert_eq!(PageAttributes::READ_ONLY, PageAttributes { writable: false, ..PageAttributes::DATA });
    }

    #[test]
    fn a_range_has_the_pages_that_it_touches_the_last_ones_first() {
        let mut pages = PageTable::default();
        pages.map(0x1000, 0x2000, PageAttributes::DATA);
        pages.map(0x3000, 0x1000, PageAttributes::DEVICE);
        let within = |address, length| pages.within(address, length).collect::<Vec<_>>();
        assert_eq!(within(0x2fff, 2), [PageAttributes::DEVICE, PageAttributes::DATA]);
        assert_eq!(within(0x3001, 2), [PageAttributes::DEVICE]);
        assert_eq!(within(0x2ff8, 8), [PageAttributes::DATA]);
        assert_eq!((within(0, 0x1000), within(0x4000, 8)), (vec![], vec![]));
    }

    #[test]
    fn the_pages_of_a_range_are_those_that_its_first_and_last_byte_touch() {
        assert_eq!(page_bounds(0x1fff, 2), (0x1000, 0x3000));
        assert_eq!(page_bounds(0x1001, 0xfff), (0x1000, 0x2000));
        assert_eq!(page_bounds(0x1000, 0), (0x1000, 0x1000));
        assert_eq!(page_bounds(u64::MAX - 1, 9), (u64::MAX - 0xfff, u64::MAX));
    }

    proptest! {
        #[test]
        fn maps_and_unmaps_agree_with_a_page_by_page_table(
            steps in proptest::collection::vec((0u64..40, 0u64..10, any::<bool>()), 0..40)
        ) {
            let mut pages = PageTable::default();
            let mut flat = [None; 64];
            for (page, count, map) in steps {
                let (address, length) = (page * PAGE_BYTES, count * PAGE_BYTES);
                if map {
                    pages.map(address, length, PageAttributes::DATA);
                } else {
                    pages.unmap(address, length);
                }
                for slot in &mut flat[page as usize..(page + count) as usize] {
                    *slot = map.then_some(PageAttributes::DATA);
                }
                for (page, expected) in flat.iter().enumerate() {
                    prop_assert_eq!(pages.lookup(page as u64 * PAGE_BYTES + 17), *expected);
                }
            }
        }
    }
}
