//! The shape of a node: its parts, and what sits where.
//!
//! ```toml
//! [node.processors.host]
//! core = "processor"                          # the table of each part's parameters
//! caches = ["data_cache", "instruction_cache"]
//! on = "bus"
//! runs = "program"
//!
//! [node.interconnects]
//! bus = { kind = "snooping-bus" }             # [bus] has its parameters
//! io_bus = { kind = "bridged-bus", behind = "bus" }
//!
//! [node.memories]
//! main_memory = { on = "bus" }
//!
//! [node.interface]
//! on = ["bus"]
//! ```
//!
//! A part is named by the table that holds its parameters. Where a node has two of
//! a kind, the second one's table is in the map of that kind: `[buses.service_bus]`
//! for the interconnect `service_bus`.
//!
//! Here are the parts of a shape. What makes a shape valid is in [`rules`]; what is built
//! from it is in [`crate::wiring`].

mod interconnect_rules;
mod memory_rules;
mod processor_rules;
mod rules;

use std::collections::BTreeMap;
use std::ops::Range;

use narthex_cores as cores;
use narthex_interfaces::{Attached, Attachment};
use narthex_kernel::quantity::Bytes;
pub(super) use narthex_memory::interconnects::Broken;
use narthex_memory::interconnects::Part;
use narthex_memory::main_memory;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) use rules::{broken, unknown};

use super::MachineConfig;
use super::dma_engines::DmaEnginePart;
use super::queue_homes::QueueHomes;
use crate::wiring::Seat;

/// What a node is made of, and what sits where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeShape {
    /// Its processors.
    pub processors: BTreeMap<String, ProcessorPart>,
    /// What carries transactions between its parts; each is named by the table of
    /// its parameters.
    pub interconnects: BTreeMap<String, Part>,
    /// Its memories; each is named by the table of its parameters.
    pub memories: BTreeMap<String, MemoryPart>,
    /// Its DMA engines; each is named by the table of its parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dma_engines: BTreeMap<String, DmaEnginePart>,
    /// Its network interface.
    pub interface: InterfacePart,
    /// Its further devices: interfaces by names of their own, others by the table of their
    /// parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub devices: BTreeMap<String, FurtherDevicePart>,
}

/// Where the ports of a device are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DevicePart {
    /// The interconnects of its ports, one for each.
    pub on: Vec<String>,
    /// Its place on the network on chip, where a port is on a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
}

/// A device beside the network interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FurtherDevicePart {
    /// The network interface that it is, made of halves, by its name: "CNI512Q". None: it is the
    /// device that its own name says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The interconnects of its ports: one for all of an interface's.
    pub on: Vec<String>,
    /// Its place on the network on chip, where a port is on a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
}

/// The table of the one device beside the network interface that is no interface.
pub const FORWARDER: &str = "forwarder";

/// A processor, or several that are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessorPart {
    /// The table of its core.
    pub core: String,
    /// The tables of its data cache, of its instruction cache and, where it has one, of
    /// its second-level cache; firmware may have those of [caches] and [second_level_caches].
    /// None: it runs firmware from the memory with a range on its interconnect, of which it has
    /// a port.
    pub caches: Vec<String>,
    /// The table of its store buffer: "store_buffer" if nothing is said, or one of
    /// [store_buffers].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_buffer: Option<String>,
    /// The interconnect on which its caches are.
    pub on: String,
    /// The places of its tiles on the network on chip, where it is on a directory: one for each
    /// processor; those of the program have the first places if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Vec<u32>>,
    /// What runs on it: "program", on machine.processors_per_node processors, of
    /// which each process has machine.processors_per_process; or "firmware/NAME".
    pub runs: String,
}

/// A memory: the home of all addresses that no device claims, or of a range of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryPart {
    /// The interconnect on which it is; or two, for a memory with a range.
    pub on: Places,
    /// The places of its controllers on the network on chip, where it is on a directory. They
    /// share its addresses, directory.interleave bytes at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Vec<u32>>,
    /// Its first address, 0 if not stated, where it has a size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// Its size: it has these addresses and no others. Firmware whose memory it is must
    /// fit into it, and may use all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// The table of the cache in front of it, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
}

/// The name of an interconnect, or a list of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Places {
    /// One.
    One(String),
    /// All in the list.
    Several(Vec<String>),
}

impl Places {
    /// The names.
    pub fn names(&self) -> &[String] {
        match self {
            Places::One(name) => std::slice::from_ref(name),
            Places::Several(names) => names,
        }
    }
}

impl MemoryPart {
    /// Its addresses; none if it has all that no other part has.
    pub fn range(&self) -> Option<Range<u64>> {
        let start = self.start.unwrap_or_default();
        self.size.map(|size| start..start + size.as_u64())
    }

