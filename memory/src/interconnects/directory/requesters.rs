//! What happens at the requesters of a directory.

use narthex_kernel::{Duration, Time};

use super::super::{
    Home as Part, InterconnectHost, InterconnectId, InterconnectModel, Observation, Step, Supplier, at_home,
    forward,
};
use super::Directory;
use crate::agent::Agent;
use crate::directory::{
    BlockRequest, Body, Carried, DirectoryTransaction, Endpoint, Hops, Message, Slot, answer,
};
use crate::kind::Kind;
use crate::transaction::{AccessReply, AgentId, Response, SnoopReply, Transaction, TransactionTag};

impl Directory {
    /// A transaction begins.
    pub(in super::super) fn begin<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        mut transaction: Transaction,
    ) {
        let agent = transaction.agent;
        let own = Self::of(composition, on);
        let is_linked = own.link_of(agent).is_some();
        if transaction.kind == Kind::WriteBack && own.table.tracks_copies() && !is_linked {
            // What goes home is not kept: the home would not know of the copy.
            let goes = Transaction::block(agent, Kind::Invalidate, transaction.address);
            composition.agent(agent).snoop(now, &goes);
        }
        if composition.is_observed() && transaction.kind != Kind::WriteBack {
            composition.observe(now, on, Observation::Held(&transaction));
        }
        let own = Self::of(composition, on);
        own.state.statistics.transactions.increment(transaction.kind);
        let data = match transaction.kind.is_uncached() {
            true => None,
            false => transaction.data.take(),
        };
        let is_newest = transaction.kind == Kind::WriteBack;
        let slot = data.map(|data| own.state.blocks.keep(transaction.address, data, is_newest));
        let asked = (!transaction.kind.is_uncached()).then(|| BlockRequest::new(transaction.kind, slot));
        let requester = own.requester(agent);
        let is_over = transaction.kind == Kind::WriteBack;
        requester.begin(DirectoryTransaction {
            transaction: transaction.clone(),
            since: now,
            asked,
            slot,
            is_sent: false,
            response: Response::default(),
            hops: 0,
        });
        Self::send_requests(composition, now, on, agent);
        if is_over {
            Self::answer_awaited(composition, now, on, (agent, transaction.address));
            // The requester has it: what the agent needs next need not wait.
            if !is_linked {
                composition.agent(agent).complete(now, on, &transaction, &Response::default());
            }
        }
    }

    /// Sends what no older transaction of its agent keeps any more.
    fn send_requests<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
    ) {
        while let Some(place) = Self::of(composition, on).requester(agent).next_to_send() {
            let own = Self::of(composition, on);
            let &DirectoryTransaction { slot, ref transaction, .. } = own.requester(agent).send(place);
            let &Transaction { kind, tag, address: block, .. } = transaction;
            let bytes = transaction.data_bytes(0) as u16;
            if kind.is_uncached()
                && let Some(port) = own.tiles.as_ref().and_then(|tiles| tiles.port(agent, block))
            {
                if let Some(time) = Self::serve_access(composition, now, on, (agent, tag), Part::Agent(port))
                {
                    Self::send_answer(composition, now + time, on, (agent, tag));
                }
                continue;
            }
            let body = match kind.is_uncached() {
                true => Body::Access { kind, tag, bytes },
                false => Body::Request { kind, data: slot },
            };
            let way = (Endpoint::Requester(agent), Endpoint::Home(own.home_of(block)));
            let message = Message { block, requester: agent, body };
            Self::send(composition, now, on, way, Carried { message, hops: 1 });
        }
    }

    /// An access that no cache sees is at its home, or at the device in the processor's own tile: after
    /// which time its answer is there; none if it is held.
    pub(super) fn serve_access<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        (agent, tag): (AgentId, TransactionTag),
        part: Part,
    ) -> Option<Duration> {
        let requester = Self::of(composition, on).requester(agent);
        let transaction = requester.underway[requester.access(tag)].transaction.clone();
        let mut response = Response::default();
        if at_home(composition, part).access(now, &transaction, &mut response) == AccessReply::Held {
            return None;
        }
        let time = at_home(composition, part).access_time(now, transaction.kind);
        let requester = Self::of(composition, on).requester(agent);
        let place = requester.access(tag);
        requester.underway[place].response = response;
        Some(time)
    }

    /// The answer to an access leaves where it was made. Nobody but its processor hears of one in its
    /// own tile, which waits for it.
    pub(super) fn send_answer<C: InterconnectHost>(
        composition: &mut C,
        at: Time,
        on: InterconnectId,
        (agent, tag): (AgentId, TransactionTag),
    ) {
        let own = Self::of(composition, on);
        let place = own.requester(agent).access(tag);
        let transaction = &own.state.requesters[usize::from(agent.0)].underway[place].transaction;
        let &Transaction { kind, address: block, .. } = transaction;
        if own.is_in_tile(agent, block) {
            return Self::end(composition, at, on, (agent, place));
        }
        let body = Body::Answer { kind, tag, bytes: transaction.data_bytes(0) as u16 };
        let carried = Carried { message: Message { block, requester: agent, body }, hops: 2 };
        let way = (Endpoint::Home(own.home_of(block)), Endpoint::Requester(agent));
        Self::send(composition, at, on, way, carried);
    }

    /// A response has come for a transaction of a block.
    pub(super) fn responded<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
        Carried { message, hops }: Carried,
    ) {
        let own = Self::of(composition, on);
        let name = own.table.stable.name;
        let requester = own.requester(agent);
        let place = requester.asking(message.block).expect("a response belongs to a transaction");
        let underway = &mut requester.underway[place];
        underway.hops = underway.hops.max(hops);
        let asked = underway.asked.as_mut().expect("it asks");
        match asked.receive(message.body) {
            Ok(false) => {}
            Ok(true) => Self::end(composition, now, on, (agent, place)),
            Err(unexpected) => panic!("{name}: {unexpected}; coherence has been broken before"),
        }
    }

    /// A transaction is over.
    pub(super) fn end<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        (agent, place): (AgentId, usize),
    ) {
        let own = Self::of(composition, on);
        let DirectoryTransaction { transaction, since, asked, mut response, hops, .. } =
            own.requester(agent).underway.remove(place);
        let (kind, block) = (transaction.kind, transaction.address);
        if let Some(asked) = asked {
            own.state.statistics.hops.increment(Hops::of(hops));
            response.data = asked.data.map(|slot| own.state.blocks.take(slot));
            response.shared = asked.shared;
            if kind != Kind::WriteBack && own.table.tracks_copies() {
                let way = (Endpoint::Requester(agent), Endpoint::Home(own.home_of(block)));
                let done = Message { block, requester: agent, body: Body::Done };
                Self::send(composition, now, on, way, Carried { message: done, hops: hops + 1 });
            }
        }
        let own = Self::of(composition, on);
        let hold_time = own.limits.hold_time;
        let is_held = hold_time > Duration::ZERO && own.table.tracks_copies();
        let requester = own.requester(agent);
        if is_held && matches!(kind, Kind::ReadExclusive | Kind::Upgrade) {
            requester.held.push((block, now + hold_time));
        }
        let waited = std::mem::take(&mut requester.waits);
        Self::send_requests(composition, now, on, agent);
        if kind != Kind::WriteBack {
            if composition.is_observed() {
                let time = (since, now);
                composition.observe(
                    now,
                    on,
                    Observation::Crossing { time, transaction: &transaction, supplier: None },
                );
            }
            Self::complete(composition, now, on, &transaction, &response);
        }
        if waited {
            Self::ask(composition, now, on, agent);
        }
    }

    /// A home asks a cache for its block, or takes its copy away.
    pub(super) fn forwarded<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
        carried: Carried,
    ) {
        let own = Self::of(composition, on);
        if let Some(until) = own.requester(agent).holds_until(now, carried.message.block) {
            own.state.statistics.held.increment();
            own.state.delayed.push((until, agent, carried));
            return composition.schedule(until, on, Step::Forward);
        }
        Self::answer_or_await(composition, now, on, agent, carried);
    }

    /// The same for an agent that does not hold the block against others, or no longer.
    pub(super) fn answer_or_await<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
        carried: Carried,
    ) {
        let own = Self::of(composition, on);
        let (block, link) = (carried.message.block, own.link_of(agent));
        let will_return = own.will_return(agent, block)
            || link.is_some_and(|link| composition.interconnect(link).owns(agent, block));
        if will_return {
            return Self::of(composition, on).state.awaited.push((agent, carried));
        }
        Self::answer_forward(composition, now, on, agent, carried);
    }

    /// A block is on its way home: its bytes answer what waited for that.
    pub(super) fn answer_awaited<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        (agent, block): (AgentId, u64),
    ) {
        let awaited = &mut Self::of(composition, on).state.awaited;
        let is_it = |(owner, carried): &(AgentId, Carried)| *owner == agent && carried.message.block == block;
        if let Some(place) = awaited.iter().position(is_it) {
            let (_, carried) = awaited.remove(place);
            Self::answer_forward(composition, now, on, agent, carried);
        }
    }

    /// Whether a root complex owns a block and has not yet returned it.
    fn will_return(&mut self, agent: AgentId, block: u64) -> bool {
        self.writers.contains(&agent) && self.requester(agent).asking(block).is_none()
    }

    fn answer_forward<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
        carried: Carried,
    ) {
        let message = carried.message;
        let Body::Forward { kind, .. } = message.body else { unreachable!("it is a forward") };
        if let Some(kept) = Self::bytes_on_their_way(composition, on, agent, message) {
            return Self::send_reply(composition, now, on, agent, carried, kept);
        }
        if let Some(link) = Self::of(composition, on).link_of(agent) {
            return forward(composition, now, link, agent, carried);
        }
        let transaction = Transaction::block(message.requester, kind, message.block);
        let reply = composition.agent(agent).snoop(now, &transaction);
        let at = if reply.supplies.is_some() { now + reply.delay } else { now };
        let answered = Self::keep_reply(composition, on, agent, &message, reply);
        Self::send_reply(composition, at, on, agent, carried, answered);
    }

    /// Keeps the bytes that an agent has answered to a forward: those that it supplies, and a copy for memory.
    pub(super) fn keep_reply<C: InterconnectHost>(
        composition: &mut C,
        on: InterconnectId,
        agent: AgentId,
        &Message { block, requester, body }: &Message<Slot>,
        reply: SnoopReply,
    ) -> (Option<Slot>, Option<Slot>) {
        let Body::Forward { kind, .. } = body else { unreachable!("it is a forward") };
        if reply.supplies.is_some() {
            let transaction = Transaction::block(requester, kind, block);
            composition.supplied(&transaction, Some(Supplier::Agent(agent)));
        }
        let blocks = &mut Self::of(composition, on).state.blocks;
        let copy = reply.supplies.clone().filter(|_| reply.updates_home);
        let supplies = reply.supplies.map(|data| blocks.keep(block, data, kind != Kind::ReadOnce));
        (supplies, copy.map(|data| blocks.keep(block, data, false)))
    }

    /// Sends what an agent answers to a forward.
    pub(super) fn send_reply<C: InterconnectHost>(
        composition: &mut C,
        at: Time,
        on: InterconnectId,
        agent: AgentId,
        Carried { message, hops }: Carried,
        answered: (Option<Slot>, Option<Slot>),
    ) {
        let own = Self::of(composition, on);
        let (name, home) = (own.table.stable.name, Endpoint::Home(own.home_of(message.block)));
        let sent = answer(&message, home, answered, |to, message| {
            let carried = Carried { message, hops: hops + 1 };
            Self::send(composition, at, on, (Endpoint::Requester(agent), to), carried);
        });
        if let Err(unexpected) = sent {
            panic!("{name}: {unexpected}; coherence has been broken before");
        }
    }

    /// What bytes on their way home answer, if the agent has the block there: those that
    /// it supplies, and a copy for memory.
    fn bytes_on_their_way<C: InterconnectHost>(
        composition: &mut C,
        on: InterconnectId,
        agent: AgentId,
        message: Message<Slot>,
    ) -> Option<(Option<Slot>, Option<Slot>)> {
        let Body::Forward { kind, .. } = message.body else { return None };
        let own = Self::of(composition, on);
        let table = own.table;
        let requester = own.requester(agent);
        let place = requester.asking(message.block)?;
        let asked = requester.underway[place].asked.as_mut()?;
        let slot = asked.data.filter(|_| asked.kind == Kind::WriteBack)?;
        let action = match asked.forwarded(table, kind) {
            Ok(action) => action,
            Err(unexpected) => {
                panic!("{}: {unexpected}; coherence has been broken before", table.stable.name)
            }
        };
        let blocks = &mut own.state.blocks;
        let mut keep = |is_newest| {
            let data = blocks.get(slot).clone();
            blocks.keep(message.block, data, is_newest)
        };
        let supplies = action.supplies.then(|| keep(kind != Kind::ReadOnce));
        let copy = action.updates_home.then(|| keep(false));
        if !action.is_owner {
            own.state.blocks.outdate(slot);
        }
        Some((supplies, copy))
    }
}
