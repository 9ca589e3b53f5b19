//! A memory behind CXL: a device of type 3, whose blocks are a part of the host's memory (HDM-H).
//!
//! ```text
//!   home (with a last level) ── port ══ down (M2S): MemRd; MemWr and a block     ══► device ── DRAM
//!                                    ◄══ up (S2M): MemData, which is a block; Cmp ══
//! ```
//!
//! The host's home keeps the copies coherent and the device has no caches, so nothing but reads and writes of
//! whole blocks crosses: a read is a MemRd that MemData answer, a write a MemWr that a Cmp answers. A request that
//! needs no data (an upgrade) does not cross: the home knows the copies, and the device keeps no state
//! about them (no MetaValue), which a MemInv would change.
//!
//! **Addresses.** A process chooses the device by an address, as it chooses memory of another socket
//! ([`crate::sockets`]): its addresses from 96 GiB on ([`CXL_MEMORY`]), as many as the device has bytes. Where there
//! are several sockets, each has a link and a device, for the processes that begin in it.
//!
//! **Time.** A message takes the slots of flits that it takes on a link to an interface ([`super::wires`]), and then the
//! latencies of both ports and of the wires; the device takes the time of its array or its DRAM. The
//! home knows all of these times when it asks. So the directions of the link are calendars: an
//! answer that is ready early passes one that is ready late.
//!
//! **Left out**: credits, and the device's queues in front of its memory; poison; several devices behind a switch,
//! and interleaving of blocks among devices.

use std::ops::Range;

use narthex_kernel::quantity::Bytes;
use narthex_kernel::statistics::StatisticSet;
use narthex_kernel::{Archive, Archived, Damage, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Statistics;
use super::messages::{Opcode, Way};
use super::part::Physical;
use super::wires::{Calendar, Wires};
use crate::dram::{self, Dram};
use crate::main_memory::PAGE_BYTES;
use crate::memory_array::MemoryArray;
use crate::translation::Translation;

/// Addresses of a process that a memory behind CXL may have.
pub const CXL_MEMORY: Range<u64> = 96 << 30..112 << 30;

/// For how long a direction remembers when it was taken: homes ask in the order of their events, but for
/// what they waited until they asked.
const MEMORY_OF_LINK: Duration = Duration::from_ns(1_000);

/// A part of a memory that is behind a CXL link of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Bytes of the device: the addresses of a process from 96 GiB on. Pages of 4 KiB, up to 16 GiB.
    pub size: Bytes,
    /// Generation of the wires, 3 to 6: 8, 16, 32 and 64 GT/s a lane.
    #[schemars(range(min = 3, max = 6))]
    pub generation: u32,
    /// Lanes: 1, 2, 4, 8 or 16.
    pub lanes: u32,
    /// Bytes of a flit: 68B, of which four slots of 16 bytes carry messages; or 256B with 15 slots, which
    /// generation 6 needs.
    pub flit: Bytes,
    /// Time of each message in the host's port, either way.
    pub host_port_latency: Duration,
    /// Time of each message on the wires, and in retimers.
    pub link_latency: Duration,
    /// Time of each message in the device's port, either way.
    pub device_port_latency: Duration,
    /// Time from a request in the device to the block's first bytes, of any number of accesses at once; where there
    /// is DRAM, what the device's controller adds.
    pub access_time: Duration,
    /// The device's DRAM, where blocks do not all take the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dram: Option<dram::Config>,
}

impl Config {
    fn physical(&self) -> Physical {
        let &Config { generation, lanes, flit, host_port_latency, link_latency, device_port_latency, .. } =
            self;
        Physical { generation, lanes, flit, host_port_latency, link_latency, device_port_latency }
    }

    /// The rules that the parameters break with blocks of this size, as (key, what is wrong) pairs.
    pub fn problems(&self, block: Bytes) -> Vec<(String, String)> {
        let mut problems = self.physical().problems();
        let (size, most) = (self.size.as_u64(), CXL_MEMORY.end - CXL_MEMORY.start);
        if size == 0 || size > most || !size.is_multiple_of(PAGE_BYTES) {
            let message = format!(
                "{} is not allowed; expected a multiple of 4KiB from 4KiB to 16GiB, the addresses that a process has \
                 for it",
                self.size
            );
            problems.push(("size", message));
        }
        if self.access_time.is_zero() {
            problems.push(("access_time", "0ps is not allowed; expected a time such as 120ns".to_owned()));
        }
        if block.as_u64() != 64 {
            problems.push(("flit", format!("carries blocks of 64B, and the machine's have {block}")));
        }
        let dram = self.dram.iter().flat_map(|dram| dram.problems(block));
        let dram = dram.map(|(key, message)| (format!("dram.{key}"), message));
        problems.into_iter().map(|(key, message)| (key.to_owned(), message)).chain(dram).collect()
    }
}

/// The device and its link.
#[derive(Clone, Debug)]
pub struct Expander {
    /// Addresses of a process that it has.
    window: Range<u64>,
    block_bytes: u32,
    wires: Wires,
    down: Calendar,
    up: Calendar,
    array: MemoryArray,
    statistics: Statistics,
}

