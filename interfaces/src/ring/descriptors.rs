//! A ring of descriptors in the process's memory, and those of them that the interface holds.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;

use narthex_memory::{AgentId, BlockData, Kind, Transaction};
use serde::{Deserialize, Serialize};

use super::RingMemory;
use super::tail::WatchedTail;
use crate::cachable_queue::copies::Copies;
use crate::half::{Context, RegisterFault};

/// Bytes of a descriptor: an address, and a doubleword of control.
pub const DESCRIPTOR_BYTES: u64 = 16;
/// Control: bits of the length in bytes of what is in the buffer.
pub const LENGTH: u64 = 0xffff;
/// Control, set by the driver: the interface is to report that the packet has been sent.
pub const REPORT: u64 = 1 << 27;
/// Control, set by the interface: it is done with descriptor and buffer.
pub const DONE: u64 = 1 << 32;
/// Most descriptors of a ring.
pub const LARGEST_RING: u64 = 8192;

/// The registers of a ring, in the order of their offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RingRegister {
    /// Where the ring begins.
    Base,
    /// Descriptors in it.
    Size,
    /// The first descriptor that the interface is not done with.
    Head,
    /// The first descriptor that the driver has not handed over.
    Tail,
    /// The machine's thresholds, for the driver.
    Thresholds,
}

impl RingRegister {
    /// All of them.
    pub const ALL: [RingRegister; 5] = [
        RingRegister::Base,
        RingRegister::Size,
        RingRegister::Head,
        RingRegister::Tail,
        RingRegister::Thresholds,
    ];
}

/// What a buffer holds, or is to hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Descriptor {
    /// Where the buffer begins.
    pub address: u64,
    /// [`LENGTH`], [`REPORT`], [`DONE`].
    pub control: u64,
}

impl Descriptor {
    /// Bytes in the buffer.
    pub fn length(self) -> u64 {
        self.control & LENGTH
    }
}

/// A block of descriptors to be read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Fetch {
    /// The block.
    pub address: u64,
    /// Those of its descriptors that are new: the first of them, and how many.
    first: u64,
    count: u64,
}

impl Fetch {
    /// New descriptors in the block.
    pub fn count(self) -> u64 {
        self.count
    }
}

/// A ring.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct Ring {
    memory: RingMemory,
    block_bytes: u64,
    prefetch: u64,
    thresholds: u64,
    /// The values of its registers; 0 before the driver has stored them.
    base: u64,
    size: u64,
    /// Running numbers of the first descriptor that has not been handed over, asked for, fetched,
    /// done, written back.
    tail: u64,
    asked: u64,
    fetched: u64,
    done: u64,
    written: u64,
    /// The fetched descriptors from the first block on that is not written back as a whole.
    held: VecDeque<Descriptor>,
    /// Blocks that have come before others that were asked for earlier.
    early: Vec<(Fetch, BlockData)>,
    /// Its tail, where that is in memory.
    pub(super) watched: Option<WatchedTail>,
}

impl Ring {
    /// A ring whose place and size the driver has still to store, with a copy of its tail if that is in
    /// memory.
    pub fn new(
        memory: RingMemory,
        block_bytes: u64,
        prefetch: u64,
        thresholds: u64,
        tail_copy: Option<Copies>,
    ) -> Self {
        let watched = tail_copy.map(|copy| WatchedTail::new(memory.tail(), copy));
        Ring {
            watched,
            memory,
            block_bytes,
            prefetch,
            thresholds,
            base: 0,
            size: 0,
            tail: 0,
            asked: 0,
            fetched: 0,
            done: 0,
            written: 0,
            held: VecDeque::new(),
            early: Vec::new(),
        }
    }

    /// Descriptors in a block.
    pub fn of_block(&self) -> u64 {
        self.block_bytes / DESCRIPTOR_BYTES
    }

    /// Running number of the next descriptor that the interface will be done with.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Descriptors that the driver has handed over and the interface is not done with.
    pub fn left(&self) -> u64 {
        self.tail - self.done
    }

    /// All descriptors that the driver has handed over so far.
    pub fn handed_over(&self) -> u64 {
        self.tail
    }

    /// Descriptors that the interface is done with and has not written back.
    pub fn unwritten(&self) -> u64 {
        self.done - self.written
    }

    /// The memory in which ring and buffers lie.
    pub fn memory(&self) -> &RingMemory {
        &self.memory
    }

    /// What the driver reads from a register.
    pub fn load(&self, register: RingRegister) -> u64 {
        match register {
            RingRegister::Base => self.base,
            RingRegister::Size => self.size,
            RingRegister::Head => self.done % self.size.max(1),
            RingRegister::Tail => self.tail % self.size.max(1),
            RingRegister::Thresholds => self.thresholds,
        }
    }

