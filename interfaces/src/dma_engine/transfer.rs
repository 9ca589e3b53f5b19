//! What a DMA engine does: descriptor by descriptor, block by block.
//!
//! ```text
//!   source port ── read a block ──► buffer, of `burst` bytes ──► write a block ── destination port
//!                 (read_once)                                    (write_block, or of a block
//!                                                                 that is covered in part:
//!                                                                 read_exclusive, merge, write_back)
//! ```
//!
//! Reading and writing go on at once where source and destination are behind different
//! ports; behind one port writing comes first, so that the buffer empties. After each of
//! its blocks either side rests for `block_time`. A block of which the copy covers a part
//! is the engine's until it is home again, and it answers others' requests for it, so that
//! no byte beside the copy is lost: a bus of caches has no byte enables. Where a processor
//! without caches has a port of the memory, they would not help it, and the engine has
//! byte enables: it writes the part alone, in the time of a block.

mod descriptors;

use std::ops::Range;

use narthex_kernel::{Duration, Time};
use narthex_memory::cache::Cache;
use narthex_memory::protocols::{Protocol, Request};
use narthex_memory::{AgentId, BlockData, Kind, Response, SnoopReply, Transaction};
use serde::{Deserialize, Serialize};

/// The source is behind the second port.
pub const SOURCE_PORT: u32 = 1;
/// The destination is behind the second port.
pub const DESTINATION_PORT: u32 = 2;
/// The interrupt line is asserted when the copy is done.
pub const INTERRUPT: u32 = 4;
/// The number of copies done is written to the completion word when the copy is done.
pub const WORD: u32 = 8;

/// A copy: 32 bytes in memory, at a multiple of 32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Descriptor {
    /// Where the bytes are.
    pub source: u64,
    /// Where they go.
    pub destination: u64,
    /// How many.
    pub length: u32,
    /// [`SOURCE_PORT`] and the others.
    pub flags: u32,
    /// The next descriptor's address; its lowest bit is its port; 0 ends the list.
    pub next: u64,
}

impl Descriptor {
    /// Bytes of one in memory: source, destination, length and flags, next.
    pub const BYTES: u64 = 32;

    /// The one at this place of a block.
    fn of(block: &BlockData, offset: usize) -> Self {
        let control = block.word(offset + 16);
        Descriptor {
            source: block.word(offset),
            destination: block.word(offset + 8),
            length: control as u32,
            flags: (control >> 32) as u32,
            next: block.word(offset + 24),
        }
    }

    fn source_port(&self) -> usize {
        usize::from(self.flags & SOURCE_PORT != 0)
    }

    fn destination_port(&self) -> usize {
        usize::from(self.flags & DESTINATION_PORT != 0)
    }
}

narthex_kernel::statistics! {
    /// What a DMA engine did.
    pub struct Statistics {
        copies: Counter, "dma_copies", "copies", "copies that DMA engines made";
        bytes: Counter, "dma_bytes", "bytes", "bytes that they copied";
        read: Counter, "dma_blocks_read", "blocks", "blocks that they read, descriptors included";
        written: Counter, "dma_blocks_written", "blocks", "whole blocks that they wrote, and parts where they have byte enables";
        merged: Counter, "dma_blocks_merged", "blocks", "blocks of which they replaced a part";
    }
}

/// How an engine is built.
#[derive(Clone, Debug)]
pub struct Build {
    /// What messages call it.
    pub name: String,
    /// Time from a descriptor to its first block.
    pub start_time: Duration,
    /// Time after each block.
    pub block_time: Duration,
    /// Bytes of the buffer.
    pub burst_bytes: usize,
    /// Bytes of a coherence block.
    pub block_bytes: usize,
    /// The protocol of the caches beside it.
    pub protocol: &'static Protocol,
    /// Its ports.
    pub ports: Vec<Port>,
}

/// A port of an engine.
#[derive(Clone, Debug)]
pub struct Port {
    /// What messages call its interconnect.
    pub name: String,
    /// The addresses that it reaches.
    pub reach: Vec<Range<u64>>,
    /// Whether parts of blocks are written there by themselves.
    pub has_byte_enables: bool,
}

/// What the engine is at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum TransferState {
    Idle,
    /// It fetches the descriptor at this address and port.
    Fetching(u64),
    /// It begins at that instant.
    Starting(Time),
    Copying,
    /// It writes the completion word.
    Reporting,
}

