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
        debug_assert!(!reply.later, "a device that holds requests is refused with the machine");
        let fetched =
            transaction.kind.fetches_block().then(|| composition.agent(agent).home(now, transaction));
        let state = &mut Self::of(composition, on).state;
        let delay = fetched.as_ref().map_or(Duration::ZERO, |reply| reply.delay);
        let &Transaction { address: block, kind, .. } = transaction;
        let data = fetched.map(|reply| reply.data.expect("a home has its blocks"));
        let slot = data.map(|data| state.blocks.keep(block, data, kind != Kind::ReadOnce));
        if slot.is_some() {
            state.device.later.push((now + delay, Message::Completion(Opcode::of_completion(kind))));
        }
        state.device.later.push((now + delay, Message::HomeAnswer(crossing, slot)));
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
        let done = Message::Completion(Opcode::of_completion(transaction.kind));
        Self::of(composition, on).state.device.later.push((now + delay, done));
    }

    /// The host has answered a snoop of a port's own block. Its memory has the bytes by now.
    pub(super) fn end_back_invalidation<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        Request { agent, number, kind, block, .. }: Request,
        shared: bool,
    ) {
        let data = match kind.fetches_block() {
            true => composition.agent(agent).home(now, &Transaction::block(agent, kind, block)).data,
            false => None,
        };
        let own = Self::of(composition, on);
        let part = own.state.device.granted(number);
        own.receive(&part, data, shared);
        Self::end_part(composition, now, on, &part);
    }
}
