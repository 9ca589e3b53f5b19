//! What a processor waits for, and what its transactions are for.
//!
//! An access that cannot be made at once is *pending*: the processor stops and repeats it when what it
//! lacks is there. Most lack a transaction, which is then *issued* for them; some only wait until others
//! are over. Transactions are also issued for no access: posted stores, write-backs, prefetches.

use serde::{Deserialize, Serialize};

use crate::access_tags::Tag;
use crate::kind::Kind;
use crate::protocols::{Access, Request};

use super::cache_blocks::BlockOperation;
use super::store_queue::{Awaited, QueuedStore};

/// An uncached access of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Uncached {
    pub address: u64,
    pub size: u8,
    pub value: u64,
}

/// The access for which the processor has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Pending {
    /// A block is needed in the data cache with this right; its page lets the accesses
    /// after that be fast up to `most`.
    Data { address: u64, access: Access, most: Tag },
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
    /// A miss register is to be free.
    MissRegister,
    /// No load is to be under way.
    Loads,
    /// No load of the block of this address is to be under way.
    LoadsOf(u64),
    /// Stores are to leave the store queue.
    StoreQueue(Awaited),
    /// Never waited for: a store that is in the store queue when the processor repeats it.
    QueuedStore(QueuedStore),
}

/// What a transaction under way is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Issued {
    WriteBack,
    Block { address: u64, request: Request, instructions: bool, purpose: Purpose },
    CacheBlock,
    UncachedLoad,
    UncachedStore,
    BlockTransfer,
    PostedStore,
    PostedFlush,
}

/// For which access a block is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Purpose {
    /// The one for which the processor waits.
    Pending,
    /// A load under way.
    Load,
    /// A store of the store queue.
    Store,
    /// None: the prefetcher asks for it.
    Prefetch,
    /// None, and it has no page any more.
    Unmapped,
}
