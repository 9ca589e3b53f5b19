//! A queue pair: where its queues are, what is under way, what its connection knows.
//!
//! ```text
//!   send queue   ──┬─────────────┬───────────────┬────────────────┬──► basic blocks
//!                  │ sent, not   │ being sent,   │ posted         │
//!                  │ acknowledged│ or read       │                │
//!               unacknowledged  next                         posted
//! ```
//!
//! The packets of a connection are numbered. Its receiver takes them in the order of their numbers and
//! acknowledges; the sender keeps no packet: what it has to send again it reads from the send queue and
//! memory again (go-back-N). It goes back if its receiver got a packet out of turn, had no receive for
//! one, or does not answer for a time. Each time it goes back is a *pass*. A receiver tells the pass of
//! the packet that it did not take, so that several such answers to packets of one pass make its sender
//! go back once.
//!
//! RDMA reads and atomic operations *fetch*: they are requests of one packet, whose numbers are those of the
//! packets that answer them. What their peer sends meanwhile may come before the answers: it counts when these
//! are here.

use std::collections::VecDeque;

use narthex_fabrics::Rank;
use narthex_kernel::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::formats::{BASIC_BLOCK, Control, Data, FENCED, Status, WorkRequest, fetches};
use super::objects::{Memory, Receive};
use super::packets::{NUMBERS, ahead};
use crate::host_memory::Piece;

/// States: the numbers of `ibv_qp_state`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum State {
    /// As created.
    Reset = 0,
    /// Receives may be posted.
    Initialised = 1,
    /// It receives.
    ReadyToReceive = 2,
    /// It sends, too.
    ReadyToSend = 3,
    /// All that is posted fails.
    Error = 6,
}

/// A work request that is sent, wholly or in part, and not acknowledged.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Unacknowledged {
    /// Its first basic block.
    pub index: u32,
    /// Its first packet, and how many it has; none if nothing is sent for it.
    pub first: u32,
    /// See `first`.
    pub packets: u32,
    /// Whether a completion is wanted.
    pub is_signalled: bool,
    /// How it ends, when all before it have ended.
    pub status: Status,
    /// Of an RDMA read or atomic operation: what comes back.
    pub fetched: Option<Box<Fetched>>,
}

impl Unacknowledged {
    /// The number behind its last packet.
    pub fn end(&self) -> u32 {
        (self.first + self.packets) % NUMBERS
    }
}

/// Bytes of the other end's memory that come here.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Fetched {
    /// Where they go.
    pub segments: Vec<Data>,
    /// How many there are.
    pub bytes: u64,
    /// The packet that comes next.
    pub next: u32,
    /// The pass in which they were asked for.
    pub pass: u8,
}

/// The message that is being cut into packets.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Message {
    /// Its work request.
    pub request: WorkRequest,
    /// Its memory that is not yet in packets.
    pub pieces: VecDeque<Piece>,
    /// Bytes in packets so far.
    pub sent: u64,
    /// All of its bytes.
    pub bytes: u64,
}

/// The message that is being received.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Arriving {
    /// The receive that it took.
    pub receive: Option<Receive>,
    /// Where an RDMA write goes: address, key, bytes.
    pub remote: Option<Data>,
    /// Bytes so far.
    pub bytes: u64,
}

/// What a queue pair has to tell its peer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Owed {
    /// An acknowledgement.
    pub acknowledgement: bool,
    /// A packet came out of turn, of this pass.
    pub out_of_turn: Option<u8>,
    /// There was no receive for a packet of this pass.
    pub not_ready: Option<u8>,
    /// A packet of this pass is refused.
    pub refused: Option<(u8, Status)>,
}

impl Owed {
    /// A packet of a pass was not taken: whether its sender is to be told. It has gone back since an
    /// older pass than one of which it is to be told already; of a newer one only that is told.
    pub fn is_of_newest(&mut self, pass: u8) -> bool {
        let known = self.out_of_turn.or(self.not_ready);
        let ahead = known.map_or(0, |known| pass.wrapping_sub(known).cast_signed());
        if ahead > 0 {
            (self.out_of_turn, self.not_ready) = (None, None);
        }
        ahead >= 0
    }

