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

use std::hash::Hash;

use narthex_interfaces::via::config::Initialisation;
use narthex_interfaces::via::copies::Fields;
use narthex_interfaces::via::eager::{Build, ControllerContext, Eager, Rule, Statistics};
use narthex_interfaces::via::registers::{AWAITED, INITIALISED, UPDATED};
use narthex_kernel::digest::Digest;
use narthex_kernel::{Duration, Time};
use narthex_machine::config::MachineConfig;
use narthex_machine::request::Failure;
use narthex_memory::agent::{Agent, Either};
use narthex_memory::bus::Bus;
use narthex_memory::cache::Cache;
use narthex_memory::interconnects::snooping_bus::SnoopingBus;
use narthex_memory::interconnects::{
    AddressMap, AgentPort, AgentPorts, Home, Interconnect, InterconnectHost, InterconnectId, MemoryId, Names,
    Step,
};
use narthex_memory::main_memory::MainMemory;
use narthex_memory::protocols::{self, Access, Request};
use narthex_memory::{AgentId, BlockData, Kind, Response, SnoopReply, Transaction};

use crate::clock::{Choice, Choosing, Interconnects};
use crate::explore::{NO_TRAP, System, Violation, Witness};
use crate::memory::Memory;
use crate::report::{Check, Report, rule_of};

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

/// One event as it happens.
struct Move<'a> {
    state: State,
    witness: Witness<'a>,
}

impl Move<'_> {
    fn with_eager<R>(
        &mut self,
        call: impl FnOnce(&mut Eager, &mut ControllerContext<'_>, &mut Statistics) -> R,
    ) -> R {
        let State { eager, copies, .. } = &mut self.state;
        let mut timers = Vec::new();
        let mut at = ControllerContext { now: Time::ZERO, timers: &mut timers, memory: copies };
        call(eager, &mut at, &mut Statistics::default())
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Store(word) => {
                self.witness.say(|| format!("the program stores to word {word}"));
                self.state.stage = match self.state.stage {
                    RoundPhase::Writing(stores) => RoundPhase::Writing(stores + 1),
                    _ => RoundPhase::Receiving(true),
                };
                self.access(Access::Store, REGION + WORDS[word]);
            }
            Event::Load(word) => {
                self.witness.say(|| format!("the program loads word {word}"));
                self.access(Access::Load, REGION + WORDS[word]);
            }
            Event::Evict(block) => {
                self.witness.say(|| format!("the cache loses block {}", (block - REGION) / BLOCK_BYTES));
                self.state.evictions += 1;
                self.evict(block);
            }
            Event::Ring => {
                self.witness.say(|| "the program rings".into());
                self.state.stage = RoundPhase::Rung;
            }
            Event::Await => {
                self.witness.say(|| "the firmware awaits the blocks".into());
                self.with_eager(|eager, _, counts| eager.await_valid(COPY..COPY + 2 * BLOCK_BYTES, counts));
                self.state.stage = RoundPhase::Awaiting;
            }
            Event::Send => self.send(),
            Event::Arrive => {
                self.witness.say(|| "bytes arrive for block 0 and a half of block 1".into());
                self.state.stored += 1;
                let value = self.state.stored;
                self.state.words[..2].fill(value);
                let bytes = [value.to_le_bytes(); 3].concat();
                self.with_eager(|eager, at, _| eager.place(at, COPY, &bytes));
                self.state.stage = RoundPhase::Receiving(false);
            }
            Event::Tell => {
                self.witness.say(|| "the program is told".into());
                self.state.stage = RoundPhase::Told([false; 3]);
            }
            Event::Due => {
                self.witness.say(|| "the reaction time is over".into());
                self.state.eager.timer(Time::NEVER);
            }
            Event::Bus(choice) => {
                match choice {
                    Choice::Grant(_, agent) => {
                        self.witness.say(|| format!("the bus is granted to {}", who(agent)))
                    }
                    Choice::Step(..) => self.witness.say(|| "the transaction is over".into()),
                }
                self.choose(choice);
            }
        }
    }

    fn send(&mut self) {
        self.witness.say(|| "the firmware sends the copy".into());
        for (word, offset) in WORDS.into_iter().enumerate() {
            let (copy, written) = (self.state.copy(offset), self.state.words[word]);
            self.witness.expect(copy == written, SENT, || {
                format!("word {word} of the copy is {copy}, not {written}")
            });
        }
        self.state.stage = RoundPhase::Sent;
    }

    /// The host accesses a word: at once, or when it has the block.
    fn access(&mut self, access: Access, address: u64) {
        match self.state.cache.access(address, access) {
            Ok(_) => self.accessed(access, address),
            Err(_) => self.state.wish = Some((access, address)),
        }
    }

    fn accessed(&mut self, access: Access, address: u64) {
        let word = WORDS.iter().position(|&offset| REGION + offset == address).expect("a word");
        if access == Access::Store {
            self.state.stored += 1;
            self.state.words[word] = self.state.stored;
            let bytes = self.state.stored.to_le_bytes();
            return self.state.cache.write(address, &bytes);
        }
        let mut bytes = [0; 8];
        self.state.cache.read(address, &mut bytes);
        let (found, expected) = (u64::from_le_bytes(bytes), self.state.words[word]);
        let is_told = matches!(self.state.stage, RoundPhase::Told(_));
        let property = if is_told && word != OWN_WORD { RECEIVED } else { STAYS };
        self.witness.expect(found == expected, property, || format!("it finds {found}, not {expected}"));
        let RoundPhase::Told(mut read) = self.state.stage else { return };
        read[word] = true;
        self.state.stage = RoundPhase::Told(read);
        if read == [true; 3] {
            self.state.rounds += 1;
            self.state.stage = RoundPhase::Writing(0);
        }
    }

    fn evict(&mut self, block: u64) {
        match self.state.cache.state(block).is_dirty() {
            true => self.state.wish = Some((Access::Evict, block)),
            false => _ = self.state.cache.remove(block),
        }
    }

    /// What the host needs of the bus now.
    fn issue_of_host(&mut self) -> Option<Transaction> {
        let (access, address) = self.state.wish?;
        let block = address / BLOCK_BYTES * BLOCK_BYTES;
        if access == Access::Evict {
            self.state.wish = None;
            let is_dirty = self.state.cache.state(block).is_dirty();
            let data = self.state.cache.remove(block).filter(|_| is_dirty)?;
            return Some(Transaction::carrying(HOST, Kind::WriteBack, block, data));
        }
        match self.state.cache.access(address, access) {
            Ok(_) => {
                self.state.wish = None;
                self.accessed(access, address);
                None
            }
            Err(request) => Some(Transaction::block(HOST, kind_of(request), block)),
        }
    }

    /// Tells what an agent issues.
    fn tell(&mut self, issued: Option<&Transaction>) {
        if let Some(&Transaction { kind, address, .. }) = issued {
            let block = (address - REGION) / BLOCK_BYTES;
            self.witness.say(|| format!(", which {}", kind.in_words(&format!("block {block}"))));
        }
    }
}

