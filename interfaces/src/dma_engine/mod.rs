//! A DMA engine: a device that copies bytes between memories, beside the network interface.
//!
//! ```text
//!                  ┌──── DMA engine ────┐
//!   interconnect ──┤ port 0   registers │
//!                  │            │       │
//!   interconnect ──┤ port 1   transfer  │── interrupt line
//!                  └────────────────────┘
//! ```
//!
//! A machine's file says on which interconnects its ports are and where its registers are
//! on each. A processor, of the host or of firmware, drives it by them:
//!
//! | register | store | load |
//! | --- | --- | --- |
//! | `SOURCE`, `DESTINATION` | the addresses of a copy | |
//! | `CONTROL` | length, and flags in the upper half: starts that copy | |
//! | `LIST` | starts the copies of a list of descriptors; the lowest bit is its port | |
//! | `COMPLETION` | where the completion word is; the lowest bit is its port | |
//! | `STATUS` | takes the interrupt back | bit 0: busy, bit 1: the interrupt line |
//! | `COMPLETED` | | copies that are done |
//!
//! Addresses are the node's. What the engine reaches is its memory; a descriptor that
//! names anything else ends the run with an error that names it. How it copies is in
//! [`transfer`].

pub mod transfer;

use std::hash::Hash;
use std::ops::Range;

use narthex_kernel::digest::Digest;
use narthex_kernel::quantity::Bytes;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Archived, Damage, Duration};
use narthex_memory::interconnects::Refusal;
use narthex_memory::main_memory::PAGE_BYTES;
use narthex_memory::{AccessReply, Kind, Response, SnoopReply, Transaction};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address_names::AddressName;
use crate::description::{DeviceDescription, DevicePort};
use crate::device::Device;
use crate::half::{Context, RegisterFault};
use crate::queue::QueueState;
use transfer::{Build, Descriptor, DmaEngine};

const SOURCE: u64 = 0x00;
const DESTINATION: u64 = 0x08;
const CONTROL: u64 = 0x10;
const LIST: u64 = 0x18;
const COMPLETION: u64 = 0x20;
const STATUS: u64 = 0x28;
const COMPLETED: u64 = 0x30;

/// Where the registers of a port are that has none.
pub const NO_REGISTERS: u64 = 0;

/// Bits of `STATUS`.
const BUSY: u64 = 1;
const INTERRUPTS: u64 = 2;

/// The parameters of a DMA engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time from a descriptor to the first block of its copy.
    pub start_time: Duration,
    /// Time after each block, on the reading and on the writing side.
    pub block_time: Duration,
    /// Bytes that it reads ahead of writing: its buffer.
    pub burst: Bytes,
    /// Time that a register access takes beyond the interconnect's own cycles.
    pub register_access_time: Duration,
}

impl Config {
    /// The rules that the parameters break on a machine with blocks of `block`, as (key,
    /// what is wrong) pairs.
    pub fn problems(&self, block: Bytes) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        if self.burst < block {
            let message = format!("{} is less than a block of {block} (data_cache.block)", self.burst);
            problems.push(("burst", message));
        }
        if block.as_u64() < Descriptor::BYTES {
            let least = Descriptor::BYTES;
            problems.push(("burst", format!("blocks of {block} hold no descriptor of {least}B")));
        }
        problems
    }
}

/// The registers of a DMA engine, and what is behind them.
#[derive(Clone, Debug)]
pub struct DmaDevice {
    engine: DmaEngine,
    register_access_time: Duration,
    /// Where the registers are at each port.
    registers: Vec<u64>,
    /// At which ports its interrupt line leads to processors.
    lines: Vec<bool>,
    /// What the registers of a copy hold.
    source: u64,
    destination: u64,
}

impl DmaDevice {
    /// An idle engine. For each port, `ports` says where its registers are, and whether
    /// the interrupt line leads to processors there.
    pub fn new(build: Build, register_access_time: Duration, ports: Vec<(u64, bool)>) -> Self {
        let (registers, lines) = ports.into_iter().unzip();
        let engine = DmaEngine::new(build);
        DmaDevice { engine, register_access_time, registers, lines, source: 0, destination: 0 }
    }

    /// What it issues on the interconnects of its ports, and what reaches its registers.
    pub const TRANSACTIONS: [Kind; 6] = [
        Kind::ReadOnce,
        Kind::WriteBlock,
        Kind::ReadExclusive,
        Kind::WriteBack,
        Kind::UncachedLoad,
        Kind::UncachedStore,
    ];

    /// Whether it asserts its interrupt line.
    pub fn interrupts(&self) -> bool {
        self.engine.state.interrupt
    }

    fn store(&mut self, context: &mut Context<'_>, offset: u64, value: u64) -> Result<(), String> {
        let DmaDevice { engine, source, destination, .. } = self;
        match offset {
            SOURCE => *source = value,
            DESTINATION => *destination = value,
            CONTROL => {
                let (length, flags) = (value as u32, (value >> 32) as u32);
                let (source, destination) = (*source, *destination);
                let descriptor = Descriptor { source, destination, length, flags, next: 0 };
                engine.start(context.now, descriptor, context.timers)?;
            }
            LIST => engine.start_list(value)?,
            COMPLETION => engine.state.completion = value,
            STATUS => engine.state.interrupt = false,
            _ => return Err(self.no_register(offset)),
        }
        Ok(())
    }

