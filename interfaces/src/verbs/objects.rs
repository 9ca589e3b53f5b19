//! What a process has created: memory regions, completion queues, receive queues.

use serde::{Deserialize, Serialize};

use super::events::Notice;
use super::formats::{COMPLETION, Completion, Data, SEGMENT, Status};
use crate::host_memory::Piece;
use narthex_memory::main_memory::PAGE_BYTES;

/// Numbered objects; a number that is free is given out again.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Table<T> {
    first: u32,
    places: Vec<Option<T>>,
    limit: usize,
}

impl<T> Table<T> {
    /// An empty one, whose numbers begin with `first`.
    pub fn new(first: u32, limit: u64) -> Self {
        Table { first, places: Vec::new(), limit: limit as usize }
    }

    /// Adds an object: its number; none if there is no room.
    pub fn add(&mut self, object: T) -> Option<u32> {
        let place = match self.places.iter().position(Option::is_none) {
            Some(place) => place,
            None if self.places.len() < self.limit => {
                self.places.push(None);
                self.places.len() - 1
            }
            None => return None,
        };
        self.places[place] = Some(object);
        Some(self.first + place as u32)
    }

    fn place(&self, number: u64) -> Option<usize> {
        number.checked_sub(self.first.into()).map(|place| place as usize)
    }

    /// The object with a number.
    pub fn get(&self, number: impl Into<u64>) -> Option<&T> {
        self.places.get(self.place(number.into())?)?.as_ref()
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, number: impl Into<u64>) -> Option<&mut T> {
        let place = self.place(number.into())?;
        self.places.get_mut(place)?.as_mut()
    }

    /// Takes it away.
    pub fn remove(&mut self, number: impl Into<u64>) -> Option<T> {
        let place = self.place(number.into())?;
        self.places.get_mut(place)?.take()
    }

    /// All objects with their numbers.
    pub fn all(&self) -> impl Iterator<Item = (u32, &T)> {
        let numbered = (self.first..).zip(&self.places);
        numbered.filter_map(|(number, object)| Some((number, object.as_ref()?)))
    }
}

/// Memory of the process whose pages stay where they are.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    /// Where it begins, in the process's addresses.
    pub address: u64,
    /// Its bytes.
    pub bytes: u64,
    /// The frame of each page.
    pub frames: Vec<u64>,
}

impl Memory {
    /// Where a range of it is in the node; none if it is not all in it.
    pub fn pieces(&self, address: u64, bytes: u64) -> Option<Vec<Piece>> {
        let offset = address.checked_sub(self.address)?;
        if offset.checked_add(bytes)? > self.bytes {
            return None;
        }
        let first = self.address - self.address % PAGE_BYTES;
        let mut pieces: Vec<Piece> = Vec::with_capacity(1);
        let (mut at, end) = (address, address + bytes);
        while at < end {
            let page = ((at - first) / PAGE_BYTES) as usize;
            let part = (PAGE_BYTES - at % PAGE_BYTES).min(end - at);
            let place = self.frames[page] + at % PAGE_BYTES;
            match pieces.last_mut() {
                Some(last) if last.address + last.bytes as u64 == place => last.bytes += part as usize,
                _ => pieces.push(Piece { address: place, bytes: part as usize }),
            }
            at += part;
        }
        Some(pieces)
    }

    /// The same of a part of a ring that may go around its end.
    pub fn of_ring(&self, offset: u64, bytes: u64) -> Vec<Piece> {
        let behind = bytes.min(self.bytes - offset);
        let pieces = |offset, bytes| self.pieces(self.address + offset, bytes).expect("it is in the ring");
        let mut all = pieces(offset, behind);
        all.extend(pieces(0, bytes - behind));
        all
    }
}

/// What a region allows: the numbers of `ibv_access_flags`.
pub mod access {
    /// The interface may write it for this process.
    pub const LOCAL_WRITE: u64 = 1;
    /// Other processes may write it.
    pub const REMOTE_WRITE: u64 = 2;
    /// Other processes may read it.
    pub const REMOTE_READ: u64 = 4;
    /// Other processes may change words of it by atomic operations.
    pub const REMOTE_ATOMIC: u64 = 8;
}

/// A memory region.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Region {
    /// Its memory.
    pub memory: Memory,
    /// What it allows ([`access`]).
    pub access: u64,
    /// Its protection domain.
    pub domain: u64,
    /// The low bits of its keys, by which one that was given out again is told.
    pub tag: u8,
}

/// The memory regions of a process.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Regions {
    table: Table<Region>,
    next_tag: u8,
}

impl Regions {
    /// None, of so many at most.
    pub fn new(limit: u64) -> Self {
        Regions { table: Table::new(1, limit), next_tag: 1 }
    }

    /// Registers one: its key.
    pub fn add(&mut self, memory: Memory, access: u64, domain: u64) -> Option<u64> {
        let tag = self.next_tag;
        let number = self.table.add(Region { memory, access, domain, tag })?;
        self.next_tag = self.next_tag.wrapping_add(1);
        Some(u64::from(number) << 8 | u64::from(tag))
    }

    /// The region of a key.
    pub fn get(&self, key: u64) -> Option<&Region> {
        self.table.get(key >> 8).filter(|region| u64::from(region.tag) == key & 0xff)
    }

