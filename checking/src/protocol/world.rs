//! The small world that the checker explores: a few caches, home memory and one
//! block; and what must hold in it at any time.
//!
//! Data is reduced to a *version*: every write of the block makes a new one, and
//! each copy remembers the version that it holds. What matters of a version is
//! only whether it is the last, so [`World::canonical`] renumbers the last one 1
//! and all others 0, which makes the number of worlds finite. A counter-example
//! is told without that step, so that it can say which version a cache has read.

use std::fmt;

use narthex_memory::protocols::{Access, State};

use super::{NOTHING_LOST, ONE_WRITER, Scope};
use crate::explore::Violation;

/// The version of a block that a copy holds; [`NO_DATA`] where there is none.
pub(super) type Version = u32;

/// What a copy holds that was never filled.
pub(super) const NO_DATA: Version = 0;

/// The version in home memory at the start.
const FIRST: Version = 1;

/// One cache, as far as the block is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Line {
    pub(super) state: State,
    pub(super) version: Version,
    /// The access for which the bus has been asked but not granted.
    pub(super) pending: Option<Access>,
    /// The line is empty and remembers that it held the block.
    pub(super) lost: bool,
}

/// All caches, home memory, and the last version that a store wrote.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) lines: Vec<Line>,
    /// The caches snarf.
    pub(super) snarfing: bool,
    /// Owners refuse.
    pub(super) refusing: bool,
    /// The block on its way home from a cache that has refused.
    pub(super) push: Option<(Cache, Version)>,
    pub(super) home: Version,
    pub(super) last: Version,
}

/// The name of a cache in counter-examples: A, B, C.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Cache(pub(super) u8);

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cache {}", char::from(b'A' + self.0))
    }
}

/// Anything that can happen next.
#[derive(Clone, Copy)]
pub(super) enum Event {
    /// A cache's owner accesses the block.
    Access(Cache, Access),
    /// The bus grants a cache that has asked.
    Grant(Cache),
    /// The bus carries the block home that a cache pushes.
    Push,
    /// The empty line of a lost block takes another block.
    Forget(Cache),
    /// A device without a cache replaces the whole block.
    WriteBlock,
    /// A device without a cache reads the block.
    ReadOnce,
}

impl World {
    /// All copies invalid, home memory up to date.
    pub(super) fn initial(scope: Scope) -> Self {
        let empty = Line { state: State::Invalid, version: NO_DATA, pending: None, lost: false };
        let lines = vec![empty; scope.caches as usize];
        World {
            lines,
            snarfing: scope.snarfing,
            refusing: scope.refusing,
            push: None,
            home: FIRST,
            last: FIRST,
        }
    }

    /// Everything that can happen in this world. A cache that waits for the bus
    /// serves its owner nothing else; there is nothing to evict of an invalid
    /// line. A push has the bus before all others.
    pub(super) fn events(&self) -> impl Iterator<Item = Event> + '_ {
        let of_caches = self.lines.iter().zip(0..).flat_map(|(line, index)| {
            let cache = Cache(index);
            let accesses = Access::ALL
                .into_iter()
                .filter(|&access| access != Access::Evict || line.state.is_readable())
                .filter(|_| line.pending.is_none())
                .map(move |access| Event::Access(cache, access));
            let forgets = line.lost && line.pending.is_none();
            accesses
                .chain(line.pending.filter(|_| self.push.is_none()).map(|_| Event::Grant(cache)))
                .chain(forgets.then_some(Event::Forget(cache)))
        });
        let of_bus = match self.push {
            Some(_) => &[Event::Push][..],
            None => &[Event::WriteBlock, Event::ReadOnce][..],
        };
        of_caches.chain(of_bus.iter().copied())
    }

    /// The same world with its versions reduced to "last" and "not the last".
    pub(super) fn canonical(mut self) -> Self {
        let last = self.last;
        let reduce = |version: Version| if version == last { FIRST } else { NO_DATA };
        for line in &mut self.lines {
            line.version = reduce(line.version);
        }
        self.home = reduce(self.home);
        self.push = self.push.map(|(cache, version)| (cache, reduce(version)));
        self.last = FIRST;
        self
    }

    /// What must hold in every world, whatever happened.
    pub(super) fn invariants(&self) -> Result<(), Violation> {
        let count = |of: fn(State) -> bool| self.lines.iter().filter(|line| of(line.state)).count();
        let readers = count(State::is_readable);
        if count(State::is_writable) > 0 && readers > 1 || count(State::is_dirty) > 1 {
            let holders = self.holders(State::is_readable);
            return Err(Violation::new(ONE_WRITER, format!("now {holders}")));
        }
        let kept = |line: &Line| line.state.is_dirty() && line.version == self.last;
        let is_pushed = self.push.is_some_and(|(_, version)| version == self.last);
        if self.home != self.last && !is_pushed && !self.lines.iter().any(kept) {
            let words = format!(
                "now home memory has version {} and no dirty copy has version {}, the last write",
                self.home, self.last
            );
            return Err(Violation::new(NOTHING_LOST, words));
        }
        Ok(())
    }

    /// "cache A is modified and cache B is shared", of the matching caches.
    fn holders(&self, of: fn(State) -> bool) -> String {
        let matching = self.lines.iter().zip(0..).filter(|(line, _)| of(line.state));
        let words: Vec<String> =
            matching.map(|(line, index)| format!("{} is {}", Cache(index), line.state)).collect();
        words.join(" and ")
    }
}
