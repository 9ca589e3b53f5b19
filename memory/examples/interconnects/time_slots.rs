//! A bus with time slots: each agent may begin at the edges that are its own.
//!
//! ```text
//!   clock edges        0    1    2    3    4    5    6 ...      slot_cycles = 2, three agents
//!   may begin        agent 0   agent 1   agent 2   agent 0
//! ```
//!
//! Buses of control systems arbitrate so: how long an agent waits does not depend on what the others
//! want, but for a transaction that outlasts its slot. All agents on it see each transaction, one at a
//! time, as on a snooping bus. No bridge sits on it, and no agent refuses.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use narthex_kernel::quantity::Frequency;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Clock, Damage, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::part::{InterconnectKind, MachineFile, Plan, Site};
use super::{
    AddressMap, Admits, AgentPorts, Answer, CarriedTransaction, Interconnect, InterconnectHost,
    InterconnectId, InterconnectModel, Names, Observation, Step, at_home, block_transaction, complete,
};
use crate::agent::Agent;
use crate::bus::Bus;
use crate::transaction::{AgentId, Response, Transaction, TransactionTag};

/// A bus on which each agent has time slots of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// The bus's clock.
    pub clock: Frequency,
    /// Bus cycles from the beginning of a slot to that of the next agent's.
    #[schemars(range(min = 1))]
    pub slot_cycles: u32,
    /// Bus cycles of an access to a word.
    #[schemars(range(min = 1))]
    pub word_cycles: u32,
    /// Bus cycles of a transaction on a block.
    #[schemars(range(min = 1))]
    pub block_cycles: u32,
    /// Time that a processor's cache needs to supply a block, beyond the bus's own cycles.
    pub cache_supply_time: Duration,
}

impl InterconnectKind for Keys {
    fn plan(&self, _name: &str, _file: &dyn MachineFile) -> Arc<dyn Plan> {
        Arc::new(self.clone())
    }
}

impl Plan for Keys {
    fn cache_supply_time(&self) -> Option<Duration> {
        Some(self.cache_supply_time)
    }

    fn build(&self, Site { names, ports, homes, .. }: Site) -> Interconnect {
        let cycles = |kind: crate::Kind| match kind.is_uncached() {
            true => self.word_cycles.into(),
            false => self.block_cycles.into(),
        };
        TimeSlots {
            names,
            slot_cycles: self.slot_cycles.into(),
            bus: Bus::with_occupancy(self.clock.clock(), cycles),
            ports,
            homes,
            waiting: Vec::new(),
            busy: false,
            granted: None,
            underway: None,
        }
        .into()
    }
}

/// A bus with time slots and its agents.
#[derive(Clone, Debug)]
pub struct TimeSlots {
    names: Names,
    slot_cycles: u64,
    /// Counts, and knows how long transactions take.
    bus: Bus,
    ports: AgentPorts,
    homes: AddressMap,
    waiting: Vec<AgentId>,
    /// A grant is scheduled, or a transaction is under way: until it is over, agents that ask wait.
    busy: bool,
    /// Who gets it at the step that is scheduled.
    granted: Option<AgentId>,
    underway: Option<CarriedTransaction>,
}

impl TimeSlots {
    fn of<C: InterconnectHost>(composition: &mut C, on: InterconnectId) -> &mut Self {
        match composition.interconnect(on) {
            Interconnect::TimeSlots(bus) => bus,
            other => unreachable!("{} has no time slots", other.name()),
        }
    }

    /// When the next slot of an agent begins.
    fn slot_of(&self, agent: AgentId, now: Time) -> Time {
        let place = self.ports.iter().position(|port| port.agent == agent).expect("it is on the bus") as u64;
        let (own, turn) = (place * self.slot_cycles, self.ports.iter().count() as u64 * self.slot_cycles);
        let now = self.bus.clock().number_at_or_after(now);
        let turns = now.saturating_sub(own).div_ceil(turn);
        self.bus.clock().edge(own + turns * turn)
    }

