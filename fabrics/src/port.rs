//! A node's way to the network, as its interface sees it: flow control and
//! network in one, with sequence numbers given out.
//!
//! ```text
//!   process 0's halves ── ProcessPort ─┐
//!   process 1's halves ── ProcessPort ─┼── NetworkPort: flow control ── network
//!                   ...                ┘
//! ```
//!
//! A node has one port, and its processes share it with all its buffers. Each
//! process's halves of the interface see it through a [`ProcessPort`], which
//! sends in that process's name and hands out the packets that name it, and
//! no others (isca96, Section 2.4: "The process identifier is used to ensure
//! that messages sent from one node are placed on the appropriate queue on the
//! receiving node"). A message to the same node leaves through the port and
//! comes back from the network like any other: neither its sender nor its
//! receiver can tell (isca96, Section 1).

mod relay;

use std::collections::VecDeque;

use narthex_kernel::{Archive, Archived, Damage, Time};

use crate::faults::{Faults, Lost};
use crate::flow_control::{Arrival, Emitted, FlowControl, Occupancy, State, Statistics};
use crate::message_sizes::MessageSizes;
use crate::networks::Network;
use crate::packet::{Frame, Header, NodeId, Packet, Placement, Rank};

pub use relay::Relay;

/// A frame on its way, with when and where it arrives.
pub type Departure = (Time, NodeId, Frame);

/// A node's end of the fabric.
pub struct NetworkPort {
    own: NodeId,
    placement: Placement,
    flow: Box<dyn FlowControl>,
    /// What stands between it and the processes, if anything.
    relay: Option<Relay>,
    network: Box<dyn Network>,
    faults: Faults,
    header_bytes: u64,
    message_sizes: MessageSizes,
    next_sequence: u64,
    last_sender: u8,
    emitted: Emitted,
    changes: u64,
}

impl std::fmt::Debug for NetworkPort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "network port of {:?}: {}", self.own, self.flow.state())
    }
}

impl NetworkPort {
    /// The port of node `own` of a machine.
    pub fn new(
        own: NodeId,
        placement: Placement,
        flow: Box<dyn FlowControl>,
        network: Box<dyn Network>,
        header_bytes: u64,
    ) -> Self {
        NetworkPort {
            own,
            placement,
            flow,
            relay: None,
            network,
            faults: Faults::default(),
            header_bytes,
            message_sizes: MessageSizes::default(),
            next_sequence: 0,
            last_sender: 0,
            emitted: Emitted::default(),
            changes: 0,
        }
    }

    /// The same with frames that it loses.
    pub fn with_faults(self, faults: Faults) -> Self {
        NetworkPort { faults, ..self }
    }

    /// The same with a relay that a device of the node empties.
    pub fn with_relay(self, relay: Relay) -> Self {
        NetworkPort { relay: Some(relay), ..self }
    }

    /// Whether packets have come to or gone from its relay since this was asked last.
    #[inline]
    pub fn take_relay_news(&mut self) -> bool {
        self.relay.as_mut().is_some_and(Relay::take_news)
    }

    /// Sends a packet of one of its processes.
    fn emit(&mut self, source: Rank, header: Header, payload: Vec<u8>) {
        self.changes += 1;
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let packet = Packet { source, destination: header.peer(), sequence, header, payload };
        self.flow.send(Box::new(packet), &mut self.emitted);
    }

    /// A count that moves whenever its state may have changed.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The port as one of the node's processes has it.
    pub fn of_process(&mut self, process: u8) -> ProcessPort<'_> {
        ProcessPort { own: self.placement.rank(self.own, process), port: self }
    }

    /// The process that has sent last; process 0 at first.
    pub fn last_sender(&self) -> u8 {
        self.last_sender
    }

    /// A frame has arrived from the network.
    pub fn arrive(&mut self, now: Time, frame: Frame) -> Arrival {
        self.changes += 1;
        self.flow.arrive(now, frame, &mut self.emitted)
    }

    /// The instant that [`NetworkPort::departures`] asked for has come.
    pub fn retry(&mut self, now: Time) {
        self.changes += 1;
        self.flow.retry(now, &mut self.emitted);
    }

    /// Hands over the frames that leave now, and says when to call
    /// [`NetworkPort::retry`]. To be called after every step.
    pub fn departures(&mut self, now: Time, mut depart: impl FnMut(Departure)) -> Option<Time> {
        // After most steps nothing leaves.
        if !self.emitted.frames.is_empty() {
            for (rank, frame) in self.emitted.frames.drain(..) {
                let destination = self.placement.node(rank);
                if self.faults.lose(destination, &frame) {
                    continue;
                }
                let arrival = self.network.arrival(now, destination, &frame);
                depart((arrival, destination, frame));
            }
        }
        self.emitted.retry_at.take()
    }

    /// The messages that the node's processes have sent, by size.
    pub fn message_sizes(&self) -> &MessageSizes {
        &self.message_sizes
    }

    /// Counts so far.
    pub fn statistics(&self) -> &Statistics {
        self.flow.statistics()
    }

    /// How full the flow control is.
    pub fn occupancy(&self) -> Occupancy {
        self.flow.occupancy()
    }

    /// How many packets have arrived for a process and have not been taken.
    pub fn waiting(&self, process: u8) -> usize {
        self.flow.waiting(self.placement.rank(self.own, process)).len()
    }

    /// What its flow control holds.
    pub fn state(&self) -> State {
        self.flow.state()
    }

    /// Frames that it has lost on purpose.
    pub fn lost(&self) -> &[Lost] {
        self.faults.lost()
    }

    /// Whether there is room for one more packet of a process.
    pub fn has_room(&self, process: u8) -> bool {
        match &self.relay {
            None => self.flow.has_room(self.placement.rank(self.own, process)),
            Some(relay) => relay.has_room(),
        }
    }
}

