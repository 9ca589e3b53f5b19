//! The bridge to the I/O bus in every interleaving: a processor that accesses a
//! device again and again, and a device that reads blocks and makes copies go.
//!
//! ```text
//!   processor: stores, loads ──── memory bus ── bridge ── I/O bus ──── device: reads, invalidations
//! ```
//!
//! Both buses, the bridge and their rules are the simulator's own; the processor
//! and the device do nothing but use them, in any order. What they do to each
//! other's data is explored with the interfaces ([`crate::interface`]). The paper's
//! fairness is a property of its own: "Fairness is preserved by ensuring that the
//! next I/O bus transaction succeeds" (isca96, Section 4.1). Without it, a
//! processor that is quick enough has the device refused for ever.

use std::hash::Hash;

use narthex_kernel::Time;
use narthex_kernel::digest::Digest;
use narthex_machine::config;
use narthex_memory::agent::{Agent, Either};
use narthex_memory::bridge::{Bridge, Config, Timing};
use narthex_memory::bus::Bus;
use narthex_memory::interconnects::bridged_bus::BridgedBus;
use narthex_memory::interconnects::snooping_bus::SnoopingBus;
use narthex_memory::interconnects::{
    AddressMap, AgentPort, AgentPorts, Home, Interconnect, InterconnectHost, InterconnectId, MemoryId, Names,
    Observation, Step,
};
use narthex_memory::{AccessReply, AgentId, BlockData, Kind, Response, SnoopReply, Transaction};

use crate::clock::{Choice, Choosing, Interconnects};
use crate::explore::{NO_TRAP, System, Violation, Witness};
use crate::memory::{Bytes, Memory};
use crate::report::{Check, Report};

/// The paper's fairness.
const FAIR: &str = "a device's transaction that was refused is not refused again";
/// Stores reach the device in order, and before later loads.
const IN_ORDER: &str = "accesses of the processor reach the device in their order";
/// Loads do not overtake invalidations.
const SEEN: &str = "a processor that has read the device has seen every invalidation from before";

/// What is proven when every state has been visited.
pub const PROPERTIES: [&str; 4] = [FAIR, IN_ORDER, SEEN, NO_TRAP];

/// Accesses of the processor, and transactions of the device.
const ACCESSES: u64 = 5;
const TRANSACTIONS: u64 = 3;

/// That in words.
pub const TRAFFIC: &str = "5 accesses of a processor and 3 transactions of a device";

/// What the user calls the rule that can be left out.
pub const FAIRNESS: &str = "fairness";

const MEMORY_BUS: InterconnectId = InterconnectId(0);
const IO_BUS: InterconnectId = InterconnectId(1);
const PROCESSOR: AgentId = AgentId(0);
const DEVICE: AgentId = AgentId(1);
const BRIDGE: AgentId = AgentId(2);
const REGISTER: u64 = 0x1000;
const BLOCK: u64 = 0x2000;
const BLOCK_BYTES: usize = 64;

/// A state of both buses.
#[derive(Clone, Debug)]
pub struct Buses {
    interconnects: Interconnects,
    /// The access that the processor asks for.
    asks: Option<Kind>,
    /// Accesses that the processor has begun, and that have reached the device.
    begun: u64,
    reached: u64,
    /// Transactions of the device that are done.
    done: u64,
    /// Invalidations that the bridge has taken, and that have been seen.
    taken: u64,
    seen: u64,
    /// Those taken when the device answered the load that is under way.
    taken_before: u64,
    /// Refusals of the device's transaction so far.
    refusals: u64,
}

/// Something that can happen.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The processor begins an access of this kind.
    Ask(Kind),
    /// Something happens at a bus. A device that gets its bus for a new transaction
    /// issues one of this kind.
    Bus(Choice, Kind),
}

/// Explores every interleaving at the bridge to an I/O bus. `fair` says whether
/// it has its fairness.
pub fn check(fair: bool) -> Report {
    let observe = &mut |_| true;
    let mut check = Check::of("I/O bridge", "room for one transaction each way", usize::MAX, observe);
    check.explore(TRAFFIC, &mut CheckedBridge { fair, ..CheckedBridge::default() });
    check.finish(&PROPERTIES).without((!fair).then_some(FAIRNESS))
}

