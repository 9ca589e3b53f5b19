//! The books of a node's memory: which addresses exist, what they are for and
//! what the program may do with them.
//!
//! ```text
//! 0x0000_1000 ┌──────────────┐
//!             │ program      │ segments of the ELF file, then the heap (brk), upward;
//!             │              │ shared memory, where the program wants it
//! 0x5000_0000 ├──────────────┤
//!             │ devices      │ information page, registers and queues of the network interface
//! 0x6000_0000 ├──────────────┤
//!             │ program      │ or here, when it was linked so; its heap follows
//! 0x20_000c_0000 ────────────┤
//!             │ mappings     │ anonymous mmap, upward
//!             ├──────────────┤
//!             │ stack        │ 8 MiB, downward from 0x3F_FFFF_F000
//!             └──────────────┘
//! ```
//!
//! The books hold *regions*: ranges of whole pages with one use and one
//! protection, which never overlap. Each operation changes the books and tells
//! the [`GuestMemory`] below; a refused operation changes neither. Addresses of
//! mappings that were given back are not used again until the area has been
//! walked through once, so that a dangling pointer faults instead of reading
//! someone else's data.

use super::{GuestMemory, Protection};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The size of a page, the unit of protection.
pub const PAGE_BYTES: u64 = 4096;
/// Where the devices begin: the information page of the node.
pub const DEVICE_START: u64 = 0x5000_0000;
/// The address behind the devices.
pub const DEVICE_END: u64 = 0x6000_0000;
/// Where anonymous mappings begin: not at a multiple of a cache's size, so that
/// in a direct-mapped cache of 1 MiB they do not replace a small program's data.
pub const MMAP_START: u64 = 0x20_000c_0000;
/// The address behind the stack.
pub const STACK_TOP: u64 = 0x3F_FFFF_F000;
/// The size of the stack; Linux' usual limit.
pub const STACK_BYTES: u64 = 8 << 20;
/// The most memory that a node's program may have mapped at a time. Pages take
/// up host memory only once touched, so this bounds mistakes, not the host.
pub const MEMORY_LIMIT_BYTES: u64 = 4 << 30;

/// Below the stack, an access this near to it is taken for an overflow.
const STACK_OVERFLOW_BYTES: u64 = 64 << 20;

const STACK: Range<u64> = STACK_TOP - STACK_BYTES..STACK_TOP;

/// What a region is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Use {
    /// Segments of the program's file.
    Program,
    /// What brk has allocated.
    Heap,
    /// What mmap has allocated.
    Mapping,
    /// The stack.
    Stack,
    /// Shared memory, whose blocks have access tags.
    Shared,
    /// Memory and registers of devices, put there by the machine.
    Devices,
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Use::Program => "the program",
            Use::Heap => "the heap",
            Use::Mapping => "an mmap region",
            Use::Stack => "the stack",
            Use::Shared => "the shared memory",
            Use::Devices => "the devices",
        })
    }
}

/// Why an operation on the address space is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The arguments make no sense (EINVAL).
    Invalid,
    /// There is no room, or there are holes in the range (ENOMEM).
    NoMemory,
    /// The range is taken and must not be replaced (EEXIST).
    Exists,
}

/// Where a mapping is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Wherever there is room.
    Anywhere,
    /// There, in place of what is there.
    Exactly(u64),
    /// There, if nothing is.
    ExactlyIfFree(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Region {
    end: u64,
    protection: Protection,
    purpose: Use,
}

impl Region {
    fn is_like(&self, other: &Region) -> bool {
        (self.protection, self.purpose) == (other.protection, other.purpose)
    }
}

/// The regions of one node's memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AddressSpace {
    /// By first address.
    regions: BTreeMap<u64, Region>,
    /// Bytes in all regions.
    taken_bytes: u64,
    /// From the heap's first address to the current break.
    heap: Range<u64>,
    /// Where the search for room for a mapping goes on.
    next_mapping: u64,
}

impl AddressSpace {
    /// An empty address space whose heap will begin at `heap_start`.
    pub fn with_heap_at(heap_start: u64) -> Self {
        let heap = heap_start..heap_start;
        AddressSpace { regions: BTreeMap::new(), taken_bytes: 0, heap, next_mapping: MMAP_START }
    }

