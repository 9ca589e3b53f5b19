//! What a receive engine does because of what it hears that the processor does.
//!
//! | what the processor does | on a bus | on a directory |
//! | --- | --- | --- |
//! | stores to the head | takes away a copy that the engine has, or not | the same: a full engine has just read the head, so it has one |
//! | fetches a message | is seen | is heard if the message is in the interface: in its own memory, or in its cache |
//! | fetches an empty entry whose dead block was dropped | is seen | is heard: the home takes the interface for the owner still |
//!
//! So a full engine waits for the fetch of the message behind a batch only if it will hear of that,
//! and else looks after each store to the head that it hears of. A dropped block that has been
//! written back, or replaced, is up to date in main memory: there the last message of its entry
//! is not valid in the pass that comes, and no answer is needed.

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

    /// Whether it will hear that the processor fetches the message behind a batch. A directory says
    /// so if it is in the interface's cache; of one in main memory nobody hears.
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
        // A directory takes the interface for the owner of what it has dropped, and awaits an owner's answer.
        let as_owner = cache.protocol().snoop(State::Modified, transaction.kind.snoop()?);
        let updates_home = self.hearing == Hearing::Held && as_owner.updates_home;
        Some(SnoopReply { supplies: Some(data), delay: *access_time, updates_home, ..SnoopReply::default() })
    }
}
