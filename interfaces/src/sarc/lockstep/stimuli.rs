//! What happens to a tile, as its model and its RTL are told alike.

use std::fmt;

use crate::sarc::messages::{Body, Message};
use crate::sarc::space::{Space, Spot};

/// An access of the tile's processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// A load, or a store.
    pub is_load: bool,
    /// The program's address.
    pub address: u64,
    /// Bytes.
    pub size: u8,
    /// What is stored.
    pub value: u64,
}

/// Who may use lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owned {
    /// All processes of the job.
    ByAll,
    /// The tile's process alone.
    ByItsProcess,
    /// Another process alone.
    ByAnother,
}

/// Something that happens to a tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stimulus {
    /// Its processor accesses an address.
    Access(Access),
    /// A packet comes.
    Arrives(Message),
    /// The operating system makes lines scratchpad of zeros.
    Give {
        /// The first line.
        first: usize,
        /// How many.
        lines: usize,
        /// Who may use them.
        owned: Owned,
    },
    /// The operating system gives lines back to the cache.
    TakeBack {
        /// The first line.
        first: usize,
        /// How many.
        lines: usize,
    },
}

impl Stimulus {
    /// The tile's processor loads a word.
    pub fn load(address: u64, size: u8) -> Self {
        Stimulus::Access(Access { is_load: true, address, size, value: 0 })
    }

    /// It stores one.
    pub fn store(address: u64, size: u8, value: u64) -> Self {
        Stimulus::Access(Access { is_load: false, address, size, value })
    }

    /// Whether it is an access.
    pub fn is_access(&self) -> bool {
        matches!(self, Stimulus::Access(_))
    }
}

impl fmt::Display for Stimulus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stimulus::Access(Access { is_load: true, address, size, .. }) => {
                write!(formatter, "load {size} bytes at {}", NamedAddress(*address))
            }
            Stimulus::Access(Access { address, size, value, .. }) => {
                write!(formatter, "store {size} bytes {value:#x} at {}", NamedAddress(*address))
            }
            Stimulus::Arrives(message) => write!(formatter, "packet comes: {}", InWords(message)),
            Stimulus::Give { first, lines, owned } => {
                write!(formatter, "lines {first} to {} become scratchpad, owned {owned:?}", first + lines - 1)
            }
            Stimulus::TakeBack { first, lines } => {
                write!(formatter, "lines {first} to {} go back to the cache", first + lines - 1)
            }
        }
    }
}

/// An address, with what is there.
struct NamedAddress(u64);

impl fmt::Display for NamedAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let space =
            Space { tiles: u16::MAX, l2_bytes: super::MOST_L2_BYTES, locks: 512, dram_bytes: 1 << 26 };
        match space.at(self.0) {
            Some(Spot::Line(_, tile, offset)) => {
                write!(formatter, "{:#x} (tile {tile}, line {}, byte {})", self.0, offset / 64, offset % 64)
            }
            Some(Spot::State(_, tile, line, word)) => {
                write!(formatter, "{:#x} (tile {tile}, state of line {line}, word {word})", self.0)
            }
            _ => write!(formatter, "{:#x}", self.0),
        }
    }
}

/// A packet in words.
pub struct InWords<'a>(pub &'a Message);

impl fmt::Display for InWords<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Message { origin, body } = self.0;
        let of = format!("of tile {}, process {}", origin.tile, origin.process.0);
        match body {
            Body::Write { to, acknowledge, bytes, cause } => write!(
                formatter,
                "write {of}, {cause:?}: {:02x?} at {}, acknowledged at {acknowledge:#x}",
                bytes.as_slice(),
                NamedAddress(*to)
            ),
            Body::Read { from, bytes, to } => {
                write!(formatter, "read {of}: {bytes} bytes at {} for {to:x?}", NamedAddress(*from))
            }
            Body::Answer { to, value } => write!(formatter, "answer {of}: {value:#x} for tile {}", to.1),
            Body::Acknowledgement { to, bytes } => {
                write!(formatter, "acknowledgement {of}: {bytes} bytes at {}", NamedAddress(*to))
            }
            Body::Stored => write!(formatter, "stored {of}"),
            Body::Returned { to, bytes, .. } => {
                write!(formatter, "returned {of}: {:02x?} at {}", bytes.as_slice(), NamedAddress(*to))
            }
        }
    }
}
