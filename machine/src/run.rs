//! A run from request to result.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `bounds` | how far a run may go |
//! | `finished` | a run at its end, and its result |
//! | `progress` | what the caller of a run sees while it goes on |
//! | `network` | what a network of switches saw |
//! | `monitor` | what may watch a run from outside |
//! | `running` | the simulation as it advances, interrupted for reports, checkpoints and monitors |
//! | `warm` | how a run ends with a warm checkpoint |
//! | `work` | whether a program without messages computes or turns in place |
//! | `written` | what programs write |

mod bounds;
pub mod document;
mod finished;
mod monitor;
mod network;
mod number;
mod progress;
mod running;
mod warm;
mod work;
mod written;

use narthex_cores::linux::Program;
use narthex_fabrics::Frame;
use narthex_fabrics::switch::Switch;
use narthex_interfaces::Attached;
use narthex_kernel::simulation::{Ending, Limits};
use narthex_kernel::{Duration, Time};
use narthex_schedules::within::Ranks;
use serde_json::Value;

use crate::checkpoint::identity::Identity;
use crate::checkpoint::warm::WarmIdentity;
use crate::checkpoint::{self, Keeper, contradiction};
use crate::compose::Blueprint;
use crate::config::{self, Machine};
use crate::host_memory::{self, Estimate};
use crate::node::{Ended, Node};
use crate::partition::simulation;
use crate::request::{CheckpointRequest, Failure, RunRequest, WarmRequest};

use bounds::Bounds;
pub use finished::{Effort, Finished, SCHEMA_VERSION};
pub use monitor::{Explanation, Halt, Monitor};
pub use progress::Progress;
use running::Closed;
pub use running::Running;
use warm::{Outcome, Wanted};
pub use written::Written;

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
    let resumed = request.checkpoint.as_ref().filter(|checkpoint| checkpoint.is_resumed());
    match (resumed, &request.warm) {
        (Some(CheckpointRequest { file, .. }), _) | (None, Some(WarmRequest::From { file, .. })) => {
            contradiction::caught(file, run)
        }
        _ => run(),
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
    let bounds = Bounds::of(request)?;
    let machine = config::load(&request.machine)
        .and_then(|machine| machine.with_settings(&settings(request)))
        .map_err(Failure::usage)?;
    let interface: Attached = request.interface.parse().map_err(Failure::usage)?;
    let wanted = Wanted::of(request)?;
    let (mut nodes, switches, ranks, (written, begin)) = parts(request, elf, &machine, interface, monitor)?;
    wanted.iter().for_each(|wanted| nodes.iter_mut().for_each(|node| node.meet(&wanted.point)));
    let network = &machine.config.network;
    if network.lookahead().is_zero() && nodes.len() > 1 {
        observer(Progress::Notice(&without_lookahead(request.threads)));
    }
    request.surroundings.check_folder()?;
    let simulation = simulation(nodes, switches, ranks, network).with_threads(threads);
    let threads = simulation.thread_count();
    let mut running = Running::behind(simulation, written);
    let identity = || Identity::new(request, elf, interface, machine.resolved());
    let mut keeper = keeper(request, identity, &mut running, observer)?;
    let patience = machine.config.machine.time_without_progress;
    // Without progress is what comes behind the begin.
    let limits =
        Limits { until: bounds.until, patience: patience + (begin - Time::ZERO), ..Limits::default() };
    let (mut shortage, mut is_late) = (None, false);
    let mut advance = |running: &mut Running, limits: &Limits| {
        running.run(limits, keeper.as_mut(), monitor, &mut |progress| {
            if let Progress::Time(_) = progress {
                shortage = host_memory::present_shortage();
            }
            is_late |= bounds.is_over();
            shortage.is_none() && !is_late && observer(progress)
        })
    };
    let stop = wanted.as_ref().and_then(Wanted::stops_at).filter(|&at| at < limits.until);
    let mut ending = advance(&mut running, &Limits { until: stop.unwrap_or(limits.until), ..limits });
    if stop.is_some() && ending == Ending::TimeLimit {
        running.meet_behind_all();
        ending = advance(&mut running, &limits);
    }
    let outcome = match &wanted {
        Some(wanted) => wanted.conclude(&ending, &mut running, request, elf, &machine)?,
        None => Outcome::Open,
    };
    let windows = running.windows();
    let Closed { mut nodes, switches, ranks, end, written } =
        running.close(&ending, outcome.made_at(), observer);
    monitor.end(end, &mut nodes, &switches, observer);
    if let Err(lost) = request.surroundings.write(&nodes) {
        observer(Progress::Loss(&lost));
    }
    if let Some(shortage) = shortage {
        return Err(shortage.failure(end, &nodes));
    }
    let checkpoints = keeper.map_or(0, |keeper| keeper.written());
    let effort = Effort { windows, checkpoints, threads, ..Effort::of(&nodes, &switches, ranks.as_ref()) };
    let finished =
        Finished { machine, interface, nodes, switches, ranks, effort, end, ending: "finished", written };
    let over = Over { request, elf, bounds, is_late, patience };
    if let Outcome::Made(at) = outcome {
        return Ok(with_checkpoint(finished, at, observer));
    }
    over.result(finished, ending, outcome, monitor)
}

