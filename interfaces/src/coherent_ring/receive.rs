//! The receive half of an interface with rings in coherent memory.
//!
//! ```text
//!   packet ──► newest empty buffer ──► engine_time ──► each block: the processor's ──► descriptor ready
//!                                                       copy goes, new bytes in the
//!                                                       interface's cache
//! ```
//!
//! The interface takes the buffer that it got last, so that few of them are in use and stay in the
//! caches. It looks for empty buffers when a batch of them is with the processor. Without any, packets
//! stay in the flow control's buffers.
//!
//! **Order.** The descriptor is written when the whole packet is there. That is the rule
//! [`BUFFER_FIRST`], which a model checker can leave out.

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::{AgentId, BlockData, Kind, Response, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use super::{Part, Parts, Shared};
use crate::cachable_queue::deposit::{Deposit, Destination};
use crate::description::{Engine, HalfDescription, Layout};
use crate::half::{Context, HomeReply, InterfaceHalf, TimeToSend};
use crate::queue::QueueState;

/// The rule that a packet is in its buffer before its descriptor is ready.
const BUFFER_FIRST: &str = "buffer-first";

narthex_kernel::statistics! {
    /// What a receive half did.
    pub struct Statistics {
        messages: Counter, "messages_deposited", "messages", "messages put into buffers, and into the receive ring";
        polls: Counter, "empty_ring_reads", "blocks", "blocks of the ring of empty buffers that were read";
        invalidations: Counter, "receive_invalidations", "blocks", "copies of buffers and descriptors taken away from the processor, to write them";
        written_back: Counter, "receive_buffer_blocks_written_back", "blocks", "blocks of buffers written back to make room in the interface's cache";
        held: Counter, "packets_without_buffer", "packets", "packets that found no empty buffer";
    }
}

/// What it has under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Job {
    /// A block of the ring of empty buffers.
    Poll { block: u64 },
    /// A block that is in the way returns to main memory.
    WriteBack { victim: u64 },
    /// The processor's copy of a block of the buffer has to go.
    Buffer { block: u64 },
    /// The processor's copy of a block of the receive ring has to go.
    Descriptors { block: u64 },
}

/// A packet on its way into its buffer.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Filling {
    buffer: usize,
    length: u64,
    deposit: Deposit,
}

/// The receive half.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct CoherentRingReceive {
    agent: AgentId,
    memory: Shared,
    preparation_time: Duration,
    batch: usize,
    /// Empty buffers; the last one was got last.
    empty: Vec<usize>,
    filling: Option<Filling>,
    job: Option<Job>,
    /// Whether the packet that waits has been counted as one without a buffer.
    is_counted: bool,
    /// No more buffers are taken, because the program gave a wrong descriptor.
    given_up: bool,
    /// Whether [`BUFFER_FIRST`] is left out.
    ready_first: bool,
    statistics: Statistics,
}

impl CoherentRingReceive {
    /// A half that has all of its buffers.
    pub fn new(parts: Parts) -> Self {
        let Parts { agent, pool, ring_copies, buffer_copies, memory_access_time, engine_time, batch } = parts;
        let empty = (0..pool.buffers as usize).rev().collect();
        CoherentRingReceive {
            agent,
            memory: Shared::new(pool, [ring_copies, buffer_copies], memory_access_time, true),
            preparation_time: engine_time,
            batch,
            empty,
            filling: None,
            job: None,
            is_counted: false,
            given_up: false,
            ready_first: false,
            statistics: Statistics::default(),
        }
    }

    /// Goes on as far as possible without a transaction.
    fn advance(&mut self, context: &mut Context<'_>) {
        self.look_for_buffers(context);
        while self.step(context) {}
    }

    /// One step; false when something has to happen first.
    fn step(&mut self, context: &mut Context<'_>) -> bool {
        let Some(Filling { deposit, .. }) = &mut self.filling else { return self.accept(context) };
        if deposit.ready > context.now {
            return false;
        }
        deposit.place = Some(Destination::Own);
        if deposit.blocks_left == 0 {
            self.statistics.messages.increment();
            if !self.ready_first {
                self.show();
            }
            self.filling = None;
            return true;
        }
        let block = self.next_block();
        let may_write = self.dirty_victim(block).is_none() && !self.memory.buffers.must_invalidate(block);
        if may_write {
            self.write_block(block);
        }
        may_write
    }

