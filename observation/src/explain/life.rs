//! Finds the lives of messages in two nodes' journals.

use std::collections::BTreeSet;

use narthex_fabrics::{FrameKind, FrameSummary, NodeId, Rank};
use narthex_kernel::{Duration, Time};
use narthex_machine::activity::{Activity, Occupation};
use narthex_machine::node::probe::{Crossing, Event, Packet};
use narthex_machine::node::{Agent, Node};
use narthex_memory::Kind;
use serde_json::{Value, json};

use super::journal::{Journal, Record};

/// The half that sends, and the half that receives.
pub const SEND_HALF: usize = 0;
/// The half that receives.
pub const RECEIVE_HALF: usize = 1;
/// The processor whose messages are explained.
pub const PROCESSOR: Agent = Agent::Processor(0);

/// A stretch of a processor's time.
#[derive(Clone, Copy, Debug)]
pub struct Booking {
    /// When it begins.
    pub from: Time,
    /// When the next one does.
    pub to: Time,
    /// What the program is doing.
    pub activity: Activity,
    /// What it was doing before.
    pub before: Activity,
    /// What it does next, a further poll behind a poll too; itself where that is not known.
    pub next: Activity,
    /// What the processor is doing.
    pub occupation: Occupation,
}

/// The history of a node, from its journal.
#[derive(Debug)]
pub struct NodeHistory {
    /// Everything, in order.
    pub records: Vec<Record>,
    /// Its processor's time, without gaps.
    pub bookings: Vec<Booking>,
    /// That processor.
    pub processor: Agent,
}

impl NodeHistory {
    /// Takes a node's journal.
    pub fn new(node: &mut Node) -> Self {
        let records = node.detach::<Journal>().map(|journal| journal.into_records()).unwrap_or_default();
        let bookings = bookings(&records, 0);
        NodeHistory { records, bookings, processor: PROCESSOR }
    }

    /// The histories of two tiles of a chip, as if each were a node: its packets of bytes to the
    /// other one are those of the network.
    pub fn of_tiles(chip: &mut Node) -> [Self; 2] {
        let journal = chip.detach::<Journal>().map(|journal| journal.into_records()).unwrap_or_default();
        [0, 1].map(|tile| {
            let records: Vec<Record> = journal.iter().filter_map(|record| seen_from(tile, record)).collect();
            let bookings = bookings(&records, tile);
            NodeHistory { records, bookings, processor: Agent::Processor(tile) }
        })
    }

    /// The transactions of an agent, and whether each changed the state of a send
    /// half, of a receive half.
    pub fn crossings(&self, agent: Agent) -> impl Iterator<Item = (&Crossing, [bool; 2])> {
        self.records.iter().filter_map(move |record| match &record.event {
            Event::Crossing(crossing) if crossing.agent == agent => Some((crossing, record.touched)),
            _ => None,
        })
    }

    /// The instants at which the processor takes up an activity, coming from `before`.
    fn begins(
        &self,
        activity: Activity,
        before: impl Fn(Activity) -> bool,
    ) -> impl DoubleEndedIterator<Item = Time> {
        self.bookings
            .iter()
            .filter(move |booking| booking.activity == activity && before(booking.before))
            .map(|booking| booking.from)
    }

    /// Whether the processor takes in a packet at that instant.
    fn receives(&self, at: Time) -> bool {
        matches!(self.activity_at(at), Some(Activity::Receive | Activity::Buffering))
    }

    /// The instants at which a wait of its program for others is over.
    pub fn waits_over(&self) -> impl Iterator<Item = Time> {
        self.bookings
            .iter()
            .filter(|booking| {
                booking.before == Activity::Synchronisation && booking.activity != booking.before
            })
            .map(|booking| booking.from)
    }

    /// Whether its program waits for others at that instant.
    pub fn waits_at(&self, at: Time) -> bool {
        self.activity_at(at) == Some(Activity::Synchronisation)
    }