/// What a transaction is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Purpose {
    Fetch,
    Read,
    /// The rest of a block that is covered in part.
    Acquire,
    Write,
}

/// How far a copy has come.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
struct Progress {
    fetched: u64,
    written: u64,
    buffer: Vec<u8>,
    /// The next part is in its block, which is the engine's.
    is_merged: bool,
    /// Until when the reading and the writing side rest.
    rests: [Option<Time>; 2],
}

/// A DMA engine.
#[derive(Clone, Debug)]
pub struct DmaEngine {
    build: Build,
    pub(super) state: State,
    /// What it did so far.
    pub statistics: Statistics,
}

/// A descriptor of the list that is under way, to which it may come back: for Brent's search
/// for a circle.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Mark {
    list: u64,
    descriptor: Descriptor,
    /// Its number, and how many descriptors on the next one is marked.
    number: u64,
    span: u64,
}

/// All that changes.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub(super) struct State {
    stage: TransferState,
    descriptor: Descriptor,
    progress: Progress,
    under_way: [Option<Purpose>; 2],
    merged: Cache,
    mark: Option<Mark>,
    completed: u64,
    pub completion: u64,
    pub interrupt: bool,
}

/// The part of a copy that lies in one block: the block's address, and where in it.
fn part(address: u64, left: u64, block_bytes: usize) -> (u64, Range<usize>) {
    let offset = (address % block_bytes as u64) as usize;
    let length = left.min((block_bytes - offset) as u64) as usize;
    (address - offset as u64, offset..offset + length)
}

const READER: usize = 0;
const WRITER: usize = 1;

impl DmaEngine {
    /// An idle engine.
    pub fn new(build: Build) -> Self {
        let merged = Cache::with_geometry(build.protocol, 1, 1, build.block_bytes);
        let state = State {
            stage: TransferState::Idle,
            descriptor: Descriptor::default(),
            progress: Progress::default(),
            under_way: [None; 2],
            merged,
            mark: None,
            completed: 0,
            completion: 0,
            interrupt: false,
        };
        DmaEngine { build, state, statistics: Statistics::default() }
    }

    /// Whether it is at work.
    pub fn is_busy(&self) -> bool {
        self.state.stage != TransferState::Idle
    }

    /// Copies that are done.
    pub fn completed(&self) -> u64 {
        self.state.completed
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.build.name
    }

    /// What messages call a port.
    pub fn port_name(&self, port: usize) -> &str {
        &self.build.ports[port].name
    }

    /// The instant at which it is to be called, if it waits for one.
    fn ask(at: Time, timers: &mut Vec<Time>) -> Time {
        timers.push(at);
        at
    }

    /// What it wants of a port's interconnect.
    fn purpose(&self, port: usize) -> Option<Purpose> {
        let State { stage, descriptor, progress, under_way, .. } = &self.state;
        if under_way[port].is_some() {
            return None;
        }
        match *stage {
            TransferState::Idle | TransferState::Starting(_) => None,
            TransferState::Fetching(list) => (port == (list & 1) as usize).then_some(Purpose::Fetch),
            TransferState::Copying | TransferState::Reporting => {
                let writes = port == descriptor.destination_port() && progress.rests[WRITER].is_none();
                let reads = port == descriptor.source_port() && progress.rests[READER].is_none();
                let write = writes.then(|| self.write_purpose()).flatten();
                write.or_else(|| (reads && self.has_room()).then_some(Purpose::Read))
            }
        }
    }

    fn write_purpose(&self) -> Option<Purpose> {
        let progress = &self.state.progress;
        let (_, range) = self.destination()?;
        match progress.is_merged {
            true => Some(Purpose::Write),
            false if progress.buffer.len() < range.len() => None,
            false if range.len() == self.build.block_bytes || self.writes_parts() => Some(Purpose::Write),
            false => Some(Purpose::Acquire),
        }
    }

    /// Whether it writes a part of a block where its copy goes.
    fn writes_parts(&self) -> bool {
        self.build.ports[self.state.descriptor.destination_port()].has_byte_enables
    }

    /// The next block to be written, and which part of it.
    fn destination(&self) -> Option<(u64, Range<usize>)> {
        let State { descriptor: Descriptor { destination, length, .. }, progress, .. } = &self.state;
        let left = u64::from(*length) - progress.written;
        (left > 0).then(|| part(destination + progress.written, left, self.build.block_bytes))
    }

