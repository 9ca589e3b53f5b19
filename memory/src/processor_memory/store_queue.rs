//! Stores to cached memory that wait for their blocks while the processor goes on.
//!
//! Without a queue the processor waits for a store that its caches cannot take. With one the store
//! waits in front of the data cache, and becomes visible when it leaves the queue:
//!
//! ```text
//!   store ── the caches may be written ──────────────────────────────► data cache
//!     └───── they may not ──► queue ── the block has come, writable ──► data cache
//!   load ─── all its bytes are in the youngest store of any of them ──► forwarded
//! ```
//!
//! **Order.** Stores leave as the machine's file says ([`DrainOrder`]): in program order, so that
//! a store that would hit waits behind one that misses, as with TSO; or each as soon as its block is
//! there, in program order for each block. Loads overtake them, up to [`MOST_OVERTAKING`]
//! transactions; no load, and no snoop, sees a store of the queue but by forwarding. Until it is empty wait:
//! fences, atomics with `.rl`, uncached accesses, cache-block operations, system calls, and
//! where stores leave in order atomics too. Other atomics wait for the stores to their
//! block, and so does a load that needs bytes of several stores, or of a store and of memory.
//!
//! **What is not queued.** Stores to pages of code, stores of a process with tagged memory, and stores that lie
//! in two blocks are waited for, as without a queue, when it has drained.
//!
//! **Time.** A store takes the processor as long as one that hits. A store that leaves takes no time of
//! the data cache, nor of the second level if that has its block by then: several whose block
//! has come leave at that instant.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::second_level::Obtained;
use super::transactions::NextOfBlocks;
use super::{MOST_OVERTAKING, Pending, ProcessorMemory, ProcessorPort, Purpose};
use crate::access_tags::Tag;
use crate::pages::PageAttributes;
use crate::port::Outcome;
use crate::protocols::Access;
use crate::transaction::Transaction;

/// Stores that a queue holds at most.
const MOST_ENTRIES: u32 = 64;

/// In which order stores leave the queue, and are seen by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DrainOrder {
    /// That of the program; one block is asked for at a time.
    InOrder,
    /// As their blocks come; where the interconnect allows it, several are asked for at a time.
    OutOfOrder,
}

/// The parameters of a processor's store queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Stores that it holds, 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub entries: u32,
    /// Whether stores leave "in-order" or "out-of-order".
    pub drain_order: DrainOrder,
}

impl Config {
    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let problem = || ("entries", format!("{} is not from 1 to {MOST_ENTRIES}", self.entries));
        (!(1..=MOST_ENTRIES).contains(&self.entries)).then(problem).into_iter().collect()
    }

    /// Transactions that may be under way for its stores.
    pub fn transactions(&self) -> usize {
        match self.drain_order {
            DrainOrder::InOrder => 1,
            DrainOrder::OutOfOrder => self.entries as usize,
        }
    }
}

narthex_kernel::statistics! {
    /// What a processor's store queue did.
    pub struct Statistics {
        queued: Counter, "queued_stores", "accesses", "stores to cached memory that waited in the store queue";
        most: Maximum, "store_queue_entries", "accesses", "stores that waited in a store queue at a time, at most";
        forwarded: Counter, "forwarded_stores", "accesses", "loads that got their bytes from the store queue";
        full: Counter, "store_queue_full_stalls", "accesses", "stores that found the store queue full";
        fences: Counter, "store_queue_fence_drains", "accesses", "fences and system calls that waited until the store queue was empty";
        atomics: Counter, "store_queue_atomic_drains", "accesses", "atomics that waited for stores in the queue";
        uncached: Counter, "store_queue_uncached_drains", "accesses", "uncached accesses that waited until the store queue was empty";
        overlaps: Counter, "store_queue_overlap_drains", "accesses", "loads that waited for stores of which they need some bytes, and stores that are not queued";
        operations: Counter, "store_queue_block_operation_drains", "accesses", "cache-block operations that waited until the store queue was empty";
    }
}

/// A store that waits, at an address of its process, inside one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct QueuedStore {
    pub address: u64,
    pub size: u8,
    pub value: u64,
}

/// What a processor waits for that needs stores to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Awaited {
    /// Room for another one.
    Room,
    /// None is left.
    Empty,
    /// None is left to the block of this address.
    Block(u64),
}

/// What the queue has of the bytes of a load.
enum Overlap {
    Nothing,
    All(u64),
    Some,
}