    /// The bus is free: it goes to the agent that waits for it whose slot comes first.
    fn grant_next<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        let bus = Self::of(composition, on);
        let next = bus.waiting.iter().map(|&agent| (bus.slot_of(agent, now), agent)).min();
        (bus.busy, bus.granted) = (next.is_some(), next.map(|(_, agent)| agent));
        if let Some((at, _)) = next {
            composition.schedule(at, on, Step::Grant);
        }
    }

    fn release<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        let bus = Self::of(composition, on);
        let underway = bus.underway.take().expect("a transaction has the bus");
        let home = bus.homes.home(underway.transaction.address);
        if let Some(since) = underway.held_since {
            bus.bus.held(now - since);
            composition.observe(now, on, Observation::Released);
        }
        match complete(composition, now, on, underway, home) {
            // What it accesses answers later.
            Some(held) => {
                composition.observe(now, on, Observation::Held(&held.transaction));
                Self::of(composition, on).underway = Some(held);
            }
            None => Self::grant_next(composition, now, on),
        }
    }
}

impl InterconnectModel for TimeSlots {
    const KIND: &'static str = "time-slots";
    const ADMITS: Admits =
        Admits { caches: true, dma_engines: true, coherent_devices: true, ..Admits::NOTHING };

    fn ask<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        let bus = Self::of(composition, on);
        if bus.waiting.contains(&agent) {
            return;
        }
        bus.waiting.push(agent);
        if !bus.busy {
            Self::grant_next(composition, now, on);
        }
    }

    fn happen<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, step: Step) {
        match step {
            Step::Grant => {
                let agent = Self::of(composition, on).granted.take().expect("one waits");
                Self::grant_to(composition, now, on, agent);
            }
            Step::Release => Self::release(composition, now, on),
            Step::Address | Step::Forward => unreachable!("no bridge and no directory is here"),
        }
    }

    fn answer<C: InterconnectHost>(
        composition: &mut C,
        at: Time,
        on: InterconnectId,
        access: (AgentId, TransactionTag),
        response: Response,
    ) {
        let bus = Self::of(composition, on);
        bus.underway.as_mut().expect("the access is held").answer(access, response);
        let end = bus.bus.clock().edge_at_or_after(at);
        composition.schedule(end, on, Step::Release);
    }

    fn grant_to<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        let bus = Self::of(composition, on);
        bus.busy = true;
        bus.waiting.retain(|&waiting| waiting != agent);
        let Some(transaction) = composition.agent(agent).issue(now, on) else {
            composition.observe(now, on, Observation::UnusedGrant(agent));
            return Self::grant_next(composition, now, on);
        };
        let home = Self::of(composition, on).homes.home(transaction.address);
        let answer = match transaction.kind.is_uncached() {
            true => Answer::after(at_home(composition, home).access_time(now, transaction.kind)),
            false => block_transaction(composition, now, &[on], home, &transaction),
        };
        let end = Self::of(composition, on).bus.occupy(now, &transaction, answer.delay);
        if composition.is_observed() {
            let (time, supplier) = ((now, end), answer.supplier);
            composition.observe(now, on, Observation::Crossing { time, transaction: &transaction, supplier });
        }
        Self::of(composition, on).underway = Some(CarriedTransaction::answered(transaction, answer.response));
        composition.schedule(end, on, Step::Release);
    }

    fn contenders(&self, _all: &[Interconnect], wants: impl Fn(AgentId) -> bool) -> Vec<AgentId> {
        match self.underway {
            Some(_) => Vec::new(),
            None => self.ports.iter().map(|port| port.agent).filter(|&agent| wants(agent)).collect(),
        }
    }

    fn occupant(&self) -> Option<&Transaction> {
        self.underway.as_ref().map(|underway| &underway.transaction)
    }

    fn ports(&self) -> &AgentPorts {
        &self.ports
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

    fn is_idle_at(&self, _now: Time) -> bool {
        !self.busy
    }

    fn statistics(&self) -> Vec<(&'static str, &dyn StatisticSet)> {
        vec![(self.names.prefix, &self.bus.statistics)]
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        vec![&mut self.bus.statistics]
    }

    fn peek(&self, block: u64) -> Option<&[u8]> {
        self.underway.as_ref().and_then(|underway| underway.peek(block))
    }

    fn poke(&mut self, address: u64, bytes: &[u8]) {
        if let Some(underway) = &mut self.underway {
            underway.poke(address, bytes);
        }
    }

    fn hash_state<H: Hasher>(&self, hasher: &mut H) {
        (&self.waiting, self.busy, self.granted, &self.underway).hash(hasher);
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let TimeSlots { names: _, slot_cycles: _, bus, ports: _, homes: _, waiting, busy, granted, underway } =
            self;
        archive.value(bus)?;
        archive.value(busy)?;
        archive.value(waiting)?;
        archive.value(granted)?;
        archive.value(underway)
    }
}
