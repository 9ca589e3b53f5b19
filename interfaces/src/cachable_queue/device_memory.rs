//! Memory of an interface that is the home of cachable blocks: queues, pointers
//! or registers.
//!
//! As a home it sees every fetch and every invalidation of its blocks. So it
//! knows of each whether its own bytes are the latest, and whether a processor
//! may hold a copy. On a bus it snoops them; on a directory the part for these blocks is in
//! the interface, which is told of each request in the order in which the directory works on them.

use std::ops::Range;

use narthex_kernel::Duration;
use narthex_memory::{BlockData, Kind, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use crate::half::HomeReply;

/// The memory of an interface that is the home of its blocks.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
#[serde(remote = "Self")]
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

narthex_kernel::checked_when_read!(DeviceMemory);

impl DeviceMemory {
    /// Zeroed memory behind `range`.
    pub fn new(range: Range<u64>, block_bytes: usize, access_time: Duration) -> Self {
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

    fn is_sound(&self) -> bool {
        let blocks = self.latest.len();
        let ends = self.address.checked_add(self.bytes.len() as u64).is_some();
        ends && self.fetched.len() == blocks && blocks.checked_mul(self.block_bytes) == Some(self.bytes.len())
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

    /// The bytes of a block, if they are the latest.
    pub fn latest(&self, address: u64) -> Option<&[u8]> {
        let (block, bytes) = self.block(address);
        self.latest[block].then(|| &self.bytes[bytes])
    }

    /// The bytes of a block, if they are the latest or not.
    pub fn bytes(&self, address: u64) -> &[u8] {
        &self.bytes[self.block(address).1]
    }

    /// Whether a processor may hold a copy, which has to go before the block gets
    /// new bytes.
    pub fn must_invalidate(&self, address: u64) -> bool {
        self.fetched[self.block(address).0]
    }

    /// Every copy of the block is gone.
    pub fn invalidated(&mut self, address: u64) {
        let block = self.block(address).0;
        self.fetched[block] = false;
    }

    /// Takes in the latest bytes, read from the cache or memory that had them.
    pub fn take_in(&mut self, address: u64, data: &BlockData) {
        self.write(address, data);
    }

    /// Gives a block new bytes; no other cache has a copy.
    pub fn produce(&mut self, address: u64, data: &BlockData) {
        self.invalidated(address);
        self.write(address, data);
    }

    /// Sees another agent's transaction.
    pub fn snoop(&mut self, transaction: &Transaction) -> SnoopReply {
        let Some(block) = self.index(transaction.address) else {
            return SnoopReply::default();
        };
        match transaction.kind {
            Kind::Read => self.fetched[block] = true,
            Kind::ReadExclusive | Kind::Upgrade => {
                self.fetched[block] = true;
                self.latest[block] = false;
            }
            _ => {}
        }
        // Never exclusive: the home has to see the next store.
        SnoopReply { shares: transaction.kind == Kind::Read, ..SnoopReply::default() }
    }

    /// Bytes of a block.
    pub fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// The addresses whose home it is.
    pub fn range(&self) -> Range<u64> {
        self.address..self.address + self.bytes.len() as u64
    }

    fn index(&self, address: u64) -> Option<usize> {
        let block = address.checked_sub(self.address)? as usize / self.block_bytes;
        (block < self.latest.len()).then_some(block)
    }

    fn block(&self, address: u64) -> (usize, Range<usize>) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use narthex_kernel::Archive;

    #[test]
    fn memory_whose_blocks_are_not_all_known_is_not_read() {
        let whole = DeviceMemory::new(0x1000..0x1200, 64, Duration::ZERO);
        let read = |damage: fn(&mut DeviceMemory)| {
            let mut saved = whole.clone();
            damage(&mut saved);
            let bytes = Archive::save(&mut saved).expect("plain data");
            Archive::restore(&bytes, &mut whole.clone()).is_ok()
        };
        assert!(read(|_| {}));
        assert!(!read(|memory| memory.fetched.clear()));
        assert!(!read(|memory| memory.bytes.truncate(8)));
        assert!(!read(|memory| memory.block_bytes = usize::MAX));
        assert!(!read(|memory| memory.address = u64::MAX));
    }
}
