//! Write-combining buffers: uncached stores to addresses of one block leave together.
//!
//! A device says which of its addresses may be combined; registers whose stores mean
//! something each are not among them. A store there goes into the *open* buffer of its block,
//! and the processor goes on. A buffer is closed, and leaves,
//!
//! - when all its bytes have been stored: as one block store;
//! - when a store needs a buffer for another block and all are in use: the one that was
//!   opened first;
//! - all of them, in the order in which they were opened, at a fence, and at any other
//!   uncached access of the processor, which comes behind what they hold.
//!
//! A buffer that is closed before it is full leaves as single stores of whole aligned pieces,
//! eight bytes at most, in the order of their addresses, as those of the Pentium Pro do. What
//! is closed goes through the store buffer, whether the processor posts other uncached
//! stores or not, so it leaves in order with them; stores to cached memory and cached misses
//! wait for nothing of it. A buffer that is open leaves at no time by itself: a program that
//! waits for a device's answer needs a fence, or an access to a register.

use std::collections::VecDeque;

use narthex_kernel::quantity::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Pending, ProcessorMemory, ProcessorPort, Uncached};
use crate::kind::Kind;
use crate::pages::PageAttributes;
use crate::port::Outcome;
use crate::transaction::{AgentId, BlockData, Transaction};

/// The parameters of a processor's write-combining buffers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// How many there are, 1 to 16.
    #[schemars(range(min = 1, max = 16))]
    pub buffers: u32,
    /// Bytes in each, 16 to 64; a power of two.
    pub block: Bytes,
}

impl Config {
    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        if !(1..=16).contains(&self.buffers) {
            problems.push(("buffers", format!("{} is not from 1 to 16", self.buffers)));
        }
        let bytes = self.block.as_u64();
        if !bytes.is_power_of_two() || !(16..=64).contains(&bytes) {
            problems.push(("block", format!("{} is not 16B, 32B or 64B", self.block)));
        }
        problems
    }
}

/// What waits in the store buffer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Posted {
    store: PostedStore,
    /// It is the last one of a combining buffer, which is free behind it.
    frees_buffer: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum PostedStore {
    Word(Uncached),
    Block {
        address: u64,
        data: BlockData,
    },
    /// A dirty block is to be sent home. It stays in the cache until then: others are
    /// answered from there.
    Flush {
        block: u64,
    },
}

impl Posted {
    pub fn flush(block: u64) -> Self {
        Posted { store: PostedStore::Flush { block }, frees_buffer: false }
    }

    /// The block that is to be sent home, if it is no store.
    pub fn flushed(&self) -> Option<u64> {
        match self.store {
            PostedStore::Flush { block } => Some(block),
            PostedStore::Word(_) | PostedStore::Block { .. } => None,
        }
    }

    pub fn word(store: Uncached) -> Self {
        Posted { store: PostedStore::Word(store), frees_buffer: false }
    }

    /// The transaction of a store.
    pub fn transaction(&self, agent: AgentId) -> Option<Transaction> {
        match &self.store {
            &PostedStore::Word(Uncached { address, size, value }) => {
                Some(Transaction::uncached(agent, Kind::UncachedStore, address, size, value))
            }
            PostedStore::Block { address, data } => {
                Some(Transaction::carrying(agent, Kind::BlockStore, *address, data.clone()))
            }
            PostedStore::Flush { .. } => None,
        }
    }
}

/// A block of which some bytes have been stored.
#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
struct Buffer {
    block: u64,
    /// A bit for each byte that has been stored.
    stored: u64,
    bytes: BlockData,
}

/// A processor's write-combining buffers.
#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub(super) struct WriteCombining {
    block_bytes: usize,
    buffers: usize,
    /// The oldest first.
    open: VecDeque<Buffer>,
}

impl WriteCombining {
    /// What of it never changes.
    pub fn config_identity(&self) -> (usize, usize) {
        (self.block_bytes, self.buffers)
    }

    fn all(&self) -> u64 {
        u64::MAX >> (64 - self.block_bytes)
    }
}

