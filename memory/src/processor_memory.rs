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
//! *posted*: they wait in the store buffer and leave it in order; cached misses
//! overtake them, uncached loads and fences wait until the buffer is empty. A
//! store that [`MOST_OVERTAKING`] transactions have overtaken goes first: a processor
//! whose loop evicts its own blocks would never send it while another one keeps the
//! bus. With a *blocking* machine the buffer is never used.

pub mod block_buffers;
mod cache_blocks;
mod port;
mod store_buffer;
mod tagged_memory;

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use narthex_kernel::Duration;

use crate::access_tags::{AccessTags, Tag};
use crate::cache::{self, Cache};
use crate::kind::Kind;
use crate::main_memory::MainMemory;
use crate::pages::PageTable;
use crate::protocols::{Access, Request, State};
use crate::transaction::{AgentId, BlockData, Response, SnoopReply, Transaction};
use crate::translation::Translation;

pub use port::ProcessorPort;
pub use store_buffer::{StoreBufferConfig, UncachedStores};

use block_buffers::BlockBuffers;
use cache_blocks::BlockOperation;
use serde::{Deserialize, Serialize};

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
    /// The store buffer has to drain: it is full, or a fence wants it empty.
    StoreBuffer,
}

/// An uncached access of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Uncached {
    address: u64,
    size: u8,
    value: u64,
}

/// The access for which the processor has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Pending {
    /// A block is needed in the data cache with this right.
    Data { address: u64, access: Access },
    /// The same for a store that is made only while the block is reserved.
    Conditional { address: u64 },
    /// A block is needed in the instruction cache.
    Instructions { address: u64 },
    /// A device register is to be read.
    UncachedLoad(Uncached),
    /// A device register is to be written, and the processor waits for it.
    UncachedStore(Uncached),
    /// A block is to be moved between a block buffer and the device's block at
    /// the address.
    Block { kind: Kind, address: u64 },
    /// A block is to be written back or dropped.
    CacheBlock(BlockOperation),
    /// The store buffer is to have fewer entries than this.
    Drain { below: usize },
}

