//! A bus behind a bridge: an I/O bus, and what crosses to and from the bus above.
//!
//! ```text
//!   a processor reads a device     memory bus ├─ address ─┼┄┄┄┄┄┄┄┄┄┄┼─ answer ─┤
//!                                  I/O bus                ├─ read ───┤
//!   a processor writes to it       memory bus ├─ write ─┤
//!                                  I/O bus              ├─ write ─┤
//!   a device reads a block         memory bus ├─ read ─┤
//!                                  I/O bus    ├─ read ────┤
//!   it makes copies go             memory bus                ├─ invalidate ─┤
//!                                  I/O bus    ├─ invalidate ┤
//! ```
//!
//! The bridge has a port on each interconnect. The one above may be any that lets a bridge sit on it: of
//! a snooping bus, as in the picture, a read has both buses, and is seen by the agents of both at that
//! instant; a directory goes on with others until a read is answered. [`Bridge`] decides what may cross
//! next, [`Timing`] how long it takes; here both are carried to the bus, the devices and the bridge's
//! port above. What the bridge buffers is seen by the agents of each interconnect when it is there.

#[path = "bridged_bus/part.rs"]
mod part;
#[path = "bridged_bus/upward.rs"]
mod upward;

use std::hash::{Hash, Hasher};

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Clock, Damage, Duration, Time};
use serde::{Deserialize, Serialize};

use super::{
    AddressMap, Admits, AgentPorts, Answer, CarriedTransaction, Home, Interconnect, InterconnectHost,
    InterconnectId, InterconnectModel, Names, Observation, Snooped, Step, Supplier, Words, access, at_home,
    block_transaction, end_crossing_at, request, request_first, snoop,
};
use crate::agent::Agent;
use crate::bridge::{Answerer, Bridge, Start, Timing, Turn};
use crate::bus::Bus;
use crate::transaction::{AccessReply, AgentId, Response, Transaction, TransactionTag};
pub use part::Keys;

/// A bus with its agents, and the bridge between it and the bus above.
#[derive(Clone, Debug)]
pub struct BridgedBus {
    names: Names,
    upper: InterconnectId,
    /// The place of the bridge on both buses.
    agent: AgentId,
    bus: Bus,
    bridge: Bridge,
    timing: Timing,
    ports: AgentPorts,
    homes: AddressMap,
    /// What has the bus.
    occupant: Option<Occupant>,
}

/// The transaction that has the bus.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Occupant {
    underway: CarriedTransaction,
    since: Time,
    /// The bridge put it there, for an agent of the upper bus.
    is_bridge: bool,
    /// Its end is scheduled.
    ends: bool,
}

impl BridgedBus {
    /// An idle bus behind an idle bridge, which is `agent` on the bus `upper`.
    /// `homes` has the addresses of the devices on the bus.
    pub fn new(
        names: Names,
        (upper, agent): (InterconnectId, AgentId),
        (bridge, timing): (Bridge, Timing),
        ports: AgentPorts,
        homes: AddressMap,
    ) -> Self {
        let bus = Bus::with_occupancy(timing.clock(), |_| 0);
        BridgedBus { names, upper, agent, bus, bridge, timing, ports, homes, occupant: None }
    }

    fn of<C: InterconnectHost>(composition: &mut C, on: InterconnectId) -> &mut Self {
        match composition.interconnect(on) {
            Interconnect::BridgedBus(bus) => bus,
            other => unreachable!("{} is not behind a bridge", other.name()),
        }
    }

