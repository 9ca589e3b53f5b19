//! A machine's file: every parameter of a simulated machine, with its source.
//!
//! ```toml
//! base = "hpca98"                       # states only its difference
//!
//! [bus]
//! clock = "125MHz"                      # the user's own value
//!
//! [main_memory]
//! access_time = { value = "90ns", assumed = "a faster DRAM of the next generation" }
//! ```
//!
//! The parameters are declared where they are used: each component has a typed
//! `Config` in its own crate, with a doc comment for each field, and
//! [`MachineConfig`] composes them. This module adds what all of them share:
//!
//! | module | what it does |
//! | --- | --- |
//! | `document` | TOML text to a tree of tables and leaves, and back |
//! | `tree` | the tree; merging a file over its base and `--set` over both |
//! | `schema` | the tree against the JSON Schema of the typed structures |
//! | `problem` | what is wrong, where, what is allowed, what was probably meant |
//! | `machine` | [`MachineConfig`], and the rules between components |
//! | `node` | the shape of a node: its parts, and what sits where |
//! | `directory` | what a directory needs, and the places on its network on chip |
//! | `further_interfaces` | interfaces of a node beside the one that a run chooses |
//! | `left_out` | the parts of a node that a run with another interface has not |
//! | `operating_system` | what system calls take, and the frames of pages |
//! | `attachments` | the places of interfaces that not every machine has |
//! | `differences` | what distinguishes two machines |
//! | `presets` | the built-in machines |
//! | `processor_caches` | the caches and the store buffer of each processor |
//! | `queue_homes` | the sockets of an interface's queues |
//! | `replaced` | the tables that go with an interconnect whose kind changes |
//! | `without_effect` | what a user has set, and changes nothing with an interface |
//!
//! Nothing has a silent default: a machine is complete or it is refused, before
//! the first instant of simulated time. A built-in machine gives the source of
//! every parameter: `stated`, with the place in the publication, or `assumed`,
//! with the reason; a test refuses one that does not. [`Machine::sources`]
//! prints them, and [`Machine::resolved`] goes into every result, so that a
//! result can be run again.

mod attachments;
mod differences;
mod directory;
mod dma_engines;
mod document;
mod further_interfaces;
mod interfaces;
mod left_out;
mod machine;
mod node;
pub mod operating_system;
mod presets;
mod problem;
mod processor_caches;
mod queue_homes;
mod replaced;
mod schema;
mod tree;
mod wiring;
mod without_effect;

#[cfg(test)]
mod tests {
    mod machinery;
    mod machines;
    mod networks;
    mod processors;
}

use std::path::{Path, PathBuf};
use std::sync::Arc;

use narthex_kernel::did_you_mean;
use serde::Serialize;
use serde_json::Value;

pub use attachments::PrivatePath;
pub use differences::Difference;
pub use further_interfaces::FurtherInterface;
pub use interfaces::Interfaces;
pub use machine::{General, InstructionCache, MachineConfig, Messages};
pub use node::{FIRMWARE, FORWARDER, NodeShape, PROGRAM, ProcessorPart};
pub use presets::names as preset_names;
pub use problem::{ConfigError, Problem};
pub use processor_caches::ProcessorCaches;
pub use tree::Source;
pub use without_effect::Settings;

use crate::files;
use problem::{Position, Text};
use schema::Schema;
use tree::{Table, TreeNode};

/// The network interface of runs that name none, on machines whose files name none.
pub const DEFAULT_INTERFACE: &str = "CNI32Qm";

/// The key that names the machine from which a file differs.
const BASE: &str = "base";

/// A machine's file is a page or two; more is a mistake (such as the wrong file).
const LARGEST_FILE_BYTES: u64 = 64 << 10;

/// How many files may stand on each other.
const MOST_BASES: usize = 16;

/// A complete, checked machine: its typed configuration, and where each value is from.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The typed configuration.
    pub config: MachineConfig,
    document: Table,
}

/// A parameter as `narthex machine show NAME --sources` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Its dotted key: `bus.clock`.
    pub key: String,
    /// Its value without the unit: `250`.
    pub value: String,
    /// The unit: `MHz`; empty where there is none.
    pub unit: String,
    /// Where the value comes from.
    pub source: Source,
    /// What else an assumed value might be, as `--set` takes it; what its half
    /// and double do says enough if nothing stands there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternatives: Option<Vec<String>>,
    /// What the parameter is.
    pub meaning: String,
}