/// Flow control and network, and what the port itself counts.
impl Archived for NetworkPort {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let NetworkPort {
            own: _,
            placement: _,
            flow,
            relay,
            network,
            faults,
            header_bytes: _,
            message_sizes,
            next_sequence,
            last_sender,
            emitted,
            changes: _,
        } = self;
        flow.archive(archive)?;
        archive.value(relay)?;
        network.archive(archive)?;
        archive.value(faults)?;
        archive.value(message_sizes)?;
        archive.value(next_sequence)?;
        archive.value(last_sender)?;
        archive.value(emitted)
    }
}

/// A node's end of the fabric as one of its processes has it.
#[derive(Debug)]
pub struct ProcessPort<'a> {
    own: Rank,
    port: &'a mut NetworkPort,
}

impl ProcessPort<'_> {
    /// This process.
    pub fn own(&self) -> Rank {
        self.own
    }

    /// Which of its node's processes this is.
    pub fn process(&self) -> u8 {
        self.port.placement.process(self.own)
    }

    /// Refuses a rank that no process has.
    ///
    /// # Errors
    /// With the rank and what there is.
    pub fn check(&self, destination: Rank) -> Result<(), String> {
        let placement = self.port.placement;
        let (ranks, name) = (placement.ranks(), placement.name(destination));
        if destination.0 < ranks {
            return Ok(());
        }
        let existing = match placement.processes {
            1 => format!("nodes are 0 to {}", ranks - 1),
            processes => format!(
                "{} nodes of {processes} processes have the ranks 0 to {}",
                placement.nodes,
                ranks - 1
            ),
        };
        Err(format!("{name}, which does not exist: {existing}"))
    }

    /// What a rank is called in messages.
    pub fn name(&self, rank: Rank) -> String {
        self.port.placement.name(rank)
    }

    /// Whether a packet to `destination` may be sent now.
    pub fn can_send(&self, destination: Rank) -> bool {
        match &self.port.relay {
            None => self.port.flow.can_send(self.own, destination),
            Some(relay) => relay.has_room(),
        }
    }

    /// Whether there is room for a packet to some destination.
    pub fn has_room(&self) -> bool {
        match &self.port.relay {
            None => self.port.flow.has_room(self.own),
            Some(relay) => relay.has_room(),
        }
    }

    /// Sends a packet to the process that the header names; `can_send` has said yes.
    pub fn send(&mut self, header: Header, payload: Vec<u8>) {
        let process = self.process();
        let port = &mut *self.port;
        port.last_sender = process;
        port.message_sizes.record(header, port.header_bytes);
        let Some(relay) = &mut port.relay else { return port.emit(self.own, header, payload) };
        port.changes += 1;
        let packet = Packet { source: self.own, destination: header.peer(), sequence: 0, header, payload };
        relay.push(Box::new(packet));
    }

    /// The same for a device whose packets are no messages of the library: their sizes are
    /// not counted.
    pub fn send_unrecorded(&mut self, header: Header, payload: Vec<u8>) {
        self.port.last_sender = self.process();
        self.port.emit(self.own, header, payload);
    }

    /// This process's node, and how many nodes there are.
    pub fn nodes(&self) -> (u16, u16) {
        (self.port.own.0, self.port.placement.nodes)
    }

    /// The first process of a node; none if there is no such node.
    pub fn rank_on(&self, node: u64) -> Option<Rank> {
        let placement = self.port.placement;
        (node < placement.nodes.into()).then(|| placement.rank(NodeId(node as u16), 0))
    }

    /// What has arrived for this process and has not been taken.
    fn inbox(&self) -> &VecDeque<Box<Packet>> {
        match &self.port.relay {
            None => self.port.flow.waiting(self.own),
            Some(relay) => relay.waiting(self.process()),
        }
    }

    /// The oldest packet that has arrived for this process and has not been taken.
    pub fn front(&self) -> Option<&Packet> {
        self.inbox().front().map(|packet| &**packet)
    }

    /// How many packets have arrived for this process and have not been taken.
    pub fn waiting(&self) -> usize {
        self.inbox().len()
    }

    /// Takes the oldest packet that has arrived for this process and frees its buffer.
    pub fn take(&mut self) -> Option<Box<Packet>> {
        let process = self.process();
        self.port.changes += 1;
        match &mut self.port.relay {
            None => self.port.flow.take(self.own, &mut self.port.emitted),
            Some(relay) => relay.take(process),
        }
    }
}

#[cfg(test)]
mod tests;