impl Expander {
    /// An idle one, for blocks of this size.
    pub fn new(config: &Config, block_bytes: u64) -> Self {
        let access_time = config.access_time;
        let dram = config.dram.as_ref().map(|dram| Dram::new(dram, block_bytes));
        Expander {
            window: CXL_MEMORY.start..CXL_MEMORY.start + config.size.as_u64(),
            block_bytes: block_bytes as u32,
            wires: Wires::new(&config.physical().line(), block_bytes as usize),
            down: Calendar::new(Way::Down),
            up: Calendar::new(Way::Up),
            array: MemoryArray::flat_or(access_time, dram),
            statistics: Statistics::default(),
        }
    }

    /// Whether it has a block.
    #[inline]
    pub fn has(&self, address: u64) -> bool {
        self.window.contains(&(address % Translation::SPACE_BYTES))
    }

    /// A home asks for a block at `now`: when it has it.
    pub fn read(&mut self, now: Time, address: u64) -> Time {
        let there = self.send_down(now, (Opcode::ReqMemRd, 0));
        let read = self.array.read(there, address);
        self.up.send(read, (Opcode::MemData, self.block_bytes), &self.wires, &mut self.statistics)
    }

    /// A block leaves a home at `now`: when the home knows that the device has taken it.
    pub fn write(&mut self, now: Time, address: u64) -> Time {
        let there = self.send_down(now, (Opcode::RwdMemWr, self.block_bytes));
        let written = self.array.write(there, address);
        self.up.send(written, (Opcode::Cmp, 0), &self.wires, &mut self.statistics)
    }

    fn send_down(&mut self, now: Time, message: (Opcode, u32)) -> Time {
        let over = Time::from_ps(now.as_ps().saturating_sub(MEMORY_OF_LINK.as_ps()));
        self.down.forget(over);
        self.up.forget(over);
        self.down.send(now, message, &self.wires, &mut self.statistics)
    }

    /// What crossed its link, and what its DRAM did.
    pub fn statistics(&self) -> impl Iterator<Item = &dyn StatisticSet> {
        let dram = self.array.dram().map(|dram| &dram.statistics as &dyn StatisticSet);
        std::iter::once(&self.statistics as &dyn StatisticSet).chain(dram)
    }
}

impl Archived for Expander {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Expander { window: _, block_bytes: _, wires: _, down, up, array, statistics } = self;
        for way in [down, up] {
            archive.value(&mut way.taken)?;
            let free = way.taken.iter().is_sorted_by(|former, next| former.1 < next.0);
            archive.ensure(free, "messages of a memory's link are on its wires at once")?;
        }
        archive.value(statistics)?;
        array.archive(archive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes for one lane of generation 6: a slot takes 256 bytes / 15 at 8 bytes a nanosecond.
    const SLOT: f64 = 256.0 / 15.0 / 8.0 * 1_000.0;
    const REQUEST: u64 = SLOT.ceil() as u64;
    const BLOCK: u64 = (5.0 * SLOT).ceil() as u64;
    const WAY: u64 = 35_000;
    const ACCESS: u64 = 80_000;

    fn idle(access_ns: u64) -> Expander {
        let ns = Duration::from_ns;
        let config = Config {
            size: Bytes::new(1 << 20),
            generation: 6,
            lanes: 1,
            flit: Bytes::new(256),
            host_port_latency: ns(15),
            link_latency: ns(5),
            device_port_latency: ns(15),
            access_time: ns(access_ns),
            dram: None,
        };
        assert_eq!(config.problems(Bytes::new(64)), []);
        Expander::new(&config, 64)
    }

    #[test]
    fn a_read_takes_a_slot_and_five_and_a_write_five_and_a_slot() {
        let at = Time::from_ps;
        assert_eq!(
            idle(80).read(at(1_000), CXL_MEMORY.start),
            at(1_000 + REQUEST + WAY + ACCESS + BLOCK + WAY)
        );
        let mut device = idle(80);
        assert_eq!(device.write(at(0), CXL_MEMORY.start), at(BLOCK + WAY + ACCESS + REQUEST + WAY));
        let Statistics { messages, slots, payload, .. } = &device.statistics;
        assert_eq!(
            [Opcode::RwdMemWr, Opcode::Cmp, Opcode::MemData].map(|name| messages.get(name)),
            [1, 1, 0]
        );
        assert_eq!([Way::Down, Way::Up].map(|way| (slots.get(way), payload.get(way))), [(5, 64), (1, 0)]);
    }

    #[test]
    fn two_reads_share_the_link_and_do_not_wait_for_a_write_that_leaves_later() {
        let at = Time::from_ps;
        let mut device = idle(1);
        device.down.send(at(500_000), (Opcode::RwdMemWr, 64), &device.wires, &mut device.statistics);
        let reads = [0, 1].map(|block| device.read(at(0), CXL_MEMORY.start + 64 * block));
        let first = REQUEST + WAY + 1_000 + BLOCK + WAY;
        assert_eq!(reads, [at(first), at(first + BLOCK)]);
        let waited = [Way::Down, Way::Up].map(|way| device.statistics.wait.get(way));
        assert_eq!(waited, [REQUEST, BLOCK - REQUEST], "the second answer leaves later, as its request did");
    }
}
