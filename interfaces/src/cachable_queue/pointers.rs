//! The interface's view of the queue pointers.
//!
//! | pointers | home | an interface | learns of the processor's store |
//! | --- | --- | --- | --- |
//! | [`Pointers::Cached`] | main memory | caches them coherently | by its invalidation |
//! | [`Pointers::Memory`] | main memory | reads and writes them there | when it reads again |
//! | [`Pointers::Home`] | the interface | has them in its memory | by its request to write |
//!
//! Each pointer has a block of its own. An access either succeeds at once or
//! names the kind of transaction on that block that it needs first.

use std::ops::Range;

use narthex_memory::cache::Cache;
use narthex_memory::protocols::{Access, Protocol, Request, State};
use narthex_memory::{AgentId, BlockData, Kind, Response, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use super::device_memory::DeviceMemory;
use crate::half::HomeReply;
use crate::registers::FIRST_POINTER;
/// A half uses two pointers at most.
const LINES: usize = 4;

/// How an interface reaches the pointers.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub enum Pointers {
    /// A few lines of coherent cache.
    Cached(Cache),
    /// No copies: every access crosses the bus (hpca98's CNI0Qm).
    Memory {
        /// Bytes of a block.
        block_bytes: usize,
        /// The transaction that reads a pointer.
        fetch: Kind,
        /// The pointer that has just been read, for the load that asked for it.
        read: Option<u64>,
    },
    /// Blocks of the interface's memory, for one behind an I/O bus, which
    /// cannot cache main memory (isca96, Section 2.3).
    Home(DeviceMemory),
}

impl Pointers {
    /// A coherent cache without copies yet. There is a line for each pointer, so
    /// nothing is ever replaced.
    pub fn cached(protocol: &'static Protocol, block_bytes: usize) -> Self {
        Pointers::Cached(Cache::with_geometry(protocol, LINES, LINES, block_bytes))
    }

    /// Pointers in main memory that the interface does not cache.
    pub fn in_memory(block_bytes: usize, fetch: Kind) -> Self {
        Pointers::Memory { block_bytes, fetch, read: None }
    }

    /// Pointers in memory of the interface, all of them with their first value.
    pub fn at_home(mut memory: DeviceMemory, block_bytes: usize) -> Self {
        for address in memory.range().step_by(block_bytes) {
            memory.produce(address, &block_of(FIRST_POINTER, block_bytes));
        }
        Pointers::Home(memory)
    }

    /// The addresses of pointers whose home is the interface.
    pub fn home(&self) -> Option<Range<u64>> {
        match self {
            Pointers::Home(memory) => Some(memory.range()),
            _ => None,
        }
    }

