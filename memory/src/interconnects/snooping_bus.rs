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
//! **An agent that is alone** needs no step; see `in_one_go.rs`.
//!
//! **An agent that is answered early** does not wait for the end of its transaction; see
//! `early.rs`.
//!
//! **An access that its device holds** keeps the bus until the device answers it; see `held.rs`.
//!
//! **Refusals.** Where agents may refuse, they are asked first; what becomes of a
//! transaction that one of them refuses, and of a dirty block that its owner pushes
//! home then, is told in `refusals.rs`; their time on the bus is in `refused.rs`.
//!
//! A bridge may sit on the bus ([`super::bridged_bus`]); see `bridged.rs`.

#[path = "snooping_bus/bridged.rs"]
mod bridged;
#[path = "snooping_bus/early.rs"]
mod early;
#[path = "snooping_bus/held.rs"]
mod held;
#[path = "snooping_bus/in_one_go.rs"]
mod in_one_go;
#[path = "snooping_bus/part.rs"]
mod part;
#[path = "snooping_bus/refused.rs"]
mod refused;

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Clock, Damage, Duration, Time};
use std::hash::{Hash, Hasher};

use super::refusals::{Refusals, Refused};
use super::{
    AddressMap, Admits, AgentPorts, Answer, CarriedTransaction, Home, Interconnect, InterconnectHost,
    InterconnectId, InterconnectModel, Names, Observation, Step, at_home, block_transaction, complete,
    end_above,
};
use crate::agent::Agent;
use crate::bridge::Turn;
use crate::bus::Bus;
use crate::kind::Kind;
use crate::transaction::{AgentId, Response, Transaction, TransactionTag};
use early::Early;
pub(crate) use in_one_go::Crossing;
pub use part::Keys;

/// A snooping bus with its agents.
#[derive(Clone, Debug)]
pub struct SnoopingBus {
    names: Names,
    bus: Bus,
    ports: AgentPorts,
    homes: AddressMap,
    /// The bridge on it: its place among the agents, and the interconnect behind it.
    bridge: Option<(AgentId, InterconnectId)>,
    /// Since when a transaction has had the bus that crosses the bridge, or the bridge.
    bridged_since: Time,
    underway: Option<CarriedTransaction>,
    /// What the agent was answered early that had it last, unless it is over for certain.
    early: Option<Early>,
    /// The release of such a transaction has been scheduled.
    is_ending_early: bool,
    /// None: no agent on it may refuse.
    refusals: Option<Box<Refusals>>,
}

impl SnoopingBus {
    /// An idle bus with these agents on it, where `homes` says who answers.
    pub fn new(names: Names, bus: Bus, ports: AgentPorts, homes: AddressMap) -> Self {
        SnoopingBus {
            names,
            bus,
            ports,
            homes,
            bridge: None,
            bridged_since: Time::ZERO,
            underway: None,
            early: None,
            is_ending_early: false,
            refusals: None,
        }
    }

    /// The same bus, whose agents may refuse transactions; a refused one takes so many
    /// of its cycles. No bridge is on it.
    pub fn with_refusals(self, retry_cycles: u32) -> Self {
        SnoopingBus { refusals: Some(Box::new(Refusals::taking(retry_cycles.into()))), ..self }
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
    fn of<C: InterconnectHost>(composition: &mut C, on: InterconnectId) -> &mut Self {
        match composition.interconnect(on) {
            Interconnect::SnoopingBus(bus) => bus,
            other => unreachable!("{} is not a snooping bus", other.name()),
        }
    }

    /// Asks for the bus for an agent.
    #[inline]
    fn request<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        Self::end_early(composition, now, on, agent);
        if let Some(at) = Self::of(composition, on).bus.request(now, agent) {
            composition.schedule(at, on, Step::Grant);
        }
    }

