//! Transactions that a bus does not carry, because an agent refuses them.
//!
//! ```text
//!   granted ── an agent refuses ── the bus is free ── the owner's push ── granted again: it is carried
//!      └──── retry_cycles ─────────────┘└ as a write-back ┘
//! ```
//!
//! Before any agent acts on a transaction, those that may refuse are asked
//! ([`Agent::refuse`](crate::agent::Agent::refuse)). One that refuses does so for
//! one of two reasons ([`Refusal`]):
//!
//! - The owner of a dirty block on a bus that carries no data from cache to cache: it
//!   puts the block into its push buffer, and the bus carries that to the block's home
//!   next, before any agent is granted it. (The 60X bus keeps all others off for one
//!   cycle after a retry, "the snoop window", so that the push goes first.) The
//!   refused agent keeps its place among those that wait, so nothing comes between the
//!   push and its transaction but what had waited longer.
//! - A device that cannot answer yet. Its answer may need the bus, so the refused agent
//!   goes behind all that wait, and asks again as soon as they have had their turn.
//!
//! In both cases time goes on by `retry_cycles`, so that no instant is endless. A
//! refused transaction changes no agent but the owner that pushes. It is formed anew
//! where its agent wants that ([`Agent::refused`](crate::agent::Agent::refused)),
//! as a processor's is: what it needs may be something else by then.

use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use crate::kind::Kind;
use crate::transaction::{AgentId, BlockData, Transaction};

/// Why an agent refuses a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// It cannot answer yet.
    Retry,
    /// It owns the block, whose bytes go home first.
    Push(BlockData),
}

narthex_kernel::statistics! {
    /// What a bus did not carry.
    pub struct Statistics {
        refused: Counter, "bus_refused", "transactions", "transactions that an agent refused, each time that it did";
        pushes: Counter, "bus_pushes", "transactions", "dirty blocks that their owner pushed home because it refused a transaction; they count as write-backs, too";
        refused_time: TimeTotal, "bus_refused_time", "ps", "time during which refused transactions had the bus";
    }
}

/// A transaction that was refused when its agent was granted the bus last.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Refused {
    /// Who issued it.
    pub agent: AgentId,
    /// What it does.
    pub kind: Kind,
    /// The address of its block or register.
    pub address: u64,
    /// Who refused it.
    pub by: AgentId,
    /// Whether that one pushes the block home.
    pub pushes: bool,
    /// How often the agent has been refused since a transaction of it was carried.
    pub times: u64,
    /// When it was refused first.
    pub since: Time,
}

/// What a bus knows of the transactions that it did not carry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Refusals {
    /// For how many of its cycles a refused transaction has the bus.
    pub retry_cycles: u64,
    /// What waits to be carried, by agent.
    waiting: Vec<Refused>,
    /// Those that their agents do not form anew.
    kept: Vec<Transaction>,
    /// A refused transaction has the bus.
    pub is_ending: bool,
    /// The block that goes home as soon as the bus is free, or is on its way.
    pub push: Option<Transaction>,
    pub statistics: Statistics,
}

impl Refusals {
    /// Nothing is refused yet, and a refused transaction has the bus for so many cycles.
    pub fn taking(retry_cycles: u64) -> Self {
        Refusals {
            retry_cycles,
            waiting: Vec::new(),
            kept: Vec::new(),
            is_ending: false,
            push: None,
            statistics: Statistics::default(),
        }
    }

    /// An agent refuses a transaction, which has the bus from `now` to `end`.
    pub fn refuse(&mut self, (now, end): (Time, Time), transaction: &Transaction, by: AgentId, pushes: bool) {
        let &Transaction { agent, kind, address, .. } = transaction;
        self.statistics.refused.increment();
        self.statistics.refused_time.add(end - now);
        let refused = Refused { agent, kind, address, by, pushes, times: 1, since: now };
        match self.waiting.iter_mut().find(|waiting| waiting.agent == agent) {
            Some(before) => *before = Refused { times: before.times + 1, since: before.since, ..refused },
            None => self.waiting.push(refused),
        }
    }

    /// The bus repeats a transaction by itself.
    pub fn keep(&mut self, transaction: Transaction) {
        self.kept.push(transaction);
    }

    /// The transaction of an agent that the bus has kept.
    pub fn take_kept(&mut self, agent: AgentId) -> Option<Transaction> {
        let place = self.kept.iter().position(|kept| kept.agent == agent)?;
        Some(self.kept.remove(place))
    }

    /// Whether the bus keeps a transaction of an agent.
    pub fn keeps_of(&self, agent: AgentId) -> bool {
        self.kept.iter().any(|kept| kept.agent == agent)
    }

    /// A transaction of an agent is carried, or it needs none any more.
    pub fn carried(&mut self, agent: AgentId) {
        self.waiting.retain(|waiting| waiting.agent != agent);
    }

    /// What was refused and not carried yet.
    pub fn waiting(&self) -> &[Refused] {
        &self.waiting
    }

    /// What decides how the bus goes on: neither counts nor instants.
    pub fn state(&self) -> impl std::hash::Hash + '_ {
        (&self.kept, self.is_ending, &self.push)
    }
}
