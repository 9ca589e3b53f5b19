//! The device's end of a virtqueue: its registers, and what the device reads and writes in memory for it.
//!
//! The device looks at the available ring's index when it is kicked, and again when it has nothing else to
//! read. Before it rests it says in the used ring where it wants the next kick (the event index, or the flag
//! for any), and looks once more: what the driver has made available in between came without a kick
//! (virtio 1.2, Section 2.7.7).
//!
//! ```text
//!              kick                 nothing new                written               nothing new
//!   Asleep ──────────► Looking ──────────────────► Arming ──────────────► Looking ─────────────► Asleep
//!                         │ new chains                                  (armed) │ new chains
//!                         └──────────────────────► Working ◄────────────────────┘
//!                         ▲     all have been read    │
//!                         └───────────────────────────┘
//! ```

use std::ops::Range;

use narthex_memory::{Response, Transaction};
use serde::{Deserialize, Serialize};

use super::chains::{Chain, Chains, Table};
use super::used::UsedRing;
use super::{
    AVAILABLE_BYTES, NO_INTERRUPT, NO_NOTIFY, Parts, Purpose, QueueMemory, RING_HEAD_BYTES, available_bytes,
    used_bytes,
};
use crate::half::RegisterFault;
use crate::host_memory::{Dma, Piece};
use crate::programming::Register;

/// The rule that can be left out: a device that has asked for a kick looks at the index once more.
pub const LOOK_AGAIN: &str = "look-again";
/// Most descriptors of a queue (virtio 1.2, Section 2.7).
const LARGEST_QUEUE: u64 = 32_768;

/// What the device knows of the available ring's index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Watch {
    /// Nothing new, and the next kick comes.
    Asleep,
    /// It reads the index.
    Looking {
        /// A kick comes for what is not there yet.
        armed: bool,
    },
    /// It writes where the driver is to kick.
    Arming,
    /// There are chains to be read.
    Working,
}

/// The device's end of a virtqueue.
#[derive(Clone, Hash, Debug, Serialize, Deserialize)]
pub struct Queue {
    memory: QueueMemory,
    number: u64,
    prefetch: u64,
    event_index: bool,
    interrupts: bool,
    thresholds: u64,
    /// The values of its registers; 0 before the driver has stored them.
    registers: [u64; 4],
    is_enabled: bool,
    table: Table,
    dma: Dma<Purpose>,
    watch: Watch,
    /// A kick that has come while the device did not sleep.
    kicked: bool,
    /// Running numbers of the first chain of which the index does not tell, and of the first one whose entry has
    /// not been asked for.
    known: u64,
    asked: u64,
    /// The chains that are being read, or are whole.
    pub chains: Chains,
    /// The used ring.
    pub used: UsedRing,
    /// Whether [`LOOK_AGAIN`] is left out.
    pub rests_at_once: bool,
}

/// Places of the registers in the list of them.
const SIZE: usize = 0;
const DESCRIPTORS: usize = 1;
const DRIVER: usize = 2;
const DEVICE: usize = 3;
const ENABLE: usize = 4;
const THRESHOLDS: usize = 5;
const NOTIFY: usize = 6;

/// The vector of its interrupts.
const VECTOR: u8 = 0;

/// Whether an index that goes from one number to another passes the event (vring_need_event, Section 2.7.10.1).
pub fn is_passed(event: u16, from: u16, until: u16) -> bool {
    until.wrapping_sub(event).wrapping_sub(1) < until.wrapping_sub(from)
}

/// Whether a store of so many bytes at an offset is a kick.
pub fn is_kick(registers: &[Register; 7], offset: u64, bytes: u16) -> bool {
    registers[NOTIFY].1 == offset && bytes == 2
}

