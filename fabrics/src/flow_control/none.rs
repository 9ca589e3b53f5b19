//! No flow control between the ends: a packet is sent when the node's link has
//! room, and nothing acknowledges it.
//!
//! In a network of switches what a node does not take keeps its place in the buffer
//! of its link, and holds back what comes behind it, switch by switch to its
//! sources: the network's own credits are all there is. A process that takes nothing
//! then blocks its neighbours, and others' packets on their way. The ideal network
//! has room without end. An urgent packet is taken before those that are not.

use std::collections::VecDeque;

use narthex_kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Arrival, Emitted, FlowControl, Limit, Occupancy, Parameters, State, Statistics};
use crate::packet::{Frame, Packet, Placement, Rank};

/// Nothing but the network itself holds a sender back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Parameters for Config {
    fn build(&self, placement: Placement) -> Box<dyn FlowControl> {
        let waiting = vec![VecDeque::new(); placement.processes.into()];
        Box::new(Unlimited { placement, waiting, statistics: Statistics::default() })
    }
}

/// A node without flow control.
#[derive(Debug, Serialize, Deserialize)]
pub struct Unlimited {
    placement: Placement,
    /// By process.
    waiting: Vec<VecDeque<Box<Packet>>>,
    statistics: Statistics,
}

impl FlowControl for Unlimited {
    fn can_send(&self, _own: Rank, destination: Rank) -> bool {
        destination.0 < self.placement.ranks()
    }

    fn has_room(&self, _own: Rank) -> bool {
        true
    }

    fn send(&mut self, packet: Box<Packet>, emitted: &mut Emitted) {
        self.statistics.sent.increment();
        emitted.frames.push((packet.destination, Frame::Data(packet)));
    }

    fn arrive(&mut self, _now: Time, frame: Frame, _emitted: &mut Emitted) -> Arrival {
        let Frame::Data(packet) = frame else { unreachable!("packets alone are sent") };
        let process = self.placement.process(packet.destination);
        self.statistics.accepted.increment();
        let waiting = &mut self.waiting[usize::from(process)];
        match packet.is_urgent {
            false => waiting.push_back(packet),
            true => {
                let place = waiting.iter().position(|other| !other.is_urgent).unwrap_or(waiting.len());
                waiting.insert(place, packet);
            }
        }
        Arrival { packet: Some(process), room: false }
    }

    fn waiting(&self, own: Rank) -> &VecDeque<Box<Packet>> {
        &self.waiting[usize::from(self.placement.process(own))]
    }

    fn take_at(&mut self, own: Rank, place: usize, _emitted: &mut Emitted) -> Option<Box<Packet>> {
        let packet = self.waiting[usize::from(self.placement.process(own))].remove(place)?;
        self.statistics.delivered.increment();
        Some(packet)
    }

    fn retry(&mut self, _now: Time, _emitted: &mut Emitted) {}

    fn keeps_places(&self) -> bool {
        true
    }

    fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    fn occupancy(&self) -> Occupancy {
        let waiting = self.waiting.iter().map(VecDeque::len).sum::<usize>() as u64;
        Occupancy { unacknowledged: 0, returned: 0, waiting }
    }

    fn state(&self) -> State {
        let waiting = self.waiting.iter().flatten().map(|packet| (packet.source, packet.destination));
        State::new((self.placement, Limit::None), Vec::new(), waiting, &self.statistics)
    }
}
