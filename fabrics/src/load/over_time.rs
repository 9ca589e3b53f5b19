//! How long each link was busy in intervals of one length.

use narthex_kernel::simulation::Simulation;
use narthex_kernel::{Duration, Time};

use super::source::Part;
use crate::intervals::{Intervals, Track};
use crate::link::Sender;

/// The links of a network under load in intervals.
pub(super) struct OverTime {
    intervals: Intervals,
    busy_ps: Vec<Track>,
}

impl OverTime {
    /// In intervals of this length.
    pub fn new(interval: Duration) -> Self {
        OverTime { intervals: Intervals::new(interval), busy_ps: Vec::new() }
    }

    /// When the interval that is under way ends.
    pub fn next_look(&self) -> Time {
        self.intervals.next_look()
    }

    /// An interval ends now.
    pub fn look(&mut self, now: Time, simulation: &mut Simulation<Part>) {
        let busy_ps: Vec<u64> = senders(simulation).map(|sender| sender.busy_before(now).as_ps()).collect();
        self.busy_ps.resize(busy_ps.len(), Track::default());
        self.busy_ps.iter_mut().zip(busy_ps).for_each(|(link, busy_ps)| link.count(busy_ps));
        if self.intervals.end(now) {
            self.busy_ps.iter_mut().for_each(Track::join);
        }
    }

    /// The intervals, and those of each link, in the order of a measurement's links.
    pub fn finish(mut self, simulation: &mut Simulation<Part>) -> (Intervals, Vec<Track>) {
        let end = simulation.now();
        if self.intervals.has_rest(end) {
            self.look(end, simulation);
        }
        (self.intervals, self.busy_ps)
    }
}

/// The senders of all links, in the order of a measurement's links.
fn senders(simulation: &mut Simulation<Part>) -> impl Iterator<Item = &Sender> {
    simulation.partitions().flat_map(|part| {
        let (source, switch) = match part {
            Part::Source(source) => (Some(source.terminal.sender()), None),
            Part::Switch(switch) => (None, Some(switch.senders())),
        };
        source.into_iter().chain(switch.into_iter().flatten())
    })
}
