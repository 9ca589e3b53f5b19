//! A node: processors, bus, main memory, interface and network port, wired.
//!
//! ```text
//!   Unit ── ProcessorMemory ─┐
//!   Unit ── ProcessorMemory ─┼── Bus ──┬── MainMemory
//!                            │         │
//!   Interface: send half ────┤         └── home blocks of the interface
//!              receive half ─┤
//!              ...           ┘  (two halves for each process)
//!                 └── NetworkPort ── frames from and to other nodes
//! ```
//!
//! Every processor runs a process of its own ([`process`]). Bus, main memory,
//! interface and network port are the node's, and its processes share them.
//!
//! Components never call each other: this is the one place that carries one's
//! output to the next. It is a partition of the simulation with an event queue
//! of its own; nothing in it is shared with other nodes.
//!
//! **Processors run ahead.** A processor executes without events as long as it
//! hits in its caches, up to the instant of the node's next event: until then
//! nothing can happen that it would see. With several processors each also stays
//! within one bus arbitration of the slowest, because none can see another's
//! transaction sooner.
//!
//! **A transaction** is granted ([`Event::Grant`]): its agent issues what its
//! state needs now, everybody else snoops it at that instant, and the bus is
//! occupied for its cycles and the supplier's time; then ([`Event::Release`])
//! the agent gets its answer, and a processor that waited for it goes on before
//! anything else happens at that instant, so that a block that was fetched is
//! used before it can be taken away again.

mod archive;
pub mod counts;
mod endless;
mod halves;
mod interconnect;
mod io_bus;
pub mod journal;
pub(crate) mod memory;
mod private_bus;
mod process;
mod program;
mod regions;
mod registers;
mod report;
pub mod stuck;
mod waiting;
mod work;

use std::collections::VecDeque;
use std::sync::Arc;

use narthex_cores::linux::Program;
use narthex_cores::{InOrder, Processor, Stop};
use narthex_fabrics::port::Departure;
use narthex_fabrics::{Frame, NetworkPort, NodeId};
use narthex_interfaces::Interface;
use narthex_interfaces::side::RegisterFault;
use narthex_kernel::partition::{Envelope, Outbox, Partition, Status};
use narthex_kernel::{Duration, EventQueue, Ledger, Time};
use narthex_memory::bridge::{Bridge, Timing};
use narthex_memory::bus::Bus;
use narthex_memory::main_memory::MainMemory;
use narthex_memory::{ProcessorMemory, Response, Transaction};

use crate::activity::{Activities, Activity, Marker, Occupation};
use journal::{Edge, Journal};

use io_bus::IoBus;
use private_bus::PrivateBus;
use serde::{Deserialize, Serialize};
use waiting::Waiting;

pub use interconnect::Agent;
pub use process::{Ended, Output, Process, Report};
pub use regions::Region;

/// What can happen at a node.
#[derive(Debug, Serialize, Deserialize)]
enum Event {
    /// The bus is granted to the agent that has waited longest.
    Grant,
    /// The transaction on the bus is over.
    Release,
    /// The address of a processor's read has come to the bridge.
    ReadAtBridge,
    /// The I/O bus is granted.
    IoGrant,
    /// Somebody's turn on the I/O bus is over.
    IoRelease,
    /// The processor's own bus to its interface is granted.
    PrivateGrant,
    /// The access on the processor's own bus is over.
    PrivateRelease,
    /// The block that a processor moves has reached the pins.
    BlockMoved(usize),
    /// A half of the interface asked to be called.
    Timer(usize),
    /// A frame arrives from the network.
    Frame(Frame),
    /// The flow control asked to be called.
    Retry,
}

impl Event {
    /// Whether a transaction on one of the buses begins or ends.
    fn edge(&self) -> Option<Edge> {
        match self {
            Event::Grant | Event::IoGrant | Event::PrivateGrant => Some(Edge::Granted),
            Event::Release | Event::IoRelease | Event::PrivateRelease => Some(Edge::Released),
            _ => None,
        }
    }
}

/// A processor with everything that is its own.
pub struct Unit {
    /// The processor.
    pub processor: Processor<InOrder>,
    /// Its caches and store buffer.
    pub memory: ProcessorMemory,
    /// Where its time went.
    pub ledger: Ledger<(Activity, Occupation)>,
    activities: Activities,
    state: State,
}

/// What a processor is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum State {
    /// It executes instructions.
    Running,
    /// Its access is done: it repeats it before the next event.
    Woken,
    /// It waits for the bus.
    Waiting,
    /// Its process has ended.
    Exited,
}

/// The transaction that occupies a bus.
#[derive(Debug, Serialize, Deserialize)]
struct Underway {
    transaction: Transaction,
    response: Response,
}

