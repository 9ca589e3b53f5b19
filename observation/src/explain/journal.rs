//! The journal of a node: what its ports showed, for the life of a message.
//!
//! It begins after a number of packets, when caches and queues are warm, keeps the
//! latest records, and finds out which transactions changed the state of a half.

use std::collections::VecDeque;

use narthex_cores::follow::Jump;
use narthex_fabrics::{FrameKind, NetworkPort};
use narthex_kernel::Time;
use narthex_kernel::digest::Digest;
use narthex_machine::activity::Activity;
use narthex_machine::node::Interfaces;
use narthex_machine::node::probe::{Crossing, Edge, Event, Probe};

use super::library::{Call, CallWatch};

/// Most transactions that are under way at once, on all buses of a node.
const CROSSINGS_UNDER_WAY: usize = 8;

/// An event and its instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// When.
    pub at: Time,
    /// What.
    pub event: Event,
    /// Whether it is a transaction that changed the state of the ports that send for the process, of
    /// those that receive for it.
    pub touched: [bool; 2],
}

/// What a node remembers of a run.
#[derive(Debug)]
pub struct Journal {
    /// Packets that leave before the journal begins.
    skip: u64,
    /// Most records that it keeps.
    limit: usize,
    records: VecDeque<Record>,
    /// The ports whose states it compares: those that send for the process, and that receive.
    ports: [Vec<usize>; 2],
    /// Digests of their states after the latest event; none before the first.
    states: Option<[u128; 2]>,
    /// The calls that it follows, if any.
    watch: Option<CallWatch>,
}

impl Journal {
    /// A journal that begins when `skip` packets have left the node, and keeps
    /// the latest `limit` records. It compares the states of `ports`, and follows the calls
    /// that `watch` looks for.
    pub fn new(skip: u64, limit: usize, ports: [Vec<usize>; 2], watch: Option<CallWatch>) -> Self {
        Journal { skip, limit, records: VecDeque::new(), ports, states: None, watch }
    }

    /// The calls that it has followed, in the order of time.
    pub fn take_calls(&mut self) -> Vec<Call> {
        self.watch.as_mut().map(|watch| std::mem::take(&mut watch.calls)).unwrap_or_default()
    }

    /// What it holds, in the order of time; events of one instant in the order
    /// in which they were recorded.
    pub fn into_records(self) -> Vec<Record> {
        let mut records = Vec::from(self.records);
        records.sort_by_key(|record| record.at);
        records
    }

    /// Notes that the latest transaction with this edge changed a half's state.
    fn touch(&mut self, now: Time, edge: Edge, half: usize) {
        let crossings = self.records.iter_mut().rev().filter_map(|record| match record.event {
            Event::Crossing(crossing) => Some((crossing, &mut record.touched)),
            _ => None,
        });
        let at_edge = |(crossing, _): &(Crossing, _)| match edge {
            Edge::Granted => crossing.granted == now,
            Edge::Released => crossing.released == now,
        };
        if let Some((_, touched)) = crossings.take(CROSSINGS_UNDER_WAY).find(at_edge) {
            touched[half] = true;
        }
    }
}

impl Probe for Journal {
    fn record(&mut self, at: Time, event: Event) {
        if let Event::Booking { processor, activity: Activity::Idle | Activity::Exited, .. } = event
            && let Some(watch) = self.watch.as_mut().filter(|watch| watch.processor == processor)
        {
            watch.clear();
        }
        if matches!(event, Event::InUse(_)) {
            return;
        }
        if self.skip == 0 {
            if self.records.len() == self.limit {
                self.records.pop_front();
            }
            self.records.push_back(Record { at, event, touched: [false; 2] });
        } else if is_packet(&event) {
            self.skip -= 1;
        }
    }

    /// A change of a half's state at an `edge` of a transaction is that
    /// transaction's doing.
    fn look(&mut self, now: Time, edge: Option<Edge>, interfaces: Interfaces<'_>, _: &NetworkPort) {
        if self.skip > 0 {
            return;
        }
        let states = [0, 1].map(|half| digest(interfaces, &self.ports[half]));
        // The first look has nothing to compare with.
        let Some(before) = self.states.replace(states) else { return };
        for half in [0, 1] {
            if let (true, Some(edge)) = (before[half] != states[half], edge) {
                self.touch(now, edge, half);
            }
        }
    }

    fn follows_programs(&self) -> bool {
        self.watch.is_some()
    }

    fn executes(&mut self, at: Time, processor: usize, pc: u64) {
        if let Some(watch) = self.watch.as_mut().filter(|watch| watch.processor == processor) {
            watch.executes(at, pc);
        }
    }

    fn jumped(&mut self, processor: usize, jump: Jump, target: u64, at: (u64, u64)) {
        if let Some(watch) = self.watch.as_mut().filter(|watch| watch.processor == processor) {
            watch.jumped(jump, target, at);
        }
    }
}

/// Whether a packet leaves the node, or the first tile of a chip.
fn is_packet(event: &Event) -> bool {
    match event {
        Event::Departure(frame, _) => frame.kind == FrameKind::Packet,
        Event::Packet(packet) => packet.port == 0 && packet.name == "write" && !packet.is_there,
        _ => false,
    }
}

/// A number that is different, almost surely, when the state of one of the ports is.
fn digest(interfaces: Interfaces<'_>, ports: &[usize]) -> u128 {
    let mut digest = Digest::default();
    ports.iter().for_each(|&port| interfaces.hash_state(port, &mut digest));
    digest.value()
}

#[cfg(test)]
mod tests {
    use narthex_fabrics::{Frame, NodeId, Packet, Rank};

    use super::*;

    fn at(picoseconds: u64) -> Time {
        Time::from_ps(picoseconds)
    }

    fn leave(journal: &mut Journal, now: u64, sequence: u64) {
        let frame = Frame::Acknowledgement { from: Rank(1), to: Rank(0), sequence };
        journal.record(at(now), Event::Departure(frame.summary(), NodeId(0)));
    }

    fn times(journal: Journal) -> Vec<u64> {
        journal.into_records().iter().map(|record| record.at.as_ps()).collect()
    }

    #[test]
    fn the_latest_records_are_kept_and_come_in_the_order_of_time() {
        let mut journal = Journal::new(0, 3, [vec![], vec![]], None);
        for now in [1, 2, 9, 4, 5] {
            journal.record(at(now), Event::Timer(0));
        }
        assert_eq!(times(journal), [4, 5, 9]);
    }

    #[test]
    fn a_journal_begins_after_a_number_of_packets() {
        let mut journal = Journal::new(2, 10, [vec![], vec![]], None);
        let packet = |sequence| {
            let header = narthex_fabrics::Header(1);
            Frame::Data(Box::new(Packet {
                source: Rank(0),
                destination: Rank(1),
                sequence,
                is_urgent: false,
                number: 0,
                is_marked: false,
                header,
                payload: vec![0; 8],
            }))
        };
        journal.record(at(1), Event::Departure(packet(0).summary(), NodeId(1)));
        leave(&mut journal, 2, 7);
        journal.record(at(3), Event::Timer(1));
        journal.record(at(4), Event::Departure(packet(1).summary(), NodeId(1)));
        journal.record(at(5), Event::Timer(1));
        leave(&mut journal, 6, 8);
        assert_eq!(times(journal), [5, 6], "acknowledgements do not count");
    }
}
