//! A run from request to result.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `finished` | a run at its end, and its result |
//! | `progress` | what the caller of a run sees while it goes on |
//! | `network` | what a network of switches saw |
//! | `monitor` | what may watch a run from outside |
//! | `running` | the simulation as it advances, interrupted for reports, checkpoints and monitors |
//! | `work` | whether a program without messages computes or turns in place |
//! | `written` | what programs write |

mod finished;
mod monitor;
mod network;
mod number;
mod progress;
mod running;
mod work;
mod written;

use narthex_cores::linux::Program;
use narthex_fabrics::Frame;
use narthex_fabrics::switch::Switch;
use narthex_interfaces::Attached;
use narthex_kernel::simulation::{Ending, Limits};
use narthex_kernel::{Duration, Time};
use serde_json::Value;

use crate::checkpoint::identity::Identity;
use crate::checkpoint::{Keeper, contradiction};
use crate::compose::Blueprint;
use crate::config::{self, Machine};
use crate::host_memory::{self, Estimate};
use crate::node::{Ended, Node};
use crate::partition::simulation;
use crate::request::{Failure, RunRequest};

pub use finished::{Effort, Finished, SCHEMA_VERSION};
pub use monitor::{Explanation, Monitor};
pub use progress::Progress;
use running::Closed;
pub use running::Running;

/// The end of simulated time, some hundred days: no sum of instants and times
/// overflows before it.
const LAST: Time = Time::from_ps(u64::MAX / 2);

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
    run_monitored(request, elf, &mut (), observer).map(|(document, _)| document)
}

/// The same, watched by a monitor; also gives what the run cost the host.
///
/// # Errors
/// As for [`run`].
pub fn run_monitored(
    request: &RunRequest,
    elf: &[u8],
    monitor: &mut dyn Monitor,
    observer: &mut dyn FnMut(Progress<'_>) -> bool,
) -> Result<(Value, Effort), Failure> {
    let mut run = || {
        let finished = simulate(request, elf, monitor, observer)?;
        Ok((finished.document(request, elf), finished.effort))
    };
    match request.checkpoint.as_ref().filter(|checkpoint| checkpoint.is_resumed()) {
        Some(checkpoint) => contradiction::caught(checkpoint, run),
        None => run(),
    }
}

/// Runs a program on a machine, watched by a monitor, and gives the machine as
/// it is at the end.
///
/// # Errors
/// As for [`run`].
pub fn simulate(
    request: &RunRequest,
    elf: &[u8],
    monitor: &mut dyn Monitor,
    observer: &mut dyn FnMut(Progress<'_>) -> bool,
) -> Result<Finished, Failure> {
    let threads = request.threads()?;
    let machine = config::load(&request.machine)
        .and_then(|machine| machine.with_settings(&settings(request)))
        .map_err(Failure::usage)?;
    let interface: Attached = request.interface.parse().map_err(Failure::usage)?;
    let (nodes, switches) = parts(request, elf, &machine, interface, monitor)?;
    let network = &machine.config.network;
    if network.lookahead().is_zero() && nodes.len() > 1 {
        observer(Progress::Notice(&without_lookahead(request.threads)));
    }
    let simulation = simulation(nodes, switches, network).with_threads(threads);
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
    let ending = running.run(&limits, keeper.as_mut(), monitor, &mut |progress| {
        if let Progress::Time(_) = progress {
            shortage = host_memory::shortage(host_memory::available())
                .or_else(|| host_memory::shortage_of_addresses(host_memory::addresses_left()));
        }
        shortage.is_none() && observer(progress)
    });
    let windows = running.windows();
    let Closed { mut nodes, switches, end, written } = running.close(&ending, observer);
    monitor.end(end, &mut nodes, observer);
    if let Some(shortage) = shortage {
        return Err(shortage.failure(end, &nodes));
    }
    let effort = Effort {
        windows,
        instructions: nodes.iter().map(Node::retired).sum(),
        skipped_instructions: nodes.iter().map(Node::skipped_instructions).sum(),
        events: nodes.iter().map(Node::events).chain(switches.iter().map(Switch::events)).sum(),
        checkpoints: keeper.map_or(0, |keeper| keeper.written()),
        threads,
    };
    let mut finished = Finished { machine, interface, nodes, switches, effort, end, written };
    match ending {
        Ending::AllFinished => Ok(finished),
        Ending::Stopped { partition, .. } => Err(failure_of(&finished.nodes[partition])),
        Ending::NoProgress(_) => {
            let explanation = monitor.no_progress(end, &mut finished.nodes, &finished.switches);
            Err(no_progress(finished.document(request, elf), explanation, patience, end))
        }
        Ending::TimeLimit => {
            Err(Failure::guest(format!("the run has come to {LAST}, where simulated time ends")))
        }
        Ending::Interrupted => Err(Failure::guest("the run was interrupted")),
    }
}

/// The nodes and the switches of a run that is about to start.
fn parts(
    request: &RunRequest,
    elf: &[u8],
    machine: &Machine,
    interface: Attached,
    monitor: &mut dyn Monitor,
) -> Result<(Vec<Node>, Vec<Switch<Frame>>), Failure> {
    let program = Program::parse(&request.program, elf).map_err(Failure::usage)?;
    let blueprint = Blueprint::new(&machine.config, interface, program, request)
        .with_jobs_of(request)?
        .with_firmware_of(request)?;
    Estimate::of(&blueprint)?.check(host_memory::allowed()?)?;
    let mut nodes =
        (0..blueprint.nodes).map(|number| blueprint.node(number)).collect::<Result<Vec<_>, _>>()?;
    if request.execute_wait_loops {
        nodes.iter_mut().for_each(Node::execute_wait_loops);
    }
    monitor.start(&blueprint, &mut nodes)?;
    Ok((nodes, blueprint.switches()))
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

/// The failure of a run that was stopped at `end` because it made no progress.
fn no_progress(
    mut document: Value,
    explanation: Option<Explanation>,
    patience: Duration,
    end: Time,
) -> Failure {
    document["ending"] = "no progress".into();
    let message = match explanation {
        Some(Explanation { text, document: hang }) => {
            document["hang"] = hang;
            text
        }
        None => format!(
            "no progress: no message has arrived and no program has called the system for {patience}; \
             stopped at {end}"
        ),
    };
    Failure { exit_code: Failure::NO_PROGRESS, message, document: Some(Box::new(document)) }
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
