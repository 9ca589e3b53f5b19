//! The explorer: visits every state of a system, breadth first.
//!
//! It knows nothing of interfaces. A [`System`] says what may happen in a state
//! and what comes of it; the explorer remembers a digest of each state and how
//! it was first reached. Because it goes breadth first, the first violation that
//! it meets is one of the shortest, and it is listed event by event.
//!
//! When every state has been visited, it walks back from the final ones: a state
//! from which none of them can be reached is a *trap*, whether nothing happens
//! there any more (a deadlock) or things happen for ever to no end (a livelock). A system
//! can also say which events get nothing done; a circle of those alone is a livelock as
//! well, although something else could end it (`livelock`).

mod livelock;

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

use livelock::IdleSteps;
use schemars::JsonSchema;
use serde::Serialize;

/// A property that an event breaks, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The property, as a sentence.
    pub property: &'static str,
    /// The end of the story of the event: "..., but WORDS".
    pub words: String,
}

impl Violation {
    /// This property is broken, in this way.
    pub fn new(property: &'static str, words: String) -> Self {
        Violation { property, words }
    }
}

/// What is told of one event as it happens, and the first property that it breaks.
pub(crate) struct Witness<'a> {
    violation: Option<Violation>,
    story: Option<&'a mut String>,
}

impl<'a> Witness<'a> {
    /// Nothing has happened yet; the story is told if there is one.
    pub fn new(story: Option<&'a mut String>) -> Self {
        Witness { violation: None, story }
    }

    /// Adds words to the story.
    pub fn say(&mut self, words: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            story.push_str(&words());
        }
    }

    /// A property is broken unless this holds.
    pub fn expect(&mut self, holds: bool, property: &'static str, words: impl FnOnce() -> String) {
        if !holds && self.violation.is_none() {
            self.violation = Some(Violation { property, words: words() });
        }
    }

    /// The state after the event, if it breaks no property.
    pub fn verdict<S>(self, state: S) -> Result<S, Violation> {
        self.violation.map_or(Ok(state), Err)
    }
}

/// The property that the explorer itself looks after.
pub const NO_TRAP: &str = "no deadlock and no livelock: whatever has happened, the end can still be reached";

/// The property that is looked after where events may be idle ([`System::is_idle`]).
pub const NO_IDLE_CIRCLE: &str = "no livelock: refusals and pushes alone never lead back to where they began";

/// The shortest way from the start to a violated property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CounterExample {
    /// The violated property, as a sentence.
    pub violated: &'static str,
    /// What happens, event by event; the last one shows the violation.
    #[schemars(length(min = 1))]
    pub steps: Vec<String>,
}

impl fmt::Display for CounterExample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "violated: {}", self.violated)?;
        writeln!(f, "shortest counter-example:")?;
        let mut numbered = self.steps.iter().zip(1..);
        numbered.try_for_each(|(step, number)| writeln!(f, "  {number}. {step}"))
    }
}

/// What can be explored.
pub trait System {
    /// Everything that decides what can happen.
    type State: Clone;
    /// Something that can happen.
    type Event: Copy;

    /// The first state.
    fn start(&mut self) -> Result<Self::State, Violation>;
    /// What can happen in a state.
    fn events(&self, state: &Self::State) -> Vec<Self::Event>;
    /// What comes of it; described in `story`, if there is one.
    fn next(
        &mut self,
        state: &Self::State,
        event: Self::Event,
        story: Option<&mut String>,
    ) -> Result<Self::State, Violation>;
    /// Whether an event only refuses, or prepares what may be refused again: it gets
    /// nothing done.
    fn is_idle(&self, _before: &Self::State, _event: Self::Event, _after: &Self::State) -> bool {
        false
    }
    /// A number that two states share only if they behave alike (almost surely).
    fn digest(&self, state: &Self::State) -> u128;
    /// Whether everything that was to be done is done.
    fn is_final(&self, state: &Self::State) -> bool;
    /// How much has been done: of the traps, the one with the most is reported.
    fn progress(&self, state: &Self::State) -> u64;
    /// A state in words, for one from which no final state can be reached.
    fn describe(&self, state: &Self::State) -> String;
}

/// How an exploration went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Exploration {
    /// Different states visited.
    pub states: usize,
    /// Events tried, also those that led to a state known before.
    pub transitions: usize,
    /// Events from the start to the farthest state.
    pub depth: usize,
    /// Every state that can be reached has been visited.
    pub complete: bool,
    /// The shortest way to a violation, if there is one.
    pub counter_example: Option<CounterExample>,
}

/// Digests are mixed already.
#[derive(Default)]
struct FirstBits(u64);

impl Hasher for FirstBits {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("digests are hashed as one number")
    }
    fn write_u128(&mut self, digest: u128) {
        self.0 = digest as u64;
    }
}

struct Search<'a, S: System> {
    system: &'a mut S,
    known: HashMap<u128, u32, BuildHasherDefault<FirstBits>>,
    /// How each state was first reached; the start has no way.
    from: Vec<Option<(u32, S::Event)>>,
    /// How much has been done in each state.
    progress: Vec<u64>,
    /// The final states.
    finals: Vec<u32>,
    /// Pairs of a state and one that can come next.
    edges: Vec<(u32, u32)>,
    /// Events that got nothing done.
    idle: IdleSteps<S::Event>,
    transitions: usize,
    depth: usize,
}

