//! Return to sender (hpca98, Section 5.1.2): the sender keeps an outgoing buffer
//! for each packet in flight; a receiver with a free incoming buffer accepts and
//! acknowledges, one without returns the packet, and the sender puts it back
//! into the buffer it still holds and tries again later. Scalable, because the
//! number of buffers does not depend on the number of nodes; it may deliver
//! packets out of order.
//!
//! A node's processes share its buffers, but for one that each is left: a process
//! may not take the last buffers of those that hold none. Otherwise packets that
//! one process does not take would fill all incoming buffers, and their senders'
//! outgoing ones, and no packet of another process would get through.
//!
//! The paper does not say how much later a packet is tried again; the machine's
//! file does (`retry_delay`).

use std::collections::{BTreeMap, VecDeque};

use narthex_kernel::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Arrival, Emitted, FlowControl, Limit, Occupancy, Outstanding, Parameters, State, Statistics};
use crate::packet::{Frame, Packet, Placement, Rank};

/// How many buffers an interface has for flow control, on each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Buffers {
    /// So many outgoing and so many incoming buffers, at least 1.
    Count(u32),
    /// As many as there are packets: the word "infinite".
    #[serde(with = "infinite")]
    #[schemars(with = "String", extend("enum" = ["infinite"]))]
    Infinite,
}

/// Reads and writes the word "infinite".
mod infinite {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("infinite")
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
        let word = String::deserialize(deserializer)?;
        if word == "infinite" { Ok(()) } else { Err(D::Error::custom("a count or \"infinite\"")) }
    }
}

/// A packet that finds no buffer returns to its sender (hpca98).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Outgoing and incoming buffers of an interface: a count, or "infinite".
    pub buffers: Buffers,
    /// Time from the return of a packet to the next attempt.
    pub retry_delay: Duration,
}

impl Parameters for Config {
    fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        if self.buffers == Buffers::Count(0) {
            problems.push((
                "buffers",
                "0 would let no packet through; allowed are 1 and more, and \"infinite\"".into(),
            ));
        }
        if self.retry_delay.is_zero() {
            problems
                .push(("retry_delay", "0ps would fill the network with retries; it has to be longer".into()));
        }
        problems
    }

    fn without_effect(&self) -> Vec<(String, String)> {
        match self.buffers {
            Buffers::Count(_) => Vec::new(),
            Buffers::Infinite => {
                let why = "no packet returns where buffers are infinite (flow_control.buffers)";
                vec![("retry_delay".into(), why.into())]
            }
        }
    }

    fn problems_for(&self, processes: u32) -> Vec<(&'static str, String)> {
        match self.buffers {
            Buffers::Count(count @ 1..) if count < processes => {
                let problem = format!(
                    "{count} are fewer than the {processes} processes of a node (machine.processors_per_node), \
                     and each needs one that no other can take"
                );
                vec![("buffers", problem)]
            }
            _ => Vec::new(),
        }
    }

    fn build(&self, placement: Placement) -> Box<dyn FlowControl> {
        Box::new(ReturnToSender::new(self, placement))
    }
}

/// Whether `process` may take one more of `buffers`, given how many each of the
/// node's processes holds: one is left to each that holds none.
fn has_buffer(buffers: usize, process: usize, held: impl Iterator<Item = usize> + Clone) -> bool {
    let all: usize = held.clone().sum();
    let without = held.enumerate().filter(|&(other, held)| other != process && held == 0).count();
    buffers - all > without
}

/// Return to sender at one node.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReturnToSender {
    placement: Placement,
    buffers: usize,
    retry_delay: Duration,
    /// Each process's outgoing buffers that hold a packet in flight or one that came back.
    outgoing: Vec<usize>,
    /// The same packets by source and destination, for whoever explains a hang. An
    /// entry stays when its last packet has gone: the next one is often like it.
    in_flight: BTreeMap<(Rank, Rank), u32>,
    /// Packets that came back, with when they are to be tried again.
    returned: VecDeque<(Time, Box<Packet>)>,
    /// A retry has been asked for and has not come yet.
    retry_is_due: bool,
    /// By process, one incoming buffer a packet.
    waiting: Vec<VecDeque<Box<Packet>>>,
    statistics: Statistics,
}

