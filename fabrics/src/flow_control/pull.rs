//! A receiver pulls: the transport of NDP (Handley et al., Re-architecting datacenter networks and stacks for
//! low latency and high performance, SIGCOMM 2017), which the nanoPU has in hardware (Ibanez et al., OSDI
//! 2021).
//!
//! ```text
//!   sender    0 ──► 1 ──► 2        3 waits, its header goes alone        ┌─► 2 ──►    ┌─► 3 ──►
//!                         │        │                                     │            │
//!   receiver  buffer of 2 │ full:  └► 2 and 3 are asked for, in order    │ 0 is taken │ 1 is taken
//!                         └ trimmed to its header ─► sender keeps it     └─ pull 2    └─ pull 3
//! ```
//!
//! A sender begins at once: it sends up to `window` packets to each process unasked. The receiver has
//! `buffers` places for each of its own processes. A packet that finds none is trimmed: its payload is
//! dropped, its header is kept, and the sender is told. When a place is free, the receiver keeps it for the packet
//! whose header came first, and pulls that packet: it alone is sent again. While one of its packets waits to be
//! pulled, a sender sends further ones as headers only. So nothing that is sent a second time is trimmed
//! again, and many senders to one receiver share its buffer in the order in which they have asked.
//!
//! Packets from one process to another have numbers. One that comes out of order is put into its place in
//! the receiver's buffer, and is handed over when all before it have come. The sender keeps a packet until it
//! is acknowledged, which is when the receiver has a place for it.
//!
//! **Messages put together.** An interface that hands over whole messages has each place hold one, of several
//! packets ([`FlowControl::put_messages_together`]). The first packet of a message takes the place, whichever it is,
//! and the others have it then: none of them is trimmed, and those that wait are pulled at once. So a message with a
//! place becomes whole whatever others do, and one that finds none waits at its sender.
//!
//! **What is simplified.** In NDP the switches trim; here a packet is trimmed where it arrives, and the
//! buffers of switches hold packets back as the network says. Headers and pulls take the way of
//! acknowledgements, so they overtake payload. A pull is sent when a place is free, and not at the pace of the
//! receiver's link. Nothing is lost, so that there are no timeouts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use narthex_kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Arrival, Emitted, FlowControl, Limit, Occupancy, Outstanding, Parameters, State, Statistics};
use crate::packet::{Frame, Header, Notice, Packet, Placement, Rank};

/// A receiver pulls packets for which it has buffers, and trims others to a header (NDP).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Packets without acknowledgement from one process to another, at least 1; they leave unasked.
    pub window: u32,
    /// Packets that each process's receive buffer holds, at least 1; further ones are trimmed.
    pub buffers: u32,
}

impl Parameters for Config {
    fn problems(&self) -> Vec<(&'static str, String)> {
        let counts = [("window", self.window), ("buffers", self.buffers)];
        let none = counts.into_iter().filter(|(_, count)| *count == 0);
        none.map(|(key, _)| (key, "0 would let no packet through; at least 1 is needed".into())).collect()
    }

    fn puts_messages_together(&self) -> bool {
        true
    }

    fn build(&self, placement: Placement) -> Box<dyn FlowControl> {
        Box::new(Pull::new(self, placement))
    }
}

/// A packet that its receiver has not acknowledged.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    packet: Box<Packet>,
    /// It waits to be pulled.
    waits: bool,
    /// When its sender was told that it was trimmed.
    trimmed_at: Option<Time>,
}

/// What a process sends to another.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Sending {
    /// The number of the next packet.
    next: u64,
    kept: VecDeque<Kept>,
}

impl Sending {
    fn waiting(&self) -> usize {
        self.kept.iter().filter(|kept| kept.waits).count()
    }

    fn place_of(&self, number: u64) -> Option<usize> {
        self.kept.iter().position(|kept| kept.packet.number == number)
    }
}

/// What a process receives from another.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Receiving {
    /// The number of the packet that is handed over next.
    expected: u64,
    /// Those that have come before it.
    early: BTreeMap<u64, Box<Packet>>,
    /// The message that is being put together, with the number of its first packet.
    partial: Option<Box<Packet>>,
}

impl Receiving {
    /// The packet that was expected is here: what the process may take now, if anything.
    fn hand_over(&mut self, packet: Box<Packet>, together: bool) -> Option<Box<Packet>> {
        self.expected += 1;
        if !together || !packet.header.is_of_whole_message() {
            return Some(packet);
        }
        let whole = match self.partial.take() {
            None => packet,
            Some(mut partial) => {
                partial.header = packet.header;
                partial.payload.extend_from_slice(&packet.payload);
                partial
            }
        };
        if whole.header.is_last() {
            return Some(whole);
        }
        self.partial = Some(whole);
        None
    }
}

/// A message, by its source and the number of its first packet. A packet that is handed over by itself is one.
type Message = (Rank, u64);

