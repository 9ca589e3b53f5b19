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
//! Here the shape is only checked ([`NodeShape::problems`]): each name must be that of a
//! part, and the parts must fit together. What is built from it is in
//! [`crate::wiring`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use narthex_cores as cores;
use narthex_interfaces::models::MODELS;
use narthex_interfaces::{Attached, Attachment};
use narthex_kernel::quantity::Bytes;
use narthex_memory::home_memory::Ports;
use narthex_memory::main_memory::PAGE_BYTES;
use narthex_memory::{bus, main_memory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MachineConfig;
use super::directory::DIRECTORY;
use super::dma_engines::DmaEnginePart;
use super::problem::did_you_mean;

/// What a node is made of, and what sits where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeShape {
    /// Its processors.
    pub processors: BTreeMap<String, ProcessorPart>,
    /// What carries transactions between its parts; each is named by the table of
    /// its parameters.
    pub interconnects: BTreeMap<String, InterconnectPart>,
    /// Its memories; each is named by the table of its parameters.
    pub memories: BTreeMap<String, MemoryPart>,
    /// Its DMA engines; each is named by the table of its parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dma_engines: BTreeMap<String, DmaEnginePart>,
    /// Its network interface.
    pub interface: InterfacePart,
    /// Its further devices; each is named by the table of its parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub devices: BTreeMap<String, DevicePart>,
}

/// Where the seats of a device are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DevicePart {
    /// The interconnects of its seats, one for each.
    pub on: Vec<String>,
    /// Its place on the network on chip, where a seat is on a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
}

/// The table of the one device that there is beside the network interface.
pub const FORWARDER: &str = "forwarder";

/// A processor, or several that are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessorPart {
    /// The table of its core.
    pub core: String,
    /// The tables of its data cache, of its instruction cache and, where it has one, of
    /// its second-level cache. None: it runs firmware from the memory with a range on its
    /// interconnect, of which it has a port.
    pub caches: Vec<String>,
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

/// An interconnect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum InterconnectPart {
    /// A bus on which all agents see each transaction.
    SnoopingBus {},
    /// A bus behind a bridge.
    BridgedBus {
        /// The bus on which the bridge is.
        behind: String,
    },
    /// A processor's own path to a device.
    PrivatePath {},
    /// Homes that know who has copies, and the network on chip between tiles and homes.
    Directory {},
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
    /// The interconnects of its seats; one for all of them, or one for each.
    pub on: Vec<String>,
    /// Its place on the network on chip, where it is on a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
    /// Where the seats of interfaces are that are whole devices, by the name of their section
    /// in [interfaces].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seats: BTreeMap<String, DevicePart>,
}

/// The table of a cache in front of a memory.
const THIRD_LEVEL: &str = "third_level_cache";
/// The table of a second-level cache.
const SECOND_LEVEL: &str = "second_level_cache";

/// Where memories are that programs see beside their own: in the device region, which
/// is the same for all processes, behind what interfaces have of it.
pub(super) const LOCAL_MEMORY: Range<u64> = 0x5f00_0000..0x6000_0000;

/// The end of memories with a range.
pub(super) const LAST_ADDRESS: u64 = 1 << 40;

/// What runs on the processors of the program.
pub const PROGRAM: &str = "program";
/// What runs on a processor, before the name of a firmware.
pub const FIRMWARE: &str = "firmware/";

/// (dotted key, what is wrong and what is allowed).
pub(super) type Broken = (String, String);

impl NodeShape {
    /// The rules that the shape breaks.
    pub(super) fn problems(&self, machine: &MachineConfig) -> Vec<Broken> {
        let mut problems = self.interconnect_problems(machine);
        problems.extend(self.memory_problems(machine));
        problems.extend(self.processor_problems(machine));
        let lists = self.interface.on.iter();
        problems.extend(lists.filter_map(|on| self.unknown_interconnect("node.interface.on", on)));
        problems.extend(self.seat_problems());
        problems.extend(self.device_problems(machine));
        if problems.is_empty() {
            problems.extend(self.reach_problems());
        }
        problems
    }

