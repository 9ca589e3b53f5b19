//! The receive half of an interface with cachable device registers.
//!
//! ```text
//!   packet ──► engine_time ──► into the registers ──► STATUS shows it ──► CLEAR
//!                ▲                      ▲                                   │
//!                │ next packet          │ next part                        ▼
//!                └──────────────────────┴────────── the processor's copies go, on the bus
//! ```

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::{BlockData, Kind, Response, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

use super::{CLEAR, Registers};
use crate::description::{Engine, HalfDescription, Layout};
use crate::half::{Context, HomeReply, InterfaceHalf, RegisterFault, TimeToSend};
use crate::queue::QueueState;
use crate::registers::{STATUS, STATUS_HAS_RECEIVED};

narthex_kernel::statistics! {
    /// What the receive half did.
    pub struct ReceiveStatistics {
        messages: Counter, "messages_deposited", "messages", "messages put into the registers";
        clears: Counter, "register_clears", "times", "times that the processor cleared the registers";
        invalidations: Counter, "register_invalidations", "blocks", "blocks that were invalidated before the registers were reused";
    }
}

/// The message that the registers show, part by part.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Arrived {
    /// Header and payload.
    bytes: Vec<u8>,
    /// Where the next part begins.
    next: usize,
    /// When the next part can be put into the registers.
    ready: Time,
}

/// The receive half.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct RegisterReceive {
    registers: Registers,
    arrived: Option<Arrived>,
    /// The registers hold a part, and the status register says so.
    shown: bool,
    statistics: ReceiveStatistics,
}

impl RegisterReceive {
    /// A half with unused registers.
    pub fn new(registers: Registers) -> Self {
        RegisterReceive { registers, arrived: None, shown: false, statistics: ReceiveStatistics::default() }
    }

    /// Goes on as far as possible without the bus.
    fn advance(&mut self, context: &mut Context<'_>) {
        if self.shown || self.stale_block().is_some() {
            return;
        }
        match &self.arrived {
            None => self.accept(context),
            Some(arrived) if arrived.ready <= context.now => self.show(),
            Some(_) => {}
        }
    }

    /// A block of the registers of which the processor may have an old copy.
    fn stale_block(&self) -> Option<u64> {
        let mut blocks = self.registers.blocks(self.registers.bytes());
        blocks.find(|&address| self.registers.memory.must_invalidate(address))
    }

    fn accept(&mut self, context: &mut Context<'_>) {
        if let Some(packet) = context.network.take() {
            let header = packet.header;
            let bytes = [&header.0.to_le_bytes(), &packet.payload[..]].concat();
            let config = &self.registers.config;
            let ready = context.timer_after(config.engine_time + config.deposit_time);
            self.arrived = Some(Arrived { bytes, next: 0, ready });
        }
    }

    /// Puts the next part into the registers.
    fn show(&mut self) {
        let arrived = self.arrived.as_mut().expect("a message has arrived");
        let rest = &arrived.bytes[arrived.next..];
        let part = &rest[..rest.len().min(self.registers.bytes())];
        let size = self.registers.memory.block_bytes();
        for (address, bytes) in self.registers.blocks(part.len()).zip(part.chunks(size)) {
            let mut block = BlockData::zeroed(size);
            block[..bytes.len()].copy_from_slice(bytes);
            self.registers.memory.produce(address, &block);
        }
        arrived.next += part.len();
        self.shown = true;
    }

    fn clear(&mut self, context: &mut Context<'_>) -> Result<(), RegisterFault> {
        if !self.shown {
            return Err(RegisterFault("a store to CLEAR while STATUS shows no message".into()));
        }
        self.shown = false;
        self.statistics.clears.increment();
        let arrived = self.arrived.as_mut().expect("the registers show a message");
        if arrived.next == arrived.bytes.len() {
            self.arrived = None;
            self.statistics.messages.increment();
        } else {
            arrived.ready = context.timer_after(self.registers.config.deposit_time);
        }
        self.advance(context);
        Ok(())
    }
}

impl InterfaceHalf for RegisterReceive {
    fn load(&mut self, _context: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        (offset == STATUS).then_some(Ok(if self.shown { STATUS_HAS_RECEIVED } else { 0 }))
    }

    fn store(
        &mut self,
        context: &mut Context<'_>,
        offset: u64,
        _value: u64,
    ) -> Option<Result<(), RegisterFault>> {
        (offset == CLEAR).then(|| self.clear(context))
    }

    /// It sends nothing.
    fn time_to_send(&self) -> TimeToSend {
        TimeToSend::NONE
    }

    fn register_delay(&self) -> Duration {
        self.registers.config.register_access_time
    }

    fn snoop(&mut self, _context: &mut Context<'_>, transaction: &Transaction) -> SnoopReply {
        self.registers.memory.snoop(transaction)
    }

    fn home(&mut self, _context: &mut Context<'_>, transaction: &Transaction) -> HomeReply {
        self.registers.memory.serve(transaction)
    }

    fn wants_bus(&self) -> bool {
        self.registers.job.is_none() && !self.shown && self.stale_block().is_some()
    }

    fn issue(&mut self, _context: &mut Context<'_>) -> Option<Transaction> {
        self.registers.job = self.stale_block();
        let address = self.registers.job?;
        Some(Transaction::block(self.registers.agent, Kind::Invalidate, address))
    }

    fn complete(&mut self, context: &mut Context<'_>, transaction: &Transaction, _response: &Response) {
        self.registers.job = None;
        self.registers.memory.invalidated(transaction.address);
        self.statistics.invalidations.increment();
        self.advance(context);
    }

    /// Copies of the blocks that it reuses are taken away before, and a packet is prepared first.
    fn time_to_interconnect(&self) -> Duration {
        self.registers.config.engine_time + self.registers.config.deposit_time
    }

    fn network(&mut self, context: &mut Context<'_>) {
        self.advance(context);
    }

    fn timer(&mut self, context: &mut Context<'_>) {
        self.advance(context);
    }
}

impl HalfDescription for RegisterReceive {
    fn layout(&self) -> Layout {
        self.registers.layout("receive registers", Kind::Invalidate)
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
        let note = match (&self.arrived, self.shown) {
            (Some(_), true) => "the processor has not cleared them",
            (Some(_), false) => "it is on its way into them",
            (None, _) => "",
        };
        QueueState::of("receive registers", u64::from(self.arrived.is_some()), Some(1)).with_note(note)
    }

    fn engine(&self, _now: Time) -> Option<Engine> {
        let doing = match (&self.registers.job, &self.arrived) {
            (Some(_), _) => Some("takes the processor's copy away"),
            (None, _) if self.wants_bus() => Some("waits for the bus"),
            (None, Some(_)) if self.shown => Some("waits for the processor"),
            (None, Some(_)) => Some("prepares a message"),
            (None, None) => None,
        };
        Some(Engine { doing, messages: self.arrived.is_some().into() })
    }
}
