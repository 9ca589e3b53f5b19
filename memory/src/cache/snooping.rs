//! What a cache does about other agents' transactions.

use super::Cache;
use crate::access_tags::Tag;
use crate::protocols::{Snoop, State};
use crate::transaction::{BlockData, SnoopReply};

impl Cache {
    /// Answers another agent's transaction on the block at `address`.
    pub fn snoop(&mut self, snoop: Snoop, address: u64) -> SnoopReply {
        let Some(line) = self.find(address) else {
            return SnoopReply::default();
        };
        let action = self.protocol.snoop(self.line_state(line), snoop);
        let supplies = action.supplies.then(|| BlockData::from_bytes(self.line_bytes(line)));
        if let Some(lost) = self.lost.get_mut(line).filter(|_| action.next == State::Invalid) {
            *lost = self.tags[line];
        }
        self.set_state(line, action.next);
        SnoopReply {
            shares: action.shares,
            supplies,
            updates_home: action.updates_home,
            ..SnoopReply::default()
        }
    }

    /// Refuses another agent's transaction on the block at `address`, where the bus
    /// carries no data from cache to cache: the bytes that go home first; none if the
    /// block here is not dirty, and [`Cache::snoop`] answers.
    pub fn push(&mut self, snoop: Snoop, address: u64) -> Option<BlockData> {
        let line = self.find(address)?;
        let next = self.protocol.push(self.line_state(line), snoop)?;
        let data = BlockData::from_bytes(self.line_bytes(line));
        if let Some(lost) = self.lost.get_mut(line).filter(|_| next == State::Invalid) {
            *lost = self.tags[line];
        }
        self.set_state(line, next);
        Some(data)
    }

    /// Whether it takes bytes in that pass by.
    pub fn snarfs(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Takes in the bytes that another agent's transaction carries to the home of
    /// the block at `address`, if an empty line has lost just that block. Says
    /// whether it did.
    pub fn snarf(&mut self, snoop: Snoop, address: u64, data: &BlockData) -> bool {
        if self.lost.is_empty() || self.find(address).is_some() {
            return false;
        }
        let tag = self.tag_of(address);
        let mut lines = self.lines_of(self.set_of(address));
        let (Some(line), Some(state)) =
            (lines.find(|&line| self.tags[line] == 0 && self.lost[line] == tag), self.protocol.snarf(snoop))
        else {
            return false;
        };
        self.put(line, address, state, Some(data), Tag::Write);
        true
    }
}
