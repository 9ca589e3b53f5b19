//! The numbers that programs know, with their meanings, and what they read on the
//! information page.

use super::{
    BLOCK_PACKET_BYTES, COMMAND_CHAINED, COMMAND_LAST, COMMAND_NOTIFY, COMMAND_ORDERED, COMMAND_TOLD,
    COMMAND_WINDOW_FAULT, COMMAND_WINDOW_ISSUE, KIND_STORES, KIND_URGENT, MOST_PAYLOAD, POINTER_CONSUMER,
    POINTER_PRODUCER, POINTER_STATUS, POINTER_STORES, QUEUE_BAD_DESTINATION, QUEUE_BAD_LENGTH,
    QUEUE_BAD_POINTER, QUEUE_CLOSED, QUEUE_CLOSING, QUEUE_NOT_DRAINED, QUEUE_OPEN, QueueKind, SLOT_BYTES,
    fault, method, operation, request,
};
use crate::programming::{Constant, Fact};

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
    (
        "VOYAGER_KIND_URGENT",
        KIND_URGENT,
        "Added to VOYAGER_KIND_RESIDENT of a transmit queue: its messages have the network's high priority.",
    ),
    (
        "VOYAGER_KIND_STORES",
        KIND_STORES,
        "Added to VOYAGER_KIND_HYBRID of a transmit queue: its messages are stores to serviced space, which firmware alone serves.",
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
    (
        "VOYAGER_POINTER_STORES",
        POINTER_STORES,
        "Pointer window of a hybrid transmit queue: 1 if its messages are stores to serviced space, else 0.",
    ),
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
        "VOYAGER_STATUS_NOT_DRAINED",
        QUEUE_NOT_DRAINED,
        "Status: its program has left it full, and it has held up others for too long.",
    ),
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
        "VOYAGER_CHANNEL_CLEAR",
        request::CHANNEL_CLEAR,
        "ioctl: channel; it is as if it had not been set. Packets that still come count.",
    ),
    (
        "VOYAGER_QUERY",
        request::QUERY,
        "ioctl: -> queues, channels, slots of a transfer's packets, bytes of SRAM left.",
    ),
    (
        "VOYAGER_STAGING",
        request::STAGING,
        "ioctl: bytes, whole packets -> offset in the process's part of SRAM, command window, cachable address; once a process.",
    ),
    (
        "VOYAGER_WINDOW_ISSUE",
        COMMAND_WINDOW_ISSUE,
        "Command window: store: the next doubleword of a command of the process; load: how many more its queue takes.",
    ),
    (
        "VOYAGER_WINDOW_FAULT",
        COMMAND_WINDOW_FAULT,
        "Command window: load: the VOYAGER_FAULT of the last command that failed, 0 if none has; store: none has.",
    ),
    (
        "VOYAGER_ISSUE_READ",
        operation::BLOCK_READ,
        "Command of a program: offset in its part of SRAM << 32; its address | bytes << 48.",
    ),
    (
        "VOYAGER_ISSUE_TRANSMIT",
        operation::BLOCK_TRANSMIT,
        "Command of a program: offset in its part of SRAM << 32 | channel there (255: none) << 52 | receive queue k << 24 (with TOLD); address there | bytes << 48; virtual destination, of which the process counts.",
    ),
    (
        "VOYAGER_ISSUE_COUNTER",
        operation::COUNTER_SET,
        "Command of a program: channel << 24 | packets << 32; 1 | receive queue k << 8 | value << 32.",
    ),
    ("VOYAGER_ISSUE_COMPLETE", operation::NOTIFY, "Command of a program: nothing but its completion."),
    (
        "VOYAGER_ISSUE_NOTIFY",
        COMMAND_NOTIFY,
        "Of a program's command: its receive queue k, in bits 16 to 23, gets a message once it is complete: the VOYAGER_FAULT of it or of one before it, or 0.",
    ),
    (
        "VOYAGER_ISSUE_ORDERED",
        COMMAND_ORDERED,
        "Of a program's command: it waits until those before it are complete.",
    ),
    (
        "VOYAGER_ISSUE_CHAINED",
        COMMAND_CHAINED,
        "Of ISSUE_TRANSMIT: it follows the program's last ISSUE_READ line by line.",
    ),
    (
        "VOYAGER_ISSUE_TOLD",
        COMMAND_TOLD,
        "Of ISSUE_TRANSMIT: the receive queue in bits 24 to 31 gets a VOYAGER_USER_REFUSED if a packet of the transfer is refused there, once its last one has been there.",
    ),
    ("VOYAGER_ISSUE_LAST", COMMAND_LAST, "Of ISSUE_TRANSMIT: it is the last one of its transfer."),
    ("VOYAGER_FAULT_OPERAND", fault::OPERAND, "A command without sense."),
    ("VOYAGER_FAULT_SRAM", fault::SRAM, "A command with an SRAM address that is not allowed."),
    ("VOYAGER_FAULT_ADDRESS", fault::ADDRESS, "A command with a memory address that is not allowed."),
    ("VOYAGER_FAULT_DESTINATION", fault::DESTINATION, "A command with a node or queue that does not exist."),
    (
        "VOYAGER_USER_REFUSED",
        crate::voyager::receive::REFUSAL as u64,
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
pub(in crate::voyager) fn fact(name: &str) -> Fact {
    *FACTS.iter().find(|fact| fact.name == name).expect("it is declared")
}
