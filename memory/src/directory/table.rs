//! What the cells of a directory's table say.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::kind::Kind;
use crate::protocols::{Protocol, Snoop};

/// Who has a block, as its home knows: the rows for requests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Holders {
    /// No cache.
    Nobody,
    /// Caches with clean copies; some may have dropped theirs.
    Sharers,
    /// One cache, which may have changed it, or have dropped it unchanged.
    Owner,
    /// One cache that has changed it, and others with copies.
    OwnerAndSharers,
}

impl Holders {
    /// All of them, in the order of the rows.
    pub const ALL: [Holders; 4] =
        [Holders::Nobody, Holders::Sharers, Holders::Owner, Holders::OwnerAndSharers];
}

/// What comes to the home of a block that is at rest: the columns for requests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Arrival {
    /// A cache reads it. What it had of it before is gone.
    Read,
    /// A cache reads it to write it, or asks for an upgrade of a copy that it has lost.
    ReadExclusive,
    /// A cache that has a copy wants to write it.
    Upgrade,
    /// The owner returns it.
    WriteBack,
    /// A cache returns it that is the owner no longer.
    Overtaken,
    /// A device replaces it, or its home makes all copies go.
    WriteBlock,
    /// A device reads it and keeps nothing.
    ReadOnce,
}

impl Arrival {
    /// All of them, in the order of the columns.
    pub const ALL: [Arrival; 7] = [
        Arrival::Read,
        Arrival::ReadExclusive,
        Arrival::Upgrade,
        Arrival::WriteBack,
        Arrival::Overtaken,
        Arrival::WriteBlock,
        Arrival::ReadOnce,
    ];
}

/// What a home waits for: the rows for responses, but for the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[repr(u8)]
pub enum HomeState {
    /// Nothing: it takes the next request.
    #[default]
    Rest,
    /// A reader that gets a shared copy.
    Sharing,
    /// A cache that gets the block to itself.
    Granting,
    /// The owner's answer to a read.
    Reading,
    /// The owner's bytes; the reader has them.
    Copying,
    /// The owner's answer to a cache that wants the block to itself.
    Passing,
    /// A device that replaces the block.
    Replacing,
    /// A device that reads it once.
    Lending,
}

impl HomeState {
    /// All of them.
    pub const ALL: [HomeState; 8] = [
        HomeState::Rest,
        HomeState::Sharing,
        HomeState::Granting,
        HomeState::Reading,
        HomeState::Copying,
        HomeState::Passing,
        HomeState::Replacing,
        HomeState::Lending,
    ];
}

/// What answers a request that the home works on: the columns for responses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Reply {
    /// The owner has nothing newer than memory.
    Clean,
    /// The owner's bytes.
    Copy,
    /// The requester has what it asked for.
    Done,
}

impl Reply {
    /// All of them, in the order of the columns.
    pub const ALL: [Reply; 3] = [Reply::Clean, Reply::Copy, Reply::Done];
}

/// What a home does, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
#[allow(non_camel_case_types, reason = "the words of the tables")]
pub enum Action {
    /// Memory takes the bytes that came.
    takes,
    /// The owner is told of the request.
    forwards,
    /// All others lose their copies, but for an owner to which the request is forwarded.
    withdraws,
    /// The requester gets memory's bytes, which others have, too.
    gives_shared,
    /// The same, and no other has them.
    gives_alone,
    /// The requester is told that it needs no bytes.
    permits,
    /// The requester is told that its bytes are home.
    acknowledges,
    /// The owner has a clean copy from now on, at most.
    demotes,
    /// There is no owner any more.
    parts,
    /// Nobody has a copy any more.
    empties,
    /// The requester has a copy.
    joins,
    /// The requester owns it, and nobody else has a copy.
    owns,
}

impl Action {
    /// All of them, in order.
    pub const ALL: [Action; 12] = [
        Action::takes,
        Action::forwards,
        Action::withdraws,
        Action::gives_shared,
        Action::gives_alone,
        Action::permits,
        Action::acknowledges,
        Action::demotes,
        Action::parts,
        Action::empties,
        Action::joins,
        Action::owns,
    ];
}

