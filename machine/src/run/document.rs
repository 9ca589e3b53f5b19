//! The layout of a run's document: what a result has, key by key.
//!
//! What writes a document fills these structures, and what reads one is given their JSON Schema
//! ([`schema_of`]; `narthex.layouts` makes types of it), so that neither has a description of its own.
//! Keys stand in a document in the order in which they stand here. Numbers are whole ones that are not
//! negative, and times picoseconds, if nothing else is said.
//!
//! ```text
//! RunDocument ─┬─ reports, regions     Of<..>: with the process whose they are
//!              ├─ nodes                NodeEntry ── processors: ledgers
//!              ├─ network, network_on_chip ── links, queues
//!              └─ traffic, profile, mpi, hang: narthex_observation adds them
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroU64;

use narthex_fabrics::switch::InputStatistics;
use narthex_fabrics::{link, terminal};
use narthex_kernel::statistics::{self, Description};
use narthex_schedules::within::RanksEntry;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema, json_schema};
use serde::Serialize;
use serde_json::Value;

use crate::request::Caches;
use crate::surroundings::SurroundingsIdentity;

/// The JSON Schema of what is written as `T`; it refers to no other.
pub fn schema_of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|own| own.inline_subschemas = true);
    T::json_schema(&mut settings.into_generator())
}

/// The document of a run.
#[derive(Serialize, JsonSchema)]
pub struct RunDocument<'a> {
    /// The version of the layout.
    pub schema: u32,
    /// That of Narthex.
    pub version: &'static str,
    /// The program's name.
    pub program: &'a str,
    /// Its arguments.
    pub arguments: &'a [String],
    /// The hash of its ELF file.
    pub binary_sha256: String,
    /// The interface, as the taxonomy spells it, with its place.
    pub interface: String,
    /// Every parameter of the machine.
    #[schemars(schema_with = "machine_schema")]
    pub machine: Value,
    /// What was set and changes nothing.
    pub warnings: Vec<String>,
    /// How the run ended.
    pub ending: &'static str,
    /// When it ended.
    pub simulated_ps: u64,
    /// What programs reported.
    pub reports: Vec<Of<ReportEntry<'a>>>,
    /// Stretches of time that they marked.
    pub regions: Vec<Of<RegionEntry<'a>>>,
    /// The messages of all nodes by size.
    pub message_sizes: Vec<SizeEntry>,
    /// What the nodes' statistics are, by name.
    #[schemars(with = "BTreeMap<String, Described>")]
    pub statistics: Value,
    /// The nodes, by number.
    #[schemars(length(min = 1))]
    pub nodes: Vec<NodeEntry>,
    /// What programs wrote, by time.
    pub output: Vec<OutputEntry<'a>>,
    /// When the ranks of a fitted model were through, where it stood beside the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<RanksEntry>,
    /// What a network of switches saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkEntry>,
    /// The jobs, of a run that has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<Vec<JobEntry<'a>>>,
    /// What the networks on chip of all nodes carried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_on_chip: Option<OnChipEntry>,
    /// The hardware in the place of the interface's model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareEntry<'a>>,
    /// What programs found around them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surroundings: Option<SurroundingsIdentity>,
    /// The files that they wrote, where these are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_files: Option<Vec<WrittenFile>>,
    /// The warm checkpoint from which the run started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_from: Option<StartedFrom<'a>>,
    /// The hashes of firmware, by its name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub firmware_sha256: BTreeMap<String, String>,
}

/// Of a machine readers rely on its name: the present simulator says what it does not know of one.
pub fn machine_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": { "machine": {
            "type": "object",
            "properties": { "name": { "type": "string" } },
            "required": ["name"],
        } },
        "required": ["machine"],
    })
}

/// What a process has of something.
#[derive(Serialize, JsonSchema)]
pub struct Of<T> {
    /// That.
    #[serde(flatten)]
    pub what: T,
    /// The node.
    pub node: usize,
    /// The process on it.
    pub process: usize,
    /// Whether it is firmware; only where it is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub firmware: bool,
    /// The processor of firmware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor: Option<usize>,
}

