//! A bridge as an agent of the interconnect above it.
//!
//! ```text
//!   interconnect above ── wants, issue, complete, access ── bridge ── interconnect behind it
//! ```
//!
//! A bridge has two ports. Behind it, it is the interconnect itself, to the agents there. Above it is
//! an [`Agent`] like any other: it issues the transactions that come from behind, takes accesses to
//! what is behind, and may hold them. So the interconnect above need not know that it is a bridge,
//! and may be of any kind that lets agents hold accesses. The interconnect behind defines what the
//! bridge does ([`InterconnectModel::issue_above`](super::InterconnectModel::issue_above) and the
//! functions beside it).
//!
//! The bridge to an I/O bus is not of this type: it holds two buses at the same instant
//! ([`super::bridged_bus`]). An agent that holds an access says nothing of the other direction, nor of
//! when it is told. This bridge keeps a bus for a device that has not sent its write yet; takes an address
//! when the bus is granted, not when the data has crossed; issues reads whose time on the bus is that of
//! the bus behind; and lets the agents of both see them at one instant, the owner on either side. Each
//! would be a verb of every agent, for the sake of this one.

use narthex_kernel::Time;

use super::{InterconnectHost, InterconnectId, access_from_above, complete_above, issue_above};
use crate::agent::Agent;
use crate::transaction::{AccessReply, AgentId, Response, SnoopReply, Transaction};

/// The bridge in front of an interconnect, as an agent above.
pub struct BridgeAgent<'a, C> {
    composition: &'a mut C,
    behind: InterconnectId,
    wants: bool,
}

impl AgentId {
    /// The agent that the bridge in front of an interconnect is on both sides. Numbers of bridges
    /// count down from the largest, so that they follow all other agents.
    pub fn of_bridge(behind: InterconnectId) -> AgentId {
        AgentId(u8::MAX - (behind.0 - 1))
    }
}

impl<'a, C: InterconnectHost> BridgeAgent<'a, C> {
    /// The bridge with this number, which borrows its composition.
    pub fn new(composition: &'a mut C, bridge: AgentId) -> Self {
        let behind = InterconnectId(u8::MAX - bridge.0 + 1);
        let wants = composition.interconnect(behind).wants_above();
        BridgeAgent { composition, behind, wants }
    }
}

impl<C: InterconnectHost> Agent for BridgeAgent<'_, C> {
    fn wants(&self, _on: InterconnectId) -> bool {
        self.wants
    }

    fn issue(&mut self, now: Time, _on: InterconnectId) -> Option<Transaction> {
        issue_above(self.composition, now, self.behind)
    }

    fn complete(&mut self, now: Time, _on: InterconnectId, transaction: &Transaction, response: &Response) {
        complete_above(self.composition, now, self.behind, transaction, response);
    }

    /// It keeps no copies: blocks that it owns for a while are on their way back when others ask.
    fn snoop(&mut self, _now: Time, _transaction: &Transaction) -> SnoopReply {
        SnoopReply::default()
    }

    fn access(&mut self, now: Time, transaction: &Transaction, _response: &mut Response) -> AccessReply {
        access_from_above(self.composition, now, self.behind, transaction)
    }
}
