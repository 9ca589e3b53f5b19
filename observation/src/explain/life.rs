//! Finds the lives of messages in two nodes' journals.

use std::collections::BTreeSet;

use narthex_fabrics::{FrameKind, FrameSummary, NodeId, Rank};
use narthex_kernel::{Duration, Time};
use narthex_machine::activity::{Activity, Occupation};
use narthex_machine::node::probe::{Crossing, Event, Packet};
use narthex_machine::node::{Agent, Node};
use narthex_memory::Kind;
use schemars::JsonSchema;
use serde::Serialize;

use super::ends::{End, Ends};
use super::hops::DirectoryWaits;
use super::journal::{Journal, Record};
use super::library::Call;

/// Of a record's `touched`: the ports that send.
pub const SEND_HALF: usize = 0;
/// Those that receive.
pub const RECEIVE_HALF: usize = 1;

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

/// The history of one end, from its node's journal.
#[derive(Debug)]
pub struct NodeHistory {
    /// Everything, in order.
    pub records: Vec<Record>,
    /// Its processor's time, without gaps.
    pub bookings: Vec<Booking>,
    /// That processor.
    pub processor: Agent,
    /// The ports of the interface that do its part: they send, or they receive.
    pub ports: Vec<usize>,
    /// Processors of the node that run firmware.
    pub firmware: Vec<usize>,
    /// What it called of the library whose calls were followed.
    pub calls: Vec<Call>,
    /// What its processor did on a directory.
    pub directory: DirectoryWaits,
    /// The process that sends, and the one that receives.
    ranks: [Rank; 2],
}

/// What an agent is to an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Its processor.
    Processor,
    /// The part of the interface that works for it.
    Interface,
    /// Another one.
    Other,
}

impl NodeHistory {
    /// Takes the journals of the nodes on which the ends are. Tiles of a chip are as if each were
    /// a node: their packets of bytes to the other one are those of the network.
    pub fn of(nodes: &mut [Node], ends: &Ends) -> [Self; 2] {
        let ranks = ends.each.each_ref().map(|end| end.rank);
        let mut of_chip = None;
        [0, 1].map(|place| {
            let own = &ends.each[place];
            let node = &mut nodes[own.node];
            let (all, calls) = match (ends.are_tiles, &of_chip) {
                (true, Some(records)) => (Vec::clone(records), Vec::new()),
                _ => taken(node),
            };
            if ends.are_tiles {
                of_chip = Some(all.clone());
            }
            let records = match ends.are_tiles {
                true => all.iter().filter_map(|record| seen_from(place, &ends.each, record)).collect(),
                false => all,
            };
            let firmware = (0..node.processor_count()).filter(|&each| node.runs_firmware(each)).collect();
            let ports = if place == 0 { &own.sends } else { &own.receives };
            NodeHistory {
                bookings: bookings(&records, own.processor),
                directory: DirectoryWaits::new(&records, own.agent()),
                records,
                processor: own.agent(),
                ports: ports.clone(),
                firmware,
                calls,
                ranks,
            }
        })
    }

    /// What an agent is.
    pub fn role(&self, agent: Agent) -> Role {
        match agent {
            _ if agent == self.processor => Role::Processor,
            Agent::Port(port) if self.ports.contains(&port) => Role::Interface,
            _ => Role::Other,
        }
    }