    /// Forgets one.
    pub fn remove(&mut self, key: u64) -> Option<Region> {
        self.get(key)?;
        self.table.remove(key >> 8)
    }

    /// Whether there are any of a protection domain.
    pub fn has_of(&self, domain: u64) -> bool {
        self.table.all().any(|(_, region)| region.domain == domain)
    }

    /// Where the memory of a segment is, if its key allows that.
    pub fn pieces(&self, data: Data, domain: u64, access: u64) -> Option<Vec<Piece>> {
        let region = self.get(data.key.into())?;
        let is_allowed = region.domain == domain && region.access & access == access;
        is_allowed.then(|| region.memory.pieces(data.address, data.bytes.into()))?
    }

    /// Where these bytes of a message go that fills segments one after the other.
    pub fn scattered(
        &self,
        segments: &[Data],
        (offset, bytes): (u64, u64),
        domain: u64,
    ) -> Result<Vec<Piece>, Status> {
        let (mut start, end) = (0, offset + bytes);
        let mut pieces = Vec::new();
        for segment in segments {
            let length = u64::from(segment.bytes);
            let (from, to) = (offset.max(start), end.min(start + length));
            if from < to {
                let (address, bytes) = (segment.address.wrapping_add(from - start), (to - from) as u32);
                let part = Data { bytes, address, ..*segment };
                let found = self.pieces(part, domain, access::LOCAL_WRITE);
                pieces.extend(found.ok_or(Status::LocalProtection)?);
            }
            start += length;
        }
        if start < end { Err(Status::LocalLength) } else { Ok(pieces) }
    }
}

/// A completion queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct CompletionQueue {
    /// The ring of completions.
    pub ring: Memory,
    /// Where the process says how many it has taken.
    pub record: Memory,
    /// Completions so far, and those that are known to be taken.
    pub produced: u32,
    /// See `produced`.
    pub taken: u32,
    /// Completions that wait until it is known whether there is room.
    pub waiting: Vec<Completion>,
    /// Queue pairs and receive queues that lead to it.
    pub users: u32,
    /// What the process is told of it, if it has a channel.
    pub notice: Option<Notice>,
}

impl CompletionQueue {
    /// Entries.
    pub fn entries(&self) -> u32 {
        (self.ring.bytes / COMPLETION as u64) as u32
    }

    /// Whether one more may be written for all that is known.
    pub fn has_room(&self) -> bool {
        self.produced.wrapping_sub(self.taken) < self.entries()
    }

    /// The next completion as it is written, and where.
    pub fn next(&mut self, completion: &Completion) -> (Vec<Piece>, Vec<u8>) {
        let entries = self.entries();
        let owner = self.produced / entries % 2 == 1;
        let offset = u64::from(self.produced % entries) * COMPLETION as u64;
        self.produced = self.produced.wrapping_add(1);
        (self.ring.of_ring(offset, COMPLETION as u64), completion.encoded(owner))
    }
}

/// A receive that was posted.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Receive {
    /// Its number in the queue, modulo 2^16.
    pub index: u16,
    /// Where the message goes.
    pub segments: Vec<Data>,
}

/// A receive queue, of one queue pair or shared by several.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ReceiveQueue {
    /// The ring of receives.
    pub ring: Memory,
    /// Where the process says how many it has posted.
    pub record: Memory,
    /// Bytes of a receive.
    pub stride: u64,
    /// Its protection domain.
    pub domain: u64,
    /// Receives that are known to be posted, modulo 2^16 in the record.
    pub posted: u32,
    /// Receives that were taken.
    pub taken: u32,
    /// Those that are here, from `taken` on.
    pub here: std::collections::VecDeque<Receive>,
    /// The record, or receives, are being read.
    pub is_reading: bool,
    /// The queue pair that fails and gives its receives back.
    pub flushed_by: Option<u32>,
    /// Queue pairs that use it.
    pub users: u32,
}

impl ReceiveQueue {
    /// Entries.
    pub fn entries(&self) -> u32 {
        (self.ring.bytes / self.stride) as u32
    }

    /// The next receives to be read, at most so many: where they are.
    pub fn next_to_read(&self, most: u32) -> Option<Vec<Piece>> {
        let first = self.taken.wrapping_add(self.here.len() as u32);
        let count = self.posted.wrapping_sub(first).min(most.saturating_sub(self.here.len() as u32));
        let offset = u64::from(first % self.entries()) * self.stride;
        (count > 0).then(|| self.ring.of_ring(offset, u64::from(count) * self.stride))
    }

    /// Receives have been read.
    pub fn take_in(&mut self, bytes: &[u8]) {
        let first = self.taken.wrapping_add(self.here.len() as u32);
        for (number, receive) in bytes.chunks_exact(self.stride as usize).enumerate() {
            let segments = receive.chunks_exact(SEGMENT).map(Data::of);
            let segments = segments.take_while(|data| data.key != super::formats::NO_KEY).collect();
            self.here.push_back(Receive { index: first.wrapping_add(number as u32) as u16, segments });
        }
    }

    /// The process has told how many it has posted, modulo 2^16; whether there can be as many.
    pub fn learn(&mut self, posted: u16) -> bool {
        let new = u32::from(posted.wrapping_sub(self.posted as u16));
        self.posted = self.posted.wrapping_add(new);
        self.posted.wrapping_sub(self.taken) <= self.entries()
    }
}
