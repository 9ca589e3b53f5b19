//! Transactions of an agent that is alone, in one go.
//!
//! Where nothing else happens before a transaction is over
//! ([`InterconnectHost::is_free_before`]), it is granted, snooped, answered and released in one
//! go, and so is the next one that its agent asks for at the end, such as the read for which a
//! write-back has made room. If they concern nobody but a memory, no transaction is formed at
//! all: the agent exchanges blocks with that memory ([`DirectFill`]), in the time and with the
//! counts of the transactions. An access to a device's register is not issued before the device
//! has answered it.

use narthex_kernel::{Duration, Time};

use super::SnoopingBus;
use crate::agent::Agent;
use crate::interconnects::{
    CarriedTransaction, Home, InterconnectHost, InterconnectId, MemoryId, Step, complete,
};
use crate::kind::Kind;
use crate::processor_memory::DirectFill;
use crate::transaction::{AgentId, Transaction};

/// When the transactions of an exchange are granted and over: the first one, if that writes
/// back, is over when the other one is granted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    pub granted: Time,
    pub between: Time,
    pub end: Time,
}

impl SnoopingBus {
    /// Carries the transactions of an agent that are an [`DirectFill`] with memory, if they
    /// concern nobody else and nothing else happens before their end; says whether it has.
    #[inline(always)]
    pub(super) fn exchange<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
    ) -> bool {
        let Some((exchange, (memory, delay))) = composition.agent(agent).exchange() else { return false };
        let bus = Self::of(composition, on);
        let own = (memory, bus.cycles_of(delay));
        let Some(crossing) = bus.crossing_of(now, agent, &exchange, own) else { return false };
        if !composition.is_free_before(crossing.end) {
            return false;
        }
        let steps = Self::of(composition, on).cross(now, &exchange, &crossing);
        (0..steps).for_each(|_| composition.pass(crossing.end));
        composition.agent(agent).make_direct_fill((crossing.granted, crossing.end), on, memory, &exchange);
        true
    }

    /// How many of its cycles a delay takes.
    pub fn cycles_of(&self, delay: Duration) -> u64 {
        self.bus.clock().cycles_that_cover(delay)
    }

    /// The times of an agent's exchange with a memory that takes this many cycles for each access,
    /// if the agent asks now; none if the bus is not free, or anybody else has to do with it.
    #[inline(always)]
    pub(crate) fn crossing_of(
        &self,
        now: Time,
        agent: AgentId,
        exchange: &DirectFill,
        (memory, access_cycles): (MemoryId, u64),
    ) -> Option<Crossing> {
        if self.refusals.is_some() || self.ports.may_snarf(agent) {
            return None;
        }
        if !self.is_private(agent, memory, exchange.fetched) {
            return None;
        }
        if let Some(block) = exchange.written_back
            && !self.is_private(agent, memory, block)
        {
            return None;
        }
        let granted = self.bus.grant_if_idle(now)?;
        let between = match exchange.written_back {
            Some(_) => self.bus.end_after(granted, Kind::WriteBack, access_cycles),
            None => granted,
        };
        Some(Crossing { granted, between, end: self.bus.end_after(between, exchange.kind(), access_cycles) })
    }

    /// Whether a block concerns nobody but an agent and this memory.
    #[inline(always)]
    fn is_private(&self, agent: AgentId, memory: MemoryId, block: u64) -> bool {
        self.homes.home(block) == Home::Memory(memory) && self.ports.is_private(agent, block)
    }

    /// Counts the transactions of an exchange for which its agent asks at `now`: in how many
    /// steps they would be carried.
    #[inline(always)]
    pub(crate) fn cross(&mut self, now: Time, exchange: &DirectFill, crossing: &Crossing) -> u64 {
        let &Crossing { granted, between, end } = crossing;
        self.bus.carried(exchange.kind(), end - between);
        if exchange.written_back.is_none() {
            self.bus.was_free(now, end);
            return 2;
        }
        self.bus.carried(Kind::WriteBack, between - granted);
        self.bus.was_free(between, end);
        4
    }

    /// Carries an agent's access to a register of a device on this bus, if nothing else happens
    /// before its end: when that is.
    #[inline(always)]
    pub(super) fn access_register<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
    ) -> Option<Time> {
        let transaction = composition.agent(agent).register_access()?;
        let (device, granted) = Self::of(composition, on).grant_access(now, &transaction)?;
        let time = composition.agent(device).access_time(granted, transaction.kind);
        let end = Self::of(composition, on).end_of_access(granted, transaction.kind, time);
        if !composition.is_free_before(end) {
            return None;
        }
        composition.pass(granted);
        composition.pass(end);
        let bus = &mut Self::of(composition, on).bus;
        bus.carried(transaction.kind, end - granted);
        // The device may ask for it already: it is granted when the agent has its answer.
        bus.take(now);
        composition.agent(agent).make_register_access((granted, end), on, device, &transaction);
        Some(end)
    }

    /// The device whose register an agent accesses that asks now, and when the bus is granted; none if
    /// that is no device's here, or the bus is not free.
    #[inline(always)]
    pub(crate) fn grant_access(&self, now: Time, access: &Transaction) -> Option<(AgentId, Time)> {
        let Home::Agent(device) = self.homes.home(access.address) else { return None };
        let is_done_at_end = self.refusals.is_none() && !self.ports.may_hold();
        let granted = self.bus.grant_if_idle(now).filter(|_| is_done_at_end)?;
        Some((device, granted))
    }

    /// When it is over, if the device takes so long for it.
    #[inline(always)]
    pub(crate) fn end_of_access(&self, granted: Time, kind: Kind, time: Duration) -> Time {
        self.bus.end_of(granted, kind, time)
    }

    /// Counts such an access, by the times at which it was asked for, granted and over. The bus is
    /// taken until [`SnoopingBus::end_alone`] unless `is_free`.
    #[inline(always)]
    pub(crate) fn cross_to_register(
        &mut self,
        kind: Kind,
        (asked, granted, end): (Time, Time, Time),
        is_free: bool,
    ) {
        // The agent asks for the bus: what it was answered early is over.
        self.early = None;
        self.bus.carried(kind, end - granted);
        match is_free {
            true => self.bus.was_free(asked, end),
            false => self.bus.take(asked),
        }
    }

    /// The access is over that has taken the bus: others that wait have it next.
    pub fn end_alone<C: InterconnectHost>(composition: &mut C, end: Time, on: InterconnectId) {
        let next = Self::of(composition, on).bus.release(end);
        Self::carry_on(composition, on, next);
    }

    /// Carries transactions from the next grant on, while nothing else happens before they are over.
    #[inline(always)]
    pub(super) fn carry_on<C: InterconnectHost>(
        composition: &mut C,
        on: InterconnectId,
        mut next: Option<Time>,
    ) {
        while let Some(at) = next {
            if !composition.is_free_before(at) {
                return composition.schedule(at, on, Step::Grant);
            }
            next = Self::carry_at_once(composition, at, on);
        }
    }

    /// Carries the transaction of the agent to which the bus goes, if nothing else happens
    /// before its end: when it is granted next, if an agent waits for it then. None if
    /// steps are scheduled instead.
    #[inline(always)]
    pub(super) fn carry_at_once<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
    ) -> Option<Time> {
        composition.pass(now);
        let agent = Self::of(composition, on).bus.grant().expect("an agent waits");
        let (transaction, home, answer) = Self::begin(composition, now, on, agent)?;
        let end = Self::end_of(composition, now, on, &transaction, &answer);
        let underway = CarriedTransaction::answered(transaction, answer.response);
        if !composition.is_free_before(end) {
            Self::occupy_until(composition, end, on, underway);
            return None;
        }
        composition.pass(end);
        if let Some(held) = complete(composition, end, on, underway, home) {
            Self::hold(composition, end, on, held);
            return None;
        }
        Self::of(composition, on).bus.release(end)
    }
}
