//! The model checker: proves a protocol table right, or shows how it fails.
//!
//! A coherence protocol goes wrong in the interleavings that its designer did not think of:
//! two caches ask for the same block, the bus grants one, and the other's
//! request no longer fits its copy. There are not many states of a few caches
//! and one block, so the checker visits *all* of them, breadth first: from each,
//! it lets everything happen that can happen next (`step.rs` has the rules) and
//! looks at every load, store and transaction on the way.
//!
//! ```text
//!          loads, stores, evicts                      a device's
//!       |            |            |            WriteBlock, ReadOnce
//!  +---------+  +---------+  +---------+                 |
//!  | cache A |  | cache B |  | cache C |  state, data,   |
//!  +---------+  +---------+  +---------+  waiting access |
//!       |            |            |                      |
//!  =====+============+============+======================+==== bus: one
//!                          |                                   atomic
//!                     home memory                              transaction
//! ```
//!
//! A cache that must ask the bus waits, and anything may come first. When the
//! bus grants it, the cache issues the transaction that its copy needs *then*:
//! an Upgrade whose copy has been invalidated meanwhile becomes a
//! ReadExclusive. The simulator's caches do just that, with the same table.
//!
//! Caches that snarf are an option: a line that lost its block to another's
//! transaction remembers it until it is used again, and takes its bytes when they
//! cross the bus to home memory.
//!
//! So are owners that refuse: a cache with a dirty copy refuses another's transaction,
//! and the bus carries its block home before anything else. Refusals and pushes that
//! alone lead back to where they began are a livelock ([`NO_IDLE_CIRCLE`]).
//!
//! What a proof covers: one block (blocks do not interact in the table), the
//! given number of caches, transactions that are atomic on the bus. What it does
//! not: fairness of the bus's arbitration, and timing.

mod step;
mod world;

#[cfg(test)]
mod tests;

use narthex_kernel::digest::Digest;
use narthex_memory::protocols::Protocol;

use crate::explore::{NO_IDLE_CIRCLE, System, Violation};
use crate::report::{Check, Report};
use step::Step;
use world::{Event, World};

/// What is explored of a protocol.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    /// Caches that share the block.
    pub caches: u8,
    /// A line remembers the block that it lost and takes its bytes when they pass by on
    /// their way home.
    pub snarfing: bool,
    /// The bus carries no data from cache to cache: the owner of a dirty block refuses
    /// others' transactions and pushes it home first.
    pub refusing: bool,
}

impl Scope {
    /// Three caches: a writer, a reader, and one more that sees both. Each pair
    /// of states meets in front of a third.
    pub const PLAIN: Scope = Scope { caches: 3, snarfing: false, refusing: false };

    /// With caches that do not snarf and with caches that do; with owners that supply and
    /// with owners that refuse.
    pub const ALL: [Scope; 4] = [
        Scope::PLAIN,
        Scope { snarfing: true, ..Scope::PLAIN },
        Scope { refusing: true, ..Scope::PLAIN },
        Scope { snarfing: true, refusing: true, ..Scope::PLAIN },
    ];

    fn words(self) -> String {
        let snarfing = if self.snarfing { " that snarf" } else { "" };
        let refusing = if self.refusing { ", owners that refuse and push" } else { "" };
        format!("{} caches{snarfing}{refusing}", self.caches)
    }
}

const ONE_WRITER: &str = "a block has one writer or many readers, and at most one dirty copy";
const LOADS_LAST: &str = "every load returns the last value written";
const STORES_LAST: &str = "every store finds the last version of the block it changes";
const READS_ONCE_LAST: &str = "a device's ReadOnce returns the last value written";
const NOTHING_LOST: &str = "no write is lost: home memory or a dirty copy has the last";
const ONE_SUPPLIER: &str = "data is supplied where it is asked for, by at most one cache";
const SHARED_LINE: &str = "a cache asserts the shared line just if it keeps a copy";
const NO_NEVER: &str = "no combination that the table excludes is reached";
const NO_DEADLOCK: &str = "no deadlock: the bus can grant every waiting cache, and then its access is done";

/// What is proven when every state has been visited; the last where owners refuse.
pub const PROPERTIES: [&str; 10] = [
    ONE_WRITER,
    LOADS_LAST,
    STORES_LAST,
    READS_ONCE_LAST,
    NOTHING_LOST,
    ONE_SUPPLIER,
    SHARED_LINE,
    NO_NEVER,
    NO_DEADLOCK,
    NO_IDLE_CIRCLE,
];

/// Explores every state that `protocol` can reach in each of these scopes, until one fails.
pub fn check(protocol: &Protocol, scopes: &[Scope]) -> Report {
    let observe = &mut |_| true;
    let mut check = Check::of(protocol.name, "one block, home memory", usize::MAX, observe);
    for &scope in scopes {
        check.explore(scope.words(), &mut Checked { protocol, scope });
    }
    let refusing = scopes.iter().any(|scope| scope.refusing);
    check.finish(&PROPERTIES[..PROPERTIES.len() - usize::from(!refusing)])
}

/// A table to be explored.
struct Checked<'a> {
    protocol: &'a Protocol,
    scope: Scope,
}

impl System for Checked<'_> {
    type State = World;
    type Event = Event;

    fn start(&mut self) -> Result<World, Violation> {
        Ok(World::initial(self.scope))
    }

    fn events(&self, world: &World) -> Vec<Event> {
        world.events().collect()
    }

    /// Versions are reduced where the search goes on, and kept where it is told.
    fn next(&mut self, world: &World, event: Event, story: Option<&mut String>) -> Result<World, Violation> {
        let is_told = story.is_some();
        let next = Step { protocol: self.protocol, world: world.clone(), story }.after(event)?;
        Ok(if is_told { next } else { next.canonical() })
    }

    /// It only refuses or pushes.
    fn is_idle(&self, before: &World, event: Event, after: &World) -> bool {
        matches!(event, Event::Push) || before.push.is_none() && after.push.is_some()
    }

    fn digest(&self, world: &World) -> u128 {
        Digest::of(world)
    }

    /// Caches go on for ever: that each access is done in the end is seen where it is
    /// granted.
    fn is_final(&self, _: &World) -> bool {
        true
    }

    fn progress(&self, _: &World) -> u64 {
        0
    }

    fn describe(&self, _: &World) -> String {
        String::new()
    }
}
