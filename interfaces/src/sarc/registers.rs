//! What programs see of a cache-integrated interface: addresses, the words of lines, commands,
//! requests to the kernel agent. The C header is generated from here.
//!
//! ```text
//! SARC_WINDOW     ├──────────────┤ chip 0, tile 0: its L2's bytes, at SARC_STATE the lines' state
//!                 │ tile 1 ...   │ each SARC_WINDOW_BYTES, chips each SARC_CHIP_BYTES
//! SARC_REGISTERS  ├──────────────┤ registers of the tile that accesses them
//! SARC_LOCK_BOX   ├──────────────┤ its chip's lock box
//! SARC_DRAM       ├──────────────┤ non-cacheable DRAM, chips each SARC_DRAM_CHIP_BYTES
//! SARC_REGIONS    ├──────────────┤ addresses for regions that programs define, SARC_REGIONS_BYTES
//! ```
//!
//! All but the last are addresses of the hardware. A program's are virtual: the table of regions of
//! its tile ([`super::regions`]) translates them, to themselves at first. The interface sees an access
//! with its process's number in front, and so knows whose it is.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::programming::Constant;

/// Bytes of a line.
pub const LINE_BYTES: u64 = 64;
/// 64-bit words of a line.
pub const LINE_WORDS: usize = 8;

/// The windows of all tiles.
pub const WINDOW: u64 = 0x10_0000_0000;
/// From one tile's window to the next.
pub const WINDOW_BYTES: u64 = 1 << 20;
/// From one chip's first window to the next chip's.
pub const CHIP_BYTES: u64 = 1 << 27;
/// Most chips.
pub const MOST_CHIPS: u64 = 32;
/// Where in a window the state of its lines begins; most bytes of an L2.
pub const STATE: u64 = 0x8_0000;
/// Bytes of a line's state.
pub const STATE_BYTES: u64 = 16;

/// The registers of the tile that accesses them.
pub const REGISTERS: u64 = 0x11_0000_0000;
/// The hardware lock box of a chip.
pub const LOCK_BOX: u64 = 0x11_0010_0000;
/// Non-cacheable DRAM.
pub const DRAM: u64 = 0x12_0000_0000;
/// From one chip's DRAM to the next chip's; most bytes of it.
pub const DRAM_CHIP_BYTES: u64 = 1 << 26;

/// All addresses of the hardware.
pub const SPACE: Range<u64> = WINDOW..DRAM + MOST_CHIPS * DRAM_CHIP_BYTES;
/// Addresses at which there is nothing but what programs define.
pub const REGIONS: Range<u64> = SPACE.end..0x13_0000_0000;
/// All addresses that regions may have.
pub const ADDRESSES: Range<u64> = SPACE.start..REGIONS.end;
/// Regions begin and end at multiples of so many bytes.
pub const REGION_BYTES: u64 = 4096;

/// Registers, at their offsets in the page at [`REGISTERS`].
pub mod register {
    /// The tile's number on its chip.
    pub const TILE: u64 = 0x00;
    /// The chip's number.
    pub const CHIP: u64 = 0x08;
    /// Tiles of a chip.
    pub const TILES: u64 = 0x10;
    /// Chips.
    pub const CHIPS: u64 = 0x18;
    /// Tiles of a process.
    pub const TILES_OF_PROCESS: u64 = 0x20;
    /// Bytes of a tile's L2.
    pub const L2_BYTES: u64 = 0x28;
    /// Its ways.
    pub const WAYS: u64 = 0x30;
    /// Locks of the lock box.
    pub const LOCKS: u64 = 0x38;
    /// Bytes of the chip's DRAM window.
    pub const DRAM_BYTES: u64 = 0x40;
    /// Cycles of the interface's clock since the beginning.
    pub const CYCLES: u64 = 0x48;
    /// Jobs that the tile's interface has still to do, stores and copies that wait for room included.
    pub const JOBS: u64 = 0x50;
    /// Remote stores of the tile that have not arrived yet.
    pub const STORES: u64 = 0x58;
}

/// What a line is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[repr(u8)]
pub enum Role {
    /// A line of the cache.
    #[default]
    Cache = 0,
    /// Directly addressed memory.
    Scratchpad = 1,
    /// A command buffer.
    CommandBuffer = 2,
    /// A counter.
    Counter = 3,
    /// A queue with one reader.
    SingleReaderQueue = 4,
    /// A queue with any number of readers.
    MultipleReaderQueue = 5,
}

