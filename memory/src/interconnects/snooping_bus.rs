//! A snooping bus: one transaction at a time, seen by all agents on it.
//!
//! ```text
//!   granted ── the agent issues what it needs now ── all others snoop ── the owner or the home answers
//!      └─────────────── occupied: the kind's cycles, and the time of the one that answers ───────────┘
//!                                                                      └── released: the agent gets it
//! ```
//!
//! **A transaction** is granted ([`Step::Grant`]): its agent issues what its state
//! needs now, the others snoop it at that instant, and the bus is occupied for its
//! cycles and the supplier's time; then ([`Step::Release`]) the agent gets its
//! answer. Nothing else crosses in between, so the snoop at the beginning and the
//! fill at the end are atomic.
//!
//! A bridge may sit on the bus ([`super::bridged_bus`]). What is for an address
//! behind it begins here and is the bridge's from then on.

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Clock, Damage, Time};
use std::hash::{Hash, Hasher};

use super::bridged_bus::{self, BridgedBus};
use super::{
    AddressMap, Answer, Composition, Home, Interconnect, InterconnectId, Names, Observation, Rules, Seats,
    Step, Underway, block_transaction, complete,
};
use crate::bridge::Turn;
use crate::bus::Bus;
use crate::transaction::{AgentId, Transaction};

/// A snooping bus with its agents.
#[derive(Clone, Debug)]
pub struct SnoopingBus {
    names: Names,
    pub(super) bus: Bus,
    seats: Seats,
    homes: AddressMap,
    /// The bridge on it: its place among the agents, and the bus behind it.
    bridge: Option<(AgentId, InterconnectId)>,
    pub(super) underway: Option<Underway>,
}

impl SnoopingBus {
    /// An idle bus with these agents on it, where `homes` says who answers.
    pub fn new(names: Names, bus: Bus, seats: Seats, homes: AddressMap) -> Self {
        SnoopingBus { names, bus, seats, homes, bridge: None, underway: None }
    }

    /// The same bus with a bridge on it to the interconnect `behind`.
    pub fn with_bridge(self, bridge: AgentId, behind: InterconnectId) -> Self {
        SnoopingBus { bridge: Some((bridge, behind)), ..self }
    }

    /// The interconnect behind the bridge on it.
    fn behind(&self) -> InterconnectId {
        self.bridge.expect("a bridge sits on the bus").1
    }

    /// The bus, where one is known to be.
    pub(super) fn of<C: Composition>(composition: &mut C, on: InterconnectId) -> &mut Self {
        match composition.interconnect(on) {
            Interconnect::SnoopingBus(bus) => bus,
            other => unreachable!("{} is not a snooping bus", other.name()),
        }
    }

    /// Asks for the bus for an agent.
    #[inline]
    pub(super) fn request<C: Composition>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
    ) {
        if let Some(at) = Self::of(composition, on).bus.request(now, agent) {
            composition.schedule(at, on, Step::Grant);
        }
    }

    /// The same before all agents that wait.
    pub(super) fn request_first<C: Composition>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
    ) {
        if let Some(at) = Self::of(composition, on).bus.request_first(now, agent) {
            composition.schedule(at, on, Step::Grant);
        }
    }

    /// No transaction has the bus any more.
    #[inline]
    pub(super) fn free<C: Composition>(composition: &mut C, now: Time, on: InterconnectId) {
        if let Some(at) = Self::of(composition, on).bus.release(now) {
            composition.schedule(at, on, Step::Grant);
        }
    }

    /// A transaction has the bus until the kind's cycles and `delay` are over.
    fn occupy<C: Composition>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        transaction: Transaction,
        answer: Answer,
    ) {
        let Answer { response, delay, supplier } = answer;
        let end = Self::of(composition, on).bus.occupy(now, transaction.kind, delay);
        if composition.is_observed() {
            let seen = Observation::Crossing { time: (now, end), transaction: &transaction, supplier };
            composition.observe(now, on, seen);
        }
        Self::of(composition, on).underway = Some(Underway { transaction, response });
        composition.schedule(end, on, Step::Release);
    }

    /// The transaction on the bus is over.
    fn release<C: Composition>(composition: &mut C, now: Time, on: InterconnectId) {
        let bus = Self::of(composition, on);
        match bus.underway.take() {
            None => {
                let behind = bus.behind();
                BridgedBus::end_on_upper(composition, now, behind);
            }
            Some(underway) => match bus.homes.home(underway.transaction.address) {
                Home::Beyond(behind) => BridgedBus::end_crossing(composition, now, behind, &underway),
                home => complete(composition, now, on, underway, home),
            },
        }
        // What follows a write-back is mostly the read that it made room for.
        match Self::of(composition, on).bus.release(now) {
            Some(at) if at == now && composition.comes_next(now) => Self::grant(composition, now, on),
            Some(at) => composition.schedule(at, on, Step::Grant),
            None => {}
        }
    }

    /// The bus goes to the agent that has waited longest.
    fn grant<C: Composition>(composition: &mut C, now: Time, on: InterconnectId) {
        match Self::of(composition, on).bus.grant() {
            Some(agent) => Self::grant_to(composition, now, on, agent),
            None => Self::free(composition, now, on),
        }
    }
}

