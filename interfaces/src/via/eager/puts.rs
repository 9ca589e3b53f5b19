//! Puts: bytes that the controller stores at host addresses, block by block and in order.

use narthex_memory::{AgentId, BlockData, Kind, Response, Transaction};
use serde::{Deserialize, Serialize};

use super::super::copies::CopyState;
use super::{ControllerContext, Eager, Purpose, Rule, Statistics};

/// Bytes for a part of one block, or all of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Put {
    /// The block.
    pub block: u64,
    offset: usize,
    bytes: Vec<u8>,
    /// They are in the block, which has still to go home.
    is_merged: bool,
}

impl Put {
    /// The block with the bytes in it.
    fn merge(&self, mut data: BlockData) -> BlockData {
        data[self.offset..self.offset + self.bytes.len()].copy_from_slice(&self.bytes);
        data
    }
}

impl Eager {
    /// Stores bytes at a host address. The number of the last put of them, which
    /// [`Eager::is_done`] understands.
    pub fn put(&mut self, at: &mut ControllerContext<'_>, address: u64, bytes: &[u8]) -> u64 {
        let mut rest = bytes;
        let mut here = address;
        while !rest.is_empty() {
            let block = self.block_of(here);
            let offset = (here - block) as usize;
            let length = rest.len().min(self.build.block_bytes as usize - offset);
            let (part, behind) = rest.split_at(length);
            self.puts.push_back(Put { block, offset, bytes: part.to_vec(), is_merged: false });
            self.put_number += 1;
            (rest, here) = (behind, here + length as u64);
        }
        self.settle(at);
        self.put_number
    }

    /// Stores bytes in the interface's memory, from `place` on. Where that is a copy, they
    /// are put at the host addresses of which it is. The number of the last put.
    pub fn place(&mut self, at: &mut ControllerContext<'_>, place: u64, bytes: &[u8]) -> u64 {
        let (mut here, mut rest) = (place, bytes);
        while !rest.is_empty() {
            let to_end_of_block = self.build.block_bytes - here % self.build.block_bytes;
            let (part, behind) = rest.split_at(rest.len().min(to_end_of_block as usize));
            match self.copies.host_of(here, part.len() as u64) {
                Some(host) => _ = self.put(at, host, part),
                None => at.memory.write(here, part),
            }
            (here, rest) = (here + to_end_of_block, behind);
        }
        self.put_number
    }

    /// Whether the put with this number is done, and all before.
    pub fn is_done(&self, number: u64) -> bool {
        self.puts_done >= number
    }

    /// How many puts there have been.
    pub fn put_number(&self) -> u64 {
        self.put_number
    }

    /// Whether received blocks of this one's kind go home: all of a DMA-like receive, and
    /// those without a tag.
    fn goes_home(&self, block: u64) -> bool {
        self.build.writes_home || self.copies.block(block).is_none()
    }

    /// Does what needs no bus: bytes for blocks that are owned, and what was taken away
    /// with its bytes in it.
    pub(super) fn settle(&mut self, at: &mut ControllerContext<'_>) {
        while let Some(put) = self.puts.front() {
            let block = put.block;
            if matches!(self.under_way, Some((_, address)) if address == block) {
                return;
            }
            let is_owned = self.modified.contains_key(&block);
            match (put.is_merged, is_owned) {
                // Another agent has taken the block over with the bytes in it.
                (true, false) => {}
                (true, true) => return,
                (false, true) => {
                    let merged = put.merge(self.modified[&block].clone());
                    self.own(at, block, Some(merged));
                    if self.goes_home(block) {
                        self.puts[0].is_merged = true;
                        return;
                    }
                }
                (false, false) if !self.follows(Rule::InvalidatingFirst) => {
                    let merged = put.merge(self.held(at, block));
                    self.own(at, block, Some(merged));
                }
                (false, false) => return,
            }
            self.puts.pop_front();
            self.puts_done += 1;
        }
    }

    /// The bytes of the copy of a block.
    fn held(&self, at: &ControllerContext<'_>, block: u64) -> BlockData {
        let length = self.build.block_bytes as usize;
        match self.copies.copy_of(block) {
            Some(copy) => at.memory.read_block(copy, length),
            None => BlockData::zeroed(length),
        }
    }

    /// What the oldest put needs of the bus.
    pub(super) fn issue_put(
        &mut self,
        at: &mut ControllerContext<'_>,
        statistics: &mut Statistics,
    ) -> Option<(Purpose, Transaction)> {
        let put = self.puts.front()?;
        let block = put.block;
        if put.is_merged {
            let transaction = self.give_back(block, statistics)?;
            return Some((Purpose::Return, transaction));
        }
        let is_whole = put.bytes.len() as u64 == self.build.block_bytes;
        let is_valid = self.copies.block(block).is_some_and(|own| own.state == CopyState::Shared);
        if self.goes_home(block) && (is_whole || is_valid) {
            let data = put.merge(self.held(at, block));
            if let Some(copy) = self.copies.copy_of(block) {
                at.memory.write(copy, &data);
            }
            if let Some(own) = self.copies.block_mut(block) {
                (own.state, own.is_due) = (CopyState::Shared, false);
            }
            self.awaited.remove(&block);
            statistics.written.increment();
            return Some((Purpose::Write, Transaction::carrying(AgentId(0), Kind::WriteBlock, block, data)));
        }
        let kind = match (is_valid, is_whole) {
            (true, _) => Kind::Upgrade,
            (false, true) => Kind::Invalidate,
            (false, false) => Kind::ReadExclusive,
        };
        Some((Purpose::Acquire, Transaction::block(AgentId(0), kind, block)))
    }

    /// The block of the oldest put is the interface's own.
    pub(super) fn acquired(
        &mut self,
        at: &mut ControllerContext<'_>,
        address: u64,
        response: &Response,
        statistics: &mut Statistics,
    ) {
        statistics.acquired.increment();
        let held = response.data.clone().unwrap_or_else(|| self.held(at, address));
        let merged = self.puts[0].merge(held);
        self.own(at, address, Some(merged));
        match self.goes_home(address) {
            true => self.puts[0].is_merged = true,
            false => self.finish_put(),
        }
    }

    /// The oldest put is done.
    pub(super) fn finish_put(&mut self) {
        self.puts.pop_front();
        self.puts_done += 1;
    }
}
