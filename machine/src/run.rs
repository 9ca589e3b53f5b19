//! A run from request to result.

mod number;
mod written;

use std::ops::ControlFlow;
use std::time::{Duration as HostDuration, Instant};

use narthex_cores::linux::{OutputStream, Program};
use narthex_fabrics::MessageSizes;
use narthex_interfaces::Attached;
use narthex_kernel::simulation::{Ending, Limits, Simulation};
use narthex_kernel::{Archive, Archived, Damage, Time};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::checkpoint::identity::Identity;
use crate::checkpoint::{Keeper, contradiction};
use crate::compose::Blueprint;
use crate::config::{self, Machine};
use crate::hang::{Hang, somebody_works};
use crate::host_memory::{self, Estimate};
use crate::node::counts::sizes_json;
use crate::node::{Ended, Node, Process, Region, Report};
use crate::request::{Failure, RunRequest};
use crate::trace::Tracer;
use number::number;
use written::Written;

/// The version of the results' layout.
pub const SCHEMA_VERSION: u32 = 3;

/// What whoever started a run sees while it goes on.
pub enum Progress<'a> {
    /// A node's program wrote something.
    Output {
        /// Which node.
        node: usize,
        /// Which of its processes.
        process: usize,
        /// To which stream.
        stream: OutputStream,
        /// What.
        bytes: &'a [u8],
    },
    /// Something about the run that its result does not tell, but its user should know.
    Notice(&'a str),
    /// Something that was asked for besides the result, and is not there.
    Loss(&'a str),
    /// So much time was simulated; comes several times a second.
    Time(Time),
}

/// The end of simulated time, some hundred days: no sum of instants and times
/// overflows before it.
const LAST: Time = Time::from_ps(u64::MAX / 2);

/// How often a run reports to whoever started it, and looks for a shortage of memory.
const REPORT_EVERY: HostDuration = HostDuration::from_millis(100);
/// It does so earlier when programs have touched so many more pages: 16 MiB.
const REPORT_PAGES: usize = 4_096;

/// Runs a program on a machine. `observer` sees what happens and returns false
/// to end the run early.
///
/// # Errors
/// With the exit codes of the command line; the message is for people.
pub fn run(
    request: &RunRequest,
    elf: &[u8],
    observer: &mut dyn FnMut(Progress<'_>) -> bool,
) -> Result<Value, Failure> {
    run_measured(request, elf, observer).map(|(document, _)| document)
}

/// The same, with what the run cost the host.
///
/// # Errors
/// As for [`run`].
pub fn run_measured(
    request: &RunRequest,
    elf: &[u8],
    observer: &mut dyn FnMut(Progress<'_>) -> bool,
) -> Result<(Value, Effort), Failure> {
    let mut run = || {
        let finished = simulate(request, elf, |_| {}, observer)?;
        Ok((document(request, elf, &finished), finished.effort))
    };
    match request.checkpoint.as_ref().filter(|checkpoint| checkpoint.is_resumed()) {
        Some(checkpoint) => contradiction::caught(checkpoint, run),
        None => run(),
    }
}

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
    /// Events that happened at all nodes: grants and releases of buses, frames, timers.
    pub events: u64,
    /// Checkpoints that were written.
    pub checkpoints: u64,
    /// Host threads, at most.
    pub threads: usize,
}

/// A run that has come to its end.
pub(crate) struct Finished {
    /// The machine, with the request's changes.
    pub machine: Machine,
    /// Its interface.
    pub interface: Attached,
    /// Its nodes, their ledgers closed.
    pub nodes: Vec<Node>,
    effort: Effort,
    end: Time,
    written: Written,
}

/// Runs a program on a machine whose nodes have been through `prepare`.
pub(crate) fn simulate(
    request: &RunRequest,
    elf: &[u8],
    prepare: impl FnMut(&mut Node),
    observer: &mut dyn FnMut(Progress<'_>) -> bool,
) -> Result<Finished, Failure> {
    let threads = request.threads()?;
    let machine = config::load(&request.machine)
        .and_then(|machine| machine.with_settings(&settings(request)))
        .map_err(Failure::usage)?;
    let interface: Attached = request.interface.parse().map_err(Failure::usage)?;
    let program = Program::parse(&request.program, elf).map_err(Failure::usage)?;
    let blueprint = Blueprint::new(&machine.config, interface, program, request);
    Estimate::of(&blueprint)?.check(host_memory::allowed()?)?;
    let mut nodes =
        (0..blueprint.nodes).map(|number| blueprint.node(number)).collect::<Result<Vec<_>, _>>()?;
    nodes.iter_mut().for_each(prepare);
    if request.execute_wait_loops {
        nodes.iter_mut().for_each(Node::execute_wait_loops);
    }
    let lookahead = machine.config.network.build().smallest_latency();
    if lookahead.is_zero() {
        observer(Progress::Notice(&without_lookahead(request.threads)));
    }
    let trace = |trace| {
        let title = format!("{} on {interface}, {}", request.program, machine.config.machine.name);
        Tracer::new(trace, &title, &nodes)
    };
    let mut tracer = request.trace.as_ref().map(trace).transpose()?;
    let simulation = Simulation::new(nodes, lookahead).with_threads(threads);
    let threads = simulation.thread_count();
    let mut running = Running::new(simulation);
    let keep =
        |checkpoint| Keeper::new(checkpoint, Identity::new(request, elf, interface, machine.resolved()));
    let mut keeper = request.checkpoint.as_ref().map(keep).transpose()?;
    if let Some(keeper) = &keeper
        && let Some(notice) = keeper.resume(&mut running)?
    {
        observer(Progress::Notice(&notice));
    }
    let patience = machine.config.machine.time_without_progress;
    let limits = Limits { until: LAST, patience, ..Limits::default() };
    let mut shortage = None;
    let ending = running.run(&limits, keeper.as_mut(), tracer.as_mut(), &mut |progress| {
        if let Progress::Time(_) = progress {
            shortage = host_memory::shortage(host_memory::available())
                .or_else(|| host_memory::shortage_of_addresses(host_memory::addresses_left()));
        }
        shortage.is_none() && observer(progress)
    });
    let Running { simulation, mut written } = running;
    let (windows, stopped_at) = (simulation.windows(), simulation.now());
    let mut nodes = simulation.into_partitions();
    if let Ending::NoProgress(_) = ending {
        nodes.iter_mut().for_each(|node| node.rest_at(stopped_at));
    }
    written.collect(nodes.iter_mut(), observer);
    let end = if let Ending::NoProgress(_) = ending { stopped_at } else { end_of(&nodes) };
    nodes.iter_mut().for_each(|node| node.close(end));
    match tracer.map(|tracer| tracer.finish(end, &mut nodes)) {
        Some(Ok(notice)) => drop(observer(Progress::Notice(&notice))),
        Some(Err(loss)) => drop(observer(Progress::Loss(&loss))),
        None => {}
    }
    if let Some(shortage) = shortage {
        return Err(shortage.failure(end, &nodes));
    }
    let effort = Effort {
        windows,
        instructions: nodes.iter().map(Node::retired).sum(),
        skipped_instructions: nodes.iter().map(Node::skipped_instructions).sum(),
        events: nodes.iter().map(Node::events).sum(),
        checkpoints: keeper.map_or(0, |keeper| keeper.written()),
        threads,
    };
    let mut finished = Finished { machine, interface, nodes, effort, end, written };
    judge(&ending, &mut finished, |finished| document(request, elf, finished))?;
    Ok(finished)
}

/// A run that goes on: all that a checkpoint holds.
pub struct Running {
    simulation: Simulation<Node>,
    written: Written,
}

impl Archived for Running {
    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), Damage> {
        let Running { simulation, written } = self;
        archive.value(written)?;
        simulation.archive(archive)
    }
}

impl Running {
    /// A run whose programs have written nothing yet.
    pub fn new(simulation: Simulation<Node>) -> Self {
        Running { simulation, written: Written::default() }
    }

    /// Goes on until there is an ending, with a checkpoint whenever one is due
    /// and one more when the observer ends the run.
    fn run(
        &mut self,
        limits: &Limits,
        mut keeper: Option<&mut Keeper>,
        mut tracer: Option<&mut Tracer>,
        observer: &mut dyn FnMut(Progress<'_>) -> bool,
    ) -> Ending {
        let mut last = Instant::now();
        let mut touched = 0;
        self.trace(tracer.as_deref_mut());
        loop {
            let mut goes_on = true;
            let Running { simulation, written } = self;
            let mut look = |now, nodes: &mut [&mut Node]| {
                written.collect(nodes.iter_mut().map(|node| &mut **node), observer);
                let pages = nodes.iter().map(|node| node.touched_pages()).sum::<usize>();
                if last.elapsed() >= REPORT_EVERY || pages >= touched + REPORT_PAGES {
                    (last, touched) = (Instant::now(), pages);
                    goes_on = observer(Progress::Time(now));
                }
                let is_due = keeper.as_ref().is_some_and(|keeper| keeper.is_due());
                if goes_on && !is_due {
                    return ControlFlow::Continue(());
                }
                nodes.iter_mut().for_each(|node| node.rest_at(now));
                ControlFlow::Break(())
            };
            let stop = tracer.as_ref().map(|tracer| tracer.next_stop(simulation.now()));
            let until = stop.map_or(limits.until, |stop| stop.min(limits.until));
            let mut ending = simulation.run(&Limits { until, ..*limits }, &mut look);
            let works = matches!(ending, Ending::NoProgress(_)) && somebody_works(simulation);
            if works {
                simulation.be_patient();
            }
            if works || ending == Ending::TimeLimit {
                let now = simulation.now();
                let mut nodes: Vec<&mut Node> = simulation.partitions_mut().collect();
                let interrupted = look(now, &mut nodes).is_break();
                if ending == Ending::TimeLimit {
                    self.trace(tracer.as_deref_mut());
                }
                if ending == Ending::TimeLimit && until == limits.until {
                    return ending;
                }
                if !interrupted {
                    continue;
                }
                ending = Ending::Interrupted;
            }
            let (Ending::Interrupted, Some(keeper)) = (ending, &mut keeper) else { return ending };
            let notice = if goes_on { keeper.save(self) } else { Some(keeper.leave(self)) };
            if let Some(notice) = notice {
                observer(Progress::Notice(&notice));
            }
            if !goes_on {
                return ending;
            }
        }
    }
}

impl Running {
    /// The timeline takes in what has happened.
    fn trace(&mut self, tracer: Option<&mut Tracer>) {
        if let Some(tracer) = tracer {
            let now = self.simulation.now();
            let mut nodes: Vec<&mut Node> = self.simulation.partitions_mut().collect();
            tracer.stop(now, &mut nodes);
        }
    }
}

/// What there is to say about a run whose nodes hear from each other at once.
fn without_lookahead(threads: u32) -> String {
    let instead = if threads > 1 { format!(" instead of {threads}") } else { String::new() };
    format!(
        "network.latency is 0ps, so nodes have no lookahead: they are simulated instant by instant, \
         on one thread{instead}"
    )
}

/// The changes to the machine that the request makes, as settings.
fn settings(request: &RunRequest) -> Vec<String> {
    let mut settings = request.set.clone();
    settings.extend(request.nodes.map(|nodes| format!("machine.nodes={nodes}")));
    settings.extend(request.seed.map(|seed| format!("machine.seed={seed}")));
    settings
}

/// The latest instant that any node has reached.
fn end_of(nodes: &[Node]) -> Time {
    nodes.iter().map(Node::reached).max().unwrap_or(Time::ZERO)
}

/// Turns an ending that is no result into a failure.
fn judge(
    ending: &Ending,
    finished: &mut Finished,
    document: impl Fn(&Finished) -> Value,
) -> Result<(), Failure> {
    match ending {
        Ending::AllFinished => Ok(()),
        Ending::Stopped { partition, .. } => Err(failure_of(&finished.nodes[*partition])),
        Ending::NoProgress(_) => {
            let hang = Hang::of(&mut finished.nodes, finished.end);
            let mut document = document(finished);
            document["ending"] = "no progress".into();
            document["hang"] = hang.to_json();
            let (exit_code, message) = (Failure::NO_PROGRESS, hang.to_string());
            Err(Failure { exit_code, message, document: Some(Box::new(document)) })
        }
        Ending::TimeLimit => {
            Err(Failure::guest(format!("the run has come to {LAST}, where simulated time ends")))
        }
        Ending::Interrupted => Err(Failure::guest("the run was interrupted")),
    }
}

fn failure_of(node: &Node) -> Failure {
    let message = match node.failure() {
        Some((_, _, Ended::Failed(report))) => report.clone(),
        Some((_, _, Ended::Endless(report))) => return Failure::no_progress(report.clone()),
        Some((process, at, Ended::Exited(code))) => {
            let place = node.place(process);
            format!("{place}: the program ended with exit code {code} at simulated time {at}")
        }
        None => unreachable!("a node that stopped the run has failed"),
    };
    Failure::guest(message)
}

/// The result document: everything that is needed to run it again, and all that was counted.
fn document(request: &RunRequest, elf: &[u8], finished: &Finished) -> Value {
    let Finished { machine, interface, nodes, end, written, effort: _ } = finished;
    let mut message_sizes = MessageSizes::default();
    nodes.iter().for_each(|node| message_sizes.merge(node.message_sizes()));
    json!({
        "schema": SCHEMA_VERSION,
        "version": env!("CARGO_PKG_VERSION"),
        "program": request.program,
        "arguments": request.args,
        "binary_sha256": digest(elf),
        "interface": interface.to_string(),
        "machine": machine.resolved(),
        "warnings": warnings(machine, interface),
        "ending": "finished",
        "simulated_ps": end.as_ps(),
        "reports": of_processes(nodes, reports_of),
        "regions": of_processes(nodes, regions_of),
        "message_sizes": sizes_json(&message_sizes),
        "statistics": nodes[0].statistics_described(),
        "nodes": nodes.iter().map(Node::to_json).collect::<Vec<_>>(),
        "output": written.to_json(),
    })
}

/// What was set and changes nothing with the interface.
fn warnings(machine: &Machine, interface: &Attached) -> Vec<String> {
    let told = machine.settings_with(interface).expect("the machine has had the interface");
    told.warnings.iter().map(ToString::to_string).collect()
}

/// What tells one program's file from another.
pub(crate) fn digest(elf: &[u8]) -> String {
    hexadecimal(&Sha256::digest(elf))
}

/// A digest as people write it.
pub(crate) fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What every process has of something, with whose it is.
fn of_processes(nodes: &[Node], what: impl Fn(&Process) -> Vec<Value>) -> Vec<Value> {
    let mut all = Vec::new();
    for (node, partition) in nodes.iter().enumerate() {
        for (number, process) in partition.processes.iter().enumerate() {
            for mut entry in what(process) {
                entry["node"] = node.into();
                entry["process"] = number.into();
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
        if let (Some((end, counts)), Some(fields)) = (&region.end, entry.as_object_mut()) {
            fields.insert("end_ps".into(), end.as_ps().into());
            fields.extend(counts.to_json());
        }
        entry
    };
    process.regions.iter().map(region).collect()
}
