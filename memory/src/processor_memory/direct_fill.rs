//! A miss as an exchange of blocks with memory.
//!
//! Where a processor's transactions concern nobody else and nothing happens before they
//! are over, nobody needs to see them: the dirty block that has to leave goes from its
//! line to memory, and the block that is needed from memory to that line. Whether that
//! is so, and how long it takes, is the interconnect's to say
//! ([`crate::interconnects::SnoopingBus`]); the outcome is that of the two transactions.

use super::{Pending, ProcessorMemory};
use crate::access_tags::Tag;
use crate::cache::Line;
use crate::kind::Kind;
use crate::main_memory::MainMemory;
use crate::protocols::{Access, Request};

/// The blocks that a miss exchanges, at the node's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectFill {
    line: Line,
    request: Request,
    /// The block that the processor needs.
    pub fetched: u64,
    /// The dirty block in its place, which is written back before.
    pub written_back: Option<u64>,
}

impl DirectFill {
    /// The kind of the transaction that fetches the block.
    #[inline]
    pub fn kind(&self) -> Kind {
        match self.request {
            Request::Read => Kind::Read,
            _ => Kind::ReadExclusive,
        }
    }
}

impl ProcessorMemory {
    /// What the processor waits for, if that is a block which the only cache of data lacks.
    #[inline(always)]
    pub fn exchange(&self) -> Option<DirectFill> {
        let Some(Pending::Data { address, access, .. }) = self.pending else { return None };
        self.direct_fill_for(address, access)
    }

    /// What an access would wait for, if that is such a block.
    #[inline(always)]
    pub(super) fn direct_fill_for(&self, address: u64, access: Access) -> Option<DirectFill> {
        if !self.has_nothing_beside() {
            return None;
        }
        let (line, request, dirty) = self.data.line_for_miss(address, access)?;
        let fetched = self.translation.to_node(self.data.block_of(address));
        let written_back = dirty.map(|block| self.translation.to_node(block));
        Some(DirectFill { line, request, fetched, written_back })
    }

    /// Makes an exchange that it has asked for: the processor repeats its access now.
    #[inline(always)]
    pub fn make_direct_fill(&mut self, exchange: &DirectFill, memory: &mut MainMemory) {
        let Some(Pending::Data { address, most, .. }) = self.pending.take() else {
            unreachable!("the processor waits for a block")
        };
        self.exchange_blocks(address, most, exchange, memory);
    }

    /// The same for an access whose block may be fast up to `most` by its page.
    #[inline(always)]
    pub(super) fn exchange_blocks(
        &mut self,
        address: u64,
        most: Tag,
        exchange: &DirectFill,
        memory: &mut MainMemory,
    ) {
        let most = self.most_allowed(address, most);
        let &DirectFill { line, request, fetched, written_back } = exchange;
        if let Some(block) = written_back {
            memory.write(block, self.data.line_bytes(line));
        }
        self.data.fill_from(line, address, (request, most), |bytes| memory.read(fetched, bytes));
        self.overtaking = 0;
        self.keep_reservation();
    }
}
