//! The messages of a receive queue that the processor has still to read, as far
//! as the engine that fills the queue knows.
//!
//! ```text
//!   running numbers:   … consumed │ unread, at most Room::messages │ empty entries …
//!                                head        fetched              tail
//! ```
//!
//! The head is a lazy copy: the processor may be ahead of it, never behind. As
//! messages are read in order, and each from its first block on, `fetched` says how
//! far it can have come: what nobody has fetched, nobody has consumed.

use narthex_kernel::Duration;
use narthex_memory::Transaction;
use serde::{Deserialize, Serialize};

use super::QueueShape;
use crate::queue::LazyHead;

/// How many messages the engine lets wait for the processor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Room {
    /// Most messages that may be unread, at most the queue's entries.
    pub messages: u64,
    /// The processor has to have read this many of them before a full engine looks
    /// at the head again; less than `messages`.
    pub batch: u64,
    /// How long a full engine waits before it looks again if it cannot see the
    /// head change.
    pub pause: Duration,
}

impl Room {
    /// The whole queue, and a look at the head after each half of it: twice a
    /// pass, as lazy pointers promise (isca96, Section 2.2).
    pub fn whole(queue: &QueueShape) -> Self {
        Room { messages: queue.entries, batch: queue.entries / 2, pause: Duration::ZERO }
    }
}

/// What the engine knows of a message, the more certain to be unread the greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Knowledge {
    /// It is consumed, or there is none.
    Consumed,
    /// The processor has begun to read it: only its head can tell.
    PerhapsConsumed,
    /// Nobody has fetched its first block.
    Unread,
}

/// The unread messages of a queue.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct Unread {
    queue: QueueShape,
    room: Room,
    /// Messages deposited so far.
    tail: u64,
    /// Messages known to be consumed: never ahead of the processor's head.
    head: u64,
    /// Messages up to the last one whose first block the processor has fetched, or will
    /// not fetch.
    fetched: u64,
}

impl Unread {
    /// An empty queue.
    pub fn none(queue: QueueShape, room: Room) -> Self {
        Unread { queue, room, tail: 0, head: 0, fetched: 0 }
    }

    /// How many there are at most.
    pub fn most(&self) -> u64 {
        self.tail - self.head
    }

    /// The head pointer at this address, for those who can look there.
    pub fn lazy_head(&self, address: u64) -> LazyHead {
        LazyHead { address, queue: self.queue, read: self.head, deposited: self.tail }
    }

    /// Whether there is no room for one more.
    pub fn is_full(&self) -> bool {
        self.most() >= self.room.messages
    }

    /// Whether the queue's own size is the only limit.
    pub fn may_fill_queue(&self) -> bool {
        self.room.messages == self.queue.entries
    }

    /// The running number of the next message to be deposited.
    pub fn next(&self) -> u64 {
        self.tail
    }

    /// The next message is deposited.
    pub fn add(&mut self) {
        self.tail += 1;
    }

    /// The processor's head pointer has been read.
    pub fn see_head(&mut self, pointer: u64) {
        self.head = self.queue.message(pointer, self.head);
    }

    /// Sees another agent's transaction, which may say how far it has come.
    pub fn observe(&mut self, transaction: &Transaction) {
        let first_block = self.queue.place(transaction.address).is_some_and(|(_, block)| block == 0);
        if first_block
            && transaction.kind.fetches_block()
            && let Some(message) = self.message_at(transaction.address)
        {
            self.fetched = self.fetched.max(message + 1);
        }
    }

    /// A cache takes in a block of the next message while that is deposited, so
    /// that its processor will not fetch it.
    pub fn observe_taken(&mut self, address: u64) {
        if self.queue.place(address).is_some_and(|(_, block)| block == 0) {
            self.fetched = self.fetched.max(self.tail + 1);
        }
    }

    /// Whether enough messages may have been consumed to look at the head again.
    pub fn is_worth_a_look(&self) -> bool {
        self.fetched > self.behind_batch()
    }

    /// The running number of the message whose fetch makes a look at the head worth it.
    pub fn behind_batch(&self) -> u64 {
        self.head + self.room.batch
    }

    /// What is known of the message at this address of the queue.
    pub fn knowledge_of(&self, address: u64) -> Knowledge {
        match self.message_at(address) {
            None => Knowledge::Consumed,
            Some(message) if message < self.fetched => Knowledge::PerhapsConsumed,
            Some(_) => Knowledge::Unread,
        }
    }

