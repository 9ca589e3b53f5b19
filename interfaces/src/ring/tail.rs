//! A ring's tail in the process's memory, which the interface watches.
//!
//! ```text
//!   interface: reads the block with the tail to write it, and keeps it
//!   driver:    stores the tail ──► the block is taken away: there is work
//!   interface: reads the block again, as soon as it has fetched the descriptors that it knows
//! ```
//!
//! Nothing is polled and no register is stored to: while the interface has the block, its bytes are the
//! last that the driver stored. While the interface works on descriptors that it knows, it leaves the
//! block to the processor, whose further stores hit in its cache. So a burst of stores becomes one read.
//!
//! The interface has the only copy and did not change it, but main memory may be behind it: the bytes
//! came from the cache that had them. So the copy is modified, and the interface supplies it.

use narthex_memory::{BlockData, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use crate::cachable_queue::copies::Copies;

/// The rule that can be left out: a tail that was taken away is read again.
pub const READ_AGAIN: &str = "read-again";

/// The watched tail of a ring.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct WatchedTail {
    block: u64,
    copy: Copies,
    is_asked_for: bool,
    /// Whether it has been read at least once.
    is_known: bool,
    /// Whether [`READ_AGAIN`] is left out.
    reads_once: bool,
}

impl WatchedTail {
    /// A tail that the interface does not know yet, in a block of its own.
    pub fn new(block: u64, copy: Copies) -> Self {
        WatchedTail { block, copy, is_asked_for: false, is_known: false, reads_once: false }
    }

    /// The block with the tail, if the interface has no copy of it and has not asked for one.
    pub fn block_to_read(&self) -> Option<u64> {
        let stays_away = self.is_asked_for || self.reads_once && self.is_known;
        (!stays_away && self.copy.latest(self.block).is_none()).then_some(self.block)
    }

    /// The block is being read.
    pub fn ask(&mut self) {
        self.is_asked_for = true;
    }

    /// The block has come, and with it the tail.
    pub fn take_in(&mut self, data: &BlockData) -> u64 {
        (self.is_asked_for, self.is_known) = (false, true);
        self.copy.produce(self.block, data);
        data.word(0)
    }

    /// The bytes of the block at an address, if it is this one and the interface has it.
    pub fn peek(&self, address: u64) -> Option<&[u8]> {
        if address == self.block { self.copy.latest(address) } else { None }
    }

    /// Another agent's transaction on a block of the ring passes by.
    pub fn snoop(&mut self, transaction: &Transaction) -> SnoopReply {
        match transaction.address == self.block {
            true => self.copy.snoop(transaction),
            false => SnoopReply::default(),
        }
    }

    /// See [`InterfaceHalf::push`](crate::half::InterfaceHalf::push).
    pub fn push(&mut self, transaction: &Transaction) -> Option<BlockData> {
        if transaction.address == self.block { self.copy.push(transaction) } else { None }
    }

    /// Leaves a rule out; false if it is none of its own.
    pub fn leave_out(&mut self, rule: &str) -> bool {
        self.reads_once |= rule == READ_AGAIN;
        rule == READ_AGAIN
    }
}
