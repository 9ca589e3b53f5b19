//! How devices' writes reach the host's memory: in order, block by block.
//!
//! ```text
//!   whole block          WriteBlock                                    the next one begins behind it
//!   part of a block      ReadExclusive ─► the block ─► WriteBack       the same
//!   writes_ahead         ReadExclusive, or Invalidate if whole ─► ... ─► WriteBack, in order
//! ```
//!
//! A write with attributes that let it pass others ([`super::packets::Order`]) waits for no older write that it passes,
//! nor for a place among those that are obtained ahead: all of such writes that the buffers hold may be under way. The
//! blocks of one write stay in order, and so do writes of one block.
//!
//! A block of which a write has a part is fetched, gets the part, and returns: the root complex owns it
//! meanwhile, so that no byte of another agent is lost. With `writes_ahead` it obtains the blocks of so
//! many writes at the same time, as the root complexes of hosts do, and writes back in order when it has
//! the oldest one. A whole block is replaced, and none of its old bytes are fetched.
//!
//! Who asks for a block that the root complex owns waits until the block is on its way back: the
//! directory keeps what it forwards to a bridge until then. The root complex waits for blocks of older
//! writes alone, which caches always give it, so this ends. Two root complexes that obtain blocks
//! ahead might wait for each other; a node has one, because all ports of its interface are behind one link.

use std::collections::VecDeque;
use std::ops::Range;

use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use super::packets::Order;
use crate::kind::Kind;
use crate::transaction::{AgentId, BlockData, Response, Transaction};

/// The blocks of the writes that have come, in order.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Writes {
    blocks: VecDeque<BlockOfWrite>,
    /// How many of them are obtained before older ones are written; none if each waits for the one
    /// before.
    ahead: Option<u32>,
    /// How many of them may pass older writes.
    passing: usize,
}

/// A block, or a part of one, of a write.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct BlockOfWrite {
    /// The number of its write among the arrivals, and what it may pass.
    write: u64,
    order: Order,
    block: u64,
    /// The bytes that are written: where they are in the block, and where in the write.
    part: Range<u32>,
    start: u32,
    block_bytes: u32,
    is_last: bool,
    stage: WriteStage,
}

/// How far it is.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
enum WriteStage {
    /// The root complex works on it until then.
    Coming(Time),
    /// It may be obtained or written.
    Waiting,
    /// It is being obtained or, if it is whole and not obtained ahead, written.
    Asked,
    /// The root complex owns it; its old bytes, if it is not replaced.
    Owned(Option<BlockData>),
    /// It returns with what was written.
    Returning,
}

impl BlockOfWrite {
    fn is_whole(&self) -> bool {
        self.part == (0..self.block_bytes)
    }
}

impl Writes {
    pub fn new(ahead: Option<u32>) -> Self {
        Writes { blocks: VecDeque::new(), ahead, passing: 0 }
    }

    /// A write with this number has come, on which the root complex works until `ready`.
    pub fn arrive(
        &mut self,
        ready: Time,
        (number, order): (u64, Order),
        write: &Transaction,
        block_bytes: u32,
    ) {
        let bytes = write.data.as_ref().map_or(0, |data| data.len() as u32);
        let mut start = 0;
        while start < bytes {
            let address = write.address + u64::from(start);
            let first = (address % u64::from(block_bytes)) as u32;
            let end = block_bytes.min(first + bytes - start);
            let block = address - u64::from(first);
            let is_last = start + (end - first) == bytes;
            let (part, stage) = (first..end, WriteStage::Coming(ready));
            let write = number;
            self.blocks.push_back(BlockOfWrite {
                write,
                order,
                block,
                part,
                start,
                block_bytes,
                is_last,
                stage,
            });
            self.passing += usize::from(order != Order::STRICT);
            start += end - first;
        }
    }

    /// Notes which blocks may be obtained or written by now.
    pub fn advance(&mut self, now: Time) {
        for own in &mut self.blocks {
            if matches!(own.stage, WriteStage::Coming(ready) if ready <= now) {
                own.stage = WriteStage::Waiting;
            }
        }
    }

