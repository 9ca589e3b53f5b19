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
//! So are owners that refuse: a cache with a dirty copy refuses another's transaction,
//! and the bus carries its block home before anything else. Refusals and pushes that
//! alone lead back to where they began are a livelock ([`livelock`]).
//!
//! What a proof covers: one block (blocks do not interact in the table), the
//! given number of caches, transactions that are atomic on the bus. What it does
//! not: fairness of the bus's arbitration, and timing.

mod livelock;
mod step;
mod world;

#[cfg(test)]
mod tests;

use crate::protocols::Protocol;
use livelock::IdleSteps;
use serde::Serialize;
use std::collections::HashMap;
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
    refusing: bool,
}

impl CheckOptions {
    /// Explore with this many caches, 1 to [`LARGEST_CACHES`].
    pub fn with_caches(caches: usize) -> Result<Self, CheckError> {
        match u8::try_from(caches) {
            Ok(caches @ 1..=LARGEST_CACHES) => Ok(CheckOptions { caches, ..CheckOptions::default() }),
            _ => Err(CheckError::Caches { caches }),
        }
    }

    /// The same with caches that snarf: a line remembers the block that it lost
    /// and takes its bytes when they pass by on their way home.
    pub fn snarfing(self) -> Self {
        CheckOptions { snarfing: true, ..self }
    }

    /// The same on a bus that carries no data from cache to cache: the owner of a dirty
    /// block refuses others' transactions and pushes it home first.
    pub fn refusing(self) -> Self {
        CheckOptions { refusing: true, ..self }
    }
}

impl Default for CheckOptions {
    /// Three caches: a writer, a reader, and one more that sees both. Each pair
    /// of states meets in front of a third.
    fn default() -> Self {
        CheckOptions { caches: 3, snarfing: false, refusing: false }
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
    NoLivelock,
}

impl Property {
    const ALL: [Property; 10] = [
        Property::OneWriter,
        Property::LoadsLast,
        Property::StoresLast,
        Property::ReadsOnceLast,
        Property::NothingLost,
        Property::OneSupplier,
        Property::SharedLine,
        Property::NoNever,
        Property::NoDeadlock,
        Property::NoLivelock,
    ];

    /// Those that a check with these options proves.
    fn proven(options: CheckOptions) -> impl Iterator<Item = Property> {
        Self::ALL.into_iter().filter(move |&property| property != Property::NoLivelock || options.refusing)
    }

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
            Property::NoLivelock => {
                "no livelock: refusals and pushes alone never lead back to where they began"
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
    /// Whether the owner of a dirty block refuses others' transactions.
    pub refusing: bool,
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
        let refusing = if self.refusing { ", owners that refuse and push" } else { "" };
        let Self { protocol, caches, .. } = self;
        writeln!(f, "{protocol} {verdict}: {caches} caches{snarfing}, one block, home memory{refusing}")?;
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
    let violation = search.explore().map(|(reached, event)| search.tell(reached, event));
    let counter_example = violation.or_else(|| search.livelock());
    CheckReport {
        protocol: protocol.name,
        caches: options.caches,
        snarfing: options.snarfing,
        refusing: options.refusing,
        states: search.reached.len(),
        transitions: search.transitions,
        depth: search.reached.last().map_or(0, |farthest| farthest.depth),
        proven: match counter_example {
            Some(_) => Vec::new(),
            None => Property::proven(options).map(Property::sentence).collect(),
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
    /// The place of each world in `reached`.
    known: HashMap<World, usize>,
    /// Events that got nothing done.
    idle: IdleSteps,
    transitions: usize,
}

impl<'a> Search<'a> {
    fn new(protocol: &'a Protocol, options: CheckOptions) -> Self {
        let world = World::initial(options);
        Search {
            protocol,
            options,
            known: HashMap::from([(world.clone(), 0)]),
            idle: IdleSteps::default(),
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
                    Ok((next, is_idle)) => {
                        let to = self.discover(next.canonical(), place, event);
                        if is_idle {
                            self.idle.add(place, to, event);
                        }
                    }
                    Err(_) => return Some((place, event)),
                }
            }
            place += 1;
        }
        None
    }

    /// The place of a world.
    fn discover(&mut self, world: World, from: usize, event: Event) -> usize {
        let new = self.reached.len();
        let place = *self.known.entry(world.clone()).or_insert(new);
        if place == new {
            let depth = self.reached[from].depth + 1;
            self.reached.push(Reached { world, depth, from: Some((from, event)) });
        }
        place
    }

    /// Repeats the way to a violation with real version numbers and tells it.
    fn tell(&self, place: usize, violating: Event) -> CounterExample {
        let mut way = self.way_to(place);
        way.push(violating);
        let (mut steps, end) = self.told(way);
        let Some((story, Violation { property, words })) = end else {
            unreachable!("an event that violates a property does so again when it is told")
        };
        steps.push(format!("{story}, but {words}"));
        CounterExample { violated: property.sentence(), steps }
    }

    /// The way to a circle of refusals and pushes, and once round it, if there is one.
    fn livelock(&self) -> Option<CounterExample> {
        let (place, circle) = self.idle.circle()?;
        let mut way = self.way_to(place);
        let before = way.len();
        way.extend(circle);
        let (mut steps, _) = self.told(way);
        steps.push(format!("the same again from step {} on, for ever", before + 1));
        Some(CounterExample { violated: Property::NoLivelock.sentence(), steps })
    }

    /// Events from the start on, with real version numbers, in words; and the one that
    /// violates a property.
    fn told(&self, way: Vec<Event>) -> (Vec<String>, Option<(String, Violation)>) {
        let mut world = World::initial(self.options);
        let mut steps = Vec::new();
        for event in way {
            let (result, story) = Step::told(self.protocol, &world, event);
            match result {
                Ok(next) => world = next,
                Err(violation) => return (steps, Some((story, violation))),
            }
            steps.push(story);
        }
        (steps, None)
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
