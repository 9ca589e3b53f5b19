//! The receive half of an interface with descriptor rings.
//!
//! ```text
//!   packet waits, and a descriptor is there ──► engine_time ──► its buffer written, block by block
//!                                                                                │
//!   descriptors written back: a batch of them is done, ◄─────────────────────────┘
//!   or the first of them since write_back_time ──► interrupt, if enabled ([`super::interrupts`])
//! ```
//!
//! A process may have several receive queues, each with a ring, a tail register and an interrupt of its own; a hash
//! chooses one for a packet ([`super::steering`]). They have one engine and one transaction under way together.
//! Packets are taken in the order in which they come, so one whose queue has no descriptor holds up those behind it.
//!
//! A packet stays in the flow control's incoming buffers until there is a descriptor for it. So no
//! packet is dropped for want of a descriptor: the flow control holds the senders back.
//!
//! Buffers are written by whole blocks, with zeros behind the packet's end. Descriptors are written
//! back by whole blocks too: those that are not done are written as they were read. They still belong
//! to the interface, because the driver hands them over by whole blocks.

use narthex_fabrics::{Header, Packet};
use narthex_kernel::{Duration, Time};
use narthex_memory::interrupt::Interrupt;
use narthex_memory::{AgentId, BlockData, Kind, Response, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use super::descriptors::{DONE, Fetch, Ring};
use super::interrupts::RingInterrupt;
use super::steering::{Steering, queue_at};
use super::tail::WatchedTail;
use super::{Parts, RingMemory};
use crate::half::{Context, InterfaceHalf, RegisterAccess, RegisterFault, TimeToSend};
use crate::vectors::Vectors;
use queue::ReceiveQueue;

mod description;
mod queue;

narthex_kernel::statistics! {
    /// What a receive half did.
    pub struct Statistics {
        doorbells: Counter, "receive_doorbells", "stores", "stores to the receive ring's tail";
        descriptors: Counter, "receive_descriptors_fetched", "descriptors", "descriptors fetched from the receive ring";
        descriptor_blocks: Counter, "receive_descriptor_fetches", "blocks", "blocks of the receive ring that were read for them";
        payload_blocks: Counter, "receive_buffer_blocks_written", "blocks", "blocks of packets written to their buffers";
        messages: Counter, "messages_deposited", "messages", "messages put into receive buffers";
        batches: Counter, "receive_write_back_batches", "batches", "times that the receive ring's descriptors began to be written back";
        late_batches: Counter, "receive_write_back_timeouts", "batches", "those of them that began because a descriptor had waited too long";
        write_backs: Counter, "receive_descriptor_write_backs", "blocks", "blocks of the receive ring written back";
        interrupts: Counter, "receive_interrupts", "messages", "messages that interrupted the processor";
        moderated: Counter, "receive_interrupts_moderated", "messages", "those of them that moderation had held back";
        held: Counter, "packets_without_descriptor", "packets", "packets that the flow control held because the receive ring had no descriptor left";
        masked: Counter, "receive_interrupts_masked", "messages", "messages that waited until their vector was unmasked";
        further: Counter, "packets_to_further_queues", "packets", "packets that the hash steered to another receive queue than the first";
    }
}

/// The rule that can be left out: a descriptor is done when its buffer has been written.
pub const BUFFER_FIRST: &str = "buffer-first";
/// The same where payload has relaxed ordering: a descriptor that is done has not, so that it comes to memory behind
/// its buffer.
pub const STRICT_DESCRIPTORS: &str = "strict-descriptors";

/// Its transaction on the bus.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Job {
    Descriptors {
        queue: u8,
        fetch: Fetch,
    },
    /// The block with the tail.
    Tail(u64),
    /// The next block of the packet's buffer.
    Buffer,
    /// A block of descriptors that are done up to this number.
    WriteBack {
        queue: u8,
        until: u64,
    },
    /// The message that interrupts the processor, by this vector.
    Interrupt(u8),
}