/// What a program reported.
#[derive(Serialize, JsonSchema)]
pub struct ReportEntry<'a> {
    /// What was measured.
    pub name: &'a str,
    /// How much; JSON has no number that is not finite, so that is a text.
    #[schemars(schema_with = "number_schema")]
    pub value: Value,
    /// In which unit.
    pub unit: &'a str,
}

fn number_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [{ "type": "number" }, { "enum": ["NaN", "Infinity", "-Infinity"] }] })
}

/// A stretch of time that a program marked.
#[derive(Serialize, JsonSchema)]
pub struct RegionEntry<'a> {
    /// What the program calls it.
    pub name: &'a str,
    /// When it began.
    pub begin_ps: u64,
    /// When it ended, if it has.
    pub end_ps: Option<u64>,
    /// The processor of its thread, where the process has several.
    #[serde(rename = "processor", skip_serializing_if = "Option::is_none")]
    pub thread: Option<usize>,
    /// What was counted in it, if it has ended.
    #[serde(flatten)]
    pub counts: Option<CountsEntry>,
}

/// What was counted during a stretch of time.
#[derive(Serialize, JsonSchema)]
pub struct CountsEntry {
    /// Where the time of the thread's processor went.
    #[schemars(with = "Times")]
    pub ledger_ps: Value,
    /// For what it waited.
    #[schemars(with = "Times")]
    pub waits_ps: Value,
    /// Why nothing retired in it, if it has a window; `busy` is the time in which anything did.
    #[schemars(with = "Option<Times>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalls_ps: Option<Value>,
    /// The node's statistics by name.
    #[schemars(schema_with = "statistics_schema")]
    pub statistics: Value,
    /// The node's messages by size.
    pub message_sizes: Vec<SizeEntry>,
    /// What the node's firmware did meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub firmware_processors: Vec<FirmwareEntry>,
}

/// Times by name, of those that are not zero.
type Times = BTreeMap<String, NonZeroU64>;

/// A statistic is a number, or what a distribution or a tally has.
fn statistics_schema(_: &mut SchemaGenerator) -> Schema {
    let one = json_schema!({ "anyOf": [{ "type": "number" }, { "type": "object" }] });
    json_schema!({ "type": "object", "additionalProperties": one })
}

/// What a processor of firmware did during a stretch of time.
#[derive(Serialize, JsonSchema)]
pub struct FirmwareEntry {
    /// Its number on the node.
    pub processor: usize,
    /// Where its time went.
    #[schemars(with = "Times")]
    pub ledger_ps: Value,
    /// For what it waited.
    #[schemars(with = "Times")]
    pub waits_ps: Value,
}

/// How many messages have a size.
#[derive(Serialize, JsonSchema)]
pub struct SizeEntry {
    /// The size.
    pub bytes: u64,
    /// How many.
    #[schemars(range(min = 1))]
    pub messages: u64,
}

/// What a statistic is.
#[derive(Serialize, JsonSchema)]
pub struct Described {
    /// Its unit.
    pub unit: &'static str,
    /// What it counts.
    pub meaning: &'static str,
}

/// A node.
#[derive(Serialize, JsonSchema)]
pub struct NodeEntry {
    /// Its number.
    pub node: u16,
    /// Its processors, by number.
    #[schemars(length(min = 1))]
    pub processors: Vec<ProcessorEntry>,
    /// How many pages of its memory have been written to.
    pub touched_pages: usize,
    /// Its statistics by name.
    #[schemars(schema_with = "statistics_schema")]
    pub statistics: Value,
    /// The messages that it has sent, by size.
    pub message_sizes: Vec<SizeEntry>,
}

/// A processor of a node.
#[derive(Serialize, JsonSchema)]
pub struct ProcessorEntry {
    /// What its process exited with, if it has.
    pub exit_code: Option<u8>,
    /// Instructions.
    pub retired: u64,
    /// Cycles of its clock.
    pub cycles: u64,
    /// Where its time went.
    #[schemars(with = "Times", extend("minProperties" = 1))]
    pub ledger_ps: Value,
    /// For what it waited.
    #[schemars(with = "Times")]
    pub waits_ps: Value,
    /// Why nothing retired, of one with a window; `busy` is the time in which anything did.
    #[schemars(with = "Option<Times>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalls_ps: Option<Value>,
    /// Whether it runs firmware; only where it does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub firmware: bool,
}

