//! What a processor's memory issues, and what it does with the answers.
//!
//! What caches allow at once is in `obtaining.rs`, and how other agents are answered in `snoops.rs`.

use crate::access_tags::Tag;
use crate::cache::Miss;
use crate::kind::Kind;
use crate::protocols::{Access, Request, State};
use crate::transaction::{BlockData, Response, Transaction};

use super::in_flight::{BLOCK, UNCACHED};
use super::second_level::Obtained;
use super::{Issued, MOST_OVERTAKING, Pending, ProcessorMemory, Purpose, Traffic, Uncached};

/// What needs a transaction on a block next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextOfBlocks {
    /// A line that is to be locked.
    Lock,
    /// A load under way, at this address.
    Load(u64),
    /// The access for which the processor waits.
    Pending,
    /// A store of the store queue, at this address.
    Store(u64),
    /// A flush that was posted.
    Posted,
    /// A block that the prefetcher asks for.
    Prefetch(u64),
}

impl ProcessorMemory {
    /// The interconnect of this traffic is granted: the transaction that the
    /// present state needs on it.
    pub fn issue(&mut self, traffic: Traffic) -> Option<Transaction> {
        if let Some(Pending::Data { address, access, .. }) = self.pending
            && traffic != Traffic::Uncached
            && self.has_nothing_beside()
        {
            self.overtaking = 0;
            let mut transaction = self.issue_block(address, access)?;
            transaction.address = self.translation.to_node(transaction.address);
            return Some(transaction);
        }
        self.drain_at_grant();
        let needed = self.needed(traffic)?;
        let mut next = needed.filter(|_| !self.is_stores_turn(traffic));
        let mut write_back = None;
        if next == Some(NextOfBlocks::Lock) {
            write_back = self.lock_next();
            next = self.next_of_blocks();
        }
        let mut transaction = match next {
            _ if write_back.is_some() => write_back,
            Some(NextOfBlocks::Load(address)) => self.issue_load(address),
            Some(NextOfBlocks::Pending) => self.issue_pending(),
            Some(NextOfBlocks::Store(address)) => self.issue_store(address),
            Some(NextOfBlocks::Prefetch(block)) => self.issue_prefetch(block),
            // Lines were locked without a transaction, and what else is needed goes elsewhere.
            None if traffic == Traffic::Blocks => None,
            // Uncached accesses go beside no block on the same interconnect.
            _ if traffic != Traffic::Uncached && !self.in_flight.has_no_block() => None,
            _ => self.issue_beside_blocks(traffic),
        };
        if let Some(transaction) = &mut transaction {
            let overtakes = traffic == Traffic::All && !self.store_buffer.is_empty();
            if transaction.kind.is_uncached() {
                transaction.tag = UNCACHED;
            }
            let is_flush = self.in_flight.get(transaction.tag) == Some(&Issued::PostedFlush);
            let is_posted = transaction.kind.is_uncached() || is_flush;
            self.overtaking = if overtakes && !is_posted { self.overtaking + 1 } else { 0 };
            self.note_issue(matches!(next, Some(NextOfBlocks::Store(_))));
            transaction.address = self.translation.to_node(transaction.address);
        }
        transaction
    }

    /// What is issued next of all that needs a transaction on a block. Loads under way are older than
    /// what the processor waits for, and both overtake the store queue; what is posted, or to be locked,
    /// goes beside no other block.
    #[inline]
    pub(super) fn next_of_blocks(&self) -> Option<NextOfBlocks> {
        if self.is_locking() {
            return self.in_flight.has_no_block().then_some(NextOfBlocks::Lock);
        }
        if self.is_queues_turn()
            && let Some(store) = self.next_store()
        {
            return Some(store);
        }
        if let Some(misses) = &self.misses
            && let Some(load) = misses.oldest_to_ask_for(self.beside_those_under_way())
        {
            return Some(NextOfBlocks::Load(load));
        }
        match self.pending {
            Some(
                Pending::Data { address, .. }
                | Pending::Conditional { address }
                | Pending::Instructions { address },
            ) if self.may_go_beside(address) => Some(NextOfBlocks::Pending),
            Some(Pending::Data { .. } | Pending::Conditional { .. } | Pending::Instructions { .. }) => {
                self.next_store()
            }
            Some(Pending::CacheBlock(_)) => self.in_flight.has_no_block().then_some(NextOfBlocks::Pending),
            _ => self.next_store().or_else(|| {
                let is_flush = self.store_buffer.front().is_some_and(|posted| posted.flushed().is_some());
                (is_flush && self.in_flight.has_no_block()).then_some(NextOfBlocks::Posted)
            }),
        }
    }

