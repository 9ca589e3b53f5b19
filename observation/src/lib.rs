//! What observes a run: it listens, and never changes what comes of the run.
//!
//! | module | what it tells |
//! | --- | --- |
//! | [`hang`] | why a run makes no progress |
//! | [`explain`](mod@explain) | one message's life, from a journal of each node |
//! | [`trace`] | the timeline of a run, for Perfetto and for viewers of waveforms |
//! | [`calls`] | which functions of its program a processor is in, by time |
//! | [`profile`] | where a program's time goes, by function and line |
//! | [`mpi`] | what ranks do in MPI, call by call and message by message |
//! | [`traffic`] | who talks to whom, and what was busy when |
//!
//! They listen at the nodes' ports: each attaches a probe of its own
//! (`narthex_machine::node::probe`), and models know nothing of it.
//!
//! A run offers its nodes to a [`Monitor`]; here is the one of every run that a
//! user makes: it explains a hang, and makes a timeline, a profile and the traffic if they are asked for.

pub mod calls;
pub mod explain;
pub mod hang;
pub mod mpi;
pub mod profile;
pub mod trace;
pub mod traffic;

use narthex_fabrics::Frame;
use narthex_fabrics::switch::Switch;
use narthex_kernel::{Duration, Time};
use narthex_machine::compose::Blueprint;
use narthex_machine::node::Node;
use narthex_machine::run::document::{RunDocument, schema_of};
use narthex_machine::{Effort, Explanation, Failure, Halt, Monitor, Progress, RunRequest, run_monitored};
use schemars::Schema;
use serde_json::{Value, json};

use hang::Hang;
use mpi::{MpiRecorder, MpiRequest};
use profile::{ProfileRequest, Profiler};
use trace::{Outcome, Tracer};
use traffic::{Traffic, TrafficEntry};

pub use explain::{ExplainRequest, ExplanationDocument, explain, own_subjects};
pub use trace::TraceRequest;

/// What is asked for besides a run's result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observed<'a> {
    /// A timeline.
    pub trace: Option<&'a TraceRequest>,
    /// Who talks to whom, and what was busy when: the document's entry `traffic`.
    pub traffic: bool,
    /// With that, what the network did in each interval of this length.
    pub traffic_interval: Option<Duration>,
    /// Where the programs' time goes: the document's entry `profile`.
    pub profile: Option<&'a ProfileRequest>,
    /// What ranks do in MPI: the document's entry `mpi`.
    pub mpi: Option<&'a MpiRequest>,
}

impl<'a> From<Option<&'a TraceRequest>> for Observed<'a> {
    fn from(trace: Option<&'a TraceRequest>) -> Self {
        Observed { trace, ..Observed::default() }
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
    let mut observation = Observation { observed, ..Observation::default() };
    let mut outcome = run_monitored(request, elf, &mut observation, observer);
    let document = match &mut outcome {
        Ok((document, _)) => Some(document),
        Err(failure) => failure.document.as_deref_mut(),
    };
    if let Some(document) = document {
        for (name, entry) in observation.entries {
            document[name] = entry;
        }
    }
    outcome
}

/// The JSON Schema of a run's document, with the entry `traffic` of one whose traffic was counted.
pub fn layout() -> Schema {
    let mut schema = schema_of::<RunDocument<'_>>();
    schema.ensure_object()["properties"]["traffic"] = schema_of::<TrafficEntry>().to_value();
    schema
}

/// Explains a hang, and observes what is asked for.
#[derive(Default)]
struct Observation<'a> {
    observed: Observed<'a>,
    tracer: Option<Tracer>,
    traffic: Option<Traffic>,
    profiler: Option<Profiler>,
    mpi: Option<MpiRecorder>,
    /// What joins the run's document at its end.
    entries: Vec<(&'static str, Value)>,
}

impl Monitor for Observation<'_> {
    fn start(&mut self, blueprint: &Blueprint<'_>, nodes: &mut [Node]) -> Result<(), Failure> {
        let Blueprint { config, interface, jobs, .. } = blueprint;
        let programs: Vec<&str> = jobs.iter().map(|job| &*job.arguments[0]).collect();
        let title = format!("{} on {interface}, {}", programs.join(", "), config.machine.name);
        self.tracer = self.observed.trace.map(|trace| Tracer::new(trace, &title, nodes)).transpose()?;
        self.traffic = self.observed.traffic.then(|| Traffic::new(nodes, self.observed.traffic_interval));
        self.profiler = self.observed.profile.map(Profiler::new);
        self.mpi = self.observed.mpi.map(MpiRecorder::new);
        Ok(())
    }

    fn next_stop(&self, now: Time) -> Time {
        let tracer = self.tracer.as_ref().map_or(Time::NEVER, |tracer| tracer.next_stop(now));
        self.traffic.as_ref().map_or(tracer, |traffic| traffic.next_stop(now).min(tracer))
    }

    fn stop(&mut self, now: Time, nodes: &mut [&mut Node], switches: &[&Switch<Frame>]) {
        if let Some(tracer) = &mut self.tracer {
            tracer.stop(now, nodes);
        }
        if let Some(traffic) = &mut self.traffic {
            traffic.stop(now, nodes, switches);
        }
        if let Some(profiler) = &mut self.profiler {
            profiler.stop(now, nodes);
        }
        if let Some(mpi) = &mut self.mpi {
            mpi.stop(now, nodes);
        }
    }

    fn end(
        &mut self,
        end: Time,
        nodes: &mut [Node],
        switches: &[Switch<Frame>],
        report: &mut dyn FnMut(Progress<'_>) -> bool,
    ) {
        let traffic =
            self.traffic.take().map(|traffic| ("traffic", json!(traffic.finish(end, nodes, switches))));
        let profile = self.profiler.take().map(|profiler| ("profile", profiler.finish(nodes)));
        let mpi = self.mpi.take().map(|mpi| ("mpi", mpi.finish(nodes)));
        self.entries.extend(traffic.into_iter().chain(profile).chain(mpi));
        match self.tracer.take().map(|tracer| tracer.finish(end, nodes)) {
            Some(Outcome::Whole(notice)) => drop(report(Progress::Notice(&notice))),
            Some(Outcome::Less(warning)) => drop(report(Progress::Warning(&warning))),
            Some(Outcome::Lost(loss)) => drop(report(Progress::Loss(&loss))),
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
