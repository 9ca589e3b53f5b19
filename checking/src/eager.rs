//! Eager Data Transfer in every interleaving: a host's cache, the tags of an interface,
//! doorbells, and fetches under way.
//!
//! ```text
//!   program: stores, doorbell, loads ── cache (MESI) ── bus ── controller ── copies ◄── firmware: awaits, sends
//!                                                        │                    ◄── arriving bytes
//!                                                   main memory
//! ```
//!
//! The controller, the cache's table and the bus's rules are the simulator's own. A region
//! of two blocks is registered. Twice the program writes a message into it and rings; the
//! firmware awaits the blocks and sends them; bytes arrive for one block and a part of the
//! other, beside which the program may write; the program is told and reads them. Stores
//! come in any order, and the program may look at a block before, fetches at any time after a write, and the cache may lose
//! either block at any time.

mod moves;

use std::hash::Hash;

use narthex_interfaces::via::config::Initialisation;
use narthex_interfaces::via::copies::Fields;
use narthex_interfaces::via::eager::{Build, Eager, Rule};
use narthex_interfaces::via::registers::{AWAITED, INITIALISED, UPDATED};
use narthex_kernel::Duration;
use narthex_kernel::digest::Digest;
use narthex_machine::config::MachineConfig;
use narthex_machine::request::Failure;
use narthex_memory::bus::Bus;
use narthex_memory::cache::Cache;
use narthex_memory::interconnects::snooping_bus::SnoopingBus;
use narthex_memory::interconnects::{AddressMap, AgentPort, AgentPorts, Home, MemoryId, Names};
use narthex_memory::main_memory::MainMemory;
use narthex_memory::protocols::{self, Access, Request};
use narthex_memory::{AgentId, BlockData};

use crate::clock::{Choice, Interconnects};
use crate::explore::{NO_TRAP, System, Violation, Witness};
use crate::report::{Check, Report, rule_of};
use moves::Move;

/// The copy that is sent is the message.
const SENT: &str = "what is sent is what the program has written before the doorbell";
/// The program reads what arrived.
const RECEIVED: &str = "what the program reads after it was told of a message is that message";
/// Nothing that the program wrote is lost.
const STAYS: &str = "what the program writes stays, also beside an arriving message";
/// One owner.
const ONE_OWNER: &str = "no block has two owners";

const PROPERTIES: [&str; 5] = [SENT, RECEIVED, STAYS, ONE_OWNER, NO_TRAP];

const HOST: AgentId = AgentId(0);
const NI: AgentId = AgentId(1);
const BLOCK_BYTES: u64 = 16;
/// The region of two blocks, by host addresses, and its copy.
const REGION: u64 = 0x4000;
const COPY: u64 = 0x8000;
/// The doublewords that the program writes: two in the second block.
const WORDS: [u64; 3] = [0, 16, 24];
/// The one beside what arrives.
const OWN_WORD: usize = 2;
/// Messages each way, stores before each doorbell, and blocks that the cache loses.
const ROUNDS: u8 = 2;
const STORES: u8 = 2;
const EVICTIONS: u8 = 1;

/// How far a round has come.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum RoundPhase {
    /// The program writes; it has made so many stores.
    Writing(u8),
    /// The doorbell has rung.
    Rung,
    /// The firmware awaits the blocks.
    Awaiting,
    /// The message is sent.
    Sent,
    /// Bytes arrive; whether the program has written beside them.
    Receiving(bool),
    /// The program is told, and has read these words.
    Told([bool; 3]),
}

/// A state of host and interface.
#[derive(Clone, Debug)]
pub struct State {
    interconnects: Interconnects,
    /// What the host waits for, and the word or block that it is about.
    wish: Option<(Access, u64)>,
    cache: Cache,
    main: MainMemory,
    eager: Eager,
    copies: MainMemory,
    /// What each word has to be.
    words: [u64; 3],
    stored: u64,
    stage: RoundPhase,
    rounds: u8,
    evictions: u8,
}

