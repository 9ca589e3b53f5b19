//! `NI_i w+Blkbuf`: a FIFO whose packets pass through block buffers in the
//! processor, after the Fujitsu AP3000's interface.
//!
//! ```text
//!   send:     load STATUS ─► compose a block ─► flush it to BLOCK ─► … ─► network
//!   receive:  load STATUS ─► load a block from BLOCK ─► read it ─► …
//!                            └ in the processor ┘      └ one transaction a block
//! ```
//!
//! It "allows the processor to load and store 16 words (64 bytes) from the head
//! of the fifo to a 64-byte send or receive block buffer located in the
//! processor" (hpca98, Section 4). A packet's header is the first doubleword of
//! its first block; the interface knows from it how many blocks follow. The
//! buffers themselves belong to the processor (narthex_memory's
//! `block_buffers`); the interface sees block stores and block loads. A poll
//! is an uncached load of `STATUS`, as in `NI2w`.

use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Duration, Time};
use narthex_memory::{BlockData, Kind};
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Built, Makes, Model, Problem, Setup};
use crate::description::{Engine, HalfDescription, Layout};
use crate::fifo::{self, ReceiveFifo, SendFifo, Times, attaches_to_block_buses};
use crate::half::{Context, InterfaceHalf, RegisterAccess, RegisterFault, TimeToSend};
use crate::programming::{Driver, Programming, Requirement};
use crate::queue::QueueState;
use crate::taxonomy::{self, Addition, NOT_FOR_COHERENT};

/// Block store: the next block of the packet to be sent. Block load: the next
/// block of the packet at the head.
const BLOCK: u64 = 0x800;

static PROGRAMMING: Programming = Programming {
    driver: Driver::numbered(3, "block_buffer", "Block buffers in front of FIFOs."),
    registers: &[
        &fifo::REGISTERS,
        &[(
            "BLOCK",
            BLOCK,
            "block store: the next block of the packet to be sent; block load: of the packet at the head",
        )],
    ],
    constants: &[],
    facts: &[],
    requirements: &[Requirement::BlockBuffers],
};

/// The parameters of a FIFO interface behind block buffers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time that a register access takes beyond the bus's own cycles.
    pub register_access_time: Duration,
    /// Time that a block store takes beyond the bus's own cycles.
    #[schemars(extend("half" = "send"))]
    pub block_store_time: Duration,
    /// Time that a block load takes beyond the bus's own cycles.
    #[schemars(extend("half" = "receive"))]
    pub block_load_time: Duration,
    /// Time from the last block of a packet in the send FIFO to its injection.
    #[schemars(extend("half" = "send"))]
    pub send_time: Duration,
    /// Time from a packet's arrival until the status register shows it, beyond its deposit.
    #[schemars(extend("half" = "receive"))]
    pub receive_time: Duration,
    /// Time that each block of an arriving network message takes into the FIFO's memory.
    #[schemars(extend("half" = "receive"))]
    pub deposit_time: Duration,
}

impl Config {
    fn times(&self, setup: &Setup<'_>) -> Times {
        Times {
            register_access: self.register_access_time,
            send: self.send_time,
            receive: fifo::until_visible(setup, self.deposit_time, self.receive_time),
        }
    }
}

fn layout() -> Layout {
    let mut layout = fifo::layout();
    layout.transactions.extend([Kind::BlockLoad, Kind::BlockStore]);
    layout
}

#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Send {
    fifo: SendFifo,
    block_store_time: Duration,
}

impl InterfaceHalf for Send {
    fn load(&mut self, context: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        self.fifo.load(context, offset)
    }

    fn store(
        &mut self,
        context: &mut Context<'_>,
        offset: u64,
        value: u64,
    ) -> Option<Result<(), RegisterFault>> {
        self.fifo.store(context, offset, value)
    }

    fn store_block(
        &mut self,
        context: &mut Context<'_>,
        offset: u64,
        block: &BlockData,
    ) -> Option<Result<(), RegisterFault>> {
        if offset != BLOCK {
            return None;
        }
        self.fifo.statistics.blocks.increment();
        Some(self.fifo.push(context, block))
    }

    fn independent_of_arrivals(
        &self,
        context: &Context<'_>,
        access: RegisterAccess,
        from: Time,
    ) -> Option<bool> {
        self.fifo.independent_of_arrivals(context, access, from)
    }

    fn time_to_send(&self) -> TimeToSend {
        self.fifo.time_to_send()
    }

    fn register_delay(&self) -> Duration {
        self.fifo.register_delay()
    }

    fn block_store_delay(&self) -> Duration {
        self.block_store_time
    }