impl Underway {
    /// A transaction whose answer is known later.
    fn unanswered(transaction: Transaction) -> Self {
        Underway { transaction, response: Response::default() }
    }
}

/// One node of the machine.
pub struct Node {
    id: NodeId,
    events: EventQueue<Event>,
    units: Vec<Unit>,
    /// What runs on each unit.
    pub processes: Vec<Process>,
    bus: Bus,
    underway: Option<Underway>,
    private: Option<PrivateBus>,
    io: Option<IoBus>,
    /// What a processor adds to an access for which it waits on a bus.
    blocking_access_time: Duration,
    main: MainMemory,
    memory_access_time: Duration,
    block_bytes: u64,
    interface: Interface,
    network: NetworkPort,
    /// How far apart the processors of the node may be in time.
    stagger: Duration,
    program: Arc<Program>,
    /// What the processes wrote, in order, until somebody takes it.
    pub output: VecDeque<Output>,
    /// Frames that leave, until the outbox takes them.
    departures: Vec<Departure>,
    timers: Vec<Time>,
    faults: Vec<RegisterFault>,
    /// Where processors' blocks of the interface came from.
    statistics: counts::Statistics,
    /// System calls and deliveries: what shows that the run gets somewhere.
    progress: u64,
    /// When the last of them was.
    progressed_at: Time,
    /// What it knows about the loop in which its program waits.
    waiting: Waiting,
    /// What has happened at the present instant.
    instant: endless::Instant,
    /// What happened here, where somebody wants to know.
    pub journal: Option<Box<Journal>>,
}

/// What a node is made of.
pub struct Parts {
    /// Its number.
    pub id: NodeId,
    /// Its processors with their memories and processes, in bus order.
    pub processors: Vec<(Processor<InOrder>, ProcessorMemory, Process)>,
    /// Its bus.
    pub bus: Bus,
    /// The processor's own bus to its interface, where that is not on another.
    pub private_bus: Option<Bus>,
    /// How long one arbitration takes.
    pub arbitration_time: Duration,
    /// What a processor adds to an access for which it waits on a bus.
    pub blocking_access_time: Duration,
    /// The bridge to its I/O bus, where its interface is there.
    pub bridge: Option<(Bridge, Timing)>,
    /// Its main memory.
    pub main: MainMemory,
    /// What main memory needs for a block.
    pub memory_access_time: Duration,
    /// Bytes in a coherence block.
    pub block_bytes: u64,
    /// Its interface.
    pub interface: Interface,
    /// Its end of the fabric.
    pub network: NetworkPort,
    /// The program that runs on it.
    pub program: Arc<Program>,
}

impl Node {
    /// A node at time zero, its processes about to execute their first instruction.
    pub fn new(parts: Parts) -> Self {
        let with_unit = |(processor, memory, process)| (Unit::new(processor, memory), process);
        let (units, processes) = parts.processors.into_iter().map(with_unit).unzip();
        Node {
            id: parts.id,
            events: EventQueue::new(),
            units,
            processes,
            bus: parts.bus,
            underway: None,
            private: parts.private_bus.map(PrivateBus::new),
            io: parts.bridge.map(|(bridge, timing)| IoBus::new(bridge, timing)),
            blocking_access_time: parts.blocking_access_time,
            main: parts.main,
            memory_access_time: parts.memory_access_time,
            block_bytes: parts.block_bytes,
            interface: parts.interface,
            network: parts.network,
            stagger: parts.arbitration_time,
            program: parts.program,
            output: VecDeque::new(),
            departures: Vec::new(),
            timers: Vec::new(),
            faults: Vec::new(),
            statistics: counts::Statistics::default(),
            progress: 0,
            progressed_at: Time::ZERO,
            waiting: Waiting::default(),
            instant: endless::Instant::default(),
            journal: None,
        }
    }

    /// The processor that runs next, and up to when: the slowest one that has
    /// anything to do before `limit`.
    fn next_to_run(&self, limit: Time) -> Option<(usize, Time)> {
        // Most nodes have one processor, and this is asked at each of its stops.
        if let [unit] = &self.units[..] {
            return unit.is_active(limit).then_some((0, limit));
        }
        let active = || self.units.iter().enumerate().filter(|(_, unit)| unit.is_active(limit));
        let (slowest, _) = active().min_by_key(|(_, unit)| unit.processor.now())?;
        let others = active().filter(|&(index, _)| index != slowest);
        let stagger = self.stagger;
        let horizon = others.map(|(_, unit)| unit.processor.now().saturating_add(stagger)).min();
        Some((slowest, limit.min(horizon.unwrap_or(Time::NEVER))))
    }