/// A bridge to be checked.
pub struct CheckedBridge {
    /// Without it, refusals are forgotten.
    pub fair: bool,
    /// What the processor snoops.
    concern: std::ops::Range<u64>,
}

impl Default for CheckedBridge {
    fn default() -> Self {
        CheckedBridge { fair: true, concern: 0..u64::MAX }
    }
}

impl CheckedBridge {
    /// The buses of the 1996 machine, whose bridge has room for one transaction
    /// each way, so that it is often full.
    fn interconnects(&self) -> Vec<Interconnect> {
        let machine = config::load("isca96").expect("a built-in machine").config;
        let io = machine.io_bus.expect("the 1996 machine has an I/O bus");
        let bridge = Bridge::new(&Config { downward_entries: 1, upward_entries: 1, ..io.clone() });
        let bridge = if self.fair { bridge } else { bridge.unfair() };
        let registers = REGISTER..REGISTER + 8;
        let homes = |home, rest: AddressMap| {
            let mut map = rest;
            map.add(registers.clone(), home).expect("it is the only range");
            map
        };
        let above = AddressMap::default().with_rest(Home::Memory(MemoryId(0)));
        let processor = AgentPort { concern: self.concern.clone(), ..AgentPort::of_processor(PROCESSOR) };
        let config = machine.bus.as_ref().expect("the machine has a memory bus");
        let memory_bus = SnoopingBus::new(
            Names { name: "memory bus", prefix: "" },
            Bus::new(config, BLOCK_BYTES),
            AgentPorts::new(vec![processor]),
            homes(Home::Beyond(IO_BUS), above),
        );
        let io_bus = BridgedBus::new(
            Names { name: "I/O bus", prefix: "io_" },
            (MEMORY_BUS, BRIDGE),
            (bridge, Timing::new(config, &io, BLOCK_BYTES)),
            AgentPorts::new(vec![AgentPort::of_device(DEVICE, 0..0)]),
            homes(Home::Agent(DEVICE), AddressMap::default()),
        );
        vec![memory_bus.with_bridge(BRIDGE, IO_BUS).into(), io_bus.into()]
    }
}

impl Buses {
    fn wants(&self, agent: AgentId) -> bool {
        match agent {
            PROCESSOR => self.asks.is_some(),
            _ => self.done < TRANSACTIONS,
        }
    }

    /// Whether an access of the processor has the memory bus.
    fn is_accessing(&self) -> bool {
        let occupant = self.interconnects.get(MEMORY_BUS).occupant();
        occupant.is_some_and(|transaction| transaction.agent == PROCESSOR)
    }

    fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        if self.asks.is_none() && !self.is_accessing() && self.begun < ACCESSES {
            events.extend([Event::Ask(Kind::UncachedStore), Event::Ask(Kind::UncachedLoad)]);
        }
        for choice in self.interconnects.choices(|agent, _| self.wants(agent)) {
            events.push(Event::Bus(choice, Kind::ReadOnce));
            if choice == Choice::Grant(IO_BUS, DEVICE) {
                events.push(Event::Bus(choice, Kind::Invalidate));
            }
        }
        events
    }

    fn is_over(&self) -> bool {
        let is_free = |on, agent| self.interconnects.admits(on, agent);
        self.begun == ACCESSES
            && self.reached == ACCESSES
            && self.done == TRANSACTIONS
            && self.taken == self.seen
            && is_free(MEMORY_BUS, PROCESSOR)
            && is_free(IO_BUS, DEVICE)
    }
}

/// One event as it happens.
struct Move<'a> {
    buses: Buses,
    /// What the device issues, if anything new.
    kind: Kind,
    zeros: Zeros,
    witness: Witness<'a>,
}

