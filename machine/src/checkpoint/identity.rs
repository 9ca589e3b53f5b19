//! What decides a run: a checkpoint is resumed only by a run that has all of it
//! in common with the run that wrote it.
//!
//! Host threads are no part of it, nor is anything else that cannot change a
//! result.

use std::collections::BTreeMap;

use narthex_interfaces::Attached;
use narthex_kernel::Frequency;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::request::RunRequest;
use crate::sha256::sha256;
use crate::surroundings::SurroundingsIdentity;

/// More parameters that differ are counted, not listed.
const LISTED: usize = 3;

/// What decides a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The simulator's version.
    pub version: String,
    /// The program's name, which it sees as its first argument.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its bytes.
    pub binary_sha256: String,
    /// Its nodes, and the jobs beside it: program and arguments, nodes, the hash of the bytes.
    pub jobs: Vec<(String, Option<String>, String)>,
    /// The bytes of its firmware, by name.
    pub firmware_sha256: BTreeMap<String, String>,
    /// What the programs find around them.
    pub surroundings: SurroundingsIdentity,
    /// The interface and its place.
    pub interface: String,
    /// The sources of the hardware in its place, and its clock.
    pub hardware: Option<(String, Option<Frequency>)>,
    /// The machine with the run's changes, nodes and seed among them.
    pub machine: Value,
}

impl Identity {
    /// That of a run on a machine, as results have it, over an interface.
    pub fn new(request: &RunRequest, elf: &[u8], interface: Attached, machine: Value) -> Self {
        Identity {
            version: env!("CARGO_PKG_VERSION").into(),
            program: request.program.clone(),
            arguments: request.args.clone(),
            binary_sha256: sha256(elf),
            jobs: jobs_of(request),
            firmware_sha256: request.firmware_sha256(),
            surroundings: request.surroundings.identity(),
            interface: request.interface_name(&interface),
            hardware: request.hardware.as_ref().map(|given| (given.sha256.clone(), given.clock)),
            machine,
        }
    }

    /// How a checkpoint of `self` differs from the run `asked` for, if it does.
    pub fn difference(&self, asked: &Identity) -> Option<String> {
        let Identity {
            version,
            program,
            arguments,
            binary_sha256,
            jobs,
            firmware_sha256,
            surroundings,
            interface,
            hardware,
            machine,
        } = self;
        if *version != asked.version {
            return Some(format!("it is of narthex {version}, and this is narthex {}", asked.version));
        }
        if (program, arguments) != (&asked.program, &asked.arguments) {
            return Some(format!(
                "it is of program {}; the run asks for {}",
                self.describe_program(),
                asked.describe_program()
            ));
        }
        if *binary_sha256 != asked.binary_sha256 {
            return Some(format!(
                "program '{program}' has been changed or compiled again since it was written"
            ));
        }
        if *jobs != asked.jobs {
            return Some("its jobs are others than those that the run asks for".into());
        }
        let names = firmware_sha256.keys().chain(asked.firmware_sha256.keys());
        let changed = |name: &&String| firmware_sha256.get(*name) != asked.firmware_sha256.get(*name);
        if let Some(name) = names.into_iter().find(changed) {
            return Some(format!("firmware '{name}' is another than that with which it was written"));
        }
        if let Some(difference) = surroundings.difference(&asked.surroundings) {
            return Some(difference);
        }
        if *interface != asked.interface {
            return Some(format!("it is of interface {interface}; the run asks for {}", asked.interface));
        }
        if *hardware != asked.hardware {
            return Some(format!("the hardware of {interface} has been changed since it was written"));
        }
        difference_of_machines(machine, &asked.machine)
    }

    fn describe_program(&self) -> String {
        match self.arguments.as_slice() {
            [] => format!("'{}' without arguments", self.program),
            arguments => format!("'{}' with arguments '{}'", self.program, arguments.join("' '")),
        }
    }
}

/// What decides the places of a run's jobs, and what the further ones run.
fn jobs_of(request: &RunRequest) -> Vec<(String, Option<String>, String)> {
    let first = request.job_nodes.iter().map(|nodes| (String::new(), Some(nodes.clone()), String::new()));
    let further = request.jobs.iter().map(|job| {
        let words = std::iter::once(&job.program).chain(&job.args).cloned().collect::<Vec<_>>();
        (words.join("\0"), job.nodes.clone(), sha256(&job.elf))
    });
    first.chain(further).collect()
}

fn difference_of_machines(saved: &Value, asked: &Value) -> Option<String> {
    let mut differences = Vec::new();
    compare("", saved, asked, &mut differences);
    let listed = differences.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
    let more = match differences.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!differences.is_empty()).then(|| format!("it is of another machine: {listed}{more}"))
}

/// Lists the parameters that differ, with both values.
fn compare(key: &str, saved: &Value, asked: &Value, differences: &mut Vec<String>) {
    let (saved, asked) = (without_source(saved), without_source(asked));
    if let (Value::Object(saved), Value::Object(asked)) = (saved, asked) {
        let only_asked = asked.keys().filter(|key| !saved.contains_key(*key));
        for name in saved.keys().chain(only_asked) {
            let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
            let of = |table: &serde_json::Map<String, Value>| table.get(name).cloned().unwrap_or_default();
            compare(&key, &of(saved), &of(asked), differences);
        }
    } else if saved != asked {
        differences.push(format!("{key} is {saved} there and {asked} here"));
    }
}

/// A parameter's value; where that comes from changes nothing.
fn without_source(value: &Value) -> &Value {
    value.get("value").unwrap_or(value)
}
