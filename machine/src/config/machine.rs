//! The whole machine: one table of its file for each component, and the rules
//! that hold between components.

use std::collections::BTreeMap;

use narthex_cores::{self as cores, ALL_IN_ONE_LINE};
use narthex_fabrics::{faults, flow_control, networks, on_chip};
use narthex_interfaces::registers::PROCESSES_LIMIT;
use narthex_interfaces::{Attachment, dma_engine, forwarder};
use narthex_kernel::{Bytes, Duration};
use narthex_memory::interconnects::directory;
use narthex_memory::processor_memory::{self, block_buffers, second_level, store_queue, write_combining};
use narthex_memory::{bridge, bus, cache, main_memory, protocols, third_level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::attachments::PrivatePath;
use super::interfaces::{self, Interfaces, TrialContext};
use super::node::{NodeShape, PROGRAM, ProcessorPart};
use super::operating_system;

/// A simulated parallel machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineConfig {
    /// What the machine is called, and its size.
    pub machine: General,
    /// What a node is made of, and what sits where.
    pub node: NodeShape,
    /// The processor of every node.
    pub processor: cores::Config,
    /// What access tags cost the processor.
    pub access_control: cores::AccessControl,
    /// The data cache of the program's processors, and of others that name it.
    pub data_cache: cache::Config,
    /// Their instruction cache.
    pub instruction_cache: InstructionCache,
    /// Their second-level cache, below data and instruction caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_level_cache: Option<second_level::Config>,
    /// The cache in front of a memory, which all that use it share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub third_level_cache: Option<third_level::Config>,
    /// Their store buffer, and that of other processors that name none.
    pub store_buffer: processor_memory::StoreBufferConfig,
    /// The store queue of the program's processors, where they have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_queue: Option<store_queue::Config>,
    /// The write-combining buffers of the program's processors, where they have some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_combining: Option<write_combining::Config>,
    /// The block buffers of the program's processors.
    pub block_buffers: block_buffers::Config,
    /// The node's memory bus, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus: Option<bus::Config>,
    /// The directory that keeps the caches of a node's tiles coherent, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<directory::Config>,
    /// The network on chip that carries the messages of the directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_on_chip: Option<on_chip::Config>,
    /// The node's I/O bus behind a bridge, where an interface can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_bus: Option<bridge::Config>,
    /// The bus between the processor and its cache, where an interface can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_bus: Option<PrivatePath>,
    /// The processor's registers, into which an interface can be mapped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub register_file: Option<PrivatePath>,
    /// The node's main memory.
    pub main_memory: main_memory::Config,
    /// What a node's operating system takes; nothing if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operating_system: Option<operating_system::Config>,
    /// Further processors of a node, by the name of their table.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub processors: BTreeMap<String, cores::Config>,
    /// Further snooping buses of a node, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub buses: BTreeMap<String, bus::Config>,
    /// Further data and instruction caches of a node's processors, by the name of their table.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub caches: BTreeMap<String, cache::Config>,
    /// Further second levels of a node's processors, by the name of their table.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub second_level_caches: BTreeMap<String, second_level::Config>,
    /// Further store buffers of a node's processors, by the name of their table.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub store_buffers: BTreeMap<String, processor_memory::StoreBufferConfig>,
    /// Further memories of a node, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub memories: BTreeMap<String, main_memory::Config>,
    /// DMA engines of a node, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dma_engines: BTreeMap<String, dma_engine::Config>,
    /// The forwarder between the interface and the network; where the node has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarder: Option<forwarder::Config>,
    /// The network between the nodes.
    pub network: networks::Config,
    /// What keeps a sender from overrunning its receiver.
    pub flow_control: flow_control::Config,
    /// What the network loses on purpose; nothing if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<faults::Config>,
    /// The packets that the network carries.
    pub messages: Messages,
    /// The network interfaces that this machine can have, by the name of their
    /// model; a run chooses one.
    #[schemars(schema_with = "interfaces::schema")]
    pub interfaces: Interfaces,
}

/// What the machine is called, and its size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct General {
    /// The machine's name.
    pub name: String,
    /// One sentence about the machine.
    pub description: String,
    /// Nodes of the parallel machine.
    #[schemars(range(min = 1, max = 4096))]
    pub nodes: u32,
    /// Processors of each node for the program; a node has 1 to 32 processes of it.
    #[schemars(range(min = 1, max = 128))]
    pub processors_per_node: u32,
    /// Processors of each process, on each of which it can have a thread; 1 if not
    /// said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 128))]
    pub processors_per_process: Option<u32>,
    /// Where the random streams of all components start.
    pub seed: u64,
    /// A run in which nothing happens for so long is stopped, and explained.
    pub time_without_progress: Duration,
}

