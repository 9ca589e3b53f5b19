//! What a processor's caches hold, and how other caches are filled with it: functional, without time.
//!
//! ```text
//!   caches of one machine ── held_blocks ──► accesses, oldest first ── replay ──► caches of another
//! ```
//!
//! Each block stands for the last access to it, and these accesses are replayed in their order. In
//! caches that replace the least recently used block, and that have at least as many sets, this
//! leaves what a replay of the whole run would leave, but no more blocks than the former caches held:
//! the rest of a larger cache stays empty. A cache does not record the order of accesses to different
//! sets; here the oldest block of each set comes first, then the second oldest of each. So caches
//! with fewer sets get about the blocks that they would have. With two levels the blocks of the
//! second level come before those of the first, which are thus its most recently used ones.
//!
//! A replayed access asks its caches as an access of the processor does, and forms the transactions
//! that they need. So all levels, sizes and protocols are filled by their own rules. The caller
//! carries out the transactions. Prefetchers do not learn from it.

use serde::{Deserialize, Serialize};

use super::second_level::Obtained;
use super::{Pending, ProcessorMemory, ProcessorPort};
use crate::access_tags::Tag;
use crate::cache::Cache;
use crate::pages::{PageAttributes, PageKind};
use crate::protocols::{Access, State};

/// The most transactions of an access to a block: its own, and write-backs of blocks that make room in both
/// levels.
const MOST_TRANSACTIONS: usize = 4;

/// The last access to a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LastAccess {
    /// The home has the same bytes.
    Load,
    /// No other cache has it, and its home has older bytes.
    Store,
    /// An instruction cache has it.
    Fetch,
}

/// A block that a cache holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HeldBlock {
    /// Its address in the process.
    pub address: u64,
    /// Its length.
    pub bytes: u16,
    /// The last access to it.
    pub last: LastAccess,
}

impl ProcessorMemory {
    /// The blocks that its caches hold, the most recently used ones last.
    pub fn held_blocks(&self) -> Vec<HeldBlock> {
        let below = self.second.iter().flat_map(|second| held_by(&second.cache, LastAccess::Load));
        let code = self.instructions.iter().flat_map(|cache| held_by(cache, LastAccess::Fetch));
        below.chain(code).chain(held_by(&self.data, LastAccess::Load)).collect()
    }

    /// Replays the last access to a block of a page, if the page allows it; `carry` carries out the
    /// transaction that the caches need next.
    pub fn replay(&mut self, held: &HeldBlock, page: PageAttributes, mut carry: impl FnMut(&mut Self)) {
        let (is_allowed, cache) = match held.last {
            LastAccess::Load => (page.readable, Some(&self.data)),
            LastAccess::Store => (page.writable, Some(&self.data)),
            LastAccess::Fetch => (page.executable, self.instructions.as_ref()),
        };
        let Some(cache) = cache.filter(|_| is_allowed && page.kind == PageKind::Cachable) else { return };
        let (step, end) = (cache.block_bytes(), held.address.saturating_add(held.bytes.into()));
        for address in (held.address..end).step_by(step) {
            for _ in 0..MOST_TRANSACTIONS {
                self.pending = self.lacks(address, held.last, page);
                if self.pending.is_none() {
                    break;
                }
                carry(self);
            }
            self.pending = None;
        }
    }

    /// What an access to the block of `address` has to wait for, if anything.
    fn lacks(&mut self, address: u64, last: LastAccess, page: PageAttributes) -> Option<Pending> {
        let (access, most) = match last {
            LastAccess::Load => (Access::Load, Tag::Read),
            LastAccess::Store => (Access::Store, ProcessorPort::most_fast(page)),
            LastAccess::Fetch => {
                let is_here = self.instructions.as_mut()?.access(address, Access::Load).is_ok();
                let is_missing = !is_here && self.bring_instructions(address) == Obtained::Missing;
                return is_missing.then_some(Pending::Instructions { address });
            }
        };
        let is_allowed = match &mut self.second {
            Some(second) if access == Access::Store && second.is_written_through => {
                second.look(&mut self.data, address, access).is_ok()
            }
            _ => {
                self.data.access(address, access).is_ok()
                    || self.bring(address, access, most) != Obtained::Missing
            }
        };
        (!is_allowed).then_some(Pending::Data { address, access, most })
    }
}

/// The blocks of a cache, the least recently used of each set first; the last access to a clean block is
/// `clean`.
fn held_by(cache: &Cache, clean: LastAccess) -> impl Iterator<Item = HeldBlock> {
    let bytes = cache.block_bytes() as u16;
    cache.blocks_by_age().map(move |address| {
        let last = if cache.state(address) == State::Modified { LastAccess::Store } else { clean };
        HeldBlock { address, bytes, last }
    })
}
