//! The devices' turns on a bus behind a bridge: what begins there, is refused, and crosses upwards.

use narthex_kernel::{Duration, Time};

use super::super::{
    CarriedTransaction, InterconnectHost, InterconnectId, Observation, Step, go_on_for_bridge,
};
use super::{BridgedBus, Occupant};
use crate::agent::Agent;
use crate::bridge::End;
use crate::transaction::AgentId;

impl BridgedBus {
    /// A device puts its transaction on the bus, one that was refused first.
    pub(super) fn start_for_device<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
    ) {
        let again = Self::of(composition, on).bridge.take_refused(agent);
        let Some(transaction) = again.or_else(|| composition.agent(agent).issue(now, on)) else {
            composition.observe(now, on, Observation::UnusedGrant(agent));
            return Self::free(composition, now, on);
        };
        let kind = transaction.kind;
        composition.observe(now, on, Observation::Held(&transaction));
        let own = Self::of(composition, on);
        let end = match (own.bridge.device_starts(transaction.clone()), kind.is_posted()) {
            (false, _) => Some(now + own.timing.refusal(kind)),
            (true, true) => Some(now + own.timing.on_io(&transaction, Duration::ZERO)),
            // It ends when it has had the upper bus as well.
            (true, false) => None,
        };
        let underway = CarriedTransaction::unanswered(transaction);
        own.occupant = Some(Occupant { underway, since: now, is_bridge: false, ends: end.is_some() });
        if let Some(end) = end {
            composition.schedule(end, on, Step::Release);
        }
        Self::use_kept_upper(composition, now, on);
    }

    /// Ends the turn of a device that waits on the bus and was refused.
    pub(super) fn end_refused<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        let own = Self::of(composition, on);
        let Some(occupant) = own.occupant.as_mut().filter(|occupant| !occupant.ends) else { return };
        if own.bridge.is_refused() {
            occupant.ends = true;
            let addressed = occupant.since + own.timing.refusal(occupant.underway.transaction.kind);
            composition.schedule(addressed.max(now), on, Step::Release);
        }
    }

    /// A device's turn is over; false if the bridge has no room for its write yet.
    pub(super) fn end_for_device<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        occupant: Occupant,
    ) -> bool {
        let occupied = now - occupant.since;
        let own = Self::of(composition, on);
        let end = own.bridge.device_ends();
        if end == End::Stalled {
            own.occupant = Some(Occupant { ends: false, ..occupant });
            return false;
        }
        if end == End::Refused {
            own.bus.held(occupied);
            composition.observe(now, on, Observation::Released);
            return true;
        }
        let CarriedTransaction { transaction, response, .. } = occupant.underway;
        own.bus.carried(transaction.kind, occupied);
        if end == End::Buffered {
            let time = (occupant.since, now);
            let seen = Observation::Crossing { time, transaction: &transaction, supplier: None };
            composition.observe(now, on, seen);
            Self::show_devices(composition, now, on, &transaction);
        }
        composition.agent(transaction.agent).complete(now, on, &transaction, &response);
        if end == End::Buffered {
            Self::use_kept_upper(composition, now, on);
        }
        true
    }

    /// Goes on with the interconnect above that the bridge has kept for a device.
    fn use_kept_upper<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        let own = Self::of(composition, on);
        if own.bridge.keeps_memory() {
            let upper = own.upper;
            go_on_for_bridge(composition, now, upper, on);
        }
    }
}
