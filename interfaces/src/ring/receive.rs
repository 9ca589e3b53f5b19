//! The receive half of an interface with descriptor rings.
//!
//! ```text
//!   packet waits, and a descriptor is there ──► engine_time ──► its buffer written, block by block
//!                                                                                │
//!   descriptors written back: a batch of them is done, ◄─────────────────────────┘
//!   or the first of them since write_back_time ──► interrupt, if enabled ([`super::interrupts`])
//! ```
//!
//! A packet stays in the flow control's incoming buffers until there is a descriptor for it. So no
//! packet is dropped for want of a descriptor: the flow control holds the senders back.
//!
//! Buffers are written by whole blocks, with zeros behind the packet's end. Descriptors are written
//! back by whole blocks too: those that are not done are written as they were read. They still belong
//! to the interface, because the driver hands them over by whole blocks.

use narthex_fabrics::{Header, Packet};
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::interrupt::Interrupt;
use narthex_memory::{AgentId, BlockData, Kind, Response, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use super::descriptors::{DONE, Fetch, Ring};
use super::interrupts::{INTERRUPT_REGISTERS, RingInterrupt};
use super::tail::READ_AGAIN;
use super::{Parts, RECEIVE_REGISTERS, ring_register, store_to_register};
use crate::description::{Engine, HalfDescription, Layout};
use crate::half::{Context, InterfaceHalf, RegisterAccess, RegisterFault, TimeToSend};
use crate::queue::QueueState;

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
    }
}

/// The rule that can be left out: a descriptor is done when its buffer has been written.
pub const BUFFER_FIRST: &str = "buffer-first";
/// The same where payload has relaxed ordering: a descriptor that is done has not, so that it comes to memory behind
/// its buffer.
pub const STRICT_DESCRIPTORS: &str = "strict-descriptors";

/// Where the register of the interrupt is.
const INTERRUPT_REGISTER: u64 = INTERRUPT_REGISTERS[0].1;

/// Its transaction on the bus.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Job {
    Descriptors(Fetch),
    /// The block with the tail.
    Tail(u64),
    /// The next block of the packet's buffer.
    Buffer,
    /// A block of descriptors that are done up to this number.
    WriteBack {
        until: u64,
    },
    /// The message that interrupts the processor.
    Interrupt,
}

/// A packet on its way to its buffer.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Deposit {
    packet: Box<Packet>,
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
    ring: Ring,
    block_bytes: u64,
    register_delay: Duration,
    engine_time: Duration,
    relaxed_payload: bool,
    write_back: WriteBack,
    interrupt: RingInterrupt,
    /// Descriptors that its driver hands over together.
    refill: u64,
    deposit: Option<Deposit>,
    /// Until when a descriptor that is done waits for others.
    waits_until: Option<Time>,
    /// Whether descriptors are being written back, until none that is done is left.
    writes_back: bool,
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
    /// A half without descriptors. Its thresholds are the number that the driver hands over together.
    pub fn new(parts: Parts, write_back: WriteBack, interrupt: RingInterrupt) -> Self {
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
        RingReceive {
            agent,
            ring: Ring::new(memory, block_bytes, prefetch, thresholds, tail_copy),
            block_bytes,
            register_delay,
            engine_time,
            relaxed_payload,
            write_back,
            interrupt,
            refill: thresholds,
            deposit: None,
            waits_until: None,
            writes_back: false,
            is_counted: false,
            job: None,
            done_first: false,
            relaxed_descriptors: false,
            statistics: Statistics::default(),
        }
    }

    /// Takes the next packet if there is a descriptor for it.
    fn accept(&mut self, context: &mut Context<'_>) {
        if self.deposit.is_some() || context.network.front().is_none() {
            return;
        }
        let number = self.ring.done();
        let Some(descriptor) = self.ring.descriptor(number) else {
            if self.ring.left() == 0 && !self.is_counted {
                self.statistics.held.increment();
                self.is_counted = true;
            }
            return;
        };
        let bytes = self.ring.memory().buffer_bytes;
        if let Err(fault) = self.ring.check_buffer(number, descriptor.address, bytes) {
            context.faults.push(fault);
            self.ring.give_up();
            self.writes_back = false;
            return;
        }
        let packet = context.network.take().expect("a packet waits");
        let ready = context.timer_after(self.engine_time);
        self.deposit =
            Some(Deposit { packet, ready, is_prepared: false, next: descriptor.address, written: 0 });
        self.is_counted = false;
        if self.done_first {
            self.finish(context);
        }
    }

    /// The packet's descriptor is done.
    fn finish(&mut self, context: &mut Context<'_>) {
        let length = self.deposit.as_ref().expect("a deposit is under way").length() as u64;
        self.ring.finish(length | DONE);
        if self.ring.unwritten() >= self.write_back.batch || self.write_back.time == Duration::ZERO {
            self.begin_to_write_back();
        } else if self.waits_until.is_none() && !self.writes_back {
            self.waits_until = Some(context.timer_after(self.write_back.time));
        }
    }

    fn begin_to_write_back(&mut self) {
        if !self.writes_back {
            self.statistics.batches.increment();
        }
        (self.writes_back, self.waits_until) = (true, None);
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

    /// The next transaction that it needs.
    fn next_job(&self) -> Option<Job> {
        if self.interrupt.is_due() {
            return Some(Job::Interrupt);
        }
        if self.writes_back {
            return Some(Job::WriteBack { until: self.ring.block_to_write().2 });
        }
        let writes = self.deposit.as_ref().is_some_and(|deposit| deposit.is_prepared);
        if writes {
            return Some(Job::Buffer);
        }
        let fetch = self.ring.next_fetch().map(Job::Descriptors);
        fetch.or_else(|| self.ring.tail_to_read().map(Job::Tail))
    }
}

