//! What half an interface holds, for the explanation of a run without progress.

use std::fmt;

use narthex_fabrics::Rank;
use serde::Serialize;

use crate::cachable_queue::QueueShape;

/// The queue, FIFO or registers of half an interface.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct QueueState {
    /// What it is called: "send queue".
    pub name: &'static str,
    /// Messages or packets in it.
    pub used: u64,
    /// How many it can hold; none where the flow control's buffers are the limit.
    pub entries: Option<u64>,
    /// There may be fewer than `used`: the interface looks only now and then how far the
    /// processor has read (lazy pointers).
    pub is_bound: bool,
    /// Where the processor tells how far it has read, for those who can look there.
    #[serde(skip)]
    pub head: Option<LazyHead>,
    /// The message at the head is ready, and the flow control does not let it go:
    /// where it is to go.
    pub held_for: Option<Rank>,
    /// What else there is to know; empty if nothing.
    pub note: String,
    /// The flow control is right behind it: one more packet takes room there too.
    #[serde(skip)]
    pub takes_network_room: bool,
}

/// The head pointer of a queue, of which the interface has an older copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LazyHead {
    /// Its address in the process's memory.
    pub address: u64,
    /// The queue.
    pub queue: QueueShape,
    /// Messages that the interface knows to be read.
    pub read: u64,
    /// Messages that it has deposited.
    pub deposited: u64,
}

impl QueueState {
    /// The same with what its head pointer says, where `word` can be read.
    pub fn with_head(self, word: impl FnOnce(u64) -> Option<u64>) -> Self {
        let Some(LazyHead { address, queue, read, deposited }) = self.head else { return self };
        match word(address) {
            None => self,
            Some(pointer) => {
                let used = deposited.saturating_sub(queue.message(pointer, read));
                QueueState { used, is_bound: false, ..self }
            }
        }
    }

    /// A queue of which no more is known than its length.
    pub fn of(name: &'static str, used: u64, entries: Option<u64>) -> Self {
        QueueState {
            name,
            used,
            entries,
            is_bound: false,
            head: None,
            held_for: None,
            note: String::new(),
            takes_network_room: false,
        }
    }

    /// The same, where the head of a full one is held for a process.
    pub fn held_for(self, destination: Option<Rank>) -> Self {
        QueueState { held_for: destination, ..self }
    }

    /// The same, with the flow control right behind it.
    pub fn in_front_of_the_network(self) -> Self {
        QueueState { takes_network_room: true, ..self }
    }

    /// Whether it takes one more packet where the flow control has room, or has none.
    pub fn has_room(&self, network_has_room: bool) -> bool {
        !self.is_full() && (network_has_room || !self.takes_network_room)
    }

    /// The same with something else to know.
    pub fn with_note(self, note: impl Into<String>) -> Self {
        QueueState { note: note.into(), ..self }
    }

    /// Whether it takes nothing more.
    pub fn is_full(&self) -> bool {
        self.entries.is_some_and(|entries| self.used >= entries)
    }
}

impl fmt::Display for QueueState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let QueueState { name, used, is_bound, .. } = self;
        let bound = if *is_bound && *used > 0 { "at most " } else { "" };
        match self.entries {
            Some(entries) => write!(f, "{name}: {bound}{used} of {entries} entries in use")?,
            None if *used == 1 => write!(f, "{name}: {bound}1 packet")?,
            None => write!(f, "{name}: {bound}{used} packets")?,
        }
        if self.held_for.is_some() {
            write!(f, ", the flow control holds the first back")?;
        }
        match self.note.as_str() {
            "" => Ok(()),
            note => write!(f, ", {note}"),
        }
    }
}