/// The receive buffer of a process.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Buffer {
    /// What the process may take.
    waiting: VecDeque<Box<Packet>>,
    /// The messages that have a place, from its being kept for them until they are taken.
    places: BTreeSet<Message>,
    /// Packets whose headers have come alone, oldest first, each with its message.
    asked: VecDeque<(u64, Message)>,
}

/// The transport of one node.
#[derive(Debug, Serialize, Deserialize)]
pub struct Pull {
    placement: Placement,
    window: usize,
    capacity: usize,
    sending: BTreeMap<(Rank, Rank), Sending>,
    receiving: BTreeMap<(Rank, Rank), Receiving>,
    /// By process.
    buffers: Vec<Buffer>,
    /// Payload of a full packet, where messages are put together.
    part_bytes: Option<u64>,
    statistics: Statistics,
}

impl Pull {
    /// The ends of a node's processes, at which nothing was sent.
    pub fn new(config: &Config, placement: Placement) -> Self {
        Pull {
            placement,
            window: config.window as usize,
            capacity: config.buffers as usize,
            sending: BTreeMap::new(),
            receiving: BTreeMap::new(),
            buffers: (0..placement.processes).map(|_| Buffer::default()).collect(),
            part_bytes: None,
            statistics: Statistics::default(),
        }
    }

    /// How many packets of its message came before this one.
    fn place_of(&self, header: Header) -> u64 {
        match self.part_bytes {
            Some(part) if header.is_of_whole_message() => header.place_bytes() / part,
            _ => 0,
        }
    }

    fn buffer_of(&mut self, own: Rank) -> &mut Buffer {
        &mut self.buffers[usize::from(self.placement.process(own))]
    }

    /// A packet has come: it gets its place, or is trimmed.
    fn receive(&mut self, packet: Box<Packet>, emitted: &mut Emitted) -> Arrival {
        let Packet { source, destination: own, number, header, .. } = *packet;
        let message = (source, number - self.place_of(header));
        let (capacity, together) = (self.capacity, self.part_bytes.is_some());
        let buffer = self.buffer_of(own);
        if !buffer.places.contains(&message) && buffer.places.len() >= capacity {
            tell(emitted, (own, source), number, Notice::Trimmed);
            self.ask(own, (number, message), emitted);
            return Arrival::default();
        }
        buffer.places.insert(message);
        self.statistics.accepted.increment();
        emitted.frames.push((source, Frame::Acknowledgement { from: own, to: source, sequence: number }));
        let buffer = &mut self.buffers[usize::from(self.placement.process(own))];
        let receiving = self.receiving.entry((source, own)).or_default();
        receiving.early.insert(number, packet);
        let before = buffer.waiting.len();
        while let Some(next) = receiving.early.remove(&receiving.expected) {
            buffer.waiting.extend(receiving.hand_over(next, together));
        }
        let is_next = buffer.waiting.len() > before;
        Arrival { packet: is_next.then_some(self.placement.process(own)), room: false }
    }

    /// A header has come alone.
    fn ask(&mut self, own: Rank, asked: (u64, Message), emitted: &mut Emitted) {
        self.buffer_of(own).asked.push_back(asked);
        self.pull(own, emitted);
    }

    /// Pulls packets as far as there are places for them, and those of messages that have one. If all places have
    /// messages behind gaps, one that fills a gap gets a place beyond them: else nothing would ever be taken.
    fn pull(&mut self, own: Rank, emitted: &mut Emitted) {
        let process = usize::from(self.placement.process(own));
        let (buffer, receiving) = (&mut self.buffers[process], &self.receiving);
        let expected = |source| receiving.get(&(source, own)).map_or(0, |receiving| receiving.expected);
        while !buffer.asked.is_empty() {
            let Buffer { places, asked, .. } = &*buffer;
            let has_place = |(_, message): &(u64, Message)| places.contains(message);
            let fills_gap = |&(number, (source, _)): &(u64, Message)| expected(source) == number;
            let is_stuck = || places.iter().all(|&(source, first)| first > expected(source));
            let next = asked.iter().position(has_place).or_else(|| match places.len() < self.capacity {
                true => Some(0),
                false if is_stuck() => asked.iter().position(fills_gap),
                false => None,
            });
            let Some((number, message)) = next.and_then(|next| buffer.asked.remove(next)) else { return };
            buffer.places.insert(message);
            tell(emitted, (own, message.0), number, Notice::Pull);
        }
    }

