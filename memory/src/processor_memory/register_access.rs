//! An access to a device's register in one go.
//!
//! Where nothing happens before an uncached access is over, nobody but the device has to do
//! with it: it need not be issued first and completed later. Whether that is so, and how
//! long it takes, is the interconnect's to say ([`crate::interconnects::SnoopingBus`]); the
//! outcome is that of the transaction.

use super::{Pending, ProcessorMemory};
use crate::kind::Kind;
use crate::transaction::{Response, Transaction};

impl ProcessorMemory {
    /// The uncached access for which the processor waits, as its transaction, if the
    /// processor needs the interconnect for nothing else.
    #[inline(always)]
    pub fn register_access(&self) -> Option<Transaction> {
        let (kind, access) = match self.pending {
            Some(Pending::UncachedLoad(load)) => (Kind::UncachedLoad, load),
            Some(Pending::UncachedStore(store)) => (Kind::UncachedStore, store),
            _ => return None,
        };
        if self.has_other_traffic() {
            return None;
        }
        let transaction = self.uncached(kind, access);
        Some(Transaction { address: self.translation.to_node(access.address), ..transaction })
    }

    /// The access that it has asked for is over: the processor repeats it now.
    #[inline(always)]
    pub fn end_register_access(&mut self, response: &Response) {
        let value = match self.pending {
            Some(Pending::UncachedStore(store)) => store.value,
            _ => response.value,
        };
        self.overtaking = 0;
        self.finish_access(value);
    }

    /// Whether anything is under way, posted, or to be locked.
    #[inline(always)]
    fn has_other_traffic(&self) -> bool {
        self.issued_block.is_some()
            || self.issued_uncached.is_some()
            || !self.store_buffer.is_empty()
            || self.misses.is_some()
            || self.is_locking()
    }
}
