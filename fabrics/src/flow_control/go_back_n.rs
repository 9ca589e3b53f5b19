//! Go back N: a transport that repairs what a lossy network drops, as the reliable connections of
//! InfiniBand and of RDMA over Ethernet do (InfiniBand Architecture Specification, Volume 1, Section 9.7;
//! Bertsekas and Gallager, Data Networks, Section 2.4.2).
//!
//! ```text
//!   sender    0  1  2  3  4           2  3  4
//!             │  │  ╳  │  │           │  │  │
//!   receiver  0  1     missing 2      2  3  4   acknowledgements 1, 2; 3, 4, 5
//! ```
//!
//! Packets from one process to another have numbers. A receiver takes the one that it expects, and
//! acknowledges all up to it; behind a gap it takes none, and says once which one is missing. The sender
//! then sends that one and all behind it again; so it does if nothing is acknowledged for `timeout`, since
//! what tells of a loss may be lost itself. A packet that finds none of the process's `buffers` is
//! dropped like one that the network lost. Packets arrive in order.
//!
//! With `congestion` a sender is held back further ([`crate::congestion`]): what was handed over waits here
//! until its rate or its window lets it out. `window` is how many packets for each destination it
//! holds, sent or not.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use narthex_kernel::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Arrival, Emitted, FlowControl, Limit, Occupancy, Outstanding, Parameters, State, Statistics};
use crate::congestion::{self, Echo, Parameters as _};
use crate::packet::{Frame, Header, Notice, Packet, Placement, Rank};

/// What was lost is sent again, and all behind it (InfiniBand).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Packets without acknowledgement from one process to another, at least 1.
    pub window: u32,
    /// Packets that wait to be taken by each process, at least 1; further ones are dropped.
    pub buffers: u32,
    /// Without an acknowledgement for this long, all is sent again.
    pub timeout: Duration,
    /// What holds a sender back where the network is congested; without it the window alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<congestion::Config>,
}

impl Parameters for Config {
    fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        for (key, count) in [("window", self.window), ("buffers", self.buffers)] {
            if count == 0 {
                problems.push((key, "0 would let no packet through; at least 1 is needed".into()));
            }
        }
        if self.timeout.is_zero() {
            problems
                .push(("timeout", "0ps would fill the network with packets; expected such as 50us".into()));
        }
        for (key, message) in self.congestion.iter().flat_map(|congestion| congestion.problems()) {
            problems.push(("congestion", format!("{key}: {message}")));
        }
        problems
    }

    fn repairs(&self) -> bool {
        true
    }

    fn build(&self, placement: Placement) -> Box<dyn FlowControl> {
        Box::new(GoBackN::new(self, placement))
    }
}

/// What a process sends to another.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Sending {
    /// The number of the first packet that is not acknowledged.
    first: u64,
    /// Packets that are not acknowledged.
    packets: VecDeque<Box<Packet>>,
    /// Of those, the ones that have left since it went back last.
    sent: usize,
    /// Of those, the ones that have left ever.
    sent_once: usize,
    /// When all is sent again; none while nothing is under way.
    deadline: Option<Time>,
    /// No packet leaves before.
    leaves_from: Time,
    congestion: Option<congestion::Sender>,
}

impl Sending {
    /// All up to this number is acknowledged: how many packets that are.
    fn acknowledge(&mut self, next: u64) -> u64 {
        let count = next.saturating_sub(self.first).min(self.packets.len() as u64);
        self.packets.drain(..count as usize);
        self.first += count;
        self.sent = self.sent.saturating_sub(count as usize);
        self.sent_once = self.sent_once.saturating_sub(count as usize);
        count
    }

    /// All that is not acknowledged is sent again.
    fn go_back(&mut self) {
        self.sent = 0;
        self.deadline = None;
        self.congestion.iter_mut().for_each(congestion::Sender::has_lost);
    }

    /// The number of a packet that may leave now.
    fn next(&self, now: Time) -> Option<usize> {
        let window = self.congestion.as_ref().map_or(u64::MAX, congestion::Sender::window);
        let is_open = self.sent < self.packets.len() && (self.sent as u64) < window;
        (is_open && self.leaves_from <= now).then_some(self.sent)
    }

    /// When it has something to do next, without anything that comes.
    fn wakes_at(&self) -> Option<Time> {
        let window = self.congestion.as_ref().map_or(u64::MAX, congestion::Sender::window);
        let is_open = self.sent < self.packets.len() && (self.sent as u64) < window;
        let leaves_at = is_open.then_some(self.leaves_from);
        leaves_at.into_iter().chain(self.deadline).min()
    }
}