impl Role {
    /// All, in the order of their numbers.
    pub const ALL: [Role; 6] = [
        Role::Cache,
        Role::Scratchpad,
        Role::CommandBuffer,
        Role::Counter,
        Role::SingleReaderQueue,
        Role::MultipleReaderQueue,
    ];

    /// The role with this number.
    pub fn of(number: u64) -> Option<Role> {
        usize::try_from(number).ok().and_then(|number| Role::ALL.get(number)).copied()
    }

    /// What messages call a line of this role.
    pub fn name(self) -> &'static str {
        match self {
            Role::Cache => "line of the cache",
            Role::Scratchpad => "scratchpad line",
            Role::CommandBuffer => "command buffer",
            Role::Counter => "counter",
            Role::SingleReaderQueue => "single-reader queue",
            Role::MultipleReaderQueue => "multiple-reader queue",
        }
    }
}

/// The first word of a line's state.
pub mod state {
    /// Bits of its role.
    pub const ROLE: u64 = 0xff;
    /// It is locked: the cache has it no more.
    pub const LOCKED: u64 = 1 << 8;
    /// All processes of its owner's job may use it.
    pub const SHARED: u64 = 1 << 9;
    /// Its program has selected it for the first level.
    pub const FIRST_LEVEL: u64 = 1 << 10;
    /// Where its owner's process stands.
    pub const OWNER_SHIFT: u32 = 16;
}

/// Operations of a command buffer: the lowest byte of its word 0.
pub mod operation {
    /// Copies memory.
    pub const COPY: u64 = 1;
    /// Writes words that stand in the command.
    pub const MESSAGE: u64 = 2;
    /// Writes one word that stands in the command.
    pub const STORE: u64 = 3;
    /// Reads at most a line.
    pub const READ: u64 = 4;
}

/// Words of a command buffer.
pub mod command {
    /// operation | bytes << 8.
    pub const OPERATION: usize = 0;
    /// Where to.
    pub const DESTINATION: usize = 1;
    /// Where acknowledgements go; 0: none.
    pub const ACKNOWLEDGEMENT: usize = 2;
    /// Where from, of COPY and READ.
    pub const SOURCE: usize = 3;
    /// The first word of data, of MESSAGE and STORE.
    pub const DATA: usize = 3;
    /// Most words of data.
    pub const MOST_WORDS: usize = super::LINE_WORDS - DATA;
    /// Most bytes of a copy.
    pub const MOST_BYTES: u64 = 1 << 16;
}

/// Words of a counter.
pub mod counter {
    /// Its value: a store adds.
    pub const VALUE: usize = 0;
    /// What it is after it has come to zero.
    pub const RESET: usize = 1;
    /// The word that is sent then.
    pub const WORD: usize = 2;
    /// Where it is sent: four addresses, 0: none.
    pub const NOTIFICATIONS: usize = 4;
}

/// Words of a queue's first line.
pub mod queue {
    /// Where items are written, and read from one with several readers.
    pub const ENQUEUE: usize = 0;
    /// Load: of one with a single reader, items that were enqueued, modulo twice its size; of
    /// the other, how many items it holds, or below zero how many readers wait.
    pub const TAIL: usize = 1;
    /// Items that its single reader has taken, modulo twice its size.
    pub const HEAD: usize = 2;
    /// words of an item | items << 16: powers of two.
    pub const SHAPE: usize = 3;
    /// Where the items stand in it.
    pub const ITEMS_SHIFT: u32 = 16;
    /// Most items.
    pub const MOST_ITEMS: u64 = 1 << 13;
}

