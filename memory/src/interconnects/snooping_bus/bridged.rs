//! A bridge on the bus: what is for an address behind it, and what it puts on the bus itself.
//!
//! What is for an address behind the bridge begins here, and has the bus until the bridge has it, or the
//! answer. What comes from behind is the bridge's: a write, or a read, which has both interconnects at
//! once, so that the agents of both see it at one instant. What is behind says when each is over.
//!
//! All of it is out of line: most transactions cross no bridge.

use narthex_kernel::{Duration, Time};

use super::SnoopingBus;
use crate::agent::Agent;
use crate::bridge::OnMemory;
use crate::interconnects::{
    CarriedTransaction, Home, InterconnectHost, InterconnectId, Observation, Snooped, Step, at_home,
    block_transaction, go_on_crossing, request, snoop, start_crossing,
};
use crate::transaction::Transaction;

impl SnoopingBus {
    /// A transaction for an address behind the bridge has the bus.
    #[inline(never)]
    pub(super) fn begin_crossing<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        behind: InterconnectId,
        transaction: Transaction,
    ) {
        composition.observe(now, on, Observation::Held(&transaction));
        let mut snooped = Snooped::default();
        if transaction.kind.is_posted() {
            snoop(composition, now, on, &transaction, &mut snooped);
        }
        let time = start_crossing(composition, now, behind, &transaction);
        let mut underway = CarriedTransaction::unanswered(transaction);
        underway.response.shared = snooped.reply.shares;
        let bus = Self::of(composition, on);
        (bus.underway, bus.bridged_since) = (Some(underway), now);
        if let Some(time) = time {
            composition.schedule(now + time, on, Step::Release);
        }
        go_on_crossing(composition, now, behind);
    }

    /// It is over on the bus.
    #[inline(never)]
    pub(super) fn end_crossing<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        behind: InterconnectId,
        CarriedTransaction { transaction, response, .. }: &CarriedTransaction,
    ) {
        if transaction.kind.is_posted() {
            composition.interconnect(behind).bridge_mut().post();
        }
        let bus = Self::of(composition, on);
        let since = bus.bridged_since;
        bus.bus.carried(transaction.kind, now - since);
        let seen = Observation::Crossing { time: (since, now), transaction, supplier: None };
        composition.observe(now, on, seen);
        composition.agent(transaction.agent).complete(now, on, transaction, response);
        request(composition, now, behind, transaction.agent);
    }

    /// The bridge has the bus.
    #[inline(never)]
    pub(super) fn carry_for_bridge<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        behind: InterconnectId,
    ) {
        let bus = Self::of(composition, on);
        bus.bridged_since = now;
        let (bridge, _) = bus.bridge.expect("a bridge sits on the bus");
        match composition.interconnect(behind).bridge_mut().next_on_memory() {
            OnMemory::Write(write) => Self::write_for_bridge(composition, now, on, &write),
            OnMemory::Read(read) => Self::read_for_bridge(composition, now, on, behind, &read),
            OnMemory::Keep => composition.observe(now, on, Observation::Kept),
            OnMemory::Nothing => Self::free(composition, now, on),
        }
        request(composition, now, behind, bridge);
    }

    /// A write or an invalidation from behind the bridge is on the bus.
    fn write_for_bridge<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        write: &Transaction,
    ) {
        snoop(composition, now, on, write, &mut Snooped::default());
        let delay = match Self::of(composition, on).homes.home(write.address) {
            Home::Beyond(_) => Duration::ZERO,
            home => at_home(composition, home).home(now, write).delay,
        };
        let end = Self::of(composition, on).bus.occupy(now, write, delay);
        let seen = Observation::Crossing { time: (now, end), transaction: write, supplier: None };
        composition.observe(now, on, seen);
        composition.schedule(end, on, Step::Release);
    }

    /// A read from behind the bridge has both interconnects.
    fn read_for_bridge<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        behind: InterconnectId,
        read: &Transaction,
    ) {
        let answer = match Self::of(composition, on).homes.home(read.address) {
            Home::Beyond(_) => {
                let home = composition.interconnect(behind).home_behind(read.address);
                block_transaction(composition, now, &[on, behind], home, read)
            }
            home => block_transaction(composition, now, &[on], home, read),
        };
        let supplier = answer.supplier;
        let (end, there) = composition.interconnect(behind).answer_from_above(now, read, answer);
        Self::of(composition, on).bus.carried(read.kind, end - now);
        composition.schedule(end, on, Step::Release);
        composition.schedule(there.1, behind, Step::Release);
        for (on, time) in [(on, (now, end)), (behind, there)] {
            let seen = Observation::Crossing { time, transaction: read, supplier };
            composition.observe(now, on, seen);
        }
    }
}
