//! A bus whose agents refuse, in every interleaving: two caches of which the owner of a
//! dirty block refuses and pushes, and a device that reads the block and that refuses an
//! access to its register until it has read the block itself.
//!
//! ```text
//!   cache A: loads, stores ──┐                       ┌── device: reads the block
//!   cache B: loads, stores ──┼── bus, as it is ──────┤           register: answers when it has
//!   A's processor: a load ───┘        │              └──
//!                                  memory
//! ```
//!
//! The bus, its rules and the caches are the simulator's own. The device stands for
//! firmware that answers another processor's transactions and needs the same bus for it:
//! it must be served while it refuses. That a protocol's table says the right things
//! where owners refuse is proven by [`crate::protocol`].

use std::hash::Hash;

use narthex_kernel::Time;
use narthex_kernel::digest::Digest;
use narthex_machine::config;
use narthex_memory::agent::{Agent, Either};
use narthex_memory::bus::Bus;
use narthex_memory::cache::Cache;
use narthex_memory::interconnects::snooping_bus::SnoopingBus;
use narthex_memory::interconnects::{
    AddressMap, AgentPort, AgentPorts, Home, Interconnect, InterconnectHost, InterconnectId, MemoryId, Names,
    Observation, Refusal, Step,
};
use narthex_memory::protocols::{self, Access, Request};
use narthex_memory::{AccessReply, AgentId, BlockData, Kind, Response, SnoopReply, Transaction};

use crate::clock::{Choice, Choosing, Interconnects};
use crate::explore::{NO_TRAP, System, Violation, Witness};
use crate::memory::Memory;
use crate::report::{Check, Report};

/// Data are right.
const LAST: &str = "every load, every store and every read of the device finds the last value written";
/// Devices answer once.
const ONCE: &str = "the device answers the load of its register once, when it has what it needs";

/// What is proven when every state has been visited.
pub const PROPERTIES: [&str; 3] = [LAST, ONCE, NO_TRAP];

/// The rules that can be left out: the owner pushes; the device answers in the end.
pub const RULES: [&str; 2] = ["push", "answer"];

/// Accesses of each cache, and reads of the device beside the one for its answer.
const ACCESSES: u8 = 3;
const READS: u8 = 2;
const TRAFFIC: &str =
    "3 accesses of each of two caches, 2 reads of a device, and a load of its register, which needs a third";

const BUS: InterconnectId = InterconnectId(0);
const DEVICE: AgentId = AgentId(2);
const BLOCK: u64 = 0x1000;
const BLOCK_BYTES: usize = 16;
const REGISTER: u64 = 0x2000;

/// What a processor waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Waits {
    Block(Access),
    Register,
}

/// A cache and its processor.
#[derive(Clone, Debug, Hash)]
struct Unit {
    cache: Cache,
    waits: Option<Waits>,
    /// What it has asked of the bus.
    issued: Option<Request>,
    accesses: u8,
}

/// A state of the bus and its agents.
#[derive(Clone, Debug)]
pub struct Agents {
    interconnects: Interconnects,
    units: [Unit; 2],
    memory: BlockData,
    last: u64,
    /// What the device's read that is under way must find: the last value when it was seen.
    sees: u64,
    /// The load of the register has been refused, and the device reads for it.
    is_asked: bool,
    /// The device has what it needs to answer, and has answered.
    is_ready: bool,
    answers: u8,
    reads: u8,
}

/// Something that can happen.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A processor begins an access to the block.
    Begin(usize, Access),
    /// The first processor begins the load of the register.
    Load,
    /// Something happens at the bus.
    Bus(Choice),
}

/// Explores every interleaving, maybe without one of [`RULES`].
pub fn check(without: Option<&str>) -> Report {
    let observe = &mut |_| true;
    let form = "MESI, one block, one register";
    let mut check = Check::of("bus with refusals", form, usize::MAX, observe);
    let mut checked = CheckedRefusals { pushes: without != Some("push"), answers: without != Some("answer") };
    check.explore(TRAFFIC, &mut checked);
    check.finish(&PROPERTIES).without(without)
}

/// A bus with refusals to be checked, and the rules that it has.
#[derive(Clone, Copy)]
struct CheckedRefusals {
    pushes: bool,
    answers: bool,
}

