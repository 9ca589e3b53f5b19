//! A node's way to the network, as its interface sees it: flow control and
//! network in one, with sequence numbers given out.
//!
//! ```text
//!   process 0's halves ── ProcessPort ─┐
//!   process 1's halves ── ProcessPort ─┼── NetworkPort: flow control ── network
//!                   ...                ┘
//! ```
//!
//! A node has one port, and its processes share it with all its buffers, but for those of another
//! interface where the node has several. Each
//! process's halves of the interface see it through a [`ProcessPort`], which
//! sends in that process's name and hands out the packets that name it, and
//! no others (isca96, Section 2.4: "The process identifier is used to ensure
//! that messages sent from one node are placed on the appropriate queue on the
//! receiving node"). A message to the same node leaves through the port and
//! comes back from the network like any other: neither its sender nor its
//! receiver can tell (isca96, Section 1).
//!
//! Packets that are refused again and again cost no frames where all of their attempts can
//! be foreseen: see `port/refused.rs`.

mod archive;
mod process;
mod refused;
mod relay;
mod under_way;

use std::collections::VecDeque;

use narthex_kernel::Time;

use crate::faults::{Faults, Lost};
use crate::flow_control::{Arrival, Emitted, FlowControl, Occupancy, State, Statistics};
use crate::job::Job;
use crate::message_sizes::MessageSizes;
use crate::networks::Network;
use crate::packet::{Frame, Header, NodeId, Packet, Placement, Rank};
use crate::parcel::{Credit, Mail, Parcel, Phase, Sending};
use crate::terminal::Terminal;

pub use process::ProcessPort;
pub use refused::{ArrivalOrder, Attempt, RestoredPacket};
pub use relay::Relay;

pub use under_way::RetryCount;

use refused::Refused;
use under_way::{RetryPath, UnderWay};

/// What a port asks of its node after a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// When to call [`NetworkPort::retry`].
    pub retry_at: Option<Time>,
    /// When to call [`NetworkPort::departures`] again: the node's link is free then.
    pub depart_at: Option<Time>,
    /// There is room for sending that there was not before.
    pub room: bool,
    /// When to call [`NetworkPort::attempt`], in its place among the arrivals.
    pub attempt: Option<Attempt>,
}

