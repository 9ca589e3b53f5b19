//! Coherence protocols: tables that say what a cache does with one block.
//!
//! A node's caches may each hold a copy of the same block. A snooping protocol
//! keeps the copies equal: each cache tags its copy with a [`State`], asks the
//! bus before it does what the state does not allow, and watches what the
//! others ask. All of that is three small questions:
//!
//! 1. *The processor wants to load, store or evict; may it?* Either it hits, or
//!    the cache must ask the bus first ([`Protocol::access`]).
//! 2. *The bus has granted my request; which state is my copy in now?*
//!    ([`Protocol::fill`])
//! 3. *Another agent's transaction passes by; what becomes of my copy, and do I
//!    supply the data?* ([`Protocol::snoop`])
//!
//! A cache that snarfs (isca96, Section 5.1.2) asks one more: *bytes of a block
//! that I have lost pass by; which state is my copy in if I take them?*
//! ([`Protocol::snarf`])
//!
//! Not every bus carries data from cache to cache. On one that does not, the owner
//! of a dirty block refuses the transaction and returns the block to its home first,
//! and asks: *which state is my copy in when it is on its way?* ([`Protocol::push`])
//!
//! A [`Protocol`] is the table of the answers and nothing else. The simulator's
//! caches run it and the model checker explores it, so the
//! table that is shipped is the table that is checked.
//!
//! **A new protocol is one file in this folder.** It explains the protocol and
//! defines `pub static PROTOCOL` with the `protocol!` macro below, whose rows
//! read like the tables of the literature; the build script finds the file.
//! Start from `msi.rs`, the smallest, and see `docs/coherence.md`.
//!
//! A combination that the protocol excludes is written `never`: if it happens
//! all the same, a copy has been lost or forged, so the simulator stops rather
//! than go on with wrong data. The checker proves that none is ever reached.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a cache knows about its copy of a block. The names and letters are
/// those of Sweazey and Smith: validity, exclusiveness and ownership of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum State {
    /// No copy.
    Invalid,
    /// Readable; other caches may have copies, and one of them may own it.
    Shared,
    /// The only cached copy, equal to home memory.
    Exclusive,
    /// Newer than home memory, and this cache answers for it; others may hold
    /// shared copies.
    Owned,
    /// The only cached copy, newer than home memory.
    Modified,
}

impl State {
    /// Every state, in the order of the tables' rows.
    pub const ALL: [State; 5] =
        [State::Invalid, State::Shared, State::Exclusive, State::Owned, State::Modified];

    /// The state that `state as u8` came from, for caches that store it in a byte.
    #[inline]
    pub const fn from_u8(byte: u8) -> State {
        State::ALL[byte as usize]
    }

    /// Whether a load may use the copy.
    pub const fn is_readable(self) -> bool {
        !matches!(self, State::Invalid)
    }

    /// Whether no other cache has a copy, so that a store may go ahead without
    /// the bus. An exclusive copy counts: it becomes modified silently, and
    /// [`Protocol::access`] names that next state.
    pub const fn is_writable(self) -> bool {
        matches!(self, State::Exclusive | State::Modified)
    }

    /// Whether home memory is out of date and this cache must write it back.
    pub const fn is_dirty(self) -> bool {
        matches!(self, State::Owned | State::Modified)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            State::Invalid => "invalid",
            State::Shared => "shared",
            State::Exclusive => "exclusive",
            State::Owned => "owned",
            State::Modified => "modified",
        })
    }
}

/// What the owner of a cache does to a block: its processor, or the network
/// interface whose cache it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Access {
    /// Reads bytes of the block.
    Load,
    /// Writes bytes of the block.
    Store,
    /// Gives up the line, because another block needs the place.
    Evict,
}

impl Access {
    /// Every access, in the order of the tables' columns.
    pub const ALL: [Access; 3] = [Access::Load, Access::Store, Access::Evict];
}

/// What a cache asks of the bus.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Request {
    /// The block's data, to read.
    Read,
    /// The block's data, to write; all other copies go.
    ReadExclusive,
    /// Permission to write the copy it has; all other copies go.
    Upgrade,
    /// Home memory takes the dirty copy.
    WriteBack,
}

impl Request {
    /// Every request, in the order of the tables' rows.
    pub const ALL: [Request; 4] =
        [Request::Read, Request::ReadExclusive, Request::Upgrade, Request::WriteBack];

    /// How the other caches see this request.
    pub const fn snoop(self) -> Snoop {
        match self {
            Request::Read => Snoop::Read,
            Request::ReadExclusive => Snoop::ReadExclusive,
            Request::Upgrade => Snoop::Upgrade,
            Request::WriteBack => Snoop::WriteBack,
        }
    }
}

/// What a cache sees of another agent's transaction on a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Snoop {
    /// Another cache reads the block and keeps a copy.
    Read,
    /// Another cache reads the block to write it.
    ReadExclusive,
    /// Another cache has a shared or owned copy and wants to write it.
    Upgrade,
    /// Another cache returns its dirty copy to home memory.
    WriteBack,
    /// A device replaces the whole block in its home.
    WriteBlock,
    /// A device reads the block's current data and keeps no copy.
    ReadOnce,
}

