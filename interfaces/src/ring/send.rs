//! The send half of an interface with descriptor rings.
//!
//! ```text
//!   tail stored ──► descriptors read ──► buffer read, block by block ──► engine_time ──► inject
//!                   ahead, by blocks     (the next one's meanwhile)                        │
//!                                                           report asked for: write_block ◄┘
//! ```
//!
//! A block of descriptors is written back only if its last descriptor asks for a report. Packets
//! whose buffers are being read may wait behind one that waits for the flow control.
//!
//! Up to `reads` transactions are under way at once, each with a tag, on an interconnect that lets a
//! port have several. They are issued in the order of the packets: a report before blocks of buffers,
//! and blocks of descriptors when all buffers that are known have been asked for. The answers come in
//! any order. A packet is whole when its last block is there, and goes to the engine when those
//! before it have left. There is room for the buffers of `reads` packets behind the one that leaves.

use std::collections::VecDeque;

use narthex_fabrics::Header;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::{AgentId, BlockData, Kind, Response, SnoopReply, Transaction, TransactionTag};
use serde::{Deserialize, Serialize};

use super::descriptors::{DONE, Fetch, REPORT, Ring};
use super::leaving::Leaving;
use super::tail::READ_AGAIN;
use super::{Parts, SEND_REGISTERS, ring_register, store_to_register};
use crate::description::{Engine, HalfDescription, Layout};
use crate::half::{Context, InterfaceHalf, RegisterAccess, RegisterFault, TimeToSend, Trigger};
use crate::queue::QueueState;

narthex_kernel::statistics! {
    /// What a send half did.
    pub struct Statistics {
        doorbells: Counter, "send_doorbells", "stores", "stores to the send ring's tail";
        descriptors: Counter, "send_descriptors_fetched", "descriptors", "descriptors fetched from the send ring";
        descriptor_blocks: Counter, "send_descriptor_fetches", "blocks", "blocks of the send ring that were read for them";
        payload_blocks: Counter, "send_buffer_blocks_read", "blocks", "blocks of packets read from their buffers";
        reports: Counter, "send_descriptor_write_backs", "blocks", "blocks of the send ring written back to report what was sent";
        messages: Counter, "messages_injected", "messages", "messages taken from the send ring and injected";
    }
}

/// What it has under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Job {
    Descriptors(Fetch),
    /// The block with the tail.
    Tail(u64),
    /// A block of the buffer of the descriptor with this number.
    Buffer {
        number: u64,
        offset: usize,
    },
    /// A block of descriptors that are done, up to this number.
    Report {
        until: u64,
    },
}

/// A packet whose buffer is being read, or has been.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Gathering {
    /// Of its descriptor.
    number: u64,
    address: u64,
    bytes: Vec<u8>,
    /// Where the first block of its buffer begins that has not been asked for.
    asked: usize,
    /// Bytes that are not there.
    missing: usize,
}

/// The send half.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct RingSend {
    agent: AgentId,
    ring: Ring,
    block_bytes: u64,
    register_delay: Duration,
    engine_time: Duration,
    relaxed_payload: bool,
    /// The next packets, without gaps.
    gathering: VecDeque<Gathering>,
    leaving: Option<Leaving>,
    /// A place for each transaction that may be under way; the places are their tags.
    jobs: Vec<Option<Job>>,
    statistics: Statistics,
}

impl RingSend {
    /// A half with nothing to send, and with so many reads under way at most.
    pub fn new(parts: Parts, reads: u8) -> Self {
        let Parts {
            agent,
            memory,
            block_bytes,
            prefetch,
            thresholds,
            register_delay,
            engine_time,
            relaxed_payload,
            tail_copy,
        } = parts;
        RingSend {
            agent,
            ring: Ring::new(memory, block_bytes, prefetch, thresholds, tail_copy),
            block_bytes,
            register_delay,
            engine_time,
            relaxed_payload,
            gathering: VecDeque::new(),
            leaving: None,
            jobs: vec![None; reads.into()],
            statistics: Statistics::default(),
        }
    }

    /// Advances as far as possible without the bus.
    fn advance(&mut self, context: &mut Context<'_>) {
        loop {
            self.inject(context);
            let is_gathered = self.gathering.front().is_some_and(|packet| packet.missing == 0);
            let step = match is_gathered && self.leaving.is_none() {
                true => self.prepare(context),
                false if self.gathering.len() < self.jobs.len() => self.begin(),
                false => return,
            };
            match step {
                Ok(true) => {}
                Ok(false) => return,
                Err(fault) => {
                    // Nothing more is sent for this process.
                    context.faults.push(fault);
                    self.gathering.clear();
                    self.leaving = None;
                    self.ring.give_up();
                    return;
                }
            }
        }
    }

