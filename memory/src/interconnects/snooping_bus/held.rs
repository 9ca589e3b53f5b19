//! Accesses that their device holds: they keep the bus until the device answers them.
//!
//! How long that is nobody knows when the bus is granted, so no step is scheduled: the time on the bus is
//! counted when the answer comes.

use narthex_kernel::Time;

use super::SnoopingBus;
use crate::interconnects::{CarriedTransaction, InterconnectHost, InterconnectId, Observation};

impl SnoopingBus {
    /// An access is held by what it accesses, and has the bus until that answers it.
    #[cold]
    pub(super) fn hold<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        held: CarriedTransaction,
    ) {
        composition.observe(now, on, Observation::Held(&held.transaction));
        Self::of(composition, on).underway = Some(held);
    }

    /// Such an access is answered.
    #[cold]
    pub(super) fn end_hold<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        since: Time,
    ) {
        Self::of(composition, on).bus.held(now - since);
        composition.observe(now, on, Observation::Released);
    }
}
