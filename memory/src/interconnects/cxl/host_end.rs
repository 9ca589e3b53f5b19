//! The host's port: a requester of the directory for the devices, and the home of their registers.

use narthex_kernel::Time;

use super::super::accesses::observe_end;
use super::super::directory::Directory;
use super::super::{InterconnectHost, InterconnectId, Observation, answer};
use super::memory_port::Told;
use super::messages::{Crossing, Message};
use super::{Dialect, Link, Request, State};
use crate::kind::Kind;
use crate::transaction::{AccessReply, AgentId, Response, SnoopReply, Transaction, TransactionTag};

impl<D: Dialect> Link<D> {
    /// A processor's access has come to the port.
    pub(super) fn take_from_above<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        transaction: &Transaction,
    ) -> AccessReply {
        composition.observe(now, on, Observation::Held(transaction));
        let own = Self::of(composition, on);
        let is_posted = transaction.kind.is_posted();
        own.state.loads += usize::from(!is_posted);
        own.state.waiting.push_back(Crossing { transaction: transaction.clone(), since: now });
        // Older ones that wait keep this one: what leaves now is this one alone.
        let is_taken = own.send_next_access(now).is_some();
        Self::schedule_next(composition, now, on);
        if is_taken && is_posted { AccessReply::Done } else { AccessReply::Held }
    }

    /// Sends the oldest access that waits, if the device has a buffer for it: whose it is, and whether it is
    /// posted.
    fn send_next_access(&mut self, now: Time) -> Option<((AgentId, TransactionTag), bool)> {
        let Transaction { agent, tag, kind, .. } = &self.state.waiting.front()?.transaction;
        let (access, is_posted) = ((*agent, *tag), kind.is_posted());
        if is_posted {
            self.state.free_stores = self.state.free_stores.checked_sub(1)?;
        }
        let crossing = self.state.waiting.pop_front().expect("one waits");
        self.send_down(now, Message::Access(crossing));
        Some((access, is_posted))
    }

    /// Sends accesses for which the device has buffers again.
    fn send_accesses<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        let State { returning, free_stores, .. } = &mut Self::of(composition, on).state;
        while returning.front().is_some_and(|at| *at <= now) {
            returning.pop_front();
            *free_stores += 1;
        }
        while let Some((access, is_posted)) = Self::of(composition, on).send_next_access(now) {
            if is_posted {
                let upper = Self::of(composition, on).above.0;
                answer(composition, now, upper, access, Response::default());
            }
        }
    }

    /// Does what is due at the host's end; whether anything was due.
    pub(super) fn work_at_host<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
    ) -> bool {
        let mut has_worked = false;
        Self::send_accesses(composition, now, on);
        while let Some(message) = Self::of(composition, on).state.up.arrive(now) {
            Self::arrive_at_host(composition, now, on, message);
            has_worked = true;
        }
        let own = Self::of(composition, on);
        while let Some(request) = own.state.port.pull() {
            own.send_down(now, Message::GoWritePull(request));
        }
        has_worked
    }

    fn arrive_at_host<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        message: Message,
    ) {
        let own = Self::of(composition, on);
        let upper = own.above.0;
        match message {
            Message::Request(request) => own.state.port.arrive(request),
            Message::Answer(Crossing { transaction, since }, response) => {
                own.state.loads -= 1;
                observe_end(composition, now, on, since, &transaction);
                answer(composition, now, upper, (transaction.agent, transaction.tag), response);
            }
            Message::Data(number, part, slot) => {
                let (Request { agent, block, .. }, old) = own.state.port.pulled(number);
                let Some(slot) = slot else {
                    return Directory::returns_nothing(composition, now, upper, (agent, block));
                };
                let mut data = own.state.blocks.take(slot);
                if let Some(old) = old {
                    let mut whole = own.state.blocks.take(old);
                    whole[part.start as usize..part.end as usize].copy_from_slice(&data);
                    data = whole;
                }
                let home = Transaction::carrying(agent, Kind::WriteBack, block, data);
                Directory::begin(composition, now, upper, home);
            }
            Message::Reply(agent, carried, snooped) => {
                own.state.port.answered(agent, carried.message.block);
                let supplies = snooped.supplies.map(|slot| own.state.blocks.take(slot));
                let answered = (supplies, snooped.updates_home);
                Directory::answer_from_link(composition, now, upper, (agent, carried), answered);
            }
            Message::Completion(_) => {}
            Message::HomeAnswer(Crossing { transaction, since }, slot) => {
                own.state.memory.answer(transaction.address, slot);
                observe_end(composition, now, on, since, &transaction);
                Directory::resume(composition, now, upper, transaction.address);
            }
            _ => unreachable!("it goes down"),
        }
    }

    /// The directory asks a device that is the home of a block.
    pub(super) fn ask_device<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
        transaction: &Transaction,
    ) -> SnoopReply {
        let own = Self::of(composition, on);
        match own.state.memory.ask(transaction.address) {
            Told::Answer(slot) => {
                let supplies = slot.map(|slot| own.state.blocks.take(slot));
                return SnoopReply { shares: true, supplies, ..SnoopReply::default() };
            }
            Told::Later => {}
            Told::Nothing => {
                let crossing = Crossing { transaction: transaction.clone(), since: now };
                own.send_down(now, Message::AskHome(agent, crossing));
                composition.observe(now, on, Observation::Held(transaction));
                Self::schedule_next(composition, now, on);
            }
        }
        SnoopReply { later: true, ..SnoopReply::default() }
    }

    /// The directory returns a block to the device that is its home.
    pub(super) fn return_to_device<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
        mut transaction: Transaction,
    ) {
        let own = Self::of(composition, on);
        let data = transaction.data.take().expect("a block returns");
        let slot = own.state.blocks.keep(transaction.address, data, true);
        own.send_down(now, Message::ReturnHome(agent, transaction, slot));
        Self::schedule_next(composition, now, on);
    }

    /// The directory has done with a request of a device: a GO goes to the device.
    pub(super) fn grant_request<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        &Transaction { agent, kind, address, .. }: &Transaction,
        response: &Response,
    ) {
        let own = Self::of(composition, on);
        let data = response.data.clone().filter(|data| !data.is_empty());
        let slot = data.map(|data| own.state.blocks.keep(address, data, kind != Kind::ReadOnce));
        if own.is_home(agent, address) {
            let (request, _) = own.state.port.complete(agent, address, None);
            if let Some(slot) = slot {
                let returns = Transaction::block(agent, Kind::WriteBack, address);
                own.send_down(now, Message::ReturnHome(agent, returns, slot));
            }
            return own.send_down(now, Message::Go(request, None, response.shared));
        }
        let (request, data) = own.state.port.complete(agent, address, slot);
        let message = match request.opcode.is_pulled() {
            true => Message::GoWritePull(request),
            false => Message::Go(request, data, response.shared),
        };
        own.send_down(now, message);
    }
}