    /// The driver stores to a register. `whole_blocks`: the tail moves by whole blocks, because the
    /// interface may write a block back before all of its descriptors are done.
    ///
    /// # Errors
    /// Which values are allowed, without the register's name.
    pub fn store(&mut self, register: RingRegister, value: u64, whole_blocks: bool) -> Result<(), String> {
        match register {
            RingRegister::Base => self.store_base(value),
            RingRegister::Size => self.store_size(value),
            RingRegister::Head => Err(format!("{value}; the interface alone moves the head")),
            RingRegister::Tail if self.watched.is_some() => {
                let place = self.memory.tail();
                Err(format!("{value}; the interface reads the ring's tail in memory, at {place:#x}"))
            }
            RingRegister::Tail => self.store_tail(value, whole_blocks),
            RingRegister::Thresholds => Err(format!("{value:#x}; the machine's file says what they are")),
        }
    }

    fn check_unused(&self, value: u64) -> Result<(), String> {
        match self.tail {
            0 => Ok(()),
            _ => Err(format!("{value:#x}; the ring is in use, its tail has been stored")),
        }
    }

    fn store_base(&mut self, value: u64) -> Result<(), String> {
        self.check_unused(value)?;
        let Range { start, end } = self.memory.range();
        if !(start..end).contains(&value) || !value.is_multiple_of(self.block_bytes) {
            let block_bytes = self.block_bytes;
            return Err(format!(
                "{value:#x}; a ring begins with a block of {block_bytes} bytes from {start:#x} to {end:#x}, the \
                 process's memory for it"
            ));
        }
        self.base = value;
        Ok(())
    }

    fn store_size(&mut self, value: u64) -> Result<(), String> {
        self.check_unused(value)?;
        let room = (self.memory.range().end - self.base.max(self.memory.start)) / DESCRIPTOR_BYTES;
        let (least, most) = (self.of_block().max(2), LARGEST_RING.min(room));
        if !value.is_power_of_two() || !(least..=most).contains(&value) {
            return Err(format!("{value} descriptors; a power of two from {least} to {most} is possible"));
        }
        self.size = value;
        Ok(())
    }

    fn store_tail(&mut self, value: u64, whole_blocks: bool) -> Result<(), String> {
        if self.base == 0 || self.size == 0 {
            return Err(format!("{value} before the ring's place and its size are known"));
        }
        if value >= self.size {
            let last = self.size - 1;
            return Err(format!("{value}, beyond the ring, whose descriptors are 0 to {last}"));
        }
        if whole_blocks && !value.is_multiple_of(self.of_block()) {
            let of_block = self.of_block();
            return Err(format!(
                "{value}; descriptors are handed over by whole blocks, which the interface writes back as such: in \
                 multiples of {of_block}"
            ));
        }
        self.tail += value.wrapping_sub(self.tail) & (self.size - 1);
        Ok(())
    }

    /// The block with the tail, if the interface has to read that: it knows of no more descriptors to
    /// be fetched.
    pub fn tail_to_read(&self) -> Option<u64> {
        let watched = self.watched.as_ref()?;
        let is_idle = self.base != 0 && self.size != 0 && self.asked == self.tail;
        if is_idle { watched.block_to_read() } else { None }
    }

    /// The transaction that reads the block with the tail.
    pub fn ask_for_tail(&mut self, agent: AgentId, block: u64) -> Transaction {
        self.watched.as_mut().expect("the tail is in memory").ask();
        Transaction::block(agent, Kind::ReadExclusive, block)
    }

    /// The block with the tail has come; whether the driver has moved the tail. A wrong tail is a fault,
    /// and the ring is given up.
    pub fn take_in_tail(&mut self, context: &mut Context<'_>, block: &BlockData, whole_blocks: bool) -> bool {
        let value = self.watched.as_mut().expect("the tail is in memory").take_in(block);
        if self.size == 0 {
            return false;
        }
        let before = self.tail;
        if let Err(problem) = self.store_tail(value, whole_blocks) {
            let place = self.memory.tail();
            context.faults.push(RegisterFault(format!("the ring's tail at {place:#x} is {problem}")));
            self.give_up();
        }
        self.tail != before
    }

    /// The address of the block with this descriptor.
    fn block_with(&self, number: u64) -> u64 {
        let offset = (number & (self.size - 1)) * DESCRIPTOR_BYTES;
        self.base + offset - offset % self.block_bytes
    }

    /// The next block of descriptors to be read, if the driver has handed over new ones and the
    /// interface has room for those of the block.
    pub fn next_fetch(&self) -> Option<Fetch> {
        let of_block = self.of_block();
        let first = self.asked;
        let count = (of_block - first % of_block).min(self.tail - first);
        let has_room = first - self.done + count <= self.prefetch;
        (count > 0 && has_room).then(|| Fetch { address: self.block_with(first), first, count })
    }

