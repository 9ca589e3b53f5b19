//! What a voyager device shows: to programs the pointer windows and buffers of their
//! queues, to the operating system the requests of its kernel agent, to firmware its
//! registers, the state of its physical queues, its memories and its commands.
//!
//! Both C headers are generated from these lists (`make headers`): what programs see goes
//! to guest/runtime/registers.h, what firmware sees to guest/firmware/devices.h.
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
//! | [`SNOOPED`] | main memory of which the firmware permits each access |
//!
//! # A slot
//! Three lines of 32 bytes: a header of 32 bits (bits 0 to 15 the virtual destination, or the
//! sender's rank in a received one; 16 to 22 the bytes of payload; 24 to 31 the user's) and
//! up to 88 bytes of payload from byte 4 on. Pointers count slots modulo 2^16; slot p of a
//! queue is at base + (p modulo its slots) * 96. The miss queue, physical receive queue 0,
//! has each packet's slot in bank A, and in bank B at the same place a doubleword: the header,
//! and the logical queue that the packet is for in bits 32 to 39.

use crate::programming::{Constant, Fact, Register};

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
/// Its part of the snooped space.
pub const SNOOPED: u64 = 0x70_0000;

/// A pointer window: the queue's producer.
pub const POINTER_PRODUCER: u64 = 0x00;
/// The queue's consumer.
pub const POINTER_CONSUMER: u64 = 0x08;
/// The queue's status.
pub const POINTER_STATUS: u64 = 0x10;

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

/// Where the device's registers are on the service processor's bus.
pub const VOYAGER_REGISTERS: u64 = 0x7000_1000;
/// Where the state of the physical queues is: of transmit queues, then of receive queues.
pub const VOYAGER_QUEUES: u64 = 0x7000_2000;
/// Where the map of logical to physical queues is: of transmit queues, then of receive queues.
pub const VOYAGER_MAP: u64 = 0x7000_4000;
/// Where both SRAM banks are, cachable: bank A, then bank B at [`BANK_B`].
pub const VOYAGER_SRAM: u64 = 0x7010_0000;
/// The same bytes, uncached.
pub const VOYAGER_SRAM_UNCACHED: u64 = 0x7020_0000;
/// The bit of an SRAM address that names bank B.
pub const BANK_B: u64 = MOST_SRAM;
/// Bytes of a queue's shadow words in bank A, which begin at its address 0.
pub const SHADOW_BYTES: u64 = 32;
/// Bytes of a physical queue's state.
pub const QUEUE_STATE_BYTES: u64 = 64;

/// What a load shows where there is nothing.
pub const NOTHING: u64 = u64::MAX;

/// Sources of OnePoll, in the order of their priority; bits of the mask and of STATUS, and
/// interrupt lines.
pub const SOURCE_COMPLETION: u32 = 0;
/// Channel counters have come to zero.
pub const SOURCE_ACKNOWLEDGE: u32 = 1;
/// The bus unit has captured an access.
pub const SOURCE_CAPTURE: u32 = 2;
/// A command of the kernel agent waits.
pub const SOURCE_AGENT: u32 = 3;
/// Physical receive queue 0 has a packet; the others follow.
pub const SOURCE_RECEIVE: u32 = 16;
/// How many sources there may be.
pub const SOURCES: u32 = 32;

/// Names the registers: constants for the device, and the list for the header.
macro_rules! registers {
    ($list:ident, $prefix:literal, $about:literal; $($constant:ident = $offset:literal, $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $constant: u64 = $offset;)*
        #[doc = $about]
        pub const $list: &[Register] =
            &[$((concat!($prefix, stringify!($constant)), $offset, $meaning)),*];
    };
}

