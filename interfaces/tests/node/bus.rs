//! The node's bus, on which each transaction happens at once, and the cache that
//! its processor reaches memory through.

use std::ops::Range;

use narthex_interfaces::Attachment;
use narthex_memory::protocols::{Access, Request};
use narthex_memory::{AgentId, BlockData, Kind, Response, Transaction};

use super::{BLOCK_BYTES, Node, PROCESSOR};

impl Node {
    /// Loads from cachable memory; the access is within a block.
    pub(super) fn load(&mut self, address: u64, size: usize) -> u64 {
        self.acquire(address, Access::Load);
        let mut bytes = [0; 8];
        self.cache.read(address, &mut bytes[..size]);
        u64::from_le_bytes(bytes)
    }

    /// Stores to cachable memory; the access is within a block.
    pub(super) fn store(&mut self, address: u64, size: usize, value: u64) {
        self.acquire(address, Access::Store);
        self.cache.write(address, &value.to_le_bytes()[..size]);
    }

    fn acquire(&mut self, address: u64, access: Access) {
        let Err(request) = self.cache.access(address, access) else { return };
        let block = self.cache.block_of(address);
        if let Some(victim) = self.cache.victim_for(block) {
            self.evict_block(victim.block);
        }
        let kind = match request {
            Request::Read => Kind::Read,
            Request::ReadExclusive => Kind::ReadExclusive,
            Request::Upgrade => Kind::Upgrade,
            Request::WriteBack => unreachable!(),
        };
        let response = self.carry_out(&Transaction::block(PROCESSOR, kind, block));
        self.cache.fill(block, request, response.shared, response.data.as_ref());
        self.cache.access(address, access).expect("the block was fetched");
    }

    /// The cache loses a block.
    pub(super) fn evict_block(&mut self, block: u64) {
        let dirty = self.cache.state(block).is_dirty();
        if let (Some(data), true) = (self.cache.remove(block), dirty) {
            self.carry_out(&Transaction::carrying(PROCESSOR, Kind::WriteBack, block, data));
        }
    }

    /// A block transaction from its snoops to its data, at one instant.
    pub(super) fn carry_out(&mut self, transaction: &Transaction) -> Response {
        let (mut shared, mut supplied): (bool, Option<BlockData>) = (false, None);
        let mut replies = Vec::new();
        if transaction.agent != PROCESSOR {
            self.check_home(transaction);
            let snoop = transaction.kind.snoop().expect("a block transaction");
            replies.push(self.cache.snoop(snoop, transaction.address));
        }
        for side in self.own_sides() {
            if transaction.agent != AgentId(side as u8 + 1) {
                replies.push(self.with_side(side, |side, context| side.snoop(context, transaction)));
            }
        }
        for reply in replies {
            shared |= reply.shares;
            assert!(supplied.is_none() || reply.supplies.is_none(), "two owners");
            supplied = supplied.or(reply.supplies);
        }
        let data = supplied.or_else(|| self.home(transaction));
        Response { data, value: 0, shared }
    }

    /// A device behind an I/O bus caches nothing but its own blocks.
    fn check_home(&self, transaction: &Transaction) {
        let moves_only = matches!(transaction.kind, Kind::ReadOnce | Kind::WriteBlock);
        if self.attachment == Attachment::IoBus && !moves_only {
            let address = transaction.address;
            assert!(self.interface.home_of(address).is_some(), "{address:#x} is main memory's");
        }
    }

    fn home(&mut self, transaction: &Transaction) -> Option<BlockData> {
        if let Some(side) = self.interface.home_of(transaction.address) {
            return self.with_side(side, |side, context| side.home(context, transaction)).data;
        }
        if let Some(data) = &transaction.data {
            self.main.write(transaction.address, data);
        }
        transaction
            .kind
            .fetches_block()
            .then(|| self.main.read_block(transaction.address, BLOCK_BYTES as usize))
    }

    /// What these halves' layouts say of their transactions is whole.
    pub(super) fn assert_declared(&self, halves: Range<usize>, kind: Kind) {
        let declared = self.layouts[halves].iter().any(|layout| layout.transactions.contains(&kind));
        assert!(declared, "a {kind:?} is not among the transactions of the half's layout");
    }
}
