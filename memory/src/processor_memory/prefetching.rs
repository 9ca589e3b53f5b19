//! Blocks that a cache level fetches before an access asks for them.
//!
//! The level is the one that the interconnect sees. Its [`Prefetcher`] is trained by loads and stores that miss it, and by
//! the first access to each block that was prefetched; it says which blocks of the page are to be asked for:
//!
//! ```text
//!   miss, first use ──► trains ──► asked ──(the interconnect is granted, nothing else is needed)──► under way
//!                                                                                                      │
//!        late   ◄── an access waits for it ────────────────────────────────────────────────────────────┤
//!        useful ◄── first use ──── unused, in the cache ◄────────────────────────────────────────────────┘
//!        useless ◄─ it leaves ────────┘
//! ```
//!
//! **Last of all.** A block is asked for while the processor waits for nothing, posts nothing, and locks nothing, behind
//! loads under way and the store queue; that holds no access up but by the interconnect's own time. One that is
//! refused is not asked for again. It is fetched to be read, and makes room as any block does, but for one that is
//! reserved: a conditional store would fail again and again.
//!
//! **First use.** No access to a block that nobody has used is fast. The first one trains the prefetcher, and if that has
//! more to ask for, the processor stops for no time, so that the node asks for the interconnect at this
//! instant, and repeats the access.
//!
//! **Where not.** Nothing is fetched from the region of the devices, and nothing for code. Pages that are gone, or are
//! others, while a block of theirs is under way lose it when it comes.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::transactions::NextOfBlocks;
use super::{Issued, Pending, ProcessorMemory, Purpose};
use crate::access_tags::Tag;
use crate::cache::Cache;
use crate::main_memory::PAGE_BYTES;
use crate::port::Outcome;
use crate::prefetchers::{self, Prefetcher};
use crate::protocols::{Access, Request};
use crate::transaction::{Transaction, TransactionTag};

/// Blocks that wait to be asked for at most; the oldest go.
const MOST_ASKED: usize = 32;

narthex_kernel::statistics! {
    /// What became of the blocks that were prefetched. What they do not add up to is in the caches, unused.
    pub struct Statistics {
        issued: Counter, "prefetches_issued", "blocks", "blocks that a prefetcher has fetched";
        useful: Counter, "prefetches_useful", "blocks", "of these, blocks that an access used after they had come";
        late: Counter, "prefetches_late", "blocks", "of these, blocks for which an access waited when they came";
        useless: Counter, "prefetches_useless", "blocks", "of these, blocks that left the cache before any access";
    }
}

/// The prefetcher of a processor's cache level, and its blocks.
#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub(super) struct Prefetching {
    prefetcher: Prefetcher,
    /// Blocks that are to be asked for, the first one first.
    asked: VecDeque<u64>,
    /// Blocks that have come and that no access has used: as many places for each set as it has lines.
    unused: Vec<Option<u64>>,
    pub statistics: Statistics,
}

impl Prefetching {
    /// What of it never changes.
    pub fn config_identity(&self) -> ([u64; 3], usize) {
        (self.prefetcher.config_identity(), self.unused.len())
    }

    /// What decides how it goes on.
    pub fn state(&self) -> impl std::hash::Hash {
        (self.prefetcher.clone(), self.asked.clone(), self.unused.clone())
    }

    /// A block of these lines is not unused any more: whether it was.
    fn take_unused(&mut self, lines: Range<usize>, block: u64) -> bool {
        let place = self.unused[lines].iter_mut().find(|own| **own == Some(block));
        place.is_some_and(|own| own.take().is_some())
    }

    /// Unused blocks of these lines that have left are useless.
    fn sweep(&mut self, lines: Range<usize>, cache: &Cache) {
        for own in &mut self.unused[lines] {
            if own.take_if(|block| !cache.holds(*block)).is_some() {
                self.statistics.useless.increment();
            }
        }
    }
}

impl ProcessorMemory {
    /// The same with a prefetcher of the cache that the interconnect sees. The parameters have been checked by
    /// [`prefetchers::Config::problems`].
    pub fn with_prefetcher(self, config: &prefetchers::Config) -> Self {
        let cache = self.coherent_cache();
        let prefetching = Prefetching {
            prefetcher: Prefetcher::new(config),
            asked: VecDeque::with_capacity(MOST_ASKED),
            unused: vec![None; cache.sets() * cache.ways()],
            statistics: Statistics::default(),
        };
        ProcessorMemory { prefetching: Some(Box::new(prefetching)), works_ahead: true, ..self }
    }