registers! {
    REGISTERS, "VOYAGER_", "The registers of firmware, in the order of their offsets.";
    STATUS = 0x00, "load: which sources have an entry, by the VOYAGER_SOURCE bits; each is an interrupt line of that number";
    NODE = 0x08, "load: this node's number | number of nodes << 32 | processes of a node << 48";
    LIMITS = 0x10, "load: logical queues of a direction | physical queues << 16 | physical queues lent to hybrid queues << 32 | logical queues of a process << 48";
    POLL_MASK = 0x18, "store: the sources that OnePoll looks at, by bit";
    POLL = 0x20, "load: source of the first entry | consumer << 16 | producer << 32 where it is a receive queue; all ones if there is none";
    POLL_ENTRY = 0x28, "load: the entry that POLL showed last: a receive queue's header doubleword, which stays; else the entry, which is gone then";
    CAPTURE = 0x30, "load: the oldest captured access, which is gone then; all ones if none";
    COMPLETION = 0x38, "load: the oldest completion, which is gone then; all ones if none";
    ACKNOWLEDGE = 0x40, "load: the oldest acknowledgement, which is gone then; all ones if none";
    AGENT = 0x48, "load: the next doubleword of the kernel agent's oldest command, which is gone after the last one";
    COMMAND_0 = 0x50, "store: the next doubleword of a command for local command queue 0";
    COMMAND_1 = 0x58, "store: the same for local command queue 1";
    COMMAND_ROOM = 0x60, "load: free entries of local command queue 0, of 1 in the upper half";
    APPROVE_ADDRESS = 0x68, "store: the offset in the serviced space of a captured access that is approved next, as captured";
    APPROVE_VALUE = 0x70, "store: the value that a load of it gets; the access may be completed now";
    SERVICED_STORES = 0x78, "store: which processes' stores to serviced space wait for an approval, by bit; others are posted";
    FREE_A = 0x80, "load: where the firmware's part of SRAM bank A begins, where it ends in the upper half";
    FREE_B = 0x88, "load: the same of SRAM bank B";
    MISS = 0x90, "load: where the slots of the miss queue are in bank A, its header doublewords in the upper half";
    MISS_SLOTS = 0x98, "load: slots of the miss queue";
    TRANSLATION = 0xa0, "load: where the translation tables are in bank B, entries of each process in the upper half";
    SNOOPED_LINES = 0xa8, "load: lines of a process's part of the snooped space";
    FAULT = 0xb0, "load: what the last command that failed did wrong, a VOYAGER_FAULT number; 0 if none has";
    POLICY = 0xb8, "load: which hybrid queue gives its physical one away: 0 the least recently used one, 1 a clock's";
}

registers! {
    QUEUE_REGISTERS, "VOYAGER_QUEUE_", "The words of a physical queue's state, from its place in VOYAGER_QUEUES on.";
    CONTROL = 0x00, "bit 0: enabled; bit 1 (receive): when it is full, its packets go to the miss queue; bits 8 to 15: the logical queue; bits 16 to 18: its process";
    BASE = 0x08, "SRAM address of its slots; in the upper half that of its header doublewords, 0 if the headers are in the slots alone";
    SLOTS = 0x10, "its slots, a power of two";
    PRODUCER = 0x18, "slots that were filled, modulo 2^16";
    CONSUMER = 0x20, "slots that were freed, modulo 2^16";
    ERROR = 0x28, "its VOYAGER_STATUS number; a transmit queue with an error stands";
    ADVANCE = 0x30, "store: the user's pointer (transmit: producer, receive: consumer), unless it is there or beyond already";
}

/// Bits of CONTROL.
pub const CONTROL_ENABLED: u64 = 1;
/// Packets for a full receive queue go to the miss queue.
pub const CONTROL_DIVERTS: u64 = 2;

/// Numbers of the commands; see [`super::commands`] for their operands.
pub mod operation {
    /// Reads lines of host memory into SRAM.
    pub const BUS_READ: u64 = 1;
    /// Writes lines of host memory from SRAM.
    pub const BUS_WRITE: u64 = 2;
    /// Writes a word of SRAM.
    pub const SRAM_WRITE: u64 = 3;
    /// Copies between the SRAM banks.
    pub const COPY: u64 = 4;
    /// Sends a slot.
    pub const TRANSMIT: u64 = 5;
    /// The block bus operation unit reads host memory into SRAM.
    pub const BLOCK_READ: u64 = 6;
    /// The block transmit unit sends SRAM in packets with remote commands.
    pub const BLOCK_TRANSMIT: u64 = 7;
    /// Sets a channel counter.
    pub const COUNTER_SET: u64 = 8;
    /// Sets a word of a physical queue's state.
    pub const QUEUE_SET: u64 = 9;
    /// Takes a physical queue away from its logical one.
    pub const QUEUE_OUT: u64 = 10;
    /// Gives a logical queue a physical one.
    pub const MAP_SET: u64 = 11;
    /// Changes the permissions of lines of snooped space.
    pub const PERMISSION: u64 = 12;
    /// Approves a captured access.
    pub const APPROVE: u64 = 13;
    /// Does nothing but to complete.
    pub const NOTIFY: u64 = 14;
    /// Takes lines of host memory out of all caches; memory has their bytes then.
    pub const BUS_FLUSH: u64 = 15;
    /// A channel counts packets that firmware has received.
    pub const COUNT: u64 = 16;
    /// Sends a packet of a block transfer.
    pub const PACKET: u64 = 17;
    /// Tells a program that its block has left.
    pub const TELL: u64 = 18;
}

