//! The job list of a tile, and the engine that makes packets of its jobs (Section 3.1).
//!
//! ```text
//!   commands, stores ──► room? ──► job list ──┐
//!   notifications, replies ──────► job list ──┼──► engine ──► one packet after the other
//!   acknowledgements, answers ───► own list ──┘
//! ```
//!
//! A copy makes one packet and goes to the end of the list, so that a short transfer never
//! waits behind a long one. What the interface itself has to send always finds room: a full list
//! keeps only processors waiting, and nothing waits in a circle. Remote stores come out of a
//! buffer that combines them ([`super::combining`]). A memory controller has an engine, too.

use std::collections::VecDeque;

use narthex_kernel::Time;
use serde::{Deserialize, Serialize};

use super::config::JobList;
use super::messages::{Message, Origin};
use super::registers::LINE_BYTES;

/// Something to send.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Job {
    /// One packet.
    Send(Message),
    /// The rest of a copy.
    Copy(Copying),
}

/// What is left of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Copying {
    /// Who began it.
    pub origin: Origin,
    /// Where the next byte is.
    pub from: u64,
    /// Where it goes.
    pub to: u64,
    /// Where each packet is acknowledged; 0: nowhere.
    pub acknowledge: u64,
    /// Bytes.
    pub left: u32,
}

impl Copying {
    /// The bytes of its next packet, which end with a line of the destination.
    pub fn next_bytes(&self) -> u32 {
        let line = LINE_BYTES as u32;
        self.left.min(line - (self.to % LINE_BYTES) as u32)
    }

    /// What is left behind so many bytes.
    pub fn behind(self, bytes: u32) -> Option<Copying> {
        let Copying { from, to, left, .. } = self;
        let more = u64::from(bytes);
        (left > bytes).then_some(Copying { from: from + more, to: to + more, left: left - bytes, ..self })
    }
}

/// What waits for room in the job list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum JobWaiter {
    /// The command in this line.
    Command(usize),
    /// A store or load of the processor, which waits for it.
    Access(Message),
    /// Stores that have left the combining buffer.
    Combined(Message),
}

/// The engine of a tile or a controller, with what it has to send.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Engine {
    jobs: VecDeque<Job>,
    answers: VecDeque<Message>,
    waiting: VecDeque<JobWaiter>,
    /// Until when it makes a packet.
    pub busy_until: Time,
    /// For which instant it has asked to be called.
    pub called_at: Time,
}

impl Engine {
    /// Jobs that it has to do, and what waits for room.
    pub fn jobs(&self) -> usize {
        self.jobs.len() + self.answers.len() + self.waiting.len()
    }

    /// Whether the list takes one more job of the processor.
    pub fn has_room(&self, list: JobList) -> bool {
        self.takes_one_more(list) && self.waiting.is_empty()
    }

    /// Something waits for room.
    pub fn wait(&mut self, waiting: JobWaiter) {
        self.waiting.push_back(waiting);
    }

    /// What has waited longest, if there is room for it now.
    pub fn next_waiting(&mut self, list: JobList) -> Option<JobWaiter> {
        if self.takes_one_more(list) { self.waiting.pop_front() } else { None }
    }

    fn takes_one_more(&self, list: JobList) -> bool {
        match list {
            JobList::Fifo { entries } => self.jobs.len() < entries as usize,
            JobList::LinkedLines { .. } => true,
        }
    }

    /// A job behind all others.
    pub fn push(&mut self, job: Job) {
        self.jobs.push_back(job);
    }

    /// An acknowledgement or answer, which goes before jobs.
    pub fn answer(&mut self, message: Message) {
        self.answers.push_back(message);
    }

    /// What it makes a packet of next.
    pub fn take_next(&mut self) -> Option<Job> {
        self.answers.pop_front().map(Job::Send).or_else(|| self.jobs.pop_front())
    }
}