impl InterfaceHalf for RingReceive {
    fn load(&mut self, _context: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        if offset == INTERRUPT_REGISTER {
            return Some(Ok(self.interrupt.load()));
        }
        let (_, register) = ring_register(&RECEIVE_REGISTERS, offset)?;
        Some(Ok(self.ring.load(register)))
    }

    fn store(
        &mut self,
        context: &mut Context<'_>,
        offset: u64,
        value: u64,
    ) -> Option<Result<(), RegisterFault>> {
        if offset == INTERRUPT_REGISTER {
            return Some(self.interrupt.store(value));
        }
        let (is_doorbell, stored) =
            store_to_register(&mut self.ring, &RECEIVE_REGISTERS, (offset, value), true)?;
        self.statistics.doorbells.add(is_doorbell.into());
        self.accept(context);
        Some(stored)
    }

    /// A tail may make it ask for the bus.
    fn independent_of_arrivals(&self, _: &Context<'_>, access: RegisterAccess, _: Time) -> Option<bool> {
        let is_own =
            access.offset == INTERRUPT_REGISTER || ring_register(&RECEIVE_REGISTERS, access.offset).is_some();
        is_own.then_some(false)
    }

    /// It sends nothing.
    fn time_to_send(&self) -> TimeToSend {
        TimeToSend::NONE
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
            Job::Descriptors(fetch) => {
                self.ring.ask(fetch);
                return Some(Transaction::block(self.agent, Kind::ReadOnce, fetch.address));
            }
            Job::Interrupt => {
                self.interrupt.leave(context.now);
                return Some(Interrupt { vector: 0 }.message(self.agent));
            }
            Job::Tail(block) => return Some(self.ring.ask_for_tail(self.agent, block)),
            Job::Buffer => {
                let deposit = self.deposit.as_ref().expect("a deposit is under way");
                (deposit.next, deposit.block(self.block_bytes as usize), self.relaxed_payload)
            }
            Job::WriteBack { .. } => {
                let (address, block, _) = self.ring.block_to_write();
                (address, block, self.relaxed_descriptors)
            }
        };
        Some(Transaction { relaxed, ..Transaction::carrying(self.agent, Kind::WriteBlock, address, block) })
    }

    fn complete(&mut self, context: &mut Context<'_>, _transaction: &Transaction, response: &Response) {
        match self.job.take().expect("a job is on the bus") {
            Job::Descriptors(fetch) => {
                self.ring.take_in(fetch, response.data.as_ref().expect("a read brings data"));
                self.statistics.descriptor_blocks.increment();
                self.statistics.descriptors.add(fetch.count());
            }
            Job::Tail(_) => {
                let block = response.data.as_ref().expect("a read brings data");
                let is_doorbell = self.ring.take_in_tail(context, block, true);
                self.statistics.doorbells.add(is_doorbell.into());
            }
            Job::Buffer => self.block_written(context),
            Job::Interrupt => self.statistics.interrupts.increment(),
            Job::WriteBack { until } => {
                let before = self.ring.unwritten();
                self.ring.mark_written(until);
                let packets = before - self.ring.unwritten();
                context.timers.extend(self.interrupt.written_back(context.now, packets));
                self.statistics.write_backs.increment();
                self.writes_back = self.ring.unwritten() > 0;
            }
        }
        self.accept(context);
    }

    fn network(&mut self, context: &mut Context<'_>) {
        self.accept(context);
    }

    fn timer(&mut self, context: &mut Context<'_>) {
        if self.waits_until.is_some_and(|at| at <= context.now) {
            self.statistics.late_batches.increment();
            self.begin_to_write_back();
        }
        self.statistics.moderated.add(self.interrupt.look_at_time(context.now).into());
        if let Some(deposit) = &mut self.deposit {
            deposit.is_prepared |= deposit.ready <= context.now;
        }
        self.accept(context);
    }
}

