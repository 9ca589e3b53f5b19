//! The numbered messages, and what must hold of them.
//!
//! guest/programs/tests/interface.c sends the same ones: the byte at place i of
//! message n is 31 n + i + 1, so that a lost, doubled, displaced or stale byte
//! is seen; lengths take turns between one block, two, and a whole packet.

use narthex_fabrics::{Header, Rank};

use crate::explore::Violation;

/// No message is lost.
pub const NONE_LOST: &str = "no message is lost or overtaken by a later one of its queue";
/// None is duplicated.
pub const NONE_TWICE: &str = "no message is sent or received twice";
/// None is read too early.
pub const WHOLE: &str = "no message is read before it is whole, or damaged";

/// The handler that the messages name.
const HANDLER: u64 = 1;

/// How long messages are.
#[derive(Clone, Copy, Debug)]
pub struct Lengths {
    /// Bytes in a coherence block.
    pub block_bytes: u64,
    /// Bytes of payload in a whole packet.
    pub payload_bytes: u64,
}

/// A numbered message.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    number: u64,
    bytes: u64,
}

impl Lengths {
    /// The message with this number.
    pub fn message(&self, number: u64) -> Message {
        let blocks = number % 3 + 1;
        let bytes = match blocks {
            3 => self.payload_bytes,
            _ => (blocks * self.block_bytes - Header::BYTES as u64).min(self.payload_bytes),
        };
        Message { number, bytes }
    }

    /// Whether this is message `expected` of `count`: if not, which property is
    /// violated. `what` was done with it: "the network gets".
    pub fn judge(&self, expected: u64, count: u64, payload: &[u8], what: &str) -> Result<(), Violation> {
        let is = |number: u64| self.message(number).payload() == payload;
        if expected < count && is(expected) {
            return Ok(());
        }
        let (property, words) = match (0..count).find(|&number| is(number)) {
            Some(number) if number < expected => (NONE_TWICE, format!("{what} message {number} again")),
            Some(number) => {
                (NONE_LOST, format!("{what} message {number}, and message {expected} is missing"))
            }
            None => (
                WHOLE,
                format!("{what} {} bytes that are not message {expected}: {payload:02x?}", payload.len()),
            ),
        };
        Err(Violation { property, words })
    }
}

impl Message {
    /// Its bytes.
    pub fn payload(&self) -> Vec<u8> {
        (0..self.bytes).map(|place| (self.number * 31 + place + 1) as u8).collect()
    }

    /// The header of its packet, as the messaging library makes it.
    pub fn header(&self, peer: Rank) -> Header {
        const LAST: u64 = 1 << 61;
        Header(u64::from(peer.0) | self.bytes << 16 | HANDLER << 24 | self.number << 32 | LAST)
    }
}
