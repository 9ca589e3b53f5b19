//! The timeline of a run: what each processor, bus, engine and buffer was at, at
//! any instant, as a picture.
//!
//! ```text
//!   nodes ── recorders ─► Tracer: emptied every few microseconds of simulated time
//!                            │ sorted by time, then by node
//!                            ▼
//!                         Timeline: rows and what goes on in them
//!                            │
//!                            ▼
//!                         Format: Perfetto, value change dump ──► FILE.unfinished ──► FILE
//!                                                        output: plain, compressed, within a page
//! ```
//!
//! **Bounded.** The run is interrupted at instants of simulated time that follow
//! from the number of nodes, so recorders are never larger than what happens in
//! between. Nothing of what has been written is remembered but names and what is
//! under way.
//!
//! **The same bytes.** At such an instant everything before has happened and
//! nothing after, on any number of host threads. What records say is put in one
//! order ([`timeline`]), so the file does not depend on those instants either.
//!
//! **No change of the result.** Recorders only listen. A node that has one
//! executes its wait loops instead of computing them, which gives the same
//! result, later. Before the timeline's begin, but for a moment, and behind its
//! end there are no recorders.
//!
//! **Safe.** The file is written beside its place and put there at the end, also
//! if the run fails, gets stuck or is interrupted; what is there of it if
//! the process is killed can be opened too. If the disk is full, the run goes on
//! without a timeline and says so: a result is worth more than its picture. A page
//! ends where it has as many events as a browser shows without delay, and says so.

mod flights;
pub mod format;
mod output;
pub mod perfetto;
mod recorder;
pub mod rows;
mod selection;
mod timeline;
pub mod vcd;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use narthex_cores::linux::readable;
use narthex_kernel::{Duration, Time};
use narthex_machine::Failure;
use narthex_machine::files::Destination;
use narthex_machine::node::Node;
use narthex_machine::node::probe::{Crossing, Event, Hold};

use crate::calls::CodeMap;
use flights::Flights;
use format::Format;
use output::{Output, has_waveforms};
use perfetto::Perfetto;
use recorder::{Record, Recorder, TraceRecord};
use rows::{Row, Track};
use selection::Selection;
use timeline::{Entry, Timeline};
use vcd::ValueChangeDump;

pub use output::Page;
pub use rows::Direction;
pub use selection::TraceRequest;

/// Recorders hold what happens to all nodes together in this much of their time: a
/// few tens of megabytes, whatever the nodes do.
const NODE_TIME: Duration = Duration::from_ns(200_000);
/// Recorders are emptied no more often.
const SHORTEST_STEP: Duration = Duration::from_ns(200);
/// They begin this long before the timeline, to know what goes on when it
/// begins: longer than any transaction takes.
const RUN_UP: Duration = Duration::from_ns(2_000);

/// Writes the timeline of a run.
pub struct Tracer {
    /// As the user calls it.
    file: PathBuf,
    /// For a browser.
    is_page: bool,
    destination: Destination,
    selection: Selection,
    has_functions: bool,
    /// The code of each processor of each node, from the timeline's begin on.
    code: Vec<Vec<Arc<CodeMap>>>,
    step: Duration,
    stage: RecorderPhase,
    timeline: Timeline,
    /// Why the timeline ends before its end, and when.
    problem: Option<(Time, io::Error)>,
    /// Where it ends because it is full.
    full: Option<Time>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RecorderPhase {
    /// Its time has not come.
    Before,
    /// Recorders are attached.
    During,
    /// Its file is complete, or could not be written.
    Over,
}

/// What became of a timeline, in words.
pub enum Outcome {
    /// It is there.
    Whole(String),
    /// It is there, with less than was asked for.
    Less(String),
    /// It could not be written.
    Lost(String),
}

impl Tracer {
    /// What writes the timeline that is asked for.
    ///
    /// # Errors
    /// If it cannot be written there, or shows nodes or times that there are not.
    pub fn new(request: &TraceRequest, title: &str, nodes: &[Node]) -> Result<Self, Failure> {
        let selection = Selection::new(request, nodes.len())?;
        let name = request.file.display();
        let refused = |error| Failure::usage(format!("the timeline '{name}' cannot be written: {error}"));
        let destination = Destination::of(&request.file).map_err(refused)?;
        let format = format(&destination, request, title, nodes, &selection).map_err(refused)?;
        let is_shown = (0..nodes.len()).map(|node| selection.has(node)).collect();
        let shown = selection.nodes().count() as u64;
        Ok(Tracer {
            file: request.file.clone(),
            is_page: request.page.is_some(),
            has_functions: request.functions,
            code: Vec::new(),
            destination,
            step: Duration::from_ps(NODE_TIME.as_ps() / shown).max(SHORTEST_STEP),
            stage: RecorderPhase::Before,
            timeline: Timeline::new(format, selection.from, Flights::new(is_shown, processes_of(nodes))),
            selection,
            problem: None,
            full: None,
        })
    }

