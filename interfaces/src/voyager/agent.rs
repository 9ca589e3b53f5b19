//! The kernel agent: what programs ask of the device through the operating system.
//!
//! It opens queues, knows whose each is, and fills the translation tables: a virtual
//! destination is a rank and which of its receive queues. A resident queue it sets up itself;
//! of the others it tells the firmware, which answers by the queue's shadow words. Block
//! transfers by hardware it asks of the block units, by the command queue that is its own.

mod queues;
mod transfers;

use std::collections::VecDeque;

use narthex_fabrics::{Job, Rank};
use serde::{Deserialize, Serialize};

use super::device::Voyager;
use super::layout::{Direction, ENTRY_BYTES};
use super::registers::{NOTHING, QueueKind, request};
use super::transmit::ENTRY_VALID;
use crate::device_call::{CallError, DeviceCall, OperatingSystem};
use crate::half::Context;

/// Bytes of a transfer that are in SRAM at a time: one half is filled while the other leaves.
const CHUNK_BYTES: u64 = 1024;
/// Most bytes of a transfer.
const MOST_BYTES: u64 = 1 << 24;

/// What a program fills in, then what it gets.
type Words = [u64; request::WORDS];

/// A queue that a process has opened.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Opened {
    kind: QueueKind,
    /// Its buffer: SRAM, or the process's address and bytes.
    buffer: u64,
    bytes: u64,
    physical: Option<usize>,
    /// It was opened before its program asks for it.
    is_prepared: bool,
    /// The firmware has been told to close it.
    is_closing: bool,
}

/// The kernel agent of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Agent {
    /// By direction and logical queue.
    opened: [Vec<Option<Opened>>; 2],
    /// The ranks of processes, in their jobs, whose translation tables are filled.
    ranks: Vec<Option<u16>>,
    /// Which half of the transfers' room in SRAM the next part of a block is read into.
    half: u64,
    /// Where processes have room in SRAM for blocks, and bytes of it.
    staging: Vec<Option<(u64, u64)>>,
    /// Ranges that processes have registered.
    registered: Vec<(u8, u64, u64)>,
    commands: VecDeque<[u64; request::COMMAND_WORDS]>,
    /// Doublewords of the oldest command that the firmware has read.
    read: usize,
}

impl Agent {
    /// An agent to which no program has spoken.
    pub fn new(logical: u32, processes: u8) -> Self {
        Agent {
            opened: [(), ()].map(|()| vec![None; logical as usize]),
            ranks: vec![None; processes.into()],
            half: 0,
            staging: vec![None; processes.into()],
            registered: Vec::new(),
            commands: VecDeque::new(),
            read: 0,
        }
    }

    /// How many commands wait for the firmware.
    pub fn waiting(&self) -> usize {
        self.commands.len()
    }

    /// The rank of a process in its job; 0 while it has not called.
    pub fn rank_of(&self, process: u8) -> u16 {
        self.ranks[usize::from(process)].unwrap_or(0)
    }

    /// Whether a queue is open.
    pub fn has_open(&self, direction: Direction, logical: u8) -> bool {
        self.opened[direction as usize][usize::from(logical)].is_some()
    }

    /// The next doubleword of the oldest command, for the firmware.
    pub fn next_word(&mut self) -> u64 {
        let Some(word) = self.commands.front().map(|command| command[self.read]) else { return NOTHING };
        self.read += 1;
        if self.read == request::COMMAND_WORDS {
            self.commands.pop_front();
            self.read = 0;
        }
        word
    }

    fn command(&mut self, process: u8, request: u64, rest: &[u64]) {
        let mut words = [0; request::COMMAND_WORDS];
        words[0] = request | u64::from(process) << 32;
        words[1..=rest.len()].copy_from_slice(rest);
        self.commands.push_back(words);
    }

    /// The parts of SRAM of a process that its queues, as many as processes have, and its blocks have.
    fn used_sram(&self, process: u8, queues: u16) -> Vec<(u64, u64)> {
        let (process, queues) = (usize::from(process), usize::from(queues));
        let own = process * queues..(process + 1) * queues;
        let all = self.opened.iter().flat_map(|queues| &queues[own.clone()]).flatten();
        let own = all.filter(|opened| matches!(opened.kind, QueueKind::Resident | QueueKind::Hybrid));
        let buffers = own.map(|opened| (opened.buffer, opened.bytes));
        let mut used: Vec<(u64, u64)> = buffers.chain(self.staging[process]).collect();
        used.sort_unstable();
        used
    }
}

