//! A relay between the processes of a node and its flow control: what they send waits
//! here until something launches it, and what arrives until something hands it over.
//!
//! ```text
//!   halves ── send ──► from the processes ──┐         ┌── launch ──► flow control ──► network
//!   halves ◄── take ── to each process ◄────┤ relayer ├── take ◄──── flow control ◄── network
//!                                           └─────────┘
//! ```
//!
//! The halves of an interface see it through their [`ProcessPort`] as they see the flow
//! control of a node without one: room, packets that wait. The relayer is a device
//! of the node with firmware behind it; it sees both sides ([`ProcessPort::relayed`] and
//! the methods that follow it here).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::ProcessPort;
use crate::packet::{Header, Packet, Rank};

/// What waits between the processes and the flow control.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Relay {
    /// Packets that it holds from all processes, and to each, at most.
    entries: usize,
    from_processes: VecDeque<Box<Packet>>,
    to_processes: Vec<VecDeque<Box<Packet>>>,
    has_news: bool,
}

impl Relay {
    /// An empty one that holds so many packets from all processes, and to each of them.
    pub fn new(entries: usize, processes: u8) -> Self {
        let to_processes = vec![VecDeque::new(); usize::from(processes)];
        Relay { entries, from_processes: VecDeque::new(), to_processes, has_news: false }
    }

    pub(super) fn has_room(&self) -> bool {
        self.from_processes.len() < self.entries
    }

    pub(super) fn push(&mut self, packet: Box<Packet>) {
        self.from_processes.push_back(packet);
        self.has_news = true;
    }

    pub(super) fn waiting(&self, process: u8) -> &VecDeque<Box<Packet>> {
        &self.to_processes[usize::from(process)]
    }

    pub(super) fn take_at(&mut self, process: u8, place: usize) -> Option<Box<Packet>> {
        let packet = self.to_processes[usize::from(process)].remove(place);
        self.has_news |= packet.is_some();
        packet
    }

    /// Whether something has changed since this was asked last.
    pub(super) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }
}

impl ProcessPort<'_> {
    fn relay(&self) -> &Relay {
        self.port.relay.as_ref().expect("a relayer's node has a relay")
    }

    fn relay_mut(&mut self) -> &mut Relay {
        self.port.changes += 1;
        self.port.relay.as_mut().expect("a relayer's node has a relay")
    }

    /// The node's processes.
    pub fn processes(&self) -> u8 {
        self.port.placement.processes
    }

    fn rank_of(&self, process: u8) -> Rank {
        self.port.placement.rank(self.port.own, process)
    }

    /// The oldest packet from the node's processes, and how many wait.
    pub fn relayed(&self) -> (Option<&Packet>, usize) {
        let waiting = &self.relay().from_processes;
        (waiting.front().map(|packet| &**packet), waiting.len())
    }

    /// Takes the oldest packet from the node's processes.
    pub fn take_relayed(&mut self) -> Option<Box<Packet>> {
        let relay = self.relay_mut();
        relay.has_news = true;
        relay.from_processes.pop_front()
    }

    /// The process of a packet, sent from or for this node.
    pub fn process_of(&self, rank: Rank) -> u8 {
        self.port.placement.process(rank)
    }

    /// Whether a packet can be handed to this process.
    pub fn can_hand_to(&self, process: u8) -> bool {
        let relay = self.relay();
        relay.to_processes[usize::from(process)].len() < relay.entries
    }

    /// Hands a packet to a process: its header names the source.
    pub fn hand_to(&mut self, process: u8, header: Header, payload: Vec<u8>) {
        let destination = self.rank_of(process);
        let source = header.peer();
        let header = header.with_peer(self.port.rank_in_job(destination, source));
        let packet = Packet::new(source, destination, header, payload);
        let relay = self.relay_mut();
        relay.to_processes[usize::from(process)].push_back(Box::new(packet));
        relay.has_news = true;
    }

    /// Whether the flow control takes a packet of this process now.
    pub fn can_launch(&self, process: u8, destination: Rank) -> bool {
        !self.port.is_link_full && self.port.flow.can_send(self.rank_of(process), destination)
    }

    /// Sends a packet of this process; `can_launch` has said yes.
    pub fn launch(&mut self, process: u8, header: Header, payload: Vec<u8>) {
        let source = self.rank_of(process);
        self.port.emit((source, header.peer()), false, header, payload);
    }

    /// The oldest packet that has arrived for this process; else for the first one that
    /// has any.
    pub fn arrived(&self, process: Option<u8>) -> Option<&Packet> {
        let mut processes = process.map_or(0..self.processes(), |process| process..process + 1);
        let oldest = |process| self.port.flow.waiting(self.rank_of(process)).front();
        processes.find_map(oldest).map(|packet| &**packet)
    }

    /// Takes the oldest packet that has arrived for this process and frees its buffer.
    pub fn take_arrived(&mut self, process: u8) -> Option<Box<Packet>> {
        let rank = self.rank_of(process);
        self.port.changes += 1;
        self.port.take_from_flow(rank, 0)
    }
}
