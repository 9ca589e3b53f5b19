//! Split virtqueues, seen from the device's side; [`crate::models::virtio`] says what they are and how they
//! are programmed.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`queue`] | the device's end of a virtqueue: registers, what it reads and writes in memory |
//! | [`chains`] | chains of descriptors, on their way from the available ring to the device |
//! | [`used`] | the used ring |
//! | [`send`], [`receive`] | the engines of the two halves |
//!
//! ```text
//!              done          asked for       known              the driver's index
//!   ─────────────┼────────────────┼──────────────┼────────────────────┼────► running numbers of chains
//!   in the used  │ in the device, │ in memory,   │ made available,    │
//!   ring         │ or on its way  │ to be read   │ not yet seen       │
//! ```

pub mod chains;
pub mod queue;
pub mod receive;
pub mod send;
pub mod used;

use std::ops::Range;

use narthex_kernel::Duration;
use narthex_memory::{AgentId, Kind};
use serde::{Deserialize, Serialize};

use crate::address_names::{Region, RegionParts};
use crate::description::Layout;
use crate::programming::{Constant, Register};

/// Bytes of a descriptor: address (8), length (4), flags (2), next (2).
pub const DESCRIPTOR_BYTES: u64 = 16;
/// Bytes of flags and index, with which both rings begin.
pub const RING_HEAD_BYTES: u64 = 4;
/// Bytes of an entry of the available ring: the first descriptor of a chain.
pub const AVAILABLE_BYTES: u64 = 2;
/// Bytes of an entry of the used ring: the chain's first descriptor (4), bytes written (4).
pub const USED_BYTES: u64 = 8;
/// Bytes of the event index at the end of both rings.
pub const EVENT_BYTES: u64 = 2;
/// Flag of a descriptor: another one follows in its chain.
pub const NEXT: u16 = 1;
/// Flag of a descriptor: the device writes the buffer.
pub const WRITE: u16 = 2;
/// Flag of a descriptor: the buffer is a table of descriptors. Not offered.
pub const INDIRECT: u16 = 4;
/// Flag of the used ring: the device needs no kicks.
pub const NO_NOTIFY: u16 = 1;
/// Flag of the available ring: the driver needs no interrupts.
pub const NO_INTERRUPT: u16 = 1;
/// The thresholds' bit that tells of event indexes (VIRTIO_F_EVENT_IDX).
pub const EVENT_INDEX: u64 = 1 << 63;
/// Thresholds of the receive queue: the driver may wait for interrupts.
pub const INTERRUPTS: u64 = 1 << 62;
/// Number of the receive queue (receiveq1 of a network device).
pub const RECEIVE_QUEUE: u64 = 0;
/// Number of the send queue (transmitq1).
pub const SEND_QUEUE: u64 = 1;

/// Numbers that driver and device agree on.
pub const CONSTANTS: &[Constant] = &[
    ("VIRTQ_DESCRIPTOR_BYTES", DESCRIPTOR_BYTES, "Bytes of a descriptor of a virtqueue."),
    ("VIRTQ_DESC_F_NEXT", NEXT as u64, "Flag of a descriptor: another one follows in its chain."),
    ("VIRTQ_DESC_F_WRITE", WRITE as u64, "Flag of a descriptor: the device writes the buffer."),
    ("VIRTQ_USED_F_NO_NOTIFY", NO_NOTIFY as u64, "Flag of a used ring: the device needs no kicks."),
    (
        "VIRTQ_AVAIL_F_NO_INTERRUPT",
        NO_INTERRUPT as u64,
        "Flag of an available ring: the driver needs no interrupts.",
    ),
    ("VIRTIO_EVENT_INDEX", EVENT_INDEX, "Bit of a queue's thresholds: kicks follow the event index."),
    (
        "VIRTIO_INTERRUPTS",
        INTERRUPTS,
        "Bit of the receive queue's thresholds: the driver may wait for interrupts.",
    ),
    ("VIRTIO_RECEIVE_QUEUE", RECEIVE_QUEUE, "Number of the receive queue."),
    ("VIRTIO_SEND_QUEUE", SEND_QUEUE, "Number of the send queue."),
];

/// The registers of the send queue.
pub const SEND_REGISTERS: [Register; 7] = [
    ("VIRTIO_SEND_SIZE", 0xa00, "store: how many descriptors the send queue has"),
    ("VIRTIO_SEND_DESCRIPTORS", 0xa08, "store: where its descriptor table begins"),
    ("VIRTIO_SEND_DRIVER", 0xa10, "store: where its available ring begins"),
    ("VIRTIO_SEND_DEVICE", 0xa18, "store: where its used ring begins"),
    ("VIRTIO_SEND_ENABLE", 0xa20, "store: 1, when the registers before are right"),
    (
        "VIRTIO_SEND_THRESHOLDS",
        0xa28,
        "load: most packets that are made available together; from bit 32 on the free ones below which used ones \
         are looked for; bit 63: event index",
    ),
    ("VIRTIO_SEND_NOTIFY", 0xa30, "store: the kick, 2 bytes: the queue's number"),
];
/// The registers of the receive queue.
pub const RECEIVE_REGISTERS: [Register; 7] = [
    ("VIRTIO_RECEIVE_SIZE", 0xa40, "store: how many descriptors the receive queue has"),
    ("VIRTIO_RECEIVE_DESCRIPTORS", 0xa48, "store: where its descriptor table begins"),
    ("VIRTIO_RECEIVE_DRIVER", 0xa50, "store: where its available ring begins"),
    ("VIRTIO_RECEIVE_DEVICE", 0xa58, "store: where its used ring begins"),
    ("VIRTIO_RECEIVE_ENABLE", 0xa60, "store: 1, when the registers before are right"),
    (
        "VIRTIO_RECEIVE_THRESHOLDS",
        0xa68,
        "load: buffers that are made available together; bit 62: interrupts; bit 63: event index",
    ),
    ("VIRTIO_RECEIVE_NOTIFY", 0xa70, "store: the kick, 2 bytes: the queue's number"),
];

