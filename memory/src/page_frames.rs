//! In which frame of memory each page of a process is.
//!
//! *Contiguous* frames follow each other as the pages do: a device that knows the frame
//! of a buffer's first page knows them all. *Scattered* frames do not, as on a machine
//! that has run for a while: a device needs a translation of each page.
//!
//! Frames are scattered by a permutation of the page numbers, a Feistel network whose
//! keys are random numbers of the machine's seed:
//!
//! ```text
//!   page number    ┌─ high ─┐ ┌─ low ─┐
//!   each round     high, low  ──►  low, high ^ mixed(low, key)
//! ```
//!
//! So no table is kept, each page has its frame before it is touched, and a frame leads
//! back to its page. A page of the devices is its own frame; one that the permutation
//! brings there is permuted again, until it is outside.

use std::ops::Range;

use narthex_kernel::random::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::main_memory::PAGE_BYTES;
use crate::translation::Translation;

/// How the frames of a process's pages are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FramePlacement {
    /// Frames follow each other as the pages do.
    #[default]
    Contiguous,
    /// Neighbouring pages are in frames anywhere, by the machine's seed.
    Scattered,
}

/// Bits of half a page number of a process's address space.
const HALF_BITS: u32 = (Translation::SPACE_BYTES / PAGE_BYTES).trailing_zeros() / 2;
const HALF: u64 = (1 << HALF_BITS) - 1;
const ROUNDS: usize = 4;

/// The frames of a process's pages.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PageFrames {
    /// None: each page is in the frame of its own number.
    keys: Option<[u64; ROUNDS]>,
    /// Addresses of devices, which stay where they are.
    fixed: Range<u64>,
}

impl PageFrames {
    /// Frames that are placed so, but for the addresses in `fixed`, which are whole pages.
    pub fn new(placement: FramePlacement, seed: u64, fixed: Range<u64>) -> Self {
        let keys = || {
            let mut stream = Stream::new(seed, "memory/page frames");
            std::array::from_fn(|_| stream.next_u64())
        };
        PageFrames { keys: (placement == FramePlacement::Scattered).then(keys), fixed }
    }

    /// Whether frames follow each other as the pages do.
    pub fn are_contiguous(&self) -> bool {
        self.keys.is_none()
    }

    /// Where an address of the process lies among its frames.
    #[inline]
    pub fn of(&self, address: u64) -> u64 {
        match &self.keys {
            None => address,
            Some(keys) => self.moved(address, |page| permuted(page, keys)),
        }
    }

    /// The address whose place among the frames this is.
    #[inline]
    pub fn back(&self, place: u64) -> u64 {
        match &self.keys {
            None => place,
            Some(keys) => self.moved(place, |frame| restored(frame, keys)),
        }
    }

    /// An address in another page, by a permutation of all pages, which is followed
    /// until it leads out of the fixed ones.
    fn moved(&self, address: u64, permutation: impl Fn(u64) -> u64) -> u64 {
        if self.fixed.contains(&address) {
            return address;
        }
        let mut page = address / PAGE_BYTES;
        loop {
            page = permutation(page);
            if !self.fixed.contains(&(page * PAGE_BYTES)) {
                return page * PAGE_BYTES + address % PAGE_BYTES;
            }
        }
    }
}

fn permuted(page: u64, keys: &[u64; ROUNDS]) -> u64 {
    let (high, low) =
        keys.iter().fold((page >> HALF_BITS, page & HALF), |(high, low), key| (low, high ^ mixed(low, key)));
    high << HALF_BITS | low
}

fn restored(frame: u64, keys: &[u64; ROUNDS]) -> u64 {
    let ends = (frame >> HALF_BITS, frame & HALF);
    let (high, low) = keys.iter().rev().fold(ends, |(high, low), key| (low ^ mixed(high, key), high));
    high << HALF_BITS | low
}

/// Half a page number that depends on all bits of both: the upper bits of a product.
fn mixed(half: u64, key: &u64) -> u64 {
    ((half ^ key) | 1 << 63).wrapping_mul(key | 1).rotate_right(29).wrapping_mul(key | 1) >> (64 - HALF_BITS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const DEVICES: Range<u64> = 0x5000_0000..0x6000_0000;

    fn scattered(seed: u64) -> PageFrames {
        PageFrames::new(FramePlacement::Scattered, seed, DEVICES)
    }

    #[test]
    fn contiguous_frames_are_the_pages_themselves() {
        let frames = PageFrames::new(FramePlacement::Contiguous, 1, DEVICES);
        assert_eq!([0x1234, 0x5000_0010].map(|address| frames.of(address)), [0x1234, 0x5000_0010]);
    }

    #[test]
    fn neighbouring_pages_are_in_frames_far_apart_that_differ_by_seed() {
        let frames = scattered(1);
        let first: Vec<u64> = (0..1_000).map(|page| frames.of(page * PAGE_BYTES)).collect();
        assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), 1_000);
        assert!(first.windows(2).all(|pair| pair[1] != pair[0] + PAGE_BYTES));
        let halves = first.iter().filter(|&&place| place < Translation::SPACE_BYTES / 2).count();
        assert!((350..650).contains(&halves), "{halves} of 1,000 in the lower half");
        assert_ne!(first[7], scattered(2).of(7 * PAGE_BYTES));
    }

    proptest! {
        #[test]
        fn a_frame_leads_back_to_its_page(address in 0..Translation::SPACE_BYTES, seed in 0u64..8) {
            let frames = scattered(seed);
            let place = frames.of(address);
            prop_assert!(place < Translation::SPACE_BYTES);
            prop_assert_eq!(place % PAGE_BYTES, address % PAGE_BYTES);
            prop_assert_eq!(frames.back(place), address);
            prop_assert_eq!(DEVICES.contains(&place), DEVICES.contains(&address));
        }

        #[test]
        fn devices_stay_where_they_are(address in DEVICES) {
            prop_assert_eq!(scattered(3).of(address), address);
        }
    }
}
