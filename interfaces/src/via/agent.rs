//! The kernel agent: what programs ask of the device through the operating system
//! (Section 6, VI-KA: "services calls to VI primitives other than message send and
//! receive").
//!
//! ```text
//!   program ── ioctl ──► agent ── command ──► firmware
//!                          │ pins pages          │ answers on the process's command page,
//!                          │ lists their frames  │ which the program polls
//! ```
//!
//! The agent gives out numbers (protection tags, VIs, memory handles, completion queues),
//! knows which process has which, and keeps their limits; what VIs do is the firmware's.
//! It pins the pages that the interface is to reach, and writes the addresses of their
//! frames to memory of the system, where the firmware reads them. A page is unpinned when
//! the program asks for that after the firmware has answered, so that none goes while the
//! firmware may use it: those of a region with RELEASE after DEREGISTER or DESTROY_CQ, all
//! that is left with RELEASE after CLOSE. The requests are in [`request`].

mod tables;

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::config::Config;
use super::registers::{COMMAND_WAITS, request};
use crate::device_call::{CallError, DeviceCall, OperatingSystem};
use narthex_memory::main_memory::PAGE_BYTES;
use tables::{FrameLists, Owned, Table};

/// Pages of process memory that a region touches.
fn pages(address: u64, length: u64) -> u64 {
    (address % PAGE_BYTES + length).div_ceil(PAGE_BYTES)
}

/// What a program fills in, then what it gets.
type Words = [u64; request::WORDS];

/// A registered region, or the memory of a completion queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Region {
    address: u64,
    length: u64,
    /// Where its list of frames is.
    list: Range<u64>,
    /// Its protection tag; none for a completion queue.
    tag: Option<u64>,
    /// The firmware has been told to forget it.
    is_leaving: bool,
}

/// A VI: what the agent has to know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Vi {
    tag: u64,
    queues: [u64; 2],
}

/// What a process has opened.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
struct Session {
    /// The address of its command page; none while it has not opened the interface.
    page: Option<u64>,
    /// Commands so far.
    sequence: u64,
    /// It has closed the interface; its command page is for the last answer.
    is_closing: bool,
}

/// The kernel agent of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Agent {
    sessions: Vec<Session>,
    tags: Table<()>,
    vis: Table<Vi>,
    regions: Table<Region>,
    /// Completion queues, each with the handle of its memory.
    queues: Table<u64>,
    lists: FrameLists,
    commands: VecDeque<[u64; request::COMMAND_WORDS]>,
    commands_limit: usize,
    /// Doublewords of the oldest command that the firmware has read.
    read: usize,
}

impl Agent {
    /// An agent to which nobody has spoken.
    pub fn new(config: &Config, processes: u8) -> Self {
        Agent {
            sessions: vec![Session::default(); processes.into()],
            tags: Table::new(config.regions),
            vis: Table::from_zero(config.vis),
            regions: Table::new(config.regions),
            queues: Table::new(config.completion_queues),
            lists: FrameLists::default(),
            commands: VecDeque::new(),
            commands_limit: config.commands as usize,
            read: 0,
        }
    }

    /// Its bit of STATUS.
    pub fn status(&self) -> u64 {
        if self.commands.is_empty() { 0 } else { COMMAND_WAITS }
    }

    /// Processes of the node.
    pub fn processes(&self) -> u64 {
        self.sessions.len() as u64
    }

    /// How many commands wait, and how many may.
    pub fn used(&self) -> (u64, u64) {
        (self.commands.len() as u64, self.commands_limit as u64)
    }

    /// The next doubleword of the oldest command, for the firmware.
    pub fn next_word(&mut self) -> Option<u64> {
        let word = self.commands.front()?[self.read];
        self.read += 1;
        if self.read == request::COMMAND_WORDS {
            self.commands.pop_front();
            self.read = 0;
        }
        Some(word)
    }

    /// A program's call. Its argument is the address of the request's structure.
    ///
    /// # Errors
    /// The error that the program gets.
    pub fn call(&mut self, call: &DeviceCall, system: &mut dyn OperatingSystem) -> Result<i64, CallError> {
        let &DeviceCall { process, request, argument } = call;
        if !(request::OPEN..=request::QUERY).contains(&request) {
            return Err(CallError::UnknownRequest);
        }
        let mut bytes = [0; request::WORDS * 8];
        system.read(argument, &mut bytes)?;
        let mut words: Words = [0; request::WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        }
        self.answer(process, request, &mut words, system)?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        system.write(argument, &bytes)?;
        Ok(0)
    }

    fn session(&mut self, process: u8) -> &mut Session {
        &mut self.sessions[usize::from(process)]
    }

