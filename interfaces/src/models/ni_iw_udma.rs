//! `NI_i w+Udma`: a FIFO whose payloads the interface can move itself, by
//! Princeton's user-level DMA.
//!
//! ```text
//!   send:     load STATUS ─► store SEND (header)
//!             store SEND_DMA (address) ─► load SEND_DMA … until not busy
//!                                         └ interface: read_once, block by block
//!   receive:  load STATUS ─► load RECEIVE (header)
//!             store RECEIVE_DMA (address) ─► load RECEIVE_DMA … until not busy
//!                                            └ interface: write_block, block by block
//! ```
//!
//! It "allows the processor to examine the first 64 words of the NI fifo (256
//! bytes) and optionally transfer them to memory via the UDMA mechanism at both
//! send and receive nodes"; "the messaging software waits until each UDMA transfer
//! is complete" (hpca98, Section 4). Headers and small payloads go through the
//! registers of `NI_i w`; for a payload larger than `dma_above` the library starts
//! one transfer a packet, because a packet's payload is what the FIFO holds at a
//! time, and its length is in the header already. It moves between the
//! FIFO and the user's own buffer: the library copies nothing and the receiver
//! does not read what arrives.
//!
//! The interface is a coherent bus master. It reads whatever copy of a block is
//! the latest (`read_once`) and replaces whole blocks (`write_block`). Of a
//! block that the transfer covers in part it must keep the rest: it takes the
//! block as a cache would (`read_exclusive`), puts the bytes in, and returns it
//! (`write_back`); in between it answers others' requests for the block.
//!
//! Addresses of a process are physical ones within its node; whether the process
//! may use them, the node checks with each block.

use narthex_kernel::quantity::Bytes;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::cache::Cache;
use narthex_memory::protocols::Request;
use narthex_memory::{AgentId, BlockData, Kind, Response, SnoopReply, Transaction};
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Built, Makes, Model, Problem, Setup};
use crate::attachment::Attachment;
use crate::description::{Engine, HalfDescription, Layout};
use crate::fifo::{
    self, DMA_BUSY, DmaEngine, DmaTimes, RECEIVE, ReceiveFifo, SEND, SendFifo, Times,
    attaches_to_block_buses, check_window,
};
use crate::half::{Context, InterfaceHalf, RegisterAccess, RegisterFault, TimeToSend, Trigger};
use crate::programming::{Driver, Fact, Programming, Requirement};
use crate::queue::QueueState;
use crate::taxonomy::{self, Addition, NOT_FOR_COHERENT};

/// Store: where in memory the payload is that is to be sent by DMA. Load: starts
/// that transfer; [`DMA_BUSY`] while it is under way.
const SEND_DMA: u64 = 0x40;
/// Store: where in memory the payload at the head is to be put by DMA. Load: as
/// with [`SEND_DMA`].
const RECEIVE_DMA: u64 = 0x48;

/// What the driver has to know of a machine's interface.
const DMA_ABOVE: Fact = Fact {
    name: "dma_above",
    meaning: "largest payload of a packet that goes by loads and stores rather than DMA",
};

/// Why several processes cannot share it.
const NOT_SHARED: &str = "its store and its load have to follow each other, and \"multiple such store-load sequences \
     issued by multiple processors simultaneously can be overlapped leading to erroneous results\" (hpca98, Section \
     2.2.1), so user-level DMA takes machine.processors_per_node = 1";

static PROGRAMMING: Programming = Programming {
    driver: Driver::numbered(4, "user_level_dma", "Registers and user-level DMA in front of FIFOs."),
    registers: &[
        &fifo::REGISTERS,
        &[
            (
                "SEND_DMA",
                SEND_DMA,
                "store: address of a payload to send by DMA; load: starts it, 1 while it lasts",
            ),
            (
                "RECEIVE_DMA",
                RECEIVE_DMA,
                "store: where to put the payload by DMA; load: starts it, 1 while it lasts",
            ),
        ],
    ],
    constants: &[("DMA_BUSY", DMA_BUSY, "SEND_DMA and RECEIVE_DMA: the transfer is under way.")],
    facts: &[DMA_ABOVE],
    // The FIFO's registers have no place for the rest of a larger header, and the user's memory neither.
    requirements: &[
        Requirement::PlainHeader,
        Requirement::ContiguousFrames,
        Requirement::OneProcess(NOT_SHARED),
    ],
};

