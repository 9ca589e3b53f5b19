//! Mappings of another size (`mremap`).

use std::ops::Range;

use super::{AddressSpace, PAGE_BYTES, Refusal, Region, Use, Wanted, rounded};
use crate::linux::GuestMemory;

/// Where a mapping with another size may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resized {
    /// Where it is.
    InPlace,
    /// There if it can, otherwise wherever there is room.
    Anywhere,
    /// At this address, in place of what is there.
    Exactly(u64),
}

impl AddressSpace {
    /// Gives a mapping another size and returns its address. What is new reads as zero.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] if the range is no part of one mapping with one protection, or overlaps
    /// the wanted address; [`Refusal::NoMemory`] if there is no room; [`Refusal::Busy`] for pinned pages.
    pub fn resize(
        &mut self,
        memory: &mut impl GuestMemory,
        address: u64,
        before: u64,
        after: u64,
        place: Resized,
    ) -> Result<u64, Refusal> {
        let positive = |length| rounded(length).filter(|length| *length > 0);
        let (before, after) = (positive(before), positive(after).ok_or(Refusal::Invalid)?);
        let range = self.exactly(address, before.ok_or(Refusal::Invalid)?)?;
        let region = self.mapping_of(&range).ok_or(Refusal::Invalid)?;
        let kept = range.start..range.end.min(range.start.saturating_add(after));
        match place {
            Resized::Exactly(wanted) => {
                let target = self.exactly(wanted, after)?;
                if super::overlaps(&target, &range) {
                    return Err(Refusal::Invalid);
                }
                self.move_mapping(memory, range, &kept, Wanted::Exactly(wanted), after, region)
            }
            _ if kept.end < range.end => {
                self.unmap(memory, kept.end, range.end - kept.end)?;
                Ok(address)
            }
            _ if range.end - range.start == after => Ok(address),
            _ if self.grows(memory, &range, after, region) => Ok(address),
            Resized::InPlace => Err(Refusal::NoMemory),
            Resized::Anywhere => self.move_mapping(memory, range, &kept, Wanted::Anywhere, after, region),
        }
    }

    /// The region that holds all of the range, if it is of a mapping.
    fn mapping_of(&self, range: &Range<u64>) -> Option<Region> {
        let (part, region) = self.within(range).next()?;
        (part == *range && region.purpose == Use::Mapping).then_some(region)
    }

    /// Pages behind the range become a part of the mapping, if they are free.
    fn grows(
        &mut self,
        memory: &mut impl GuestMemory,
        range: &Range<u64>,
        after: u64,
        region: Region,
    ) -> bool {
        let Ok(grown) = self.exactly(range.start, after) else { return false };
        let more = range.end..grown.end;
        let can = self.is_free(&more) && self.has_room_for(more.end - more.start);
        if can {
            self.add(memory, more, region.protection, region.purpose);
        }
        can
    }

    fn move_mapping(
        &mut self,
        memory: &mut impl GuestMemory,
        range: Range<u64>,
        kept: &Range<u64>,
        wanted: Wanted,
        after: u64,
        region: Region,
    ) -> Result<u64, Refusal> {
        self.check_unpinned(&range)?;
        let target = self.map(memory, wanted, after, region.protection)?;
        let mut page = [0; PAGE_BYTES as usize];
        for from in kept.clone().step_by(page.len()) {
            memory.read(from, &mut page).map_err(|_| Refusal::NoMemory)?;
            // Pages that were never touched take up nothing there either.
            if page.iter().any(|byte| *byte != 0) {
                memory.write(target + (from - kept.start), &page).map_err(|_| Refusal::NoMemory)?;
            }
        }
        self.unmap(memory, range.start, range.end - range.start)?;
        Ok(target)
    }
}
