//! The ring that the interface writes and the processor reads. The interface is its home, so that it
//! writes a block where it is; if a processor has a copy, that has to go first.

use std::collections::VecDeque;

use narthex_kernel::Duration;
use narthex_memory::{BlockData, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use super::{Descriptor, Pool};
use crate::cachable_queue::device_memory::DeviceMemory;
use crate::half::HomeReply;

/// The returned ring.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct ReturnedRing {
    pool: Pool,
    memory: DeviceMemory,
    /// What stands in the ring; nobody else writes it.
    bytes: Vec<u8>,
    /// The running number of the next descriptor that is written.
    next: u64,
    /// Descriptors that are to be written.
    pending: VecDeque<Descriptor>,
}

impl ReturnedRing {
    /// A ring without descriptors.
    pub fn new(pool: Pool, access_time: Duration) -> Self {
        let range = pool.returned_range();
        let bytes = vec![0; (range.end - range.start) as usize];
        let memory = DeviceMemory::new(range, pool.block_bytes as usize, access_time);
        ReturnedRing { pool, memory, bytes, next: 0, pending: VecDeque::new() }
    }

    /// A buffer is to be returned, with what it holds.
    pub fn push(&mut self, buffer: usize, length: u64) {
        self.pending.push_back(Descriptor { address: self.pool.buffer(buffer), control: length });
    }

    /// Descriptors that are to be written.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// The block that is to be written next, if a processor may have a copy of it.
    pub fn block_to_invalidate(&self) -> Option<u64> {
        let block = self.block();
        (!self.pending.is_empty() && self.memory.must_invalidate(block)).then_some(block)
    }

    fn block(&self) -> u64 {
        let place = self.pool.place(self.next);
        self.pool.returned_range().start + place - place % self.pool.block_bytes
    }

    /// Writes all descriptors that can be written without a transaction. Those that fit into a block
    /// appear together.
    pub fn write(&mut self) {
        while !self.pending.is_empty() && self.block_to_invalidate().is_none() {
            self.write_block();
        }
    }

    /// Every copy of the block that is to be written is gone.
    pub fn invalidated(&mut self) {
        self.memory.invalidated(self.block());
        self.write();
    }

    fn write_block(&mut self) {
        let (block, block_bytes) = (self.block(), self.pool.block_bytes as usize);
        while self.block() == block
            && let Some(Descriptor { address, control }) = self.pending.pop_front()
        {
            let place = self.pool.place(self.next) as usize;
            let control = control | self.pool.ready_flag(self.next);
            self.bytes[place..place + 8].copy_from_slice(&address.to_le_bytes());
            self.bytes[place + 8..place + 16].copy_from_slice(&control.to_le_bytes());
            self.next += 1;
        }
        let first = (block - self.pool.returned_range().start) as usize;
        self.memory.produce(block, &BlockData::from_bytes(&self.bytes[first..first + block_bytes]));
    }

    /// The latest bytes of a block.
    pub fn peek(&self, address: u64) -> Option<&[u8]> {
        self.memory.latest(address)
    }

    /// Another agent's transaction on a block of the ring passes by.
    pub fn snoop(&mut self, transaction: &Transaction) -> SnoopReply {
        self.memory.snoop(transaction)
    }

    /// Serves a transaction as the home of the ring.
    pub fn serve(&mut self, transaction: &Transaction) -> HomeReply {
        self.memory.serve(transaction)
    }
}