    /// A sender hears of one of its packets.
    fn hear(
        &mut self,
        now: Time,
        pair: (Rank, Rank),
        number: u64,
        notice: Notice,
        emitted: &mut Emitted,
    ) -> Arrival {
        let sending = self.sending.get_mut(&pair).expect("a packet was sent");
        let Some(place) = sending.place_of(number) else { return Arrival::default() };
        let kept = &mut sending.kept[place];
        match notice {
            Notice::Trimmed => {
                (kept.waits, kept.trimmed_at) = (true, Some(now));
                self.statistics.returned.increment();
            }
            _ => {
                kept.waits = false;
                if let Some(since) = kept.trimmed_at.take() {
                    self.statistics.waited_to_retry.add(now - since);
                    self.statistics.retried.increment();
                }
                emitted.frames.push((pair.1, Frame::Data(kept.packet.clone())));
            }
        }
        Arrival::default()
    }

    /// A packet has its place at its receiver.
    fn acknowledge(&mut self, pair: (Rank, Rank), number: u64) -> Arrival {
        let sending = self.sending.get_mut(&pair).expect("a packet was sent");
        let place = sending.place_of(number).expect("a packet is acknowledged once");
        sending.kept.remove(place);
        Arrival { packet: None, room: true }
    }
}

/// Tells the process at the other end of a packet between them.
fn tell(emitted: &mut Emitted, (from, to): (Rank, Rank), next: u64, notice: Notice) {
    emitted.frames.push((to, Frame::Notice { from, to, next, notice }));
}

impl FlowControl for Pull {
    fn can_send(&self, own: Rank, destination: Rank) -> bool {
        let exists = destination.0 < self.placement.ranks();
        exists && self.sending.get(&(own, destination)).is_none_or(|one| one.kept.len() < self.window)
    }

    fn has_room(&self, _own: Rank) -> bool {
        true
    }

    fn send(&mut self, mut packet: Box<Packet>, emitted: &mut Emitted) {
        let (source, destination) = (packet.source, packet.destination);
        let behind = self.place_of(packet.header);
        let sending = self.sending.entry((source, destination)).or_default();
        packet.number = sending.next;
        sending.next += 1;
        self.statistics.sent.increment();
        let waits = sending.waiting() > 0;
        match waits {
            true => tell(emitted, (source, destination), packet.number, Notice::Waits { behind }),
            false => emitted.frames.push((destination, Frame::Data(packet.clone()))),
        }
        sending.kept.push_back(Kept { packet, waits, trimmed_at: None });
    }

    fn arrive(&mut self, now: Time, frame: Frame, emitted: &mut Emitted) -> Arrival {
        match frame {
            Frame::Data(packet) => self.receive(packet, emitted),
            Frame::Acknowledgement { from, to, sequence } => self.acknowledge((to, from), sequence),
            Frame::Notice { from, to, next, notice: Notice::Waits { behind } } => {
                self.ask(to, (next, (from, next - behind)), emitted);
                Arrival::default()
            }
            Frame::Notice { from, to, next, notice } => self.hear(now, (to, from), next, notice, emitted),
            Frame::Returned(_) => unreachable!("no packet comes back whole"),
        }
    }

    fn waiting(&self, own: Rank) -> &VecDeque<Box<Packet>> {
        &self.buffers[usize::from(self.placement.process(own))].waiting
    }

    fn take_at(&mut self, own: Rank, place: usize, emitted: &mut Emitted) -> Option<Box<Packet>> {
        let buffer = self.buffer_of(own);
        let packet = buffer.waiting.remove(place)?;
        buffer.places.remove(&(packet.source, packet.number));
        self.statistics.delivered.add(self.place_of(packet.header) + 1);
        self.pull(own, emitted);
        Some(packet)
    }

    fn answers_when_taken(&self) -> bool {
        true
    }

    fn can_accept(&self, own: Rank) -> bool {
        self.buffers[usize::from(self.placement.process(own))].places.len() < self.capacity
    }

    fn put_messages_together(&mut self, part_bytes: u64) {
        self.part_bytes = Some(part_bytes);
    }

    fn retry(&mut self, _now: Time, _emitted: &mut Emitted) {}

    fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    fn occupancy(&self) -> Occupancy {
        let count = |of: fn(&Sending) -> usize| self.sending.values().map(of).sum::<usize>() as u64;
        Occupancy {
            unacknowledged: count(|one| one.kept.len()),
            returned: count(Sending::waiting),
            waiting: self.buffers.iter().map(|buffer| buffer.waiting.len()).sum::<usize>() as u64,
        }
    }

    fn state(&self) -> State {
        let busy = self.sending.iter().filter(|(_, one)| !one.kept.is_empty());
        let outstanding = busy.map(|(&(source, destination), one)| Outstanding {
            source,
            destination,
            packets: one.kept.len() as u32,
            returned: one.waiting() as u32,
        });
        let waiting = self.buffers.iter().flat_map(|buffer| &buffer.waiting);
        let waiting = waiting.map(|packet| (packet.source, packet.destination));
        let bound = (self.placement, Limit::Kept(self.window as u32));
        State::new(bound, outstanding.collect(), waiting, &self.statistics)
    }
}

#[cfg(test)]
#[path = "pull/tests.rs"]
mod tests;
