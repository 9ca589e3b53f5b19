//! What lies where: the parts of both SRAM banks, and what programs see of them.
//!
//! ```text
//!   bank A:  shadow words | slots of the miss queue | the firmware's part | process 0 | process 1 ...
//!   bank B:  translation table of process 0 | of process 1 ... | headers of the miss queue | transfers | the firmware's part
//! ```

use std::ops::Range;

use narthex_memory::main_memory::PAGE_BYTES;

use super::agent::TRANSFER_BYTES;
use super::config::Config;
use super::registers::{
    BANK_B, BUFFERS, CACHABLE_ENTRIES, COMMAND_WINDOW, RECEIVE_WINDOWS, SERVICED, SHADOW_BYTES, SLOT_BYTES,
    SNOOPED, TRANSMIT_WINDOWS, UNCACHED_BUFFERS,
};
use crate::models::Problem;
use crate::registers::{Addresses, PROCESS_STRIDE};

/// Bytes of an entry of a translation table.
pub const ENTRY_BYTES: u64 = 8;

/// Which way a queue goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum Direction {
    /// From a program to the network.
    Transmit,
    /// From the network to a program.
    Receive,
}

impl Direction {
    /// Both, in the order in which their queues are numbered.
    pub const BOTH: [Direction; 2] = [Direction::Transmit, Direction::Receive];

    /// That of a field that tells whether it is receive.
    pub fn of(is_receive: bool) -> Self {
        if is_receive { Direction::Receive } else { Direction::Transmit }
    }

    /// What words call it.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Transmit => "transmit",
            Direction::Receive => "receive",
        }
    }
}

/// A place that a program sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodedAddress {
    /// The pointer window of a logical queue, at an offset.
    Window(Direction, u8, u64),
    /// SRAM, by its address.
    Sram(u64),
    /// Serviced space of a process, at an offset.
    Serviced(u8, u64),
    /// The command window of a process, at an offset.
    Commands(u8, u64),
}

/// Where everything is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Processes of the node.
    pub processes: u8,
    /// Logical queues of a process, of each direction.
    pub queues: u16,
    /// Slots of the miss queue, in bank A.
    pub miss: u64,
    /// Its header doublewords, in bank B.
    pub miss_headers: u64,
    /// Where transfers by hardware pass, in bank B.
    pub transfers: u64,
    /// The firmware's part of bank A.
    pub firmware_a: Range<u64>,
    /// The firmware's part of bank B.
    pub firmware_b: Range<u64>,
    /// Where process 0's part of bank A begins, and bytes of each process's.
    pub buffers: u64,
    /// Bytes of a process's part of bank A.
    pub buffer_bytes: u64,
    /// Entries of a process's translation table.
    pub destinations: u64,
    /// Bytes of a process's snooped space.
    pub snooped: u64,
    logical: u64,
    bytes: [u64; 2],
}

impl Layout {
    /// Where everything is with these parameters.
    ///
    /// # Errors
    /// If a bank has not room for all of it.
    pub fn new(config: &Config, processes: u8) -> Result<Self, Problem> {
        let bytes = [config.sram_a.as_u64(), config.sram_b.as_u64()];
        let queues = config.queues_of_process(processes);
        let logical = u64::from(config.logical_queues);
        let miss = 2 * logical * SHADOW_BYTES;
        let firmware_a = miss + u64::from(config.miss_slots) * SLOT_BYTES;
        let buffers = (firmware_a + config.firmware_bytes.as_u64()).next_multiple_of(PAGE_BYTES);
        let each = bytes[0].saturating_sub(buffers) / u64::from(processes) / PAGE_BYTES * PAGE_BYTES;
        if each == 0 {
            let problem = format!(
                "{} has no page left for each of {processes} processes behind the shadow words of {logical} \
                 queues, {} slots of the miss queue and {} of the firmware (firmware_bytes): {} are needed",
                config.sram_a,
                config.miss_slots,
                config.firmware_bytes,
                narthex_kernel::quantity::Bytes::new(buffers + u64::from(processes) * PAGE_BYTES)
            );
            return Err(Problem { key: "sram_a".into(), problem });
        }
        let destinations = u64::from(config.destinations);
        let headers = u64::from(processes) * destinations * ENTRY_BYTES;
        let transfers = (headers + u64::from(config.miss_slots) * 8).next_multiple_of(SHADOW_BYTES);
        let firmware_b = transfers + TRANSFER_BYTES;
        if firmware_b > bytes[1] {
            let problem = format!(
                "{} has not room for {destinations} destinations of {processes} processes of 8 bytes each \
                 (destinations), {} headers of the miss queue and {TRANSFER_BYTES} bytes of transfers",
                config.sram_b, config.miss_slots
            );
            return Err(Problem { key: "sram_b".into(), problem });
        }
        Ok(Layout {
            processes,
            queues: queues as u16,
            miss,
            miss_headers: BANK_B + headers,
            transfers: BANK_B + transfers,
            firmware_a: firmware_a..buffers,
            firmware_b: BANK_B + firmware_b..BANK_B + bytes[1],
            buffers,
            buffer_bytes: each,
            destinations,
            snooped: config.snooped.as_u64(),
            logical,
            bytes,
        })
    }