    /// Carries a request out: `words` holds what the program gives, then what it gets.
    fn answer(
        &mut self,
        process: u8,
        request: u64,
        words: &mut Words,
        system: &mut dyn OperatingSystem,
    ) -> Result<(), CallError> {
        let is_open = self.session(process).page.is_some();
        match request {
            request::OPEN if is_open => return Err(CallError::Busy),
            request::OPEN => return self.open(process, words, system),
            _ if !is_open => return Err(CallError::Absent),
            request::RELEASE => {}
            _ if self.session(process).is_closing => return Err(CallError::Absent),
            _ => {}
        }
        match request {
            request::CLOSE => self.close(process, words),
            request::REGISTER => self.register(process, words, system),
            request::DEREGISTER => self.deregister(process, words),
            request::RELEASE => self.release(process, words[0], system),
            request::CREATE_PTAG => {
                words[0] = self.tags.add(process, ())?;
                Ok(())
            }
            request::DESTROY_PTAG => self.destroy_tag(process, words[0]),
            request::CREATE_VI => self.create_vi(process, words),
            request::DESTROY_VI => self.destroy_vi(process, words),
            request::CREATE_CQ => self.create_queue(process, words, system),
            request::DESTROY_CQ => self.destroy_queue(process, words),
            request::QUERY => {
                *words = self.limits();
                Ok(())
            }
            _ => self.connect(process, request, words),
        }
    }

    fn limits(&self) -> Words {
        let counts = [self.vis.limit(), self.tags.limit(), self.regions.limit(), self.queues.limit()];
        let mut words = [0; request::WORDS];
        words[..4].copy_from_slice(&counts);
        words[4] = self.commands_limit as u64;
        words[5] = FrameLists::MOST_PAGES;
        words
    }

    /// Whether one more command can wait.
    fn check_room(&self) -> Result<(), CallError> {
        if self.commands.len() < self.commands_limit { Ok(()) } else { Err(CallError::Again) }
    }

    /// Queues a command; its sequence number.
    fn command(&mut self, process: u8, request: u64, rest: &[u64]) -> u64 {
        let session = self.session(process);
        session.sequence += 1;
        let sequence = session.sequence;
        let mut words = [0; request::COMMAND_WORDS];
        words[0] = request | u64::from(process) << 32;
        words[1] = sequence;
        words[2..2 + rest.len()].copy_from_slice(rest);
        self.commands.push_back(words);
        sequence
    }

    fn open(
        &mut self,
        process: u8,
        words: &mut Words,
        system: &mut dyn OperatingSystem,
    ) -> Result<(), CallError> {
        self.check_room()?;
        let page = words[0];
        if !page.is_multiple_of(PAGE_BYTES) {
            return Err(CallError::Invalid);
        }
        let frame = system.pin(page, PAGE_BYTES)?[0];
        self.session(process).page = Some(page);
        words[1] = self.command(process, request::OPEN, &[frame]);
        Ok(())
    }

    /// Everything of the process goes but its pages, which the firmware may still use.
    fn close(&mut self, process: u8, words: &mut Words) -> Result<(), CallError> {
        self.check_room()?;
        self.vis.remove_all(process);
        self.queues.remove_all(process);
        self.tags.remove_all(process);
        words[0] = self.command(process, request::CLOSE, &[]);
        self.session(process).is_closing = true;
        Ok(())
    }