impl Snoop {
    /// Every snooped transaction, in the order of the tables' columns.
    pub const ALL: [Snoop; 6] = [
        Snoop::Read,
        Snoop::ReadExclusive,
        Snoop::Upgrade,
        Snoop::WriteBack,
        Snoop::WriteBlock,
        Snoop::ReadOnce,
    ];
}

/// What a cache does about an access of its owner.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessAction {
    /// The copy allows it; it is in this state afterwards.
    Hit(State),
    /// The bus must be asked first.
    Ask(Request),
    /// The line is given up without a transaction.
    Drop,
}

/// What a cache does about another agent's transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SnoopAction {
    /// The state of its copy afterwards.
    pub next: State,
    /// It delivers the data instead of the home.
    pub supplies: bool,
    /// It asserts the shared line: it keeps a copy.
    pub shares: bool,
    /// Home memory takes the supplied data too.
    pub updates_home: bool,
}

/// The cells of one row; `None` is `never`.
pub type Row<Action, const COLUMNS: usize> = [Option<Action>; COLUMNS];

/// A protocol: the three tables, indexed by state and column.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// The name in machine files and on the command line.
    pub name: &'static str,
    /// The states that the protocol uses.
    pub states: &'static [State],
    /// See the functions of these names.
    pub access: [Row<AccessAction, 3>; 5],
    /// See the functions of these names.
    pub fill: [Row<State, 2>; 4],
    /// See the functions of these names.
    pub snoop: [Row<SnoopAction, 6>; 5],
    /// By state and the columns of `snoop`; `None` where nothing is refused.
    pub push: [Row<State, 6>; 5],
    /// By the column of `snoop`; `None` where nothing may be taken.
    pub snarf: Row<State, 6>,
}

impl Protocol {
    /// What a cache whose copy is in `state` does about `access`.
    ///
    /// A request is formed when the bus is *granted*, from the state that the
    /// copy has by then: another agent's transaction may have come first.
    #[inline]
    pub fn access(&self, state: State, access: Access) -> AccessAction {
        match self.access[state as usize][access as usize] {
            Some(action) => action,
            None => self.excluded(state, &access),
        }
    }

    /// The state of the own copy once `request` has been carried out; `shared`
    /// says whether any other cache asserted the shared line.
    #[inline]
    pub fn fill(&self, request: Request, shared: bool) -> State {
        match self.fill[request as usize][shared as usize] {
            Some(state) => state,
            None if shared => self.excluded("shared line asserted", &request),
            None => self.excluded("no sharer", &request),
        }
    }

    /// What a cache whose copy is in `state` does about another agent's
    /// transaction.
    #[inline]
    pub fn snoop(&self, state: State, snoop: Snoop) -> SnoopAction {
        match self.snoop[state as usize][snoop as usize] {
            Some(action) => action,
            None => self.excluded(state, &snoop),
        }
    }

    /// The state of a copy whose cache refuses another agent's transaction and
    /// pushes the block to its home, where the bus carries no data from cache to
    /// cache; none where it does not refuse, and [`Protocol::snoop`] holds.
    ///
    /// Never an exclusive state: another cache may snarf the bytes on their way.
    #[inline]
    pub fn push(&self, state: State, snoop: Snoop) -> Option<State> {
        self.push[state as usize][snoop as usize]
    }

    /// The state of a copy that a cache without one takes from another agent's
    /// transaction as it passes by; none if it must not.
    ///
    /// Only bytes on their way to the home can be taken: they are the last there
    /// are, home and copy are equal afterwards, and since no cache keeps more than
    /// a shared copy of such a block, no state of others depends on the answer.
    /// Bytes that another cache fetches are left alone; that one would have to
    /// know, before it gets them, that it is not the only one.
    #[inline]
    pub fn snarf(&self, snoop: Snoop) -> Option<State> {
        self.snarf[snoop as usize]
    }

    /// Whether caches that have it are kept coherent: those that answer nobody are not.
    pub fn is_coherent(&self) -> bool {
        self.snoop.as_flattened().iter().any(Option::is_some)
    }

    /// The states that the protocol uses.
    pub fn states(&self) -> &[State] {
        self.states
    }

    /// A `never` entry was reached. The checker proves that a shipped table
    /// never gets here, so this is a fault of the simulator itself.
    #[cold]
    #[inline(never)]
    fn excluded(&self, row: impl fmt::Display, column: &dyn fmt::Debug) -> ! {
        panic!("{} excludes {column:?} in: {row}; coherence has been broken before", self.name)
    }
}

/// The protocol of this name, in upper or lower case.
pub fn by_name(name: &str) -> Option<&'static Protocol> {
    PROTOCOLS.iter().copied().find(|protocol| protocol.name.eq_ignore_ascii_case(name))
}

/// A table in an archive is its name.
pub(crate) mod by_its_name {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Protocol;

    pub fn serialize<S: Serializer>(protocol: &&'static Protocol, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(protocol.name)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static Protocol, D::Error> {
        let name = String::deserialize(deserializer)?;
        super::by_name(&name).ok_or_else(|| D::Error::custom(format!("there is no protocol '{name}'")))
    }
}