/// The kernel agent's requests: a request's argument is the address of a structure of
/// [`WORDS`](request::WORDS) doublewords: first what the program gives, then what it gets.
pub mod request {
    /// Doublewords of a request's structure.
    pub const WORDS: usize = 8;
    /// Locks lines.
    pub const ALLOCATE: u64 = 1;
    /// Gives them back to the cache.
    pub const FREE: u64 = 2;
    /// The same, and keeps their bytes and state in memory.
    pub const SWAP_OUT: u64 = 3;
    /// Locks the same lines again, with what was kept.
    pub const SWAP_IN: u64 = 4;
    /// Allocates non-cacheable DRAM.
    pub const DRAM_ALLOCATE: u64 = 5;
    /// Tells what a line is.
    pub const QUERY: u64 = 6;
    /// Writes an entry of the table of regions.
    pub const DEFINE_REGION: u64 = 7;
    /// Clears one.
    pub const REMOVE_REGION: u64 = 8;
    /// All processes of the job may use it.
    pub const SHARED: u64 = 1;
    /// The first level may keep the lines, where the hardware lets it.
    pub const FIRST_LEVEL: u64 = 2;
    /// A region may be loaded from.
    pub const LOADS: u64 = 1;
    /// A region may be stored to.
    pub const STORES: u64 = 2;
    /// Bytes of a line that was swapped out: its own, and its state.
    pub const SWAPPED_LINE_BYTES: u64 = super::LINE_BYTES + super::STATE_BYTES;
}