/// The processor's instruction cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum InstructionCache {
    /// Every fetch hits and costs no time.
    Ideal {},
    /// A cache like the one for data.
    Cache(cache::Config),
}

/// The packets that the network carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Messages {
    /// Size of a packet with its header; a multiple of the block.
    pub packet: Bytes,
    /// Size of a packet's header.
    pub header: Bytes,
}

/// The most processors of a node: a protocol's checks and an interconnect's agents
/// have room for more.
const MOST_PROCESSORS: u32 = 128;

/// The headers that the messaging library knows: the first doubleword holds who, what and how
/// much; isca96 has four bytes more.
const HEADER_BYTES: [u64; 2] = [8, 12];

/// The largest payload: the header counts it in eight bits.
const LARGEST_PAYLOAD_BYTES: u64 = 255;

/// (dotted key, what is wrong and what is allowed).
type Broken = (String, String);

impl MachineConfig {
    /// The rules that the machine breaks, of the first layer that has broken ones: a layer
    /// relies on what those before it say.
    pub fn problems(&self) -> Vec<Broken> {
        let layers = [Self::part_problems, Self::problems_between_parts, Self::interface_problems];
        layers.iter().map(|layer| layer(self)).find(|problems| !problems.is_empty()).unwrap_or_default()
    }

    /// The rules of each part: its own parameters, and that the others exist which it names.
    fn part_problems(&self) -> Vec<Broken> {
        let mut problems = self.component_problems();
        problems.extend(self.node.problems(self));
        problems.extend(self.network_on_chip_problems());
        problems.extend(self.dma_engine_problems());
        problems.extend(self.further_problems());
        problems.extend(self.further_cache_problems());
        problems.extend(self.general_problems());
        problems.extend(self.block_problems());
        problems.extend(self.message_problems());
        problems
    }

    /// The rules between parts of a node whose processors are known.
    fn problems_between_parts(&self) -> Vec<Broken> {
        let mut problems = self.node.reach_problems();
        problems.extend(self.place_problems());
        problems.extend(self.queue_home_problem());
        problems.extend(self.coherence_problems());
        problems
    }

    /// The node's coherence block: that of the caches on its buses.
    pub fn block(&self) -> Bytes {
        self.second_level_cache.as_ref().map_or(self.data_cache.block, |second| second.block)
    }

    /// The same for the processors that run programs: an ideal cache is asked for nothing.
    /// Where they have no caches, their local memory counts lines.
    pub fn program_line_bytes(&self) -> u64 {
        let mut programs = self.node.processors.values().filter(|part| part.runs == PROGRAM);
        match &self.instruction_cache {
            InstructionCache::Ideal {} if programs.all(ProcessorPart::has_caches) => ALL_IN_ONE_LINE,
            _ => self.fetch_line_bytes(),
        }
    }