impl Move<'_> {
    fn happen(&mut self, event: Event) {
        match event {
            Event::Ask(kind) => {
                self.witness.say(|| format!("the processor asks for the memory bus ({})", kind.name()));
                self.buses.asks = Some(kind);
                self.buses.begun += 1;
            }
            Event::Bus(choice, kind) => {
                self.kind = kind;
                self.tell(choice);
                self.choose(choice);
            }
        }
    }

    fn tell(&mut self, choice: Choice) {
        let (Choice::Grant(on, _) | Choice::Step(on, _)) = choice;
        let bus = self.buses.interconnects.get(on);
        let (name, occupant) = (bus.name(), bus.occupant().map(|occupant| occupant.kind.name()));
        self.witness.say(|| match (choice, occupant) {
            (Choice::Grant(_, agent), _) => format!("the {name} is granted to {}", who(agent)),
            (Choice::Step(_, Step::Address), _) => "the load's address is at the bridge".into(),
            (Choice::Step(..), Some(kind)) => format!("{kind} is over on the {name}"),
            (Choice::Step(..), None) => format!("the bridge's part on the {name} is over"),
        });
    }
}

fn who(agent: AgentId) -> &'static str {
    ["the processor", "the device", "the bridge"][usize::from(agent.0)]
}

impl Choosing for Move<'_> {
    fn interconnects(&mut self) -> &mut Interconnects {
        &mut self.buses.interconnects
    }
}

/// The processor: it accesses the device's register.
struct Processor<'a, 'w>(&'a mut Move<'w>);

impl Agent for Processor<'_, '_> {
    fn wants(&self, _on: InterconnectId) -> bool {
        self.0.buses.wants(PROCESSOR)
    }

    fn issue(&mut self, _now: Time, _on: InterconnectId) -> Option<Transaction> {
        let buses = &mut self.0.buses;
        let kind = buses.asks.take()?;
        let issued = Transaction::uncached(PROCESSOR, kind, REGISTER, 8, buses.begun);
        self.0.witness.say(|| format!(": {} {}", issued.kind.name(), issued.value));
        Some(issued)
    }

    fn snoop(&mut self, _now: Time, transaction: &Transaction) -> SnoopReply {
        if transaction.kind == Kind::Invalidate {
            self.0.witness.say(|| "; the processor sees an invalidation".into());
            self.0.buses.seen += 1;
        }
        SnoopReply::default()
    }

    fn complete(&mut self, _: Time, _: InterconnectId, transaction: &Transaction, _: &Response) {
        if transaction.kind == Kind::UncachedLoad {
            let buses = &mut self.0.buses;
            let has_seen = buses.seen >= std::mem::take(&mut buses.taken_before);
            self.0.witness.expect(has_seen, SEEN, || "an invalidation is still on its way".into());
        }
    }
}

/// The device: it reads blocks and makes copies go, and has a register.
struct Device<'a, 'w>(&'a mut Move<'w>);

impl Agent for Device<'_, '_> {
    fn wants(&self, _on: InterconnectId) -> bool {
        self.0.buses.wants(DEVICE)
    }

    fn issue(&mut self, _now: Time, _on: InterconnectId) -> Option<Transaction> {
        let issued = Transaction::block(DEVICE, self.0.kind, BLOCK);
        self.0.witness.say(|| format!(": {}", issued.kind.name()));
        Some(issued)
    }

    fn access(&mut self, _now: Time, transaction: &Transaction, _response: &mut Response) -> AccessReply {
        let Move { buses, witness, .. } = &mut *self.0;
        let value = transaction.value;
        buses.reached += 1;
        witness.say(|| format!("; access {value} reaches the device"));
        witness.expect(value == buses.reached, IN_ORDER, || "an earlier one has not".into());
        if transaction.kind == Kind::UncachedLoad {
            buses.taken_before = buses.taken;
        }
        AccessReply::Done
    }

    fn complete(&mut self, _: Time, _: InterconnectId, transaction: &Transaction, _: &Response) {
        let buses = &mut self.0.buses;
        buses.taken += u64::from(transaction.kind == Kind::Invalidate);
        buses.done += 1;
        buses.refusals = 0;
    }
}

/// The block in memory, which nobody writes.
struct Zeros;

impl Bytes for Zeros {
    fn block(&self, _address: u64, length: usize) -> BlockData {
        BlockData::zeroed(length)
    }

    fn replace(&mut self, _address: u64, _bytes: &[u8]) {
        unreachable!("nobody writes a block")
    }
}