/// Numbers that programs and interface agree on.
pub const CONSTANTS: &[Constant] = &[
    ("SARC_LINE_BYTES", LINE_BYTES, "Bytes of a line: eight 64-bit words."),
    ("SARC_WINDOW", WINDOW, "The windows of all tiles: its L2's bytes, way by way."),
    ("SARC_WINDOW_BYTES", WINDOW_BYTES, "From one tile's window to the next."),
    ("SARC_CHIP_BYTES", CHIP_BYTES, "From one chip's first window to the next chip's."),
    (
        "SARC_STATE",
        STATE,
        "Where in a window the state of its lines begins: a line's role and flags, and its tag. A store to the first word marks the line and clears its tag.",
    ),
    ("SARC_STATE_BYTES", STATE_BYTES, "Bytes of a line's state."),
    ("SARC_REGISTERS", REGISTERS, "Registers of the tile that accesses them, behind SARC_REGISTER offsets."),
    ("SARC_REGISTER_TILE", register::TILE, "load: the tile's number on its chip."),
    ("SARC_REGISTER_CHIP", register::CHIP, "load: the chip's number."),
    ("SARC_REGISTER_TILES", register::TILES, "load: tiles of a chip."),
    ("SARC_REGISTER_CHIPS", register::CHIPS, "load: chips."),
    (
        "SARC_REGISTER_TILES_OF_PROCESS",
        register::TILES_OF_PROCESS,
        "load: tiles of a process; those of process p begin at tile p times as many.",
    ),
    ("SARC_REGISTER_L2_BYTES", register::L2_BYTES, "load: bytes of a tile's L2."),
    ("SARC_REGISTER_WAYS", register::WAYS, "load: its ways."),
    ("SARC_REGISTER_LOCKS", register::LOCKS, "load: locks of the lock box; 0: there is none."),
    ("SARC_REGISTER_DRAM_BYTES", register::DRAM_BYTES, "load: bytes of a chip's non-cacheable DRAM."),
    ("SARC_REGISTER_CYCLES", register::CYCLES, "load: the global timer, in cycles of the interface."),
    ("SARC_REGISTER_JOBS", register::JOBS, "load: jobs that the tile's interface has still to do."),
    ("SARC_REGISTER_STORES", register::STORES, "load: remote stores of the tile that have not arrived yet."),
    (
        "SARC_LOCK_BOX",
        LOCK_BOX,
        "The lock box, a doubleword a lock. load: 1, the lock was free and is taken now; 0: it is taken. store: it is free.",
    ),
    ("SARC_DRAM", DRAM, "Non-cacheable DRAM of chip 0."),
    ("SARC_DRAM_CHIP_BYTES", DRAM_CHIP_BYTES, "From one chip's DRAM to the next chip's."),
    ("SARC_REGIONS", REGIONS.start, "Addresses for regions that programs define."),
    ("SARC_REGIONS_BYTES", REGIONS.end - REGIONS.start, "How many."),
    ("SARC_REGION_BYTES", REGION_BYTES, "Regions begin and end at multiples of it."),
    ("SARC_ROLE_CACHE", Role::Cache as u64, "Role: a line of the cache."),
    ("SARC_ROLE_SCRATCHPAD", Role::Scratchpad as u64, "Role: directly addressed memory."),
    (
        "SARC_ROLE_COMMAND",
        Role::CommandBuffer as u64,
        "Role: a command buffer. Words: operation | bytes << 8, destination, acknowledgement's address (0: none), source or data. load of word 0: 0, it is free; 1: words are missing still.",
    ),
    (
        "SARC_ROLE_COUNTER",
        Role::Counter as u64,
        "Role: a counter. Words: value (a store adds), reset value, word to be sent at zero, none, four addresses that get it (0: none).",
    ),
    (
        "SARC_ROLE_SINGLE_READER",
        Role::SingleReaderQueue as u64,
        "Role: a queue with one reader. Words: enqueue, tail, head, shape. The items are in the lines behind it.",
    ),
    (
        "SARC_ROLE_MULTIPLE_READER",
        Role::MultipleReaderQueue as u64,
        "Role: a queue with several readers. Words: enqueue or, by a load, dequeue; items that it holds (below zero: readers that wait), none, shape.",
    ),
    ("SARC_STATE_ROLE", state::ROLE, "State: bits of the role."),
    ("SARC_STATE_LOCKED", state::LOCKED, "State: the cache has the line no more."),
    ("SARC_STATE_SHARED", state::SHARED, "State: all processes of its owner's job may use it."),
    ("SARC_STATE_FIRST_LEVEL", state::FIRST_LEVEL, "State: its program has selected it for the first level."),
    ("SARC_STATE_OWNER", state::OWNER_SHIFT as u64, "State: where the owner's process stands."),
    (
        "SARC_OPERATION_COPY",
        operation::COPY,
        "Operation: a copy of up to SARC_COPY_BYTES bytes, at any alignment.",
    ),
    (
        "SARC_OPERATION_MESSAGE",
        operation::MESSAGE,
        "Operation: a write of 8 to SARC_MESSAGE_WORDS * 8 bytes that follow.",
    ),
    ("SARC_OPERATION_STORE", operation::STORE, "Operation: a write of the word that follows; 8 bytes."),
    (
        "SARC_OPERATION_READ",
        operation::READ,
        "Operation: a read of up to a line; from a queue with several readers it takes an item.",
    ),
    ("SARC_COMMAND_BYTES", 8, "Where the bytes stand in a command's first word."),
    ("SARC_COPY_BYTES", command::MOST_BYTES, "Most bytes of a copy."),
    ("SARC_MESSAGE_WORDS", command::MOST_WORDS as u64, "Most words of a message."),
    (
        "SARC_QUEUE_ITEMS",
        queue::ITEMS_SHIFT as u64,
        "Shape of a queue: words of an item | items << this; both powers of two.",
    ),
    (
        "SARC_ALLOCATE",
        request::ALLOCATE,
        "ioctl: tile, lines, SARC_SHARED | SARC_FIRST_LEVEL or 0 -> address; the lines are scratchpad lines of zeros.",
    ),
    ("SARC_FREE", request::FREE, "ioctl: address, lines, as allocated or a part of it."),
    (
        "SARC_SWAP_OUT",
        request::SWAP_OUT,
        "ioctl: address, lines, buffer of SARC_SWAPPED_LINE_BYTES a line; the lines are free then.",
    ),
    (
        "SARC_SWAP_IN",
        request::SWAP_IN,
        "ioctl: address, lines, buffer; the same lines, which have to be free.",
    ),
    (
        "SARC_DRAM_ALLOCATE",
        request::DRAM_ALLOCATE,
        "ioctl: bytes, SARC_SHARED or 0 -> address, a multiple of 4096.",
    ),
    (
        "SARC_QUERY",
        request::QUERY,
        "ioctl: address -> the first word of its line's state; 0 unless the process may use the line. For lines of other tiles, whose states cannot be loaded.",
    ),
    (
        "SARC_DEFINE_REGION",
        request::DEFINE_REGION,
        "ioctl: first address, bytes, place of the first byte (as allocated), SARC_LOADS | SARC_STORES; in the place of the region with the same first address, if there is one.",
    ),
    ("SARC_REMOVE_REGION", request::REMOVE_REGION, "ioctl: first address of a region."),
    ("SARC_LOADS", request::LOADS, "A region may be loaded from."),
    ("SARC_STORES", request::STORES, "A region may be stored to."),
    ("SARC_SHARED", request::SHARED, "All processes of the job may use it."),
    (
        "SARC_FIRST_LEVEL",
        request::FIRST_LEVEL,
        "The first level may keep the lines while they are plain memory, where the hardware lets it.",
    ),
    ("SARC_SWAPPED_LINE_BYTES", request::SWAPPED_LINE_BYTES, "Bytes of a line that was swapped out."),
];