    /// When recorders begin.
    fn run_up(&self) -> Time {
        Time::ZERO + self.selection.from.saturating_since(Time::ZERO + RUN_UP)
    }

    /// The instant at which [`Tracer::stop`] is to be called next; never, if it need not be.
    pub fn next_stop(&self, now: Time) -> Time {
        match self.stage {
            RecorderPhase::Before => self.run_up(),
            RecorderPhase::During => now.saturating_add(self.step).min(self.selection.to),
            RecorderPhase::Over => Time::NEVER,
        }
    }

    /// Everything before `now` has happened, and nothing after it.
    pub fn stop(&mut self, now: Time, nodes: &mut [&mut Node]) {
        if self.stage == RecorderPhase::Before && now >= self.run_up() {
            self.stage = RecorderPhase::During;
            self.code = match has_waveforms(&self.file) {
                true => vec![Vec::new(); nodes.len()],
                false => CodeMap::of_nodes(nodes, false),
            };
            let shown = nodes.iter_mut().zip(&self.code).enumerate();
            for (_, (node, code)) in shown.filter(|(number, _)| self.selection.has(*number)) {
                node.attach_at(now, Box::new(Recorder::new(code, self.has_functions)));
            }
        }
        if self.stage == RecorderPhase::During {
            let is_over = now >= self.selection.to;
            let mut taken = match is_over {
                true => self.take_last(now, nodes),
                false => {
                    let told = nodes.iter_mut().map(|node| node.told_until(now)).min();
                    self.take(told.unwrap_or(now), nodes)
                }
            };
            if !is_over && taken.is_ok() && self.timeline.is_full() {
                self.full = Some(now);
                taken = self.timeline.cut(now);
            }
            if taken.is_err() || is_over || self.full.is_some() {
                self.end(now, taken, nodes);
            }
        }
    }

    /// Empties the recorders for the last time, up to `now`.
    fn take_last(&mut self, now: Time, nodes: &mut [&mut Node]) -> io::Result<()> {
        nodes.iter_mut().for_each(|node| node.tell_early::<Recorder>());
        self.take(now, nodes)
    }

    /// Empties the recorders up to `now`.
    fn take(&mut self, now: Time, nodes: &mut [&mut Node]) -> io::Result<()> {
        let mut entries = Vec::new();
        for (number, node) in nodes.iter_mut().enumerate() {
            let Some(recorder) = node.probe::<Recorder>() else { continue };
            let records = recorder.drain(now);
            let regions = recorder.region_names().to_vec();
            entries.extend(records.into_iter().map(|Record { at, sight }| {
                let place = match sight {
                    TraceRecord::Region { name, .. } => Some(regions[name].clone()),
                    TraceRecord::Path { processor, called: Some(function), .. }
                    | TraceRecord::Handler(processor, Some(function)) => {
                        Some(function_name(&self.code[number][processor], function))
                    }
                    _ => address_of(&sight).map(|address| node.place_of(address).to_string()),
                };
                Entry { at, node: number, sight, place }
            }));
        }
        entries.sort_by_key(|entry| (entry.at, entry.node));
        entries.into_iter().try_for_each(|entry| self.timeline.take(entry))
    }

    /// The timeline is over, or `taken` says why it cannot go on.
    fn end(&mut self, now: Time, taken: io::Result<()>, nodes: &mut [&mut Node]) {
        nodes.iter_mut().for_each(|node| drop(node.detach::<Recorder>()));
        let end = now.min(self.selection.to);
        let finished = taken.and_then(|()| self.timeline.finish(end));
        self.problem = finished.and(self.destination.put_in_place()).err().map(|error| (now, error));
        self.stage = RecorderPhase::Over;
    }

