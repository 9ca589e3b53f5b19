//! The parameters of a cache-integrated interface.

use narthex_kernel::Duration;
use narthex_kernel::quantity::{Bytes, Frequency};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::regions::RegionTable;
use super::registers::{DRAM_CHIP_BYTES, LINE_BYTES, STATE};
use crate::interface::Chip;
use crate::models::Problem;

/// Where a tile keeps what it has still to do (Section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum JobList {
    /// A hardware FIFO: what comes while it is full waits in its line, or at the processor.
    Fifo {
        /// Its entries.
        #[schemars(range(min = 1, max = 65536))]
        entries: u32,
    },
    /// Event-sensitive lines that are linked to each other: it is never full.
    LinkedLines {
        /// Cycles in which a packet's job is read from its line.
        #[schemars(range(min = 1, max = 1000))]
        link_cycles: u32,
    },
}

/// What a remote store does before it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum StoreCombining {
    /// Each leaves by itself.
    None {},
    /// It waits in a buffer for those that continue its bytes in the same line.
    Buffer {
        /// Cycles that it waits for the next one, at most.
        #[schemars(range(min = 1, max = 1000))]
        wait_cycles: u32,
    },
}

/// The table of address regions of a tile (Section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Regions {
    /// Its entries, of which some are written when a program starts: for each chip its scratchpads
    /// and its DRAM, one for the registers, and one for the lock box.
    #[schemars(range(min = 1, max = 65536))]
    pub entries: u32,
    /// Cycles of a look-up at the second port, before a packet leaves the tile.
    #[schemars(range(max = 1000))]
    pub lookup_cycles: u32,
    /// Cycles in which the operating system writes an entry of a tile's table.
    #[schemars(range(max = 1000))]
    pub write_cycles: u32,
}

/// The parameters of a cache-integrated interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The clock of the second level and of the interface in it.
    pub clock: Frequency,
    /// Whether the first level keeps lines of scratchpad that programs select for it (Section 3:
    /// "selective L1-caching of L2 scratchpad regions").
    pub first_level: bool,
    /// Cycles of a load of the own tile's scratchpad: the second level's latency.
    #[schemars(range(min = 1, max = 1000))]
    pub load_cycles: u32,
    /// Cycles from a store until the second level has taken it.
    #[schemars(range(min = 1, max = 1000))]
    pub store_cycles: u32,
    /// Cycles from a job's turn until its packet leaves: the line is read, the header made.
    #[schemars(range(min = 1, max = 1000))]
    pub out_cycles: u32,
    /// Cycles from a packet's arrival until it is written.
    #[schemars(range(min = 1, max = 1000))]
    pub in_cycles: u32,
    /// Cycles from one packet of a tile to its next, beside those of its bytes.
    #[schemars(range(min = 1, max = 1000))]
    pub packet_cycles: u32,
    /// Bytes that the interface reads from the second level in a cycle.
    pub width: Bytes,
    /// The table by which a tile's addresses are translated and checked.
    pub region_table: Regions,
    /// Where a tile keeps what it has still to do.
    pub job_list: JobList,
    /// What a remote store does before it leaves.
    pub store_combining: StoreCombining,
    /// Locks of the lock box; 0: there is none.
    #[schemars(range(max = 512))]
    pub locks: u32,
    /// Cycles of an access to the lock box, for which its processor waits.
    #[schemars(range(min = 1, max = 1000))]
    pub lock_cycles: u32,
    /// Cycles of those for which it occupies the lock box's bus, so that no other one is made.
    #[schemars(range(min = 1, max = 1000))]
    pub lock_bus_cycles: u32,
    /// Non-cacheable DRAM of the chip.
    pub dram: Bytes,
    /// Time of an access to it.
    pub dram_access_time: Duration,
    /// Time for which a line takes a controller: its bandwidth.
    pub dram_line_time: Duration,
    /// Chips of the machine's programs that a tile can address.
    #[schemars(range(min = 1, max = 32))]
    pub chips: u32,
}