    /// Whether it is on an interconnect.
    pub fn is_on(&self, interconnect: &str) -> bool {
        self.on.names().iter().any(|on| on == interconnect)
    }
}

/// Where the network interface is, unless the run says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfacePart {
    /// The interconnects of its ports; one for all of them, or one for each.
    pub on: Vec<String>,
    /// The interface of a run that names none; CNI32Qm if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Its place on the network on chip, where it is on a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
    /// The socket of its queues in main memory, where a node has several; that of the node's first process if not
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_homes: Option<QueueHomes>,
    /// Where the ports of interfaces are that are whole devices, by the name of their section
    /// in [interfaces].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ports: BTreeMap<String, DevicePart>,
}

/// Where memories are that programs see beside their own: in the device region, which
/// is the same for all processes, behind what interfaces have of it.
pub(super) const LOCAL_MEMORY: Range<u64> = 0x5f00_0000..0x6000_0000;

/// The end of memories with a range.
pub(super) const LAST_ADDRESS: u64 = 1 << 40;

/// What runs on the processors of the program.
pub const PROGRAM: &str = "program";
/// What runs on a processor, before the name of a firmware.
pub const FIRMWARE: &str = "firmware/";

impl NodeShape {
    /// The interconnects of an interface's ports when it is attached where the run says;
    /// none if the node has no such place.
    pub fn place(&self, interface: &Attached) -> Option<Vec<&str>> {
        let InterfacePart { on, ports, .. } = &self.interface;
        let own = ports.get(interface.name.send.model.section);
        let table = match interface.attachment {
            Attachment::MemoryBus => {
                return Some(own.map_or(on, |own| &own.on).iter().map(String::as_str).collect());
            }
            Attachment::IoBus => "io_bus",
            Attachment::CacheBus => "cache_bus",
            Attachment::Register => "register_file",
        };
        self.interconnects.contains_key(table).then(|| vec![table])
    }

    /// The interconnect on which the bridge in front of this one sits; none if there is no bridge.
    pub fn behind(&self, interconnect: &str) -> Option<&str> {
        self.interconnects.get(interconnect)?.rules().behind()
    }

    /// Whether an interconnect is a link behind another one.
    pub fn is_link(&self, interconnect: &str) -> bool {
        self.interconnects.get(interconnect).is_some_and(|part| part.rules().is_link())
    }

    /// Whether an interconnect is a link whose packets may have relaxed ordering.
    pub fn knows_relaxed_ordering(&self, interconnect: &str) -> bool {
        self.interconnects.get(interconnect).is_some_and(|part| part.rules().knows_relaxed_ordering())
    }

    /// Whether an interconnect carries interrupts of devices to processors.
    pub fn carries_interrupts(&self, interconnect: &str) -> bool {
        self.interconnects.get(interconnect).is_some_and(|part| part.rules().carries_interrupts())
    }

    /// What an interconnect is to the directory that it is, or on which the bridge in front of it sits.
    pub fn seat(&self, interconnect: &str) -> Seat {
        match self.interconnects.get(interconnect).map(|part| part.rules()) {
            Some(rules) if rules.lets_devices_cache() => {
                Seat::BehindCachingLink { holds: rules.lets_devices_hold() }
            }
            Some(rules) if rules.behind().is_some() => Seat::BehindBridge,
            _ => Seat::OnIt,
        }
    }

    /// The name and the part of the processors that run the program.
    pub fn host(&self) -> (&str, &ProcessorPart) {
        let (name, part) = self.processors.iter().find(|(_, part)| part.runs == PROGRAM).expect("checked");
        (name, part)
    }

    /// The names of the interconnects, the host's first, then in the order of names.
    pub fn interconnects_in_order(&self) -> Vec<&str> {
        let first = self.host().1.on.as_str();
        let others = self.interconnects.keys().map(String::as_str).filter(|&name| name != first);
        std::iter::once(first).chain(others).collect()
    }
}

impl ProcessorPart {
    /// Whether it has caches.
    pub fn has_caches(&self) -> bool {
        !self.caches.is_empty()
    }

    /// Whether it has a second-level cache.
    pub fn has_second_level(&self) -> bool {
        self.caches.len() > 2
    }
}

impl MachineConfig {
    /// The parameters of a core.
    pub(crate) fn core_named(&self, name: &str) -> &cores::Config {
        if name == "processor" { &self.processor } else { &self.processors[name] }
    }

    /// The parameters of a memory.
    pub(crate) fn memory_named(&self, name: &str) -> &main_memory::Config {
        if name == "main_memory" { &self.main_memory } else { &self.memories[name] }
    }
}
