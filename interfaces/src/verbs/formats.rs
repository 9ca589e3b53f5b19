//! What the queues of a queue pair hold: segments of work requests and receives, completions.
//! Multi-byte fields are little-endian, as the processors are; mlx5's are big-endian.
//!
//! ```text
//!   work request   [ control 16 ][ remote address 16 ][ data 16 ]...       in basic blocks of 64 bytes
//!                  [ control 16 ][ remote address 16 ][ inline: length 4, payload, rounded to 16 ]
//!                  [ control 16 ][ remote address 16 ][ atomic: swap or add 8, compare 8 ][ data 16 ]
//!   datagram       [ control 16 ][ address 48 ][ data 16 ]..., or inline
//!   receive        [ data 16 ]...
//!   completion     [ payload 32 ][ immediate, length, queue pair, index, status, source, opcode and owner ]
//!   event          [ completion queue 4, 59 bytes of zeros, owner ]
//! ```

use serde::{Deserialize, Serialize};

/// Bytes of a basic block of the send queue.
pub const BASIC_BLOCK: usize = 64;
/// Bytes of a segment.
pub const SEGMENT: usize = 16;
/// Bytes of a datagram's segments that say where it goes: mlx5's address vector.
pub const ADDRESS: usize = 48;
/// Bytes before the payload of a datagram in its receive: room for InfiniBand's global route header.
pub const ROUTE_HEADER: u64 = 40;
/// The bit of a work request's queue key that says that the queue pair's own is meant.
pub const OWN_QUEUE_KEY: u32 = 1 << 31;
/// Most segments of a work request: its control segment counts them in six bits.
pub const MOST_SEGMENTS: usize = 63;
/// Bytes of a completion.
pub const COMPLETION: usize = 64;
/// Bytes of payload that a completion has room for.
pub const SCATTERED: usize = 32;
/// The local key that ends a list of data segments of a receive.
pub const NO_KEY: u32 = 0x100;
/// The bit of an inline segment's length.
pub const INLINE: u32 = 1 << 31;
/// Control: a completion is wanted.
pub const SIGNALLED: u64 = 8;
/// Control: the other end's completion is solicited. mlx5 has it in bit 1; here one shift takes it there together with
/// [`FENCED`] from the flags of a program's request.
pub const SOLICITED: u64 = 4 << 7;
/// Control: not before what earlier RDMA reads and atomic operations fetch is here.
pub const FENCED: u64 = 4 << 5;
/// Bytes of an event.
pub const EVENT: usize = 64;
/// The opcode of a completion that has not been written.
pub const INVALID: u8 = 0xf;

/// What a work request asks for, by mlx5's numbers.
pub mod opcode {
    /// Nothing.
    pub const NOP: u8 = 0x00;
    /// RDMA write.
    pub const WRITE: u8 = 0x08;
    /// RDMA write that takes a receive at the other end.
    pub const WRITE_IMMEDIATE: u8 = 0x09;
    /// Send.
    pub const SEND: u8 = 0x0a;
    /// Send with four bytes beside it.
    pub const SEND_IMMEDIATE: u8 = 0x0b;
    /// RDMA read.
    pub const READ: u8 = 0x10;
    /// Atomic: a word becomes another one if it is as expected.
    pub const COMPARE_SWAP: u8 = 0x11;
    /// Atomic: something is added to a word.
    pub const FETCH_ADD: u8 = 0x12;
}

/// Kinds of completions, by mlx5's numbers.
pub mod completion {
    /// Of a work request of the send queue.
    pub const REQUEST: u8 = 0x0;
    /// Of a receive that an RDMA write with immediate took.
    pub const WRITE_IMMEDIATE: u8 = 0x1;
    /// Of a receive.
    pub const SEND: u8 = 0x2;
    /// Of a receive with immediate.
    pub const SEND_IMMEDIATE: u8 = 0x3;
    /// Of a work request that failed.
    pub const REQUEST_ERROR: u8 = 0xd;
    /// Of a receive that failed.
    pub const RECEIVE_ERROR: u8 = 0xe;
}