fn kind_of(request: Request) -> Kind {
    match request {
        Request::Read => Kind::Read,
        Request::ReadExclusive => Kind::ReadExclusive,
        Request::Upgrade => Kind::Upgrade,
        Request::WriteBack => Kind::WriteBack,
    }
}

fn who(agent: AgentId) -> &'static str {
    if agent == HOST { "the host" } else { "the interface" }
}

impl Choosing for Move<'_> {
    fn interconnects(&mut self) -> &mut Interconnects {
        &mut self.state.interconnects
    }
}

/// The host: its cache, and the program.
struct Host<'a, 'w>(&'a mut Move<'w>);

impl Agent for Host<'_, '_> {
    fn wants(&self, _on: InterconnectId) -> bool {
        self.0.state.wants(HOST)
    }

    fn issue(&mut self, _now: Time, _on: InterconnectId) -> Option<Transaction> {
        let issued = self.0.issue_of_host();
        self.0.tell(issued.as_ref());
        issued
    }

    fn snoop(&mut self, _now: Time, transaction: &Transaction) -> SnoopReply {
        let snoop = transaction.kind.snoop().expect("nothing is uncached");
        self.0.state.cache.snoop(snoop, transaction.address)
    }

    fn complete(&mut self, _: Time, _: InterconnectId, transaction: &Transaction, response: &Response) {
        let request = match transaction.kind {
            Kind::Read => Request::Read,
            Kind::ReadExclusive => Request::ReadExclusive,
            Kind::Upgrade => Request::Upgrade,
            _ => return,
        };
        let State { cache, wish, .. } = &mut self.0.state;
        cache.fill(transaction.address, request, response.shared, response.data.as_ref());
        if let Some((access, address)) = wish.take() {
            self.0.access(access, address);
        }
    }
}

/// The interface.
struct Controller<'a, 'w>(&'a mut Move<'w>);

impl Agent for Controller<'_, '_> {
    fn wants(&self, _on: InterconnectId) -> bool {
        self.0.state.wants(NI)
    }

    fn issue(&mut self, _now: Time, _on: InterconnectId) -> Option<Transaction> {
        let issued = self.0.with_eager(|eager, at, counts| eager.issue(at, counts));
        let issued = issued.map(|issued| Transaction { agent: NI, ..issued });
        self.0.tell(issued.as_ref());
        issued
    }

    fn snoop(&mut self, _now: Time, transaction: &Transaction) -> SnoopReply {
        self.0.with_eager(|eager, at, counts| eager.snoop(at, transaction, counts))
    }

    fn complete(&mut self, _: Time, _: InterconnectId, _: &Transaction, response: &Response) {
        self.0.with_eager(|eager, at, counts| eager.complete(at, response, counts));
    }
}

impl<'w> InterconnectHost for Move<'w> {
    type Agent<'a>
        = Either<Host<'a, 'w>, Controller<'a, 'w>>
    where
        Self: 'a;
    type Memory<'a>
        = Memory<'a, MainMemory>
    where
        Self: 'a;

    fn interconnect(&mut self, on: InterconnectId) -> &mut Interconnect {
        self.state.interconnects.get_mut(on)
    }

    fn agent(&mut self, agent: AgentId) -> Self::Agent<'_> {
        match agent {
            HOST => Either::First(Host(self)),
            _ => Either::Second(Controller(self)),
        }
    }

    fn memory(&mut self, _memory: MemoryId) -> Self::Memory<'_> {
        Memory { bytes: &mut self.state.main, block_bytes: BLOCK_BYTES as usize }
    }

    fn schedule(&mut self, _at: Time, on: InterconnectId, step: Step) {
        self.state.interconnects.schedule(on, step);
    }

    fn two_owners(&mut self, _transaction: &Transaction) {
        self.witness.expect(false, ONE_OWNER, || "both supply it".into());
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
