//! The host's end of a link: the root complex, an agent of the host's interconnect.
//!
//! ```text
//!   from the link ─► arrivals, in order ─┬─ write: its blocks, one after the other; what is behind it waits
//!                                        ├─ read request: begins; its blocks are read in parallel
//!                                        ├─ answer: goes to the processor
//!                                        └─ interrupt: goes to the processor, when older writes are in memory
//! ```
//!
//! So only a write delays what is behind it, unless that has attributes by which it passes the write
//! ([`super::packets::Order`]), and only writes delay a write: a read leaves `arrivals`
//! when it begins. One transaction of a block is under way at a time. How a write reaches memory is
//! in [`super::writes`].

use std::collections::VecDeque;

use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use super::super::accesses::observe_end;
use super::super::{InterconnectHost, InterconnectId, Observation, answer};
use super::Pcie;
use super::endpoint::{payload_of, send_in_parts};
use super::packets::{Class, Content, Credits, Crossing, Order, Packet, ReadRequest, completion_end};
use super::writes::Writes;
use crate::interrupt::Interrupt;
use crate::kind::Kind;
use crate::transaction::{
    AccessReply, AgentId, BlockData, LARGEST_TRANSFER_BYTES, Response, Transaction, TransactionTag,
};

/// What the root complex remembers.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) struct RootComplex {
    /// Packets that have come from the link with their numbers, the oldest first.
    arrivals: VecDeque<(u64, Packet)>,
    /// The number of the next one.
    next_number: u64,
    /// How many of them may pass writes and are none.
    passing: usize,
    /// The blocks of the writes among them.
    writes: Writes,
    /// Reads on which it works until then; some may be translated before older ones.
    coming: Vec<(Time, ReadRequest)>,
    /// Reads that have begun.
    reads: Vec<HostRead>,
    /// Blocks of its transactions that are under way.
    under_way: Vec<u64>,
    /// Processors' stores that wait for credits, or are about to get them.
    stores: VecDeque<(AgentId, TransactionTag)>,
    /// Processors' loads that wait for their answers.
    loads: usize,
}

/// A read that has begun: whole blocks are read, whatever part of them is asked for.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct HostRead {
    request: ReadRequest,
    /// The first block's address.
    first: u64,
    /// The bytes of all its blocks.
    data: BlockData,
    /// Bytes whose blocks have been asked for.
    issued: u32,
    /// The blocks that have been read.
    blocks: BlockSet,
    /// Bytes of blocks from the first one on that have been read.
    there: u32,
    /// Bytes that have been sent.
    sent: u32,
}

impl HostRead {
    fn new(request: ReadRequest, block_bytes: u32) -> Self {
        let block_bytes = u64::from(block_bytes);
        let first = request.address / block_bytes * block_bytes;
        let span = (request.address + u64::from(request.bytes)).next_multiple_of(block_bytes) - first;
        HostRead {
            request,
            first,
            data: BlockData::zeroed(span as usize),
            issued: 0,
            blocks: BlockSet::default(),
            there: 0,
            sent: 0,
        }
    }

    /// Bytes of its first block that nobody asks for.
    fn lead(&self) -> u32 {
        (self.request.address - self.first) as u32
    }
}

/// Blocks of a read, by their numbers: the smallest block has 16 bytes.
#[derive(Clone, Copy, Hash, Debug, Default, Serialize, Deserialize)]
struct BlockSet([u64; LARGEST_TRANSFER_BYTES / 16 / 64]);

impl BlockSet {
    fn add(&mut self, block: u32) {
        self.0[block as usize / 64] |= 1 << (block % 64);
    }

    fn has(&self, block: u32) -> bool {
        self.0.get(block as usize / 64).is_some_and(|word| word >> (block % 64) & 1 == 1)
    }
}

/// What the root complex issues next.
pub(super) enum Next {
    /// For the block at this place among those of writes.
    Write(usize),
    /// A block of the read at this place.
    Read(usize),
}

