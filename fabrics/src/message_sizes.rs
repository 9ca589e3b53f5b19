//! How large the messages are that a node's processes send.
//!
//! A user's message, one header and a payload, travels in as many packets as its
//! payload needs. Each packet's header says where its payload belongs, and whether
//! it is the last (guest/messaging/packet.h), so the last one alone tells the
//! message's size, and the port counts each message once, where its last packet
//! is handed over:
//!
//! ```text
//!   packet 0          packet 1          packet 2, last
//!   [header|payload]  [header|payload]  [header|pay]
//!    `-- counted once  `-- full          `-- as many bytes as its header says
//! ```
//!
//! This is what Table 4 of hpca98 shows for its programs ("Message size includes
//! both header and payload").

use serde::{Deserialize, Serialize};

use crate::packet::Header;

/// Bytes of the message that ends with a packet of this header: one header of
/// `header_bytes` and all payload. What a header has beyond its doubleword counts
/// as payload on its way (guest/messaging/packet.h), and is none.
fn message_bytes(last: Header, header_bytes: u64) -> u64 {
    let extra_bytes = header_bytes - Header::BYTES as u64;
    let payload_bytes = (last.payload_bytes() as u64).saturating_sub(extra_bytes);
    header_bytes + last.place_bytes() + payload_bytes
}

/// How many messages there were of each size.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct MessageSizes {
    /// Sorted by size. Programs have few.
    counts: Vec<(u64, u64)>,
}

impl MessageSizes {
    /// A packet with this header is handed over.
    pub(crate) fn record(&mut self, header: Header, header_bytes: u64) {
        if header.is_last() {
            self.add(message_bytes(header, header_bytes), 1);
        }
    }

    /// `messages` more of `bytes`.
    pub(crate) fn add(&mut self, bytes: u64, messages: u64) {
        match self.counts.binary_search_by_key(&bytes, |&(size, _)| size) {
            Ok(place) => self.counts[place].1 += messages,
            Err(place) => self.counts.insert(place, (bytes, messages)),
        }
    }

    /// Adds those of another node.
    pub fn merge(&mut self, other: &Self) {
        other.iter().for_each(|(bytes, messages)| self.add(bytes, messages));
    }

    /// Those that came after `earlier`, a former state of the same counts.
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |bytes| {
            let place = earlier.counts.binary_search_by_key(&bytes, |&(size, _)| size);
            place.map_or(0, |place| earlier.counts[place].1)
        };
        let later = self.iter().map(|(bytes, messages)| (bytes, messages - before(bytes)));
        MessageSizes { counts: later.filter(|&(_, messages)| messages > 0).collect() }
    }

    /// Size and number of messages, smallest size first; header included.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter().copied()
    }

    /// All messages.
    pub fn total(&self) -> u64 {
        self.iter().map(|(_, messages)| messages).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: u64 = 1 << 61;

    /// The header of a packet with this many bytes of payload, which belong at `place`.
    fn header(place: u64, bytes: u64, last: u64) -> Header {
        Header((place / 4) << 40 | bytes << 16 | last)
    }

    fn sizes(header_bytes: u64, headers: &[Header]) -> MessageSizes {
        let mut sizes = MessageSizes::default();
        headers.iter().for_each(|&header| sizes.record(header, header_bytes));
        sizes
    }

    #[test]
    fn a_message_of_many_packets_counts_once_with_one_header() {
        let packets = [header(0, 248, 0), header(248, 248, 0), header(496, 10, LAST), header(0, 4, LAST)];
        assert!(sizes(8, &packets).iter().eq([(12, 1), (8 + 248 + 248 + 10, 1)]));
    }

    #[test]
    fn what_a_header_has_beyond_its_doubleword_is_no_payload() {
        let packets = [header(0, 4, LAST), header(0, 248, 0), header(244, 4 + 6, LAST)];
        assert!(sizes(12, &packets).iter().eq([(12, 1), (12 + 244 + 6, 1)]));
    }

    #[test]
    fn a_stretch_has_only_what_came_in_it_and_nodes_add_up() {
        let first = [header(0, 4, LAST), header(0, 12, LAST)];
        let all = [first[0], first[1], header(0, 12, LAST), header(0, 0, LAST)];
        let later = sizes(8, &all).since(&sizes(8, &first));
        assert!(later.iter().eq([(8, 1), (20, 1)]));
        let mut both = sizes(8, &first);
        both.merge(&later);
        assert_eq!((&both, both.total()), (&sizes(8, &all), 4));
    }
}