    /// The next block to be read, and which part of it.
    fn source(&self) -> Option<(u64, Range<usize>)> {
        let State { descriptor: Descriptor { source, length, .. }, progress, .. } = &self.state;
        let left = u64::from(*length) - progress.fetched;
        (left > 0).then(|| part(source + progress.fetched, left, self.build.block_bytes))
    }

    /// Whether the buffer has room for the next part. A block beyond the burst is read
    /// where the next block to be written, which begins elsewhere, is not complete.
    fn has_room(&self) -> bool {
        let buffered = self.state.progress.buffer.len();
        let is_incomplete = self.destination().is_some_and(|(_, range)| buffered < range.len());
        let fits = |(_, range): (u64, Range<usize>)| buffered + range.len() <= self.build.burst_bytes;
        self.source().is_some_and(|source| is_incomplete || fits(source))
    }

    /// Whether it wants a port's interconnect.
    pub fn wants(&self, port: usize) -> bool {
        self.purpose(port).is_some()
    }

    /// A port is granted its interconnect. Who issues is for the caller to say.
    pub fn issue(&mut self, now: Time, port: usize, timers: &mut Vec<Time>) -> Option<Transaction> {
        let purpose = self.purpose(port)?;
        let read = |kind, block| Some(Transaction::block(AgentId(0), kind, block));
        let transaction = match (purpose, self.state.stage) {
            (Purpose::Fetch, TransferState::Fetching(list)) => {
                let address = list & !1;
                read(Kind::ReadOnce, address - address % self.build.block_bytes as u64)
            }
            (Purpose::Fetch | Purpose::Read, _) => read(Kind::ReadOnce, self.source()?.0),
            (Purpose::Acquire, _) => read(Kind::ReadExclusive, self.destination()?.0),
            (Purpose::Write, _) => self.write(now, timers),
        };
        if transaction.is_some() {
            self.state.under_way[port] = Some(purpose);
        }
        transaction
    }

    /// The next part's block goes home; none if another agent has taken it over with
    /// the part in it.
    fn write(&mut self, now: Time, timers: &mut Vec<Time>) -> Option<Transaction> {
        let (block, range) = self.destination()?;
        let first = block + range.start as u64;
        let (kind, data, address) = if self.state.progress.is_merged {
            match self.state.merged.remove(block) {
                Some(data) => (Kind::WriteBack, data, block),
                None => {
                    self.has_written(now, timers);
                    return None;
                }
            }
        } else {
            let bytes: Vec<u8> = self.state.progress.buffer.drain(..range.len()).collect();
            self.statistics.written.increment();
            (Kind::WriteBlock, BlockData::from_bytes(&bytes), first)
        };
        Some(Transaction::carrying(AgentId(0), kind, address, data))
    }

    /// A port's transaction is over.
    ///
    /// # Errors
    /// If it has brought a descriptor that names addresses beyond the engine's memory, or
    /// that closes a circle.
    pub fn complete(
        &mut self,
        now: Time,
        port: usize,
        response: &Response,
        timers: &mut Vec<Time>,
    ) -> Result<(), String> {
        let purpose = self.state.under_way[port].take().expect("it issued a transaction");
        let data = response.data.as_ref();
        match (purpose, self.state.stage) {
            (Purpose::Fetch, TransferState::Fetching(list)) => {
                self.statistics.read.increment();
                let offset = (list & !1) as usize % self.build.block_bytes;
                let descriptor = Descriptor::of(data.expect("a read brings its block"), offset);
                self.check_circle(list, descriptor)?;
                self.begin(now, descriptor, timers)?;
            }
            (Purpose::Fetch | Purpose::Read, _) => {
                let (_, range) = self.source().expect("it reads a part");
                self.statistics.read.increment();
                self.state.progress.fetched += range.len() as u64;
                let bytes = &data.expect("a read brings its block")[range];
                self.state.progress.buffer.extend_from_slice(bytes);
                self.rest(now, READER, timers);
            }
            (Purpose::Acquire, _) => {
                let (address, range) = self.destination().expect("it writes a part");
                let mut block = data.expect("a read brings its block").clone();
                let bytes = self.state.progress.buffer.drain(..range.len());
                bytes.zip(&mut block[range]).for_each(|(byte, place)| *place = byte);
                self.statistics.merged.increment();
                let State { merged, progress, .. } = &mut self.state;
                merged.fill(address, Request::ReadExclusive, response.shared, Some(&block));
                progress.is_merged = true;
            }
            (Purpose::Write, _) => self.has_written(now, timers),
        }
        Ok(())
    }

