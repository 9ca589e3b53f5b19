//! What a timeline knows of a node: what its ports showed, samples of its interface, and
//! where its programs are.
//!
//! **Samples**: what engines are at, how full queues and the flow control's buffers are.
//! All of that changes in events of the node and in nothing else, so it is looked at
//! after each of them, and what has changed is recorded.
//!
//! **Programs**: regions as they mark them; functions as they call them ([`crate::calls`]).
//! A handler of messages is the function that is called next after the messaging library's
//! marker of the program's own work (guest/messaging/messages.c, `handle`).

use std::sync::Arc;

use narthex_cores::follow::Jump;
use narthex_fabrics::flow_control::Occupancy;
use narthex_fabrics::{FrameKind, NetworkPort};
use narthex_interfaces::description::Engine;
use narthex_kernel::Time;
use narthex_machine::activity::Activity;
use narthex_machine::node::Interfaces;
use narthex_machine::node::probe::{Edge, Event, Probe};

use crate::calls::{CallStack, CodeMap};

/// What there is to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceRecord {
    /// Something happened at a port of the node.
    Port(Event),
    /// From here on an engine of the interface is at something else.
    Engine(usize, Engine),
    /// From here on the flow control's buffers hold something else.
    Buffers(Occupancy),
    /// From here on this many packets wait for a process of the node.
    Waiting(u8, usize),
    /// A region begins on a processor, or else ends; its name by its number.
    Region {
        /// The processor.
        processor: usize,
        /// [`Recorder::region_names`] has it.
        name: usize,
        /// Whether it begins.
        begins: bool,
    },
    /// A processor is in so many functions that it was in before, and perhaps in one more, by
    /// its number.
    Path {
        /// The processor.
        processor: usize,
        /// The outermost functions that stay.
        kept: usize,
        /// What was called by the innermost of those.
        called: Option<u32>,
    },
    /// From here on a processor runs that handler of messages, by its function's number, or none.
    Handler(usize, Option<u32>),
}

/// What there is to show, and from when on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// When.
    pub at: Time,
    /// What.
    pub sight: TraceRecord,
}

/// Records what happens at a node, to be emptied by [`Recorder::drain`] before it is large.
#[derive(Debug, Default)]
pub struct Recorder {
    records: Vec<Record>,
    /// What was seen last; nothing yet at first, so that the first look records all.
    engines: Vec<Option<Engine>>,
    buffers: Option<Occupancy>,
    waiting: Vec<usize>,
    /// A packet has come since the last look: an interface may have taken it in the same event.
    has_come: bool,
    regions: Vec<String>,
    programs: Vec<Followed>,
    /// Functions are recorded, not only handlers.
    has_functions: bool,
}

/// Where the program of a processor is.
#[derive(Debug)]
struct Followed {
    path: CallStack,
    handler: Handling,
}

/// Whether a processor runs a handler of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Handling {
    No,
    /// The next function that is called behind so many is one.
    Next(usize),
    /// The function behind so many is one.
    Runs(usize),
}

impl Recorder {
    /// One that follows processors whose programs have this code, if there is any, and records
    /// their functions if it `has_functions`.
    pub fn new(code: &[Arc<CodeMap>], has_functions: bool) -> Self {
        let followed =
            |code: &Arc<CodeMap>| Followed { path: CallStack::new(code.clone()), handler: Handling::No };
        Recorder { programs: code.iter().map(followed).collect(), has_functions, ..Recorder::default() }
    }

    /// The names of regions.
    pub fn region_names(&self) -> &[String] {
        &self.regions
    }

    /// The messaging library is about to call a handler, or a thread has ended.
    fn follow_program(&mut self, at: Time, event: Event) {
        match event {
            Event::Entered { processor, activity: Activity::Application } => {
                let Followed { path, handler } = &mut self.programs[processor];
                *handler = Handling::Next(path.frames().len());
            }
            Event::Booking { processor, activity: Activity::Idle | Activity::Exited, .. } => {
                self.programs[processor].path.clear();
                self.follow_handler(at, processor);
                if self.has_functions {
                    self.record_path(at, processor, 0);
                }
            }
            _ => {}
        }
    }

