//! What a home knows of a block, and what it does about a message.

use serde::{Deserialize, Serialize};

use super::message::{Body, Endpoint, Message};
use super::table::{Action, Actions, Arrival, Holders, HomeAction, HomeState, Reply, Table, Unexpected};
use crate::kind::Kind;
use crate::protocols::Snoop;
use crate::transaction::AgentId;

/// A directory knows the copies of agents with numbers below this.
pub const MOST_HOLDERS: usize = u128::BITS as usize;

/// Caches with clean copies, by the numbers of their agents.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
struct Sharers(u128);

impl Sharers {
    fn bit(agent: AgentId) -> u128 {
        1u128.checked_shl(agent.0.into()).unwrap_or(0)
    }

    fn add(&mut self, agent: AgentId) {
        assert!(usize::from(agent.0) < MOST_HOLDERS, "a directory knows the copies of {MOST_HOLDERS} agents");
        self.0 |= Self::bit(agent);
    }

    fn remove(&mut self, agent: AgentId) {
        self.0 &= !Self::bit(agent);
    }

    fn has(self, agent: AgentId) -> bool {
        self.0 & Self::bit(agent) != 0
    }

    fn iter(self) -> impl Iterator<Item = AgentId> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let next = (left != 0).then(|| AgentId(left.trailing_zeros() as u8))?;
            left &= left - 1;
            Some(next)
        })
    }
}

/// What a home knows of a block: who has it, and on which transaction it works.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Entry {
    state: HomeState,
    owner: Option<AgentId>,
    sharers: Sharers,
    /// Of the transaction, if it works on one.
    requester: AgentId,
    kind: Kind,
}

impl Default for Entry {
    /// Nobody has the block.
    fn default() -> Self {
        Entry {
            state: HomeState::Rest,
            owner: None,
            sharers: Sharers::default(),
            requester: AgentId(0),
            kind: Kind::Read,
        }
    }
}

/// What a home does its work with.
pub trait HomePort<D> {
    /// The block's bytes in memory, for a transaction of this kind.
    fn fetch(&mut self, requester: AgentId, kind: Kind) -> D;

    /// Memory takes what has come from an agent with a transaction of this kind: its requester, or the
    /// owner of the block.
    fn take(&mut self, from: AgentId, kind: Kind, data: D);

    /// Sends a message.
    fn send(&mut self, to: Endpoint, message: Message<D>);

    /// The agent whose memory it is; none for a memory of the node.
    fn agent(&self) -> Option<AgentId> {
        None
    }

    /// Whether that agent keeps a copy beside a reader, so that it is told of the next store.
    fn agent_shares(&self) -> bool {
        true
    }
}

impl Entry {
    /// Whether it works on a transaction, so that requests wait.
    pub fn is_busy(&self) -> bool {
        self.state != HomeState::Rest
    }

    /// Whether nothing is known of the block, as of one that nobody ever asked for.
    pub fn is_blank(&self) -> bool {
        !self.is_busy() && self.holders() == Holders::Nobody
    }

    /// All of it in a few words.
    #[inline(always)]
    pub(super) fn words(&self) -> (u64, u128) {
        let owner = self.owner.map_or(0, |owner| 1 + u64::from(owner.0));
        let of_transaction =
            u64::from(self.requester.0) | (self.kind as u64) << 8 | (self.state as u64) << 16;
        (of_transaction | owner << 24, self.sharers.0)
    }

    /// Who has the block.
    pub fn holders(&self) -> Holders {
        match (self.owner, self.sharers == Sharers::default()) {
            (None, true) => Holders::Nobody,
            (None, false) => Holders::Sharers,
            (Some(_), true) => Holders::Owner,
            (Some(_), false) => Holders::OwnerAndSharers,
        }
    }

    /// The cache that answers for the block.
    pub fn owner(&self) -> Option<AgentId> {
        self.owner
    }

    /// Whether a cache may have a clean copy.
    pub fn is_sharer(&self, agent: AgentId) -> bool {
        self.sharers.has(agent)
    }

    /// The kind of the transaction on which it works.
    pub fn kind(&self) -> Option<Kind> {
        self.is_busy().then_some(self.kind)
    }

