//! How the interface reads and writes the host's memory: by whole coherence blocks.
//!
//! ```text
//!   read:   its blocks are asked for in order, several at a time; it is delivered when all are there,
//!           after the reads before it
//!   write:  one block after the other; of one that is not written whole, the rest is read before,
//!           but for a link, whose other end does that
//! ```
//!
//! Payload may have [relaxed ordering](Transaction::relaxed), whatever else is read and written has not.
//!
//! Messages that interrupt a processor ([`crate::vectors`]) go before writes, and writes before reads. What
//! a message tells of has been written when it is asked for. A transaction has the number of its place among those under way as its tag.

use std::collections::VecDeque;

use narthex_memory::interrupt::Interrupt;
use narthex_memory::{AgentId, BlockData, Kind, Response, Transaction, TransactionTag};
use serde::{Deserialize, Serialize};

use crate::vectors::Vectors;

/// A range of the node's memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Piece {
    /// Where it begins.
    pub address: u64,
    /// How long it is.
    pub bytes: usize,
}

/// Takes the first bytes of what is left of some pieces.
pub fn take(pieces: &mut VecDeque<Piece>, bytes: u64) -> Vec<Piece> {
    let mut left = bytes as usize;
    let mut taken = Vec::new();
    while left > 0
        && let Some(piece) = pieces.front_mut()
    {
        let part = piece.bytes.min(left);
        taken.push(Piece { bytes: part, ..*piece });
        *piece = Piece { address: piece.address + part as u64, bytes: piece.bytes - part };
        if piece.bytes == 0 {
            pieces.pop_front();
        }
        left -= part;
    }
    taken
}

/// What is read, and for what.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Read<P> {
    purpose: P,
    is_payload: bool,
    /// What has not been asked for.
    pieces: VecDeque<Piece>,
    data: Vec<u8>,
    asked: usize,
    missing: usize,
}

/// What is written, and what for.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
struct Write<P> {
    purpose: Option<P>,
    is_payload: bool,
    address: u64,
    data: Vec<u8>,
    written: usize,
    /// The block that is written next, if it had to be read.
    block: Option<BlockData>,
}

/// A transaction under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Job {
    /// Bytes of the read with this number: where they are in it, and in the block.
    Read { number: u64, at: usize, offset: usize, bytes: usize },
    /// The block whose part is to be written.
    Rest,
    /// A block of the oldest write, so many of its bytes.
    Write { bytes: usize },
    /// A message.
    Interrupt,
}

/// The engine. `P` tells what a read or write is for.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct Dma<P> {
    agent: AgentId,
    block_bytes: usize,
    /// What is at the other end merges a part of a block with the rest.
    merges_there: bool,
    relaxed_payload: bool,
    reads: VecDeque<Read<P>>,
    /// The number of the first of them.
    first: u64,
    /// How many of them have been asked for whole.
    whole: usize,
    writes: VecDeque<Write<P>>,
    jobs: Vec<Option<Job>>,
    /// By which it interrupts its process.
    pub vectors: Vectors,
}

impl<P> Dma<P> {
    /// One with nothing to do, and so many transactions under way at most.
    pub fn new(agent: AgentId, (block_bytes, merges_there): (u64, bool), transactions: u8) -> Self {
        Dma {
            agent,
            block_bytes: block_bytes as usize,
            merges_there,
            relaxed_payload: false,
            reads: VecDeque::new(),
            first: 0,
            whole: 0,
            writes: VecDeque::new(),
            jobs: vec![None; transactions.into()],
            vectors: Vectors::new(0),
        }
    }

    /// The same with so many vectors.
    pub fn with_vectors(self, count: u8) -> Self {
        Dma { vectors: Vectors::new(count), ..self }
    }

    /// The same whose payload has relaxed ordering, or has not.
    pub fn with_relaxed_payload(self, relaxed_payload: bool) -> Self {
        Dma { relaxed_payload, ..self }
    }

    /// Reads these pieces.
    pub fn read(&mut self, purpose: P, pieces: Vec<Piece>) {
        self.begin_to_read(purpose, pieces, false);
    }

    /// Reads these pieces of payload.
    pub fn read_payload(&mut self, purpose: P, pieces: Vec<Piece>) {
        self.begin_to_read(purpose, pieces, true);
    }

    fn begin_to_read(&mut self, purpose: P, pieces: Vec<Piece>, is_payload: bool) {
        let bytes = pieces.iter().map(|piece| piece.bytes).sum();
        let pieces = pieces.into_iter().filter(|piece| piece.bytes > 0).collect();
        let data = vec![0; bytes];
        self.reads.push_back(Read { purpose, is_payload, pieces, data, asked: 0, missing: bytes });
    }

    /// Writes bytes to a piece; its purpose is delivered when they are written.
    pub fn write(&mut self, purpose: Option<P>, address: u64, data: Vec<u8>) {
        self.begin_to_write(purpose, address, data, false);
    }

    /// Writes bytes of payload to a piece, of which a later write tells.
    pub fn write_payload(&mut self, purpose: Option<P>, address: u64, data: Vec<u8>) {
        self.begin_to_write(purpose, address, data, true);
    }

    fn begin_to_write(&mut self, purpose: Option<P>, address: u64, data: Vec<u8>, is_payload: bool) {
        self.writes.push_back(Write { purpose, is_payload, address, data, written: 0, block: None });
    }

    /// Whether nothing is to be read or written.
    pub fn is_idle(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }

    /// The oldest read, once it is whole: for what, and the bytes.
    pub fn take_read(&mut self) -> Option<(P, Vec<u8>)> {
        if self.reads.front()?.missing > 0 {
            return None;
        }
        let Read { purpose, data, .. } = self.reads.pop_front()?;
        self.first += 1;
        // One without bytes has not been asked for.
        self.whole = self.whole.saturating_sub(1);
        Some((purpose, data))
    }

    /// The oldest write, once it is done: what it was for.
    pub fn take_write(&mut self) -> Option<Option<P>> {
        let Write { data, written, .. } = self.writes.front()?;
        if written < &data.len() {
            return None;
        }
        self.writes.pop_front().map(|write| write.purpose)
    }

    fn may_write(&self) -> bool {
        let is_writing = |job: &Option<Job>| matches!(job, Some(Job::Rest | Job::Write { .. }));
        self.writes.front().is_some_and(|write| write.written < write.data.len())
            && !self.jobs.iter().any(is_writing)
    }

    fn may_read(&self) -> bool {
        self.reads.iter().skip(self.whole).any(|read| !read.pieces.is_empty())
    }

    /// Whether it wants its interconnect.
    pub fn wants(&self) -> bool {
        let has_work = self.vectors.next().is_some() || self.may_write() || self.may_read();
        has_work && self.jobs.iter().any(Option::is_none)
    }

    /// What it is at.
    pub fn doing(&self) -> Option<&'static str> {
        let job = self.jobs.iter().flatten().next();
        match job {
            Some(Job::Read { .. } | Job::Rest) => Some("reads memory"),
            Some(Job::Write { .. }) => Some("writes memory"),
            Some(Job::Interrupt) => Some("interrupts the processor"),
            None => (self.may_write() || self.may_read()).then_some("waits for the interconnect"),
        }
    }

    /// The next transaction, if there is one.
    pub fn issue(&mut self) -> Option<Transaction> {
        let place = self.jobs.iter().position(Option::is_none)?;
        let (job, transaction) = match self.vectors.next() {
            Some(vector) => self.issue_interrupt(vector),
            None if self.may_write() => self.issue_write()?,
            None => self.issue_read()?,
        };
        self.jobs[place] = Some(job);
        Some(Transaction { tag: TransactionTag(place as u8), ..transaction })
    }

    fn issue_interrupt(&mut self, vector: u8) -> (Job, Transaction) {
        self.vectors.leave(vector);
        (Job::Interrupt, Interrupt { vector }.message(self.agent))
    }

    fn issue_write(&mut self) -> Option<(Job, Transaction)> {
        let block_bytes = self.block_bytes;
        let Write { address, data, written, block, is_payload, .. } = self.writes.front_mut()?;
        let relaxed = *is_payload && self.relaxed_payload;
        let at = *address + *written as u64;
        let offset = (at % block_bytes as u64) as usize;
        let start = at - offset as u64;
        let bytes = (block_bytes - offset).min(data.len() - *written);
        if self.merges_there {
            let part = BlockData::from_bytes(&data[*written..*written + bytes]);
            let transaction = Transaction::carrying(self.agent, Kind::WriteBlock, at, part);
            return Some((Job::Write { bytes }, Transaction { relaxed, ..transaction }));
        }
        let carried = match block.take() {
            _ if bytes == block_bytes => BlockData::from_bytes(&data[*written..*written + bytes]),
            None => return Some((Job::Rest, Transaction::block(self.agent, Kind::ReadOnce, start))),
            Some(mut rest) => {
                rest[offset..offset + bytes].copy_from_slice(&data[*written..*written + bytes]);
                rest
            }
        };
        let transaction = Transaction::carrying(self.agent, Kind::WriteBlock, start, carried);
        Some((Job::Write { bytes }, Transaction { relaxed, ..transaction }))
    }

    fn issue_read(&mut self) -> Option<(Job, Transaction)> {
        while self.reads.get(self.whole)?.pieces.is_empty() {
            self.whole += 1;
        }
        let number = self.first + self.whole as u64;
        let read = &mut self.reads[self.whole];
        let piece = read.pieces.front_mut()?;
        let offset = (piece.address % self.block_bytes as u64) as usize;
        let bytes = (self.block_bytes - offset).min(piece.bytes);
        let start = piece.address - offset as u64;
        *piece = Piece { address: piece.address + bytes as u64, bytes: piece.bytes - bytes };
        if piece.bytes == 0 {
            read.pieces.pop_front();
        }
        let at = read.asked;
        read.asked += bytes;
        let job = Job::Read { number, at, offset, bytes };
        let relaxed = read.is_payload && self.relaxed_payload;
        Some((job, Transaction { relaxed, ..Transaction::block(self.agent, Kind::ReadOnce, start) }))
    }

    /// A transaction is over.
    pub fn complete(&mut self, transaction: &Transaction, response: &Response) {
        let block = || response.data.as_ref().expect("a read brings its block");
        match self.jobs[usize::from(transaction.tag.0)].take().expect("it is under way") {
            Job::Read { number, at, offset, bytes } => {
                let read = &mut self.reads[(number - self.first) as usize];
                read.data[at..at + bytes].copy_from_slice(&block()[offset..offset + bytes]);
                read.missing -= bytes;
            }
            Job::Rest => {
                self.writes.front_mut().expect("it is written").block = Some(block().clone());
            }
            Job::Write { bytes } => {
                self.writes.front_mut().expect("it is written").written += bytes;
            }
            Job::Interrupt => {}
        }
    }
}