impl Queue {
    /// A queue that the driver has still to enable. `is_written`: its buffers are for the device to write.
    pub fn new(parts: &Parts, number: u64, is_written: bool) -> Self {
        let Parts { agent, memory, merges_there, prefetch, transactions, .. } = parts;
        let Parts { event_index, interrupts, thresholds, .. } = parts;
        let block_bytes = memory.block_bytes;
        Queue {
            memory: memory.clone(),
            number,
            prefetch: *prefetch,
            event_index: *event_index,
            interrupts: *interrupts,
            thresholds: *thresholds,
            registers: [0; 4],
            is_enabled: false,
            table: Table { address: 0, size: 0, memory: memory.range(), block_bytes, is_written },
            dma: Dma::new(*agent, (block_bytes, *merges_there), *transactions)
                .with_vectors((*interrupts).into()),
            watch: Watch::Asleep,
            kicked: false,
            known: 0,
            asked: 0,
            chains: Chains::default(),
            used: UsedRing::new(block_bytes, *merges_there),
            rests_at_once: false,
        }
    }

    /// The memory in which queue and buffers lie.
    pub fn memory(&self) -> &QueueMemory {
        &self.memory
    }

    /// Chains that the driver has made available and the device is not done with, as far as it knows.
    pub fn left(&self) -> u64 {
        self.known - self.used.done()
    }

    /// All chains that the driver has made available, as far as the device knows.
    pub fn made_available(&self) -> u64 {
        self.known
    }

    /// Whether it does nothing before the next kick.
    pub fn rests(&self) -> bool {
        self.watch == Watch::Asleep && self.dma.is_idle() && self.chains.is_empty()
    }

    /// What the driver reads from the register at an offset, if that is one of `registers`.
    pub fn load(&self, registers: &[Register; 7], offset: u64) -> Option<Result<u64, RegisterFault>> {
        if let Some(loaded) = self.dma.vectors.load(offset).filter(|_| self.interrupts) {
            return Some(Ok(loaded));
        }
        let place = registers.iter().position(|&(_, own, _)| own == offset)?;
        Some(match place {
            SIZE..=DEVICE => Ok(self.registers[place]),
            ENABLE => Ok(self.is_enabled.into()),
            THRESHOLDS => Ok(self.thresholds),
            _ => Err(RegisterFault(format!("{} is loaded; it can only be stored", registers[place].0))),
        })
    }

    /// The driver stores to the register at an offset, if that is one of `registers`: whether it is a kick, and
    /// what is wrong with it.
    pub fn store(
        &mut self,
        registers: &[Register; 7],
        offset: u64,
        value: u64,
    ) -> Option<(bool, Result<(), RegisterFault>)> {
        if self.interrupts
            && let Some(stored) = self.dma.vectors.store(offset, value)
        {
            return Some((false, stored));
        }
        let place = registers.iter().position(|&(_, own, _)| own == offset)?;
        let stored = match place {
            _ if place <= ENABLE && self.is_enabled => Err(format!("{value:#x}; the queue is in use")),
            SIZE => self.store_size(value),
            DESCRIPTORS => self.store_place(place, value, 16),
            DRIVER => self.store_place(place, value, 2),
            DEVICE => self.store_place(place, value, self.memory.block_bytes),
            ENABLE => self.enable(value),
            THRESHOLDS => Err(format!("{value:#x}; the machine's file says what they are")),
            _ => self.kick(value),
        };
        let name = registers[place].0;
        let stored = stored.map_err(|problem| RegisterFault(format!("{name} is stored with {problem}")));
        Some((place == NOTIFY, stored))
    }

    fn store_size(&mut self, value: u64) -> Result<(), String> {
        let most = LARGEST_QUEUE.min(self.memory.entries);
        if !value.is_power_of_two() || value > most {
            return Err(format!("{value} descriptors; a power of two up to {most} is possible"));
        }
        self.registers[SIZE] = value;
        Ok(())
    }

    fn store_place(&mut self, place: usize, value: u64, alignment: u64) -> Result<(), String> {
        let Range { start, end } = self.memory.range();
        let size = self.registers[SIZE];
        let bytes = [0, size * super::DESCRIPTOR_BYTES, available_bytes(size), used_bytes(size)][place];
        let is_inside = value >= start && value.checked_add(bytes).is_some_and(|behind| behind <= end);
        if size == 0 || !is_inside || !value.is_multiple_of(alignment) {
            return Err(format!(
                "{value:#x}; it is stored behind the queue's size, is a multiple of {alignment}, and its {bytes} bytes \
                 lie from {start:#x} to {end:#x}, in the process's memory for it"
            ));
        }
        self.registers[place] = value;
        Ok(())
    }