impl RootComplex {
    /// An idle one; how many blocks of writes it obtains ahead, if it does.
    pub fn new(writes_ahead: Option<u32>) -> Self {
        RootComplex {
            arrivals: VecDeque::new(),
            next_number: 0,
            passing: 0,
            writes: Writes::new(writes_ahead),
            coming: Vec::new(),
            reads: Vec::new(),
            under_way: Vec::new(),
            stores: VecDeque::new(),
            loads: 0,
        }
    }

    /// Begins what it has worked on until now.
    fn advance(&mut self, now: Time, block_bytes: u32) {
        self.writes.advance(now);
        while let Some(place) = self.coming.iter().position(|(ready, _)| *ready <= now) {
            let (_, request) = self.coming.remove(place);
            self.reads.push(HostRead::new(request, block_bytes));
        }
    }

    /// When it next begins something.
    pub fn next_time(&self) -> Option<Time> {
        self.coming.iter().map(|(ready, _)| *ready).chain(self.writes.next_time()).min()
    }

    /// A packet has come; of a write, the root complex has worked on it at `ready`.
    fn arrive(&mut self, packet: Packet, ready: Time, block_bytes: u32) {
        match &packet.content {
            Content::Write(Crossing { transaction, .. }) => {
                self.writes.arrive(ready, (self.next_number, packet.order), transaction, block_bytes);
            }
            _ => self.passing += usize::from(packet.order != Order::STRICT),
        }
        self.arrivals.push_back((self.next_number, packet));
        self.next_number += 1;
    }

    /// Takes the oldest arrival that waits for no write. A write stays until it is in the host's memory.
    fn take(&mut self) -> Option<Packet> {
        let is_write = |packet: &Packet| matches!(packet.content, Content::Write(_));
        let place = match self.arrivals.front()? {
            (_, front) if !is_write(front) => 0,
            _ if self.passing == 0 => return None,
            _ => {
                let older = |place| self.arrivals.range(..place).map(|(_, older)| older);
                let may_go = |(place, (_, packet)): (usize, &(u64, Packet))| {
                    !is_write(packet) && packet.passes_writes(older(place))
                };
                self.arrivals.iter().enumerate().position(may_go)?
            }
        };
        let (_, taken) = self.arrivals.remove(place)?;
        self.passing -= usize::from(taken.order != Order::STRICT);
        Some(taken)
    }

    /// The place of the arrival with this number, which is there.
    fn place_of(&self, number: u64) -> usize {
        self.arrivals.partition_point(|(own, _)| *own < number)
    }

    /// What it issues next, if anything.
    pub fn next(&self) -> Option<Next> {
        let is_free = |block: u64| !self.under_way.contains(&block);
        if let Some(place) = self.writes.next(is_free) {
            return Some(Next::Write(place));
        }
        let is_next = |read: &HostRead| {
            let block = read.first + u64::from(read.issued);
            (read.issued as usize) < read.data.len() && is_free(block) && !self.writes.has_begun(block)
        };
        self.reads.iter().position(is_next).map(Next::Read)
    }

    /// Its next transaction, in the name of its agent.
    pub fn issue(&mut self, agent: AgentId, block_bytes: u32) -> Option<Transaction> {
        let transaction = match self.next()? {
            Next::Write(place) => {
                let (_, packet) = &self.arrivals[self.place_of(self.writes.write_of(place))];
                let Content::Write(write) = &packet.content else { unreachable!("it is a write's number") };
                let data = write.transaction.data.as_ref().expect("a write carries its bytes");
                self.writes.issue(place, data, agent)
            }
            Next::Read(place) => {
                let HostRead { first, issued, .. } = &mut self.reads[place];
                let address = *first + u64::from(*issued);
                *issued += block_bytes;
                Transaction::block(agent, Kind::ReadOnce, address)
            }
        };
        self.under_way.push(transaction.address);
        Some(transaction)
    }