    /// Pins a range and lists its frames.
    fn pin(
        &mut self,
        process: u8,
        (address, length): (u64, u64),
        tag: Option<u64>,
        system: &mut dyn OperatingSystem,
    ) -> Result<Owned<Region>, CallError> {
        let end = address.checked_add(length).filter(|_| length > 0).ok_or(CallError::Invalid)?;
        if end - address > FrameLists::MOST_PAGES * PAGE_BYTES {
            return Err(CallError::NoMemory);
        }
        let handle = self.regions.free().ok_or(CallError::NoMemory)?;
        let list = self.lists.allocate(pages(address, length)).ok_or(CallError::NoMemory)?;
        let frames = match system.pin(address, length) {
            Ok(frames) => frames,
            Err(error) => {
                self.lists.free(list);
                return Err(error);
            }
        };
        let bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.to_le_bytes()).collect();
        system.write_kernel(list.start, &bytes);
        let region = Region { address, length, list, tag, is_leaving: false };
        Ok(self.regions.put(handle, process, region))
    }

    fn register(
        &mut self,
        process: u8,
        words: &mut Words,
        system: &mut dyn OperatingSystem,
    ) -> Result<(), CallError> {
        self.check_room()?;
        let [address, length, tag, attributes, ..] = *words;
        self.tags.get(process, tag)?;
        let Owned { number, own, .. } = self.pin(process, (address, length), Some(tag), system)?;
        words[4] = number;
        let list = own.list.start;
        words[5] =
            self.command(process, request::REGISTER, &[number, address, length, list, tag, attributes]);
        Ok(())
    }

    fn deregister(&mut self, process: u8, words: &mut Words) -> Result<(), CallError> {
        self.check_room()?;
        let region = self.regions.get_mut(process, words[0])?;
        if region.tag.is_none() || region.is_leaving {
            return Err(CallError::Invalid);
        }
        region.is_leaving = true;
        words[1] = self.command(process, request::DEREGISTER, &[words[0]]);
        Ok(())
    }

    fn release(
        &mut self,
        process: u8,
        handle: u64,
        system: &mut dyn OperatingSystem,
    ) -> Result<(), CallError> {
        if handle == 0 {
            return self.release_page(process, system);
        }
        if !self.regions.get(process, handle)?.is_leaving {
            return Err(CallError::Busy);
        }
        let Region { address, length, list, .. } = self.regions.remove(process, handle)?;
        self.lists.free(list);
        system.unpin(address, length)
    }

    /// The regions and the command page of a process that has closed the interface go.
    fn release_page(&mut self, process: u8, system: &mut dyn OperatingSystem) -> Result<(), CallError> {
        let session = self.session(process);
        if !std::mem::take(&mut session.is_closing) {
            return Err(CallError::Busy);
        }
        let page = session.page.take().expect("it is open");
        for Region { address, length, list, .. } in self.regions.remove_all(process) {
            self.lists.free(list);
            system.unpin(address, length)?;
        }
        system.unpin(page, PAGE_BYTES)
    }

    /// A tag goes that neither a region nor a VI has.
    fn destroy_tag(&mut self, process: u8, tag: u64) -> Result<(), CallError> {
        self.tags.get(process, tag)?;
        let in_use = self.regions.iter().any(|region| region.tag == Some(tag))
            || self.vis.iter().any(|vi| vi.tag == tag);
        if in_use {
            return Err(CallError::Busy);
        }
        self.tags.remove(process, tag)
    }

    fn create_vi(&mut self, process: u8, words: &mut Words) -> Result<(), CallError> {
        self.check_room()?;
        let [tag, attributes, largest, send, receive, ..] = *words;
        self.tags.get(process, tag)?;
        for queue in [send, receive].into_iter().filter(|&queue| queue != 0) {
            self.queues.get(process, queue)?;
        }
        let vi = self.vis.add(process, Vi { tag, queues: [send, receive] })?;
        words[5] = vi;
        words[6] = self.command(process, request::CREATE_VI, &[vi, tag, attributes, largest, send, receive]);
        Ok(())
    }

    fn destroy_vi(&mut self, process: u8, words: &mut Words) -> Result<(), CallError> {
        self.check_room()?;
        self.vis.remove(process, words[0])?;
        words[1] = self.command(process, request::DESTROY_VI, &[words[0]]);
        Ok(())
    }

    fn create_queue(
        &mut self,
        process: u8,
        words: &mut Words,
        system: &mut dyn OperatingSystem,
    ) -> Result<(), CallError> {
        self.check_room()?;
        let [address, length, entries, ..] = *words;
        let queue = self.queues.free().ok_or(CallError::NoMemory)?;
        let Owned { number, own, .. } = self.pin(process, (address, length), None, system)?;
        self.queues.put(queue, process, number);
        (words[3], words[4]) = (queue, number);
        let list = own.list.start;
        words[5] = self.command(process, request::CREATE_CQ, &[queue, address, length, list, entries]);
        Ok(())
    }

    /// A completion queue goes that no VI has.
    fn destroy_queue(&mut self, process: u8, words: &mut Words) -> Result<(), CallError> {
        self.check_room()?;
        let queue = words[0];
        self.queues.get(process, queue)?;
        if self.vis.iter().any(|vi| vi.queues.contains(&queue)) {
            return Err(CallError::Busy);
        }
        let handle = self.queues.remove(process, queue)?;
        self.regions.get_mut(process, handle)?.is_leaving = true;
        words[1] = self.command(process, request::DESTROY_CQ, &[queue]);
        Ok(())
    }

    /// What is about connections: a VI that is named has to be the process's own.
    fn connect(&mut self, process: u8, request: u64, words: &mut Words) -> Result<(), CallError> {
        self.check_room()?;
        let (vi, given) = match request {
            request::CONNECT_REQUEST => (Some(words[0]), 4),
            request::CONNECT_ACCEPT => (Some(words[1]), 2),
            request::DISCONNECT => (Some(words[0]), 1),
            _ => (None, 1),
        };
        if let Some(vi) = vi {
            self.vis.get(process, vi)?;
        }
        let rest = *words;
        words[given] = self.command(process, request, &rest[..given]);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