/// The machine with this built-in name or in this file.
///
/// A name with a path separator or the ending `.toml` is a file.
pub fn load(name_or_path: &str) -> Result<Machine, ConfigError> {
    let mut document = Reading::default().machine(name_or_path, None)?;
    document.entries.retain(|entry| entry.key != BASE);
    Machine::check(document)
}

/// The machine that this text describes. `name` is what errors call it; a
/// `base` that is a path is relative to the working folder.
pub fn load_text(name: &str, text: &str) -> Result<Machine, ConfigError> {
    let text = Arc::new(Text { name: name.to_owned(), text: text.to_owned() });
    let mut document = Reading::default().document(&text, None)?;
    document.entries.retain(|entry| entry.key != BASE);
    Machine::check(document)
}

/// The JSON Schema of a machine's file, for editors: leaves are plain values or
/// state their source, and a file may be only a difference from its base.
pub fn json_schema() -> Value {
    Schema::of::<MachineConfig>().for_editors()
}

impl Machine {
    /// Checks a merged document from end to end: schema, types, then the rules.
    fn check(mut document: Table) -> Result<Machine, ConfigError> {
        let config: MachineConfig = typed(&mut document)?;
        let problems = config.problems().into_iter().map(|(key, message)| {
            let place = document.place_of(&key);
            Problem::new(Some(place), &key, message)
        });
        ConfigError::unless(problems.collect(), ())?;
        Ok(Machine { config, document })
    }

    /// This machine with `key=value` settings, such as `bus.clock=125MHz`,
    /// applied in their order and checked together.
    pub fn with_settings<S: AsRef<str>>(&self, settings: &[S]) -> Result<Machine, ConfigError> {
        let mut document = self.document.clone();
        let schema = Schema::of::<MachineConfig>();
        let mut problems = Vec::new();
        for setting in settings {
            let over = document::read_setting(setting.as_ref());
            let over = over.and_then(|mut over| wiring::include(&mut over, None).map(|()| over));
            match over.and_then(|over| schema.misshaped(&over).map_or(Ok(over), Err)) {
                Ok(over) => replaced::choose(&mut document, over),
                Err(problem) => problems.push(problem),
            }
        }
        ConfigError::unless(problems, ())?;
        Machine::check(document)
    }

    /// Every parameter with its value, unit, source and meaning, in the order
    /// in which the structures declare them.
    pub fn sources(&self) -> Vec<Parameter> {
        let schema = Schema::of::<MachineConfig>();
        let parameters = schema.parameters(&self.document);
        parameters.into_iter().map(Parameter::from).collect()
    }

    /// The complete configuration as it goes into results, in the form of the
    /// file: a leaf is `{"value": .., "stated" or "assumed": ..}`, or plain
    /// where the user set it.
    pub fn resolved(&self) -> Value {
        self.document.values_with_sources()
    }

    /// The complete configuration as a file that loads as the same machine.
    pub fn to_toml(&self) -> String {
        document::write(&self.document)
    }
}

impl From<schema::Parameter<'_>> for Parameter {
    fn from(parameter: schema::Parameter<'_>) -> Self {
        let (value, unit) = match &parameter.leaf.value {
            Value::String(text) => value_and_unit(text),
            other => {
                let of_key = unit_of_key(&parameter.key).map(str::to_owned);
                let unit = parameter.unit.or(of_key).unwrap_or_default();
                (other.to_string(), unit)
            }
        };
        let as_set = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Parameter {
            key: parameter.key,
            value,
            unit,
            source: parameter.leaf.source.clone(),
            alternatives: parameter.leaf.alternatives.as_ref().map(|all| all.iter().map(as_set).collect()),
            meaning: parameter.meaning,
        }
    }
}

/// The unit at the end of a key, or of the table around it: `extra_cycles.read`.
fn unit_of_key(key: &str) -> Option<&'static str> {
    let unit_of_word = |word: &str| {
        let last = word.rsplit('_').next();
        ["cycles", "ps", "ns", "bytes"].into_iter().find(|unit| last == Some(*unit))
    };
    key.rsplit('.').take(2).find_map(unit_of_word)
}

