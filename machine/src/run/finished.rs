//! A run at its end, and its result as a document.

use narthex_fabrics::switch::Switch;
use narthex_fabrics::{Frame, MessageSizes, Placement};
use narthex_interfaces::Attached;
use narthex_kernel::Time;
use narthex_schedules::within::Ranks;
use serde::Serialize;
use serde_json::{Value, json};

use super::network;
use super::number::number;
use super::written::Written;
use crate::compose::jobs::{self, JobPlacement};
use crate::config::Machine;
use crate::node::counts::sizes_json;
use crate::node::{Ended, Node, Personality, Process, Region, Report};
use crate::request::{HardwareRequest, RunRequest, WarmRequest};
use crate::sha256::sha256;
use crate::surroundings::written_json;

/// The version of the results' layout.
pub const SCHEMA_VERSION: u32 = 3;

/// What a run cost the host. It is no part of the run's document, which is the
/// same at any cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Effort {
    /// Windows in which nodes advanced.
    pub windows: u64,
    /// Instructions that all processors retired.
    pub instructions: u64,
    /// Those among them that were computed, in wait loops, instead of executed.
    pub skipped_instructions: u64,
    /// Events that happened at all nodes and switches: grants and releases of buses, frames, timers.
    pub events: u64,
    /// Checkpoints that were written.
    pub checkpoints: u64,
    /// Host threads, at most.
    pub threads: usize,
}

impl Effort {
    /// What the parts of a machine have done; the rest of it is zero.
    pub(super) fn of(nodes: &[Node], switches: &[Switch<Frame>], ranks: Option<&Ranks>) -> Self {
        let own = nodes.iter().map(Node::events).chain(switches.iter().map(Switch::events));
        Effort {
            instructions: nodes.iter().map(Node::retired).sum(),
            skipped_instructions: nodes.iter().map(Node::skipped_instructions).sum(),
            events: own.chain(ranks.map(Ranks::events)).sum(),
            ..Effort::default()
        }
    }
}

/// A run that has come to its end.
pub struct Finished {
    /// The machine, with the request's changes.
    pub machine: Machine,
    /// Its interface.
    pub interface: Attached,
    /// Its nodes, their ledgers closed.
    pub nodes: Vec<Node>,
    /// The switches of its network.
    pub switches: Vec<Switch<Frame>>,
    /// The ranks of a model that took the place of nodes.
    pub ranks: Option<Ranks>,
    /// What it cost the host.
    pub effort: Effort,
    /// The instant of its end.
    pub end: Time,
    /// How it ended.
    pub(super) ending: &'static str,
    pub(super) written: Written,
}

impl Finished {
    /// The result document: everything that is needed to run it again, and all that was counted.
    pub fn document(&self, request: &RunRequest, elf: &[u8]) -> Value {
        let Finished { machine, interface, nodes, switches, ranks, end, ending, written, effort: _ } = self;
        let mut message_sizes = MessageSizes::default();
        nodes.iter().for_each(|node| message_sizes.merge(node.message_sizes()));
        let mut document = json!({
            "schema": SCHEMA_VERSION,
            "version": env!("CARGO_PKG_VERSION"),
            "program": request.program,
            "arguments": request.args,
            "binary_sha256": sha256(elf),
            "interface": request.interface_name(interface),
            "machine": machine.resolved(),
            "warnings": warnings(machine, interface),
            "ending": ending,
            "simulated_ps": end.as_ps(),
            "reports": of_processes(nodes, reports_of),
            "regions": of_processes(nodes, regions_of),
            "message_sizes": sizes_json(&message_sizes),
            "statistics": nodes[0].statistics_described(),
            "nodes": nodes.iter().map(Node::to_json).collect::<Vec<_>>(),
            "output": written.to_json(),
        });
        if let Some(ranks) = ranks {
            document["model"] = ranks.document();
        }
        if let Some(network) = network::document(nodes, switches, *end) {
            document["network"] = network;
        }
        if !request.jobs.is_empty() || request.job_nodes.is_some() {
            document["jobs"] = jobs_json(request, elf, nodes, machine.config.machine.seed);
        }
        if let Some(network) = network::on_chip_document(nodes) {
            document["network_on_chip"] = network;
        }
        if let Some(hardware) = &request.hardware {
            let HardwareRequest { name, sha256, clock, .. } = hardware;
            // A tile of SARC's chip has the clock of the model.
            let clock =
                clock.map_or_else(|| machine.config.interfaces["sarc"]["clock"].clone(), |own| json!(own));
            document["hardware"] = json!({ "name": name, "sha256": sha256, "clock": clock });
        }
        if !request.surroundings.is_empty() {
            document["surroundings"] = request.surroundings.document();
            document["written_files"] = written_json(nodes);
        }
        if let Some(WarmRequest::From { sha256, .. }) = &request.warm {
            document["started_from"] = json!({ "sha256": sha256 });
        }
        if !request.firmware.is_empty() {
            document["firmware_sha256"] = json!(request.firmware_sha256());
        }
        document
    }
}

