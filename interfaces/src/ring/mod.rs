//! Descriptor rings, seen from the interface's side: [`descriptors::Ring`] is what the interface
//! knows of a ring, [`send`] and [`receive`] are the engines of the two halves.
//! [`crate::models::ring`] says what the rings are and how they are programmed.
//!
//! ```text
//!            written back       done            fetched               tail
//!   ─────────────┼───────────────┼─────────────────┼────────────────────┼───────► running numbers
//!   the driver's │ done, and the │ fetched: in the │ the interface's,   │ the driver's
//!                │ driver cannot │ interface       │ still in memory    │
//!                │ see it yet    │                 │                    │
//! ```
//!
//! A descriptor's place in the ring is its running number modulo the ring's size. Descriptors cross
//! the bus by whole coherence blocks, four of 16 bytes in a block of 64: a ring begins with a block,
//! and the interface writes back all descriptors of a block together.

pub mod descriptors;
pub mod interrupts;
pub mod leaving;
pub mod receive;
pub mod send;
pub mod steering;
pub mod tail;

use std::ops::Range;

use narthex_kernel::Duration;
use narthex_memory::{AgentId, Kind};
use serde::{Deserialize, Serialize};

use crate::address_names::{Region, RegionParts};
use crate::cachable_queue::copies::Copies;
use crate::description::Layout;
use crate::half::RegisterFault;
use crate::programming::Register;
use descriptors::{DESCRIPTOR_BYTES, Ring, RingRegister};

/// The registers of the send ring.
pub const SEND_REGISTERS: [Register; 5] = [
    ("SEND_RING", 0x80, "store: where the send ring begins"),
    ("SEND_RING_SIZE", 0x88, "store: how many descriptors it has"),
    ("SEND_RING_HEAD", 0x90, "load: its first descriptor whose packet has not left"),
    ("SEND_RING_TAIL", 0x98, "store: its first descriptor that is not handed over"),
    (
        "SEND_RING_THRESHOLDS",
        0xa0,
        "load: most packets of a burst; from bit 16 on the report's threshold, 32 to free",
    ),
];
/// The registers of the receive ring.
pub const RECEIVE_REGISTERS: [Register; 5] = [
    ("RECEIVE_RING", 0xc0, "store: where the receive ring begins"),
    ("RECEIVE_RING_SIZE", 0xc8, "store: how many descriptors it has"),
    ("RECEIVE_RING_HEAD", 0xd0, "load: its first descriptor whose buffer is not filled"),
    ("RECEIVE_RING_TAIL", 0xd8, "store: its first descriptor that is not handed over"),
    ("RECEIVE_RING_THRESHOLDS", 0xe0, "load: buffers that are handed over together"),
];

/// The name of the register at an offset, and the register of a ring that it is.
fn ring_register(registers: &[Register; 5], offset: u64) -> Option<(&'static str, RingRegister)> {
    let place = registers.iter().position(|&(_, register, _)| register == offset)?;
    Some((registers[place].0, RingRegister::ALL[place]))
}

/// The driver stores to the register at an offset, if that is one of the ring's: whether it is a
/// doorbell, and what is wrong with it. `whole_blocks` is as for [`Ring::store`].
fn store_to_register(
    ring: &mut Ring,
    registers: &[Register; 5],
    (offset, value): (u64, u64),
    whole_blocks: bool,
) -> Option<(bool, Result<(), RegisterFault>)> {
    let (name, register) = ring_register(registers, offset)?;
    let stored = ring.store(register, value, whole_blocks);
    let stored = stored.map_err(|problem| RegisterFault(format!("{name} is stored with {problem}")));
    Some((register == RingRegister::Tail, stored))
}

/// The thresholds that the driver of a send ring reads, all less than 2^16.
#[derive(Clone, Copy, Debug)]
pub struct SendThresholds {
    /// The most packets that a store to the tail announces.
    pub burst: u64,
    /// Descriptors from one that asks for a report to the next.
    pub report: u64,
    /// With fewer free descriptors the driver looks for a report.
    pub free: u64,
}

impl SendThresholds {
    /// The value of the register.
    pub fn word(self) -> u64 {
        self.burst | self.report << 16 | self.free << 32
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
    /// Descriptors that the interface has room for, from their fetch to the end of their packets.
    pub prefetch: u64,
    /// The thresholds that its driver reads.
    pub thresholds: u64,
    /// The time that a register access takes beyond the bus's own cycles.
    pub register_delay: Duration,
    /// The time that the engine works on a packet.
    pub engine_time: Duration,
    /// Whether payload has relaxed ordering; descriptors never do.
    pub relaxed_payload: bool,
    /// The interface's copy of the tail, where that is in memory and no register.
    pub tail_copy: Option<Copies>,
}

/// The memory that a process and its interface use for a ring: its descriptors, behind them a
/// buffer for each, and behind those the tail, if that is in memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct RingMemory {
    /// Where it begins.
    pub start: u64,
    /// Descriptors.
    pub entries: u64,
    /// Bytes of a buffer: a packet.
    pub buffer_bytes: u64,
    /// Bytes of the block with the tail; 0 if that is a register.
    pub tail_bytes: u64,
}

impl RingMemory {
    fn buffers(&self) -> u64 {
        self.start + self.entries * DESCRIPTOR_BYTES
    }

    /// Where the block with the tail begins.
    fn tail(&self) -> u64 {
        self.buffers() + self.entries * self.buffer_bytes
    }

    /// What the receive half writes and the processor reads.
    fn written_by_receive(&self) -> Range<u64> {
        self.buffers()..self.tail()
    }

    /// Bytes from its beginning to that of the next queue's.
    pub fn bytes(&self) -> u64 {
        self.range().end - self.start
    }

    /// All of its addresses.
    pub fn range(&self) -> Range<u64> {
        self.start..self.tail() + self.tail_bytes
    }

    /// The layout that a half gives of it, with the names of the ring, of its buffers and of the tail.
    fn layout(&self, [ring, buffers, tail]: [&'static str; 3]) -> Layout {
        let descriptors =
            Region { name: ring, addresses: self.start..self.buffers(), parts: RegionParts::Blocks };
        let packets = Region {
            name: buffers,
            addresses: self.buffers()..self.tail(),
            parts: RegionParts::Entries(self.buffer_bytes),
        };
        let mut regions = vec![descriptors, packets];
        let mut transactions =
            vec![Kind::UncachedLoad, Kind::UncachedStore, Kind::ReadOnce, Kind::WriteBlock];
        if self.tail_bytes > 0 {
            let addresses = self.tail()..self.range().end;
            regions.push(Region { name: tail, addresses, parts: RegionParts::Blocks });
            transactions.push(Kind::ReadExclusive);
        }
        Layout {
            cachable: vec![self.range()],
            entries: self.entries,
            regions,
            transactions,
            ..Layout::default()
        }
    }
}
