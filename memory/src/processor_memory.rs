//! A processor's side of the memory system: its caches, its store buffer and
//! the one access that it may be waiting for.
//!
//! [`ProcessorMemory`] is what lasts; [`ProcessorPort`] borrows it together with
//! the node's page table and main memory for as long as the processor runs, and
//! is the [`Port`] that the processor sees. An access that cannot finish at once
//! becomes the *pending* one and the processor stops. The node then asks for the
//! bus in this agent's name, calls [`ProcessorMemory::issue`] when it is granted
//! and [`ProcessorMemory::complete`] when the transaction is over; that says
//! whether the processor may be woken to repeat its access. Where uncached
//! accesses have a path of their own, each path asks for its own [`Traffic`].
//!
//! **Order.** A processor has one pending access. Uncached stores may be
//! *posted*: they wait in the store buffer and leave it in order, as dirty blocks that
//! a program flushes may; cached misses overtake them, uncached loads and fences wait until the buffer is empty. A
//! store that [`MOST_OVERTAKING`] transactions have overtaken goes first: a processor
//! whose loop evicts its own blocks would never send it while another one keeps the
//! bus. With a *blocking* machine the buffer is used only by what [`write_combining`] has
//! combined.

pub mod block_buffers;
mod cache_blocks;
mod direct_bus;

mod direct_fill;
mod functional;
mod held_blocks;
mod in_flight;
mod local;
mod locking;
mod looking_ahead;
pub mod misses;
mod obtaining;
mod pending;
mod port;
pub mod prefetching;
mod register_access;
mod scratchpad;
pub mod second_level;
mod snoops;
mod store_buffer;
pub mod store_queue;
mod tagged_memory;
mod transactions;
pub mod write_combining;

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use narthex_kernel::Duration;
use narthex_kernel::statistics::StatisticSet;

use crate::access_tags::AccessTags;
use crate::cache::{self, Cache};
use crate::main_memory::MainMemory;
use crate::pages::PageTable;
use crate::protocols::State;
use crate::transaction::{AgentId, Transaction};
use crate::translation::Translation;

pub use direct_bus::{DirectBus, DirectFills, MmioEffect, Registers, WaitTime};
pub use direct_fill::DirectFill;
pub use held_blocks::{HeldBlock, LastAccess};
pub use port::ProcessorPort;
pub use store_buffer::{FlushedBlocks, StoreBufferConfig, UncachedStores};

use block_buffers::BlockBuffers;
use in_flight::InFlight;
use local::LocalMemory;
use misses::MissRegisters;
use pending::{Issued, Pending, Purpose, Uncached};
use prefetching::Prefetching;
use second_level::SecondLevel;
use serde::{Deserialize, Serialize};
use store_queue::StoreQueue;
use transactions::NextOfBlocks;
use write_combining::{Posted, WriteCombining};

narthex_kernel::statistics! {
    /// What a processor asked of the memory below its caches.
    pub struct Statistics {
        load_misses: Counter, "load_misses", "accesses", "loads whose block was not in the data cache";
        store_misses: Counter, "store_misses", "accesses", "stores whose block was absent or not writable";
        fetch_misses: Counter, "fetch_misses", "accesses", "instruction fetches whose block was not in the instruction cache";
        uncached_loads: Counter, "processor_uncached_loads", "accesses", "loads from device registers";
        uncached_stores: Counter, "processor_uncached_stores", "accesses", "stores to device registers";
        block_transfers: Counter, "processor_block_transfers", "accesses", "blocks moved between a block buffer and a device";
        snarfed: Counter, "snarfed_blocks", "blocks", "blocks that its caches took in as they passed by on their way home";
        tag_read_faults: Counter, "tag_read_faults", "accesses", "loads that the access tag of their block refused";
        tag_write_faults: Counter, "tag_write_faults", "accesses", "stores and atomics that the access tag of their block refused";
        tag_changes: Counter, "tag_changes", "changes", "access tags that the program set";
        store_buffer_stalls: Counter, "store_buffer_stalls", "accesses", "uncached stores that found the store buffer full";
    }
}

/// Transactions on blocks that overtake a posted store at most. No paper states it:
/// it only has to end, and is so large that a loop comes to it which always misses.
const MOST_OVERTAKING: u8 = 16;

/// Which of a processor's transactions an interconnect carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// All of them.
    All,
    /// Those on blocks: uncached accesses go elsewhere.
    Blocks,
    /// Uncached accesses.
    Uncached,
}

