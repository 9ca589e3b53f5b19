//! The cache-block operations of RISC-V's Zicbom and Zicboz.
//!
//! | instruction | what is left |
//! | --- | --- |
//! | `cbo.clean` | memory has the newest bytes; this cache may keep a copy |
//! | `cbo.flush` | memory has the newest bytes; no cache has a copy |
//! | `cbo.inval` | no cache has a copy; what was newer than memory is lost |
//! | `cbo.zero` | the block is zeros, and this cache has it to itself |
//!
//! An operation is one on all caches of the bus (Zicbom: "the set of coherent caches"). So
//! a block that others may hold is first made this cache's own, as for a store; then
//! only this cache has to write it back. A block that it has alone takes no more than
//! the write-back, and one that is clean nothing. Where a machine's file says so, the
//! processor does not wait for the write-back of a flush: it is posted, and whoever asks
//! for the block before it has left gets it as from any cache.
//!
//! Caches that nothing keeps coherent (the protocol `Incoherent`) are a set of one each: there
//! an operation is on the processor's own caches alone.
//!
//! Losing bytes is for those who own the machine: the `cbo.inval` of a program is a
//! `cbo.flush`, as Linux sets it up (`envcfg.CBIE`); that of firmware is what it says.
//! Pages that no cache holds (registers, block buffers, a local memory) have nothing to be
//! written back or dropped, and `cbo.zero` on those without memory is refused.

use serde::{Deserialize, Serialize};

use super::store_queue::Awaited;
use super::write_combining::Posted;
use super::{Issued, Pending, ProcessorMemory, ProcessorPort};
use crate::access_tags::Tag;
use crate::kind::Kind;
use crate::pages::PageKind;
use crate::port::{AccessFault, CacheBlockOperation, LowerLevelLatency, Outcome};
use crate::protocols::{Access, State};
use crate::transaction::{BlockData, Transaction};

/// An operation that takes a transaction, on the block that begins at the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct BlockOperation {
    pub address: u64,
    pub operation: CacheBlockOperation,
}

impl ProcessorMemory {
    /// The same for firmware, whose `cbo.inval` loses what is newer than memory.
    pub fn with_invalidation(self) -> Self {
        ProcessorMemory { loses_bytes: true, ..self }
    }

    /// Whether a dirty block that is flushed waits in the store buffer.
    fn can_post_flush(&self) -> bool {
        self.posts_flushes && self.store_buffer.len() < self.posted_limit
    }

    /// Whether its caches and those of others are kept coherent.
    pub fn is_coherent(&self) -> bool {
        self.data.protocol().is_coherent()
    }

    /// The transaction of a pending operation; none if it needs another one by now.
    pub(super) fn issue_cache_block(&mut self, pending: BlockOperation) -> Option<Transaction> {
        let BlockOperation { address, operation } = pending;
        let state = self.block_state(address);
        let mut transaction = match operation {
            CacheBlockOperation::Invalidate => {
                self.drop_block(address);
                Transaction::block(self.agent, Kind::Invalidate, address)
            }
            _ if state != State::Modified => {
                self.pending = None;
                return None;
            }
            CacheBlockOperation::Flush => self.drop_block(address)?,
            CacheBlockOperation::Clean | CacheBlockOperation::Zero => {
                // It stays as the only copy, equal to its home.
                Transaction::carrying(self.agent, Kind::WriteBack, address, self.clean(address))
            }
        };
        transaction.tag = self.in_flight.begin_block(Issued::CacheBlock);
        Some(transaction)
    }
}

impl ProcessorPort<'_> {
    /// Carries out an operation on the block that holds `address`.
    pub(super) fn operate_on_block(&mut self, address: u64, operation: CacheBlockOperation) -> Outcome<()> {
        if self.own.has_loads_under_way() {
            return self.wait(Pending::Loads);
        }
        if let Some(wait) = self.drain(Awaited::Empty, |own| own.operations.increment()) {
            return wait;
        }
        let address = self.own.block_of(address);
        if operation == CacheBlockOperation::Zero {
            return self.zero_block(address);
        }
        let Some(page) = self.pages.lookup(address) else { return Outcome::Fault(AccessFault::Unmapped) };
        if !(page.readable || page.writable || page.executable) {
            return Outcome::Fault(AccessFault::Protected);
        }
        if page.kind != PageKind::Cachable {
            return Outcome::Done(());
        }
        let operation = match operation {
            CacheBlockOperation::Invalidate if !self.own.loses_bytes => CacheBlockOperation::Flush,
            operation => operation,
        };
        let pending = Pending::CacheBlock(BlockOperation { address, operation });
        if self.own.take_finished(pending).is_some() {
            return Outcome::Done(());
        }
        match (operation, self.own.block_state(address)) {
            // There are no other caches that could have it.
            (_, State::Invalid) if !self.own.is_coherent() => Outcome::Done(()),
            (CacheBlockOperation::Clean, State::Exclusive) => Outcome::Done(()),
            (CacheBlockOperation::Flush, State::Exclusive)
            | (CacheBlockOperation::Invalidate, State::Exclusive | State::Modified) => {
                self.own.drop_block(address);
                Outcome::Done(())
            }
            (CacheBlockOperation::Flush, State::Modified) if self.own.can_post_flush() => {
                self.own.store_buffer.push_back(Posted::flush(address));
                // As a posted store: the processor stops for no time.
                self.own.finished = Some((pending, 0));
                Outcome::Wait
            }
            (CacheBlockOperation::Invalidate, _) | (_, State::Modified) => self.wait(pending),
            _ => self.wait(Pending::Data { address, access: Access::Store, most: Tag::Read }),
        }
    }

    fn zero_block(&mut self, address: u64) -> Outcome<()> {
        let bytes = self.own.block_bytes();
        let page = match self.pages.check_store(address) {
            Ok(page) if page.kind.is_memory() => page,
            Ok(_) => return Outcome::Fault(AccessFault::Device),
            Err(fault) => return Outcome::Fault(fault),
        };
        if let Err(fault) = self.check_tags(address, bytes, Tag::Write) {
            return Outcome::Fault(fault);
        }
        let zeros = BlockData::zeroed(self.own.data.block_bytes());
        if page.kind == PageKind::Local {
            return self.local_store(address, &zeros);
        }
        let mut late = None;
        for part in (address..address + bytes as u64).step_by(zeros.len()) {
            match self.store_in_block(page, part, &zeros) {
                Outcome::Late((), more) => late = LowerLevelLatency::join(late, Some(more)),
                Outcome::Done(()) | Outcome::Filling(..) => {}
                outcome => return outcome,
            }
        }
        Outcome::finished((), late)
    }
}

#[cfg(test)]
mod tests;