impl Config {
    /// Refuses parameters that cannot be.
    ///
    /// # Errors
    /// With the key, and what is allowed.
    pub fn check(&self, chip: &Chip, block_bytes: u64) -> Result<(), Problem> {
        let wrong = |key: &str, problem: String| Err(Problem { key: key.into(), problem });
        if block_bytes != LINE_BYTES {
            return Err(Problem::of_name(format!(
                "its lines have {LINE_BYTES} bytes, eight words of 64 bits, and the machine's caches have blocks of \
                 {block_bytes} bytes"
            )));
        }
        let Some((l2_bytes, ways)) = chip.second_level else {
            return Err(Problem::of_name(
                "it is in second-level caches (Section 3), which the machine's processors lack".to_owned(),
            ));
        };
        if l2_bytes > STATE || ways < 2 {
            return Err(Problem::of_name(format!(
                "a second level of {l2_bytes} bytes in {ways} ways is not allowed; up to {STATE} bytes in at least \
                 2 ways, of which one is left to cache, are"
            )));
        }
        let cycles = [
            ("load_cycles", self.load_cycles),
            ("store_cycles", self.store_cycles),
            ("out_cycles", self.out_cycles),
            ("in_cycles", self.in_cycles),
            ("packet_cycles", self.packet_cycles),
            ("lock_cycles", self.lock_cycles),
            ("lock_bus_cycles", self.lock_bus_cycles),
        ];
        if let Some((key, value)) = cycles.into_iter().find(|(_, value)| !(1..=1000).contains(value)) {
            return wrong(key, format!("{value} is not from 1 to 1000"));
        }
        if self.lock_bus_cycles > self.lock_cycles {
            return wrong(
                "lock_bus_cycles",
                format!("{} is more than lock_cycles, {}", self.lock_bus_cycles, self.lock_cycles),
            );
        }
        match self.job_list {
            JobList::Fifo { entries } if !(1..=1 << 16).contains(&entries) => {
                return wrong("job_list.entries", format!("{entries} is not from 1 to 65536"));
            }
            JobList::LinkedLines { link_cycles } if !(1..=1000).contains(&link_cycles) => {
                return wrong("job_list.link_cycles", format!("{link_cycles} is not from 1 to 1000"));
            }
            _ => {}
        }
        if let StoreCombining::Buffer { wait_cycles } = self.store_combining
            && !(1..=1000).contains(&wait_cycles)
        {
            return wrong("store_combining.wait_cycles", format!("{wait_cycles} is not from 1 to 1000"));
        }
        if self.width.as_u64() == 0 || !LINE_BYTES.is_multiple_of(self.width.as_u64()) {
            return wrong("width", format!("{} does not divide a line of {LINE_BYTES}B", self.width));
        }
        if self.locks > 512 {
            return wrong("locks", format!("{} is not from 0 to 512", self.locks));
        }
        if !(1..=32).contains(&self.chips) {
            return wrong("chips", format!("{} is not from 1 to 32", self.chips));
        }
        let dram = self.dram.as_u64();
        if dram > DRAM_CHIP_BYTES || !dram.is_multiple_of(4096) {
            return wrong("dram", format!("{} is no multiple of 4KiB up to 64MiB", self.dram));
        }
        self.check_regions()
    }

    fn check_regions(&self) -> Result<(), Problem> {
        let wrong = |key: &str, problem: String| Err(Problem { key: format!("region_table.{key}"), problem });
        let Regions { entries, lookup_cycles, write_cycles } = self.region_table;
        for (key, value) in [("lookup_cycles", lookup_cycles), ("write_cycles", write_cycles)] {
            if value > 1000 {
                return wrong(key, format!("{value} is not from 0 to 1000"));
            }
        }
        let first = RegionTable::at_start(self).count();
        if !(first..=1 << 16).contains(&(entries as usize)) {
            return wrong(
                "entries",
                format!("{entries} is not from {first}, the regions with which programs start, to 65536"),
            );
        }
        Ok(())
    }

    /// Cycles for which a job occupies the engine before its packet's data follow.
    pub fn cycles_of_header(&self) -> u32 {
        match self.job_list {
            JobList::Fifo { .. } => self.packet_cycles,
            JobList::LinkedLines { link_cycles } => self.packet_cycles + link_cycles,
        }
    }

    /// The time of so many cycles.
    pub fn cycles(&self, cycles: u32) -> Duration {
        self.clock.clock().cycles(cycles.into())
    }
}
