//! Agents behind a link that lets devices cache: their part of the directory is in the link's port.
//!
//! ```text
//!   home ── messages ── requester of the agent (here) ── port ══ link ══ device
//! ```
//!
//! To homes such an agent is one like any other. What would be a call of the agent is one of its link
//! ([`InterconnectModel::issue_for`] and those beside it), which takes its time: the answer to a forward comes
//! by [`Directory::answer_from_link`], a block that returns by [`Directory::begin`].
//!
//! Such an agent may be the home of blocks. Their entries are here, in the link's port, and the agent is asked over the
//! link ([`InterconnectModel::ask_home`](super::super::InterconnectModel::ask_home)) while the home holds the request.

use narthex_kernel::Time;

use super::super::{InterconnectHost, InterconnectId};
use super::Directory;
use crate::directory::Carried;
use crate::transaction::{AgentId, BlockData, SnoopReply};

impl Directory {
    /// The same with agents behind links: which is behind which.
    pub fn with_links(mut self, links: Vec<(AgentId, InterconnectId)>) -> Self {
        self.links = links;
        self
    }

    /// The link in front of an agent.
    pub(super) fn link_of(&self, agent: AgentId) -> Option<InterconnectId> {
        self.links.iter().find(|(linked, _)| *linked == agent).map(|(_, link)| *link)
    }

    /// An agent behind a link has answered a forward: the bytes that it supplies, and whether memory takes them.
    pub(in super::super) fn answer_from_link<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        (agent, carried): (AgentId, Carried),
        (supplies, updates_home): (Option<BlockData>, bool),
    ) {
        let reply = SnoopReply { supplies, updates_home, ..SnoopReply::default() };
        let answered = Self::keep_reply(composition, on, agent, &carried.message, reply);
        Self::send_reply(composition, now, on, agent, carried, answered);
    }

    /// A block that a link's port has owned for an agent is not returned after all, because
    /// another agent has got it before.
    pub(in super::super) fn returns_nothing<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        of: (AgentId, u64),
    ) {
        Self::answer_awaited(composition, now, on, of);
    }
}
