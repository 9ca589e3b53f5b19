//! The model checker of shared memory's invalidation protocol: every
//! interleaving of a few nodes' loads, stores and messages.
//!
//! ```text
//!     node 0, the home          node 1            node 2
//!     copy, directory, queue    copy, held        copy, held
//!           |                     |                 |
//!     ======+=====================+=================+====== messages, in any order
//! ```
//!
//! The table is the file that the guest library includes ([`table`]). From every
//! state, everything happens that can happen next: any node loads or stores, and
//! any of the messages under way arrives. Loads and stores have no end; what is
//! proven of all that follows from any of them is named in [`PROPERTIES`].
//!
//! Four nodes show everything that the table can do: a home that counts the
//! acknowledgements of two readers while a third node waits.
//!
//! One block is explored, because the table never speaks of two. The messages
//! that the library keeps in its own queues (those held, and requests that have
//! waited) are messages under way here, and may arrive in any order too.

mod step;
mod table;
mod world;

#[cfg(test)]
mod tests;

use narthex_kernel::digest::Digest;
use narthex_machine::Failure;

use crate::explore::{NO_TRAP, System, Violation};
use crate::report::{Check, Report};
use step::{NO_EXCLUDED, ONE_ASKED, SENDABLE, Step};
use table::Table;
use world::{AGREES, ONE_WRITER, READS_LAST, Transition, World};

/// What is proven when every state has been visited.
const PROPERTIES: [&str; 7] = [ONE_WRITER, READS_LAST, NO_EXCLUDED, SENDABLE, ONE_ASKED, AGREES, NO_TRAP];

/// A home and another node; and the most nodes that can be checked in
/// reasonable time.
const FEWEST_NODES: u8 = 2;
const LARGEST_NODES: u8 = 5;

/// A table to be checked on a number of nodes.
struct CheckedTable<'a> {
    table: &'a Table,
    nodes: u8,
}

/// Checks the table in a file's text on `nodes` nodes, of which one is the home,
/// up to `limit` states; `without` names a row to leave out.
///
/// # Errors
/// If the text is no table, or an argument is out of range. A table that does
/// not hold is a result.
pub fn check_file(
    text: &str,
    nodes: u64,
    without: Option<&str>,
    limit: usize,
    observe: &mut dyn FnMut(usize) -> bool,
) -> Result<Report, Failure> {
    let table =
        Table::parse(text).map_err(|error| Failure::usage(format!("the protocol's table, {error}")))?;
    let allowed = u64::from(FEWEST_NODES)..=u64::from(LARGEST_NODES);
    if !allowed.contains(&nodes) {
        let problem =
            format!("{nodes} nodes cannot be checked; allowed are {FEWEST_NODES} to {LARGEST_NODES}");
        return Err(Failure::usage(problem));
    }
    let table = match without {
        Some(row) => table.without(row).map_err(Failure::usage)?,
        None => table,
    };
    Ok(check_table(&table, nodes as u8, limit, observe).without(without))
}

/// Explores every interleaving of nodes that run a table.
fn check_table(table: &Table, nodes: u8, limit: usize, observe: &mut dyn FnMut(usize) -> bool) -> Report {
    let form = format!("{nodes} nodes, one block, messages that overtake each other");
    let mut check = Check::of("shared memory", form, limit, observe);
    check.explore("loads and stores without end", &mut CheckedTable { table, nodes });
    check.finish(&PROPERTIES)
}

impl System for CheckedTable<'_> {
    type State = World;
    type Event = Transition;

    fn start(&mut self) -> Result<World, Violation> {
        let world = World::first(self.table, self.nodes);
        world.check(self.table).map(|()| world)
    }

    fn events(&self, world: &World) -> Vec<Transition> {
        world.transitions(self.table)
    }

    fn next(
        &mut self,
        world: &World,
        transition: Transition,
        story: Option<&mut String>,
    ) -> Result<World, Violation> {
        Step { table: self.table, world: world.clone(), story }.run(transition)
    }

    fn digest(&self, world: &World) -> u128 {
        Digest::of(world)
    }

    fn is_final(&self, world: &World) -> bool {
        world.is_quiet()
    }

    fn progress(&self, _: &World) -> u64 {
        0
    }

    fn describe(&self, world: &World) -> String {
        world.describe(self.table)
    }
}
