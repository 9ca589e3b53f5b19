//! A node at rest: nothing is under way but its processor, so that what it does
//! next follows from the processor, the interface, and what is scheduled.

use narthex_cores::wait_loop::Grain;
use narthex_kernel::Time;
use narthex_kernel::digest::Digest;
use narthex_kernel::statistics::StatisticSet;
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
        for place in &self.ports {
            self.devices[place.device].hash_state(place.port, &mut digest);
        }
        self.interconnects.iter().for_each(|interconnect| interconnect.hash_state(&mut digest));
        Rest { state: digest.value(), network_changes: self.network.changes(), events: self.events.len() }
    }

    /// What a turn of a processor is made of, with every bus if it takes the bus.
    pub(super) fn grain(&self, index: usize, takes_bus: bool) -> Grain {
        let buses = self.interconnects.iter().filter(|_| takes_bus).map(Interconnect::clock);
        Grain::of(buses.chain([self.processors[index].processor.clock()]))
    }

    /// Hands out every sum of the node's statistics that a load from a device's
    /// register, or the fetch of an instruction, may move.
    pub(super) fn sums(&mut self, visitor: &mut dyn FnMut(&mut u64)) {
        self.statistics.sums(visitor);
        self.processors.iter_mut().for_each(|unit| unit.memory.sums(visitor));
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
