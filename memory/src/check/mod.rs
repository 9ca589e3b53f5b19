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
//! Because the search is breadth first, the first violation found is one of the
//! shortest, and it is told in words, event by event.
//!
//! Caches that snarf are an option: a line that lost its block to another's
//! transaction remembers it until it is used again, and takes its bytes when they
//! cross the bus to home memory.
//!
//! What a proof covers: one block (blocks do not interact in the table), the
//! given number of caches, transactions that are atomic on the bus. What it does
//! not: fairness of the bus's arbitration, and timing.

mod step;
mod world;

#[cfg(test)]
mod tests;

use crate::protocols::Protocol;
use serde::Serialize;
use std::collections::HashSet;
use std::fmt;
use std::time::Instant;
use step::Step;
use world::{Event, World};

/// The largest number of caches that can be checked in reasonable time.
pub const LARGEST_CACHES: u8 = 5;

/// How much to explore.
#[derive(Clone, Copy, Debug)]
pub struct CheckOptions {
    caches: u8,
    snarfing: bool,
}

impl CheckOptions {
    /// Explore with this many caches, 1 to [`LARGEST_CACHES`].
    pub fn with_caches(caches: usize) -> Result<Self, CheckError> {
        match u8::try_from(caches) {
            Ok(caches @ 1..=LARGEST_CACHES) => Ok(CheckOptions { caches, snarfing: false }),
            _ => Err(CheckError::Caches { caches }),
        }
    }

    /// The same with caches that snarf: a line remembers the block that it lost
    /// and takes its bytes when they pass by on their way home.
    pub fn snarfing(self) -> Self {
        CheckOptions { snarfing: true, ..self }
    }
}

impl Default for CheckOptions {
    /// Three caches: a writer, a reader, and one more that sees both. Each pair
    /// of states meets in front of a third.
    fn default() -> Self {
        CheckOptions { caches: 3, snarfing: false }
    }
}

/// Why a check cannot be made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CheckError {
    /// Too few or too many caches.
    #[error("caches: {caches} cannot be checked; allowed are 1 to {LARGEST_CACHES}")]
    Caches {
        /// The number asked for.
        caches: usize,
    },
}

/// What the checker proves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Property {
    OneWriter,
    LoadsLast,
    StoresLast,
    ReadsOnceLast,
    NothingLost,
    OneSupplier,
    SharedLine,
    NoNever,
    NoDeadlock,
}

impl Property {
    const ALL: [Property; 9] = [
        Property::OneWriter,
        Property::LoadsLast,
        Property::StoresLast,
        Property::ReadsOnceLast,
        Property::NothingLost,
        Property::OneSupplier,
        Property::SharedLine,
        Property::NoNever,
        Property::NoDeadlock,
    ];

    const fn sentence(self) -> &'static str {
        match self {
            Property::OneWriter => "a block has one writer or many readers, and at most one dirty copy",
            Property::LoadsLast => "every load returns the last value written",
            Property::StoresLast => "every store finds the last version of the block it changes",
            Property::ReadsOnceLast => "a device's ReadOnce returns the last value written",
            Property::NothingLost => "no write is lost: home memory or a dirty copy has the last",
            Property::OneSupplier => "data is supplied where it is asked for, by at most one cache",
            Property::SharedLine => "a cache asserts the shared line just if it keeps a copy",
            Property::NoNever => "no combination that the table excludes is reached",
            Property::NoDeadlock => {
                "no deadlock: the bus can grant every waiting cache, and then its access is done"
            }
        }
    }
}

/// A property that an event breaks, and how.
#[derive(Debug)]
struct Violation {
    property: Property,
    /// The end of the story of the event: "..., but WORDS".
    words: String,
}

impl Violation {
    fn new(property: Property, words: String) -> Self {
        Violation { property, words }
    }
}

/// The result of a check. `Display` prints it for people.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// The protocol's name.
    pub protocol: &'static str,
    /// The number of caches explored.
    pub caches: u8,
    /// Whether they snarf.
    pub snarfing: bool,
    /// Different states visited: all that can be reached, if the protocol holds.
    pub states: usize,
    /// Events tried, also those that led to a state known before.
    pub transitions: usize,
    /// The number of events from the start to the farthest state.
    pub depth: usize,
    /// The properties proven, as sentences; none if one is violated.
    pub proven: Vec<&'static str>,
    /// The shortest way to a violation, if there is one.
    pub counter_example: Option<CounterExample>,
    /// The time that the check took, in microseconds.
    pub elapsed_us: u64,
}

impl CheckReport {
    /// Whether every property has been proven.
    pub fn holds(&self) -> bool {
        self.counter_example.is_none()
    }
}