    /// The next block of descriptors is being read.
    pub fn ask(&mut self, fetch: Fetch) {
        self.asked += fetch.count;
    }

    /// A block of descriptors has come, in any order. It is ignored if the ring has been given up.
    pub fn take_in(&mut self, fetch: Fetch, block: &BlockData) {
        match fetch.first.cmp(&self.fetched) {
            Ordering::Less => return,
            Ordering::Equal => self.hold(fetch, block),
            Ordering::Greater => self.early.push((fetch, block.clone())),
        }
        while let Some(next) = self.early.iter().position(|(fetch, _)| fetch.first == self.fetched) {
            let (fetch, block) = self.early.swap_remove(next);
            self.hold(fetch, &block);
        }
    }

    fn hold(&mut self, fetch: Fetch, block: &BlockData) {
        let first = (fetch.first % self.of_block() * DESCRIPTOR_BYTES) as usize;
        let places = (0..fetch.count as usize).map(|place| first + place * DESCRIPTOR_BYTES as usize);
        self.held
            .extend(places.map(|at| Descriptor { address: block.word(at), control: block.word(at + 8) }));
        self.fetched += fetch.count;
    }

    /// The number of the first descriptor that is held.
    fn first_held(&self) -> u64 {
        self.written - self.written % self.of_block()
    }

    /// A descriptor that the interface has.
    pub fn descriptor(&self, number: u64) -> Option<Descriptor> {
        self.held.get((number - self.first_held()) as usize).copied()
    }

    /// Refuses a descriptor, or the packet behind it.
    pub fn fault(&self, number: u64, problem: &str) -> RegisterFault {
        let place = number & (self.size - 1);
        RegisterFault(format!("descriptor {place} of the ring at {:#x}: {problem}", self.base))
    }

    /// Refuses a descriptor whose buffer is not a place for `bytes` bytes.
    ///
    /// # Errors
    /// Which descriptor it is, and what its buffer has to be.
    pub fn check_buffer(&self, number: u64, address: u64, bytes: u64) -> Result<(), RegisterFault> {
        let Range { start, end } = self.memory.range();
        let is_inside = address >= start && address.checked_add(bytes).is_some_and(|behind| behind <= end);
        if is_inside && address.is_multiple_of(self.block_bytes) {
            return Ok(());
        }
        let block_bytes = self.block_bytes;
        Err(self.fault(
            number,
            &format!(
                "its buffer of {bytes} bytes is at {address:#x}; it begins with a block of {block_bytes} bytes, and \
                 lies from {start:#x} to {end:#x}, in the process's memory for it"
            ),
        ))
    }

    /// The interface is done with the next descriptor, which has this control from now on.
    pub fn finish(&mut self, control: u64) {
        let place = (self.done - self.first_held()) as usize;
        self.held[place].control = control;
        self.done += 1;
    }

    /// Stops the work on all that the driver has handed over; it can hand over no more.
    pub fn give_up(&mut self) {
        self.size = 0;
        (self.asked, self.fetched, self.done, self.written) = (self.tail, self.tail, self.tail, self.tail);
        self.held.clear();
        self.early.clear();
    }

    /// Drops the blocks that are done and of which no report was asked for, without writing them back.
    pub fn drop_unreported(&mut self) {
        let of_block = self.of_block() as usize;
        while self.has_done_block() && self.held[of_block - 1].control & REPORT == 0 {
            self.mark_written(self.first_held() + of_block as u64);
        }
    }

    /// Whether all descriptors of the first block are done.
    pub fn has_done_block(&self) -> bool {
        self.done >= self.first_held() + self.of_block()
    }

    /// The first block that is not written back as a whole: its address, its descriptors, and the number of
    /// the descriptor behind those in it that are done. It has been fetched.
    pub fn block_to_write(&self) -> (u64, BlockData, u64) {
        let mut block = BlockData::zeroed(self.block_bytes as usize);
        for (place, descriptor) in self.held.iter().take(self.of_block() as usize).enumerate() {
            block.set_word(place * DESCRIPTOR_BYTES as usize, descriptor.address);
            block.set_word(place * DESCRIPTOR_BYTES as usize + 8, descriptor.control);
        }
        let first = self.first_held();
        (self.block_with(first), block, self.done.min(first + self.of_block()))
    }

    /// The driver can see the descriptors before this number.
    pub fn mark_written(&mut self, until: u64) {
        if until <= self.written {
            return;
        }
        let first = self.first_held();
        self.written = until;
        self.held.drain(..(self.first_held() - first) as usize);
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
