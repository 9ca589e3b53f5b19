//! The send half of an interface with descriptor rings.
//!
//! ```text
//!   tail stored ──► descriptors read ──► buffer read, block by block ──► engine_time ──► inject
//!                   ahead, by blocks     (the next one's meanwhile)                        │
//!                                                           report asked for: write_block ◄┘
//! ```
//!
//! A block of descriptors is written back only if its last descriptor asks for a report. One packet
//! may wait for the flow control while the next one's buffer is read.

use narthex_fabrics::Header;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::{AgentId, Kind, Response, Transaction};
use serde::{Deserialize, Serialize};

use super::descriptors::{DONE, Fetch, REPORT, Ring, RingRegister};
use super::{Parts, SEND_REGISTERS, ring_register};
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

/// Its transaction on the bus.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Job {
    Descriptors(Fetch),
    /// The next block of the packet that is being gathered.
    Buffer {
        block: u64,
    },
    /// A block of descriptors that are done, up to this number.
    Report {
        until: u64,
    },
}

/// A packet whose buffer is being read, or has been.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Gathering {
    length: usize,
    /// The next block of its buffer.
    next: u64,
    bytes: Vec<u8>,
}

/// A packet on its way to the network.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Leaving {
    header: Header,
    payload: Vec<u8>,
    /// When the engine has prepared it.
    ready: Time,
}

/// The send half.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct RingSend {
    agent: AgentId,
    ring: Ring,
    block_bytes: u64,
    register_delay: Duration,
    engine_time: Duration,
    gathering: Option<Gathering>,
    leaving: Option<Leaving>,
    job: Option<Job>,
    statistics: Statistics,
}

impl RingSend {
    /// A half with nothing to send.
    pub fn new(parts: Parts) -> Self {
        let Parts { agent, memory, block_bytes, prefetch, thresholds, register_delay, engine_time } = parts;
        RingSend {
            agent,
            ring: Ring::new(memory, block_bytes, prefetch, thresholds),
            block_bytes,
            register_delay,
            engine_time,
            gathering: None,
            leaving: None,
            job: None,
            statistics: Statistics::default(),
        }
    }

    /// Advances as far as possible without the bus.
    fn advance(&mut self, context: &mut Context<'_>) {
        loop {
            self.inject(context);
            let is_gathered =
                self.gathering.as_ref().is_some_and(|packet| packet.bytes.len() == packet.length);
            let step = match is_gathered {
                true if self.leaving.is_none() => self.prepare(context),
                true => return,
                false if self.gathering.is_none() => self.begin(),
                false => return,
            };
            match step {
                Ok(true) => {}
                Ok(false) => return,
                Err(fault) => {
                    // Nothing more is sent for this process.
                    context.faults.push(fault);
                    (self.gathering, self.leaving) = (None, None);
                    self.ring.give_up();
                    return;
                }
            }
        }
    }

    /// The prepared packet leaves, if there is room for it.
    fn inject(&mut self, context: &mut Context<'_>) {
        let may_leave = |leaving: &mut Leaving| {
            leaving.ready <= context.now && context.network.can_send(leaving.header.peer())
        };
        let Some(Leaving { header, payload, .. }) = self.leaving.take_if(may_leave) else { return };
        context.network.send(header, payload);
        self.statistics.messages.increment();
        let control = self.ring.descriptor(self.ring.done()).expect("it has been fetched").control;
        self.ring.finish(control | DONE);
        self.ring.drop_unreported();
    }

    /// Begins with the next descriptor's buffer; false if there is none.
    fn begin(&mut self) -> Result<bool, RegisterFault> {
        let number = self.ring.done() + u64::from(self.leaving.is_some());
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
        let bytes = Vec::with_capacity(length as usize);
        self.gathering = Some(Gathering { length: length as usize, next: descriptor.address, bytes });
        Ok(true)
    }

