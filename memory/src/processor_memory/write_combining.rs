//! Write-combining buffers: uncached stores to addresses of one block leave together.
//!
//! A device says which of its addresses may be combined; registers whose stores mean
//! something each are not among them. A store there goes into the *open* buffer of its block,
//! and the processor goes on. When a buffer is closed, and leaves, the machine's file says
//! ([`Flush`]), because processors differ in it:
//!
//! | word | what is closed |
//! | --- | --- |
//! | `full` | a buffer all of whose bytes have been stored |
//! | `fence` | all buffers, at a fence |
//! | `uncached-load`, `uncached-store` | all buffers, at such another access, which comes behind them |
//! | `time` | a buffer that has been open for `flush_time` |
//!
//! Two things hold for every processor: a store that needs a buffer for another block while all are in
//! use closes the one that was opened first, and an access to a block that is in a buffer closes
//! that one, or it would not find the processor's own stores. All buffers are closed in
//! the order in which they were opened.
//!
//! A full buffer leaves as one block store. One that is closed before leaves as single stores of whole aligned pieces,
//! eight bytes at most, in the order of their addresses, as those of the Pentium Pro do. What
//! is closed goes through the store buffer, whether the processor posts other uncached
//! stores or not, so it leaves in order with them; stores to cached memory and cached misses
//! wait for nothing of it. Without `time` an open buffer leaves at no time by itself: a program that
//! waits for a device's answer needs a fence, or an access to a register.
//!
//! **Time.** The processor runs ahead of its node, which has the events. So it stops for no time at
//! the store that opens a buffer; the node asks when the buffer is due
//! ([`ProcessorMemory::buffer_due`]) and calls [`ProcessorMemory::close_due_buffers`] then.

use std::collections::VecDeque;

use narthex_kernel::quantity::Bytes;
use narthex_kernel::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Pending, ProcessorMemory, ProcessorPort, Uncached};
use crate::kind::Kind;
use crate::pages::PageAttributes;
use crate::port::Outcome;
use crate::transaction::{AgentId, BlockData, Transaction};

/// What closes a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Flush {
    /// All its bytes have been stored.
    Full,
    /// A fence closes all.
    Fence,
    /// A load that is not cached closes all.
    UncachedLoad,
    /// A store that is not cached and does not combine closes all.
    UncachedStore,
    /// It has been open for some time.
    Time,
}

/// The parameters of a processor's write-combining buffers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// How many there are, 1 to 16.
    #[schemars(range(min = 1, max = 16))]
    pub buffers: u32,
    /// Bytes in each, 16 to 64; a power of two.
    pub block: Bytes,
    /// What closes them: "full", "fence", "uncached-load", "uncached-store", "time". A store that
    /// needs a buffer closes the oldest one in any case.
    pub flush: Vec<Flush>,
    /// Time for which a buffer stays open at most, with "time".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_time: Option<Duration>,
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
        problems.extend(self.flush_problems());
        problems
    }

    fn flush_problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        if self.flush.iter().all(|rule| *rule == Flush::Full) {
            let message = "lets what does not fill a buffer wait for ever; expected at least one of \"fence\", \
                           \"uncached-load\", \"uncached-store\" and \"time\"";
            problems.push(("flush", message.into()));
        }
        let is_twice = |(place, rule): (usize, &Flush)| self.flush[..place].contains(rule);
        if self.flush.iter().enumerate().any(is_twice) {
            problems.push(("flush", "has a word twice; expected each at most once".into()));
        }
        match (self.flush.contains(&Flush::Time), self.flush_time) {
            (true, None) => {
                problems.push(("flush_time", "is missing, and flush has \"time\"; such as 200ns".into()));
            }
            (false, Some(time)) => {
                let message = format!("{time} is of no use: flush does not have \"time\"");
                problems.push(("flush_time", message));
            }
            (true, Some(Duration::ZERO)) => {
                let message = "0ps lets nothing combine; expected a time such as 200ns";
                problems.push(("flush_time", message.into()));
            }
            _ => {}
        }
        problems
    }

    fn closes_at(&self, rule: Flush) -> bool {
        self.flush.contains(&rule)
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
    /// When it is closed at the latest, once the node has been told.
    due: Option<Time>,
}