    /// Asks for both interconnects for the bridge, and for the devices.
    fn ask_for_all<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        let own = Self::of(composition, on);
        let (upper, agent) = (own.upper, own.agent);
        match own.bridge.wants_memory() {
            Some(Turn::First) => request_first(composition, now, upper, agent),
            Some(Turn::InOrder) => request(composition, now, upper, agent),
            None => {}
        }
        let own = Self::of(composition, on);
        if own.needs_bus()
            && let Some(at) = own.bus.request_first(now, agent)
        {
            composition.schedule(at, on, Step::Grant);
        }
        for place in 0.. {
            let own = Self::of(composition, on);
            let Some(device) = own.ports.iter().nth(place).map(|port| port.agent) else { break };
            let asks = own.bridge.has_refused(device) || composition.agent(device).wants(on);
            let own = Self::of(composition, on);
            if asks
                && own.bridge.admits_devices()
                && let Some(at) = own.bus.request(now, device)
            {
                composition.schedule(at, on, Step::Grant);
            }
        }
    }

    /// Whether the bridge needs the bus, and does not have it.
    fn needs_bus(&self) -> bool {
        let has_bus = self.occupant.as_ref().is_some_and(|occupant| occupant.is_bridge);
        self.bridge.wants_io() && !has_bus
    }

    /// The bridge puts a transaction of the upper bus on this one.
    fn start_for_bridge<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        transaction: Transaction,
    ) {
        let own = Self::of(composition, on);
        let (upper, device) = (own.upper, own.homes.home(transaction.address));
        let Answer { response, delay, supplier } = match device {
            Home::Agent(agent) if transaction.kind.is_uncached() => {
                Answer::after(composition.agent(agent).access_time(now, transaction.kind))
            }
            _ if transaction.kind.is_posted() => {
                Answer::after(Self::show_devices(composition, now, on, &transaction))
            }
            _ => block_transaction(composition, now, &[upper, on], device, &transaction),
        };
        let own = Self::of(composition, on);
        let end = now + own.timing.on_io(&transaction, delay);
        let seen = Observation::Crossing { time: (now, end), transaction: &transaction, supplier };
        composition.observe(now, on, seen);
        let underway = CarriedTransaction::answered(transaction, response);
        let occupant = Occupant { underway, since: now, is_bridge: true, ends: true };
        Self::of(composition, on).occupant = Some(occupant);
        composition.schedule(end, on, Step::Release);
    }

    /// Shows a transaction that asks for no bytes to the devices on the bus, and to
    /// the home among them; the time that the home takes.
    fn show_devices<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        transaction: &Transaction,
    ) -> Duration {
        snoop(composition, now, on, transaction, &mut Snooped::default());
        match Self::of(composition, on).homes.find(transaction.address) {
            Some(device) => at_home(composition, device).home(now, transaction).delay,
            None => Duration::ZERO,
        }
    }

    /// The transaction on the bus is over.
    fn release<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        let mut occupant = Self::of(composition, on).occupant.take().expect("a transaction has the bus");
        if occupant.is_bridge {
            let device = Self::of(composition, on).homes.home(occupant.underway.transaction.address);
            if access(composition, now, device, &mut occupant.underway) == AccessReply::Held {
                Self::of(composition, on).occupant = Some(occupant);
                return;
            }
            Self::end_for_bridge(composition, now, on, occupant);
        } else if !Self::end_for_device(composition, now, on, occupant) {
            return;
        }
        Self::free(composition, now, on);
        Self::ask_for_all(composition, now, on);
    }

    fn end_for_bridge<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        occupant: Occupant,
    ) {
        let Occupant { underway: CarriedTransaction { transaction, response, .. }, since, .. } = occupant;
        let kind = transaction.kind;
        let own = Self::of(composition, on);
        own.bus.carried(kind, now - since);
        let (upper, answered) = (own.upper, now + own.timing.answer(&transaction));
        if own.bridge.io_over() {
            let stalled = own.bridge.crossing().expect("a write waits above");
            let crossed = now + own.timing.posting(stalled);
            end_crossing_at(composition, crossed, upper, on, None);
        }
        if !kind.is_posted() {
            end_crossing_at(composition, answered, upper, on, Some(response));
        }
    }

    fn free<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        if let Some(at) = Self::of(composition, on).bus.release(now) {
            composition.schedule(at, on, Step::Grant);
        }
    }
}

impl InterconnectModel for BridgedBus {
    const KIND: &'static str = "bridged-bus";
    const ADMITS: Admits = Admits { coherent_devices: true, ..Admits::NOTHING };
    const POSTS_ACCESSES: bool = true;

