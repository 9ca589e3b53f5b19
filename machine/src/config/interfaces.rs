//! The part of a machine's file that belongs to the network interfaces.
//!
//! Each model of an interface declares its parameters in its own file
//! (interfaces/src/models) and reads them itself when a node is built. Here its
//! section `[interfaces.MODEL]` is only joined to the machine's schema, so that
//! it is checked like everything else, and tried out before the run begins.

use narthex_interfaces::interface;
use narthex_interfaces::models::{MODELS, Makes, Model, Problem, Setup};
use narthex_interfaces::registers::Addresses;
use narthex_interfaces::{Attachment, Hearing, Name, Share};
use narthex_kernel::Duration;
use narthex_memory::AgentId;
use narthex_memory::protocols::Protocol;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// The sections of a machine's file, by the name of the model's file.
pub type Interfaces = Map<String, Value>;

/// The schema of `[interfaces]`: a section for each model, none of them required.
pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
    let mut sections = Map::new();
    for model in MODELS {
        let mut section = (model.schema)().to_value();
        section["description"] = model.summary.into();
        join_definitions(&mut section, model.section, generator);
        sections.insert(model.section.into(), section);
    }
    schemars::json_schema!({
        "type": "object",
        "properties": sections,
        "additionalProperties": false,
    })
}

/// Moves a section's definitions to those of the whole machine. A definition
/// whose name is taken by another gets its model's name in front.
fn join_definitions(section: &mut Value, model: &str, generator: &mut SchemaGenerator) {
    let Some(object) = section.as_object_mut() else {
        return;
    };
    object.remove("$schema");
    let Some(Value::Object(definitions)) = object.remove("$defs") else {
        return;
    };
    for (name, definition) in definitions {
        let taken = generator.definitions().get(&name).is_some_and(|other| *other != definition);
        let joined = if taken { format!("{model}.{name}") } else { name.clone() };
        if taken {
            rename(section, &format!("#/$defs/{name}"), &format!("#/$defs/{joined}"));
        }
        generator.definitions_mut().insert(joined, definition);
    }
}

fn rename(schema: &mut Value, from: &str, to: &str) {
    match schema {
        Value::Object(object) => {
            if object.get("$ref").is_some_and(|name| name == from) {
                object.insert("$ref".into(), json!(to));
            }
            object.values_mut().for_each(|value| rename(value, from, to));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| rename(value, from, to)),
        _ => {}
    }
}

/// What the sections are tried out with.
#[derive(Clone, Copy)]
pub(super) struct TrialContext {
    pub attachment: Attachment,
    pub protocol: &'static Protocol,
    pub block_bytes: u64,
    pub packet_bytes: u64,
    pub time_without_progress: Duration,
    /// Nodes of the machine, for which a refusal gives its figures.
    pub nodes: u32,
}

/// The parameters in `table` that a model refuses, as (dotted key, what is
/// wrong) pairs: its examples are built, and thrown away.
pub(super) fn problems(
    table: &str,
    sections: &Interfaces,
    surroundings: &TrialContext,
) -> Vec<(String, String)> {
    let with_section = |model: &&'static Model| Some((*model, sections.get(model.section)?));
    let refused = MODELS.iter().filter_map(with_section).flat_map(|(model, config)| {
        let key = format!("{table}.{}", model.section);
        match (model.attaches)(surroundings.attachment) {
            Ok(()) => try_out_examples(&key, model, config, surroundings),
            Err(reason) => {
                let place = surroundings.attachment;
                vec![(key, format!("no {} can be attached to {place}: {reason}", model.family))]
            }
        }
    });
    let mut problems: Vec<_> = refused.collect();
    problems.dedup();
    problems
}

fn try_out_examples(
    key: &str,
    model: &Model,
    config: &Value,
    surroundings: &TrialContext,
) -> Vec<(String, String)> {
    let names = model.examples.iter().filter_map(|example| example.parse::<Name>().ok());
    names.flat_map(|name| try_out(key, model, name, config, surroundings)).collect()
}

fn try_out(
    key: &str,
    model: &Model,
    name: Name,
    config: &Value,
    surroundings: &TrialContext,
) -> Vec<(String, String)> {
    let &TrialContext { attachment, protocol, block_bytes, packet_bytes, time_without_progress, nodes } =
        surroundings;
    let (send, receive) = match model.makes {
        Makes::Halves { send, receive } => (send, receive),
        Makes::Device(build) => {
            let sections = Interfaces::new();
            let of = |nodes| interface::Surroundings {
                sections: &sections,
                nodes,
                processes: 1,
                share: Share::WHOLE,
                first_agent: AgentId(1),
                attachment,
                hearing: Hearing::All,
                overlaps: true,
                merges_writes: false,
                knows_relaxed_ordering: true,
                no_interrupts: None,
                protocol,
                block_bytes,
                packet_bytes,
                time_without_progress,
                local_memory: None,
                dma_engine: None,
                chip: interface::Chip::ALONE,
            };
            // What goes with fewer nodes is left to the run, which may choose another interface.
            let problem = build(name.send, config, &of(1)).err();
            return refused(key, problem.and_then(|_| build(name.send, config, &of(nodes)).err()));
        }
    };
    let setup = Setup {
        name: name.send,
        config,
        agent: AgentId(1),
        addresses: Addresses::of_process(0),
        attachment,
        hearing: Hearing::All,
        overlaps: true,
        merges_writes: false,
        knows_relaxed_ordering: true,
        no_interrupts: None,
        protocol,
        block_bytes,
        packet_bytes,
        time_without_progress,
    };
    refused(key, [send(&setup).err(), receive(&setup).err()].into_iter().flatten())
}

/// What was refused of the section at `key`. A problem without a key is about the name: a
/// run that chooses it is told.
fn refused(key: &str, problems: impl IntoIterator<Item = Problem>) -> Vec<(String, String)> {
    let refused = problems.into_iter().filter(|problem| !problem.key.is_empty());
    refused.map(|refused| (format!("{key}.{}", refused.key), refused.problem)).collect()
}
