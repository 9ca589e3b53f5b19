//! What a via device shows: to programs its doorbells and windows, to the operating
//! system the requests of its kernel agent, to firmware its registers.
//!
//! Both C headers are generated from these lists (`make headers`): what programs see goes
//! to guest/runtime/registers.h, what firmware sees to guest/firmware/devices.h. The
//! structures that the requests fill are described in [`request`].

use crate::programming::{Constant, Fact, Firmware, FirmwareActivity, Register};

/// How data crosses between host memory and network interface: the information page's
/// `via_scheme`, and what firmware loads from `SCHEME`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scheme {
    /// Eager data transfer; received blocks are the interface's until they are read.
    Eager,
    /// Eager data transfer; received blocks are written home.
    EagerDmaReceive,
    /// DMA that caches see; a cache with newer data supplies it.
    DmaIntervention,
    /// DMA that caches see; a cache with newer data makes it wait and writes home first.
    DmaRetry,
    /// DMA that caches do not see: the library flushes what it transfers.
    DmaFlush,
    /// The processor stores to and loads from the interface.
    ProgrammedIo,
    /// The same; the processor joins stores to a block.
    ProgrammedIoCombining,
}

impl Scheme {
    /// All of them, by the names that users write.
    pub const ALL: [(Scheme, &'static str); 7] = [
        (Scheme::Eager, "EDT"),
        (Scheme::EagerDmaReceive, "EDT+DmaReceive"),
        (Scheme::DmaIntervention, "CCDMA-intervention"),
        (Scheme::DmaRetry, "CCDMA-retry"),
        (Scheme::DmaFlush, "DMA-flush"),
        (Scheme::ProgrammedIo, "PIO"),
        (Scheme::ProgrammedIoCombining, "PIO+WriteCombining"),
    ];

    /// The number by which programs and firmware know it.
    pub const fn number(self) -> u64 {
        match self {
            Scheme::Eager => 1,
            Scheme::EagerDmaReceive => 2,
            Scheme::DmaIntervention => 3,
            Scheme::DmaRetry => 4,
            Scheme::DmaFlush => 5,
            Scheme::ProgrammedIo => 6,
            Scheme::ProgrammedIoCombining => 7,
        }
    }

    /// Whether the interface watches registered blocks and copies them by itself.
    pub const fn is_eager(self) -> bool {
        matches!(self, Scheme::Eager | Scheme::EagerDmaReceive)
    }
}

/// Where the device's registers are on the bus of its firmware.
pub const VIA_REGISTERS: u64 = 0x7000_1000;
/// Bytes of a process's window into the interface's memory.
pub const WINDOW_BYTES: u64 = 0x1_0000;
/// Bytes of a packet's header in the interface's memory.
pub const HEADER_BYTES: u64 = 32;
/// The bit of a header's first doubleword that lets the packet-to-address table place the
/// packet. What the hardware reads of a header beside it: the destination's VI (bits 16 to
/// 31), the payload's offset and the message's bytes (the halves of
/// the second doubleword), the message's number (the lower half of the third).
pub const PACKET_PLACED: u64 = 1 << 8;
/// Most VIs of a node: their doorbells fit into a page.
pub const MOST_VIS: u32 = 256;

/// Bits of STATUS, each an interrupt line of the same number.
pub const DOORBELL_WAITS: u64 = 1;
/// A command of the kernel agent waits.
pub const COMMAND_WAITS: u64 = 1 << 1;
/// A packet has been received.
pub const PACKET_RECEIVED: u64 = 1 << 2;
/// The network-side DMA can be started.
pub const CAN_SEND: u64 = 1 << 3;
/// The awaited blocks are whole.
pub const AWAITED: u64 = 1 << 4;
/// No update and no put is under way.
pub const UPDATED: u64 = 1 << 5;
/// No tag is being initialised.
pub const INITIALISED: u64 = 1 << 6;
/// How many bits STATUS has.
pub const LINES: u32 = 7;

/// What a load shows where there is nothing.
pub const NOTHING: u64 = u64::MAX;

/// Names the registers: constants for the device, and the list for the header.
macro_rules! registers {
    ($($constant:ident = $offset:literal, $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $constant: u64 = $offset;)*
        /// The registers of firmware, in the order of their offsets.
        pub const REGISTERS: &[Register] =
            &[$((concat!("VIA_", stringify!($constant)), $offset, $meaning)),*];
    };
}

registers! {
    STATUS = 0x00, "load: what there is to do, by the VIA bits; each is an interrupt line of that number";
    SCHEME = 0x08, "load: how data crosses, one of the VIA_SCHEME numbers";
    NODE = 0x10, "load: this node's number, and the number of nodes in the upper half";
    LIMITS = 0x18, "load: the VIs of the node, the tags in the upper half";
    BLOCK = 0x20, "load: bytes of a coherence block, bytes of user data in a packet in the upper half";
    DOORBELL_SOURCE = 0x28, "load: of the oldest doorbell, process << 32 | vi << 1 | is it receive; all ones if none";
    DOORBELL = 0x30, "load: the value of the oldest doorbell, which is gone then";
    COMMAND = 0x38, "load: the next doubleword of the oldest command, which is gone after the last one";
    SEND_HEADER = 0x40, "store: where the 32 bytes of a packet's header are in the interface's memory";
    SEND_PAYLOAD = 0x48, "store: where its payload is";
    SEND_START = 0x50, "store: destination node << 32 | bytes of payload; the packet is sent";
    RECEIVE_BUFFER = 0x58, "store: a free slot of the interface's memory, for a header and the user data of a packet";
    RECEIVED_SLOT = 0x60, "load: the slot of the oldest packet received; 0 if there is none";
    RECEIVED_PAYLOAD = 0x68, "load: where its payload is, in the slot or at its VI's place; the packet is gone then";
    PLACE_SELECT = 0x70, "store: the VI of which the packet-to-address table is changed";
    PLACE_ADDRESS = 0x78, "store: where in the interface's memory a message of the VI goes";
    PLACE_LENGTH = 0x80, "store: bytes that fit there, above them the message's number; 0 bytes take the place away";
    TAG_SELECT = 0x88, "store: the tag that the next stores change";
    TAG_HOST_START = 0x90, "store: the first host address of the selected tag's region (SHA)";
    TAG_HOST_END = 0x98, "store: the end of it (EHA)";
    TAG_NI_START = 0xa0, "store: the first address of its copy in the interface's memory (SNA)";
    TAG_NI_END = 0xa8, "store: the end of it (ENA)";
    TAG_CONTROL = 0xb0, "store: the access bit (A); 1 begins the initialisation, 0 ends the tag";
    AWAIT_ADDRESS = 0xb8, "store: the first address in the interface's memory of a copy to wait for";
    AWAIT_LENGTH = 0xc0, "store: its bytes; STATUS shows when no block of it changes any more";
    UPDATE_ADDRESS = 0xc8, "store: the host address of a doubleword that is to be stored coherently";
    UPDATE_VALUE = 0xd0, "store: its value; the store begins, STATUS shows when it is done";
    WINDOW_SELECT = 0xd8, "store: the process whose window is placed";
    WINDOW_ADDRESS = 0xe0, "store: where in the interface's memory the window is";
    PUT_SOURCE = 0xe8, "store: where in the interface's memory bytes are that a registered region is to get";
    PUT_ADDRESS = 0xf0, "store: the host address that they are to have there";
    PUT_LENGTH = 0xf8, "store: their number; they are put there coherently, STATUS shows when (UPDATED)";
    MEMORY = 0x100, "load: where the interface's memory ends";
    PLACES = 0x108, "load: entries of the packet-to-address table for each VI; a message's is number modulo it";
    DMA_ENGINE = 0x110, "load: where the registers of the DMA engine are";
    LAYER = 0x118, "load: cycles that each message takes on each side beside the firmware's own instructions";
    WHEN_FULL = 0x120, "load: 1 if a registration without room for its copy waits, 0 if its data go by DMA";
    PROCESSES = 0x128, "load: processes of the node";
}

/// Numbers that the firmware of a via device knows.
const FIRMWARE_CONSTANTS: &[Constant] = &[
    ("VIA_REGISTERS", VIA_REGISTERS, "Where the via device's registers are."),
    ("VIA_DOORBELL_WAITS", DOORBELL_WAITS, "STATUS, and line 0: a doorbell waits."),
    ("VIA_COMMAND_WAITS", COMMAND_WAITS, "STATUS, and line 1: a command of the kernel agent waits."),
    ("VIA_PACKET_RECEIVED", PACKET_RECEIVED, "STATUS, and line 2: a packet has been received."),
    ("VIA_CAN_SEND", CAN_SEND, "STATUS, and line 3: the network-side DMA can be started."),
    ("VIA_AWAITED", AWAITED, "STATUS, and line 4: the awaited blocks are whole, none is under way."),
    ("VIA_UPDATED", UPDATED, "STATUS, and line 5: no update and no put is under way."),
    ("VIA_INITIALISED", INITIALISED, "STATUS, and line 6: no tag is being initialised."),
    ("VIA_LINES", LINES as u64, "Bits of STATUS; the DMA engine's interrupt line follows them."),
    ("VIA_NOTHING", NOTHING, "What DOORBELL_SOURCE shows where no doorbell waits."),
    (
        "VIA_PACKET_PLACED",
        PACKET_PLACED,
        "Of a header's first doubleword: the packet-to-address table may place it.",
    ),
    ("VIA_HEADER_BYTES", HEADER_BYTES, "Bytes of a packet's header in the interface's memory."),
];

/// What its firmware knows of a via device. Its markers part Figure 9's times of the DMA engine from
/// those of the message layer.
pub static FIRMWARE: Firmware = Firmware {
    constants: FIRMWARE_CONSTANTS,
    registers: &[REGISTERS],
    activities: &[
        FirmwareActivity {
            constant: "DMA_SETUP",
            number: 8,
            name: "DMA set-up",
            meaning: "It starts a DMA engine.",
        },
        FirmwareActivity {
            constant: "DMA_INTERRUPT",
            number: 9,
            name: "DMA interrupt",
            meaning: "It serves the interrupt at the end of a DMA engine's copy.",
        },
    ],
};

/// Numbers that programs and firmware of a via device agree on.
pub const CONSTANTS: &[Constant] = &[
    ("VIA_SCHEME_EDT", Scheme::Eager.number(), "via_scheme: eager data transfer, coherent receive."),
    (
        "VIA_SCHEME_EDT_DMA_RECEIVE",
        Scheme::EagerDmaReceive.number(),
        "via_scheme: eager data transfer, received blocks go home.",
    ),
    (
        "VIA_SCHEME_DMA_INTERVENTION",
        Scheme::DmaIntervention.number(),
        "via_scheme: coherent DMA, caches supply newer data.",
    ),
    (
        "VIA_SCHEME_DMA_RETRY",
        Scheme::DmaRetry.number(),
        "via_scheme: coherent DMA, caches write newer data home first.",
    ),
    (
        "VIA_SCHEME_DMA_FLUSH",
        Scheme::DmaFlush.number(),
        "via_scheme: DMA that caches do not see; software flushes.",
    ),
    ("VIA_SCHEME_PIO", Scheme::ProgrammedIo.number(), "via_scheme: stores to and loads from the window."),
    (
        "VIA_SCHEME_PIO_COMBINING",
        Scheme::ProgrammedIoCombining.number(),
        "via_scheme: the same, the processor joins stores.",
    ),
    ("VIA_DOORBELL_STRIDE", 16, "From one VI's doorbells to the next one's, in the page of doorbells."),
    ("VIA_DOORBELL_SEND", 0, "The send doorbell among them; a store of a descriptor's address rings."),
    ("VIA_DOORBELL_RECEIVE", 8, "The receive doorbell among them."),
    ("VIA_WINDOW_BYTES", WINDOW_BYTES, "Bytes of a process's window into the interface's memory."),
    ("VIA_COMMAND_WORDS", request::COMMAND_WORDS as u64, "Doublewords of a command to the firmware."),
    ("VIA_OPEN", request::OPEN, "ioctl: command page -> sequence."),
    ("VIA_CLOSE", request::CLOSE, "ioctl: -> sequence; everything of the process is released."),
    (
        "VIA_REGISTER",
        request::REGISTER,
        "ioctl: address, length, protection tag, attributes -> memory handle, sequence.",
    ),
    ("VIA_DEREGISTER", request::DEREGISTER, "ioctl: memory handle -> sequence; the pages stay pinned."),
    (
        "VIA_RELEASE",
        request::RELEASE,
        "ioctl: memory handle, or 0 for the command page; unpins what the firmware has let go.",
    ),
    ("VIA_CREATE_PTAG", request::CREATE_PTAG, "ioctl: -> protection tag."),
    ("VIA_DESTROY_PTAG", request::DESTROY_PTAG, "ioctl: protection tag."),
    (
        "VIA_CREATE_VI",
        request::CREATE_VI,
        "ioctl: tag, attributes, largest transfer, send and receive CQ (0: none) -> VI, sequence.",
    ),
    ("VIA_DESTROY_VI", request::DESTROY_VI, "ioctl: VI -> sequence."),
    (
        "VIA_CONNECT_REQUEST",
        request::CONNECT_REQUEST,
        "ioctl: VI, remote node, discriminator, attributes -> sequence.",
    ),
    ("VIA_CONNECT_WAIT", request::CONNECT_WAIT, "ioctl: discriminator -> sequence."),
    ("VIA_CONNECT_ACCEPT", request::CONNECT_ACCEPT, "ioctl: connection, VI -> sequence."),
    ("VIA_CONNECT_REJECT", request::CONNECT_REJECT, "ioctl: connection -> sequence."),
    ("VIA_CANCEL", request::CANCEL, "ioctl: sequence of a request that waits -> sequence."),
    ("VIA_DISCONNECT", request::DISCONNECT, "ioctl: VI -> sequence."),
    (
        "VIA_CREATE_CQ",
        request::CREATE_CQ,
        "ioctl: address, length, entries -> CQ, its memory handle, sequence.",
    ),
    ("VIA_DESTROY_CQ", request::DESTROY_CQ, "ioctl: CQ -> sequence."),
    (
        "VIA_QUERY",
        request::QUERY,
        "ioctl: -> the most VIs, tags, handles, CQs, commands that wait, pages of a region.",
    ),
];

/// What programs read on the information page.
pub const FACTS: &[Fact] = &[
    Fact { name: "via_scheme", meaning: "how data crosses to a via interface: a VIA_SCHEME number, or 0" },
    Fact { name: "via_doorbells", meaning: "address of the process's page of doorbells" },
    Fact { name: "via_window", meaning: "address of the process's window into the interface's memory" },
    Fact { name: "via_mtu", meaning: "bytes of user data that fit into a packet" },
    Fact { name: "via_vis", meaning: "VIs of a node" },
];

/// The fact of this name.
pub(super) fn fact(name: &str) -> Fact {
    *FACTS.iter().find(|fact| fact.name == name).expect("it is declared")
}

/// The kernel agent's requests. A request's argument is the address of a structure of
/// [`WORDS`](request::WORDS) doublewords: first what the program gives, then what it gets,
/// in the order of the headers' comments.
///
/// What the firmware has to finish goes to it as a command of
/// [`COMMAND_WORDS`](request::COMMAND_WORDS) doublewords: request | process << 32, sequence,
/// and six more:
///
/// | request | doublewords 2 to 7 |
/// | --- | --- |
/// | OPEN | frame of the command page |
/// | CLOSE | |
/// | REGISTER | handle, address, length, list of frames, protection tag, attributes |
/// | DEREGISTER | handle |
/// | CREATE_VI | VI, protection tag, attributes, largest transfer, send CQ, receive CQ |
/// | DESTROY_VI, DISCONNECT | VI |
/// | CONNECT_REQUEST | VI, remote node, discriminator, attributes |
/// | CONNECT_WAIT | discriminator |
/// | CONNECT_ACCEPT | connection, VI |
/// | CONNECT_REJECT | connection |
/// | CANCEL | sequence |
/// | CREATE_CQ | CQ, address, length, list of frames, entries |
/// | DESTROY_CQ | CQ |
///
/// A list of frames is in memory that no program has: the node address of each page's
/// frame, a doubleword each. The firmware answers on the process's command page.
pub mod request {
    /// Doublewords of a request's structure.
    pub const WORDS: usize = 8;
    /// Doublewords of a command.
    pub const COMMAND_WORDS: usize = 8;
    /// Opens the interface for a process.
    pub const OPEN: u64 = 1;
    /// Releases everything that the process has.
    pub const CLOSE: u64 = 2;
    /// Registers memory.
    pub const REGISTER: u64 = 3;
    /// Takes a registration back.
    pub const DEREGISTER: u64 = 4;
    /// Unpins what was registered.
    pub const RELEASE: u64 = 5;
    /// Makes a protection tag.
    pub const CREATE_PTAG: u64 = 6;
    /// Unmakes it.
    pub const DESTROY_PTAG: u64 = 7;
    /// Makes a VI.
    pub const CREATE_VI: u64 = 8;
    /// Unmakes it.
    pub const DESTROY_VI: u64 = 9;
    /// Asks a remote node for a connection.
    pub const CONNECT_REQUEST: u64 = 10;
    /// Waits for such a request.
    pub const CONNECT_WAIT: u64 = 11;
    /// Accepts it.
    pub const CONNECT_ACCEPT: u64 = 12;
    /// Rejects it.
    pub const CONNECT_REJECT: u64 = 13;
    /// Takes back a request that waits.
    pub const CANCEL: u64 = 14;
    /// Ends a connection.
    pub const DISCONNECT: u64 = 15;
    /// Makes a completion queue.
    pub const CREATE_CQ: u64 = 16;
    /// Unmakes it.
    pub const DESTROY_CQ: u64 = 17;
    /// The limits.
    pub const QUERY: u64 = 18;
}