    /// Does everything that happens before `until`, but for turns of a wait loop
    /// that can be computed later.
    fn work(&mut self, until: Time) {
        loop {
            let limit = self.events.next_time().map_or(until, |next| next.min(until));
            if let Some(wakes_at) = self.wakes_at() {
                let due = wakes_at.min(limit);
                if due == until {
                    break;
                }
                self.catch_up(due);
            }
            if let Some((index, horizon)) = self.next_to_run(limit) {
                self.run_processor(index, horizon);
            } else if let Some((now, event)) = self.events.pop_before(until) {
                self.handle(now, event);
                if self.instant.is_endless() {
                    self.stop_at_endless_instant();
                    break;
                }
            } else {
                break;
            }
        }
    }

    /// Lets a processor execute until `until` or until it needs something.
    fn run_processor(&mut self, index: usize, until: Time) {
        if self.waiting.is_watching() {
            return self.run_watched(index, until);
        }
        let unit = &mut self.units[index];
        unit.state = State::Running;
        let mut port = unit.memory.port(&self.processes[index].pages, &self.main);
        let stop = unit.processor.run(&mut port, until);
        self.look_out(index, stop);
        self.heed(index, stop);
    }

    /// Gives a processor what it has stopped for.
    fn heed(&mut self, index: usize, stop: Stop) {
        match stop {
            Stop::Horizon => {}
            Stop::Wait => self.wait(index),
            Stop::SystemCall => self.system_call(index),
            Stop::Marker(immediate) => self.mark(index, immediate),
            Stop::Fault(fault) => self.fault(index, &fault),
        }
    }

    /// A processor's access cannot finish at once.
    fn wait(&mut self, index: usize) {
        let unit = &mut self.units[index];
        let now = unit.processor.now();
        match unit.memory.wait_reason() {
            // A posted store: the processor goes on at once, but the bus is
            // asked for at the store's own instant.
            None => unit.state = State::Woken,
            reason => {
                unit.state = State::Waiting;
                self.book(index, now, reason.into());
                if let Some(duration) = self.units[index].memory.block_move() {
                    self.events.schedule(now + duration, Event::BlockMoved(index));
                }
            }
        }
        self.request_for_unit(index, now);
    }

    /// A processor's access is done; it repeats it at `now`.
    fn wake(&mut self, index: usize, now: Time) {
        let unit = &mut self.units[index];
        unit.state = State::Woken;
        unit.processor.resume_at(now);
        self.book(index, now, Occupation::Execute);
    }

    /// From `at` on a processor's time belongs to its present activity and to `occupation`.
    fn book(&mut self, index: usize, at: Time, occupation: Occupation) {
        let activity = self.units[index].activities.current();
        self.book_as(index, at, (activity, occupation));
    }

    /// From `at` on a processor's time belongs to this activity and occupation.
    fn book_as(&mut self, index: usize, at: Time, (activity, occupation): (Activity, Occupation)) {
        self.units[index].ledger.switch(at, (activity, occupation));
        self.note(at, journal::Event::Booking { processor: index, activity, occupation });
    }

    /// Enters something into the journal, if there is one.
    #[inline]
    fn note(&mut self, at: Time, event: journal::Event) {
        if let Some(journal) = &mut self.journal {
            journal.record(at, event);
        }
    }

    fn mark(&mut self, index: usize, immediate: u16) {
        let Some(marker) = Marker::decode(immediate) else {
            return;
        };
        let unit = &mut self.units[index];
        match unit.activities.apply(marker) {
            Ok(()) => {
                let now = unit.processor.now();
                self.book(index, now, Occupation::Execute);
            }
            Err(problem) => self.fail(index, problem),
        }
    }

    /// Out of line, so that a processor that only runs needs none of its locals.
    #[inline(never)]
    fn handle(&mut self, now: Time, event: Event) {
        self.instant.count(now);
        let edge = event.edge();
        self.see(&event);
        match event {
            Event::Grant => self.grant(now),
            Event::Release => self.release(now),
            Event::ReadAtBridge => self.read_at_bridge(now),
            Event::IoGrant => self.grant_io_bus(now),
            Event::IoRelease => self.release_io_bus(now),
            Event::PrivateGrant => self.grant_private_bus(now),
            Event::PrivateRelease => self.release_private_bus(now),
            Event::Timer(side) => self.timer(now, side),
            Event::BlockMoved(index) => {
                self.units[index].memory.end_block_move();
                self.request_for_unit(index, now);
            }
            Event::Frame(frame) => self.frame(now, frame),
            Event::Retry => {
                self.network.retry(now);
                self.depart(now);
            }
        }
        if let Some(journal) = &mut self.journal {
            journal.look(now, edge, &self.interface, &self.network);
        }
    }