fn bus() -> Interconnect {
    let config = config::load("isca96").expect("a built-in machine").config.bus.expect("it has a bus");
    let caches = [0, 1].map(|number| AgentPort::of_processor(AgentId(number)));
    let ports = caches.into_iter().chain([AgentPort::of_device(DEVICE, 0..0)]).map(AgentPort::refusing);
    let mut homes = AddressMap::default().with_rest(Home::Memory(MemoryId(0)));
    homes.add(REGISTER..REGISTER + 8, Home::Agent(DEVICE)).expect("it is the only range");
    let names = Names { name: "bus", prefix: "" };
    let ports = AgentPorts::new(ports.collect());
    SnoopingBus::new(names, Bus::new(&config, BLOCK_BYTES), ports, homes).with_refusals(1).into()
}

impl Agents {
    fn wants(&self, agent: AgentId) -> bool {
        match self.units.get(usize::from(agent.0)) {
            Some(unit) => unit.waits.is_some() && unit.issued.is_none(),
            None => self.is_asked && !self.is_ready || self.reads < READS,
        }
    }

    fn is_over(&self) -> bool {
        let is_done = |unit: &Unit| unit.accesses == ACCESSES && unit.waits.is_none();
        self.units.iter().all(is_done) && self.reads == READS && self.answers == 1
    }
}

/// One event as it happens.
struct Move<'a> {
    agents: Agents,
    rules: CheckedRefusals,
    witness: Witness<'a>,
}

impl Move<'_> {
    fn expect_last(&mut self, who: &str, found: u64, last: u64) {
        self.witness.say(|| format!("; {who} finds value {found}"));
        self.witness.expect(found == last, LAST, || format!("the last one written was {last}"));
    }

    /// A processor makes its access, or waits for the bus.
    fn access(&mut self, unit: usize, access: Access) {
        let own = &mut self.agents.units[unit];
        if own.cache.access(BLOCK, access).is_err() {
            own.waits = Some(Waits::Block(access));
            return;
        }
        own.waits = None;
        let mut bytes = [0; 8];
        own.cache.read(BLOCK, &mut bytes);
        let last = self.agents.last;
        self.expect_last(who(AgentId(unit as u8)), u64::from_le_bytes(bytes), last);
        if access == Access::Store {
            self.agents.last += 1;
            let value = self.agents.last;
            self.agents.units[unit].cache.write(BLOCK, &value.to_le_bytes());
            self.witness.say(|| format!(" and writes {value}"));
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Begin(unit, access) => {
                self.witness.say(|| format!("{} begins a {access:?}", who(AgentId(unit as u8))));
                self.agents.units[unit].accesses += 1;
                self.access(unit, access);
            }
            Event::Load => {
                self.witness.say(|| "cache A's processor loads the device's register".into());
                self.agents.units[0].waits = Some(Waits::Register);
            }
            Event::Bus(choice) => {
                self.witness.say(|| match choice {
                    Choice::Grant(_, agent) => format!("the bus is granted to {}", who(agent)),
                    Choice::Step(..) => "the bus is free again".into(),
                });
                self.choose(choice);
            }
        }
    }
}

fn who(agent: AgentId) -> &'static str {
    ["cache A", "cache B", "the device"][usize::from(agent.0)]
}

impl Choosing for Move<'_> {
    fn interconnects(&mut self) -> &mut Interconnects {
        &mut self.agents.interconnects
    }
}

/// A cache, for its processor.
struct CacheAgent<'a, 'w> {
    step: &'a mut Move<'w>,
    number: usize,
}

impl CacheAgent<'_, '_> {
    fn id(&self) -> AgentId {
        AgentId(self.number as u8)
    }

    fn unit(&mut self) -> &mut Unit {
        &mut self.step.agents.units[self.number]
    }
}

impl Agent for CacheAgent<'_, '_> {
    fn wants(&self, _on: InterconnectId) -> bool {
        self.step.agents.wants(self.id())
    }

    fn issue(&mut self, _now: Time, _on: InterconnectId) -> Option<Transaction> {
        let agent = self.id();
        let Unit { waits, issued, cache, .. } = self.unit();
        let transaction = match (*waits)? {
            Waits::Register => {
                *issued = Some(Request::Read);
                Transaction::uncached(agent, Kind::UncachedLoad, REGISTER, 8, 0)
            }
            Waits::Block(access) => {
                let request = cache.access(BLOCK, access).err()?;
                *issued = Some(request);
                let kind = match request {
                    Request::Read => Kind::Read,
                    Request::ReadExclusive => Kind::ReadExclusive,
                    _ => Kind::Upgrade,
                };
                Transaction::block(agent, kind, BLOCK)
            }
        };
        self.step.witness.say(|| format!(": {}", transaction.kind.name()));
        Some(transaction)
    }

