//! Who sits on an interconnect, and which transactions concern each of them.

use std::ops::Range;

use crate::transaction::{AgentId, Transaction};

/// The port of an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentPort {
    /// Whose it is.
    pub agent: AgentId,
    /// The agent snoops transactions on the blocks in here, and on no others.
    pub concern: Range<u64>,
    /// It may take in bytes that cross for another agent.
    pub snarfs: bool,
    /// It may refuse transactions.
    pub refuses: bool,
    /// It may hold accesses to its registers, and answer them later.
    pub holds: bool,
}

impl AgentPort {
    /// The port of a processor's caches, which may hold any block.
    pub fn of_processor(agent: AgentId) -> Self {
        AgentPort { agent, concern: 0..u64::MAX, snarfs: true, refuses: false, holds: false }
    }

    /// The port of a device, which cares for the blocks in `concern`.
    pub fn of_device(agent: AgentId, concern: Range<u64>) -> Self {
        AgentPort { agent, concern, snarfs: false, refuses: false, holds: false }
    }

    /// The same port, whose agent may refuse transactions.
    pub fn refusing(self) -> Self {
        AgentPort { refuses: true, ..self }
    }
}

/// The ports of an interconnect, in the order in which their agents snoop.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgentPorts {
    ports: Vec<AgentPort>,
    /// Agents whose block transactions nobody snoops.
    hidden: Vec<AgentId>,
    /// Blocks that concern others than the agents of whole memory are all in here.
    hull: Range<u64>,
    /// The agents that snoop transactions on all blocks.
    of_all: Agents,
    /// The agents that may snarf.
    snarfing: Agents,
    /// One of them may hold an access.
    hold: bool,
}

/// How many agents there are of a kind, as far as it matters to one that issues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Agents {
    #[default]
    None,
    One(AgentId),
    Several,
}

impl Agents {
    fn of(agents: impl Iterator<Item = AgentId>) -> Self {
        agents.fold(Agents::None, |found, agent| match found {
            Agents::None => Agents::One(agent),
            _ => Agents::Several,
        })
    }

    /// Whether there is any but this one.
    #[inline]
    fn has_other_than(self, issuer: AgentId) -> bool {
        match self {
            Agents::None => false,
            Agents::One(agent) => agent != issuer,
            Agents::Several => true,
        }
    }
}

impl AgentPorts {
    /// These ports, in this order.
    pub fn new(ports: Vec<AgentPort>) -> Self {
        let agents = |is: fn(&AgentPort) -> bool| {
            Agents::of(ports.iter().filter(|port| is(port)).map(|port| port.agent))
        };
        let of_all = agents(|port| port.concern == (0..u64::MAX));
        let snarfing = agents(|port| port.snarfs);
        let parts =
            ports.iter().map(|port| &port.concern).filter(|part| **part != (0..u64::MAX) && !part.is_empty());
        let hull = parts.cloned().reduce(|all, part| all.start.min(part.start)..all.end.max(part.end));
        let hold = ports.iter().any(|port| port.holds);
        AgentPorts { hull: hull.unwrap_or_default(), of_all, snarfing, hold, ports, hidden: Vec::new() }
    }

    /// The same ports, of which nobody snoops the transactions of these agents, nor
    /// refuses them: they go to the block's home.
    pub fn hiding(self, hidden: Vec<AgentId>) -> Self {
        AgentPorts { hidden, ..self }
    }

    /// Whether an access may be held.
    #[inline]
    pub(crate) fn may_hold(&self) -> bool {
        self.hold
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &AgentPort> {
        self.ports.iter()
    }

    /// Whether an agent's transactions on the block at an address surely concern no other
    /// agent, as most of a processor alone do.
    #[inline]
    pub(crate) fn is_private(&self, issuer: AgentId, address: u64) -> bool {
        !self.of_all.has_other_than(issuer) && !self.hull.contains(&address)
    }

    /// The first port from place `next` on whose agent a transaction concerns,
    /// but for the one that issued it: its place, and the agent.
    #[inline]
    pub(crate) fn concerned(&self, next: usize, transaction: &Transaction) -> Option<(usize, AgentId)> {
        if self.is_private(transaction.agent, transaction.address) {
            return None;
        }
        self.find(next, transaction.agent, |port| port.concern.contains(&transaction.address))
    }

    /// Whether an agent may snarf, but for the one that issued.
    #[inline]
    pub(crate) fn may_snarf(&self, issuer: AgentId) -> bool {
        self.snarfing.has_other_than(issuer)
    }

    /// The first port from place `next` on whose agent may snarf, but for the one
    /// that issued: its place, and the agent.
    #[inline]
    pub(crate) fn snarfing(&self, next: usize, transaction: &Transaction) -> Option<(usize, AgentId)> {
        if !self.may_snarf(transaction.agent) {
            return None;
        }
        self.find(next, transaction.agent, |port| port.snarfs)
    }

    /// The first port from place `next` on whose agent may refuse a transaction on
    /// its blocks, but for the one that issued: its place, and the agent.
    pub(crate) fn refusing(&self, next: usize, transaction: &Transaction) -> Option<(usize, AgentId)> {
        let address = transaction.address;
        self.find(next, transaction.agent, |port| port.refuses && port.concern.contains(&address))
    }

    /// Whether an agent may refuse transactions.
    pub(crate) fn refuses(&self, agent: AgentId) -> bool {
        self.ports.iter().any(|port| port.agent == agent && port.refuses)
    }

    fn find(
        &self,
        next: usize,
        issuer: AgentId,
        is: impl Fn(&AgentPort) -> bool,
    ) -> Option<(usize, AgentId)> {
        if self.hidden.contains(&issuer) {
            return None;
        }
        let place =
            next + self.ports.get(next..)?.iter().position(|port| port.agent != issuer && is(port))?;
        Some((place, self.ports[place].agent))
    }
}
