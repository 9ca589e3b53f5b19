//! What requesters and homes tell each other.

use serde::{Deserialize, Serialize};

use super::blocks::Slot;
use crate::kind::Kind;
use crate::transaction::{AgentId, TransactionTag};

narthex_kernel::categories! {
    /// What a message may wait for: one of a lane never waits for one of a lane above.
    pub enum Lane {
        /// From a requester to a home, which may keep it until another transaction is over.
        Request = "request",
        /// From a home to a cache, which answers it by responses.
        Forward = "forward",
        /// An answer: it is taken at any time.
        Response = "response",
    }
}

narthex_kernel::categories! {
    /// How many messages, one after the other, a transaction of a block takes.
    pub enum Hops {
        /// A request and the home's answer.
        Two = "two",
        /// The home forwards, and an owner or sharers answer.
        Three = "three",
        /// The owner has nothing newer, and the home answers then.
        Four = "four",
    }
}

impl Hops {
    /// So many of them.
    pub(crate) fn of(messages: u8) -> Self {
        match messages {
            0..=2 => Hops::Two,
            3 => Hops::Three,
            _ => Hops::Four,
        }
    }
}

/// The number of a home on its interconnect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct HomeId(pub u8);

/// Where a message comes from or goes to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Endpoint {
    /// An agent's side.
    Requester(AgentId),
    /// The home of some blocks.
    Home(HomeId),
}

/// One message. `D` stands for a block's bytes: where they are, or for the model checker
/// how new.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Message<D> {
    /// The address of the block, or of what is accessed uncached.
    pub block: u64,
    /// Whose transaction it belongs to.
    pub requester: AgentId,
    /// What it says.
    pub body: Body<D>,
}

/// A message on its way through a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Carried {
    /// What it says.
    pub message: Message<Slot>,
    /// Messages of its transaction that went one after the other up to here, this one
    /// included.
    pub hops: u8,
}

/// What a message says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Body<D> {
    /// To a home: a transaction on a block.
    Request {
        /// What it does.
        kind: Kind,
        /// The bytes that go home with it.
        data: Option<D>,
    },
    /// To a home: the uncached access with this tag.
    Access {
        /// What it does.
        kind: Kind,
        /// Which one of its requester's.
        tag: TransactionTag,
        /// Bytes that it moves.
        bytes: u16,
    },
    /// To a cache: what another agent does to the block.
    Forward {
        /// A read of any kind is answered with bytes; an upgrade or a write of the block
        /// takes a copy away.
        kind: Kind,
        /// Acknowledgements that the requester awaits from others.
        acknowledgements: u8,
    },
    /// To a requester: the block.
    Data {
        /// Its bytes.
        data: D,
        /// Other caches keep a copy.
        shared: bool,
        /// Acknowledgements that it awaits.
        acknowledgements: u8,
    },
    /// To a requester: it needs no bytes.
    Permission {
        /// Acknowledgements that it awaits.
        acknowledgements: u8,
    },
    /// To a requester: a copy is gone.
    Acknowledgement,
    /// To a requester: the home has the bytes, or needs them no longer.
    WrittenBack,
    /// To a requester: the uncached access with this tag is over.
    Answer {
        /// What it did.
        kind: Kind,
        /// Which one of its requester's.
        tag: TransactionTag,
        /// Bytes that it moved.
        bytes: u16,
    },
    /// To a home: the owner has nothing newer than memory.
    Clean,
    /// To a home: the bytes that the owner has supplied, for memory.
    Copy(D),
    /// To a home: the requester has all that it asked for.
    Done,
}

impl<D> Body<D> {
    /// The lane that it takes.
    pub const fn lane(&self) -> Lane {
        match self {
            Body::Request { .. } | Body::Access { .. } => Lane::Request,
            Body::Forward { .. } => Lane::Forward,
            _ => Lane::Response,
        }
    }

    /// Bytes of data that it carries, on a machine with blocks of `block_bytes`.
    pub fn data_bytes(&self, block_bytes: usize) -> u64 {
        match self {
            Body::Request { data: Some(_), .. } | Body::Data { .. } | Body::Copy(_) => block_bytes as u64,
            Body::Access { kind, bytes, .. } if kind.is_posted() => u64::from(*bytes),
            Body::Answer { kind, bytes, .. } if !kind.is_posted() => u64::from(*bytes),
            _ => 0,
        }
    }

    /// Its name in counter-examples and in what is told of a hang.
    pub const fn name(&self) -> &'static str {
        match self {
            Body::Request { kind, .. } | Body::Access { kind, .. } | Body::Forward { kind, .. } => {
                kind.name()
            }
            Body::Data { .. } => "data",
            Body::Permission { .. } => "permission",
            Body::Acknowledgement => "acknowledgement",
            Body::WrittenBack => "written back",
            Body::Answer { .. } => "answer",
            Body::Clean => "clean",
            Body::Copy(_) => "copy",
            Body::Done => "done",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_carries_the_bytes_that_its_kind_moves_in_its_direction() {
        let bytes = |body: Body<u8>| body.data_bytes(64);
        assert_eq!(bytes(Body::Request { kind: Kind::WriteBack, data: Some(0) }), 64);
        assert_eq!(bytes(Body::Request { kind: Kind::Read, data: None }), 0);
        assert_eq!([Body::Copy(1), Body::Done, Body::Clean].map(bytes), [64, 0, 0]);
        let there_and_back = |kind| {
            let (tag, moved) = (TransactionTag(0), 32);
            [Body::Access { kind, tag, bytes: moved }, Body::Answer { kind, tag, bytes: moved }].map(bytes)
        };
        assert_eq!(there_and_back(Kind::BlockLoad), [0, 32], "whatever a block has");
        assert_eq!(there_and_back(Kind::BlockStore), [32, 0]);
    }
}