/// Why a processor waits; the time ledger's second half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// A block is on its way to the data cache.
    DataMiss,
    /// A block is on its way to the instruction cache.
    InstructionMiss,
    /// An uncached access is under way.
    Uncached,
    /// The store buffer, or the store queue, has to drain: it is full, or a fence wants it empty.
    StoreBuffer,
}

/// A processor's caches, store buffer and pending access: an agent on the
/// interconnect.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProcessorMemory {
    agent: AgentId,
    /// Everything else here is in the addresses of the processor's process.
    translation: Translation,
    data: Cache,
    /// None: instruction fetch is ideal.
    instructions: Option<Cache>,
    /// None: the first level is on the interconnect.
    second: Option<Box<SecondLevel>>,
    /// None: the processor waits for each of its misses.
    misses: Option<Box<MissRegisters>>,
    /// None: the processor waits for stores that its caches cannot take.
    store_queue: Option<Box<StoreQueue>>,
    /// None: its caches fetch what is asked for.
    prefetching: Option<Box<Prefetching>>,
    /// It has one of these three: transactions may be needed, or under way, for which the processor does not wait.
    works_ahead: bool,
    /// None: the processor has caches.
    local: Option<LocalMemory>,
    store_buffer: VecDeque<Posted>,
    /// None: uncached stores are not combined.
    combining: Option<Box<WriteCombining>>,
    /// Transactions on blocks that have overtaken the oldest posted store.
    overtaking: u8,
    posted_limit: usize,
    /// Whether flushed blocks wait in the store buffer.
    posts_flushes: bool,
    /// Whether invalidating a block loses what is newer than memory.
    loses_bytes: bool,
    /// None: the process has no tagged memory.
    tags: Option<AccessTags>,
    /// None: the processor has no block buffers.
    block_buffers: Option<BlockBuffers>,
    supply_time: Duration,
    pending: Option<Pending>,
    in_flight: InFlight,
    /// The access that is over and whose instruction will be repeated.
    finished: Option<(Pending, u64)>,
    reservation: Option<u64>,
    code_removals: u64,
    /// What was asked so far.
    pub statistics: Statistics,
}

impl ProcessorMemory {
    /// Empty caches for the agent. `supply_time` is what its data cache needs
    /// to supply a block to the bus.
    pub fn new(
        agent: AgentId,
        data: &cache::Config,
        instructions: Option<&cache::Config>,
        store_buffer: &StoreBufferConfig,
        supply_time: Duration,
    ) -> Self {
        let posted_limit = match store_buffer.uncached_stores {
            UncachedStores::Blocking => 0,
            UncachedStores::Posted => store_buffer.entries as usize,
        };
        ProcessorMemory {
            agent,
            translation: Translation::default(),
            data: Cache::new(data),
            instructions: instructions.map(Cache::new),
            second: None,
            misses: None,
            store_queue: None,
            prefetching: None,
            works_ahead: false,
            local: None,
            store_buffer: VecDeque::with_capacity(posted_limit),
            combining: None,
            overtaking: 0,
            posted_limit,
            posts_flushes: store_buffer.flushed_blocks == FlushedBlocks::Posted,
            loses_bytes: false,
            tags: None,
            block_buffers: None,
            supply_time,
            pending: None,
            in_flight: InFlight::default(),
            finished: None,
            reservation: None,
            code_removals: 0,
            statistics: Statistics::default(),
        }
    }

    /// What of it never changes.
    pub fn config_identity(&self) -> impl PartialEq + use<> {
        let buffers = self.block_buffers.as_ref();
        let buffers = buffers.map(|own| (own.transfer_time, own.send.len(), own.receive.len()));
        let second = self.second.as_ref().map(|second| second.config_identity());
        let caches = (self.data.geometry(), self.instructions.as_ref().map(Cache::geometry), second);
        let misses = self.misses.as_ref().map(|misses| (misses.count(), self.in_flight.most_blocks()));
        let combining = self.combining.as_ref().map(|combining| combining.config_identity());
        let queue = self.store_queue.as_ref().map(|queue| queue.config_identity());
        let prefetching = self.prefetching.as_ref().map(|own| own.config_identity());
        let posts = (self.posted_limit, self.posts_flushes, queue, (prefetching, self.works_ahead));
        let rest = (posts, self.loses_bytes, buffers, self.supply_time, misses, self.local, combining);
        (self.agent, self.translation.clone(), caches, rest)
    }

    /// The same for a processor whose process has this translation.
    pub fn with_translation(self, translation: Translation) -> Self {
        ProcessorMemory { translation, ..self }
    }

