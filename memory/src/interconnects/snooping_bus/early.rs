//! Agents that are answered early.
//!
//! The outcome of a transaction on a block is known when it has been snooped. If its agent does
//! nothing until it is over, and nobody can do anything to it, it may have its answer at once
//! ([`InterconnectHost::may_answer_early`]), and the bus is taken until the end all the same. The release is a step of its own only if another agent asks for
//! the bus meanwhile: then in the place that it would have had.

use narthex_kernel::{EventPlace, Time};

use super::SnoopingBus;
use crate::interconnects::{InterconnectHost, InterconnectId, Step};
use crate::transaction::AgentId;

/// A transaction whose agent was answered early.
#[derive(Clone, Copy, Debug)]
pub(super) struct Early {
    pub agent: AgentId,
    /// When it is over.
    pub end: Time,
    /// The place of its release; kept before anything else happens.
    pub place: Option<EventPlace>,
}

impl SnoopingBus {
    /// An agent whose transaction is over at `end` is answered now.
    #[inline(always)]
    pub(super) fn answered_early<C: InterconnectHost>(
        composition: &mut C,
        end: Time,
        on: InterconnectId,
        agent: AgentId,
    ) {
        let place = Some(composition.keep_place());
        let bus = Self::of(composition, on);
        bus.early = Some(Early { agent, end, place });
        if bus.bus.answered_early(end) {
            Self::release_early(composition, on);
        }
    }

    /// The bus is asked for: a transaction whose agent was answered early is over, or its end is
    /// scheduled.
    #[inline(always)]
    pub(super) fn end_early<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        asks: AgentId,
    ) {
        if let Some(Early { agent, end, place }) = Self::of(composition, on).early {
            let has_passed = |place| composition.has_passed(end, place);
            match agent == asks || now > end || place.is_none_or(has_passed) {
                true => Self::of(composition, on).early = None,
                false => Self::release_early(composition, on),
            }
        }
    }

    /// The end of a transaction whose agent was answered early is a step.
    #[cold]
    #[inline(never)]
    pub(super) fn release_early<C: InterconnectHost>(composition: &mut C, on: InterconnectId) {
        let bus = Self::of(composition, on);
        let Some(Early { end, place: Some(place), .. }) = bus.early.take() else { return };
        bus.bus.keep_until_released();
        bus.is_ending_early = true;
        composition.schedule_in(place, end, on, Step::Release);
    }

    /// The agent of such an exchange is answered before its end.
    #[inline(always)]
    pub(crate) fn answer_early(&mut self, agent: AgentId, end: Time) {
        self.early = Some(Early { agent, end, place: None });
    }

    /// If an exchange was answered early just now, its release gets the place that `keep` keeps.
    #[inline(always)]
    pub fn keep_place(&mut self, keep: impl FnOnce() -> EventPlace) {
        if let Some(Early { place: place @ None, .. }) = &mut self.early {
            *place = Some(keep());
        }
    }

    /// Whether an agent may be answered early at all.
    pub fn answers_early(&self) -> bool {
        self.bridge.is_none() && self.refusals.is_none()
    }
}