/// A packet on its way to its buffer.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Deposit {
    packet: Box<Packet>,
    queue: usize,
    /// When the engine has prepared it, and whether it has.
    ready: Time,
    is_prepared: bool,
    /// Where its next block goes.
    next: u64,
    /// Bytes of header and payload that have been written.
    written: usize,
}

impl Deposit {
    fn length(&self) -> usize {
        Header::BYTES + self.packet.payload.len()
    }

    /// The next block of the buffer.
    fn block(&self, block_bytes: usize) -> BlockData {
        let mut block = BlockData::zeroed(block_bytes);
        let header = self.packet.header.0.to_le_bytes();
        let bytes = header.iter().chain(&self.packet.payload).skip(self.written);
        block.iter_mut().zip(bytes).for_each(|(place, &byte)| *place = byte);
        block
    }
}

/// When descriptors are written back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct WriteBack {
    /// As soon as this many are done.
    pub batch: u64,
    /// Or when the first of them has been done for this time.
    pub time: Duration,
}

/// The receive half.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct RingReceive {
    agent: AgentId,
    queues: Vec<ReceiveQueue>,
    steering: Steering,
    vectors: Vectors,
    block_bytes: u64,
    register_delay: Duration,
    engine_time: Duration,
    relaxed_payload: bool,
    write_back: WriteBack,
    /// Descriptors that its driver hands over together.
    refill: u64,
    deposit: Option<Deposit>,
    /// Whether the packet that waits has been counted as one without a descriptor.
    is_counted: bool,
    job: Option<Job>,
    /// Whether [`BUFFER_FIRST`] is left out.
    done_first: bool,
    /// Whether [`STRICT_DESCRIPTORS`] is left out.
    relaxed_descriptors: bool,
    statistics: Statistics,
}

impl RingReceive {
    /// A half with this many queues, none of which has descriptors. Its thresholds are the number that the driver hands over
    /// together, and the memory of its parts is that of the first queue; the others follow.
    pub fn new(parts: Parts, write_back: WriteBack, interrupt: &RingInterrupt, queues: u8) -> Self {
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
        let queue = |own: u8| {
            let start = memory.start + u64::from(own) * memory.bytes();
            let memory = RingMemory { start, ..memory.clone() };
            let ring = Ring::new(memory, block_bytes, prefetch, thresholds, tail_copy.clone());
            ReceiveQueue::new(ring, interrupt.clone(), own)
        };
        RingReceive {
            agent,
            queues: (0..queues).map(queue).collect(),
            steering: Steering::new(queues),
            vectors: Vectors::new(if interrupt.is_present() { queues } else { 0 }),
            block_bytes,
            register_delay,
            engine_time,
            relaxed_payload,
            write_back,
            refill: thresholds,
            deposit: None,
            is_counted: false,
            job: None,
            done_first: false,
            relaxed_descriptors: false,
            statistics: Statistics::default(),
        }
    }

    /// Takes the next packet if its queue has a descriptor for it.
    fn accept(&mut self, context: &mut Context<'_>) {
        if self.deposit.is_some() {
            return;
        }
        let Some(front) = context.network.front() else { return };
        let chosen = self.steering.queue(context.network.own(), front.header.peer());
        let queue = &mut self.queues[chosen];
        let number = queue.ring.done();
        let Some(descriptor) = queue.ring.descriptor(number) else {
            if queue.ring.left() == 0 && !self.is_counted {
                self.statistics.held.increment();
                self.is_counted = true;
            }
            return;
        };
        let bytes = queue.ring.memory().buffer_bytes;
        if let Err(fault) = queue.ring.check_buffer(number, descriptor.address, bytes) {
            context.faults.push(fault);
            queue.give_up();
            return;
        }
        let packet = context.network.take().expect("a packet waits");
        let ready = context.timer_after(self.engine_time);
        let next = descriptor.address;
        self.deposit = Some(Deposit { packet, queue: chosen, ready, is_prepared: false, next, written: 0 });
        self.is_counted = false;
        self.statistics.further.add((chosen > 0).into());
        if self.done_first {
            self.finish(context);
        }
    }

