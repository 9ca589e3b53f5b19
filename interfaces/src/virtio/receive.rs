//! The receive half of an interface with split virtqueues.
//!
//! ```text
//!   packet waits, and a chain of buffers is there ──► engine_time ──► buffers written ──► used ring written
//! ```
//!
//! Chains are read ahead. A packet stays in the flow control's incoming buffers until there is one for it, so
//! no packet is dropped for want of a buffer. The last block of a packet is written whole, with zeros
//! behind the packet's end, where its buffer has room for them: a device may write more than it says that it
//! has (virtio 1.2, Section 2.7.8.2).

use narthex_fabrics::{Header, Packet};
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::{Response, Transaction};
use serde::{Deserialize, Serialize};

use super::chains::Chain;
use super::queue::{LOOK_AGAIN, Queue, is_kick};
use super::{Parts, Purpose, RECEIVE_QUEUE, RECEIVE_REGISTERS};
use crate::description::{Engine, HalfDescription, Layout};
use crate::half::{Context, InterfaceHalf, RegisterAccess, RegisterFault, TimeToSend};
use crate::queue::QueueState;
use crate::ring::receive::BUFFER_FIRST;

narthex_kernel::statistics! {
    /// What a receive half did.
    pub struct Statistics {
        kicks: Counter, "receive_kicks", "stores", "kicks of the receive queue";
        looks: Counter, "receive_index_reads", "reads", "reads of the receive queue's available index";
        descriptors: Counter, "receive_descriptors_fetched", "descriptors", "descriptors read from the receive queue";
        armed: Counter, "receive_kicks_asked_for", "writes", "writes that asked for the receive queue's next kick";
        updates: Counter, "receive_used_updates", "writes", "writes of the receive queue's used index, each for one or more packets";
        messages: Counter, "messages_deposited", "messages", "messages put into receive buffers";
        interrupts: Counter, "receive_interrupts", "messages", "messages that interrupted the processor, or wait until their vector is unmasked";
        held: Counter, "packets_without_descriptor", "packets", "packets that the flow control held because the receive queue had no buffers left";
    }
}

/// A packet on its way to its buffers.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Deposit {
    packet: Box<Packet>,
    chain: Chain,
    /// When the engine has prepared it; none once it is being written.
    ready: Option<Time>,
}

impl Deposit {
    fn length(&self) -> usize {
        Header::BYTES + self.packet.payload.len()
    }

    /// What goes to each buffer, with zeros behind the packet's end.
    fn parts(&self, block_bytes: u64) -> Vec<(u64, Vec<u8>)> {
        let mut bytes = self.packet.header.0.to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.packet.payload);
        let mut rest = &bytes[..];
        let mut parts = Vec::new();
        for buffer in &self.chain.buffers {
            let (part, behind) = rest.split_at(rest.len().min(buffer.bytes));
            if part.is_empty() {
                break;
            }
            rest = behind;
            let end = (buffer.address + part.len() as u64).next_multiple_of(block_bytes);
            let mut part = part.to_vec();
            part.resize(buffer.bytes.min((end - buffer.address) as usize), 0);
            parts.push((buffer.address, part));
        }
        parts
    }
}

/// The receive half.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct VirtioReceive {
    queue: Queue,
    register_delay: Duration,
    engine_time: Duration,
    deposit: Option<Deposit>,
    /// Whether the packet that waits has been counted as one without buffers.
    is_counted: bool,
    /// Whether [`BUFFER_FIRST`] is left out.
    used_first: bool,
    statistics: Statistics,
}

impl VirtioReceive {
    /// A half without buffers.
    pub fn new(parts: &Parts) -> Self {
        VirtioReceive {
            queue: Queue::new(parts, RECEIVE_QUEUE, true),
            register_delay: parts.register_delay,
            engine_time: parts.engine_time,
            deposit: None,
            is_counted: false,
            used_first: false,
            statistics: Statistics::default(),
        }
    }

    /// Advances as far as possible without the interconnect.
    fn advance(&mut self, context: &mut Context<'_>) {
        let advanced = self.try_to_advance(context);
        context.faults.extend(advanced.err());
    }

    fn try_to_advance(&mut self, context: &mut Context<'_>) -> Result<(), RegisterFault> {
        while let Some(purpose) = self.queue.take_write() {
            self.written(purpose);
        }
        while let Some((purpose, bytes)) = self.queue.take_read() {
            match purpose {
                Purpose::Wanted { from, until } => {
                    let said = u16::from_le_bytes([bytes[0], bytes[1]]);
                    let is_wanted = self.queue.interrupt_if_wanted((from, until), said);
                    self.statistics.interrupts.add(is_wanted.into());
                    continue;
                }
                Purpose::Index => self.statistics.looks.increment(),
                Purpose::Firsts { count, .. } => self.statistics.descriptors.add(count),
                Purpose::Further { .. } => self.statistics.descriptors.increment(),
                _ => {}
            }
            self.queue.take_in(purpose, &bytes)?;
        }
        self.accept(context)?;
        self.queue.fetch(true);
        Ok(())
    }

    fn written(&mut self, purpose: Option<Purpose>) {
        match purpose {
            None => {}
            Some(Purpose::Deposit) => self.deposited(),
            Some(purpose) => {
                match purpose {
                    Purpose::Armed => self.statistics.armed.increment(),
                    _ => self.statistics.updates.increment(),
                }
                self.queue.written(purpose);
            }
        }
    }

