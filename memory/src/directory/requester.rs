//! A transaction under way at its requester, and the answers of caches to what homes
//! forward.

use serde::{Deserialize, Serialize};

use super::message::{Body, Endpoint, Message};
use super::table::{BufferAction, Forwarded, Table, Unexpected};
use crate::kind::Kind;

/// How far a transaction on a block is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Stage {
    /// The home has been asked. Acknowledgements may come before its answer.
    Asking,
    /// The answer is here, and acknowledgements are missing.
    Counting,
    /// Bytes are on their way home, and are the newest.
    Owning,
    /// Bytes are on their way home, and another cache has got the block meanwhile.
    Lost,
}

/// A transaction on a block, from its request on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct BlockRequest<D> {
    /// What it does.
    pub kind: Kind,
    /// How far it is.
    pub stage: Stage,
    /// Acknowledgements that are missing, or below zero those that came before their
    /// number was known.
    awaited: i16,
    /// The bytes that it has got, or that go home.
    pub data: Option<D>,
    /// Other caches keep a copy.
    pub shared: bool,
}

impl<D: Copy> BlockRequest<D> {
    /// A transaction that asks the home now, and brings it `data`.
    pub fn new(kind: Kind, data: Option<D>) -> Self {
        let stage = if kind == Kind::WriteBack { Stage::Owning } else { Stage::Asking };
        let kept = data.filter(|_| stage == Stage::Owning);
        BlockRequest { kind, stage, awaited: 0, data: kept, shared: false }
    }

    /// Takes a response; whether the transaction is over.
    ///
    /// # Errors
    /// If nothing of the kind was to come.
    pub fn receive(&mut self, body: Body<D>) -> Result<bool, Unexpected> {
        let is_writing_back = matches!(self.stage, Stage::Owning | Stage::Lost);
        match (body, self.stage) {
            (Body::WrittenBack, _) if is_writing_back => return Ok(true),
            (Body::Data { data, shared, acknowledgements }, Stage::Asking) if self.takes_data() => {
                (self.data, self.shared) = (Some(data), shared);
                self.count(acknowledgements);
            }
            (Body::Permission { acknowledgements }, Stage::Asking) if !self.kind.fetches_block() => {
                self.count(acknowledgements);
            }
            (Body::Acknowledgement, Stage::Asking | Stage::Counting) => self.awaited -= 1,
            _ => return Err(self.unexpected(body.name())),
        }
        match (self.stage, self.awaited) {
            (Stage::Counting, ..=-1) => Err(self.unexpected("one acknowledgement too many")),
            (stage, awaited) => Ok((stage, awaited) == (Stage::Counting, 0)),
        }
    }

    /// An upgrade that has lost its copy gets the bytes.
    fn takes_data(&self) -> bool {
        self.kind.fetches_block() || self.kind == Kind::Upgrade
    }

    fn count(&mut self, acknowledgements: u8) {
        self.stage = Stage::Counting;
        self.awaited += i16::from(acknowledgements);
    }

    /// What bytes on their way home answer to a forward of this kind; they may be no
    /// longer the newest then.
    ///
    /// # Errors
    /// If the table excludes it.
    pub fn forwarded(&mut self, table: &Table, kind: Kind) -> Result<BufferAction, Unexpected> {
        let row = match self.stage {
            Stage::Owning => &table.written_back[0],
            _ => &table.written_back[1],
        };
        let Some(action) = row[Forwarded::of(kind) as usize] else {
            return Err(self.unexpected(kind.name()));
        };
        self.stage = if action.is_owner { Stage::Owning } else { Stage::Lost };
        Ok(action)
    }

    fn unexpected(&self, message: &'static str) -> Unexpected {
        Unexpected { state: format!("its {} is {:?}", self.kind.name(), self.stage), message }
    }
}

/// What a cache sends that has answered a forward with these bytes, and with a copy of
/// them for memory, or with neither.
///
/// # Errors
/// If that is no answer to it.
pub fn answer<D: Copy>(
    forward: &Message<D>,
    home: Endpoint,
    (supplies, updates_home): (Option<D>, Option<D>),
    mut send: impl FnMut(Endpoint, Message<D>),
) -> Result<(), Unexpected> {
    let Body::Forward { kind, acknowledgements } = forward.body else {
        unreachable!("a '{}' is no forward", forward.body.name())
    };
    let requester = Endpoint::Requester(forward.requester);
    let message = |body| Message { body, ..*forward };
    let unexpected = |state: &str| Unexpected { state: state.into(), message: kind.name() };
    match (Forwarded::of(kind).withdraws(), supplies, updates_home) {
        (true, None, None) => send(requester, message(Body::Acknowledgement)),
        (true, ..) => return Err(unexpected("the cache supplies what nobody asks for")),
        (false, None, None) => send(home, message(Body::Clean)),
        (false, None, Some(_)) => return Err(unexpected("the cache updates memory and supplies nothing")),
        (false, Some(data), copy) => {
            let shared = kind != Kind::ReadExclusive;
            send(requester, message(Body::Data { data, shared, acknowledgements }));
            if let Some(copy) = copy {
                send(home, message(Body::Copy(copy)));
            }
        }
    }
    Ok(())
}