    fn enable(&mut self, value: u64) -> Result<(), String> {
        if value != 1 || self.registers.contains(&0) {
            return Err(format!("{value}; expected 1, behind the queue's size and its three places"));
        }
        self.is_enabled = true;
        (self.table.address, self.table.size) = (self.registers[DESCRIPTORS], self.registers[SIZE]);
        self.used.begin(self.registers[DEVICE], self.registers[SIZE]);
        Ok(())
    }

    fn kick(&mut self, value: u64) -> Result<(), String> {
        let number = self.number;
        if value != number {
            return Err(format!(
                "{value}; there is no such queue here, this is the register of queue {number}"
            ));
        }
        if !self.is_enabled {
            return Err(format!("{value}, and queue {number} is not enabled"));
        }
        self.kicked = true;
        self.wake();
        Ok(())
    }

    fn wake(&mut self) {
        if self.kicked && self.watch == Watch::Asleep {
            self.need_no_kicks();
            self.look(false);
        }
    }

    /// Without the event index a flag says that the device looks by itself.
    fn need_no_kicks(&mut self) {
        if !self.event_index {
            self.used.write_flags(&mut self.dma, NO_NOTIFY, None);
        }
    }

    fn look(&mut self, armed: bool) {
        (self.watch, self.kicked) = (Watch::Looking { armed }, false);
        self.dma.read(Purpose::Index, vec![Piece { address: self.registers[DRIVER] + 2, bytes: 2 }]);
    }

    fn arm(&mut self) {
        self.watch = Watch::Arming;
        match self.event_index {
            true => self.used.write_event(&mut self.dma, self.known, Purpose::Armed),
            false => self.used.write_flags(&mut self.dma, 0, Some(Purpose::Armed)),
        }
    }

    /// Asks for what is to be read next of the rings. `is_idle`: the half has asked for the buffers of all chains.
    pub fn fetch(&mut self, is_idle: bool) {
        while self.asked < self.known && self.asked - self.used.done() < self.prefetch {
            let place = self.asked % self.table.size;
            let address = self.registers[DRIVER] + RING_HEAD_BYTES + place * AVAILABLE_BYTES;
            let room = self.prefetch - (self.asked - self.used.done());
            let of_block = (self.memory.block_bytes - address % self.memory.block_bytes) / AVAILABLE_BYTES;
            let count = (self.known - self.asked).min(room).min(self.table.size - place).min(of_block);
            self.asked += count;
            let piece = Piece { address, bytes: (count * AVAILABLE_BYTES) as usize };
            self.dma.read(Purpose::Heads { count }, vec![piece]);
        }
        if self.watch == Watch::Working
            && self.asked == self.known
            && self.chains.are_whole(self.asked)
            && is_idle
        {
            self.look(false);
        }
    }

