//! The address space of a process: which addresses exist, what they are for and
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
//! It consists of *regions*: ranges of whole pages with one use and one
//! protection, which never overlap. Each operation changes the regions and tells
//! the [`GuestMemory`] below; a refused operation changes neither. Addresses of
//! mappings that were given back are not used again until the area has been
//! walked through once, so that a dangling pointer faults instead of reading
//! another mapping's data.

mod pins;
mod place;
mod regions;
mod resize;

pub use place::{AddressKind, Use};
pub use resize::Resized;

use super::{GuestMemory, Protection};
use pins::Pins;
use regions::Region;
use std::collections::BTreeMap;
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

/// Why an operation on the address space is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The arguments make no sense (EINVAL).
    Invalid,
    /// There is no room, or there are holes in the range (ENOMEM).
    NoMemory,
    /// The range is taken and must not be replaced (EEXIST).
    Exists,
    /// A page of the range is pinned, and stays (EBUSY).
    Busy,
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

/// The regions of one node's memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AddressSpace {
    /// By first address.
    regions: BTreeMap<u64, Region>,
    /// Bytes in all regions but those of devices, which are no memory.
    taken_bytes: u64,
    /// From the heap's first address to the current break.
    heap: Range<u64>,
    /// Where the search for room for a mapping goes on.
    next_mapping: u64,
    pins: Pins,
}

impl AddressSpace {
    /// An empty address space whose heap will begin at `heap_start`.
    pub fn with_heap_at(heap_start: u64) -> Self {
        let heap = heap_start..heap_start;
        AddressSpace {
            regions: BTreeMap::new(),
            taken_bytes: 0,
            heap,
            next_mapping: MMAP_START,
            pins: Pins::default(),
        }
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

    /// Adds the page to which handlers of signals return, with the call that ends them, if it is
    /// not there yet.
    pub(super) fn add_trampoline(&mut self, memory: &mut impl GuestMemory) -> Result<(), Refusal> {
        /// `li a7, 139` and `ecall`: rt_sigreturn.
        const CODE: [u8; 8] = [0x93, 0x08, 0xb0, 0x08, 0x73, 0, 0, 0];
        if self.trampoline().is_some() {
            return Ok(());
        }
        if !self.has_room_for(PAGE_BYTES) {
            return Err(Refusal::NoMemory);
        }
        let range = self.find_room(PAGE_BYTES).ok_or(Refusal::NoMemory)?;
        self.add(memory, range.clone(), Protection::READ_EXECUTE, Use::Trampoline);
        memory.write(range.start, &CODE).map_err(|_| Refusal::NoMemory)
    }

    /// That page's address, if there is one.
    pub(super) fn trampoline(&self) -> Option<u64> {
        let is_meant = |(_, region): &(&u64, &Region)| region.purpose == Use::Trampoline;
        self.regions.iter().find(is_meant).map(|(start, _)| *start)
    }

    /// Whether any of it is tagged memory.
    pub(super) fn has_shared(&self) -> bool {
        self.regions.values().any(|region| region.purpose == Use::Shared)
    }

    /// Adds a region that the machine itself has mapped for devices,
    /// so that system calls may use it as far as `protection` allows.
    pub fn reserve_device(&mut self, address: u64, length: u64, protection: Protection) {
        self.insert(pages(address..address + length), protection, Use::Devices);
    }

    /// The regions that are the process's own memory, not a device's.
    pub fn own_regions(&self) -> impl Iterator<Item = (Range<u64>, Protection)> {
        let own = self.regions.iter().filter(|(_, region)| region.purpose != Use::Devices);
        own.map(|(&start, region)| (start..region.end, region.protection))
    }

    /// Has the devices of another address space in the place of its own; false if they are where
    /// the process has memory.
    pub(super) fn take_devices_of(&mut self, other: &AddressSpace) -> bool {
        self.regions.retain(|_, region| region.purpose != Use::Devices);
        let devices = other.regions.iter().filter(|(_, region)| region.purpose == Use::Devices);
        let devices: Vec<(u64, Region)> = devices.map(|(&start, &region)| (start, region)).collect();
        let are_free =
            devices.iter().all(|(start, region)| self.within(&(*start..region.end)).next().is_none());
        self.regions.extend(devices);
        are_free
    }

    /// Whether any page is pinned.
    pub(super) fn has_pins(&self) -> bool {
        self.pins.any_in(&(0..u64::MAX))
    }

    /// The end of the heap.
    pub fn program_break(&self) -> u64 {
        self.heap.end
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
            if self.pins.any_in(&(new..old)) {
                return self.heap.end;
            }
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
        self.check_unpinned(&range)?;
        self.remove(memory, range.clone());
        self.add(memory, range, protection, Use::Mapping);
        Ok(address)
    }

    /// Gives back every page of the range; holes in it do not matter.
    pub fn unmap(&mut self, memory: &mut impl GuestMemory, address: u64, length: u64) -> Result<(), Refusal> {
        let length = rounded(length).filter(|length| *length > 0).ok_or(Refusal::Invalid)?;
        let range = self.exactly(address, length)?;
        self.check_unpinned(&range)?;
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
        self.check_unpinned(&range)?;
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
    pub fn place(&self, address: u64) -> AddressKind {
        if let Some((_, region)) = self.within(&(address..address.saturating_add(1))).next() {
            return AddressKind::Inside(region.purpose, region.protection);
        }
        if address < PAGE_BYTES {
            AddressKind::NearNull
        } else if (STACK.start - STACK_OVERFLOW_BYTES..STACK.start).contains(&address) {
            AddressKind::BelowStack
        } else if (DEVICE_START..DEVICE_END).contains(&address) {
            AddressKind::NoDevice
        } else {
            AddressKind::Nowhere
        }
    }

    /// The range, when the program may dispose of it: whole pages, none of
    /// them among the devices, shared or beyond user space.
    fn exactly(&self, address: u64, length: u64) -> Result<Range<u64>, Refusal> {
        let end = address.checked_add(length).filter(|end| *end <= STACK_TOP).ok_or(Refusal::NoMemory)?;
        let range = address..end;
        let sound = address.is_multiple_of(PAGE_BYTES)
            && address >= PAGE_BYTES
            && !overlaps(&range, &(DEVICE_START..DEVICE_END))
            && self.within(&range).all(|(_, region)| !region.purpose.stays());
        if sound { Ok(range) } else { Err(Refusal::Invalid) }
    }

    fn check_unpinned(&self, range: &Range<u64>) -> Result<(), Refusal> {
        if self.pins.any_in(range) { Err(Refusal::Busy) } else { Ok(()) }
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
mod tests;