    /// No transaction has the bus any more.
    #[inline]
    fn free<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        if let Some(at) = Self::of(composition, on).bus.release(now) {
            composition.schedule(at, on, Step::Grant);
        }
    }

    /// A transaction has the bus until the kind's cycles and `delay` are over.
    #[inline(always)]
    fn occupy<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        transaction: Transaction,
        answer: Answer,
    ) {
        let end = Self::end_of(composition, now, on, &transaction, &answer);
        let underway = CarriedTransaction::answered(transaction, answer.response);
        Self::occupy_until(composition, end, on, underway);
    }

    /// The same until `end`.
    #[inline(always)]
    fn occupy_until<C: InterconnectHost>(
        composition: &mut C,
        end: Time,
        on: InterconnectId,
        underway: CarriedTransaction,
    ) {
        let bus = Self::of(composition, on);
        let agent = underway.transaction.agent;
        let is_fetch = matches!(underway.transaction.kind, Kind::Read | Kind::ReadExclusive | Kind::Upgrade);
        if is_fetch && bus.answers_early() && composition.may_answer_early(agent, end) {
            composition.pass(end);
            Self::answered_early(composition, end, on, agent);
            let home = Self::of(composition, on).homes.home(underway.transaction.address);
            let held = complete(composition, end, on, underway, home);
            debug_assert!(held.is_none(), "no block is held");
            return;
        }
        Self::of(composition, on).underway = Some(underway);
        composition.schedule(end, on, Step::Release);
    }

    /// When a transaction is over that has the bus from now on.
    #[inline(always)]
    fn end_of<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        transaction: &Transaction,
        &Answer { delay, supplier, .. }: &Answer,
    ) -> Time {
        let end = Self::of(composition, on).bus.occupy(now, transaction, delay);
        if composition.is_observed() {
            let seen = Observation::Crossing { time: (now, end), transaction, supplier };
            composition.observe(now, on, seen);
        }
        end
    }

    /// The transaction on the bus is over.
    fn release<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        let mut bus = Self::of(composition, on);
        if bus.refusals.is_some() {
            if Self::release_after_refusal(composition, now, on) {
                return;
            }
            bus = Self::of(composition, on);
        }
        match bus.underway.take() {
            None if std::mem::take(&mut bus.is_ending_early) => {}
            None => {
                let behind = bus.behind();
                end_above(composition, now, behind);
            }
            Some(underway) => match bus.homes.home(underway.transaction.address) {
                Home::Beyond(behind) => Self::end_crossing(composition, now, on, behind, &underway),
                home => {
                    if let Some(since) = underway.held_since {
                        Self::end_hold(composition, now, on, since);
                    }
                    if let Some(held) = complete(composition, now, on, underway, home) {
                        return Self::hold(composition, now, on, held);
                    }
                }
            },
        }
        // What follows a write-back is mostly the read that it made room for.
        match Self::of(composition, on).bus.release(now) {
            Some(at) if at == now && composition.comes_next(now) => Self::grant(composition, now, on),
            Some(at) => composition.schedule(at, on, Step::Grant),
            None => {}
        }
    }

    /// An agent that has the bus issues what it needs, which is answered by `home` or an
    /// owner; none if it issues nothing, or the bus is not its own for now.
    #[inline(always)]
    fn begin<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
    ) -> Option<(Transaction, Home, Answer)> {
        let bus = Self::of(composition, on);
        if let Some((bridge, behind)) = bus.bridge
            && agent == bridge
        {
            Self::carry_for_bridge(composition, now, on, behind);
            return None;
        }
        let issued = match bus.refusals {
            None => composition.agent(agent).issue(now, on),
            Some(_) => Self::issue_or_repeat(composition, now, on, agent)?,
        };
        let Some(transaction) = issued else {
            composition.observe(now, on, Observation::UnusedGrant(agent));
            Self::free(composition, now, on);
            return None;
        };
        let home = Self::of(composition, on).homes.home(transaction.address);
        let answer = match home {
            Home::Beyond(behind) => {
                Self::begin_crossing(composition, now, on, behind, transaction);
                return None;
            }
            home if transaction.kind.is_uncached() => {
                Answer::after(at_home(composition, home).access_time(now, transaction.kind))
            }
            home => block_transaction(composition, now, &[on], home, &transaction),
        };
        Some((transaction, home, answer))
    }

    /// The bus goes to the agent that has waited longest.
    fn grant<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        match Self::of(composition, on).bus.grant() {
            Some(agent) => Self::grant_to(composition, now, on, agent),
            None => Self::free(composition, now, on),
        }
    }
}

impl InterconnectModel for SnoopingBus {
    const KIND: &'static str = "snooping-bus";
    const ADMITS: Admits =
        Admits { caches: true, bridges: true, dma_engines: true, coherent_devices: true, ..Admits::NOTHING };

