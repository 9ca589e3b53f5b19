//! A node's way to the network, as its interface sees it: flow control and
//! network in one, with sequence numbers given out.

use narthex_kernel::Time;

use crate::flow_control::{Arrival, Emitted, FlowControl, Statistics};
use crate::networks::Network;
use crate::packet::{Frame, Header, NodeId, Packet};

/// A frame on its way, with when and where it arrives.
pub type Departure = (Time, NodeId, Frame);

/// A node's end of the fabric.
pub struct NetworkPort {
    own: NodeId,
    nodes: usize,
    flow: Box<dyn FlowControl>,
    network: Box<dyn Network>,
    next_sequence: u64,
    emitted: Emitted,
}

impl std::fmt::Debug for NetworkPort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "network port of {:?}: {}", self.own, self.flow.describe())
    }
}

impl NetworkPort {
    /// The port of node `own` in a machine of `nodes`.
    pub fn new(own: NodeId, nodes: usize, flow: Box<dyn FlowControl>, network: Box<dyn Network>) -> Self {
        NetworkPort { own, nodes, flow, network, next_sequence: 0, emitted: Emitted::default() }
    }

    /// This node.
    pub fn own(&self) -> NodeId {
        self.own
    }

    /// Whether there is such a node.
    pub fn exists(&self, node: NodeId) -> bool {
        (node.0 as usize) < self.nodes
    }

    /// Whether a packet to `destination` may be sent now.
    pub fn can_send(&self, destination: NodeId) -> bool {
        self.flow.can_send(destination)
    }

    /// Whether there is room for a packet to some destination.
    pub fn has_room(&self) -> bool {
        self.flow.has_room()
    }

    /// Sends a packet to the node that the header names; `can_send` has said yes.
    pub fn send(&mut self, header: Header, payload: Vec<u8>) {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let packet = Packet { source: self.own, destination: header.peer(), sequence, header, payload };
        self.flow.send(packet, &mut self.emitted);
    }

    /// The oldest packet that has arrived and has not been taken.
    pub fn front(&self) -> Option<&Packet> {
        self.flow.waiting().front()
    }

    /// How many packets have arrived and have not been taken.
    pub fn waiting(&self) -> usize {
        self.flow.waiting().len()
    }

    /// Takes the oldest packet that has arrived and frees its buffer.
    pub fn take(&mut self) -> Option<Packet> {
        self.flow.take(&mut self.emitted)
    }

    /// A frame has arrived from the network.
    pub fn arrive(&mut self, now: Time, frame: Frame) -> Arrival {
        self.flow.arrive(now, frame, &mut self.emitted)
    }

    /// The instant that [`NetworkPort::departures`] asked for has come.
    pub fn retry(&mut self, now: Time) {
        self.flow.retry(now, &mut self.emitted);
    }

    /// Hands over the frames that leave now, and says when to call
    /// [`NetworkPort::retry`]. To be called after every step.
    pub fn departures(&mut self, now: Time, mut depart: impl FnMut(Departure)) -> Option<Time> {
        for (destination, frame) in self.emitted.frames.drain(..) {
            let arrival = self.network.arrival(now, destination, &frame);
            depart((arrival, destination, frame));
        }
        self.emitted.retry_at.take()
    }

    /// Counts so far.
    pub fn statistics(&self) -> &Statistics {
        self.flow.statistics()
    }

    /// The state in a line.
    pub fn describe(&self) -> String {
        self.flow.describe()
    }
}
