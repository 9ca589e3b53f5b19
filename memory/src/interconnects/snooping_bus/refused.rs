//! Transactions on a snooping bus that an agent refuses.
//!
//! ```text
//!   granted ── refused: retry_cycles of the bus ──┬── free: the agent asks again
//!                                                 └── the owner pushes its block home ── free
//! ```
//!
//! It is out of line: on most buses no agent refuses anything.

use narthex_kernel::Time;

use super::SnoopingBus;
use crate::agent::Agent;
use crate::interconnects::refusals::{Refusal, Refusals};
use crate::interconnects::{
    Home, InterconnectHost, InterconnectId, Observation, Step, block_transaction, snarf,
};
use crate::kind::Kind;
use crate::transaction::{AgentId, Transaction};

impl SnoopingBus {
    pub(super) fn refusals<C: InterconnectHost>(composition: &mut C, on: InterconnectId) -> &mut Refusals {
        Self::of(composition, on).refusals.as_mut().expect("agents may refuse")
    }

    /// What an agent issues, or what it has issued before and was refused; none if an agent
    /// refuses it now.
    #[inline(never)]
    pub(super) fn issue_or_repeat<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
    ) -> Option<Option<Transaction>> {
        let kept = Self::refusals(composition, on).take_kept(agent);
        let Some(transaction) = kept.or_else(|| composition.agent(agent).issue(now, on)) else {
            Self::refusals(composition, on).carried(agent);
            return Some(None);
        };
        Self::carried_or_refused(composition, now, on, transaction).map(Some)
    }

    /// A transaction that all agents let pass; none if one of them refuses it.
    pub(super) fn carried_or_refused<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        transaction: Transaction,
    ) -> Option<Transaction> {
        let Some((by, refusal)) = Self::refusal(composition, now, on, &transaction) else {
            Self::refusals(composition, on).carried(transaction.agent);
            return Some(transaction);
        };
        let pushes = matches!(refusal, Refusal::Push(_));
        let is_formed_anew = composition.agent(transaction.agent).refused(&transaction);
        let cycles = Self::refusals(composition, on).retry_cycles;
        let end = Self::of(composition, on).bus.clock().after(now, cycles);
        let refusals = Self::refusals(composition, on);
        refusals.refuse((now, end), &transaction, by, pushes);
        refusals.is_ending = true;
        if let Refusal::Push(data) = refusal {
            refusals.push = Some(Transaction::carrying(by, Kind::WriteBack, transaction.address, data));
        }
        let bus = Self::of(composition, on);
        bus.bus.held(end - now);
        bus.bus.wait_again(end, transaction.agent, pushes);
        let seen = Observation::Refused { time: (now, end), transaction: &transaction, by };
        composition.observe(now, on, seen);
        composition.schedule(end, on, Step::Release);
        if !is_formed_anew {
            Self::refusals(composition, on).keep(transaction);
        }
        None
    }

    /// The first agent that refuses a transaction.
    fn refusal<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        transaction: &Transaction,
    ) -> Option<(AgentId, Refusal)> {
        let bus = Self::of(composition, on);
        if transaction.kind.is_uncached() {
            let Home::Agent(device) = bus.homes.home(transaction.address) else { return None };
            let asked = bus.ports.refuses(device);
            return asked
                .then(|| composition.agent(device).refuse(now, transaction))
                .flatten()
                .map(|why| (device, why));
        }
        let mut next = 0;
        while let Some((place, agent)) = Self::of(composition, on).ports.refusing(next, transaction) {
            next = place + 1;
            if let Some(refusal) = composition.agent(agent).refuse(now, transaction) {
                return Some((agent, refusal));
            }
        }
        None
    }

    /// The bus is free after a refusal or after the push that followed it; false if
    /// neither had it.
    #[inline(never)]
    pub(super) fn release_after_refusal<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
    ) -> bool {
        let refusals = Self::refusals(composition, on);
        let was_refused = std::mem::take(&mut refusals.is_ending);
        match (was_refused, refusals.push.clone()) {
            (false, None) => return false,
            (true, Some(push)) => {
                refusals.statistics.pushes.increment();
                let home = Self::of(composition, on).homes.home(push.address);
                let answer = block_transaction(composition, now, &[on], home, &push);
                Self::occupy(composition, now, on, push, answer);
                return true;
            }
            (false, Some(push)) => {
                refusals.push = None;
                Self::of(composition, on).underway = None;
                snarf(composition, on, &push);
            }
            (true, None) => {}
        }
        Self::free(composition, now, on);
        true
    }
}