    /// From its process's addresses to the node's.
    pub fn translation(&self) -> &Translation {
        &self.translation
    }

    /// The same with a second level below its caches, of which `data` is the one for
    /// data. The parameters have been checked by [`second_level::Config::problems`].
    pub fn with_second_level(self, config: &second_level::Config, data: &cache::Config) -> Self {
        // What snarfs is the cache that the interconnect sees.
        let first = cache::Config { snarfing: false, ..data.clone() };
        let second = Some(Box::new(SecondLevel::new(config, data)));
        ProcessorMemory { data: Cache::new(&first), second, ..self }
    }

    /// The same, and its second level hands down what it gives up unchanged, for a third level to keep.
    pub fn handing_victims_down(mut self) -> Self {
        if let Some(second) = &mut self.second {
            second.hands_down = true;
        }
        self
    }

    /// Hands out every sum of its statistics, those of its second level and of its loads
    /// under way among them.
    pub fn sums(&mut self, visitor: &mut dyn FnMut(&mut u64)) {
        self.statistics.sums(visitor);
        if let Some(second) = &mut self.second {
            second.statistics.sums(visitor);
        }
        if let Some(misses) = &mut self.misses {
            misses.statistics.sums(visitor);
        }
        if let Some(queue) = &mut self.store_queue {
            queue.statistics.sums(visitor);
        }
        if let Some(own) = &mut self.prefetching {
            own.statistics.sums(visitor);
        }
    }

    /// What its second level has counted, if it has one.
    pub fn second_level_statistics(&self) -> Option<&second_level::Statistics> {
        self.second.as_ref().map(|second| &second.statistics)
    }

    /// Processor cycles for which an access that goes to the interconnect has looked
    /// into caches below the first level.
    pub fn look_up_cycles(&self) -> u32 {
        self.second.as_ref().map_or(0, |second| second.latency_cycles)
    }

    /// The blocks that the data cache holds, with their states.
    pub fn cached_blocks(&self) -> impl Iterator<Item = (u64, State)> {
        self.data.blocks().map(|block| (block, self.data.state(block)))
    }

    /// The address of the block that the interconnect carries for `address`, both of the
    /// process.
    pub fn block_of(&self, address: u64) -> u64 {
        match &self.second {
            Some(second) => second.cache.block_of(address),
            None => self.data.block_of(address),
        }
    }

    /// The data cache gives up `block`, as for one that conflicts with it; the
    /// write-back that this takes, if any. It is not completed here. There is no
    /// second level.
    pub fn evict(&mut self, block: u64) -> Option<Transaction> {
        let write_back = self.drop_block(block)?;
        let address = self.translation.to_node(write_back.address);
        Some(Transaction { address, ..write_back })
    }

    /// Feeds the state to `hasher` as far as it decides what happens next while
    /// the caches' sets do not fill up; see [`Cache::hash_blocks`].
    pub fn hash_state<H: Hasher>(&self, hasher: &mut H) {
        self.data.hash_blocks(hasher);
        if let Some(instructions) = &self.instructions {
            instructions.hash_blocks(hasher);
        }
        if let Some(second) = &self.second {
            second.cache.hash_blocks(hasher);
            second.to_lock.hash(hasher);
        }
        self.misses.as_ref().map(|misses| misses.state()).hash(hasher);
        self.store_queue.hash(hasher);
        self.prefetching.as_ref().map(|own| own.state()).hash(hasher);
        let Self { store_buffer, pending, in_flight, finished, reservation, .. } = self;
        (store_buffer, pending, in_flight, finished, reservation).hash(hasher);
        (&self.combining, self.overtaking, &self.block_buffers, &self.tags, self.code_removals).hash(hasher);
    }

    /// Feeds the blocks of the caches of data to `hasher`.
    pub fn hash_bytes<H: Hasher>(&self, hasher: &mut H) {
        self.data.hash_blocks(hasher);
        if let Some(second) = &self.second {
            second.cache.hash_blocks(hasher);
        }
    }

