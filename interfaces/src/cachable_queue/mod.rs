//! What the coherent interfaces with queues share: cachable queues and their
//! pointers (isca96, Section 2.2), seen from the interface's side.
//!
//! ```text
//!   processor                             interface
//!   writes entries, tail ──► send queue ──► reads entries, writes head
//!   reads entries, writes head ◄── receive queue ◄── writes entries
//! ```
//!
//! A queue is a circle of entries of one network message each. The three
//! optimisations of the paper:
//! - *lazy pointers*: the side that fills a queue keeps a stale copy of the other
//!   side's head and refreshes it only when the queue looks full;
//! - *message valid bits*: the receiver looks at the entry, never at a tail;
//! - *sense reverse*: the valid bit's meaning alternates from pass to pass, so
//!   that it need not be cleared.
//!
//! Where the entries live differs between the models (a [`copies::Copies`]);
//! [`send`] and [`receive`] are the engines of the two halves, a
//! [`deposit::Deposit`] is a packet that is being put into a queue, [`unread`]
//! knows what the processor has still to read. The pointers
//! are ordinary memory (isca96, Section 3: "regular memory for control and status
//! information"), which the interface reaches through [`pointers::Pointers`].
//!
//! The papers have buses, which an interface snoops. A directory tells it of requests for blocks of
//! which it is the home, and of transactions of others on blocks that it holds ([`Hearing`]).
//! docs/coherence.md says what it is not told, and what it does instead.

pub mod copies;
pub mod deposit;
pub mod device_memory;
pub mod in_memory;
pub mod pointers;
pub mod protocol_rule;
pub mod receive;
pub mod send;
pub mod unread;

use narthex_kernel::Duration;
use narthex_memory::AgentId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address_names::{Region, RegionParts};
use crate::attachment::Hearing;
use crate::description::Layout;
use crate::programming::{Driver, Fact, Firmware, Programming};
use crate::registers::{Addresses, FIRST_POINTER, LARGEST_QUEUE_BYTES, MESSAGE_READY_REGISTER};
use copies::Copies;
use pointers::Pointers;

/// How the driver announces what it has written.
pub(crate) const ANNOUNCEMENT: Fact =
    Fact { name: "message_ready", meaning: "0: store to MESSAGE_READY; 1: store the tail pointer" };
/// Whether arriving messages overflow to main memory by themselves.
pub(crate) const OVERFLOWS: Fact =
    Fact { name: "overflows_to_memory", meaning: "1: a blocked sender need not drain the interface" };

/// How cachable queues are programmed.
pub static PROGRAMMING: Programming = Programming {
    driver: Driver::numbered(2, "cachable_queue", "Cachable queues."),
    registers: &[&[MESSAGE_READY_REGISTER]],
    constants: &[],
    facts: &[ANNOUNCEMENT, OVERFLOWS],
    requirements: &[],
    firmware: Firmware::NONE,
};

/// How the processor tells the interface that a message is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MessageReady {
    /// An uncached store to a register (isca96, Section 3).
    UncachedStore,
    /// A cachable store to the tail pointer, which the interface sees by
    /// coherence (hpca98, Section 8: "initiating the transfer using a cachable store").
    CachableStore,
}

/// How a send engine learns that a message is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Announcement {
    /// [`MessageReady::UncachedStore`].
    UncachedStore,
    /// [`MessageReady::CachableStore`].
    CachableStore,
    /// The processor writes the header last, and flushes its block: the block comes home with the valid
    /// bit of its pass. The interface is the home of the queue.
    ValidBit,
}

impl From<MessageReady> for Announcement {
    fn from(ready: MessageReady) -> Self {
        match ready {
            MessageReady::UncachedStore => Announcement::UncachedStore,
            MessageReady::CachableStore => Announcement::CachableStore,
        }
    }
}

/// What a half of either direction is made of.
#[derive(Debug)]
pub struct Parts {
    /// Its place on the bus.
    pub agent: AgentId,
    /// The transactions of others of which it is told.
    pub hearing: Hearing,
    /// Where its process's part of the interface lies.
    pub addresses: Addresses,
    /// Its queue.
    pub queue: QueueShape,
    /// Where it keeps the queue's blocks.
    pub copies: copies::Copies,
    /// Its copies of the pointers.
    pub pointers: pointers::Pointers,
    /// The time that a register access takes beyond the bus's own cycles.
    pub register_delay: Duration,
    /// The time that the engine works on a message.
    pub engine_time: Duration,
}

/// Where a queue lies and how it is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct QueueShape {
    /// The address of the first entry.
    pub address: u64,
    /// How many entries it has.
    pub entries: u64,
    /// Bytes of an entry: one network message.
    pub entry_bytes: u64,
    /// Bytes of a coherence block.
    pub block_bytes: u64,
}

narthex_kernel::checked_when_read!(QueueShape);

