//! From packets that leave, arrive and are taken to who talks to whom.

use std::collections::{BTreeMap, VecDeque};

use narthex_fabrics::latencies::{Detail, Latencies, LatencyEntry};
use narthex_fabrics::{FrameSummary, Rank};
use narthex_kernel::Time;
use schemars::JsonSchema;
use serde::Serialize;

use super::listener::Seen;

/// Ranks of which each pair has the distribution of its latencies; of more the mean and the
/// extremes.
const MOST_RANKS: usize = 64;

/// A packet that has left and has not been taken.
#[derive(Clone, Copy, Debug)]
struct Flight {
    since: Time,
    /// When the message left that ends with it, and its bytes.
    message: Option<(Time, u64)>,
}

/// What one rank sent another.
#[derive(Debug)]
struct Pair {
    bytes: u64,
    packets: Latencies,
    messages: Latencies,
}

/// Who talks to whom.
#[derive(Debug)]
pub struct Pairs {
    nodes: usize,
    processes: usize,
    pairs: BTreeMap<(Rank, Rank), Pair>,
    /// Latencies of messages by their payload.
    sizes: BTreeMap<u64, Latencies>,
    flights: BTreeMap<(Rank, u64), Flight>,
    /// The number of the newest packet that left, by source and destination.
    newest: BTreeMap<(Rank, Rank), u64>,
    /// When the message left of which further packets are to come.
    begun: BTreeMap<(Rank, Rank), Time>,
    /// Packets that wait to be taken, by node and process, oldest first.
    waiting: BTreeMap<(usize, u8), VecDeque<FrameSummary>>,
}

