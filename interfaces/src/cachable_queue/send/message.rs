//! What a send engine has of the message at the head of its queue.

use std::cell::Cell;
use std::hash::{Hash, Hasher};

use narthex_fabrics::Header;

use super::CachableQueueSend;
use crate::cachable_queue::copies::Copies;

/// What follows from the state of a queue, and is no part of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Whole(Cell<Option<Header>>);

impl Hash for Whole {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl CachableQueueSend {
    /// The header of the message at the head, if the interface has all its
    /// blocks; else the first block that it has to read.
    pub(super) fn message(&self) -> Result<Header, u64> {
        if let Some(header) = self.whole.0.get() {
            debug_assert_eq!(self.look_for_message(), Ok(header), "it was not told of a change");
            return Ok(header);
        }
        let header = self.look_for_message()?;
        self.whole.0.set(Some(header));
        Ok(header)
    }

    fn look_for_message(&self) -> Result<Header, u64> {
        let header = Header::of(self.latest(0)?);
        for block in 1..(self.length(header) as u64).div_ceil(self.queue.block_bytes) {
            self.latest(block)?;
        }
        Ok(header)
    }

    /// Bytes of a message with its header. A length that cannot be is refused
    /// when the message is looked at.
    fn length(&self, header: Header) -> usize {
        (Header::BYTES + header.payload_bytes()).min(self.queue.entry_bytes as usize)
    }

    /// The payload of the message at the head, which the interface has.
    pub(super) fn payload(&self, header: Header) -> Vec<u8> {
        let (length, block_bytes) = (self.length(header), self.queue.block_bytes as usize);
        let mut payload = Vec::with_capacity(length - Header::BYTES);
        for begin in (0..length).step_by(block_bytes) {
            let bytes = self.latest((begin / block_bytes) as u64).expect("the interface has the message");
            let header_bytes = if begin == 0 { Header::BYTES } else { 0 };
            payload.extend_from_slice(&bytes[header_bytes..block_bytes.min(length - begin)]);
        }
        payload
    }

    /// A block of the message at the head, or its address where it has to be read.
    pub(super) fn latest(&self, block: u64) -> Result<&[u8], u64> {
        let address = self.queue.block(self.injected, block);
        match &self.copies {
            Copies::Home(memory) if self.takes_old_bytes => Ok(memory.bytes(address)),
            copies => copies.latest(address).ok_or(address),
        }
    }
}