/// The jobs of a run that has several, with their places.
fn jobs_json(request: &RunRequest, elf: &[u8], nodes: &[Node], seed: u64) -> Value {
    let placement = Placement { nodes: nodes.len() as u16, processes: nodes[0].programs() as u8 };
    let places = jobs::places(request, placement, seed).expect("the run has been placed so");
    let first = (&request.program, &request.args, elf);
    let further = request.jobs.iter().map(|job| (&job.program, &job.args, &*job.elf));
    let jobs = std::iter::once(first).chain(further).zip(places);
    let json = jobs.map(|((program, arguments, elf), JobPlacement { nodes: on, processes, times })| {
        let (first, last) = (on.iter().min().expect("a job has nodes"), on.iter().max().expect("it has"));
        let mut job = json!({
            "program": program,
            "arguments": arguments,
            "binary_sha256": sha256(elf),
            "nodes": [first, last + 1],
            "process": processes.start,
        });
        if !on.iter().copied().eq(*first..=*last) {
            job["node_list"] = json!(on);
        }
        for (key, time) in [("start_ps", times.start), ("until_ps", times.until)] {
            if let Some(time) = time {
                job[key] = time.as_ps().into();
            }
        }
        let of = |node: &u16| &nodes[usize::from(*node)].processes[usize::from(processes.start)];
        if on.iter().any(|node| matches!(of(node).ended, Some((_, Ended::Stopped)))) {
            job["stopped"] = true.into();
        }
        job
    });
    json.collect()
}

/// What was set and changes nothing with the interface.
fn warnings(machine: &Machine, interface: &Attached) -> Vec<String> {
    let told = machine.settings_with(interface).expect("the machine has had the interface");
    told.warnings.iter().map(ToString::to_string).collect()
}

/// What every process has of something, with whose it is.
fn of_processes(nodes: &[Node], what: impl Fn(&Process) -> Vec<Value>) -> Vec<Value> {
    let mut all = Vec::new();
    for (node, partition) in nodes.iter().enumerate() {
        for (number, process) in partition.processes.iter().enumerate() {
            for mut entry in what(process) {
                entry["node"] = node.into();
                entry["process"] = number.into();
                if process.personality == Personality::Bare {
                    entry["firmware"] = true.into();
                    entry["processor"] = process.processors.start.into();
                }
                all.push(entry);
            }
        }
    }
    all
}

fn reports_of(process: &Process) -> Vec<Value> {
    let report =
        |report: &Report| json!({ "name": report.name, "value": number(report.value), "unit": report.unit });
    process.reports.iter().map(report).collect()
}

fn regions_of(process: &Process) -> Vec<Value> {
    let region = |region: &Region| {
        let mut entry = json!({ "name": region.name, "begin_ps": region.begin.as_ps(), "end_ps": null });
        if process.processors.len() > 1 {
            entry["processor"] = region.processor.into();
        }
        if let (Some((end, counts)), Some(fields)) = (&region.end, entry.as_object_mut()) {
            fields.insert("end_ps".into(), end.as_ps().into());
            fields.extend(counts.to_json());
        }
        entry
    };
    process.regions.iter().map(region).collect()
}
