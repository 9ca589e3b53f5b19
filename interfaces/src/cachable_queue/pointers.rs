//! The interface's coherent copies of the queue pointers.

use narthex_memory::cache::Cache;
use narthex_memory::protocols::{Access, Protocol, Request};
use narthex_memory::{BlockData, Kind, Response, SnoopReply, Transaction};

use crate::registers::Addresses;

/// A few lines of coherent cache for pointers. An access either succeeds at
/// once or names the kind of transaction on its block that it needs first.
#[derive(Clone, Hash, Debug)]
pub struct Pointers {
    cache: Cache,
}

impl Pointers {
    /// No copies yet. There is a line for each block of the pointer page that
    /// can be one, so nothing is ever replaced.
    pub fn new(protocol: &'static Protocol, block_bytes: usize) -> Self {
        let page = Addresses::of_process(0).pointers();
        let lines = ((page.end - page.start) as usize / block_bytes).next_power_of_two();
        Pointers { cache: Cache::with_geometry(protocol, lines, 1, block_bytes) }
    }

    /// The pointer at `address`, or the transaction that fetches it.
    pub fn load(&mut self, address: u64) -> Result<u64, Kind> {
        self.acquire(address, Access::Load)?;
        let mut bytes = [0; 8];
        self.cache.read(address, &mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    /// Stores the pointer at `address`, or names the transaction that allows it.
    pub fn store(&mut self, address: u64, pointer: u64) -> Result<(), Kind> {
        self.acquire(address, Access::Store)?;
        self.cache.write(address, &pointer.to_le_bytes());
        Ok(())
    }

    /// The transaction that an access named is over.
    pub fn complete(&mut self, transaction: &Transaction, response: &Response) {
        let request = match transaction.kind {
            Kind::Read => Request::Read,
            Kind::ReadExclusive => Request::ReadExclusive,
            Kind::Upgrade => Request::Upgrade,
            other => unreachable!("pointers are never the cause of {other:?}"),
        };
        self.cache.fill(transaction.address, request, response.shared, response.data.as_ref());
    }

    /// The pointer's block, if there is a copy.
    pub fn peek(&self, address: u64) -> Option<BlockData> {
        self.cache.peek(address)
    }

    /// Another agent's transaction passes by.
    pub fn snoop(&mut self, transaction: &Transaction) -> SnoopReply {
        match transaction.kind.snoop() {
            Some(snoop) => self.cache.snoop(snoop, transaction.address),
            None => SnoopReply::default(),
        }
    }

    fn acquire(&mut self, address: u64, access: Access) -> Result<(), Kind> {
        self.cache.access(address, access).map_err(|request| match request {
            Request::Read => Kind::Read,
            Request::ReadExclusive => Kind::ReadExclusive,
            Request::Upgrade => Kind::Upgrade,
            Request::WriteBack => unreachable!("pointers are never evicted"),
        })
    }
}
