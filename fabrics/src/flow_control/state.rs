//! What a flow control holds, for the explanation of a run without progress.

use std::fmt;

use serde::Serialize;

use super::Statistics;
use crate::packet::{Placement, Rank};

/// What bounds the packets that a node sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The number of a node's outgoing buffers, and of its incoming ones; none if infinitely many.
    Buffers(Option<u32>),
    /// The number of unacknowledged packets from one process to another.
    Window(u32),
    /// The number of packets from one process to another that are kept, and sent again until they are
    /// acknowledged on arrival.
    Kept(u32),
    /// Nothing: packets are not acknowledged.
    None,
}

/// The packets from one process to another that are not acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Outstanding {
    /// Who sent them: a process of the node.
    pub source: Rank,
    /// Who is to get them.
    pub destination: Rank,
    /// How many.
    pub packets: u32,
    /// Those among them that wait to be sent again, or behind such a one.
    pub returned: u32,
}

/// Packets that have arrived for a process of the node and have not been taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Arrived {
    /// Who sent them.
    pub source: Rank,
    /// For whom they wait: a process of the node.
    pub destination: Rank,
    /// How many.
    pub packets: u32,
}

/// All that a node's flow control holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// Which processes there are.
    pub placement: Placement,
    /// What bounds the packets that are not acknowledged.
    pub limit: Limit,
    /// Packets that are not acknowledged, by source and destination.
    pub outstanding: Vec<Outstanding>,
    /// Packets that have not been taken, by destination and source.
    pub arrived: Vec<Arrived>,
    /// Packets that came back, since the run began.
    pub came_back: u64,
    /// Packets that were sent again, since the run began.
    pub sent_again: u64,
}

impl State {
    /// The state of a scheme that holds these packets, and has counted so much.
    pub fn new(
        (placement, limit): (Placement, Limit),
        outstanding: Vec<Outstanding>,
        arrived: impl Iterator<Item = (Rank, Rank)>,
        statistics: &Statistics,
    ) -> Self {
        let mut all: Vec<Arrived> = Vec::new();
        for (source, destination) in arrived {
            match all.iter_mut().find(|one| (one.source, one.destination) == (source, destination)) {
                Some(one) => one.packets += 1,
                None => all.push(Arrived { source, destination, packets: 1 }),
            }
        }
        all.sort_unstable_by_key(|one| (one.destination, one.source));
        let (came_back, sent_again) = (statistics.returned.get(), statistics.retried.get());
        State { placement, limit, outstanding, arrived: all, came_back, sent_again }
    }

    /// Packets of all processes that are not acknowledged.
    pub fn unacknowledged(&self) -> u32 {
        self.outstanding.iter().map(|one| one.packets).sum()
    }

    /// Packets of all processes that wait to be sent again, or behind such a one.
    pub fn returned(&self) -> u32 {
        self.outstanding.iter().map(|one| one.returned).sum()
    }

    /// Packets for all processes that have not been taken.
    pub fn untaken(&self) -> u32 {
        self.arrived.iter().map(|one| one.packets).sum()
    }

    fn window(&self, f: &mut fmt::Formatter<'_>, window: u32) -> fmt::Result {
        if self.outstanding.is_empty() {
            write!(f, "no packet is unacknowledged")?;
        }
        for (index, one) in self.outstanding.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            let to = self.placement.name(one.destination);
            write!(f, "{separator}{} of {window} packets to {to} unacknowledged", one.packets)?;
            if self.placement.processes > 1 {
                write!(f, " (from {})", self.placement.name(one.source))?;
            }
        }
        write!(f, "; {} arrived and not taken", self.untaken())
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = match self.limit {
            Limit::Window(window) | Limit::Kept(window) => return self.window(f, window),
            Limit::None => return write!(f, "none; {} packets arrived and not taken", self.untaken()),
            Limit::Buffers(Some(buffers)) => buffers.to_string(),
            Limit::Buffers(None) => "infinitely many".into(),
        };
        let (out, waiting, untaken) = (self.unacknowledged(), self.returned(), self.untaken());
        write!(f, "{out} of {of} outgoing buffers in use, {untaken} of {of} incoming ones; ")?;
        let (back, again) = (self.came_back, self.sent_again);
        write!(f, "{back} packets came back, {again} were sent again, {waiting} wait to be")
    }
}