    /// Bytes of both banks.
    pub fn bank_bytes(&self) -> [u64; 2] {
        self.bytes
    }

    /// The part of bank A that is a process's.
    pub fn buffers_of(&self, process: u8) -> Range<u64> {
        let start = self.buffers + u64::from(process) * self.buffer_bytes;
        start..start + self.buffer_bytes
    }

    /// The SRAM address of a logical queue's shadow words.
    pub fn shadow(&self, direction: Direction, logical: u8) -> u64 {
        (direction as u64 * self.logical + u64::from(logical)) * SHADOW_BYTES
    }

    /// The SRAM address of a process's translation table.
    pub fn translation(&self, process: u8) -> u64 {
        BANK_B + u64::from(process) * self.destinations * ENTRY_BYTES
    }

    /// The process of a logical queue.
    pub fn owner(&self, logical: u8) -> u8 {
        (u16::from(logical) / self.queues) as u8
    }

    /// The node's number of a process's queue.
    pub fn logical(&self, process: u8, own: u8) -> u8 {
        (u16::from(process) * self.queues + u16::from(own)) as u8
    }

    /// The pointer windows of a process.
    pub fn windows(&self, process: u8) -> [Range<u64>; 2] {
        let part = part(process);
        let bytes = u64::from(self.queues) * PAGE_BYTES;
        [TRANSMIT_WINDOWS, RECEIVE_WINDOWS].map(|start| part + start..part + start + bytes)
    }

    /// The pointer window of a logical queue.
    pub fn window(&self, direction: Direction, logical: u8) -> u64 {
        let windows = &self.windows(self.owner(logical))[direction as usize];
        windows.start + u64::from(u16::from(logical) % self.queues) * PAGE_BYTES
    }

    /// Where a process finds its part of bank A, cachable.
    pub fn cachable_buffers(&self, process: u8) -> Range<u64> {
        let start = part(process) + BUFFERS;
        start..start + self.buffer_bytes
    }

    /// The same, uncached.
    pub fn uncached_buffers(&self, process: u8) -> Range<u64> {
        let start = part(process) + UNCACHED_BUFFERS;
        start..start + self.buffer_bytes
    }

    /// A process's page of serviced space.
    pub fn serviced(&self, process: u8) -> Range<u64> {
        let start = part(process) + SERVICED;
        start..start + PAGE_BYTES
    }

    /// A process's command window.
    pub fn commands(&self, process: u8) -> Range<u64> {
        let start = part(process) + COMMAND_WINDOW;
        start..start + PAGE_BYTES
    }

    /// A process's part of the snooped space.
    pub fn snooped(&self, process: u8) -> Range<u64> {
        let start = part(process) + SNOOPED;
        start..start + self.snooped
    }

    /// Entries of a process's cachable queues, a power of two: as many as its snooped space
    /// has room for twice. 0 if there is none.
    pub fn cachable_slots(&self) -> u64 {
        let most = self.snooped.saturating_sub(CACHABLE_ENTRIES) / 2 / SLOT_BYTES;
        most.checked_ilog2().map_or(0, |bits| 1 << bits)
    }

    /// Where a process's cachable queue of a direction begins.
    pub fn cachable_queue(&self, direction: Direction, process: u8) -> u64 {
        let bytes = self.cachable_slots() * SLOT_BYTES;
        self.snooped(process).start + CACHABLE_ENTRIES + direction as u64 * bytes
    }

    /// What is at an address of the host's bus.
    pub fn place(&self, address: u64) -> Option<DecodedAddress> {
        let process = Addresses::process_at(address).filter(|&process| process < self.processes)?;
        for (direction, windows) in Direction::BOTH.into_iter().zip(self.windows(process)) {
            if windows.contains(&address) {
                let offset = address - windows.start;
                let logical = self.logical(process, (offset / PAGE_BYTES) as u8);
                return Some(DecodedAddress::Window(direction, logical, offset % PAGE_BYTES));
            }
        }
        for buffers in [self.cachable_buffers(process), self.uncached_buffers(process)] {
            if buffers.contains(&address) {
                return Some(DecodedAddress::Sram(
                    self.buffers_of(process).start + (address - buffers.start),
                ));
            }
        }
        let (serviced, commands) = (self.serviced(process), self.commands(process));
        if serviced.contains(&address) {
            return Some(DecodedAddress::Serviced(process, address - serviced.start));
        }
        commands.contains(&address).then(|| DecodedAddress::Commands(process, address - commands.start))
    }

    /// The line of the node's snooped space at an address, if it is one.
    pub fn snooped_line(&self, address: u64, block_bytes: u64) -> Option<u64> {
        let process = Addresses::process_at(address).filter(|&process| process < self.processes)?;
        let own = self.snooped(process);
        let line = |offset: u64| (u64::from(process) * self.snooped + offset) / block_bytes;
        own.contains(&address).then(|| line(address - own.start))
    }
}

/// Where a process's part of the device region begins.
fn part(process: u8) -> u64 {
    Addresses::of_process(process).information_page()
}

// Everything lies before the queues of other interfaces and within a process's part.
const _: () = assert!(SNOOPED + 0x10_0000 <= PROCESS_STRIDE);