    /// What became of the blocks that it has prefetched, if it has a prefetcher.
    pub fn prefetch_statistics(&self) -> Option<&Statistics> {
        self.prefetching.as_ref().map(|own| &own.statistics)
    }

    /// Whether the transaction with this tag is under way for its prefetcher.
    pub fn is_prefetch(&self, tag: TransactionTag) -> bool {
        self.in_flight.get(tag).is_some_and(Issued::is_prefetch)
    }

    /// Whether all that is under way are prefetches, of which none brings what the processor waits for.
    pub fn waits_behind_prefetches(&self) -> bool {
        let is_other = |issued: &Issued| match issued {
            Issued::Block { address, .. } => issued.is_prefetch() && !self.is_awaited(*address),
            _ => false,
        };
        self.prefetching.is_some()
            && self.in_flight.is_uncached_free()
            && self.in_flight.of_blocks().all(is_other)
    }

    /// Whether a prefetch is under way, or will be without another access.
    #[inline]
    pub(super) fn has_prefetches(&self) -> bool {
        let Some(own) = &self.prefetching else { return false };
        let cache = self.coherent_cache();
        !self.in_flight.has_no_block() || own.asked.iter().any(|&block| !cache.holds(block))
    }

    /// The cache that the interconnect sees.
    #[inline]
    pub(super) fn coherent_cache(&self) -> &Cache {
        self.second.as_ref().map_or(&self.data, |second| &second.cache)
    }

    /// A load or a store misses: what has no block yet trains the prefetcher.
    #[inline]
    pub(super) fn train(&mut self, address: u64) {
        if self.prefetching.is_some() && !self.coherent_cache().holds(address) {
            self.train_by(address);
        }
    }

    #[inline(never)]
    fn train_by(&mut self, address: u64) {
        if self.translation.is_common(address) {
            return;
        }
        let Some(mut own) = self.prefetching.take() else { return };
        let cache = self.coherent_cache();
        let bytes = cache.block_bytes() as u64;
        let page = address & !(PAGE_BYTES - 1);
        let blocks = page / bytes..(page + PAGE_BYTES) / bytes;
        let Prefetching { prefetcher, asked, .. } = &mut *own;
        prefetcher.train(address / bytes, &blocks, &mut |number| {
            let block = number * bytes;
            let is_kept_away = self.reservation.is_some_and(|reserved| cache.share_a_set(reserved, block));
            if is_kept_away
                || cache.holds(block)
                || asked.contains(&block)
                || self.in_flight.bringing(block).is_some()
            {
                return;
            }
            if asked.len() == MOST_ASKED {
                asked.pop_front();
            }
            asked.push_back(block);
        });
        self.prefetching = Some(own);
    }

    /// The processor reserves a block: no prefetch takes its place, so that its conditional store can be made.
    pub(super) fn keep_reserved(&mut self, address: u64) {
        if let Some(mut own) = self.prefetching.take() {
            let cache = self.coherent_cache();
            own.asked.retain(|&block| !cache.share_a_set(address, block));
            self.prefetching = Some(own);
        }
    }

    /// An access comes to a block of the caches: where it is the first one to a prefetched block, and the prefetcher
    /// has more to ask for, the processor stops for no time.
    #[inline]
    pub(super) fn note_use<T>(&mut self, address: u64) -> Option<Outcome<T>> {
        self.prefetching.as_ref()?;
        (self.use_block(address) && self.next_prefetch().is_some()).then_some(Outcome::Wait)
    }

    /// An access uses a block: whether that is the first one to a prefetched block.
    #[inline(never)]
    pub(super) fn use_block(&mut self, address: u64) -> bool {
        let cache = self.coherent_cache();
        let (lines, block) = (cache.lines_for(address), cache.block_of(address));
        if !cache.holds(address) {
            return false;
        }
        let Some(own) = &mut self.prefetching else { return false };
        if !own.take_unused(lines, block) {
            return false;
        }
        own.statistics.useful.increment();
        if self.second.is_none() {
            self.allow(address, Tag::Read);
        }
        self.train_by(address);
        true
    }

    /// The block that is prefetched next, if one may be.
    #[inline]
    pub(super) fn next_prefetch(&self) -> Option<NextOfBlocks> {
        self.prefetching.as_ref().and_then(|own| self.next_asked(own))
    }

    #[inline(never)]
    fn next_asked(&self, own: &Prefetching) -> Option<NextOfBlocks> {
        if self.pending.is_some() || !self.store_buffer.is_empty() || self.is_locking() {
            return None;
        }
        let (cache, may_go) = (self.coherent_cache(), self.beside_those_under_way());
        let mut asked = own.asked.iter().copied();
        asked.find(|&block| !cache.holds(block) && may_go(block)).map(NextOfBlocks::Prefetch)
    }