impl Voyager {
    /// A program's call. Its argument is the address of the request's structure.
    ///
    /// # Errors
    /// The error that the program gets.
    pub(super) fn answer_call(
        &mut self,
        context: &mut Context<'_>,
        call: &DeviceCall,
        system: &mut dyn OperatingSystem,
    ) -> Result<i64, CallError> {
        let &DeviceCall { process, request, argument } = call;
        let mut bytes = [0; request::WORDS * 8];
        if !(request::OPEN..=request::CHANNEL_CLEAR).contains(&request) {
            return Err(CallError::UnknownRequest);
        }
        system.read(argument, &mut bytes)?;
        let mut words: Words = [0; request::WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        }
        let (job, rank) = context.network.job_on_node(process).expect("a process that calls has a job");
        self.fill_translation(process, job, rank);
        self.end_closing(process, system)?;
        match request {
            request::OPEN => self.open(process, &mut words, system)?,
            request::CLOSE => self.close(process, &words)?,
            request::DMA_REGISTER => self.register(process, &words, system)?,
            request::DMA_DEREGISTER => self.deregister(process, &words, system)?,
            request::DMA => self.transfer(context, process, &words)?,
            request::CHANNEL_SET => self.set_channel(process, &words)?,
            request::CHANNEL_CLEAR => self.clear_channel(process, &words)?,
            request::STAGING => self.stage(process, &mut words)?,
            _ => self.query(process, &mut words),
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        system.write(argument, &bytes)?;
        Ok(0)
    }

    /// A process's translation table gets all ranks of its job, each with its receive queues.
    fn fill_translation(&mut self, process: u8, job: &Job, rank: Rank) {
        let own = &mut self.state.agent.ranks[usize::from(process)];
        if own.is_some() {
            return;
        }
        *own = Some(rank.0);
        let layout = &self.build.layout;
        let queues = u64::from(layout.queues);
        let destinations = (u64::from(job.ranks()) * queues).min(layout.destinations);
        for destination in 0..destinations {
            let rank = Rank((destination / queues) as u16);
            let Some((node, there)) = self.place_of(job, rank) else { continue };
            let logical = layout.logical(there, (destination % queues) as u8);
            let entry = ENTRY_VALID | u64::from(node) | u64::from(logical) << 16;
            self.state.sram.set_word(layout.translation(process) + destination * ENTRY_BYTES, entry);
        }
    }

    /// The translation tables are there before programs ask for anything: a launcher of jobs
    /// fills them. Queues may be, too, and the firmware answers processes that have not begun.
    pub(super) fn fill_prepared_translations(&mut self, context: &Context<'_>) {
        for process in 0..self.build.layout.processes {
            if let Some((job, rank)) = context.network.job_on_node(process) {
                self.fill_translation(process, job, rank);
            }
        }
    }

    /// The node of a rank of a job, and which of its processes it is.
    fn place_of(&self, job: &Job, rank: Rank) -> Option<(u16, u8)> {
        let Rank(process) = job.process(rank)?;
        let processes = u16::from(self.build.layout.processes);
        Some((process / processes, (process % processes) as u8))
    }

    /// The direction and the logical queue that a request names.
    fn named(&self, process: u8, is_receive: u64, own: u64) -> Result<(Direction, u8), CallError> {
        if is_receive > 1 || own >= u64::from(self.build.layout.queues) {
            return Err(CallError::Invalid);
        }
        Ok((Direction::of(is_receive == 1), self.build.layout.logical(process, own as u8)))
    }

    /// Whether a command to the firmware can wait.
    fn check_room(&self) -> Result<(), CallError> {
        let has_room = self.state.agent.waiting() < self.build.config.agent_commands as usize;
        if has_room { Ok(()) } else { Err(CallError::Again) }
    }

    fn query(&self, process: u8, words: &mut Words) {
        let physical = u64::from(self.build.config.physical_queues) - 1;
        words[0] = self.build.layout.queues.into();
        words[1] = physical;
        words[2] = self.channels_of_process().into();
        words[3] = self.sram_left(process);
    }
}

/// Bytes of SRAM in which transfers by hardware pass.
pub const TRANSFER_BYTES: u64 = 2 * CHUNK_BYTES;
