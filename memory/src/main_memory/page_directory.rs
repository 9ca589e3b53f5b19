//! Which pages of a memory exist, and their bytes.
//!
//! Programs use a few stretches of their address space: code and data, heap, stack, and the
//! queues of an interface. So pages lie in *regions*, each a flat table, and the regions are few
//! enough to be searched. Most accesses are to a region that was used lately, whose place a memory
//! remembers ([`RecentRegions`]); a program's image has no such memory, because all nodes share it.

use std::cell::Cell;

use super::{PAGE_BYTES, Page};

/// Pages in a region.
const REGION_PAGES: u64 = 256;
/// Places for regions that were used lately.
const RECENT: usize = 8;

/// The pages that exist, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct PageDirectory {
    /// In the order of their numbers.
    regions: Vec<Region>,
    /// How many pages exist.
    count: usize,
}

/// Where the region with these last bits of its number was found lately.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentRegions([Cell<usize>; RECENT]);

#[derive(Clone, Debug)]
struct Region {
    number: u64,
    pages: Box<[Option<Box<Page>>; REGION_PAGES as usize]>,
}

impl PageDirectory {
    /// How many pages exist.
    pub fn len(&self) -> usize {
        self.count
    }

    /// A page, if it exists.
    pub fn get(&self, page: u64) -> Option<&Page> {
        let place = self.search(page / REGION_PAGES)?;
        self.regions[place].pages[(page % REGION_PAGES) as usize].as_deref()
    }

    /// The same for a memory that remembers regions.
    #[inline]
    pub fn get_near(&self, page: u64, recent: &RecentRegions) -> Option<&Page> {
        let place = self.place_of(page / REGION_PAGES, recent)?;
        self.regions[place].pages[(page % REGION_PAGES) as usize].as_deref()
    }

    /// The same, to be written.
    #[inline]
    pub fn get_near_mut(&mut self, page: u64, recent: &RecentRegions) -> Option<&mut Page> {
        let place = self.place_of(page / REGION_PAGES, recent)?;
        self.regions[place].pages[(page % REGION_PAGES) as usize].as_deref_mut()
    }

    /// A page, which is made if it does not exist.
    pub fn get_or_insert_with(&mut self, page: u64, make: impl FnOnce() -> Box<Page>) -> &mut Page {
        let number = page / REGION_PAGES;
        let place = self.regions.binary_search_by_key(&number, |region| region.number);
        let place = place.unwrap_or_else(|place| {
            let pages = Box::new([const { None }; REGION_PAGES as usize]);
            self.regions.insert(place, Region { number, pages });
            place
        });
        let page = &mut self.regions[place].pages[(page % REGION_PAGES) as usize];
        self.count += usize::from(page.is_none());
        page.get_or_insert_with(make)
    }

    /// A page exists no more.
    pub fn remove(&mut self, page: u64) {
        let Some(place) = self.search(page / REGION_PAGES) else { return };
        let removed = self.regions[place].pages[(page % REGION_PAGES) as usize].take();
        self.count -= usize::from(removed.is_some());
    }

    /// The pages that exist and their numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Page)> {
        self.regions.iter().flat_map(|Region { number, pages }| {
            let numbered = (number * REGION_PAGES..).zip(&pages[..]);
            numbered.filter_map(|(number, page)| Some((number, &**page.as_ref()?)))
        })
    }

    /// Where a region is among the regions.
    #[inline]
    fn place_of(&self, number: u64, RecentRegions(recent): &RecentRegions) -> Option<usize> {
        let recent = &recent[number as usize % RECENT];
        match self.regions.get(recent.get()) {
            Some(region) if region.number == number => Some(recent.get()),
            _ => self.search(number).inspect(|&place| recent.set(place)),
        }
    }

    #[inline(never)]
    fn search(&self, number: u64) -> Option<usize> {
        self.regions.binary_search_by_key(&number, |region| region.number).ok()
    }
}

/// A page of zeros.
pub(super) fn zeros() -> Box<Page> {
    Box::new([0; PAGE_BYTES as usize])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn page_of(byte: u8) -> Box<Page> {
        Box::new([byte; PAGE_BYTES as usize])
    }

    proptest! {
        /// Numbers that share places among the recent ones, and regions.
        #[test]
        fn a_directory_is_a_map(steps in prop::collection::vec((0u64..40, 0u64..3, any::<u8>(), any::<bool>()), 1..60)) {
            let (mut directory, recent) = (PageDirectory::default(), RecentRegions::default());
            let mut map: BTreeMap<u64, u8> = BTreeMap::new();
            for (region, place, byte, is_removed) in steps {
                let page = region * REGION_PAGES + place * (REGION_PAGES / 2 - 1);
                if is_removed {
                    directory.remove(page);
                    map.remove(&page);
                } else {
                    directory.get_or_insert_with(page, || page_of(byte));
                    map.entry(page).or_insert(byte);
                }
                prop_assert_eq!(directory.get(page).map(|page| page[0]), map.get(&page).copied());
                let near = directory.get_near(page, &recent).map(|page| page[0]);
                prop_assert_eq!(near, map.get(&page).copied());
                let near = directory.get_near_mut(page, &recent).map(|page| page[7]);
                prop_assert_eq!(near, map.get(&page).copied());
                prop_assert_eq!(directory.len(), map.len());
                let pages = directory.iter().map(|(number, page)| (number, page[1]));
                prop_assert!(pages.eq(map.iter().map(|(&number, &byte)| (number, byte))));
            }
        }
    }
}