/// How a work request ended: the numbers of `ibv_wc_status`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Status {
    /// As asked.
    Success = 0,
    /// A message is longer than the memory for it, or than messages may be.
    LocalLength = 1,
    /// The work request makes no sense.
    LocalOperation = 2,
    /// A local key is none, of another protection domain, or its region is too small.
    LocalProtection = 4,
    /// The queue pair was in its error state before.
    Flushed = 5,
    /// The other end sent other bytes than were asked for: its packets have another size.
    BadResponse = 7,
    /// The other end found the request wrong.
    RemoteInvalid = 9,
    /// A remote key is none, or does not allow it.
    RemoteAccess = 10,
    /// The other end could not carry it out.
    RemoteOperation = 11,
    /// No answer came, however often it was sent.
    RetriesExceeded = 12,
    /// The other end had no receive, however often it was sent.
    ReceiverNotReady = 13,
}

/// Four bytes at an offset.
pub fn word32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Eight bytes at an offset.
pub fn word64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// The first doubleword of a control segment, which is a doorbell too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Control {
    /// What is asked for.
    pub opcode: u8,
    /// The number of the first basic block, modulo 2^16.
    pub index: u16,
    /// Segments, this one included.
    pub segments: u8,
    /// The queue pair.
    pub queue_pair: u32,
}

impl Control {
    /// Of its doubleword.
    pub fn of(word: u64) -> Self {
        Control {
            opcode: word as u8,
            index: (word >> 8) as u16,
            segments: (word >> 32) as u8 & 0x3f,
            queue_pair: (word >> 40) as u32,
        }
    }

    /// Basic blocks of the work request.
    pub fn blocks(self) -> u32 {
        u32::from(self.segments.max(1)).div_ceil((BASIC_BLOCK / SEGMENT) as u32)
    }
}

/// Memory by a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Data {
    /// Bytes.
    pub bytes: u32,
    /// The key.
    pub key: u32,
    /// In the process's addresses.
    pub address: u64,
}

impl Data {
    /// Of its segment.
    pub fn of(segment: &[u8]) -> Self {
        Data { bytes: word32(segment, 0), key: word32(segment, 4), address: word64(segment, 8) }
    }
}

/// Where a datagram goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Address {
    /// The key that its queue pair has to have.
    pub queue_key: u32,
    /// The queue pair.
    pub queue_pair: u32,
    /// The process, by its number in the job.
    pub lid: u16,
}

impl Address {
    /// Of its segments.
    fn of(segments: &[u8]) -> Self {
        let lid = u16::from_le_bytes([segments[14], segments[15]]);
        Address { queue_key: word32(segments, 0), queue_pair: word32(segments, 8), lid }
    }
}

/// A work request of the send queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct WorkRequest {
    /// Its control segment's beginning.
    pub control: Control,
    /// Whether a completion is wanted.
    pub is_signalled: bool,
    /// Whether the completion at the other end is solicited.
    pub is_solicited: bool,
    /// Four bytes for the other end.
    pub immediate: u32,
    /// The memory of the other end.
    pub remote: Option<Data>,
    /// Where it goes, if it is a datagram.
    pub address: Option<Address>,
    /// What an atomic operation swaps or adds, and what it compares with.
    pub operands: [u64; 2],
    /// The memory to be gathered; for what is fetched, where it goes.
    pub gathered: Vec<Data>,
    /// The payload, where that is in the work request.
    pub inline: Option<Vec<u8>>,
}

impl WorkRequest {
    /// Takes apart the bytes of a work request, of a queue pair for datagrams or of a connection; none if they
    /// make no sense.
    pub fn of(bytes: &[u8], is_datagram: bool) -> Option<Self> {
        let control = Control::of(word64(bytes, 0));
        let end = usize::from(control.segments) * SEGMENT;
        if !(SEGMENT..=bytes.len()).contains(&end) {
            return None;
        }
        let flags = word64(bytes, 8);
        let (is_signalled, immediate) = (flags & SIGNALLED != 0, (flags >> 32) as u32);
        let mut request = WorkRequest {
            control,
            is_signalled,
            is_solicited: flags & SOLICITED != 0,
            immediate,
            remote: None,
            address: None,
            operands: [0; 2],
            gathered: Vec::new(),
            inline: None,
        };
        let mut at = SEGMENT;
        match control.opcode {
            opcode::SEND | opcode::SEND_IMMEDIATE if is_datagram => {
                request.address = Some(Address::of(bytes[at..end].get(..ADDRESS)?));
                at += ADDRESS;
            }
            opcode::NOP | opcode::SEND | opcode::SEND_IMMEDIATE => {}
            code @ (opcode::WRITE
            | opcode::WRITE_IMMEDIATE
            | opcode::READ
            | opcode::COMPARE_SWAP
            | opcode::FETCH_ADD)
                if at + SEGMENT <= end && !is_datagram =>
            {
                let (address, key) = (word64(bytes, at), word32(bytes, at + 8));
                request.remote = Some(Data { bytes: 0, key, address });
                at += SEGMENT;
                if is_atomic(code) {
                    let operands = bytes[at..end].get(..SEGMENT)?;
                    request.operands = [word64(operands, 0), word64(operands, 8)];
                    at += SEGMENT;
                }
            }
            _ => return None,
        }
        while at < end {
            let length = word32(bytes, at);
            if length & INLINE == 0 {
                request.gathered.push(Data::of(&bytes[at..at + SEGMENT]));
                at += SEGMENT;
                continue;
            }
            let length = (length & !INLINE) as usize;
            let payload = bytes[at + 4..end].get(..length)?;
            request.inline.get_or_insert_default().extend_from_slice(payload);
            at += (4 + length).next_multiple_of(SEGMENT);
        }
        let mixes = request.inline.is_some() && !request.gathered.is_empty();
        (!mixes).then_some(request)
    }

