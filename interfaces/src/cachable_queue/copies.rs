//! Where an interface keeps the blocks of a queue: in memory of its own that is
//! their home (`CNI_i Q`), in a small cache while main memory is their home
//! (`CNI_i Qm`), or nowhere (`CNI_0 Qm`): it then holds the blocks of the message
//! that it is moving, and takes no part in the coherence protocol.

use narthex_kernel::Duration;
use narthex_memory::cache::{Cache, Victim};
use narthex_memory::protocols::{Request, State};
use narthex_memory::{BlockData, Kind, SnoopReply, Transaction};

use crate::side::HomeReply;

/// The blocks of one queue that the interface has.
#[derive(Clone, Hash, Debug)]
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
    Passing(Vec<(u64, BlockData)>),
}

/// The memory of an interface that is the home of a queue. As a home it sees
/// every fetch and every invalidation of its blocks, so it knows whether its
/// bytes are the latest and whether a processor may hold a copy.
#[derive(Clone, Hash, Debug)]
pub struct DeviceMemory {
    address: u64,
    block_bytes: usize,
    access_time: Duration,
    bytes: Vec<u8>,
    /// The home's bytes are the latest: no processor holds the block dirty.
    latest: Vec<bool>,
    /// A processor has fetched the block since it was last invalidated.
    fetched: Vec<bool>,
}

impl DeviceMemory {
    /// Zeroed memory behind `range`.
    pub fn new(range: std::ops::Range<u64>, block_bytes: usize, access_time: Duration) -> Self {
        let length = (range.end - range.start) as usize;
        DeviceMemory {
            address: range.start,
            block_bytes,
            access_time,
            bytes: vec![0; length],
            latest: vec![true; length / block_bytes],
            fetched: vec![false; length / block_bytes],
        }
    }

    /// Serves a transaction on one of its blocks that no cache supplied.
    pub fn serve(&mut self, transaction: &Transaction) -> HomeReply {
        let data = transaction.kind.fetches_block().then(|| self.read(transaction.address));
        if let Some(data) = &transaction.data {
            self.write(transaction.address, data);
        }
        let delay = match transaction.kind {
            Kind::Upgrade | Kind::Invalidate => Duration::ZERO,
            _ => self.access_time,
        };
        HomeReply { data, delay }
    }

    /// Sees a transaction; true if it is on one of its blocks.
    fn snoop(&mut self, transaction: &Transaction) -> bool {
        let Some(block) = self.index(transaction.address) else {
            return false;
        };
        match transaction.kind {
            Kind::Read => self.fetched[block] = true,
            Kind::ReadExclusive | Kind::Upgrade => {
                self.fetched[block] = true;
                self.latest[block] = false;
            }
            _ => {}
        }
        true
    }

    fn index(&self, address: u64) -> Option<usize> {
        let block = address.checked_sub(self.address)? as usize / self.block_bytes;
        (block < self.latest.len()).then_some(block)
    }

    fn block(&self, address: u64) -> (usize, std::ops::Range<usize>) {
        let block = self.index(address).expect("the block is one of this memory's");
        (block, block * self.block_bytes..(block + 1) * self.block_bytes)
    }

    fn read(&self, address: u64) -> BlockData {
        BlockData::from_bytes(&self.bytes[self.block(address).1])
    }

    fn write(&mut self, address: u64, data: &BlockData) {
        let (block, bytes) = self.block(address);
        self.bytes[bytes].copy_from_slice(data);
        self.latest[block] = true;
    }
}

impl Copies {
    /// Whether the interface is the home of the queue.
    pub fn is_home(&self) -> bool {
        matches!(self, Copies::Home(_))
    }

    /// Whether the interface sees and answers the transactions of others.
    pub fn are_coherent(&self) -> bool {
        !matches!(self, Copies::Passing(_))
    }

    /// The transaction that brings a block.
    pub fn fetch(&self) -> Kind {
        if self.are_coherent() { Kind::Read } else { Kind::ReadOnce }
    }

    /// The latest bytes of a block, if the interface has them.
    pub fn latest(&self, address: u64) -> Option<BlockData> {
        match self {
            Copies::Home(memory) => memory.latest[memory.block(address).0].then(|| memory.read(address)),
            Copies::Cache { cache, .. } => cache.peek(address),
            Copies::Passing(blocks) => blocks.iter().find(|(own, _)| *own == address).map(|(_, data)| *data),
        }
    }

    /// Takes in a block that was read from whoever had it.
    pub fn take_in(&mut self, address: u64, shared: bool, data: &BlockData) {
        match self {
            Copies::Home(memory) => memory.write(address, data),
            Copies::Cache { cache, .. } => {
                // A block that was read to be sent is clean: its place is free.
                if let Some(victim) = cache.victim_for(address) {
                    cache.remove(victim.block);
                }
                cache.fill(address, Request::Read, shared, Some(data));
            }
            Copies::Passing(blocks) => blocks.push((address, *data)),
        }
    }

    /// The message whose blocks were taken in is gone.
    pub fn release(&mut self) {
        if let Copies::Passing(blocks) = self {
            blocks.clear();
        }
    }

    /// Whether a processor may hold a copy that has to go before the interface
    /// gives the block new bytes.
    pub fn must_invalidate(&self, address: u64) -> bool {
        match self {
            Copies::Home(memory) => memory.fetched[memory.block(address).0],
            Copies::Cache { cache, .. } => {
                !matches!(cache.state(address), State::Modified | State::Exclusive)
            }
            Copies::Passing(_) => true,
        }
    }

    /// Gives a block new bytes; nobody else has a copy.
    pub fn produce(&mut self, address: u64, data: &BlockData) {
        match self {
            Copies::Home(memory) => {
                let block = memory.block(address).0;
                memory.fetched[block] = false;
                memory.write(address, data);
            }
            Copies::Cache { cache, .. } => cache.place(address, State::Modified, Some(data)),
            Copies::Passing(_) => unreachable!("blocks that the interface does not keep go to memory"),
        }
    }

    /// The block that a cache would have to give up for this one.
    pub fn victim_for(&self, address: u64) -> Option<Victim> {
        match self {
            Copies::Cache { cache, .. } => cache.victim_for(address),
            Copies::Home(_) | Copies::Passing(_) => None,
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
            // Never exclusive: the home has to see the next store.
            Copies::Home(memory) => {
                let own = memory.snoop(transaction);
                SnoopReply { shares: own && transaction.kind == Kind::Read, ..SnoopReply::default() }
            }
            Copies::Cache { cache, access_time } => match transaction.kind.snoop() {
                Some(snoop) => SnoopReply { delay: *access_time, ..cache.snoop(snoop, transaction.address) },
                None => SnoopReply::default(),
            },
            Copies::Passing(_) => SnoopReply::default(),
        }
    }

    /// Serves a transaction as the block's home.
    pub fn serve(&mut self, transaction: &Transaction) -> HomeReply {
        match self {
            Copies::Home(memory) => memory.serve(transaction),
            Copies::Cache { .. } | Copies::Passing(_) => unreachable!("the home of the queue is main memory"),
        }
    }
}
