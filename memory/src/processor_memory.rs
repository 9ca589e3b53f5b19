//! A processor's side of the memory system: its caches, its store buffer and
//! the one access that it may be waiting for.
//!
//! [`ProcessorMemory`] is what lasts; [`ProcessorPort`] borrows it together with
//! the node's page table and main memory for as long as the processor runs, and
//! is the [`Port`] that the processor sees. An access that cannot finish at once
//! becomes the *pending* one and the processor stops. The node then asks for the
//! bus in this agent's name, calls [`ProcessorMemory::issue`] when it is granted
//! and [`ProcessorMemory::complete`] when the transaction is over; that says
//! whether the processor may be woken to repeat its access.
//!
//! **Order.** A processor has one pending access. Uncached stores may be
//! *posted*: they wait in the store buffer and leave it in order; cached misses
//! overtake them, uncached loads and fences wait until the buffer is empty. With
//! a *blocking* machine the buffer is never used.

use std::collections::VecDeque;

use narthex_kernel::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cache::{self, Cache};
use crate::main_memory::MainMemory;
use crate::pages::{PageAttributes, PageKind, PageTable};
use crate::port::{AccessFault, Outcome, Port};
use crate::protocols::{Access, Request};
use crate::transaction::{AgentId, Kind, Response, SnoopReply, Transaction};

/// What happens to a store that goes to an uncached page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UncachedStores {
    /// The processor waits until the store has reached its device.
    Blocking,
    /// The store waits in the store buffer while the processor goes on.
    Posted,
}

/// The parameters of a processor's store buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreBufferConfig {
    /// Whether uncached stores are "blocking" or "posted".
    pub uncached_stores: UncachedStores,
    /// Stores that the buffer holds, 1 to 64; not used where stores block.
    pub entries: u32,
}

impl StoreBufferConfig {
    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        if (1..=64).contains(&self.entries) {
            return Vec::new();
        }
        vec![("entries", format!("{} is not from 1 to 64", self.entries))]
    }
}

narthex_kernel::statistics! {
    /// What a processor asked of the memory below its caches.
    pub struct Statistics {
        load_misses: Counter, "load_misses", "accesses", "loads whose block was not in the data cache";
        store_misses: Counter, "store_misses", "accesses", "stores whose block was absent or not writable";
        fetch_misses: Counter, "fetch_misses", "accesses", "instruction fetches whose block was not in the instruction cache";
        uncached_loads: Counter, "processor_uncached_loads", "accesses", "loads from device registers";
        uncached_stores: Counter, "processor_uncached_stores", "accesses", "stores to device registers";
        store_buffer_stalls: Counter, "store_buffer_stalls", "accesses", "uncached stores that found the store buffer full";
    }
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Uncached {
    address: u64,
    size: u8,
    value: u64,
}

/// The access for which the processor has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    /// A block is needed in the data cache with this right.
    Data { address: u64, access: Access },
    /// A block is needed in the instruction cache.
    Instructions { address: u64 },
    /// A device register is to be read.
    UncachedLoad(Uncached),
    /// A device register is to be written, and the processor waits for it.
    UncachedStore(Uncached),
    /// The store buffer is to have fewer entries than this.
    Drain { below: usize },
}

/// What the transaction on the bus is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Issued {
    WriteBack,
    Block { address: u64, request: Request, instructions: bool },
    UncachedLoad,
    UncachedStore,
    PostedStore,
}