impl<'w> InterconnectHost for Move<'w> {
    type Agent<'a>
        = Either<Processor<'a, 'w>, Device<'a, 'w>>
    where
        Self: 'a;
    type Memory<'a>
        = Memory<'a, Zeros>
    where
        Self: 'a;

    fn interconnect(&mut self, on: InterconnectId) -> &mut Interconnect {
        self.buses.interconnects.get_mut(on)
    }

    fn agent(&mut self, agent: AgentId) -> Self::Agent<'_> {
        match agent {
            PROCESSOR => Either::First(Processor(self)),
            _ => Either::Second(Device(self)),
        }
    }

    fn memory(&mut self, _memory: MemoryId) -> Self::Memory<'_> {
        Memory { bytes: &mut self.zeros, block_bytes: BLOCK_BYTES }
    }

    fn schedule(&mut self, _at: Time, on: InterconnectId, step: Step) {
        self.buses.interconnects.schedule(on, step);
    }

    fn observe(&mut self, _at: Time, on: InterconnectId, seen: Observation<'_>) {
        match seen {
            Observation::Released if on == IO_BUS => {
                self.witness.say(|| "; it was refused".into());
                self.buses.refusals += 1;
                self.witness.expect(self.buses.refusals == 1, FAIR, || "it was refused before".into());
            }
            Observation::Kept => self.witness.say(|| ", which keeps it for the device".into()),
            _ => {}
        }
    }
}

impl System for CheckedBridge {
    type State = Buses;
    type Event = Event;

    fn start(&mut self) -> Result<Buses, Violation> {
        Ok(Buses {
            interconnects: Interconnects::new(self.interconnects()),
            asks: None,
            begun: 0,
            reached: 0,
            done: 0,
            taken: 0,
            seen: 0,
            taken_before: 0,
            refusals: 0,
        })
    }

    fn events(&self, state: &Buses) -> Vec<Event> {
        state.events()
    }

    fn next(&mut self, state: &Buses, event: Event, story: Option<&mut String>) -> Result<Buses, Violation> {
        let mut step =
            Move { buses: state.clone(), kind: Kind::ReadOnce, zeros: Zeros, witness: Witness::new(story) };
        step.happen(event);
        step.witness.verdict(step.buses)
    }

    fn digest(&self, state: &Buses) -> u128 {
        let mut digest = Digest::default();
        let Buses { interconnects, asks, begun, reached, done, taken, seen, taken_before, refusals } = state;
        interconnects.hash_state(&mut digest);
        (asks, begun, reached, done, taken, seen, taken_before, refusals).hash(&mut digest);
        digest.value()
    }

    fn is_final(&self, state: &Buses) -> bool {
        state.is_over()
    }

    fn progress(&self, state: &Buses) -> u64 {
        state.reached + state.done
    }

    fn describe(&self, state: &Buses) -> String {
        format!("{} accesses have reached the device{}", state.reached, state.interconnects.describe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::{Exploration, explore};

    fn explored(mut checked: CheckedBridge) -> Exploration {
        explore(&mut checked, 1_000_000, &mut |_| true)
    }

    #[test]
    fn every_interleaving_at_the_bridge_is_fair_and_in_order() {
        let found = explored(CheckedBridge::default());
        assert!(found.complete && found.counter_example.is_none(), "{:#?}", found.counter_example);
        assert!(found.states > 1_000, "{} states", found.states);
    }

    #[test]
    fn without_fairness_a_device_is_refused_again() {
        let found = explored(CheckedBridge { fair: false, ..CheckedBridge::default() });
        let example = found.counter_example.expect("the starvation is found");
        assert_eq!(example.violated, FAIR);
        let refusals = example.steps.iter().filter(|step| step.contains("refused")).count();
        assert!(refusals >= 2, "{:#?}", example.steps);
    }

    #[test]
    fn a_bus_that_does_not_show_invalidations_to_the_processor_is_found() {
        let found = explored(CheckedBridge { concern: 0..BLOCK, ..CheckedBridge::default() });
        let example = found.counter_example.expect("the unseen invalidation is found");
        assert_eq!(example.violated, SEEN);
    }
}