    fn frame(&mut self, now: Time, frame: Frame) {
        let note = self.journal.is_some().then(|| frame.summary());
        let arrival = self.network.arrive(now, frame);
        if let (Some(journal), Some(note)) = (&mut self.journal, note) {
            journal.record(now, journal::Event::Arrival(note, arrival.packet.is_some()));
        }
        if let Some(process) = arrival.packet {
            self.got_further(now);
            self.with_side(now, Interface::receive_half(process), |side, context| side.network(context));
        }
        if arrival.room {
            self.offer_room(now);
        }
        self.depart(now);
    }

    /// A message was delivered, or a program called the system.
    fn got_further(&mut self, now: Time) {
        self.progress += 1;
        self.progressed_at = self.progressed_at.max(now);
    }

    /// Sends off the frames that leave after a step.
    fn depart(&mut self, now: Time) {
        let (departures, journal) = (&mut self.departures, &mut self.journal);
        let depart = |departure: Departure| {
            if let Some(journal) = journal {
                journal.departure(now, &departure.2, departure.1);
            }
            departures.push(departure);
        };
        if let Some(at) = self.network.departures(now, depart) {
            self.events.schedule(at, Event::Retry);
        }
    }

    /// Instructions that its processors have retired.
    pub fn retired(&self) -> u64 {
        self.units.iter().map(|unit| unit.processor.retired()).sum()
    }

    /// Events that have happened here since it was built or restored.
    pub fn events(&self) -> u64 {
        self.events.taken()
    }

    /// The first failure in time among the node's processes: whose, and when.
    pub fn failure(&self) -> Option<(usize, Time, &Ended)> {
        let failures = self.processes.iter().enumerate();
        let failures =
            failures.filter_map(|(index, process)| process.failure().map(|(at, ended)| (index, at, ended)));
        failures.min_by_key(|&(_, at, _)| at)
    }
}

impl Partition for Node {
    type Payload = Frame;

    fn next_time(&self) -> Option<Time> {
        let runnable = self.units.iter().filter(|unit| matches!(unit.state, State::Running | State::Woken));
        let processors = self.wakes_at().or_else(|| runnable.map(|unit| unit.processor.now()).min());
        processors.into_iter().chain(self.events.next_time()).min()
    }

    fn advance(&mut self, until: Time, outbox: &mut Outbox<Frame>) {
        self.work(until);
        if !self.departures.is_empty() {
            for (arrival, destination, frame) in self.departures.drain(..) {
                outbox.send(arrival, usize::from(destination.0), frame);
            }
        }
    }

    fn deliver(&mut self, envelope: Envelope<Frame>) {
        self.events.receive(envelope, Event::Frame);
    }

    /// Not a processor that turns in a wait loop, nor the bus that it uses.
    fn awaits(&self) -> Option<Time> {
        let is_awaited = |event: &Event| matches!(event, Event::Frame(_) | Event::Retry | Event::Timer(_));
        self.events.iter().filter(|(_, event)| is_awaited(event)).map(|(time, _)| time).min()
    }

    fn status(&self) -> Status {
        // Asked after each window: the processes themselves are far away.
        if self.units.iter().all(|unit| unit.state != State::Exited) {
            return Status::Running;
        }
        if let Some((_, at, _)) = self.failure() {
            return Status::Stopped { at };
        }
        let ends = self.processes.iter().map(|process| process.ended.as_ref().map(|&(at, _)| at));
        match ends.reduce(|one, other| Some(one?.max(other?))).flatten() {
            Some(at) => Status::Finished { at },
            None => Status::Running,
        }
    }

    /// Deliveries and system calls. A program may work long without either: whoever
    /// finds no progress looks for that ([`crate::run`](mod@crate::run)).
    fn progress(&self) -> u64 {
        self.progress
    }
}

impl Unit {
    fn new(processor: Processor<InOrder>, memory: ProcessorMemory) -> Self {
        Unit {
            processor,
            memory,
            ledger: Ledger::new(Time::ZERO, (Activity::Application, Occupation::Execute)),
            activities: Activities::default(),
            state: State::Running,
        }
    }

    /// What its ledger books now.
    fn booked(&self) -> (Activity, Occupation) {
        let (activity, occupation) =
            (self.ledger.current() / Occupation::ALL.len(), self.ledger.current() % Occupation::ALL.len());
        (Activity::ALL[activity], Occupation::ALL[occupation])
    }

    /// Whether it has anything to do before `limit`.
    fn is_active(&self, limit: Time) -> bool {
        match self.state {
            State::Woken => true,
            State::Running => self.processor.now() < limit,
            State::Waiting | State::Exited => false,
        }
    }
}
