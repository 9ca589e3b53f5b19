//! The model checker of directories: every order in which the messages of a few caches, a
//! device and a home can arrive.
//!
//! ```text
//!   cache A   cache B   cache C   device        a cache has room for one of two blocks, or for both
//!      |         |         |        |
//!   ===+=========+=========+========+=====      messages in any order, of any lane
//!                     |
//!            home and memory of both blocks
//! ```
//!
//! Homes, requesters and answers are the simulator's own ([`narthex_memory::directory`]), and
//! so is the table. Caches are the stable table's states, and bytes are how new they
//! are. From every state anything happens that can: loads, stores, replacements, reads and
//! writes of a device, and the arrival of any message. What is proven of that is named in
//! [`PROPERTIES`].
//!
//! A cache and the device may be behind a CXL link ([`link`]), whose ends are the simulator's
//! ([`narthex_memory::interconnects::cxl`]): two explorations more ([`Scope::LINKS`]). A device behind one may be the home of the block ([`device_home`]):
//! two again ([`Scope::MEMORY`]). Three have a coherent link instead ([`Scope::COHERENT`]).
//!
//! Four explorations of each protocol ([`Scope::ALL`]). Tables do not speak of two blocks.
//! The second and the third one are there because a cache may return one block while it asks
//! for the other; the fourth one because a processor with several misses asks for both. With
//! two blocks, messages whose order can make no difference come as soon as they can; with one,
//! every order is tried.

mod device_home;
mod link;
mod mutants;
mod step;
mod world;

#[cfg(test)]
mod tests;

use narthex_machine::Failure;
use narthex_memory::directory::{Table, protocols};

use crate::explore::{NO_TRAP, System, Violation};
use crate::report::{Check, Report};
use crate::{nearest, no_protocol};
use step::Step;
use world::{Event, IN_TIME, KNOWN, LAST, NO_NEVER, NOT_LOST, ONE_WRITER, World};

/// What is proven when every state has been visited.
pub const PROPERTIES: [&str; 7] = [ONE_WRITER, LAST, IN_TIME, KNOWN, NOT_LOST, NO_NEVER, NO_TRAP];

/// What is explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scope {
    /// Caches, 1 to 3.
    pub caches: u8,
    /// Blocks, 1 or 2.
    pub blocks: u8,
    /// Whether there is a device that reads and writes whole blocks.
    pub device: bool,
    /// Whether messages come in every order, also where the order makes no difference
    /// ([`World::events`]).
    pub every_order: bool,
    /// Whether a cache has room for both blocks, and its owner asks for both at once.
    pub at_once: bool,
    /// Whether the last cache and the device are behind a link.
    pub link: Link,
}

/// What is between the directory and the last of the caches, and the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// Nothing.
    None,
    /// A CXL link: in order each way.
    InOrder,
    /// One whose snoops pass GOs, which must not hold.
    SnoopsPass,
    /// A CXL link with the device alone behind it, as the home of the block.
    Memory,
    /// The same, but the host's requests pass what was sent before, which must not hold.
    RequestsPass,
    /// A coherent link: bytes are in the message that they belong to, and responses pass requests and forwards.
    Coherent,
    /// A coherent link with the device alone behind it, as the home of the block.
    CoherentMemory,
}

impl Link {
    /// Whether it has channels, and bytes have no messages of their own.
    fn is_coherent(self) -> bool {
        matches!(self, Link::Coherent | Link::CoherentMemory)
    }
}

impl Scope {
    /// Three caches and a device with one block, in every order; three caches and two blocks;
    /// two caches and a device with both; two caches whose owners ask for both at once.
    pub const ALL: [Scope; 4] = [
        Scope { caches: 3, blocks: 1, device: true, every_order: true, at_once: false, link: Link::None },
        Scope { caches: 3, blocks: 2, device: false, every_order: false, at_once: false, link: Link::None },
        Scope { caches: 2, blocks: 2, device: true, every_order: false, at_once: false, link: Link::None },
        Scope { caches: 2, blocks: 2, device: false, every_order: false, at_once: true, link: Link::None },
    ];

    /// One block, for tables of which most do not hold.
    pub const SMALL: [Scope; 3] = [
        Scope { caches: 2, blocks: 1, device: false, every_order: true, at_once: false, link: Link::None },
        Scope { caches: 2, blocks: 1, device: true, every_order: true, at_once: false, link: Link::None },
        Scope { caches: 3, blocks: 1, device: true, every_order: true, at_once: false, link: Link::None },
    ];