/// The parameters of a FIFO interface with user-level DMA.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time that a register access takes beyond the bus's own cycles.
    pub register_access_time: Duration,
    /// Time from the last byte of a packet in the send FIFO to its injection.
    #[schemars(extend("half" = "send"))]
    pub send_time: Duration,
    /// Time from a packet's arrival until the status register shows it, beyond its deposit.
    #[schemars(extend("half" = "receive"))]
    pub receive_time: Duration,
    /// Time that each block of an arriving network message takes into the FIFO's memory.
    #[schemars(extend("half" = "receive"))]
    pub deposit_time: Duration,
    /// Time from the start of a transfer until the interface is the bus's master.
    pub master_change_time: Duration,
    /// Time that a block takes between the interface and the FIFO's memory.
    pub memory_access_time: Duration,
    /// The largest payload of a packet that the messaging library moves by loads
    /// and stores; larger ones by DMA. 0B: every payload by DMA.
    pub dma_above: Bytes,
}

impl Config {
    fn times(&self, setup: &Setup<'_>) -> Times {
        Times {
            register_access: self.register_access_time,
            send: self.send_time,
            receive: fifo::until_visible(setup, self.deposit_time, self.receive_time),
        }
    }

    fn engine(&self, setup: &Setup<'_>) -> DmaEngine {
        let times =
            DmaTimes { master_change: self.master_change_time, memory_access: self.memory_access_time };
        DmaEngine::new(times, setup.block_bytes)
    }
}

/// The layout of a half whose engine issues these `transfers`.
fn layout(dma_above: Bytes, transfers: &[Kind]) -> Layout {
    let mut layout = fifo::layout();
    layout.transactions.extend(transfers);
    layout.facts.push((DMA_ABOVE, dma_above.as_u64()));
    layout
}

/// Why it is not behind an I/O bus.
const NO_MERGE: &str = "of a block that a payload covers in part it holds a copy until the rest is merged, and a \
     coherent I/O bus does not let a device cache the processor's memory (isca96, Section 2.3)";

fn busy() -> RegisterFault {
    RegisterFault("the FIFO is accessed while a DMA transfer is under way".into())
}

#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Send {
    agent: AgentId,
    dma_above: Bytes,
    fifo: SendFifo,
    engine: DmaEngine,
    /// Bytes from the bus on their way to the FIFO's memory.
    fetched: Vec<u8>,
}

impl InterfaceHalf for Send {
    fn load(&mut self, context: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        match offset {
            SEND_DMA => Some(self.engine.load(context, self.fifo.missing())),
            _ => self.fifo.load(context, offset),
        }
    }

    fn store(
        &mut self,
        context: &mut Context<'_>,
        offset: u64,
        value: u64,
    ) -> Option<Result<(), RegisterFault>> {
        match offset {
            SEND_DMA => Some(self.engine.name(value)),
            SEND if self.engine.is_busy() => Some(Err(busy())),
            _ => self.fifo.store(context, offset, value),
        }
    }

    /// Its engine has the FIFO while it is busy.
    fn independent_of_arrivals(
        &self,
        context: &Context<'_>,
        access: RegisterAccess,
        from: Time,
    ) -> Option<bool> {
        match access.offset == SEND_DMA || self.engine.is_busy() {
            true => Some(false),
            false => self.fifo.independent_of_arrivals(context, access, from),
        }
    }

    /// With the last block of a transfer a packet is whole.
    fn time_to_send(&self) -> TimeToSend {
        let cause = if self.engine.is_busy() { Trigger::Anything } else { Trigger::Access };
        TimeToSend { cause, ..self.fifo.time_to_send() }
    }

    fn register_delay(&self) -> Duration {
        self.fifo.register_delay()
    }

    fn wants_bus(&self) -> bool {
        self.engine.wants_bus()
    }

    fn issue(&mut self, _context: &mut Context<'_>) -> Option<Transaction> {
        let part = self.engine.cross()?;
        Some(Transaction::block(self.agent, Kind::ReadOnce, part.block))
    }