    /// What its program is at.
    fn activity_at(&self, at: Time) -> Option<Activity> {
        let begun = self.bookings.partition_point(|booking| booking.from <= at);
        begun.checked_sub(1).map(|place| self.bookings[place].activity)
    }

    /// Packets that left for node 1, returned ones again: when, and which.
    pub fn packets_sent(&self) -> impl Iterator<Item = (Time, u64)> {
        self.records.iter().filter_map(|record| match record.event {
            Event::Departure(note, NodeId(1)) if note.kind == FrameKind::Packet => {
                Some((record.at, note.sequence))
            }
            _ => None,
        })
    }

    /// Packets of node 0 that found a buffer here: when, and which.
    pub fn packets_received(&self) -> impl DoubleEndedIterator<Item = (Time, u64)> {
        self.records.iter().filter_map(|record| match record.event {
            Event::Arrival(FrameSummary { source: Rank(0), sequence, .. }, true) => {
                Some((record.at, sequence))
            }
            _ => None,
        })
    }
}

/// A record of a chip as a tile has it; none if it concerns others.
fn seen_from(tile: usize, record: &Record) -> Option<Record> {
    let event = match record.event {
        Event::Crossing(crossing) if crossing.agent != Agent::Processor(tile) => return None,
        Event::Packet(Packet { seat, to: Some(to), name: "write", number, bytes, is_there, .. })
            if [seat, to] == [tile, 1 - tile] || [seat, to] == [1 - tile, tile] =>
        {
            let [source, destination] = [seat, to].map(|tile| Rank(tile as u16));
            let kind = FrameKind::Packet;
            let note = FrameSummary {
                kind,
                source,
                destination,
                sequence: number,
                payload_bytes: bytes.into(),
                message_bytes: None,
            };
            match is_there {
                true if to == tile => Event::Arrival(note, true),
                false if seat == tile => Event::Departure(note, NodeId(to as u16)),
                _ => return None,
            }
        }
        other => other,
    };
    Some(Record { event, ..*record })
}

fn bookings(records: &[Record], own: usize) -> Vec<Booking> {
    let mut all: Vec<Booking> = Vec::new();
    // Places of those with which a poll begins.
    let mut polls = BTreeSet::new();
    for record in records {
        if record.event == (Event::Entered { processor: own, activity: Activity::Poll }) {
            polls.insert(all.len().saturating_sub(1));
        }
        if let Event::Booking { processor, activity, occupation } = record.event
            && processor == own
        {
            let before = all.last_mut().map_or(activity, |last| {
                last.to = record.at;
                last.activity
            });
            all.push(Booking {
                from: record.at,
                to: Time::NEVER,
                activity,
                before,
                next: activity,
                occupation,
            });
        }
    }
    for later in (1..all.len()).rev() {
        let next = all[later];
        let booking = &mut all[later - 1];
        let goes_on = next.activity == booking.activity && !polls.contains(&later);
        booking.next = if goes_on { next.next } else { next.activity };
    }
    all
}

/// The instants of a message's life (see the module above).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Life {
    /// S: the library begins to send.
    pub sent: Time,
    /// When it is done with sending, as far as the processor knows.
    pub left: Time,
    /// A: the last that the send half needed from the processor.
    pub announced: Time,
    /// I: the last packet leaves for the first time.
    pub injected: Time,
    /// It leaves for the last time.
    pub departed: Time,
    /// R: it finds a buffer at the receiver.
    pub arrived: Time,
    /// V: the receiver's processor could see it.
    pub visible: Time,
    /// The library knows of it.
    pub noticed: Time,
    /// H: the handler starts.
    pub handled: Time,
    /// The number of that packet at its source, if there is one.
    pub sequence: Option<u64>,
    /// Packets of the message.
    pub packets: usize,
    /// It ends a wait, and is not a message.
    pub ends_wait: bool,
}

impl Life {
    /// From the call to the handler.
    pub fn latency(&self) -> Duration {
        self.handled - self.sent
    }