    /// A block that it has read is there: the place of its read among `reads`.
    fn receive(&mut self, block: u64, data: &BlockData) -> usize {
        let block_bytes = data.len() as u32;
        let number = |read: &HostRead| (block.wrapping_sub(read.first) / data.len() as u64) as u32;
        let asked = |read: &HostRead| {
            let offset = block.checked_sub(read.first);
            offset.is_some_and(|offset| offset < read.issued.into()) && !read.blocks.has(number(read))
        };
        let place = self.reads.iter().position(asked).expect("it was asked for");
        let read = &mut self.reads[place];
        let number = number(read);
        read.blocks.add(number);
        let start = (number * block_bytes) as usize;
        read.data[start..start + data.len()].copy_from_slice(data);
        while (read.there as usize) < read.data.len() && read.blocks.has(read.there / block_bytes) {
            read.there += block_bytes;
        }
        place
    }

    pub fn is_idle(&self) -> bool {
        let is_still = self.arrivals.is_empty()
            && self.coming.is_empty()
            && self.reads.is_empty()
            && self.under_way.is_empty();
        is_still && self.stores.is_empty() && self.loads == 0
    }

    pub fn loads_under_way(&self) -> usize {
        self.loads
    }

    pub fn coming(&self) -> usize {
        self.coming.len()
    }

    pub fn writes_here(&self) -> usize {
        self.arrivals.iter().filter(|(_, packet)| matches!(packet.content, Content::Write(_))).count()
    }
}