/// A command's completion is pushed to the completion queue.
pub const COMMAND_NOTIFY: u64 = 1 << 8;
/// A command waits until all commands before it in its queue are complete.
pub const COMMAND_ORDERED: u64 = 1 << 9;
/// A BLOCK_TRANSMIT follows the BLOCK_READ that was started last, line by line.
pub const COMMAND_CHAINED: u64 = 1 << 10;
/// BUS_READ, BUS_WRITE, BUS_FLUSH, PERMISSION, COPY or TRANSMIT in one doubleword: the SRAM
/// address's line in bits 17 to 31 (PERMISSION: the permission), and above them the node
/// address's line (of one line; its highest six bits in bits 11 to 16), the line to copy to
/// (lines - 1 in bits 11 to 13), or what TRANSMIT has in its second doubleword (the process
/// from bit 57 on).
pub const COMMAND_SHORT: u64 = 1 << 10;

/// Why a command failed, as FAULT shows it and a completion in its upper half.
pub mod fault {
    /// No operation has the number, or an operand cannot be.
    pub const OPERAND: u64 = 1;
    /// An SRAM address beyond the banks.
    pub const SRAM: u64 = 2;
    /// A host address that is no memory, or that the process has not registered.
    pub const ADDRESS: u64 = 3;
    /// A node or queue that does not exist.
    pub const DESTINATION: u64 = 4;
}

/// What was captured: bits 56 to 63 of an entry.
pub mod captured {
    /// A store to a pointer window or to serviced space: posted, its data in bits 0 to 31.
    pub const STORE: u64 = 1;
    /// A load of serviced space, which waits for an approval.
    pub const LOAD: u64 = 2;
    /// A store to serviced space that waits for an approval.
    pub const WAITING_STORE: u64 = 3;
    /// A block transaction of the snooped space that reads.
    pub const SNOOPED_READ: u64 = 4;
    /// One that would write.
    pub const SNOOPED_WRITE: u64 = 5;
}

/// Permissions of a line of snooped space.
pub mod permission {
    /// All accesses are captured.
    pub const NONE: u64 = 0;
    /// Accesses that would write are captured.
    pub const READ: u64 = 1;
    /// No access is captured.
    pub const WRITE: u64 = 2;
}

/// The kernel agent's requests: a request's argument is the address of a structure of
/// [`WORDS`](request::WORDS) doublewords: first what the program gives, then what it gets.
///
/// What the firmware has to do goes to it as a command of
/// [`COMMAND_WORDS`](request::COMMAND_WORDS) doublewords, of which the first is request |
/// process << 32:
///
/// | request | doublewords 1 to 7 |
/// | --- | --- |
/// | OPEN | direction, logical queue << 8, kind << 16, slots << 32; buffer (SRAM address of a hybrid queue's, else node address); of a cachable queue: process's part of snooped space, node address |
/// | CLOSE | direction, logical queue << 8 |
/// | DMA | method; node, process << 16; the node's address of the local bytes; remote address; bytes; channel at the destination (all ones: none); logical queue for the acknowledgement (all ones: none) |
pub mod request {
    /// Doublewords of a request's structure.
    pub const WORDS: usize = 8;
    /// Doublewords of a command to the firmware.
    pub const COMMAND_WORDS: usize = 8;
    /// Opens a queue.
    pub const OPEN: u64 = 1;
    /// Closes it.
    pub const CLOSE: u64 = 2;
    /// Registers memory for block transfers.
    pub const DMA_REGISTER: u64 = 3;
    /// Takes that back.
    pub const DMA_DEREGISTER: u64 = 4;
    /// Transfers a block.
    pub const DMA: u64 = 5;
    /// Sets a channel counter.
    pub const CHANNEL_SET: u64 = 6;
    /// The limits.
    pub const QUERY: u64 = 7;
}