    /// Adds whole pages for `purpose`, in place of what was there.
    pub fn add(
        &mut self,
        memory: &mut impl GuestMemory,
        range: Range<u64>,
        protection: Protection,
        purpose: Use,
    ) {
        let range = pages(range);
        memory.map(range.start, range.end - range.start, protection);
        self.insert(range, protection, purpose);
    }

    /// Adds the stack.
    pub fn add_stack(&mut self, memory: &mut impl GuestMemory) {
        self.add(memory, STACK, Protection::READ_WRITE, Use::Stack);
    }

    /// Adds shared memory: zeros, each block of `block_bytes` with an access tag,
    /// which is `none` at first. There is one such area, and it stays.
    pub fn add_shared(
        &mut self,
        memory: &mut impl GuestMemory,
        address: u64,
        length: u64,
        block_bytes: u64,
    ) -> Result<(), Refusal> {
        let range = self.exactly(address, length)?;
        if !self.is_free(&range) {
            return Err(Refusal::Invalid);
        }
        if !self.has_room_for(length) {
            return Err(Refusal::NoMemory);
        }
        if !memory.tag(range.clone(), block_bytes) {
            return Err(Refusal::Invalid);
        }
        self.add(memory, range, Protection::READ_WRITE, Use::Shared);
        Ok(())
    }

    /// Enters into the books what the machine itself has mapped for devices,
    /// so that system calls may use it as far as `protection` allows.
    pub fn reserve_device(&mut self, address: u64, length: u64, protection: Protection) {
        self.insert(pages(address..address + length), protection, Use::Devices);
    }

    /// Moves the end of the heap to `wanted`, if there is room, and returns
    /// where the end is then.
    pub fn set_break(&mut self, memory: &mut impl GuestMemory, wanted: u64) -> u64 {
        if wanted < self.heap.start || wanted >= MMAP_START {
            return self.heap.end;
        }
        let (old, new) = (page_ceiling(self.heap.end), page_ceiling(wanted));
        if new > old {
            if !self.is_free(&(old..new)) || !self.has_room_for(new - old) {
                return self.heap.end;
            }
            self.add(memory, old..new, Protection::READ_WRITE, Use::Heap);
        } else if new < old {
            self.remove(memory, new..old);
        }
        self.heap.end = wanted;
        wanted
    }

    /// Adds an anonymous mapping of zeros and returns its address.
    pub fn map(
        &mut self,
        memory: &mut impl GuestMemory,
        wanted: Wanted,
        length: u64,
        protection: Protection,
    ) -> Result<u64, Refusal> {
        if length == 0 {
            return Err(Refusal::Invalid);
        }
        let length = rounded(length).filter(|length| self.has_room_for(*length)).ok_or(Refusal::NoMemory)?;
        let range = match wanted {
            Wanted::Anywhere => self.find_room(length).ok_or(Refusal::NoMemory)?,
            Wanted::Exactly(address) => self.exactly(address, length)?,
            Wanted::ExactlyIfFree(address) => {
                let range = self.exactly(address, length)?;
                if self.is_free(&range) {
                    range
                } else {
                    return Err(Refusal::Exists);
                }
            }
        };
        let address = range.start;
        self.remove(memory, range.clone());
        self.add(memory, range, protection, Use::Mapping);
        Ok(address)
    }

    /// Gives back every page of the range; holes in it do not matter.
    pub fn unmap(&mut self, memory: &mut impl GuestMemory, address: u64, length: u64) -> Result<(), Refusal> {
        let length = rounded(length).filter(|length| *length > 0).ok_or(Refusal::Invalid)?;
        let range = self.exactly(address, length)?;
        self.remove(memory, range);
        Ok(())
    }

    /// Makes the pages of the range zero again that the program has allocated
    /// itself.
    pub fn discard(
        &mut self,
        memory: &mut impl GuestMemory,
        address: u64,
        length: u64,
    ) -> Result<(), Refusal> {
        let length = rounded(length).ok_or(Refusal::Invalid)?;
        let range = self.exactly(address, length)?;
        for (part, region) in self.within(&range).filter(|(_, region)| region.purpose != Use::Program) {
            memory.unmap(part.start, part.end - part.start);
            memory.map(part.start, part.end - part.start, region.protection);
        }
        Ok(())
    }

