//! Packets that nodes have refused, where no attempt to deliver them is executed: they are put
//! back where they would be, because the machine rests.
//!
//! See [`narthex_fabrics::port`] for what is computed, and why.

use narthex_fabrics::port::Place;
use narthex_fabrics::{Frame, NodeId};
use narthex_kernel::Time;
use narthex_kernel::partition::Envelope;

use super::{Event, Node};

/// Everything before `now` has happened on the nodes, which are all of the machine in their
/// order: each packet that one of them has refused is where it would be if every attempt
/// were executed, and is counted so.
pub fn disperse(nodes: &mut [&mut Node], now: Time) {
    for receiver in 0..nodes.len() {
        let (packets, rounds) = nodes[receiver].network.disperse(now);
        nodes[receiver].events.retain(|event| !matches!(event, Event::Attempt(_)));
        for (sender, rounds) in rounds {
            nodes[usize::from(sender.0)].network.count_rounds(rounds);
        }
        for packet in packets {
            let sender = usize::from(nodes[receiver].network.sender(&packet).0);
            match packet.frame() {
                Ok((arrival, frame @ Frame::Returned(_))) => {
                    nodes[sender].expect_frame(arrival, NodeId(receiver as u16), frame);
                }
                Ok((arrival, frame)) => nodes[receiver].expect_frame(arrival, NodeId(sender as u16), frame),
                Err((since, packet)) => {
                    nodes[sender].network.arrive(since, Frame::Returned(packet));
                    nodes[sender].network.end_arrival();
                    nodes[sender].depart(now);
                }
            }
        }
    }
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

    /// A frame is under way from a node.
    fn expect_frame(&mut self, arrival: Time, source: NodeId, frame: Frame) {
        let place = (source, frame.order(0));
        self.receive(arrival, place, Event::Frame(frame));
    }

    /// An event happens in this place among what arrives at that instant.
    pub(super) fn receive(&mut self, arrival: Time, (source, sequence): Place, event: Event) {
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
