//! What packets look like: InfiniBand's transport headers, as far as the interface needs them.
//!
//! ```text
//!   message     [ base 12 ][ RDMA 16 ][ immediate 4 ][ payload ][ check 4 ]
//!   read        [ base 12 ][ RDMA 16 ][ check 4 ]
//!   atomic      [ base 12 ][ address 8, key 4, swap or add 8, compare 8 ][ check 4 ]
//!   response    [ base 12 ][ acknowledgement 4 ][ payload ][ check 4 ]
//!   other       [ base 12 ][ acknowledgement 4 ][ check 4 ]
//!   datagram    [ base 12 ][ queue key 4, source 4 ][ immediate 4 ][ payload ][ check 4 ]
//! ```
//!
//! RDMA headers are in the first packet of a message, immediate data in the last one, an acknowledgement's
//! header in the first and the last packet of a response.

use serde::{Deserialize, Serialize};

use super::formats::{ATOMIC, Data, Status, has_immediate, is_atomic, word32, word64};

/// What a packet is, beside the numbers of InfiniBand's base header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Body {
    /// A part of a message.
    Part {
        /// The message's opcode.
        opcode: u8,
        /// It is the message's first packet.
        is_first: bool,
        /// It is its last.
        is_last: bool,
        /// The other end's memory, in the first packet of what names it.
        remote: Option<Data>,
        /// In the last packet.
        immediate: u32,
        /// The completion of its receive is solicited; in the last packet.
        is_solicited: bool,
    },
    /// A part of what a read or an atomic operation fetches; all packets before this packet number have come.
    Response {
        /// It is the first part.
        is_first: bool,
        /// It is the last.
        is_last: bool,
    },
    /// A message of a queue pair that has no connection.
    Datagram {
        /// The key that the receiving queue pair has to have.
        queue_key: u32,
        /// The queue pair that sent it.
        source: u32,
        /// Four bytes beside the payload.
        immediate: Option<u32>,
        /// The completion of its receive is solicited.
        is_solicited: bool,
    },
    /// All packets before this packet number have come.
    Acknowledgement,
    /// The same, and the one with this number came out of its turn.
    OutOfTurn,
    /// The same, and there was no receive for the one with this number: to be sent again after so many
    /// nanoseconds.
    NotReady(u32),
    /// The same, and the one with this number is refused.
    Refused(Status),
}

/// A packet's transport header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Transport {
    /// The queue pair that it is for.
    pub queue_pair: u32,
    /// The packet number, modulo 2^24.
    pub number: u32,
    /// How often its sender had gone back before, modulo 2^8.
    pub pass: u8,
    /// What it is.
    pub body: Body,
}

/// Packet numbers are counted modulo this.
pub const NUMBERS: u32 = 1 << 24;

/// How far a packet number is ahead of another one; negative if it is behind.
pub fn ahead(number: u32, of: u32) -> i32 {
    ((number.wrapping_sub(of) << 8) as i32) >> 8
}

const BASE: usize = 12;
const REMOTE: usize = 16;
/// What an atomic operation has of it: address and key.
const ATOMIC_REMOTE: usize = 12;
const ACKNOWLEDGED: usize = 4;
const DATAGRAM: usize = 8;
const CHECK: usize = 4;
/// The most bytes that a packet has beside its payload.
pub const HEADERS: usize = BASE + REMOTE + 4 + CHECK;

const FIRST: u8 = 1;
const LAST: u8 = 2;
const HAS_REMOTE: u8 = 4;
/// InfiniBand's bit of solicited events.
const SOLICITED: u8 = 8;
const ACKNOWLEDGEMENT: u8 = 0x40;
const OUT_OF_TURN: u8 = 0x41;
const NOT_READY: u8 = 0x42;
const REFUSED: u8 = 0x43;
const RESPONSE: u8 = 0x44;
/// InfiniBand's codes of datagrams.
const DATAGRAM_SEND: u8 = 0x64;
const DATAGRAM_IMMEDIATE: u8 = 0x65;

fn flags<const N: usize>(all: [(bool, u8); N]) -> u8 {
    all.into_iter().filter(|(has, _)| *has).map(|(_, flag)| flag).sum()
}