    fn refuse(&mut self, _now: Time, transaction: &Transaction) -> Option<Refusal> {
        let pushes = self.step.rules.pushes;
        let (snoop, unit) = (transaction.kind.snoop()?, self.unit());
        match pushes {
            true => unit.cache.push(snoop, BLOCK).map(Refusal::Push),
            false => unit.cache.clone().push(snoop, BLOCK).map(|_| Refusal::Retry),
        }
    }

    fn refused(&mut self, _transaction: &Transaction) -> bool {
        self.unit().issued.take().is_some()
    }

    fn snoop(&mut self, _now: Time, transaction: &Transaction) -> SnoopReply {
        if transaction.agent == DEVICE {
            self.step.agents.sees = self.step.agents.last;
        }
        let snoop = transaction.kind.snoop();
        snoop.map(|snoop| self.unit().cache.snoop(snoop, BLOCK)).unwrap_or_default()
    }

    fn complete(&mut self, _: Time, _: InterconnectId, _: &Transaction, response: &Response) {
        let unit = self.unit();
        let request = unit.issued.take().expect("it issued the transaction");
        match unit.waits {
            Some(Waits::Block(access)) => {
                unit.cache.fill(BLOCK, request, response.shared, response.data.as_ref());
                self.step.access(self.number, access);
            }
            _ => unit.waits = None,
        }
    }
}

/// The device.
struct Device<'a, 'w>(&'a mut Move<'w>);

impl Agent for Device<'_, '_> {
    fn wants(&self, _on: InterconnectId) -> bool {
        self.0.agents.wants(DEVICE)
    }

    fn issue(&mut self, _now: Time, _on: InterconnectId) -> Option<Transaction> {
        let issued = Transaction::block(DEVICE, Kind::ReadOnce, BLOCK);
        self.0.witness.say(|| format!(": {}", issued.kind.name()));
        Some(issued)
    }

    /// It needs the bus for its answer.
    fn refuse(&mut self, _now: Time, _transaction: &Transaction) -> Option<Refusal> {
        self.0.agents.is_asked = true;
        (!self.0.agents.is_ready || !self.0.rules.answers).then_some(Refusal::Retry)
    }

    fn access(&mut self, _now: Time, _transaction: &Transaction, _response: &mut Response) -> AccessReply {
        let Move { agents, witness, .. } = &mut *self.0;
        agents.answers += 1;
        witness.say(|| "; the device answers".into());
        let is_right = agents.is_ready && agents.answers == 1;
        witness.expect(is_right, ONCE, || "it has not what it needs, or has answered before".into());
        AccessReply::Done
    }

    fn complete(&mut self, _: Time, _: InterconnectId, _: &Transaction, response: &Response) {
        let agents = &mut self.0.agents;
        let answers = agents.is_asked && !agents.is_ready;
        agents.is_ready |= answers;
        agents.reads += u8::from(!answers);
        let found = response.data.as_ref().expect("a read brings its block").word(0);
        let sees = std::mem::take(&mut agents.sees);
        self.0.expect_last("the device", found, sees);
    }
}

impl<'w> InterconnectHost for Move<'w> {
    type Agent<'a>
        = Either<CacheAgent<'a, 'w>, Device<'a, 'w>>
    where
        Self: 'a;
    type Memory<'a>
        = Memory<'a, BlockData>
    where
        Self: 'a;

    fn interconnect(&mut self, on: InterconnectId) -> &mut Interconnect {
        self.agents.interconnects.get_mut(on)
    }

    fn agent(&mut self, agent: AgentId) -> Self::Agent<'_> {
        match agent {
            DEVICE => Either::Second(Device(self)),
            AgentId(number) => Either::First(CacheAgent { step: self, number: number.into() }),
        }
    }

    fn memory(&mut self, _memory: MemoryId) -> Self::Memory<'_> {
        Memory { bytes: &mut self.agents.memory, block_bytes: BLOCK_BYTES }
    }

    fn schedule(&mut self, _at: Time, on: InterconnectId, step: Step) {
        self.agents.interconnects.schedule(on, step);
    }

    fn observe(&mut self, _at: Time, _on: InterconnectId, seen: Observation<'_>) {
        match seen {
            Observation::Refused { by, .. } => self.witness.say(|| format!("; {} refuses it", who(by))),
            Observation::Crossing { transaction, .. } if transaction.kind == Kind::WriteBack => {
                self.witness.say(|| format!("; it carries the block of {} home", who(transaction.agent)));
            }
            _ => {}
        }
    }
}

