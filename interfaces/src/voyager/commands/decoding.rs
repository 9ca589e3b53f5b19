//! Commands, and what their doublewords say.

use serde::{Deserialize, Serialize};

use crate::voyager::layout::Direction;
use crate::voyager::registers::{
    COMMAND_CHAINED, COMMAND_LAST, COMMAND_NOTIFY, COMMAND_ORDERED, COMMAND_SHORT, COMMAND_TOLD,
    operation as number,
};

/// Bytes of a line of host memory, and of what short forms move.
const LINE_BYTES: u64 = 32;

/// An address of host memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct HostAddress {
    /// Of the process's memory, or of the node's.
    pub address: u64,
    /// Whose memory it is; none if it is the node's address.
    pub process: Option<u8>,
}

/// Who is told that a channel has counted all its packets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Acknowledge {
    /// The logical receive queue; none: the firmware.
    pub queue: Option<u8>,
    /// What it is told.
    pub value: u32,
}

/// What a command does; what its operands mean is in the list of the headers' comments.
#[allow(missing_docs, reason = "the operands are those of the commands")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Operation {
    /// Host memory to SRAM.
    BusRead { host: HostAddress, sram: u64, bytes: u64 },
    /// SRAM to host memory.
    BusWrite { host: HostAddress, sram: u64, bytes: u64 },
    /// Lines out of all caches.
    BusFlush { host: HostAddress, bytes: u64 },
    /// A word of SRAM.
    SramWrite { sram: u64, bytes: u64, value: u64 },
    /// SRAM to SRAM.
    Copy { from: u64, to: u64, bytes: u64 },
    /// A slot to the network.
    Transmit { sram: u64, node: u16, queue: u8, process: u8 },
    /// Host memory to SRAM, by the block bus operation unit.
    BlockRead { host: HostAddress, sram: u64, bytes: u64 },
    /// SRAM to remote memory, by the block transmit unit.
    BlockTransmit(BlockTransmit),
    /// A channel counter.
    CounterSet { channel: u8, count: u32, acknowledge: Acknowledge },
    /// Lines to the network, as a packet of a block transfer.
    Packet { sram: u64, node: u16, process: u8, sender: u8 },
    /// A message to a receive queue of this node.
    Tell(Acknowledge),
    /// Packets that a channel counts.
    Count { channel: u8, packets: u32 },
    /// A word of a physical queue's state.
    QueueSet { direction: Direction, physical: usize, offset: u64, value: u64 },
    /// A physical queue is taken away.
    QueueOut { direction: Direction, physical: usize },
    /// A physical queue is given.
    MapSet { direction: Direction, physical: usize, logical: u8 },
    /// The permission of lines of snooped space.
    Permission { permission: u64, lines: u64, host: u64 },
    /// A captured access is approved.
    Approve { offset: u64, value: u64 },
    /// Nothing.
    Complete,
    /// It makes no sense.
    Wrong,
}

/// The operands of BLOCK_TRANSMIT.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct BlockTransmit {
    /// Where the bytes are.
    pub sram: u64,
    /// How many.
    pub bytes: u64,
    /// Where they go: the node, its process, and that one's address.
    pub node: u16,
    /// See `node`.
    pub process: u8,
    /// See `node`.
    pub address: u64,
    /// The channel that counts them there; 255 for none.
    pub channel: u8,
    /// It follows the last BLOCK_READ of its queue line by line.
    pub is_chained: bool,
    /// It is the last one of its transfer.
    pub is_last: bool,
    /// Who is told when all packets have left, beside the completion queue.
    pub acknowledge: Option<Acknowledge>,
    /// The receive queue that is told if its receiver refuses the transfer of which this is a
    /// part.
    pub told: Option<u8>,
}

/// A command.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Command {
    /// What it does.
    pub operation: Operation,
    /// The tag of its completion, if it notifies.
    pub notify: Option<u8>,
    /// It waits for those before it.
    pub is_ordered: bool,
}

impl Command {
    /// A command of the kernel agent.
    pub fn of_system(operation: Operation) -> Self {
        Command { operation, notify: None, is_ordered: false }
    }

    /// Doublewords of a command that begins with this one.
    pub(super) fn words(first: u64) -> usize {
        match first & 0xff {
            number::BUS_READ
            | number::BUS_WRITE
            | number::BUS_FLUSH
            | number::PERMISSION
            | number::COPY
            | number::TRANSMIT
                if first & COMMAND_SHORT != 0 =>
            {
                1
            }
            number::BLOCK_TRANSMIT | number::APPROVE => 3,
            number::BUS_READ..=number::BUS_FLUSH
                if !matches!(first & 0xff, number::QUEUE_OUT | number::MAP_SET | number::NOTIFY) =>
            {
                2
            }
            _ => 1,
        }
    }

    /// The operation of a command in its short form; none if it has none.
    fn short(first: u64) -> Option<Operation> {
        let lines = (first >> 11 & 7) + 1;
        let (sram, bytes) = ((first >> 17 & 0x7fff) * LINE_BYTES, lines * LINE_BYTES);
        let host_line = first >> 32 | (first >> 11 & 0x3f) << 32;
        let host = HostAddress { address: host_line * LINE_BYTES, process: None };
        match first & 0xff {
            number::BUS_READ => Some(Operation::BusRead { host, sram, bytes: LINE_BYTES }),
            number::BUS_WRITE => Some(Operation::BusWrite { host, sram, bytes: LINE_BYTES }),
            number::BUS_FLUSH => Some(Operation::BusFlush { host, bytes: LINE_BYTES }),
            number::PERMISSION => {
                Some(Operation::Permission { permission: first >> 17 & 3, lines: 1, host: host.address })
            }
            number::COPY => {
                Some(Operation::Copy { from: sram, to: (first >> 32 & 0x7fff) * LINE_BYTES, bytes })
            }
            number::TRANSMIT => Some(Operation::Transmit {
                sram,
                node: (first >> 32) as u16,
                queue: (first >> 48) as u8,
                process: (first >> 57) as u8 & 7,
            }),
            _ => None,
        }
    }