/// A processor's store queue.
#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub(super) struct StoreQueue {
    capacity: usize,
    order: DrainOrder,
    /// The oldest first.
    stores: VecDeque<QueuedStore>,
    /// Transactions on blocks that have overtaken them since one of their own was issued.
    overtaking: u8,
    /// A grant has served the access for which the processor waits.
    has_served: bool,
    pub statistics: Statistics,
}

impl std::hash::Hash for DrainOrder {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (*self as u8).hash(state);
    }
}

impl QueuedStore {
    fn look_up(&self, address: u64, size: usize) -> Overlap {
        let behind = address.wrapping_sub(self.address);
        if behind >= u64::from(self.size) {
            let before = self.address.wrapping_sub(address);
            return if before < size as u64 { Overlap::Some } else { Overlap::Nothing };
        }
        if behind + size as u64 > u64::from(self.size) {
            return Overlap::Some;
        }
        Overlap::All(self.value >> (8 * behind) & (u64::MAX >> (64 - 8 * size)))
    }
}

impl StoreQueue {
    /// What of it never changes.
    pub fn config_identity(&self) -> (usize, DrainOrder) {
        (self.capacity, self.order)
    }

    pub fn is_empty(&self) -> bool {
        self.stores.is_empty()
    }

    /// The address of the oldest store.
    pub fn oldest(&self) -> Option<u64> {
        self.stores.front().map(|store| store.address)
    }

    pub fn has_any_in(&self, block: u64, bytes: u64) -> bool {
        self.stores.iter().any(|store| store.address.wrapping_sub(block) < bytes)
    }

    /// Up to what accesses to a block may be fast: a load must find the stores that wait, and a
    /// store must not overtake them where they leave in order.
    pub fn most_fast(&self, block: u64, bytes: u64) -> Tag {
        match self.order {
            _ if self.has_any_in(block, bytes) => Tag::None,
            DrainOrder::InOrder if !self.is_empty() => Tag::Read,
            _ => Tag::Write,
        }
    }

    /// What the youngest store says that has any of a load's bytes.
    fn look_up(&self, address: u64, size: usize) -> Overlap {
        let youngest = self.stores.iter().rev().map(|store| store.look_up(address, size));
        youngest.into_iter().find(|own| !matches!(own, Overlap::Nothing)).unwrap_or(Overlap::Nothing)
    }
}

impl ProcessorMemory {
    /// The same with a store queue. The parameters have been checked by [`Config::problems`].
    pub fn with_store_queue(self, config: &Config) -> Self {
        let queue = StoreQueue {
            capacity: config.entries as usize,
            order: config.drain_order,
            stores: VecDeque::with_capacity(config.entries as usize),
            overtaking: 0,
            has_served: false,
            statistics: Statistics::default(),
        };
        ProcessorMemory { store_queue: Some(Box::new(queue)), works_ahead: true, ..self }
    }

    /// What its store queue has counted, if it has one.
    pub fn store_queue_statistics(&self) -> Option<&Statistics> {
        self.store_queue.as_ref().map(|queue| &queue.statistics)
    }

    /// Whether a store waits in the queue.
    #[inline]
    pub fn has_queued_stores(&self) -> bool {
        self.store_queue.as_ref().is_some_and(|queue| !queue.is_empty())
    }

    /// Whether the last grant has served the access for which the processor waits, as stores
    /// have left the queue; told once.
    #[inline]
    pub fn has_been_served(&mut self) -> bool {
        self.store_queue.as_mut().is_some_and(|queue| std::mem::take(&mut queue.has_served))
    }

    /// Whether a store to the block of `address` waits.
    fn has_store_to(&self, address: u64) -> bool {
        let (block, bytes) = (self.data.block_of(address), self.data.block_bytes() as u64);
        self.store_queue.as_ref().is_some_and(|queue| queue.has_any_in(block, bytes))
    }

    /// Whether what the processor waits for has come.
    pub(super) fn have_left(&self, awaited: Awaited) -> bool {
        let Some(queue) = &self.store_queue else { return true };
        match awaited {
            Awaited::Room => queue.stores.len() < queue.capacity,
            Awaited::Empty => queue.is_empty(),
            Awaited::Block(address) => !self.has_store_to(address),
        }
    }

    /// Stores leave whose blocks may be written by now.
    #[inline]
    pub(super) fn drain_stores(&mut self) {
        if self.has_queued_stores() {
            self.drain_what_may_leave();
        }
    }

