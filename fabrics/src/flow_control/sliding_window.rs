//! A hardware sliding window for each destination (isca96, Section 4.1): "A
//! processor can send up to four network messages per destination before it
//! blocks waiting for acknowledgments."
//!
//! A packet is acknowledged when the receiving interface takes it, so a window
//! bounds what one sender can pile up at one receiver, and a receiver never
//! holds more than the windows of all senders.

use std::collections::VecDeque;

use narthex_kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Arrival, Emitted, FlowControl, Statistics};
use crate::packet::{Frame, NodeId, Packet};

/// The parameters of the sliding window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Unacknowledged packets allowed for each destination, at least 1.
    pub window: u32,
}

impl Config {
    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        if self.window == 0 {
            return vec![("window", "0 would let no packet through; at least 1 is needed".into())];
        }
        Vec::new()
    }
}

/// A sliding window at one node.
#[derive(Debug)]
pub struct SlidingWindow {
    own: NodeId,
    window: u32,
    /// Unacknowledged packets by destination.
    in_flight: Vec<u32>,
    waiting: VecDeque<Packet>,
    statistics: Statistics,
}

impl SlidingWindow {
    /// The windows of node `own` towards each of `nodes`.
    pub fn new(config: &Config, own: NodeId, nodes: usize) -> Self {
        SlidingWindow {
            own,
            window: config.window,
            in_flight: vec![0; nodes],
            waiting: VecDeque::new(),
            statistics: Statistics::default(),
        }
    }
}

impl FlowControl for SlidingWindow {
    fn can_send(&self, destination: NodeId) -> bool {
        self.in_flight.get(destination.0 as usize).is_some_and(|&count| count < self.window)
    }

    fn has_room(&self) -> bool {
        true
    }

    fn send(&mut self, packet: Packet, emitted: &mut Emitted) {
        self.in_flight[packet.destination.0 as usize] += 1;
        self.statistics.sent.increment();
        emitted.frames.push((packet.destination, Frame::Data(packet)));
    }

    fn arrive(&mut self, _now: Time, frame: Frame, _emitted: &mut Emitted) -> Arrival {
        match frame {
            Frame::Data(packet) => {
                self.statistics.accepted.increment();
                self.waiting.push_back(packet);
                Arrival { packet: true, room: false }
            }
            Frame::Acknowledgement { from, .. } => {
                self.in_flight[from.0 as usize] -= 1;
                Arrival { packet: false, room: true }
            }
            Frame::Returned(_) => unreachable!("a sliding window returns no packets"),
        }
    }

    fn waiting(&self) -> &VecDeque<Packet> {
        &self.waiting
    }

    fn take(&mut self, emitted: &mut Emitted) -> Option<Packet> {
        let packet = self.waiting.pop_front()?;
        self.statistics.delivered.increment();
        let acknowledgement = Frame::Acknowledgement { from: self.own, sequence: packet.sequence };
        emitted.frames.push((packet.source, acknowledgement));
        Some(packet)
    }

    fn retry(&mut self, _now: Time, _emitted: &mut Emitted) {}

    fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    fn describe(&self) -> String {
        let full: Vec<String> = (0..self.in_flight.len())
            .filter(|&node| self.in_flight[node] == self.window)
            .map(|node| format!("node {node}"))
            .collect();
        let windows = if full.is_empty() {
            "no window is full".into()
        } else {
            format!("full windows to {}", full.join(", "))
        };
        format!("{windows}; {} packets have arrived and were not taken", self.waiting.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Header;

    #[test]
    fn the_fifth_packet_waits_for_an_acknowledgement() {
        let (one, two) = (NodeId(0), NodeId(1));
        let mut flow = SlidingWindow::new(&Config { window: 4 }, one, 2);
        let mut emitted = Emitted::default();
        for sequence in 0..4 {
            assert!(flow.can_send(two));
            let packet =
                Packet { source: one, destination: two, sequence, header: Header(0), payload: vec![] };
            flow.send(packet, &mut emitted);
        }
        assert!(!flow.can_send(two));
        assert!(flow.can_send(one), "windows are separate");
        let arrival =
            flow.arrive(Time::ZERO, Frame::Acknowledgement { from: two, sequence: 0 }, &mut emitted);
        assert!(arrival.room && flow.can_send(two));
    }

    #[test]
    fn a_packet_is_acknowledged_when_it_is_taken() {
        let mut flow = SlidingWindow::new(&Config { window: 4 }, NodeId(1), 2);
        let packet = Packet {
            source: NodeId(0),
            destination: NodeId(1),
            sequence: 9,
            header: Header(0),
            payload: vec![],
        };
        let mut emitted = Emitted::default();
        flow.arrive(Time::ZERO, Frame::Data(packet), &mut emitted);
        assert!(emitted.frames.is_empty());
        flow.take(&mut emitted);
        let acknowledgement = Frame::Acknowledgement { from: NodeId(1), sequence: 9 };
        assert_eq!(emitted.frames, [(NodeId(0), acknowledgement)]);
    }
}