/// The names of all protocols, in alphabetical order.
pub fn names() -> Vec<&'static str> {
    PROTOCOLS.iter().map(|protocol| protocol.name).collect()
}

/// The names of those that keep caches coherent, in alphabetical order.
pub fn coherent() -> Vec<&'static str> {
    PROTOCOLS.iter().filter(|protocol| protocol.is_coherent()).map(|protocol| protocol.name).collect()
}

/// Writes a [`Protocol`] as three tables. States are the letters M O E S I, of
/// which a protocol lists those it has. A cell of `access` is `hit STATE`,
/// `ask REQUEST` or `drop`; a cell of `fill` is a state; a cell of `snoop` is
/// the next state and any of `supplies`, `shares`, `updates_home`; a cell of
/// `push` or `snarf` is a state. Every cell may be `never`. One whose caches hear of nobody
/// has no rows in `snoop` and `push`.
macro_rules! protocol {
    (
        name: $name:literal;
        access {
            Load | Store | Evict;
            $( $holds:ident: $($load:ident)+ | $($store:ident)+ | $($evict:ident)+; )+
        }
        fill {
            alone | shared;
            $( $request:ident: $alone:ident | $shared:ident; )+
        }
        snoop {
            Read | ReadExclusive | Upgrade | WriteBack | WriteBlock | ReadOnce;
            $( $sees:ident: $($read:ident)+ | $($exclusive:ident)+ | $($upgrade:ident)+
                | $($write_back:ident)+ | $($write_block:ident)+ | $($read_once:ident)+; )*
        }
        push {
            Read | ReadExclusive | ReadOnce;
            $( $owns:ident: $pushed_read:ident | $pushed_exclusive:ident | $pushed_once:ident; )*
        }
        snarf {
            WriteBack | WriteBlock;
            $snarfed_back:ident | $snarfed_block:ident;
        }
    ) => {
        $crate::protocols::Protocol {
            name: $name,
            states: &[$( protocol!(@state $holds) ),+],
            access: {
                let mut rows = [[None; 3]; 5];
                $( rows[protocol!(@state $holds) as usize] = [
                    protocol!(@access $($load)+),
                    protocol!(@access $($store)+),
                    protocol!(@access $($evict)+),
                ]; )+
                rows
            },
            fill: {
                let mut rows = [[None; 2]; 4];
                $( rows[$crate::protocols::Request::$request as usize] =
                    [protocol!(@fill $alone), protocol!(@fill $shared)]; )+
                rows
            },
            snoop: {
                #[allow(unused_mut)]
                let mut rows = [[None; 6]; 5];
                $( rows[protocol!(@state $sees) as usize] = [
                    protocol!(@snoop $($read)+),
                    protocol!(@snoop $($exclusive)+),
                    protocol!(@snoop $($upgrade)+),
                    protocol!(@snoop $($write_back)+),
                    protocol!(@snoop $($write_block)+),
                    protocol!(@snoop $($read_once)+),
                ]; )*
                rows
            },
            push: {
                #[allow(unused_mut)]
                let mut rows = [[None; 6]; 5];
                $(
                    let row: &mut $crate::protocols::Row<_, 6> = &mut rows[protocol!(@state $owns) as usize];
                    row[$crate::protocols::Snoop::Read as usize] = protocol!(@fill $pushed_read);
                    row[$crate::protocols::Snoop::ReadExclusive as usize] = protocol!(@fill $pushed_exclusive);
                    row[$crate::protocols::Snoop::ReadOnce as usize] = protocol!(@fill $pushed_once);
                )*
                rows
            },
            snarf: {
                let mut row = [None; 6];
                row[$crate::protocols::Snoop::WriteBack as usize] = protocol!(@fill $snarfed_back);
                row[$crate::protocols::Snoop::WriteBlock as usize] = protocol!(@fill $snarfed_block);
                row
            },
        }
    };

    (@state I) => { $crate::protocols::State::Invalid };
    (@state S) => { $crate::protocols::State::Shared };
    (@state E) => { $crate::protocols::State::Exclusive };
    (@state O) => { $crate::protocols::State::Owned };
    (@state M) => { $crate::protocols::State::Modified };

    (@access never) => { None };
    (@access drop) => { Some($crate::protocols::AccessAction::Drop) };
    (@access hit $next:ident) => {
        Some($crate::protocols::AccessAction::Hit(protocol!(@state $next)))
    };
    (@access ask $request:ident) => {
        Some($crate::protocols::AccessAction::Ask($crate::protocols::Request::$request))
    };

    (@fill never) => { None };
    (@fill $state:ident) => { Some(protocol!(@state $state)) };

    (@snoop never) => { None };
    (@snoop $next:ident $($signal:ident)*) => {{
        #[allow(unused_mut)]
        let mut action = $crate::protocols::SnoopAction {
            next: protocol!(@state $next),
            supplies: false,
            shares: false,
            updates_home: false,
        };
        $( action.$signal = true; )*
        Some(action)
    }};
}

include!(concat!(env!("OUT_DIR"), "/protocols.rs"));

#[cfg(test)]
mod tests;