    fn device_problems(&self, machine: &MachineConfig) -> Vec<Broken> {
        let mut problems = Vec::new();
        for (name, part) in &self.devices {
            let key = format!("node.devices.{name}");
            match (name.as_str(), &machine.forwarder) {
                (FORWARDER, Some(_)) => {}
                (FORWARDER, None) => {
                    problems.push(broken(&key, "has no parameters: the machine's file has no [forwarder]"));
                }
                _ => {
                    let known = [FORWARDER.to_owned()];
                    problems.push(broken(&key, unknown(name, "kind of device", known.iter())));
                }
            }
            let on_key = format!("{key}.on");
            match &part.on[..] {
                [on] => problems.extend(self.unknown_interconnect(&on_key, on)),
                more => {
                    let message = format!("{more:?} is not allowed; a {name} has one seat");
                    problems.push(broken(&on_key, message));
                }
            }
        }
        if machine.forwarder.is_some() && !self.devices.contains_key(FORWARDER) {
            let message = "describes a device that the node lacks: [node.devices] has no forwarder";
            problems.push(broken("forwarder", message));
        }
        problems
    }

    /// The rules that the places of whole devices break.
    fn seat_problems(&self) -> Vec<Broken> {
        let mut problems = Vec::new();
        for (section, DevicePart { on, .. }) in &self.interface.seats {
            let key = format!("node.interface.seats.{section}");
            let whole =
                || MODELS.iter().filter(|model| model.makes_devices()).map(|model| model.section.to_owned());
            if !whole().any(|known| known == *section) {
                let known: Vec<String> = whole().collect();
                problems
                    .push(broken(&key, unknown(section, "interface with seats of its own", known.iter())));
            }
            problems.extend(on.iter().filter_map(|on| self.unknown_interconnect(&format!("{key}.on"), on)));
        }
        problems
    }

    /// A program reaches an interface on its processors' bus, or behind the bridge
    /// on that.
    fn reach_problems(&self) -> Vec<Broken> {
        let bus = &self.host().1.on;
        let mut problems = Vec::new();
        if self.interface.on.is_empty() || self.interface.on.iter().any(|on| on != bus) {
            let on = &self.interface.on;
            let message = format!(
                "{on:?} is not allowed; expected [{bus:?}], the bus of the program's processors: a run names \
                 another place itself, as in \"NI2w on io-bus\""
            );
            problems.push(broken("node.interface.on", message));
        }
        for (section, DevicePart { on, .. }) in &self.interface.seats {
            if on.first() != Some(bus) {
                let message = format!(
                    "{on:?} is not allowed; its first seat is on {bus:?}, the bus of the program's processors"
                );
                problems.push(broken(&format!("node.interface.seats.{section}.on"), message));
            }
        }
        for (name, part) in &self.interconnects {
            if let InterconnectPart::BridgedBus { behind } = part
                && behind != bus
            {
                let message = format!("{behind:?} is not {bus:?}, the bus of the program's processors");
                problems.push(broken(&format!("node.interconnects.{name}.behind"), message));
            }
        }
        problems
    }

    /// The problem with a name under `key` that no interconnect has.
    pub(super) fn unknown_interconnect(&self, key: &str, name: &str) -> Option<Broken> {
        (!self.interconnects.contains_key(name))
            .then(|| broken(key, unknown(name, "interconnect", self.interconnects.keys())))
    }

    fn interconnect_problems(&self, machine: &MachineConfig) -> Vec<Broken> {
        let mut problems = Vec::new();
        for (name, part) in &self.interconnects {
            let key = format!("node.interconnects.{name}");
            if !machine.has_table_of(name, part) {
                let message = format!("has no parameters: the machine's file has no [{}]", part.table(name));
                problems.push(broken(&key, message));
            }
            let InterconnectPart::BridgedBus { behind } = part else { continue };
            let behind_key = format!("{key}.behind");
            match self.interconnects.get(behind) {
                None => problems.extend(self.unknown_interconnect(&behind_key, behind)),
                Some(_) if self.is_in_a_circle(name) => {
                    let message = format!("{behind:?} leads back to {name}: bridges in a circle have no end");
                    problems.push(broken(&behind_key, message));
                }
                Some(InterconnectPart::SnoopingBus {}) => {}
                Some(_) => {
                    let message = format!("{behind:?} is no snooping bus, and a bridge sits on one");
                    problems.push(broken(&behind_key, message));
                }
            }
        }
        let tables = [
            ("bus", machine.bus.is_some()),
            ("io_bus", machine.io_bus.is_some()),
            ("cache_bus", machine.cache_bus.is_some()),
            ("register_file", machine.register_file.is_some()),
        ];
        let further = machine.buses.keys().map(|name| (name.as_str(), true));
        for (table, exists) in tables.into_iter().chain(further) {
            if exists && !self.interconnects.contains_key(table) {
                let message = format!(
                    "describes an interconnect that the node lacks: [node.interconnects] has no {table}"
                );
                problems
                    .push(broken(if machine.buses.contains_key(table) { "buses" } else { table }, message));
            }
        }
        problems
    }