/// A processor's caches, store buffer and pending access: an agent on the
/// interconnect.
#[derive(Debug)]
pub struct ProcessorMemory {
    agent: AgentId,
    data: Cache,
    /// None: instruction fetch is ideal.
    instructions: Option<Cache>,
    store_buffer: VecDeque<Uncached>,
    posted_limit: usize,
    supply_time: Duration,
    pending: Option<Pending>,
    issued: Option<Issued>,
    /// The uncached access that is over and whose instruction will be repeated.
    finished: Option<(Pending, u64)>,
    reservation: Option<u64>,
    code_version: u64,
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
            data: Cache::new(data),
            instructions: instructions.map(Cache::new),
            store_buffer: VecDeque::with_capacity(posted_limit),
            posted_limit,
            supply_time,
            pending: None,
            issued: None,
            finished: None,
            reservation: None,
            code_version: 0,
            statistics: Statistics::default(),
        }
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

    /// Whether a transaction is needed: the node then asks for the bus.
    pub fn wants_bus(&self) -> bool {
        self.issued.is_none()
            && (!self.store_buffer.is_empty()
                || matches!(self.pending, Some(p) if !matches!(p, Pending::Drain { .. })))
    }

    /// Why the processor waits, if it does.
    pub fn wait_reason(&self) -> Option<WaitReason> {
        self.pending.map(|pending| match pending {
            Pending::Data { .. } => WaitReason::DataMiss,
            Pending::Instructions { .. } => WaitReason::InstructionMiss,
            Pending::UncachedLoad(_) | Pending::UncachedStore(_) => WaitReason::Uncached,
            Pending::Drain { .. } => WaitReason::StoreBuffer,
        })
    }

    /// The bus is granted: the transaction that the present state needs.
    pub fn issue(&mut self) -> Option<Transaction> {
        let (issued, transaction) = match self.pending {
            Some(Pending::Data { address, access }) => self.issue_block(address, access)?,
            Some(Pending::Instructions { address }) => self.issue_fetch(address)?,
            Some(Pending::UncachedLoad(load)) if self.store_buffer.is_empty() => {
                (Issued::UncachedLoad, self.uncached(Kind::UncachedLoad, load))
            }
            Some(Pending::UncachedStore(store)) if self.store_buffer.is_empty() => {
                (Issued::UncachedStore, self.uncached(Kind::UncachedStore, store))
            }
            _ => {
                let store = *self.store_buffer.front()?;
                (Issued::PostedStore, self.uncached(Kind::UncachedStore, store))
            }
        };
        self.issued = Some(issued);
        Some(transaction)
    }

    /// The transaction that was issued is over. True: the processor repeats its
    /// access now.
    pub fn complete(&mut self, transaction: &Transaction, response: &Response) -> bool {
        match self.issued.take().expect("a transaction was issued") {
            Issued::WriteBack => false,
            Issued::Block { address, request, instructions } => {
                let cache = match &mut self.instructions {
                    Some(cache) if instructions => cache,
                    _ => &mut self.data,
                };
                cache.fill(address, request, response.shared, response.data.as_ref());
                // The store that asked for the block looks at its page once more,
                // which decides whether the next ones may be fast.
                cache.guard_stores(address, request != Request::Read);
                self.pending = None;
                true
            }
            Issued::UncachedLoad => self.finish_uncached(response.value),
            Issued::UncachedStore => self.finish_uncached(transaction.value),
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
        let Some(snoop) = transaction.kind.snoop() else {
            return SnoopReply::default();
        };
        let mut reply = self.data.snoop(snoop, transaction.address);
        reply.delay = self.supply_time;
        if let Some(cache) = &mut self.instructions {
            reply.shares |= cache.snoop(snoop, transaction.address).shares;
        }
        if self.reservation == Some(transaction.address)
            && !self.data.state(transaction.address).is_readable()
        {
            self.reservation = None;
        }
        reply
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
        let request = match self.data.access(address, access) {
            Err(request) => request,
            Ok(()) => unreachable!("only a processor's own fills improve its lines"),
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

    /// Empties a line for `block`; the write-back that it takes, if any.
    fn make_room(&mut self, block: u64) -> Option<(Issued, Transaction)> {
        let victim = self.data.victim_for(block)?;
        let data = self.data.remove(victim.block).expect("a victim is present");
        if self.reservation == Some(victim.block) {
            self.reservation = None;
        }
        victim.dirty.then(|| {
            let write_back = Transaction::carrying(self.agent, Kind::WriteBack, victim.block, data);
            (Issued::WriteBack, write_back)
        })
    }

    fn issue_fetch(&mut self, address: u64) -> Option<(Issued, Transaction)> {
        let cache = self.instructions.as_mut()?;
        let block = cache.block_of(address);
        // Instructions are never dirty: a victim just goes.
        if let Some(victim) = cache.victim_for(block) {
            cache.remove(victim.block);
        }
        let issued = Issued::Block { address: block, request: Request::Read, instructions: true };
        Some((issued, Transaction::block(self.agent, Kind::Read, block)))
    }

    fn finish_uncached(&mut self, value: u64) -> bool {
        let pending = self.pending.take().expect("an uncached access was pending");
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

/// A processor's view of its node's memory while it runs.
#[derive(Debug)]
pub struct ProcessorPort<'a> {
    own: &'a mut ProcessorMemory,
    pages: &'a PageTable,
    memory: &'a MainMemory,
}

impl ProcessorPort<'_> {
    fn wait<T>(&mut self, pending: Pending) -> Outcome<T> {
        self.own.pending = Some(pending);
        Outcome::Wait
    }

    /// Makes every block of a cachable access present with the right to
    /// `access` it; the first one that is not becomes pending.
    fn acquire(&mut self, address: u64, size: usize, access: Access) -> Result<(), Outcome<()>> {
        let last = address.wrapping_add(size as u64 - 1);
        for part in [address, last] {
            if self.own.data.access(part, access).is_err() {
                match access {
                    Access::Load => self.own.statistics.load_misses.increment(),
                    _ => self.own.statistics.store_misses.increment(),
                }
                return Err(self.wait(Pending::Data { address: part, access }));
            }
            if self.own.data.block_of(address) == self.own.data.block_of(last) {
                break;
            }
        }
        Ok(())
    }

    /// Reads up to eight present bytes, across a block boundary if need be.
    fn gather(&self, address: u64, size: usize) -> u64 {
        let mut bytes = [0; 8];
        let (first, _) = self.split(address, size);
        self.own.data.read(address, &mut bytes[..first]);
        if first < size {
            self.own.data.read(address.wrapping_add(first as u64), &mut bytes[first..size]);
        }
        u64::from_le_bytes(bytes)
    }

    fn scatter(&mut self, address: u64, size: usize, value: u64) {
        let bytes = value.to_le_bytes();
        let (first, _) = self.split(address, size);
        self.own.data.write(address, &bytes[..first]);
        if first < size {
            self.own.data.write(address.wrapping_add(first as u64), &bytes[first..size]);
        }
    }

    /// How many bytes of an access lie in its first block, and in the next.
    fn split(&self, address: u64, size: usize) -> (usize, usize) {
        let block = self.own.data.block_bytes() as u64;
        let room = (block - address % block) as usize;
        (room.min(size), size.saturating_sub(room))
    }

    fn cachable_load(&mut self, address: u64, size: usize, access: Access) -> Outcome<u64> {
        match self.acquire(address, size, access) {
            Ok(()) => Outcome::Done(self.gather(address, size)),
            Err(Outcome::Fault(fault)) => Outcome::Fault(fault),
            Err(_) => Outcome::Wait,
        }
    }

    fn uncached_load(&mut self, address: u64, size: usize) -> Outcome<u64> {
        let pending = Pending::UncachedLoad(Uncached { address, size: size as u8, value: 0 });
        if let Some(value) = self.own.take_finished(pending) {
            return Outcome::Done(value);
        }
        self.own.statistics.uncached_loads.increment();
        self.wait(pending)
    }

    fn uncached_store(&mut self, address: u64, size: usize, value: u64) -> Outcome<()> {
        let store = Uncached { address, size: size as u8, value };
        let pending = Pending::UncachedStore(store);
        if self.own.take_finished(pending).is_some() {
            return Outcome::Done(());
        }
        if self.own.posted_limit > 0 {
            if self.own.store_buffer.len() == self.own.posted_limit {
                self.own.statistics.store_buffer_stalls.increment();
                return self.wait(Pending::Drain { below: self.own.posted_limit });
            }
            self.own.statistics.uncached_stores.increment();
            self.own.store_buffer.push_back(store);
            // The processor stops for no time, so that the node asks for the bus
            // at this instant, and finds the store done when it repeats it.
            self.own.finished = Some((pending, 0));
            return Outcome::Wait;
        }
        self.own.statistics.uncached_stores.increment();
        self.wait(pending)
    }

    /// The page of an access that must not cross a page of another kind.
    fn page(
        &self,
        address: u64,
        size: usize,
        check: impl Fn(&PageTable, u64) -> Result<PageAttributes, AccessFault>,
    ) -> Result<PageAttributes, AccessFault> {
        let page = check(self.pages, address)?;
        let misaligned = !address.is_multiple_of(size as u64);
        if !misaligned {
            return Ok(page);
        }
        let last = check(self.pages, address.wrapping_add(size as u64 - 1))?;
        if page.kind != PageKind::Cachable || last.kind != PageKind::Cachable {
            return Err(AccessFault::Misaligned);
        }
        Ok(page)
    }

    /// Stores into blocks that may be written. Stores to pages of code are
    /// counted, each of them, so that decoded instructions can be dropped.
    fn finish_store(&mut self, page: PageAttributes, address: u64, size: usize, value: u64) {
        self.scatter(address, size, value);
        self.own.code_version += u64::from(page.executable);
        self.own.data.guard_stores(address, page.executable);
        let last = address.wrapping_add(size as u64 - 1);
        if self.own.data.block_of(last) != self.own.data.block_of(address) {
            self.own.data.guard_stores(last, page.executable);
        }
    }

    /// Checks an atomic access: aligned, cachable, allowed.
    fn atomic(&self, address: u64, size: usize) -> Result<PageAttributes, AccessFault> {
        if !address.is_multiple_of(size as u64) {
            return Err(AccessFault::Misaligned);
        }
        let page = self.pages.check_store(address)?;
        match page.kind {
            PageKind::Cachable => Ok(page),
            PageKind::Uncached | PageKind::Device => Err(AccessFault::Device),
        }
    }
}

impl Port for ProcessorPort<'_> {
    #[inline(always)]
    fn load_hit<const SIZE: usize>(&mut self, address: u64) -> Option<u64> {
        self.own.data.load_hit::<SIZE>(address)
    }

    #[inline(always)]
    fn store_hit<const SIZE: usize>(&mut self, address: u64, value: u64) -> bool {
        self.own.data.store_hit::<SIZE>(address, value)
    }

    #[inline(always)]
    fn fetch_hit(&mut self, address: u64) -> bool {
        match &self.own.instructions {
            None => true,
            Some(cache) => cache.fetch_hit(address),
        }
    }

    #[cold]
    fn load(&mut self, address: u64, size: usize) -> Outcome<u64> {
        match self.page(address, size, PageTable::check_load) {
            Err(fault) => Outcome::Fault(fault),
            Ok(page) if page.kind == PageKind::Cachable => self.cachable_load(address, size, Access::Load),
            Ok(_) => self.uncached_load(address, size),
        }
    }

    #[cold]
    fn store(&mut self, address: u64, size: usize, value: u64) -> Outcome<()> {
        let page = match self.page(address, size, PageTable::check_store) {
            Err(fault) => return Outcome::Fault(fault),
            Ok(page) => page,
        };
        if page.kind != PageKind::Cachable {
            return self.uncached_store(address, size, value);
        }
        if let Err(outcome) = self.acquire(address, size, Access::Store) {
            return outcome;
        }
        self.finish_store(page, address, size, value);
        Outcome::Done(())
    }

    #[cold]
    fn fetch(&mut self, address: u64) -> Outcome<()> {
        if let Err(fault) = self.pages.check_fetch(address) {
            return Outcome::Fault(fault);
        }
        let Some(cache) = &mut self.own.instructions else {
            return Outcome::Done(());
        };
        if cache.access(address, Access::Load).is_ok() {
            return Outcome::Done(());
        }
        self.own.statistics.fetch_misses.increment();
        self.wait(Pending::Instructions { address })
    }

    fn code(&mut self, address: u64) -> Result<u32, AccessFault> {
        self.pages.check_fetch(address)?;
        let mut bytes = [0; 4];
        for (offset, byte) in bytes.iter_mut().enumerate() {
            let here = address.wrapping_add(offset as u64);
            if self.pages.check_fetch(here).is_err() {
                break;
            }
            let mut one = [0];
            match self.own.data.peek(here) {
                Some(block) => one[0] = block[(here % block.len() as u64) as usize],
                None => self.memory.read(here, &mut one),
            }
            *byte = one[0];
        }
        Ok(u32::from_le_bytes(bytes))
    }

    #[cold]
    fn load_reserved(&mut self, address: u64, size: usize) -> Outcome<u64> {
        if let Err(fault) = self.atomic(address, size) {
            return Outcome::Fault(fault);
        }
        let outcome = self.cachable_load(address, size, Access::Load);
        if let Outcome::Done(_) = outcome {
            self.own.reservation = Some(self.own.data.block_of(address));
        }
        outcome
    }

    #[cold]
    fn store_conditional(&mut self, address: u64, size: usize, value: u64) -> Outcome<bool> {
        let page = match self.atomic(address, size) {
            Err(fault) => return Outcome::Fault(fault),
            Ok(page) => page,
        };
        if self.own.reservation != Some(self.own.data.block_of(address)) {
            self.own.reservation = None;
            return Outcome::Done(false);
        }
        if self.acquire(address, size, Access::Store).is_err() {
            return Outcome::Wait;
        }
        self.own.reservation = None;
        self.finish_store(page, address, size, value);
        Outcome::Done(true)
    }

    #[cold]
    fn load_for_update(&mut self, address: u64, size: usize) -> Outcome<u64> {
        match self.atomic(address, size) {
            Err(fault) => Outcome::Fault(fault),
            Ok(_) => self.cachable_load(address, size, Access::Store),
        }
    }

    fn fence(&mut self) -> Outcome<()> {
        if self.own.store_buffer.is_empty() {
            return Outcome::Done(());
        }
        self.wait(Pending::Drain { below: 1 })
    }

    fn fence_instructions(&mut self) -> Outcome<()> {
        if let Some(cache) = &mut self.own.instructions {
            cache.clear();
        }
        Outcome::Done(())
    }

    fn code_version(&self) -> u64 {
        self.own.code_version
    }
}

#[cfg(test)]
mod tests;
