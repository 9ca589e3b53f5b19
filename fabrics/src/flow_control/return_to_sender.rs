//! Return to sender (hpca98, Section 5.1.2): the sender keeps an outgoing buffer
//! for each packet in flight; a receiver with a free incoming buffer accepts and
//! acknowledges, one without returns the packet, and the sender puts it back
//! into the buffer it still holds and tries again later. Scalable, because the
//! number of buffers does not depend on the number of nodes; it may deliver
//! packets out of order.
//!
//! The processes at an interface share its buffers, but for one that each is left: a process
//! may not take the last buffers of those that hold none. Otherwise packets that
//! one process does not take would fill all incoming buffers, and their senders'
//! outgoing ones, and no packet of another process would get through.
//!
//! The paper does not say how much later a packet is tried again, nor whether others
//! pass it meanwhile; the machine's file does (`retry_delay`, `retries`):
//!
//! ```text
//!   independent   [2 returned]  [3 in flight]  [4 fresh ──►]      each buffer by itself
//!   in sequence   [2 returned]◄─[3 returned] ◄─[4 fresh]          one line for each destination
//! ```
//!
//! In sequence means that a sender lets nothing out that would pass a packet for the
//! same destination which waits. What was in flight behind that one may still find the
//! buffer that it missed, so neither choice keeps the order of delivery.

#[path = "return_to_sender/waiting.rs"]
mod waiting;

use std::collections::{BTreeMap, VecDeque};

use narthex_kernel::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Arrival, Emitted, FlowControl, Limit, Occupancy, Outstanding, Parameters, State, Statistics};
use crate::packet::{Frame, Packet, Placement, Rank};
use crate::port::RetryCount;

use waiting::ReturnedPackets;

/// How many buffers an interface has for flow control, on each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Buffers {
    /// The number of outgoing buffers, and of incoming ones, at least 1.
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

/// What may pass a packet that came back and waits to be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Retries {
    /// Anything: each buffer sends its packet again by itself.
    Independent,
    /// Nothing from the same process for the same destination: neither a packet that was
    /// sent later and came back too, nor a fresh one.
    InSequence,
}

