//! What firmware sees: its registers, the state of the physical queues, and where memories are.

use super::MOST_SRAM;
use crate::programming::Register;

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
    APPROVE_VALUE = 0x70, "store: the value that a load of it gets, or where the bytes of a store go (VOYAGER_APPROVE_TO_SRAM); the access may be completed now";
    SERVICED_STORES = 0x78, "store: which processes' stores to serviced space wait for an approval, by bit; others are posted";
    FREE_A = 0x80, "load: where the firmware's part of SRAM bank A begins, where it ends in the upper half";
    FREE_B = 0x88, "load: the same of SRAM bank B";
    MISS = 0x90, "load: where the slots of the miss queue are in bank A, its header doublewords in the upper half";
    MISS_SLOTS = 0x98, "load: slots of the miss queue";
    TRANSLATION = 0xa0, "load: where the translation tables are in bank B, entries of each process in the upper half";
    SNOOPED_LINES = 0xa8, "load: lines of a process's part of the snooped space";
    FAULT = 0xb0, "load: what the last command that failed did wrong, a VOYAGER_FAULT number; 0 if none has";
    POLICY = 0xb8, "load: which hybrid queue gives its physical one away: 0 the least recently used one, 1 a clock's";
    DRAIN_LIMIT = 0xc0, "load: for how many nanoseconds a full receive queue may hold up others; all ones where one job has the machine alone";
    STATED_MARSHAL_CYCLES = 0xc8, "load: cycles that an invocation which has a message fetched that is to be sent is to take at least";
    STATED_LAUNCH_CYCLES = 0xd0, "load: cycles that an invocation which has a fetched message launched is to take at least";
    STATED_DEMULTIPLEX_CYCLES = 0xd8, "load: cycles that an invocation which has an arrived message brought to its queue is to take at least";
    STATED_FREE_BUFFER_CYCLES = 0xe0, "load: cycles that an invocation which frees the buffer of an arrived message is to take at least";
    STATED_RELEASE_CYCLES = 0xe8, "load: cycles that an invocation which takes note of messages that a program has taken is to take at least";
    SNOOPED_START = 0x100, "load: the node's address of process 0's part of the snooped space; those of the others follow, a doubleword each";
}

registers! {
    QUEUE_REGISTERS, "VOYAGER_QUEUE_", "The words of a physical queue's state, from its place in VOYAGER_QUEUES on.";
    CONTROL = 0x00, "bit 0: enabled; bit 1 (receive): when it is full, its packets go to the miss queue; bit 2 (transmit): its messages have the network's high priority; bits 8 to 15: the logical queue; bits 16 to 18: its process";
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
/// Messages of a transmit queue have the network's high priority.
pub const CONTROL_URGENT: u64 = 4;