impl Pairs {
    /// None yet, between the processes of so many nodes.
    pub fn new(nodes: usize, processes: usize) -> Self {
        Pairs {
            nodes,
            processes,
            pairs: BTreeMap::new(),
            sizes: BTreeMap::new(),
            flights: BTreeMap::new(),
            newest: BTreeMap::new(),
            begun: BTreeMap::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// Takes in what happened at nodes in a time: of one instant departures first, because
    /// without a network's latency a packet is taken at once.
    pub fn take(&mut self, mut seen: Vec<(Time, usize, Seen)>) {
        seen.sort_by_key(|(at, node, seen)| (*at, !matches!(seen, Seen::Departure(_)), *node));
        for (at, node, seen) in seen {
            match seen {
                Seen::Departure(note) => self.depart(at, note),
                Seen::Arrival(note) => {
                    let process = (usize::from(note.destination.0) % self.processes) as u8;
                    self.waiting.entry((node, process)).or_default().push_back(note);
                }
                Seen::Waiting(process, count) => self.take_until(at, node, process, count),
            }
        }
    }

    fn depart(&mut self, at: Time, note: FrameSummary) {
        let FrameSummary { source, destination, sequence, message_bytes, .. } = note;
        if self.flights.contains_key(&(source, sequence)) {
            return; // It came back and leaves again.
        }
        let newest = self.newest.entry((source, destination)).or_insert(sequence);
        if sequence < *newest {
            return; // It has arrived and is sent again, as its acknowledgement was lost.
        }
        *newest = sequence;
        let begun = *self.begun.entry((source, destination)).or_insert(at);
        if message_bytes.is_some() {
            self.begun.remove(&(source, destination));
        }
        let message = message_bytes.map(|bytes| (begun, bytes));
        self.flights.insert((source, sequence), Flight { since: at, message });
    }

    /// The oldest packets of a process are taken until `count` are left.
    fn take_until(&mut self, at: Time, node: usize, process: u8, count: usize) {
        let queue = self.waiting.entry((node, process)).or_default();
        let taken: Vec<FrameSummary> = queue.drain(..queue.len().saturating_sub(count)).collect();
        taken.into_iter().for_each(|note| self.arrive(at, note));
    }

    fn arrive(&mut self, at: Time, note: FrameSummary) {
        let Some(flight) = self.flights.remove(&(note.source, note.sequence)) else { return };
        let is_short = self.ranks() <= MOST_RANKS;
        let [packets, messages] = match is_short {
            true => [Detail::Buckets, Detail::Percentiles],
            false => [Detail::Extremes; 2],
        };
        let new = || Pair { bytes: 0, packets: Latencies::new(packets), messages: Latencies::new(messages) };
        let pair = self.pairs.entry((note.source, note.destination)).or_insert_with(new);
        pair.bytes += note.payload_bytes as u64;
        pair.packets.record(at - flight.since);
        if let Some((begun, bytes)) = flight.message {
            let latency = at - begun;
            pair.messages.record(latency);
            self.sizes.entry(bytes).or_insert_with(|| Latencies::new(Detail::Percentiles)).record(latency);
        }
    }

    /// As results have it. Headers say where a message ends if they are the messaging
    /// library's; where they do not say it of each of the `sent` messages there are packets alone.
    pub fn entries(&self, sent: u64) -> (Vec<PairEntry>, Vec<SizeEntry>) {
        let ended: u64 = self.pairs.values().map(|pair| pair.messages.count()).sum();
        let has_messages = ended == sent;
        let pair = |(&(from, to), pair): (&(Rank, Rank), &Pair)| PairEntry {
            from: from.0,
            to: to.0,
            packets: pair.packets.count(),
            bytes: pair.bytes,
            packet_latency_ps: pair.packets.reported(),
            messages: has_messages.then(|| pair.messages.count()),
            message_latency_ps: has_messages.then(|| pair.messages.reported()),
        };
        let size = |(&bytes, latencies): (&u64, &Latencies)| SizeEntry {
            bytes,
            message_latency_ps: latencies.reported(),
        };
        let sizes = self.sizes.iter().filter(|_| has_messages).map(size);
        (self.pairs.iter().map(pair).collect(), sizes.collect())
    }

    /// How many ranks the machine has.
    pub fn ranks(&self) -> usize {
        self.nodes * self.processes
    }
}

/// What one rank sent another.
#[derive(Serialize, JsonSchema)]
pub struct PairEntry {
    /// The sender.
    pub from: u16,
    /// The receiver.
    pub to: u16,
    /// How many packets.
    pub packets: u64,
    /// Their payload.
    pub bytes: u64,
    /// How long packets took.
    pub packet_latency_ps: LatencyEntry,
    /// How many messages, where the end of each is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// How long they took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_latency_ps: Option<LatencyEntry>,
}

/// How long messages of a size took.
#[derive(Serialize, JsonSchema)]
pub struct SizeEntry {
    /// The size.
    pub bytes: u64,
    /// How long.
    pub message_latency_ps: LatencyEntry,
}

#[cfg(test)]
mod tests {
    use narthex_fabrics::FrameKind;

    use super::*;

    fn packet(sequence: u64, message_bytes: Option<u64>) -> FrameSummary {
        let (source, destination, kind) = (Rank(0), Rank(1), FrameKind::Packet);
        FrameSummary { kind, source, destination, sequence, payload_bytes: 8, message_bytes }
    }

    fn seen(at: u64, node: usize, seen: Seen) -> (Time, usize, Seen) {
        (Time::from_ps(at), node, seen)
    }

    #[test]
    fn a_message_lasts_from_its_first_packet_to_its_last() {
        let (first, last) = (packet(0, None), packet(1, Some(16)));
        let mut pairs = Pairs::new(2, 1);
        pairs.take(vec![
            seen(10, 0, Seen::Departure(first)),
            seen(20, 0, Seen::Departure(last)),
            seen(50, 1, Seen::Arrival(first)),
            seen(50, 1, Seen::Waiting(0, 1)),
            seen(60, 1, Seen::Arrival(last)),
            seen(60, 1, Seen::Waiting(0, 2)),
            seen(75, 1, Seen::Waiting(0, 0)),
        ]);
        let (pairs, sizes) = pairs.entries(1);
        let pair = &pairs[0];
        assert_eq!((pair.packets, pair.bytes, pair.messages), (2, 16, Some(1)));
        assert_eq!(pair.packet_latency_ps.sum, 65 + 55);
        assert_eq!(pair.message_latency_ps.as_ref().map(|latency| latency.sum), Some(65));
        assert_eq!(sizes[0].bytes, 16);
    }

    #[test]
    fn a_packet_that_leaves_again_has_left_at_first() {
        let only = packet(0, Some(8));
        let mut pairs = Pairs::new(2, 1);
        pairs.take(vec![
            seen(1, 1, Seen::Waiting(0, 0)),
            seen(90, 1, Seen::Arrival(only)),
            seen(90, 1, Seen::Waiting(0, 1)),
            seen(10, 0, Seen::Departure(only)),
            seen(70, 0, Seen::Departure(only)),
            seen(90, 1, Seen::Waiting(0, 0)),
        ]);
        assert_eq!(pairs.entries(1).0[0].packet_latency_ps.sum, 80);
        assert!(pairs.entries(2).0[0].messages.is_none(), "not every message is known");
    }
}
