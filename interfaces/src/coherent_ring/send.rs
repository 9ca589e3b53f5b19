//! The send half of an interface with rings in coherent memory.
//!
//! ```text
//!   next descriptor ready ──► buffer read, block by block ──► engine_time ──► inject ──► buffer returned
//!      ▲                      (the next one's meanwhile)                                 by batches, or when
//!   its block read again,                                                                there is nothing else
//!   once the processor has
//!   taken it away
//! ```
//!
//! Blocks of buffers stay in the interface's cache until the processor writes them again. One
//! transaction is under way at a time.

use narthex_fabrics::Header;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::{AgentId, BlockData, Kind, Response, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use super::{Part, Parts, Shared};
use crate::description::{Engine, HalfDescription, Layout};
use crate::half::{Context, HomeReply, InterfaceHalf, RegisterFault, TimeToSend, Trigger};
use crate::queue::QueueState;

narthex_kernel::statistics! {
    /// What a send half did.
    pub struct Statistics {
        polls: Counter, "send_ring_reads", "blocks", "blocks of the send ring read, each after the processor had taken it away";
        payload_blocks: Counter, "send_buffer_reads", "blocks", "blocks of packets read from the processor's cache or from memory";
        invalidations: Counter, "send_return_invalidations", "blocks", "copies of returned descriptors taken away from the processor, to write more";
        returned: Counter, "send_buffers_returned", "buffers", "buffers returned to the processor";
        messages: Counter, "messages_injected", "messages", "messages taken from the send ring and injected";
    }
}

/// What it has under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Job {
    /// A block of the send ring.
    Poll { block: u64 },
    /// The next block of the packet that is gathered.
    Buffer { block: u64 },
    /// The processor's copy of a block of the returned ring has to go.
    Invalidate { block: u64 },
}

/// A packet whose buffer is being read.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Gathering {
    buffer: usize,
    length: usize,
    bytes: Vec<u8>,
}

/// A packet on its way to the network.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Leaving {
    buffer: usize,
    header: Header,
    payload: Vec<u8>,
    /// When the engine has prepared it.
    ready: Time,
}

/// The send half.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct CoherentRingSend {
    agent: AgentId,
    memory: Shared,
    engine_time: Duration,
    batch: usize,
    gathering: Option<Gathering>,
    leaving: Option<Leaving>,
    job: Option<Job>,
    /// Nothing more is sent, because the program gave a wrong descriptor.
    given_up: bool,
    statistics: Statistics,
}

impl CoherentRingSend {
    /// A half whose buffers are all the processor's.
    pub fn new(parts: Parts) -> Self {
        let Parts { agent, pool, ring_copies, buffer_copies, memory_access_time, engine_time, batch } = parts;
        CoherentRingSend {
            agent,
            memory: Shared::new(pool, [ring_copies, buffer_copies], memory_access_time, false),
            engine_time,
            batch,
            gathering: None,
            leaving: None,
            job: None,
            given_up: false,
            statistics: Statistics::default(),
        }
    }

    /// Goes on as far as possible without a transaction.
    fn advance(&mut self, context: &mut Context<'_>) {
        while !self.given_up {
            match self.step(context) {
                Ok(true) => {}
                Ok(false) => break,
                Err(fault) => {
                    context.faults.push(fault);
                    self.given_up = true;
                    (self.gathering, self.leaving) = (None, None);
                }
            }
        }
        if self.returns_now() {
            self.memory.returned.write();
        }
    }

    /// One step; false when something has to happen first.
    fn step(&mut self, context: &mut Context<'_>) -> Result<bool, RegisterFault> {
        self.inject(context);
        if self.gathering.is_none() && !self.begin()? {
            return Ok(false);
        }
        self.gather();
        let is_whole = self.gathering.as_ref().is_some_and(|packet| packet.bytes.len() == packet.length);
        Ok(is_whole && self.leaving.is_none() && self.prepare(context)?)
    }

    /// The prepared packet leaves, if there is room for it.
    fn inject(&mut self, context: &mut Context<'_>) {
        let may_leave = |leaving: &mut Leaving| {
            leaving.ready <= context.now && context.network.can_send(leaving.header.peer())
        };
        let Some(Leaving { buffer, header, payload, .. }) = self.leaving.take_if(may_leave) else { return };
        context.network.send(header, payload);
        self.statistics.messages.increment();
        self.statistics.returned.increment();
        self.memory.given.release(buffer);
        self.memory.returned.push(buffer, 0);
    }

    /// Begins with the packet of the next descriptor; false if there is none.
    fn begin(&mut self) -> Result<bool, RegisterFault> {
        let Some(descriptor) = self.memory.given.next() else { return Ok(false) };
        let (length, least) = (descriptor.length(), Header::BYTES as u64);
        if !(least..=self.memory.pool.buffer_bytes).contains(&length) {
            let most = self.memory.pool.buffer_bytes;
            let problem = format!("a packet of {length} bytes; it has {least} to {most}, header included");
            return Err(self.memory.given.fault(&problem));
        }
        let buffer = self.memory.given.take(descriptor)?;
        let length = length as usize;
        self.gathering = Some(Gathering { buffer, length, bytes: Vec::with_capacity(length) });
        Ok(true)
    }

    /// The block that the gathered packet needs next.
    fn next_buffer_block(&self) -> Option<u64> {
        let Gathering { buffer, length, bytes } = self.gathering.as_ref()?;
        (bytes.len() < *length).then(|| self.memory.pool.buffer(*buffer) + bytes.len() as u64)
    }

