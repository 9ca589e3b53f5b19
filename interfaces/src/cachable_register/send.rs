//! The send half of an interface with cachable device registers.
//!
//! ```text
//!   MESSAGE_READY ──► read the missing blocks ──► room again; whole? ──► engine_time ──► inject
//!                          ▲
//!        blocks read before: virtual polling
//! ```

use std::ops::Range;

use narthex_fabrics::Header;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::{Kind, Response, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use super::Registers;
use crate::description::{Engine, HalfDescription, Layout};
use crate::half::{Context, HomeReply, InterfaceHalf, RegisterFault, TimeToSend, Trigger};
use crate::queue::QueueState;
use crate::registers::{MESSAGE_READY, STATUS, STATUS_CAN_SEND};

narthex_kernel::statistics! {
    /// What the send half did.
    pub struct SendStatistics {
        messages: Counter, "messages_injected", "messages", "messages read from the registers and injected";
        parts: Counter, "register_parts_sent", "parts", "times that the processor filled the registers";
        early_reads: Counter, "blocks_read_early", "blocks", "blocks read by virtual polling, before they were announced";
        late_reads: Counter, "blocks_read_late", "blocks", "blocks read after they were announced";
    }
}

/// A whole message on its way to the network.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Outgoing {
    header: Header,
    payload: Vec<u8>,
    /// When the engine is done with it.
    done: Time,
}

/// The send half.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct RegisterSend {
    registers: Registers,
    /// The parts of the message that have been read, header first.
    read: Vec<u8>,
    /// The processor has announced the next part.
    ready: bool,
    /// A finished block to read before it is announced.
    early: Option<u64>,
    outgoing: Option<Outgoing>,
    statistics: SendStatistics,
}

impl RegisterSend {
    /// A half with unused registers.
    pub fn new(registers: Registers) -> Self {
        RegisterSend {
            registers,
            read: Vec::new(),
            ready: false,
            early: None,
            outgoing: None,
            statistics: SendStatistics::default(),
        }
    }

    /// The announced part, if all its blocks are here, and whether it is the
    /// message's last; else the first block that has to be read.
    fn part(&self) -> Result<(Vec<u8>, bool), u64> {
        let first = self.registers.memory.range().start;
        let latest = |address| self.registers.memory.latest(address).ok_or(address);
        let header = Header::of(if self.read.is_empty() { latest(first)? } else { &self.read });
        // A length that cannot be is refused when the message is whole.
        let length = Header::BYTES + header.payload_bytes().min(self.registers.payload_limit);
        let left = length - self.read.len();
        let count = left.min(self.registers.bytes());
        let mut bytes = Vec::with_capacity(count);
        for address in self.registers.blocks(count) {
            bytes.extend_from_slice(latest(address)?);
        }
        bytes.truncate(count);
        Ok((bytes, count == left))
    }

    /// Goes on as far as possible without the bus.
    fn advance(&mut self, context: &mut Context<'_>) {
        self.inject(context);
        if !self.ready {
            return;
        }
        let Ok((bytes, last)) = self.part() else { return };
        if last && self.outgoing.is_some() {
            return;
        }
        self.read.extend_from_slice(&bytes);
        self.ready = false;
        self.statistics.parts.increment();
        if last {
            let message = std::mem::take(&mut self.read);
            self.look_at(context, message);
        }
    }

    /// The engine has read a whole message.
    fn look_at(&mut self, context: &mut Context<'_>, message: Vec<u8>) {
        let (header, payload) = (Header::of(&message), &message[Header::BYTES..]);
        match context.check(header, self.registers.payload_limit) {
            Err(fault) => context.faults.push(fault),
            Ok(()) => {
                let done = context.timer_after(self.registers.config.engine_time);
                self.outgoing = Some(Outgoing { header, payload: payload.to_vec(), done });
            }
        }
    }

    fn inject(&mut self, context: &mut Context<'_>) {
        let ready = |outgoing: &mut Outgoing| {
            outgoing.done <= context.now && context.network.can_send(outgoing.header.peer())
        };
        if let Some(outgoing) = self.outgoing.take_if(ready) {
            context.network.send(outgoing.header, outgoing.payload);
            self.statistics.messages.increment();
        }
    }

    /// The block to read next.
    fn next_block(&self) -> Option<u64> {
        if self.ready {
            return self.part().err();
        }
        self.early.filter(|&address| self.registers.memory.latest(address).is_none())
    }

