//! The buffer in which a tile's remote stores are combined (Section 4.1, "a remote store combining
//! buffer"; Section 3.1, "remote stores, potentially using write-combining buffers").
//!
//! ```text
//!   store ──► continues what waits? ── yes ──► behind it ──► the line is complete? ──► leaves
//!                     │ no
//!                     └──► what waits leaves ──► the store waits
//! ```
//!
//! A lone word waits for the next one, for so many cycles after the last store that has joined.
//! It leaves sooner with the line's last byte, and before anything else that its processor asks
//! the interface for, so that packets leave in the order of the program. A word is never
//! overwritten: a store where one waits may add to a counter or enqueue an item, so both go.

use narthex_kernel::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::messages::{Body, Message};
use super::registers::LINE_BYTES;

/// The buffer of a tile.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct CombiningBuffer {
    waiting: Option<Message>,
    leaves_at: Time,
    /// For which instant it has asked to be called.
    called_at: Time,
}

/// What becomes of a store that has joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Joined {
    /// It was no continuation.
    No,
    /// More may follow.
    Waits,
    /// The line is complete.
    Complete,
}

/// The bytes that a store writes, as a range of addresses.
fn range(store: &Message) -> Option<std::ops::Range<u64>> {
    match &store.body {
        Body::Write { to, bytes, .. } => Some(*to..*to + bytes.as_slice().len() as u64),
        _ => None,
    }
}

impl CombiningBuffer {
    /// Whether a store waits in it.
    pub fn holds(&self) -> bool {
        self.waiting.is_some()
    }

    /// A store comes, behind the one that waits if it continues its bytes within a line.
    pub fn join(&mut self, store: &Message, leaves_at: Time) -> Joined {
        let (Some(own), Some(more)) = (self.waiting.as_ref().and_then(range), range(store)) else {
            return Joined::No;
        };
        let waiting = self.waiting.as_mut().expect("it has a range");
        let is_in_line = (more.end - 1) / LINE_BYTES == own.start / LINE_BYTES;
        if more.start != own.end || !is_in_line || waiting.origin != store.origin {
            return Joined::No;
        }
        if let (Body::Write { bytes, .. }, Body::Write { bytes: new, .. }) = (&mut waiting.body, &store.body)
        {
            bytes.extend(new.as_slice());
        }
        self.leaves_at = leaves_at;
        if more.end.is_multiple_of(LINE_BYTES) { Joined::Complete } else { Joined::Waits }
    }

    /// A store waits in the empty buffer.
    pub fn put(&mut self, store: Message, leaves_at: Time) {
        debug_assert!(!self.holds(), "one store waits at a time");
        (self.waiting, self.leaves_at) = (Some(store), leaves_at);
    }

    /// What waits leaves.
    pub fn take(&mut self) -> Option<Message> {
        self.waiting.take()
    }

    /// The same, if its time has come.
    pub fn take_due(&mut self, now: Time) -> Option<Message> {
        if self.leaves_at <= now { self.waiting.take() } else { None }
    }

    /// For when the buffer has to be called, if it has not asked for that yet.
    pub fn next_call(&mut self, now: Time) -> Option<Time> {
        let asks = self.holds() && self.called_at <= now;
        if asks {
            self.called_at = self.leaves_at.max(now + Duration::from_ps(1));
        }
        asks.then_some(self.called_at)
    }
}

#[cfg(test)]
mod tests {
    use narthex_fabrics::Rank;

    use super::*;
    use crate::sarc::messages::{Cause, Origin, Payload};
    use crate::sarc::registers::WINDOW;

    fn store(at: u64, bytes: &[u8]) -> Message {
        let origin = Origin { process: Rank(0), chip: 0, tile: 0 };
        let bytes = Payload::of(bytes);
        Message { origin, body: Body::Write { to: WINDOW + at, acknowledge: 0, bytes, cause: Cause::Store } }
    }

    fn bytes(message: &Message) -> &[u8] {
        let Body::Write { bytes, .. } = &message.body else { panic!("a store") };
        bytes.as_slice()
    }

    #[test]
    fn a_store_joins_the_one_whose_bytes_it_continues_and_no_other() {
        let at = Time::from_ps;
        let mut buffer = CombiningBuffer::default();
        assert_eq!(buffer.join(&store(8, &[1; 4]), at(9)), Joined::No, "nothing waits");
        buffer.put(store(8, &[1; 4]), at(9));
        for other in [8, 4, 16] {
            assert_eq!(buffer.join(&store(other, &[2; 4]), at(9)), Joined::No, "{other}");
        }
        assert_eq!(buffer.join(&store(12, &[3; 8]), at(10)), Joined::Waits);
        assert_eq!(buffer.take_due(at(9)), None, "it waits for the last that has joined");
        assert_eq!(bytes(&buffer.take_due(at(10)).unwrap()), [1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 3]);
        buffer.put(store(48, &[1; 8]), at(9));
        assert_eq!(buffer.join(&store(56, &[2; 8]), at(9)), Joined::Complete);
        assert_eq!(buffer.join(&store(64, &[2; 8]), at(9)), Joined::No, "another line");
    }

    #[test]
    fn it_asks_to_be_called_once_and_again_when_a_store_has_joined_meanwhile() {
        let at = Time::from_ps;
        let mut buffer = CombiningBuffer::default();
        assert_eq!(buffer.next_call(at(1)), None);
        buffer.put(store(0, &[1; 4]), at(5));
        assert_eq!(buffer.next_call(at(1)), Some(at(5)));
        assert_eq!(buffer.next_call(at(2)), None);
        buffer.join(&store(4, &[1; 4]), at(8));
        assert_eq!((buffer.take_due(at(5)), buffer.next_call(at(5))), (None, Some(at(8))));
    }
}