    /// What it waits for, and for whom; none if it is at rest.
    pub fn waits(&self) -> Option<(HomeState, AgentId)> {
        self.is_busy().then_some((self.state, self.requester))
    }

    /// Takes a message: a request only if it is at rest.
    ///
    /// # Errors
    /// If the table has no cell for it.
    pub fn receive<D: Copy>(
        &mut self,
        table: &Table,
        message: Message<D>,
        port: &mut impl HomePort<D>,
    ) -> Result<(), Unexpected> {
        let (cell, data) = match message.body {
            Body::Request { kind, data } => {
                (self.request(table, message.requester, kind, (port.agent(), port.agent_shares())), data)
            }
            Body::Clean => (self.reply(table, Reply::Clean), None),
            Body::Copy(data) => (self.reply(table, Reply::Copy), Some(data)),
            Body::Done => (self.reply(table, Reply::Done), None),
            _ => (None, None),
        };
        let unexpected = |entry: &Entry| {
            let state = match entry.state {
                HomeState::Rest => format!("the home knows of {:?}", entry.holders()),
                state => format!("the home is {state:?}"),
            };
            Unexpected { state, message: message.body.name() }
        };
        let Some(HomeAction { next, actions }) = cell else { return Err(unexpected(self)) };
        self.act(actions, (message.block, data), port).ok_or_else(|| unexpected(self))?;
        self.state = next;
        Ok(())
    }

    /// What the table says of a request, on which it works from now on; `home` is the agent whose
    /// memory the block's is.
    ///
    /// Such an agent counts as a sharer of a block that no cache has, if it says that it shares: a reader
    /// gets a shared copy, so that the home is told of the next store to it. An agent that invalidates a
    /// block of another home is about to replace all of it, and owns it from then on.
    fn request(
        &mut self,
        table: &Table,
        requester: AgentId,
        kind: Kind,
        (home, home_shares): (Option<AgentId>, bool),
    ) -> Option<HomeAction> {
        debug_assert!(!self.is_busy(), "a request waits while the home is busy");
        let is_owner = self.owner == Some(requester);
        let holds = is_owner || self.sharers.has(requester);
        let arrival = match kind.snoop()? {
            Snoop::Read => Arrival::Read,
            Snoop::Upgrade if holds => Arrival::Upgrade,
            Snoop::ReadExclusive | Snoop::Upgrade => Arrival::ReadExclusive,
            Snoop::WriteBack if is_owner => Arrival::WriteBack,
            Snoop::WriteBack => Arrival::Overtaken,
            Snoop::WriteBlock => Arrival::WriteBlock,
            Snoop::ReadOnce => Arrival::ReadOnce,
        };
        if matches!(
            arrival,
            Arrival::Read | Arrival::ReadExclusive | Arrival::Overtaken | Arrival::WriteBlock
        ) {
            self.forget(requester);
        }
        let holders = match (self.holders(), home) {
            (Holders::Nobody, Some(_)) if home_shares => Holders::Sharers,
            (holders, _) => holders,
        };
        let mut cell = table.requests[holders as usize][arrival as usize];
        if kind == Kind::Invalidate && home != Some(requester) {
            cell = cell.map(|action| HomeAction { next: HomeState::Granting, ..action });
        }
        self.requester = requester;
        self.kind = if arrival == Arrival::ReadExclusive { Kind::ReadExclusive } else { kind };
        cell
    }

    /// What a home asks the agent whose memory it is before it works on a request of another, if that agent is
    /// behind a link: with [`Kind::Upgrade`] for the right to write alone. None: another cache owns the block and
    /// answers, and the agent has no copy to lose.
    ///
    /// Such an agent always shares with a reader. So an owner has changed the block, and supplies it.
    pub fn asks_home(&self, requester: AgentId, kind: Kind, home: AgentId) -> Option<Kind> {
        let is_owner = self.owner == Some(requester);
        let other_owns = self.owner.is_some() && !is_owner;
        let home_loses = self.sharers.has(home);
        let kind = match kind.snoop()? {
            Snoop::WriteBack => return None,
            Snoop::Read | Snoop::ReadOnce => return (!other_owns).then_some(kind),
            Snoop::WriteBlock => kind,
            Snoop::Upgrade if is_owner || self.sharers.has(requester) => kind,
            Snoop::Upgrade | Snoop::ReadExclusive if other_owns => Kind::Upgrade,
            Snoop::Upgrade | Snoop::ReadExclusive => Kind::ReadExclusive,
        };
        let has_right = other_owns || is_owner && kind == Kind::Upgrade;
        (!has_right || home_loses).then_some(kind)
    }

