//! A node at rest: nothing is under way but its processor, so that what it does
//! next follows from the processor, the interface, and what is scheduled.

use narthex_kernel::digest::Digest;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::interconnects::Interconnect;

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
        self.interconnects.iter().all(|interconnect| interconnect.is_idle_at(now))
            && self.processors.iter().all(|unit| unit.memory.is_at_rest())
    }

    /// The state of devices and interconnects at `now`.
    pub(super) fn rest(&self, now: Time) -> Rest {
        let mut awaited: Vec<Time> = self.events.iter().map(|(time, _)| time).collect();
        awaited.sort_unstable();
        let mut digest = Digest::default();
        digest.at(now, &awaited);
        for place in &self.seats {
            self.devices[place.device].hash_state(place.seat, &mut digest);
        }
        self.interconnects.iter().for_each(|interconnect| interconnect.hash_state(&mut digest));
        Rest { state: digest.value(), network_changes: self.network.changes(), events: self.events.len() }
    }

    /// What divides a turn that takes the bus: a cycle of every bus.
    pub(super) fn grain(&self) -> Duration {
        let periods = self.interconnects.iter().map(Interconnect::period);
        periods.reduce(least_common_multiple).expect("a node has an interconnect")
    }

    /// Hands out every sum of the node's statistics that a load from a device's
    /// register may move.
    pub(super) fn sums(&mut self, visitor: &mut dyn FnMut(&mut u64)) {
        self.statistics.sums(visitor);
        self.processors.iter_mut().for_each(|unit| unit.memory.statistics.sums(visitor));
        let of_devices = self.devices.iter_mut().flat_map(|device| device.statistics_mut());
        let of_interconnects = self.interconnects.iter_mut().flat_map(Interconnect::statistics_mut);
        of_devices.chain(of_interconnects).for_each(|set| set.sums(visitor));
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