    /// The transaction on a block for which the processor waits.
    fn issue_pending(&mut self) -> Option<Transaction> {
        match self.pending? {
            Pending::Data { address, access, .. } => self.issue_block(address, access),
            Pending::Conditional { address } => self.issue_conditional(address),
            Pending::Instructions { address } => self.issue_fetch(address),
            Pending::CacheBlock(pending) => self.issue_cache_block(pending),
            _ => None,
        }
    }

    /// An uncached access, or what is posted.
    fn issue_beside_blocks(&mut self, traffic: Traffic) -> Option<Transaction> {
        match self.pending {
            Some(Pending::UncachedLoad(load)) if self.store_buffer.is_empty() => {
                self.in_flight.begin_uncached(Issued::UncachedLoad);
                Some(self.uncached(Kind::UncachedLoad, load))
            }
            Some(Pending::UncachedStore(store)) if self.store_buffer.is_empty() => {
                self.in_flight.begin_uncached(Issued::UncachedStore);
                Some(self.uncached(Kind::UncachedStore, store))
            }
            Some(Pending::Block { kind, address }) if self.store_buffer.is_empty() => {
                let transfer = self.block_transfer(kind, address);
                if transfer.is_some() {
                    self.in_flight.begin_uncached(Issued::BlockTransfer);
                }
                transfer
            }
            _ => self.issue_posted(traffic),
        }
    }

    /// Whether nothing is under way, posted or to be locked beside the access for which the
    /// processor waits: the usual case.
    #[inline(always)]
    pub(super) fn has_nothing_beside(&self) -> bool {
        self.in_flight.get(BLOCK).is_none() && self.has_nothing_behind()
    }

    /// Whether it needs nothing of an interconnect behind the block that it waits for.
    #[inline(always)]
    pub fn has_nothing_behind(&self) -> bool {
        self.in_flight.is_uncached_free()
            && self.store_buffer.is_empty()
            && self.second.is_none()
            && !self.works_ahead
    }

    /// The oldest of what is posted, if this traffic carries it.
    fn issue_posted(&mut self, traffic: Traffic) -> Option<Transaction> {
        while let Some(block) = self.store_buffer.front()?.flushed() {
            if let Some(mut write_back) = self.drop_block(block) {
                write_back.tag = self.in_flight.begin_block(Issued::PostedFlush);
                return Some(write_back);
            }
            // Others have asked for it, or it has made room, since it was posted.
            self.end_posted();
        }
        let store = self.store_buffer.front().filter(|_| traffic != Traffic::Blocks)?;
        self.in_flight.begin_uncached(Issued::PostedStore);
        store.transaction(self.agent)
    }

    /// The oldest of what was posted is over. True: that is what the processor has waited for.
    fn end_posted(&mut self) -> bool {
        self.store_buffer.pop_front();
        let Some(Pending::Drain { below }) = self.pending else { return false };
        let drained = self.store_buffer.len() < below;
        if drained {
            self.pending = None;
        }
        drained
    }

    /// Whether the oldest posted store goes before blocks that want the same
    /// interconnect.
    fn is_stores_turn(&self, traffic: Traffic) -> bool {
        traffic == Traffic::All && self.overtaking >= MOST_OVERTAKING
    }

    /// The transaction that was issued is over. True: the processor repeats its
    /// access now.
    pub fn complete(&mut self, transaction: &Transaction, response: &Response) -> bool {
        match self.in_flight.end(transaction.tag) {
            Issued::WriteBack => false,
            Issued::Block { address, request, instructions, purpose } => {
                self.take_block((address, request, instructions), response);
                self.note_block(address, request, purpose);
                self.end_loads(transaction.tag);
                self.drain_stores();
                match purpose {
                    Purpose::Pending => {
                        self.pending = None;
                        return true;
                    }
                    Purpose::Load | Purpose::Unmapped => {}
                    Purpose::Store => self.count_store_miss(),
                    Purpose::Prefetch if self.end_fetch() => return true,
                    Purpose::Prefetch => {}
                }
                self.serve_pending()
            }
            Issued::CacheBlock => self.finish_access(0),
            Issued::UncachedLoad => self.finish_access(response.value),
            Issued::UncachedStore => self.finish_access(transaction.value),
            Issued::BlockTransfer => {
                if let (Some(buffers), Some(block)) = (&mut self.block_buffers, &response.data) {
                    buffers.receive.copy_from_slice(block);
                }
                self.finish_access(0)
            }
            Issued::PostedStore | Issued::PostedFlush => self.end_posted(),
        }
    }

