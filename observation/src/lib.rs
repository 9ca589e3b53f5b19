//! What observes a run: it listens, and never changes what comes of the run.
//!
//! | module | what it tells |
//! | --- | --- |
//! | [`hang`] | why a run makes no progress |
//! | [`explain`](mod@explain) | one message's life, from a journal of each node |
//! | [`trace`] | the timeline of a run, for Perfetto and for viewers of waveforms |
//! | [`traffic`] | who talks to whom, and what was busy when |
//!
//! They listen at the nodes' ports: each attaches a probe of its own
//! (`narthex_machine::node::probe`), and models know nothing of it.
//!
//! A run offers its nodes to a [`Monitor`]; here is the one of every run that a
//! user makes: it explains a hang, writes a timeline if one is asked for, and counts traffic likewise.

pub mod calls;
pub mod explain;
pub mod hang;
pub mod trace;
pub mod traffic;

use narthex_fabrics::Frame;
use narthex_fabrics::switch::Switch;
use narthex_kernel::Time;
use narthex_machine::compose::Blueprint;
use narthex_machine::node::Node;
use narthex_machine::{Effort, Explanation, Failure, Halt, Monitor, Progress, RunRequest, run_monitored};
use serde_json::Value;

use hang::Hang;
use trace::Tracer;
use traffic::Traffic;

pub use explain::{ExplainRequest, explain};
pub use trace::TraceRequest;

/// What is asked for besides a run's result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observed<'a> {
    /// A timeline.
    pub trace: Option<&'a TraceRequest>,
    /// Who talks to whom, and what was busy when: the document's entry `traffic`.
    pub traffic: bool,
}

impl<'a> From<Option<&'a TraceRequest>> for Observed<'a> {
    fn from(trace: Option<&'a TraceRequest>) -> Self {
        Observed { trace, traffic: false }
    }
}

/// Runs a program on a machine, as [`narthex_machine::run`] does; a hang is
/// explained, and what `observed` asks for is written or added to the document.
///
/// # Errors
/// With the exit codes of the command line; the message is for people.
pub fn run<'a>(
    request: &RunRequest,
    observed: impl Into<Observed<'a>>,
    elf: &[u8],
    observer: &mut dyn FnMut(Progress<'_>) -> bool,
) -> Result<Value, Failure> {
    run_measured(request, observed, elf, observer).map(|(document, _)| document)
}

/// The same, with what the run cost the host.
///
/// # Errors
/// As for [`run`].
pub fn run_measured<'a>(
    request: &RunRequest,
    observed: impl Into<Observed<'a>>,
    elf: &[u8],
    observer: &mut dyn FnMut(Progress<'_>) -> bool,
) -> Result<(Value, Effort), Failure> {
    let observed = observed.into();
    let mut observation = Observation { observed, tracer: None, traffic: None, counted: None };
    let mut outcome = run_monitored(request, elf, &mut observation, observer);
    let document = match &mut outcome {
        Ok((document, _)) => Some(document),
        Err(failure) => failure.document.as_deref_mut(),
    };
    if let (Some(document), Some(counted)) = (document, observation.counted) {
        document["traffic"] = counted;
    }
    outcome
}

/// Explains a hang, and observes what is asked for.
struct Observation<'a> {
    observed: Observed<'a>,
    tracer: Option<Tracer>,
    traffic: Option<Traffic>,
    /// What `traffic` has counted, at the run's end.
    counted: Option<Value>,
}

impl Monitor for Observation<'_> {
    fn start(&mut self, blueprint: &Blueprint<'_>, nodes: &mut [Node]) -> Result<(), Failure> {
        let Blueprint { config, interface, jobs, .. } = blueprint;
        let programs: Vec<&str> = jobs.iter().map(|job| &*job.arguments[0]).collect();
        let title = format!("{} on {interface}, {}", programs.join(", "), config.machine.name);
        self.tracer = self.observed.trace.map(|trace| Tracer::new(trace, &title, nodes)).transpose()?;
        self.traffic = self.observed.traffic.then(|| Traffic::new(nodes));
        Ok(())
    }

    fn next_stop(&self, now: Time) -> Time {
        let tracer = self.tracer.as_ref().map_or(Time::NEVER, |tracer| tracer.next_stop(now));
        self.traffic.as_ref().map_or(tracer, |traffic| traffic.next_stop(now).min(tracer))
    }

    fn stop(&mut self, now: Time, nodes: &mut [&mut Node]) {
        if let Some(tracer) = &mut self.tracer {
            tracer.stop(now, nodes);
        }
        if let Some(traffic) = &mut self.traffic {
            traffic.stop(now, nodes);
        }
    }

    fn end(&mut self, end: Time, nodes: &mut [Node], report: &mut dyn FnMut(Progress<'_>) -> bool) {
        self.counted = self.traffic.take().map(|traffic| traffic.finish(end, nodes));
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