impl Transport {
    /// A packet with room for so many bytes of payload, and where that begins.
    pub fn packet(&self, payload: usize) -> (Vec<u8>, usize) {
        let mut bytes = Vec::with_capacity(HEADERS + payload);
        let (code, flags) = match self.body {
            Body::Part { opcode, is_first, is_last, remote, is_solicited, .. } => {
                let has_remote = (remote.is_some(), HAS_REMOTE);
                let all = [(is_first, FIRST), (is_last, LAST), has_remote, (is_solicited, SOLICITED)];
                (opcode, flags(all))
            }
            Body::Response { is_first, is_last } => (RESPONSE, flags([(is_first, FIRST), (is_last, LAST)])),
            Body::Datagram { immediate, is_solicited, .. } => {
                let code = if immediate.is_some() { DATAGRAM_IMMEDIATE } else { DATAGRAM_SEND };
                (code, flags([(is_solicited, SOLICITED)]))
            }
            Body::Acknowledgement => (ACKNOWLEDGEMENT, 0),
            Body::OutOfTurn => (OUT_OF_TURN, 0),
            Body::NotReady(_) => (NOT_READY, 0),
            Body::Refused(status) => (REFUSED, status as u8),
        };
        bytes.extend_from_slice(&[code, flags, self.pass, 0]);
        bytes.extend_from_slice(&self.queue_pair.to_le_bytes());
        bytes.extend_from_slice(&self.number.to_le_bytes());
        match self.body {
            Body::Part { remote, immediate, opcode, is_last, .. } => {
                if let Some(Data { bytes: length, key, address }) = remote {
                    bytes.extend_from_slice(&address.to_le_bytes());
                    bytes.extend_from_slice(&key.to_le_bytes());
                    if !is_atomic(opcode) {
                        bytes.extend_from_slice(&length.to_le_bytes());
                    }
                }
                if is_last && has_immediate(opcode) {
                    bytes.extend_from_slice(&immediate.to_le_bytes());
                }
            }
            Body::Datagram { queue_key, source, immediate, .. } => {
                for word in [Some(queue_key), Some(source), immediate].into_iter().flatten() {
                    bytes.extend_from_slice(&word.to_le_bytes());
                }
            }
            Body::Response { is_first: false, is_last: false } => {}
            // InfiniBand's header of acknowledgements: a syndrome, and the time to wait.
            Body::NotReady(delay) => bytes.extend_from_slice(&delay.to_le_bytes()),
            _ => bytes.extend_from_slice(&[0; ACKNOWLEDGED]),
        }
        let at = bytes.len();
        bytes.resize(at + payload + CHECK, 0);
        (bytes, at)
    }

    /// The header with which a packet begins, and its payload; none if it is none of this interface's.
    pub fn of(packet: &[u8]) -> Option<(Self, &[u8])> {
        let (base, rest) = packet.split_at_checked(BASE)?;
        let rest = &rest[..rest.len().checked_sub(CHECK)?];
        let flags = base[1];
        let (body, payload) = match base[0] {
            ACKNOWLEDGEMENT => (Body::Acknowledgement, &rest[..0]),
            OUT_OF_TURN => (Body::OutOfTurn, &rest[..0]),
            NOT_READY => (Body::NotReady(word32(rest.get(..4)?, 0)), &rest[..0]),
            REFUSED => (Body::Refused(refusal(flags)), &rest[..0]),
            RESPONSE => {
                let (is_first, is_last) = (flags & FIRST != 0, flags & LAST != 0);
                let header = if is_first || is_last { ACKNOWLEDGED } else { 0 };
                (Body::Response { is_first, is_last }, rest.get(header..)?)
            }
            code @ (DATAGRAM_SEND | DATAGRAM_IMMEDIATE) => {
                let (header, mut payload) = rest.split_at_checked(DATAGRAM)?;
                let mut immediate = None;
                if code == DATAGRAM_IMMEDIATE {
                    let (word, behind) = payload.split_at_checked(4)?;
                    (immediate, payload) = (Some(word32(word, 0)), behind);
                }
                let (queue_key, source) = (word32(header, 0), word32(header, 4));
                let is_solicited = flags & SOLICITED != 0;
                (Body::Datagram { queue_key, source, immediate, is_solicited }, payload)
            }
            opcode => {
                let (remote, rest) = match flags & HAS_REMOTE != 0 {
                    false => (None, rest),
                    true => {
                        let is_atomic = is_atomic(opcode);
                        let length = if is_atomic { ATOMIC_REMOTE } else { REMOTE };
                        let (remote, rest) = rest.split_at_checked(length)?;
                        let (address, key) = (word64(remote, 0), word32(remote, 8));
                        let bytes = if is_atomic { ATOMIC as u32 } else { word32(remote, 12) };
                        (Some(Data { bytes, key, address }), rest)
                    }
                };
                let (is_first, is_last) = (flags & FIRST != 0, flags & LAST != 0);
                let is_solicited = flags & SOLICITED != 0;
                let (immediate, payload) = match is_last && has_immediate(opcode) {
                    false => (0, rest),
                    true => {
                        let (immediate, payload) = rest.split_at_checked(4)?;
                        (word32(immediate, 0), payload)
                    }
                };
                (Body::Part { opcode, is_first, is_last, remote, immediate, is_solicited }, payload)
            }
        };
        let (queue_pair, number, pass) = (word32(base, 4), word32(base, 8), base[2]);
        Some((Transport { queue_pair, number, pass, body }, payload))
    }
}

fn refusal(code: u8) -> Status {
    let all = [Status::RemoteInvalid, Status::RemoteAccess];
    all.into_iter().find(|&status| status as u8 == code).unwrap_or(Status::RemoteOperation)
}
