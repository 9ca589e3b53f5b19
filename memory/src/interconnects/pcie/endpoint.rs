//! The devices' end of a link.
//!
//! It issues the transactions of the devices' ports: a write is split and sent, a read is split into
//! requests, each of which needs a tag. The host's accesses to devices are in [`super::super::accesses`].

use std::collections::VecDeque;

use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use super::super::accesses::{Accesses, Asking, Brings, observe_end, serve};
use super::super::{Home, InterconnectHost, InterconnectId, Observation, ask};
use super::Pcie;
use super::packets::{Class, Content, Credits, Crossing, Order, Packet, ReadRequest, pieces};
use crate::agent::Agent;
use crate::kind::Kind;
use crate::transaction::{AccessReply, AgentId, BlockData, Response, Transaction, TransactionTag};

/// What the devices' end remembers.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Endpoint {
    /// Ports of devices that will be granted.
    pub asking: Asking,
    /// The host's accesses to devices.
    pub accesses: Accesses<Packet>,
    /// Completions behind stores that devices have not carried out, in the order of their arrival: each with the
    /// number of accesses up to the last of these.
    completions: VecDeque<(usize, Packet)>,
    free_tags: VecDeque<u16>,
    /// Requests that wait for a tag, with the times since which they do.
    untagged: VecDeque<(Time, PartOfRead)>,
    /// Requests that are under way, by tag, and the bytes that are missing.
    outstanding: Vec<(u16, PartOfRead)>,
    /// Devices' reads.
    reads: Vec<DeviceRead>,
    /// Devices' writes that wait for credits, the oldest first.
    writes: VecDeque<Transaction>,
}

impl Brings for Packet {
    fn access(&self) -> &Transaction {
        match &self.content {
            Content::Write(crossing) | Content::Load(crossing) => &crossing.transaction,
            _ => unreachable!("the host asks nothing else of devices"),
        }
    }
}

/// A transaction of a port.
type Reader = (AgentId, TransactionTag);

/// A request for a part of what a device reads.
#[derive(Clone, Copy, Hash, Debug, Serialize, Deserialize)]
struct PartOfRead {
    reader: Reader,
    address: u64,
    /// Bytes that it asks for, or that are missing.
    bytes: u32,
    is_relaxed: bool,
}

/// A read of a device, and the data that have come.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct DeviceRead {
    crossing: Crossing,
    data: BlockData,
    missing: u32,
}

impl DeviceRead {
    fn is_of(&self, reader: Reader) -> bool {
        (self.crossing.transaction.agent, self.crossing.transaction.tag) == reader
    }
}

impl Endpoint {
    /// An idle end with this many tags.
    pub fn with_tags(tags: u16) -> Self {
        Endpoint {
            asking: Asking::default(),
            accesses: Accesses::default(),
            completions: VecDeque::new(),
            free_tags: (0..tags).collect(),
            untagged: VecDeque::new(),
            outstanding: Vec::new(),
            reads: Vec::new(),
            writes: VecDeque::new(),
        }
    }

    /// Whether a transaction of a port waits for a tag or for credits; the port then issues no other.
    fn keeps_back(&self, agent: AgentId) -> bool {
        self.untagged.iter().any(|(_, part)| part.reader.0 == agent)
            || self.writes.iter().any(|write| write.agent == agent)
    }

    /// A completion has come: it passes older stores only with an attribute that lets it.
    fn keep_completion(&mut self, completion: Packet) {
        let is_before =
            |older: &Packet| older.class() == Class::Posted && !completion.order.passes(older.order);
        self.completions.push_back((self.accesses.up_to_last(is_before), completion));
    }

    /// The next completion that waits for no store.
    fn next_completion(&mut self) -> Option<Packet> {
        let may_go = self.completions.front().is_some_and(|(behind, _)| *behind == 0);
        may_go.then(|| self.completions.pop_front()).flatten().map(|(_, completion)| completion)
    }

    /// A device has carried out the oldest access.
    fn has_served(&mut self) {
        self.completions.iter_mut().for_each(|(behind, _)| *behind = behind.saturating_sub(1));
    }

    pub fn is_idle(&self) -> bool {
        self.accesses.is_idle() && self.asking.is_empty() && self.reads.is_empty() && self.writes.is_empty()
    }

    /// How many requests wait for a tag, and the address of the first.
    pub fn waiting_for_tags(&self) -> (usize, Option<(u64, Option<u16>)>) {
        (self.untagged.len(), self.untagged.front().map(|(_, part)| (part.address, None)))
    }

    /// How many requests are under way, and address and tag of the first.
    pub fn reads_under_way(&self) -> (usize, Option<(u64, Option<u16>)>) {
        (self.outstanding.len(), self.outstanding.first().map(|(tag, part)| (part.address, Some(*tag))))
    }
}

