//! How a receive engine reacts to transactions of the processor. On a bus it snoops all of them; on a
//! directory it is told of some.
//!
//! - *The processor stores to the head.* A full engine has just read the head, so it has a copy, and
//!   is told when the store takes the copy away.
//! - *The processor fetches a message.* On a directory the engine is told if the message is in the
//!   interface: in its own memory, or in its cache.
//! - *The processor fetches an empty entry whose dead block was dropped.* The directory still takes
//!   the interface for the owner, and forwards the fetch to it.
//!
//! So a full engine waits for the fetch of the message behind a batch only if it will be told of that
//! fetch; otherwise it reads the head after each store to it. A dropped block that has been written
//! back, or replaced, is up to date in main memory: the last message of its entry there is not valid
//! in the next pass, and no answer is needed.

use narthex_fabrics::Header;
use narthex_memory::protocols::State;
use narthex_memory::{BlockData, SnoopReply, Transaction};

use super::{CachableQueueReceive, Overflow, ProtocolRule};
use crate::attachment::Hearing;
use crate::cachable_queue::copies::Copies;

impl CachableQueueReceive {
    /// A full engine reads the head again once that is worth it.
    pub(super) fn look_again_if_moved(&mut self) {
        let moved = self.pointers.may_have_moved(self.addresses.receive_head());
        if self.full && moved && (self.unread.is_worth_a_look() || !self.hears_of_batch()) {
            self.full = false;
            self.wants_head = true;
        }
    }

    /// Whether the interface will be told when the processor fetches the message behind a batch: on a
    /// directory it is not if the message is in main memory.
    fn hears_of_batch(&self) -> bool {
        let first_block = self.queue.block(self.unread.behind_batch(), 0);
        self.hearing == Hearing::All || self.copies.is_home() || self.copies.latest(first_block).is_some()
    }

    /// The answer to a fetch of an empty entry's first block, where main memory
    /// may hold an old message.
    pub(super) fn empty_entry(&self, transaction: &Transaction) -> Option<SnoopReply> {
        let Copies::Cache { access_time, cache } = &self.copies else {
            return None;
        };
        if !self.follows(ProtocolRule::EmptyEntries) {
            return None;
        }
        let (entry, block) = self.queue.place(transaction.address)?;
        let read =
            self.overflow == Overflow::WriteBack || self.unread.message_at(transaction.address).is_some();
        if block != 0 || !transaction.kind.fetches_block() || read {
            return None;
        }
        let mut data = BlockData::zeroed(self.queue.block_bytes as usize);
        data.set_word(0, Header::default().with_sense(!self.unread.awaited_sense(entry)).0);
        // A directory still takes the interface for the owner of a dropped block, and awaits an
        // owner's answer.
        let as_owner = cache.protocol().snoop(State::Modified, transaction.kind.snoop()?);
        let updates_home = self.hearing == Hearing::Held && as_owner.updates_home;
        Some(SnoopReply { supplies: Some(data), delay: *access_time, updates_home, ..SnoopReply::default() })
    }
}