    fn time_to_interconnect(&self) -> Duration {
        self.fifo.time_to_interconnect()
    }

    fn network(&mut self, context: &mut Context<'_>) {
        self.fifo.network(context);
    }

    fn timer(&mut self, context: &mut Context<'_>) {
        self.fifo.timer(context);
    }
}

impl HalfDescription for Send {
    fn layout(&self) -> Layout {
        layout()
    }

    fn statistics(&self) -> &dyn StatisticSet {
        self.fifo.statistics()
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        self.fifo.statistics_mut()
    }

    fn queue(&self) -> QueueState {
        self.fifo.queue()
    }

    fn engine(&self, now: Time) -> Option<Engine> {
        self.fifo.engine(now)
    }
}

#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Receive {
    fifo: ReceiveFifo,
    block_load_time: Duration,
    block_bytes: usize,
}

impl InterfaceHalf for Receive {
    fn load(&mut self, context: &mut Context<'_>, offset: u64) -> Option<Result<u64, RegisterFault>> {
        self.fifo.load(context, offset)
    }

    fn load_block(
        &mut self,
        context: &mut Context<'_>,
        offset: u64,
    ) -> Option<Result<BlockData, RegisterFault>> {
        if offset != BLOCK {
            return None;
        }
        self.fifo.statistics.blocks.increment();
        let mut block = BlockData::zeroed(self.block_bytes);
        Some(self.fifo.pop(context, &mut block).map(|()| block))
    }

    fn independent_of_arrivals(
        &self,
        context: &Context<'_>,
        access: RegisterAccess,
        from: Time,
    ) -> Option<bool> {
        self.fifo.independent_of_arrivals(context, access, from)
    }

    fn time_to_send(&self) -> TimeToSend {
        self.fifo.time_to_send()
    }

    fn register_delay(&self) -> Duration {
        self.fifo.register_delay()
    }

    fn block_load_delay(&self) -> Duration {
        self.block_load_time
    }

    fn time_to_interconnect(&self) -> Duration {
        self.fifo.time_to_interconnect()
    }

    fn network(&mut self, context: &mut Context<'_>) {
        self.fifo.network(context);
    }
}

impl HalfDescription for Receive {
    fn layout(&self) -> Layout {
        layout()
    }

    fn statistics(&self) -> &dyn StatisticSet {
        self.fifo.statistics()
    }

    fn statistics_mut(&mut self) -> &mut dyn StatisticSet {
        self.fifo.statistics_mut()
    }

    fn queue(&self) -> QueueState {
        self.fifo.queue()
    }

    fn engine(&self, now: Time) -> Option<Engine> {
        self.fifo.engine(now)
    }
}

fn checked(setup: &Setup<'_>) -> Result<Config, Problem> {
    let (size, words) = (u64::from(setup.name.size), setup.block_bytes / 4);
    if size != words {
        return Err(Problem::of_name(format!(
            "it would move {size} words at once; a block buffer holds a block of {words} words \
             (data_cache.block), so the size is {words}"
        )));
    }
    super::config(setup)
}

fn send(setup: &Setup<'_>) -> Built {
    let config = checked(setup)?;
    let fifo = SendFifo::new(config.times(setup), setup.packet_bytes);
    Ok(Box::new(Send { fifo, block_store_time: config.block_store_time }))
}

fn receive(setup: &Setup<'_>) -> Built {
    let config = checked(setup)?;
    let fifo = ReceiveFifo::new(config.times(setup), setup.name.size);
    let block_bytes = setup.block_bytes as usize;
    Ok(Box::new(Receive { fifo, block_load_time: config.block_load_time, block_bytes }))
}

/// FIFO interfaces behind block buffers.
pub static MODEL: Model = Model {
    section: "ni_iw_blkbuf",
    family: "NI_i w+Blkbuf",
    summary: "a FIFO behind block buffers in the processor (Fujitsu AP3000)",
    examples: &["NI16w+Blkbuf"],
    read: |text| {
        taxonomy::read(text, |name| match name.addition {
            Some(Addition::Blkbuf) if name.coherent => Err(NOT_FOR_COHERENT),
            Some(Addition::Blkbuf) if name.is_fifo() => Ok(Some("NI{}w+Blkbuf")),
            _ => Ok(None),
        })
    },
    programming: &PROGRAMMING,
    attaches: attaches_to_block_buses,
    makes: Makes::Halves { send, receive },
    schema: || schema_for!(Config),
    sample: || {
        json!({
            "register_access_time": "60ns",
            "block_store_time": "20ns",
            "block_load_time": "80ns",
            "send_time": "16ns",
            "receive_time": "60ns",
            "deposit_time": "60ns",
        })
    },
};
