//! What a processor's transactions under way are for, by their tags.
//!
//! One transaction on a block is under way, and one uncached access: where uncached accesses have
//! a path of their own, both at once.

use serde::{Deserialize, Serialize};

use super::Issued;
use crate::transaction::TransactionTag;

/// The tag of a transaction on a block.
pub(super) const BLOCK: TransactionTag = TransactionTag(0);

/// The tag of an uncached access.
pub(super) const UNCACHED: TransactionTag = TransactionTag(1);

/// A processor's transactions under way.
#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
pub(super) struct InFlight {
    entries: [Option<Issued>; 2],
}

impl InFlight {
    /// A transaction with this tag is issued.
    #[inline(always)]
    pub fn begin(&mut self, tag: TransactionTag, issued: Issued) {
        self.entries[usize::from(tag.0)] = Some(issued);
    }

    /// The one with this tag is over: what it was for.
    #[inline(always)]
    pub fn end(&mut self, tag: TransactionTag) -> Issued {
        self.entries[usize::from(tag.0)].take().expect("a transaction was issued")
    }

    /// The one with this tag, if it is under way.
    #[inline(always)]
    pub fn get(&self, tag: TransactionTag) -> Option<&Issued> {
        self.entries[usize::from(tag.0)].as_ref()
    }

    /// The same, to change what it is for.
    pub fn get_mut(&mut self, tag: TransactionTag) -> Option<&mut Issued> {
        self.entries[usize::from(tag.0)].as_mut()
    }

    /// Whether a transaction may be issued with this tag.
    #[inline(always)]
    pub fn is_free(&self, tag: TransactionTag) -> bool {
        self.get(tag).is_none()
    }

    /// Whether none is under way.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.entries.iter().all(Option::is_none)
    }
}