    pub(super) fn of(words: [u64; 3]) -> Self {
        let [first, ..] = words;
        let is_short = first & COMMAND_SHORT != 0;
        let short = is_short.then(|| Self::short(first)).flatten();
        let operation = short
            .or_else(|| Self::moving(words))
            .or_else(|| Self::block(words))
            .or_else(|| Self::state(words));
        let tag = if short.is_some() { 0 } else { (first >> 16) as u8 };
        Command {
            operation: operation.unwrap_or(Operation::Wrong),
            notify: (first & COMMAND_NOTIFY != 0).then_some(tag),
            is_ordered: first & COMMAND_ORDERED != 0,
        }
    }

    /// An operation that moves bytes of a few lines.
    fn moving([first, second, _]: [u64; 3]) -> Option<Operation> {
        let sram = field(first, 32, 20);
        let lines = field(first, 24, 8) * LINE_BYTES;
        let host = HostAddress {
            address: second & 0xffff_ffff_ffe0,
            process: (second >> 48).checked_sub(1).map(|process| process as u8),
        };
        Some(match first & 0xff {
            number::BUS_READ => Operation::BusRead { host, sram, bytes: lines },
            number::BUS_WRITE => {
                let last = field(first, 52, 5);
                let bytes = if last == 0 { lines } else { (lines + last).saturating_sub(LINE_BYTES) };
                Operation::BusWrite { host, sram, bytes }
            }
            number::BUS_FLUSH => Operation::BusFlush { host, bytes: lines },
            number::SRAM_WRITE => Operation::SramWrite { sram, bytes: field(first, 24, 8), value: second },
            number::COPY => {
                Operation::Copy { from: sram, to: second & 0xf_ffff, bytes: field(first, 24, 8) * 8 }
            }
            number::TRANSMIT => Operation::Transmit {
                sram,
                node: second as u16,
                queue: (second >> 16) as u8,
                process: (second >> 32) as u8,
            },
            _ => return None,
        })
    }

    /// An operation of block transfers.
    fn block([first, second, third]: [u64; 3]) -> Option<Operation> {
        let sram = field(first, 32, 20);
        let (address, bytes) = (second & 0xffff_ffff_ffff, second >> 48);
        Some(match first & 0xff {
            number::BLOCK_READ => {
                let host = HostAddress { address, process: Some(field(first, 24, 8) as u8) };
                Operation::BlockRead { host, sram, bytes }
            }
            number::BLOCK_TRANSMIT => Operation::BlockTransmit(BlockTransmit {
                sram,
                bytes,
                node: third as u16,
                process: (third >> 16) as u8,
                address,
                channel: field(first, 52, 8) as u8,
                is_chained: first & COMMAND_CHAINED != 0,
                is_last: first & COMMAND_LAST != 0,
                acknowledge: None,
                told: (first & COMMAND_TOLD != 0).then_some(field(first, 24, 8) as u8),
            }),
            number::PACKET => Operation::Packet {
                sram: field(first, 17, 15) * LINE_BYTES,
                node: (first >> 32) as u16,
                process: field(first, 48, 3) as u8,
                sender: field(first, 57, 3) as u8,
            },
            number::COUNTER_SET => Operation::CounterSet {
                channel: field(first, 24, 8) as u8,
                count: (first >> 32) as u32,
                acknowledge: Acknowledge {
                    queue: (second & 1 != 0).then_some((second >> 8) as u8),
                    value: (second >> 32) as u32,
                },
            },
            number::COUNT => {
                let (channel, packets) = (field(first, 32, 8) as u8, field(first, 40, 16) as u32);
                Operation::Count { channel, packets }
            }
            number::TELL => {
                let queue = Some(field(first, 32, 8) as u8);
                Operation::Tell(Acknowledge { queue, value: (first >> 40) as u32 })
            }
            _ => return None,
        })
    }

    /// An operation on the state of queues and of captured accesses.
    fn state([first, second, third]: [u64; 3]) -> Option<Operation> {
        let direction = Direction::of(field(first, 24, 1) != 0);
        let physical = field(first, 25, 7) as usize;
        Some(match first & 0xff {
            number::QUEUE_SET => {
                Operation::QueueSet { direction, physical, offset: field(first, 32, 8), value: second }
            }
            number::QUEUE_OUT => Operation::QueueOut { direction, physical },
            number::MAP_SET => Operation::MapSet { direction, physical, logical: field(first, 32, 8) as u8 },
            number::PERMISSION => {
                Operation::Permission { permission: field(first, 24, 2), lines: first >> 32, host: second }
            }
            number::APPROVE => Operation::Approve { offset: second, value: third },
            number::NOTIFY => Operation::Complete,
            _ => return None,
        })
    }
}

/// Bits of a doubleword, from `shift` on.
fn field(word: u64, shift: u32, bits: u32) -> u64 {
    word >> shift & ((1 << bits) - 1)
}