    /// A processor has come to another function: a handler begins, or ends.
    fn follow_handler(&mut self, at: Time, processor: usize) {
        let Followed { path, handler } = &mut self.programs[processor];
        let depth = path.frames().len();
        let (next, sight) = match *handler {
            Handling::Next(outside) if depth > outside => {
                (Handling::Runs(outside), Some(path.frames()[outside].function))
            }
            Handling::Runs(outside) if depth <= outside => (Handling::No, None),
            _ => return,
        };
        *handler = next;
        self.records.push(Record { at, sight: TraceRecord::Handler(processor, sight) });
    }

    /// The frames behind those that were kept are recorded.
    fn record_path(&mut self, at: Time, processor: usize, kept: usize) {
        let frames = self.programs[processor].path.frames();
        let path = |kept, called| Record { at, sight: TraceRecord::Path { processor, kept, called } };
        let called = frames.iter().enumerate().skip(kept);
        self.records.extend(called.map(|(depth, frame)| path(depth, Some(frame.function))));
        if kept == frames.len() {
            self.records.push(path(kept, None));
        }
    }
    /// Takes out what happened before `now`, in the order of time; what happened at
    /// one instant in the order in which it was recorded.
    pub fn drain(&mut self, now: Time) -> Vec<Record> {
        let (mut before, after) = self.records.drain(..).partition::<Vec<_>, _>(|record| record.at < now);
        self.records = after;
        before.sort_by_key(|record| record.at);
        before
    }
}

impl Probe for Recorder {
    fn record(&mut self, at: Time, event: Event) {
        self.has_come |= matches!(event, Event::Arrival(note, true) if note.kind == FrameKind::Packet);
        if !matches!(event, Event::Entered { .. } | Event::InUse(_)) {
            self.records.push(Record { at, sight: TraceRecord::Port(event) });
        }
        if self.follows_programs() {
            self.follow_program(at, event);
        }
    }

    fn follows_programs(&self) -> bool {
        !self.programs.is_empty()
    }

    fn executes(&mut self, at: Time, processor: usize, pc: u64) {
        if let Some(change) = self.programs[processor].path.executes(pc) {
            self.follow_handler(at, processor);
            if self.has_functions {
                self.record_path(at, processor, change.kept);
            }
        }
    }

    fn jumped(&mut self, processor: usize, jump: Jump, target: u64, (stack, _): (u64, u64)) {
        self.programs[processor].path.jumped(jump, target, stack);
    }

    fn region(&mut self, at: Time, processor: usize, name: &str, begins: bool) {
        let known = self.regions.iter().position(|known| known == name);
        let name = known.unwrap_or_else(|| {
            self.regions.push(name.to_owned());
            self.regions.len() - 1
        });
        self.records.push(Record { at, sight: TraceRecord::Region { processor, name, begins } });
    }

    fn look(&mut self, now: Time, _: Option<Edge>, interfaces: Interfaces<'_>, network: &NetworkPort) {
        let mut record = |sight| self.records.push(Record { at: now, sight });
        let ports = interfaces.ports();
        self.engines.resize(ports, None);
        for (port, seen) in self.engines.iter_mut().enumerate() {
            let engine = interfaces.engine(port, now);
            if let (Some(engine), true) = (engine, engine != *seen) {
                record(TraceRecord::Engine(port, engine));
            }
            *seen = engine;
        }
        let buffers = network.occupancy();
        if self.buffers.replace(buffers) != Some(buffers) {
            record(TraceRecord::Buffers(buffers));
        }
        let has_come = std::mem::take(&mut self.has_come);
        self.waiting.resize(ports / 2, 0);
        for (process, seen) in self.waiting.iter_mut().enumerate() {
            let waiting = network.waiting(process as u8);
            if std::mem::replace(seen, waiting) != waiting || has_come {
                record(TraceRecord::Waiting(process as u8, waiting));
            }
        }
    }
}
