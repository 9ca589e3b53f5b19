//! Registers that a processor accesses while it runs.
//!
//! Where nothing else happens at its node before an access to a register is over, the only processor
//! of a node does not stop for it ([`DirectBus`](narthex_memory::processor_memory::DirectBus)): the device is
//! called from within its run. Mostly that is all. If the device asks for an instant, an
//! interconnect or a frame to leave, ends the program, or promises less than before, the processor stops
//! behind the instruction, and the node carries it out as ever:
//!
//! ```text
//!   processor  ─── executes ───┤ register ├─── executes ───┤ register ├ stops
//!   device                          └ nothing                   └ wants the bus ──► node
//! ```
//!
//! An access that is over behind the end of the window is made all the same if nothing that may come
//! from the network changes it ([`Device::independent_of_arrivals`]): most words of a packet are pushed into a FIFO
//! and popped from it without a look at the network.

use narthex_fabrics::NetworkPort;
use narthex_interfaces::Device;
use narthex_interfaces::half::RegisterFault;
use narthex_kernel::{Duration, Time};
use narthex_memory::interconnects::snooping_bus::SnoopingBus;
use narthex_memory::processor_memory::{MmioEffect, Registers};
use narthex_memory::{AccessReply, AgentId, Kind, Response, Transaction};

use super::devices::DeviceRequests;
use super::interconnect_host::PortPlace;
use super::processor::State;
use super::send_lookahead::DeviceLookahead;
use super::{Node, Occupation};
use crate::activity::Resource;

/// The devices of a node with one processor while that runs.
pub(super) struct DeviceRegisters<'a> {
    pub devices: &'a mut Vec<Box<dyn Device>>,
    pub ports: &'a Vec<PortPlace>,
    pub network: &'a mut NetworkPort,
    pub device_requests: &'a mut DeviceRequests,
    /// What comes from the network before this instant has come.
    pub heard_until: Time,
    /// What the node relies on during this run.
    pub device_lookahead: &'a DeviceLookahead,
    /// What the node has to carry out.
    pub unfinished: &'a mut Option<Unfinished>,
}

/// An access to a register that has made its device ask for something.
pub(super) struct Unfinished {
    /// When the bus was granted for it.
    granted: Time,
    /// When it is over.
    end: Time,
    place: PortPlace,
    accessed: Result<AccessReply, RegisterFault>,
    /// The program ends.
    is_refused: bool,
}

impl DeviceRegisters<'_> {
    /// The port of an agent that is not the processor.
    #[inline(always)]
    fn port(&self, agent: AgentId) -> PortPlace {
        self.ports[usize::from(agent.0) - 1]
    }

    /// Whether a device that was accessed asks for nothing.
    #[inline(always)]
    fn are_quiet(&self, PortPlace { device, port, .. }: PortPlace) -> bool {
        let device = &self.devices[device];
        self.device_requests.is_nothing()
            && !self.network.has_departures()
            && !device.ports_beside(port).any(|port| device.wants(port))
            && self.device_lookahead.are_kept_by(&**device)
    }
}

impl Registers for DeviceRegisters<'_> {
    #[inline]
    fn access_time(&self, agent: AgentId, kind: Kind) -> Duration {
        let place = self.port(agent);
        self.devices[place.device].access_time(place.port, kind)
    }

    fn access(
        &mut self,
        (granted, end): (Time, Time),
        is_ahead: bool,
        agent: AgentId,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Option<MmioEffect> {
        // A link to a switch is looked at behind every access.
        if is_ahead && self.network.has_departures() {
            return None;
        }
        let place = self.port(agent);
        let mut context = self.device_requests.context(end, self.network.of_process(place.process), None);
        let device = &mut *self.devices[place.device];
        if is_ahead && !device.independent_of_arrivals(place.port, &context, transaction, self.heard_until) {
            return None;
        }
        let accessed = device.access(place.port, &mut context, transaction, response);
        assert_ne!(accessed, Ok(AccessReply::Held), "a port that holds accesses says so");
        self.device_lookahead.forget_time_to_send();
        let is_refused = accessed.is_err() || !self.device_requests.faults.is_empty();
        if !is_refused && self.are_quiet(place) {
            return Some(MmioEffect::Nothing);
        }
        assert!(
            !is_ahead,
            "{} asks for something, or ends the program, because of an access that it has called settled: its \
             independent_of_arrivals promises too much ({transaction:?})",
            self.devices[place.device].part(place.port),
        );
        *self.unfinished = Some(Unfinished { granted, end, place, accessed, is_refused });
        Some(if is_refused { MmioEffect::Refusal } else { MmioEffect::ForNode })
    }
}

impl Node {
    /// Carries out what a device asked for because of the access behind which its only processor has
    /// stopped, or before which, where it was refused.
    #[inline(never)]
    pub(super) fn finish_register_access(&mut self) {
        let Some(Unfinished { granted, end, place, accessed, is_refused }) = self.unfinished.take() else {
            return;
        };
        self.horizons.ran_until = self.horizons.ran_until.min(end);
        if is_refused {
            let now = self.processors[0].processor.now();
            self.processors[0].state = State::Waiting;
            self.book(0, now, Occupation::Uncached);
            self.processors[0].awaits_from(granted, Resource::Interface);
        }
        self.carry_out_access(end, place, accessed, self.agent_of_processor(0));
        let (on, _) = self.processors[0].ports.caches;
        SnoopingBus::end_alone(self, end, on);
    }
}