/// What a transaction under way is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Issued {
    WriteBack,
    Block { address: u64, request: Request, instructions: bool },
    CacheBlock,
    UncachedLoad,
    UncachedStore,
    BlockTransfer,
    PostedStore,
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
    store_buffer: VecDeque<Uncached>,
    /// Transactions on blocks that have overtaken the oldest posted store.
    overtaking: u8,
    posted_limit: usize,
    /// Whether invalidating a block loses what is newer than memory.
    loses_bytes: bool,
    /// None: the process has no tagged memory.
    tags: Option<AccessTags>,
    /// None: the processor has no block buffers.
    block_buffers: Option<BlockBuffers>,
    supply_time: Duration,
    pending: Option<Pending>,
    /// The transaction on a block that is under way.
    issued_block: Option<Issued>,
    /// The uncached access that is under way.
    issued_uncached: Option<Issued>,
    /// The access that is over and whose instruction will be repeated.
    finished: Option<(Pending, u64)>,
    reservation: Option<u64>,
    code_version: u64,
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
            store_buffer: VecDeque::with_capacity(posted_limit),
            overtaking: 0,
            posted_limit,
            loses_bytes: false,
            tags: None,
            block_buffers: None,
            supply_time,
            pending: None,
            issued_block: None,
            issued_uncached: None,
            finished: None,
            reservation: None,
            code_version: 0,
            code_removals: 0,
            statistics: Statistics::default(),
        }
    }

    /// What of it never changes.
    pub fn fixed(&self) -> impl PartialEq + use<> {
        let buffers = self.block_buffers.as_ref();
        let buffers = buffers.map(|own| (own.transfer_time, own.send.len(), own.receive.len()));
        let caches = (self.data.geometry(), self.instructions.as_ref().map(Cache::geometry));
        let rules = (self.posted_limit, self.loses_bytes);
        (self.agent, self.translation.clone(), caches, rules, buffers, self.supply_time)
    }

    /// The same for a processor whose process has this translation.
    pub fn with_translation(self, translation: Translation) -> Self {
        ProcessorMemory { translation, ..self }
    }

    /// From its process's addresses to the node's.
    pub fn translation(&self) -> &Translation {
        &self.translation
    }

    /// The block that holds an address of the node, if the data cache has it.
    pub fn peek(&self, address: u64) -> Option<&[u8]> {
        self.data.peek(self.translation.to_process(address)?)
    }

    /// Replaces bytes at an address of the node, inside a block, if the data
    /// cache has it; a reservation of the block is lost. Functional: the caller sees
    /// to all other copies.
    pub fn poke(&mut self, address: u64, bytes: &[u8]) {
        let Some(own) = self.translation.to_process(address) else { return };
        if self.data.peek(own).is_some() {
            self.data.write(own, bytes);
        }
        self.reservation = self.reservation.filter(|&reserved| reserved != self.data.block_of(own));
    }

    /// Empties the data cache's lines in `range`, of the process's own addresses, and
    /// hands those that are newer than their home to `write_back` with their place in
    /// the node. A block whose upgrade is under way stays: its bytes do not come with it.
    pub fn flush(&mut self, range: Range<u64>, mut write_back: impl FnMut(u64, &[u8])) {
        let upgraded = match self.issued_block {
            Some(Issued::Block { address, request: Request::Upgrade, .. }) if range.contains(&address) => {
                address..address + self.data.block_bytes() as u64
            }
            _ => range.end..range.end,
        };
        let translation = &self.translation;
        for part in [range.start..upgraded.start, upgraded.end..range.end] {
            self.data.flush(part, |block, data| write_back(translation.to_node(block), data));
        }
    }

    /// The blocks that the data cache holds, with their states.
    pub fn cached_blocks(&self) -> impl Iterator<Item = (u64, State)> {
        self.data.blocks().map(|block| (block, self.data.state(block)))
    }

    /// The address of the block that holds `address`.
    pub fn block_of(&self, address: u64) -> u64 {
        self.data.block_of(address)
    }

    /// The data cache gives up `block`, as for one that conflicts with it; the
    /// write-back that this takes, if any. It is not completed here.
    pub fn evict(&mut self, block: u64) -> Option<Transaction> {
        let write_back = self.give_up(block)?;
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
        let Self { store_buffer, pending, issued_block, issued_uncached, finished, reservation, .. } = self;
        (store_buffer, pending, issued_block, issued_uncached, finished, reservation).hash(hasher);
        (self.overtaking, &self.block_buffers, &self.tags, self.code_version, self.code_removals)
            .hash(hasher);
    }

    /// Feeds the data cache's blocks to `hasher`.
    pub fn hash_bytes<H: Hasher>(&self, hasher: &mut H) {
        self.data.hash_blocks(hasher);
    }

    /// The port that the processor sees while it runs.
    pub fn port<'a>(&'a mut self, pages: &'a PageTable, memory: &'a MainMemory) -> ProcessorPort<'a> {
        ProcessorPort { own: self, pages, memory }
    }

    /// The data cache.
    pub fn data_cache(&mut self) -> &mut Cache {
        &mut self.data
    }

    /// Forgets every cached instruction block.
    pub fn forget_instructions(&mut self) {
        if let Some(cache) = &mut self.instructions {
            cache.clear();
        }
        self.code_version += 1;
    }

    /// Pages of code are gone, or not executable any more.
    pub fn code_removed(&mut self) {
        self.code_removals += 1;
    }

    /// Whether a transaction of this traffic is needed: the node then asks for
    /// the interconnect that carries it.
    #[inline]
    pub fn wants(&self, traffic: Traffic) -> bool {
        let is_block_free = self.issued_block.is_none();
        let is_uncached_free = self.issued_uncached.is_none();
        match traffic {
            Traffic::All => {
                is_block_free && is_uncached_free && (self.wants_block() || self.wants_uncached())
            }
            Traffic::Blocks => is_block_free && self.wants_block(),
            Traffic::Uncached => is_uncached_free && self.wants_uncached(),
        }
    }

    fn wants_block(&self) -> bool {
        use Pending::{CacheBlock, Conditional, Data, Instructions};
        matches!(self.pending, Some(Data { .. } | Conditional { .. } | Instructions { .. } | CacheBlock(_)))
    }

    fn wants_uncached(&self) -> bool {
        !self.store_buffer.is_empty()
            || match self.pending {
                Some(Pending::UncachedLoad(_) | Pending::UncachedStore(_)) => true,
                Some(Pending::Block { .. }) => self.block_move().is_none(),
                _ => false,
            }
    }

    /// Whether no access is waiting or under way, posted stores included.
    pub fn is_at_rest(&self) -> bool {
        // What is under way is still pending, or in the store buffer.
        self.pending.is_none() && self.finished.is_none() && self.store_buffer.is_empty()
    }

    /// Why the processor waits, if it does.
    pub fn wait_reason(&self) -> Option<WaitReason> {
        self.pending.map(|pending| match pending {
            Pending::Data { .. } | Pending::Conditional { .. } | Pending::CacheBlock(_) => {
                WaitReason::DataMiss
            }
            Pending::Instructions { .. } => WaitReason::InstructionMiss,
            Pending::UncachedLoad(_) | Pending::UncachedStore(_) | Pending::Block { .. } => {
                WaitReason::Uncached
            }
            Pending::Drain { .. } => WaitReason::StoreBuffer,
        })
    }

    /// The address of the access for which the processor waits, if it has one.
    pub fn pending_address(&self) -> Option<u64> {
        match self.pending? {
            Pending::Data { address, .. }
            | Pending::Conditional { address }
            | Pending::Instructions { address } => Some(address),
            Pending::UncachedLoad(access) | Pending::UncachedStore(access) => Some(access.address),
            Pending::Block { address, .. } => Some(address),
            Pending::CacheBlock(pending) => Some(pending.address),
            Pending::Drain { .. } => None,
        }
    }

    /// The interconnect of this traffic is granted: the transaction that the
    /// present state needs on it.
    pub fn issue(&mut self, traffic: Traffic) -> Option<Transaction> {
        if !self.wants(traffic) {
            return None;
        }
        let blocks_go = traffic != Traffic::Uncached && !self.is_stores_turn(traffic);
        let (issued, mut transaction) = match self.pending {
            Some(Pending::Data { address, access }) if blocks_go => self.issue_block(address, access)?,
            Some(Pending::Conditional { address }) if blocks_go => self.issue_conditional(address)?,
            Some(Pending::Instructions { address }) if blocks_go => self.issue_fetch(address)?,
            Some(Pending::CacheBlock(pending)) if blocks_go => self.issue_cache_block(pending)?,
            Some(Pending::UncachedLoad(load)) if self.store_buffer.is_empty() => {
                (Issued::UncachedLoad, self.uncached(Kind::UncachedLoad, load))
            }
            Some(Pending::UncachedStore(store)) if self.store_buffer.is_empty() => {
                (Issued::UncachedStore, self.uncached(Kind::UncachedStore, store))
            }
            Some(Pending::Block { kind, address }) if self.store_buffer.is_empty() => {
                (Issued::BlockTransfer, self.block_transfer(kind, address)?)
            }
            _ => {
                let store = *self.store_buffer.front()?;
                (Issued::PostedStore, self.uncached(Kind::UncachedStore, store))
            }
        };
        self.overtaking = match issued {
            Issued::WriteBack | Issued::Block { .. } | Issued::CacheBlock
                if traffic == Traffic::All && !self.store_buffer.is_empty() =>
            {
                self.overtaking + 1
            }
            _ => 0,
        };
        *self.issued(transaction.kind) = Some(issued);
        transaction.address = self.translation.to_node(transaction.address);
        Some(transaction)
    }

    /// Whether the oldest posted store goes before blocks that want the same
    /// interconnect.
    fn is_stores_turn(&self, traffic: Traffic) -> bool {
        traffic == Traffic::All && self.overtaking >= MOST_OVERTAKING
    }

    /// The transaction that was issued is over. True: the processor repeats its
    /// access now.
    pub fn complete(&mut self, transaction: &Transaction, response: &Response) -> bool {
        match self.issued(transaction.kind).take().expect("a transaction was issued") {
            Issued::WriteBack => false,
            Issued::Block { address, request, instructions } => {
                let data = response.data.as_ref();
                match &mut self.instructions {
                    Some(cache) if instructions => cache.fill(address, request, response.shared, data),
                    _ => {
                        // The first store to the block looks at its page, which decides
                        // whether the next ones may be fast.
                        let most = self.most_allowed(address, Tag::Read);
                        self.data.fill_allowing(address, request, response.shared, data, most);
                    }
                }
                self.pending = None;
                true
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
            Issued::PostedStore => {
                self.store_buffer.pop_front();
                let Some(Pending::Drain { below }) = self.pending else {
                    return false;
                };
                let drained = self.store_buffer.len() < below;
                if drained {
                    self.pending = None;
                }
                drained
            }
        }
    }

    /// Answers another agent's transaction.
    pub fn snoop(&mut self, transaction: &Transaction) -> SnoopReply {
        let (Some(snoop), Some(address)) =
            (transaction.kind.snoop(), self.translation.to_process(transaction.address))
        else {
            return SnoopReply::default();
        };
        let mut reply = self.data.snoop(snoop, address);
        reply.delay = self.supply_time;
        if let Some(cache) = &mut self.instructions {
            reply.shares |= cache.snoop(snoop, address).shares;
        }
        if self.reservation == Some(address) && !self.data.state(address).is_readable() {
            self.reservation = None;
        }
        reply
    }

    /// Refuses another agent's transaction where the bus carries no data from cache to
    /// cache: the bytes of a dirty block, which go home first.
    pub fn push(&mut self, transaction: &Transaction) -> Option<BlockData> {
        let address = self.translation.to_process(transaction.address)?;
        self.data.push(transaction.kind.snoop()?, address)
    }

    /// The transaction that was issued is refused. Whether it is formed anew when the
    /// interconnect is granted again: an upgrade may have lost its copy by then.
    pub fn refused(&mut self, transaction: &Transaction) -> bool {
        let issued = self.issued(transaction.kind);
        let is_formed_anew = matches!(issued, Some(Issued::Block { .. }));
        if is_formed_anew {
            *issued = None;
        }
        is_formed_anew
    }

    /// What is under way, of accesses of this kind.
    fn issued(&mut self, kind: Kind) -> &mut Option<Issued> {
        if kind.is_uncached() { &mut self.issued_uncached } else { &mut self.issued_block }
    }

    /// Whether its caches take bytes that pass by.
    pub fn snarfs(&self) -> bool {
        self.data.snarfs() || self.instructions.as_ref().is_some_and(Cache::snarfs)
    }

    /// Another agent's transaction is over, whose bytes the caches may take. Says
    /// whether one did.
    pub fn snarf(&mut self, transaction: &Transaction) -> bool {
        let (Some(snoop), Some(data), Some(address)) =
            (transaction.kind.snoop(), &transaction.data, self.translation.to_process(transaction.address))
        else {
            return false;
        };
        let by_data = self.data.snarf(snoop, address, data);
        if by_data {
            self.statistics.snarfed.increment();
            self.allow(address, Tag::Write);
        }
        let by_instructions =
            self.instructions.as_mut().is_some_and(|instructions| instructions.snarf(snoop, address, data));
        if by_instructions {
            self.statistics.snarfed.increment();
        }
        by_data || by_instructions
    }

    fn uncached(&self, kind: Kind, access: Uncached) -> Transaction {
        Transaction::uncached(self.agent, kind, access.address, access.size, access.value)
    }

    /// The transaction for the pending miss: first the write-back of a dirty
    /// victim, then the block, as the line's state asks for by now. None: the
    /// access needs nothing any more.
    fn issue_block(&mut self, address: u64, access: Access) -> Option<(Issued, Transaction)> {
        let block = self.data.block_of(address);
        if let Some(write_back) = self.make_room(block) {
            return Some(write_back);
        }
        let Err(request) = self.data.access(address, access) else {
            // The block was snarfed while the access waited.
            self.pending = None;
            return None;
        };
        let kind = match request {
            Request::Read => Kind::Read,
            Request::ReadExclusive => Kind::ReadExclusive,
            Request::Upgrade => Kind::Upgrade,
            Request::WriteBack => unreachable!("loads and stores do not ask for a write-back"),
        };
        let issued = Issued::Block { address: block, request, instructions: false };
        Some((issued, Transaction::block(self.agent, kind, block)))
    }

    /// The same for a store that is made only while its block is reserved. Once it is
    /// not, the block is left to others, of whom one can then make such a store:
    /// otherwise several could take it from each other for ever.
    fn issue_conditional(&mut self, address: u64) -> Option<(Issued, Transaction)> {
        if self.reservation == Some(self.data.block_of(address)) {
            return self.issue_block(address, Access::Store);
        }
        self.pending = None;
        None
    }

    /// Drops a block of the data cache; its write-back, at the process's address.
    fn give_up(&mut self, block: u64) -> Option<Transaction> {
        let data = self.data.remove(block);
        self.given_up(block, data)
    }

    /// A block has left the data cache: its write-back, if its home has older bytes.
    fn given_up(&mut self, block: u64, data: Option<BlockData>) -> Option<Transaction> {
        self.reservation = self.reservation.filter(|&reserved| reserved != block);
        Some(Transaction::carrying(self.agent, Kind::WriteBack, block, data?))
    }

    /// Empties a line for `block`; the write-back that it takes, if any.
    fn make_room(&mut self, block: u64) -> Option<(Issued, Transaction)> {
        let (victim, data) = self.data.make_room(block)?;
        Some((Issued::WriteBack, self.given_up(victim, data)?))
    }

    fn issue_fetch(&mut self, address: u64) -> Option<(Issued, Transaction)> {
        let cache = self.instructions.as_mut()?;
        let block = cache.block_of(address);
        // Instructions are never dirty: a victim just goes.
        cache.make_room(block);
        let issued = Issued::Block { address: block, request: Request::Read, instructions: true };
        Some((issued, Transaction::block(self.agent, Kind::Read, block)))
    }

    /// The access is over, and its instruction will be repeated.
    fn finish_access(&mut self, value: u64) -> bool {
        let pending = self.pending.take().expect("an access was pending");
        self.finished = Some((pending, value));
        true
    }

    /// The value of `access` if it is the one that has just finished.
    fn take_finished(&mut self, access: Pending) -> Option<u64> {
        let (finished, value) = self.finished?;
        (finished == access).then(|| {
            self.finished = None;
            value
        })
    }
}

#[cfg(test)]
mod tests;