/// Something that can happen.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The program stores to a word.
    Store(usize),
    /// The program loads a word.
    Load(usize),
    /// The cache loses a block.
    Evict(u64),
    /// The program rings.
    Ring,
    /// The firmware awaits the blocks.
    Await,
    /// The firmware sends them.
    Send,
    /// Bytes arrive.
    Arrive,
    /// The program is told.
    Tell,
    /// Blocks that were written are due to be fetched.
    Due,
    /// Something happens at the bus.
    Bus(Choice),
}

/// A protocol to be checked.
struct CheckedEager<'a> {
    machine: &'a MachineConfig,
    initialisation: Initialisation,
    writes_home: bool,
    without: Option<Rule>,
}

/// Explores every interleaving of Eager Data Transfer with the caches of a machine, without
/// a rule if one is named; `limit` states at most of each way of registration.
///
/// # Errors
/// If there is no such rule.
pub fn check(
    (name, writes_home): (&str, bool),
    machine: &MachineConfig,
    without: Option<&str>,
    limit: usize,
    observe: &mut dyn FnMut(usize) -> bool,
) -> Result<Report, Failure> {
    let rule = without.map(|name| rule_of("Eager Data Transfer", &Rule::ALL, name)).transpose()?;
    let ways = [
        (Initialisation::BusRead, "registered by bus reads"),
        (Initialisation::Invalidate, "registered by invalidation"),
    ];
    let protocol = &machine.data_cache.protocol;
    let form = format!(
        "{protocol}, two blocks, {ROUNDS} messages each way, up to {STORES} stores before each doorbell, evictions up to \
         {EVICTIONS}"
    );
    let mut check = Check::of(name, form, limit, observe);
    for (initialisation, traffic) in ways {
        let mut checked = CheckedEager { machine, initialisation, writes_home, without: rule };
        check.explore(traffic, &mut checked);
    }
    Ok(check.finish(&PROPERTIES).without(without))
}

impl State {
    fn wants(&self, agent: AgentId) -> bool {
        if agent == HOST { self.wish.is_some() } else { self.eager.wants() }
    }

    fn shows(&self, bit: u64) -> bool {
        self.eager.status() & bit != 0
    }

    fn events(&self) -> Vec<Event> {
        let mut events: Vec<Event> =
            self.interconnects.choices(|agent, _| self.wants(agent)).into_iter().map(Event::Bus).collect();
        if self.eager.is_reacting() {
            events.push(Event::Due);
        }
        let is_idle = self.wish.is_none() && self.interconnects.occupants().all(|(_, own)| own.agent != HOST);
        if is_idle && self.shows(INITIALISED) {
            events.extend(self.events_of_host());
        }
        events.extend(match self.stage {
            RoundPhase::Rung => Some(Event::Await),
            RoundPhase::Awaiting if self.shows(AWAITED) => Some(Event::Send),
            RoundPhase::Sent => Some(Event::Arrive),
            RoundPhase::Receiving(_) if is_idle && self.shows(UPDATED) => Some(Event::Tell),
            _ => None,
        });
        events
    }

    fn events_of_host(&self) -> Vec<Event> {
        let mut events = Vec::new();
        match self.stage {
            RoundPhase::Writing(stores) if self.rounds < ROUNDS => {
                if stores < STORES {
                    events.extend((0..WORDS.len()).map(Event::Store));
                }
                if stores > 0 {
                    events.push(Event::Ring);
                }
                // It may look at a block that it has not: it must not get that exclusively.
                if !self.cache.state(REGION).is_readable() {
                    events.push(Event::Load(0));
                }
            }
            RoundPhase::Receiving(false) => events.push(Event::Store(OWN_WORD)),
            RoundPhase::Told(read) => {
                events.extend((0..WORDS.len()).filter(|&word| !read[word]).map(Event::Load))
            }
            _ => {}
        }
        let held = |block: &u64| self.cache.state(*block).is_readable();
        let blocks = [REGION, REGION + BLOCK_BYTES];
        if self.evictions < EVICTIONS {
            events.extend(blocks.into_iter().filter(held).map(Event::Evict));
        }
        events
    }

    fn copy(&self, offset: u64) -> u64 {
        let mut bytes = [0; 8];
        self.copies.read(COPY + offset, &mut bytes);
        u64::from_le_bytes(bytes)
    }
}

