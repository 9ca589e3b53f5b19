//! Interconnects with a processor, another one, a device and a memory on them, whose
//! answers the tests state, and what they see.

use narthex_kernel::{Clock, EventPlace, EventQueue};

use super::super::bridged_bus::BridgedBus;
use super::super::private_path::PrivatePath;
use super::super::snooping_bus::SnoopingBus;
use super::super::*;
use crate::agent::Agent;
use crate::bridge::{self, Bridge, Timing};
use crate::bus::{self, Bus, ExtraCycles};
use crate::home_memory::HomeMemory;
use crate::kind::Kind;
use crate::main_memory::MainMemory;
use crate::transaction::{AccessReply, BlockData, HomeReply, Response, SnoopReply};

pub(super) const BLOCK_BYTES: usize = 64;
pub(super) const BUS: InterconnectId = InterconnectId(0);
pub(super) const SECOND: InterconnectId = InterconnectId(1);
pub(super) const MEMORY: MemoryId = MemoryId(0);
/// Two processors, then a device.
pub(super) const PROCESSOR: AgentId = AgentId(0);
pub(super) const OTHER: AgentId = AgentId(1);
pub(super) const DEVICE: AgentId = AgentId(2);
pub(super) const BRIDGE: AgentId = AgentId(u8::MAX);
/// A block of main memory, a block whose home is the device, and its register.
pub(super) const BLOCK: u64 = 0x1000;
pub(super) const HOME: u64 = 0x8000;
pub(super) const REGISTER: u64 = 0x9000;

pub(super) fn extra_cycles() -> ExtraCycles {
    ExtraCycles {
        read: 0,
        read_exclusive: 0,
        upgrade: 0,
        write_back: 0,
        write_block: 0,
        read_once: 0,
        invalidate: 0,
        uncached_load: 0,
        uncached_store: 0,
        block_load: 0,
        block_store: 0,
    }
}

pub(super) fn memory_bus() -> bus::Config {
    bus::Config {
        clock: "100MHz".parse().unwrap(),
        width: "8B".parse().unwrap(),
        arbitration_cycles: 1,
        address_cycles: 1,
        extra_cycles: extra_cycles(),
        cache_supply_time: Duration::ZERO,
        dirty_owner: Default::default(),
        retry_cycles: None,
    }
}

pub(super) fn io_bus() -> bridge::Config {
    bridge::Config {
        clock: "50MHz".parse().unwrap(),
        width: "8B".parse().unwrap(),
        arbitration_cycles: 1,
        address_cycles: 1,
        extra_cycles: extra_cycles(),
        bridge_access_time: Duration::ZERO,
        downward_entries: 1,
        upward_entries: 1,
    }
}

/// What an agent does.
#[derive(Default)]
pub(super) struct Script {
    /// What it issues, in order.
    pub(super) issues: Vec<Transaction>,
    /// What it answers to those of others.
    pub(super) reply: SnoopReply,
    /// Whether it takes in what passes by.
    pub(super) takes: bool,
    /// How it refuses the next transactions that it may refuse.
    pub(super) refusals: Vec<Refusal>,
    /// Whether it forms a refused transaction anew.
    pub(super) forms_anew: bool,
    /// Whether it holds accesses to its register.
    pub(super) holds: bool,
    pub(super) on: Option<InterconnectId>,
}

/// Something that an agent has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seen {
    Snooped(AgentId, Kind),
    Snarfed(AgentId),
    Home(Kind),
    Accessed(Kind),
    /// With whether it is shared, and the first byte of the answer.
    Completed(AgentId, Kind, bool, Option<u8>),
    UnusedGrant(AgentId),
    /// Whose transaction, by whom.
    Refused(AgentId, AgentId),
    Kept,
    Released,
}