/// Lines that a program wrote.
#[derive(Serialize, JsonSchema)]
pub struct OutputEntry<'a> {
    /// Its node.
    pub node: usize,
    /// Its process on it.
    pub process: usize,
    /// To which stream.
    pub stream: &'static str,
    /// What; bytes that are no UTF-8 are replaced.
    pub text: Cow<'a, str>,
}

/// What a network of switches saw.
#[derive(Serialize, JsonSchema)]
pub struct NetworkEntry {
    /// How many switches there are.
    pub switches: usize,
    /// What the nodes' ends of it saw together.
    #[schemars(schema_with = "terminals_schema")]
    pub statistics: Value,
    /// What the statistics are.
    pub described: Vec<Description>,
    /// Its links.
    #[schemars(length(min = 1))]
    pub links: Vec<LinkEntry>,
    /// The inputs of its switches.
    pub queues: Vec<QueueEntry>,
    /// The bytes that each node got from each node.
    pub bytes_from: Vec<Vec<u64>>,
}

fn terminals_schema(_: &mut SchemaGenerator) -> Schema {
    statistics::schema(&terminal::Statistics::default())
}

/// A link of a network.
#[derive(Serialize, JsonSchema)]
pub struct LinkEntry {
    /// Where it begins.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// What it carried.
    #[serde(flatten)]
    #[schemars(schema_with = "link_schema")]
    pub carried: Value,
}

fn link_schema(_: &mut SchemaGenerator) -> Schema {
    statistics::schema(&link::Statistics::default())
}

/// An input of a switch.
#[derive(Serialize, JsonSchema)]
pub struct QueueEntry {
    /// The switch.
    pub switch: String,
    /// What sends to it.
    pub from: String,
    /// What waited in its buffers.
    #[serde(flatten)]
    pub waited: InputStatistics,
}

/// What the networks on chip of all nodes carried.
#[derive(Serialize, JsonSchema)]
pub struct OnChipEntry {
    /// How many nodes there are.
    #[schemars(range(min = 1))]
    pub nodes: usize,
    /// How many lanes a link has.
    #[schemars(range(min = 1))]
    pub lanes: usize,
    /// What is counted.
    pub described: &'static [Description],
    /// The links, of all nodes together.
    #[schemars(length(min = 1))]
    pub links: Vec<LinkEntry>,
}

/// A job of a run that has several.
#[derive(Serialize, JsonSchema)]
pub struct JobEntry<'a> {
    /// Its program's name.
    pub program: &'a str,
    /// Its program's arguments.
    pub arguments: &'a [String],
    /// The hash of its program's ELF file.
    pub binary_sha256: String,
    /// Its first node, and the one behind its last.
    pub nodes: (u16, u16),
    /// Its process on them.
    pub process: u8,
    /// Its nodes by rank, where they are not all between those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_list: Option<Vec<u16>>,
    /// When it starts, if that is stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_ps: Option<u64>,
    /// When its time is over, if that is stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_ps: Option<u64>,
    /// Whether its time was over before its end; only where it was.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
}

/// The hardware in the place of an interface's model.
#[derive(Serialize, JsonSchema)]
pub struct HardwareEntry<'a> {
    /// What users call it.
    pub name: &'a str,
    /// The hash of its sources.
    pub sha256: &'a str,
    /// Its clock.
    pub clock: Value,
}

/// A file that a program wrote.
#[derive(Serialize, JsonSchema)]
pub struct WrittenFile {
    /// Its name, behind that of its process's folder.
    pub file: String,
    /// Its length.
    pub bytes: usize,
    /// The hash of its bytes.
    pub sha256: String,
}

/// The warm checkpoint from which a run started.
#[derive(Serialize, JsonSchema)]
pub struct StartedFrom<'a> {
    /// The hash of its bytes, if the request has it.
    pub sha256: Option<&'a str>,
    /// What caches held at the start.
    pub caches: Caches,
}
