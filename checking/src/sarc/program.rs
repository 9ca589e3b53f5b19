//! What the tiles' processors do, one access after the other, and what each has to find.

use narthex_interfaces::sarc::rules::Rule;
use narthex_memory::Kind;

use super::world::{DeviceContext, Event, World};
use super::{COMPLETE, EXCLUSIVE, ITEMS, PHASES, REFUSED, RESULT};
use crate::explore::{System, Violation, Witness};

/// What an access means for the properties.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// Nothing.
    Plain,
    /// It says that the thread has arrived.
    Arrives,
    /// All threads have arrived so often.
    Passes(u8),
    /// It gets the lock's token.
    Acquires(u64),
    /// It gives it back.
    Releases,
    /// It gets an item, a number below this.
    Takes(u64),
    /// Bytes have been copied: from where, to where, how many.
    Completes(u64, u64, usize),
}

/// What a load waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// Any value.
    Any,
    /// This one.
    Is(u64),
    /// Another one than this.
    IsNot(u64),
    /// This one, or a larger one.
    AtLeast(u64),
}

impl Until {
    fn is_it(self, value: u64) -> bool {
        match self {
            Until::Any => true,
            Until::Is(expected) => value == expected,
            Until::IsNot(before) => value != before,
            Until::AtLeast(least) => value >= least,
        }
    }
}

/// A step of a program: stores in any order, or a load.
#[derive(Clone, Debug)]
pub struct Op {
    /// Addresses and values; none: it loads.
    pub stores: Vec<(u64, u64)>,
    /// What it loads, again and again until that is so.
    pub load: (u64, Until),
    /// What it means.
    pub meaning: Meaning,
}

impl Op {
    /// Stores of words, in any order.
    pub fn stores(stores: &[(u64, u64)]) -> Self {
        Op { stores: stores.to_vec(), load: (0, Until::Any), meaning: Meaning::Plain }
    }

    /// A load.
    pub fn load(address: u64, until: Until) -> Self {
        Op { stores: Vec::new(), load: (address, until), meaning: Meaning::Plain }
    }

    /// The same, which means something.
    pub fn that(self, meaning: Meaning) -> Self {
        Op { meaning, ..self }
    }
}

/// How far a thread is.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Thread {
    /// The step at which it is.
    pub at: usize,
    /// Which of the step's stores it has made.
    pub stored: u32,
    /// Its access is answered later.
    pub waits: bool,
    /// Which of the step's stores that is.
    pub later: usize,
    /// What it was answered.
    pub answered: Option<u64>,
    /// Items that it has got.
    pub got: Vec<u64>,
}

/// Programs of a chip's tiles.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it is about.
    pub name: &'static str,
    /// Stores before everything, of the tile to whose window they go.
    pub before: Vec<(u64, u64)>,
    /// Bytes before everything.
    pub bytes: Vec<(u64, Vec<u8>)>,
    /// A program for each tile.
    pub programs: Vec<Vec<Op>>,
    /// Words at the end.
    pub after: Vec<(u64, u64)>,
}

/// A scenario, without a rule of the device.
#[derive(Debug)]
pub struct Running {
    pub scenario: Scenario,
    pub without: Option<Rule>,
    pub around: DeviceContext,
    /// What happens to the tiles is recorded.
    pub records: bool,
}

impl Running {
    /// A thread's access is over, with this value.
    fn over(&self, world: &mut World, number: usize, place: usize, value: u64, witness: &mut Witness<'_>) {
        let op = &self.scenario.programs[number][world.threads[number].at];
        let thread = &mut world.threads[number];
        thread.waits = false;
        if op.stores.is_empty() {
            if !op.load.1.is_it(value) {
                return;
            }
        } else {
            thread.stored |= 1 << place;
            if thread.stored.count_ones() < op.stores.len() as u32 {
                return;
            }
        }
        thread.stored = 0;
        thread.at += 1;
        self.mean(world, number, op.meaning, value, witness);
    }

