//! The messaging library's packets, as the ends of modelled ranks make and read them
//! (guest/messaging/packet.h has the layout of the header).

use narthex_fabrics::{Header, Packet, Rank};
use rustc_hash::FxHashMap;

/// What the handlers of the program `goal` are called (guest/programs/goal/schedule.h, guest/programs/goal-mixed/goal-mixed.c).
pub(super) mod handlers {
    /// A message of the schedule: its first bytes are its tag.
    pub const MESSAGE: u8 = 1;
    /// What nodes and their conductor say to each other.
    pub const CONDUCT: u8 = 2;
}

/// The shortest message of the program, which has a tag.
pub(super) const LEAST_BYTES: u64 = 4;
/// The packets of the longest message.
const MOST_PACKETS: u64 = 32_768;
/// How many of a message's first bytes are looked into, or are not zero.
pub(super) const CONTENT_BYTES: usize = 8;

const LENGTH_SHIFT: u32 = 16;
const HANDLER_SHIFT: u32 = 24;
const NUMBER_SHIFT: u32 = 32;
const PLACE_SHIFT: u32 = 40;
const PLACE_UNIT: u64 = 4;
const LAST: u64 = 1 << 61;

/// How a machine's messages become packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    /// What a packet carries of a message.
    pub payload_bytes: u64,
    /// What the header has beyond one doubleword; it counts as payload on its way.
    extra_bytes: u64,
}

/// A message on its way out.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentMessage {
    pub to: Rank,
    pub handler: u8,
    /// What tells it from others of several packets from the same source.
    pub number: u8,
    /// How it begins; the rest is zeros.
    pub content: [u8; CONTENT_BYTES],
    pub bytes: u64,
}

/// A message that has come whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Received {
    pub from: Rank,
    pub handler: u8,
    pub bytes: u64,
    pub content: [u8; CONTENT_BYTES],
}

/// The packets of messages that have not come whole, by source and number.
#[derive(Debug, Default)]
pub(super) struct Partial(FxHashMap<(Rank, u8), Parts>);

#[derive(Debug, Default)]
struct Parts {
    come: u64,
    all: Option<u64>,
    content: [u8; CONTENT_BYTES],
}

impl Format {
    pub fn new(packet_bytes: u64, header_bytes: u64) -> Self {
        Format {
            payload_bytes: packet_bytes - header_bytes,
            extra_bytes: header_bytes - Header::BYTES as u64,
        }
    }

    /// How many packets a message has.
    pub fn packets(&self, bytes: u64) -> u32 {
        bytes.div_ceil(self.payload_bytes).max(1) as u32
    }

    /// The longest message.
    pub fn most_bytes(&self) -> u64 {
        self.payload_bytes * MOST_PACKETS
    }

    /// The packet of a message that so many precede.
    pub fn packet(&self, sent: &SentMessage, place: u32) -> (Header, Vec<u8>) {
        let SentMessage { to, handler, number, content, bytes } = *sent;
        let packets = self.packets(bytes);
        let before = u64::from(place) * self.payload_bytes;
        let length = (bytes - before).min(self.payload_bytes) + self.extra_bytes;
        let mut payload = vec![0; length as usize];
        if place == 0 {
            let start = &mut payload[self.extra_bytes as usize..];
            start.iter_mut().zip(content).for_each(|(byte, own)| *byte = own);
        }
        let number = if packets > 1 { number } else { 0 };
        let last = if place + 1 == packets { LAST } else { 0 };
        let header = u64::from(to.0)
            | length << LENGTH_SHIFT
            | u64::from(handler) << HANDLER_SHIFT
            | u64::from(number) << NUMBER_SHIFT
            | (before / PLACE_UNIT) << PLACE_SHIFT
            | last;
        (Header(header), payload)
    }
}

impl Partial {
    /// A packet has come: the message, if it is whole.
    pub fn add(&mut self, format: &Format, packet: &Packet) -> Option<Received> {
        let Packet { header, payload, .. } = packet;
        let from = header.peer();
        let [handler, number] = [HANDLER_SHIFT, NUMBER_SHIFT].map(|shift| (header.0 >> shift) as u8);
        let mut content = [0; CONTENT_BYTES];
        let own = &payload[(format.extra_bytes as usize).min(payload.len())..];
        content.iter_mut().zip(own).for_each(|(byte, own)| *byte = *own);
        let (place, length) = (header.place_bytes(), own.len() as u64);
        if place == 0 && header.is_last() {
            return Some(Received { from, handler, bytes: length, content });
        }
        let parts = self.0.entry((from, number)).or_default();
        parts.come += length;
        if place == 0 {
            parts.content = content;
        }
        if header.is_last() {
            parts.all = Some(place + length);
        }
        if parts.all != Some(parts.come) {
            return None;
        }
        let Parts { content, come: bytes, .. } = self.0.remove(&(from, number))?;
        Some(Received { from, handler, bytes, content })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_whole_in_whatever_order_its_packets_do() {
        for header_bytes in [8, 12] {
            let format = Format::new(64, header_bytes);
            for bytes in [4, format.payload_bytes, 200] {
                let content = [7, 1, 0, 0, 9, 0, 0, 0];
                let sent = SentMessage { to: Rank(5), handler: handlers::MESSAGE, number: 3, content, bytes };
                let mut partial = Partial::default();
                let packets = format.packets(bytes);
                let whole: Vec<Received> = (0..packets)
                    .rev()
                    .filter_map(|place| {
                        let (header, payload) = format.packet(&sent, place);
                        assert_eq!(header.payload_bytes(), payload.len());
                        assert!(payload.len() as u64 + 8 <= 64);
                        let packet = Packet {
                            source: Rank(0),
                            destination: Rank(5),
                            sequence: 0,
                            is_urgent: false,
                            number: 0,
                            is_marked: false,
                            header: header.with_peer(Rank(2)),
                            payload,
                        };
                        partial.add(&format, &packet)
                    })
                    .collect();
                let mut seen = content;
                if bytes == 4 {
                    seen[4] = 0;
                }
                let expected = Received { from: Rank(2), handler: handlers::MESSAGE, bytes, content: seen };
                assert_eq!(whole, [expected], "{bytes} bytes with headers of {header_bytes}");
            }
        }
    }
}