impl System for CheckedEager<'_> {
    type State = State;
    type Event = Event;

    /// The region is registered while the cache has a block of it that is newer.
    fn start(&mut self) -> Result<State, Violation> {
        let machine = self.machine;
        let ports = vec![AgentPort::of_processor(HOST), AgentPort::of_device(NI, 0..u64::MAX)];
        let homes = AddressMap::default().with_rest(Home::Memory(MemoryId(0)));
        let names = Names { name: "memory bus", prefix: "" };
        let bus = machine.bus.as_ref().expect("the machine has a memory bus");
        let bus = Bus::new(bus, BLOCK_BYTES as usize);
        let bus = SnoopingBus::new(names, bus, AgentPorts::new(ports), homes);
        let mut eager = Eager::new(Build {
            tags: 1,
            block_bytes: BLOCK_BYTES,
            reaction_time: Duration::ZERO,
            initialisation: self.initialisation,
            supply_time: Duration::ZERO,
            writes_home: self.writes_home,
        });
        if let Some(rule) = self.without {
            eager = eager.without(rule);
        }
        let length = 2 * BLOCK_BYTES;
        *eager.fields_mut() = Fields { host: REGION..REGION + length, copy: COPY..COPY + length };
        eager.control(true).expect("a sound tag");
        let protocol = protocols::by_name(&machine.data_cache.protocol).expect("checked with the machine");
        let mut cache = Cache::with_geometry(protocol, 4, 2, BLOCK_BYTES as usize);
        let zeros = BlockData::zeroed(BLOCK_BYTES as usize);
        cache.fill(REGION, Request::ReadExclusive, false, Some(&zeros));
        cache.access(REGION, Access::Store).expect("it is its own");
        cache.write(REGION, &1u64.to_le_bytes());
        Ok(State {
            interconnects: Interconnects::new(vec![bus.into()]),
            wish: None,
            cache,
            main: MainMemory::default(),
            eager,
            copies: MainMemory::default(),
            words: [1, 0, 0],
            stored: 1,
            stage: RoundPhase::Writing(0),
            rounds: 0,
            evictions: 0,
        })
    }

    fn events(&self, state: &State) -> Vec<Event> {
        state.events()
    }

    fn next(&mut self, state: &State, event: Event, story: Option<&mut String>) -> Result<State, Violation> {
        let mut step = Move { state: state.clone(), witness: Witness::new(story) };
        step.happen(event);
        step.witness.verdict(step.state)
    }

    fn digest(&self, state: &State) -> u128 {
        let mut digest = Digest::default();
        let State { interconnects, wish, cache, main, eager, copies, words, stored, .. } = state;
        interconnects.hash_state(&mut digest);
        (wish, cache, eager, words, stored).hash(&mut digest);
        main.hash_pages(&mut digest);
        copies.hash_pages(&mut digest);
        (state.stage, state.rounds, state.evictions).hash(&mut digest);
        digest.value()
    }

    fn is_final(&self, state: &State) -> bool {
        state.rounds == ROUNDS
    }

    fn progress(&self, state: &State) -> u64 {
        u64::from(state.rounds) * 100 + state.stored
    }

    fn describe(&self, state: &State) -> String {
        let State { rounds, stage, eager, interconnects, .. } = state;
        format!("round {rounds}, {stage:?}; {}{}", eager.describe(), interconnects.describe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{assert_holds, assert_missed};
    use narthex_machine::config;

    fn report(writes_home: bool, without: Option<&str>) -> Report {
        let machine = config::load("edt").expect("a built-in machine").config;
        check(("EDT", writes_home), &machine, without, 2_000_000, &mut |_| true).expect("a rule")
    }

    #[test]
    fn every_interleaving_sends_and_receives_what_was_written() {
        for writes_home in [false, true] {
            let found = report(writes_home, None);
            assert_holds(&found);
            assert_eq!(found.explorations.len(), 2);
            assert!(found.states > 1_000, "{} states", found.states);
        }
    }

    #[test]
    fn each_ingredient_that_is_left_out_is_missed() {
        let missed = [("status-bits", SENT), ("asserting-shared", SENT), ("invalidating-first", RECEIVED)];
        assert_missed(&missed, |rule| report(false, Some(rule)));
        assert_eq!(missed.len(), Rule::ALL.len());
    }
}