    /// Kinds of the transactions that [`Pointers::load`] and [`Pointers::store`] name.
    pub fn transactions(&self) -> &'static [Kind] {
        match self {
            Pointers::Cached(_) => &[Kind::Read, Kind::ReadExclusive, Kind::Upgrade],
            Pointers::Memory { fetch: Kind::ReadOnce, .. } => &[Kind::ReadOnce, Kind::WriteBlock],
            Pointers::Memory { .. } => &[Kind::Read, Kind::WriteBlock],
            Pointers::Home(_) => &[Kind::Read, Kind::Invalidate],
        }
    }

    /// Whether the processor's stores to a pointer are seen.
    pub fn are_coherent(&self) -> bool {
        !matches!(self, Pointers::Memory { .. })
    }

    /// The pointer at `address`, or the transaction that fetches it.
    pub fn load(&mut self, address: u64) -> Result<u64, Kind> {
        match self {
            Pointers::Cached(cache) => {
                acquire(cache, address, Access::Load)?;
                let mut bytes = [0; 8];
                cache.read(address, &mut bytes);
                Ok(u64::from_le_bytes(bytes))
            }
            Pointers::Memory { read, fetch, .. } => read.take().ok_or(*fetch),
            Pointers::Home(memory) => memory.latest(address).map(pointer_in).ok_or(Kind::Read),
        }
    }

    /// Stores the pointer at `address`, or names the transaction that allows it
    /// or does it.
    pub fn store(&mut self, address: u64, pointer: u64) -> Result<(), Kind> {
        match self {
            Pointers::Cached(cache) => {
                acquire(cache, address, Access::Store)?;
                cache.write(address, &pointer.to_le_bytes());
                Ok(())
            }
            Pointers::Memory { .. } => Err(Kind::WriteBlock),
            Pointers::Home(memory) if memory.must_invalidate(address) => Err(Kind::Invalidate),
            Pointers::Home(memory) => {
                memory.produce(address, &block_of(pointer, memory.block_bytes()));
                Ok(())
            }
        }
    }

    /// The transaction of `kind` that the store of `pointer` named.
    pub fn store_transaction(&self, agent: AgentId, kind: Kind, address: u64, pointer: u64) -> Transaction {
        match self {
            Pointers::Memory { block_bytes, .. } => {
                Transaction::carrying(agent, kind, address, block_of(pointer, *block_bytes))
            }
            Pointers::Cached(_) | Pointers::Home(_) => Transaction::block(agent, kind, address),
        }
    }

    /// The transaction that an access named is over.
    pub fn complete(&mut self, transaction: &Transaction, response: &Response) {
        match self {
            Pointers::Cached(cache) => {
                let request = match transaction.kind {
                    Kind::Read => Request::Read,
                    Kind::ReadExclusive => Request::ReadExclusive,
                    Kind::Upgrade => Request::Upgrade,
                    other => unreachable!("cached pointers are never the cause of {other:?}"),
                };
                cache.fill(transaction.address, request, response.shared, response.data.as_ref());
            }
            Pointers::Memory { read, .. } => *read = response.data.as_deref().map(pointer_in),
            Pointers::Home(memory) => match &response.data {
                Some(data) => memory.take_in(transaction.address, data),
                None => memory.invalidated(transaction.address),
            },
        }
    }

    /// Whether the processor may have stored to the pointer at `address` since
    /// it was last loaded.
    pub fn may_have_moved(&self, address: u64) -> bool {
        match self {
            Pointers::Cached(cache) => cache.state(address) == State::Invalid,
            Pointers::Memory { .. } => true,
            Pointers::Home(memory) => memory.latest(address).is_none(),
        }
    }

    /// The pointer's block, if there is a copy.
    pub fn peek(&self, address: u64) -> Option<&[u8]> {
        match self {
            Pointers::Cached(cache) => cache.peek(address),
            Pointers::Home(memory) if memory.range().contains(&address) => memory.latest(address),
            Pointers::Memory { .. } | Pointers::Home(_) => None,
        }
    }

    /// Another agent's transaction passes by.
    pub fn snoop(&mut self, transaction: &Transaction) -> SnoopReply {
        match (self, transaction.kind.snoop()) {
            (Pointers::Cached(cache), Some(snoop)) => cache.snoop(snoop, transaction.address),
            (Pointers::Home(memory), _) => memory.snoop(transaction),
            _ => SnoopReply::default(),
        }
    }

    /// Refuses another agent's transaction on a dirty pointer; see
    /// [`InterfaceHalf::push`](crate::half::InterfaceHalf::push).
    pub fn push(&mut self, transaction: &Transaction) -> Option<BlockData> {
        match self {
            Pointers::Cached(cache) => cache.push(transaction.kind.snoop()?, transaction.address),
            Pointers::Memory { .. } | Pointers::Home(_) => None,
        }
    }

    /// Serves a transaction as the home of a pointer, if it is on one.
    pub fn serve(&mut self, transaction: &Transaction) -> Option<HomeReply> {
        match self {
            Pointers::Home(memory) if memory.range().contains(&transaction.address) => {
                Some(memory.serve(transaction))
            }
            _ => None,
        }
    }
}

/// The pointer in its block.
fn pointer_in(block: &[u8]) -> u64 {
    u64::from_le_bytes(*block.first_chunk().expect("a block holds a pointer"))
}

/// The block of a pointer, of which nothing else is used.
fn block_of(pointer: u64, block_bytes: usize) -> BlockData {
    let mut block = BlockData::zeroed(block_bytes);
    block.set_word(0, pointer);
    block
}

fn acquire(cache: &mut Cache, address: u64, access: Access) -> Result<(), Kind> {
    cache.access(address, access).map_err(|request| match request {
        Request::Read => Kind::Read,
        Request::ReadExclusive => Kind::ReadExclusive,
        Request::Upgrade => Kind::Upgrade,
        Request::WriteBack => unreachable!("pointers are never evicted"),
    })
}
