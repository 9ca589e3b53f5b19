//! Accesses to registers that devices hold: for which a processor waits until the device answers.

use narthex_memory::{AgentId, Transaction, TransactionTag};
use serde::{Deserialize, Serialize};

/// The accesses that the devices of a node hold, the oldest first.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct HeldAccesses {
    accesses: Vec<HeldAccess>,
}

/// An access that a port of a device holds.
#[derive(Debug, Serialize, Deserialize)]
struct HeldAccess {
    /// The port.
    by: AgentId,
    agent: AgentId,
    tag: TransactionTag,
}

impl HeldAccesses {
    /// A port holds an access.
    pub fn hold(&mut self, by: AgentId, access: &Transaction) {
        let &Transaction { agent, tag, .. } = access;
        self.accesses.push(HeldAccess { by, agent, tag });
    }

    /// A port answers the oldest access that it holds.
    pub fn release(&mut self, by: AgentId) -> Option<(AgentId, TransactionTag)> {
        let place = self.accesses.iter().position(|held| held.by == by)?;
        let HeldAccess { agent, tag, .. } = self.accesses.remove(place);
        Some((agent, tag))
    }

    /// The port that holds an access of an agent.
    pub fn holder(&self, agent: AgentId) -> Option<AgentId> {
        self.accesses.iter().find(|held| held.agent == agent).map(|held| held.by)
    }
}
