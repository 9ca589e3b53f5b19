//! Plain memory without caches or time: for functional runs, tests and benches.
//!
//! Pages of 4 KiB take up host memory only once they are touched. A small
//! direct-mapped table remembers where recently used pages are (what a
//! translation look-aside buffer is in hardware), so that a hit is one
//! comparison and one access.

use std::collections::HashMap;
use std::ptr::NonNull;

use narthex_memory::Port;
use narthex_memory::port::{AccessFault, Outcome};

use crate::linux::{GuestMemory, Protection};

const PAGE_BYTES: usize = 4096;
const OFFSET: u64 = PAGE_BYTES as u64 - 1;

/// Pages remembered.
const ENTRIES: usize = 256;

/// A tag that no address has: see [`FlatMemory::load_hit`].
const NO_TAG: u64 = u64::MAX;

/// The bytes of a page. They never move, and live as long as the frame.
struct Frame(NonNull<[u8; PAGE_BYTES]>);

impl Frame {
    fn zeroed() -> Self {
        Frame(NonNull::from(Box::leak(Box::new([0; PAGE_BYTES]))))
    }

    fn bytes(&mut self) -> &mut [u8; PAGE_BYTES] {
        // SAFETY: the frame owns the allocation, and is borrowed mutably.
        unsafe { self.0.as_mut() }
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a leaked box and is given back once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

struct Page {
    protection: Protection,
    /// None until touched.
    frame: Option<Frame>,
}

/// Pages that were used lately.
struct Recent {
    /// Their addresses.
    tags: [u64; ENTRIES],
    /// Where their bytes are, less the page's address: add a guest address and
    /// you have the host's.
    bases: [*mut u8; ENTRIES],
}

impl Recent {
    const NONE: Recent = Recent { tags: [NO_TAG; ENTRIES], bases: [std::ptr::null_mut(); ENTRIES] };

    fn set(&mut self, page: u64, base: Option<*mut u8>) {
        self.tags[index(page)] = if base.is_some() { page } else { NO_TAG };
        self.bases[index(page)] = base.unwrap_or(std::ptr::null_mut());
    }

    /// Where the bytes at `address` are, if the access is aligned and its page
    /// was used lately.
    #[inline(always)]
    fn find<const SIZE: usize>(&self, address: u64) -> Option<*mut u8> {
        let index = index(address);
        let base = self.bases[index];
        (page_if_aligned::<SIZE>(address) == self.tags[index]).then(|| base.wrapping_add(address as usize))
    }
}

/// Memory of one node without caches: every access hits.
pub struct FlatMemory {
    pages: HashMap<u64, Page>,
    /// Pages that may be read. Invariant: the base of a page leads to its
    /// frame. So a page is removed before its frame or protection changes.
    readable: Recent,
    /// Pages that may be written without further ado; the same invariant.
    writable: Recent,
    /// The page that instructions were fetched from last.
    fetch_page: u64,
    reservation: Option<u64>,
    code_removals: u64,
}

// SAFETY: the pointers in the entries lead into frames that the memory owns;
// they move to another thread together with it.
unsafe impl Send for FlatMemory {}

impl Default for FlatMemory {
    fn default() -> Self {
        Self::new()
    }
}

impl FlatMemory {
    /// Memory in which nothing is mapped.
    pub fn new() -> Self {
        FlatMemory {
            pages: HashMap::new(),
            readable: Recent::NONE,
            writable: Recent::NONE,
            fetch_page: NO_TAG,
            reservation: None,
            code_removals: 0,
        }
    }

    /// Memory with all the `bytes` from `address` on (a page's start) readable,
    /// writable and zero.
    pub fn with_range(address: u64, bytes: u64) -> Self {
        let mut memory = Self::new();
        let protection = Protection { read: true, write: true, execute: false };
        memory.map(address, bytes.next_multiple_of(PAGE_BYTES as u64), protection);
        memory
    }

    /// The protection of the page that holds `address`.
    #[cfg(test)]
    pub(crate) fn protection(&self, address: u64) -> Option<Protection> {
        self.pages.get(&(address & !OFFSET)).map(|page| page.protection)
    }

    /// The frame of a page that allows the access.
    fn frame(&mut self, address: u64, allows: fn(Protection) -> bool) -> Result<&mut Frame, AccessFault> {
        let page = self.pages.get_mut(&(address & !OFFSET)).ok_or(AccessFault::Unmapped)?;
        if !allows(page.protection) {
            return Err(AccessFault::Protected);
        }
        Ok(page.frame.get_or_insert_with(Frame::zeroed))
    }

    /// Remembers the page of `address`, which must be mapped and touched.
    fn remember(&mut self, address: u64) {
        let tag = address & !OFFSET;
        let Some(Page { protection, frame: Some(frame) }) = self.pages.get_mut(&tag) else {
            return;
        };
        let base = frame.0.as_ptr().cast::<u8>().wrapping_sub(tag as usize);
        self.readable.set(tag, protection.read.then_some(base));
        self.writable.set(tag, protection.write.then_some(base));
    }

    /// One step for each byte of an access: it may cross pages.
    fn read_bytes(
        &mut self,
        address: u64,
        bytes: &mut [u8],
        allows: fn(Protection) -> bool,
    ) -> Result<(), AccessFault> {
        for (at, byte) in (0..).zip(bytes) {
            let at = address.wrapping_add(at);
            *byte = self.frame(at, allows)?.bytes()[(at & OFFSET) as usize];
        }
        Ok(())
    }

    fn write_bytes(
        &mut self,
        address: u64,
        bytes: &[u8],
        allows: fn(Protection) -> bool,
    ) -> Result<(), AccessFault> {
        // Nothing is written unless everything can be.
        for at in [address, address.wrapping_add(bytes.len() as u64 - 1)] {
            self.frame(at, allows)?;
        }
        for (at, byte) in (0..).zip(bytes) {
            let at = address.wrapping_add(at);
            self.frame(at, allows)?.bytes()[(at & OFFSET) as usize] = *byte;
        }
        Ok(())
    }

    /// Forgets a page before it changes; whether it stays executable.
    fn forget(&mut self, page: u64, stays_code: bool) {
        self.readable.set(page, None);
        self.writable.set(page, None);
        self.fetch_page = NO_TAG;
        let was_code = self.pages.get(&page).is_some_and(|page| page.protection.execute);
        self.code_removals += u64::from(was_code && !stays_code);
    }
}

/// Where the page of an address is remembered.
#[inline(always)]
fn index(address: u64) -> usize {
    (address / PAGE_BYTES as u64) as usize % ENTRIES
}

/// What an aligned address inside the page with this tag looks like: its page,
/// and nothing in the bits below the size.
#[inline(always)]
fn page_if_aligned<const SIZE: usize>(address: u64) -> u64 {
    address & (!OFFSET | (SIZE as u64 - 1))
}

fn outcome<V>(result: Result<V, AccessFault>) -> Outcome<V> {
    match result {
        Ok(value) => Outcome::Done(value),
        Err(fault) => Outcome::Fault(fault),
    }
}

impl Port for FlatMemory {
    #[inline(always)]
    fn load_hit<const SIZE: usize>(&mut self, address: u64) -> Option<u64> {
        let place = self.readable.find::<SIZE>(address)?;
        // SAFETY: the page was found, so the base leads to the page's frame
        // (invariant of `readable`), and an aligned access of up to 8 bytes
        // that begins inside the frame stays inside it.
        unsafe {
            Some(match SIZE {
                1 => u64::from(*place),
                2 => u64::from(u16::from_le(place.cast::<u16>().read())),
                4 => u64::from(u32::from_le(place.cast::<u32>().read())),
                _ => u64::from_le(place.cast::<u64>().read()),
            })
        }
    }

    #[inline(always)]
    fn store_hit<const SIZE: usize>(&mut self, address: u64, value: u64) -> bool {
        let Some(place) = self.writable.find::<SIZE>(address) else { return false };
        // SAFETY: as in `load_hit`; the frame belongs to this memory, which is
        // borrowed mutably.
        unsafe {
            match SIZE {
                1 => *place = value as u8,
                2 => place.cast::<u16>().write((value as u16).to_le()),
                4 => place.cast::<u32>().write((value as u32).to_le()),
                _ => place.cast::<u64>().write(value.to_le()),
            }
        }
        true
    }

    #[inline(always)]
    fn fetch_hit(&mut self, address: u64) -> bool {
        address & !OFFSET == self.fetch_page
    }

    fn load(&mut self, address: u64, size: usize) -> Outcome<u64> {
        let mut bytes = [0; 8];
        let result = self.read_bytes(address, &mut bytes[..size], |page| page.read);
        self.remember(address);
        outcome(result.map(|()| u64::from_le_bytes(bytes)))
    }

    fn store(&mut self, address: u64, size: usize, value: u64) -> Outcome<()> {
        let result = self.write_bytes(address, &value.to_le_bytes()[..size], |page| page.write);
        self.remember(address);
        outcome(result)
    }

    fn fetch(&mut self, address: u64) -> Outcome<()> {
        let result = self.frame(address, |page| page.execute).map(|_| ());
        if result.is_ok() {
            self.fetch_page = address & !OFFSET;
        }
        outcome(result)
    }

    fn code(&mut self, address: u64) -> Result<u32, AccessFault> {
        let mut bytes = [0; 4];
        let executable: fn(Protection) -> bool = |page| page.execute;
        self.read_bytes(address, &mut bytes[..2], executable)?;
        // The upper half stays zero where nothing is mapped.
        let _ = self.read_bytes(address.wrapping_add(2), &mut bytes[2..], executable);
        Ok(u32::from_le_bytes(bytes))
    }

    fn load_reserved(&mut self, address: u64, size: usize) -> Outcome<u64> {
        if !address.is_multiple_of(size as u64) {
            return Outcome::Fault(AccessFault::Misaligned);
        }
        self.reservation = Some(address);
        self.load(address, size)
    }

    fn store_conditional(&mut self, address: u64, size: usize, value: u64) -> Outcome<bool> {
        if !address.is_multiple_of(size as u64) {
            return Outcome::Fault(AccessFault::Misaligned);
        }
        if self.reservation.take() != Some(address) {
            return outcome(self.frame(address, |page| page.write).map(|_| false));
        }
        match self.store(address, size, value) {
            Outcome::Done(()) => Outcome::Done(true),
            Outcome::Late((), late) => Outcome::Late(true, late),
            Outcome::Filling((), register) => Outcome::Filling(true, register),
            Outcome::UnderWay(register) => Outcome::UnderWay(register),
            Outcome::Wait => Outcome::Wait,
            Outcome::Fault(fault) => Outcome::Fault(fault),
        }
    }

    fn load_for_update(&mut self, address: u64, size: usize) -> Outcome<u64> {
        if !address.is_multiple_of(size as u64) {
            return Outcome::Fault(AccessFault::Misaligned);
        }
        if let Err(fault) = self.frame(address, |page| page.read && page.write) {
            return Outcome::Fault(fault);
        }
        self.load(address, size)
    }

    fn fence(&mut self) -> Outcome<()> {
        Outcome::Done(())
    }

    fn fence_instructions(&mut self) -> Outcome<()> {
        Outcome::Done(())
    }

    fn code_removals(&self) -> u64 {
        self.code_removals
    }
}

impl GuestMemory for FlatMemory {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), AccessFault> {
        self.read_bytes(address, bytes, |_| true)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), AccessFault> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.write_bytes(address, bytes, |_| true)
    }

