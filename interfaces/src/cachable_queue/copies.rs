//! Where an interface keeps the blocks of a queue: in memory of its own that is
//! their home (`CNI_i Q`), in a small cache while main memory is their home
//! (`CNI_i Qm`), or nowhere (`CNI_0 Qm`): it then holds the blocks of the message
//! that it is moving, and takes no part in the coherence protocol.

use narthex_kernel::Duration;
use narthex_memory::cache::{Cache, Victim};
use narthex_memory::protocols::{Request, State};
use narthex_memory::{BlockData, Kind, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use super::device_memory::DeviceMemory;
use crate::half::HomeReply;

/// The blocks of one queue that the interface has.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub enum Copies {
    /// The interface's memory is the home of every block.
    Home(DeviceMemory),
    /// The interface caches blocks of main memory.
    Cache {
        /// Direct-mapped (isca96, Section 4.1: "The CNI caches are also direct-mapped").
        cache: Cache,
        /// What the cache needs to supply a block.
        access_time: Duration,
    },
    /// The interface keeps nothing but the blocks of the message on its way.
    Passing {
        /// Blocks of the message, by address.
        blocks: Vec<(u64, BlockData)>,
        /// The transaction that brings one.
        fetch: Kind,
    },
}

impl Copies {
    /// Whether the interface is the home of the queue.
    pub fn is_home(&self) -> bool {
        matches!(self, Copies::Home(_))
    }

    /// Whether the interface sees and answers the transactions of others.
    pub fn are_coherent(&self) -> bool {
        !matches!(self, Copies::Passing { .. })
    }

    /// The transaction that brings a block.
    pub fn fetch(&self) -> Kind {
        match self {
            Copies::Home(_) | Copies::Cache { .. } => Kind::Read,
            Copies::Passing { fetch, .. } => *fetch,
        }
    }

    /// Kinds of the transactions that go before new bytes of a block, or carry them.
    pub fn deposits(&self) -> &'static [Kind] {
        match self {
            Copies::Home(_) => &[Kind::Invalidate],
            Copies::Cache { .. } => &[Kind::Invalidate, Kind::WriteBack, Kind::WriteBlock],
            Copies::Passing { .. } => &[Kind::WriteBlock],
        }
    }

    /// The latest bytes of a block, if the interface has them.
    pub fn latest(&self, address: u64) -> Option<&[u8]> {
        match self {
            Copies::Home(memory) => memory.latest(address),
            Copies::Cache { cache, .. } => cache.peek(address),
            Copies::Passing { blocks, .. } => {
                blocks.iter().find(|(own, _)| *own == address).map(|(_, data)| &data[..])
            }
        }
    }

    /// Takes in a block that was read from the cache or memory that had it.
    pub fn take_in(&mut self, address: u64, shared: bool, data: &BlockData) {
        match self {
            Copies::Home(memory) => memory.take_in(address, data),
            Copies::Cache { cache, .. } => {
                // A block that was read to be sent is clean: its place is free.
                if let Some(victim) = cache.victim_for(address) {
                    cache.remove(victim.block);
                }
                cache.fill(address, Request::Read, shared, Some(data));
            }
            Copies::Passing { blocks, .. } => blocks.push((address, data.clone())),
        }
    }

    /// The message whose blocks were taken in is gone.
    pub fn release(&mut self) {
        if let Copies::Passing { blocks, .. } = self {
            blocks.clear();
        }
    }

    /// Whether a processor may hold a copy that has to go before the interface
    /// gives the block new bytes.
    pub fn must_invalidate(&self, address: u64) -> bool {
        match self {
            Copies::Home(memory) => memory.must_invalidate(address),
            Copies::Cache { cache, .. } => {
                !matches!(cache.state(address), State::Modified | State::Exclusive)
            }
            Copies::Passing { .. } => true,
        }
    }

    /// Gives a block new bytes; no other cache has a copy.
    pub fn produce(&mut self, address: u64, data: &BlockData) {
        match self {
            Copies::Home(memory) => memory.produce(address, data),
            Copies::Cache { cache, .. } => cache.place(address, State::Modified, Some(data)),
            Copies::Passing { .. } => unreachable!("blocks that the interface does not keep go to memory"),
        }
    }

    /// The block that a cache would have to give up for this one.
    pub fn victim_for(&self, address: u64) -> Option<Victim> {
        match self {
            Copies::Cache { cache, .. } => cache.victim_for(address),
            Copies::Home(_) | Copies::Passing { .. } => None,
        }
    }

    /// Forgets a block.
    pub fn drop_block(&mut self, address: u64) {
        if let Copies::Cache { cache, .. } = self {
            cache.remove(address);
        }
    }

    /// Answers another agent's transaction.
    pub fn snoop(&mut self, transaction: &Transaction) -> SnoopReply {
        match self {
            Copies::Home(memory) => memory.snoop(transaction),
            Copies::Cache { cache, access_time } => match transaction.kind.snoop() {
                Some(snoop) => SnoopReply { delay: *access_time, ..cache.snoop(snoop, transaction.address) },
                None => SnoopReply::default(),
            },
            Copies::Passing { .. } => SnoopReply::default(),
        }
    }

    /// Refuses another agent's transaction on a dirty copy; see
    /// [`InterfaceHalf::push`](crate::half::InterfaceHalf::push).
    pub fn push(&mut self, transaction: &Transaction) -> Option<BlockData> {
        match self {
            Copies::Cache { cache, .. } => cache.push(transaction.kind.snoop()?, transaction.address),
            Copies::Home(_) | Copies::Passing { .. } => None,
        }
    }

    /// Serves a transaction as the block's home.
    pub fn serve(&mut self, transaction: &Transaction) -> HomeReply {
        match self {
            Copies::Home(memory) => memory.serve(transaction),
            Copies::Cache { .. } | Copies::Passing { .. } => {
                unreachable!("the home of the queue is main memory")
            }
        }
    }
}