impl QueueShape {
    /// A queue of `blocks` blocks. Errors say why there cannot be such a queue.
    pub fn new(address: u64, blocks: u64, entry_bytes: u64, block_bytes: u64) -> Result<Self, String> {
        let blocks_of_entry = entry_bytes / block_bytes;
        if blocks < blocks_of_entry {
            return Err(format!(
                "a queue of {blocks} blocks of {block_bytes} bytes cannot hold one message of {entry_bytes} bytes; \
                 at least {blocks_of_entry} blocks are needed"
            ));
        }
        if !blocks.is_multiple_of(blocks_of_entry) {
            return Err(format!(
                "a queue of {blocks} blocks does not divide into messages of {blocks_of_entry} blocks"
            ));
        }
        if blocks * block_bytes > LARGEST_QUEUE_BYTES {
            let most = LARGEST_QUEUE_BYTES / block_bytes;
            return Err(format!(
                "a queue of {blocks} blocks is too large; at most {most} blocks are possible"
            ));
        }
        Ok(QueueShape { address, entries: blocks / blocks_of_entry, entry_bytes, block_bytes })
    }

    fn is_sound(&self) -> bool {
        let blocks = self
            .entry_bytes
            .checked_div(self.block_bytes)
            .and_then(|of_entry| of_entry.checked_mul(self.entries));
        blocks.is_some_and(|blocks| {
            blocks > 0 && Self::new(self.address, blocks, self.entry_bytes, self.block_bytes) == Ok(*self)
        })
    }

    /// The addresses of the queue.
    pub fn range(&self) -> std::ops::Range<u64> {
        self.address..self.address + self.entries * self.entry_bytes
    }

    /// What the layouts of both halves say alike: of the queue, called `name`, of the
    /// pointers that the half begins with, by their names, and of where all pointers are.
    fn layout(
        &self,
        name: &'static str,
        named: &[(&'static str, u64)],
        (copies, pointers, addresses): (&Copies, &Pointers, &Addresses),
    ) -> Layout {
        let queue = Region { name, addresses: self.range(), parts: RegionParts::Entries(self.entry_bytes) };
        let pointer = |&(name, pointer): &(&'static str, u64)| {
            let addresses = pointer..pointer + self.block_bytes;
            Region { name, addresses, parts: RegionParts::None }
        };
        let home = copies.is_home().then(|| self.range());
        Layout {
            cachable: vec![self.range(), addresses.pointers()],
            home: home.into_iter().chain(pointers.home()).collect(),
            initial_words: named.iter().map(|&(_, pointer)| (pointer, FIRST_POINTER)).collect(),
            entries: self.entries,
            regions: std::iter::once(queue).chain(named.iter().map(pointer)).collect(),
            ..Layout::default()
        }
    }

    /// Blocks of an entry.
    pub fn blocks_of_entry(&self) -> u64 {
        self.entry_bytes / self.block_bytes
    }

    /// The address of a block of the message with this running number.
    pub fn block(&self, message: u64, block: u64) -> u64 {
        self.address + message % self.entries * self.entry_bytes + block * self.block_bytes
    }

    /// The sense of the pass in which the message with this running number is:
    /// 1 on the first, then alternating.
    pub fn sense(&self, message: u64) -> bool {
        (message / self.entries).is_multiple_of(2)
    }

    /// A pointer that says "all messages before this one".
    pub fn pointer(&self, message: u64) -> u64 {
        (message % self.entries) | (u64::from(self.sense(message)) << 32)
    }

    /// The running number that a pointer means, not before `earliest` and at
    /// most a whole queue after it.
    pub fn message(&self, pointer: u64, earliest: u64) -> u64 {
        let index = pointer & 0xffff_ffff;
        let sense = pointer >> 32 & 1 == 1;
        let candidate = earliest - earliest % self.entries + index;
        let later = if candidate < earliest { candidate + self.entries } else { candidate };
        if self.sense(later) == sense { later } else { later + self.entries }
    }

    /// The place of an address in the queue: (entry, block in the entry).
    pub fn place(&self, address: u64) -> Option<(u64, u64)> {
        let offset = address.checked_sub(self.address)?;
        let entry = offset / self.entry_bytes;
        (entry < self.entries).then(|| (entry, offset % self.entry_bytes / self.block_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narthex_kernel::Archive;
    use proptest::prelude::*;

    #[test]
    fn a_queue_smaller_than_a_message_is_refused() {
        let problem = QueueShape::new(0, 2, 256, 64).unwrap_err();
        assert!(problem.contains("at least 4 blocks"), "{problem}");
        assert!(QueueShape::new(0, 6, 256, 64).is_err());
    }

    #[test]
    fn a_queue_that_cannot_be_is_not_read() {
        let whole = QueueShape::new(0x1000, 16, 256, 64).unwrap();
        let read = |mut saved: QueueShape| {
            let bytes = Archive::save(&mut saved).expect("plain data");
            Archive::restore(&bytes, &mut whole.clone()).is_ok()
        };
        assert!(read(whole));
        assert!(!read(QueueShape { entries: 0, ..whole }));
        assert!(!read(QueueShape { entries: u64::MAX, ..whole }));
        assert!(!read(QueueShape { entry_bytes: 0, ..whole }));
        assert!(!read(QueueShape { block_bytes: 0, ..whole }));
    }

    proptest! {
        /// Index and sense together name any message within a queue's length.
        #[test]
        fn a_pointer_means_the_message_that_it_was_made_from(
            entries in 1u64..20, earliest in 0u64..1000, ahead in 0u64..20,
        ) {
            let queue = QueueShape::new(0x1000, entries * 4, 256, 64).unwrap();
            let message = earliest + ahead.min(entries);
            prop_assert_eq!(queue.message(queue.pointer(message), earliest), message);
        }
    }
}
