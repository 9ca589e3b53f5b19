//! What runs: configuration, composition, runs and results.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`config`] | machines' files: typed, checked, with the source of each value |
//! | [`compose`] | from a configuration and a program to nodes |
//! | [`wiring`] | which part of a node sits where |
//! | [`node`] | a node: its parts, wired |
//! | [`partition`] | nodes, switches and ranks of a model, as the simulation has them |
//! | [`activity`] | what a processor's time is divided into |
//! | [`request`], [`run`](mod@run) | a run from request to result |
//! | [`surroundings`] | what programs find around them: variables, input, files |
//! | [`network_load`](mod@network_load) | a machine's network alone, under synthetic traffic |
//! | [`checkpoint`] | the whole state of a run in a file, to go on from |
//! | [`sha256`](mod@sha256) | digests of files |
//! | [`files`] | files that users name, read and written |
//!
//! The functions of this page are what the command line is made of.

pub mod activity;
pub mod checkpoint;
pub mod compose;
pub mod config;
pub mod files;
pub mod host_memory;
pub mod network_load;
pub mod node;
pub mod partition;
pub mod request;
pub mod run;
pub mod sha256;
pub mod surroundings;
pub mod wiring;

use narthex_interfaces::declarations::FIRMWARE_ACTIVITIES_BY_NUMBER;
use narthex_interfaces::models::{MODELS, Model};
use narthex_interfaces::rtl::ports::{BUS_PORTS, PORTS, Port};
use narthex_interfaces::{Attached, Attachment};
use serde_json::{Value, json};

use config::Machine;

pub use compose::payload_beside_model;
pub use narthex_cores::linux::OutputStream;
pub use network_load::{MachineNetwork, NetworkRequest, machine_network, network_load};
pub use request::{
    CheckpointRequest, Failure, FirmwareFile, HardwareRequest, JobRequest, RunRequest, WarmRequest, interval,
};
pub use run::{Effort, Explanation, Finished, Halt, Monitor, Progress, run, run_monitored, simulate};
pub use surroundings::{GivenFile, Surroundings};

/// What there is of a kind: "interfaces" or "machines"; "hardware-ports" are what hardware has that
/// stands in the place of a FIFO's model, and "hardware-bus-ports" those of its bus port.
///
/// # Errors
/// For any other kind.
pub fn list(kind: &str) -> Result<Value, Failure> {
    match kind {
        "interfaces" => Ok(MODELS.iter().flat_map(|model| examples_of(model)).collect()),
        "machines" => config::preset_names()
            .into_iter()
            .map(|name| {
                let machine = config::load(name).map_err(Failure::usage)?;
                Ok(json!({ "name": name, "summary": machine.config.machine.description }))
            })
            .collect(),
        "firmware-activities" => Ok(FIRMWARE_ACTIVITIES_BY_NUMBER
            .iter()
            .map(|activity| json!({ "name": activity.name, "meaning": activity.meaning }))
            .collect()),
        "hardware-ports" => Ok(PORTS.iter().map(port).collect()),
        "hardware-bus-ports" => Ok(BUS_PORTS.iter().map(port).collect()),
        other => Err(Failure::usage(format!("'{other}' is neither interfaces nor machines"))),
    }
}

/// A port that hardware in the place of an interface's model has.
fn port(port: &Port) -> Value {
    let Port { name, is_input, width, meaning } = *port;
    let direction = if is_input { "input" } else { "output" };
    json!({ "name": name, "direction": direction, "width": width, "meaning": meaning })
}

/// The members of a family that the papers evaluate, and where they can be attached.
fn examples_of(model: &'static Model) -> impl Iterator<Item = Value> {
    let places = Attachment::ALL.iter().filter(|(place, _)| (model.attaches)(*place).is_ok());
    let places: Vec<&str> = places.map(|(_, name)| *name).collect();
    model.examples.iter().map(move |example| {
        json!({
            "name": example,
            "family": model.family,
            "summary": model.summary,
            "attachments": places,
        })
    })
}

/// A machine's resolved configuration with its warnings and, if asked for, each parameter's
/// source.
///
/// # Errors
/// If the machine or a setting is wrong.
pub fn machine_show(name: &str, settings: &[String], sources: bool) -> Result<Value, Failure> {
    let machine = machine(name, settings)?;
    let warnings: Vec<String> = machine.warnings().iter().map(ToString::to_string).collect();
    let mut document = json!({
        "name": machine.config.machine.name,
        "toml": machine.to_toml(),
        "machine": machine.resolved(),
        "warnings": warnings,
    });
    if sources {
        document["sources"] = serde_json::to_value(machine.sources()).expect("sources are plain data");
    }
    Ok(document)
}

/// A machine with settings, or all that is wrong with them.
fn machine(name: &str, settings: &[String]) -> Result<Machine, Failure> {
    config::load(name).and_then(|machine| machine.with_settings(settings)).map_err(Failure::usage)
}

/// What a user has set of a machine, and a warning for each setting that has no
/// effect with the interface: its `key`, and the `text` with its place.
///
/// # Errors
/// If the machine or a setting is wrong, or the machine cannot have the interface.
pub fn machine_settings(name: &str, settings: &[String], interface: &str) -> Result<Value, Failure> {
    let interface: Attached = interface.parse().map_err(Failure::usage)?;
    let told = machine(name, settings)?.settings_with(&interface);
    let told = told.map_err(|problem| Failure::usage(format!("{name}: {problem}")))?;
    let warnings = told.warnings.iter();
    let warnings: Vec<Value> =
        warnings.map(|warning| json!({ "key": warning.key(), "text": warning.to_string() })).collect();
    Ok(json!({ "set": told.set, "warnings": warnings }))
}

/// The network interface of runs on a machine that name none.
///
/// # Errors
/// If the machine or a setting is wrong.
pub fn default_interface(name: &str, settings: &[String]) -> Result<String, Failure> {
    let chosen = machine(name, settings)?.config.node.interface.default;
    Ok(chosen.unwrap_or_else(|| config::DEFAULT_INTERFACE.to_owned()))
}

/// The parameters that distinguish two machines, each given by name and settings.
///
/// # Errors
/// If a machine or a setting is wrong.
pub fn machine_differences(
    (one, one_settings): (&str, &[String]),
    (other, other_settings): (&str, &[String]),
) -> Result<Value, Failure> {
    let differences = machine(one, one_settings)?.differences(&machine(other, other_settings)?);
    Ok(serde_json::to_value(differences).expect("differences are plain data"))
}

/// The JSON Schema of a machine's file.
pub fn schema() -> Value {
    config::json_schema()
}