/// What a process receives from another.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Receiving {
    /// The number that it expects.
    expected: u64,
    /// It has said that this one is missing.
    has_complained: bool,
    /// When it told of marks last.
    notified_at: Option<Time>,
}

/// Go back N at one node.
#[derive(Debug, Serialize, Deserialize)]
pub struct GoBackN {
    placement: Placement,
    window: usize,
    buffers: usize,
    timeout: Duration,
    /// As a sender begins.
    congestion: Option<congestion::Sender>,
    echo: Option<u64>,
    echoes_each: bool,
    sending: BTreeMap<(Rank, Rank), Sending>,
    /// Those that may have something to send.
    active: BTreeSet<(Rank, Rank)>,
    receiving: BTreeMap<(Rank, Rank), Receiving>,
    /// The earliest call that has been asked for and has not come yet.
    called_at: Option<Time>,
    /// By process.
    waiting: Vec<VecDeque<Box<Packet>>>,
    statistics: Statistics,
}

impl GoBackN {
    /// The ends of a node's processes, at which nothing was sent.
    pub fn new(config: &Config, placement: Placement) -> Self {
        let echo = config.congestion.as_ref().map(|congestion| congestion.echo());
        GoBackN {
            placement,
            window: config.window as usize,
            buffers: config.buffers as usize,
            timeout: config.timeout,
            congestion: config.congestion.as_ref().map(|congestion| congestion.sender()),
            echo: match echo {
                Some(Echo::Every(time)) => Some(time.as_ps()),
                _ => None,
            },
            echoes_each: echo == Some(Echo::EachPacket),
            sending: BTreeMap::new(),
            active: BTreeSet::new(),
            receiving: BTreeMap::new(),
            called_at: None,
            waiting: vec![VecDeque::new(); placement.processes.into()],
            statistics: Statistics::default(),
        }
    }

    /// A packet has come.
    fn receive(&mut self, now: Time, packet: Box<Packet>, emitted: &mut Emitted) -> Arrival {
        let Packet { source: to, destination: from, number, is_marked, .. } = *packet;
        let process = self.placement.process(from);
        let has_buffer = self.waiting[usize::from(process)].len() < self.buffers;
        let receiving = self.receiving.entry((to, from)).or_default();
        let mut tell = |next, notice| emitted.frames.push((to, Frame::Notice { from, to, next, notice }));
        let may_notify =
            |echo: u64| receiving.notified_at.is_none_or(|at| now >= at + Duration::from_ps(echo));
        if is_marked && self.echo.is_some_and(may_notify) {
            receiving.notified_at = Some(now);
            tell(receiving.expected, Notice::Congestion);
        }
        if number > receiving.expected {
            if !std::mem::replace(&mut receiving.has_complained, true) {
                tell(receiving.expected, Notice::Missing);
            }
            return Arrival::default();
        }
        let is_new = number == receiving.expected;
        if is_new && !has_buffer {
            return Arrival::default();
        }
        if is_new {
            receiving.expected += 1;
            receiving.has_complained = false;
            self.statistics.accepted.increment();
            self.waiting[usize::from(process)].push_back(packet);
        }
        let next = receiving.expected;
        match is_marked && self.echoes_each {
            true => tell(next, Notice::Marked),
            false => emitted.frames.push((to, Frame::Acknowledgement { from, to, sequence: next })),
        }
        Arrival { packet: is_new.then_some(process), room: false }
    }

    /// A sender hears from its receiver.
    fn hear(
        &mut self,
        now: Time,
        (source, destination): (Rank, Rank),
        next: u64,
        notice: Option<Notice>,
    ) -> Arrival {
        let Some(sending) = self.sending.get_mut(&(source, destination)) else { return Arrival::default() };
        let count = sending.acknowledge(next);
        if let Some(congestion) = &mut sending.congestion {
            match notice {
                Some(Notice::Congestion) => congestion.is_notified(now),
                Some(Notice::Missing) => {}
                _ => congestion.is_acknowledged(count, notice == Some(Notice::Marked)),
            }
        }
        if count > 0 {
            sending.deadline = (sending.sent > 0).then(|| now + self.timeout);
        }
        if notice == Some(Notice::Missing) && next == sending.first && sending.sent > 0 {
            sending.go_back();
        }
        self.active.insert((source, destination));
        Arrival { packet: None, room: count > 0 }
    }
}

