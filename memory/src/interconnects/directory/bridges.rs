//! Bridges on a directory.
//!
//! ```text
//!   requester ── access ──► bridge (home of what is behind it) ┄┄► device ┄┄► answer ──► requester
//!   home      ◄── request ── bridge (requester)                ◄┄┄ device's block
//! ```
//!
//! A bridge has a port here. As the home of the addresses behind it, it takes uncached accesses, one after
//! the other, in the order in which they come; the directory goes on with others meanwhile. As a
//! requester, it issues what the devices behind it do to blocks. They keep no copies, so nothing
//! is forwarded to it.

use std::collections::VecDeque;

use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use super::super::{
    Interconnect, InterconnectHost, InterconnectId, InterconnectModel, complete_above, end_above,
    end_read_above, go_on_crossing, request, start_crossing,
};
use super::Directory;
use crate::agent::Agent;
use crate::bridge::OnMemory;
use crate::transaction::{AgentId, Response, Transaction, TransactionTag};

/// A bridge's port on a directory.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) struct BridgePort {
    /// Its place among the agents.
    pub agent: AgentId,
    /// The interconnect behind it.
    behind: InterconnectId,
    /// Accesses that have come, the oldest first.
    arrivals: VecDeque<(AgentId, TransactionTag)>,
    /// The access that crosses it.
    pub crossing: Option<(AgentId, TransactionTag)>,
    /// When that is over, if it is known.
    pub ends_at: Option<Time>,
}

impl BridgePort {
    /// Of a bridge with nothing to do.
    pub fn new(agent: AgentId, behind: InterconnectId) -> Self {
        BridgePort { agent, behind, arrivals: VecDeque::new(), crossing: None, ends_at: None }
    }
}

impl Directory {
    /// The port of the bridge to an interconnect.
    pub(super) fn bridge_port(&mut self, behind: InterconnectId) -> &mut BridgePort {
        let port = self.state.bridges.iter_mut().find(|port| port.behind == behind);
        port.expect("a bridge is here")
    }

    /// What is behind an agent that is a bridge.
    pub(super) fn behind(&self, agent: AgentId) -> Option<InterconnectId> {
        self.state.bridges.iter().find(|port| port.agent == agent).map(|port| port.behind)
    }

    /// The bridges that have something to carry of what comes from behind them.
    pub(super) fn bridges_that_want(&self, all: &[Interconnect]) -> impl Iterator<Item = AgentId> {
        let wants = |port: &&BridgePort| {
            let bridge = all[usize::from(port.behind.0)].bridge();
            bridge.is_some_and(|bridge| bridge.wants_memory().is_some())
        };
        self.state.bridges.iter().filter(wants).map(|port| port.agent)
    }

    /// An access to what is behind a bridge has come to it.
    pub(super) fn come_to_bridge<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        behind: InterconnectId,
        access: (AgentId, TransactionTag),
    ) {
        Self::of(composition, on).bridge_port(behind).arrivals.push_back(access);
        Self::start_next_crossing(composition, now, on, behind);
    }

    /// The oldest access that waits at a bridge crosses it, if it may.
    fn start_next_crossing<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        behind: InterconnectId,
    ) {
        let is_free = composition.interconnect(behind).bridge_mut().admits_processors();
        let own = Self::of(composition, on);
        let port = own.bridge_port(behind);
        if port.crossing.is_some() || !is_free {
            return;
        }
        port.crossing = port.arrivals.pop_front();
        let Some((agent, tag)) = port.crossing else { return };
        let requester = own.requester(agent);
        let transaction = requester.underway[requester.access(tag)].transaction.clone();
        if let Some(time) = start_crossing(composition, now, behind, &transaction) {
            Self::end_crossing_at(composition, now + time, on, behind, None);
        }
        go_on_crossing(composition, now, behind);
    }

    /// Accesses that are over at their bridges are answered: those whose instant has come. To a model checker,
    /// whose clock stands still, that is the first one.
    pub(super) fn end_crossings<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        let ends = Self::of(composition, on).state.bridges.iter().filter_map(|port| port.ends_at);
        let now_or_first = ends.min().map_or(now, |first| first.max(now));
        let is_over = |port: &&mut BridgePort| port.ends_at.is_some_and(|at| at <= now_or_first);
        while let Some(port) = Self::of(composition, on).state.bridges.iter_mut().find(is_over) {
            port.ends_at = None;
            let (access, behind) = (port.crossing.take().expect("it crosses the bridge"), port.behind);
            let bridge = composition.interconnect(behind).bridge_mut();
            if bridge.crossing().is_some() {
                bridge.post();
            }
            Self::send_answer(composition, now, on, access);
            request(composition, now, behind, access.0);
            Self::start_next_crossing(composition, now, on, behind);
        }
    }

    /// A bridge may issue what is next of what comes from behind it.
    pub(super) fn carry_for_bridge<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        behind: InterconnectId,
    ) {
        let agent = Self::of(composition, on).bridge_port(behind).agent;
        match composition.interconnect(behind).bridge_mut().next_on_memory() {
            OnMemory::Write(next) | OnMemory::Read(next) => {
                Self::begin(composition, now, on, Transaction { agent, ..next });
            }
            OnMemory::Keep | OnMemory::Nothing => {}
        }
        request(composition, now, behind, agent);
    }

    /// A transaction is over, and its agent, or bridge, has the answer.
    pub(super) fn complete<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        transaction: &Transaction,
        response: &Response,
    ) {
        let own = Self::of(composition, on);
        if let Some(link) = own.link_of(transaction.agent) {
            return complete_above(composition, now, link, transaction, response);
        }
        let Some(behind) = own.behind(transaction.agent) else {
            return composition.agent(transaction.agent).complete(now, on, transaction, response);
        };
        if !transaction.kind.is_posted() {
            end_read_above(composition, now, behind, transaction, response);
        }
        end_above(composition, now, behind);
        Self::start_next_crossing(composition, now, on, behind);
    }
}
