//! Packets that nodes have refused, where no attempt to deliver them is executed: they are put
//! back where they would be, because the machine rests.
//!
//! See [`narthex_fabrics::port`] for what is computed, and why.

use narthex_fabrics::port::{ArrivalOrder, RestoredPacket};
use narthex_fabrics::{Frame, NodeId, Phase};
use narthex_kernel::Time;
use narthex_kernel::partition::Envelope;

use super::{Event, Node};

/// Everything before `now` has happened on the nodes, which are all of the machine in their
/// order: each packet that one of them has refused is where it would be if every attempt
/// were executed, and is counted so.
pub fn disperse(nodes: &mut [&mut Node], now: Time) {
    for receiver in 0..nodes.len() {
        let packets = nodes[receiver].network.disperse(now);
        nodes[receiver].events.retain(|event| !matches!(event, Event::Attempt(_)));
        for packet in packets {
            let sender = usize::from(nodes[receiver].network.sender(&packet).0);
            nodes[sender].network.learn_of(now, &packet);
            let order = packet.order();
            match packet {
                RestoredPacket::Returning { arrival, packet } => {
                    let event = Event::Frame(Frame::Returned(packet), Phase::Arrival);
                    nodes[sender].receive(arrival, (NodeId(receiver as u16), order), event);
                }
                RestoredPacket::Waiting { since, packet } => {
                    nodes[sender].network.wait_to_retry(since, packet);
                    nodes[sender].depart(now);
                }
                RestoredPacket::Coming { arrival, packet, .. } => {
                    let event = Event::Frame(Frame::Data(packet), Phase::Retry);
                    nodes[receiver].receive(arrival, (NodeId(sender as u16), order), event);
                }
            }
        }
    }
    let before = Time::from_ps(now.as_ps().saturating_sub(1));
    nodes.iter_mut().for_each(|node| node.network.count_rounds(before));
}

impl Node {
    /// From now on attempts to deliver packets that were refused are computed where that can be.
    /// For a machine none of whose nodes is observed.
    pub fn compute_attempts(&mut self) {
        self.network.compute_attempts();
    }

    /// From now on each of them is executed. For a machine that rests.
    pub fn execute_attempts(&mut self) {
        self.network.execute_attempts();
    }

    /// An event happens in this place among what arrives at that instant.
    pub(super) fn receive(&mut self, arrival: Time, (source, sequence): ArrivalOrder, event: Event) {
        let envelope = Envelope {
            arrival,
            source: source.0.into(),
            sequence,
            destination: usize::from(self.id.0),
            payload: event,
        };
        self.events.receive(envelope, |event| event);
    }
}