impl Pcie {
    /// A port is granted the link: what it issues is sent.
    pub(super) fn take_from_device<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        agent: AgentId,
    ) {
        if Self::of(composition, on).state.endpoint.keeps_back(agent) {
            return;
        }
        let Some(transaction) = composition.agent(agent).issue(now, on) else {
            return composition.observe(now, on, Observation::UnusedGrant(agent));
        };
        composition.observe(now, on, Observation::Held(&transaction));
        let own = Self::of(composition, on);
        match transaction.kind {
            kind if kind.fetches_block() => own.send_reads(now, transaction),
            kind if kind.carries_block() => own.send_writes(now, transaction),
            Kind::UncachedStore => own.send_interrupt(now, transaction),
            _ => unreachable!("a device behind a link keeps no copies: {transaction:?}"),
        }
        ask(composition, now, on, agent);
    }

    fn send_reads(&mut self, now: Time, transaction: Transaction) {
        let bytes = if transaction.size == 0 { self.block_bytes } else { transaction.size.into() };
        let reader = (transaction.agent, transaction.tag);
        for piece in pieces(bytes, self.max_read_request) {
            let address = transaction.address + u64::from(piece.start);
            let (bytes, is_relaxed) = (piece.end - piece.start, transaction.relaxed);
            let part = PartOfRead { reader, address, bytes, is_relaxed };
            self.state.endpoint.untagged.push_back((now, part));
        }
        let crossing = Crossing { transaction, since: now, is_last: true };
        let data = BlockData::zeroed(bytes as usize);
        self.state.endpoint.reads.push(DeviceRead { crossing, data, missing: bytes });
        self.give_tags(now);
    }

    /// Gives the free tags to requests that wait; the port of the last request that got one.
    fn give_tags(&mut self, now: Time) -> Option<AgentId> {
        let Endpoint { free_tags, untagged, outstanding, .. } = &mut self.state.endpoint;
        let mut served = None;
        while !untagged.is_empty()
            && let Some(tag) = free_tags.pop_front()
        {
            let (since, part) = untagged.pop_front().expect("one waits");
            self.statistics.tag_time.add(now - since);
            let PartOfRead { reader: (agent, _), address, bytes, is_relaxed } = part;
            let request = ReadRequest { tag, address, bytes, is_relaxed };
            outstanding.push((tag, part));
            let order = Order { id: self.id_based.then_some(agent), ..Order::STRICT };
            self.state.up.send(now, Packet { content: Content::Read(request), order, payload: 0 });
            served = Some(agent);
        }
        served
    }

    fn send_writes(&mut self, now: Time, mut transaction: Transaction) {
        let data = transaction.data.take().expect("a write carries its bytes");
        let (bytes, relaxed) = (data.len() as u32, transaction.relaxed);
        let order = Order { is_relaxed: relaxed, id: self.id_based.then_some(transaction.agent) };
        self.state.endpoint.writes.push_back(transaction.clone());
        for piece in pieces(bytes, self.write_bytes()) {
            let own = BlockData::from_bytes(&data[piece.start as usize..piece.end as usize]);
            let address = transaction.address + u64::from(piece.start);
            let part = Transaction::carrying(transaction.agent, transaction.kind, address, own);
            let transaction = Transaction { relaxed, ..part };
            let crossing = Crossing { transaction, since: now, is_last: piece.end == bytes };
            let last = Packet { content: Content::Write(crossing), order, payload: piece.end - piece.start };
            let (most, up) = (self.max_payload, &mut self.state.up);
            send_in_parts(last, most, |packet| up.send(now, packet));
        }
    }

    /// A message that interrupts a processor is a memory write behind all others (PCI Express Base
    /// Specification 6.0, Section 6.1.4).
    fn send_interrupt(&mut self, now: Time, transaction: Transaction) {
        self.state.endpoint.writes.push_back(transaction.clone());
        let payload = payload_of(&transaction);
        let order = Order { id: self.id_based.then_some(transaction.agent), ..Order::STRICT };
        let content = Content::Interrupt(Crossing { transaction, since: now, is_last: true });
        self.state.up.send(now, Packet { content, order, payload });
    }

    /// The oldest `count` writes of devices are on the wires, and complete for their devices.
    pub(super) fn end_writes<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        count: u32,
    ) {
        for _ in 0..count {
            let write = Self::of(composition, on).state.endpoint.writes.pop_front().expect("it was sent");
            composition.agent(write.agent).complete(now, on, &write, &Response::default());
            ask(composition, now, on, write.agent);
        }
    }

    /// Does what is due at the devices' end; whether anything was due.
    pub(super) fn work_at_endpoint<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
    ) -> bool {
        let mut has_worked = false;
        while let Some(packet) = Self::of(composition, on).state.down.arrive(now) {
            Self::arrive_at_endpoint(composition, now, on, packet);
            has_worked = true;
        }
        while Self::give_answer(composition, now, on)
            || Self::give_completion(composition, now, on)
            || Self::serve(composition, now, on)
        {
            has_worked = true;
        }
        has_worked
    }

    fn arrive_at_endpoint<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        packet: Packet,
    ) {
        let own = Self::of(composition, on);
        let (class, cost) = (packet.class(), packet.cost());
        match packet.content {
            Content::Write(_) | Content::Load(_) => return own.state.endpoint.accesses.arrive(packet),
            Content::Data(..) => return own.state.endpoint.keep_completion(packet),
            Content::Part(_) => {}
            Content::Answer(..) | Content::Read(_) | Content::Interrupt(_) => unreachable!("it goes up"),
        }
        let Pcie { state, link, .. } = Self::of(composition, on);
        state.down.free(now, class, cost, link);
    }

    /// Gives the next completion to its device, if it has not to wait; whether there was one.
    fn give_completion<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) -> bool {
        let Some(packet) = Self::of(composition, on).state.endpoint.next_completion() else { return false };
        let (class, cost) = (packet.class(), packet.cost());
        if let Content::Data(tag, address, data) = &packet.content {
            Self::receive(composition, now, on, (*tag, *address), data);
        }
        let Pcie { state, link, .. } = Self::of(composition, on);
        state.down.free(now, class, cost, link);
        true
    }

    /// A completion for a device's read is there.
    fn receive<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        (tag, address): (u16, u64),
        data: &BlockData,
    ) {
        let own = Self::of(composition, on);
        let Endpoint { outstanding, reads, free_tags, .. } = &mut own.state.endpoint;
        let of_tag = outstanding.iter().position(|(other, _)| *other == tag).expect("it was asked for");
        let reader = outstanding[of_tag].1.reader;
        outstanding[of_tag].1.bytes -= data.len() as u32;
        if outstanding[of_tag].1.bytes == 0 {
            outstanding.remove(of_tag);
            free_tags.push_back(tag);
        }
        let place = reads.iter().position(|read| read.is_of(reader)).expect("it is under way");
        let read = &mut reads[place];
        let offset = (address - read.crossing.transaction.address) as usize;
        read.data[offset..offset + data.len()].copy_from_slice(data);
        read.missing -= data.len() as u32;
        let finished = (read.missing == 0).then(|| reads.remove(place));
        if let Some(served) = own.give_tags(now) {
            ask(composition, now, on, served);
        }
        if let Some(DeviceRead { crossing, data, .. }) = finished {
            observe_end(composition, now, on, crossing.since, &crossing.transaction);
            let response = Response { data: Some(data), ..Response::default() };
            composition.agent(crossing.transaction.agent).complete(now, on, &crossing.transaction, &response);
        }
    }

    /// Begins the oldest access, or carries it out if its time has come; whether one is over.
    fn serve<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) -> bool {
        let served = serve(
            composition,
            now,
            |composition| &mut Self::of(composition, on).state.endpoint.accesses,
            |composition, address| Self::of(composition, on).homes.home(address),
        );
        let Some((packet, reply, response)) = served else { return false };
        Self::of(composition, on).state.endpoint.has_served();
        let (class, cost) = (packet.class(), packet.cost());
        if class == Class::Posted {
            if let Content::Write(crossing) = &packet.content {
                observe_end(composition, now, on, crossing.since, &crossing.transaction);
            }
            let Pcie { state, link, .. } = Self::of(composition, on);
            state.down.free(now, class, cost, link);
        }
        let own = Self::of(composition, on);
        match (reply, packet.content) {
            (AccessReply::Held, content) => own.state.endpoint.accesses.hold(Packet { content, ..packet }),
            (AccessReply::Done, Content::Load(crossing)) => own.send_answer(now, crossing, response),
            (AccessReply::Done, _) => {}
        }
        true
    }

    /// Sends a load's answer, and frees the buffer of its request.
    fn send_answer(&mut self, now: Time, crossing: Crossing, response: Response) {
        let id = self.id_based.then(|| self.homes.home(crossing.transaction.address)).and_then(Home::agent);
        let payload = payload_of(&crossing.transaction);
        let order = Order { id, ..Order::STRICT };
        let last = Packet { content: Content::Answer(crossing, response), order, payload };
        let (most, Pcie { state, link, .. }) = (self.max_payload, self);
        send_in_parts(last, most, |packet| state.up.send(now, packet));
        state.down.free(now, Class::NonPosted, Credits { headers: 1, data: 0 }, link);
    }

    /// Passes on the next answer of a device to an access that it has held; whether there was one.
    fn give_answer<C: InterconnectHost>(composition: &mut C, now: Time, on: InterconnectId) -> bool {
        let own = Self::of(composition, on);
        let Some((packet, response)) = own.state.endpoint.accesses.next_answer(now) else { return false };
        if let Content::Load(crossing) = packet.content {
            own.send_answer(now, crossing, response);
        }
        true
    }
}

/// The payload of an access, in whole words of four bytes.
pub(super) fn payload_of(transaction: &Transaction) -> u32 {
    u32::from(transaction.size).next_multiple_of(4).max(4)
}

/// Sends a packet whose payload may be too long in packets of at most `most`; the last one carries the content.
pub(super) fn send_in_parts(mut last: Packet, most: u32, mut send: impl FnMut(Packet)) {
    while last.payload > most {
        send(Packet { content: Content::Part(last.class()), order: last.order, payload: most });
        last.payload -= most;
    }
    send(last);
}
