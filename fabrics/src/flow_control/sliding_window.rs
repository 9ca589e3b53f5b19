//! A hardware sliding window for each destination (isca96, Section 4.1): "A
//! processor can send up to four network messages per destination before it
//! blocks waiting for acknowledgments."
//!
//! A packet is acknowledged when the receiving interface takes it, so a window
//! bounds what one sender can pile up at one receiver, and a receiver never
//! holds more than the windows of all senders. Senders and destinations are
//! processes: each has windows of its own, so that no other can close them.

use std::collections::{BTreeMap, VecDeque};

use narthex_kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Arrival, Emitted, FlowControl, Limit, Occupancy, Outstanding, Parameters, State, Statistics};
use crate::packet::{Frame, Packet, Placement, Rank};

/// A number of unacknowledged packets for each destination (isca96).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Unacknowledged packets allowed for each destination, at least 1.
    pub window: u32,
}

impl Parameters for Config {
    fn problems(&self) -> Vec<(&'static str, String)> {
        if self.window == 0 {
            return vec![("window", "0 would let no packet through; at least 1 is needed".into())];
        }
        Vec::new()
    }

    fn build(&self, placement: Placement) -> Box<dyn FlowControl> {
        Box::new(SlidingWindow::new(self, placement))
    }
}

/// A sliding window at one node.
#[derive(Debug, Serialize, Deserialize)]
pub struct SlidingWindow {
    placement: Placement,
    window: u32,
    /// Unacknowledged packets by source and destination; none where there is no entry.
    in_flight: BTreeMap<(Rank, Rank), u32>,
    /// By process.
    waiting: Vec<VecDeque<Box<Packet>>>,
    statistics: Statistics,
}

impl SlidingWindow {
    /// The windows of a node's processes towards all processes.
    pub fn new(config: &Config, placement: Placement) -> Self {
        SlidingWindow {
            placement,
            window: config.window,
            in_flight: BTreeMap::new(),
            waiting: vec![VecDeque::new(); placement.processes.into()],
            statistics: Statistics::default(),
        }
    }

    fn acknowledged(&mut self, source: Rank, destination: Rank) {
        let count = self.in_flight.get_mut(&(source, destination)).expect("a packet was sent");
        *count -= 1;
        if *count == 0 {
            self.in_flight.remove(&(source, destination));
        }
    }
}

impl FlowControl for SlidingWindow {
    fn can_send(&self, own: Rank, destination: Rank) -> bool {
        let exists = destination.0 < self.placement.ranks();
        exists && self.in_flight.get(&(own, destination)).is_none_or(|&count| count < self.window)
    }

    fn has_room(&self, _own: Rank) -> bool {
        true
    }

    fn send(&mut self, packet: Box<Packet>, emitted: &mut Emitted) {
        *self.in_flight.entry((packet.source, packet.destination)).or_default() += 1;
        self.statistics.sent.increment();
        emitted.frames.push((packet.destination, Frame::Data(packet)));
    }

    fn arrive(&mut self, _now: Time, frame: Frame, _emitted: &mut Emitted) -> Arrival {
        match frame {
            Frame::Data(packet) => {
                let process = self.placement.process(packet.destination);
                self.statistics.accepted.increment();
                self.waiting[usize::from(process)].push_back(packet);
                Arrival { packet: Some(process), room: false }
            }
            Frame::Acknowledgement { from, to, .. } => {
                self.acknowledged(to, from);
                Arrival { packet: None, room: true }
            }
            Frame::Returned(_) | Frame::Notice { .. } => unreachable!("a sliding window acknowledges alone"),
        }
    }

    fn waiting(&self, own: Rank) -> &VecDeque<Box<Packet>> {
        &self.waiting[usize::from(self.placement.process(own))]
    }

    fn take_at(&mut self, own: Rank, place: usize, emitted: &mut Emitted) -> Option<Box<Packet>> {
        let packet = self.waiting[usize::from(self.placement.process(own))].remove(place)?;
        self.statistics.delivered.increment();
        let (from, to) = (packet.destination, packet.source);
        emitted.frames.push((to, Frame::Acknowledgement { from, to, sequence: packet.sequence }));
        Some(packet)
    }

    fn answers_when_taken(&self) -> bool {
        true
    }

    fn retry(&mut self, _now: Time, _emitted: &mut Emitted) {}

    fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    fn occupancy(&self) -> Occupancy {
        Occupancy {
            unacknowledged: self.in_flight.values().map(|&count| u64::from(count)).sum(),
            returned: 0,
            waiting: self.waiting.iter().map(VecDeque::len).sum::<usize>() as u64,
        }
    }

