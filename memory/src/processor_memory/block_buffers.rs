//! A processor's block buffers: a block that it composes to be stored to a
//! device at once, and a block that it loaded from one.
//!
//! ```text
//!             stores            flush: one BlockStore
//!   registers ──────► send     ─────────────────────► device
//!   registers ◄────── receive  ◄─────────────────────
//!             loads             load: one BlockLoad
//! ```
//!
//! "The processor accesses the block buffer via a load/store interface. These
//! block buffers approximate the UltraSparc block load and store mechanism"
//! (hpca98, Section 4). They are a page of the processor's own ([`PageKind::BlockBuffers`]):
//! accesses to it take what a hit in the cache takes. Two words of the page
//! move a block: the address of a device's block register, stored there, starts
//! the transfer. The processor stops for it: first it moves the block between
//! buffer and pins, a stated number of its own cycles (hpca98, Section 6.1.1),
//! then it asks for the bus.
//!
//! [`PageKind::BlockBuffers`]: crate::pages::PageKind::BlockBuffers

use narthex_kernel::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ProcessorMemory;
use crate::kind::Kind;
use crate::traffic::{Traffic, WithoutEffect};
use crate::transaction::{BlockData, LARGEST_BLOCK_BYTES, Transaction};

/// Where in the page the send buffer begins.
pub const SEND_BUFFER: u64 = 0;
/// Where in the page the receive buffer begins.
pub const RECEIVE_BUFFER: u64 = SEND_BUFFER + LARGEST_BLOCK_BYTES as u64;
/// A store of a device's address flushes the send buffer to it.
pub const FLUSH: u64 = RECEIVE_BUFFER + LARGEST_BLOCK_BYTES as u64;
/// A store of a device's address loads the receive buffer from it.
pub const LOAD: u64 = FLUSH + 8;

/// The block buffers of a machine's processors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Config {
    /// There are none.
    None {},
    /// One to send and one to receive.
    Pair {
        /// Processor cycles to move a block between a buffer and the bus, before
        /// the transaction.
        transfer_cycles: u32,
    },
}

impl Config {
    /// The parameters that change nothing on a bus with this traffic, as (key, why) pairs.
    pub fn without_effect(&self, traffic: &Traffic) -> Vec<WithoutEffect> {
        let moves = traffic.has(Kind::BlockLoad) || traffic.has(Kind::BlockStore);
        match self {
            Config::Pair { .. } if !moves => {
                vec![("transfer_cycles".into(), "no device takes or gives whole blocks".into())]
            }
            _ => Vec::new(),
        }
    }
}

/// The two buffers of one processor.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) struct BlockBuffers {
    pub transfer_time: Duration,
    pub send: BlockData,
    pub receive: BlockData,
    /// A block is on its way between a buffer and the pins.
    pub moving: bool,
}

impl BlockBuffers {
    pub fn new(transfer_time: Duration, block_bytes: usize) -> Self {
        let empty = BlockData::zeroed(block_bytes);
        BlockBuffers { transfer_time, send: empty.clone(), receive: empty, moving: false }
    }

    /// The bytes of an access to the page; none where it has no buffer.
    pub fn bytes(&mut self, offset: u64, size: usize) -> Option<&mut [u8]> {
        let (buffer, start) = match offset {
            FLUSH.. => return None,
            RECEIVE_BUFFER.. => (&mut self.receive, offset - RECEIVE_BUFFER),
            _ => (&mut self.send, offset - SEND_BUFFER),
        };
        buffer.get_mut(start as usize..start as usize + size)
    }
}

/// The transaction that a store to this place of the page asks for.
pub(super) fn transfer_at(offset: u64) -> Option<Kind> {
    match offset {
        FLUSH => Some(Kind::BlockStore),
        LOAD => Some(Kind::BlockLoad),
        _ => None,
    }
}

impl ProcessorMemory {
    /// The same with block buffers: `transfer_time` passes before each of their
    /// transactions.
    pub fn with_block_buffers(self, transfer_time: Duration) -> Self {
        let buffers = BlockBuffers::new(transfer_time, self.data.block_bytes());
        ProcessorMemory { block_buffers: Some(buffers), ..self }
    }

    /// How long the block that the processor has begun to move takes between its
    /// buffer and the pins; then [`ProcessorMemory::end_block_move`] is due.
    pub fn block_move(&self) -> Option<Duration> {
        self.block_buffers.as_ref().filter(|buffers| buffers.moving).map(|buffers| buffers.transfer_time)
    }

    /// The block is at the pins: its transaction may follow.
    pub fn end_block_move(&mut self) {
        if let Some(buffers) = &mut self.block_buffers {
            buffers.moving = false;
        }
    }

    /// The transaction of a block that has reached the pins.
    pub(super) fn block_transfer(&self, kind: Kind, address: u64) -> Option<Transaction> {
        let buffers = self.block_buffers.as_ref().filter(|buffers| !buffers.moving)?;
        Some(match kind {
            Kind::BlockStore => Transaction::carrying(self.agent, kind, address, buffers.send.clone()),
            _ => Transaction::block_load(self.agent, address, buffers.receive.len()),
        })
    }
}
