//! A run at its end, and its result as a document.

use narthex_fabrics::switch::Switch;
use narthex_fabrics::{Frame, MessageSizes, Placement};
use narthex_interfaces::Attached;
use narthex_kernel::Time;
use narthex_schedules::within::Ranks;
use serde::Serialize;
use serde_json::{Value, json};

use super::document::{HardwareEntry, JobEntry, Of, RegionEntry, ReportEntry, RunDocument, StartedFrom};
use super::network;
use super::number::number;
use super::written::Written;
use crate::compose::jobs::{self, JobPlacement};
use crate::config::Machine;
use crate::node::counts::size_entries;
use crate::node::{Ended, Node, Personality, Process, Region, Report};
use crate::request::{HardwareRequest, RunRequest, WarmRequest};
use crate::sha256::sha256;
use crate::surroundings::written_files;

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
        let has_jobs = !request.jobs.is_empty() || request.job_nodes.is_some();
        let has_surroundings = !request.surroundings.is_empty();
        let document = RunDocument {
            schema: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION"),
            program: &request.program,
            arguments: &request.args,
            binary_sha256: sha256(elf),
            interface: request.interface_name(interface),
            machine: machine.resolved(),
            warnings: warnings(machine, interface),
            ending,
            simulated_ps: end.as_ps(),
            reports: of_processes(nodes, |process| process.reports.iter().map(report_entry)),
            regions: of_processes(nodes, |process| {
                process.regions.iter().map(|region| region_entry(process, region))
            }),
            message_sizes: size_entries(&message_sizes),
            statistics: nodes[0].statistics_described(),
            nodes: nodes.iter().map(Node::entry).collect(),
            output: written.entries(),
            model: ranks.as_ref().map(Ranks::entry),
            network: network::entry(nodes, switches, *end),
            jobs: has_jobs.then(|| jobs_of(request, elf, nodes, machine.config.machine.seed)),
            network_on_chip: network::on_chip_entry(nodes),
            hardware: request.hardware.as_ref().map(|hardware| hardware_entry(hardware, machine)),
            surroundings: has_surroundings.then(|| request.surroundings.identity()),
            written_files: has_surroundings.then(|| written_files(nodes)),
            started_from: match &request.warm {
                Some(WarmRequest::From { sha256, caches, .. }) => {
                    Some(StartedFrom { sha256: sha256.as_deref(), caches: *caches })
                }
                _ => None,
            },
            firmware_sha256: request.firmware_sha256(),
        };
        json!(document)
    }
}

fn hardware_entry<'a>(hardware: &'a HardwareRequest, machine: &Machine) -> HardwareEntry<'a> {
    let HardwareRequest { name, sha256, clock, .. } = hardware;
    // A tile of SARC's chip has the clock of the model.
    let clock = clock.map_or_else(|| machine.config.interfaces["sarc"]["clock"].clone(), |own| json!(own));
    HardwareEntry { name, sha256, clock }
}

/// The jobs of a run that has several, with their places.
fn jobs_of<'a>(request: &'a RunRequest, elf: &[u8], nodes: &[Node], seed: u64) -> Vec<JobEntry<'a>> {
    let placement = Placement { nodes: nodes.len() as u16, processes: nodes[0].programs() as u8 };
    let places = jobs::places(request, placement, seed).expect("the run has been placed so");
    let first = (&*request.program, &*request.args, elf);
    let further = request.jobs.iter().map(|job| (&*job.program, &*job.args, &*job.elf));
    let jobs = std::iter::once(first).chain(further).zip(places);
    let entry = |((program, arguments, elf), JobPlacement { nodes: on, processes, times })| {
        let (first, last) = (on.iter().min().expect("a job has nodes"), on.iter().max().expect("it has"));
        let of = |node: &u16| &nodes[usize::from(*node)].processes[usize::from(processes.start)];
        JobEntry {
            program,
            arguments,
            binary_sha256: sha256(elf),
            nodes: (*first, last + 1),
            process: processes.start,
            start_ps: times.start.map(Time::as_ps),
            until_ps: times.until.map(Time::as_ps),
            stopped: on.iter().any(|node| matches!(of(node).ended, Some((_, Ended::Stopped)))),
            node_list: (!on.iter().copied().eq(*first..=*last)).then_some(on),
        }
    };
    jobs.map(entry).collect()
}

/// What was set and changes nothing with the interface.
fn warnings(machine: &Machine, interface: &Attached) -> Vec<String> {
    let told = machine.settings_with(interface).expect("the machine has had the interface");
    told.warnings.iter().map(ToString::to_string).collect()
}

/// What every process has of something, with whose it is.
fn of_processes<'a, T, Entries: Iterator<Item = T>>(
    nodes: &'a [Node],
    what: impl Fn(&'a Process) -> Entries,
) -> Vec<Of<T>> {
    let mut all = Vec::new();
    for (node, partition) in nodes.iter().enumerate() {
        for (number, process) in partition.processes.iter().enumerate() {
            let firmware = process.personality == Personality::Bare;
            let processor = firmware.then_some(process.processors.start);
            let of = |what| Of { what, node, process: number, firmware, processor };
            all.extend(what(process).map(of));
        }
    }
    all
}

fn report_entry(report: &Report) -> ReportEntry<'_> {
    ReportEntry { name: &report.name, value: number(report.value), unit: &report.unit }
}

fn region_entry<'a>(process: &Process, region: &'a Region) -> RegionEntry<'a> {
    RegionEntry {
        name: &region.name,
        begin_ps: region.begin.as_ps(),
        end_ps: region.end.as_ref().map(|(end, _)| end.as_ps()),
        thread: (process.processors.len() > 1).then_some(region.processor),
        counts: region.end.as_ref().map(|(_, counts)| counts.entry()),
    }
}