    fn announce(&mut self, context: &mut Context<'_>) -> Result<(), RegisterFault> {
        if self.ready {
            return Err(RegisterFault("a store to MESSAGE_READY while STATUS shows no room".into()));
        }
        self.ready = true;
        self.early = None;
        self.advance(context);
        Ok(())
    }
}

impl InterfaceHalf for RegisterSend {
    fn load(&mut self, _context: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        (offset == STATUS).then_some(Ok(if self.ready { 0 } else { STATUS_CAN_SEND }))
    }

    fn store(
        &mut self,
        context: &mut Context<'_>,
        offset: u64,
        _value: u64,
    ) -> Option<Result<(), RegisterFault>> {
        (offset == MESSAGE_READY).then(|| self.announce(context))
    }

    /// While it is told of no message, no transaction on a block makes it send.
    fn time_to_send(&self) -> TimeToSend {
        TimeToSend {
            time: self.registers.config.engine_time,
            cause: if self.ready { Trigger::Anything } else { Trigger::Access },
            awaits_room: self.outgoing.is_some(),
        }
    }

    fn register_delay(&self) -> Duration {
        self.registers.config.register_access_time
    }

    fn snoop(&mut self, _context: &mut Context<'_>, transaction: &Transaction) -> SnoopReply {
        let Range { start, end } = self.registers.memory.range();
        let writes = matches!(transaction.kind, Kind::Upgrade | Kind::ReadExclusive);
        if writes && !self.ready && (start..end).contains(&transaction.address) {
            let before = transaction.address - self.registers.memory.block_bytes() as u64;
            self.early = (before >= start).then_some(before);
        }
        self.registers.memory.snoop(transaction)
    }

    fn home(&mut self, context: &mut Context<'_>, transaction: &Transaction) -> HomeReply {
        let reply = self.registers.memory.serve(transaction);
        // A write-back may have brought the block that the engine waits for.
        self.advance(context);
        reply
    }

    fn wants_bus(&self) -> bool {
        self.registers.job.is_none() && self.next_block().is_some()
    }

    fn issue(&mut self, _context: &mut Context<'_>) -> Option<Transaction> {
        self.registers.job = self.next_block();
        let address = self.registers.job?;
        let reads =
            if self.ready { &mut self.statistics.late_reads } else { &mut self.statistics.early_reads };
        reads.increment();
        Some(Transaction::block(self.registers.agent, Kind::Read, address))
    }

    fn complete(&mut self, context: &mut Context<'_>, transaction: &Transaction, response: &Response) {
        self.registers.job = None;
        let data = response.data.as_ref().expect("a read brings data");
        self.registers.memory.take_in(transaction.address, data);
        self.advance(context);
    }

    /// When a packet has left that waits, the engine goes on with the next.
    fn time_to_interconnect(&self) -> Duration {
        if self.outgoing.is_some() { Duration::ZERO } else { Duration::MAX }
    }

    fn network(&mut self, context: &mut Context<'_>) {
        self.advance(context);
    }

    fn timer(&mut self, context: &mut Context<'_>) {
        self.advance(context);
    }
}

impl HalfDescription for RegisterSend {
    fn layout(&self) -> Layout {
        self.registers.layout("send registers", Kind::Read)
    }

    fn peek(&self, address: u64) -> Option<&[u8]> {
        self.registers.peek(address)
    }

    fn statistics(&self) -> &dyn StatisticSet {
        &self.statistics
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        &mut self.statistics
    }

    fn queue(&self) -> QueueState {
        let held = self.outgoing.as_ref().map(|outgoing| outgoing.header.peer());
        let note = if self.ready { "one more is announced" } else { "" };
        QueueState::of("send registers", u64::from(held.is_some()), Some(1)).held_for(held).with_note(note)
    }

    fn engine(&self, now: Time) -> Option<Engine> {
        let doing = match (&self.registers.job, &self.outgoing) {
            (Some(_), _) if self.ready => Some("reads a block"),
            (Some(_), _) => Some("reads a block early"),
            (None, _) if self.next_block().is_some() => Some("waits for the bus"),
            (None, Some(outgoing)) if outgoing.done > now => Some("prepares a packet"),
            (None, Some(_)) => Some("waits for the flow control"),
            (None, None) => None,
        };
        let messages = u64::from(self.ready) + u64::from(self.outgoing.is_some());
        Some(Engine { doing, messages })
    }
}