/// How a block is transferred.
pub mod method {
    /// By hardware at both ends.
    pub const HARDWARE: u64 = 0;
    /// By firmware at both ends.
    pub const FIRMWARE: u64 = 1;
    /// By firmware that sends, and hardware that receives.
    pub const FIRMWARE_SENDS: u64 = 2;
}

/// Numbers that firmware of a voyager device knows beside what programs know.
pub const FIRMWARE_CONSTANTS: &[Constant] = &[
    ("VOYAGER_REGISTERS", VOYAGER_REGISTERS, "Where the voyager device's registers are."),
    (
        "VOYAGER_QUEUES",
        VOYAGER_QUEUES,
        "The state of physical queues: transmit queue n at n * VOYAGER_QUEUE_STATE_BYTES, receive queues behind all of them.",
    ),
    ("VOYAGER_QUEUE_STATE_BYTES", QUEUE_STATE_BYTES, "From one physical queue's state to the next one's."),
    (
        "VOYAGER_MAP",
        VOYAGER_MAP,
        "load: the physical queue of each logical one, a doubleword each, receive queues behind all transmit queues; all ones: not resident.",
    ),
    (
        "VOYAGER_SRAM",
        VOYAGER_SRAM,
        "SRAM bank A and, VOYAGER_BANK_B behind, bank B; cachable, and not kept coherent.",
    ),
    ("VOYAGER_SRAM_UNCACHED", VOYAGER_SRAM_UNCACHED, "The same bytes, uncached."),
    ("VOYAGER_BANK_B", BANK_B, "The bit of an SRAM address that names bank B."),
    (
        "VOYAGER_SHADOW_BYTES",
        SHADOW_BYTES,
        "Shadow words of a logical queue, from SRAM address 0 on: producer, consumer, status; receive queues behind all transmit queues.",
    ),
    ("VOYAGER_NOTHING", NOTHING, "What a load shows where there is nothing."),
    ("VOYAGER_SOURCE_COMPLETION", SOURCE_COMPLETION as u64, "OnePoll: a command has completed."),
    ("VOYAGER_SOURCE_ACKNOWLEDGE", SOURCE_ACKNOWLEDGE as u64, "OnePoll: a channel counter has come to zero."),
    ("VOYAGER_SOURCE_CAPTURE", SOURCE_CAPTURE as u64, "OnePoll: an access was captured."),
    (
        "VOYAGER_SOURCE_AGENT",
        SOURCE_AGENT as u64,
        "OnePoll: a command of the kernel agent waits; POLL_ENTRY shows its first doubleword.",
    ),
    (
        "VOYAGER_SOURCE_RECEIVE",
        SOURCE_RECEIVE as u64,
        "OnePoll: physical receive queue 0 has a packet; the others follow.",
    ),
    ("VOYAGER_CONTROL_ENABLED", CONTROL_ENABLED, "CONTROL: the queue is at work."),
    ("VOYAGER_CONTROL_DIVERTS", CONTROL_DIVERTS, "CONTROL: packets for the full queue go to the miss queue."),
    (
        "VOYAGER_COMMAND_NOTIFY",
        COMMAND_NOTIFY,
        "Command: its completion (tag, fault << 32) goes to the completion queue.",
    ),
    (
        "VOYAGER_COMMAND_ORDERED",
        COMMAND_ORDERED,
        "Command: it waits until those before it in its queue are complete.",
    ),
    (
        "VOYAGER_COMMAND_SHORT",
        COMMAND_SHORT,
        "BUS_READ, BUS_WRITE, BUS_FLUSH, PERMISSION, COPY, TRANSMIT in one doubleword: SRAM line or permission << 17; node line << 32, its bits from 32 on << 11, or line to copy to << 32 and lines - 1 << 11, or node << 32 | logical queue << 48 | priority << 56 | process << 57.",
    ),
    (
        "VOYAGER_COMMAND_CHAINED",
        COMMAND_CHAINED,
        "BLOCK_TRANSMIT: it follows the last BLOCK_READ line by line.",
    ),
    (
        "VOYAGER_BUS_READ",
        operation::BUS_READ,
        "Command: lines << 24 | SRAM address << 32; host address | (process + 1, or 0 for a node address) << 48.",
    ),
    (
        "VOYAGER_BUS_WRITE",
        operation::BUS_WRITE,
        "Command: lines << 24 | SRAM address << 32 | bytes of the last line (0: all) << 52; host address as BUS_READ's.",
    ),
    (
        "VOYAGER_SRAM_WRITE",
        operation::SRAM_WRITE,
        "Command: bytes (4 or 8) << 24 | SRAM address << 32; value.",
    ),
    (
        "VOYAGER_COPY",
        operation::COPY,
        "Command: doublewords << 24 | SRAM address << 32; SRAM address to copy to.",
    ),
    (
        "VOYAGER_TRANSMIT",
        operation::TRANSMIT,
        "Command: SRAM address of a slot << 32; node | logical queue << 16 | priority << 24 | process that sends << 32.",
    ),
    (
        "VOYAGER_BLOCK_READ",
        operation::BLOCK_READ,
        "Command: process << 24 | SRAM address << 32; its address | bytes << 48.",
    ),
    (
        "VOYAGER_BLOCK_TRANSMIT",
        operation::BLOCK_TRANSMIT,
        "Command: SRAM address << 32 | channel (255: none) << 52; address at the destination | bytes << 48; node | process << 16 | priority << 24.",
    ),
    (
        "VOYAGER_COUNTER_SET",
        operation::COUNTER_SET,
        "Command: channel << 24 | count << 32; 0: acknowledge queue, 1: receive queue | logical queue << 8 | value << 32.",
    ),
    (
        "VOYAGER_QUEUE_SET",
        operation::QUEUE_SET,
        "Command: is receive << 24 | physical queue << 25 | word's offset << 32; value.",
    ),
    (
        "VOYAGER_QUEUE_OUT",
        operation::QUEUE_OUT,
        "Command: is receive << 24 | physical queue << 25; when its unit has left it, its pointers go to its logical queue's shadow words and its map entry is gone.",
    ),
    (
        "VOYAGER_MAP_SET",
        operation::MAP_SET,
        "Command: is receive << 24 | physical queue << 25 | logical queue << 32.",
    ),
    (
        "VOYAGER_PERMISSION",
        operation::PERMISSION,
        "Command: permission << 24 | lines << 32; host address of the first line.",
    ),
    ("VOYAGER_APPROVE", operation::APPROVE, "Command: 0; offset in the serviced space; value."),
    ("VOYAGER_COMPLETE", operation::NOTIFY, "Command: nothing but its completion."),
    ("VOYAGER_BUS_FLUSH", operation::BUS_FLUSH, "Command: lines << 24; host address as BUS_READ's."),
    ("VOYAGER_COUNT", operation::COUNT, "Command: channel << 32 | packets << 40."),
    (
        "VOYAGER_PACKET",
        operation::PACKET,
        "Command: SRAM line << 17 | node << 32 | process there << 48 | process that sends << 57. In the first line its place there and the PACKET fields; from the second one on its data.",
    ),
    (
        "VOYAGER_PLACE_TOLD",
        48,
        "Where a packet's place has, behind its address, the sender's logical receive queue plus one that is told if the receiver refuses it; 0: none.",
    ),
    ("VOYAGER_PLACE_LAST", 1 << 57, "A packet's place: it is the last one of its transfer."),
    (
        "VOYAGER_PACKET_CHANNEL",
        8,
        "PACKET's second doubleword: bytes of data, and here the channel (255: none).",
    ),
    (
        "VOYAGER_PACKET_TO_FIRMWARE",
        1 << 16,
        "PACKET's second doubleword: it goes to the miss queue, not to the remote command queue.",
    ),
    (
        "VOYAGER_HEADER_PACKET",
        1 << 23,
        "A miss queue's header: such a packet. Bytes of data in bits 16 to 22, channel in bits 24 to 31, process in bits 32 to 39; its address is in bytes 24 to 31 of its slot, its data from byte 32 on.",
    ),
    (
        "VOYAGER_TELL",
        operation::TELL,
        "Command: logical receive queue << 32 | value << 40; a message as acknowledgements are.",
    ),
    ("VOYAGER_COMMAND_TAG", 16, "Where an eight-bit tag stands in a command."),
    ("VOYAGER_FAULT_OPERAND", fault::OPERAND, "A command without sense."),
    ("VOYAGER_FAULT_SRAM", fault::SRAM, "A command with an SRAM address beyond the banks."),
    ("VOYAGER_FAULT_ADDRESS", fault::ADDRESS, "A command with a host address that is not allowed."),
    ("VOYAGER_FAULT_DESTINATION", fault::DESTINATION, "A command with a node or queue that does not exist."),
    (
        "VOYAGER_CAPTURED_STORE",
        captured::STORE,
        "Capture, bits 56 to 63: a posted store; data in bits 0 to 31, offset in bits 32 to 55.",
    ),
    ("VOYAGER_CAPTURED_LOAD", captured::LOAD, "Capture: a load that waits for its approval."),
    (
        "VOYAGER_CAPTURED_WAITING_STORE",
        captured::WAITING_STORE,
        "Capture: a store that waits for its approval.",
    ),
    (
        "VOYAGER_CAPTURED_SNOOPED_READ",
        captured::SNOOPED_READ,
        "Capture: a read of snooped space that waits; the line's number in bits 32 to 55.",
    ),
    (
        "VOYAGER_CAPTURED_SNOOPED_WRITE",
        captured::SNOOPED_WRITE,
        "Capture: a write of snooped space that waits.",
    ),
    (
        "VOYAGER_OFFSET_QUEUE",
        12,
        "Capture: where the logical queue stands in the offset of a pointer window; the word is in the bits before.",
    ),
    ("VOYAGER_OFFSET_RECEIVE", 1 << 20, "Capture: the bit of such an offset that tells a receive queue."),
    (
        "VOYAGER_OFFSET_SERVICED",
        1 << 21,
        "Capture: the bit of an offset in the serviced space proper: process << 12, and the offset in its page.",
    ),
    (
        "VOYAGER_CACHABLE_TAIL",
        CACHABLE_TAIL,
        "Cachable queues, in a process's part of snooped space: the tail of its send queue, a line.",
    ),
    ("VOYAGER_CACHABLE_SEND_HEAD", CACHABLE_SEND_HEAD, "Cachable queues: the head of its send queue."),
    (
        "VOYAGER_CACHABLE_RECEIVE_HEAD",
        CACHABLE_RECEIVE_HEAD,
        "Cachable queues: the head of its receive queue.",
    ),
    ("VOYAGER_PERMISSION_NONE", permission::NONE, "Permission: every access is captured."),
    ("VOYAGER_PERMISSION_READ", permission::READ, "Permission: writes are captured."),
    ("VOYAGER_PERMISSION_WRITE", permission::WRITE, "Permission: nothing is captured."),
    (
        "VOYAGER_TRANSLATION_VALID",
        1 << 63,
        "Of a translation's entry: valid; node in bits 0 to 15, logical receive queue in bits 16 to 23, priority in bit 24.",
    ),
];