/// A run that was for the sake of a warm checkpoint, which is written.
fn with_checkpoint(finished: Finished, at: Time, observer: &mut dyn FnMut(Progress<'_>) -> bool) -> Finished {
    let words = format!("a warm checkpoint of {at} is written: start runs from it with --from");
    observer(Progress::Notice(&words));
    Finished { ending: "checkpoint", ..finished }
}

/// What keeps a run's checkpoints, if it has any; the run goes on from the one that is there.
fn keeper(
    request: &RunRequest,
    identity: impl FnOnce() -> Identity,
    running: &mut Running,
    observer: &mut dyn FnMut(Progress<'_>) -> bool,
) -> Result<Option<Keeper>, Failure> {
    let Some(checkpoint) = &request.checkpoint else { return Ok(None) };
    let keeper = Keeper::new(checkpoint, identity())?;
    if let Some(notice) = keeper.resume(running)? {
        observer(Progress::Notice(&notice));
    }
    Ok(Some(keeper))
}

/// A run that is over.
struct Over<'a> {
    request: &'a RunRequest,
    elf: &'a [u8],
    bounds: Bounds,
    /// This computer's time for it was over.
    is_late: bool,
    /// How long it may be without progress.
    patience: Duration,
}

impl Over<'_> {
    /// What comes of it, by how it ended.
    fn result(
        &self,
        mut finished: Finished,
        ending: Ending,
        outcome: Outcome,
        monitor: &mut dyn Monitor,
    ) -> Result<Finished, Failure> {
        let &Over { request, elf, ref bounds, is_late, patience } = self;
        if let Outcome::Missed(why) = outcome {
            let failure = Failure::guest(format!("no warm checkpoint was made: {why}"));
            return Err(failed(failure, finished.document(request, elf)));
        }
        let end = finished.end;
        // Nodes may wait for ranks of a model, which no monitor knows.
        let mut explain = |halt, finished: &mut Finished| match finished.ranks {
            None => monitor.explain(halt, end, &mut finished.nodes, &finished.switches),
            Some(_) => None,
        };
        match ending {
            Ending::AllFinished => Ok(finished),
            Ending::Stopped { partition, .. } => {
                let failure = failure_of(&finished.nodes[partition]);
                if finished.nodes[partition].is_silent() {
                    let halt = Halt::Limit;
                    let explanation = explain(halt, &mut finished);
                    return Err(silent(finished.document(request, elf), explanation, failure.message));
                }
                Err(failed(failure, finished.document(request, elf)))
            }
            Ending::NoProgress(_) => {
                let halt = Halt::NoProgress;
                let explanation = explain(halt, &mut finished);
                Err(no_progress(finished.document(request, elf), explanation, patience, end))
            }
            Ending::Interrupted if !is_late => Err(Failure::guest("the run was interrupted")),
            Ending::TimeLimit | Ending::Interrupted => {
                let explanation = explain(Halt::Limit, &mut finished);
                let words = bounds.in_words(end, is_late);
                Err(at_limit(finished.document(request, elf), explanation, words, is_late))
            }
        }
    }
}

/// The nodes of a run, its switches or the ranks of its model, what its programs wrote before, and when it starts.
type Parts = (Vec<Node>, Vec<Switch<Frame>>, Option<Ranks>, (Written, Time));

