//! The flights of packets: which arrow of the picture belongs to which packet,
//! from the instant at which it leaves to the one at which it is taken.
//!
//! ```text
//!   leaves ──► arrives ──► is taken
//!      │  └──► finds no buffer ──► comes back ──► leaves again ──► ...
//! ```
//!
//! An arrow begins only where its end can be seen too: both nodes are shown, and
//! the packet leaves after the timeline's begin. What is remembered is bounded by
//! what the flow control lets into the network and its buffers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use narthex_fabrics::{FrameKind, FrameSummary};
use narthex_machine::node::probe::Event;

use super::format::Frame;
use super::recorder::TraceRecord;
use super::rows::Step;

/// Bits of a packet's number in that of its arrow; above them is its source.
const SEQUENCE_BITS: u32 = 47;

/// The packets that are under way.
#[derive(Debug)]
pub struct Flights {
    is_shown: Vec<bool>,
    /// Processes of each node.
    processes: usize,
    /// Arrows that have begun, and where they are.
    open: BTreeMap<u64, (usize, FrameSummary)>,
    /// Packets that came back and are to be sent again.
    returned: BTreeSet<u64>,
    /// Packets that wait to be taken, by the process that is to get them; none
    /// for those that arrived before the first record.
    waiting: BTreeMap<(usize, u8), VecDeque<Option<FrameSummary>>>,
}

/// The number of a packet's arrow.
fn arrow(note: &FrameSummary) -> u64 {
    (u64::from(note.source.0) + 1) << SEQUENCE_BITS | note.sequence
}

impl Flights {
    /// None yet, between nodes for which `is_shown` is true.
    pub fn new(is_shown: Vec<bool>, processes: usize) -> Self {
        Flights {
            is_shown,
            processes,
            open: BTreeMap::new(),
            returned: BTreeSet::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// What happened at a node, as far as packets are concerned; arrows begin if the timeline has.
    pub fn follow(&mut self, node: usize, sight: &TraceRecord, has_begun: bool) -> Vec<(Step, Frame)> {
        match *sight {
            TraceRecord::Port(Event::Departure(note, destination)) if note.kind == FrameKind::Packet => {
                let again = self.returned.remove(&arrow(&note));
                let step = if again { Step::LeavesAgain } else { Step::Leaves };
                if has_begun && self.is_shown[usize::from(destination.0)] {
                    self.open.entry(arrow(&note)).or_insert((node, note));
                }
                vec![(step, self.at(node, note))]
            }
            TraceRecord::Port(Event::Arrival(note, _)) if note.kind == FrameKind::ReturnedPacket => {
                self.returned.insert(arrow(&note));
                vec![(Step::ComesBack, self.at(node, note))]
            }
            TraceRecord::Port(Event::Arrival(note, false)) if note.kind == FrameKind::Packet => {
                vec![(Step::FindsNoBuffer, self.at(node, note))]
            }
            TraceRecord::Port(Event::Arrival(note, true)) => {
                let process = (usize::from(note.destination.0) % self.processes) as u8;
                self.waiting.entry((node, process)).or_default().push_back(Some(note));
                vec![(Step::Arrives, self.at(node, note))]
            }
            TraceRecord::Waiting(process, count) => self.take_until(node, process, count),
            _ => Vec::new(),
        }
    }

    /// A packet at a node, where its arrow goes on.
    fn at(&mut self, node: usize, note: FrameSummary) -> Frame {
        let arrow = arrow(&note);
        let flow = self.open.get_mut(&arrow).map(|place| {
            place.0 = node;
            arrow
        });
        Frame { note, flow }
    }

    /// The oldest packets of a process are taken until `count` are left.
    fn take_until(&mut self, node: usize, process: u8, count: usize) -> Vec<(Step, Frame)> {
        let queue = self.waiting.entry((node, process)).or_default();
        while queue.len() < count {
            queue.push_front(None);
        }
        let taken: Vec<FrameSummary> = queue.drain(..queue.len() - count).flatten().collect();
        let close =
            |note| (Step::Taken, Frame { note, flow: self.open.remove(&arrow(&note)).map(|_| arrow(&note)) });
        taken.into_iter().map(close).collect()
    }

    /// The arrows that have not ended, each with the node where it is.
    pub fn unfinished(&mut self) -> Vec<(usize, Frame)> {
        let open = std::mem::take(&mut self.open);
        open.into_iter().map(|(arrow, (node, note))| (node, Frame { note, flow: Some(arrow) })).collect()
    }
}