    /// Takes the next packet if there is an empty buffer for it.
    fn accept(&mut self, context: &mut Context<'_>) -> bool {
        if context.network.front().is_none() {
            return false;
        }
        let Some(buffer) = self.empty.pop() else {
            if !self.is_counted {
                self.statistics.held.increment();
                self.is_counted = true;
            }
            return false;
        };
        self.is_counted = false;
        let packet = context.network.take().expect("a packet waits");
        let length = (narthex_fabrics::Header::BYTES + packet.payload.len()) as u64;
        let ready = context.timer_after(self.preparation_time);
        let deposit = Deposit::new(packet, ready, self.memory.pool.block_bytes, false);
        self.filling = Some(Filling { buffer, length, deposit });
        if self.ready_first {
            self.show();
        }
        true
    }

    /// The filled buffer is the processor's.
    fn show(&mut self) {
        let &Filling { buffer, length, .. } = self.filling.as_ref().expect("a buffer is filled");
        self.memory.given.release(buffer);
        self.memory.returned.push(buffer, length);
        self.memory.returned.write();
    }

    /// The block of the buffer that is to be written next.
    fn next_block(&self) -> u64 {
        let Filling { buffer, deposit, .. } = self.filling.as_ref().expect("a buffer is filled");
        self.memory.pool.buffer(*buffer) + deposit.next_place() * self.memory.pool.block_bytes
    }

    /// The block in the way of this one in the interface's cache, if memory lacks its bytes.
    fn dirty_victim(&self, block: u64) -> Option<u64> {
        self.memory.buffers.victim_for(block).filter(|victim| victim.dirty).map(|victim| victim.block)
    }

    fn write_block(&mut self, block: u64) {
        if let Some(victim) = self.memory.buffers.victim_for(block) {
            self.memory.buffers.drop_block(victim.block);
        }
        let deposit = &mut self.filling.as_mut().expect("a buffer is filled").deposit;
        self.memory.buffers.produce(block, &deposit.next_block(false));
        deposit.blocks_left -= 1;
    }

    /// Whether it looks for empty buffers.
    fn wants_buffers(&self) -> bool {
        self.memory.pool.buffers as usize - self.memory.given.owned() >= self.batch && !self.given_up
    }

    fn look_for_buffers(&mut self, context: &mut Context<'_>) {
        while self.wants_buffers()
            && let Some(descriptor) = self.memory.given.next()
        {
            match self.memory.given.take(descriptor) {
                Ok(buffer) => self.empty.push(buffer),
                Err(fault) => {
                    context.faults.push(fault);
                    self.given_up = true;
                }
            }
        }
    }

    /// The next transaction that it needs.
    fn next_job(&self) -> Option<Job> {
        if let Some(block) = self.memory.returned.block_to_invalidate() {
            return Some(Job::Descriptors { block });
        }
        if let Some(job) = self.buffer_job() {
            return Some(job);
        }
        let block = self.memory.given.block_to_read().filter(|_| self.wants_buffers())?;
        Some(Job::Poll { block })
    }

    /// What the packet on its way needs.
    fn buffer_job(&self) -> Option<Job> {
        let Filling { deposit, .. } = self.filling.as_ref()?;
        if deposit.place.is_none() || deposit.blocks_left == 0 {
            return None;
        }
        let block = self.next_block();
        match self.dirty_victim(block) {
            Some(victim) => Some(Job::WriteBack { victim }),
            None => self.memory.buffers.must_invalidate(block).then_some(Job::Buffer { block }),
        }
    }
}

impl InterfaceHalf for CoherentRingReceive {
    /// It sends nothing.
    fn time_to_send(&self) -> TimeToSend {
        TimeToSend::NONE
    }