/// Visits the states of `system`, `limit` of them at most. `observe` gets
/// now and then how many there are and may end it by answering false.
pub fn explore<S: System>(
    system: &mut S,
    limit: usize,
    observe: &mut dyn FnMut(usize) -> bool,
) -> Exploration {
    let mut search = Search {
        system,
        known: HashMap::default(),
        from: Vec::new(),
        progress: Vec::new(),
        finals: Vec::new(),
        edges: Vec::new(),
        idle: IdleSteps::default(),
        transitions: 0,
        depth: 0,
    };
    let (complete, counter_example) = match search.visit_all(limit, observe) {
        Ok(false) => (false, None),
        Ok(true) => {
            let trap = search.best_trap().map(|trap| search.counter_example_of_trap(trap));
            (true, trap.or_else(|| search.idle_circle()))
        }
        Err((place, event)) => (false, Some(search.counter_example_at(place, event))),
    };
    Exploration {
        states: search.from.len(),
        transitions: search.transitions,
        depth: search.depth,
        complete,
        counter_example,
    }
}

/// Where a violation happens: in which state, by which event. No event: the
/// start itself is wrong.
type Found<E> = (u32, Option<E>);

impl<S: System> Search<'_, S> {
    /// Whether it came to the end; or where a property is violated.
    fn visit_all(
        &mut self,
        limit: usize,
        observe: &mut dyn FnMut(usize) -> bool,
    ) -> Result<bool, Found<S::Event>> {
        let start = self.system.start().map_err(|_| (0, None))?;
        let mut level = Vec::new();
        self.discover(start, None, &mut level);
        while !level.is_empty() {
            let mut next_level = Vec::new();
            for (place, state) in level {
                for event in self.system.events(&state) {
                    self.transitions += 1;
                    let next = self.system.next(&state, event, None).map_err(|_| (place, Some(event)))?;
                    let is_idle = self.system.is_idle(&state, event, &next);
                    let next_place = self.discover(next, Some((place, event)), &mut next_level);
                    self.edges.push((place, next_place));
                    if is_idle {
                        self.idle.add(place, next_place, event);
                    }
                }
                if self.from.len() > limit || (place % 1024 == 0 && !observe(self.from.len())) {
                    return Ok(false);
                }
            }
            self.depth += usize::from(!next_level.is_empty());
            level = next_level;
        }
        Ok(true)
    }

    /// The state's number; a new one is to be visited on the next level.
    fn discover(
        &mut self,
        state: S::State,
        from: Option<(u32, S::Event)>,
        level: &mut Vec<(u32, S::State)>,
    ) -> u32 {
        let new = self.from.len() as u32;
        let place = *self.known.entry(self.system.digest(&state)).or_insert(new);
        if place == new {
            self.from.push(from);
            self.progress.push(self.system.progress(&state));
            if self.system.is_final(&state) {
                self.finals.push(place);
            }
            level.push((place, state));
        }
        place
    }

    /// Of the states from which no final one can be reached, the first of those
    /// that have come farthest: it shows where it gets stuck.
    fn best_trap(&self) -> Option<u32> {
        let states = self.from.len();
        // The ways back, sorted by where they begin.
        let mut first = vec![0u32; states + 1];
        self.edges.iter().for_each(|&(_, to)| first[to as usize + 1] += 1);
        (0..states).for_each(|place| first[place + 1] += first[place]);
        let mut back = vec![0u32; self.edges.len()];
        let mut filled = first.clone();
        for &(from, to) in &self.edges {
            back[filled[to as usize] as usize] = from;
            filled[to as usize] += 1;
        }
        let mut ends = vec![false; states];
        self.finals.iter().for_each(|&place| ends[place as usize] = true);
        let mut open = self.finals.clone();
        while let Some(place) = open.pop() {
            let place = place as usize;
            for &from in &back[first[place] as usize..first[place + 1] as usize] {
                if !std::mem::replace(&mut ends[from as usize], true) {
                    open.push(from);
                }
            }
        }
        let traps = (0..states).filter(|&place| !ends[place]);
        traps.max_by_key(|&place| (self.progress[place], std::cmp::Reverse(place))).map(|place| place as u32)
    }

    /// The events from the start to a state.
    fn way_to(&self, place: u32) -> Vec<S::Event> {
        let before = |&(place, _): &(u32, S::Event)| self.from[place as usize];
        let mut way: Vec<S::Event> =
            std::iter::successors(self.from.get(place as usize).copied().flatten(), before)
                .map(|(_, event)| event)
                .collect();
        way.reverse();
        way
    }

    /// Repeats a way and tells it; the state at its end, or the violation.
    fn replay(&mut self, way: &[S::Event]) -> (Vec<String>, Result<S::State, Violation>) {
        let mut steps = Vec::new();
        let mut state = match self.system.start() {
            Ok(state) => state,
            Err(violation) => {
                steps.push(format!("the program starts, but {}", violation.words));
                return (steps, Err(violation));
            }
        };
        for &event in way {
            let mut story = String::new();
            match self.system.next(&state, event, Some(&mut story)) {
                Ok(next) => state = next,
                Err(violation) => {
                    steps.push(format!("{story}, but {}", violation.words));
                    return (steps, Err(violation));
                }
            }
            steps.push(story);
        }
        (steps, Ok(state))
    }

    fn counter_example_at(&mut self, place: u32, violating: Option<S::Event>) -> CounterExample {
        let mut way = self.way_to(place);
        way.extend(violating);
        let (steps, end) = self.replay(&way);
        let Err(violation) = end else {
            unreachable!("an event that violates a property does so again when it is repeated")
        };
        CounterExample { violated: violation.property, steps }
    }

    /// The way to a circle of idle events, and once round it, if there is one.
    fn idle_circle(&mut self) -> Option<CounterExample> {
        let (place, circle) = self.idle.circle()?;
        let mut way = self.way_to(place);
        let before = way.len();
        way.extend(circle);
        let (mut steps, _) = self.replay(&way);
        steps.push(format!("the same again from step {} on, for ever", before + 1));
        Some(CounterExample { violated: NO_IDLE_CIRCLE, steps })
    }

    fn counter_example_of_trap(&mut self, place: u32) -> CounterExample {
        let (mut steps, end) = self.replay(&self.way_to(place));
        let state = end.expect("the way to a known state violates nothing");
        let what = match self.system.events(&state).is_empty() {
            true => "nothing can happen any more",
            false => "whatever happens from here on, the end is never reached",
        };
        steps.push(format!("{what}: {}", self.system.describe(&state)));
        CounterExample { violated: NO_TRAP, steps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A walk over numbers: what follows each, and which are final.
    struct Walk {
        next: fn(u8) -> Vec<u8>,
        is_final: fn(u8) -> bool,
    }

    const TOO_LARGE: &str = "no number is above 100";

    impl System for Walk {
        type State = u8;
        type Event = u8;

        fn start(&mut self) -> Result<u8, Violation> {
            Ok(0)
        }
        fn events(&self, state: &u8) -> Vec<u8> {
            (self.next)(*state)
        }
        fn next(&mut self, _: &u8, event: u8, story: Option<&mut String>) -> Result<u8, Violation> {
            if let Some(story) = story {
                *story = format!("to {event}");
            }
            match event {
                101.. => Err(Violation { property: TOO_LARGE, words: "that is too large".into() }),
                _ => Ok(event),
            }
        }
        fn digest(&self, state: &u8) -> u128 {
            u128::from(*state) << 64 | u128::from(*state)
        }
        fn is_final(&self, state: &u8) -> bool {
            (self.is_final)(*state)
        }
        fn progress(&self, _: &u8) -> u64 {
            0
        }
        fn describe(&self, state: &u8) -> String {
            format!("it is at {state}")
        }
    }

    fn run(next: fn(u8) -> Vec<u8>, is_final: fn(u8) -> bool, limit: usize) -> Exploration {
        explore(&mut Walk { next, is_final }, limit, &mut |_| true)
    }

    #[test]
    fn a_ring_with_a_way_out_holds_and_is_counted() {
        let found = run(
            |n| {
                if n == 7 {
                    vec![0, 8]
                } else if n == 8 {
                    vec![]
                } else {
                    vec![n + 1]
                }
            },
            |n| n == 8,
            1000,
        );
        assert_eq!((found.states, found.transitions, found.depth), (9, 9, 8));
        assert!(found.complete && found.counter_example.is_none());
    }

    #[test]
    fn the_shortest_way_to_a_violation_is_reported() {
        let found = run(|n| vec![n + 1, n.saturating_add(n / 2 + 40)], |_| true, 1000);
        let example = found.counter_example.unwrap();
        assert_eq!(example.violated, TOO_LARGE);
        assert_eq!(example.steps, ["to 1", "to 41", "to 101, but that is too large"]);
    }

    #[test]
    fn a_state_where_nothing_happens_any_more_is_a_deadlock() {
        let found = run(|n| if n == 0 { vec![1, 2] } else { vec![] }, |n| n == 1, 1000);
        let example = found.counter_example.unwrap();
        assert_eq!(example.violated, NO_TRAP);
        assert_eq!(example.steps, ["to 2", "nothing can happen any more: it is at 2"]);
    }

    #[test]
    fn a_ring_without_a_way_out_is_a_livelock() {
        let found = run(
            |n| match n {
                0 => vec![1, 2],
                2 => vec![3],
                3 => vec![2],
                _ => vec![],
            },
            |n| n == 1,
            1000,
        );
        let last = found.counter_example.unwrap().steps.pop().unwrap();
        assert!(last.contains("the end is never reached"), "{last}");
    }

    #[test]
    fn a_space_beyond_the_limit_is_never_called_complete() {
        let found = run(|n| vec![(n + 1) % 100], |_| false, 10);
        assert!(!found.complete && found.counter_example.is_none());
        assert_eq!(found.states, 11);
    }
}
