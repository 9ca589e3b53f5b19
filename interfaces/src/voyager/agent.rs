//! The kernel agent: what programs ask of the device through the operating system.
//!
//! It opens queues, knows whose each is, and fills the translation tables: a virtual
//! destination is a rank and which of its receive queues. A resident queue it sets up itself;
//! of the others it tells the firmware, which answers by the queue's shadow words. Block
//! transfers by hardware it asks of the block units, by the command queue that is its own.

use std::collections::VecDeque;

use narthex_fabrics::{Header, Job, Rank};
use narthex_memory::main_memory::PAGE_BYTES;
use serde::{Deserialize, Serialize};

use super::blocks::NO_CHANNEL;
use super::commands::{Acknowledge, BlockTransmit, Command, HostAddress, Operation};
use super::device::Voyager;
use super::layout::{Direction, ENTRY_BYTES, Layout};
use super::queues::Queue;
use super::registers::{
    BLOCK_PACKET_BYTES, KIND_STORES, KIND_URGENT, NOTHING, POINTER_STATUS, POINTER_STORES, QUEUE_CLOSED,
    QUEUE_CLOSING, QUEUE_OPEN, QueueKind, SLOT_BYTES, method, request,
};
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
        if !(request::OPEN..=request::STAGING).contains(&request) {
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

    fn open(
        &mut self,
        process: u8,
        words: &mut Words,
        system: &mut dyn OperatingSystem,
    ) -> Result<(), CallError> {
        let [is_receive, kind, slots, own, buffer, ..] = *words;
        let (direction, logical) = self.named(process, is_receive, own)?;
        let (is_urgent, has_stores) = (kind & KIND_URGENT != 0, kind & KIND_STORES != 0);
        let kind = QueueKind::of(kind & !(KIND_URGENT | KIND_STORES)).ok_or(CallError::Invalid)?;
        // The firmware's queue of commands has one order for all that it sends.
        if is_urgent && (direction, kind) != (Direction::Transmit, QueueKind::Resident) {
            return Err(CallError::Invalid);
        }
        // Hardware does not have stores captured, and the bus unit puts them into SRAM alone.
        if has_stores && (direction, kind) != (Direction::Transmit, QueueKind::Hybrid) {
            return Err(CallError::Invalid);
        }
        if !slots.is_power_of_two() || slots > 1 << 14 {
            return Err(CallError::Invalid);
        }
        self.check_room()?;
        let bytes = slots * SLOT_BYTES;
        let before = self.state.agent.opened[direction as usize][usize::from(logical)];
        let at = match before {
            Some(Opened {
                is_prepared: true, kind: QueueKind::Resident, buffer, bytes: prepared, ..
            }) if kind == QueueKind::Resident && prepared == bytes => {
                let queues = &mut self.state.agent.opened[direction as usize];
                queues[usize::from(logical)] = before.map(|own| Opened { is_prepared: false, ..own });
                buffer
            }
            Some(_) => return Err(CallError::Busy),
            None => self.open_anew(direction, logical, kind, (buffer, bytes), system)?,
        };
        let shadow = self.build.layout.shadow(direction, logical);
        self.state.sram.set_word(shadow + POINTER_STORES, has_stores.into());
        if has_stores {
            self.state.space.approved_stores |= 1 << process;
        }
        if let Some(physical) = self.state.queues.resident(direction, logical) {
            self.state.queues.queue_mut(direction, physical).is_urgent = is_urgent;
        }
        let layout = &self.build.layout;
        words[5] = logical.into();
        words[6] = layout.window(direction, logical);
        words[7] = match kind {
            QueueKind::NonResident => buffer,
            _ => layout.cachable_buffers(process).start + (at - layout.buffers_of(process).start),
        };
        Ok(())
    }

    /// Opens a queue that is not open: where its buffer is.
    fn open_anew(
        &mut self,
        direction: Direction,
        logical: u8,
        kind: QueueKind,
        (buffer, bytes): (u64, u64),
        system: &mut dyn OperatingSystem,
    ) -> Result<u64, CallError> {
        let process = self.build.layout.owner(logical);
        let slots = bytes / SLOT_BYTES;
        let (at, physical) = match kind {
            QueueKind::NonResident => (self.pin_buffer(buffer, bytes, system)?, None),
            QueueKind::Hybrid => (self.allocate(process, bytes)?, None),
            QueueKind::Resident => {
                let at = self.allocate(process, bytes)?;
                (at, Some(self.take_physical(direction, logical, at, slots as u16)?))
            }
            QueueKind::Cachable => return Err(CallError::Invalid),
        };
        let shadow = self.build.layout.shadow(direction, logical);
        for (word, value) in [0, 0, QUEUE_CLOSED].into_iter().enumerate() {
            self.state.sram.set_word(shadow + word as u64 * 8, value);
        }
        if physical.is_none() {
            let about = direction as u64 | u64::from(logical) << 8 | kind.number() << 16 | slots << 32;
            self.state.agent.command(process, request::OPEN, &[about, at]);
        }
        let is_pinned = kind == QueueKind::NonResident;
        let opened = Opened {
            kind,
            buffer: if is_pinned { buffer } else { at },
            bytes,
            physical,
            is_prepared: false,
            is_closing: false,
        };
        self.state.agent.opened[direction as usize][usize::from(logical)] = Some(opened);
        Ok(at)
    }

    /// Where the library's queues are resident, a process's first receive queue is there before
    /// the process has asked for it, as if a launcher of jobs had opened it: others may have
    /// started already and send to it.
    pub(super) fn prepare(&mut self) {
        match self.build.kind {
            QueueKind::Resident => self.prepare_resident(),
            QueueKind::Cachable => self.prepare_cachable(),
            QueueKind::NonResident | QueueKind::Hybrid => {}
        }
    }

    /// Cachable queues need no call at all: the firmware learns of them as if they were opened.
    fn prepare_cachable(&mut self) {
        let slots = self.build.layout.cachable_slots();
        for process in 0..self.build.layout.processes {
            let logical = self.build.layout.logical(process, 0);
            for direction in Direction::BOTH {
                let kind = QueueKind::Cachable;
                let about = direction as u64 | u64::from(logical) << 8 | kind.number() << 16 | slots << 32;
                let buffer = self.build.layout.cachable_queue(direction, process);
                let snooped = self.build.layout.snooped(process).start;
                self.state.agent.command(process, request::OPEN, &[about, buffer, snooped]);
                let opened = Opened {
                    kind,
                    buffer,
                    bytes: slots * SLOT_BYTES,
                    physical: None,
                    is_prepared: true,
                    is_closing: false,
                };
                self.state.agent.opened[direction as usize][usize::from(logical)] = Some(opened);
            }
        }
    }

    fn prepare_resident(&mut self) {
        let slots = self.build.config.slots;
        for process in 0..self.build.layout.processes {
            let logical = self.build.layout.logical(process, 0);
            let bytes = u64::from(slots) * SLOT_BYTES;
            let at = self.allocate(process, bytes).expect("the configuration was checked");
            let physical = self
                .take_physical(Direction::Receive, logical, at, slots as u16)
                .expect("the configuration was checked");
            let opened = Opened {
                kind: QueueKind::Resident,
                buffer: at,
                bytes,
                physical: Some(physical),
                is_prepared: true,
                is_closing: false,
            };
            self.state.agent.opened[Direction::Receive as usize][usize::from(logical)] = Some(opened);
        }
    }

    /// Pins the buffer of a non-resident queue, which has one address of the node.
    fn pin_buffer(
        &mut self,
        buffer: u64,
        bytes: u64,
        system: &mut dyn OperatingSystem,
    ) -> Result<u64, CallError> {
        if !buffer.is_multiple_of(PAGE_BYTES) {
            return Err(CallError::Invalid);
        }
        let frames = system.pin(buffer, bytes)?;
        if frames.windows(2).any(|pair| pair[1] != pair[0] + PAGE_BYTES) {
            system.unpin(buffer, bytes)?;
            return Err(CallError::NoMemory);
        }
        Ok(frames[0])
    }

    /// The first free part of a process's SRAM.
    fn allocate(&self, process: u8, bytes: u64) -> Result<u64, CallError> {
        let part = self.build.layout.buffers_of(process);
        let mut start = part.start;
        for (used, length) in self.state.agent.used_sram(process, self.build.layout.queues) {
            if start + bytes <= used {
                break;
            }
            start = used + length;
        }
        if start + bytes <= part.end { Ok(start) } else { Err(CallError::NoMemory) }
    }

    /// Bytes of a process's SRAM that none of its queues has.
    fn sram_left(&self, process: u8) -> u64 {
        let Layout { queues, buffer_bytes, .. } = self.build.layout;
        let used: u64 = self.state.agent.used_sram(process, queues).iter().map(|(_, bytes)| bytes).sum();
        buffer_bytes - used
    }

    /// A physical queue that is not the firmware's works for a logical one from now on.
    fn take_physical(
        &mut self,
        direction: Direction,
        logical: u8,
        base: u64,
        slots: u16,
    ) -> Result<usize, CallError> {
        let config = &self.build.config;
        let queues = &mut self.state.queues;
        let mut physical = 1..(config.physical_queues - config.hybrid_queues) as usize;
        let physical =
            physical.find(|&place| queues.is_unused(direction, place)).ok_or(CallError::NoMemory)?;
        let process = self.build.layout.owner(logical);
        *queues.queue_mut(direction, physical) =
            Queue { is_enabled: true, logical, process, base, slots, error: QUEUE_OPEN, ..Queue::default() };
        queues.map(direction, logical, physical);
        Ok(physical)
    }

    /// Closes a queue. One that is the firmware's work is closed when the firmware says so by its
    /// status: until then commands for its buffer may be under way, and its pages stay pinned.
    fn close(&mut self, process: u8, words: &Words) -> Result<(), CallError> {
        let (direction, logical) = self.named(process, words[0], words[1])?;
        let status = self.build.layout.shadow(direction, logical) + POINTER_STATUS;
        let own = &mut self.state.agent.opened[direction as usize][usize::from(logical)];
        match *own {
            None | Some(Opened { is_closing: true, .. }) => Err(CallError::Absent),
            Some(Opened { kind: QueueKind::Cachable, .. }) => Err(CallError::Invalid),
            Some(Opened { physical: Some(physical), .. }) => {
                *own = None;
                self.state.queues.leave(direction, physical);
                self.state.sram.set_word(status, QUEUE_CLOSED);
                Ok(())
            }
            Some(opened) => {
                self.check_room()?;
                let closing = Opened { is_closing: true, ..opened };
                self.state.agent.opened[direction as usize][usize::from(logical)] = Some(closing);
                self.state.agent.command(process, request::CLOSE, &[words[0] | u64::from(logical) << 8]);
                self.state.sram.set_word(status, QUEUE_CLOSING);
                Ok(())
            }
        }
    }

    /// Queues of a process that the firmware has closed are gone, and their pages unpinned.
    fn end_closing(&mut self, process: u8, system: &mut dyn OperatingSystem) -> Result<(), CallError> {
        let Voyager { build, state, .. } = self;
        let queues = usize::from(build.layout.queues);
        for direction in Direction::BOTH {
            for logical in usize::from(process) * queues..(usize::from(process) + 1) * queues {
                let own = &mut state.agent.opened[direction as usize][logical];
                let status = build.layout.shadow(direction, logical as u8) + POINTER_STATUS;
                let is_closed = |own: &mut Opened| own.is_closing && state.sram.word(status) == QUEUE_CLOSED;
                if let Some(Opened { kind: QueueKind::NonResident, buffer, bytes, .. }) =
                    own.take_if(is_closed)
                {
                    system.unpin(buffer, bytes)?;
                }
            }
        }
        Ok(())
    }

    fn register(
        &mut self,
        process: u8,
        words: &Words,
        system: &mut dyn OperatingSystem,
    ) -> Result<(), CallError> {
        let [address, length, ..] = *words;
        address.checked_add(length).filter(|_| length > 0).ok_or(CallError::Invalid)?;
        let frames = system.pin(address, length)?;
        self.state.blocks.register(process, address, &frames);
        self.state.agent.registered.push((process, address, length));
        Ok(())
    }

    fn deregister(
        &mut self,
        process: u8,
        words: &Words,
        system: &mut dyn OperatingSystem,
    ) -> Result<(), CallError> {
        let range = (process, words[0], words[1]);
        let registered = &mut self.state.agent.registered;
        let place = registered.iter().position(|&own| own == range).ok_or(CallError::Invalid)?;
        registered.remove(place);
        self.state.blocks.deregister(process, words[0], words[1]);
        system.unpin(words[0], words[1])
    }

    /// Who is told, of a request that names one of the process's receive queues.
    fn told(&self, process: u8, own: u64, value: u32) -> Result<Option<Acknowledge>, CallError> {
        if own == NOTHING {
            return Ok(None);
        }
        let (_, queue) = self.named(process, 1, own)?;
        Ok(Some(Acknowledge { queue: Some(queue), value }))
    }

    fn transfer(&mut self, context: &mut Context<'_>, process: u8, words: &Words) -> Result<(), CallError> {
        let [method, rank, from, to, bytes, channel, own, _] = *words;
        let place =
            u16::try_from(rank).ok().and_then(|rank| self.place_of(context.network.job(), Rank(rank)));
        let (node, there) = place.ok_or(CallError::Invalid)?;
        let each = u64::from(self.channels_of_process());
        let ends = |address: u64| address.checked_add(bytes).is_some_and(|end| end < 1 << 48);
        let is_known = channel < each || channel == NOTHING;
        if !is_known || !ends(from) || !ends(to) || !(1..=MOST_BYTES).contains(&bytes) {
            return Err(CallError::Invalid);
        }
        let acknowledge = self.told(process, own, 0)?;
        let channel = if channel == NOTHING { NO_CHANNEL } else { (u64::from(there) * each + channel) as u8 };
        let frame = self.one_piece(process, from, bytes)?;
        match method {
            method::HARDWARE => {}
            method::FIRMWARE | method::FIRMWARE_SENDS => {
                self.check_room()?;
                let frame = frame.ok_or(CallError::NoMemory)?;
                let told = acknowledge.and_then(|acknowledge| acknowledge.queue).map_or(NOTHING, u64::from);
                let channel = if channel == NO_CHANNEL { NOTHING } else { channel.into() };
                let place = u64::from(node) | u64::from(there) << 16;
                let rest = [method, place, frame, to, bytes, channel, told];
                self.state.agent.command(process, request::DMA, &rest);
                context.network.count_message(Header::BYTES as u64 + bytes);
                return Ok(());
            }
            _ => return Err(CallError::Invalid),
        }
        if self.state.commands.waiting_of_system() > 0 {
            return Err(CallError::Again);
        }
        let to = BlockTransmit {
            sram: 0,
            bytes: 0,
            node,
            process: there,
            address: to,
            channel,
            is_chained: true,
            is_last: false,
            acknowledge,
            told: acknowledge.and_then(|acknowledge| acknowledge.queue),
        };
        self.command_transfer(HostAddress { address: from, process: Some(process) }, to, bytes);
        context.network.count_message(Header::BYTES as u64 + bytes);
        Ok(())
    }

    /// The node's address of a range that a process has registered; none if that is in several
    /// pieces.
    fn one_piece(&self, process: u8, address: u64, bytes: u64) -> Result<Option<u64>, CallError> {
        let pages = address / PAGE_BYTES..=(address + bytes - 1) / PAGE_BYTES;
        let frames = pages.map(|page| self.state.blocks.translate(process, page * PAGE_BYTES));
        let frames = frames.collect::<Option<Vec<u64>>>().ok_or(CallError::BadAddress)?;
        let is_one = frames.windows(2).all(|pair| pair[1] == pair[0] + PAGE_BYTES);
        Ok(is_one.then_some(frames[0] + address % PAGE_BYTES))
    }

    /// The commands of a transfer by hardware: parts of it, in both halves of the transfers'
    /// room in SRAM in turn.
    fn command_transfer(&mut self, from: HostAddress, to: BlockTransmit, bytes: u64) {
        let room = self.build.layout.transfers;
        let mut done = 0;
        // A part is read when the one before the last has left: transfers go on with the other half.
        loop {
            let half = self.state.agent.half;
            self.state.agent.half = 1 - half;
            let here = to.address + done;
            let part = (CHUNK_BYTES - here % CHUNK_BYTES).min(bytes - done);
            let sram = room + half * CHUNK_BYTES;
            let host = HostAddress { address: from.address + done, ..from };
            let is_last = done + part == bytes;
            let commands = [
                Operation::BlockRead { host, sram, bytes: part },
                Operation::BlockTransmit(BlockTransmit {
                    sram,
                    bytes: part,
                    address: here,
                    acknowledge: to.acknowledge.filter(|_| is_last),
                    is_last: is_last && to.told.is_some(),
                    ..to
                }),
            ];
            commands.into_iter().for_each(|operation| {
                self.state.commands.push_system(Command::of_system(operation));
            });
            done += part;
            if is_last {
                return;
            }
        }
    }

    /// A process gets room in SRAM for the blocks of its commands.
    fn stage(&mut self, process: u8, words: &mut Words) -> Result<(), CallError> {
        let [bytes, ..] = *words;
        if bytes == 0 || !bytes.is_multiple_of(BLOCK_PACKET_BYTES) {
            return Err(CallError::Invalid);
        }
        if self.state.agent.staging[usize::from(process)].is_some() {
            return Err(CallError::Busy);
        }
        if bytes > self.build.layout.buffer_bytes {
            return Err(CallError::NoMemory);
        }
        let at = self.allocate(process, bytes)?;
        self.state.agent.staging[usize::from(process)] = Some((at, bytes));
        let layout = &self.build.layout;
        words[5] = at - layout.buffers_of(process).start;
        words[6] = layout.commands(process).start;
        words[7] = layout.cachable_buffers(process).start + words[5];
        Ok(())
    }

    /// Channels of a process.
    pub(super) fn channels_of_process(&self) -> u32 {
        self.build.config.channels / u32::from(self.build.layout.processes)
    }

    fn set_channel(&mut self, process: u8, words: &Words) -> Result<(), CallError> {
        let [channel, count, own, value, ..] = *words;
        let each = self.channels_of_process();
        if channel >= each.into() || count > u32::MAX.into() || value > u32::MAX.into() {
            return Err(CallError::Invalid);
        }
        let acknowledge = self.told(process, own, value as u32)?.ok_or(CallError::Invalid)?;
        let channel = u32::from(process) * each + channel as u32;
        let due = self.state.blocks.set_channel(channel as u8, count as u32, acknowledge);
        due.into_iter().for_each(|due| self.acknowledge(due));
        Ok(())
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