    /// Whether there is nothing.
    pub fn is_nothing(self) -> bool {
        self == Owed::default()
    }
}

/// How often and after which times packets are sent again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Retries {
    /// Time without an answer; zero: for ever.
    pub timeout: Duration,
    /// How often for want of an answer.
    pub answers: u8,
    /// How often for want of a receive; [`ALWAYS`]: any number of times.
    pub receives: u8,
    /// How long its peer waits when there is no receive here.
    pub receive_delay: Duration,
}

/// As often as needed.
pub const ALWAYS: u8 = 7;

/// A queue pair.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct QueuePair {
    /// Its state.
    pub state: State,
    /// It sends and receives datagrams, and has no connection.
    pub is_datagram: bool,
    /// The key that datagrams for it have to have.
    pub queue_key: u32,
    /// Its protection domain.
    pub domain: u64,
    /// The ring of basic blocks.
    pub ring: Memory,
    /// The completion queues of what it sends and what it receives.
    pub queues: [u32; 2],
    /// Its receive queue, which other queue pairs may share.
    pub receives: u32,
    /// Small messages come in their completions.
    pub scatters: bool,
    /// The last block of what it receives is written whole, with zeros.
    pub pads: bool,
    /// What its peer may do with this process's memory.
    pub access: u64,
    /// The process and queue pair at the other end; of datagrams, the process that the one in the engine goes to.
    pub peer: Rank,
    /// See `peer`.
    pub peer_number: u32,
    /// Most bytes of payload in a packet.
    pub mtu: u64,
    /// How it tries again.
    pub retries: Retries,

    /// Basic blocks that are posted, and the next one to be sent.
    pub posted: u32,
    /// See `posted`.
    pub next: u32,
    /// Bytes of the blocks from `next` on that are here.
    pub here: Vec<u8>,
    /// Blocks are being read.
    pub is_reading: bool,
    /// It stands in the queue of those with something to send.
    pub is_queued: bool,
    /// A work request has failed: nothing behind it is sent.
    pub has_failed: bool,
    /// The message that is being sent.
    pub message: Option<Message>,
    /// Packets of the next message that need not be sent again.
    pub skip: u32,
    /// The number of the next packet.
    pub number: u32,
    /// All packets before this one are acknowledged, and what they fetch is here.
    pub acknowledged: u32,
    /// The peer has told that it has all packets before this one.
    pub told: u32,
    /// The packet that the peer refuses, and what it says.
    pub refused: Option<(u32, Status)>,
    /// Work requests under way that fetch, and the most of them.
    pub fetches: u8,
    /// See `fetches`.
    pub most_fetches: u8,
    /// How often it has gone back, modulo 2^8.
    pub pass: u8,
    /// Work requests without an acknowledgement.
    pub unacknowledged: VecDeque<Unacknowledged>,
    /// Tries that are left: for want of an answer, of a receive.
    pub left: (u8, u8),
    /// Until when it waits because its peer had no receive.
    pub waits_until: Option<Time>,
    /// When the answer is overdue.
    pub answer_by: Option<Time>,

    /// The packet that is to come next; all before `placed` are in memory.
    pub expected: u32,
    /// See `expected`.
    pub placed: u32,
    /// The message that is being received.
    pub arriving: Option<Arriving>,
    /// Requests of its peer for bytes that may wait to be answered.
    pub most_served: u8,
    /// The last atomic operations of its peer: the packet, and what the word was. They are not carried out again.
    pub carried_out: VecDeque<(u32, u64)>,
    /// What its peer is to be told.
    pub owed: Owed,
    /// It stands in the queue of those that owe something.
    pub is_owing: bool,
}

impl QueuePair {
    /// Basic blocks of its send queue.
    pub fn blocks(&self) -> u32 {
        (self.ring.bytes / BASIC_BLOCK as u64) as u32
    }

