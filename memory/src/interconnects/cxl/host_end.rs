//! The host's port: a requester of the directory for the devices, and the home of their registers.

use std::ops::Range;

use narthex_kernel::Time;

use super::super::accesses::observe_end;
use super::super::directory::Directory;
use super::super::{InterconnectHost, InterconnectId, Observation, answer};
use super::memory_port::Told;
use super::messages::{Channel, Crossing, Message, Snooped, forwarded_kind};
use super::{Dialect, Link, Opcode, Request, State};
use crate::directory::{Carried, Slot};
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
        while let Some(request) = Self::of(composition, on).state.port.pull() {
            Self::take_write_back(composition, now, on, request);
        }
        has_worked
    }

    /// A write-back of a device may go home: its bytes are pulled, or here.
    fn take_write_back<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        request: Request,
    ) {
        let own = Self::of(composition, on);
        if D::PULLS {
            return own.send_down(now, Message::GoWritePull(request));
        }
        let (slot, is_newest) = own.state.evicted.pull(request);
        let whole = 0..own.block_bytes;
        match is_newest {
            true => Self::take_home(composition, now, on, request.number, (whole, slot)),
            false => {
                own.state.port.pulled(request.number);
                own.state.blocks.take(slot);
            }
        }
    }

    /// The bytes of a request are here, and go home.
    fn take_home<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        number: u8,
        (part, slot): (Range<u32>, Slot),
    ) {
        let own = Self::of(composition, on);
        let upper = own.above.0;
        let (Request { agent, block, .. }, old) = own.state.port.pulled(number);
        let mut data = own.state.blocks.take(slot);
        if let Some(old) = old {
            let mut whole = own.state.blocks.take(old);
            whole[part.start as usize..part.end as usize].copy_from_slice(&data);
            data = whole;
        }
        let home = Transaction::carrying(agent, Kind::WriteBack, block, data);
        Directory::begin(composition, now, upper, home);
    }

    /// What a device has answered to a snoop; a block of it that is here, on its way home, answers instead.
    fn answered_by_device(&mut self, agent: AgentId, carried: &Carried, snooped: Snooped) -> Snooped {
        let (kind, block) = (forwarded_kind(carried), carried.message.block);
        match self.state.evicted.snooped(self.table, (agent, block), kind) {
            None => snooped,
            Some(Ok(answer)) => {
                // A cache that answers and then returns its block may take its time for the answer.
                if let Some(slot) = snooped.supplies {
                    self.state.blocks.take(slot);
                }
                self.answer_on_way_home(kind, block, answer)
            }
            Some(Err(unexpected)) => {
                panic!("{}: {unexpected}; coherence has been broken before", self.table.stable.name)
            }
        }
    }

    fn arrive_at_host<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        message: Message,
    ) {
        let own = Self::of(composition, on);
        let upper = own.above.0;
        if message.channel() == Some(Channel::Response) {
            own.free_at_host(now, Channel::Response);
        }
        match message {
            Message::Request(request) => own.state.port.arrive(request),
            Message::Push(request, part, slot) => {
                own.state.port.arrive(request);
                match request.opcode {
                    Opcode::DirtyEvict => own.state.evicted.put(request, slot),
                    _ => own.state.pushed.push((request.number, part, slot)),
                }
            }
            Message::Answer(Crossing { transaction, since }, response) => {
                own.state.loads -= 1;
                observe_end(composition, now, on, since, &transaction);
                answer(composition, now, upper, (transaction.agent, transaction.tag), response);
            }
            Message::Data(number, part, Some(slot)) => {
                Self::take_home(composition, now, on, number, (part, slot));
            }
            Message::Data(number, _, None) => {
                let (Request { agent, block, .. }, _) = own.state.port.pulled(number);
                Directory::returns_nothing(composition, now, upper, (agent, block));
            }
            Message::Reply(agent, carried, snooped) => {
                own.state.port.answered(agent, carried.message.block);
                let snooped = own.answered_by_device(agent, &carried, snooped);
                let supplies = snooped.supplies.map(|slot| own.state.blocks.take(slot));
                let answered = (supplies, snooped.updates_home);
                Directory::answer_from_link(composition, now, upper, (agent, carried), answered);
            }
            Message::Completion(_) => {}
            Message::HomeAnswer(Crossing { transaction, since }, slot) => {
                own.state.memory.answer(transaction.address, slot);
                observe_end(composition, now, on, since, &transaction);
                Directory::go_on_with_held(composition, now, upper, transaction.address);
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
            own.free_at_host(now, Message::channel_of(request));
            if !D::PULLS {
                return own.send_down(now, Message::Go(request, slot, response.shared));
            }
            if let Some(slot) = slot {
                let returns = Transaction::block(agent, Kind::WriteBack, address);
                own.send_down(now, Message::ReturnHome(agent, returns, slot));
            }
            return own.send_down(now, Message::Go(request, None, response.shared));
        }
        let (request, data) = own.state.port.complete(agent, address, slot);
        own.free_at_host(now, Message::channel_of(request));
        match request.opcode.is_pulled() {
            true if D::PULLS => own.send_down(now, Message::GoWritePull(request)),
            true => {
                own.send_down(now, Message::Go(request, None, false));
                let place = own.state.pushed.iter().position(|(number, ..)| *number == request.number);
                let (number, part, slot) =
                    own.state.pushed.swap_remove(place.expect("its bytes came with it"));
                Self::take_home(composition, now, on, number, (part, slot));
            }
            false => own.send_down(now, Message::Go(request, data, response.shared)),
        }
    }
}
