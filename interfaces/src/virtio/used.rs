//! The used ring, as the device writes it: flags, index, entries, and the event index at its end.
//!
//! The device alone writes the used ring, so it knows all of it. Behind a link it writes the bytes that
//! change; what is at the other end merges them with the rest of the block. Elsewhere it writes whole
//! coherence blocks. Entries go before the index that tells of them: in a write before, or in the same block.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Purpose, RING_HEAD_BYTES, USED_BYTES, used_bytes};
use crate::host_memory::Dma;

/// The bytes of the index.
const INDEX: Range<usize> = 2..4;

/// A used ring.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct UsedRing {
    /// Where it begins; 0 before the driver has said so.
    address: u64,
    size: u64,
    block_bytes: usize,
    merges_there: bool,
    /// All that the device has written or is to write, by whole blocks.
    bytes: Vec<u8>,
    /// Chains that are done, and those of which memory tells.
    done: u64,
    told: u64,
    is_writing: bool,
}

impl UsedRing {
    /// One whose place the driver has still to say.
    pub fn new(block_bytes: u64, merges_there: bool) -> Self {
        let block_bytes = block_bytes as usize;
        UsedRing {
            address: 0,
            size: 0,
            block_bytes,
            merges_there,
            bytes: Vec::new(),
            done: 0,
            told: 0,
            is_writing: false,
        }
    }

    /// The driver enables the queue.
    pub fn begin(&mut self, address: u64, size: u64) {
        (self.address, self.size) = (address, size);
        self.bytes = vec![0; (used_bytes(size) as usize).next_multiple_of(self.block_bytes)];
    }

    /// Chains that the device is done with so far.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// The device is done with the chain that begins with this descriptor, and has written so many bytes.
    pub fn finish(&mut self, head: u16, bytes: u64) {
        let at = self.place(self.done);
        self.bytes[at..at + 4].copy_from_slice(&u32::from(head).to_le_bytes());
        self.bytes[at + 4..at + 8].copy_from_slice(&(bytes as u32).to_le_bytes());
        self.done += 1;
    }

    fn place(&self, number: u64) -> usize {
        (RING_HEAD_BYTES + number % self.size * USED_BYTES) as usize
    }

    /// Tells of all chains that are done, unless it tells of others at the time.
    pub fn tell(&mut self, dma: &mut Dma<Purpose>) {
        if self.is_writing || self.told == self.done {
            return;
        }
        self.is_writing = true;
        let (first, last) = (self.place(self.told), self.place(self.done - 1) + USED_BYTES as usize);
        let end = self.place(self.size - 1) + USED_BYTES as usize;
        let new = match first < last {
            true => [first..last, 0..0],
            false => [first..end, RING_HEAD_BYTES as usize..last],
        };
        for entries in new {
            // The block with the index comes last, entries included.
            let from = if self.merges_there { entries.start } else { entries.start.max(self.block_bytes) };
            self.write(dma, from..entries.end, None);
        }
        self.bytes[INDEX].copy_from_slice(&(self.done as u16).to_le_bytes());
        self.write(dma, INDEX, Some(Purpose::Used { until: self.done }));
    }

    /// Chains of which memory tells.
    pub fn told(&self) -> u64 {
        self.told
    }

    /// Memory tells of the chains before this number.
    pub fn mark_told(&mut self, until: u64) {
        (self.told, self.is_writing) = (until, false);
    }

    /// Writes the flags.
    pub fn write_flags(&mut self, dma: &mut Dma<Purpose>, flags: u16, purpose: Option<Purpose>) {
        self.bytes[..2].copy_from_slice(&flags.to_le_bytes());
        self.write(dma, 0..2, purpose);
    }

    /// Writes the event index: the driver is to kick when it makes this chain available.
    pub fn write_event(&mut self, dma: &mut Dma<Purpose>, number: u64, purpose: Purpose) {
        let at = self.place(self.size - 1) + USED_BYTES as usize;
        self.bytes[at..at + 2].copy_from_slice(&(number as u16).to_le_bytes());
        self.write(dma, at..at + 2, Some(purpose));
    }

    /// Writes these bytes, or the blocks that they are in.
    fn write(&self, dma: &mut Dma<Purpose>, bytes: Range<usize>, purpose: Option<Purpose>) {
        if bytes.is_empty() {
            return;
        }
        let Range { start, end } = match self.merges_there {
            true => bytes,
            false => {
                let block_bytes = self.block_bytes;
                bytes.start - bytes.start % block_bytes..bytes.end.next_multiple_of(block_bytes)
            }
        };
        dma.write(purpose, self.address + start as u64, self.bytes[start..end].to_vec());
    }
}
