//! What programs see of the device and of their queues.
//!
//! # A program's part of the device
//! From the process's part of the device region ([`Addresses`]) on:
//!
//! | offset | what |
//! | --- | --- |
//! | [`TRANSMIT_WINDOWS`], [`RECEIVE_WINDOWS`] | a page for each logical queue: [`POINTER_PRODUCER`], [`POINTER_CONSUMER`], [`POINTER_STATUS`] |
//! | [`BUFFERS`] | the process's part of SRAM bank A, cachable; the device keeps no copy coherent |
//! | [`UNCACHED_BUFFERS`] | the same bytes, uncached |
//! | [`SERVICED`] | a page of serviced space: the firmware answers |
//! | [`COMMAND_WINDOW`] | a page of its local command queue: [`COMMAND_WINDOW_ISSUE`], [`COMMAND_WINDOW_FAULT`] |
//! | [`SNOOPED`] | main memory of which the firmware permits each access |
//!
//! # A slot
//! Three lines of 32 bytes: a header of 32 bits (bits 0 to 15 the virtual destination, or the
//! sender's rank in a received one; 16 to 22 the bytes of payload; 24 to 31 the user's) and
//! up to 88 bytes of payload from byte 4 on. Pointers count slots modulo 2^16; slot p of a
//! queue is at base + (p modulo its slots) * 96. The miss queue, physical receive queue 0,
//! has each packet's slot in bank A, and in bank B at the same place a doubleword: the header,
//! and the logical queue that the packet is for in bits 32 to 39.
//!
//! [`Addresses`]: crate::registers::Addresses

/// How the queues of a program are kept: the information page's `voyager_kind`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum QueueKind {
    /// By hardware, in SRAM.
    Resident,
    /// By firmware, in host memory.
    NonResident,
    /// In SRAM; by hardware while the firmware lends it a physical queue, else by firmware.
    Hybrid,
    /// A cachable queue in snooped space, by firmware; there from the start, for the messaging
    /// library alone.
    Cachable,
}

impl QueueKind {
    /// All of them, by the names that users write.
    pub const ALL: [(QueueKind, &'static str); 4] = [
        (QueueKind::Resident, "Voyager-resident"),
        (QueueKind::NonResident, "Voyager-nonresident"),
        (QueueKind::Hybrid, "Voyager-hybrid"),
        (QueueKind::Cachable, "Voyager-CNI"),
    ];

    /// The number by which programs and firmware know it.
    pub const fn number(self) -> u64 {
        match self {
            QueueKind::Resident => 1,
            QueueKind::NonResident => 2,
            QueueKind::Hybrid => 3,
            QueueKind::Cachable => 4,
        }
    }

    /// The kind with this number.
    pub fn of(number: u64) -> Option<Self> {
        Self::ALL.into_iter().map(|(kind, _)| kind).find(|kind| kind.number() == number)
    }
}

/// Beside the kind of a queue that is opened: its messages have the network's high priority.
pub const KIND_URGENT: u64 = 1 << 8;

/// Beside the kind of a hybrid transmit queue that is opened: its messages are stores to serviced
/// space.
pub const KIND_STORES: u64 = 1 << 9;

/// Bytes of a slot: three lines.
pub const SLOT_BYTES: u64 = 96;
/// Bytes of a slot's header.
pub const SLOT_HEADER_BYTES: u64 = 4;
/// Most bytes of payload of a basic message.
pub const MOST_PAYLOAD: u64 = 88;
/// Bytes of data in a packet of a block transfer.
pub const BLOCK_PACKET_BYTES: u64 = 64;
/// Logical queues that a node may have in each direction.
pub const MOST_QUEUES: u32 = 256;
/// Most bytes of an SRAM bank.
pub const MOST_SRAM: u64 = 0x8_0000;

/// Pointer windows of a process's logical transmit queues, a page each.
pub const TRANSMIT_WINDOWS: u64 = 0x20_0000;
/// Pointer windows of its logical receive queues.
pub const RECEIVE_WINDOWS: u64 = 0x30_0000;
/// Its part of SRAM bank A, cachable.
pub const BUFFERS: u64 = 0x40_0000;
/// The same, uncached.
pub const UNCACHED_BUFFERS: u64 = 0x50_0000;
/// Its page of serviced space.
pub const SERVICED: u64 = 0x60_0000;
/// The page of its local command queue.
pub const COMMAND_WINDOW: u64 = 0x61_0000;
/// Its part of the snooped space.
pub const SNOOPED: u64 = 0x70_0000;

/// A pointer window: the queue's producer.
pub const POINTER_PRODUCER: u64 = 0x00;
/// The queue's consumer.
pub const POINTER_CONSUMER: u64 = 0x08;
/// The queue's status.
pub const POINTER_STATUS: u64 = 0x10;
/// Of a queue that is not resident: whether its messages are stores to serviced space.
pub const POINTER_STORES: u64 = 0x18;

/// A command window: store: the next doubleword of a command; load: how many more it takes.
pub const COMMAND_WINDOW_ISSUE: u64 = 0x00;
/// Load: what the last command that failed did wrong, 0 if none has; store: none has.
pub const COMMAND_WINDOW_FAULT: u64 = 0x08;

/// Cachable queues: where a process's part of the snooped space has the tail of its send queue,
/// a line.
pub const CACHABLE_TAIL: u64 = 0x00;
/// The head of its send queue.
pub const CACHABLE_SEND_HEAD: u64 = 0x20;
/// The head of its receive queue.
pub const CACHABLE_RECEIVE_HEAD: u64 = 0x40;
/// The entries of its send queue, then of its receive queue.
pub const CACHABLE_ENTRIES: u64 = 0x80;

/// STATUS of a queue that works.
pub const QUEUE_OPEN: u64 = 0;
/// STATUS of one that is not open.
pub const QUEUE_CLOSED: u64 = 1;
/// STATUS of one whose program stored a pointer that cannot be, or where none is to be stored.
pub const QUEUE_BAD_POINTER: u64 = 2;
/// STATUS of one that was given a destination that its process has not.
pub const QUEUE_BAD_DESTINATION: u64 = 3;
/// STATUS of one that was given too many bytes of payload.
pub const QUEUE_BAD_LENGTH: u64 = 4;
/// STATUS of one that the firmware has still to close.
pub const QUEUE_CLOSING: u64 = 5;
/// STATUS of one whose program has left it full until it held up others for too long.
pub const QUEUE_NOT_DRAINED: u64 = 6;