    fn mean(
        &self,
        world: &mut World,
        number: usize,
        meaning: Meaning,
        value: u64,
        witness: &mut Witness<'_>,
    ) {
        match meaning {
            Meaning::Plain | Meaning::Arrives | Meaning::Releases => {}
            Meaning::Passes(phase) => {
                let are_there = world.arrived.iter().all(|&arrived| arrived >= phase);
                witness.expect(are_there, PHASES, || {
                    format!("tile {number} passes phase {phase}, and {:?} have arrived", world.arrived)
                });
            }
            Meaning::Acquires(token) => {
                witness.expect(value == token && world.holder.is_none(), EXCLUSIVE, || {
                    format!("tile {number} gets {value:#x}, and tile {:?} has the lock", world.holder)
                });
                world.holder = Some(number);
            }
            Meaning::Takes(items) => {
                let is_new = world.threads.iter().all(|thread| !thread.got.contains(&value));
                witness.expect((1..=items).contains(&value) && is_new, ITEMS, || {
                    format!("tile {number} takes {value:#x}")
                });
                world.threads[number].got.push(value);
            }
            Meaning::Completes(from, to, length) => {
                let [source, copy] = [from, to].map(|at| world.device.peek_bytes(at, length));
                witness.expect(source == copy, COMPLETE, || {
                    let place = source.iter().zip(&copy).position(|(source, copy)| source != copy);
                    format!("tile {number} is told, and byte {place:?} is not there")
                });
            }
        }
    }

    fn happen(&mut self, world: &mut World, event: Event, witness: &mut Witness<'_>) {
        match event {
            Event::Access(number, place) => {
                let op = &self.scenario.programs[number][world.threads[number].at];
                match op.meaning {
                    Meaning::Arrives => world.arrived[number] += 1,
                    Meaning::Releases => world.holder = None,
                    _ => {}
                }
                let (kind, (address, value)) = match op.stores.get(place) {
                    Some(&store) => (Kind::UncachedStore, store),
                    None => (Kind::UncachedLoad, (op.load.0, 0)),
                };
                witness.say(|| format!("tile {number}: {} {address:#x} {value:#x}", kind.name()));
                match world.access(&mut self.around, number, kind, address, value) {
                    Some(value) => self.over(world, number, place, value, witness),
                    None => {
                        let thread = &mut world.threads[number];
                        (thread.waits, thread.later) = (true, place);
                    }
                }
            }
            Event::Engine(tile) => {
                witness.say(|| format!("the engine of tile {tile} goes on"));
                world.let_engine_go(&mut self.around, tile);
            }
            Event::Arrive(place) => {
                witness.say(|| format!("arrives: {}", world.in_words(place)));
                world.arrive(&mut self.around, place);
            }
        }
        for number in 0..world.threads.len() {
            if let Some(value) = world.threads[number].answered.take() {
                let place = world.threads[number].later;
                self.over(world, number, place, value, witness);
            }
        }
        witness.expect(world.refused.is_none(), REFUSED, || world.refused.clone().unwrap_or_default());
        if world.is_quiet(&self.scenario) {
            for &(address, value) in &self.scenario.after {
                let found = world.device.peek_bytes(address, 8);
                witness.expect(found == value.to_le_bytes(), RESULT, || {
                    format!("at the end {address:#x} has {found:?} and not {value}")
                });
            }
        }
    }
}

impl System for Running {
    type State = World;
    type Event = Event;

    fn start(&mut self) -> Result<World, Violation> {
        let world = World::first(&self.scenario, self.without, &mut self.around, self.records);
        match &world.refused {
            None => Ok(world),
            Some(words) => Err(Violation { property: REFUSED, words: words.clone() }),
        }
    }

    fn events(&self, world: &World) -> Vec<Event> {
        world.events(&self.scenario)
    }

    fn next(&mut self, world: &World, event: Event, story: Option<&mut String>) -> Result<World, Violation> {
        let (mut world, mut witness) = (world.clone(), Witness::new(story));
        self.happen(&mut world, event, &mut witness);
        witness.verdict(world)
    }

    fn digest(&self, world: &World) -> u128 {
        world.digest()
    }

    fn is_final(&self, world: &World) -> bool {
        world.is_quiet(&self.scenario)
    }

    fn progress(&self, world: &World) -> u64 {
        world.threads.iter().map(|thread| thread.at as u64).sum()
    }

    fn describe(&self, world: &World) -> String {
        let at: Vec<usize> = world.threads.iter().map(|thread| thread.at).collect();
        let jobs: Vec<usize> = (0..at.len()).map(|tile| world.device.jobs(tile as u16)).collect();
        format!(
            "the tiles are at their steps {at:?}, {} packets are under way, jobs {jobs:?}",
            world.packets.len()
        )
    }
}