    #[inline(never)]
    fn drain_what_may_leave(&mut self) {
        let mut place = 0;
        while let Some(queue) = &self.store_queue
            && let Some(&store) = queue.stores.get(place)
        {
            if !self.make(store) {
                if queue_order(&self.store_queue) == DrainOrder::InOrder {
                    return;
                }
                place += 1;
                continue;
            }
            if let Some(queue) = &mut self.store_queue {
                queue.stores.remove(place);
            }
            if self.filling(store.address).is_none() {
                self.allow(store.address, Tag::Read);
            }
        }
    }

    /// Makes a store if the caches of the processor may take it.
    fn make(&mut self, QueuedStore { address, size, value }: QueuedStore) -> bool {
        if !self.may_store(address) {
            return false;
        }
        if self.prefetching.is_some() {
            self.use_block(address);
        }
        let bytes = &value.to_le_bytes()[..usize::from(size)];
        if self.is_written_through() {
            let second = self.second.as_mut().expect("stores go through to it");
            second.store(&mut self.data, address, bytes);
            return true;
        }
        let is_above = self.data.access(address, Access::Store).is_ok();
        if !is_above && self.bring(address, Access::Store, Tag::Read) == Obtained::Missing {
            return false;
        }
        self.data.write(address, bytes);
        true
    }

    /// Whether the processor's caches have the right to write a block.
    fn may_store(&mut self, address: u64) -> bool {
        match &mut self.second {
            Some(second) => second.look(&mut self.data, address, Access::Store).is_ok(),
            None => self.data.access(address, Access::Store).is_ok(),
        }
    }

    /// As stores have left, the processor's access may be served at a grant.
    #[inline]
    pub(super) fn drain_at_grant(&mut self) {
        if !self.has_queued_stores() {
            return;
        }
        self.drain_what_may_leave();
        let is_served = self.serve_pending();
        if let Some(queue) = &mut self.store_queue {
            queue.has_served |= is_served;
        }
    }

    /// The store for whose block a transaction is issued next, if one may be.
    pub(super) fn next_store(&self) -> Option<NextOfBlocks> {
        let queue = self.store_queue.as_ref()?;
        let considered = match queue.order {
            DrainOrder::InOrder => 1,
            DrainOrder::OutOfOrder => queue.stores.len(),
        };
        let mut addresses = queue.stores.iter().take(considered).map(|store| store.address);
        addresses.find(|&address| self.may_go_beside(address)).map(NextOfBlocks::Store)
    }

    /// Whether so many transactions have overtaken the stores that their turn has come.
    pub(super) fn is_queues_turn(&self) -> bool {
        self.store_queue.as_ref().is_some_and(|queue| queue.overtaking >= MOST_OVERTAKING)
    }

    /// A transaction on a block is issued: of a store, or of something else that overtakes them.
    pub(super) fn note_issue(&mut self, of_store: bool) {
        if let Some(queue) = &mut self.store_queue {
            queue.overtaking = if of_store || queue.is_empty() { 0 } else { queue.overtaking + 1 };
        }
    }

    /// A block has come for stores of the queue.
    pub(super) fn count_store_miss(&mut self) {
        self.statistics.store_misses.increment();
        if let Some(second) = &mut self.second {
            second.count(Obtained::Missing);
        }
    }

    /// The transaction for a store of the queue, which cannot be made yet.
    pub(super) fn issue_store(&mut self, address: u64) -> Option<Transaction> {
        // The second level has the right, and a dirty block above has to leave for its block.
        if self.second.is_some() && self.may_store(address) {
            return self.make_room(address);
        }
        let transaction = self.issue_block(address, Access::Store)?;
        self.issued_for(&transaction, Purpose::Store);
        Some(transaction)
    }
}

/// The order in which stores leave the queue.
fn queue_order(queue: &Option<Box<StoreQueue>>) -> DrainOrder {
    queue.as_ref().map_or(DrainOrder::InOrder, |queue| queue.order)
}

impl ProcessorMemory {
    /// A load's value if the queue has any of its bytes; `Some(None)` if it has only some.
    pub(super) fn queued_value(&self, address: u64, size: usize) -> Option<Option<u64>> {
        match self.store_queue.as_ref()?.look_up(address, size) {
            Overlap::Nothing => None,
            Overlap::All(value) => Some(Some(value)),
            Overlap::Some => Some(None),
        }
    }
}

