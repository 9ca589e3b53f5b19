//! The devices' end: requests of their ports, answers of their caches, and their registers.
//!
//! A transaction of a port becomes a request for each of its blocks, of which each needs a number (CQID). A
//! port issues nothing while a request of an earlier transaction has none.

use std::collections::VecDeque;
use std::ops::Range;

use narthex_kernel::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::super::accesses::{Accesses, Asking, observe_end, serve};
use super::super::{Home, InterconnectHost, InterconnectId, Observation, ask};
use super::messages::{Channel, Crossing, Message, Snooped, forwarded_kind};
use super::{Dialect, Evictions, Link, Opcode, Request};
use crate::agent::Agent;
use crate::directory::{BufferAction, Carried, Slot};
use crate::kind::Kind;
use crate::transaction::{AccessReply, AgentId, BlockData, Response, Transaction, TransactionTag};

/// What the devices' end remembers.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) struct DeviceEnd {
    /// Ports that will be granted.
    pub asking: Asking,
    /// Ports that will be when a request has got a number.
    kept_back: Vec<AgentId>,
    /// The host's accesses to devices.
    pub accesses: Accesses<Crossing>,
    /// Numbers that no request has.
    free: VecDeque<u8>,
    /// Parts of transactions that have no number yet.
    unsent: VecDeque<Part>,
    /// Requests under way, by their numbers.
    sent: Vec<(u8, Part)>,
    /// The transactions to which they belong.
    transfers: Vec<Transfer>,
    /// Dirty blocks that were given up.
    evictions: Evictions<Slot>,
    /// Requests of the host that a device holds which is the home of their blocks.
    pub held: Vec<(AgentId, Crossing)>,
    /// Answers to snoops, with the times at which the caches have them.
    pub later: Vec<(Time, Message)>,
}

/// A block, or a part of one, of a transaction.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Part {
    of: (AgentId, TransactionTag),
    kind: Kind,
    block: u64,
    /// Which bytes of the block, and where they are in the transaction.
    bytes: Range<u32>,
    start: u32,
}

/// A transaction of a port.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Transfer {
    transaction: Transaction,
    since: Time,
    /// What it has read or what it writes.
    data: Option<BlockData>,
    /// Parts that are not granted yet.
    missing: u32,
    shared: bool,
}

impl DeviceEnd {
    /// An idle end with numbers for so many requests.
    pub fn with_numbers(count: u8) -> Self {
        DeviceEnd {
            asking: Asking::default(),
            kept_back: Vec::new(),
            accesses: Accesses::default(),
            free: (0..count).collect(),
            unsent: VecDeque::new(),
            sent: Vec::new(),
            transfers: Vec::new(),
            evictions: Evictions::default(),
            held: Vec::new(),
            later: Vec::new(),
        }
    }

    /// When it next does something by itself.
    pub fn next_time(&self) -> Option<Time> {
        self.later.iter().map(|(at, _)| *at).chain(self.accesses.next_time()).min()
    }

    pub fn is_idle(&self) -> bool {
        self.accesses.is_idle()
            && self.asking.is_empty()
            && self.transfers.is_empty()
            && self.evictions.is_empty()
            && self.held.is_empty()
            && self.later.is_empty()
    }

    /// Requests under way.
    pub fn requests(&self) -> usize {
        self.sent.len()
    }

    /// The part with this number, which is granted: it is free for another one.
    pub fn granted(&mut self, number: u8) -> Part {
        let place = self.sent.iter().position(|(own, _)| *own == number).expect("it was sent");
        self.free.push_back(number);
        self.sent.remove(place).1
    }

    /// The place of a part's transaction.
    fn transfer(&self, part: &Part) -> usize {
        let is_it = |own: &Transfer| (own.transaction.agent, own.transaction.tag) == part.of;
        self.transfers.iter().position(is_it).expect("it is under way")
    }
}

