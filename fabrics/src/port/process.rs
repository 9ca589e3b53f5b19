//! A node's way to the network as one of its processes has it.

use std::collections::VecDeque;

use super::NetworkPort;
use crate::job::Job;
use crate::packet::{Header, NodeId, Packet, Rank};

/// A node's end of the fabric as one of its processes has it.
#[derive(Debug)]
pub struct ProcessPort<'a> {
    pub(super) own: Rank,
    pub(super) port: &'a mut NetworkPort,
}

impl ProcessPort<'_> {
    /// This process.
    pub fn own(&self) -> Rank {
        self.own
    }

    /// The node's end as its first process has it, for a device that all processes share.
    pub fn of_first_process(&mut self) -> ProcessPort<'_> {
        self.port.of_process(0)
    }

    /// Which of its node's processes this is.
    pub fn process(&self) -> u8 {
        self.port.placement.process(self.own)
    }

    /// The job of this process.
    pub fn job(&self) -> &Job {
        self.port.job_of(self.own)
    }

    /// Whether other jobs have a part of the machine.
    pub fn shares_machine(&self) -> bool {
        self.port.jobs.iter().any(|job| job.ranks() < self.port.placement.ranks())
    }

    /// The job of a process of the same node, and its rank in it; none if no job has the process.
    pub fn job_on_node(&self, process: u8) -> Option<(&Job, Rank)> {
        let rank = self.port.placement.rank(self.port.own, process);
        let job = self.port.job_of(rank);
        Some((job, job.rank_of(rank)?))
    }

    /// Refuses a rank that no process of the job has.
    ///
    /// # Errors
    /// With the rank and what there is.
    pub fn check(&self, destination: Rank) -> Result<(), String> {
        let (placement, job) = (self.port.placement, self.job());
        if job.process(destination).is_some() {
            return Ok(());
        }
        let (ranks, name) = (job.ranks(), placement.name(destination));
        let existing = match placement.processes {
            _ if ranks != placement.ranks() => format!("its job has the ranks 0 to {}", ranks - 1),
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

    /// Whether a packet to this rank of the job may be sent now.
    pub fn can_send(&self, destination: Rank) -> bool {
        self.job().process(destination).is_some_and(|process| self.can_send_to(process))
    }

    /// Whether a device may send a packet to this process, of whatever job, now.
    pub fn can_send_to(&self, process: Rank) -> bool {
        match &self.port.relay {
            None => !self.port.is_link_full && self.port.flow.can_send(self.own, process),
            Some(relay) => relay.has_room(),
        }
    }

    /// The same of an urgent packet.
    pub fn can_send_urgent_to(&self, process: Rank) -> bool {
        match &self.port.relay {
            None => !self.port.is_link_full_of_urgent && self.port.flow.can_send(self.own, process),
            Some(relay) => relay.has_room(),
        }
    }

    /// Whether there is room for a packet to some destination.
    pub fn has_room(&self) -> bool {
        match &self.port.relay {
            None => !self.port.is_link_full && self.port.flow.has_room(self.own),
            Some(relay) => relay.has_room(),
        }
    }

    /// Whether there is room that nothing but packets of its own takes: none of a relay, which others
    /// share, nor of a link to a switch, which answers may fill.
    pub fn keeps_room(&self) -> bool {
        self.port.relay.is_none() && !self.port.is_switched && self.has_room()
    }

    /// Sends a packet to the process of the job that the header names; `can_send` has said yes.
    pub fn send(&mut self, header: Header, payload: Vec<u8>) {
        let process = self.process();
        let destination = self.job().process(header.peer()).expect("`can_send` has said yes");
        let port = &mut *self.port;
        port.last_sender = process;
        port.message_sizes.record(header, port.header_bytes);
        let Some(relay) = &mut port.relay else {
            return port.emit((self.own, destination), false, header, payload);
        };
        port.changes += 1;
        let header = header.with_peer(destination);
        let source = self.own;
        let packet = Packet::new(source, destination, header, payload);
        relay.push(Box::new(packet));
    }

    /// Sends a packet of a device whose headers are its own, to a process of whatever job: it
    /// counts its messages itself. `can_send_to` has said yes.
    pub fn send_unrecorded(&mut self, process: Rank, header: Header, payload: Vec<u8>) {
        self.port.last_sender = self.process();
        self.port.emit((self.own, process), false, header, payload);
    }

    /// The same, before packets that are not urgent. `can_send_urgent_to` has said yes.
    pub fn send_urgent(&mut self, process: Rank, header: Header, payload: Vec<u8>) {
        self.port.last_sender = self.process();
        self.port.emit((self.own, process), true, header, payload);
    }

    /// A message of so many bytes, header included, has been sent by such a device.
    pub fn count_message(&mut self, bytes: u64) {
        self.port.message_sizes.add(bytes, 1);
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

    /// The packet behind this many others that have arrived and have not been taken.
    pub fn at(&self, place: usize) -> Option<&Packet> {
        self.inbox().get(place).map(|packet| &**packet)
    }

    /// How many packets have arrived for this process and have not been taken.
    pub fn waiting(&self) -> usize {
        self.inbox().len()
    }

    /// Takes the oldest packet that has arrived for this process and frees its buffer.
    pub fn take(&mut self) -> Option<Box<Packet>> {
        self.take_at(0)
    }

    /// Takes the packet behind this many older ones that have arrived for this process, and frees its buffer.
    pub fn take_at(&mut self, place: usize) -> Option<Box<Packet>> {
        let process = self.process();
        self.port.changes += 1;
        match &mut self.port.relay {
            None => self.port.take_from_flow(self.own, place),
            Some(relay) => relay.take_at(process, place),
        }
    }
}