/// The parts of a run that is about to start.
fn parts(
    request: &RunRequest,
    elf: &[u8],
    machine: &Machine,
    interface: Attached,
    monitor: &mut dyn Monitor,
) -> Result<Parts, Failure> {
    let program = Program::parse(&request.program, elf).map_err(Failure::usage)?;
    let blueprint = Blueprint::new(&machine.config, interface, program, request)
        .with_surroundings(&request.surroundings)?
        .with_jobs_of(request)?
        .with_firmware_of(request)?
        .with_hardware_of(request)?
        .with_model_of(request)?;
    Estimate::of(&blueprint)?.check(host_memory::allowed()?)?;
    let mut nodes =
        (0..blueprint.built).map(|number| blueprint.node(number)).collect::<Result<Vec<_>, _>>()?;
    let mut before = (Written::default(), Time::ZERO);
    if let Some(asked) = &request.warm {
        checkpoint::warm::check(request, &nodes)?;
        if let WarmRequest::From { file, caches, .. } = asked {
            let identity = WarmIdentity::new(request, elf, machine, Time::ZERO);
            before = checkpoint::warm::start_from((file, *caches), &identity, &blueprint, &mut nodes)?;
        }
    }
    if request.execute_wait_loops {
        nodes.iter_mut().for_each(Node::execute_wait_loops);
    }
    if request.schedule_steps {
        nodes.iter_mut().for_each(Node::schedule_steps);
    }
    monitor.start(&blueprint, &mut nodes)?;
    // The ends of a model answer every attempt.
    if request.model.is_none() && !request.schedule_steps && !nodes.iter().any(Node::is_observed) {
        nodes.iter_mut().for_each(Node::compute_attempts);
    }
    let ranks = request.model.as_ref().map(|model| blueprint.ranks(model)).transpose()?;
    Ok((nodes, blueprint.switches(), ranks, before))
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
            "no progress: no message has arrived and no system call has had an effect for {patience}; \
             stopped at {end}"
        ),
    };
    document["failure"] = message.as_str().into();
    Failure { exit_code: Failure::NO_PROGRESS, message, document: Some(Box::new(document)) }
}

/// The failure of a run in which hardware has not answered, as `message` says.
fn silent(document: Value, explanation: Option<Explanation>, message: String) -> Failure {
    let failure = Failure::no_progress(message);
    match explanation {
        Some(Explanation { text, document: hang }) => {
            let mut document = document;
            document["hang"] = hang;
            failed(
                Failure { message: format!("{}\n{text}", failure.message.trim_end()), ..failure },
                document,
            )
        }
        None => failed(failure, document),
    }
}

/// The failure of a run that may not go on, `in_words`.
fn at_limit(
    mut document: Value,
    explanation: Option<Explanation>,
    in_words: String,
    is_late: bool,
) -> Failure {
    document["ending"] = if is_late { "timeout" } else { "until" }.into();
    let mut message = in_words;
    if let Some(Explanation { text, document: state }) = explanation {
        document["state"] = state;
        message = format!("{message}\n{text}");
    }
    document["failure"] = message.as_str().into();
    Failure { exit_code: Failure::GUEST, message, document: Some(Box::new(document)) }
}

/// The failure of a run that a program ended, with the document of what was before.
fn failed(failure: Failure, mut document: Value) -> Failure {
    let ending = if failure.exit_code == Failure::NO_PROGRESS { "no progress" } else { "failed" };
    document["ending"] = ending.into();
    document["failure"] = failure.message.as_str().into();
    Failure { document: Some(Box::new(document)), ..failure }
}

fn failure_of(node: &Node) -> Failure {
    let message = match node.failure() {
        Some((_, _, Ended::Failed(report))) => report.clone(),
        Some((_, _, Ended::Endless(report))) => return Failure::no_progress(report.clone()),
        Some((process, at, Ended::Exited(code))) => {
            let place = node.place(process);
            format!("{place}: the program ended with exit code {code} at simulated time {at}")
        }
        None | Some((_, _, Ended::Stopped)) => unreachable!("a node that stopped the run has failed"),
    };
    Failure::guest(message)
}
