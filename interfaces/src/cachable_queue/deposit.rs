//! A packet on its way into a receive queue, and what may happen to the blocks
//! that are in its way.
//!
//! | the line that a block needs holds | [`Overflow::WriteBack`] | [`Overflow::Bypass`], [`Overflow::BypassUnfetched`] |
//! | --- | --- | --- |
//! | a block of a message that the processor has consumed | is written to memory | is dropped |
//! | a block of a message that is still to be read | is written to memory | keeps its place: the new message goes to memory |

use narthex_fabrics::{Header, Packet};
use narthex_kernel::Time;
use narthex_memory::BlockData;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of a receive queue of main memory that the interface's cache
/// cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overflow {
    /// The block in the way goes to main memory first (isca96, Section 5.1.1:
    /// "when its cache overflows, it must flush (i.e., writeback) messages to
    /// main memory").
    WriteBack,
    /// Unread messages stay, the new one goes to main memory; dead blocks are
    /// dropped. The engine reads the head each time before it takes a message for
    /// unread (hpca98, Section 4: "we force the CNI to update the head whenever it
    /// flushes a message to main memory").
    Bypass,
    /// As [`Overflow::Bypass`], but a message whose first block nobody has fetched is
    /// unread without a look at the head, which would cost a read, and an upgrade by
    /// the processor at its next store to the head. No paper has it.
    BypassUnfetched,
}

impl Overflow {
    /// Whether new messages pass a full cache.
    pub fn bypasses(self) -> bool {
        match self {
            Overflow::WriteBack => false,
            Overflow::Bypass | Overflow::BypassUnfetched => true,
        }
    }
}

/// Where the blocks of a message go.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Destination {
    /// Into the interface's own copies.
    Own,
    /// To main memory.
    Memory,
}

/// A packet on its way into the queue.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct Deposit {
    packet: Box<Packet>,
    block_bytes: usize,
    /// When the engine has looked at it.
    pub ready: Time,
    /// Where it goes, once decided.
    pub place: Option<Destination>,
    /// Blocks that are still to be deposited, the last of them next.
    pub blocks_left: u64,
    /// The first block of all comes last; only a model checker has it otherwise.
    header_last: bool,
}

impl Deposit {
    /// A packet that the engine has looked at when it is `ready`.
    pub fn new(packet: Box<Packet>, ready: Time, block_bytes: u64, header_last: bool) -> Self {
        let block_bytes = block_bytes as usize;
        let mut deposit = Deposit { packet, block_bytes, ready, place: None, blocks_left: 0, header_last };
        deposit.blocks_left = deposit.blocks();
        deposit
    }

    /// The blocks that the packet takes up.
    fn blocks(&self) -> u64 {
        (Header::BYTES + self.packet.payload.len()).div_ceil(self.block_bytes) as u64
    }

    /// The place in the message of the next block.
    pub fn next_place(&self) -> u64 {
        if self.header_last { self.blocks_left - 1 } else { self.blocks() - self.blocks_left }
    }

    /// The bytes of the next block: part of header and payload. `sense` is the
    /// message valid bit.
    pub fn next_block(&self, sense: bool) -> BlockData {
        let packet = &self.packet;
        let start = self.next_place() as usize * self.block_bytes;
        let mut block = BlockData::zeroed(self.block_bytes);
        let payload = if start == 0 {
            block.set_word(0, packet.header.with_sense(sense).0);
            &mut block[Header::BYTES..]
        } else {
            &mut block[..]
        };
        let from = &packet.payload[start.saturating_sub(Header::BYTES)..];
        let count = from.len().min(payload.len());
        payload[..count].copy_from_slice(&from[..count]);
        block
    }
}
