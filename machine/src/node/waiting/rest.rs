//! A node at rest: nothing is under way but its processor, so that what it does
//! next follows from the processor, the interface, and what is scheduled.

use narthex_kernel::digest::Digest;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};

use crate::node::Node;

/// What of a node at rest must be the same at both ends of a turn that takes
/// the bus, and what its statistics are there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rest {
    state: u128,
    network_changes: u64,
    events: usize,
}

impl Node {
    /// Whether nothing is under way on any bus, and no access of a processor.
    pub(super) fn is_at_rest(&self, now: Time) -> bool {
        let io = self.io.as_ref().is_none_or(|io| io.is_idle_at(now));
        let private = self.private.as_ref().is_none_or(|private| private.is_idle_at(now));
        self.underway.is_none()
            && self.bus.is_idle_at(now)
            && io
            && private
            && self.units.iter().all(|unit| unit.memory.is_at_rest())
    }

    /// The state of interface and bridge at `now`.
    pub(super) fn rest(&self, now: Time) -> Rest {
        let mut awaited: Vec<Time> = self.events.iter().map(|(time, _)| time).collect();
        awaited.sort_unstable();
        let mut digest = Digest::default();
        digest.at(now, &awaited);
        self.interface.sides.iter().for_each(|side| side.hash_state(&mut digest));
        if let Some(io) = &self.io {
            std::hash::Hash::hash(&io.bridge, &mut digest);
        }
        Rest { state: digest.value(), network_changes: self.network.changes(), events: self.events.len() }
    }

    /// What divides a turn that takes the bus: a cycle of every bus.
    pub(super) fn grain(&self) -> Duration {
        let others = self.private.iter().map(|private| private.bus.period());
        let others = others.chain(self.io.iter().map(|io| io.bus.period()));
        others.fold(self.bus.period(), least_common_multiple)
    }

    /// Hands out every sum of the node's statistics that a load from a device's
    /// register may move.
    pub(super) fn sums(&mut self, visitor: &mut dyn FnMut(&mut u64)) {
        self.statistics.sums(visitor);
        self.bus.statistics.sums(visitor);
        self.units.iter_mut().for_each(|unit| unit.memory.statistics.sums(visitor));
        self.interface.sides.iter_mut().for_each(|side| side.statistics_mut().sums(visitor));
        if let Some(io) = &mut self.io {
            io.bus.statistics.sums(visitor);
            io.bridge.statistics.sums(visitor);
        }
        if let Some(private) = &mut self.private {
            private.bus.statistics.sums(visitor);
        }
    }

    /// All those sums.
    pub(super) fn all_sums(&mut self) -> Vec<u64> {
        let mut all = Vec::new();
        self.sums(&mut |sum| all.push(*sum));
        all
    }
}

fn least_common_multiple(first: Duration, second: Duration) -> Duration {
    let (mut divisor, mut rest) = (first.as_ps(), second.as_ps());
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    first * (second.as_ps() / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_of_two_clocks_meet_at_their_least_common_multiple() {
        let meet = |first, second| {
            least_common_multiple(Duration::from_ps(first), Duration::from_ps(second)).as_ps()
        };
        assert_eq!((meet(4_000, 10_000), meet(5, 5), meet(3, 7)), (20_000, 5, 21));
    }
}