    /// Changes the protection of a range without holes.
    pub fn protect(
        &mut self,
        memory: &mut impl GuestMemory,
        address: u64,
        length: u64,
        protection: Protection,
    ) -> Result<(), Refusal> {
        let length = rounded(length).ok_or(Refusal::NoMemory)?;
        if length == 0 && address.is_multiple_of(PAGE_BYTES) {
            return Ok(());
        }
        let range = self.exactly(address, length)?;
        if !self.allows(range.start, length, Protection::NONE) {
            return Err(Refusal::NoMemory);
        }
        let parts: Vec<(Range<u64>, Use)> =
            self.within(&range).map(|(part, region)| (part, region.purpose)).collect();
        for (part, purpose) in parts {
            self.add(memory, part, protection, purpose);
        }
        Ok(())
    }

    /// Whether the program may use all of the range in this way.
    pub fn allows(&self, address: u64, length: u64, needed: Protection) -> bool {
        let Some(end) = address.checked_add(length) else {
            return false;
        };
        let mut covered = address;
        for (part, region) in self.within(&(address..end)) {
            if part.start != covered || !region.protection.allows(needed) {
                return false;
            }
            covered = part.end;
        }
        covered == end
    }

    /// How many bytes from `address` on, up to `limit`, the program may use in
    /// this way.
    pub fn allowed_bytes(&self, address: u64, limit: u64, needed: Protection) -> u64 {
        let end = address.saturating_add(limit);
        let mut covered = address;
        for (part, region) in self.within(&(address..end)) {
            if part.start != covered || !region.protection.allows(needed) {
                break;
            }
            covered = part.end;
        }
        covered - address
    }

    /// What `address` is, in words for a message.
    pub fn place(&self, address: u64) -> Place {
        if let Some((_, region)) = self.within(&(address..address.saturating_add(1))).next() {
            return Place::Inside(region.purpose, region.protection);
        }
        if address < PAGE_BYTES {
            Place::NearNull
        } else if (STACK.start - STACK_OVERFLOW_BYTES..STACK.start).contains(&address) {
            Place::BelowStack
        } else if (DEVICE_START..DEVICE_END).contains(&address) {
            Place::NoDevice
        } else {
            Place::Nowhere
        }
    }

    /// The regions that meet `range`, each cut to it, in ascending order.
    fn within(&self, range: &Range<u64>) -> impl Iterator<Item = (Range<u64>, Region)> {
        let first = self.regions.range(..=range.start).next_back().map_or(range.start, |(start, _)| *start);
        let cut = range.clone();
        let regions = self.regions.range(first.min(cut.end)..cut.end);
        regions.filter_map(move |(&start, &region)| {
            let part = start.max(cut.start)..region.end.min(cut.end);
            (!part.is_empty()).then_some((part, region))
        })
    }

    fn is_free(&self, range: &Range<u64>) -> bool {
        !overlaps(range, &(DEVICE_START..DEVICE_END)) && self.within(range).next().is_none()
    }

    /// The range, when the program may dispose of it: whole pages, none of
    /// them among the devices, shared or beyond user space.
    fn exactly(&self, address: u64, length: u64) -> Result<Range<u64>, Refusal> {
        let end = address.checked_add(length).filter(|end| *end <= STACK_TOP).ok_or(Refusal::NoMemory)?;
        let range = address..end;
        let sound = address.is_multiple_of(PAGE_BYTES)
            && address >= PAGE_BYTES
            && !overlaps(&range, &(DEVICE_START..DEVICE_END))
            && self.within(&range).all(|(_, region)| !matches!(region.purpose, Use::Devices | Use::Shared));
        if sound { Ok(range) } else { Err(Refusal::Invalid) }
    }

    fn has_room_for(&self, length: u64) -> bool {
        length <= MEMORY_LIMIT_BYTES.saturating_sub(self.taken_bytes)
    }

    /// A free range of the mapping area: behind the last one found, or else
    /// the first from the beginning.
    fn find_room(&mut self, length: u64) -> Option<Range<u64>> {
        let range =
            self.free_from(self.next_mapping, length).or_else(|| self.free_from(MMAP_START, length))?;
        self.next_mapping = range.end;
        Some(range)
    }