    /// The instants, from the first on.
    pub fn instants(&self) -> Value {
        let instants = [
            ("announced", self.announced),
            ("injected", self.injected),
            ("arrived", self.arrived),
            ("visible", self.visible),
            ("noticed", self.noticed),
            ("handled", self.handled),
        ];
        instants.map(|(name, at)| json!({ "name": name, "time_ps": (at - self.sent).as_ps() })).into()
    }
}

/// The lives of all messages from the first history's node to the second's that
/// are sent after `since`, and are seen from begin to end.
pub fn lives(histories: &[NodeHistory; 2], since: Time) -> Vec<Life> {
    let [sender, receiver] = histories;
    let starts = sender.begins(Activity::Send, |before| before == Activity::Application);
    let starts: Vec<Time> = starts.filter(|&at| at >= since).collect();
    let ends = starts.iter().skip(1).copied().chain([Time::NEVER]);
    starts.iter().zip(ends).filter_map(|(&start, end)| life(sender, receiver, start, end)).collect()
}

/// The life of the message that the sender begins to send at `sent`; the next
/// one begins at `next`.
fn life(sender: &NodeHistory, receiver: &NodeHistory, sent: Time, next: Time) -> Option<Life> {
    let handled = receiver
        .begins(Activity::Application, |before| before == Activity::Receive)
        .find(|&at| at > sent)
        .filter(|&at| at <= next)?;
    let packets: Vec<(Time, u64)> =
        sender.packets_sent().filter(|&(at, _)| at >= sent && at <= handled).collect();
    let (arrived, sequence) = receiver.packets_received().rfind(|&(at, _)| at <= handled)?;
    let departures = || packets.iter().filter(|&&(_, number)| number == sequence).map(|&(at, _)| at);
    let injected = departures().next()?;
    let left = left(sender, sent);
    let noticed = receiver
        .begins(Activity::Receive, |before| before != Activity::Receive)
        .rfind(|&at| at <= handled)?
        .max(arrived);
    Some(Life {
        sent,
        left,
        announced: announced(sender, sent, left, injected),
        injected,
        departed: departures().rfind(|&at| at < arrived)?,
        arrived,
        visible: visible(receiver, arrived, noticed),
        noticed,
        handled,
        sequence: Some(sequence),
        packets: packets.iter().map(|&(_, number)| number).collect::<BTreeSet<_>>().len(),
        ends_wait: false,
    })
}

/// When the processor leaves the activities of sending.
fn left(sender: &NodeHistory, sent: Time) -> Time {
    let sends = |activity| matches!(activity, Activity::Send | Activity::WaitToSend | Activity::Buffering);
    let after = sender.bookings.iter().find(|booking| booking.from > sent && !sends(booking.activity));
    after.map_or(Time::NEVER, |booking| booking.from)
}

/// A store may leave the store buffer after the processor has gone on; other
/// transactions that are granted later belong to other work.
pub fn announced(sender: &NodeHistory, sent: Time, left: Time, injected: Time) -> Time {
    let belongs = |(crossing, touched): &(&Crossing, [bool; 2])| {
        let in_time = crossing.granted >= sent && crossing.released <= injected;
        let of_the_send = crossing.granted < left || crossing.kind == Kind::UncachedStore;
        in_time && of_the_send && touched[SEND_HALF]
    };
    let last =
        sender.crossings(sender.processor).filter(belongs).map(|(crossing, _)| crossing.released).max();
    last.unwrap_or(left.min(injected))
}

/// The last that the receive half did by itself for a packet that arrived at
/// `arrived`, before the library noticed. What it does while the processor is at
/// work on an earlier packet does not keep that from going on.
pub fn visible(receiver: &NodeHistory, arrived: Time, noticed: Time) -> Time {
    let own = receiver.records.iter().filter_map(|record| match record.event {
        Event::Timer(RECEIVE_HALF) => Some(record.at),
        Event::Crossing(crossing) if crossing.agent == Agent::Seat(RECEIVE_HALF) => Some(crossing.released),
        _ => None,
    });
    let in_time = own.filter(|&at| at >= arrived && at <= noticed);
    in_time.filter(|&at| !receiver.receives(at)).max().unwrap_or(arrived)
}