/// A node's end of the fabric.
pub struct NetworkPort {
    own: NodeId,
    placement: Placement,
    /// The job of each process.
    jobs: Vec<Job>,
    flow: Box<dyn FlowControl>,
    /// What stands between it and the processes, if anything.
    relay: Option<Relay>,
    network: Box<dyn Network>,
    /// The network has switches.
    is_switched: bool,
    /// Its flow control sends by itself, not only when it is given something.
    has_own_time: bool,
    /// As much waits for the node's link as may.
    is_link_full: bool,
    /// The same of urgent packets.
    is_link_full_of_urgent: bool,
    /// Places in the buffer of the node's link that packets keep, by process, and whether they
    /// are urgent.
    kept: Vec<VecDeque<(bool, Credit)>>,
    /// Processes that have taken such a packet, and whether it was urgent.
    taken: Vec<(u8, bool)>,
    faults: Faults,
    /// How long the ways of a refused packet take, if they are foreseen.
    ways: Option<RetryPath>,
    /// If they are, its packets that are not acknowledged.
    under_way: UnderWay,
    /// Packets that it has refused, if their further attempts are computed.
    refused: Option<Box<Refused>>,
    /// A buffer may be free for one of them.
    may_accept_refused: bool,
    /// What it is at.
    phase: Phase,
    /// The place of what arrives just now.
    arriving: Option<ArrivalOrder>,
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
        let times = network.fixed_latency().zip(flow.retry_delay());
        NetworkPort {
            own,
            placement,
            refused: None,
            ways: times.map(|(latency, retry_delay)| RetryPath { latency, retry_delay }),
            under_way: UnderWay::default(),
            may_accept_refused: false,
            phase: Phase::Own,
            arriving: None,
            jobs: vec![Job::whole(placement); placement.processes.into()],
            relay: None,
            is_switched: network.terminal().is_some(),
            has_own_time: flow.sends_when_acknowledged(),
            is_link_full: false,
            is_link_full_of_urgent: false,
            kept: vec![VecDeque::new(); placement.processes.into()],
            taken: Vec::new(),
            flow,
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

    /// The same of a node with so many interfaces, which its processes take in turn.
    pub fn with_interfaces(mut self, interfaces: u8) -> Self {
        self.flow.share_among(interfaces);
        self
    }

    /// The same where buffers hold whole messages, in packets with so much payload.
    pub fn with_whole_messages(mut self, part_bytes: u64) -> Self {
        self.flow.put_messages_together(part_bytes);
        self
    }

    /// The same on a machine that may lose frames.
    pub fn with_faults(self, faults: Faults) -> Self {
        NetworkPort { faults, ways: None, ..self }
    }

    /// The same where processes belong to these jobs, by their number on the node.
    pub fn with_jobs(mut self, jobs: Vec<Job>) -> Self {
        self.set_jobs(jobs);
        self
    }

    /// The processes belong to these jobs, by their number on the node.
    pub fn set_jobs(&mut self, jobs: Vec<Job>) {
        self.jobs = jobs;
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

    /// The job of one of its processes.
    fn job_of(&self, own: Rank) -> &Job {
        &self.jobs[usize::from(self.placement.process(own))]
    }

    /// The rank of a process in the job that it shares with one of the port's own.
    fn rank_in_job(&self, own: Rank, process: Rank) -> Rank {
        self.job_of(own).rank_of(process).expect("both are of one job")
    }

    /// Sends a packet of one of its processes.
    fn emit(
        &mut self,
        (source, destination): (Rank, Rank),
        is_urgent: bool,
        header: Header,
        payload: Vec<u8>,
    ) {
        self.changes += 1;
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let header = header.with_peer(self.rank_in_job(source, source));
        let packet = Packet { sequence, is_urgent, ..Packet::new(source, destination, header, payload) };
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

    /// A frame has arrived from the network, sent in this phase. All that happens because of
    /// it is over when [`NetworkPort::end_step`] is called.
    pub fn arrive(&mut self, now: Time, frame: Frame, phase: Phase) -> Arrival {
        self.changes += 1;
        self.phase = Phase::Arrival;
        if let Some(ways) = &self.ways {
            match &frame {
                Frame::Data(_) | Frame::Notice { .. } => {}
                Frame::Returned(packet) => self.under_way.came_back(packet.sequence),
                &Frame::Acknowledgement { sequence, .. } => {
                    let rounds = self.under_way.acknowledged(sequence, now, ways);
                    self.flow.count_rounds(rounds);
                }
            }
        }
        if self.refused.is_none() {
            return self.flow.arrive(now, frame, &mut self.emitted);
        }
        self.arriving = Some((self.placement.node(frame.from()), frame.order(phase, 0)));
        let arrival = self.flow.arrive(now, frame, &mut self.emitted);
        self.keep_refused(now);
        arrival
    }

    /// The node that has sent a frame.
    #[inline]
    pub fn sender_of(&self, frame: &Frame) -> NodeId {
        self.placement.node(frame.from())
    }

    /// What has arrived, or the retry, has had its effects.
    pub fn end_step(&mut self) {
        (self.phase, self.arriving) = (Phase::Own, None);
    }

    /// The next parcel has arrived from the node's switch: the frame in it.
    pub fn receive(&mut self, now: Time, send: &mut impl FnMut(Sending<Frame>)) -> Frame {
        let terminal = self.network.terminal_mut().expect("the network has switches");
        let (mut parcel, credit) = terminal.arrive(now);
        if let Frame::Data(packet) = &mut parcel.cargo {
            packet.is_marked |= parcel.is_marked;
        }
        match &parcel.cargo {
            Frame::Data(packet) if self.flow.keeps_places() => {
                let process = self.placement.process(packet.destination);
                self.kept[usize::from(process)].push_back((packet.is_urgent, credit));
            }
            _ => send(terminal.release(now, credit)),
        }
        parcel.cargo
    }

    /// A parcel is under way from the node's switch.
    pub fn expect(&mut self, parcel: Parcel<Frame>) {
        self.network.terminal_mut().expect("the network has switches").expect(parcel);
    }

    /// There is room behind the node's link; [`NetworkPort::departures`] uses it.
    pub fn credit(&mut self, credit: Credit) {
        self.network.terminal_mut().expect("the network has switches").credit(credit);
    }

    /// The node's end of a network of switches, if it is one.
    pub fn terminal(&self) -> Option<&Terminal<Frame>> {
        self.network.terminal()
    }

    /// The instant that [`NetworkPort::departures`] asked for has come.
    pub fn retry(&mut self, now: Time) {
        self.changes += 1;
        self.phase = Phase::Retry;
        self.flow.retry(now, &mut self.emitted);
    }

    /// Whether [`NetworkPort::departures`] may have anything to hand over, or to ask for, whatever
    /// waits for a link to a switch.
    #[inline]
    pub fn has_departures(&self) -> bool {
        self.is_switched || self.emits()
    }

    /// The same, as all stands now.
    #[inline]
    pub fn has_departures_now(&self) -> bool {
        self.emits() || self.is_switched && !self.is_link_at_rest()
    }

    #[inline]
    fn emits(&self) -> bool {
        let emits = !self.emitted.frames.is_empty() || self.emitted.retry_at.is_some() || self.has_own_time;
        emits || self.may_accept_refused || self.relay.is_some()
    }

    /// Whether there is nothing to be done for the node's link.
    fn is_link_at_rest(&self) -> bool {
        let is_idle = self.network.terminal().is_none_or(Terminal::is_idle);
        is_idle && !self.is_link_full && self.taken.is_empty()
    }

    /// Hands over what leaves now, after each frame for a node was shown, and says what
    /// to call it for. To be called after every step.
    pub fn departures(
        &mut self,
        now: Time,
        mut show: impl FnMut(&Frame, NodeId),
        mut send: impl FnMut(Sending<Frame>),
    ) -> Calls {
        if self.has_own_time {
            self.flow.departs(now, &mut self.emitted);
        }
        let NetworkPort { emitted, placement, faults, network, phase, ways, under_way, .. } = self;
        let mut leave = |(rank, frame)| {
            let destination = placement.node(rank);
            if !faults.lose(destination, &frame) {
                show(&frame, destination);
                if let (Some(_), Frame::Data(packet)) = (&ways, &frame) {
                    under_way.send(packet.sequence, now);
                }
                let sending = network.send(now, destination, frame);
                sending.into_iter().map(|sending| in_phase(sending, *phase)).for_each(&mut send);
            }
        };
        // Mostly one frame leaves.
        match emitted.frames.len() {
            1 => emitted.frames.pop().into_iter().for_each(leave),
            _ => emitted.frames.drain(..).for_each(&mut leave),
        }
        let calls = Calls {
            retry_at: self.emitted.retry_at.take(),
            attempt: self.next_attempt(now),
            ..Calls::default()
        };
        if self.is_switched { self.use_link(now, calls, &mut send) } else { calls }
    }

    /// Lets what waits for the node's link leave, and gives places in its buffer back.
    fn use_link(&mut self, now: Time, calls: Calls, send: &mut impl FnMut(Sending<Frame>)) -> Calls {
        let terminal = self.network.terminal_mut().expect("the network has switches");
        for (process, is_urgent) in self.taken.drain(..) {
            let kept = &mut self.kept[usize::from(process)];
            let place = kept.iter().position(|&(urgent, _)| urgent == is_urgent);
            let kept = place.and_then(|place| kept.remove(place));
            let (_, credit) = kept.expect("a packet that was taken has kept its place");
            send(terminal.release(now, credit));
        }
        let depart_at = terminal.inject(now, send);
        let is_full = !terminal.has_room();
        let was_full = std::mem::replace(&mut self.is_link_full, is_full);
        let of_urgent = is_full && !self.network.has_urgent_room();
        let was_of_urgent = std::mem::replace(&mut self.is_link_full_of_urgent, of_urgent);
        Calls { depart_at, room: was_full && !is_full || was_of_urgent && !of_urgent, ..calls }
    }

    /// Whether packets may leave because others are acknowledged.
    pub fn sends_when_acknowledged(&self) -> bool {
        self.has_own_time
    }

    /// Whether something may leave at the instant at which a process takes a packet.
    pub fn answers_when_taken(&self) -> bool {
        let has_refused = self.refused.as_ref().is_some_and(|refused| !refused.is_empty());
        let gives_place_back = self.is_switched && self.flow.keeps_places();
        has_refused || gives_place_back || self.flow.answers_when_taken() || self.relay.is_some()
    }

    /// Takes the packet behind this many older ones that wait for a process from the flow control.
    fn take_from_flow(&mut self, own: Rank, place: usize) -> Option<Box<Packet>> {
        let packet = self.flow.take_at(own, place, &mut self.emitted)?;
        self.may_accept_refused = self.refused.as_ref().is_some_and(|refused| !refused.is_empty());
        if self.is_switched && self.flow.keeps_places() {
            self.taken.push((self.placement.process(own), packet.is_urgent));
        }
        Some(packet)
    }

    /// Throws away what waits for a process.
    pub fn discard(&mut self, process: u8) {
        self.changes += 1;
        while self.take_from_flow(self.placement.rank(self.own, process), 0).is_some() {}
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
            None => !self.is_link_full && self.flow.has_room(self.placement.rank(self.own, process)),
            Some(relay) => relay.has_room(),
        }
    }
}

/// The same, if it goes to another node directly, with what its sender is at.
fn in_phase(sending: Sending<Frame>, phase: Phase) -> Sending<Frame> {
    match sending {
        (arrival, node, Mail::Direct(frame, _)) => (arrival, node, Mail::Direct(frame, phase)),
        parcel => parcel,
    }
}

#[cfg(test)]
mod tests;