    /// The prepared packet leaves, if there is room for it.
    fn inject(&mut self, context: &mut Context<'_>) {
        let Some(leaving) = self.leaving.take_if(|leaving| leaving.may_leave(context)) else { return };
        leaving.leave(context);
        self.statistics.messages.increment();
        let control = self.ring.descriptor(self.ring.done()).expect("it has been fetched").control;
        self.ring.finish(control | DONE);
        self.ring.drop_unreported();
    }

    /// Begins with the next descriptor's buffer; false if there is none.
    fn begin(&mut self) -> Result<bool, RegisterFault> {
        let number = self.ring.done() + u64::from(self.leaving.is_some()) + self.gathering.len() as u64;
        let Some(descriptor) = self.ring.descriptor(number) else { return Ok(false) };
        let (length, most) = (descriptor.length(), self.ring.memory().buffer_bytes);
        let least = Header::BYTES as u64;
        if !(least..=most).contains(&length) {
            let problem = format!("a packet of {length} bytes; it has {least} to {most}, header included");
            return Err(self.ring.fault(number, &problem));
        }
        self.ring.check_buffer(number, descriptor.address, length)?;
        let of_block = self.ring.of_block();
        if descriptor.control & REPORT != 0 && number % of_block != of_block - 1 {
            let problem = format!(
                "it asks for a report; only the last descriptor of a block may, each {of_block}th: a report is a whole \
                 block"
            );
            return Err(self.ring.fault(number, &problem));
        }
        let (bytes, missing) = (vec![0; length as usize], length as usize);
        let address = descriptor.address;
        self.gathering.push_back(Gathering { number, address, bytes, asked: 0, missing });
        Ok(true)
    }

    /// The gathered packet goes to the engine.
    fn prepare(&mut self, context: &mut Context<'_>) -> Result<bool, RegisterFault> {
        let Some(Gathering { number, bytes, .. }) = self.gathering.pop_front() else { return Ok(false) };
        let fault = |problem: &str| self.ring.fault(number, problem);
        self.leaving = Some(Leaving::prepare(context, bytes, self.engine_time, fault)?);
        Ok(true)
    }

    fn next_job(&self) -> Option<Job> {
        let is_reporting = || self.jobs.iter().flatten().any(|job| matches!(job, Job::Report { .. }));
        if self.ring.has_done_block() && !is_reporting() {
            return Some(Job::Report { until: self.ring.block_to_write().2 });
        }
        match self.gathering.iter().find(|packet| packet.asked < packet.bytes.len()) {
            Some(&Gathering { number, asked, .. }) => Some(Job::Buffer { number, offset: asked }),
            None => {
                let fetch = self.ring.next_fetch().map(Job::Descriptors);
                fetch.or_else(|| self.ring.tail_to_read().map(Job::Tail))
            }
        }
    }

    /// The packet of a descriptor, unless it has been given up.
    fn packet(&mut self, number: u64) -> Option<&mut Gathering> {
        let first = self.gathering.front()?.number;
        self.gathering.get_mut((number - first) as usize)
    }

    /// A block of a buffer is there.
    fn take_in(&mut self, number: u64, offset: usize, block: &BlockData) {
        self.statistics.payload_blocks.increment();
        let Some(packet) = self.packet(number) else { return };
        let rest = &mut packet.bytes[offset..];
        let part = rest.len().min(block.len());
        rest[..part].copy_from_slice(&block[..part]);
        packet.missing -= part;
    }
}

impl InterfaceHalf for RingSend {
    fn load(&mut self, _context: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        let (_, register) = ring_register(&SEND_REGISTERS, offset)?;
        Some(Ok(self.ring.load(register)))
    }

    fn store(
        &mut self,
        context: &mut Context<'_>,
        offset: u64,
        value: u64,
    ) -> Option<Result<(), RegisterFault>> {
        let (is_doorbell, stored) =
            store_to_register(&mut self.ring, &SEND_REGISTERS, (offset, value), false)?;
        self.statistics.doorbells.add(is_doorbell.into());
        self.advance(context);
        Some(stored)
    }

    /// A tail may make it ask for the bus.
    fn independent_of_arrivals(&self, _: &Context<'_>, access: RegisterAccess, _: Time) -> Option<bool> {
        ring_register(&SEND_REGISTERS, access.offset).map(|_| false)
    }

    /// An empty ring fills by a store to its tail, which has to be read if it is in memory. The engine
    /// works on every packet before it leaves.
    fn time_to_send(&self) -> TimeToSend {
        let cause = match (self.ring.left(), &self.ring.watched) {
            (0, None) => Trigger::Access,
            (0, Some(_)) if self.jobs.iter().all(Option::is_none) => Trigger::BlockToRead,
            _ => Trigger::Anything,
        };
        TimeToSend { time: self.engine_time, cause, awaits_room: self.leaving.is_some() }
    }