impl FlowControl for GoBackN {
    fn can_send(&self, own: Rank, destination: Rank) -> bool {
        let exists = destination.0 < self.placement.ranks();
        exists && self.sending.get(&(own, destination)).is_none_or(|one| one.packets.len() < self.window)
    }

    fn has_room(&self, _own: Rank) -> bool {
        true
    }

    fn send(&mut self, mut packet: Box<Packet>, _emitted: &mut Emitted) {
        let pair = (packet.source, packet.destination);
        let congestion = &self.congestion;
        let new = || Sending { congestion: congestion.clone(), ..Sending::default() };
        let sending = self.sending.entry(pair).or_insert_with(new);
        packet.number = sending.first + sending.packets.len() as u64;
        sending.packets.push_back(packet);
        self.active.insert(pair);
        self.statistics.sent.increment();
    }

    fn arrive(&mut self, now: Time, frame: Frame, emitted: &mut Emitted) -> Arrival {
        match frame {
            Frame::Data(packet) => self.receive(now, packet, emitted),
            Frame::Acknowledgement { from, to, sequence } => self.hear(now, (to, from), sequence, None),
            Frame::Notice { from, to, next, notice } => self.hear(now, (to, from), next, Some(notice)),
            Frame::Returned(_) => unreachable!("go-back-n returns no packets"),
        }
    }

    fn departs(&mut self, now: Time, emitted: &mut Emitted) {
        for pair in std::mem::take(&mut self.active) {
            let sending = self.sending.get_mut(&pair).expect("it is active");
            while let Some(place) = sending.next(now) {
                let packet = &sending.packets[place];
                if let Some(congestion) = &mut sending.congestion {
                    let bytes = (Header::BYTES + packet.payload.len()) as u64;
                    sending.leaves_from = congestion.send(now, bytes);
                }
                emitted.frames.push((packet.destination, Frame::Data(packet.clone())));
                sending.sent += 1;
                match sending.sent > sending.sent_once {
                    true => sending.sent_once = sending.sent,
                    false => self.statistics.retried.increment(),
                }
                sending.deadline = sending.deadline.or(Some(now + self.timeout));
            }
            if let Some(at) = sending.wakes_at()
                && self.called_at.is_none_or(|called| at < called)
            {
                self.called_at = Some(at);
                emitted.retry_at = Some(at);
            }
        }
    }

    fn retry(&mut self, now: Time, _emitted: &mut Emitted) {
        if self.called_at.is_some_and(|at| at > now) {
            return; // An earlier call was asked for, and asked for this one again.
        }
        self.called_at = None;
        for (&pair, sending) in &mut self.sending {
            if sending.deadline.is_some_and(|deadline| deadline <= now) {
                sending.go_back();
            }
            if !sending.packets.is_empty() {
                self.active.insert(pair);
            }
        }
    }

    fn has_departures(&self) -> bool {
        !self.active.is_empty()
    }

    fn sends_when_acknowledged(&self) -> bool {
        true
    }

    fn waiting(&self, own: Rank) -> &VecDeque<Box<Packet>> {
        &self.waiting[usize::from(self.placement.process(own))]
    }

    fn take_at(&mut self, own: Rank, place: usize, _emitted: &mut Emitted) -> Option<Box<Packet>> {
        let packet = self.waiting[usize::from(self.placement.process(own))].remove(place)?;
        self.statistics.delivered.increment();
        Some(packet)
    }

    fn can_accept(&self, own: Rank) -> bool {
        self.waiting(own).len() < self.buffers
    }

    fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    fn occupancy(&self) -> Occupancy {
        let count = |of: fn(&Sending) -> usize| self.sending.values().map(of).sum::<usize>() as u64;
        Occupancy {
            unacknowledged: count(|one| one.packets.len()),
            returned: count(|one| one.sent_once - one.sent),
            waiting: self.waiting.iter().map(VecDeque::len).sum::<usize>() as u64,
        }
    }

    fn state(&self) -> State {
        let busy = self.sending.iter().filter(|(_, one)| !one.packets.is_empty());
        let outstanding = busy.map(|(&(source, destination), one)| Outstanding {
            source,
            destination,
            packets: one.packets.len() as u32,
            returned: (one.sent_once - one.sent) as u32,
        });
        let waiting = self.waiting.iter().flatten().map(|packet| (packet.source, packet.destination));
        let bound = (self.placement, Limit::Kept(self.window as u32));
        State::new(bound, outstanding.collect(), waiting, &self.statistics)
    }
}

#[cfg(test)]
#[path = "go_back_n/tests.rs"]
mod tests;