    /// It has no registers.
    fn register_delay(&self) -> Duration {
        Duration::ZERO
    }

    fn push(&mut self, transaction: &Transaction) -> Option<BlockData> {
        self.memory.push(transaction)
    }

    fn snoop(&mut self, _context: &mut Context<'_>, transaction: &Transaction) -> SnoopReply {
        self.memory.snoop(transaction)
    }

    fn home(&mut self, _context: &mut Context<'_>, transaction: &Transaction) -> HomeReply {
        self.memory.returned.serve(transaction)
    }

    /// The engine works on a packet before it is written.
    fn time_to_interconnect(&self) -> Duration {
        self.preparation_time
    }

    fn wants_bus(&self) -> bool {
        self.job.is_none() && self.next_job().is_some()
    }

    fn issue(&mut self, _context: &mut Context<'_>) -> Option<Transaction> {
        let job = self.next_job()?;
        self.job = Some(job);
        Some(match job {
            Job::Poll { block } => Transaction::block(self.agent, Kind::Read, block),
            Job::Buffer { block } | Job::Descriptors { block } => {
                Transaction::block(self.agent, Kind::Invalidate, block)
            }
            Job::WriteBack { victim } => {
                let data = self.memory.buffers.latest(victim).expect("a victim is present");
                Transaction::carrying(self.agent, Kind::WriteBack, victim, BlockData::from_bytes(data))
            }
        })
    }

    fn complete(&mut self, context: &mut Context<'_>, _transaction: &Transaction, response: &Response) {
        match self.job.take().expect("a job is under way") {
            Job::Poll { block } => {
                let data = response.data.as_ref().expect("a read brings data");
                self.memory.given.take_in(block, response.shared, data);
                self.statistics.polls.increment();
            }
            Job::WriteBack { victim } => {
                self.memory.buffers.drop_block(victim);
                self.statistics.written_back.increment();
            }
            Job::Buffer { block } => {
                self.statistics.invalidations.increment();
                self.write_block(block);
            }
            Job::Descriptors { .. } => {
                self.statistics.invalidations.increment();
                self.memory.returned.invalidated();
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

impl HalfDescription for CoherentRingReceive {
    fn layout(&self) -> Layout {
        let names = ["ring of empty buffers", "receive buffers", "receive ring"];
        let pool = &self.memory.pool;
        Layout {
            written_by_interface: vec![pool.buffer_range(), pool.returned_range()],
            ..pool.layout(names, &[Kind::Read, Kind::Invalidate, Kind::WriteBack])
        }
    }

    fn peek(&self, address: u64) -> Option<&[u8]> {
        match self.memory.pool.part(address)? {
            Part::Given => None,
            Part::Buffers => self.memory.buffers.latest(address),
            Part::Returned => self.memory.returned.peek(address),
        }
    }

    fn protocol_rules(&self) -> Vec<&'static str> {
        vec![BUFFER_FIRST]
    }

    fn leave_out(&mut self, rule: &str) -> bool {
        self.ready_first = rule == BUFFER_FIRST;
        self.ready_first
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }

    /// Every buffer that the processor has may be one that it has still to read.
    fn queue(&self) -> QueueState {
        let used = self.memory.pool.buffers - self.memory.given.owned() as u64;
        let note = match self.empty.is_empty() {
            true => "the interface waits until the processor hands over buffers",
            false => "",
        };
        let queue = QueueState::of("receive ring", used, Some(self.memory.pool.buffers));
        QueueState { is_bound: true, ..queue }.with_note(note)
    }

    fn engine(&self, _now: Time) -> Option<Engine> {
        let doing = match self.job {
            Some(Job::Poll { .. }) => Some("looks for empty buffers"),
            Some(Job::WriteBack { .. }) => Some("writes a block back"),
            Some(Job::Buffer { .. } | Job::Descriptors { .. }) => Some("takes the processor's copy away"),
            None if self.next_job().is_some() => Some("waits for the bus"),
            None => self.filling.as_ref().map(|_| "prepares a message"),
        };
        Some(Engine { doing, messages: self.queue().used })
    }
}
