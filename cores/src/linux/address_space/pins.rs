//! Pinned pages: those that a device may use, and that therefore stay.
//!
//! A page is pinned as often as it was asked for, and stays until it has been given up
//! as often. The limit counts pages, not pins.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{AddressSpace, PAGE_BYTES, Refusal, Use, pages};
use crate::linux::Protection;

/// How often each page is pinned, by its address.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Pins(BTreeMap<u64, u32>);

impl Pins {
    /// Whether a page of the range is pinned.
    pub fn any_in(&self, range: &Range<u64>) -> bool {
        !range.is_empty() && self.0.range(range.clone()).next().is_some()
    }
}

impl AddressSpace {
    /// Pins the pages that the range touches, of which at most `limit` may be pinned.
    /// Gives their addresses.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] where the program has no memory of its own that it may write;
    /// [`Refusal::NoMemory`] beyond the limit. Then none is pinned.
    pub fn pin(&mut self, address: u64, length: u64, limit: u64) -> Result<Vec<u64>, Refusal> {
        let range = self.touched(address, length)?;
        let is_own =
            self.within(&range).all(|(_, region)| !matches!(region.purpose, Use::Devices | Use::Shared));
        if !is_own || !self.allows(range.start, range.end - range.start, Protection::READ_WRITE) {
            return Err(Refusal::Invalid);
        }
        let pages = || range.clone().step_by(PAGE_BYTES as usize);
        let new = pages().filter(|page| !self.pins.0.contains_key(page)).count() as u64;
        if new > limit.saturating_sub(self.pinned_pages()) {
            return Err(Refusal::NoMemory);
        }
        pages().for_each(|page| *self.pins.0.entry(page).or_default() += 1);
        Ok(pages().collect())
    }

    /// Takes back a pin of each page that the range touches; gives how many they are.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] if one of them is not pinned. Then none is unpinned.
    pub fn unpin(&mut self, address: u64, length: u64) -> Result<u64, Refusal> {
        let range = self.touched(address, length)?;
        let pages = || range.clone().step_by(PAGE_BYTES as usize);
        if !pages().all(|page| self.pins.0.contains_key(&page)) {
            return Err(Refusal::Invalid);
        }
        for page in pages() {
            let pins = self.pins.0.get_mut(&page).expect("looked at before");
            *pins -= 1;
            if *pins == 0 {
                self.pins.0.remove(&page);
            }
        }
        Ok(pages().count() as u64)
    }

    /// How many pages are pinned.
    pub fn pinned_pages(&self) -> u64 {
        self.pins.0.len() as u64
    }

    /// The whole pages that a range touches, of which there is at least one.
    fn touched(&self, address: u64, length: u64) -> Result<Range<u64>, Refusal> {
        let end =
            address.checked_add(length).filter(|&end| end <= super::STACK_TOP).ok_or(Refusal::Invalid)?;
        if length == 0 { Err(Refusal::Invalid) } else { Ok(pages(address..end)) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Wanted;
    use super::*;
    use crate::linux::test_memory::TestMemory;

    /// A space with four pages of the program's, and their address.
    fn four_pages() -> (AddressSpace, TestMemory, u64) {
        let (mut space, mut memory) = (AddressSpace::with_heap_at(0x10_0000), TestMemory::default());
        let length = 4 * PAGE_BYTES;
        let address = space.map(&mut memory, Wanted::Anywhere, length, Protection::READ_WRITE).unwrap();
        (space, memory, address)
    }

    #[test]
    fn a_range_pins_the_pages_that_it_touches_as_often_as_it_is_pinned() {
        let (mut space, _, address) = four_pages();
        let two = [address, address + PAGE_BYTES];
        assert_eq!(space.pin(address + PAGE_BYTES - 1, 2, 2), Ok(two.to_vec()));
        assert_eq!(space.pin(address, 1, 2), Ok(two[..1].to_vec()), "the limit counts pages");
        assert_eq!(space.unpin(address, 1), Ok(1));
        assert_eq!(space.pinned_pages(), 2);
        assert_eq!(space.unpin(address, 2 * PAGE_BYTES), Ok(2));
        assert_eq!(space.pinned_pages(), 0);
        assert_eq!(space.unpin(address, 1), Err(Refusal::Invalid), "it is not pinned any more");
    }

    #[test]
    fn pins_beyond_the_limit_or_of_what_is_not_the_programs_are_refused_whole() {
        let (mut space, mut memory, address) = four_pages();
        assert_eq!(space.pin(address, 3 * PAGE_BYTES, 2), Err(Refusal::NoMemory));
        assert_eq!(space.pin(address, 5 * PAGE_BYTES, 9), Err(Refusal::Invalid), "a hole");
        assert_eq!(space.pin(address, 0, 9), Err(Refusal::Invalid));
        assert_eq!(space.pin(u64::MAX, 2, 9), Err(Refusal::Invalid));
        space.protect(&mut memory, address, PAGE_BYTES, Protection::READ).unwrap();
        assert_eq!(space.pin(address, 1, 9), Err(Refusal::Invalid), "it may not be written");
        assert_eq!(space.pinned_pages(), 0);
    }

    #[test]
    fn a_pinned_page_stays_where_it_is() {
        let (mut space, mut memory, address) = four_pages();
        let page = address + PAGE_BYTES;
        space.pin(page, 1, 9).unwrap();
        assert_eq!(space.unmap(&mut memory, address, 4 * PAGE_BYTES), Err(Refusal::Busy));
        assert_eq!(space.discard(&mut memory, address, 4 * PAGE_BYTES), Err(Refusal::Busy));
        let again = space.map(&mut memory, Wanted::Exactly(page), PAGE_BYTES, Protection::READ_WRITE);
        assert_eq!(again, Err(Refusal::Busy));
        assert!(space.allows(address, 4 * PAGE_BYTES, Protection::READ_WRITE), "nothing is gone");
        space.unpin(page, 1).unwrap();
        assert_eq!(space.unmap(&mut memory, address, 4 * PAGE_BYTES), Ok(()));
    }

    #[test]
    fn the_heap_does_not_shrink_below_a_pinned_page() {
        let (mut space, mut memory, _) = four_pages();
        let start = space.set_break(&mut memory, 0);
        let end = space.set_break(&mut memory, start + 2 * PAGE_BYTES);
        space.pin(start + PAGE_BYTES, 8, 9).unwrap();
        assert_eq!(space.set_break(&mut memory, start), end);
        space.unpin(start + PAGE_BYTES, 8).unwrap();
        assert_eq!(space.set_break(&mut memory, start), start);
    }
}