    fn load(&self, offset: u64) -> Result<u64, String> {
        match offset {
            STATUS => {
                let busy = if self.engine.is_busy() { BUSY } else { 0 };
                Ok(busy | if self.interrupts() { INTERRUPTS } else { 0 })
            }
            COMPLETED => Ok(self.engine.completed()),
            SOURCE => Ok(self.source),
            DESTINATION => Ok(self.destination),
            _ => Err(self.no_register(offset)),
        }
    }

    fn no_register(&self, offset: u64) -> String {
        format!("DMA engine {} has no such register at {offset:#x}", self.engine.name())
    }

    /// A copy that cannot be made ends the run.
    fn report(context: &mut Context<'_>, done: Result<(), String>) {
        context.faults.extend(done.err().map(RegisterFault));
    }
}

impl Device for DmaDevice {
    fn reaches_first_levels_in(&self) -> Option<Duration> {
        None
    }

    fn access_time(&self, _port: usize, _kind: Kind) -> Duration {
        self.register_access_time
    }

    fn access(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        transaction: &Transaction,
        response: &mut Response,
    ) -> Result<AccessReply, RegisterFault> {
        let offset = transaction.address - self.registers[port];
        if transaction.size != 8 {
            let size = transaction.size;
            return Err(RegisterFault(format!(
                "an access of {size} bytes to register {offset:#x}; registers have 8"
            )));
        }
        let done = match transaction.kind {
            Kind::UncachedLoad => self.load(offset).map(|value| response.value = value),
            _ => self.store(context, offset, transaction.value),
        };
        done.map(|()| AccessReply::Done).map_err(RegisterFault)
    }

    fn refuse(
        &mut self,
        port: usize,
        _context: &mut Context<'_>,
        transaction: &Transaction,
    ) -> Option<Refusal> {
        self.engine.push(port, transaction).map(Refusal::Push)
    }

    fn snoop(&mut self, port: usize, _context: &mut Context<'_>, transaction: &Transaction) -> SnoopReply {
        self.engine.snoop(port, transaction)
    }

    fn wants(&self, port: usize) -> bool {
        self.engine.wants(port)
    }

    fn issue(&mut self, port: usize, context: &mut Context<'_>) -> Option<Transaction> {
        self.engine.issue(context.now, port, context.timers)
    }

    fn complete(
        &mut self,
        port: usize,
        context: &mut Context<'_>,
        _transaction: &Transaction,
        response: &Response,
    ) {
        let done = self.engine.complete(context.now, port, response, context.timers);
        Self::report(context, done);
    }

    fn timer(&mut self, _port: usize, context: &mut Context<'_>) {
        let done = self.engine.timer(context.now);
        Self::report(context, done);
    }
}

impl DeviceDescription for DmaDevice {
    fn ports(&self) -> Vec<DevicePort> {
        let port = |(port, &start): (usize, &u64)| DevicePort {
            process: 0,
            name: format!("DMA engine {} on the {}", self.engine.name(), self.engine.port_name(port)),
            registers: Vec::from_iter((start != NO_REGISTERS).then(|| start..start + PAGE_BYTES)),
            homes: Vec::new(),
            concern: 0..u64::MAX,
            is_coherent: true,
            refuses: false,
            is_engine: true,
            lines: u32::from(self.lines[port]),
            ..DevicePort::default()
        };
        self.registers.iter().enumerate().map(port).collect()
    }

    fn part(&self, _port: usize) -> &'static str {
        "DMA engine"
    }

    fn ports_beside(&self, _port: usize) -> Range<usize> {
        0..self.registers.len()
    }

    fn asserted_lines(&self, port: usize) -> u64 {
        u64::from(self.interrupts() && self.lines[port])
    }

    fn name_of(&self, address: u64, _block_bytes: u64) -> Option<AddressName> {
        let is_here =
            |&&start: &&u64| start != NO_REGISTERS && (start..start + PAGE_BYTES).contains(&address);
        self.registers.iter().find(is_here).map(|_| AddressName::whole("DMA engine's registers"))
    }

    fn peek(&self, address: u64) -> Option<&[u8]> {
        self.engine.peek(address)
    }

    fn hash_state(&self, _port: usize, digest: &mut Digest) {
        (&self.engine.state, self.source, self.destination).hash(digest);
    }

    fn statistics(&self) -> Vec<&dyn StatisticSet> {
        vec![&self.engine.statistics]
    }

    fn statistics_mut(&mut self) -> Vec<&mut dyn StatisticSet> {
        vec![&mut self.engine.statistics]
    }

    fn queue(&self, _port: usize) -> QueueState {
        let used = u64::from(self.engine.is_busy());
        QueueState::of("DMA engine", used, Some(1)).with_note(self.engine.describe())
    }
}

impl Archived for DmaDevice {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let DmaDevice { engine, register_access_time: _, registers: _, lines: _, source, destination } = self;
        archive.value(&mut engine.state)?;
        archive.value(&mut engine.statistics)?;
        archive.value(source)?;
        archive.value(destination)
    }
}