    /// Takes the blocks of the packet that the interface has.
    fn gather(&mut self) {
        while let Some(block) = self.next_buffer_block()
            && let Some(data) = self.memory.buffers.latest(block)
        {
            let packet = self.gathering.as_mut().expect("it needs a block");
            let part = data.len().min(packet.length - packet.bytes.len());
            packet.bytes.extend_from_slice(&data[..part]);
        }
    }

    /// The gathered packet goes to the engine.
    fn prepare(&mut self, context: &mut Context<'_>) -> Result<bool, RegisterFault> {
        let Some(Gathering { buffer, length, mut bytes }) = self.gathering.take() else { return Ok(false) };
        let header = Header::of(&bytes).with_sense(false);
        context.check(header, length - Header::BYTES)?;
        if header.payload_bytes() + Header::BYTES != length {
            let payload = header.payload_bytes();
            let problem = format!(
                "{length} bytes, and the packet's header says {payload} bytes of payload behind its own 8"
            );
            return Err(RegisterFault(format!(
                "the packet at {:#x}: {problem}",
                self.memory.pool.buffer(buffer)
            )));
        }
        bytes.drain(..Header::BYTES);
        let ready = context.timer_after(self.engine_time);
        self.leaving = Some(Leaving { buffer, header, payload: bytes, ready });
        Ok(true)
    }

    fn is_idle(&self) -> bool {
        self.gathering.is_none() && self.leaving.is_none()
    }

    /// Whether buffers are returned: enough of them, or it has nothing else to do.
    fn returns_now(&self) -> bool {
        self.memory.returned.pending() >= self.batch || self.is_idle()
    }

    fn next_job(&self) -> Option<Job> {
        if let Some(block) = self.next_buffer_block() {
            return Some(Job::Buffer { block });
        }
        if let Some(block) = self.memory.given.block_to_read()
            && self.gathering.is_none()
            && !self.given_up
        {
            return Some(Job::Poll { block });
        }
        let block = self.memory.returned.block_to_invalidate().filter(|_| self.returns_now())?;
        Some(Job::Invalidate { block })
    }
}

impl InterfaceHalf for CoherentRingSend {
    /// The engine works on every packet before it leaves. While it knows of none, it has to read the
    /// next descriptor first.
    fn time_to_send(&self) -> TimeToSend {
        let knows_of_none = self.is_idle() && self.job.is_none() && self.memory.given.next().is_none();
        let cause = if knows_of_none { Trigger::BlockToRead } else { Trigger::Anything };
        TimeToSend { time: self.engine_time, cause, awaits_room: self.leaving.is_some() }
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

    /// When a packet that waits has left, its buffer may be returned at once, and the next one read.
    fn time_to_interconnect(&self) -> Duration {
        if self.leaving.is_some() { Duration::ZERO } else { Duration::MAX }
    }

    fn wants_bus(&self) -> bool {
        self.job.is_none() && self.next_job().is_some()
    }

    fn issue(&mut self, _context: &mut Context<'_>) -> Option<Transaction> {
        let job = self.next_job()?;
        self.job = Some(job);
        let (kind, block) = match job {
            Job::Poll { block } | Job::Buffer { block } => (Kind::Read, block),
            Job::Invalidate { block } => (Kind::Invalidate, block),
        };
        Some(Transaction::block(self.agent, kind, block))
    }

    fn complete(&mut self, context: &mut Context<'_>, _transaction: &Transaction, response: &Response) {
        let data = || response.data.as_ref().expect("a read brings data");
        match self.job.take().expect("a job is under way") {
            Job::Poll { block } => {
                self.memory.given.take_in(block, response.shared, data());
                self.statistics.polls.increment();
            }
            Job::Buffer { block } => {
                self.memory.buffers.take_in(block, response.shared, data());
                self.statistics.payload_blocks.increment();
            }
            Job::Invalidate { .. } => {
                self.memory.returned.invalidated();
                self.statistics.invalidations.increment();
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

impl HalfDescription for CoherentRingSend {
    fn layout(&self) -> Layout {
        let names = ["send ring", "send buffers", "ring of sent buffers"];
        let pool = &self.memory.pool;
        Layout {
            written_by_interface: vec![pool.returned_range()],
            ..pool.layout(names, &[Kind::Read, Kind::Invalidate])
        }
    }

    fn peek(&self, address: u64) -> Option<&[u8]> {
        (self.memory.pool.part(address)? == Part::Returned).then(|| self.memory.returned.peek(address))?
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }

    fn queue(&self) -> QueueState {
        let held_for = self.leaving.as_ref().map(|leaving| leaving.header.peer());
        QueueState::of("send ring", self.memory.given.owned() as u64, Some(self.memory.pool.buffers))
            .held_for(held_for)
    }

    fn engine(&self, now: Time) -> Option<Engine> {
        let is_prepared = |leaving: &Leaving| leaving.ready <= now;
        let doing = match self.job {
            Some(Job::Poll { .. }) => Some("reads descriptors"),
            Some(Job::Buffer { .. }) => Some("reads a buffer"),
            Some(Job::Invalidate { .. }) => Some("returns buffers"),
            None if self.next_job().is_some() => Some("waits for the bus"),
            None => self.leaving.as_ref().map(|leaving| match is_prepared(leaving) {
                true => "waits for the flow control",
                false => "prepares a packet",
            }),
        };
        Some(Engine { doing, messages: self.memory.given.owned() as u64 })
    }
}
