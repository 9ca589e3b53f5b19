//! The host's end of a link: the root complex, an agent of the host's interconnect.
//!
//! ```text
//!   from the link ─► arrivals, in order ─┬─ write: its blocks, one after the other; what is behind it waits
//!                                        ├─ read request: begins; its blocks are read in parallel
//!                                        └─ answer: goes to the processor
//! ```
//!
//! So only a write delays what is behind it, and only writes delay a write: a read leaves `arrivals`
//! when it begins. One transaction of a block is under way at a time.

use std::collections::VecDeque;

use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use super::super::{InterconnectHost, InterconnectId, Observation, answer};
use super::Pcie;
use super::endpoint::{payload_of, send_in_parts};
use super::packets::{Class, Content, Credits, Crossing, Packet, ReadRequest, completion_end};
use crate::kind::Kind;
use crate::transaction::{
    AccessReply, AgentId, BlockData, LARGEST_TRANSFER_BYTES, Response, Transaction, TransactionTag,
};

/// What the root complex remembers.
#[derive(Clone, Hash, Debug, Default, Serialize, Deserialize)]
pub(super) struct RootComplex {
    /// Packets that have come from the link, the oldest first.
    arrivals: VecDeque<Packet>,
    /// Bytes of the first arrival that are in the host's memory, if it is a write.
    written: u32,
    /// The block of which it writes a part next: where it is while it is read, and what it was.
    merging: Option<u64>,
    rest: Option<BlockData>,
    /// Reads that have begun.
    reads: Vec<HostRead>,
    /// Blocks of its transactions that are under way.
    under_way: Vec<u64>,
    /// Processors' stores that wait for credits, or are about to get them.
    stores: VecDeque<(AgentId, TransactionTag)>,
    /// Processors' loads that wait for their answers.
    loads: usize,
}

/// A read that has begun.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct HostRead {
    request: ReadRequest,
    data: BlockData,
    /// Bytes whose blocks have been asked for.
    issued: u32,
    /// The blocks that have been read.
    blocks: BlockSet,
    /// Bytes from the beginning on that have been read.
    there: u32,
    /// Bytes that have been sent.
    sent: u32,
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
    /// A block of the oldest write.
    Write,
    /// A block of the read at this place.
    Read(usize),
}

impl RootComplex {
    /// What it issues next, if anything.
    pub fn next(&self, block_bytes: u32) -> Option<Next> {
        let is_free = |block: u64| !self.under_way.contains(&block);
        if let Some(Packet { content: Content::Write(write), .. }) = self.arrivals.front() {
            let at = write.transaction.address + u64::from(self.written);
            if is_free(at - at % u64::from(block_bytes)) {
                return Some(Next::Write);
            }
        }
        let is_next = |read: &HostRead| {
            let HostRead { request, issued, .. } = read;
            *issued < request.bytes && is_free(request.address + u64::from(*issued))
        };
        self.reads.iter().position(is_next).map(Next::Read)
    }

