//! The regions of an address space: ranges of whole pages that never overlap.
//!
//! They are kept by their first addresses. What comes in takes the place of what was there, so that
//! regions are cut at its ends; neighbours of one use and one protection become one region.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{AddressSpace, DEVICE_END, DEVICE_START, Use, overlaps};
use crate::linux::{GuestMemory, Protection};

/// What there is from an address on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Region {
    pub end: u64,
    pub protection: Protection,
    pub purpose: Use,
}

impl Region {
    fn is_like(&self, other: &Region) -> bool {
        (self.protection, self.purpose) == (other.protection, other.purpose)
    }
}

impl AddressSpace {
    /// The regions that meet `range`, each cut to it, in ascending order.
    pub(super) fn within(&self, range: &Range<u64>) -> impl Iterator<Item = (Range<u64>, Region)> {
        let first = self.regions.range(..=range.start).next_back().map_or(range.start, |(start, _)| *start);
        let cut = range.clone();
        let regions = self.regions.range(first.min(cut.end)..cut.end);
        regions.filter_map(move |(&start, &region)| {
            let part = start.max(cut.start)..region.end.min(cut.end);
            (!part.is_empty()).then_some((part, region))
        })
    }

    pub(super) fn is_free(&self, range: &Range<u64>) -> bool {
        !overlaps(range, &(DEVICE_START..DEVICE_END)) && self.within(range).next().is_none()
    }

    pub(super) fn remove(&mut self, memory: &mut impl GuestMemory, range: Range<u64>) {
        for (part, _) in self.within(&range) {
            memory.unmap(part.start, part.end - part.start);
        }
        self.cut(&range);
    }

    pub(super) fn insert(&mut self, range: Range<u64>, protection: Protection, purpose: Use) {
        self.cut(&range);
        self.taken_bytes += purpose.memory_bytes(&range);
        let mut region = Region { end: range.end, protection, purpose };
        let mut start = range.start;
        let left = self.regions.range(..start).next_back().map(|(left, region)| (*left, *region));
        if let Some((left, Region { end, .. })) = left.filter(|(_, left)| left.is_like(&region))
            && end == start
        {
            start = left;
        }
        let right = self.regions.get(&region.end).copied();
        if let Some(right) = right.filter(|right| right.is_like(&region)) {
            self.regions.remove(&region.end);
            region.end = right.end;
        }
        self.regions.insert(start, region);
    }

    /// Removes `range` from the regions, splitting regions at its ends.
    pub(super) fn cut(&mut self, range: &Range<u64>) {
        let touched: Vec<u64> = self
            .regions
            .range(..range.end)
            .rev()
            .take_while(|(_, region)| region.end > range.start)
            .map(|(start, _)| *start)
            .collect();
        for start in touched {
            let Some(region) = self.regions.remove(&start) else {
                continue;
            };
            let cut = start.max(range.start)..region.end.min(range.end);
            self.taken_bytes -= region.purpose.memory_bytes(&cut);
            if start < range.start {
                self.regions.insert(start, Region { end: range.start, ..region });
            }
            if region.end > range.end {
                self.regions.insert(range.end, region);
            }
        }
    }
}