    /// The message at this address of the queue, by its running number, unless
    /// it is known to be consumed.
    pub fn message_at(&self, address: u64) -> Option<u64> {
        let (entry, _) = self.queue.place(address)?;
        let behind_head = self.entries_behind(self.head, entry);
        (behind_head < self.most()).then_some(self.head + behind_head)
    }

    /// The valid bit of the message that an empty entry waits for.
    pub fn awaited_sense(&self, entry: u64) -> bool {
        self.queue.sense(self.tail + self.entries_behind(self.tail, entry))
    }

    /// How many entries `entry` comes after that of a message.
    fn entries_behind(&self, message: u64, entry: u64) -> u64 {
        (entry + self.queue.entries - message % self.queue.entries) % self.queue.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::QueueState;
    use narthex_memory::{AgentId, Kind};

    #[test]
    fn only_what_the_processor_has_begun_to_fetch_may_be_consumed() {
        let queue = QueueShape::new(0x1000, 16, 256, 64).unwrap();
        let mut unread = Unread::none(queue, Room::whole(&queue));
        unread.add();
        unread.add();
        let known = |unread: &Unread| [0, 1, 2].map(|message| unread.knowledge_of(queue.block(message, 3)));
        let fetch = |address| Transaction::block(AgentId(0), Kind::Read, address);
        assert_eq!(known(&unread), [Knowledge::Unread, Knowledge::Unread, Knowledge::Consumed]);
        unread.observe(&fetch(queue.block(0, 1)));
        assert_eq!(known(&unread)[0], Knowledge::Unread, "the first block was not fetched");
        unread.observe(&fetch(queue.block(0, 0)));
        assert_eq!(known(&unread), [Knowledge::PerhapsConsumed, Knowledge::Unread, Knowledge::Consumed]);
        unread.see_head(queue.pointer(1));
        assert_eq!(known(&unread), [Knowledge::Consumed, Knowledge::Unread, Knowledge::Consumed]);
        unread.observe_taken(queue.block(2, 0));
        unread.add();
        let all = [Knowledge::Consumed, Knowledge::PerhapsConsumed, Knowledge::PerhapsConsumed];
        assert_eq!(known(&unread), all, "a cache took in message 2, which is read after message 1");
    }

    #[test]
    fn who_reads_the_head_pointer_knows_how_many_are_unread() {
        let queue = QueueShape::new(0x1000, 16, 256, 64).unwrap();
        let mut unread = Unread::none(queue, Room::whole(&queue));
        (0..6).for_each(|_| unread.add());
        unread.see_head(queue.pointer(3));
        let state = QueueState {
            is_bound: true,
            head: Some(unread.lazy_head(0x40)),
            ..QueueState::of("receive queue", unread.most(), Some(4))
        };
        let seen = |pointer: Option<u64>| {
            let QueueState { used, is_bound, .. } = state.clone().with_head(|address| {
                assert_eq!(address, 0x40);
                pointer
            });
            (used, is_bound)
        };
        let numbers = [3, 4, 6].map(|read| seen(Some(queue.pointer(read))));
        assert_eq!((numbers, seen(None)), ([(3, false), (2, false), (0, false)], (3, true)));
    }

    #[test]
    fn an_empty_entry_waits_for_the_sense_of_the_pass_in_which_it_is_filled_next() {
        let queue = QueueShape::new(0x1000, 16, 256, 64).unwrap();
        let mut unread = Unread::none(queue, Room::whole(&queue));
        let mut awaited = |messages| {
            (0..messages).for_each(|_| unread.add());
            [0, 1, 2, 3].map(|entry| unread.awaited_sense(entry))
        };
        let first = awaited(0)[0];
        assert_eq!(awaited(0), [first; 4]);
        assert_eq!(awaited(2), [!first, !first, first, first]);
        assert_eq!(awaited(2), [!first; 4]);
        assert_eq!(awaited(3), [first, first, first, !first]);
    }

    #[test]
    fn a_full_engine_looks_again_when_the_message_behind_a_batch_is_fetched() {
        let queue = QueueShape::new(0x1000, 16, 256, 64).unwrap();
        let mut unread = Unread::none(queue, Room::whole(&queue));
        (0..4).for_each(|_| unread.add());
        let mut looks = Vec::new();
        for message in 0..4 {
            unread.observe(&Transaction::block(AgentId(0), Kind::Read, queue.block(message, 0)));
            looks.push(unread.is_worth_a_look());
        }
        assert_eq!((looks, unread.is_full()), (vec![false, false, true, true], true));
    }
}