/// "60ns" as ("60", "ns"); a text that is not a number with a unit, whole.
fn value_and_unit(text: &str) -> (String, String) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim_start();
    if number.is_empty() || !unit.chars().all(|c| c.is_ascii_alphabetic()) {
        return (text.to_owned(), String::new());
    }
    (number.to_owned(), unit.to_owned())
}

/// A document as the structure that it describes, when nothing is wrong with it.
fn typed<T>(document: &mut Table) -> Result<T, ConfigError>
where
    T: serde::de::DeserializeOwned + schemars::JsonSchema,
{
    ConfigError::unless(Schema::of::<T>().check(document), ())?;
    // The schema has found the usual mistakes; a type may still refuse a value.
    serde_path_to_error::deserialize(document.values()).map_err(|error| {
        let path = error.path().to_string();
        let key = if path == "." { "" } else { path.as_str() };
        Problem::new(Some(document.place_of(key)), key, error.inner().to_string()).into()
    })
}

/// Reads a machine's file and the files below it.
#[derive(Default)]
struct Reading {
    /// What is being read, from the file that was asked for downwards.
    names: Vec<String>,
}

impl Reading {
    /// The document of a preset or file, laid over its base. `from` is where
    /// it was named: the place, and the folder that paths are relative to.
    fn machine(
        &mut self,
        name: &str,
        from: Option<(&Position, Option<&Path>)>,
    ) -> Result<Table, ConfigError> {
        let place = from.map(|(place, _)| place.clone());
        let key = if from.is_some() { BASE } else { "" };
        let problem = |message: String| ConfigError::from(Problem::new(place.clone(), key, message));

        let is_path = name.contains(['/', std::path::MAIN_SEPARATOR]) || name.ends_with(".toml");
        let (text, folder) = match (is_path, presets::find(name)) {
            (false, Some((preset, text))) => {
                (Text { name: format!("{preset}.toml"), text: text.to_owned() }, None)
            }
            (false, None) => return Err(problem(unknown_machine(name))),
            (true, _) => {
                let folder = from.and_then(|(_, folder)| folder).unwrap_or(Path::new(""));
                let path = folder.join(name);
                let text = read_file(&path).map_err(problem)?;
                let folder = path.parent().map(Path::to_path_buf);
                (Text { name: path.display().to_string(), text }, folder)
            }
        };
        if self.names.contains(&text.name) || self.names.len() == MOST_BASES {
            let chain = self.names.join(" on ");
            return Err(problem(format!(
                "{name:?} stands on itself or on more than {MOST_BASES} files: {chain}"
            )));
        }
        self.names.push(text.name.clone());
        let mut document = self.document(&Arc::new(text), folder)?;
        if !is_path {
            document.mark(false);
        }
        Ok(document)
    }

    /// The document of a text, laid over its base.
    fn document(&mut self, text: &Arc<Text>, folder: Option<PathBuf>) -> Result<Table, ConfigError> {
        let (document, problems) = document::read(text);
        let mut document = ConfigError::unless(problems, document)?;
        wiring::include(&mut document, folder.as_deref())?;
        let Some(entry) = document.get(BASE) else {
            return Ok(document);
        };
        let (place, base) = match &entry.node {
            TreeNode::Leaf(leaf) => (leaf.place.clone(), leaf.value.as_str().map(str::to_owned)),
            TreeNode::Table(table) => (table.place.clone(), None),
        };
        let Some(base) = base else {
            let message = "is not a text; expected a machine's name or the path of its file";
            return Err(Problem::new(Some(place), BASE, message).into());
        };
        let mut below = self.machine(&base, Some((&place, folder.as_deref())))?;
        replaced::choose(&mut below, document);
        Ok(below)
    }
}

fn unknown_machine(name: &str) -> String {
    let names = presets::names();
    let hint = did_you_mean(name, names.iter().copied());
    let names = names.join(", ");
    format!(
        "unknown machine {name:?}; there are {names}, and files by their path, such as ./{name}.toml{hint}"
    )
}

/// The text of a file; otherwise, why there is none.
fn read_file(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let bytes = files::read(path, LARGEST_FILE_BYTES)
        .map_err(|error| format!("cannot read the machine's file {shown}: {error}"))?;
    String::from_utf8(bytes).map_err(|_| format!("{shown} is not a machine's file: it is not UTF-8 text"))
}