    /// Bytes of its message.
    pub fn bytes(&self) -> u64 {
        let gathered: u64 = self.gathered.iter().map(|data| u64::from(data.bytes)).sum();
        gathered + self.inline.as_ref().map_or(0, |payload| payload.len() as u64)
    }
}

/// The end of a work request or receive.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Completion {
    /// Of which kind ([`completion`]).
    pub kind: u8,
    /// How it ended.
    pub status: Status,
    /// The queue pair.
    pub queue_pair: u32,
    /// The number of the work request's first basic block, or of the receive, modulo 2^16.
    pub index: u16,
    /// Bytes that were received.
    pub bytes: u32,
    /// The other end's four bytes.
    pub immediate: u32,
    /// Its sender asks for an event.
    pub solicits: bool,
    /// The payload, if it is in the completion.
    pub payload: Option<Vec<u8>>,
    /// Of a datagram: the queue pair and the process that sent it.
    pub source: Option<(u32, u16)>,
}

impl Completion {
    /// Of a work request or a receive of which there is no more to say.
    pub fn new(kind: u8, status: Status, (queue_pair, index): (u32, u16)) -> Self {
        let (payload, source) = (None, None);
        Completion {
            kind,
            status,
            queue_pair,
            index,
            bytes: 0,
            immediate: 0,
            solicits: false,
            payload,
            source,
        }
    }

    /// Whether it is solicited: its sender asks for that, or it tells of an error.
    pub fn is_solicited(&self) -> bool {
        self.solicits || self.status != Status::Success
    }

    /// As it is in memory. The owner bit is that of the lap.
    pub fn encoded(&self, owner: bool) -> Vec<u8> {
        let mut bytes = vec![0; COMPLETION];
        if let Some(payload) = &self.payload {
            bytes[..payload.len()].copy_from_slice(payload);
        }
        bytes[32..36].copy_from_slice(&self.immediate.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.queue_pair.to_le_bytes());
        bytes[44..46].copy_from_slice(&self.index.to_le_bytes());
        bytes[46] = self.status as u8;
        if let Some((queue_pair, lid)) = self.source {
            bytes[48..52].copy_from_slice(&queue_pair.to_le_bytes());
            bytes[52..54].copy_from_slice(&lid.to_le_bytes());
        }
        bytes[63] = self.kind << 4 | u8::from(self.payload.is_some()) << 2 | u8::from(owner);
        bytes
    }
}

/// Whether messages of this opcode have four bytes beside their payload.
pub fn has_immediate(opcode: u8) -> bool {
    matches!(opcode, opcode::SEND_IMMEDIATE | opcode::WRITE_IMMEDIATE)
}

/// Whether a request of this opcode brings bytes of the other end's memory here.
pub fn fetches(opcode: u8) -> bool {
    opcode == opcode::READ || is_atomic(opcode)
}

/// Whether a request of this opcode changes a word of the other end's memory and fetches what it was.
pub fn is_atomic(opcode: u8) -> bool {
    matches!(opcode, opcode::COMPARE_SWAP | opcode::FETCH_ADD)
}

/// Bytes of a word that an atomic operation changes.
pub const ATOMIC: u64 = 8;

/// Whether messages of this opcode take a receive at the other end.
pub fn takes_receive(opcode: u8) -> bool {
    matches!(opcode, opcode::SEND | opcode::SEND_IMMEDIATE | opcode::WRITE_IMMEDIATE)
}