pub(super) struct Bench {
    pub(super) interconnects: Vec<Interconnect>,
    pub(super) memory: HomeMemory,
    pub(super) agents: Vec<Script>,
    pub(super) due: EventQueue<(InterconnectId, Step)>,
    pub(super) seen: Vec<(u64, Seen)>,
    /// When each interconnect was taken, and until when, by kind.
    pub(super) crossings: Vec<(InterconnectId, Kind, u64, u64)>,
    pub(super) suppliers: Vec<Option<Supplier>>,
    pub(super) owners: u32,
    /// Whether a bus may take the step at once that comes next.
    pub(super) at_once: bool,
    /// Up to when a bus may take its steps without scheduling them.
    pub(super) free_until: Time,
    /// Whether agents say which register they access next.
    pub(super) tells_registers: bool,
    /// The agent that may be answered early.
    pub(super) early: Option<AgentId>,
}

pub(super) fn nanoseconds(time: Time) -> u64 {
    time.as_ps() / 1_000
}

pub(super) fn names(name: &'static str) -> Names {
    Names { name, prefix: "" }
}

pub(super) fn device() -> AgentPort {
    AgentPort::of_device(DEVICE, HOME..HOME + 0x1000)
}

pub(super) fn homes(home: Home) -> AddressMap {
    let mut map = AddressMap::default();
    map.add(HOME..HOME + 0x1000, home).unwrap();
    map.add(REGISTER..REGISTER + 0x1000, home).unwrap();
    map
}

impl Bench {
    pub(super) fn with(interconnects: Vec<Interconnect>, of_device: InterconnectId) -> Self {
        let agent = |on| Script { on: Some(on), ..Script::default() };
        Bench {
            interconnects,
            memory: HomeMemory::new(MainMemory::default(), Duration::from_ns(100), BLOCK_BYTES as u64),
            agents: vec![agent(BUS), agent(BUS), agent(of_device)],
            due: EventQueue::new(),
            seen: Vec::new(),
            crossings: Vec::new(),
            suppliers: Vec::new(),
            owners: 0,
            at_once: false,
            free_until: Time::ZERO,
            tells_registers: false,
            early: None,
        }
    }

    /// Two processors, a memory and a device on one bus.
    pub(super) fn on_one_bus() -> Self {
        let ports = AgentPorts::new(vec![
            AgentPort::of_processor(PROCESSOR),
            AgentPort::of_processor(OTHER),
            device(),
        ]);
        let map = homes(Home::Agent(DEVICE)).with_rest(Home::Memory(MEMORY));
        let bus = Bus::new(&memory_bus(), BLOCK_BYTES);
        Self::with(vec![SnoopingBus::new(names("memory bus"), bus, ports, map).into()], BUS)
    }

    /// The device is behind a bridge.
    pub(super) fn behind_a_bridge() -> Self {
        let ports = AgentPorts::new(vec![AgentPort::of_processor(PROCESSOR), AgentPort::of_processor(OTHER)]);
        let map = homes(Home::Beyond(SECOND)).with_rest(Home::Memory(MEMORY));
        let bus = Bus::new(&memory_bus(), BLOCK_BYTES);
        let upper = SnoopingBus::new(names("memory bus"), bus, ports, map).with_bridge(BRIDGE, SECOND);
        let parts = (Bridge::new(&io_bus()), Timing::new(&memory_bus(), &io_bus(), BLOCK_BYTES));
        let (ports, map) = (AgentPorts::new(vec![device()]), homes(Home::Agent(DEVICE)));
        let lower = BridgedBus::new(names("I/O bus"), (BUS, BRIDGE), parts, ports, map);
        Self::with(vec![upper.into(), lower.into()], SECOND)
    }

    /// The first processor reaches the device's registers by a path of its own.
    pub(super) fn with_a_private_path() -> Self {
        let ports =
            AgentPorts::new(vec![AgentPort::of_processor(PROCESSOR), AgentPort::of_device(DEVICE, 0..0)]);
        let bus = Bus::with_occupancy(Clock::with_period(Duration::from_ns(5)), |_| 2);
        let path = PrivatePath::new(names("private bus"), bus, ports, homes(Home::Agent(DEVICE)));
        let mut bench = Self::with(vec![path.into()], BUS);
        bench.agents[0].on = Some(BUS);
        bench
    }

