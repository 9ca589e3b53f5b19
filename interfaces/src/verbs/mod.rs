//! Queue pairs, seen from the interface's side; [`crate::models::verbs`] says what they are and how they
//! are programmed.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`formats`] | work requests and completions, byte by byte |
//! | [`packets`] | packets, byte by byte |
//! | [`objects`] | what a process has created: regions, completion queues, receive queues |
//! | [`queue_pair`] | a queue pair and its connection |
//! | [`calls`] | the requests of the kernel's driver |
//! | [`completions`] | how work requests and receives have ended |
//! | [`events`] | how a process learns of completions that it does not poll for |
//! | [`function`] | a process's part of the interface, and what both directions need |
//! | [`requester`] | what sends |
//! | [`responder`] | what receives |
//! | [`responses`] | what fetches: RDMA reads and atomic operations, on both sides |
//! | [`datagrams`] | what receives without a connection |
//! | [`device`] | the device as its node has it |

pub mod calls;
mod completions;
mod datagrams;
pub mod device;
pub mod events;
pub mod formats;
pub mod function;
pub mod objects;
pub mod packets;
pub mod queue_pair;
mod requester;
mod responder;
mod responses;

use narthex_kernel::Duration;
use narthex_memory::interrupt::Interrupt;
use serde::{Deserialize, Serialize};

use crate::moderation::Moderation;
use crate::programming::{Constant, Register};
use calls::{WORDS, request};
use events::Arm;
use formats::{
    ADDRESS, BASIC_BLOCK, EVENT, FENCED, INLINE, NO_KEY, ROUTE_HEADER, SCATTERED, SEGMENT, SIGNALLED,
    SOLICITED, opcode,
};

/// A store of a control segment's first doubleword tells of its work request and those before it.
pub const DOORBELL: u64 = 0x100;
/// A store arms a completion queue.
pub const ARM: u64 = 0x120;
/// The registers.
pub const REGISTERS: [Register; 2] = [
    ("VERBS_DOORBELL", DOORBELL, "store: the first doubleword of the last work request that is posted"),
    ("VERBS_ARM", ARM, "store: arms a completion queue: its number, in the upper half how"),
];
/// Bytes of a half of the BlueFlame register.
pub const BLUE_FLAME_HALF: usize = 256;
/// Bytes of its page.
pub const BLUE_FLAME_PAGE: u64 = 4096;
/// The most bytes inline: what a half of the BlueFlame register takes beside control and remote address.
pub const INLINE_LIMIT: u64 = (BLUE_FLAME_HALF - 2 * SEGMENT - 4) as u64;
/// The number of a process's first queue pair.
pub const FIRST_QUEUE_PAIR: u32 = 0x40;