impl Pcie {
    /// A processor's access has come to the root complex.
    pub(super) fn take_from_above<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        transaction: &Transaction,
    ) -> AccessReply {
        composition.observe(now, on, Observation::Held(transaction));
        let own = Self::of(composition, on);
        let crossing = Crossing { transaction: transaction.clone(), since: now, is_last: true };
        let access = (transaction.agent, transaction.tag);
        let (most, Pcie { state, link, statistics, log, .. }) = (own.max_payload, own);
        if transaction.kind.is_posted() {
            let payload = payload_of(transaction);
            state.root_complex.stores.push_back(access);
            let last = Packet { content: Content::Write(crossing), order: Order::STRICT, payload };
            send_in_parts(last, most, |packet| state.down.send(now, packet));
        } else {
            state.root_complex.loads += 1;
            let content = Content::Load(crossing);
            state.down.send(now, Packet { content, order: Order::STRICT, payload: 0 });
        }
        state.down.advance(now, link, (statistics, log));
        // Stores go in order, and older ones have gone: what was taken is this store.
        let is_taken = std::mem::take(&mut state.down.taken) > 0;
        if is_taken {
            state.root_complex.stores.pop_back();
        }
        Self::schedule_next(composition, now, on);
        if is_taken { AccessReply::Done } else { AccessReply::Held }
    }

    /// The oldest `count` stores that have waited are on the wires, and complete for their processors.
    pub(super) fn end_stores<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        count: u32,
    ) {
        for _ in 0..count {
            let own = Self::of(composition, on);
            let (upper, _) = own.above;
            let store = own.state.root_complex.stores.pop_front().expect("it was sent");
            answer(composition, now, upper, store, Response::default());
        }
    }

    /// Handles the packets that have come from the link; whether there were any.
    pub(super) fn work_at_root_complex<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
    ) -> bool {
        let mut has_worked = false;
        while let Some(packet) = Self::of(composition, on).state.up.arrive(now) {
            let own = Self::of(composition, on);
            let ready = match &packet.content {
                Content::Write(Crossing { transaction, .. }) => {
                    let bytes = transaction.data.as_ref().map_or(0, |data| data.len() as u32);
                    own.translated(now, transaction.address, bytes)
                }
                _ => now,
            };
            own.state.root_complex.arrive(packet, ready, own.block_bytes);
        }
        while let Some(packet) = Self::of(composition, on).state.root_complex.take() {
            Self::arrive_at_root_complex(composition, now, on, packet);
            has_worked = true;
        }
        let Pcie { state, block_bytes, .. } = Self::of(composition, on);
        state.root_complex.advance(now, *block_bytes);
        has_worked
    }

    /// When the root complex has worked on what arrives now: it knows the host's addresses, and may ask for
    /// the first block.
    fn translated(&mut self, now: Time, address: u64, bytes: u32) -> Time {
        let known = self.iommu.as_mut().map_or(now, |iommu| iommu.translate(now, address, bytes));
        known + self.host_time
    }

    fn arrive_at_root_complex<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        packet: Packet,
    ) {
        let own = Self::of(composition, on);
        let upper = own.above.0;
        let (class, cost) = (packet.class(), packet.cost());
        match packet.content {
            Content::Read(request) => {
                let ready = own.translated(now, request.address, request.bytes);
                own.state.root_complex.coming.push((ready, request));
            }
            Content::Part(_) => own.state.up.free(now, class, cost, &own.link),
            Content::Answer(crossing, response) => {
                own.state.up.free(now, class, cost, &own.link);
                own.state.root_complex.loads -= 1;
                observe_end(composition, now, on, crossing.since, &crossing.transaction);
                let access = (crossing.transaction.agent, crossing.transaction.tag);
                answer(composition, now, upper, access, response);
            }
            // The older writes that it does not pass are in memory.
            Content::Interrupt(crossing) => {
                own.state.up.free(now, class, cost, &own.link);
                let at = now + own.host_time;
                observe_end(composition, now, on, crossing.since, &crossing.transaction);
                let message = Interrupt::of(&crossing.transaction);
                composition.interrupt(at, crossing.transaction.agent, message);
            }
            _ => unreachable!("it goes down, or stays"),
        }
    }

    /// A transaction of the root complex is over.
    pub(super) fn end_above<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        transaction: &Transaction,
        response: &Response,
    ) {
        let own = Self::of(composition, on);
        own.state.root_complex.under_way.retain(|&block| block != transaction.address);
        if transaction.kind == Kind::ReadOnce {
            let data = response.data.as_ref().expect("it is what was read");
            let place = own.state.root_complex.receive(transaction.address, data);
            return own.send_data(now, place);
        }
        let Pcie { state, link, .. } = own;
        let Some(number) = state.root_complex.writes.complete(transaction, response) else { return };
        let place = state.root_complex.place_of(number);
        let (_, over) = state.root_complex.arrivals.remove(place).expect("it stays until now");
        state.up.free(now, Class::Posted, over.cost(), link);
        if let Content::Write(crossing) = over.content {
            observe_end(composition, now, on, crossing.since, &crossing.transaction);
        }
    }

    /// Sends the completions of a read that may be sent.
    fn send_data(&mut self, now: Time, place: usize) {
        let Pcie { boundary, max_payload, state, link, .. } = self;
        let read = &mut state.root_complex.reads[place];
        let (request, lead) = (read.request, read.lead());
        let there = read.there.saturating_sub(lead).min(request.bytes);
        while let Some(end) = completion_end(request, (read.sent, there), (*boundary, *max_payload)) {
            let part = (lead + read.sent) as usize..(lead + end) as usize;
            let bytes = BlockData::from_bytes(&read.data[part]);
            let content = Content::Data(request.tag, request.address + u64::from(read.sent), bytes);
            let order = Order { is_relaxed: request.is_relaxed, ..Order::STRICT };
            state.down.send(now, Packet { content, order, payload: end - read.sent });
            read.sent = end;
        }
        if read.sent == request.bytes {
            state.root_complex.reads.remove(place);
            state.up.free(now, Class::NonPosted, Credits { headers: 1, data: 0 }, link);
        }
    }
}