/// The shortest way from the start to a violated property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CounterExample {
    /// The violated property, as a sentence.
    pub violated: &'static str,
    /// What happens, event by event; the last one shows the violation.
    pub steps: Vec<String>,
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.holds() { "holds" } else { "FAILS" };
        let snarfing = if self.snarfing { " that snarf" } else { "" };
        writeln!(f, "{} {verdict}: {} caches{snarfing}, one block, home memory", self.protocol, self.caches)?;
        writeln!(
            f,
            "{} states, {} transitions, depth {}, {:.3} s",
            self.states,
            self.transitions,
            self.depth,
            self.elapsed_us as f64 / 1e6
        )?;
        if !self.proven.is_empty() {
            writeln!(f, "proven:")?;
        }
        self.proven.iter().try_for_each(|sentence| writeln!(f, "  - {sentence}"))?;
        self.counter_example.iter().try_for_each(|example| write!(f, "{example}"))
    }
}

impl fmt::Display for CounterExample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "violated: {}", self.violated)?;
        writeln!(f, "shortest counter-example:")?;
        let mut numbered = self.steps.iter().zip(1..);
        numbered.try_for_each(|(step, number)| writeln!(f, "  {number}. {step}"))
    }
}

/// Explores every state that `protocol` can reach.
pub fn check(protocol: &Protocol, options: CheckOptions) -> CheckReport {
    let start = Instant::now();
    let mut search = Search::new(protocol, options);
    let counter_example = search.explore().map(|(reached, event)| search.tell(reached, event));
    CheckReport {
        protocol: protocol.name,
        caches: options.caches,
        snarfing: options.snarfing,
        states: search.reached.len(),
        transitions: search.transitions,
        depth: search.reached.last().map_or(0, |farthest| farthest.depth),
        proven: match counter_example {
            Some(_) => Vec::new(),
            None => Property::ALL.map(Property::sentence).to_vec(),
        },
        counter_example,
        elapsed_us: start.elapsed().as_micros() as u64,
    }
}

/// A world and the way it was first reached.
struct Reached {
    world: World,
    depth: usize,
    /// The place of the world before in [`Search::reached`], and what happened
    /// there; none at the start.
    from: Option<(usize, Event)>,
}

/// The breadth-first search.
struct Search<'a> {
    protocol: &'a Protocol,
    options: CheckOptions,
    /// Worlds in the order of discovery, hence of depth: also the queue.
    reached: Vec<Reached>,
    known: HashSet<World>,
    transitions: usize,
}

impl<'a> Search<'a> {
    fn new(protocol: &'a Protocol, options: CheckOptions) -> Self {
        let world = World::initial(options);
        Search {
            protocol,
            options,
            known: HashSet::from([world.clone()]),
            reached: vec![Reached { world, depth: 0, from: None }],
            transitions: 0,
        }
    }

    /// Visits everything; stops at the first violation and returns where it
    /// happens.
    fn explore(&mut self) -> Option<(usize, Event)> {
        let mut place = 0;
        while place < self.reached.len() {
            let world = self.reached[place].world.clone();
            for event in world.events() {
                self.transitions += 1;
                match Step::next(self.protocol, &world, event) {
                    Ok(next) => self.discover(next.canonical(), place, event),
                    Err(_) => return Some((place, event)),
                }
            }
            place += 1;
        }
        None
    }

    fn discover(&mut self, world: World, from: usize, event: Event) {
        if self.known.insert(world.clone()) {
            let depth = self.reached[from].depth + 1;
            self.reached.push(Reached { world, depth, from: Some((from, event)) });
        }
    }

    /// Repeats the way to a violation with real version numbers and tells it.
    fn tell(&self, place: usize, violating: Event) -> CounterExample {
        let mut world = World::initial(self.options);
        let mut steps = Vec::new();
        let mut way = self.way_to(place);
        way.push(violating);
        for event in way {
            let (result, story) = Step::told(self.protocol, &world, event);
            match result {
                Ok(next) => world = next,
                Err(Violation { property, words }) => {
                    steps.push(format!("{story}, but {words}"));
                    return CounterExample { violated: property.sentence(), steps };
                }
            }
            steps.push(story);
        }
        unreachable!("an event that violates a property does so again when it is told")
    }

    /// The events from the start to a world.
    fn way_to(&self, place: usize) -> Vec<Event> {
        let before = |&(place, _): &(usize, Event)| self.reached[place].from;
        let mut way: Vec<Event> =
            std::iter::successors(self.reached[place].from, before).map(|(_, event)| event).collect();
        way.reverse();
        way
    }
}
