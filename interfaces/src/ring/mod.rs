//! Descriptor rings, seen from the interface's side: [`descriptors::Ring`] is what the
//! interface knows of a ring, [`send`] and [`receive`] are the engines of the two halves. What
//! the rings are and how they are programmed stands in [`crate::models::ring`].
//!
//! ```text
//!            written back       done            fetched               tail
//!   ─────────────┼───────────────┼─────────────────┼────────────────────┼───────► running numbers
//!   the driver's │ done, and the │ fetched: in the │ the interface's,   │ the driver's
//!                │ driver cannot │ interface       │ still in memory    │
//!                │ see it yet    │                 │                    │
//! ```
//!
//! A descriptor's place in the ring is its running number modulo the ring's size. Descriptors
//! cross the bus by whole coherence blocks, four of 16 bytes in a block of 64: a ring begins
//! with a block, and what the interface writes back of a block are all of its descriptors.

pub mod descriptors;
pub mod receive;
pub mod send;

use std::ops::Range;

use narthex_kernel::Duration;
use narthex_memory::{AgentId, Kind};
use serde::{Deserialize, Serialize};

use crate::address_names::{Region, RegionParts};
use crate::description::Layout;
use crate::programming::{Fact, Register};
use descriptors::{DESCRIPTOR_BYTES, RingRegister};

/// The registers of the send ring.
pub const SEND_REGISTERS: [Register; 4] = [
    ("SEND_RING", 0x80, "store: where the send ring begins"),
    ("SEND_RING_SIZE", 0x88, "store: how many descriptors it has"),
    ("SEND_RING_HEAD", 0x90, "load: its first descriptor whose packet has not left"),
    ("SEND_RING_TAIL", 0x98, "store: its first descriptor that is not handed over"),
];
/// The registers of the receive ring.
pub const RECEIVE_REGISTERS: [Register; 4] = [
    ("RECEIVE_RING", 0xa0, "store: where the receive ring begins"),
    ("RECEIVE_RING_SIZE", 0xa8, "store: how many descriptors it has"),
    ("RECEIVE_RING_HEAD", 0xb0, "load: its first descriptor whose buffer is not filled"),
    ("RECEIVE_RING_TAIL", 0xb8, "store: its first descriptor that is not handed over"),
];

/// The name of the register at an offset, and which of a ring's it is.
fn ring_register(registers: &[Register; 4], offset: u64) -> Option<(&'static str, RingRegister)> {
    let place = registers.iter().position(|&(_, register, _)| register == offset)?;
    Some((registers[place].0, RingRegister::ALL[place]))
}

/// How many packets a send ring's tail tells of at most.
pub const BURST: Fact =
    Fact { name: "ring_burst", meaning: "most packets that a store to the send ring's tail tells of" };
/// How often a report is asked for.
pub const REPORT_THRESHOLD: Fact = Fact {
    name: "ring_report_threshold",
    meaning: "descriptors from one that asks for a report to the next",
};
/// When the driver looks for reports.
pub const FREE_THRESHOLD: Fact =
    Fact { name: "ring_free_threshold", meaning: "fewer free descriptors make the driver look for a report" };
/// How many buffers are handed over together.
pub const REFILL_THRESHOLD: Fact =
    Fact { name: "ring_refill_threshold", meaning: "receive buffers that are handed over together" };

/// What the driver of a send ring is told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct SendThresholds {
    /// [`BURST`].
    pub burst: u64,
    /// [`REPORT_THRESHOLD`].
    pub report: u64,
    /// [`FREE_THRESHOLD`].
    pub free: u64,
}

impl SendThresholds {
    fn facts(self) -> Vec<(Fact, u64)> {
        vec![(BURST, self.burst), (REPORT_THRESHOLD, self.report), (FREE_THRESHOLD, self.free)]
    }
}

/// What a half of either direction is made of.
#[derive(Debug)]
pub struct Parts {
    /// Its place on the bus.
    pub agent: AgentId,
    /// Where its process keeps the ring and the buffers.
    pub memory: RingMemory,
    /// Bytes of a coherence block.
    pub block_bytes: u64,
    /// Descriptors that the interface has room for, between their fetch and their packets' end.
    pub prefetch: u64,
    /// The time that a register access takes beyond the bus's own cycles.
    pub register_delay: Duration,
    /// The time that the engine works on a packet.
    pub engine_time: Duration,
}

/// The memory that a process and its interface use for a ring: as many descriptors as it is to
/// have, and behind them a buffer for each.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct RingMemory {
    /// Where it begins.
    pub start: u64,
    /// Descriptors.
    pub entries: u64,
    /// Bytes of a buffer: a packet.
    pub buffer_bytes: u64,
}

impl RingMemory {
    fn buffers(&self) -> u64 {
        self.start + self.entries * DESCRIPTOR_BYTES
    }

    /// All of its addresses.
    pub fn range(&self) -> Range<u64> {
        self.start..self.buffers() + self.entries * self.buffer_bytes
    }

    /// What a half says of it, with the names of the ring and of its buffers.
    fn layout(&self, ring: &'static str, buffers: &'static str) -> Layout {
        let descriptors =
            Region { name: ring, addresses: self.start..self.buffers(), parts: RegionParts::Blocks };
        let packets = Region {
            name: buffers,
            addresses: self.buffers()..self.range().end,
            parts: RegionParts::Entries(self.buffer_bytes),
        };
        Layout {
            cachable: vec![self.range()],
            entries: self.entries,
            regions: vec![descriptors, packets],
            transactions: vec![Kind::UncachedLoad, Kind::UncachedStore, Kind::ReadOnce, Kind::WriteBlock],
            ..Layout::default()
        }
    }
}