impl System for CheckedRefusals {
    type State = Agents;
    type Event = Event;

    fn start(&mut self) -> Result<Agents, Violation> {
        let mesi = protocols::by_name("MESI").expect("a protocol");
        let cache = Cache::with_geometry(mesi, 1, 1, BLOCK_BYTES);
        let unit = Unit { cache, waits: None, issued: None, accesses: 0 };
        Ok(Agents {
            interconnects: Interconnects::new(vec![bus()]),
            units: [unit.clone(), unit],
            memory: BlockData::zeroed(BLOCK_BYTES),
            last: 0,
            sees: 0,
            is_asked: false,
            is_ready: false,
            answers: 0,
            reads: 0,
        })
    }

    fn events(&self, state: &Agents) -> Vec<Event> {
        let mut events = Vec::new();
        for (number, unit) in state.units.iter().enumerate().filter(|(_, unit)| unit.waits.is_none()) {
            if unit.accesses < ACCESSES {
                events.extend([Access::Load, Access::Store].map(|access| Event::Begin(number, access)));
            }
            if number == 0 && state.answers == 0 {
                events.push(Event::Load);
            }
        }
        events.extend(state.interconnects.choices(|agent, _| state.wants(agent)).into_iter().map(Event::Bus));
        events
    }

    fn next(
        &mut self,
        state: &Agents,
        event: Event,
        story: Option<&mut String>,
    ) -> Result<Agents, Violation> {
        let mut step = Move { agents: state.clone(), rules: *self, witness: Witness::new(story) };
        step.happen(event);
        step.witness.verdict(step.agents)
    }

    fn digest(&self, state: &Agents) -> u128 {
        let mut digest = Digest::default();
        let Agents { interconnects, units, memory, last, sees, is_asked, is_ready, answers, reads } = state;
        interconnects.hash_state(&mut digest);
        (units, &memory[..], last, sees, is_asked, is_ready, answers, reads).hash(&mut digest);
        digest.value()
    }

    fn is_final(&self, state: &Agents) -> bool {
        state.is_over()
    }

    fn progress(&self, state: &Agents) -> u64 {
        let done = |unit: &Unit| unit.accesses - u8::from(matches!(unit.waits, Some(Waits::Block(_))));
        let accesses: u8 = state.units.iter().map(done).sum();
        // Of the states of a livelock, one in which a transaction is refused tells most.
        let is_refused = !state.interconnects.get(BUS).refused().is_empty();
        2 * u64::from(accesses + state.reads + state.answers) + u64::from(is_refused)
    }

    fn describe(&self, state: &Agents) -> String {
        let refused = state.interconnects.get(BUS).refused().iter();
        let refused = refused.map(|refused| {
            let (agent, by, kind) = (who(refused.agent), who(refused.by), refused.kind.name());
            format!("{by} refuses {agent}'s {kind} again and again")
        });
        refused.collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::assert_holds;

    #[test]
    fn every_interleaving_of_owners_and_a_device_that_refuse_comes_to_its_end() {
        let report = check(None);
        assert_holds(&report);
        assert_eq!(report.proven, PROPERTIES);
        assert!(report.states > 5_000, "{} states", report.states);
    }

    #[test]
    fn an_owner_that_refuses_and_never_pushes_is_a_livelock() {
        let example = check(Some("push")).counter_example.expect("it is found");
        assert_eq!(example.violated, NO_TRAP);
        let last = example.steps.last().expect("a step");
        assert!(last.contains("refuses") && last.contains("again and again"), "{last}");
    }

    #[test]
    fn a_device_that_never_answers_is_a_livelock() {
        let example = check(Some("answer")).counter_example.expect("it is found");
        assert_eq!(example.violated, NO_TRAP);
        let last = example.steps.last().expect("a step");
        assert!(last.contains("the device refuses cache A's uncached_load again and again"), "{last}");
    }
}