    fn has_written(&mut self, now: Time, timers: &mut Vec<Time>) {
        let (_, range) = self.destination().expect("it writes a part");
        self.state.progress.is_merged = false;
        self.state.progress.written += range.len() as u64;
        self.rest(now, WRITER, timers);
    }

    /// A side has moved a block.
    fn rest(&mut self, now: Time, side: usize, timers: &mut Vec<Time>) {
        let at = now + self.build.block_time;
        self.state.progress.rests[side] = Some(Self::ask(at, timers));
    }

    /// An instant that it asked for has come.
    ///
    /// # Errors
    /// If the list goes on beyond the engine's memory.
    pub fn timer(&mut self, now: Time) -> Result<(), String> {
        if matches!(self.state.stage, TransferState::Starting(at) if at <= now) {
            self.state.stage = TransferState::Copying;
        }
        for rest in &mut self.state.progress.rests {
            *rest = rest.filter(|&at| at > now);
        }
        let progress = &self.state.progress;
        let is_copied = self.destination().is_none() && progress.rests == [None; 2];
        match self.state.stage {
            TransferState::Copying if is_copied => self.finish_copy(),
            TransferState::Reporting if is_copied => self.go_on(),
            _ => Ok(()),
        }
    }

    /// All bytes are at their place.
    fn finish_copy(&mut self) -> Result<(), String> {
        let State { descriptor, completed, completion, progress, stage, .. } = &mut self.state;
        self.statistics.copies.increment();
        self.statistics.bytes.add(descriptor.length.into());
        *completed += 1;
        if descriptor.flags & WORD == 0 {
            return self.go_on();
        }
        // The word is the end of a copy whose bytes are in the buffer already.
        let port = if *completion & 1 != 0 { DESTINATION_PORT } else { 0 };
        let flags = descriptor.flags & !DESTINATION_PORT | port;
        *descriptor = Descriptor { destination: *completion & !1, length: 8, flags, ..*descriptor };
        *progress = Progress { fetched: 8, buffer: completed.to_le_bytes().into(), ..Progress::default() };
        *stage = TransferState::Reporting;
        Ok(())
    }

    /// The copy is done and reported: on to the next one.
    fn go_on(&mut self) -> Result<(), String> {
        let Descriptor { flags, next, .. } = self.state.descriptor;
        self.state.interrupt |= flags & INTERRUPT != 0;
        self.state.stage = TransferState::Idle;
        if next == 0 { Ok(()) } else { self.fetch(next) }
    }

    /// Whether a block is the engine's for a while, at a port.
    fn holds(&self, port: usize) -> bool {
        self.state.progress.is_merged && port == self.state.descriptor.destination_port()
    }

    /// Another agent's transaction passes by at a port.
    pub fn snoop(&mut self, port: usize, transaction: &Transaction) -> SnoopReply {
        match transaction.kind.snoop() {
            Some(snoop) if self.holds(port) => self.state.merged.snoop(snoop, transaction.address),
            _ => SnoopReply::default(),
        }
    }

    /// The same on a bus that carries no data from cache to cache.
    pub fn push(&mut self, port: usize, transaction: &Transaction) -> Option<BlockData> {
        let snoop = transaction.kind.snoop().filter(|_| self.holds(port))?;
        self.state.merged.push(snoop, transaction.address)
    }

    /// The block that it holds, if it is this one.
    pub fn peek(&self, block: u64) -> Option<&[u8]> {
        self.state.progress.is_merged.then(|| self.state.merged.peek(block)).flatten()
    }

    /// What it is at, in words.
    pub fn describe(&self) -> String {
        let State { stage, descriptor, progress, completed, .. } = &self.state;
        let Descriptor { source, destination, length, .. } = descriptor;
        match stage {
            TransferState::Idle => format!("idle after {completed} copies"),
            TransferState::Fetching(list) => format!("it fetches descriptor {completed} at {:#x}", list & !1),
            TransferState::Reporting => format!("it reports {completed} copies"),
            TransferState::Starting(_) | TransferState::Copying => format!(
                "copy {completed}: {} of {length} bytes from {source:#x} are at {destination:#x}",
                progress.written
            ),
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