    fn map(&mut self, address: u64, length: u64, protection: Protection) {
        for page in (address..address + length).step_by(PAGE_BYTES) {
            self.forget(page, protection.execute);
            let page = self.pages.entry(page).or_insert(Page { protection, frame: None });
            page.protection = protection;
        }
    }

    fn forget_code(&mut self, _everywhere: bool) {
        self.code_removals += 1;
    }

    fn unmap(&mut self, address: u64, length: u64) {
        for page in (address..address + length).step_by(PAGE_BYTES) {
            self.forget(page, false);
            self.pages.remove(&page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_access_to_a_page_hits() {
        let mut memory = FlatMemory::with_range(0x1000, 0x1000);
        assert_eq!(memory.load_hit::<8>(0x1008), None);
        assert_eq!(memory.store(0x1008, 8, 0x1122_3344_5566_7788), Outcome::Done(()));
        assert_eq!(memory.load_hit::<8>(0x1008), Some(0x1122_3344_5566_7788));
        assert_eq!(memory.load_hit::<2>(0x100a), Some(0x5566));
        assert!(memory.store_hit::<1>(0x1008, 0xff));
        assert_eq!(memory.load_hit::<4>(0x1008), Some(0x5566_77ff));
    }

    #[test]
    fn a_misaligned_access_takes_the_slow_way_and_may_cross_pages() {
        let mut memory = FlatMemory::with_range(0x1000, 0x2000);
        assert_eq!(memory.store(0x1ffd, 8, u64::MAX), Outcome::Done(()));
        assert_eq!(memory.load_hit::<8>(0x1ffd), None);
        assert_eq!(memory.load(0x1ffd, 8), Outcome::Done(u64::MAX));
        assert_eq!(memory.load(0x2000, 8), Outcome::Done(0xff_ffff_ffff));
    }

    #[test]
    fn a_page_that_is_taken_away_is_forgotten() {
        let mut memory = FlatMemory::with_range(0x1000, 0x1000);
        assert_eq!(memory.load(0x1000, 8), Outcome::Done(0));
        memory.unmap(0x1000, 0x1000);
        assert_eq!(memory.load_hit::<8>(0x1000), None);
        assert_eq!(memory.load(0x1000, 8), Outcome::Fault(AccessFault::Unmapped));
    }

    #[test]
    fn protection_is_checked() {
        let mut memory = FlatMemory::new();
        memory.map(0x1000, 0x1000, Protection { read: true, write: false, execute: false });
        assert_eq!(memory.store(0x1000, 1, 0), Outcome::Fault(AccessFault::Protected));
        assert_eq!(memory.fetch(0x1000), Outcome::Fault(AccessFault::Protected));
    }
}
