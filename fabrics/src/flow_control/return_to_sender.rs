//! Return to sender (hpca98, Section 5.1.2): the sender keeps an outgoing buffer
//! for each packet in flight; a receiver with a free incoming buffer accepts and
//! acknowledges, one without returns the packet, and the sender puts it back
//! into the buffer it still holds and tries again later. Scalable, because the
//! number of buffers does not depend on the number of nodes; it may deliver
//! packets out of order.
//!
//! The paper does not say how much later a packet is tried again; the machine's
//! file does (`retry_delay`).

use std::collections::VecDeque;

use narthex_kernel::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Arrival, Emitted, FlowControl, Statistics};
use crate::packet::{Frame, NodeId, Packet};

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

/// The parameters of return to sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Outgoing and incoming buffers of an interface: a count, or "infinite".
    pub buffers: Buffers,
    /// Time from the return of a packet to the next attempt.
    pub retry_delay: Duration,
}

impl Config {
    /// The rules that the parameters break, as (key, what is wrong) pairs.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
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
}

/// Return to sender at one node.
#[derive(Debug)]
pub struct ReturnToSender {
    own: NodeId,
    buffers: usize,
    retry_delay: Duration,
    /// Outgoing buffers that hold a packet in flight or one that came back.
    outgoing: usize,
    /// Packets that came back, with when they are to be tried again.
    returned: VecDeque<(Time, Packet)>,
    /// A retry has been asked for and has not come yet.
    retry_is_due: bool,
    waiting: VecDeque<Packet>,
    statistics: Statistics,
}

impl ReturnToSender {
    /// The buffers of node `own`, all free.
    pub fn new(config: &Config, own: NodeId) -> Self {
        let buffers = match config.buffers {
            Buffers::Count(count) => count as usize,
            Buffers::Infinite => usize::MAX,
        };
        ReturnToSender {
            own,
            buffers,
            retry_delay: config.retry_delay,
            outgoing: 0,
            returned: VecDeque::new(),
            retry_is_due: false,
            waiting: VecDeque::new(),
            statistics: Statistics::default(),
        }
    }

    /// Asks to be called when the oldest returned packet is to be tried again,
    /// unless that has been asked for.
    fn ask_for_retry(&mut self, emitted: &mut Emitted) {
        if let (Some(&(at, _)), false) = (self.returned.front(), self.retry_is_due) {
            self.retry_is_due = true;
            emitted.retry_at = Some(at);
        }
    }

    fn accept(&mut self, packet: Packet, emitted: &mut Emitted) -> Arrival {
        let source = packet.source;
        if self.waiting.len() == self.buffers {
            emitted.frames.push((source, Frame::Returned(packet)));
            return Arrival::default();
        }
        self.statistics.accepted.increment();
        let acknowledgement = Frame::Acknowledgement { from: self.own, sequence: packet.sequence };
        emitted.frames.push((source, acknowledgement));
        self.waiting.push_back(packet);
        Arrival { packet: true, room: false }
    }
}

impl FlowControl for ReturnToSender {
    fn can_send(&self, _destination: NodeId) -> bool {
        self.has_room()
    }

    fn has_room(&self) -> bool {
        self.outgoing < self.buffers
    }

    fn send(&mut self, packet: Packet, emitted: &mut Emitted) {
        self.outgoing += 1;
        self.statistics.sent.increment();
        emitted.frames.push((packet.destination, Frame::Data(packet)));
    }

    fn arrive(&mut self, now: Time, frame: Frame, emitted: &mut Emitted) -> Arrival {
        match frame {
            Frame::Data(packet) => self.accept(packet, emitted),
            Frame::Acknowledgement { .. } => {
                self.outgoing -= 1;
                Arrival { packet: false, room: true }
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

    fn waiting(&self) -> &VecDeque<Packet> {
        &self.waiting
    }

    fn take(&mut self, _emitted: &mut Emitted) -> Option<Packet> {
        let packet = self.waiting.pop_front()?;
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

    fn describe(&self) -> String {
        let buffers =
            if self.buffers == usize::MAX { "infinitely many".into() } else { self.buffers.to_string() };
        format!(
            "{} of {buffers} outgoing buffers hold packets ({} of them came back), {} of {buffers} incoming ones",
            self.outgoing,
            self.returned.len(),
            self.waiting.len(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Header;

    fn node(buffers: Buffers, own: u16) -> ReturnToSender {
        let config = Config { buffers, retry_delay: Duration::from_ns(40) };
        ReturnToSender::new(&config, NodeId(own))
    }

    fn packet(sequence: u64) -> Packet {
        Packet { source: NodeId(0), destination: NodeId(1), sequence, header: Header(0), payload: vec![] }
    }

    #[test]
    fn a_packet_without_a_buffer_returns_and_is_tried_again_after_the_delay() {
        let (mut sender, mut receiver) = (node(Buffers::Count(2), 0), node(Buffers::Count(1), 1));
        let mut emitted = Emitted::default();
        sender.send(packet(0), &mut emitted);
        sender.send(packet(1), &mut emitted);
        assert!(!sender.has_room());
        let mut answers = Emitted::default();
        for (_, frame) in emitted.frames.drain(..) {
            receiver.arrive(Time::from_ps(40_000), frame, &mut answers);
        }
        let acknowledgement = Frame::Acknowledgement { from: NodeId(1), sequence: 0 };
        assert_eq!(answers.frames, [(NodeId(0), acknowledgement), (NodeId(0), Frame::Returned(packet(1)))]);
        for (_, frame) in answers.frames.drain(..) {
            sender.arrive(Time::from_ps(80_000), frame, &mut emitted);
        }
        assert!(sender.has_room(), "the acknowledged packet's buffer is free");
        assert_eq!(emitted.retry_at, Some(Time::from_ps(120_000)));
        sender.retry(Time::from_ps(120_000), &mut emitted);
        assert_eq!(emitted.frames, [(NodeId(1), Frame::Data(packet(1)))]);
    }

    #[test]
    fn infinite_buffers_never_return_a_packet() {
        let mut receiver = node(Buffers::Infinite, 1);
        let mut emitted = Emitted::default();
        for sequence in 0..10_000 {
            assert!(receiver.arrive(Time::ZERO, Frame::Data(packet(sequence)), &mut emitted).packet);
        }
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