    fn complete(&mut self, context: &mut Context<'_>, _transaction: &Transaction, response: &Response) {
        let block = response.data.as_ref().expect("a read brings its block");
        self.fetched.extend_from_slice(&block[self.engine.part().range]);
        self.fifo.statistics.blocks.increment();
        self.engine.advance(context);
    }

    /// Its engine works when the program says so.
    fn time_to_interconnect(&self) -> Duration {
        Duration::MAX
    }

    fn network(&mut self, context: &mut Context<'_>) {
        self.fifo.network(context);
    }

    fn timer(&mut self, context: &mut Context<'_>) {
        self.fifo.timer(context);
        if self.engine.is_due(context.now) {
            let pushed = self.fifo.push(context, &std::mem::take(&mut self.fetched));
            context.faults.extend(pushed.err());
        }
    }
}

impl HalfDescription for Send {
    fn layout(&self) -> Layout {
        layout(self.dma_above, &[Kind::ReadOnce])
    }

    fn statistics(&self) -> &dyn StatisticSet {
        self.fifo.statistics()
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        self.fifo.statistics_mut()
    }

    fn queue(&self) -> QueueState {
        self.fifo.queue().with_note(self.engine.describe())
    }

    fn engine(&self, now: Time) -> Option<Engine> {
        let fifo = self.fifo.engine(now)?;
        Some(Engine { doing: self.engine.doing().or(fifo.doing), ..fifo })
    }
}

#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Receive {
    agent: AgentId,
    dma_above: Bytes,
    fifo: ReceiveFifo,
    engine: DmaEngine,
    /// The block of which the transfer covers a part, while it is here.
    merged: Cache,
    /// The next part's bytes have been put into that block.
    is_merged: bool,
    memory_access_time: Duration,
}

impl Receive {
    /// Takes the next part's bytes from the FIFO into their place in the block.
    fn pop_into(&mut self, context: &mut Context<'_>, block: &mut BlockData) {
        let popped = self.fifo.pop(context, &mut block[self.engine.part().range]);
        context.faults.extend(popped.err());
        self.fifo.statistics.blocks.increment();
    }

    /// The block goes back to memory; nothing, if another agent has taken it
    /// over with its new bytes.
    fn give_back(&mut self, context: &mut Context<'_>, address: u64) -> Option<Transaction> {
        self.is_merged = false;
        match self.merged.remove(address) {
            Some(data) => Some(Transaction::carrying(self.agent, Kind::WriteBack, address, data)),
            None => {
                self.engine.deliver(context);
                None
            }
        }
    }
}

impl InterfaceHalf for Receive {
    fn load(&mut self, context: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        match offset {
            RECEIVE_DMA => Some(self.engine.load(context, self.fifo.payload_left(context))),
            RECEIVE if self.engine.is_busy() => Some(Err(busy())),
            _ => self.fifo.load(context, offset),
        }
    }

    fn store(
        &mut self,
        _context: &mut Context<'_>,
        offset: u64,
        value: u64,
    ) -> Option<Result<(), RegisterFault>> {
        (offset == RECEIVE_DMA).then(|| self.engine.name(value))
    }

    /// Its engine has the FIFO while it is busy.
    fn independent_of_arrivals(
        &self,
        context: &Context<'_>,
        access: RegisterAccess,
        from: Time,
    ) -> Option<bool> {
        match access.offset == RECEIVE_DMA || self.engine.is_busy() {
            true => Some(false),
            false => self.fifo.independent_of_arrivals(context, access, from),
        }
    }

    fn time_to_send(&self) -> TimeToSend {
        self.fifo.time_to_send()
    }

    fn register_delay(&self) -> Duration {
        self.fifo.register_delay()
    }

    fn push(&mut self, transaction: &Transaction) -> Option<BlockData> {
        self.merged.push(transaction.kind.snoop()?, transaction.address)
    }

    fn snoop(&mut self, _context: &mut Context<'_>, transaction: &Transaction) -> SnoopReply {
        match transaction.kind.snoop() {
            Some(snoop) => {
                SnoopReply { delay: self.memory_access_time, ..self.merged.snoop(snoop, transaction.address) }
            }
            None => SnoopReply::default(),
        }
    }

    fn wants_bus(&self) -> bool {
        self.engine.wants_bus()
    }

