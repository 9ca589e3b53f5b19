//! The ring that the processor writes and the interface reads.
//!
//! The interface *polls by coherence*: while it looks for the next descriptor, it has a copy of the block
//! with it. The processor's store takes the copy away, so the interface reads the block again.

use narthex_memory::{BlockData, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use super::{Descriptor, Pool, READY};
use crate::cachable_queue::copies::Copies;
use crate::half::RegisterFault;

/// The given ring, and the buffers that the interface has.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct GivenRing {
    pool: Pool,
    /// The running number of the next descriptor.
    next: u64,
    copies: Copies,
    /// The buffers that are the interface's.
    owned: Vec<bool>,
}

impl GivenRing {
    /// A ring without descriptors; all buffers are the interface's at the beginning, or none of them.
    pub fn new(pool: Pool, copies: Copies, owned: bool) -> Self {
        let owned = vec![owned; pool.buffers as usize];
        GivenRing { pool, next: 0, copies, owned }
    }

    fn block(&self) -> u64 {
        let address = self.pool.start + self.pool.place(self.next);
        address - address % self.pool.block_bytes
    }

    /// The block with the next descriptor, if the interface has no copy of it.
    pub fn block_to_read(&self) -> Option<u64> {
        let block = self.block();
        self.copies.latest(block).is_none().then_some(block)
    }

    /// The next descriptor, if it is new and the interface has a copy of it.
    pub fn next(&self) -> Option<Descriptor> {
        let block = self.copies.latest(self.block())?;
        let place = (self.pool.place(self.next) % self.pool.block_bytes) as usize;
        let word = |at: usize| u64::from_le_bytes(*block[place + at..].first_chunk().expect("a descriptor"));
        let descriptor = Descriptor { address: word(0), control: word(8) };
        let is_new = descriptor.control & READY == self.pool.ready_flag(self.next);
        is_new.then_some(descriptor)
    }

    /// Takes the next descriptor, and with it a buffer, whose number it returns.
    ///
    /// # Errors
    /// If the descriptor's address is that of no buffer, or of one that the interface has already.
    pub fn take(&mut self, descriptor: Descriptor) -> Result<usize, RegisterFault> {
        let Pool { buffer_bytes, .. } = self.pool;
        let Descriptor { address, .. } = descriptor;
        let Some(buffer) = self.pool.index_of(address) else {
            let range = self.pool.buffer_range();
            let problem = format!(
                "there is no buffer at {address:#x}; buffers of {buffer_bytes} bytes lie from {:#x} to {:#x}",
                range.start, range.end
            );
            return Err(self.fault(&problem));
        };
        if self.owned[buffer] {
            return Err(self.fault(&format!(
                "the buffer at {address:#x} is the interface's already, which has not returned it"
            )));
        }
        self.owned[buffer] = true;
        self.next += 1;
        Ok(buffer)
    }

    /// The interface gives a buffer back.
    pub fn release(&mut self, buffer: usize) {
        self.owned[buffer] = false;
    }

    /// Buffers that are the interface's.
    pub fn owned(&self) -> usize {
        self.owned.iter().filter(|&&owned| owned).count()
    }

    /// Refuses the next descriptor.
    pub fn fault(&self, problem: &str) -> RegisterFault {
        self.pool.fault(self.next, problem)
    }

    /// A block of the ring has been read.
    pub fn take_in(&mut self, block: u64, shared: bool, data: &BlockData) {
        self.copies.take_in(block, shared, data);
    }

    /// Another agent's transaction on a block of the ring passes by.
    pub fn snoop(&mut self, transaction: &Transaction) -> SnoopReply {
        self.copies.snoop(transaction)
    }

    /// See [`InterfaceHalf::push`](crate::half::InterfaceHalf::push).
    pub fn push(&mut self, transaction: &Transaction) -> Option<BlockData> {
        self.copies.push(transaction)
    }
}