    /// The key of the coherence block.
    pub(super) fn block_key(&self) -> &'static str {
        match self.second_level_cache {
            Some(_) => "second_level_cache.block",
            None => "data_cache.block",
        }
    }

    /// The rules that write-combining buffers break. What a block store takes on the bus is
    /// said by one of the two kinds of buffers.
    fn write_combining_problems(&self) -> Vec<(&'static str, String)> {
        let Some(config) = &self.write_combining else { return Vec::new() };
        let mut problems = config.problems();
        let has_block_buffers = matches!(self.block_buffers, block_buffers::Config::Pair { .. });
        if has_block_buffers && config.block != self.block() {
            let (own, block) = (config.block, self.block());
            let message = format!(
                "{own} is not the block of {block} of the block buffers; expected equal blocks, or \
                 block_buffers.kind = \"none\""
            );
            problems.push(("block", message));
        }
        problems
    }

    fn third_level_problems(&self) -> Vec<(&'static str, String)> {
        self.third_level_cache.as_ref().map_or_else(Vec::new, |third| third.problems(self.block()))
    }

    /// The rules that the second level breaks below the caches above it.
    fn second_level_problems(&self) -> Vec<(&'static str, String)> {
        let Some(second) = &self.second_level_cache else { return Vec::new() };
        let instructions = match &self.instruction_cache {
            InstructionCache::Ideal {} => None,
            InstructionCache::Cache(cache) => Some(("instruction_cache", cache)),
        };
        let above: Vec<_> = std::iter::once(("data_cache", &self.data_cache)).chain(instructions).collect();
        second.problems(&self.data_cache, &above)
    }

    /// Processors of each process of the program.
    pub fn processors_per_process(&self) -> u32 {
        self.machine.processors_per_process.unwrap_or(1)
    }

    /// Processes of the program on each node.
    pub fn processes_per_node(&self) -> u32 {
        self.machine.processors_per_node / self.processors_per_process()
    }

    /// The operating system of a node: one that costs nothing, if the file states none.
    pub fn operating_system(&self) -> operating_system::Config {
        self.operating_system.clone().unwrap_or_else(operating_system::Config::free)
    }

    /// Bytes of payload that fit into a packet.
    pub fn payload_bytes(&self) -> u64 {
        self.messages.packet.as_u64() - self.messages.header.as_u64()
    }

    /// What the network is in.
    fn around_network(&self) -> networks::NetworkContext {
        let General { nodes, seed, .. } = self.machine;
        let packet_bytes = self.messages.packet.as_u64();
        networks::NetworkContext { nodes, in_one_partition_from: nodes, seed, packet_bytes }
    }

    fn component_problems(&self) -> Vec<Broken> {
        let instruction_cache = match &self.instruction_cache {
            InstructionCache::Ideal {} => Vec::new(),
            InstructionCache::Cache(config) => config.problems(),
        };
        let tables = [
            ("access_control", self.access_control.problems()),
            ("data_cache", self.data_cache.problems()),
            ("instruction_cache", instruction_cache),
            ("second_level_cache", self.second_level_problems()),
            ("third_level_cache", self.third_level_problems()),
            ("write_combining", self.write_combining_problems()),
            ("store_buffer", self.store_buffer.problems()),
            ("store_queue", self.store_queue.as_ref().map(store_queue::Config::problems).unwrap_or_default()),
            ("forwarder", self.forwarder.as_ref().map(forwarder::Config::problems).unwrap_or_default()),
            ("flow_control", self.flow_control.problems()),
        ];
        let of_tables = tables.into_iter().flat_map(|(table, problems)| {
            problems.into_iter().map(move |(key, message)| (format!("{table}.{key}"), message))
        });
        processor_problem("processor", &self.processor).into_iter().chain(of_tables).collect()
    }

    /// The rules that further parts of a kind break.
    fn further_problems(&self) -> Vec<Broken> {
        let processors = self.processors.iter();
        let processors =
            processors.filter_map(|(name, config)| processor_problem(&format!("processors.{name}"), config));
        let memories = self.memories.iter();
        let memories = memories
            .flat_map(|(name, config)| memory_problems(&format!("memories.{name}"), config, self.block()));
        processors.chain(memories).collect()
    }

    /// Why nothing repairs what the network drops, if nothing does.
    fn loss_problem(&self) -> Option<Broken> {
        let is_wrong = self.network.loses() && !self.flow_control.repairs();
        is_wrong.then(|| {
            let message = "\"drop\" loses packets, and nothing sends them again: expected a flow control that does, as \
                           flow_control.kind = \"go-back-n\"";
            broken("network.switches.backpressure.kind", message.into())
        })
    }

    fn general_problems(&self) -> Vec<Broken> {
        let mut problems = Vec::new();
        if !(1..=4096).contains(&self.machine.nodes) {
            problems.push(broken("machine.nodes", format!("{} is not from 1 to 4096", self.machine.nodes)));
        }
        let processors = self.machine.processors_per_node;
        if !(1..=MOST_PROCESSORS).contains(&processors) {
            let message = format!("{processors} is not from 1 to {MOST_PROCESSORS}");
            problems.push(broken("machine.processors_per_node", message));
        }
        let of_process = self.processors_per_process();
        if of_process == 0 || !processors.is_multiple_of(of_process) {
            let message = format!(
                "{of_process} does not divide the {processors} processors of a node (machine.processors_per_node)"
            );
            problems.push(broken("machine.processors_per_process", message));
            return problems;
        }
        let processes = self.processes_per_node();
        if !(1..=PROCESSES_LIMIT).contains(&processes) {
            let message = format!(
                "{processors} is not allowed: with machine.processors_per_process = {of_process} a node has \
                 {processes} processes; expected from 1 to {PROCESSES_LIMIT}"
            );
            problems.push(broken("machine.processors_per_node", message));
        }
        problems.extend(self.interface_count_problems());
        let at_interface = processes.div_ceil(self.interfaces_per_node().into());
        let of_processes = self.flow_control.problems_for(at_interface).into_iter();
        problems.extend(of_processes.map(|(key, message)| (format!("flow_control.{key}"), message)));
        let of_faults = self.faults.iter().flat_map(|faults| faults.problems(self.machine.nodes));
        problems.extend(of_faults.map(|(key, message)| (format!("faults.{key}"), message)));
        let of_network = self.network.problems(&self.around_network()).into_iter();
        problems.extend(of_network.map(|(key, message)| (format!("network.{key}"), message)));
        problems.extend(self.loss_problem());
        if self.machine.time_without_progress.is_zero() {
            problems.push(broken(
                "machine.time_without_progress",
                "0ps would stop every run; expected a time such as 10ms".into(),
            ));
        }
        problems.extend(memory_problems("main_memory", &self.main_memory, self.block()));
        problems
    }

    /// InterconnectModel about the coherence block, which all of a node agree on.
    fn block_problems(&self) -> Vec<Broken> {
        let block = self.block();
        let mut problems = Vec::new();
        if let InstructionCache::Cache(config) = &self.instruction_cache {
            // Below a second level its block has to nest, no more.
            if config.block != block && self.second_level_cache.is_none() {
                let message = format!(
                    "{} is not the data cache's block of {block}; a node has one block size",
                    config.block
                );
                problems.push(broken("instruction_cache.block", message));
            }
            if config.protocol != self.data_cache.protocol {
                let (own, data) = (&config.protocol, &self.data_cache.protocol);
                let message =
                    format!("{own:?} is not the data cache's {data:?}; caches of a bus share one protocol");
                problems.push(broken("instruction_cache.protocol", message));
            }
        }
        problems
    }

    fn interface_problems(&self) -> Vec<Broken> {
        let Some(protocol) = protocols::by_name(&self.data_cache.protocol) else {
            return Vec::new();
        };
        let (block_bytes, packet_bytes) = (self.block().get(), self.messages.packet.as_u64());
        let General { nodes, time_without_progress, .. } = self.machine;
        let at = |attachment| TrialContext {
            attachment,
            protocol,
            block_bytes,
            packet_bytes,
            time_without_progress,
            nodes,
        };
        let mut problems = interfaces::problems("interfaces", &self.interfaces, &at(Attachment::MemoryBus));
        for attachment in [Attachment::CacheBus, Attachment::Register] {
            if let Some(path) = self.private_path(attachment) {
                let table = format!("{}.interfaces", self.table_of(attachment).0);
                problems.extend(interfaces::problems(&table, &path.interfaces, &at(attachment)));
            }
        }
        problems
    }

    fn message_problems(&self) -> Vec<Broken> {
        let (Messages { packet, header }, block) = (&self.messages, self.block());
        let mut problems = Vec::new();
        if packet.as_u64() == 0 || packet.as_u64() % block.as_u64().max(1) != 0 {
            let key = self.block_key();
            let message = format!("{packet} is not a multiple of the block of {block} ({key})");
            problems.push(broken("messages.packet", message));
        }
        if !HEADER_BYTES.contains(&header.as_u64()) {
            let message = format!("{header} is no header that the messaging library knows: 8B or 12B");
            problems.push(broken("messages.header", message));
        }
        if header >= packet {
            let message = format!("{header} leaves no room for payload in a packet of {packet}");
            problems.push(broken("messages.header", message));
        } else if packet.as_u64() - header.as_u64() > LARGEST_PAYLOAD_BYTES {
            let message = format!(
                "{packet} has more than {LARGEST_PAYLOAD_BYTES}B of payload, which its header cannot count"
            );
            problems.push(broken("messages.packet", message));
        }
        problems
    }
}

/// The rule that a core's parameters break.
fn processor_problem(table: &str, config: &cores::Config) -> Option<Broken> {
    // Its messages begin with the parameter: "issue_width is 3: ...".
    let message = config.validate().err()?.to_string();
    Some(match message.split_once(" is ") {
        Some((key, rest)) => (format!("{table}.{key}"), rest.to_owned()),
        None => (table.to_owned(), message),
    })
}

/// The rules that a memory's parameters break with blocks of this size.
fn memory_problems(table: &str, config: &main_memory::Config, block: Bytes) -> Vec<Broken> {
    let message = "0ps is not allowed; expected a time such as 120ns";
    let time = config.access_time.is_zero().then(|| broken(&format!("{table}.access_time"), message.into()));
    let dram = config.dram.iter().flat_map(|dram| dram.problems(block));
    let dram = dram.map(|(key, message)| broken(&format!("{table}.dram.{key}"), message));
    let cxl = config.cxl.iter().flat_map(|cxl| cxl.problems(block));
    let cxl = cxl.map(|(key, message)| broken(&format!("{table}.cxl.{key}"), message));
    time.into_iter().chain(dram).chain(cxl).collect()
}

fn broken(key: &str, message: String) -> Broken {
    (key.to_owned(), message)
}