    fn state(&self) -> State {
        let outstanding = self.in_flight.iter().map(|(&(source, destination), &packets)| Outstanding {
            source,
            destination,
            packets,
            returned: 0,
        });
        let waiting = self.waiting.iter().flatten().map(|packet| (packet.source, packet.destination));
        let bound = (self.placement, Limit::Window(self.window));
        State::new(bound, outstanding.collect(), waiting, &self.statistics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Header;

    /// The end of node 0 of two nodes, with this many processes.
    fn node(processes: u8) -> SlidingWindow {
        SlidingWindow::new(&Config { window: 4 }, Placement { nodes: 2, processes })
    }

    fn packet(source: Rank, destination: Rank, sequence: u64) -> Box<Packet> {
        Box::new(Packet {
            source,
            destination,
            sequence,
            is_urgent: false,
            number: 0,
            is_marked: false,
            header: Header(0),
            payload: vec![],
        })
    }

    #[test]
    fn the_fifth_packet_waits_for_an_acknowledgement() {
        let (one, two) = (Rank(0), Rank(1));
        let mut flow = node(1);
        let mut emitted = Emitted::default();
        for sequence in 0..4 {
            assert!(flow.can_send(one, two));
            flow.send(packet(one, two, sequence), &mut emitted);
        }
        assert!(!flow.can_send(one, two));
        assert!(flow.can_send(one, one), "windows are separate");
        let acknowledgement = Frame::Acknowledgement { from: two, to: one, sequence: 0 };
        let arrival = flow.arrive(Time::ZERO, acknowledgement, &mut emitted);
        assert!(arrival.room && flow.can_send(one, two));
    }

    #[test]
    fn a_process_that_does_not_exist_gets_no_packet_and_needs_no_room() {
        let flow = node(2);
        let can_send: Vec<bool> = (0..6).map(|rank| flow.can_send(Rank(0), Rank(rank))).collect();
        assert_eq!(can_send, [true, true, true, true, false, false]);
        assert!(flow.has_room(Rank(0)), "any destination's window may be open");
    }

    #[test]
    fn a_window_of_no_packet_is_refused() {
        assert_eq!(Config { window: 1 }.problems(), []);
        let problem = "0 would let no packet through; at least 1 is needed";
        assert_eq!(Config { window: 0 }.problems(), [("window", problem.to_owned())]);
    }

    #[test]
    fn the_state_tells_what_each_window_holds_and_what_waits() {
        let mut flow = node(1);
        assert_eq!(flow.state().to_string(), "no packet is unacknowledged; 0 arrived and not taken");
        let mut emitted = Emitted::default();
        for (destination, sequence) in [(0, 0), (1, 1), (1, 2)] {
            flow.send(packet(Rank(0), Rank(destination), sequence), &mut emitted);
        }
        flow.arrive(Time::ZERO, Frame::Data(packet(Rank(1), Rank(0), 7)), &mut emitted);
        assert_eq!(flow.waiting(Rank(0)).len(), 1);
        assert_eq!(flow.occupancy(), Occupancy { unacknowledged: 3, returned: 0, waiting: 1 });
        assert_eq!(
            flow.state().to_string(),
            "1 of 4 packets to node 0 unacknowledged, 2 of 4 packets to node 1 unacknowledged; \
             1 arrived and not taken"
        );
        let acknowledgement = Frame::Acknowledgement { from: Rank(0), to: Rank(0), sequence: 0 };
        flow.arrive(Time::ZERO, acknowledgement, &mut emitted);
        let left = Outstanding { source: Rank(0), destination: Rank(1), packets: 2, returned: 0 };
        assert_eq!(flow.state().outstanding, [left]);
        assert_eq!(flow.statistics().sent.get(), 3);
    }

    #[test]
    fn a_process_that_has_filled_its_window_leaves_its_neighbours_open() {
        let (one, neighbour, other) = (Rank(0), Rank(1), Rank(2));
        let mut flow = node(2);
        for sequence in 0..4 {
            flow.send(packet(one, other, sequence), &mut Emitted::default());
        }
        assert!(!flow.can_send(one, other));
        assert!(flow.can_send(neighbour, other));
        assert_eq!(
            flow.state().to_string(),
            "4 of 4 packets to rank 2 unacknowledged (from rank 0); 0 arrived and not taken"
        );
    }

    #[test]
    fn a_packet_is_acknowledged_when_it_is_taken() {
        let (source, own) = (Rank(1), Rank(0));
        let mut flow = node(1);
        let mut emitted = Emitted::default();
        flow.arrive(Time::ZERO, Frame::Data(packet(source, own, 9)), &mut emitted);
        assert!(emitted.frames.is_empty());
        flow.take(own, &mut emitted);
        let acknowledgement = Frame::Acknowledgement { from: own, to: source, sequence: 9 };
        assert_eq!(emitted.frames, [(source, acknowledgement)]);
    }
}
