//! The numbers that firmware knows beside what programs know, with their meanings.

use super::{
    APPROVE_TO_SRAM, BANK_B, CACHABLE_RECEIVE_HEAD, CACHABLE_SEND_HEAD, CACHABLE_TAIL, COMMAND_CHAINED,
    COMMAND_LAST, COMMAND_NOTIFY, COMMAND_ORDERED, COMMAND_SHORT, COMMAND_TOLD, CONTROL_DIVERTS,
    CONTROL_ENABLED, NOTHING, QUEUE_REGISTERS, QUEUE_STATE_BYTES, REGISTERS, SHADOW_BYTES,
    SOURCE_ACKNOWLEDGE, SOURCE_AGENT, SOURCE_CAPTURE, SOURCE_COMPLETION, SOURCE_RECEIVE, VOYAGER_MAP,
    VOYAGER_QUEUES, VOYAGER_REGISTERS, VOYAGER_SRAM, VOYAGER_SRAM_UNCACHED, captured, operation, permission,
};
use crate::programming::{Constant, Firmware, FirmwareActivity};

/// Numbers that firmware of a voyager device knows beside what programs know.
const FIRMWARE_CONSTANTS: &[Constant] = &[
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
        "Command: its completion (tag, fault << 32) goes to the completion queue; the fault may be that of a command before it in its queue, behind the last one with a completion.",
    ),
    (
        "VOYAGER_COMMAND_ORDERED",
        COMMAND_ORDERED,
        "Command: it waits until those before it in its queue are complete.",
    ),
    (
        "VOYAGER_COMMAND_SHORT",
        COMMAND_SHORT,
        "BUS_READ, BUS_WRITE, BUS_FLUSH, PERMISSION, COPY, TRANSMIT in one doubleword: SRAM line or permission << 17; node line << 32, its bits from 32 on << 11, or line to copy to << 32 and lines - 1 << 11, or node << 32 | logical queue << 48 | process << 57.",
    ),
    (
        "VOYAGER_COMMAND_CHAINED",
        COMMAND_CHAINED,
        "BLOCK_TRANSMIT: it follows the last BLOCK_READ of its queue line by line.",
    ),
    (
        "VOYAGER_COMMAND_TOLD",
        COMMAND_TOLD,
        "BLOCK_TRANSMIT: the logical receive queue in bits 24 to 31 is told if a packet of the transfer is refused, once its last one has been there.",
    ),
    ("VOYAGER_COMMAND_LAST", COMMAND_LAST, "BLOCK_TRANSMIT: it is the last one of its transfer."),
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
        "Command: SRAM address of a slot << 32; node | logical queue << 16 | process that sends << 32.",
    ),
    (
        "VOYAGER_BLOCK_READ",
        operation::BLOCK_READ,
        "Command: process << 24 | SRAM address << 32; its address | bytes << 48.",
    ),
    (
        "VOYAGER_BLOCK_TRANSMIT",
        operation::BLOCK_TRANSMIT,
        "Command: SRAM address << 32 | channel (255: none) << 52; address at the destination | bytes << 48; node | process << 16.",
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
        "VOYAGER_OFFSET_CARRIED",
        captured::CARRIED,
        "Capture: the bit of a waiting store's offset that tells that it was approved with a destination, and is over.",
    ),
    (
        "VOYAGER_OFFSET_CARRIED_NOWHERE",
        captured::CARRIED_NOWHERE,
        "Capture, beside it: it had less than a doubleword, or the destination is no SRAM, and its bytes went nowhere.",
    ),
    (
        "VOYAGER_APPROVE_TO_SRAM",
        APPROVE_TO_SRAM,
        "Of the value with which a store is approved: its doubleword goes to the SRAM address in the lower half; else nowhere.",
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
        "Of a translation's entry: valid; node in bits 0 to 15, logical receive queue in bits 16 to 23.",
    ),
];

/// What its firmware knows of a voyager device.
pub static FIRMWARE: Firmware = Firmware {
    constants: FIRMWARE_CONSTANTS,
    registers: &[REGISTERS, QUEUE_REGISTERS],
    activities: ACTIVITIES,
};

/// The invocations of Table 2, and what lies between them.
const ACTIVITIES: &[FirmwareActivity] = &[
    activity(10, "DISPATCH", "dispatch", "It finds out what an event asks for."),
    activity(11, "RESUME", "resume", "It takes up an operation that it had suspended."),
    activity(12, "MARSHAL", "marshal", "It has a message fetched that is to be sent."),
    activity(13, "LAUNCH", "translate and launch", "It translates a message's destination and has it sent."),
    activity(14, "DEMULTIPLEX", "demultiplex", "It has an arrived message brought to its queue."),
    activity(
        15,
        "FREE_BUFFER",
        "free buffer",
        "It frees the buffer of an arrived message and shows it in its queue.",
    ),
    activity(17, "RELEASE", "release", "It takes note that a program has taken messages from its queue."),
];

const fn activity(
    number: u32,
    constant: &'static str,
    name: &'static str,
    meaning: &'static str,
) -> FirmwareActivity {
    FirmwareActivity { constant, number, name, meaning }
}