    /// The agent is to issue this.
    pub(super) fn script(&mut self, agent: AgentId, transaction: Transaction) {
        self.agents[usize::from(agent.0)].issues.push(transaction);
    }

    /// The agents ask at this instant.
    pub(super) fn ask_at(&mut self, at_ns: u64, agents: &[AgentId]) {
        for &agent in agents {
            let on = self.agents[usize::from(agent.0)].on.expect("it sits somewhere");
            ask(self, Time::ZERO + Duration::from_ns(at_ns), on, agent);
        }
    }

    /// Lets everything happen that is due.
    pub(super) fn run(&mut self) {
        while self.step() {}
    }

    /// Lets the next thing happen, if anything is due.
    pub(super) fn step(&mut self) -> bool {
        let next = self.due.pop_before(Time::NEVER);
        if let Some((now, (on, step))) = next {
            happen(self, now, on, step);
        }
        next.is_some()
    }

    /// When something was seen first.
    pub(super) fn when(&self, seen: Seen) -> Option<u64> {
        self.seen.iter().find(|(_, other)| *other == seen).map(|(at, _)| *at)
    }
}

/// An agent of a bench: a processor, or the device.
pub(super) struct Scripted<'a> {
    bench: &'a mut Bench,
    agent: AgentId,
}

impl Scripted<'_> {
    fn own(&self) -> &Script {
        &self.bench.agents[usize::from(self.agent.0)]
    }

    fn own_mut(&mut self) -> &mut Script {
        &mut self.bench.agents[usize::from(self.agent.0)]
    }

    fn see(&mut self, now: Time, seen: Seen) {
        self.bench.seen.push((nanoseconds(now), seen));
    }
}

impl Agent for Scripted<'_> {
    fn wants(&self, on: InterconnectId) -> bool {
        self.own().on == Some(on) && !self.own().issues.is_empty()
    }

    fn issue(&mut self, _now: Time, _on: InterconnectId) -> Option<Transaction> {
        let issues = &mut self.own_mut().issues;
        (!issues.is_empty()).then(|| issues.remove(0))
    }

    fn register_access(&self) -> Option<Transaction> {
        let next = self.own().issues.first().filter(|_| self.bench.tells_registers)?;
        next.kind.is_uncached().then(|| next.clone())
    }

    fn make_register_access(
        &mut self,
        (_, now): (Time, Time),
        on: InterconnectId,
        device: AgentId,
        transaction: &Transaction,
    ) {
        self.own_mut().issues.remove(0);
        let mut response = Response::default();
        self.bench.agent(device).access(now, transaction, &mut response);
        self.complete(now, on, transaction, &response);
    }

    fn refuse(&mut self, _now: Time, _transaction: &Transaction) -> Option<Refusal> {
        let refusals = &mut self.own_mut().refusals;
        (!refusals.is_empty()).then(|| refusals.remove(0))
    }

    fn refused(&mut self, _transaction: &Transaction) -> bool {
        self.own().forms_anew
    }

    fn snoop(&mut self, now: Time, transaction: &Transaction) -> SnoopReply {
        self.see(now, Seen::Snooped(self.agent, transaction.kind));
        self.own().reply.clone()
    }

    fn home(&mut self, now: Time, transaction: &Transaction) -> HomeReply {
        assert_eq!(self.agent, DEVICE);
        self.see(now, Seen::Home(transaction.kind));
        let data = transaction.kind.fetches_block().then(|| BlockData::from_bytes(&[9; BLOCK_BYTES]));
        HomeReply { data, delay: Duration::from_ns(30) }
    }

    fn access_time(&mut self, _now: Time, _kind: Kind) -> Duration {
        Duration::from_ns(30)
    }

    fn access(&mut self, now: Time, transaction: &Transaction, response: &mut Response) -> AccessReply {
        assert_eq!(self.agent, DEVICE);
        self.see(now, Seen::Accessed(transaction.kind));
        if self.own().holds {
            return AccessReply::Held;
        }
        response.value = 77;
        AccessReply::Done
    }

    fn snarf(&mut self, transaction: &Transaction) -> bool {
        let takes = self.own().takes;
        if takes {
            assert_eq!(transaction.address, BLOCK);
            self.see(Time::ZERO, Seen::Snarfed(self.agent));
        }
        takes
    }

    fn complete(&mut self, now: Time, on: InterconnectId, transaction: &Transaction, response: &Response) {
        let byte = response.data.as_ref().map(|data| data[0]);
        if transaction.kind == Kind::UncachedLoad {
            assert_eq!(response.value, 77, "the register's value");
        }
        self.see(now, Seen::Completed(self.agent, transaction.kind, response.shared, byte));
        ask(self.bench, now, on, self.agent);
    }
}