/// A packet that finds no buffer returns to its sender (hpca98).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Outgoing and incoming buffers of an interface: a count, or "infinite".
    pub buffers: Buffers,
    /// Time from the return of a packet to the next attempt.
    pub retry_delay: Duration,
    /// What may pass a packet that came back: "independent" (anything) or "in-sequence" (nothing
    /// for the same destination).
    pub retries: Retries,
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
        let idle = |keys: &[&str], why: &str| keys.iter().map(|&key| (key.into(), why.into())).collect();
        match self.buffers {
            Buffers::Count(1) => {
                idle(&["retries"], "one buffer holds no second packet that could pass (flow_control.buffers)")
            }
            Buffers::Count(_) => Vec::new(),
            Buffers::Infinite => idle(
                &["retry_delay", "retries"],
                "no packet returns where buffers are infinite (flow_control.buffers)",
            ),
        }
    }

    fn problems_for(&self, processes: u32) -> Vec<(&'static str, String)> {
        match self.buffers {
            Buffers::Count(count @ 1..) if count < processes => {
                let problem = format!(
                    "{count} are fewer than the {processes} processes of an interface \
                     (machine.processors_per_node), and each needs one that no other can take"
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

/// Whether `process` may take one more of its interface's `buffers`, given how many each of the
/// processes there holds: one is left to each that holds none.
fn has_buffer(buffers: usize, process: usize, held: impl Iterator<Item = (usize, usize)> + Clone) -> bool {
    let all: usize = held.clone().map(|(_, held)| held).sum();
    let without = held.filter(|&(other, held)| other != process && held == 0).count();
    buffers - all > without
}

/// Return to sender at one node.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReturnToSender {
    placement: Placement,
    /// Interfaces of the node, each with so many buffers.
    interfaces: usize,
    buffers: usize,
    retry_delay: Duration,
    /// Each process's outgoing buffers that hold a packet in flight or one that came back.
    outgoing: Vec<usize>,
    /// The same packets by source and destination, for the explanation of a hang. An
    /// entry stays when its last packet has gone: the next one is often like it.
    in_flight: BTreeMap<(Rank, Rank), u32>,
    /// Packets that came back, and what stands behind them.
    waiting_to_send: ReturnedPackets,
    /// The earliest retry that has been asked for and has not come yet.
    retry_is_due: Option<Time>,
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
            interfaces: 1,
            buffers,
            retry_delay: config.retry_delay,
            outgoing: vec![0; placement.processes.into()],
            in_flight: BTreeMap::new(),
            waiting_to_send: ReturnedPackets::new(config.retries),
            retry_is_due: None,
            waiting: vec![VecDeque::new(); placement.processes.into()],
            statistics: Statistics::default(),
        }
    }

    fn process(&self, own: Rank) -> usize {
        self.placement.process(own).into()
    }

    /// The processes at the interface of one of them, each with its count among these.
    fn at_interface_of<'a, T>(
        &self,
        process: usize,
        counts: &'a [T],
    ) -> impl Iterator<Item = (usize, &'a T)> + Clone + use<'a, T> {
        let interfaces = self.interfaces;
        counts.iter().enumerate().skip(process % interfaces).step_by(interfaces)
    }

    /// Asks to be called when the next packet is to be tried again, unless that
    /// has been asked for.
    fn ask_for_retry(&mut self, emitted: &mut Emitted) {
        if let Some(at) = self.waiting_to_send.next_attempt()
            && self.retry_is_due.is_none_or(|due| at < due)
        {
            self.retry_is_due = Some(at);
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
        if !self.can_accept(from) {
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
    fn share_among(&mut self, interfaces: u8) {
        self.interfaces = interfaces.into();
    }

    fn can_send(&self, own: Rank, _destination: Rank) -> bool {
        self.has_room(own)
    }

    fn has_room(&self, own: Rank) -> bool {
        let process = self.process(own);
        let held = self.at_interface_of(process, &self.outgoing);
        has_buffer(self.buffers, process, held.map(|(other, &held)| (other, held)))
    }

    fn send(&mut self, packet: Box<Packet>, emitted: &mut Emitted) {
        let process = self.process(packet.source);
        self.outgoing[process] += 1;
        *self.in_flight.entry((packet.source, packet.destination)).or_default() += 1;
        self.statistics.sent.increment();
        if let Some(packet) = self.waiting_to_send.stand_behind(packet) {
            emitted.frames.push((packet.destination, Frame::Data(packet)));
        }
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
                self.wait_to_retry(now, packet, emitted);
                Arrival::default()
            }
            Frame::Notice { .. } => unreachable!("packets come back instead"),
        }
    }

    fn waiting(&self, own: Rank) -> &VecDeque<Box<Packet>> {
        &self.waiting[self.process(own)]
    }

    fn take_at(&mut self, own: Rank, place: usize, _emitted: &mut Emitted) -> Option<Box<Packet>> {
        let process = self.process(own);
        let packet = self.waiting[process].remove(place)?;
        self.statistics.delivered.increment();
        Some(packet)
    }

    fn retry(&mut self, now: Time, emitted: &mut Emitted) {
        while let Some((packet, due)) = self.waiting_to_send.take_due(now) {
            if let Some(due) = due {
                self.statistics.retried.increment();
                self.statistics.waited_to_retry.add(now - due + self.retry_delay);
            }
            emitted.frames.push((packet.destination, Frame::Data(packet)));
        }
        self.retry_is_due = None;
        self.ask_for_retry(emitted);
    }

    fn retry_delay(&self) -> Option<Duration> {
        self.waiting_to_send.is_each_by_itself().then_some(self.retry_delay)
    }

    fn can_accept(&self, own: Rank) -> bool {
        let process = self.process(own);
        let held = self.at_interface_of(process, &self.waiting);
        has_buffer(self.buffers, process, held.map(|(other, waiting)| (other, waiting.len())))
    }

    fn wait_to_retry(&mut self, since: Time, packet: Box<Packet>, emitted: &mut Emitted) {
        self.waiting_to_send.came_back(since + self.retry_delay, packet);
        self.ask_for_retry(emitted);
    }

    fn count_rounds(&mut self, rounds: RetryCount) {
        self.statistics.returned.add(rounds.returned);
        self.statistics.retried.add(rounds.retried);
        self.statistics.waited_to_retry.add(self.retry_delay * rounds.retried);
    }

    fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    fn occupancy(&self) -> Occupancy {
        Occupancy {
            unacknowledged: self.outgoing.iter().sum::<usize>() as u64,
            returned: self.waiting_to_send.packets().count() as u64,
            waiting: self.waiting.iter().map(VecDeque::len).sum::<usize>() as u64,
        }
    }

    fn state(&self) -> State {
        let returned = |source, destination| {
            let packets = self.waiting_to_send.packets();
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
        let buffers = (self.buffers != usize::MAX).then_some((self.buffers * self.interfaces) as u32);
        let bound = (self.placement, Limit::Buffers(buffers));
        State::new(bound, outstanding.collect(), waiting, &self.statistics)
    }
}

#[cfg(test)]
#[path = "return_to_sender/tests.rs"]
mod tests;