/// What a half of either direction is made of.
#[derive(Debug)]
pub struct Parts {
    /// Its place on the interconnect.
    pub agent: AgentId,
    /// Where its process keeps the queue and the buffers.
    pub memory: QueueMemory,
    /// Whether a part of a block may be written: what is at the other end of a link merges it.
    pub merges_there: bool,
    /// Chains that the device has room for, from their fetch to the used ring.
    pub prefetch: u64,
    /// Transactions under way at most.
    pub transactions: u8,
    /// Whether kicks follow the event index, or else the used ring's flag.
    pub event_index: bool,
    /// Whether the driver may wait for an interrupt.
    pub interrupts: bool,
    /// The thresholds that its driver reads.
    pub thresholds: u64,
    /// The time that a register access takes beyond the bus's own cycles.
    pub register_delay: Duration,
    /// The time that the engine works on a packet.
    pub engine_time: Duration,
}

/// The memory that a process and its device use for a queue: descriptors, available ring, used ring, and behind
/// them a buffer for each descriptor. Used ring and buffers begin with a coherence block.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct QueueMemory {
    /// Where it begins.
    pub start: u64,
    /// Descriptors.
    pub entries: u64,
    /// Bytes of a buffer: a packet.
    pub buffer_bytes: u64,
    /// Bytes of a coherence block.
    pub block_bytes: u64,
}

/// Bytes of an available ring for so many descriptors, event index included.
pub const fn available_bytes(entries: u64) -> u64 {
    RING_HEAD_BYTES + entries * AVAILABLE_BYTES + EVENT_BYTES
}

/// Bytes of a used ring for so many descriptors, event index included.
pub const fn used_bytes(entries: u64) -> u64 {
    RING_HEAD_BYTES + entries * USED_BYTES + EVENT_BYTES
}

impl QueueMemory {
    fn available(&self) -> u64 {
        self.start + self.entries * DESCRIPTOR_BYTES
    }

    fn used(&self) -> u64 {
        (self.available() + available_bytes(self.entries)).next_multiple_of(self.block_bytes)
    }

    fn buffers(&self) -> u64 {
        (self.used() + used_bytes(self.entries)).next_multiple_of(self.block_bytes)
    }

    /// All of its addresses.
    pub fn range(&self) -> Range<u64> {
        self.start..self.buffers() + self.entries * self.buffer_bytes
    }

    /// The layout that a half gives of it, with what its parts are called.
    fn layout(&self, [descriptors, available, used, buffers]: [&'static str; 4]) -> Layout {
        let part = |name, addresses, parts| Region { name, addresses, parts };
        let regions = vec![
            part(descriptors, self.start..self.available(), RegionParts::Blocks),
            part(available, self.available()..self.used(), RegionParts::Blocks),
            part(used, self.used()..self.buffers(), RegionParts::Blocks),
            part(buffers, self.buffers()..self.range().end, RegionParts::Entries(self.buffer_bytes)),
        ];
        Layout {
            cachable: vec![self.range()],
            entries: self.entries,
            regions,
            transactions: vec![Kind::UncachedLoad, Kind::UncachedStore, Kind::ReadOnce, Kind::WriteBlock],
            ..Layout::default()
        }
    }
}

/// What a read or a write is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Purpose {
    /// Reads the index of the available ring.
    Index,
    /// Reads so many entries of the available ring, the next ones.
    Heads {
        /// How many.
        count: u64,
    },
    /// Reads the first descriptors of chains, which stand side by side.
    Firsts {
        /// Running number of the first of these chains.
        chain: u64,
        /// How many.
        count: u64,
    },
    /// Reads a further descriptor of this chain.
    Further {
        /// Its running number.
        chain: u64,
    },
    /// Reads the buffers of a chain.
    Packet,
    /// Writes the last bytes of a packet.
    Deposit,
    /// Writes where the driver is to kick.
    Armed,
    /// Writes the used ring, up to this running number.
    Used {
        /// The first one that is not in it.
        until: u64,
    },
    /// Reads whether the driver wants an interrupt for what the used ring tells from one number to another.
    Wanted {
        /// The first one.
        from: u64,
        /// The first one behind.
        until: u64,
    },
}
