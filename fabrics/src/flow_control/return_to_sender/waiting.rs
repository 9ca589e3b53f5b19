//! The packets in a node's outgoing buffers that wait to be sent: those that came
//! back, and fresh ones behind them where [`Retries`] says so.

use std::collections::VecDeque;

use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use super::Retries;
use crate::packet::Packet;

/// A packet in its buffer.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    /// When its own delay is over.
    at: Time,
    packet: Box<Packet>,
    came_back: bool,
}

impl Entry {
    /// Whether it goes the same way as another packet.
    fn goes_as(&self, other: &Packet) -> bool {
        (self.packet.source, self.packet.destination) == (other.source, other.destination)
    }
}

/// The packets that wait, in the order in which they go. Where retries are
/// independent, that is the order in which they came back.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReturnedPackets {
    retries: Retries,
    entries: VecDeque<Entry>,
}

impl ReturnedPackets {
    /// No packet.
    pub fn new(retries: Retries) -> Self {
        ReturnedPackets { retries, entries: VecDeque::new() }
    }

    /// Whether nothing that others do changes when one is sent again.
    pub fn is_each_by_itself(&self) -> bool {
        self.retries == Retries::Independent
    }

    /// A packet came back and may be sent again from `at` on.
    pub fn came_back(&mut self, at: Time, packet: Box<Packet>) {
        let sent_later = |entry: &Entry| entry.goes_as(&packet) && entry.packet.sequence > packet.sequence;
        let place = match self.retries {
            // Mostly the last; not where one is put back that was kept elsewhere.
            Retries::Independent => {
                let later = self.entries.iter().rev().take_while(|entry| entry.at > at).count();
                (later > 0).then(|| self.entries.len() - later)
            }
            Retries::InSequence => self.entries.iter().position(sent_later),
        };
        let entry = Entry { at, packet, came_back: true };
        match place {
            Some(place) => self.entries.insert(place, entry),
            None => self.entries.push_back(entry),
        }
    }

    /// Takes a fresh packet if it has to wait behind another; else it is the caller's.
    pub fn stand_behind(&mut self, packet: Box<Packet>) -> Option<Box<Packet>> {
        let before = match self.retries {
            Retries::Independent => None,
            Retries::InSequence => self.entries.iter().rev().find(|entry| entry.goes_as(&packet)),
        };
        let Some(at) = before.map(|entry| entry.at) else { return Some(packet) };
        self.entries.push_back(Entry { at, packet, came_back: false });
        None
    }

    /// Whether the entry at `place` has to wait for one before it, in sequence.
    fn is_behind(&self, place: usize) -> bool {
        let entry = &self.entries[place];
        self.entries.iter().take(place).any(|other| other.goes_as(&entry.packet))
    }

    /// When the next one may be sent.
    pub fn next_attempt(&self) -> Option<Time> {
        if self.retries == Retries::Independent {
            // Who came back first waits as long as the others.
            return self.entries.front().map(|entry| entry.at);
        }
        let first = (0..self.entries.len()).filter(|&place| !self.is_behind(place));
        first.map(|place| self.entries[place].at).min()
    }

    /// Takes the first that may be sent at `now`; with since when it may, if it came back.
    pub fn take_due(&mut self, now: Time) -> Option<(Box<Packet>, Option<Time>)> {
        let entry = match self.retries {
            Retries::Independent => {
                let is_due = self.entries.front().is_some_and(|entry| entry.at <= now);
                is_due.then(|| self.entries.pop_front()).flatten()
            }
            Retries::InSequence => {
                let mut places = 0..self.entries.len();
                let is_due = |&place: &usize| self.entries[place].at <= now && !self.is_behind(place);
                places.find(is_due).and_then(|place| self.entries.remove(place))
            }
        };
        entry.map(|entry| (entry.packet, entry.came_back.then_some(entry.at)))
    }

    /// All of them.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.entries.iter().map(|entry| &*entry.packet)
    }
}
