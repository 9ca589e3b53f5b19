//! What observes a run: it listens, and never changes what comes of the run.
//!
//! | module | what it tells |
//! | --- | --- |
//! | [`hang`] | why a run makes no progress |
//! | [`explain`](mod@explain) | one message's life, from a journal of each node |
//! | [`trace`] | the timeline of a run, for Perfetto and for viewers of waveforms |
//!
//! They listen at the nodes' ports: each attaches a probe of its own
//! (`narthex_machine::node::probe`), and models know nothing of it.
//!
//! A run offers its nodes to a [`Monitor`]; here is the one of every run that a
//! user makes: it explains a hang, and writes a timeline if one is asked for.

pub mod explain;
pub mod hang;
pub mod trace;

use narthex_fabrics::Frame;
use narthex_fabrics::switch::Switch;
use narthex_kernel::Time;
use narthex_machine::compose::Blueprint;
use narthex_machine::node::Node;
use narthex_machine::{Effort, Explanation, Failure, Halt, Monitor, Progress, RunRequest, run_monitored};
use serde_json::Value;

use hang::Hang;
use trace::Tracer;

pub use explain::{ExplainRequest, explain};
pub use trace::TraceRequest;

/// Runs a program on a machine, as [`narthex_machine::run`] does; a hang is
/// explained, and the run's timeline is written if `trace` asks for one.
///
/// # Errors
/// With the exit codes of the command line; the message is for people.
pub fn run(
    request: &RunRequest,
    trace: Option<&TraceRequest>,
    elf: &[u8],
    observer: &mut dyn FnMut(Progress<'_>) -> bool,
) -> Result<Value, Failure> {
    run_measured(request, trace, elf, observer).map(|(document, _)| document)
}

/// The same, with what the run cost the host.
///
/// # Errors
/// As for [`run`].
pub fn run_measured(
    request: &RunRequest,
    trace: Option<&TraceRequest>,
    elf: &[u8],
    observer: &mut dyn FnMut(Progress<'_>) -> bool,
) -> Result<(Value, Effort), Failure> {
    run_monitored(request, elf, &mut Observation { trace, tracer: None }, observer)
}

/// Explains a hang, and writes the timeline that is asked for.
struct Observation<'a> {
    trace: Option<&'a TraceRequest>,
    tracer: Option<Tracer>,
}

impl Monitor for Observation<'_> {
    fn start(&mut self, blueprint: &Blueprint<'_>, nodes: &mut [Node]) -> Result<(), Failure> {
        let Blueprint { config, interface, jobs, .. } = blueprint;
        let programs: Vec<&str> = jobs.iter().map(|job| &*job.arguments[0]).collect();
        let title = format!("{} on {interface}, {}", programs.join(", "), config.machine.name);
        self.tracer = self.trace.map(|trace| Tracer::new(trace, &title, nodes)).transpose()?;
        Ok(())
    }

    fn next_stop(&self, now: Time) -> Time {
        self.tracer.as_ref().map_or(Time::NEVER, |tracer| tracer.next_stop(now))
    }

    fn stop(&mut self, now: Time, nodes: &mut [&mut Node]) {
        if let Some(tracer) = &mut self.tracer {
            tracer.stop(now, nodes);
        }
    }

    fn end(&mut self, end: Time, nodes: &mut [Node], report: &mut dyn FnMut(Progress<'_>) -> bool) {
        match self.tracer.take().map(|tracer| tracer.finish(end, nodes)) {
            Some(Ok(notice)) => drop(report(Progress::Notice(&notice))),
            Some(Err(loss)) => drop(report(Progress::Loss(&loss))),
            None => {}
        }
    }

    fn explain(
        &mut self,
        halt: Halt,
        at: Time,
        nodes: &mut [Node],
        switches: &[Switch<Frame>],
    ) -> Option<Explanation> {
        Some(Hang::of(nodes, switches, halt, at).explanation())
    }
}
