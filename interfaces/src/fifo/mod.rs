//! The FIFOs that uncached interfaces share: `NI_i w`, and with block buffers or
//! user-level DMA added to it.
//!
//! ```text
//!            SEND, one doubleword a store      ┐
//!            a block a block store             ├─► SendFifo ──► network
//!            a payload a DMA transfer          ┘
//!            RECEIVE, one doubleword a load    ┐
//!            a block a block load              ├── ReceiveFifo ◄── flow control's
//!            a payload a DMA transfer          ┘                   incoming buffers
//! ```
//!
//! The additions differ in how many bytes an access pushes or pops; the FIFOs do
//! not care. "For such push and pop the CM-5-like NI uses uncached loads/stores,
//! the Udma-based NI uses User-Level DMA (or UDMA), and AP3000-like uses block
//! loads/stores" (hpca98, Section 6.2). The send FIFO holds one packet and knows
//! its end from its header. The receive FIFO holds what the flow control's incoming
//! buffers hold (the same section): one is free again when the last byte of its
//! packet has been popped.
//!
//! An arriving packet can be seen once it is in the FIFO's memory, which takes an
//! access (`deposit_time`) for each block of it, and what the interface does besides
//! (`receive_time`). A packet is as long on the network as the machine says, however
//! little of it is used: "network message size is fixed at 256 bytes" (isca96,
//! Section 4.1; hpca98, Table 3, states the same size).

mod dma;
mod receive;
mod send;

pub use dma::{DMA_BUSY, DmaEngine, DmaTimes, Part};
pub use receive::ReceiveFifo;
pub use send::SendFifo;

use narthex_kernel::Duration;
use narthex_memory::Kind;
use serde::{Deserialize, Serialize};

use crate::attachment::Attachment;
use crate::description::Layout;
use crate::models::{Problem, Setup};
use crate::programming::{Driver, Firmware, Programming, Register};
use crate::registers::STATUS_REGISTER;

/// Store: the next doubleword of the packet to be sent.
pub const SEND: u64 = 0x08;
/// Load: the next doubleword of the packet at the head.
pub const RECEIVE: u64 = 0x10;
/// Load: a doubleword of the packet at the head, which stays there; as many
/// follow as the interface's size shows.
pub const RECEIVE_WINDOW: u64 = 0x100;

/// The registers of a FIFO.
pub const REGISTERS: [Register; 4] = [
    STATUS_REGISTER,
    ("SEND", SEND, "store: the next doubleword of the packet to be sent, header first"),
    ("RECEIVE", RECEIVE, "load: the next doubleword of the packet at the head, header first"),
    ("RECEIVE_WINDOW", RECEIVE_WINDOW, "load: the first doubleword at the head, which stays; more follow"),
];

/// How FIFOs are programmed that are nothing but registers.
pub static PROGRAMMING: Programming = Programming {
    driver: Driver::numbered(1, "fifo", "Registers in front of FIFOs."),
    registers: &[&REGISTERS],
    constants: &[],
    facts: &[],
    requirements: &[],
    firmware: Firmware::NONE,
};

/// The layout of a FIFO that is nothing but registers.
pub fn layout() -> Layout {
    Layout { transactions: vec![Kind::UncachedLoad, Kind::UncachedStore], ..Layout::default() }
}

/// The times of a FIFO and its registers.
#[derive(Clone, Copy, Hash, Debug, Serialize, Deserialize)]
pub struct Times {
    /// Time that a register access takes beyond the bus's own cycles.
    pub register_access: Duration,
    /// Time from the last byte of a packet in the send FIFO to its injection.
    pub send: Duration,
    /// Time from a packet's arrival until the status register shows it.
    pub receive: Duration,
}

/// Time from a packet's arrival until the status register shows it: the deposit of
/// all its blocks, and `receive`.
pub fn until_visible(setup: &Setup<'_>, deposit: Duration, receive: Duration) -> Duration {
    deposit * setup.packet_bytes.div_ceil(setup.block_bytes) + receive
}

/// Checks the size of a window: whole doublewords, at most a packet.
pub fn check_window(setup: &Setup<'_>) -> Result<(), Problem> {
    let (size, most) = (u64::from(setup.name.size), setup.packet_bytes / 4);
    if size > 0 && size % 2 == 0 && size <= most {
        return Ok(());
    }
    Err(Problem::of_name(format!(
        "it would show {size} words of its FIFO; an access moves two words (8 bytes) and a packet has {most} \
         (messages.packet), so the size is an even number from 2 to {most}"
    )))
}

/// Where FIFOs can be attached that move whole blocks.
pub fn attaches_to_block_buses(attachment: Attachment) -> Result<(), &'static str> {
    match attachment {
        Attachment::MemoryBus | Attachment::IoBus => Ok(()),
        Attachment::CacheBus | Attachment::Register => Err(
            "it moves whole blocks in transactions of the memory or I/O bus (hpca98, Section 2.1); a cache bus and \
             the processor's registers carry single accesses of the processor (isca96, Section 5)",
        ),
    }
}

#[cfg(test)]
mod tests;