    /// The packet's descriptor is done.
    fn finish(&mut self, context: &mut Context<'_>) {
        let deposit = self.deposit.as_ref().expect("a deposit is under way");
        let control = deposit.length() as u64 | DONE;
        let begins = self.queues[deposit.queue].finish(context, control, self.write_back);
        self.statistics.batches.add(begins.into());
    }

    /// A block of the packet has been written.
    fn block_written(&mut self, context: &mut Context<'_>) {
        let block_bytes = self.block_bytes;
        let Some(deposit) = &mut self.deposit else { return };
        deposit.next += block_bytes;
        deposit.written += block_bytes as usize;
        self.statistics.payload_blocks.increment();
        if deposit.written >= deposit.length() {
            if !self.done_first {
                self.finish(context);
            }
            self.deposit = None;
            self.statistics.messages.increment();
        }
    }

    /// Messages that are due and whose vectors are masked wait until those are unmasked.
    fn hold_masked(&mut self, now: Time) {
        for queue in &mut self.queues {
            if queue.interrupt.is_due() && self.vectors.is_masked(queue.vector) {
                queue.interrupt.leave(now);
                self.vectors.raise(queue.vector);
                self.statistics.masked.increment();
            }
        }
    }

    /// The vector by which the next message leaves.
    fn next_vector(&self) -> Option<u8> {
        let is_due = |queue: &&ReceiveQueue| queue.interrupt.is_due();
        self.vectors.next().or_else(|| self.queues.iter().find(is_due).map(|queue| queue.vector))
    }

    /// A message leaves.
    fn interrupt(&mut self, now: Time, vector: u8) -> Transaction {
        self.vectors.leave(vector);
        let its = |queue: &&mut ReceiveQueue| queue.vector == vector && queue.interrupt.is_due();
        self.queues.iter_mut().filter(its).for_each(|queue| queue.interrupt.leave(now));
        Interrupt { vector }.message(self.agent)
    }

    /// What the driver loads from a register, if it has that.
    fn look_at(&self, offset: u64) -> Option<u64> {
        let (queue, of_queue) = queue_at(offset);
        let loaded = self.queues.get(queue).and_then(|queue| queue.load(of_queue));
        loaded.or_else(|| self.steering.load(offset)).or_else(|| self.vectors.load(offset))
    }

    /// The next transaction that it needs.
    fn next_job(&self) -> Option<Job> {
        if let Some(vector) = self.next_vector() {
            return Some(Job::Interrupt(vector));
        }
        let numbered = || (0..).zip(&self.queues);
        if let Some(job) = numbered().find_map(|(own, queue)| queue.write_back(own)) {
            return Some(job);
        }
        let writes = self.deposit.as_ref().is_some_and(|deposit| deposit.is_prepared);
        if writes {
            return Some(Job::Buffer);
        }
        numbered().find_map(|(own, queue)| queue.read(own))
    }

    /// The tail that is in memory: such a half has one queue.
    fn watched(&mut self) -> Option<&mut WatchedTail> {
        self.queues[0].ring.watched.as_mut()
    }
}

impl InterfaceHalf for RingReceive {
    fn load(&mut self, _context: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        self.look_at(offset).map(Ok)
    }

    fn store(
        &mut self,
        context: &mut Context<'_>,
        offset: u64,
        value: u64,
    ) -> Option<Result<(), RegisterFault>> {
        if let Some(stored) = self.steering.store(offset, value) {
            return Some(stored);
        }
        if let Some(stored) = self.vectors.store(offset, value) {
            self.hold_masked(context.now);
            return Some(stored);
        }
        let (queue, offset) = queue_at(offset);
        let (is_doorbell, stored) = self.queues.get_mut(queue)?.store(offset, value, &self.vectors)?;
        self.hold_masked(context.now);
        self.statistics.doorbells.add(is_doorbell.into());
        self.accept(context);
        Some(stored)
    }