    /// The transaction for a block that is prefetched; one that makes room for it comes first.
    pub(super) fn issue_prefetch(&mut self, block: u64) -> Option<Transaction> {
        let transaction = self.issue_block(block, Access::Load)?;
        if transaction.kind.fetches_block()
            && let Some(own) = &mut self.prefetching
        {
            own.asked.retain(|&asked| asked != block);
        }
        self.issued_for(&transaction, Purpose::Prefetch);
        Some(transaction)
    }

    /// Whether the processor waits for this block of the interconnect.
    fn is_awaited(&self, block: u64) -> bool {
        match self.pending {
            Some(Pending::Data { address, .. } | Pending::Conditional { address }) => {
                self.block_of(address) == block
            }
            Some(Pending::Instructions { address }) => {
                self.second.is_some() && self.block_of(address) == block
            }
            _ => false,
        }
    }

    /// Whether an access needs this block of the interconnect: the one for which the processor waits, a load under way,
    /// or a store of the queue.
    fn is_needed(&self, block: u64) -> bool {
        let bytes = self.block_bytes() as u64;
        let is_stored_to = || self.store_queue.as_ref().is_some_and(|queue| queue.has_any_in(block, bytes));
        self.is_awaited(block) || self.is_on_its_way(block) || is_stored_to()
    }

    /// A block has come, or the right to write it.
    #[inline]
    pub(super) fn note_block(&mut self, block: u64, request: Request, purpose: Purpose) {
        if self.prefetching.is_some() {
            self.note_block_of(block, request, purpose);
        }
    }

    #[inline(never)]
    fn note_block_of(&mut self, block: u64, request: Request, purpose: Purpose) {
        self.sweep(block);
        let is_needed = self.is_needed(block);
        let lines = self.coherent_cache().lines_for(block);
        let Some(own) = &mut self.prefetching else { return };
        let was_unused = purpose != Purpose::Prefetch && own.take_unused(lines.clone(), block);
        let Statistics { issued, useful, late, useless } = &mut own.statistics;
        issued.add(matches!(purpose, Purpose::Prefetch | Purpose::Unmapped).into());
        match purpose {
            Purpose::Unmapped => {
                useless.increment();
                self.drop_block(block);
            }
            Purpose::Prefetch if is_needed => late.increment(),
            Purpose::Prefetch => {
                let free = own.unused[lines].iter_mut().find(|place| place.is_none());
                *free.expect("a set has a place for each of its blocks") = Some(block);
                if self.second.is_none() {
                    self.data.allow(block, Tag::None);
                }
            }
            // It was used by the store that needs the right, or had left and is fetched again.
            _ if was_unused => match request {
                Request::Upgrade => useful.increment(),
                _ => useless.increment(),
            },
            _ => {}
        }
    }

    /// Unused blocks that share a set with this one, and have left, are useless.
    #[inline]
    pub(super) fn sweep(&mut self, block: u64) {
        if self.prefetching.is_some() {
            self.sweep_set_of(block);
        }
    }

    #[inline(never)]
    fn sweep_set_of(&mut self, block: u64) {
        if let Some(mut own) = self.prefetching.take() {
            let cache = self.coherent_cache();
            own.sweep(cache.lines_for(block), cache);
            self.prefetching = Some(own);
        }
    }

    /// A fetch for which the processor waits has got its block from the second level, to which a prefetch has brought
    /// it.
    pub(super) fn end_fetch(&mut self) -> bool {
        let Some(Pending::Instructions { address }) = self.pending else { return false };
        let has_come = self.instructions.as_ref().is_some_and(|cache| cache.holds(address));
        if has_come {
            self.pending = None;
        }
        has_come
    }

    /// The pages of this range are others from now on.
    pub(super) fn forget_prefetches(&mut self, range: &Range<u64>) {
        let Some(mut own) = self.prefetching.take() else { return };
        own.asked.retain(|block| !range.contains(block));
        let cache = self.coherent_cache();
        own.sweep(0..own.unused.len(), cache);
        self.prefetching = Some(own);
        self.in_flight.forget_prefetches(range);
    }
}

impl Issued {
    fn is_prefetch(&self) -> bool {
        matches!(self, Issued::Block { purpose: Purpose::Prefetch | Purpose::Unmapped, .. })
    }
}

#[cfg(test)]
mod tests;