    fn free_from(&self, start: u64, length: u64) -> Option<Range<u64>> {
        let mut start = start;
        for (part, _) in self.within(&(start..STACK.start)) {
            if part.start - start >= length {
                break;
            }
            start = part.end;
        }
        // Two pages stay free below the stack, so that its overflow faults.
        let end = start.checked_add(length).filter(|end| *end <= STACK.start - 2 * PAGE_BYTES)?;
        Some(start..end)
    }

    fn remove(&mut self, memory: &mut impl GuestMemory, range: Range<u64>) {
        for (part, _) in self.within(&range) {
            memory.unmap(part.start, part.end - part.start);
        }
        self.cut(&range);
    }

    fn insert(&mut self, range: Range<u64>, protection: Protection, purpose: Use) {
        self.cut(&range);
        self.taken_bytes += range.end - range.start;
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

    /// Removes `range` from the books, splitting regions at its ends.
    fn cut(&mut self, range: &Range<u64>) {
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
            self.taken_bytes -= region.end.min(range.end) - start.max(range.start);
            if start < range.start {
                self.regions.insert(start, Region { end: range.start, ..region });
            }
            if region.end > range.end {
                self.regions.insert(range.end, region);
            }
        }
    }
}

/// What an address is, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Mapped, for this purpose and with this protection.
    Inside(Use, Protection),
    /// In the first page, which is never mapped.
    NearNull,
    /// A little below the stack.
    BelowStack,
    /// In the device region, where this machine has no device.
    NoDevice,
    /// Not mapped, and near nothing that could explain it.
    Nowhere,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Inside(purpose, protection) => {
                write!(f, "in {purpose} ({})", permissions(*protection))
            }
            Place::NearNull => f.write_str("in the first page: a null pointer?"),
            Place::BelowStack => write!(
                f,
                "below the stack of {} MiB: endless recursion or a huge local array?",
                STACK_BYTES >> 20
            ),
            Place::NoDevice => f.write_str("in the device region, but no device is there"),
            Place::Nowhere => f.write_str("not mapped"),
        }
    }
}

fn permissions(protection: Protection) -> String {
    let names = [(protection.read, "read"), (protection.write, "write"), (protection.execute, "execute")];
    let allowed: Vec<&str> = names.iter().filter(|(allowed, _)| *allowed).map(|(_, name)| *name).collect();
    match allowed.len() {
        0 => "no access".into(),
        3 => "read, write and execute".into(),
        _ => format!("{} only", allowed.join(" and ")),
    }
}