    fn reply(&self, table: &Table, reply: Reply) -> Option<HomeAction> {
        table.responses[self.state as usize][reply as usize]
    }

    /// A cache has no copy: it dropped the one that the home knew of, or has lost it.
    fn forget(&mut self, agent: AgentId) {
        self.sharers.remove(agent);
        self.owner = self.owner.filter(|&owner| owner != agent);
    }

    /// Does all that a cell says; none if it needs an owner or bytes that are not there.
    fn act<D: Copy>(
        &mut self,
        actions: Actions,
        (block, data): (u64, Option<D>),
        port: &mut impl HomePort<D>,
    ) -> Option<()> {
        let Entry { requester, kind, .. } = *self;
        let to_requester = Endpoint::Requester(requester);
        let message = |body| Message { block, requester, body };
        // An invalidation makes copies go as a write of the block does, and carries no bytes.
        if actions.has(Action::takes) && (data.is_some() || kind != Kind::Invalidate) {
            let is_of_owner = !matches!(kind, Kind::WriteBack | Kind::WriteBlock | Kind::Invalidate);
            let from = self.owner.filter(|_| is_of_owner).unwrap_or(requester);
            port.take(from, kind, data?);
        }
        let acknowledgements = match actions.has(Action::withdraws) {
            true => self.withdraw(!actions.has(Action::forwards), message, port),
            false => 0,
        };
        if actions.has(Action::forwards) {
            let body = Body::Forward { kind, acknowledgements };
            port.send(Endpoint::Requester(self.owner?), message(body));
        }
        for (action, shared) in [(Action::gives_shared, true), (Action::gives_alone, false)] {
            if actions.has(action) {
                let data = port.fetch(requester, kind);
                port.send(to_requester, message(Body::Data { data, shared, acknowledgements }));
            }
        }
        if actions.has(Action::permits) {
            port.send(to_requester, message(Body::Permission { acknowledgements }));
        }
        if actions.has(Action::acknowledges) {
            port.send(to_requester, message(Body::WrittenBack));
        }
        self.note(actions, port.agent())
    }

    /// Invalidates the copies of all others, of the owner too if `of_owner`; how many. The agent
    /// whose memory it is has been told of the request already.
    fn withdraw<D: Copy>(
        &self,
        of_owner: bool,
        message: impl Fn(Body<D>) -> Message<D>,
        port: &mut impl HomePort<D>,
    ) -> u8 {
        let kind = match self.kind.snoop() {
            Some(Snoop::WriteBlock) => Kind::Invalidate,
            _ => Kind::Upgrade,
        };
        let owner = self.owner.filter(|_| of_owner);
        let home = port.agent();
        let loses = |&holder: &AgentId| holder != self.requester && Some(holder) != home;
        let mut count = 0;
        for holder in self.sharers.iter().chain(owner).filter(loses) {
            port.send(Endpoint::Requester(holder), message(Body::Forward { kind, acknowledgements: 0 }));
            count += 1;
        }
        count
    }

    /// Notes who has the block from now on. The agent whose memory it is needs no copy.
    fn note(&mut self, actions: Actions, home: Option<AgentId>) -> Option<()> {
        if actions.has(Action::demotes) {
            // A root complex has returned the block, and kept no copy.
            let owner = self.owner.take()?;
            if usize::from(owner.0) < MOST_HOLDERS {
                self.sharers.add(owner);
            }
        }
        if actions.has(Action::parts) {
            self.owner = None;
        }
        if actions.has(Action::empties) || actions.has(Action::owns) {
            (self.owner, self.sharers) = (None, Sharers::default());
        }
        if actions.has(Action::joins) {
            self.sharers.add(self.requester);
        }
        if actions.has(Action::owns) {
            self.owner = Some(self.requester).filter(|&requester| Some(requester) != home);
        }
        Some(())
    }
}
