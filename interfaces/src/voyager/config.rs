//! The parameters of a voyager device.

use narthex_kernel::Duration;
use narthex_kernel::quantity::{Bytes, Frequency};
use narthex_memory::main_memory::PAGE_BYTES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::registers::{MOST_QUEUES, MOST_SRAM, QueueKind, SLOT_BYTES, SOURCE_RECEIVE, SOURCES};
use crate::models::Problem;

/// Which hybrid queue gives its physical one away when another one needs it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HybridPolicy {
    /// The one that was used longest ago.
    LeastRecentlyUsed,
    /// The first one that was not used since it was looked at last.
    Clock,
}

/// The parameters of a voyager device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The clock of its units.
    pub clock: Frequency,
    /// Time that an access to a register or a pointer window takes beyond the
    /// interconnect's own cycles.
    pub register_access_time: Duration,
    /// The same of an access to its SRAM.
    pub memory_access_time: Duration,
    /// Bytes of SRAM bank A, in which queues' buffers are.
    pub sram_a: Bytes,
    /// Bytes of SRAM bank B, in which translation tables are.
    pub sram_b: Bytes,
    /// Bytes that cross a port of an SRAM in a cycle.
    pub sram_width: Bytes,
    /// Bytes of bank A that are the firmware's own.
    pub firmware_bytes: Bytes,
    /// Logical queues of a node, of each direction.
    #[schemars(range(min = 1, max = 256))]
    pub logical_queues: u32,
    /// Physical queues, of each direction.
    #[schemars(range(min = 2, max = 16))]
    pub physical_queues: u32,
    /// Those among them that the firmware lends to hybrid queues.
    #[schemars(range(min = 1, max = 15))]
    pub hybrid_queues: u32,
    /// Which hybrid queue gives its physical one away when another one needs it.
    pub hybrid_policy: HybridPolicy,
    /// Slots of a queue of the messaging library.
    #[schemars(range(min = 1, max = 4096))]
    pub slots: u32,
    /// Slots of the miss queue.
    #[schemars(range(min = 1, max = 4096))]
    pub miss_slots: u32,
    /// Entries of a process's translation table.
    #[schemars(range(min = 1, max = 65536))]
    pub destinations: u32,
    /// Captured accesses that wait for the firmware; further ones are tried again.
    #[schemars(range(min = 1, max = 65536))]
    pub captures: u32,
    /// Approvals that the bus unit can hold.
    #[schemars(range(min = 1, max = 64))]
    pub approvals: u32,
    /// Doublewords of a local command queue.
    #[schemars(range(min = 4, max = 65536))]
    pub command_words: u32,
    /// Completions that wait for the firmware.
    #[schemars(range(min = 1, max = 65536))]
    pub completions: u32,
    /// Packets of block transfers that wait for the bus unit.
    #[schemars(range(min = 1, max = 65536))]
    pub remote_commands: u32,
    /// Commands of the kernel agent that wait for the firmware, and for the device.
    #[schemars(range(min = 1, max = 65536))]
    pub agent_commands: u32,
    /// Channel counters of a node.
    #[schemars(range(min = 1, max = 255))]
    pub channels: u32,
    /// Bytes of main memory of each process whose accesses the firmware permits.
    pub snooped: Bytes,
    /// For how long a full receive queue of a program may hold up packets of others, where several
    /// jobs share the machine: it is stopped then.
    pub drain_limit: Duration,
    /// Cycles from a message in a queue to its packet's first byte at the network.
    pub transmit_cycles: u32,
    /// Cycles from a packet's arrival to its first byte in SRAM.
    pub receive_cycles: u32,
    /// Cycles that a command takes beside what it moves.
    pub command_cycles: u32,
    /// Cycles from a packet's data in SRAM to its first byte at the network, of the block
    /// transmit unit.
    pub block_transmit_cycles: u32,
    /// Cycles of the service processor that its firmware is to take at least for each invocation
    /// in which it has a message fetched that is to be sent. Firmware that takes what its code
    /// takes does not look at this one and the next four.
    #[schemars(range(min = 0, max = 1000000))]
    pub stated_marshal_cycles: u32,
    /// The same of those in which it has a fetched message launched.
    #[schemars(range(min = 0, max = 1000000))]
    pub stated_launch_cycles: u32,
    /// The same of those in which it has an arrived message brought to its queue.
    #[schemars(range(min = 0, max = 1000000))]
    pub stated_demultiplex_cycles: u32,
    /// The same of those in which it frees the buffer of such a message.
    #[schemars(range(min = 0, max = 1000000))]
    pub stated_free_buffer_cycles: u32,
    /// The same of those in which it is told that a program has taken messages.
    #[schemars(range(min = 0, max = 1000000))]
    pub stated_release_cycles: u32,
}