/// What closes the buffers of a processor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Rules {
    full: bool,
    fence: bool,
    load: bool,
    store: bool,
    time: Option<Duration>,
}

/// A processor's write-combining buffers.
#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub(super) struct WriteCombining {
    block_bytes: usize,
    buffers: usize,
    rules: Rules,
    /// The oldest first.
    open: VecDeque<Buffer>,
}

impl WriteCombining {
    /// What of it never changes.
    pub fn config_identity(&self) -> impl PartialEq + use<> {
        (self.block_bytes, self.buffers, self.rules)
    }

    fn block_of(&self, address: u64) -> u64 {
        address - address % self.block_bytes as u64
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
        let rules = Rules {
            full: config.closes_at(Flush::Full),
            fence: config.closes_at(Flush::Fence),
            load: config.closes_at(Flush::UncachedLoad),
            store: config.closes_at(Flush::UncachedStore),
            time: config.flush_time,
        };
        let open = VecDeque::with_capacity(buffers);
        let combining = WriteCombining { block_bytes, buffers, rules, open };
        ProcessorMemory { combining: Some(Box::new(combining)), ..self }
    }

    /// A fence comes behind the buffers that it closes.
    pub(super) fn close_buffers_for_fence(&mut self) {
        if let Some(combining) = &self.combining {
            let closes = combining.rules.fence;
            self.close_buffers(|_| closes);
        }
    }

    /// Another uncached access comes behind the buffers that it closes: those of its own block at
    /// least.
    pub(super) fn close_buffers_for(&mut self, kind: Kind, address: u64) {
        if let Some(combining) = &self.combining {
            let is_load = matches!(kind, Kind::UncachedLoad | Kind::BlockLoad);
            let closes = if is_load { combining.rules.load } else { combining.rules.store };
            let own = combining.block_of(address);
            self.close_buffers(|buffer| closes || buffer.block == own);
        }
    }

    /// When the buffer is due that was opened at `now`, the last store's instant; none if that store
    /// opened none, or the buffers wait for ever.
    pub fn buffer_due(&mut self, now: Time) -> Option<Time> {
        let combining = self.combining.as_mut()?;
        let due = now + combining.rules.time?;
        let opened = combining.open.back_mut().filter(|buffer| buffer.due.is_none())?;
        opened.due = Some(due);
        Some(due)
    }

    /// Closes the buffers that are due at `now`.
    pub fn close_due_buffers(&mut self, now: Time) {
        self.close_buffers(|buffer| buffer.due.is_some_and(|due| due <= now));
    }

    #[inline(never)]
    fn close_buffers(&mut self, closes: impl Fn(&Buffer) -> bool) {
        let Some(combining) = &mut self.combining else { return };
        let all = combining.all();
        for _ in 0..combining.open.len() {
            match combining.open.pop_front() {
                Some(buffer) if closes(&buffer) => buffer.close(all, &mut self.store_buffer),
                other => combining.open.extend(other),
            }
        }
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
        let block = combining.block_of(address);
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
        let is_timed = place.is_none() && combining.rules.time.is_some();
        let place = place.unwrap_or_else(|| {
            let bytes = BlockData::zeroed(block_bytes);
            combining.open.push_back(Buffer { block, stored: 0, bytes, due: None });
            combining.open.len() - 1
        });
        let all = combining.all();
        let buffer = &mut combining.open[place];
        let offset = (address - block) as usize;
        buffer.bytes[offset..offset + size].copy_from_slice(&value.to_le_bytes()[..size]);
        buffer.stored |= (u64::MAX >> (64 - size)) << offset;
        let is_closed = buffer.stored == all && combining.rules.full;
        if !is_closed && !is_timed {
            return Outcome::Done(());
        }
        if is_closed && let Some(full) = combining.open.remove(place) {
            full.close(all, store_buffer);
        }
        // The processor stops for no time, so that the node asks for the bus at this instant, or
        // learns of the buffer.
        *finished = Some((pending, 0));
        Outcome::Wait
    }
}

#[cfg(test)]
mod tests;