    /// Its next transaction, in the name of its agent.
    pub fn issue(&mut self, agent: AgentId, block_bytes: u32) -> Option<Transaction> {
        let transaction = match self.next(block_bytes)? {
            Next::Write => {
                let Some(Packet { content: Content::Write(write), .. }) = self.arrivals.front() else {
                    unreachable!("the oldest is a write")
                };
                let data = write.transaction.data.as_ref().expect("a write carries its bytes");
                let at = write.transaction.address + u64::from(self.written);
                let offset = (at % u64::from(block_bytes)) as usize;
                let rest = &data[self.written as usize..];
                let part = &rest[..rest.len().min(block_bytes as usize - offset)];
                let address = at - offset as u64;
                match self.rest.take() {
                    _ if part.len() == block_bytes as usize => {
                        Transaction::carrying(agent, Kind::WriteBlock, address, BlockData::from_bytes(part))
                    }
                    None => {
                        self.merging = Some(address);
                        Transaction::block(agent, Kind::ReadOnce, address)
                    }
                    Some(mut block) => {
                        block[offset..offset + part.len()].copy_from_slice(part);
                        Transaction::carrying(agent, Kind::WriteBlock, address, block)
                    }
                }
            }
            Next::Read(place) => {
                let HostRead { request, issued, .. } = &mut self.reads[place];
                let address = request.address + u64::from(*issued);
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
        let number = |read: &HostRead| (block.wrapping_sub(read.request.address) / data.len() as u64) as u32;
        let asked = |read: &HostRead| {
            let offset = block.checked_sub(read.request.address);
            offset.is_some_and(|offset| offset < read.issued.into()) && !read.blocks.has(number(read))
        };
        let place = self.reads.iter().position(asked).expect("it was asked for");
        let read = &mut self.reads[place];
        let number = number(read);
        read.blocks.add(number);
        let start = (number * block_bytes) as usize;
        read.data[start..start + data.len()].copy_from_slice(data);
        while read.there < read.request.bytes && read.blocks.has(read.there / block_bytes) {
            read.there += block_bytes;
        }
        place
    }

    pub fn is_idle(&self) -> bool {
        let is_still = self.arrivals.is_empty() && self.reads.is_empty() && self.under_way.is_empty();
        is_still && self.stores.is_empty() && self.loads == 0
    }

    pub fn loads_under_way(&self) -> usize {
        self.loads
    }

    pub fn writes_here(&self) -> usize {
        self.arrivals.iter().filter(|packet| matches!(packet.content, Content::Write(_))).count()
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
        let (most, Pcie { state, link, statistics, .. }) = (own.max_payload, own);
        if transaction.kind.is_posted() {
            let bytes = payload_of(transaction);
            state.root_complex.stores.push_back(access);
            let last = Content::Write(crossing);
            send_in_parts(last, (bytes, most), Class::Posted, |packet| state.down.send(now, packet));
        } else {
            state.root_complex.loads += 1;
            state.down.send(now, Packet { content: Content::Load(crossing), payload: 0 });
        }
        state.down.advance(now, link, statistics);
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
            Self::of(composition, on).state.root_complex.arrivals.push_back(packet);
        }
        while let Some(packet) = Self::of(composition, on).next_arrival() {
            Self::arrive_at_root_complex(composition, now, on, packet);
            has_worked = true;
        }
        has_worked
    }

    /// Takes the oldest arrival, unless it is a write: that stays until it is in the host's memory.
    fn next_arrival(&mut self) -> Option<Packet> {
        let arrivals = &mut self.state.root_complex.arrivals;
        match arrivals.front()?.content {
            Content::Write(_) => None,
            _ => arrivals.pop_front(),
        }
    }

    fn arrive_at_root_complex<C: InterconnectHost>(
        composition: &mut C,
        now: Time,
        on: InterconnectId,
        packet: Packet,
    ) {
        let Pcie { state, link, above: (upper, _), .. } = Self::of(composition, on);
        let upper = *upper;
        let (class, cost) = (packet.class(), packet.cost());
        match packet.content {
            Content::Read(request) => state.root_complex.reads.push(HostRead {
                request,
                data: BlockData::zeroed(request.bytes as usize),
                issued: 0,
                blocks: BlockSet::default(),
                there: 0,
                sent: 0,
            }),
            Content::Part(_) => state.up.free(now, class, cost, link),
            Content::Answer(crossing, response) => {
                state.up.free(now, class, cost, link);
                state.root_complex.loads -= 1;
                Self::observe_end(composition, now, on, &crossing);
                let access = (crossing.transaction.agent, crossing.transaction.tag);
                answer(composition, now, upper, access, response);
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
        if let Some(data) = &response.data {
            let root_complex = &mut own.state.root_complex;
            if root_complex.merging == Some(transaction.address) {
                (root_complex.merging, root_complex.rest) = (None, Some(data.clone()));
                return;
            }
            let place = own.state.root_complex.receive(transaction.address, data);
            return own.send_data(now, place);
        }
        let Pcie { state, link, block_bytes, .. } = own;
        let Some(Packet { content: Content::Write(write), .. }) = state.root_complex.arrivals.front() else {
            unreachable!("the oldest is a write")
        };
        let at = write.transaction.address + u64::from(state.root_complex.written);
        state.root_complex.written += *block_bytes - (at % u64::from(*block_bytes)) as u32;
        let bytes = write.transaction.data.as_ref().map_or(0, |data| data.len());
        if (state.root_complex.written as usize) < bytes {
            return;
        }
        let over = state.root_complex.arrivals.pop_front().expect("it is the oldest");
        state.root_complex.written = 0;
        state.up.free(now, Class::Posted, over.cost(), link);
        if let Content::Write(crossing) = over.content {
            Self::observe_end(composition, now, on, &crossing);
        }
    }

    /// Sends the completions of a read that may be sent.
    fn send_data(&mut self, now: Time, place: usize) {
        let Pcie { boundary, max_payload, state, link, .. } = self;
        let HostRead { request, data, there, sent, .. } = &mut state.root_complex.reads[place];
        while let Some(end) = completion_end(*request, (*sent, *there), (*boundary, *max_payload)) {
            let bytes = BlockData::from_bytes(&data[*sent as usize..end as usize]);
            let content = Content::Data(request.tag, request.address + u64::from(*sent), bytes);
            state.down.send(now, Packet { content, payload: end - *sent });
            *sent = end;
        }
        if *sent == request.bytes {
            state.root_complex.reads.remove(place);
            state.up.free(now, Class::NonPosted, Credits { headers: 1, data: 0 }, link);
        }
    }
}