    #[inline]
    fn ask<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        Self::request(composition, now, on, agent);
    }

    fn ask_alone<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        Self::end_early(composition, now, on, agent);
        if Self::exchange(composition, now, on, agent) {
            return;
        }
        let next = match Self::access_register(composition, now, on, agent) {
            Some(end) => Self::of(composition, on).bus.release(end),
            None => Self::of(composition, on).bus.request(now, agent),
        };
        Self::carry_on(composition, on, next);
    }

    fn happen<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, step: Step) {
        match step {
            Step::Grant => Self::grant(composition, now, on),
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

    fn ask_first<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, bridge: AgentId) {
        if let Some(at) = Self::of(composition, on).bus.request_first(now, bridge) {
            composition.schedule(at, on, Step::Grant);
        }
    }

    fn go_on_for_bridge<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        behind: InterconnectId,
    ) {
        let bus = Self::of(composition, on);
        bus.bus.held(now - bus.bridged_since);
        composition.observe(now, on, Observation::Released);
        Self::carry_for_bridge(composition, now, on, behind);
    }

    fn end_crossing_at<C: InterconnectHost>(
        composition: &mut C,
        at: Time,
        on: InterconnectId,
        _behind: InterconnectId,
        response: Option<Response>,
    ) {
        if let Some(response) = response {
            Self::of(composition, on).underway.as_mut().expect("it has the bus").response = response;
        }
        composition.schedule(at, on, Step::Release);
    }

    fn settle<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        match Self::of(composition, on).early {
            Some(Early { end, .. }) if end < now => Self::of(composition, on).early = None,
            _ => Self::release_early(composition, on),
        }
    }

    fn grant_to<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId, agent: AgentId) {
        if let Some((transaction, _, answer)) = Self::begin(composition, now, on, agent) {
            Self::occupy(composition, now, on, transaction, answer);
        }
    }

    fn contenders(&self, all: &[Interconnect], wants: impl Fn(AgentId) -> bool) -> Vec<AgentId> {
        let bridge = self.bridge.map(|(agent, behind)| {
            (agent, all[usize::from(behind.0)].bridge().expect("a bridge is in front of it"))
        });
        let is_refused = self.refusals.as_ref().is_some_and(|refusals| refusals.is_ending);
        if self.underway.is_some() || is_refused || bridge.is_some_and(|(_, bridge)| bridge.has_memory()) {
            return Vec::new();
        }
        let turn = bridge.and_then(|(agent, bridge)| Some((agent, bridge.wants_memory()?)));
        if let Some((agent, Turn::First)) = turn {
            return vec![agent];
        }
        let keeps = |agent| self.refusals.as_ref().is_some_and(|refusals| refusals.keeps_of(agent));
        let agents = self.ports.iter().map(|port| port.agent).filter(|&agent| wants(agent) || keeps(agent));
        agents.chain(turn.map(|(agent, _)| agent)).collect()
    }

    #[inline(always)]
    fn as_direct_bus(&mut self) -> Option<&mut SnoopingBus> {
        Some(self)
    }

    fn direct_cycles(&self, time: Duration) -> Option<u64> {
        self.answers_early().then(|| self.cycles_of(time))
    }

    fn occupant(&self) -> Option<&Transaction> {
        self.underway.as_ref().map(|underway| &underway.transaction)
    }

    #[inline]
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

    fn granted_since(&self) -> Option<Time> {
        Some(self.bus.granted_since())
    }

    fn is_idle_at(&self, now: Time) -> bool {
        self.underway.is_none() && self.bus.is_idle_at(now)
    }

    /// What may refuse an access is asked at its grant.
    fn shortest_access(&self) -> Duration {
        if self.refusals.is_some() { Duration::ZERO } else { self.bus.shortest_access() }
    }

    fn shortest_block_transaction(&self) -> Duration {
        if self.refusals.is_some() { Duration::ZERO } else { self.bus.shortest_block_transaction() }
    }

    fn statistics(&self) -> Vec<(&'static str, &dyn StatisticSet)> {
        let own = std::iter::once(&self.bus.statistics as &dyn StatisticSet);
        let refused = self.refusals.iter().map(|refusals| &refusals.statistics as &dyn StatisticSet);
        own.chain(refused).map(|set| (self.names.prefix, set)).collect()
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        let own = std::iter::once(&mut self.bus.statistics as &mut dyn StatisticSet);
        own.chain(self.refusals.iter_mut().map(|own| &mut own.statistics as &mut dyn StatisticSet)).collect()
    }

    fn peek(&self, block: u64) -> Option<&[u8]> {
        let pushed =
            || self.refusals.as_ref()?.push.as_ref().filter(|push| push.address == block)?.data.as_deref();
        self.underway.as_ref().and_then(|underway| underway.peek(block)).or_else(pushed)
    }

    fn poke(&mut self, address: u64, bytes: &[u8]) {
        if let Some(underway) = &mut self.underway {
            underway.poke(address, bytes);
        }
        let push = self.refusals.as_mut().and_then(|refusals| refusals.push.as_mut());
        let Some(Transaction { address: block, data: Some(data), .. }) = push else { return };
        if let Some(start) = address.checked_sub(*block).filter(|&start| start < data.len() as u64) {
            data[start as usize..start as usize + bytes.len()].copy_from_slice(bytes);
        }
    }

    fn refused(&self) -> &[Refused] {
        self.refusals.as_ref().map_or(&[], |refusals| refusals.waiting())
    }

    fn hash_state<H: Hasher>(&self, hasher: &mut H) {
        self.underway.hash(hasher);
        if let Some(refusals) = &self.refusals {
            refusals.state().hash(hasher);
        }
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let SnoopingBus {
            names: _,
            bus,
            ports: _,
            homes: _,
            bridge: _,
            bridged_since,
            underway,
            early,
            is_ending_early,
            refusals,
        } = self;
        assert!(early.is_none(), "the composition is settled before it is archived");
        archive.value(bus)?;
        archive.value(bridged_since)?;
        archive.value(is_ending_early)?;
        archive.value(underway)?;
        archive.value(refusals)
    }
}
