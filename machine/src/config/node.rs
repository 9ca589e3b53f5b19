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
use narthex_interfaces::Attachment;
use narthex_kernel::quantity::Bytes;
use narthex_memory::main_memory::PAGE_BYTES;
use narthex_memory::{bus, main_memory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MachineConfig;
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
    /// Its network interface.
    pub interface: InterfacePart,
    /// Its further devices; each is named by the table of its parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub devices: BTreeMap<String, DevicePart>,
}

/// A device beside the network interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DevicePart {
    /// The interconnects of its seats, one for each.
    pub on: Vec<String>,
}

/// The table of the one device that there is beside the network interface.
pub const FORWARDER: &str = "forwarder";

/// A processor, or several that are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessorPart {
    /// The table of its core.
    pub core: String,
    /// The tables of its data cache and of its instruction cache.
    pub caches: Vec<String>,
    /// The interconnect on which its caches are.
    pub on: String,
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
}

/// A memory: the home of all addresses that no device claims.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryPart {
    /// The interconnect on which it is.
    pub on: String,
    /// Its first address, 0 if not stated. Only firmware's memory has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// Its size: firmware must fit into it, and may use all of it. Where it is not
    /// stated, firmware has what its segments say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
}

impl MemoryPart {
    /// The addresses that firmware may use; none where the size is not stated.
    pub fn range(&self) -> Option<Range<u64>> {
        let start = self.start.unwrap_or_default();
        self.size.map(|size| start..start + size.as_u64())
    }

    /// The rules that its addresses break, as (key, problem) pairs.
    fn problems(&self, of_programs: bool) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let stated = [("start", self.start), ("size", self.size.map(Bytes::as_u64))];
        for (key, value) in stated.into_iter().filter_map(|(key, value)| Some((key, value?))) {
            if of_programs {
                problems.push((key, "is for a memory of firmware; programs use all addresses".into()));
            } else if value % PAGE_BYTES != 0 || value > LAST_ADDRESS || (key == "size" && value == 0) {
                let least = if key == "size" { PAGE_BYTES } else { 0 };
                problems.push((
                    key,
                    format!(
                        "{value} is not allowed; expected a multiple of {PAGE_BYTES} from {least} to 2^40"
                    ),
                ));
            }
        }
        if self.start.is_some() && self.size.is_none() {
            problems.push(("size", "is missing; a memory with a start has one".into()));
        }
        problems
    }
}

/// The end of firmware's memories.
const LAST_ADDRESS: u64 = 1 << 40;

/// Where the network interface is, unless the run says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfacePart {
    /// The interconnects of its seats; one for all of them, or one for each.
    pub on: Vec<String>,
}

/// What runs on the processors of the program.
pub const PROGRAM: &str = "program";
/// What runs on a processor, before the name of a firmware.
pub const FIRMWARE: &str = "firmware/";

/// (dotted key, what is wrong and what is allowed).
type Broken = (String, String);

impl NodeShape {
    /// The rules that the shape breaks.
    pub(super) fn problems(&self, machine: &MachineConfig) -> Vec<Broken> {
        let mut problems = self.interconnect_problems(machine);
        problems.extend(self.memory_problems(machine));
        problems.extend(self.processor_problems(machine));
        let lists = self.interface.on.iter();
        problems.extend(lists.filter_map(|on| self.unknown_interconnect("node.interface.on", on)));
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
    fn unknown_interconnect(&self, key: &str, name: &str) -> Option<Broken> {
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
        let mut problems = Vec::new();
        let mut homes: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, part) in &self.memories {
            let key = format!("node.memories.{name}");
            if name != "main_memory" && !machine.memories.contains_key(name) {
                let message = format!("has no parameters: the machine's file has no [memories.{name}]");
                problems.push(broken(&key, message));
            }
            let of_programs =
                self.processors.values().any(|other| other.runs == PROGRAM && other.on == part.on);
            problems.extend(
                part.problems(of_programs)
                    .into_iter()
                    .map(|(field, message)| broken(&format!("{key}.{field}"), message)),
            );
            let on_key = format!("{key}.on");
            problems.extend(self.unknown_interconnect(&on_key, &part.on));
            if let Some(first) = homes.insert(&part.on, name) {
                let message = format!(
                    "{:?} has a memory at every address already: {first}; expected one for each",
                    part.on
                );
                problems.push(broken(&on_key, message));
            }
            match self.interconnects.get(&part.on) {
                None | Some(InterconnectPart::SnoopingBus {}) => {}
                Some(_) => {
                    let message = format!("{:?} is no snooping bus, and memories are on one", part.on);
                    problems.push(broken(&on_key, message));
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
            if part.caches != ["data_cache", "instruction_cache"] {
                let message = format!(
                    "{:?} is not allowed; expected [\"data_cache\", \"instruction_cache\"]",
                    part.caches
                );
                problems.push(broken(&key("caches"), message));
            }
            if part.runs != PROGRAM && part.runs.strip_prefix(FIRMWARE).is_none_or(str::is_empty) {
                let message =
                    format!("{:?} is not allowed; expected \"program\" or \"firmware/NAME\"", part.runs);
                problems.push(broken(&key("runs"), message));
            }
            match self.interconnects.get(&part.on) {
                None => problems.extend(self.unknown_interconnect(&key("on"), &part.on)),
                Some(InterconnectPart::SnoopingBus {}) => {
                    if !self.memories.values().any(|memory| memory.on == part.on) {
                        let message =
                            format!("{:?} has no memory, which the processor's caches need", part.on);
                        problems.push(broken(&key("on"), message));
                    }
                }
                Some(_) => {
                    let message =
                        format!("{:?} is no snooping bus, and a processor's caches are on one", part.on);
                    problems.push(broken(&key("on"), message));
                }
            }
        }
        problems
    }

    /// The interconnects of the interface's seats when it is attached there; none
    /// if the node has no such place.
    pub fn place(&self, attachment: Attachment) -> Option<Vec<&str>> {
        let table = match attachment {
            Attachment::MemoryBus => return Some(self.interface.on.iter().map(String::as_str).collect()),
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

impl InterconnectPart {
    /// The table of its parameters.
    fn table(&self, name: &str) -> String {
        match (self, name) {
            (InterconnectPart::SnoopingBus {}, "bus") => "bus".into(),
            (InterconnectPart::SnoopingBus {}, name) => format!("buses.{name}"),
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
        }
    }

    /// The parameters of a snooping bus.
    pub(crate) fn bus_named(&self, name: &str) -> Option<&bus::Config> {
        if name == "bus" { Some(&self.bus) } else { self.buses.get(name) }
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

/// What is wrong with a name that no part has, and what was probably meant.
fn unknown<'a>(name: &str, what: &str, known: impl Iterator<Item = &'a String> + Clone) -> String {
    let names: Vec<&str> = known.map(String::as_str).collect();
    let hint = did_you_mean(name, names.iter().copied());
    format!("there is no {what} {name:?}; there are {}{hint}", names.join(", "))
}

fn broken(key: &str, message: impl Into<String>) -> Broken {
    (key.to_owned(), message.into())
}