    fn ask<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, _agent: AgentId) {
        Self::ask_for_all(composition, now, on);
    }

    #[inline(never)]
    fn happen<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, step: Step) {
        match step {
            Step::Grant => {
                match Self::of(composition, on).bus.grant() {
                    Some(agent) => Self::grant_to(composition, now, on, agent),
                    None => Self::free(composition, now, on),
                }
                Self::ask_for_all(composition, now, on);
            }
            Step::Release => Self::release(composition, now, on),
            Step::Forward => unreachable!("no directory is here"),
            Step::Address => {
                Self::of(composition, on).bridge.read_arrives();
                Self::ask_for_all(composition, now, on);
            }
        }
    }

    fn answer<C: InterconnectHost>(
        composition: &mut C,
        at: Time,
        on: InterconnectId,
        access: (AgentId, TransactionTag),
        response: Response,
    ) {
        let own = Self::of(composition, on);
        own.occupant.as_mut().expect("the access is held").underway.answer(access, response);
        let end = own.bus.clock().edge_at_or_after(at);
        composition.schedule(end, on, Step::Release);
    }

    fn bridge(&self) -> Option<&Bridge> {
        Some(&self.bridge)
    }

    fn bridge_mut(&mut self) -> &mut Bridge {
        &mut self.bridge
    }

    fn home_behind(&self, address: u64) -> Home {
        self.homes.home(address)
    }

    fn start_crossing<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        transaction: &Transaction,
    ) -> Option<Duration> {
        let own = Self::of(composition, on);
        match own.bridge.start(transaction.clone()) {
            Start::Posts => Some(own.timing.posting(transaction)),
            Start::Stalls => None,
            Start::Reads => {
                let arrival = now + own.timing.until_read_crosses(transaction.kind);
                composition.schedule(arrival, on, Step::Address);
                None
            }
        }
    }

    fn go_on_crossing<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        Self::end_refused(composition, now, on);
        Self::ask_for_all(composition, now, on);
    }

    fn answer_from_above(&mut self, now: Time, read: &Transaction, answer: Answer) -> (Time, (Time, Time)) {
        let is_of_device = |agent| self.ports.iter().any(|port| port.agent == agent);
        let answerer = match answer.supplier {
            Some(Supplier::Agent(agent)) if is_of_device(agent) => Answerer::OnIoBus(answer.delay),
            _ => Answerer::OnMemoryBus(answer.delay),
        };
        let occupant = self.occupant.as_mut().expect("the device has the bus");
        (occupant.underway.response, occupant.ends) = (answer.response, true);
        let (end_above, end) = self.timing.device_read(read.kind, now, occupant.since, answerer);
        (end_above, (occupant.since, end))
    }

    fn end_read_above<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        read: &Transaction,
        response: &Response,
    ) {
        let own = Self::of(composition, on);
        let occupant = own.occupant.as_mut().expect("the device has the bus");
        (occupant.underway.response, occupant.ends) = (response.clone(), true);
        let time = (occupant.since, own.timing.end_of_read(read.kind, now, occupant.since));
        composition.schedule(time.1, on, Step::Release);
        composition.observe(now, on, Observation::Crossing { time, transaction: read, supplier: None });
    }

    #[inline(never)]
    fn end_above<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        let own = Self::of(composition, on);
        if own.bridge.memory_over()
            && let Some(occupant) = own.occupant.as_mut().filter(|occupant| !occupant.ends)
        {
            occupant.ends = true;
            composition.schedule(now, on, Step::Release);
        }
        Self::ask_for_all(composition, now, on);
    }

    fn grant_to<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        let own = Self::of(composition, on);
        if agent == own.agent {
            match own.bridge.next_on_io() {
                Some(transaction) => Self::start_for_bridge(composition, now, on, transaction),
                None => Self::free(composition, now, on),
            }
        } else if own.bridge.admits_devices() {
            Self::start_for_device(composition, now, on, agent);
        } else {
            Self::free(composition, now, on);
        }
    }

    fn contenders(&self, _all: &[Interconnect], wants: impl Fn(AgentId) -> bool) -> Vec<AgentId> {
        if self.occupant.is_some() {
            return Vec::new();
        }
        if self.needs_bus() {
            return vec![self.agent];
        }
        if !self.bridge.admits_devices() {
            return Vec::new();
        }
        let asks = |agent: &AgentId| self.bridge.has_refused(*agent) || wants(*agent);
        self.ports.iter().map(|port| port.agent).filter(asks).collect()
    }

    fn occupant(&self) -> Option<&Transaction> {
        self.occupant.as_ref().map(|occupant| &occupant.underway.transaction)
    }

    fn ports(&self) -> &AgentPorts {
        &self.ports
    }

    fn name(&self) -> &'static str {
        self.names.name
    }

    fn occupancy_clock(&self) -> Clock {
        self.timing.io_clock()
    }

    fn clock(&self) -> Clock {
        self.bus.clock()
    }

    fn granted_since(&self) -> Option<Time> {
        Some(self.bus.granted_since())
    }

    fn is_idle_at(&self, now: Time) -> bool {
        self.occupant.is_none() && self.bus.is_idle_at(now)
    }

    fn statistics(&self) -> Vec<(&'static str, &dyn StatisticSet)> {
        vec![(self.names.prefix, &self.bus.statistics), ("", &self.bridge.statistics)]
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        vec![&mut self.bus.statistics, &mut self.bridge.statistics]
    }

    fn peek(&self, block: u64) -> Option<&[u8]> {
        self.bridge.peek(block)
    }

    fn describe(&self, _words: &dyn Words) -> Option<String> {
        Some(self.bridge.describe())
    }

    fn hash_state<H: Hasher>(&self, hasher: &mut H) {
        self.bridge.hash(hasher);
        if let Some(Occupant { underway, since: _, is_bridge, ends }) = &self.occupant {
            (underway, is_bridge, ends).hash(hasher);
        }
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let BridgedBus { names: _, upper: _, agent: _, bus, bridge, timing: _, ports: _, homes: _, occupant } =
            self;
        archive.value(bus)?;
        archive.value(bridge)?;
        archive.value(occupant)
    }
}