impl ReturnToSender {
    /// The buffers of a node, all free.
    pub fn new(config: &Config, placement: Placement) -> Self {
        let buffers = match config.buffers {
            Buffers::Count(count) => count as usize,
            Buffers::Infinite => usize::MAX,
        };
        ReturnToSender {
            placement,
            buffers,
            retry_delay: config.retry_delay,
            outgoing: vec![0; placement.processes.into()],
            in_flight: BTreeMap::new(),
            returned: VecDeque::new(),
            retry_is_due: false,
            waiting: vec![VecDeque::new(); placement.processes.into()],
            statistics: Statistics::default(),
        }
    }

    fn process(&self, own: Rank) -> usize {
        self.placement.process(own).into()
    }

    /// Asks to be called when the oldest returned packet is to be tried again,
    /// unless that has been asked for.
    fn ask_for_retry(&mut self, emitted: &mut Emitted) {
        if let (Some(&(at, _)), false) = (self.returned.front(), self.retry_is_due) {
            self.retry_is_due = true;
            emitted.retry_at = Some(at);
        }
    }

    fn acknowledged(&mut self, source: Rank, destination: Rank) {
        let process = self.process(source);
        self.outgoing[process] -= 1;
        *self.in_flight.get_mut(&(source, destination)).expect("a packet was sent") -= 1;
    }

    fn accept(&mut self, packet: Box<Packet>, emitted: &mut Emitted) -> Arrival {
        let Packet { source: to, destination: from, sequence, .. } = *packet;
        let process = self.placement.process(from);
        if !has_buffer(self.buffers, process.into(), self.waiting.iter().map(VecDeque::len)) {
            emitted.frames.push((to, Frame::Returned(packet)));
            return Arrival::default();
        }
        self.statistics.accepted.increment();
        emitted.frames.push((to, Frame::Acknowledgement { from, to, sequence }));
        self.waiting[usize::from(process)].push_back(packet);
        Arrival { packet: Some(process), room: false }
    }
}

impl FlowControl for ReturnToSender {
    fn can_send(&self, own: Rank, _destination: Rank) -> bool {
        self.has_room(own)
    }

    fn has_room(&self, own: Rank) -> bool {
        has_buffer(self.buffers, self.process(own), self.outgoing.iter().copied())
    }

    fn send(&mut self, packet: Box<Packet>, emitted: &mut Emitted) {
        let process = self.process(packet.source);
        self.outgoing[process] += 1;
        *self.in_flight.entry((packet.source, packet.destination)).or_default() += 1;
        self.statistics.sent.increment();
        emitted.frames.push((packet.destination, Frame::Data(packet)));
    }

    fn arrive(&mut self, now: Time, frame: Frame, emitted: &mut Emitted) -> Arrival {
        match frame {
            Frame::Data(packet) => self.accept(packet, emitted),
            Frame::Acknowledgement { from, to, .. } => {
                self.acknowledged(to, from);
                Arrival { packet: None, room: true }
            }
            Frame::Returned(packet) => {
                self.statistics.returned.increment();
                let at = now + self.retry_delay;
                self.returned.push_back((at, packet));
                self.ask_for_retry(emitted);
                Arrival::default()
            }
        }
    }

    fn waiting(&self, own: Rank) -> &VecDeque<Box<Packet>> {
        &self.waiting[self.process(own)]
    }

    fn take(&mut self, own: Rank, _emitted: &mut Emitted) -> Option<Box<Packet>> {
        let process = self.process(own);
        let packet = self.waiting[process].pop_front()?;
        self.statistics.delivered.increment();
        Some(packet)
    }

    fn retry(&mut self, now: Time, emitted: &mut Emitted) {
        while self.returned.front().is_some_and(|&(at, _)| at <= now) {
            let (_, packet) = self.returned.pop_front().expect("just seen");
            self.statistics.retried.increment();
            emitted.frames.push((packet.destination, Frame::Data(packet)));
        }
        self.retry_is_due = false;
        self.ask_for_retry(emitted);
    }

    fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    fn occupancy(&self) -> Occupancy {
        Occupancy {
            unacknowledged: self.outgoing.iter().sum::<usize>() as u64,
            returned: self.returned.len() as u64,
            waiting: self.waiting.iter().map(VecDeque::len).sum::<usize>() as u64,
        }
    }