    /// The gathered packet goes to the engine.
    fn prepare(&mut self, context: &mut Context<'_>) -> Result<bool, RegisterFault> {
        let Some(Gathering { length, mut bytes, .. }) = self.gathering.take() else { return Ok(false) };
        let header = Header::of(&bytes).with_sense(false);
        context.check(header, length - Header::BYTES)?;
        if header.payload_bytes() + Header::BYTES != length {
            let payload = header.payload_bytes();
            let problem = format!(
                "{length} bytes, and the packet's header says {payload} bytes of payload behind its own 8"
            );
            return Err(self.ring.fault(self.ring.done(), &problem));
        }
        bytes.drain(..Header::BYTES);
        self.leaving = Some(Leaving { header, payload: bytes, ready: context.timer_after(self.engine_time) });
        Ok(true)
    }

    fn next_job(&self) -> Option<Job> {
        if self.ring.has_done_block() {
            return Some(Job::Report { until: self.ring.block_to_write().2 });
        }
        match &self.gathering {
            Some(packet) if packet.bytes.len() < packet.length => Some(Job::Buffer { block: packet.next }),
            _ => self.ring.next_fetch().map(Job::Descriptors),
        }
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
        let (name, register) = ring_register(&SEND_REGISTERS, offset)?;
        if register == RingRegister::Tail {
            self.statistics.doorbells.increment();
        }
        let stored = self.ring.store(register, value, false);
        self.advance(context);
        Some(stored.map_err(|problem| RegisterFault(format!("{name} is stored with {problem}"))))
    }

    /// A tail may make it ask for the bus.
    fn independent_of_arrivals(&self, _: &Context<'_>, access: RegisterAccess, _: Time) -> Option<bool> {
        ring_register(&SEND_REGISTERS, access.offset).map(|_| false)
    }

    /// An empty ring fills by a store to its tail. The engine works on every packet before it leaves.
    fn time_to_send(&self) -> TimeToSend {
        let cause = if self.ring.left() == 0 { Trigger::Access } else { Trigger::Anything };
        TimeToSend { time: self.engine_time, cause, awaits_room: self.leaving.is_some() }
    }

    fn register_delay(&self) -> Duration {
        self.register_delay
    }

    /// When a packet that waits has left, its report may be written at once, and the next buffer read.
    fn time_to_interconnect(&self) -> Duration {
        if self.leaving.is_some() { Duration::ZERO } else { Duration::MAX }
    }

    fn wants_bus(&self) -> bool {
        self.job.is_none() && self.next_job().is_some()
    }

    fn issue(&mut self, _context: &mut Context<'_>) -> Option<Transaction> {
        let job = self.next_job()?;
        self.job = Some(job);
        Some(match job {
            Job::Descriptors(fetch) => Transaction::block(self.agent, Kind::ReadOnce, fetch.address),
            Job::Buffer { block } => Transaction::block(self.agent, Kind::ReadOnce, block),
            Job::Report { .. } => {
                let (address, block, _) = self.ring.block_to_write();
                Transaction::carrying(self.agent, Kind::WriteBlock, address, block)
            }
        })
    }

    fn complete(&mut self, context: &mut Context<'_>, _transaction: &Transaction, response: &Response) {
        let data = || response.data.as_ref().expect("a read brings data");
        match self.job.take().expect("a job is on the bus") {
            Job::Descriptors(fetch) => {
                self.ring.take_in(fetch, data());
                self.statistics.descriptor_blocks.increment();
                self.statistics.descriptors.add(fetch.count());
            }
            Job::Buffer { block } => {
                self.statistics.payload_blocks.increment();
                if let Some(packet) = &mut self.gathering {
                    let missing = packet.length - packet.bytes.len();
                    let part = missing.min(self.block_bytes as usize);
                    packet.bytes.extend_from_slice(&data()[..part]);
                    packet.next = block + self.block_bytes;
                }
            }
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
    fn layout(&self) -> Layout {
        self.ring.memory().layout("send ring", "send buffers")
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
        let is_prepared = |leaving: &Leaving| leaving.ready <= now;
        let doing = match self.job {
            Some(Job::Descriptors(_)) => Some("reads descriptors"),
            Some(Job::Buffer { .. }) => Some("reads a buffer"),
            Some(Job::Report { .. }) => Some("reports what is sent"),
            None if self.next_job().is_some() => Some("waits for the bus"),
            None => self.leaving.as_ref().map(|leaving| match is_prepared(leaving) {
                true => "waits for the flow control",
                false => "prepares a packet",
            }),
        };
        Some(Engine { doing, messages: self.ring.left() })
    }
}
