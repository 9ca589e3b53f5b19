//! The interface's view of the queue pointers.
//!
//! | pointers | home | an interface | learns of the processor's store |
//! | --- | --- | --- | --- |
//! | [`Pointers::Cached`] | main memory | caches them coherently | by its invalidation |
//! | [`Pointers::Memory`] | main memory | reads and writes them there | when it reads again |
//!
//! Each pointer has a block of its own. An access either succeeds at once or
//! names the kind of transaction on that block that it needs first.

use narthex_memory::cache::Cache;
use narthex_memory::protocols::{Access, Protocol, Request, State};
use narthex_memory::{AgentId, BlockData, Kind, Response, SnoopReply, Transaction};

/// A half uses two pointers at most.
const LINES: usize = 4;

/// How an interface reaches the pointers.
#[derive(Clone, Hash, Debug)]
pub enum Pointers {
    /// A few lines of coherent cache.
    Cached(Cache),
    /// No copies: every access crosses the bus (hpca98's CNI0Qm).
    Memory {
        /// Bytes of a block.
        block_bytes: usize,
        /// The pointer that has just been read, for the load that asked for it.
        read: Option<u64>,
    },
}

impl Pointers {
    /// A coherent cache without copies yet. There is a line for each pointer, so
    /// nothing is ever replaced.
    pub fn cached(protocol: &'static Protocol, block_bytes: usize) -> Self {
        Pointers::Cached(Cache::with_geometry(protocol, LINES, LINES, block_bytes))
    }

    /// Pointers in main memory that the interface does not cache.
    pub fn in_memory(block_bytes: usize) -> Self {
        Pointers::Memory { block_bytes, read: None }
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
            Pointers::Memory { read, .. } => read.take().ok_or(Kind::ReadOnce),
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
        }
    }

    /// The transaction of `kind` that the store of `pointer` named.
    pub fn store_transaction(&self, agent: AgentId, kind: Kind, address: u64, pointer: u64) -> Transaction {
        match self {
            Pointers::Memory { block_bytes, .. } => {
                let mut block = BlockData::zeroed(*block_bytes);
                block.set_word(0, pointer);
                Transaction::carrying(agent, kind, address, block)
            }
            Pointers::Cached(_) => Transaction::block(agent, kind, address),
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
            Pointers::Memory { read, .. } => *read = response.data.map(|block| block.word(0)),
        }
    }

    /// Whether the processor may have stored to the pointer at `address` since
    /// it was last loaded.
    pub fn may_have_moved(&self, address: u64) -> bool {
        match self {
            Pointers::Cached(cache) => cache.state(address) == State::Invalid,
            Pointers::Memory { .. } => true,
        }
    }

    /// The pointer's block, if there is a copy.
    pub fn peek(&self, address: u64) -> Option<BlockData> {
        match self {
            Pointers::Cached(cache) => cache.peek(address),
            Pointers::Memory { .. } => None,
        }
    }

    /// Another agent's transaction passes by.
    pub fn snoop(&mut self, transaction: &Transaction) -> SnoopReply {
        match (self, transaction.kind.snoop()) {
            (Pointers::Cached(cache), Some(snoop)) => cache.snoop(snoop, transaction.address),
            _ => SnoopReply::default(),
        }
    }
}

fn acquire(cache: &mut Cache, address: u64, access: Access) -> Result<(), Kind> {
    cache.access(address, access).map_err(|request| match request {
        Request::Read => Kind::Read,
        Request::ReadExclusive => Kind::ReadExclusive,
        Request::Upgrade => Kind::Upgrade,
        Request::WriteBack => unreachable!("pointers are never evicted"),
    })
}