    /// The transactions of the interface's part, in the order in which they end.
    pub fn interface_crossings(&self) -> impl Iterator<Item = &Crossing> {
        self.records.iter().filter_map(|record| match &record.event {
            Event::Crossing(crossing) if self.role(crossing.agent) == Role::Interface => Some(crossing),
            _ => None,
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

    /// Whether nothing of other processes comes to this one between two instants, and what came
    /// before has been handed to the program, whose latest took it at one of `taken`: else a
    /// message cannot be told from others.
    pub fn has_no_other(&self, from: Time, to: Time, mut taken: impl Iterator<Item = Time>) -> bool {
        let others = self.records.iter().filter_map(|record| match record.event {
            Event::Arrival(note, true) if note.destination == self.ranks[1] && !self.is_of_ends(&note) => {
                Some(record.at)
            }
            _ => None,
        });
        let last = others.take_while(|&at| at <= to).last();
        last.is_none_or(|last| last < from && taken.any(|at| at > last && at <= from))
    }

    /// What its program is at.
    fn activity_at(&self, at: Time) -> Option<Activity> {
        let begun = self.bookings.partition_point(|booking| booking.from <= at);
        begun.checked_sub(1).map(|place| self.bookings[place].activity)
    }

    /// Whether a frame has to do with a packet from the one end to the other.
    pub fn is_of_ends(&self, note: &FrameSummary) -> bool {
        [note.source, note.destination] == self.ranks
    }

    /// Packets that left for the other end, returned ones again: when, and which.
    pub fn packets_sent(&self) -> impl Iterator<Item = (Time, u64)> {
        self.records.iter().filter_map(|record| match record.event {
            Event::Departure(note, _) if note.kind == FrameKind::Packet && self.is_of_ends(&note) => {
                Some((record.at, note.sequence))
            }
            _ => None,
        })
    }

    /// Packets of the other end that found a buffer here: when, and which.
    pub fn packets_received(&self) -> impl DoubleEndedIterator<Item = (Time, u64)> {
        self.records.iter().filter_map(|record| match record.event {
            Event::Arrival(note, true) if self.is_of_ends(&note) => Some((record.at, note.sequence)),
            _ => None,
        })
    }
}

/// Takes a node's journal: its records and its calls.
fn taken(node: &mut Node) -> (Vec<Record>, Vec<Call>) {
    let Some(mut journal) = node.detach::<Journal>() else { return Default::default() };
    let calls = journal.take_calls();
    (journal.into_records(), calls)
}

/// A record of a chip as the end at `place` has it; none if it concerns others.
fn seen_from(place: usize, ends: &[End; 2], record: &Record) -> Option<Record> {
    let [own, other] = [place, 1 - place].map(|place| ends[place].processor);
    let event = match record.event {
        Event::Crossing(crossing) if crossing.agent != Agent::Processor(own) => return None,
        Event::Packet(Packet { port, to: Some(to), name: "write", number, bytes, is_there, .. })
            if [port, to] == [own, other] || [port, to] == [other, own] =>
        {
            let rank = |tile| if tile == own { ends[place].rank } else { ends[1 - place].rank };
            let note = FrameSummary {
                kind: FrameKind::Packet,
                source: rank(port),
                destination: rank(to),
                sequence: number,
                payload_bytes: bytes.into(),
                message_bytes: None,
            };
            match is_there {
                true if to == own => Event::Arrival(note, true),
                false if port == own => Event::Departure(note, NodeId(to as u16)),
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
    /// How its program sends and waits.
    pub way: Way,
}

/// How a program sends what is explained, and gets it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// By the messaging library, which calls a handler.
    Messaging,
    /// By what ends a wait of the other tile.
    Wait,
    /// By calls of a library.
    Calls {
        /// What sends.
        sends: &'static str,
        /// What tells the receiver first, and when it has returned.
        tells: (&'static str, Time),
        /// What gives it.
        gives: &'static str,
    },
}

/// An instant of a life.
#[derive(Serialize, JsonSchema)]
pub struct Instant {
    /// What happened then.
    pub name: &'static str,
    /// How long after the begin.
    pub time_ps: u64,
}

impl Life {
    /// From the call to the handler.
    pub fn latency(&self) -> Duration {
        self.handled - self.sent
    }

    /// The instants, from the first on.
    pub fn instants(&self) -> Vec<Instant> {
        let instants = [
            ("announced", self.announced),
            ("injected", self.injected),
            ("arrived", self.arrived),
            ("visible", self.visible),
            ("noticed", self.noticed),
            ("handled", self.handled),
        ];
        instants.map(|(name, at)| Instant { name, time_ps: (at - self.sent).as_ps() }).into()
    }
}

/// When a process begins to send a message by the messaging library.
pub fn sends(sender: &NodeHistory) -> impl Iterator<Item = Time> {
    sender.begins(Activity::Send, |before| before == Activity::Application)
}

/// The lives of all messages from the first history's node to the second's that
/// are sent after `since`, and are seen from begin to end.
pub fn lives(histories: &[NodeHistory; 2], since: Time) -> Vec<Life> {
    let [sender, receiver] = histories;
    let starts: Vec<Time> = latest(sends(sender).filter(|&at| at >= since));
    let ends = starts.iter().skip(1).copied().chain([Time::NEVER]);
    starts.iter().zip(ends).filter_map(|(&start, end)| life(sender, receiver, start, end)).collect()
}

/// The lives that are looked at, at most: the latest ones.
const MOST_LIVES: usize = 256;

/// The latest, as many as are looked at.
pub fn latest<T>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.drain(..all.len().saturating_sub(MOST_LIVES));
    all
}

/// The life of the message that the sender begins to send at `sent`; the next
/// one begins at `next`.
fn life(sender: &NodeHistory, receiver: &NodeHistory, sent: Time, next: Time) -> Option<Life> {
    let handlers = || receiver.begins(Activity::Application, |before| before == Activity::Receive);
    let handled = handlers().find(|&at| at > sent).filter(|&at| at <= next)?;
    if !receiver.has_no_other(sent, handled, handlers()) {
        return None;
    }
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
        way: Way::Messaging,
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
        Event::Timer(port) if receiver.ports.contains(&port) => Some(record.at),
        Event::Crossing(crossing) if receiver.role(crossing.agent) == Role::Interface => {
            Some(crossing.released)
        }
        _ => None,
    });
    let in_time = own.filter(|&at| at >= arrived && at <= noticed);
    in_time.filter(|&at| !receiver.receives(at)).max().unwrap_or(arrived)
}