    /// Two caches of the host and one behind a CXL link; one of each, and a device behind the link that
    /// reads and writes whole blocks.
    pub const LINKS: [Scope; 2] = [
        Scope { caches: 3, blocks: 1, device: false, every_order: true, at_once: false, link: Link::InOrder },
        Scope { caches: 2, blocks: 1, device: true, every_order: true, at_once: false, link: Link::InOrder },
    ];

    /// Two and three caches of the host, and behind a CXL link a device that is the home of the block, reads and
    /// writes it.
    pub const MEMORY: [Scope; 2] = [
        Scope { caches: 2, blocks: 1, device: true, every_order: true, at_once: false, link: Link::Memory },
        Scope { caches: 3, blocks: 1, device: true, every_order: true, at_once: false, link: Link::Memory },
    ];

    /// The same behind a coherent link.
    pub const COHERENT: [Scope; 3] = [
        Scope { link: Link::Coherent, ..Scope::LINKS[0] },
        Scope { link: Link::Coherent, ..Scope::LINKS[1] },
        Scope { link: Link::CoherentMemory, ..Scope::MEMORY[0] },
    ];

    /// The number of the cache behind the link, if there is one.
    fn linked(self) -> Option<u8> {
        matches!(self.link, Link::InOrder | Link::SnoopsPass | Link::Coherent).then(|| self.caches - 1)
    }

    fn words(self) -> String {
        let device = if self.device { ", a device" } else { "" };
        let blocks = if self.blocks == 1 { "one block" } else { "two blocks" };
        let orders = if self.every_order { ", every order" } else { "" };
        let at_once = if self.at_once { " at once" } else { "" };
        let link = match self.link {
            Link::None => "",
            Link::InOrder => ", the last behind a CXL link",
            Link::SnoopsPass => ", the last behind a link whose snoops pass GOs",
            Link::Memory => ", its home behind a CXL link",
            Link::RequestsPass => ", its home behind a link whose requests pass",
            Link::Coherent => ", the last behind a coherent link",
            Link::CoherentMemory => ", its home behind a coherent link",
        };
        format!("{} caches{device}, {blocks}{at_once}{orders}{link}", self.caches)
    }
}

/// A table to be explored.
struct Checked<'a> {
    table: &'a Table,
    scope: Scope,
}

/// Explores a table in each of these scopes, up to `limit` states each, until one fails.
pub fn check(
    table: &Table,
    scopes: &[Scope],
    limit: usize,
    observe: &mut dyn FnMut(usize) -> bool,
) -> Report {
    let form = "a directory whose messages overtake each other";
    let mut check = Check::of(table.stable.name, form, limit, observe);
    scopes.iter().for_each(|&scope| check.explore(scope.words(), &mut Checked { table, scope }));
    check.finish(&PROPERTIES)
}

/// Checks the shipped table of this name, or one of its [`mutants`].
///
/// # Errors
/// If there is none. A table that does not hold is a result.
pub fn check_named(
    name: &str,
    change: Option<&str>,
    limit: usize,
    observe: &mut dyn FnMut(usize) -> bool,
) -> Result<Report, Failure> {
    let table = protocols::by_name(name).filter(|table| table.tracks_copies());
    let table = table.ok_or_else(|| no_protocol(name, &protocols::coherent()))?;
    let Some(change) = change else {
        return Ok(check(
            table,
            &[&Scope::ALL[..], &Scope::LINKS, &Scope::MEMORY, &Scope::COHERENT].concat(),
            limit,
            observe,
        ));
    };
    let mutants = mutants::of(table);
    let Some(mutant) = mutants.iter().find(|mutant| mutant.name == change) else {
        let names: Vec<&str> = mutants.iter().map(|mutant| mutant.name.as_str()).collect();
        let hint = nearest(change, &names).unwrap_or_default();
        let problem =
            format!("the tables of {} have no change '{change}'; did you mean '{hint}'?", table.stable.name);
        return Err(Failure::usage(problem));
    };
    let report = check(&mutant.table, &Scope::SMALL, limit, observe);
    Ok(Report { changed: Some(change.to_owned()), ..report })
}

impl System for Checked<'_> {
    type State = World;
    type Event = Event;

    fn start(&mut self) -> Result<World, Violation> {
        Ok(World::first(self.scope))
    }

    fn events(&self, world: &World) -> Vec<Event> {
        world.events(self.scope)
    }

    fn next(&mut self, world: &World, event: Event, story: Option<&mut String>) -> Result<World, Violation> {
        Step { table: self.table, world: world.clone(), scope: self.scope, story }.run(event)
    }

    fn digest(&self, world: &World) -> u128 {
        world.digest()
    }

    fn is_final(&self, world: &World) -> bool {
        world.is_quiet()
    }

    fn progress(&self, _: &World) -> u64 {
        0
    }

    fn describe(&self, world: &World) -> String {
        world.describe()
    }
}