    /// A tail may make it ask for the bus.
    fn independent_of_arrivals(&self, _: &Context<'_>, access: RegisterAccess, _: Time) -> Option<bool> {
        self.look_at(access.offset).map(|_| false)
    }

    /// It sends nothing.
    fn time_to_send(&self) -> TimeToSend {
        TimeToSend::NONE
    }

    fn register_delay(&self) -> Duration {
        self.register_delay
    }

    fn push(&mut self, transaction: &Transaction) -> Option<BlockData> {
        self.watched()?.push(transaction)
    }

    fn snoop(&mut self, _context: &mut Context<'_>, transaction: &Transaction) -> SnoopReply {
        self.watched().map_or_else(SnoopReply::default, |tail| tail.snoop(transaction))
    }

    /// The engine works on a packet before it is written.
    fn time_to_interconnect(&self) -> Duration {
        self.engine_time
    }

    fn wants_bus(&self) -> bool {
        self.job.is_none() && self.next_job().is_some()
    }

    fn issue(&mut self, context: &mut Context<'_>) -> Option<Transaction> {
        let job = self.next_job()?;
        self.job = Some(job);
        let (address, block, relaxed) = match job {
            Job::Descriptors { queue, fetch } => {
                self.queues[usize::from(queue)].ring.ask(fetch);
                return Some(Transaction::block(self.agent, Kind::ReadOnce, fetch.address));
            }
            Job::Interrupt(vector) => return Some(self.interrupt(context.now, vector)),
            Job::Tail(block) => return Some(self.queues[0].ring.ask_for_tail(self.agent, block)),
            Job::Buffer => {
                let deposit = self.deposit.as_ref().expect("a deposit is under way");
                (deposit.next, deposit.block(self.block_bytes as usize), self.relaxed_payload)
            }
            Job::WriteBack { queue, .. } => {
                let (address, block, _) = self.queues[usize::from(queue)].ring.block_to_write();
                (address, block, self.relaxed_descriptors)
            }
        };
        Some(Transaction { relaxed, ..Transaction::carrying(self.agent, Kind::WriteBlock, address, block) })
    }

    fn complete(&mut self, context: &mut Context<'_>, _transaction: &Transaction, response: &Response) {
        match self.job.take().expect("a job is on the bus") {
            Job::Descriptors { queue, fetch } => {
                let ring = &mut self.queues[usize::from(queue)].ring;
                ring.take_in(fetch, response.data.as_ref().expect("a read brings data"));
                self.statistics.descriptor_blocks.increment();
                self.statistics.descriptors.add(fetch.count());
            }
            Job::Tail(_) => {
                let block = response.data.as_ref().expect("a read brings data");
                let is_doorbell = self.queues[0].ring.take_in_tail(context, block, true);
                self.statistics.doorbells.add(is_doorbell.into());
            }
            Job::Buffer => self.block_written(context),
            Job::Interrupt(_) => self.statistics.interrupts.increment(),
            Job::WriteBack { queue, until } => {
                self.queues[usize::from(queue)].written_back(context, until);
                self.statistics.write_backs.increment();
                self.hold_masked(context.now);
            }
        }
        self.accept(context);
    }

    fn network(&mut self, context: &mut Context<'_>) {
        self.accept(context);
    }

    fn timer(&mut self, context: &mut Context<'_>) {
        for queue in &mut self.queues {
            let (is_late, begins) = queue.look_at_time(context.now);
            self.statistics.late_batches.add(is_late.into());
            self.statistics.batches.add(begins.into());
            self.statistics.moderated.add(queue.interrupt.look_at_time(context.now).into());
        }
        self.hold_masked(context.now);
        if let Some(deposit) = &mut self.deposit {
            deposit.is_prepared |= deposit.ready <= context.now;
        }
        self.accept(context);
    }
}

#[cfg(test)]
mod tests;