    /// When the next one may be.
    pub fn next_time(&self) -> Option<Time> {
        let ready = |own: &BlockOfWrite| match own.stage {
            WriteStage::Coming(ready) => Some(ready),
            _ => None,
        };
        let first = self.blocks.iter().find_map(ready);
        if self.passing == 0 {
            return first;
        }
        let passing = self.blocks.iter().filter(|own| own.order != Order::STRICT).filter_map(ready);
        passing.chain(first).min()
    }

    /// Whether something has begun with a block.
    pub fn has_begun(&self, block: u64) -> bool {
        let has_begun =
            |own: &BlockOfWrite| !matches!(own.stage, WriteStage::Coming(_) | WriteStage::Waiting);
        self.blocks.iter().any(|own| own.block == block && has_begun(own))
    }

    /// The place of the block for which a transaction is next, if one is: of one that returns, or of one that
    /// is obtained or written.
    pub fn next(&self, is_free: impl Fn(u64) -> bool) -> Option<usize> {
        let may_return =
            |&place: &usize| matches!(self.blocks[place].stage, WriteStage::Owned(_)) && self.is_next(place);
        let may_begin = |ahead: usize, place: usize| {
            let own = &self.blocks[place];
            let is_first = || self.blocks.range(..place).all(|older| older.block != own.block);
            matches!(own.stage, WriteStage::Waiting)
                && is_free(own.block)
                && is_first()
                && (place < ahead || self.is_next(place))
        };
        let ahead = self.ahead.unwrap_or(1) as usize;
        let all = self.blocks.len();
        // Only the oldest one returns, and none behind those that are obtained ahead begins, if none passes.
        let (returning, beginning) = if self.passing == 0 { (1, ahead) } else { (all, all) };
        let returns = (0..all.min(returning)).find(may_return);
        returns.or_else(|| (0..all.min(beginning)).find(|&place| may_begin(ahead, place)))
    }

    /// Whether the block at this place waits for no older one.
    fn is_next(&self, place: usize) -> bool {
        let own = &self.blocks[place];
        let passes = |older: &BlockOfWrite| {
            own.write != older.write && own.block != older.block && own.order.passes(older.order)
        };
        self.blocks.range(..place).all(passes)
    }

    /// The number of the write of the block at this place.
    pub fn write_of(&self, place: usize) -> u64 {
        self.blocks[place].write
    }

    /// The next transaction for the block at this place; `data` are the bytes of its write.
    pub fn issue(&mut self, place: usize, data: &BlockData, agent: AgentId) -> Transaction {
        let own = &mut self.blocks[place];
        let (stage, kind) = match std::mem::replace(&mut own.stage, WriteStage::Asked) {
            WriteStage::Owned(old) => {
                let mut block = old.unwrap_or_else(|| BlockData::zeroed(own.block_bytes as usize));
                own.write_into(&mut block, data);
                own.stage = WriteStage::Returning;
                return Transaction::carrying(agent, Kind::WriteBack, own.block, block);
            }
            stage if !own.is_whole() => (stage, Kind::ReadExclusive),
            stage if self.ahead.is_some() => (stage, Kind::Invalidate),
            _ => {
                let mut block = BlockData::zeroed(own.block_bytes as usize);
                own.write_into(&mut block, data);
                return Transaction::carrying(agent, Kind::WriteBlock, own.block, block);
            }
        };
        debug_assert!(matches!(stage, WriteStage::Waiting), "it has begun already");
        Transaction::block(agent, kind, own.block)
    }

    /// A transaction for a block is over: the number of its write, if that ends.
    pub fn complete(&mut self, transaction: &Transaction, response: &Response) -> Option<u64> {
        let begun = |own: &BlockOfWrite| {
            own.block == transaction.address && matches!(own.stage, WriteStage::Asked | WriteStage::Returning)
        };
        let place = self.blocks.iter().position(begun).expect("it was asked for");
        if matches!(transaction.kind, Kind::ReadExclusive | Kind::Invalidate) {
            self.blocks[place].stage = WriteStage::Owned(response.data.clone());
            return None;
        }
        let written = self.blocks.remove(place)?;
        self.passing -= usize::from(written.order != Order::STRICT);
        written.is_last.then_some(written.write)
    }
}

impl BlockOfWrite {
    fn write_into(&self, block: &mut BlockData, write: &BlockData) {
        let part = self.part.start as usize..self.part.end as usize;
        let start = self.start as usize;
        block[part.clone()].copy_from_slice(&write[start..start + part.len()]);
    }
}
