//! Chains of descriptors that the driver has made available, while the device reads them.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{DESCRIPTOR_BYTES, INDIRECT, NEXT, Purpose, WRITE};
use crate::half::RegisterFault;
use crate::host_memory::{Dma, Piece};

/// A chain, as far as it has been read.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Chain {
    /// Its first descriptor.
    pub head: u16,
    /// Its buffers.
    pub buffers: Vec<Piece>,
    is_whole: bool,
}

impl Chain {
    /// Bytes of all of its buffers.
    pub fn bytes(&self) -> usize {
        self.buffers.iter().map(|buffer| buffer.bytes).sum()
    }
}

/// Where the descriptors of a queue are, and what its buffers may be.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Table {
    /// Where it begins.
    pub address: u64,
    /// Descriptors.
    pub size: u64,
    /// The process's memory for the queue, in which the buffers are.
    pub memory: Range<u64>,
    /// Bytes of a coherence block.
    pub block_bytes: u64,
    /// Whether the device writes the buffers, or else reads them.
    pub is_written: bool,
}

impl Table {
    fn place(&self, descriptor: u16) -> u64 {
        self.address + u64::from(descriptor) * DESCRIPTOR_BYTES
    }

    /// Refuses a descriptor: the device would stop and ask for a reset.
    pub fn fault(&self, descriptor: u16, problem: &str) -> RegisterFault {
        RegisterFault(format!(
            "descriptor {descriptor} of the table at {:#x}: {problem}; the device needs a reset \
             (DEVICE_NEEDS_RESET)",
            self.address
        ))
    }

    /// Whether two descriptors stand side by side in a block.
    fn are_neighbours(&self, one: u16, other: u16) -> bool {
        let block = |descriptor| self.place(descriptor) / self.block_bytes;
        u32::from(one) + 1 == u32::from(other) && block(one) == block(other)
    }

    fn check(
        &self,
        descriptor: u16,
        Piece { address, bytes }: Piece,
        flags: u16,
    ) -> Result<(), RegisterFault> {
        if flags & INDIRECT != 0 {
            return Err(self.fault(descriptor, "it is indirect, which the device does not offer"));
        }
        if (flags & WRITE != 0) != self.is_written {
            let problem = match self.is_written {
                true => "a buffer for the device to read; those of a receive queue are for it to write",
                false => "a buffer for the device to write; those of a send queue are for it to read",
            };
            return Err(self.fault(descriptor, problem));
        }
        let Range { start, end } = self.memory;
        let is_inside =
            address >= start && address.checked_add(bytes as u64).is_some_and(|behind| behind <= end);
        if bytes == 0 || !is_inside {
            let problem = format!(
                "its buffer of {bytes} bytes is at {address:#x}; it has a byte or more, and lies from {start:#x} to \
                 {end:#x}, in the process's memory for it"
            );
            return Err(self.fault(descriptor, &problem));
        }
        Ok(())
    }
}

/// The chains that are being read, and those that are whole and wait, in the available ring's order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Chains {
    waiting: VecDeque<Chain>,
    /// Running number of the first of them.
    first: u64,
}

impl Chains {
    /// Whether all chains before this number have been read whole.
    pub fn are_whole(&self, until: u64) -> bool {
        self.first + self.waiting.len() as u64 == until && self.waiting.iter().all(|chain| chain.is_whole)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The next chain, if it is whole.
    pub fn next(&self) -> Option<&Chain> {
        self.waiting.front().filter(|chain| chain.is_whole)
    }

    /// Takes the next chain, if it is whole.
    pub fn take(&mut self) -> Option<Chain> {
        self.next()?;
        self.first += 1;
        self.waiting.pop_front()
    }

    /// Entries of the available ring have come: reads the first descriptors of these chains, neighbours together.
    ///
    /// # Errors
    /// Which entry names no descriptor.
    pub fn begin(
        &mut self,
        table: &Table,
        heads: &[u8],
        dma: &mut Dma<Purpose>,
    ) -> Result<(), RegisterFault> {
        let heads = heads.chunks_exact(2).map(|head| u16::from_le_bytes([head[0], head[1]]));
        let (mut first, mut count) = (self.first + self.waiting.len() as u64, 0);
        let mut place = 0;
        let mut read = |chain, count, place| {
            let piece = Piece { address: place, bytes: (count * DESCRIPTOR_BYTES) as usize };
            dma.read(Purpose::Firsts { chain, count }, vec![piece]);
        };
        for head in heads {
            if u64::from(head) >= table.size {
                let size = table.size;
                let problem = format!("the available ring names it; the queue has {size} descriptors");
                return Err(table.fault(head, &problem));
            }
            match self.waiting.back() {
                Some(before) if count > 0 && table.are_neighbours(before.head, head) => {}
                _ if count > 0 => {
                    read(first, count, place);
                    (first, count, place) = (first + count, 0, table.place(head));
                }
                _ => place = table.place(head),
            }
            self.waiting.push_back(Chain { head, buffers: Vec::new(), is_whole: false });
            count += 1;
        }
        if count > 0 {
            read(first, count, place);
        }
        Ok(())
    }

    /// The next descriptor of each of some chains has come, from this chain on. Reads those that follow.
    ///
    /// # Errors
    /// Which descriptor is wrong, and what is allowed.
    pub fn add(
        &mut self,
        table: &Table,
        (first, descriptors): (u64, &[u8]),
        dma: &mut Dma<Purpose>,
    ) -> Result<(), RegisterFault> {
        for (number, descriptor) in (first..).zip(descriptors.chunks_exact(DESCRIPTOR_BYTES as usize)) {
            let chain = &mut self.waiting[(number - self.first) as usize];
            let address = u64::from_le_bytes(descriptor[..8].try_into().expect("8 bytes"));
            let bytes = u32::from_le_bytes(descriptor[8..12].try_into().expect("4 bytes")) as usize;
            let half = |at| u16::from_le_bytes([descriptor[at], descriptor[at + 1]]);
            let (flags, next) = (half(12), half(14));
            let buffer = Piece { address, bytes };
            table.check(chain.head, buffer, flags)?;
            chain.buffers.push(buffer);
            if flags & NEXT == 0 {
                chain.is_whole = true;
                continue;
            }
            let size = table.size;
            if u64::from(next) >= size {
                return Err(
                    table.fault(next, &format!("a chain goes on with it; the queue has {size} descriptors"))
                );
            }
            if chain.buffers.len() as u64 == size {
                let problem = format!(
                    "the chain that begins with it has more than the queue's {size} descriptors: it loops"
                );
                return Err(table.fault(chain.head, &problem));
            }
            let piece = Piece { address: table.place(next), bytes: DESCRIPTOR_BYTES as usize };
            dma.read(Purpose::Further { chain: number }, vec![piece]);
        }
        Ok(())
    }
}