/// Some actions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Actions(u16);

impl Actions {
    /// None of them.
    pub const fn none() -> Self {
        Actions(0)
    }

    /// The same, with another one.
    pub const fn with(self, action: Action) -> Self {
        Actions(self.0 | 1 << action as u16)
    }

    /// The same, with an action that was missing, or without one that was there.
    pub const fn toggled(self, action: Action) -> Self {
        Actions(self.0 ^ 1 << action as u16)
    }

    /// Whether an action is among them.
    pub const fn has(self, action: Action) -> bool {
        self.0 >> action as u16 & 1 == 1
    }
}

impl fmt::Debug for Actions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = Action::ALL.into_iter().filter(|&action| self.has(action));
        let words: Vec<String> = all.map(|action| format!("{action:?}")).collect();
        f.write_str(&words.join(" "))
    }
}

/// What a home does about a message, and what it waits for then.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct HomeAction {
    /// What it waits for.
    pub next: HomeState,
    /// What it does.
    pub actions: Actions,
}

impl fmt::Debug for HomeAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.next, self.actions)
    }
}

/// What a home forwards: the columns for bytes on their way home.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Forwarded {
    /// Another cache reads the block.
    Read,
    /// Another cache reads it to write it.
    ReadExclusive,
    /// Another cache writes its copy: this one goes.
    Upgrade,
    /// A device replaces the block: this copy goes.
    WriteBlock,
    /// A device reads it.
    ReadOnce,
}

impl Forwarded {
    /// All of them, in the order of the columns.
    pub const ALL: [Forwarded; 5] = [
        Forwarded::Read,
        Forwarded::ReadExclusive,
        Forwarded::Upgrade,
        Forwarded::WriteBlock,
        Forwarded::ReadOnce,
    ];

    /// How a forward with this kind is looked up.
    pub fn of(kind: Kind) -> Self {
        match kind.snoop() {
            Some(Snoop::Read) => Forwarded::Read,
            Some(Snoop::ReadExclusive) => Forwarded::ReadExclusive,
            Some(Snoop::Upgrade) => Forwarded::Upgrade,
            Some(Snoop::WriteBlock) => Forwarded::WriteBlock,
            Some(Snoop::ReadOnce) => Forwarded::ReadOnce,
            Some(Snoop::WriteBack) | None => unreachable!("no {} is forwarded", kind.name()),
        }
    }

    /// Whether a copy goes, and no bytes are asked for.
    pub fn withdraws(self) -> bool {
        matches!(self, Forwarded::Upgrade | Forwarded::WriteBlock)
    }
}

/// What bytes on their way home answer to a forward.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BufferAction {
    /// Whether they are still the newest afterwards.
    pub is_owner: bool,
    /// The requester gets them.
    pub supplies: bool,
    /// Memory gets them, too, before they come home.
    pub updates_home: bool,
}

/// A message for which a table has no cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unexpected {
    /// In which state: "the home is Granting".
    pub state: String,
    /// What came.
    pub message: &'static str,
}

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} and gets '{}'", self.state, self.message)
    }
}

/// The cells of one row; `None` is `never`.
pub type Row<Cell, const COLUMNS: usize> = [Option<Cell>; COLUMNS];

/// A protocol of a directory: its tables, by row and column.
#[derive(Clone, Debug)]
pub struct Table {
    /// What a cache does in its stable states; the name of both.
    pub stable: &'static Protocol,
    /// What a home does with a request, by [`Holders`] and [`Arrival`].
    pub requests: [Row<HomeAction, 7>; 4],
    /// What it does with an answer, by [`HomeState`] and [`Reply`].
    pub responses: [Row<HomeAction, 3>; 8],
    /// What bytes on their way home answer, if they are the newest and if they are not,
    /// by [`Forwarded`].
    pub written_back: [Row<BufferAction, 5>; 2],
}

impl Table {
    /// Whether homes know who has copies, and are told when a requester is done.
    pub fn tracks_copies(&self) -> bool {
        self.responses.as_flattened().iter().any(Option::is_some)
    }
}