    /// The transaction for a load under way.
    fn issue_load(&mut self, address: u64) -> Option<Transaction> {
        let transaction = self.issue_block(address, Access::Load)?;
        self.issued_for(&transaction, Purpose::Load);
        Some(transaction)
    }

    /// What has been issued is for another access than that for which the processor waits. A write-back
    /// is for none.
    pub(super) fn issued_for(&mut self, transaction: &Transaction, access: Purpose) {
        if let Some(Issued::Block { purpose, .. }) = self.in_flight.get_mut(transaction.tag) {
            *purpose = access;
        }
    }

    /// A load under way is over, or a store has left the store queue: whether the processor repeats the
    /// access for which it waits.
    pub(super) fn serve_pending(&mut self) -> bool {
        let is_served = match self.pending {
            Some(Pending::MissRegister) => self.free_register().is_some(),
            Some(Pending::Loads) => !self.has_loads_under_way(),
            Some(Pending::LoadsOf(address)) => !self.is_on_its_way(address),
            Some(Pending::StoreQueue(awaited)) => self.have_left(awaited),
            Some(Pending::Data { address, access, most }) => {
                self.data.access(address, access).is_ok()
                    || self.bring(address, access, most) != Obtained::Missing
            }
            _ => false,
        };
        if is_served {
            self.pending = None;
        }
        is_served
    }

    /// The cache that the interconnect sees takes in the block that was fetched, or
    /// the right to write it; and the one above it that asked.
    fn take_block(&mut self, (address, request, instructions): (u64, Request, bool), response: &Response) {
        let data = response.data.as_ref();
        match (&mut self.second, &mut self.instructions) {
            (Some(second), _) if !second.is_only_above(&self.data, address) => {
                second.cache.fill_allowing(address, request, response.shared, data, Tag::None);
                self.refill_above();
            }
            (None, Some(cache)) if instructions => cache.fill(address, request, response.shared, data),
            _ => {
                let most = self.most_allowed(address, self.allowed_by_page(address));
                self.data.fill_allowing(address, request, response.shared, data, most);
            }
        }
    }

    /// The first level takes what the processor waits for from the second, which has
    /// just got it.
    fn refill_above(&mut self) {
        match self.pending {
            // A store goes through the data cache and takes no block in.
            Some(Pending::Data { access: Access::Store, .. }) if self.is_written_through() => {}
            Some(Pending::Data { address, access, most }) => {
                self.bring(address, access, most);
            }
            Some(Pending::Conditional { address }) => {
                self.bring(address, Access::Store, Tag::Read);
            }
            Some(Pending::Instructions { address }) => {
                self.bring_instructions(address);
            }
            _ => {}
        }
    }

    #[inline]
    pub(super) fn uncached(&self, kind: Kind, access: Uncached) -> Transaction {
        Transaction::uncached(self.agent, kind, access.address, access.size, access.value)
    }

    /// The transaction for the pending miss: first the write-back of a dirty
    /// victim, then the block, as the line's state asks for by now. None: the
    /// access needs nothing any more.
    #[inline(always)]
    pub(super) fn issue_block(&mut self, address: u64, access: Access) -> Option<Transaction> {
        if self.second.is_some() {
            return self.issue_from_second_level(address, access);
        }
        let Err(Miss { request, left }) = self.data.access_or_make_room(address, access) else {
            // The block was snarfed while the access waited.
            self.pending = None;
            return None;
        };
        if let Some((victim, data)) = left {
            self.keep_reservation();
            if let Some(data) = data {
                return Some(self.write_back(victim, data));
            }
        }
        Some(self.request(self.data.block_of(address), request))
    }

    /// The transaction for a block of the cache that the interconnect sees.
    #[inline(always)]
    fn request(&mut self, block: u64, request: Request) -> Transaction {
        let kind = match request {
            Request::Read => Kind::Read,
            Request::ReadExclusive => Kind::ReadExclusive,
            Request::Upgrade => Kind::Upgrade,
            Request::WriteBack => unreachable!("loads and stores do not ask for a write-back"),
        };
        let issued =
            Issued::Block { address: block, request, instructions: false, purpose: Purpose::Pending };
        let tag = self.in_flight.begin_block(issued);
        let bytes = self.block_bytes() as u64;
        if let Some(misses) = &mut self.misses {
            misses.is_brought(&(block..block + bytes), tag);
        }
        Transaction { tag, ..Transaction::block(self.agent, kind, block) }
    }

    /// The write-back of a block that has left to make room.
    #[inline(always)]
    pub(super) fn write_back(&mut self, block: u64, data: BlockData) -> Transaction {
        let tag = self.in_flight.begin_block(Issued::WriteBack);
        Transaction { tag, ..Transaction::carrying(self.agent, Kind::WriteBack, block, data) }
    }