impl InterconnectHost for Bench {
    type Agent<'a> = Scripted<'a>;
    type Memory<'a> = &'a mut HomeMemory;

    fn interconnect(&mut self, on: InterconnectId) -> &mut Interconnect {
        &mut self.interconnects[usize::from(on.0)]
    }

    fn agent(&mut self, agent: AgentId) -> Scripted<'_> {
        Scripted { bench: self, agent }
    }

    fn memory(&mut self, memory: MemoryId) -> &mut HomeMemory {
        assert_eq!(memory, MEMORY);
        &mut self.memory
    }

    fn schedule(&mut self, at: Time, on: InterconnectId, step: Step) {
        self.due.schedule(at, (on, step));
    }

    fn comes_next(&self, now: Time) -> bool {
        self.at_once && self.due.next_time().is_none_or(|next| next > now)
    }

    fn is_free_before(&self, at: Time) -> bool {
        at < self.free_until && at < self.due.next_instant()
    }

    fn may_answer_early(&self, agent: AgentId, _at: Time) -> bool {
        self.early == Some(agent)
    }

    fn keep_place(&mut self) -> EventPlace {
        self.due.keep_place()
    }

    fn schedule_in(&mut self, place: EventPlace, at: Time, on: InterconnectId, step: Step) {
        self.due.schedule_in(place, at, (on, step));
    }

    fn has_passed(&self, at: Time, place: EventPlace) -> bool {
        self.due.has_passed(at, place)
    }

    fn supplied(&mut self, _transaction: &Transaction, supplier: Option<Supplier>) {
        self.suppliers.push(supplier);
    }

    fn is_observed(&self) -> bool {
        true
    }

    fn observe(&mut self, at: Time, on: InterconnectId, seen: Observation<'_>) {
        let seen = match seen {
            Observation::Crossing { time: (from, to), transaction, .. } => {
                return self.crossings.push((on, transaction.kind, nanoseconds(from), nanoseconds(to)));
            }
            Observation::Held(_) | Observation::Packet(_) => return,
            Observation::Kept => Seen::Kept,
            Observation::Released => Seen::Released,
            Observation::UnusedGrant(agent) => Seen::UnusedGrant(agent),
            Observation::Refused { transaction, by, .. } => Seen::Refused(transaction.agent, by),
        };
        self.seen.push((nanoseconds(at), seen));
    }

    fn two_owners(&mut self, _transaction: &Transaction) {
        self.owners += 1;
    }
}

pub(super) fn read(agent: AgentId, address: u64) -> Transaction {
    Transaction::block(agent, Kind::Read, address)
}

pub(super) fn load(agent: AgentId) -> Transaction {
    Transaction::uncached(agent, Kind::UncachedLoad, REGISTER, 8, 0)
}

pub(super) fn store(agent: AgentId) -> Transaction {
    Transaction::uncached(agent, Kind::UncachedStore, REGISTER, 8, 5)
}

/// Bytes that an agent supplies, after 20 ns.
pub(super) fn supplies(updates_home: bool) -> SnoopReply {
    let block = BlockData::from_bytes(&[6; BLOCK_BYTES]);
    SnoopReply {
        shares: true,
        supplies: Some(block),
        updates_home,
        delay: Duration::from_ns(20),
        later: false,
    }
}
