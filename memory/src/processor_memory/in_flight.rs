//! What a processor's transactions under way are for, by their tags.
//!
//! One transaction on a block is under way, and one uncached access: where uncached accesses have
//! a path of their own, both at once. Where the interconnect has tags for more, as many transactions
//! on blocks are under way as it has:
//!
//! ```text
//!   tag 0        a block          of a load under way, or of the access for which the processor waits
//!   tag 1        an uncached access
//!   tags 2, ...  further blocks
//! ```

use std::cell::LazyCell;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Issued, ProcessorMemory, Purpose};
use crate::transaction::TransactionTag;

/// The tag of the first transaction on a block.
pub(super) const BLOCK: TransactionTag = TransactionTag(0);

/// The tag of an uncached access.
pub(super) const UNCACHED: TransactionTag = TransactionTag(1);

/// Tags that an agent has at least.
const LEAST: usize = 2;

/// A processor's transactions under way.
#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
pub(super) struct InFlight {
    entries: [Option<Issued>; LEAST],
    /// Further blocks, up to 64; empty if one is under way at a time.
    more: Vec<Option<Issued>>,
    /// Which of these are taken, a bit each: most are free, and all are asked often.
    taken: u64,
}

impl InFlight {
    /// So many transactions on blocks may be under way.
    pub fn with_blocks(count: usize) -> Self {
        debug_assert!(count <= u64::BITS as usize + 1);
        InFlight { more: vec![None; count - 1], ..InFlight::default() }
    }

    /// How many transactions on blocks may be under way.
    pub fn most_blocks(&self) -> usize {
        1 + self.more.len()
    }

    /// A transaction on a block is issued: its tag.
    #[inline(always)]
    pub fn begin_block(&mut self, issued: Issued) -> TransactionTag {
        if self.entries[usize::from(BLOCK.0)].is_none() {
            self.entries[usize::from(BLOCK.0)] = Some(issued);
            return BLOCK;
        }
        let place = self.taken.trailing_ones() as usize;
        self.more[place] = Some(issued);
        self.taken |= 1 << place;
        TransactionTag((LEAST + place) as u8)
    }

    /// An uncached access is issued.
    #[inline(always)]
    pub fn begin_uncached(&mut self, issued: Issued) {
        self.entries[usize::from(UNCACHED.0)] = Some(issued);
    }

    #[inline(always)]
    fn entry(&self, tag: TransactionTag) -> &Option<Issued> {
        let place = usize::from(tag.0);
        if place < LEAST { &self.entries[place] } else { &self.more[place - LEAST] }
    }

    /// To change what it is for: taken remains taken.
    #[inline(always)]
    fn entry_mut(&mut self, tag: TransactionTag) -> &mut Option<Issued> {
        let place = usize::from(tag.0);
        if place < LEAST { &mut self.entries[place] } else { &mut self.more[place - LEAST] }
    }

    /// The one with this tag is over: what it was for.
    #[inline(always)]
    pub fn end(&mut self, tag: TransactionTag) -> Issued {
        if let Some(place) = usize::from(tag.0).checked_sub(LEAST) {
            self.taken &= !(1 << place);
        }
        self.entry_mut(tag).take().expect("a transaction was issued")
    }

    /// The one with this tag, if it is under way.
    #[inline(always)]
    pub fn get(&self, tag: TransactionTag) -> Option<&Issued> {
        self.entry(tag).as_ref()
    }

    /// The same, to change what it is for.
    pub fn get_mut(&mut self, tag: TransactionTag) -> Option<&mut Issued> {
        self.entry_mut(tag).as_mut()
    }

    /// Whether no uncached access is under way.
    #[inline(always)]
    pub fn is_uncached_free(&self) -> bool {
        self.get(UNCACHED).is_none()
    }

    /// Whether no transaction on a block is under way.
    #[inline(always)]
    pub fn has_no_block(&self) -> bool {
        self.get(BLOCK).is_none() && self.taken == 0
    }

    /// Whether another transaction on a block may be issued.
    #[inline(always)]
    pub fn has_room_for_block(&self) -> bool {
        self.get(BLOCK).is_none() || (self.taken.trailing_ones() as usize) < self.more.len()
    }

    /// What the transactions on blocks are for.
    pub fn of_blocks(&self) -> impl Iterator<Item = &Issued> {
        let mut left = self.taken;
        let next = move || {
            let place = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            self.more[place].as_ref()
        };
        self.get(BLOCK).into_iter().chain(std::iter::from_fn(next))
    }

    /// The transaction that brings a block, or the right to write it.
    pub fn bringing(&self, block: u64) -> Option<TransactionTag> {
        let brings = |issued: &Option<Issued>| matches!(issued, Some(Issued::Block { address, .. }) if *address == block);
        if brings(&self.entries[usize::from(BLOCK.0)]) {
            return Some(BLOCK);
        }
        let mut left = self.taken;
        while left != 0 {
            let place = left.trailing_zeros() as usize;
            if brings(&self.more[place]) {
                return Some(TransactionTag((LEAST + place) as u8));
            }
            left &= left - 1;
        }
        None
    }

    /// What prefetches bring of this range is to go when it comes.
    pub fn forget_prefetches(&mut self, range: &Range<u64>) {
        for issued in self.entries.iter_mut().chain(&mut self.more).flatten() {
            if let Issued::Block { address, purpose: purpose @ Purpose::Prefetch, .. } = issued
                && range.contains(address)
            {
                *purpose = Purpose::Unmapped;
            }
        }
    }

    /// Whether none is under way.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.is_uncached_free() && self.has_no_block()
    }
}

impl ProcessorMemory {
    /// The same with so many transactions on blocks under way at a time, at least one: one for
    /// each miss, each store of its queue, and each block of its prefetcher, that it may have, and no more than the interconnect allows. Below a second
    /// level that is not inclusive it is one: a block may be above alone there, where another
    /// one that comes could take its place while it is upgraded.
    pub fn with_transactions(self, count: usize) -> Self {
        let takes_several = self.second.as_ref().is_none_or(|second| second.is_inclusive());
        let has_several = self.works_ahead;
        let count = if has_several && takes_several { count } else { 1 };
        ProcessorMemory { in_flight: InFlight::with_blocks(count), ..self }
    }

    /// Whether a transaction on the block of `address` may be issued beside those under way. None
    /// of them is on a block that competes with it for a line: a line that is empty, and one
    /// that is upgraded, are spoken for.
    #[inline]
    pub(super) fn may_go_beside(&self, address: u64) -> bool {
        self.in_flight.has_no_block() || self.competes_with_none(address)
    }

    /// As [`ProcessorMemory::may_go_beside`], for several addresses: those under way are looked at once, if at all, and
    /// again only for an address whose set may be theirs.
    #[inline]
    pub(super) fn beside_those_under_way(&self) -> impl Fn(u64) -> bool {
        let cache = self.coherent_cache();
        let sets_of = |issued: &Issued| match issued {
            Issued::Block { address, .. } => cache.set_in_word(*address),
            _ => u64::MAX,
        };
        let taken =
            LazyCell::new(move || self.in_flight.of_blocks().map(sets_of).fold(0, |all, sets| all | sets));
        move |address| *taken & cache.set_in_word(address) == 0 || self.competes_with_none(address)
    }

    fn competes_with_none(&self, address: u64) -> bool {
        let cache = self.coherent_cache();
        let competes = |issued: &Issued| match issued {
            Issued::Block { address: other, .. } => cache.share_a_set(address, *other),
            _ => true,
        };
        !self.in_flight.of_blocks().any(competes)
    }
}
