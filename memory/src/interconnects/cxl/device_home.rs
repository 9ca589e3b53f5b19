//! The devices' end of CXL.mem: blocks of which a port is the home.

use narthex_kernel::{Duration, Time};

use super::super::{InterconnectHost, InterconnectId};
use super::messages::{Crossing, Message};
use super::{Dialect, Link, Opcode, Request};
use crate::agent::Agent;
use crate::directory::Slot;
use crate::kind::Kind;
use crate::transaction::{AgentId, Transaction};

impl<D: Dialect> Link<D> {
    /// A port is asked for a block of which it is the home. It acts at once; its memory's time is part of the
    /// answer. A block that the host reads leaves a shared copy, so that the device is asked before a store.
    pub(super) fn ask_home_here<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
        crossing: Crossing,
    ) {
        let transaction = &crossing.transaction;
        let reply = composition.agent(agent).snoop(now, transaction);
        if reply.later {
            return Self::of(composition, on).state.device.held.push((agent, crossing));
        }
        let fetched =
            transaction.kind.fetches_block().then(|| composition.agent(agent).home(now, transaction));
        let state = &mut Self::of(composition, on).state;
        let delay = fetched.as_ref().map_or(Duration::ZERO, |reply| reply.delay);
        let &Transaction { address: block, kind, .. } = transaction;
        let data = fetched.map(|reply| reply.data.expect("a home has its blocks"));
        let slot = data.map(|data| state.blocks.keep(block, data, kind != Kind::ReadOnce));
        if slot.is_some() && D::PULLS {
            state.device.later.push((now + delay, Message::Completion(Opcode::of_completion(kind))));
        }
        state.device.later.push((now + delay, Message::HomeAnswer(crossing, slot)));
    }

    /// A port goes on with a request for one of its blocks that it has held; nothing happens if it holds none.
    pub(super) fn go_on_at_home<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        block: u64,
    ) {
        let held = &mut Self::of(composition, on).state.device.held;
        if let Some(place) = held.iter().position(|(_, crossing)| crossing.transaction.address == block) {
            let (agent, crossing) = held.remove(place);
            Self::ask_home_here(composition, now, on, agent, crossing);
            Self::schedule_next(composition, now, on);
        }
    }

    /// A block returns to a port. Nothing in the host waits for the completion.
    pub(super) fn return_home_here<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
        (mut transaction, slot): (Transaction, Slot),
    ) {
        transaction.data = Some(Self::of(composition, on).state.blocks.take(slot));
        let delay = composition.agent(agent).home(now, &transaction).delay;
        if !D::PULLS {
            return;
        }
        let done = Message::Completion(Opcode::of_completion(transaction.kind));
        Self::of(composition, on).state.device.later.push((now + delay, done));
    }

    /// The host has answered a snoop of a port's own block. Its memory has the bytes by now; or the answer brings
    /// them, and its memory takes them unless the snoop has left the host's copies as they are.
    pub(super) fn end_back_invalidation<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        Request { agent, number, kind, block, .. }: Request,
        (slot, shared): (Option<Slot>, bool),
    ) {
        let brought = slot.map(|slot| Self::of(composition, on).state.blocks.take(slot));
        if let Some(data) = brought.clone().filter(|_| kind != Kind::ReadOnce) {
            let returns = Transaction::carrying(agent, Kind::WriteBack, block, data);
            composition.agent(agent).home(now, &returns);
        }
        let data = match kind.fetches_block() {
            _ if brought.is_some() => brought,
            true => composition.agent(agent).home(now, &Transaction::block(agent, kind, block)).data,
            false => None,
        };
        let own = Self::of(composition, on);
        let part = own.state.device.granted(number);
        own.receive(&part, data, shared);
        Self::end_part(composition, now, on, &part);
    }
}