/// Numbers that programs and firmware of a voyager device agree on.
pub const CONSTANTS: &[Constant] = &[
    ("VOYAGER_KIND_RESIDENT", QueueKind::Resident.number(), "voyager_kind: queues of the hardware."),
    ("VOYAGER_KIND_NONRESIDENT", QueueKind::NonResident.number(), "voyager_kind: queues of the firmware."),
    ("VOYAGER_KIND_HYBRID", QueueKind::Hybrid.number(), "voyager_kind: queues of both in turn."),
    (
        "VOYAGER_KIND_CACHABLE",
        QueueKind::Cachable.number(),
        "voyager_kind: cachable queues in snooped space; programs cannot open more of them.",
    ),
    ("VOYAGER_SLOT_BYTES", SLOT_BYTES, "Bytes of a queue's slot."),
    ("VOYAGER_PAYLOAD_LIMIT", MOST_PAYLOAD, "Most bytes of payload of a message."),
    (
        "VOYAGER_POINTER_PRODUCER",
        POINTER_PRODUCER,
        "Pointer window: the producer; a transmit queue's is stored by its program.",
    ),
    (
        "VOYAGER_POINTER_CONSUMER",
        POINTER_CONSUMER,
        "Pointer window: the consumer; a receive queue's is stored by its program.",
    ),
    ("VOYAGER_POINTER_STATUS", POINTER_STATUS, "Pointer window: a VOYAGER_STATUS number."),
    ("VOYAGER_STATUS_OPEN", QUEUE_OPEN, "Status: the queue works."),
    ("VOYAGER_STATUS_CLOSED", QUEUE_CLOSED, "Status: it is not open."),
    ("VOYAGER_STATUS_BAD_POINTER", QUEUE_BAD_POINTER, "Status: a pointer was stored that cannot be."),
    (
        "VOYAGER_STATUS_BAD_DESTINATION",
        QUEUE_BAD_DESTINATION,
        "Status: a message had a destination that its process has not.",
    ),
    ("VOYAGER_STATUS_BAD_LENGTH", QUEUE_BAD_LENGTH, "Status: a message had too many bytes of payload."),
    ("VOYAGER_STATUS_CLOSING", QUEUE_CLOSING, "Status: the firmware has still to close it."),
    (
        "VOYAGER_OPEN",
        request::OPEN,
        "ioctl: is receive, kind, slots, number k, buffer (non-resident) -> logical queue, pointer window, buffer.",
    ),
    ("VOYAGER_CLOSE", request::CLOSE, "ioctl: is receive, number k. It is closed when its status says so."),
    (
        "VOYAGER_DMA_REGISTER",
        request::DMA_REGISTER,
        "ioctl: address, length; block transfers may read and write there.",
    ),
    ("VOYAGER_DMA_DEREGISTER", request::DMA_DEREGISTER, "ioctl: address, length, as registered."),
    (
        "VOYAGER_DMA",
        request::DMA,
        "ioctl: method, rank, local address, its address at the rank, bytes, channel of the rank (all ones: none), number k of the own receive queue for the acknowledgement (all ones: none).",
    ),
    (
        "VOYAGER_CHANNEL_SET",
        request::CHANNEL_SET,
        "ioctl: channel, packets, number k of the receive queue that tells when they have come, value that it tells.",
    ),
    (
        "VOYAGER_QUERY",
        request::QUERY,
        "ioctl: -> queues, channels, slots of a transfer's packets, bytes of SRAM left.",
    ),
    (
        "VOYAGER_USER_REFUSED",
        super::receive::REFUSAL as u64,
        "The user's byte of a message which tells that a block's receiver has not registered what it goes to.",
    ),
    ("VOYAGER_DMA_HARDWARE", method::HARDWARE, "DMA: hardware at both ends."),
    ("VOYAGER_DMA_FIRMWARE", method::FIRMWARE, "DMA: firmware at both ends."),
    ("VOYAGER_DMA_FIRMWARE_SENDS", method::FIRMWARE_SENDS, "DMA: firmware sends, hardware receives."),
    (
        "VOYAGER_BLOCK_PACKET_BYTES",
        BLOCK_PACKET_BYTES,
        "DMA: bytes of data in a packet, from a multiple of it on; a channel counts packets.",
    ),
];

/// What programs read on the information page.
pub const FACTS: &[Fact] = &[
    Fact {
        name: "voyager_kind",
        meaning: "how a voyager interface keeps the queues of its driver: a VOYAGER_KIND number, or 0",
    },
    Fact {
        name: "voyager_queues",
        meaning: "queues that a process may open in each direction; virtual destination = rank * voyager_queues + k",
    },
    Fact { name: "voyager_slots", meaning: "slots of a queue of its driver" },
    Fact { name: "voyager_serviced", meaning: "address of the process's page of serviced space" },
    Fact { name: "voyager_snooped", meaning: "address of the process's part of the snooped space, or 0" },
    Fact { name: "voyager_snooped_bytes", meaning: "bytes of it" },
    Fact { name: "voyager_channels", meaning: "channels of a process" },
];

/// The fact of this name.
pub(super) fn fact(name: &str) -> Fact {
    *FACTS.iter().find(|fact| fact.name == name).expect("it is declared")
}