/// Numbers that the library and the interface agree on.
pub const CONSTANTS: &[Constant] = &[
    ("VERBS_BASIC_BLOCK", BASIC_BLOCK as u64, "Bytes of a basic block of a send queue."),
    ("VERBS_SEGMENT", SEGMENT as u64, "Bytes of a segment of a work request."),
    ("VERBS_BLUE_FLAME_HALF", BLUE_FLAME_HALF as u64, "Bytes of a half of the BlueFlame register."),
    ("VERBS_FIRST_QUEUE_PAIR", FIRST_QUEUE_PAIR as u64, "The number of a process's first queue pair."),
    ("VERBS_ADDRESS", ADDRESS as u64, "Bytes of a datagram's segments that say where it goes."),
    ("VERBS_ROUTE_HEADER", ROUTE_HEADER, "Bytes before the payload of a datagram in its receive."),
    ("VERBS_SCATTERED", SCATTERED as u64, "The most bytes of payload in a completion."),
    ("VERBS_INLINE", INLINE as u64, "Length of an inline segment: the bit that tells it from others."),
    ("VERBS_NO_KEY", NO_KEY as u64, "The local key that ends the segments of a receive."),
    ("VERBS_SIGNALLED", SIGNALLED, "Control segment: a completion is wanted."),
    ("VERBS_FENCED", FENCED, "Control segment: not before what earlier requests fetch is here."),
    ("VERBS_SOLICITED", SOLICITED, "Control segment: the completion at the other end is solicited."),
    (
        "VERBS_ARM_SOLICITED",
        Arm::SOLICITED_ONLY as u64,
        "Upper half of VERBS_ARM, beside the completions taken, modulo 2^24: only solicited ones count.",
    ),
    ("VERBS_ARM_SEQUENCE_SHIFT", Arm::SEQUENCE_SHIFT as u64, "Where the events taken stand there, modulo 4."),
    ("VERBS_EVENT", EVENT as u64, "Bytes of an event."),
    ("VERBS_WRITE", opcode::WRITE as u64, "Opcode: RDMA write."),
    ("VERBS_WRITE_IMMEDIATE", opcode::WRITE_IMMEDIATE as u64, "Opcode: RDMA write with immediate."),
    ("VERBS_SEND", opcode::SEND as u64, "Opcode: send."),
    ("VERBS_SEND_IMMEDIATE", opcode::SEND_IMMEDIATE as u64, "Opcode: send with immediate."),
    ("VERBS_READ", opcode::READ as u64, "Opcode: RDMA read."),
    (
        "VERBS_COMPARE_SWAP",
        opcode::COMPARE_SWAP as u64,
        "Opcode: a word becomes another one if it is as expected.",
    ),
    ("VERBS_FETCH_ADD", opcode::FETCH_ADD as u64, "Opcode: something is added to a word."),
    ("VERBS_REQUEST_WORDS", WORDS as u64, "Doublewords of a request."),
    (
        "VERBS_QUERY",
        request::QUERY,
        "ioctl: -> BlueFlame register (0: none), most bytes inline, of a packet, objects, entries, reads and atomics \
         under way.",
    ),
    ("VERBS_CREATE_DOMAIN", request::CREATE_DOMAIN, "ioctl: -> protection domain."),
    ("VERBS_DESTROY_DOMAIN", request::DESTROY_DOMAIN, "ioctl: protection domain."),
    ("VERBS_REGISTER", request::REGISTER, "ioctl: address, bytes, access, protection domain -> key."),
    ("VERBS_DEREGISTER", request::DEREGISTER, "ioctl: key."),
    (
        "VERBS_CREATE_COMPLETION_QUEUE",
        request::CREATE_COMPLETION_QUEUE,
        "ioctl: address, logarithm of entries, record -> completion queue.",
    ),
    ("VERBS_DESTROY_COMPLETION_QUEUE", request::DESTROY_COMPLETION_QUEUE, "ioctl: completion queue."),
    (
        "VERBS_CREATE_RECEIVE_QUEUE",
        request::CREATE_RECEIVE_QUEUE,
        "ioctl: address, logarithms of entries and segments, record, domain -> receive queue.",
    ),
    ("VERBS_DESTROY_RECEIVE_QUEUE", request::DESTROY_RECEIVE_QUEUE, "ioctl: receive queue."),
    (
        "VERBS_CREATE_QUEUE_PAIR",
        request::CREATE_QUEUE_PAIR,
        "ioctl: address, logarithm of blocks, completion queues of sends and receives, receive queue, domain, \
         flags: 1 for payload in completions, 2 for whole blocks of what is received, 4 for datagrams -> queue pair.",
    ),
    ("VERBS_DESTROY_QUEUE_PAIR", request::DESTROY_QUEUE_PAIR, "ioctl: queue pair."),
    (
        "VERBS_CONNECT",
        request::CONNECT,
        "ioctl: queue pair, peer's rank, its queue pair, its first packet, MTU, access, delay for want of a receive (ns), \
         reads and atomics of the peer.",
    ),
    (
        "VERBS_SET_STATE",
        request::SET_STATE,
        "ioctl: queue pair, state; to initialise one for datagrams: its queue key; to send: first packet, timeout, \
         retries, retries for want of a receive, reads and atomics under way.",
    ),
    ("VERBS_QUERY_QUEUE_PAIR", request::QUERY_QUEUE_PAIR, "ioctl: queue pair -> state."),
    (
        "VERBS_CREATE_EVENT_QUEUE",
        request::CREATE_EVENT_QUEUE,
        "ioctl: address, logarithm of entries -> event queue, whose number is its vector.",
    ),
    ("VERBS_DESTROY_EVENT_QUEUE", request::DESTROY_EVENT_QUEUE, "ioctl: event queue."),
    ("VERBS_NOTIFY", request::NOTIFY, "ioctl: completion queue, event queue to which its events go."),
];

/// What a process's part of the interface has to know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Parameters {
    /// Bytes of a coherence block.
    pub block_bytes: u64,
    /// It may write a part of a block: what is at the other end of its link merges that.
    pub merges_there: bool,
    /// The time that an engine works on a packet, on each side.
    pub engine_time: Duration,
    /// Where the BlueFlame register is; 0: there is none.
    pub blue_flame: u64,
    /// Most bytes of payload in a packet.
    pub mtu: u64,
    /// Transactions under way at most.
    pub transactions: u8,
    /// Basic blocks that are read together.
    pub request_prefetch: u32,
    /// Receives that the interface has room for.
    pub receive_prefetch: u32,
    /// Objects of each kind that a process may have.
    pub objects: u64,
    /// Whether payload has relaxed ordering of which a completion tells.
    pub relaxed_payload: bool,
    /// How events are held back; none where programs poll.
    pub moderation: Option<Moderation>,
}

impl Parameters {
    /// Vectors of a process.
    pub fn vectors(&self) -> u8 {
        let most = self.objects.min(Interrupt::VECTORS.into()) as u8;
        if self.moderation.is_some() { most } else { 0 }
    }
}

#[cfg(test)]
mod tests;