impl Rules for SnoopingBus {
    const KIND: &'static str = "snooping-bus";

    #[inline]
    fn ask<C: Composition>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        Self::request(composition, now, on, agent);
    }

    fn happen<C: Composition>(composition: &mut C, now: Time, on: InterconnectId, step: Step) {
        match step {
            Step::Grant => Self::grant(composition, now, on),
            Step::Release => Self::release(composition, now, on),
            Step::Address => unreachable!("addresses come to bridges"),
        }
    }

    fn grant_to<C: Composition>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        let bus = Self::of(composition, on);
        if let Some((bridge, behind)) = bus.bridge
            && agent == bridge
        {
            return BridgedBus::take_upper(composition, now, behind);
        }
        let Some(transaction) = composition.issue(now, agent, on) else {
            composition.observe(now, on, Observation::GrantedInVain(agent));
            return Self::free(composition, now, on);
        };
        let answer = match Self::of(composition, on).homes.home(transaction.address) {
            Home::Beyond(behind) => {
                return BridgedBus::start_crossing(composition, now, behind, transaction);
            }
            Home::Agent(device) if transaction.kind.is_uncached() => {
                Answer::after(composition.access_time(device, transaction.kind))
            }
            home => block_transaction(composition, now, &[on], home, &transaction),
        };
        Self::occupy(composition, now, on, transaction, answer);
    }

    fn contenders(&self, all: &[Interconnect], wants: impl Fn(AgentId) -> bool) -> Vec<AgentId> {
        let bridge = self.bridge.map(|(agent, behind)| (agent, bridged_bus::bridge(all, behind)));
        if self.underway.is_some() || bridge.is_some_and(|(_, bridge)| bridge.has_memory()) {
            return Vec::new();
        }
        let turn = bridge.and_then(|(agent, bridge)| Some((agent, bridge.wants_memory()?)));
        if let Some((agent, Turn::First)) = turn {
            return vec![agent];
        }
        let agents = self.seats.iter().map(|seat| seat.agent).filter(|&agent| wants(agent));
        agents.chain(turn.map(|(agent, _)| agent)).collect()
    }

    fn occupant(&self) -> Option<&Transaction> {
        self.underway.as_ref().map(|underway| &underway.transaction)
    }

    #[inline]
    fn seats(&self) -> &Seats {
        &self.seats
    }

    fn name(&self) -> &'static str {
        self.names.name
    }

    fn occupancy_clock(&self) -> Clock {
        self.bus.clock()
    }

    fn clock(&self) -> Clock {
        self.bus.clock()
    }

    fn is_idle_at(&self, now: Time) -> bool {
        self.underway.is_none() && self.bus.is_idle_at(now)
    }

    fn statistics(&self) -> Vec<(&'static str, &dyn StatisticSet)> {
        vec![(self.names.prefix, &self.bus.statistics)]
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        vec![&mut self.bus.statistics]
    }

    fn peek(&self, block: u64) -> Option<&[u8]> {
        self.underway.as_ref()?.peek(block)
    }

    fn poke(&mut self, address: u64, bytes: &[u8]) {
        if let Some(underway) = &mut self.underway {
            underway.poke(address, bytes);
        }
    }

    fn hash_state<H: Hasher>(&self, hasher: &mut H) {
        self.underway.hash(hasher);
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let SnoopingBus { names: _, bus, seats: _, homes: _, bridge: _, underway } = self;
        archive.value(bus)?;
        archive.value(underway)
    }
}

impl SnoopingBus {
    /// Who answers for an address.
    pub(super) fn home(&self, address: u64) -> Home {
        self.homes.home(address)
    }
}