impl Config {
    /// Refuses what a voyager device cannot work with.
    ///
    /// # Errors
    /// The key of the parameter, and what is allowed.
    pub fn check(&self, nodes: u32, processes: u8) -> Result<(), Problem> {
        self.check_counts()?;
        let refuse = |key: &str, problem: String| Err(Problem { key: key.into(), problem });
        for (key, bytes) in [("sram_a", self.sram_a), ("sram_b", self.sram_b)] {
            let size = bytes.as_u64();
            if size == 0 || size > MOST_SRAM || !size.is_multiple_of(PAGE_BYTES) {
                return refuse(key, format!("{bytes} is not a multiple of 4KiB up to 512KiB"));
            }
        }
        if !self.sram_width.as_u64().is_power_of_two() || self.sram_width.as_u64() > 32 {
            return refuse("sram_width", format!("{} is not a power of two up to 32B", self.sram_width));
        }
        for (key, bytes) in [("firmware_bytes", self.firmware_bytes), ("snooped", self.snooped)] {
            if !bytes.as_u64().is_multiple_of(PAGE_BYTES) || bytes.as_u64() > 0x10_0000 {
                return refuse(key, format!("{bytes} is not a multiple of 4KiB up to 1MiB"));
            }
        }
        for (key, value) in [("slots", self.slots), ("miss_slots", self.miss_slots)] {
            if !value.is_power_of_two() {
                return refuse(key, format!("{value} is not a power of two"));
            }
        }
        if self.hybrid_queues >= self.physical_queues {
            let (hybrid, all) = (self.hybrid_queues, self.physical_queues);
            return refuse(
                "hybrid_queues",
                format!("{hybrid} of {all} physical queues, of which queue 0 is the firmware's own"),
            );
        }
        if self.queues_of_process(processes) == 0 {
            let queues = self.logical_queues;
            return refuse("logical_queues", format!("{queues} are too few for {processes} processes"));
        }
        if self.approvals < processes.into() {
            let own = self.approvals;
            return refuse(
                "approvals",
                format!(
                    "{own} approval registers are too few for {processes} processes, each of which may wait for the \
                     firmware's answer to a load of serviced space; set approvals to {processes} at least"
                ),
            );
        }
        self.check_destinations(nodes, processes)
    }

    /// Every receive queue of a job on all nodes has an entry of the translation tables.
    fn check_destinations(&self, nodes: u32, processes: u8) -> Result<(), Problem> {
        let queues = self.queues_of_process(processes);
        let (needed, own) = (nodes * u32::from(processes) * queues, self.destinations);
        if needed <= own {
            return Ok(());
        }
        let places = if nodes == 1 { "one node".into() } else { format!("{nodes} nodes") };
        let problem = format!(
            "{own} entries have no place for the {needed} receive queues that a job of {places} has \
             ({queues} of each process, logical_queues); set destinations to {needed} at least, or logical_queues \
             to {} at most",
            own / nodes
        );
        Err(Problem { key: "destinations".into(), problem })
    }

    /// The messaging library's transmit and receive queue of each process have their slots in
    /// SRAM, if their kind is in SRAM, and physical queues, if they are resident.
    ///
    /// # Errors
    /// The key of the parameter, and what is allowed.
    pub fn check_library(&self, kind: QueueKind, processes: u8, sram_bytes: u64) -> Result<(), Problem> {
        let (slots, needed) = (self.slots, 2 * u64::from(self.slots) * SLOT_BYTES);
        let is_in_sram = matches!(kind, QueueKind::Resident | QueueKind::Hybrid);
        if is_in_sram && needed > sram_bytes {
            let problem = format!(
                "a transmit and a receive queue of {slots} slots take {needed} bytes of SRAM, and each of \
                 {processes} processes has {sram_bytes} (sram_a): at most {} slots fit",
                1 << (sram_bytes / (2 * SLOT_BYTES)).max(1).ilog2()
            );
            return Err(Problem { key: "slots".into(), problem });
        }
        let resident = self.physical_queues - self.hybrid_queues - 1;
        if kind == QueueKind::Resident && resident < processes.into() {
            let (all, hybrid) = (self.physical_queues, self.hybrid_queues);
            let problem = format!(
                "{all} physical queues of a direction, less one of the firmware and {hybrid} for hybrid queues \
                 (hybrid_queues), are {resident} for resident queues, and each of {processes} processes has one"
            );
            return Err(Problem { key: "physical_queues".into(), problem });
        }
        Ok(())
    }

    fn check_counts(&self) -> Result<(), Problem> {
        let counts = [
            ("logical_queues", self.logical_queues, 1..=MOST_QUEUES),
            ("physical_queues", self.physical_queues, 2..=SOURCES - SOURCE_RECEIVE),
            ("hybrid_queues", self.hybrid_queues, 1..=15),
            ("slots", self.slots, 1..=4096),
            ("miss_slots", self.miss_slots, 1..=4096),
            ("destinations", self.destinations, 1..=65_536),
            ("captures", self.captures, 1..=65_536),
            ("approvals", self.approvals, 1..=64),
            ("command_words", self.command_words, 4..=65_536),
            ("completions", self.completions, 1..=65_536),
            ("remote_commands", self.remote_commands, 1..=65_536),
            ("agent_commands", self.agent_commands, 1..=65_536),
            ("channels", self.channels, 1..=255),
            ("stated_marshal_cycles", self.stated_marshal_cycles, 0..=1_000_000),
            ("stated_launch_cycles", self.stated_launch_cycles, 0..=1_000_000),
            ("stated_demultiplex_cycles", self.stated_demultiplex_cycles, 0..=1_000_000),
            ("stated_free_buffer_cycles", self.stated_free_buffer_cycles, 0..=1_000_000),
            ("stated_release_cycles", self.stated_release_cycles, 0..=1_000_000),
        ];
        match counts.into_iter().find(|(_, value, allowed)| !allowed.contains(value)) {
            None => Ok(()),
            Some((key, value, allowed)) => {
                let problem = format!("{value} is not from {} to {}", allowed.start(), allowed.end());
                Err(Problem { key: key.into(), problem })
            }
        }
    }

    /// Logical queues of each direction that a process of the node has.
    pub fn queues_of_process(&self, processes: u8) -> u32 {
        self.logical_queues / u32::from(processes)
    }

    /// Cycles in which so many bytes cross a port of an SRAM.
    pub fn sram_cycles(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.sram_width.as_u64())
    }
}