    fn state(&self) -> State {
        let returned = |source, destination| {
            let packets = self.returned.iter().map(|(_, packet)| packet);
            packets.filter(|packet| (packet.source, packet.destination) == (source, destination)).count()
                as u32
        };
        let in_flight = self.in_flight.iter().filter(|&(_, &packets)| packets > 0);
        let outstanding = in_flight.map(|(&(source, destination), &packets)| Outstanding {
            source,
            destination,
            packets,
            returned: returned(source, destination),
        });
        let waiting = self.waiting.iter().flatten().map(|packet| (packet.source, packet.destination));
        let buffers = (self.buffers != usize::MAX).then_some(self.buffers as u32);
        let bound = (self.placement, Limit::Buffers(buffers));
        State::new(bound, outstanding.collect(), waiting, &self.statistics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Header;

    /// One end of two nodes with so many processes.
    fn node(buffers: Buffers, processes: u8) -> ReturnToSender {
        let config = Config { buffers, retry_delay: Duration::from_ns(40) };
        ReturnToSender::new(&config, Placement { nodes: 2, processes })
    }

    fn packet(source: u16, destination: u16, sequence: u64) -> Box<Packet> {
        let (source, destination) = (Rank(source), Rank(destination));
        Box::new(Packet { source, destination, sequence, header: Header(0), payload: vec![] })
    }

    #[test]
    fn a_packet_without_a_buffer_returns_and_is_tried_again_after_the_delay() {
        let (mut sender, mut receiver) = (node(Buffers::Count(2), 1), node(Buffers::Count(1), 1));
        let mut emitted = Emitted::default();
        sender.send(packet(0, 1, 0), &mut emitted);
        sender.send(packet(0, 1, 1), &mut emitted);
        assert!(!sender.has_room(Rank(0)));
        let mut answers = Emitted::default();
        for (_, frame) in emitted.frames.drain(..) {
            receiver.arrive(Time::from_ps(40_000), frame, &mut answers);
        }
        let acknowledgement = Frame::Acknowledgement { from: Rank(1), to: Rank(0), sequence: 0 };
        assert_eq!(answers.frames, [(Rank(0), acknowledgement), (Rank(0), Frame::Returned(packet(0, 1, 1)))]);
        for (_, frame) in answers.frames.drain(..) {
            sender.arrive(Time::from_ps(80_000), frame, &mut emitted);
        }
        assert!(sender.has_room(Rank(0)), "the acknowledged packet's buffer is free");
        assert_eq!(emitted.retry_at, Some(Time::from_ps(120_000)));
        sender.retry(Time::from_ps(120_000), &mut emitted);
        assert_eq!(emitted.frames, [(Rank(1), Frame::Data(packet(0, 1, 1)))]);
    }

    #[test]
    fn infinite_buffers_never_return_a_packet() {
        let mut receiver = node(Buffers::Infinite, 1);
        let mut emitted = Emitted::default();
        for sequence in 0..10_000 {
            let arrival = receiver.arrive(Time::ZERO, Frame::Data(packet(0, 1, sequence)), &mut emitted);
            assert_eq!(arrival.packet, Some(0));
        }
    }

    #[test]
    fn a_process_can_take_all_buffers_but_one_for_each_other() {
        let mut receiver = node(Buffers::Count(4), 3);
        let mut emitted = Emitted::default();
        let mut arrives = |destination, sequence| {
            receiver.arrive(Time::ZERO, Frame::Data(packet(0, destination, sequence)), &mut emitted).packet
        };
        assert_eq!([arrives(3, 0), arrives(3, 1), arrives(3, 2)], [Some(0), Some(0), None]);
        assert_eq!([arrives(4, 3), arrives(4, 4)], [Some(1), None]);
        assert_eq!([arrives(5, 5), arrives(5, 6)], [Some(2), None]);
    }

    #[test]
    fn fewer_buffers_than_processes_are_refused() {
        let config = Config { buffers: Buffers::Count(1), retry_delay: Duration::from_ns(40) };
        assert!(config.problems_for(1).is_empty());
        assert_eq!(config.problems_for(2)[0].0, "buffers");
    }

    #[test]
    fn buffers_read_as_a_count_or_the_word_infinite() {
        #[derive(Deserialize)]
        struct Holder {
            buffers: Buffers,
        }
        let read = |text: &str| serde_json::from_str::<Holder>(text).map(|holder| holder.buffers);
        assert_eq!(read(r#"{"buffers": 8}"#).unwrap(), Buffers::Count(8));
        assert_eq!(read(r#"{"buffers": "infinite"}"#).unwrap(), Buffers::Infinite);
        assert!(read(r#"{"buffers": "many"}"#).is_err());
    }
}