impl Buffer {
    /// Sends what has been stored on its way.
    fn close(self, all: u64, posted: &mut VecDeque<Posted>) {
        if self.stored == all {
            let store = PostedStore::Block { address: self.block, data: self.bytes };
            return posted.push_back(Posted { store, frees_buffer: true });
        }
        let mut place = 0;
        while place < self.bytes.len() {
            let size = self.piece_at(place);
            if size > 0 {
                let mut word = [0; 8];
                word[..size].copy_from_slice(&self.bytes[place..place + size]);
                let value = u64::from_le_bytes(word);
                posted.push_back(Posted::word(Uncached {
                    address: self.block + place as u64,
                    size: size as u8,
                    value,
                }));
            }
            place += size.max(1);
        }
        if let Some(last) = posted.back_mut() {
            last.frees_buffer = true;
        }
    }

    /// Bytes of the largest aligned piece at a place all of which has been stored.
    fn piece_at(&self, place: usize) -> usize {
        let is_stored = |size: &usize| {
            let bits = ((1 << *size) - 1) << place;
            place.is_multiple_of(*size) && self.stored & bits == bits
        };
        [8, 4, 2, 1].into_iter().find(is_stored).unwrap_or(0)
    }
}

impl ProcessorMemory {
    /// The same with write-combining buffers. The parameters have been checked by
    /// [`Config::problems`].
    pub fn with_write_combining(self, config: &Config) -> Self {
        let (block_bytes, buffers) = (config.block.as_u64() as usize, config.buffers as usize);
        let combining = WriteCombining { block_bytes, buffers, open: VecDeque::with_capacity(buffers) };
        ProcessorMemory { combining: Some(Box::new(combining)), ..self }
    }

    /// Closes all buffers: another uncached access, or a fence, comes behind them.
    pub(super) fn close_buffers(&mut self) {
        if self.combining.is_some() {
            self.close_all_buffers();
        }
    }

    #[inline(never)]
    fn close_all_buffers(&mut self) {
        let Some(combining) = &mut self.combining else { return };
        let all = combining.all();
        combining.open.drain(..).for_each(|buffer| buffer.close(all, &mut self.store_buffer));
    }

    /// Posted stores that have to leave before a buffer is free; none if one is.
    fn awaited_for_buffer(&mut self) -> Option<usize> {
        let combining = self.combining.as_mut()?;
        let closed = self.store_buffer.iter().filter(|posted| posted.frees_buffer).count();
        if closed + combining.open.len() < combining.buffers {
            return None;
        }
        if closed == 0
            && let Some(oldest) = combining.open.pop_front()
        {
            oldest.close(combining.all(), &mut self.store_buffer);
        }
        let first = self.store_buffer.iter().position(|posted| posted.frees_buffer);
        first.map(|place| self.store_buffer.len() - place)
    }
}

impl ProcessorPort<'_> {
    /// A store to an address that may be combined.
    pub(super) fn combine_store(
        &mut self,
        page: PageAttributes,
        address: u64,
        size: usize,
        value: u64,
    ) -> Outcome<()> {
        let Some(combining) = &mut self.own.combining else {
            return self.uncached_store(page, address, size, value);
        };
        let pending = Pending::UncachedStore(Uncached { address, size: size as u8, value });
        let block_bytes = combining.block_bytes;
        let block = address - address % block_bytes as u64;
        let place = combining.open.iter().position(|buffer| buffer.block == block);
        if self.own.take_finished(pending).is_some() {
            return Outcome::Done(());
        }
        if place.is_none()
            && let Some(below) = self.own.awaited_for_buffer()
        {
            self.own.statistics.store_buffer_stalls.increment();
            return self.wait(Pending::Drain { below });
        }
        self.own.statistics.uncached_stores.increment();
        let ProcessorMemory { combining: Some(combining), store_buffer, finished, .. } = &mut *self.own
        else {
            unreachable!("it has buffers")
        };
        let place = place.unwrap_or_else(|| {
            combining.open.push_back(Buffer { block, stored: 0, bytes: BlockData::zeroed(block_bytes) });
            combining.open.len() - 1
        });
        let buffer = &mut combining.open[place];
        let offset = (address - block) as usize;
        buffer.bytes[offset..offset + size].copy_from_slice(&value.to_le_bytes()[..size]);
        buffer.stored |= (u64::MAX >> (64 - size)) << offset;
        if buffer.stored != combining.all() {
            return Outcome::Done(());
        }
        let all = combining.all();
        if let Some(full) = combining.open.remove(place) {
            full.close(all, store_buffer);
        }
        // The processor stops for no time, so that the node asks for the bus at this instant.
        *finished = Some((pending, 0));
        Outcome::Wait
    }
}

#[cfg(test)]
mod tests;
