//! Whether threads pay.
//!
//! They do not when few partitions have anything to do in a window, or when the
//! host's processors are busy with something else. Nothing tells this sooner or
//! better than the host's clock: now and then a stretch is simulated the other
//! way, and what takes less host time for the same simulated time is kept.

use std::time::Instant;

use crate::simulation::window::{Covered, Stretch};

/// Stretches between two trials, at first and at most: each that shows nothing
/// new doubles them.
const TRIAL_INTERVAL: (u32, u32) = (16, 512);
/// A trial must be better by so much.
const MARGIN: f64 = 0.95;
/// The weight of the latest stretch in the mean.
const WEIGHT: f64 = 0.25;

/// A way to simulate a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// On the leader's thread.
    Alone,
    /// On all threads.
    Together,
}

impl Way {
    fn other(self) -> Way {
        match self {
            Way::Alone => Way::Together,
            Way::Together => Way::Alone,
        }
    }
}

/// Chooses the way of each stretch.
#[derive(Debug)]
pub(super) struct Pace {
    always_together: bool,
    way: Way,
    /// Host time for simulated time; `None` until it is known.
    cost: Option<f64>,
    interval: u32,
    until_trial: u32,
}

impl Pace {
    /// A choice by trial, or always the threads.
    pub fn new(always_together: bool) -> Self {
        let interval = TRIAL_INTERVAL.0;
        Pace { always_together, way: Way::Together, cost: None, interval, until_trial: interval }
    }

    /// Simulates a stretch the better way, or the other to try it.
    pub fn simulate(
        &mut self,
        stretch: &Stretch,
        mut simulate: impl FnMut(Way) -> Option<Covered>,
    ) -> Option<Covered> {
        if self.always_together {
            return simulate(Way::Together);
        }
        let is_trial = self.until_trial == 0 && self.cost.is_some();
        let begin = Instant::now();
        let covered = simulate(if is_trial { self.way.other() } else { self.way })?;
        let host = begin.elapsed().as_nanos() as f64;
        let simulated = covered.now.saturating_since(stretch.now).as_ps();
        if simulated > 0 {
            self.learn(is_trial, host / simulated as f64);
        }
        Some(covered)
    }

    fn learn(&mut self, is_trial: bool, cost: f64) {
        let known = self.cost.unwrap_or(cost);
        if !is_trial {
            self.cost = Some(known + (cost - known) * WEIGHT);
            self.until_trial = self.until_trial.saturating_sub(1);
            return;
        }
        if cost < known * MARGIN {
            (self.way, self.cost, self.interval) = (self.way.other(), Some(cost), TRIAL_INTERVAL.0);
        } else {
            self.interval = (self.interval * 2).min(TRIAL_INTERVAL.1);
        }
        self.until_trial = self.interval;
    }
}
