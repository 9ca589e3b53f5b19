//! Rings of buffers in coherent memory, seen from the interface's side: [`given`] is the ring that the
//! processor writes, [`returned`] the one that the interface writes, [`send`] and [`receive`] are the
//! engines of the two halves. [`crate::models::coherent_ring`] says how they are programmed.
//!
//! ```text
//!                    given ring (home: main memory)
//!   processor ──► [ buffer, length, ready ] ──► interface        a send half's: packets
//!       ▲         [ ...                   ]        │             a receive half's: empty buffers
//!       │                                          ▼
//!       └──────── [ buffer, length, ready ] ◄──────┘             a send half's: empty buffers
//!                    returned ring (home: the interface)         a receive half's: packets
//! ```
//!
//! **No ring overflows.** A half has as many buffers as a ring has descriptors, and each descriptor that
//! has not been read stands for another buffer. So neither side needs to know how far the other one has
//! read, and there are no heads and no tails to be shared. The interface knows which buffers it has, and
//! refuses one that it is given twice.
//!
//! **Ready flags.** A descriptor is new if its flag has the sense of the lap: 1 in the first lap over the
//! ring, 0 in the second, and so on. So flags are never cleared, and a ring is written on one side only.

pub mod given;
pub mod receive;
pub mod returned;
pub mod send;

use std::ops::Range;

use given::GivenRing;
use narthex_kernel::Duration;
use narthex_memory::{AgentId, BlockData, Kind, SnoopReply, Transaction};
use returned::ReturnedRing;
use serde::{Deserialize, Serialize};

use crate::address_names::{Region, RegionParts};
use crate::cachable_queue::copies::Copies;
use crate::description::Layout;
use crate::half::RegisterFault;
pub use crate::ring::descriptors::{DESCRIPTOR_BYTES, Descriptor};

/// Control: the flag that tells by its sense that a descriptor is new.
pub const READY: u64 = 1 << 32;

/// What a half of either direction is made of.
#[derive(Debug)]
pub struct Parts {
    /// Its place on the interconnect.
    pub agent: AgentId,
    /// Its buffers and rings.
    pub pool: Pool,
    /// The interface's cache for blocks of the given ring.
    pub ring_copies: Copies,
    /// The interface's cache for blocks of buffers.
    pub buffer_copies: Copies,
    /// The time that the interface's memory takes for a block of the returned ring.
    pub memory_access_time: Duration,
    /// The time from a packet to the first thing that is done with it.
    pub engine_time: Duration,
    /// Buffers that are returned, or looked for, together.
    pub batch: usize,
}

/// The memory of a half: the given ring, the buffers, the returned ring.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Pool {
    /// Where it begins.
    pub start: u64,
    /// Buffers, and descriptors of each ring: a power of two.
    pub buffers: u64,
    /// Bytes of a buffer: a packet.
    pub buffer_bytes: u64,
    /// Bytes of a coherence block.
    pub block_bytes: u64,
}

/// What an address of a half's memory belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The ring that the processor writes.
    Given,
    /// The buffers.
    Buffers,
    /// The ring that the interface writes.
    Returned,
}

impl Pool {
    fn ring_bytes(&self) -> u64 {
        self.buffers * DESCRIPTOR_BYTES
    }

    /// Bytes of the whole.
    pub fn bytes(&self) -> u64 {
        2 * self.ring_bytes() + self.buffers * self.buffer_bytes
    }

    /// All of its addresses.
    pub fn range(&self) -> Range<u64> {
        self.start..self.start + self.bytes()
    }

    /// The addresses of the buffers.
    pub fn buffer_range(&self) -> Range<u64> {
        let first = self.start + self.ring_bytes();
        first..first + self.buffers * self.buffer_bytes
    }

    /// The addresses of the returned ring, whose home is the interface.
    pub fn returned_range(&self) -> Range<u64> {
        self.buffer_range().end..self.start + self.bytes()
    }

    /// What a block of the half's memory belongs to; none if it is not the half's.
    pub fn part(&self, address: u64) -> Option<Part> {
        match () {
            () if (self.start..self.buffer_range().start).contains(&address) => Some(Part::Given),
            () if self.buffer_range().contains(&address) => Some(Part::Buffers),
            () if self.returned_range().contains(&address) => Some(Part::Returned),
            () => None,
        }
    }

    /// The address of a buffer.
    pub fn buffer(&self, index: usize) -> u64 {
        self.buffer_range().start + index as u64 * self.buffer_bytes
    }

    /// The buffer that begins at an address.
    pub fn index_of(&self, address: u64) -> Option<usize> {
        let Range { start, end } = self.buffer_range();
        let is_buffer =
            (start..end).contains(&address) && (address - start).is_multiple_of(self.buffer_bytes);
        is_buffer.then(|| ((address - start) / self.buffer_bytes) as usize)
    }

    /// The place of the descriptor with a running number, in bytes from the beginning of its ring.
    fn place(&self, number: u64) -> u64 {
        (number & (self.buffers - 1)) * DESCRIPTOR_BYTES
    }

    /// The flag of the descriptor with a running number when it is new.
    fn ready_flag(&self, number: u64) -> u64 {
        if number & self.buffers == 0 { READY } else { 0 }
    }

    /// Refuses a descriptor of the given ring.
    fn fault(&self, number: u64, problem: &str) -> RegisterFault {
        let place = number & (self.buffers - 1);
        RegisterFault(format!("descriptor {place} of the ring at {:#x}: {problem}", self.start))
    }

    /// The layout that a half gives of it, with what its parts are called.
    fn layout(&self, [given, buffers, returned]: [&'static str; 3], transactions: &[Kind]) -> Layout {
        let ring = |name, addresses| Region { name, addresses, parts: RegionParts::Blocks };
        Layout {
            cachable: vec![self.range()],
            home: vec![self.returned_range()],
            entries: self.buffers,
            regions: vec![
                ring(given, self.start..self.buffer_range().start),
                Region {
                    name: buffers,
                    addresses: self.buffer_range(),
                    parts: RegionParts::Entries(self.buffer_bytes),
                },
                ring(returned, self.returned_range()),
            ],
            transactions: transactions.to_vec(),
            ..Layout::default()
        }
    }
}

/// What the interface has of a half's memory.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Shared {
    pool: Pool,
    given: GivenRing,
    buffers: Copies,
    returned: ReturnedRing,
}

impl Shared {
    /// Nothing is given and nothing returned; `owned`: the buffers are the interface's.
    fn new(pool: Pool, [ring, buffers]: [Copies; 2], access_time: Duration, owned: bool) -> Self {
        Shared {
            given: GivenRing::new(pool.clone(), ring, owned),
            buffers,
            returned: ReturnedRing::new(pool.clone(), access_time),
            pool,
        }
    }

    /// See [`InterfaceHalf::push`](crate::half::InterfaceHalf::push).
    fn push(&mut self, transaction: &Transaction) -> Option<BlockData> {
        match self.pool.part(transaction.address)? {
            Part::Given => self.given.push(transaction),
            Part::Buffers => self.buffers.push(transaction),
            Part::Returned => None,
        }
    }

    /// Another agent's transaction on a block passes by.
    fn snoop(&mut self, transaction: &Transaction) -> SnoopReply {
        match self.pool.part(transaction.address) {
            Some(Part::Given) => self.given.snoop(transaction),
            Some(Part::Buffers) => self.buffers.snoop(transaction),
            Some(Part::Returned) => self.returned.snoop(transaction),
            None => SnoopReply::default(),
        }
    }
}