    /// Whether the bridges from an interconnect on lead back to it.
    fn is_in_a_circle(&self, name: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut here = name;
        while let Some(InterconnectPart::BridgedBus { behind }) = self.interconnects.get(here) {
            if !seen.insert(here) {
                return here == name || seen.contains(name);
            }
            here = behind;
        }
        false
    }

    fn memory_problems(&self, machine: &MachineConfig) -> Vec<Broken> {
        let mut problems = Vec::from_iter(self.idle_cache_problem(machine));
        let mut homes: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, part) in &self.memories {
            let key = format!("node.memories.{name}");
            if name != "main_memory" && !machine.memories.contains_key(name) {
                let message = format!("has no parameters: the machine's file has no [memories.{name}]");
                problems.push(broken(&key, message));
            }
            problems.extend(self.range_problems(&key, part));
            problems.extend(port_problems(name, &key, part, machine));
            problems.extend(cache_problem(&key, part, machine));
            let on_key = format!("{key}.on");
            for on in part.on.names() {
                problems.extend(self.unknown_interconnect(&on_key, on));
                if part.range().is_none()
                    && let Some(first) = homes.insert(on, name)
                {
                    let message = format!(
                        "{on:?} has a memory at every address already: {first}; expected one for each"
                    );
                    problems.push(broken(&on_key, message));
                }
                match self.interconnects.get(on) {
                    None | Some(InterconnectPart::SnoopingBus {} | InterconnectPart::Directory {}) => {}
                    Some(_) => {
                        let message =
                            format!("{on:?} is no snooping bus and no directory, and memories are on one");
                        problems.push(broken(&on_key, message));
                    }
                }
            }
        }
        problems
    }

    /// A table of a cache that is in front of no memory.
    fn idle_cache_problem(&self, machine: &MachineConfig) -> Option<Broken> {
        let is_idle = machine.third_level_cache.is_some()
            && self.memories.values().all(|memory| memory.cache.is_none());
        let message = "describes a cache that is in front of no memory: no memory of [node.memories] has \
                       cache = \"third_level_cache\"";
        is_idle.then(|| broken(THIRD_LEVEL, message))
    }

    /// The rules that a memory's addresses break. Those that programs see are where all
    /// their processes find them at the same place.
    fn range_problems(&self, key: &str, part: &MemoryPart) -> Vec<Broken> {
        let mut problems = Vec::new();
        let of_program = self.processors.values().any(|own| own.runs == PROGRAM && part.is_on(&own.on));
        match (part.start, part.size.map(Bytes::as_u64)) {
            (None, None) => {}
            (Some(_), None) => {
                let message = "is missing; a memory with a start has one";
                problems.push(broken(&format!("{key}.size"), message));
            }
            (start, Some(size)) => {
                let stated = if start.is_some() { "start" } else { "size" };
                let start = start.unwrap_or_default();
                let is_whole = |value: u64| value.is_multiple_of(PAGE_BYTES);
                let end = start.checked_add(size).filter(|end| *end <= LAST_ADDRESS);
                if size == 0 || !is_whole(start) || !is_whole(size) || end.is_none() {
                    let message = format!(
                        "start {start:#x} and size {size} are not allowed; expected multiples of {PAGE_BYTES}, a \
                         size above 0, and an end up to {LAST_ADDRESS:#x}"
                    );
                    let wrong = if size == 0 || !is_whole(size) { "size" } else { stated };
                    problems.push(broken(&format!("{key}.{wrong}"), message));
                } else if of_program && (start < LOCAL_MEMORY.start || end > Some(LOCAL_MEMORY.end)) {
                    let Range { start: first, end } = LOCAL_MEMORY;
                    let message = format!(
                        "{start:#x} and {size} bytes are not from {first:#x} to {end:#x}, where the program's \
                         processes find a memory beside their own"
                    );
                    problems.push(broken(&format!("{key}.{stated}"), message));
                }
            }
        }
        problems
    }

    fn processor_problems(&self, machine: &MachineConfig) -> Vec<Broken> {
        let mut problems = Vec::new();
        let programs = self.processors.values().filter(|part| part.runs == PROGRAM).count();
        if programs != 1 {
            let message = format!(
                "{programs} of its parts run the program; expected one, whose number of processors is machine.processors_per_node"
            );
            problems.push(broken("node.processors", message));
        }
        if machine.second_level_cache.is_some()
            && !self.processors.values().any(ProcessorPart::has_second_level)
        {
            let message =
                "describes a cache that no processor has: expected it in node.processors.NAME.caches";
            problems.push(broken(SECOND_LEVEL, message));
        }
        for (name, part) in &self.processors {
            let key = |field: &str| format!("node.processors.{name}.{field}");
            if part.core != "processor" && !machine.processors.contains_key(&part.core) {
                let tables =
                    std::iter::once("processor".to_owned()).chain(machine.processors.keys().cloned());
                problems.push(broken(
                    &key("core"),
                    unknown(&part.core, "table of a processor", tables.collect::<Vec<_>>().iter()),
                ));
            }
            let caches =
                part.cache_problem(machine).or_else(|| self.local_memory_problem(name, part, machine));
            problems.extend(caches.map(|message| broken(&key("caches"), message)));
            if part.runs != PROGRAM && part.runs.strip_prefix(FIRMWARE).is_none_or(str::is_empty) {
                let message =
                    format!("{:?} is not allowed; expected \"program\" or \"firmware/NAME\"", part.runs);
                problems.push(broken(&key("runs"), message));
            }
            match self.interconnects.get(&part.on) {
                None => problems.extend(self.unknown_interconnect(&key("on"), &part.on)),
                Some(InterconnectPart::SnoopingBus {} | InterconnectPart::Directory {}) => {
                    let serves = |memory: &MemoryPart| {
                        memory.is_on(&part.on) && (memory.range().is_none() || part.runs != PROGRAM)
                    };
                    if !self.memories.values().any(serves) {
                        let message =
                            format!("{:?} has no memory, which the processor's caches need", part.on);
                        problems.push(broken(&key("on"), message));
                    }
                }
                Some(_) => {
                    let message = format!(
                        "{:?} is no snooping bus and no directory, and a processor's caches are on one",
                        part.on
                    );
                    problems.push(broken(&key("on"), message));
                }
            }
        }
        problems
    }

    /// What is wrong with the memory of a processor without caches.
    fn local_memory_problem(
        &self,
        name: &str,
        part: &ProcessorPart,
        machine: &MachineConfig,
    ) -> Option<String> {
        if part.has_caches() {
            return None;
        }
        let here = || self.memories.iter().filter(|(_, memory)| memory.is_on(&part.on));
        if let Some((other, _)) = here().find(|(_, memory)| memory.range().is_none()) {
            return Some(format!(
                "[] is not allowed on {:?}, whose memory {other} has no start and size: a processor without \
                 caches runs from a memory with a range",
                part.on
            ));
        }
        if let Some((other, _)) =
            self.processors.iter().find(|(other, own)| *other != name && own.on == part.on)
        {
            return Some(format!(
                "[] is not allowed: {other} is on {:?}, too, and would not see what a processor without caches \
                 writes",
                part.on
            ));
        }
        let (memory, _) = here().next()?;
        let ports = machine.memories.get(memory).and_then(|memory| memory.ports);
        (ports == Some(Ports::Single)).then(|| {
            format!("[] is not allowed: the processor has a port of {memory}, and memories.{memory}.ports is \"single\"")
        })
    }

    /// The interconnects of an interface's seats when it is attached where the run says;
    /// none if the node has no such place.
    pub fn place(&self, interface: &Attached) -> Option<Vec<&str>> {
        let InterfacePart { on, seats, .. } = &self.interface;
        let own = seats.get(interface.name.send.model.section);
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
        self.caches.iter().any(|table| table == SECOND_LEVEL)
    }

    /// What is wrong with its caches, all of which are on a bus with one block size.
    fn cache_problem(&self, machine: &MachineConfig) -> Option<String> {
        let first = ["data_cache", "instruction_cache"];
        let caches: Vec<&str> = self.caches.iter().map(String::as_str).collect();
        let block = machine.data_cache.block;
        match (&caches[..], &machine.second_level_cache) {
            ([data, instructions, SECOND_LEVEL], None) if [*data, *instructions] == first => Some(format!(
                "{SECOND_LEVEL:?} has no parameters: the machine's file has no [{SECOND_LEVEL}]"
            )),
            ([data, instructions, SECOND_LEVEL], Some(_)) if [*data, *instructions] == first => None,
            (own, Some(second)) if *own == first && second.block != block => Some(format!(
                "{caches:?} has blocks of {block} (data_cache.block) on its bus, and the coherence block is {} \
                 ({SECOND_LEVEL}.block); expected equal blocks, or {SECOND_LEVEL:?} in the list",
                second.block
            )),
            (own, _) if *own == first => None,
            ([], _) if self.runs != PROGRAM => None,
            _ => Some(format!(
                "{caches:?} is not allowed; expected {first:?}, or the same with {SECOND_LEVEL:?} behind"
            )),
        }
    }
}