    /// The oldest basic block that is in use.
    fn oldest(&self) -> u32 {
        self.unacknowledged.front().map_or(self.next, |first| first.index)
    }

    /// A doorbell tells of this work request and all before it.
    ///
    /// # Errors
    /// If there can be no such work request.
    pub fn post(&mut self, control: Control) -> Result<(), String> {
        let start = self.posted.wrapping_add(control.index.wrapping_sub(self.posted as u16).into());
        let end = start.wrapping_add(control.blocks());
        let (used, blocks) = (end.wrapping_sub(self.oldest()), self.blocks());
        if used > blocks {
            return Err(format!(
                "basic block {} of a send queue of {blocks}, {} of which are in use",
                control.index,
                self.posted.wrapping_sub(self.oldest())
            ));
        }
        self.posted = end;
        Ok(())
    }

    /// Where the posted blocks are that are not here, at most so many.
    pub fn next_to_read(&self, most: u32) -> Option<Vec<Piece>> {
        let first = self.next.wrapping_add((self.here.len() / BASIC_BLOCK) as u32);
        let count = self.posted.wrapping_sub(first).min(most);
        let offset = u64::from(first % self.blocks()) * BASIC_BLOCK as u64;
        (count > 0).then(|| self.ring.of_ring(offset, u64::from(count) * BASIC_BLOCK as u64))
    }

    /// Goes back to a packet.
    pub fn go_back(&mut self, number: u32) {
        let holds = |sent: &Unacknowledged| ahead(number, sent.end()) < 0;
        let place = self.unacknowledged.iter().position(|sent| sent.packets > 0 && holds(sent));
        if let Some(place) = place {
            let Unacknowledged { index, first, .. } = self.unacknowledged[place];
            self.unacknowledged.truncate(place);
            self.fetches = self.fetches_under_way();
            self.next = index;
            self.number = first;
            self.skip = ahead(number, first).max(0) as u32;
            self.here.clear();
            self.is_reading = false;
            self.has_failed = false;
            self.message = None;
        }
        if ahead(self.told, number) > 0 {
            self.told = number;
        }
        self.pass = self.pass.wrapping_add(1);
    }

    /// Moves the number of the next packet on.
    pub fn count_packets(&mut self, packets: u32) {
        self.number = (self.number + packets) % NUMBERS;
    }

    /// Counts the work requests under way that fetch.
    pub fn fetches_under_way(&self) -> u8 {
        self.unacknowledged.iter().filter(|sent| sent.fetched.is_some()).count() as u8
    }

    /// Whether the next work request, whose control segment this is, may begin now.
    pub fn may_begin(&self, control: Control, flags: u64) -> bool {
        let is_free = !fetches(control.opcode) || self.fetches < self.most_fetches.max(1);
        is_free && (flags & FENCED == 0 || self.fetches == 0)
    }

    /// The packet up to which what was sent has ended: what the peer has told, but for what is still to
    /// come here, or is sent again.
    pub fn reached(&self) -> u32 {
        let missing = |sent: &Unacknowledged| {
            let next = sent.fetched.as_ref()?.next;
            (ahead(next, sent.end()) < 0).then_some(next)
        };
        let missing = match self.fetches {
            0 => None,
            _ => self.unacknowledged.iter().find_map(missing),
        };
        let sooner = |one, other| if ahead(other, one) < 0 { other } else { one };
        sooner(sooner(self.told, self.number), missing.unwrap_or(self.number))
    }

    /// What is fetched first of all that has not come.
    pub fn awaited(&mut self) -> Option<&mut Unacknowledged> {
        let is_missing = |sent: &Unacknowledged| {
            sent.fetched.as_ref().is_some_and(|fetched| ahead(fetched.next, sent.end()) < 0)
        };
        self.unacknowledged.iter_mut().find(|sent| is_missing(sent))
    }

    /// Packets of a message of so many bytes.
    pub fn packets(&self, bytes: u64) -> u32 {
        bytes.div_ceil(self.mtu).max(1) as u32
    }
}