    /// The run is over at `now`: what became of the timeline.
    pub fn finish(mut self, now: Time, nodes: &mut [Node]) -> Outcome {
        let mut nodes: Vec<&mut Node> = nodes.iter_mut().collect();
        let from = self.selection.from;
        if self.stage == RecorderPhase::Before {
            self.end(now, Ok(()), &mut nodes);
        } else if self.stage == RecorderPhase::During {
            let taken = self.take_last(now, &mut nodes);
            self.end(now, taken, &mut nodes);
        }
        let name = self.file.display();
        if let (None, Some(full)) = (&self.problem, self.full) {
            return Outcome::Less(format!(
                "the timeline in '{name}' ends at {full}, where it has as many events as a page shows: \
                 choose a part (--trace-from, --trace-to, --trace-nodes), or have all of it in a file for \
                 Perfetto (--trace FILE.pftrace)"
            ));
        }
        match self.problem {
            Some((at, error)) => Outcome::Lost(format!("the timeline '{name}' is cut off at {at}: {error}")),
            None if now <= from => {
                let told =
                    format!("the timeline '{name}' is empty: the run was over at {now}, before {from}");
                Outcome::Less(told)
            }
            None if matches!(self.destination, Destination::Direct { .. }) => {
                Outcome::Whole(format!("the timeline was written to '{name}'"))
            }
            None => {
                let viewer = match &self.file {
                    file if has_waveforms(file) => "GTKWave",
                    _ if self.is_page => "a browser",
                    _ => "ui.perfetto.dev",
                };
                Outcome::Whole(format!("the timeline is in '{name}'; open it in {viewer}"))
            }
        }
    }
}

/// How many processes each node runs.
fn processes_of(nodes: &[Node]) -> usize {
    nodes.first().map_or(1, Node::process_count)
}

/// What writes the file, by its name.
fn format(
    destination: &Destination,
    request: &TraceRequest,
    title: &str,
    nodes: &[Node],
    selection: &Selection,
) -> io::Result<Box<dyn Format>> {
    let writer = Output::create(destination, &request.file, request.page.as_ref())?;
    let names = nodes[0].agent_names();
    if !has_waveforms(&request.file) {
        let most_events = request.page.as_ref().map_or(u64::MAX, |page| page.most_events);
        return Ok(Box::new(Perfetto::new(writer, title, names, most_events)?));
    }
    let of_node =
        |node: usize| nodes[node].buses().into_iter().map(move |bus| Row { node, track: Track::Bus(bus) });
    let buses: Vec<Row> = selection.nodes().flat_map(of_node).collect();
    Ok(Box::new(ValueChangeDump::new(writer, title, names, &buses, selection.from)?))
}

/// A function's name as its programmer wrote it.
fn function_name(code: &CodeMap, function: u32) -> String {
    match code.function_name(function) {
        "" => "code without a name".to_owned(),
        name => readable(name.into()),
    }
}

/// The address that a transaction is about.
fn address_of(sight: &TraceRecord) -> Option<u64> {
    match sight {
        TraceRecord::Port(Event::Crossing(Crossing { address, .. }) | Event::Held(Hold { address, .. })) => {
            Some(*address)
        }
        TraceRecord::Port(Event::Refused(refused)) => Some(refused.crossing.address),
        TraceRecord::Port(Event::OnLink(on_link)) => on_link.packet.address,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::rows::Label;
    use super::*;

    /// A disk that is full.
    struct Full;

    impl Format for Full {
        fn begin(&mut self, _: Time, _: Row, _: &Label) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn end(&mut self, _: Time, _: Row) -> io::Result<()> {
            Ok(())
        }

        fn finish(&mut self, _: Time) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    #[test]
    fn a_full_disk_ends_the_timeline_and_is_said_at_the_end() {
        let file = std::env::temp_dir().join(format!("narthex-{}-full", std::process::id()));
        let request = TraceRequest { to: Some("5us".into()), ..TraceRequest::whole(file.clone()) };
        let destination = Destination::of(&file).unwrap();
        drop(Output::create(&destination, &file, None).unwrap());
        let selection = Selection::new(&request, 1).unwrap();
        let mut tracer = Tracer {
            file: file.clone(),
            is_page: false,
            has_functions: false,
            code: Vec::new(),
            destination,
            step: SHORTEST_STEP,
            stage: RecorderPhase::Before,
            timeline: Timeline::new(Box::new(Full), selection.from, Flights::new(vec![true], 1)),
            selection,
            problem: None,
            full: None,
        };
        tracer.stop(Time::ZERO, &mut []);
        assert_eq!(tracer.next_stop(Time::ZERO), Time::ZERO + SHORTEST_STEP);
        let now = Time::from_ps(6_000_000);
        tracer.stop(now, &mut []);
        assert_eq!(tracer.next_stop(now), Time::NEVER, "the run goes on without it");
        let Outcome::Lost(loss) = tracer.finish(now, &mut []) else { panic!("nothing was written") };
        assert!(loss.contains("is cut off at 6us") && loss.contains("storage"), "{loss}");
        std::fs::remove_file(file).expect("what was written is kept");
    }
}