impl InterconnectPart {
    /// The table of its parameters.
    fn table(&self, name: &str) -> String {
        match (self, name) {
            (InterconnectPart::SnoopingBus {}, "bus") => "bus".into(),
            (InterconnectPart::SnoopingBus {}, name) => format!("buses.{name}"),
            (InterconnectPart::Directory {}, _) => DIRECTORY.into(),
            (InterconnectPart::BridgedBus { .. } | InterconnectPart::PrivatePath {}, name) => name.into(),
        }
    }
}

impl MachineConfig {
    /// Whether there are parameters of an interconnect.
    fn has_table_of(&self, name: &str, part: &InterconnectPart) -> bool {
        match part {
            InterconnectPart::SnoopingBus {} => self.bus_named(name).is_some(),
            InterconnectPart::BridgedBus { .. } => name == "io_bus" && self.io_bus.is_some(),
            InterconnectPart::PrivatePath {} => self.path_named(name).is_some(),
            InterconnectPart::Directory {} => name == DIRECTORY && self.directory.is_some(),
        }
    }

    /// The parameters of a snooping bus.
    pub(crate) fn bus_named(&self, name: &str) -> Option<&bus::Config> {
        if name == "bus" { self.bus.as_ref() } else { self.buses.get(name) }
    }

    /// The parameters of a core.
    pub(crate) fn core_named(&self, name: &str) -> &cores::Config {
        if name == "processor" { &self.processor } else { &self.processors[name] }
    }

