//! From a process's addresses to its node's: base and bounds, and page frames.
//!
//! ```text
//!   process 0's addresses      the node's memory       process 1's addresses
//!   ┌──────────┐ 0             ┌──────────┐ 0                    ┌──────────┐ 0
//!   │ own      │ ────────────► │ own of 0 │                      │ own      │
//!   ├──────────┤               ├──────────┤                      ├──────────┤
//!   │ common   │ ────────────► │ common   │ ◄─────────────────── │ common   │
//!   ├──────────┤               ├──────────┤                      ├──────────┤
//!   │ own      │ ────────────► │ own of 0 │           ┌───────── │ own      │
//!   └──────────┘               ├──────────┤ base of 1 │          └──────────┘
//!                              │ own of 1 │ ◄─────────┘
//!                              └──────────┘
//! ```
//!
//! The processes of a node have the same addresses and different memory: what a
//! process uses lies at a base of its own, each page in its frame there
//! ([`crate::page_frames`]). The region of the devices is common
//! to all of them and translated to itself, so that an interface and several
//! processes mean the same block by the same address ("device virtual memory
//! using base-and-bounds", isca96, Section 2.3). Caches hold the addresses of
//! their process; the translation is made where a transaction leaves for the
//! interconnect, and undone where one is snooped.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::main_memory::PAGE_BYTES;
use crate::page_frames::PageFrames;

/// The translation of one process's addresses.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Translation {
    base: u64,
    common: Range<u64>,
    frames: PageFrames,
}

impl Translation {
    /// Bytes from one process's base to the next: more than a process can address.
    pub const SPACE_BYTES: u64 = 1 << 40;

    /// That of the node's process with this number; the addresses in `common`
    /// are the same for all of them.
    pub fn of_process(process: u8, common: Range<u64>) -> Self {
        let frames = PageFrames::default();
        Translation { base: u64::from(process) * Self::SPACE_BYTES, common, frames }
    }

    /// The same for a process whose pages are in these frames.
    pub fn with_frames(self, frames: PageFrames) -> Self {
        Translation { frames, ..self }
    }

    /// Whether an address is in the region of the devices, which is the same for all processes.
    pub fn is_common(&self, address: u64) -> bool {
        self.common.contains(&address)
    }

    /// Where an address of the process lies in the node.
    #[inline]
    pub fn to_node(&self, address: u64) -> u64 {
        if self.common.contains(&address) { address } else { self.base + self.frames.of(address) }
    }

    /// By which address the process knows a place of the node's memory; none if
    /// it is another process's.
    pub fn to_process(&self, address: u64) -> Option<u64> {
        if self.common.contains(&address) {
            return Some(address);
        }
        let place = address.checked_sub(self.base).filter(|&own| own < Self::SPACE_BYTES)?;
        Some(self.frames.back(place))
    }

    /// Where in the node the parts of a range of the process's own addresses are, each
    /// as long as its frames follow each other: (address in the node, bytes).
    pub fn parts(&self, range: Range<u64>) -> impl Iterator<Item = (u64, u64)> {
        let longest = if self.frames.are_contiguous() { u64::MAX } else { PAGE_BYTES };
        let mut here = range.start;
        std::iter::from_fn(move || {
            let rest = range.end.checked_sub(here).filter(|&rest| rest > 0)?;
            let bytes = (longest - here % longest).min(rest);
            let place = self.to_node(here);
            here += bytes;
            Some((place, bytes))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_in_the_frames_of_its_pages() {
        use crate::page_frames::FramePlacement::Scattered;
        let contiguous = Translation::of_process(1, 0..0);
        let of = |translation: &Translation, range| translation.parts(range).collect::<Vec<_>>();
        let base = Translation::SPACE_BYTES;
        assert_eq!(of(&contiguous, 0x1ff8..0x3004), [(base + 0x1ff8, 0x100c)]);
        assert_eq!(of(&contiguous, 8..8), []);
        let scattered = contiguous.with_frames(PageFrames::new(Scattered, 1, 0..0));
        let places = of(&scattered, 0x1ff8..0x3004);
        assert_eq!(places.iter().map(|&(_, bytes)| bytes).collect::<Vec<_>>(), [8, 0x1000, 4]);
        for ((place, _), own) in places.into_iter().zip([0x1ff8, 0x2000, 0x3000]) {
            assert_eq!((scattered.to_node(own), scattered.to_process(place)), (place, Some(own)));
            assert!(place >= base && place < 2 * base);
        }
    }

    #[test]
    fn own_addresses_differ_and_common_ones_do_not() {
        let [zero, one] = [0, 1].map(|process| Translation::of_process(process, 0x5000..0x6000));
        assert_eq!((zero.to_node(0x1000), one.to_node(0x1000)), (0x1000, Translation::SPACE_BYTES + 0x1000));
        assert_eq!(zero.to_process(one.to_node(0x1000)), None);
        assert_eq!(one.to_process(zero.to_node(0x1000)), None);
        for process in [zero, one] {
            assert_eq!(process.to_node(0x5008), 0x5008);
            assert_eq!(process.to_process(0x5008), Some(0x5008));
            assert_eq!(process.to_process(process.to_node(0x1000)), Some(0x1000));
        }
    }
}