impl<D: Dialect> Link<D> {
    /// A port is granted the link: what it issues is sent.
    pub(super) fn take_from_device<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
    ) {
        let device = &mut Self::of(composition, on).state.device;
        if device.free.is_empty() || !device.unsent.is_empty() {
            return device.kept_back.push(agent);
        }
        let Some(mut transaction) = composition.agent(agent).issue(now, on) else {
            return composition.observe(now, on, Observation::UnusedGrant(agent));
        };
        if transaction.kind == Kind::WriteBack {
            return Self::give_up(composition, now, on, transaction);
        }
        composition.observe(now, on, Observation::Held(&transaction));
        let own = Self::of(composition, on);
        let bytes = if transaction.size == 0 { own.block_bytes } else { transaction.size.into() };
        let data = match transaction.kind {
            kind if kind.carries_block() => transaction.data.take(),
            kind if kind.fetches_block() => Some(BlockData::zeroed(bytes as usize)),
            _ => None,
        };
        let missing = own.split(&transaction, bytes);
        own.state.device.transfers.push(Transfer { transaction, since: now, data, missing, shared: false });
        own.send_parts(now);
        ask(composition, now, on, agent);
    }

    /// Splits a transaction into parts of blocks; how many.
    fn split(&mut self, transaction: &Transaction, bytes: u32) -> u32 {
        let &Transaction { agent, tag, kind, address, .. } = transaction;
        let (mut start, mut count) = (0, 0);
        while start < bytes {
            let first = ((address + u64::from(start)) % u64::from(self.block_bytes)) as u32;
            let end = self.block_bytes.min(first + bytes - start);
            let block = address + u64::from(start) - u64::from(first);
            self.state.device.unsent.push_back(Part {
                of: (agent, tag),
                kind,
                block,
                bytes: first..end,
                start,
            });
            (start, count) = (start + end - first, count + 1);
        }
        count
    }

    /// Sends requests as long as there are numbers.
    fn send_parts(&mut self, now: Time) {
        let block_bytes = self.block_bytes;
        while let DeviceEnd { free, unsent, sent, .. } = &mut self.state.device
            && let (Some(&number), Some(part)) = (free.front(), unsent.pop_front())
        {
            free.pop_front();
            let Part { of: (agent, _), kind, block, .. } = part;
            let opcode = match self.homes.find(block) == Some(Home::Agent(agent)) {
                true => Opcode::of_home(kind),
                false => Opcode::of(kind, part.bytes == (0..block_bytes)),
            };
            let request = Request { agent, number, opcode, kind, block };
            sent.push((number, part.clone()));
            let message = match opcode.is_pulled() && !D::PULLS {
                true => Message::Push(request, part.bytes.clone(), self.keep_data(&part)),
                false => Message::Request(request),
            };
            self.send_up(now, message);
        }
    }

    /// A port gives up a dirty block. It keeps no copy, and needs not wait.
    fn give_up<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        mut transaction: Transaction,
    ) {
        let Transaction { agent, kind, address: block, .. } = transaction;
        composition.agent(agent).snoop(now, &Transaction::block(agent, Kind::Invalidate, block));
        let data = transaction.data.take().expect("a write-back has bytes");
        let own = Self::of(composition, on);
        let number = own.state.device.free.pop_front().expect("a port is granted while there are numbers");
        let request = Request { agent, number, opcode: Opcode::of(kind, true), kind, block };
        let slot = own.state.blocks.keep(block, data, true);
        if D::PULLS {
            own.state.device.evictions.put(request, slot);
            own.send_up(now, Message::Request(request));
        } else {
            own.state.device.free.push_back(number);
            own.send_up(now, Message::Push(request, 0..own.block_bytes, slot));
        }
        composition.agent(agent).complete(now, on, &transaction, &Response::default());
        ask(composition, now, on, agent);
    }

    /// Does what is due at the devices' end; whether anything was due.
    pub(super) fn work_at_device<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
    ) -> bool {
        let mut has_worked = false;
        while let Some(message) = Self::of(composition, on).state.down.arrive(now) {
            Self::arrive_at_device(composition, now, on, message);
            has_worked = true;
        }
        let own = Self::of(composition, on);
        while let Some(place) = own.state.device.later.iter().position(|(at, _)| *at <= now) {
            let (_, message) = own.state.device.later.remove(place);
            match message {
                Message::Reply(..) => own.free_at_device(now, Channel::Forward),
                Message::HomeAnswer(..) => own.free_at_device(now, Channel::Request),
                _ => {}
            }
            own.send_up(now, message);
        }
        while let Some((crossing, response)) =
            Self::of(composition, on).state.device.accesses.next_answer(now)
        {
            if !crossing.transaction.kind.is_posted() {
                Self::of(composition, on).send_up(now, Message::Answer(crossing, response));
            }
        }
        while Self::serve_access(composition, now, on) {}
        has_worked
    }

    fn arrive_at_device<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        message: Message,
    ) {
        if message.channel() == Some(Channel::Response) {
            Self::of(composition, on).free_at_device(now, Channel::Response);
        }
        match message {
            Message::Access(crossing) => Self::of(composition, on).state.device.accesses.arrive(crossing),
            Message::Snoop(agent, carried) => Self::snoop_device(composition, now, on, agent, carried),
            Message::AskHome(agent, crossing) => Self::ask_home_here(composition, now, on, agent, crossing),
            Message::ReturnHome(agent, transaction, slot) => {
                Self::return_home_here(composition, now, on, agent, (transaction, slot));
            }
            Message::Go(request, slot, shared) if request.opcode.is_back_invalidation() => {
                Self::end_back_invalidation(composition, now, on, request, (slot, shared));
            }
            Message::Go(request, slot, shared) => {
                let own = Self::of(composition, on);
                let data = slot.map(|slot| own.state.blocks.take(slot));
                let part = own.state.device.granted(request.number);
                own.receive(&part, data, shared);
                Self::end_part(composition, now, on, &part);
            }
            Message::GoWritePull(request) if request.opcode == Opcode::DirtyEvict => {
                let own = Self::of(composition, on);
                let (slot, is_newest) = own.state.device.evictions.pull(request);
                if !is_newest {
                    own.state.blocks.take(slot);
                }
                let slot = is_newest.then_some(slot);
                own.state.device.free.push_back(request.number);
                own.send_up(now, Message::Data(request.number, 0..own.block_bytes, slot));
                Self::use_numbers(composition, now, on);
            }
            Message::GoWritePull(request) => {
                let own = Self::of(composition, on);
                let part = own.state.device.granted(request.number);
                own.send_data(now, request, &part);
                Self::end_part(composition, now, on, &part);
            }
            _ => unreachable!("it goes up"),
        }
    }

    /// A device's transaction gets the bytes of a part.
    pub(super) fn receive(&mut self, part: &Part, data: Option<BlockData>, shared: bool) {
        let place = self.state.device.transfer(part);
        let transfer = &mut self.state.device.transfers[place];
        transfer.shared |= shared;
        let Some(block) = data else { return };
        let of_block = part.bytes.start as usize..part.bytes.end as usize;
        match &mut transfer.data {
            Some(data) if data.len() > block.len() || of_block.len() < block.len() => {
                let start = part.start as usize;
                data[start..start + of_block.len()].copy_from_slice(&block[of_block]);
            }
            whole => *whole = Some(block),
        }
    }

    /// The data of a part that is granted go to the host.
    fn send_data(&mut self, now: Time, Request { number, .. }: Request, part: &Part) {
        let slot = self.keep_data(part);
        self.send_up(now, Message::Data(number, part.bytes.clone(), Some(slot)));
    }

    /// The data of a part leave its transaction.
    fn keep_data(&mut self, part: &Part) -> Slot {
        let place = self.state.device.transfer(part);
        let data = self.state.device.transfers[place].data.as_ref().expect("a write has bytes");
        let start = part.start as usize;
        let bytes = BlockData::from_bytes(&data[start..start + part.bytes.len()]);
        let is_whole = bytes.len() == self.block_bytes as usize;
        self.state.blocks.keep(part.block + u64::from(part.bytes.start), bytes, is_whole)
    }

    /// A part is granted: with the last one, its transaction is over.
    pub(super) fn end_part<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        part: &Part,
    ) {
        let device = &mut Self::of(composition, on).state.device;
        let place = device.transfer(part);
        device.transfers[place].missing -= 1;
        if device.transfers[place].missing == 0 {
            let Transfer { transaction, since, data, shared, .. } = device.transfers.remove(place);
            let data = data.filter(|_| !transaction.kind.carries_block());
            observe_end(composition, now, on, since, &transaction);
            let response = Response { data, shared, ..Response::default() };
            composition.agent(transaction.agent).complete(now, on, &transaction, &response);
            ask(composition, now, on, transaction.agent);
        }
        Self::use_numbers(composition, now, on);
    }

    /// A number is free: requests that wait get it, or ports may issue again.
    fn use_numbers<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) {
        let own = Self::of(composition, on);
        own.send_parts(now);
        if own.state.device.unsent.is_empty() {
            for agent in std::mem::take(&mut own.state.device.kept_back) {
                ask(composition, now, on, agent);
            }
        }
    }

    /// The directory tells a device of another agent's transaction. A block on its way home answers
    /// by the directory's table, a copy by the device's own.
    fn snoop_device<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
        carried: Carried,
    ) {
        let (kind, block) = (forwarded_kind(&carried), carried.message.block);
        let own = Self::of(composition, on);
        let table = own.table;
        let (snooped, delay) = match own.state.device.evictions.snooped(table, (agent, block), kind) {
            Some(Err(unexpected)) => {
                panic!("{}: {unexpected}; coherence has been broken before", table.stable.name)
            }
            Some(Ok(answer)) => (own.answer_on_way_home(kind, block, answer), Duration::ZERO),
            None => {
                let transaction = Transaction::block(carried.message.requester, kind, block);
                let reply = composition.agent(agent).snoop(now, &transaction);
                let blocks = &mut Self::of(composition, on).state.blocks;
                let supplies = reply.supplies.map(|data| blocks.keep(block, data, kind != Kind::ReadOnce));
                let snooped = Snooped { supplies, updates_home: reply.updates_home, shares: reply.shares };
                (snooped, if supplies.is_some() { reply.delay } else { Duration::ZERO })
            }
        };
        Self::of(composition, on)
            .state
            .device
            .later
            .push((now + delay, Message::Reply(agent, carried, snooped)));
    }

    /// What a block on its way home answers to a snoop.
    pub(super) fn answer_on_way_home(
        &mut self,
        kind: Kind,
        block: u64,
        (slot, action): (Slot, BufferAction),
    ) -> Snooped {
        let blocks = &mut self.state.blocks;
        if !action.is_owner {
            blocks.outdate(slot);
        }
        let data = blocks.get(slot).clone();
        let supplies = action.supplies.then(|| blocks.keep(block, data, kind != Kind::ReadOnce));
        Snooped { supplies, updates_home: action.updates_home, shares: false }
    }

    /// Begins the oldest access, or carries it out if its time has come; whether one is over.
    fn serve_access<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) -> bool {
        let served = serve(
            composition,
            now,
            |composition| &mut Self::of(composition, on).state.device.accesses,
            |composition, address| Self::of(composition, on).homes.home(address),
        );
        let Some((crossing, reply, response)) = served else { return false };
        let is_posted = crossing.transaction.kind.is_posted();
        if is_posted {
            observe_end(composition, now, on, crossing.since, &crossing.transaction);
            let own = Self::of(composition, on);
            own.state.returning.push_back(now + own.wires.credit_latency);
        }
        let own = Self::of(composition, on);
        match reply {
            AccessReply::Held => own.state.device.accesses.hold(crossing),
            AccessReply::Done if is_posted => {}
            AccessReply::Done => own.send_up(now, Message::Answer(crossing, response)),
        }
        true
    }
}