    /// The parameters of a memory.
    pub(crate) fn memory_named(&self, name: &str) -> &main_memory::Config {
        if name == "main_memory" { &self.main_memory } else { &self.memories[name] }
    }

    /// The parameters of a private path.
    pub(crate) fn path_named(&self, name: &str) -> Option<&super::PrivatePath> {
        match name {
            "cache_bus" => self.cache_bus.as_ref(),
            "register_file" => self.register_file.as_ref(),
            _ => None,
        }
    }
}

/// The rule that the cache in front of a memory breaks.
fn cache_problem(key: &str, part: &MemoryPart, machine: &MachineConfig) -> Option<Broken> {
    let name = part.cache.as_ref()?;
    let message = if name != THIRD_LEVEL {
        format!(
            "there is no cache {name:?} for a memory; there is {THIRD_LEVEL}{}",
            did_you_mean(name, [THIRD_LEVEL])
        )
    } else if machine.third_level_cache.is_none() {
        format!("has no parameters: the machine's file has no [{THIRD_LEVEL}]")
    } else if part.range().is_some() {
        "a memory with a range of addresses has no cache: processors reach it uncached".into()
    } else {
        return None;
    };
    Some(broken(&format!("{key}.cache"), message))
}

/// The rules that the ports of a memory break.
fn port_problems(name: &str, key: &str, part: &MemoryPart, machine: &MachineConfig) -> Option<Broken> {
    let table = if name == "main_memory" { "main_memory".to_owned() } else { format!("memories.{name}") };
    let parameters =
        if name == "main_memory" { Some(&machine.main_memory) } else { machine.memories.get(name) };
    let ports = parameters?.ports;
    let (message, key) = match (part.on.names().len(), ports, part.range()) {
        (1, None, _) | (2, Some(_), Some(_)) => return None,
        (1, Some(_), _) => ("is for a memory on two interconnects".to_owned(), format!("{table}.ports")),
        (2, None, Some(_)) => {
            let message =
                "is not stated; a memory on two interconnects has \"single\" or \"dual\"".to_owned();
            (message, format!("{table}.ports"))
        }
        (2, _, None) => {
            let message = "names two interconnects, and the memory has no start and size".to_owned();
            (message, format!("{key}.on"))
        }
        (count, ..) => (format!("names {count} interconnects; expected one or two"), format!("{key}.on")),
    };
    Some(broken(&key, message))
}

/// What is wrong with a name that no part has, and what was probably meant.
fn unknown<'a>(name: &str, what: &str, known: impl Iterator<Item = &'a String> + Clone) -> String {
    let names: Vec<&str> = known.map(String::as_str).collect();
    let hint = did_you_mean(name, names.iter().copied());
    format!("there is no {what} {name:?}; there are {}{hint}", names.join(", "))
}

pub(super) fn broken(key: &str, message: impl Into<String>) -> Broken {
    (key.to_owned(), message.into())
}
