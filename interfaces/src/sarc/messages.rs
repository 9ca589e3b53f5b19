//! What packets say.

use narthex_fabrics::Rank;
use narthex_kernel::Archive;
use serde::{Deserialize, Serialize};

use super::events::Reader;
use super::registers::LINE_BYTES;
use crate::on_chip::lane;

/// Who began what a packet is a part of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// The process.
    pub process: Rank,
    /// Its chip.
    pub chip: u16,
    /// The tile.
    pub tile: u16,
}

/// Up to a line of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Payload {
    length: u8,
    bytes: [u8; LINE_BYTES as usize],
}

impl Payload {
    /// These bytes.
    pub fn of(own: &[u8]) -> Self {
        let mut bytes = [0; LINE_BYTES as usize];
        bytes[..own.len()].copy_from_slice(own);
        Payload { length: own.len() as u8, bytes }
    }

    /// These words.
    pub fn of_words(words: &[u64]) -> Self {
        let mut payload = Payload::of(&[]);
        words.iter().for_each(|word| payload.extend(&word.to_le_bytes()));
        payload
    }

    /// Puts bytes behind the others; there is room for them.
    pub fn extend(&mut self, more: &[u8]) {
        let start = usize::from(self.length);
        self.bytes[start..start + more.len()].copy_from_slice(more);
        self.length += more.len() as u8;
    }

    /// Them.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length.into()]
    }
}

impl std::hash::Hash for Payload {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl Serialize for Payload {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.as_slice())
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = <&[u8]>::deserialize(deserializer)?;
        match bytes.len() {
            0..=64 => Ok(Payload::of(bytes)),
            length => Err(serde::de::Error::invalid_length(length, &"at most a line")),
        }
    }
}

/// Why bytes are written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Cause {
    /// A store of the origin's processor.
    Store,
    /// A command, a notification.
    Transfer,
    /// Its reader has asked for them, and might.
    Reply,
}

narthex_kernel::categories! {
    /// What packets are.
    pub enum PacketKind {
        /// A request to read.
        Read = "read",
        /// Bytes that are to be written.
        Write = "write",
        /// What a processor has read.
        Answer = "answer",
        /// So many bytes have been written.
        Acknowledgement = "acknowledgement",
        /// Bytes for which a queue had no room.
        Returned = "returned",
    }
}

/// What a packet says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Body {
    /// Bytes are to be written at an address.
    Write {
        /// Where.
        to: u64,
        /// Where it is acknowledged; 0: nowhere.
        acknowledge: u64,
        /// The bytes.
        bytes: Payload,
        /// Why.
        cause: Cause,
    },
    /// Bytes at an address are to be sent to a reader.
    Read {
        /// Where they are.
        from: u64,
        /// How many.
        bytes: u32,
        /// Who gets them.
        to: Reader,
    },
    /// What a processor has read.
    Answer {
        /// Its chip and tile.
        to: (u16, u16),
        /// The value.
        value: u64,
    },
    /// So many bytes have been written.
    Acknowledgement {
        /// Who is told.
        to: u64,
        /// How many.
        bytes: u64,
    },
    /// A store of the origin's processor has been written on another chip.
    Stored,
    /// A full queue returns what was to be written, which its origin sends again.
    Returned {
        /// Where it was to go.
        to: u64,
        /// Where it is acknowledged; 0: nowhere.
        acknowledge: u64,
        /// The bytes.
        bytes: Payload,
        /// Why they are written.
        cause: Cause,
    },
}

/// A packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Message {
    /// Who began it.
    pub origin: Origin,
    /// What it says.
    pub body: Body,
}

impl Message {
    /// What says nothing.
    pub const NONE: Message =
        Message { origin: Origin { process: Rank(0), chip: 0, tile: 0 }, body: Body::Stored };

    /// No message has more bytes on its way to another chip.
    pub fn largest_bytes() -> u64 {
        let origin = Origin { process: Rank(u16::MAX), chip: u16::MAX, tile: u16::MAX };
        let bytes = Payload::of(&[0; LINE_BYTES as usize]);
        let body = Body::Returned { to: u64::MAX, acknowledge: u64::MAX, bytes, cause: Cause::Reply };
        Archive::save(&mut Message { origin, body }).expect("plain data").len() as u64
    }
}

impl Body {
    /// What it is.
    pub fn kind(&self) -> PacketKind {
        match self {
            Body::Read { .. } => PacketKind::Read,
            Body::Write { .. } => PacketKind::Write,
            Body::Answer { .. } => PacketKind::Answer,
            Body::Acknowledgement { .. } | Body::Stored => PacketKind::Acknowledgement,
            Body::Returned { .. } => PacketKind::Returned,
        }
    }

    /// Its lane.
    pub fn lane(&self) -> u8 {
        match self {
            Body::Read { .. } => lane::READ,
            Body::Write { .. } | Body::Answer { .. } => lane::WRITE,
            Body::Acknowledgement { .. } | Body::Stored | Body::Returned { .. } => lane::ACKNOWLEDGEMENT,
        }
    }

    /// Bytes that it moves into or out of lines; none if it ends at a register of the interface.
    pub fn second_level_bytes(&self) -> Option<u32> {
        match self {
            Body::Write { bytes, .. } | Body::Returned { bytes, .. } => Some(bytes.as_slice().len() as u32),
            Body::Acknowledgement { .. } => Some(8),
            Body::Read { .. } | Body::Answer { .. } | Body::Stored => None,
        }
    }

    /// Bytes behind the network's header, which has an address.
    pub fn data_bytes(&self) -> u16 {
        match self {
            Body::Write { acknowledge, bytes, .. } | Body::Returned { acknowledge, bytes, .. } => {
                bytes.as_slice().len() as u16 + if *acknowledge == 0 { 0 } else { 8 }
            }
            // The reader's address, and that of its acknowledgement.
            Body::Read { .. } => 16,
            Body::Answer { .. } | Body::Acknowledgement { .. } | Body::Stored => 8,
        }
    }
}