    /// The port that the processor sees while it runs.
    pub fn port<'a>(&'a mut self, pages: &'a PageTable, memory: &'a mut MainMemory) -> ProcessorPort<'a> {
        ProcessorPort { own: self, pages, memory, alone: None }
    }

    /// Forgets every cached instruction block.
    pub fn forget_instructions(&mut self) {
        if let Some(cache) = &mut self.instructions {
            cache.clear();
        }
    }

    /// Decoded code is not to be executed any more: pages of code are gone or not executable, or the
    /// system fences this processor's instructions.
    pub fn code_removed(&mut self) {
        self.code_removals += 1;
    }

    /// Whether a transaction of this traffic is needed: the node then asks for
    /// the interconnect that carries it.
    #[inline]
    pub fn wants(&self, traffic: Traffic) -> bool {
        self.needed(traffic).is_some()
    }

    /// What it needs of this traffic, if that can be issued: of blocks, where the traffic carries them
    /// and one needs a transaction; none inside if only something uncached does.
    #[inline(always)]
    fn needed(&self, traffic: Traffic) -> Option<Option<NextOfBlocks>> {
        if self.pending.is_none() && self.has_nothing_unasked() {
            return None;
        }
        let carries_uncached = traffic != Traffic::Blocks;
        if carries_uncached && !self.in_flight.is_uncached_free() {
            return None;
        }
        if traffic != Traffic::Uncached {
            if !self.in_flight.has_room_for_block() {
                return None;
            }
            if let Some(next) = self.next_of_blocks() {
                return Some(Some(next));
            }
        }
        let may_go = traffic == Traffic::Uncached || self.in_flight.has_no_block();
        if carries_uncached && may_go && self.wants_uncached() {
            return Some(None);
        }
        if traffic == Traffic::Uncached { None } else { self.next_prefetch().map(Some) }
    }

    /// Whether it needs no interconnect but for the access for which the processor waits. The
    /// usual case, and a node asks all its processors.
    #[inline(always)]
    fn has_nothing_unasked(&self) -> bool {
        self.store_buffer.is_empty() && !self.works_ahead && !self.is_locking()
    }

    fn wants_uncached(&self) -> bool {
        self.store_buffer.front().is_some_and(|posted| posted.flushed().is_none())
            || match self.pending {
                Some(Pending::UncachedLoad(_) | Pending::UncachedStore(_)) => true,
                Some(Pending::Block { .. }) => self.block_move().is_none(),
                _ => false,
            }
    }

    /// Whether no access is waiting or under way, posted stores included.
    pub fn is_at_rest(&self) -> bool {
        // What is under way is still pending, or in the store buffer.
        self.pending.is_none()
            && self.finished.is_none()
            && self.store_buffer.is_empty()
            && !self.has_accesses_under_way()
            && !self.is_locking()
    }

    /// Whether a transaction that it has issued is under way.
    #[inline]
    pub fn has_issued(&self) -> bool {
        !self.in_flight.is_empty()
    }

    /// Whether an access to a register of a device may be under way, or posted.
    pub fn may_be_accessing_registers(&self) -> bool {
        !self.store_buffer.is_empty()
            || self.combining.is_some()
            || !self.in_flight.is_uncached_free()
            || matches!(self.wait_reason(), Some(WaitReason::Uncached | WaitReason::StoreBuffer))
    }

    /// Why the processor waits, if it does.
    pub fn wait_reason(&self) -> Option<WaitReason> {
        self.pending.map(|pending| match pending {
            Pending::Data { .. } | Pending::Conditional { .. } | Pending::CacheBlock(_) => {
                WaitReason::DataMiss
            }
            Pending::MissRegister | Pending::Loads | Pending::LoadsOf(_) => WaitReason::DataMiss,
            Pending::Instructions { .. } => WaitReason::InstructionMiss,
            Pending::UncachedLoad(_) | Pending::UncachedStore(_) | Pending::Block { .. } => {
                WaitReason::Uncached
            }
            Pending::Drain { .. } | Pending::StoreQueue(_) | Pending::QueuedStore(_) => {
                WaitReason::StoreBuffer
            }
        })
    }

    /// The address of the access for which the processor waits, if it has one.
    pub fn pending_address(&self) -> Option<u64> {
        let load = self.misses.as_ref().and_then(|misses| misses.oldest());
        let Some(pending) = self.pending else { return load };
        match pending {
            Pending::Data { address, .. }
            | Pending::Conditional { address }
            | Pending::Instructions { address } => Some(address),
            Pending::UncachedLoad(access) | Pending::UncachedStore(access) => Some(access.address),
            Pending::Block { address, .. } => Some(address),
            Pending::CacheBlock(pending) => Some(pending.address),
            Pending::Drain { .. } => None,
            Pending::MissRegister | Pending::Loads | Pending::LoadsOf(_) => load,
            Pending::StoreQueue(_) => self.store_queue.as_ref().and_then(|queue| queue.oldest()),
            Pending::QueuedStore(store) => Some(store.address),
        }
    }
}

#[cfg(test)]
mod tests;
