//! What all switches of a network have in common, and the nodes' ends of it.

use narthex_kernel::{Duration, Time};

use super::Routes;
use super::config::Config;
use crate::backpressure::Backpressure;
use crate::link::{Sender, Timings};
use crate::packet::NodeId;
use crate::parcel::Parcel;
use crate::topologies::{self, Hop, Peer, Topology};

/// What all switches of a network have in common.
#[derive(Debug)]
pub struct Plan {
    /// Which links and routes there are.
    pub topology: topologies::Config,
    /// How many nodes are attached.
    pub nodes: u32,
    /// How long things take.
    pub timings: Timings,
    /// The switches.
    pub switches: Config,
    /// Whether parcels make detours.
    pub routes: Routes,
    /// Lanes of a link.
    pub lanes: u8,
    /// Lanes of each priority.
    pub lanes_per_priority: u8,
    /// Lanes of each priority that a parcel of one group uses.
    pub route_lanes: u8,
}

impl Plan {
    /// What a parcel takes from one node to another that meets no other, from the hand-over of its
    /// last byte to the arrival of its last byte, on the first of its ways.
    pub fn zero_load(&self, source: NodeId, destination: NodeId, bytes: u32) -> Duration {
        let start = Time::ZERO;
        let mut link = *self.timings.of_nodes();
        let (mut switch, _) = self.topology.attachment(source);
        let mut head = start;
        loop {
            let serialization = link.serialization(bytes);
            let Hop { port, .. } = self.topology.route(switch, destination, 0);
            let next = *self.timings.of(self.topology.link_kind(switch, port));
            head = link.at_switch(head, serialization) + link.head_start(&next, bytes);
            link = next;
            match self.topology.peer(switch, port) {
                Peer::Switch { switch: other, .. } => switch = other,
                _ => return link.at_node(head, link.serialization(bytes)) - start,
            }
        }
    }

    /// The sender's end of a link, to a node or to a switch.
    pub(crate) fn sender(&self, is_to_node: bool) -> Sender {
        match is_to_node || self.switches.backpressure.counts_room() {
            true => Sender::new(self.lanes, self.buffer_bytes()),
            false => Sender::without_credits(self.lanes),
        }
    }

    /// The buffer of a lane.
    pub fn buffer_bytes(&self) -> u32 {
        self.switches.buffer.as_u64() as u32
    }

    /// How many groups of lanes a priority has.
    pub fn groups(&self) -> u8 {
        self.lanes_per_priority / self.route_lanes
    }

    /// The partition and the port at the other end of a switch's port.
    pub(super) fn other_end(&self, switch: u32, port: u16) -> Option<(usize, u16, bool)> {
        match self.topology.peer(switch, port) {
            Peer::Node(node) => (u32::from(node.0) < self.nodes).then_some((usize::from(node.0), 0, true)),
            Peer::Switch { switch, port } => Some((self.partition(switch), port, false)),
            Peer::Nothing => None,
        }
    }

    /// The partition of a switch: they follow the nodes.
    pub fn partition(&self, switch: u32) -> usize {
        (self.nodes + switch) as usize
    }

    /// Whether a parcel that was read may be one of this network.
    pub(crate) fn fits<C>(&self, parcel: &Parcel<C>) -> bool {
        let known = |node: NodeId| u32::from(node.0) < self.nodes;
        known(parcel.source)
            && known(parcel.destination)
            && known(parcel.towards)
            && parcel.lane < self.lanes
            && parcel.group < self.groups()
            && u32::from(parcel.priority) * u32::from(self.lanes_per_priority) < u32::from(self.lanes)
    }
}