/// Whether the two ranges share an address.
pub(super) fn overlaps(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

/// The beginning of the page that holds `address`.
pub(super) fn page_floor(address: u64) -> u64 {
    address / PAGE_BYTES * PAGE_BYTES
}

/// The first page boundary at or after `address`, which is far from the end of
/// the address space.
pub(super) fn page_ceiling(address: u64) -> u64 {
    page_floor(address.saturating_add(PAGE_BYTES - 1))
}

/// The pages that the range touches.
fn pages(range: Range<u64>) -> Range<u64> {
    page_floor(range.start)..page_ceiling(range.end)
}

/// A length in whole pages, unless it is absurd.
fn rounded(length: u64) -> Option<u64> {
    Some(page_floor(length.checked_add(PAGE_BYTES - 1)?))
}

#[cfg(test)]
mod tests {
    use super::super::test_memory::TestMemory;
    use super::*;
    use proptest::prelude::*;

    fn space() -> (AddressSpace, TestMemory) {
        let (mut space, mut memory) = (AddressSpace::with_heap_at(0x20_0000), TestMemory::default());
        space.add(&mut memory, 0x10_0000..0x10_1000, Protection::READ_EXECUTE, Use::Program);
        (space, memory)
    }

    #[test]
    fn the_heap_grows_and_shrinks_by_the_byte_and_keeps_what_it_holds() {
        let (mut space, mut memory) = space();
        assert_eq!(space.set_break(&mut memory, 0), 0x20_0000);
        assert_eq!(space.set_break(&mut memory, 0x20_0801), 0x20_0801);
        memory.write(0x20_0800, &[7]).expect("the heap is mapped");
        assert_eq!(space.set_break(&mut memory, 0x20_3000), 0x20_3000);
        assert!(space.allows(0x20_0000, 0x3000, Protection::READ_WRITE));
        assert_eq!(space.set_break(&mut memory, 0x20_0801), 0x20_0801);
        assert!(!space.allows(0x20_1000, 1, Protection::READ));
        assert_eq!(memory.number(0x20_0800), 7);
    }

    #[test]
    fn the_heap_stops_before_the_devices_and_says_so_by_not_moving() {
        let (mut space, mut memory) = space();
        assert_eq!(space.set_break(&mut memory, DEVICE_START + 1), 0x20_0000);
        assert_eq!(space.set_break(&mut memory, 0x10_0000), 0x20_0000);
        assert_eq!(space.set_break(&mut memory, u64::MAX), 0x20_0000);
    }

    #[test]
    fn mappings_are_apart_and_not_reused_at_once() {
        let (mut space, mut memory) = space();
        let first = space.map(&mut memory, Wanted::Anywhere, 1, Protection::READ_WRITE).expect("room");
        let second = space.map(&mut memory, Wanted::Anywhere, 8192, Protection::READ).expect("room");
        assert_eq!((first, second), (MMAP_START, MMAP_START + PAGE_BYTES));
        space.unmap(&mut memory, first, 4096).expect("mapped");
        let third = space.map(&mut memory, Wanted::Anywhere, 1, Protection::READ_WRITE).expect("room");
        assert_eq!(third, second + 8192);
        assert_eq!(space.place(first), Place::Nowhere);
    }

    #[test]
    fn a_fixed_mapping_replaces_what_was_there_by_zeros() {
        let (mut space, mut memory) = space();
        memory.write(0x10_0000, &[1; 8]).expect("mapped");
        let wanted = Wanted::ExactlyIfFree(0x10_0000);
        assert_eq!(space.map(&mut memory, wanted, 4096, Protection::READ), Err(Refusal::Exists));
        let wanted = Wanted::Exactly(0x10_0000);
        assert_eq!(space.map(&mut memory, wanted, 4096, Protection::READ), Ok(0x10_0000));
        assert_eq!(memory.number(0x10_0000), 0);
        assert_eq!(memory.protection(0x10_0000), Some(Protection::READ));
    }

    #[test]
    fn the_middle_of_a_region_can_be_protected_and_given_back() {
        let (mut space, mut memory) = space();
        let at =
            space.map(&mut memory, Wanted::Anywhere, 5 * PAGE_BYTES, Protection::READ_WRITE).expect("room");
        space.protect(&mut memory, at + PAGE_BYTES, PAGE_BYTES, Protection::NONE).expect("mapped");
        space.unmap(&mut memory, at + 3 * PAGE_BYTES, PAGE_BYTES).expect("mapped");
        assert!(space.allows(at, PAGE_BYTES, Protection::READ_WRITE));
        assert!(!space.allows(at, PAGE_BYTES + 1, Protection::READ));
        assert!(space.allows(at + 2 * PAGE_BYTES, PAGE_BYTES, Protection::READ_WRITE));
        assert!(!space.allows(at + 3 * PAGE_BYTES, 1, Protection::NONE));
        assert_eq!(space.allowed_bytes(at + 10, 1 << 20, Protection::READ), PAGE_BYTES - 10);
        let across = space.protect(&mut memory, at, 5 * PAGE_BYTES, Protection::READ);
        assert_eq!(across, Err(Refusal::NoMemory));
    }

    proptest! {
        #[test]
        fn the_bytes_taken_are_those_of_all_regions(
            steps in proptest::collection::vec((0u8..4, 0u64..24, 1u64..6), 0..60)
        ) {
            let (mut space, mut memory) = space();
            for (step, page, pages) in steps {
                let (address, length) = (0x3000_0000 + page * PAGE_BYTES, pages * PAGE_BYTES);
                // What is refused changes nothing.
                let _ = match step {
                    0 => space.map(&mut memory, Wanted::Exactly(address), length, Protection::READ).map(drop),
                    1 => space.unmap(&mut memory, address, length),
                    2 => space.protect(&mut memory, address, length, Protection::READ_WRITE),
                    _ => {
                        space.set_break(&mut memory, 0x20_0000 + page * PAGE_BYTES);
                        Ok(())
                    }
                };
                let sum: u64 = space.regions.iter().map(|(start, region)| region.end - start).sum();
                prop_assert_eq!(space.taken_bytes, sum);
            }
        }
    }

    #[test]
    fn devices_are_out_of_the_programs_reach() {
        let (mut space, mut memory) = space();
        space.reserve_device(DEVICE_START, PAGE_BYTES, Protection::READ);
        assert!(space.allows(DEVICE_START, 8, Protection::READ));
        let wanted = Wanted::Exactly(DEVICE_START);
        assert_eq!(space.map(&mut memory, wanted, 1, Protection::READ), Err(Refusal::Invalid));
        assert_eq!(space.unmap(&mut memory, DEVICE_START, 1), Err(Refusal::Invalid));
        assert_eq!(space.protect(&mut memory, DEVICE_START, 1, Protection::READ), Err(Refusal::Invalid));
    }

    #[test]
    fn shared_memory_is_zeros_that_stay_and_there_is_one_of_it() {
        let (mut space, mut memory) = space();
        let shared = 0x2000_0000;
        for (address, length, block_bytes, refusal) in [
            (shared, PAGE_BYTES, 8, Refusal::Invalid),
            (shared, PAGE_BYTES, 2048, Refusal::Invalid),
            (shared, PAGE_BYTES, 48, Refusal::Invalid),
            (shared + 64, PAGE_BYTES, 64, Refusal::Invalid),
            (shared, PAGE_BYTES + 64, 64, Refusal::Invalid),
            (shared, 0, 64, Refusal::Invalid),
            (0x10_0000, PAGE_BYTES, 64, Refusal::Invalid),
            (DEVICE_START - PAGE_BYTES, 2 * PAGE_BYTES, 64, Refusal::Invalid),
            (shared, MEMORY_LIMIT_BYTES, 64, Refusal::Invalid),
            (0x1_0000_0000, MEMORY_LIMIT_BYTES, 64, Refusal::NoMemory),
        ] {
            let refused = space.add_shared(&mut memory, address, length, block_bytes);
            assert_eq!(refused, Err(refusal), "{length:#x} at {address:#x} in blocks of {block_bytes}");
        }
        assert!(memory.tags.is_none());
        assert_eq!(space.add_shared(&mut memory, shared, 2 * PAGE_BYTES, 64), Ok(()));
        assert!(space.allows(shared, 2 * PAGE_BYTES, Protection::READ_WRITE));
        assert_eq!(space.place(shared).to_string(), "in the shared memory (read and write only)");
        let second = space.add_shared(&mut memory, shared + 2 * PAGE_BYTES, PAGE_BYTES, 64);
        assert_eq!(second, Err(Refusal::Invalid));
        assert_eq!(space.unmap(&mut memory, shared, PAGE_BYTES), Err(Refusal::Invalid));
        assert_eq!(space.discard(&mut memory, shared, PAGE_BYTES), Err(Refusal::Invalid));
        assert_eq!(space.protect(&mut memory, shared, PAGE_BYTES, Protection::READ), Err(Refusal::Invalid));
        let wanted = Wanted::Exactly(shared);
        assert_eq!(space.map(&mut memory, wanted, 1, Protection::READ), Err(Refusal::Invalid));
    }

    #[test]
    fn absurd_lengths_and_addresses_are_refused() {
        let (mut space, mut memory) = space();
        for length in [u64::MAX, u64::MAX - 4096, MEMORY_LIMIT_BYTES + 1] {
            let refused = space.map(&mut memory, Wanted::Anywhere, length, Protection::READ);
            assert_eq!(refused, Err(Refusal::NoMemory), "{length:#x}");
        }
        assert_eq!(space.map(&mut memory, Wanted::Anywhere, 0, Protection::READ), Err(Refusal::Invalid));
        assert_eq!(space.unmap(&mut memory, 0x10_0001, 4096), Err(Refusal::Invalid));
        assert!(!space.allows(u64::MAX, 2, Protection::NONE));
    }

    #[test]
    fn an_address_is_explained_in_words() {
        let (mut space, mut memory) = space();
        space.add_stack(&mut memory);
        assert_eq!(space.place(8).to_string(), "in the first page: a null pointer?");
        assert_eq!(space.place(0x10_0004).to_string(), "in the program (read and execute only)");
        assert!(space.place(STACK_TOP - STACK_BYTES - 8).to_string().starts_with("below the stack of 8 MiB"));
        assert_eq!(space.place(DEVICE_START).to_string(), "in the device region, but no device is there");
    }
}