    /// Takes the next packet if there are buffers for it.
    fn accept(&mut self, context: &mut Context<'_>) -> Result<(), RegisterFault> {
        if self.deposit.is_some() || context.network.front().is_none() {
            return Ok(());
        }
        let Some(chain) = self.queue.chains.next() else {
            if self.queue.left() == 0 && !self.is_counted {
                self.statistics.held.increment();
                self.is_counted = true;
            }
            return Ok(());
        };
        let (bytes, least) = (chain.bytes() as u64, self.queue.memory().buffer_bytes);
        if bytes < least {
            let problem = format!("{bytes} bytes for a packet, which may have {least}");
            return Err(self.queue.fault(chain.head, &problem));
        }
        let chain = self.queue.chains.take().expect("it is whole");
        let packet = context.network.take().expect("a packet waits");
        let ready = Some(context.timer_after(self.engine_time));
        let deposit = Deposit { packet, chain, ready };
        if self.used_first {
            self.queue.finish(deposit.chain.head, deposit.length() as u64);
        }
        self.deposit = Some(deposit);
        self.is_counted = false;
        Ok(())
    }

    /// The engine has prepared the packet: it is written.
    fn write(&mut self) {
        let deposit = self.deposit.as_ref().expect("it is prepared");
        let mut parts = deposit.parts(self.queue.memory().block_bytes).into_iter().peekable();
        while let Some((address, bytes)) = parts.next() {
            let purpose = parts.peek().is_none().then_some(Purpose::Deposit);
            self.queue.write_packet(address, bytes, purpose);
        }
    }

    /// The packet is in its buffers.
    fn deposited(&mut self) {
        let deposit = self.deposit.take().expect("it was written");
        if !self.used_first {
            self.queue.finish(deposit.chain.head, deposit.length() as u64);
        }
        self.statistics.messages.increment();
    }
}

impl InterfaceHalf for VirtioReceive {
    fn load(&mut self, _context: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        self.queue.load(&RECEIVE_REGISTERS, offset)
    }

    fn store(
        &mut self,
        context: &mut Context<'_>,
        offset: u64,
        value: u64,
    ) -> Option<Result<(), RegisterFault>> {
        let (is_kick, stored) = self.queue.store(&RECEIVE_REGISTERS, offset, value)?;
        self.statistics.kicks.add(is_kick.into());
        self.advance(context);
        Some(stored)
    }

    fn takes(&self, offset: u64, bytes: u16) -> bool {
        is_kick(&RECEIVE_REGISTERS, offset, bytes)
    }

    /// A kick may make it ask for the bus.
    fn independent_of_arrivals(&self, _: &Context<'_>, access: RegisterAccess, _: Time) -> Option<bool> {
        self.queue.has(&RECEIVE_REGISTERS, access.offset).then_some(false)
    }

    /// It sends nothing.
    fn time_to_send(&self) -> TimeToSend {
        TimeToSend::NONE
    }

    fn register_delay(&self) -> Duration {
        self.register_delay
    }

    /// The engine works on a packet before it is written.
    fn time_to_interconnect(&self) -> Duration {
        self.engine_time
    }

    fn wants_bus(&self) -> bool {
        self.queue.wants()
    }

    fn issue(&mut self, _context: &mut Context<'_>) -> Option<Transaction> {
        self.queue.issue()
    }

    fn complete(&mut self, context: &mut Context<'_>, transaction: &Transaction, response: &Response) {
        self.queue.complete(transaction, response);
        self.advance(context);
    }

    /// What a packet leaves to be read ahead is read once the packet is prepared.
    fn network(&mut self, context: &mut Context<'_>) {
        let accepted = self.accept(context);
        context.faults.extend(accepted.err());
    }

    fn timer(&mut self, context: &mut Context<'_>) {
        let is_due = |ready: &mut Time| *ready <= context.now;
        if let Some(deposit) = &mut self.deposit
            && deposit.ready.take_if(is_due).is_some()
        {
            self.write();
        }
        self.advance(context);
    }
}

impl HalfDescription for VirtioReceive {
    fn layout(&self) -> Layout {
        let names = ["receive descriptors", "receive available ring", "receive used ring", "receive buffers"];
        let memory = self.queue.memory();
        let written = memory.used()..memory.range().end;
        Layout { written_by_interface: vec![written], ..memory.layout(names) }
    }

    fn protocol_rules(&self) -> Vec<&'static str> {
        vec![BUFFER_FIRST, LOOK_AGAIN]
    }

    fn leave_out(&mut self, rule: &str) -> bool {
        self.used_first = rule == BUFFER_FIRST;
        self.queue.rests_at_once = rule == LOOK_AGAIN;
        self.used_first || self.queue.rests_at_once
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }

    /// Each buffer that the driver has made available beyond the queue's size is one that it has read. The device
    /// may not know of all.
    fn queue(&self) -> QueueState {
        let entries = self.queue.memory().entries;
        let known = self.queue.made_available();
        let used = self.queue.used.done().saturating_sub(known.saturating_sub(entries));
        let note = match self.queue.left() {
            0 if known > 0 => "the interface waits until the processor makes buffers available",
            _ => "",
        };
        QueueState { is_bound: true, ..QueueState::of("receive queue", used, Some(entries)) }.with_note(note)
    }

    fn engine(&self, _now: Time) -> Option<Engine> {
        let doing = self.queue.doing().or_else(|| self.deposit.as_ref().map(|_| "prepares a message"));
        Some(Engine { doing, messages: self.queue().used })
    }
}
