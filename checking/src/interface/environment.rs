//! The network around the interface that is checked: it has room when it
//! chooses, and packets arrive when it chooses.

use std::collections::VecDeque;

use narthex_fabrics::flow_control::{Arrival, Emitted, FlowControl, Limit, Occupancy, State, Statistics};
use narthex_fabrics::networks::Network;
use narthex_fabrics::{Frame, Header, NetworkPort, NodeId, Packet, Placement, Rank, Sending};
use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use super::messages;
use crate::explore::Violation;

/// The process whose interface is checked.
pub const OWN: Rank = Rank(0);
/// The one at the other end.
pub const PEER: Rank = Rank(1);

/// Two nodes of a process each; only one of them is there.
const PLACEMENT: Placement = Placement { nodes: 2, processes: 1 };

/// Most packets that the network has room for at a time, and most that wait for
/// the interface to take them.
const MOST_PACKETS: u64 = 2;

/// The state of the network, as this node sees it.
#[derive(Clone, Hash, Debug, Default)]
pub struct Environment {
    /// Packets that it takes now.
    room: u64,
    /// Messages that it has taken, each of which was right.
    pub taken: u64,
    /// Packets that have arrived and wait.
    waiting: VecDeque<Box<Packet>>,
    /// Messages that have arrived so far.
    pub arrived: u64,
}

impl Environment {
    /// Whether room for one more of the `expected` packets can come up.
    pub fn can_make_room(&self, expected: u64) -> bool {
        self.room < MOST_PACKETS && self.taken + self.room < expected
    }

    /// There is room for one more packet.
    pub fn make_room(&mut self) {
        self.room += 1;
    }

    /// Whether one more of the `expected` packets can arrive.
    pub fn can_arrive(&self, expected: u64) -> bool {
        (self.waiting.len() as u64) < MOST_PACKETS && self.arrived < expected
    }

    /// The next packet arrives.
    pub fn arrive(&mut self, message: messages::Message) {
        let header = message.header(OWN);
        let packet = Packet {
            source: PEER,
            destination: OWN,
            sequence: self.arrived,
            is_urgent: false,
            number: 0,
            is_marked: false,
            header,
            payload: message.payload(),
        };
        self.waiting.push_back(Box::new(packet));
        self.arrived += 1;
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The port through which a half sees the network during one step.
    pub fn port(&self) -> NetworkPort {
        let gate = Gate { room: self.room, waiting: self.waiting.clone(), statistics: Statistics::default() };
        NetworkPort::new(NodeId(0), PLACEMENT, Box::new(gate), Box::new(Wire), Header::BYTES as u64)
    }

    /// Takes over what a half did with the port; `judge` looks at each packet
    /// that it sent, by its number.
    pub fn settle(
        &mut self,
        mut port: NetworkPort,
        mut judge: impl FnMut(u64, Header, &[u8]) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let left = port.of_process(0).waiting();
        self.waiting.drain(..self.waiting.len() - left);
        let mut verdict = Ok(());
        let see = |frame: &Frame, _destination| {
            let Frame::Data(packet) = frame else { return };
            let judged = judge(self.taken, packet.header, &packet.payload);
            self.taken += 1;
            self.room -= 1;
            verdict = std::mem::replace(&mut verdict, Ok(())).and(judged);
        };
        port.departures(Time::ZERO, see, |_| {});
        verdict
    }
}

/// A flow control that lets through what the environment has decided.
#[derive(Serialize, Deserialize)]
struct Gate {
    room: u64,
    waiting: VecDeque<Box<Packet>>,
    statistics: Statistics,
}

impl FlowControl for Gate {
    fn can_send(&self, _own: Rank, _destination: Rank) -> bool {
        self.room > 0
    }

    fn has_room(&self, _own: Rank) -> bool {
        self.room > 0
    }

    fn send(&mut self, packet: Box<Packet>, emitted: &mut Emitted) {
        self.room -= 1;
        emitted.frames.push((packet.destination, Frame::Data(packet)));
    }

    fn arrive(&mut self, _now: Time, _frame: Frame, _emitted: &mut Emitted) -> Arrival {
        unreachable!("packets arrive between steps")
    }

    fn waiting(&self, _own: Rank) -> &VecDeque<Box<Packet>> {
        &self.waiting
    }

    fn take_at(&mut self, _own: Rank, place: usize, _emitted: &mut Emitted) -> Option<Box<Packet>> {
        self.waiting.remove(place)
    }

    fn retry(&mut self, _now: Time, _emitted: &mut Emitted) {}

    fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    fn occupancy(&self) -> Occupancy {
        Occupancy { waiting: self.waiting.len() as u64, ..Occupancy::default() }
    }

    fn state(&self) -> State {
        let waiting = self.waiting.iter().map(|packet| (packet.source, packet.destination));
        let bound = (Placement { nodes: 2, processes: 1 }, Limit::Buffers(None));
        State::new(bound, Vec::new(), waiting, &self.statistics)
    }
}

/// When a frame arrives is the environment's choice.
#[derive(Serialize, Deserialize)]
struct Wire;

impl Network for Wire {
    fn send(&mut self, _now: Time, _destination: NodeId, _frame: Frame) -> Option<Sending<Frame>> {
        None
    }
}