    /// As [`ProcessorMemory::issue_block`], for data and instructions, below which
    /// there is a second level.
    #[inline(never)]
    fn issue_from_second_level(&mut self, address: u64, access: Access) -> Option<Transaction> {
        let second = self.second.as_mut()?;
        let block = second.cache.block_of(address);
        let Err(request) = second.look(&mut self.data, address, access) else {
            // The block is there by now. A dirty one may have to leave the data cache
            // for it that has no place in the second level.
            if matches!(self.pending, Some(Pending::Data { .. }))
                && self.bring(address, access, Tag::Read) == Obtained::Missing
            {
                return self.make_room(address);
            }
            self.refill_above();
            self.pending = None;
            return None;
        };
        if request != Request::Upgrade {
            let victim = second.make_room(&mut self.data, self.instructions.as_mut(), block);
            self.keep_reservation();
            if let Some((victim, data)) = victim {
                return Some(self.write_back(victim, data));
            }
        }
        Some(self.request(block, request))
    }

    /// The same for a store that is made only while its block is reserved. Once it is
    /// not, the block is left to others, of whom one can then make such a store:
    /// otherwise several could take it from each other for ever.
    fn issue_conditional(&mut self, address: u64) -> Option<Transaction> {
        if self.reservation == Some(self.data.block_of(address)) {
            return self.issue_block(address, Access::Store);
        }
        self.pending = None;
        None
    }

    /// Drops a block of the interconnect; its write-back, at the process's address.
    pub(super) fn drop_block(&mut self, block: u64) -> Option<Transaction> {
        let data = match &mut self.second {
            Some(second) if !second.is_only_above(&self.data, block) => {
                second.drop_block(&mut self.data, self.instructions.as_mut(), block)
            }
            _ => self.data.remove(block),
        };
        self.given_up(block, data)
    }

    /// The state of a block of the interconnect.
    pub(super) fn block_state(&self, block: u64) -> State {
        match &self.second {
            Some(second) if !second.is_only_above(&self.data, block) => second.cache.state(block),
            _ => self.data.state(block),
        }
    }

    /// The bytes of a block of the interconnect, which this processor has alone and whose
    /// home has them from now on.
    pub(super) fn clean(&mut self, block: u64) -> BlockData {
        let mut bytes = BlockData::zeroed(self.block_bytes());
        self.peek_own(block, &mut bytes);
        let most = self.most_allowed(block, Tag::Read);
        match &mut self.second {
            Some(second) if !second.is_only_above(&self.data, block) => second.clean(&mut self.data, block),
            _ => self.data.fill_allowing(block, Request::Read, false, None, most),
        }
        bytes
    }

    /// Bytes in a block of the interconnect.
    pub(super) fn block_bytes(&self) -> usize {
        self.coherent_cache().block_bytes()
    }

    /// A block has left the caches of data: its write-back, if its home has older bytes.
    fn given_up(&mut self, block: u64, data: Option<BlockData>) -> Option<Transaction> {
        self.keep_reservation();
        self.sweep(block);
        Some(Transaction::carrying(self.agent, Kind::WriteBack, block, data?))
    }

    /// Empties a line for `block`; the write-back that it takes, if any.
    pub(super) fn make_room(&mut self, block: u64) -> Option<Transaction> {
        let (victim, data) = self.data.make_room(block)?;
        self.keep_reservation();
        Some(self.write_back(victim, data?))
    }

    fn issue_fetch(&mut self, address: u64) -> Option<Transaction> {
        if self.second.is_some() {
            return self.issue_from_second_level(address, Access::Load);
        }
        let cache = self.instructions.as_mut()?;
        let block = cache.block_of(address);
        // Instructions are never dirty: a victim just goes.
        cache.make_room(block);
        let (request, instructions) = (Request::Read, true);
        let issued = Issued::Block { address: block, request, instructions, purpose: Purpose::Pending };
        let tag = self.in_flight.begin_block(issued);
        Some(Transaction { tag, ..Transaction::block(self.agent, Kind::Read, block) })
    }

    /// The access is over, and its instruction will be repeated.
    #[inline]
    pub(super) fn finish_access(&mut self, value: u64) -> bool {
        let pending = self.pending.take().expect("an access was pending");
        self.finished = Some((pending, value));
        true
    }

    /// The value of `access` if it is the one that has just finished.
    #[inline]
    pub(super) fn take_finished(&mut self, access: Pending) -> Option<u64> {
        let (finished, value) = self.finished?;
        (finished == access).then(|| {
            self.finished = None;
            value
        })
    }
}
