//! One direction of a link: packets that wait for credits, those on the wires, and credits on their
//! way back.
//!
//! ```text
//!   send ─► waiting ── credits, order ──► wires (one packet after the other) ── latency ──► the other end
//!              ▲                                                                                 │
//!              └──────────────────────── credits ◄── latency of the wires ◄── a buffer is free ──┘
//! ```
//!
//! A packet goes onto the wires when the other end has buffers for it, and no older packet waits that
//! it may not pass. Writes wait for the same buffers, so here none passes another one, whatever its
//! attributes: it would take the credits for which the older one waits. On the wires packets stay in order, and all
//! of them arrive. So order and blocking concern only the queue in front of the wires.

use std::collections::VecDeque;

use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use super::super::Words;
use super::super::link_packets::PacketLog;
use super::Statistics;
use super::link::Link;
use super::packets::{Class, Content, Credits, Packet, PacketKind, Way};

/// One direction of a link.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Direction {
    way: Way,
    /// The free buffers of the other end, by class.
    credits: [Credits; 3],
    /// Packets that wait for credits or behind others, with the times of their arrival; the oldest first.
    waiting: VecDeque<(Time, Packet)>,
    /// When the last packet is off the wires.
    free_at: Time,
    /// Packets, with the times at which they reach the other end.
    under_way: VecDeque<(Time, Packet)>,
    /// Credits on their way back, with the times at which they arrive here.
    returning: VecDeque<(Time, Class, Credits)>,
    /// Writes whose last packet went onto the wires since this was last reset.
    pub taken: u32,
}

/// Packets of a class that wait: how many, and since when the oldest does, of what it is, which credits it needs
/// and which there are.
pub(super) struct Waits {
    count: usize,
    since: Time,
    address: Option<u64>,
    cost: Credits,
    free: Credits,
}

impl Waits {
    pub fn in_words(&self, words: &dyn Words) -> String {
        let Waits { count, since, address, cost, free } = self;
        let of = address.map_or(String::new(), |address| format!(" of {}", words.place(address)));
        format!(
            "({count}; the oldest{of} since {since}, which needs {} of header and {} of data, where {} and {} are \
             free)",
            cost.headers, cost.data, free.headers, free.data
        )
    }
}

impl Direction {
    /// An idle direction to an end with these buffers, by class.
    pub fn new(way: Way, credits: [Credits; 3]) -> Self {
        Direction {
            way,
            credits,
            waiting: VecDeque::new(),
            free_at: Time::ZERO,
            under_way: VecDeque::new(),
            returning: VecDeque::new(),
            taken: 0,
        }
    }

    /// A packet is to cross.
    pub fn send(&mut self, now: Time, packet: Packet) {
        self.waiting.push_back((now, packet));
    }

    /// Puts every packet onto the wires that may go.
    pub fn advance(&mut self, now: Time, link: &Link, (statistics, log): (&mut Statistics, &mut PacketLog)) {
        while self.returning.front().is_some_and(|(at, ..)| *at <= now) {
            let (_, class, Credits { headers, data }) = self.returning.pop_front().expect("it is there");
            let credits = &mut self.credits[class as usize];
            (credits.headers, credits.data) = (credits.headers + headers, credits.data + data);
        }
        let (mut place, mut stays) = (0, [false; 3]);
        while let Some((_, packet)) = self.waiting.get(place) {
            let (class, cost) = (packet.class(), packet.cost());
            let may_pass = self.may_pass(place, packet, stays);
            let credits = &mut self.credits[class as usize];
            let has_credits = credits.headers >= cost.headers && credits.data >= cost.data;
            if has_credits && may_pass {
                (credits.headers, credits.data) = (credits.headers - cost.headers, credits.data - cost.data);
                let (since, packet) = self.waiting.remove(place).expect("it is there");
                statistics.credit_time.add(self.way, (now - since).as_ps());
                self.go(now, packet, link, (statistics, log));
            } else {
                stays[class as usize] = true;
                place += 1;
            }
        }
    }

    /// Whether the packet at this place may pass those in front of it, whose classes stay.
    fn may_pass(&self, place: usize, packet: &Packet, stays: [bool; 3]) -> bool {
        let class = packet.class();
        let is_behind = |older: Class| stays[older as usize] && class.waits_for(older);
        if is_behind(class) || !is_behind(Class::Posted) {
            return !is_behind(class);
        }
        packet.passes_writes(self.waiting.range(..place).map(|(_, older)| older))
    }

    fn go(
        &mut self,
        now: Time,
        packet: Packet,
        link: &Link,
        (statistics, log): (&mut Statistics, &mut PacketLog),
    ) {
        let class = packet.class();
        let overhead = link.overhead(class == Class::Completion);
        let time = link.time(packet.payload + overhead);
        let start = self.free_at.max(now);
        self.free_at = start + time;
        let wires = (start, self.free_at);
        log.note(|| packet.on_wires(self.way, wires, link.latency));
        statistics.packets.increment(PacketKind(self.way, class));
        statistics.payload.add(self.way, packet.payload.into());
        statistics.overhead.add(self.way, overhead.into());
        statistics.busy.add(self.way, time.as_ps());
        if let Content::Write(crossing) | Content::Interrupt(crossing) = &packet.content {
            self.taken += u32::from(crossing.is_last);
        }
        self.under_way.push_back((self.free_at + link.latency, packet));
    }

    /// The next packet that has come to the other end by now.
    pub fn arrive(&mut self, now: Time) -> Option<Packet> {
        let is_there = self.under_way.front().is_some_and(|(at, _)| *at <= now);
        is_there.then(|| self.under_way.pop_front()).flatten().map(|(_, packet)| packet)
    }

    /// The other end has freed buffers: it returns the credits.
    pub fn free(&mut self, now: Time, class: Class, credits: Credits, link: &Link) {
        self.returning.push_back((now + link.credit_latency, class, credits));
    }

    /// When the next packet or credit arrives.
    pub fn next_time(&self) -> Option<Time> {
        let arrival = self.under_way.front().map(|(at, _)| *at);
        let credit = self.returning.front().map(|(at, ..)| *at);
        arrival.into_iter().chain(credit).min()
    }

    /// The packets of a class that wait, if there are any.
    pub fn waits(&self, class: Class) -> Option<Waits> {
        let mut own = self.waiting.iter().filter(|(_, packet)| packet.class() == class);
        let (since, oldest) = own.next()?;
        Some(Waits {
            count: 1 + own.count(),
            since: *since,
            address: oldest.address(),
            cost: oldest.cost(),
            free: self.credits[class as usize],
        })
    }

    /// Whether it is empty at `now`.
    pub fn is_idle_at(&self, now: Time) -> bool {
        self.waiting.is_empty() && self.next_time().is_none() && self.free_at <= now
    }
}