    /// Something of the rings has come.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn take_in(&mut self, purpose: Purpose, bytes: &[u8]) -> Result<(), RegisterFault> {
        match purpose {
            Purpose::Index => self.take_index(u16::from_le_bytes([bytes[0], bytes[1]])),
            Purpose::Heads { .. } => self.chains.begin(&self.table, bytes, &mut self.dma),
            Purpose::Firsts { chain, .. } | Purpose::Further { chain } => {
                self.chains.add(&self.table, (chain, bytes), &mut self.dma)
            }
            _ => unreachable!("it is no part of the rings"),
        }
    }

    fn take_index(&mut self, index: u16) -> Result<(), RegisterFault> {
        let ahead = u64::from(index.wrapping_sub(self.known as u16));
        let (size, left) = (self.table.size, self.left());
        if left + ahead > size {
            return Err(RegisterFault(format!(
                "the available ring at {:#x}: its index {index} is {ahead} ahead of the device, which has {left} of \
                 the queue's {size} descriptors; the device needs a reset (DEVICE_NEEDS_RESET)",
                self.registers[DRIVER]
            )));
        }
        let Watch::Looking { armed } = self.watch else { unreachable!("it looks") };
        self.known += ahead;
        match ahead {
            0 if self.kicked => self.look(armed),
            0 if armed => self.watch = Watch::Asleep,
            0 => self.arm(),
            _ => {
                self.watch = Watch::Working;
                if armed {
                    self.need_no_kicks();
                }
            }
        }
        Ok(())
    }

    /// Something of the rings is written.
    pub fn written(&mut self, purpose: Purpose) {
        match purpose {
            Purpose::Armed if self.rests_at_once => {
                self.watch = Watch::Asleep;
                self.wake();
            }
            Purpose::Armed => self.look(true),
            Purpose::Used { until } => {
                let from = self.used.told();
                self.used.mark_told(until);
                self.ask_whether_wanted(from, until);
                self.used.tell(&mut self.dma);
            }
            _ => unreachable!("it is no part of the rings"),
        }
    }

    /// Reads what the driver says of interrupts, behind the used index that it may have missed.
    fn ask_whether_wanted(&mut self, from: u64, until: u64) {
        if self.interrupts {
            let ring = self.registers[DRIVER];
            let behind = RING_HEAD_BYTES + self.registers[SIZE] * AVAILABLE_BYTES;
            let address = if self.event_index { ring + behind } else { ring };
            self.dma.read(Purpose::Wanted { from, until }, vec![Piece { address, bytes: 2 }]);
        }
    }

    /// What the driver says of interrupts has come: whether there is one for what the used ring tells from one number
    /// to another.
    pub fn interrupt_if_wanted(&mut self, (from, until): (u64, u64), said: u16) -> bool {
        let is_wanted = match self.event_index {
            true => is_passed(said, from as u16, until as u16),
            false => said & NO_INTERRUPT == 0,
        };
        if is_wanted {
            self.dma.vectors.raise(VECTOR);
        }
        is_wanted
    }

    /// The device is done with a chain and has written so many bytes of it; memory is told.
    pub fn finish(&mut self, head: u16, bytes: u64) {
        self.used.finish(head, bytes);
        self.used.tell(&mut self.dma);
    }

    /// Reads all buffers of a chain.
    pub fn read_packet(&mut self, chain: Chain) {
        self.dma.read(Purpose::Packet, chain.buffers);
    }

    /// Writes bytes to a buffer.
    pub fn write_packet(&mut self, address: u64, bytes: Vec<u8>, purpose: Option<Purpose>) {
        self.dma.write(purpose, address, bytes);
    }

    /// Refuses a chain.
    pub fn fault(&self, head: u16, problem: &str) -> RegisterFault {
        self.table.fault(head, problem)
    }

    /// Whether it wants the interconnect, and the next transaction.
    pub fn wants(&self) -> bool {
        self.dma.wants()
    }

    /// The next transaction.
    pub fn issue(&mut self) -> Option<Transaction> {
        self.dma.issue()
    }

    /// A transaction is over.
    pub fn complete(&mut self, transaction: &Transaction, response: &Response) {
        self.dma.complete(transaction, response);
    }

    /// The oldest read, once it is whole.
    pub fn take_read(&mut self) -> Option<(Purpose, Vec<u8>)> {
        self.dma.take_read()
    }

    /// The oldest write, once it is done: what it was for.
    pub fn take_write(&mut self) -> Option<Option<Purpose>> {
        self.dma.take_write()
    }

    /// Whether a register is its own: one of `registers`, or one of the vectors.
    pub fn has(&self, registers: &[Register; 7], offset: u64) -> bool {
        let is_vectors = self.interrupts && self.dma.vectors.load(offset).is_some();
        is_vectors || registers.iter().any(|&(_, own, _)| own == offset)
    }

    /// What it is at.
    pub fn doing(&self) -> Option<&'static str> {
        self.dma.doing()
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