    fn register_delay(&self) -> Duration {
        self.register_delay
    }

    fn push(&mut self, transaction: &Transaction) -> Option<BlockData> {
        self.ring.watched.as_mut()?.push(transaction)
    }

    fn snoop(&mut self, _context: &mut Context<'_>, transaction: &Transaction) -> SnoopReply {
        self.ring.watched.as_mut().map_or_else(SnoopReply::default, |tail| tail.snoop(transaction))
    }

    /// When a packet that waits has left, its report may be written at once, and the next buffer read.
    fn time_to_interconnect(&self) -> Duration {
        if self.leaving.is_some() { Duration::ZERO } else { Duration::MAX }
    }

    fn wants_bus(&self) -> bool {
        self.jobs.iter().any(Option::is_none) && self.next_job().is_some()
    }

    fn issue(&mut self, _context: &mut Context<'_>) -> Option<Transaction> {
        let place = self.jobs.iter().position(Option::is_none)?;
        let job = self.next_job()?;
        self.jobs[place] = Some(job);
        let transaction = match job {
            Job::Descriptors(fetch) => {
                self.ring.ask(fetch);
                Transaction::block(self.agent, Kind::ReadOnce, fetch.address)
            }
            Job::Tail(block) => self.ring.ask_for_tail(self.agent, block),
            Job::Buffer { number, offset } => {
                let next = offset + self.block_bytes as usize;
                let packet = self.packet(number).expect("it is gathered");
                packet.asked = next;
                let block = packet.address + offset as u64;
                let relaxed = self.relaxed_payload;
                Transaction { relaxed, ..Transaction::block(self.agent, Kind::ReadOnce, block) }
            }
            Job::Report { .. } => {
                let (address, block, _) = self.ring.block_to_write();
                Transaction::carrying(self.agent, Kind::WriteBlock, address, block)
            }
        };
        Some(Transaction { tag: TransactionTag(place as u8), ..transaction })
    }

    fn complete(&mut self, context: &mut Context<'_>, transaction: &Transaction, response: &Response) {
        let data = || response.data.as_ref().expect("a read brings data");
        match self.jobs[usize::from(transaction.tag.0)].take().expect("it is under way") {
            Job::Descriptors(fetch) => {
                self.ring.take_in(fetch, data());
                self.statistics.descriptor_blocks.increment();
                self.statistics.descriptors.add(fetch.count());
            }
            Job::Tail(_) => {
                let is_doorbell = self.ring.take_in_tail(context, data(), false);
                self.statistics.doorbells.add(is_doorbell.into());
            }
            Job::Buffer { number, offset } => self.take_in(number, offset, data()),
            Job::Report { until } => {
                self.ring.mark_written(until);
                self.statistics.reports.increment();
                self.ring.drop_unreported();
            }
        }
        self.advance(context);
    }

    fn network(&mut self, context: &mut Context<'_>) {
        self.advance(context);
    }

    fn timer(&mut self, context: &mut Context<'_>) {
        self.advance(context);
    }
}

impl HalfDescription for RingSend {
    fn peek(&self, address: u64) -> Option<&[u8]> {
        self.ring.watched.as_ref()?.peek(address)
    }

    fn protocol_rules(&self) -> Vec<&'static str> {
        self.ring.watched.iter().map(|_| READ_AGAIN).collect()
    }

    fn leave_out(&mut self, rule: &str) -> bool {
        self.ring.watched.as_mut().is_some_and(|tail| tail.leave_out(rule))
    }

    fn layout(&self) -> Layout {
        self.ring.memory().layout(["send ring", "send buffers", "send tail"])
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }

    fn queue(&self) -> QueueState {
        let held_for = self.leaving.as_ref().map(|leaving| leaving.header.peer());
        QueueState::of("send ring", self.ring.left(), Some(self.ring.memory().entries - 1)).held_for(held_for)
    }

    fn engine(&self, now: Time) -> Option<Engine> {
        let doing = match self.jobs.iter().flatten().next() {
            Some(Job::Descriptors(_)) => Some("reads descriptors"),
            Some(Job::Tail(_)) => Some("reads the tail"),
            Some(Job::Buffer { .. }) => Some("reads a buffer"),
            Some(Job::Report { .. }) => Some("reports what is sent"),
            None if self.next_job().is_some() => Some("waits for the bus"),
            None => self.leaving.as_ref().map(|leaving| leaving.doing(now)),
        };
        Some(Engine { doing, messages: self.ring.left() })
    }
}

#[cfg(test)]
mod tests;