impl HalfDescription for RingReceive {
    fn peek(&self, address: u64) -> Option<&[u8]> {
        self.ring.watched.as_ref()?.peek(address)
    }

    fn layout(&self) -> Layout {
        let memory = self.ring.memory();
        let written = memory.buffers()..memory.tail();
        Layout {
            written_by_interface: vec![written],
            ..memory.layout(["receive ring", "receive buffers", "receive tail"])
        }
    }

    fn protocol_rules(&self) -> Vec<&'static str> {
        let watched = self.ring.watched.as_ref().map(|_| READ_AGAIN);
        let relaxed = self.relaxed_payload.then_some(STRICT_DESCRIPTORS);
        std::iter::once(BUFFER_FIRST).chain(watched).chain(relaxed).collect()
    }

    fn leave_out(&mut self, rule: &str) -> bool {
        self.done_first |= rule == BUFFER_FIRST;
        self.relaxed_descriptors |= rule == STRICT_DESCRIPTORS;
        [BUFFER_FIRST, STRICT_DESCRIPTORS].contains(&rule)
            || self.ring.watched.as_mut().is_some_and(|tail| tail.leave_out(rule))
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }

    /// The driver always keeps back as many descriptors as it hands over together. Each one that it
    /// has handed over beyond the others is that of a packet that it has read.
    fn queue(&self) -> QueueState {
        let usable = self.ring.memory().entries.saturating_sub(self.refill);
        let read = self.ring.handed_over().saturating_sub(usable);
        let note = match self.ring.left() {
            0 if self.ring.handed_over() > 0 => "the interface waits until the processor hands over buffers",
            _ if self.interrupt.is_masked() => "its interrupt is not enabled",
            _ => "",
        };
        let used = self.ring.done().saturating_sub(read);
        QueueState { is_bound: true, ..QueueState::of("receive ring", used, Some(usable)) }.with_note(note)
    }

    fn engine(&self, _now: Time) -> Option<Engine> {
        let doing = match self.job {
            Some(Job::Descriptors(_)) => Some("reads descriptors"),
            Some(Job::Tail(_)) => Some("reads the tail"),
            Some(Job::Buffer) => Some("writes a buffer"),
            Some(Job::WriteBack { .. }) => Some("writes descriptors back"),
            Some(Job::Interrupt) => Some("interrupts the processor"),
            None if self.next_job().is_some() => Some("waits for the bus"),
            None if self.deposit.is_some() => Some("prepares a message"),
            None => self.waits_until.map(|_| "waits for more to write back"),
        };
        Some(Engine { doing, messages: self.queue().used })
    }
}

#[cfg(test)]
mod tests;