    fn issue(&mut self, context: &mut Context<'_>) -> Option<Transaction> {
        let part = self.engine.cross()?;
        let block_bytes = self.merged.block_bytes();
        if part.range.len() == block_bytes {
            let mut block = BlockData::zeroed(block_bytes);
            self.pop_into(context, &mut block);
            return Some(Transaction::carrying(self.agent, Kind::WriteBlock, part.block, block));
        }
        if self.is_merged {
            return self.give_back(context, part.block);
        }
        Some(Transaction::block(self.agent, Kind::ReadExclusive, part.block))
    }

    fn complete(&mut self, context: &mut Context<'_>, transaction: &Transaction, response: &Response) {
        match &response.data {
            Some(block) if transaction.kind == Kind::ReadExclusive => {
                let mut block = block.clone();
                self.pop_into(context, &mut block);
                self.merged.fill(transaction.address, Request::ReadExclusive, response.shared, Some(&block));
                self.is_merged = true;
                self.engine.cross_again();
            }
            _ => self.engine.deliver(context),
        }
    }

    /// Its engine works when the program says so.
    fn time_to_interconnect(&self) -> Duration {
        Duration::MAX
    }

    fn network(&mut self, context: &mut Context<'_>) {
        self.fifo.network(context);
    }

    fn timer(&mut self, context: &mut Context<'_>) {
        self.engine.is_due(context.now);
    }
}

impl HalfDescription for Receive {
    fn layout(&self) -> Layout {
        let transfers = [Kind::WriteBack, Kind::WriteBlock, Kind::ReadExclusive];
        // The block that it merges is any block of the program's.
        Layout { snoops_all: true, ..layout(self.dma_above, &transfers) }
    }

    fn peek(&self, address: u64) -> Option<&[u8]> {
        self.merged.peek(address)
    }

    fn statistics(&self) -> &dyn StatisticSet {
        self.fifo.statistics()
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        self.fifo.statistics_mut()
    }

    fn queue(&self) -> QueueState {
        self.fifo.queue().with_note(self.engine.describe())
    }

    fn engine(&self, now: Time) -> Option<Engine> {
        let fifo = self.fifo.engine(now)?;
        Some(Engine { doing: self.engine.doing().or(fifo.doing), ..fifo })
    }
}

fn checked(setup: &Setup<'_>) -> Result<Config, Problem> {
    check_window(setup)?;
    super::config(setup)
}

fn send(setup: &Setup<'_>) -> Built {
    let config = checked(setup)?;
    Ok(Box::new(Send {
        agent: setup.agent,
        dma_above: config.dma_above,
        fifo: SendFifo::new(config.times(setup), setup.packet_bytes),
        engine: config.engine(setup),
        fetched: Vec::new(),
    }))
}

fn receive(setup: &Setup<'_>) -> Built {
    let config = checked(setup)?;
    Ok(Box::new(Receive {
        agent: setup.agent,
        dma_above: config.dma_above,
        fifo: ReceiveFifo::new(config.times(setup), setup.name.size),
        engine: config.engine(setup),
        merged: Cache::with_geometry(setup.protocol, 1, 1, setup.block_bytes as usize),
        is_merged: false,
        memory_access_time: config.memory_access_time,
    }))
}

/// FIFO interfaces with user-level DMA.
pub static MODEL: Model = Model {
    section: "ni_iw_udma",
    family: "NI_i w+Udma",
    summary: "a FIFO with user-level DMA (Princeton SHRIMP)",
    examples: &["NI64w+Udma"],
    read: |text| {
        taxonomy::read(text, |name| match name.addition {
            Some(Addition::Udma) if name.coherent => Err(NOT_FOR_COHERENT),
            Some(Addition::Udma) if name.is_fifo() => Ok(Some("NI{}w+Udma")),
            _ => Ok(None),
        })
    },
    programming: &PROGRAMMING,
    attaches: |attachment| match attachment {
        Attachment::IoBus => Err(NO_MERGE),
        _ => attaches_to_block_buses(attachment),
    },
    makes: Makes::Halves { send, receive },
    schema: || schema_for!(Config),
    sample: || {
        json!({
            "register_access_time": "60ns",
            "send_time": "16ns",
            "receive_time": "60ns",
            "deposit_time": "60ns",
            "master_change_time": "44ns",
            "memory_access_time": "60ns",
            "dma_above": "16B",
        })
    },
};
