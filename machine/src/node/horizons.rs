//! How far a node goes, and up to when it may take shortcuts on the way.
//!
//! A transaction that is over before anything else happens needs no events: it is carried at once. Where
//! an observer is told of events, or each step is to be one, there is no such time.

use narthex_kernel::{Duration, Time};

use super::Node;

/// The instants up to which a node does things.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Horizons {
    /// How far it goes now.
    pub until: Time,
    /// An answer to what it sends may come before, so long after it has arrived.
    answer_time: Option<Duration>,
    /// Transactions that are over before this instant may be carried without an event, where
    /// nothing else happens.
    pub free_until: Time,
    /// A processor may have the answer to a transaction early that is over before this instant.
    pub early_until: Time,
    /// The node's state is looked at when everything before this instant has happened.
    pub inspection: Time,
    /// The processor has executed hits that are made before this instant.
    pub ran_until: Time,
}

impl Horizons {
    /// The node goes up to `until`, and not further than an answer to what it sends, which may come
    /// so long after that has arrived.
    #[inline]
    pub fn begin(&mut self, until: Time, answer_time: Option<Duration>, schedules_all: bool) {
        (self.until, self.answer_time) = (until, answer_time);
        (self.free_until, self.early_until) = match schedules_all {
            true => (Time::ZERO, Time::ZERO),
            false => (until, self.inspection),
        };
    }

    /// Each step is an event from now on.
    #[inline]
    pub fn take_no_shortcuts(&mut self) {
        (self.free_until, self.early_until) = (Time::ZERO, Time::ZERO);
    }

    /// Something that it sends arrives then: an answer may come.
    #[inline]
    pub fn expect_answer(&mut self, arrival: Time) {
        if let Some(answer_time) = self.answer_time {
            self.until = arrival.saturating_add(answer_time).min(self.until);
            self.free_until = self.free_until.min(self.until);
        }
    }
}

impl Node {
    /// Does something of which each step is an event.
    pub(super) fn without_shortcuts(&mut self, act: impl FnOnce(&mut Node)) {
        let before = self.horizons;
        self.horizons.take_no_shortcuts();
        act(self);
        let Horizons { until, free_until, early_until, .. } = &mut self.horizons;
        (*free_until, *early_until) = (before.free_until.min(*until), before.early_until);
    }
}