impl ProcessorPort<'_> {
    /// A store to cached memory, in one block.
    pub(super) fn store_cached(
        &mut self,
        page: PageAttributes,
        address: u64,
        size: usize,
        value: u64,
    ) -> Outcome<()> {
        let bytes = value.to_le_bytes();
        match &self.own.store_queue {
            None => self.store_in_block(page, address, &bytes[..size]),
            Some(_) => self.store_or_queue(page, QueuedStore { address, size: size as u8, value }),
        }
    }

    #[inline(never)]
    fn store_or_queue(&mut self, page: PageAttributes, store: QueuedStore) -> Outcome<()> {
        let QueuedStore { address, size, value } = store;
        if self.own.take_finished(Pending::QueuedStore(store)).is_some() {
            return Outcome::Done(());
        }
        let bytes = &value.to_le_bytes()[..usize::from(size)];
        if page.executable || self.own.tags().is_some() {
            return match self.drain(Awaited::Empty, |own| own.overlaps.increment()) {
                Some(wait) => wait,
                None => self.store_in_block(page, address, bytes),
            };
        }
        let in_order = queue_order(&self.own.store_queue) == DrainOrder::InOrder;
        let is_behind = if in_order { self.own.has_queued_stores() } else { self.own.has_store_to(address) };
        if !is_behind && self.own.may_store(address) {
            return self.store_in_block(page, address, bytes);
        }
        if let Some(wait) = self.drain(Awaited::Room, |own| own.full.increment()) {
            return wait;
        }
        self.queue(store, in_order, is_behind)
    }

    fn queue(&mut self, store: QueuedStore, in_order: bool, is_behind: bool) -> Outcome<()> {
        let own = &mut *self.own;
        if in_order && !is_behind {
            own.data.forbid_fast_stores();
        }
        own.train(store.address);
        let Some(queue) = &mut own.store_queue else { unreachable!("it has a queue") };
        queue.stores.push_back(store);
        queue.statistics.queued.increment();
        queue.statistics.most.record(queue.stores.len() as u64);
        own.data.allow(store.address, Tag::None);
        if is_behind {
            return Outcome::Done(());
        }
        // The processor stops for no time, so that the node asks for the interconnect at this instant.
        own.finished = Some((Pending::QueuedStore(store), 0));
        Outcome::Wait
    }

    /// A load's bytes as the queue has them, or that it has to wait.
    #[inline]
    pub(super) fn load_queued(&mut self, address: u64, size: usize) -> Option<Outcome<u64>> {
        let queue = self.own.store_queue.as_mut().filter(|queue| !queue.is_empty())?;
        match queue.look_up(address, size) {
            Overlap::Nothing => None,
            Overlap::All(value) => {
                queue.statistics.forwarded.increment();
                Some(Outcome::Done(value))
            }
            Overlap::Some => self
                .drain(Awaited::Block(address), |own| own.overlaps.increment())
                .or_else(|| self.drain(Awaited::Block(last(address, size)), |own| own.overlaps.increment())),
        }
    }

    /// Waits for stores to leave, counted as said; none if there is nothing to wait for.
    pub(super) fn drain<T>(
        &mut self,
        awaited: Awaited,
        count: impl FnOnce(&mut Statistics),
    ) -> Option<Outcome<T>> {
        if self.own.have_left(awaited) {
            return None;
        }
        if let Some(queue) = &mut self.own.store_queue {
            count(&mut queue.statistics);
        }
        Some(self.wait(Pending::StoreQueue(awaited)))
    }

    /// An atomic access waits for loads under way, and stores, of its block; and for all stores where they leave in order.
    #[inline]
    pub(super) fn order_atomic<T>(&mut self, address: u64) -> Option<Outcome<T>> {
        if self.own.is_on_its_way(address) {
            return Some(self.wait(Pending::LoadsOf(address)));
        }
        if let Some(stop) = self.own.note_use(address) {
            return Some(stop);
        }
        self.own.store_queue.as_ref()?;
        let awaited = match queue_order(&self.own.store_queue) {
            DrainOrder::InOrder => Awaited::Empty,
            DrainOrder::OutOfOrder => Awaited::Block(address),
        };
        self.drain(awaited, |own| own.atomics.increment())
    }
}

/// The address of the last byte of an access.
fn last(address: u64, size: usize) -> u64 {
    address.wrapping_add(size as u64 - 1)
}

#[cfg(test)]
mod tests;
