//! How devices' writes reach the host's memory: in order, block by block.
//!
//! ```text
//!   whole block          WriteBlock                                    the next one begins behind it
//!   part of a block      ReadExclusive ─► the block ─► WriteBack       the same
//!   writes_ahead         ReadExclusive, or Invalidate if whole ─► ... ─► WriteBack, in order
//! ```
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

use crate::kind::Kind;
use crate::transaction::{AgentId, BlockData, Response, Transaction};

/// The blocks of the writes that have come, in order.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Writes {
    blocks: VecDeque<BlockOfWrite>,
    /// How many of them are obtained before older ones are written; none if each waits for the one
    /// before.
    ahead: Option<u32>,
}

/// A block, or a part of one, of a write.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct BlockOfWrite {
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
        Writes { blocks: VecDeque::new(), ahead }
    }

    /// A write has come, on which the root complex works until `ready`.
    pub fn arrive(&mut self, ready: Time, write: &Transaction, block_bytes: u32) {
        let bytes = write.data.as_ref().map_or(0, |data| data.len() as u32);
        let mut start = 0;
        while start < bytes {
            let address = write.address + u64::from(start);
            let first = (address % u64::from(block_bytes)) as u32;
            let end = block_bytes.min(first + bytes - start);
            let block = address - u64::from(first);
            let is_last = start + (end - first) == bytes;
            let (part, stage) = (first..end, WriteStage::Coming(ready));
            self.blocks.push_back(BlockOfWrite { block, part, start, block_bytes, is_last, stage });
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
        self.blocks
            .iter()
            .find_map(|own| if let WriteStage::Coming(ready) = own.stage { Some(ready) } else { None })
    }

    /// Whether something has begun with a block.
    pub fn has_begun(&self, block: u64) -> bool {
        let has_begun =
            |own: &BlockOfWrite| !matches!(own.stage, WriteStage::Coming(_) | WriteStage::Waiting);
        self.blocks.iter().any(|own| own.block == block && has_begun(own))
    }

    /// The place of the block for which a transaction is next, if one is: of the oldest one, if a write
    /// is the oldest arrival, or of one that is obtained.
    pub fn next(&self, is_oldest: bool, is_free: impl Fn(u64) -> bool) -> Option<usize> {
        let oldest = self.blocks.front()?;
        if !is_oldest {
            return None;
        }
        if matches!(oldest.stage, WriteStage::Owned(_)) {
            return Some(0);
        }
        let most = self.ahead.unwrap_or(1) as usize;
        let may_begin = |&place: &usize| {
            let own = &self.blocks[place];
            let is_first = || self.blocks.range(..place).all(|older| older.block != own.block);
            matches!(own.stage, WriteStage::Waiting) && is_free(own.block) && is_first()
        };
        (0..self.blocks.len().min(most)).find(may_begin)
    }

    /// The next transaction for the block at this place; `data` are the bytes of the oldest write.
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

    /// A transaction for a block is over; whether that ends its write.
    pub fn complete(&mut self, transaction: &Transaction, response: &Response) -> bool {
        let begun = |own: &&mut BlockOfWrite| {
            own.block == transaction.address && matches!(own.stage, WriteStage::Asked | WriteStage::Returning)
        };
        let own = self.blocks.iter_mut().find(begun).expect("it was asked for");
        if matches!(transaction.kind, Kind::ReadExclusive | Kind::Invalidate) {
            own.stage = WriteStage::Owned(response.data.clone());
            return false;
        }
        self.blocks.pop_front().expect("the oldest one was written").is_last
    }
}

impl BlockOfWrite {
    fn write_into(&self, block: &mut BlockData, write: &BlockData) {
        let part = self.part.start as usize..self.part.end as usize;
        let start = self.start as usize;
        block[part.clone()].copy_from_slice(&write[start..start + part.len()]);
    }
}
